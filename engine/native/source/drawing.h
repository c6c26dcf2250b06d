// How the code predictor's codes are drawn: the same chain as `draw_acoustic` of the engine.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace step {

struct Drawing {
    int32_t greedy, top_k;
    float temperature, top_p;
};

using Ranked = std::vector<std::pair<float, int>>;  // scores or weights, each with its code

// Temperature, top-k (ties at the threshold stay), top-p, then the first code in order of falling
// probability, ties by code, whose running probability exceeds u. -1 where scores are no numbers.
inline int draw(const float* logits, int count, const Drawing& how, float uniform, Ranked& order) {
    int best = 0;
    for (int i = 0; i < count; ++i) {
        if (!std::isfinite(logits[i])) return -1;
        if (logits[i] > logits[best]) best = i;
    }
    if (how.greedy) return best;
    order.clear();
    for (int i = 0; i < count; ++i) order.emplace_back(logits[i] / how.temperature, i);
    const auto likelier = [](const std::pair<float, int>& a, const std::pair<float, int>& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    if (how.top_k > 0 && how.top_k < count) {
        std::nth_element(order.begin(), order.begin() + (how.top_k - 1), order.end(), likelier);
        const float threshold = order[size_t(how.top_k - 1)].first;
        order.erase(std::remove_if(order.begin(), order.end(),
                                   [&](const auto& each) { return each.first < threshold; }),
                    order.end());
    }
    std::sort(order.begin(), order.end(), likelier);
    const float largest = order[0].first;
    double total = 0.0;
    for (auto& each : order) total += each.first = std::exp(each.first - largest);
    size_t kept = order.size();
    if (how.top_p < 1.0f) {  // the unlikeliest go, as long as they are 1 - top_p together
        double tail = 0.0;
        const double spare = (1.0 - double(how.top_p)) * total;
        while (kept > 1 && tail + order[kept - 1].first <= spare) tail += order[--kept].first;
        total -= tail;
    }
    double running = 0.0;
    for (size_t i = 0; i < kept; ++i) {
        running += order[i].first / total;
        if (running > uniform) return order[i].second;
    }
    return order[kept - 1].second;
}

}  // namespace step
