// The blocks of the talker and the code predictor, for all threads of a pool at once.

#pragma once

#include "context.h"

namespace step {

struct Block {
    Matrix query, key, value, output, gate, up, down;
    const float *attention_norm, *query_norm, *key_norm, *mlp_norm;
};

struct Stack {
    const Block* blocks;
    const float* norm;
    int32_t count, width, inner, heads, key_heads, head_width;
    float epsilon;
    int32_t reserved;
};

struct Cache {  // of each block: [lanes][key heads][capacity][head width]
    float* const* keys;
    float* const* values;
    const float *cosines, *sines;  // [positions][head width], both halves of a row alike
    int64_t capacity;
};

inline void rms_norm(const float* x, const float* weight, int count, float epsilon, float* to) {
    Lanes sum = all(0.0f);
    for (int i = 0; i < count; i += kLanes) sum = sum + load(x + i) * load(x + i);
    const Lanes factor = all(1.0f / std::sqrt(fold(sum) / float(count) + epsilon));
    for (int i = 0; i < count; i += kLanes) store(to + i, load(x + i) * factor * load(weight + i));
}

// Turn the pairs (i, i + width / 2) of x by the angles of its position.
inline void rotate(float* x, const float* cosine, const float* sine, int width) {
    const int half = width / 2;
    for (int i = 0; i < half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a * cosine[i] - b * sine[i];
        x[i + half] = b * cosine[i + half] + a * sine[i + half];
    }
}

constexpr int kHeld = 8 / kParts;  // sums that fit into the registers beside all else

// The first lanes of the rows of `values`, `width` apart, by their shares; sums stay in registers.
template <int kCount>
void add_shares(const float* shares, const float* values, int64_t seen, int width, float* to) {
    Lanes sum[kCount];
    for (int i = 0; i < kCount; ++i) sum[i] = all(0.0f);
    for (int64_t s = 0; s < seen; ++s, values += width) {
        const Lanes share = all(shares[s]);
        for (int i = 0; i < kCount; ++i) sum[i] = sum[i] + share * load(values + kLanes * i);
    }
    for (int i = 0; i < kCount; ++i) store(to + kLanes * i, sum[i]);
}

// softmax(q k / sqrt(width)) v over the first `seen` positions.
inline void mix(const float* query, const float* keys, const float* values, int64_t seen, int width,
                std::vector<float>& scores, float* to) {
    const int64_t padded = (seen + kLanes - 1) / kLanes * kLanes;
    fit(scores, size_t(padded));
    const float factor = 1.0f / std::sqrt(float(width));
    float largest = -INFINITY;
    for (int64_t s = 0; s < seen; ++s) {
        Lanes sum = all(0.0f);
        for (int i = 0; i < width; i += kLanes)
            sum = sum + load(query + i) * load(keys + s * width + i);
        scores[size_t(s)] = fold(sum) * factor;
        largest = std::max(largest, scores[size_t(s)]);
    }
    for (int64_t s = seen; s < padded; ++s) scores[size_t(s)] = -INFINITY;
    Lanes total = all(0.0f);
    for (int64_t s = 0; s < padded; s += kLanes) {
        const Lanes weight = exponential(load(&scores[size_t(s)]) - all(largest));
        store(&scores[size_t(s)], weight);
        if (s + kLanes > seen)  // exponential() gives the smallest number for -infinity, not zero
            for (int64_t i = seen; i < padded; ++i) scores[size_t(i)] = 0.0f;
        total = total + load(&scores[size_t(s)]);
    }
    const float inverse = 1.0f / fold(total);
    for (int64_t s = 0; s < seen; ++s) scores[size_t(s)] *= inverse;
    int first = 0;
    for (; first + kHeld * kLanes <= width; first += kHeld * kLanes)
        add_shares<kHeld>(scores.data(), values + first, seen, width, to + first);
    for (; first < width; first += kLanes)
        add_shares<1>(scores.data(), values + first, seen, width, to + first);
}

// One key head of one lane: store the new keys and values, and mix for all new positions.
inline void attend(const Stack& stack, const Block& block, const Cache& cache, int layer, int lane,
                   int key_head, int length, int64_t start, Worker& worker) {
    Scratch& scratch = worker.context.scratch;
    const int width = stack.head_width, group = stack.heads / stack.key_heads;
    const size_t key_width = size_t(stack.key_heads) * width, query_width = size_t(stack.heads) * width;
    const size_t own = (size_t(lane) * stack.key_heads + key_head) * size_t(cache.capacity) * width;
    float* keys = cache.keys[layer] + own;
    float* values = cache.values[layer] + own;
    for (int t = 0; t < length; ++t) {
        const size_t row = size_t(lane) * length + t, at = size_t(start + t) * width;
        const size_t from = row * key_width + size_t(key_head) * width;
        rms_norm(scratch.keys.data() + from, block.key_norm, width, stack.epsilon, keys + at);
        rotate(keys + at, cache.cosines + at, cache.sines + at, width);
        std::memcpy(values + at, scratch.values.data() + from, sizeof(float) * width);
    }
    fit(worker.row(), size_t(width));
    float* query = worker.row().data();
    for (int t = 0; t < length; ++t) {
        const size_t row = size_t(lane) * length + t, at = size_t(start + t) * width;
        for (int head = key_head * group; head < (key_head + 1) * group; ++head) {
            const size_t from = row * query_width + size_t(head) * width;
            rms_norm(scratch.queries.data() + from, block.query_norm, width, stack.epsilon, query);
            rotate(query, cache.cosines + at, cache.sines + at, width);
            mix(query, keys, values, start + t + 1, width,
                scratch.scores[size_t(worker.thread)], scratch.mixed.data() + from);
        }
    }
}

inline void reserve(Context& context, const Stack& stack, int columns) {
    Scratch& scratch = context.scratch;
    const size_t queries = size_t(stack.heads) * stack.head_width;
    const size_t keys = size_t(stack.key_heads) * stack.head_width;
    fit(scratch.queries, columns * queries);
    fit(scratch.mixed, columns * queries);
    fit(scratch.keys, columns * keys);
    fit(scratch.values, columns * keys);
    fit(scratch.gated, size_t(columns) * stack.inner);
}

// Blocks `first` to `end` on x [lanes * length][width]; leaves the last norm to the caller.
inline void run_blocks(const Stack& stack, const Cache& cache, int first, int end, float* x,
                       int lanes, int length, int64_t start, Worker& worker) {
    Scratch& scratch = worker.context.scratch;
    const int columns = lanes * length, width = stack.width, inner = stack.inner;
    const int query_width = stack.heads * stack.head_width;
    const int key_width = stack.key_heads * stack.head_width;
    const auto add_to_x = [&](int, int column, int row, int rows, const float* values) {
        float* at = x + size_t(column) * width + row;
        for (int i = 0; i < rows; ++i) at[i] += values[i];
    };
    const auto normalised = [&](const float* weight) {
        return [=, &stack](int column, float* to) -> const float* {
            rms_norm(x + size_t(column) * width, weight, width, stack.epsilon, to);
            return to;
        };
    };

    for (int layer = first; layer < end; ++layer) {
        const Block& block = stack.blocks[layer];
        const Matrix* projections[] = {&block.query, &block.key, &block.value};
        float* const targets[] = {scratch.queries.data(), scratch.keys.data(),
                                  scratch.values.data()};
        const int widths[] = {query_width, key_width, key_width};
        const auto put = [&](int which, int column, int row, int rows, const float* values) {
            std::memcpy(targets[which] + size_t(column) * widths[which] + row, values,
                        sizeof(float) * rows);
        };
        const Activations& in = worker.quantize(columns, width, normalised(block.attention_norm));
        worker.multiply(projections, 3, in, columns, put);

        worker.share_out(lanes * stack.key_heads, [&](int task) {
            attend(stack, block, cache, layer, task / stack.key_heads, task % stack.key_heads,
                   length, start, worker);
        });
        worker.barrier();

        const Activations& mixed = worker.quantize(columns, query_width, [&](int column, float*) {
            return scratch.mixed.data() + size_t(column) * query_width;
        });
        const Matrix* output[] = {&block.output};
        worker.multiply(output, 1, mixed, columns, add_to_x);

        const Activations& x2 = worker.quantize(columns, width, normalised(block.mlp_norm));
        worker.share_out(groups_of(block.gate), [&](int group) {
            const int rows = std::min(kRows, inner - kRows * group);
            float* to = scratch.gated.data() + kRows * group;
            multiply_group(block.gate, group, x2, columns, [&](int column, const float* values) {
                float silu[kRows];
                for (int i = 0; i < kRows; i += kLanes) {
                    const Lanes gate = load(values + i);
                    store(silu + i, gate / (all(1.0f) + exponential(all(0.0f) - gate)));
                }
                std::memcpy(to + size_t(column) * inner, silu, sizeof(float) * rows);
            });
            multiply_group(block.up, group, x2, columns, [&](int column, const float* values) {
                float* at = to + size_t(column) * inner;
                for (int i = 0; i < rows; ++i) at[i] *= values[i];
            });
        });
        worker.barrier();

        const Activations& gated = worker.quantize(columns, inner, [&](int column, float*) {
            return scratch.gated.data() + size_t(column) * inner;
        });
        const Matrix* down[] = {&block.down};
        worker.multiply(down, 1, gated, columns, add_to_x);
    }
}

}  // namespace step
