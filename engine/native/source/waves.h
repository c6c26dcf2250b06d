// Chains of causal convolutions with snakes between them, on signals [position][channel].
//
// Weights and activations are 16-bit integers. Weights have a scale per output row; activations have
// one per position and panel of channels, so that a position has the same integers whatever is
// computed with it. Short sums are exact, and they are added in one order: pieces, lanes, threads
// and instruction sets change no bit.

#pragma once

#include <utility>

#include "context.h"

namespace step {

constexpr int kPanel = 96;        // channels with a scale of their own
constexpr int kExact = 48;        // channels whose products are added as integers
constexpr int kTaskColumns = 16;  // positions of a task: what it needs stays in the nearest cache

// No sum of kExact products is larger than the norm of the weights times that of the activations
// (Cauchy and Schwarz). Both norms stay below this one, whose square, with what rounding adds to it,
// is below 2^31.
constexpr float kLargestNorm = 46300.0f;
constexpr float kLargestInteger = 32767.0f;
constexpr float kSilent = 1e-15f;  // activations below are zeros: squares of such would be none

enum Residual : int32_t { kNone = 0, kKept = 1, kAdded = 2 };

// Channels are padded with zeros to whole lanes. A transposed convolution has a phase for each
// position of its stride: phases are rows of their own, in the order of the positions they give.
struct Convolution {
    const int16_t* weights;  // [phase][output / 16][tap][input / 2][16][2], the latest tap last
    const float* scales;     // [phase][output]
    const float* bias;       // [output]
    const float *frequency, *strength;  // [output], of the snake behind it, or null
    int32_t inputs, outputs, taps, dilation, phases, residual;

    int span() const { return (taps - 1) * dilation; }
};

inline int panels_of(int channels) { return (channels + kPanel - 1) / kPanel; }

// What a convolution remembers of a lane: the integers of its last inputs, then their scales.
inline size_t past_bytes(const Convolution& c) {
    return size_t(c.span()) * (sizeof(int16_t) * c.inputs + sizeof(float) * panels_of(c.inputs));
}

// Activations in integers, those of the past in front.
struct Signal {
    int16_t* values;  // [lane][span + position][channel]
    float* scales;    // [lane][span + position][panel]
    int span, length, channels;

    int panels() const { return panels_of(channels); }
    size_t row(int lane, int position) const {  // position -span is the first
        return size_t(lane) * size_t(span + length) + size_t(span + position);
    }
    int16_t* values_at(int lane, int position) const {
        return values + row(lane, position) * size_t(channels);
    }
    float* scales_at(int lane, int position) const {
        return scales + row(lane, position) * size_t(panels());
    }
    size_t value_bytes() const { return sizeof(int16_t) * size_t(span) * size_t(channels); }
    size_t scale_bytes() const { return sizeof(float) * size_t(span) * size_t(panels()); }
    void restore(int lane, const uint8_t* past) const {
        std::memcpy(values_at(lane, -span), past, value_bytes());
        std::memcpy(scales_at(lane, -span), past + value_bytes(), scale_bytes());
    }
    void remember(int lane, uint8_t* past) const {
        std::memcpy(past, values_at(lane, length - span), value_bytes());
        std::memcpy(past + value_bytes(), scales_at(lane, length - span), scale_bytes());
    }
};

#define STEP_ALONE __attribute__((noinline))

// --- what each instruction set brings ---
//
// TwoOfRows: 16 rows x 2 channels of weights. Products: 16 integers, to which the products with two
// activations are added. Whether that is faster than products of floats: kFastWaves.

#if defined(__AVX512VNNI__) && defined(__AVX512F__)

constexpr bool kFastWaves = true;
constexpr int kGroupsAtOnce = 3, kColumnsAtOnce = 8;
typedef __m512i Products, TwoOfRows, TwoValues;
inline Products no_products() { return _mm512_setzero_si512(); }
inline TwoOfRows two_of_rows(const int16_t* at) { return _mm512_loadu_si512(at); }
inline TwoValues two_values(const int16_t* at) {
    int32_t bits;
    std::memcpy(&bits, at, 4);
    return _mm512_set1_epi32(bits);
}
inline void add_products(Products& sum, TwoOfRows w, TwoValues x) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));  // GCC copies sums for the intrinsic
}
inline Lanes to_float(Products sum) { return {{FloatPart(_mm512_cvtepi32_ps(sum))}}; }

#elif defined(__AVX2__)

constexpr bool kFastWaves = true;
constexpr int kGroupsAtOnce = 1, kColumnsAtOnce = 4;
struct Products {
    __m256i part[2];
};
typedef Products TwoOfRows;
typedef __m256i TwoValues;
inline Products no_products() { return {{_mm256_setzero_si256(), _mm256_setzero_si256()}}; }
inline TwoOfRows two_of_rows(const int16_t* at) {
    const __m256i* from = reinterpret_cast<const __m256i*>(at);
    return {{_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)}};
}
inline TwoValues two_values(const int16_t* at) {
    int32_t bits;
    std::memcpy(&bits, at, 4);
    return _mm256_set1_epi32(bits);
}
inline void add_products(Products& sum, const TwoOfRows& w, TwoValues x) {
    for (int i = 0; i < 2; ++i)
#if defined(__AVXVNNI__)
        sum.part[i] = _mm256_dpwssd_avx_epi32(sum.part[i], w.part[i], x);
#else
        sum.part[i] = _mm256_add_epi32(sum.part[i], _mm256_madd_epi16(w.part[i], x));
#endif
}
inline Lanes to_float(const Products& sum) {
    return {{FloatPart(_mm256_cvtepi32_ps(sum.part[0])), FloatPart(_mm256_cvtepi32_ps(sum.part[1]))}};
}

#else

constexpr bool kFastWaves = false;
constexpr int kGroupsAtOnce = 1, kColumnsAtOnce = 2;
struct Products {
    int32_t row[kLanes];
};
struct TwoOfRows {
    int16_t value[2 * kLanes];
};
struct TwoValues {
    int16_t value[2];
};
inline Products no_products() { return {}; }
inline TwoOfRows two_of_rows(const int16_t* at) {
    TwoOfRows made;
    std::memcpy(made.value, at, sizeof made.value);
    return made;
}
inline TwoValues two_values(const int16_t* at) { return {{at[0], at[1]}}; }
inline void add_products(Products& sum, const TwoOfRows& w, const TwoValues& x) {
    for (int i = 0; i < kLanes; ++i)
        sum.row[i] += int32_t(w.value[2 * i]) * x.value[0] + int32_t(w.value[2 * i + 1]) * x.value[1];
}
inline Lanes to_float(const Products& sum) {
    IntLanes whole;
    std::memcpy(&whole, &sum, sizeof whole);
    return to_float(whole);
}

#endif

// --- single positions ---

inline IntLanes magnitude_bits(const Lanes& x) {  // in the order of the magnitudes, no numbers last
    IntLanes bits;
    STEP_EACH {
        std::memcpy(&bits.part[p], &x.part[p], sizeof bits.part[p]);
        bits.part[p] &= 0x7fffffff;
    }
    return bits;
}
inline IntLanes larger(IntLanes a, const IntLanes& b) {
    STEP_EACH a.part[p] = a.part[p] > b.part[p] ? a.part[p] : b.part[p];
    return a;
}

// x + strength * sin^2(pi * frequency * x), by half turns and a polynomial of the rest that is off
// by less than 1e-6.
inline Lanes snake(const Lanes& x, const Lanes& frequency, const Lanes& strength) {
    const Lanes turns = x * frequency;
    const Lanes r = turns - rounded(turns);
    const Lanes t = r * r;
    Lanes y = all(-0.554636148f);
    y = y * t + all(2.54189901f);
    y = y * t + all(-5.1671428f);
    y = y * t + all(3.14158202f);
    const Lanes sine = y * r;
    return x + strength * (sine * sine);
}

// The scale of one panel of a position; `count` is a multiple of the lanes. Silence has none, and
// what is no number stays none: it must reach the sound, where it is noticed.
inline float scale_of_panel(const float* x, int count) {
    IntLanes bits = magnitude_bits(load(x));
    float square = 0.0f;
    for (int first = 0; first < count; first += kExact) {
        Lanes squares = all(0.0f);
        for (int i = first; i < std::min(first + kExact, count); i += kLanes) {
            bits = larger(bits, magnitude_bits(load(x + i)));
            squares = squares + load(x + i) * load(x + i);
        }
        square = std::max(square, fold(squares));
    }
    const int32_t most = fold_largest(bits);
    float largest;
    std::memcpy(&largest, &most, sizeof largest);
    const float step = std::max(largest / kLargestInteger, std::sqrt(square) / kLargestNorm);
    if (!std::isfinite(step)) return NAN;
    return largest > kSilent ? step : 0.0f;
}

inline void round_panel(const float* x, int count, float scale, int16_t* values) {
    const Lanes inverse = all(scale > 0.0f ? 1.0f / scale : 0.0f);
    for (int i = 0; i < count; i += kLanes) {
        const IntLanes whole = to_int(scale > 0.0f ? rounded(load(x + i) * inverse) : all(0.0f));
        typedef int16_t ShortPart __attribute__((vector_size(2 * kLanes / kParts)));
        STEP_EACH {
            const ShortPart narrow = __builtin_convertvector(whole.part[p], ShortPart);
            std::memcpy(values + i + p * kLanes / kParts, &narrow, sizeof narrow);
        }
    }
}

// --- products ---

template <int kCount>
using Indices = std::make_integer_sequence<int, kCount>;

// sums [column][kPanel] += one tap and up to kExact channels of kR groups of rows, `group` weights apart, with
// positions of x that are `row` values apart, and their scales `panels` apart. Indices are written
// out, I of sums and R of groups, and it is a function of its own, so that compilers keep all sums
// in registers.
template <int kR, int... I, int... R>
STEP_ALONE void add_tap(const int16_t* w, size_t group, const int16_t* x, size_t row, int channels,
                        const float* scales, size_t panels, float* sums,
                        std::integer_sequence<int, I...>, std::integer_sequence<int, R...>) {
    Products sum[] = {(void(I), no_products())...};
    const int16_t* const end = x + channels;
    do {
        const TwoOfRows rows[] = {two_of_rows(w + size_t(R) * group)...};
        TwoValues values = two_values(x);
        ((values = I % kR ? values : two_values(x + size_t(I / kR) * row),
          add_products(sum[I], rows[I % kR], values)),
         ...);
        w += 2 * kLanes;
        x += 2;
    } while (x < end);
    const auto add = [&](Products whole, int column, int place) {
        float* to = sums + column * kPanel + place * kLanes;
        store(to, load(to) + to_float(whole) * all(scales[size_t(column) * panels]));
    };
    (add(sum[I], I / kR, I % kR), ...);
}

// The same for `columns` positions, as many at once as there are registers for.
template <int kR, int kP>
void add_columns(const int16_t* w, size_t group, const int16_t* x, size_t row, int channels,
                 const float* scales, size_t panels, float* sums, int columns) {
    int c = 0;
    for (; c + kP <= columns; c += kP)
        add_tap<kR>(w, group, x + size_t(c) * row, row, channels, scales + size_t(c) * panels,
                    panels, sums + c * kPanel, Indices<kR * kP>{}, Indices<kR>{});
    if constexpr (kP > 1)
        add_columns<kR, kP / 2>(w, group, x + size_t(c) * row, row, channels,
                                scales + size_t(c) * panels, panels, sums + c * kPanel, columns - c);
}

// The same for `groups` groups of rows.
template <int kR>
void add_groups(const int16_t* w, size_t group, const int16_t* x, size_t row, int channels,
                const float* scales, size_t panels, float* sums, int columns, int groups) {
    int g = 0;
    for (; g + kR <= groups; g += kR)
        add_columns<kR, kColumnsAtOnce>(w + size_t(g) * group, group, x, row, channels, scales,
                                        panels, sums + g * kLanes, columns);
    if constexpr (kR > 1)
        add_groups<kR - 1>(w + size_t(g) * group, group, x, row, channels, scales, panels,
                           sums + g * kLanes, columns, groups - g);
}

// One run of a chain over new positions of all lanes, as all threads see it.
struct WaveRun {
    const Convolution* layers;
    int count, lanes, length;  // positions of the input
    uint8_t* past;             // [lane][past_bytes of all layers]
    float* made;               // [lane][position][output] of the last layer
    WaveScratch& scratch;

    int length_at(int layer) const {
        int positions = length;
        for (int i = 0; i < layer; ++i) positions *= layers[i].phases;
        return positions;
    }
    Signal input_of(int layer) const {
        const Convolution& reader = layers[layer];
        return {scratch.values[layer % 2].data(), scratch.scales[layer % 2].data(), reader.span(),
                length_at(layer), reader.inputs};
    }
    uint8_t* past_of(int lane, int layer) const {
        size_t before = 0, whole = 0;
        for (int i = 0; i < count; ++i) {
            if (i == layer) before = whole;
            whole += past_bytes(layers[i]);
        }
        return past + size_t(lane) * whole + before;
    }
    void reserve(int threads) const {
        scratch.sums.resize(size_t(threads));
        for (auto& sums : scratch.sums) fit(sums, kTaskColumns * kPanel);
        for (int i = 0; i < count; ++i) {
            const size_t rows = size_t(lanes) * size_t(layers[i].span() + length_at(i));
            auto& values = scratch.values[i % 2];
            if (values.size() < rows * layers[i].inputs) values.resize(rows * layers[i].inputs);
            fit(scratch.scales[i % 2], rows * panels_of(layers[i].inputs));
            if (layers[i].residual != kNone)
                fit(scratch.kept, size_t(lanes) * length_at(i + 1) * layers[i].outputs);
        }
    }
};

// Rows of weights and positions of one lane that a thread computes together.
struct WaveTask {
    int phase, panel, lane, first, columns;
};

inline void sum_up(const Convolution& conv, const Signal& in, const WaveTask& task, float* sums) {
    const int from = task.panel * kPanel, rows = std::min(kPanel, conv.outputs - from);
    const size_t group = size_t(conv.taps) * conv.inputs * kLanes;
    const size_t groups_before = (size_t(task.phase) * conv.outputs + from) / kLanes;
    const int16_t* weights = conv.weights + groups_before * group;
    std::fill(sums, sums + task.columns * kPanel, 0.0f);
    for (int tap = 0; tap < conv.taps; ++tap) {
        const int position = task.first - (conv.taps - 1 - tap) * conv.dilation;
        const int16_t* x = in.values_at(task.lane, position);
        const float* scales = in.scales_at(task.lane, position);
        for (int channel = 0; channel < conv.inputs; channel += kExact) {
            const int channels = std::min(kExact, conv.inputs - channel);
            const size_t at = size_t(tap) * conv.inputs + channel;
            add_groups<kGroupsAtOnce>(weights + at * kLanes, group, x + channel,
                                      size_t(conv.inputs), channels, scales + channel / kPanel,
                                      size_t(in.panels()), sums, task.columns, rows / kLanes);
        }
    }
}

// What becomes of the sums: the kept signal, and the input of the next layer or the last result.
inline void finish(const WaveRun& run, int layer, const WaveTask& task, float* sums) {
    const Convolution& conv = run.layers[layer];
    const int from = task.panel * kPanel, rows = std::min(kPanel, conv.outputs - from);
    const int length = run.length_at(layer + 1);
    const bool is_last = layer + 1 == run.count;
    const Signal out = is_last ? Signal{} : run.input_of(layer + 1);
    const float* row_scales = conv.scales + size_t(task.phase) * conv.outputs + from;
    const auto position_of = [&](int column) {
        return (task.first + column) * conv.phases + task.phase;
    };
    for (int c = 0; c < task.columns; ++c) {
        const size_t at = (size_t(task.lane) * length + position_of(c)) * conv.outputs + from;
        float* kept = run.scratch.kept.data() + at;
        float* mine = sums + c * kPanel;
        float* to = is_last ? run.made + at : mine;
        for (int i = 0; i < rows; i += kLanes) {
            Lanes y = load(mine + i) * load(row_scales + i) + load(conv.bias + from + i);
            if (conv.residual == kAdded) y = y + load(kept + i);
            if (conv.residual != kNone) store(kept + i, y);
            if (conv.frequency != nullptr)
                y = snake(y, load(conv.frequency + from + i), load(conv.strength + from + i));
            store(to + i, y);
        }
    }
    if (is_last) return;
    float scales[kTaskColumns];  // all at once: each takes long, but none waits for another
    for (int c = 0; c < task.columns; ++c) scales[c] = scale_of_panel(sums + c * kPanel, rows);
    for (int c = 0; c < task.columns; ++c) {
        const int position = position_of(c);
        out.scales_at(task.lane, position)[task.panel] = scales[c];
        round_panel(sums + c * kPanel, rows, scales[c], out.values_at(task.lane, position) + from);
    }
}

inline void run_layer(const WaveRun& run, int layer, Worker& worker) {
    const Convolution& conv = run.layers[layer];
    const Signal in = run.input_of(layer);
    for (int lane = worker.thread; lane < run.lanes; lane += worker.context.pool.size()) {
        in.remember(lane, run.past_of(lane, layer));
        if (layer + 1 < run.count)
            run.input_of(layer + 1).restore(lane, run.past_of(lane, layer + 1));
    }
    const int panels = panels_of(conv.outputs);
    const int pieces = (in.length + kTaskColumns - 1) / kTaskColumns, columns = run.lanes * pieces;
    float* sums = run.scratch.sums[size_t(worker.thread)].data();
    worker.share_out(conv.phases * panels * columns, [&](int index) {
        const int rows = index / columns, column = index % columns;
        const int first = column % pieces * kTaskColumns;
        const WaveTask task{rows / panels, rows % panels, column / pieces, first,
                            std::min(kTaskColumns, in.length - first)};
        sum_up(conv, in, task, sums);
        finish(run, layer, task, sums);
    });
    worker.barrier();
}

// The input x [lane][position][input] in integers, behind the past.
inline void take_input(const WaveRun& run, const float* x, Worker& worker) {
    const Signal in = run.input_of(0);
    for (int lane = worker.thread; lane < run.lanes; lane += worker.context.pool.size())
        in.restore(lane, run.past_of(lane, 0));
    worker.share_out(run.lanes * run.length, [&](int index) {
        const int lane = index / run.length, position = index % run.length;
        for (int panel = 0; panel < in.panels(); ++panel) {
            const int from = panel * kPanel;
            const float* row = x + size_t(index) * in.channels + from;
            const int count = std::min(kPanel, in.channels - from);
            const float scale = scale_of_panel(row, count);
            in.scales_at(lane, position)[panel] = scale;
            round_panel(row, count, scale, in.values_at(lane, position) + from);
        }
    });
    worker.barrier();
}

inline void run_waves(const WaveRun& run, const float* x, Worker& worker) {
    take_input(run, x, worker);
    for (int layer = 0; layer < run.count; ++layer) run_layer(run, layer, worker);
}

// --- packing ---

// One row of float weights [input][tap], in integers at `to` [tap][input / 2][16][2]; returns their
// scale.
inline float pack_row(const float* from, int inputs, int taps, int16_t* to) {
    double largest = 0.0, square = 0.0, total = 0.0;
    for (int tap = 0; tap < taps; ++tap)
        for (int first = 0; first < inputs; first += kExact) {
            double sum = 0.0;
            for (int i = first; i < std::min(first + kExact, inputs); ++i) {
                const double value = from[size_t(i) * taps + tap];
                largest = std::max(largest, std::fabs(value));
                sum += value * value;
            }
            square = std::max(square, sum);
            total += sum;
        }
    if (!std::isfinite(total)) return NAN;
    const float scale = float(std::max(largest / kLargestInteger, std::sqrt(square) / kLargestNorm));
    if (!(scale > kSmallest)) return 0.0f;
    for (int tap = 0; tap < taps; ++tap)
        for (int i = 0; i < inputs; ++i) {
            const size_t pair = (size_t(tap) * inputs + size_t(i)) / 2;
            to[pair * 2 * kLanes + i % 2] =
                int16_t(std::nearbyint(from[size_t(i) * taps + tap] / scale));
        }
    return scale;
}

}  // namespace step
