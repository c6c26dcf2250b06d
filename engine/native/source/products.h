// Products of repacked weights with activations.
//
// Activations are rounded to 16 bits in blocks of 32 columns: the scales of neighbouring channels
// may differ a thousandfold, and 8 bits would lose what stands beside an outlier. Sums within a
// block are exact integers. Every column of activations is computed in the same order however many
// there are, so that a lane of a batch has the bits it has alone.

#pragma once

#include "lanes.h"
#include "stored.h"

#if defined(__AVXVNNI__) || defined(__AVX512VNNI__) || defined(__ARM_FEATURE_DOTPROD)
#define STEP_SPLITS 1  // multiplies bytes: an activation is 256 * high + low
#else
#define STEP_SPLITS 0
#endif

namespace step {

constexpr float kLargest = 32512.0f;  // 127 * 256: the high byte stays in range
constexpr float kSmallest = 1e-30f;   // below, dividing by it would overflow
constexpr int kHalves = kRows / kLanes;
constexpr int kAhead = 4096;  // bytes; so far ahead weights are fetched whose products take long

// --- what each instruction set brings ---
//
// Weights: 16 rows x 4 columns of unsigned bytes. Sum: 16 rows of integers, to which `add` adds the
// products with 4 activations, and which `total` gives, plus the same offset for all. kTile columns
// of activations and kTogether halves of a group have their sums in registers at once.

#if defined(__AVX512VNNI__) && defined(__AVX512F__)

constexpr const char* kName = "avx512-vnni";
constexpr int kTile = 4, kTogether = 2;
typedef __m512i Weights;
struct Sum {
    __m512i high = _mm512_setzero_si512(), low = _mm512_setzero_si512();
};
inline __m512i four(const int8_t* at) {
    int32_t bits;
    std::memcpy(&bits, at, 4);
    return _mm512_set1_epi32(bits);
}
inline Weights bytes(const uint8_t* at) { return _mm512_loadu_si512(at); }
inline Weights low_halves(Weights w) { return _mm512_and_si512(w, _mm512_set1_epi8(15)); }
inline Weights high_halves(Weights w) { return low_halves(_mm512_srli_epi16(w, 4)); }
inline void add(Sum& sum, Weights w, const int8_t* x) {
    sum.high = _mm512_dpbusd_epi32(sum.high, w, four(x));
    sum.low = _mm512_dpbusd_epi32(sum.low, w, four(x + 4));
}
inline IntLanes total(const Sum& sum, int32_t offset) {
    const __m512i both = _mm512_add_epi32(_mm512_slli_epi32(sum.high, 8), sum.low);
    const __m512i moved = _mm512_add_epi32(both, _mm512_set1_epi32(offset));
    IntLanes made;
    std::memcpy(&made, &moved, sizeof made);
    return made;
}

#elif defined(__AVX2__)

struct Weights {
    __m256i part[2];
};
inline Weights bytes(const uint8_t* at) {
    const __m256i* from = reinterpret_cast<const __m256i*>(at);
    return {{_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)}};
}
inline Weights low_halves(const Weights& w) {
    const __m256i mask = _mm256_set1_epi8(15);
    return {{_mm256_and_si256(w.part[0], mask), _mm256_and_si256(w.part[1], mask)}};
}
inline Weights high_halves(const Weights& w) {
    return low_halves({{_mm256_srli_epi16(w.part[0], 4), _mm256_srli_epi16(w.part[1], 4)}});
}

#if defined(__AVXVNNI__)

constexpr const char* kName = "avx-vnni";
constexpr int kTile = 2, kTogether = 1;
struct Sum {
    __m256i high[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i low[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
};
inline __m256i four(const int8_t* at) {
    int32_t bits;
    std::memcpy(&bits, at, 4);
    return _mm256_set1_epi32(bits);
}
inline void add(Sum& sum, const Weights& w, const int8_t* x) {
    const __m256i high = four(x), low = four(x + 4);
    for (int i = 0; i < 2; ++i) {
        sum.high[i] = _mm256_dpbusd_avx_epi32(sum.high[i], w.part[i], high);
        sum.low[i] = _mm256_dpbusd_avx_epi32(sum.low[i], w.part[i], low);
    }
}
inline IntLanes total(const Sum& sum, int32_t offset) {
    IntLanes made;
    for (int i = 0; i < 2; ++i) {
        const __m256i both = _mm256_add_epi32(_mm256_slli_epi32(sum.high[i], 8), sum.low[i]);
        const __m256i moved = _mm256_add_epi32(both, _mm256_set1_epi32(offset));
        std::memcpy(&made.part[i], &moved, sizeof moved);
    }
    return made;
}

#else

constexpr const char* kName = "avx2";
constexpr int kTile = 2, kTogether = 1;
struct Sum {  // two partial sums of each row
    __m256i part[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
};
inline void add(Sum& sum, const Weights& w, const int8_t* x) {
    int64_t bits;
    std::memcpy(&bits, x, 8);
    const __m256i four = _mm256_set1_epi64x(bits);
    for (int i = 0; i < 4; ++i) {
        const __m128i rows = i % 2 ? _mm256_extracti128_si256(w.part[i / 2], 1)
                                   : _mm256_castsi256_si128(w.part[i / 2]);
        const __m256i products = _mm256_madd_epi16(_mm256_cvtepu8_epi16(rows), four);
        sum.part[i] = _mm256_add_epi32(sum.part[i], products);
    }
}
inline IntLanes total(const Sum& sum, int32_t offset) {
    IntLanes made;
    for (int i = 0; i < 2; ++i) {
        const __m256i pairs = _mm256_hadd_epi32(sum.part[2 * i], sum.part[2 * i + 1]);
        const __m256i rows = _mm256_permute4x64_epi64(pairs, 0xd8);  // 0, 2, 1, 3
        const __m256i moved = _mm256_add_epi32(rows, _mm256_set1_epi32(offset));
        std::memcpy(&made.part[i], &moved, sizeof moved);
    }
    return made;
}

#endif

#elif defined(__ARM_FEATURE_DOTPROD)

constexpr const char* kName = "arm-dotprod";
constexpr int kTile = 2, kTogether = 1;
struct Weights {
    uint8x16_t part[4];
};
struct Sum {
    int32x4_t high[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    int32x4_t low[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    int32x4_t ones = vdupq_n_s32(0);
};
inline Weights bytes(const uint8_t* at) {
    return {{vld1q_u8(at), vld1q_u8(at + 16), vld1q_u8(at + 32), vld1q_u8(at + 48)}};
}
inline Weights low_halves(Weights w) {
    for (auto& part : w.part) part = vandq_u8(part, vdupq_n_u8(15));
    return w;
}
inline Weights high_halves(Weights w) {
    for (auto& part : w.part) part = vshrq_n_u8(part, 4);
    return w;
}
inline int8x16_t four(const int8_t* at) {
    int32_t bits;
    std::memcpy(&bits, at, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(bits));
}
// Signed bytes are multiplied: 128 is taken off the weights, and given back by way of `ones`.
inline void add(Sum& sum, const Weights& w, const int8_t* x) {
    const int8x16_t high = four(x), low = four(x + 4);
    const int32x4_t ones = vdotq_s32(vdupq_n_s32(0), vdupq_n_s8(1), high);
    sum.ones = vdotq_s32(vaddq_s32(sum.ones, vshlq_n_s32(ones, 8)), vdupq_n_s8(1), low);
    for (int i = 0; i < 4; ++i) {
        const int8x16_t rows = vreinterpretq_s8_u8(veorq_u8(w.part[i], vdupq_n_u8(128)));
        sum.high[i] = vdotq_s32(sum.high[i], rows, high);
        sum.low[i] = vdotq_s32(sum.low[i], rows, low);
    }
}
inline IntLanes total(const Sum& sum, int32_t offset) {
    const int32x4_t moved = vaddq_s32(vshlq_n_s32(sum.ones, 7), vdupq_n_s32(offset));
    IntLanes made;
    for (int i = 0; i < 4; ++i) {
        const int32x4_t both = vaddq_s32(vshlq_n_s32(sum.high[i], 8), sum.low[i]);
        const int32x4_t rows = vaddq_s32(both, moved);
        std::memcpy(&made.part[i], &rows, sizeof rows);
    }
    return made;
}

#else

constexpr const char* kName = "plain";
constexpr int kTile = 1, kTogether = 1;
struct Weights {
    uint8_t value[4 * kLanes];
};
struct Sum {
    int32_t row[kLanes] = {};
};
inline Weights bytes(const uint8_t* at) {
    Weights made;
    std::memcpy(made.value, at, sizeof made.value);
    return made;
}
inline Weights low_halves(Weights w) {
    for (auto& value : w.value) value &= 15;
    return w;
}
inline Weights high_halves(Weights w) {
    for (auto& value : w.value) value = uint8_t(value >> 4);
    return w;
}
inline void add(Sum& sum, const Weights& w, const int8_t* x) {
    int16_t q[4];
    std::memcpy(q, x, sizeof q);
    for (int i = 0; i < kLanes; ++i)
        for (int k = 0; k < 4; ++k) sum.row[i] += int32_t(w.value[4 * i + k]) * int32_t(q[k]);
}
inline IntLanes total(const Sum& sum, int32_t offset) {
    int32_t moved[kLanes];
    for (int i = 0; i < kLanes; ++i) moved[i] = sum.row[i] + offset;
    IntLanes made;
    std::memcpy(&made, moved, sizeof made);
    return made;
}

#endif

// --- activations ---

// Columns stand in tiles, those of a tile side by side, so that a product finds them at constant
// distances: for each 4 rows of a column 8 bytes, either 4 high and 4 low bytes or 4 integers.
struct Activations {
    std::vector<int8_t> quads;     // [tile][row / 4][column of the tile][8]
    std::vector<float> scales;     // [tile][block][column of the tile]
    std::vector<int32_t> offsets;  // -128 times the sum of a block's integers, likewise
    std::vector<float> totals;     // that sum times the scale, likewise
    int columns = 0, length = 0;

    void reserve(int count, int rows) {
        const size_t size = size_t(count) * size_t(rows);
        columns = count;
        length = rows;
        if (scales.size() >= size / kBlock) return;
        quads.resize(2 * size);
        scales.resize(size / kBlock);
        offsets.resize(size / kBlock);
        totals.resize(size / kBlock);
    }
    int blocks() const { return length / kBlock; }
};

inline void quantize_row(const float* x, int column, Activations& to) {
    const int first = column / kTile * kTile, wide = std::min(kTile, to.columns - first);
    int8_t* quads = to.quads.data() + 2 * size_t(first) * to.length + 8 * (column - first);
    size_t at = size_t(first) * to.blocks() + size_t(column - first);
    for (int block = 0; block < to.blocks(); ++block, at += wide) {
        const Lanes a = load(x + kBlock * block), b = load(x + kBlock * block + kLanes);
        const float largest = fold_largest(larger(absolute(a), absolute(b)));
        const bool is_finite = std::isfinite(fold(a + b));
        const bool is_empty = !(is_finite && largest > kSmallest);
        const Lanes inverse = all(is_empty ? 0.0f : kLargest / largest);
        const Lanes near = is_empty ? all(0.0f) : rounded(a * inverse);
        const Lanes far = is_empty ? all(0.0f) : rounded(b * inverse);
        const float sum = fold(near + far);  // exact
        const IntLanes whole_numbers[] = {to_int(near), to_int(far)};
        int32_t codes[kBlock];
        std::memcpy(codes, whole_numbers, sizeof codes);
#if STEP_SPLITS
        int8_t high[kBlock], low[kBlock];
        for (int i = 0; i < kBlock; ++i) {
            const int32_t part = (codes[i] + 128) >> 8;
            high[i] = int8_t(part);
            low[i] = int8_t(codes[i] - 256 * part);
        }
        for (int i = 0; i < kBlock; i += 4, quads += 8 * wide) {
            std::memcpy(quads, high + i, 4);
            std::memcpy(quads + 4, low + i, 4);
        }
#else
        int16_t whole[kBlock];
        for (int i = 0; i < kBlock; ++i) whole[i] = int16_t(codes[i]);
        for (int i = 0; i < kBlock; i += 4, quads += 8 * wide) std::memcpy(quads, whole + i, 8);
#endif
        // What is no number stays none: it must reach the logits, where it is noticed.
        to.scales[at] = is_empty ? (is_finite ? 0.0f : NAN) : largest / kLargest;
        to.offsets[at] = -128 * int32_t(sum);
        to.totals[at] = to.scales[at] * sum;
    }
}

inline Lanes halves(const uint8_t* at) {  // 16 IEEE halves
    Lanes made;
#if defined(__AVX512F__)
    const __m512 value = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    std::memcpy(&made, &value, sizeof made);
#elif defined(__AVX2__)
    for (int i = 0; i < 2; ++i) {
        const __m128i* from = reinterpret_cast<const __m128i*>(at) + i;
        const __m256 value = _mm256_cvtph_ps(_mm_loadu_si128(from));
        std::memcpy(&made.part[i], &value, sizeof value);
    }
#else
    float value[kLanes];
    for (int i = 0; i < kLanes; ++i) value[i] = load_half(at + 2 * i);
    made = load(value);
#endif
    return made;
}

inline Lanes small_numbers(const uint8_t* at) {  // 16 bytes
    IntLanes made;
#if defined(__AVX512F__)
    const __m128i from = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m512i value = _mm512_cvtepu8_epi32(from);
    std::memcpy(&made, &value, sizeof made);
#elif defined(__AVX2__)
    for (int i = 0; i < 2; ++i) {
        const __m128i* from = reinterpret_cast<const __m128i*>(at + 8 * i);
        const __m256i value = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from));
        std::memcpy(&made.part[i], &value, sizeof value);
    }
#else
    int32_t value[kLanes];
    for (int i = 0; i < kLanes; ++i) value[i] = at[i];
    std::memcpy(&made, value, sizeof made);
#endif
    return to_float(made);
}

// --- products ---

struct Matrix {
    const uint8_t* data;
    const float* bias;  // [rows] or null
    int32_t rows, columns, kind, reserved;
};

inline int groups_of(const Matrix& m) { return (m.rows + kRows - 1) / kRows; }

// out[column] = the group's rows times all columns of the tile of x that begins at `first`.
template <int kColumns>
void multiply_q8(const uint8_t* data, const Activations& x, int first, float (*out)[kRows]) {
    const int8_t* quads = x.quads.data() + 2 * size_t(first) * x.length;
    size_t at = size_t(first) * x.blocks();
    Lanes made[kHalves * kColumns] = {};
    for (int block = 0; block < x.blocks(); ++block, data += kQ8Bytes, at += kColumns) {
#pragma GCC unroll 2
        for (int half = 0; half < kHalves; half += kTogether) {
            Sum sum[kTogether * kColumns];
            for (int j = 0; j < 8; ++j) {
                Weights w[kTogether];
                for (int h = 0; h < kTogether; ++h) {
                    const uint8_t* from = data + 2 * kRows + 4 * (kRows * j + kLanes * (half + h));
                    if (kTogether > 1 && kColumns > 1) __builtin_prefetch(from + kAhead);
                    w[h] = bytes(from);
                }
                for (int c = 0; c < kColumns; ++c)
                    for (int h = 0; h < kTogether; ++h)
                        add(sum[kTogether * c + h], w[h], quads + 8 * (kColumns * j + c));
            }
            for (int h = 0; h < kTogether; ++h) {
                const Lanes scale = halves(data + 2 * kLanes * (half + h));
                for (int c = 0; c < kColumns; ++c) {
                    Lanes& to = made[kHalves * c + half + h];
                    const Lanes whole = to_float(total(sum[kTogether * c + h], x.offsets[at + c]));
                    to = to + whole * (scale * all(x.scales[at + c]));
                }
            }
        }
        quads += 8 * 8 * kColumns;
    }
    for (int i = 0; i < kHalves * kColumns; ++i) store(out[i / kHalves] + kLanes * (i % kHalves), made[i]);
}

template <int kColumns>
void multiply_q4(const uint8_t* data, const Activations& x, int first, float (*out)[kRows]) {
    const int8_t* quads = x.quads.data() + 2 * size_t(first) * x.length;
    size_t at = size_t(first) * x.blocks();
    Lanes made[kHalves * kColumns] = {}, super_scale[kHalves] = {}, super_minimum[kHalves] = {};
    for (int block = 0; block < x.blocks(); ++block, data += kQ4Bytes, at += kColumns) {
        if (block % 8 == 0) {
            for (int h = 0; h < kHalves; ++h) {
                super_scale[h] = halves(data + 2 * kLanes * h);
                super_minimum[h] = halves(data + 2 * (kRows + kLanes * h));
            }
            data += kQ4Head;
        }
#pragma GCC unroll 2
        for (int half = 0; half < kHalves; half += kTogether) {
            Sum sum[kTogether * kColumns];
            for (int j = 0; j < 4; ++j) {
                Weights near[kTogether], far[kTogether];
                for (int h = 0; h < kTogether; ++h) {
                    const uint8_t* from = data + 2 * kRows + 4 * (kRows * j + kLanes * (half + h));
                    __builtin_prefetch(from + kAhead);
                    const Weights both = bytes(from);
                    near[h] = low_halves(both);
                    far[h] = high_halves(both);
                }
                for (int c = 0; c < kColumns; ++c)
                    for (int h = 0; h < kTogether; ++h) {
                        Sum& to = sum[kTogether * c + h];
                        add(to, near[h], quads + 8 * (kColumns * j + c));
                        add(to, far[h], quads + 8 * (kColumns * (j + 4) + c));
                    }
            }
            for (int h = 0; h < kTogether; ++h) {
                const uint8_t* small = data + kLanes * (half + h);
                const Lanes scale = super_scale[half + h] * small_numbers(small);
                const Lanes minimum = super_minimum[half + h] * small_numbers(small + kRows);
                for (int c = 0; c < kColumns; ++c) {
                    Lanes& to = made[kHalves * c + half + h];
                    const Lanes whole = to_float(total(sum[kTogether * c + h], 0));
                    to = to + whole * (scale * all(x.scales[at + c]));
                    to = to - minimum * all(x.totals[at + c]);
                }
            }
        }
        quads += 8 * 8 * kColumns;
    }
    for (int i = 0; i < kHalves * kColumns; ++i) store(out[i / kHalves] + kLanes * (i % kHalves), made[i]);
}

template <int kColumns>
void multiply_columns(const Matrix& m, int group, const Activations& x, int first,
                      float (*out)[kRows]) {
    const uint8_t* data = m.data + size_t(group) * group_bytes(m.kind, m.columns);
    if (m.kind == kQ8)
        multiply_q8<kColumns>(data, x, first, out);
    else
        multiply_q4<kColumns>(data, x, first, out);
    const int rows = std::min(kRows, m.rows - kRows * group);
    for (int c = 0; c < kColumns; ++c)
        for (int i = 0; m.bias != nullptr && i < rows; ++i) out[c][i] += m.bias[kRows * group + i];
}

// The columns that do not fill a tile.
template <int kColumns>
void multiply_rest(const Matrix& m, int group, const Activations& x, int first, int left,
                   float (*out)[kRows]) {
    if constexpr (kColumns > 0) {
        if (left == kColumns)
            multiply_columns<kColumns>(m, group, x, first, out);
        else
            multiply_rest<kColumns - 1>(m, group, x, first, left, out);
    }
}

// Calls put(column, values of the group's rows) for each of the columns.
template <typename Put>
void multiply_group(const Matrix& m, int group, const Activations& x, int columns,
                    const Put& put) {
    alignas(64) float out[kTile][kRows];
    for (int first = 0; first < columns; first += kTile) {
        const int count = std::min(kTile, columns - first);
        multiply_rest<kTile>(m, group, x, first, count, out);
        for (int c = 0; c < count; ++c) put(first + c, out[c]);
    }
}

}  // namespace step
