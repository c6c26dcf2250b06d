// Sixteen numbers at a time, computed alike on every processor.
//
// Compilers make one, two or four machine registers of them. Sums always run over sixteen lanes and
// are folded in the same order, and products are never fused with sums (-ffp-contract=off), so that
// every instruction set gives the same bits.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

namespace step {

constexpr int kLanes = 16;
#if defined(__AVX512F__)
constexpr int kParts = 1;
#elif defined(__AVX2__)
constexpr int kParts = 2;
#else
constexpr int kParts = 4;
#endif

typedef float FloatPart __attribute__((vector_size(4 * kLanes / kParts)));
typedef int32_t IntPart __attribute__((vector_size(4 * kLanes / kParts)));

struct Lanes {
    FloatPart part[kParts];
};
struct IntLanes {
    IntPart part[kParts];
};

#define STEP_EACH for (int p = 0; p < kParts; ++p)

inline Lanes load(const float* at) {
    Lanes made;
    STEP_EACH std::memcpy(&made.part[p], at + p * kLanes / kParts, sizeof made.part[p]);
    return made;
}
inline void store(float* at, const Lanes& x) {
    STEP_EACH std::memcpy(at + p * kLanes / kParts, &x.part[p], sizeof x.part[p]);
}
inline Lanes all(float value) {
    Lanes made;
    STEP_EACH made.part[p] = value - FloatPart{};  // nothing to compute: x - 0 is x for every x
    return made;
}
inline Lanes operator+(Lanes a, const Lanes& b) {
    STEP_EACH a.part[p] += b.part[p];
    return a;
}
inline Lanes operator-(Lanes a, const Lanes& b) {
    STEP_EACH a.part[p] -= b.part[p];
    return a;
}
inline Lanes operator*(Lanes a, const Lanes& b) {
    STEP_EACH a.part[p] *= b.part[p];
    return a;
}
inline Lanes operator/(Lanes a, const Lanes& b) {
    STEP_EACH a.part[p] /= b.part[p];
    return a;
}
inline Lanes larger(Lanes a, const Lanes& b) {
    STEP_EACH a.part[p] = a.part[p] > b.part[p] ? a.part[p] : b.part[p];
    return a;
}
inline Lanes smaller(Lanes a, const Lanes& b) {
    STEP_EACH a.part[p] = a.part[p] < b.part[p] ? a.part[p] : b.part[p];
    return a;
}
inline Lanes absolute(const Lanes& a) { return larger(a, all(0.0f) - a); }

// To the nearest whole number, ties to even; for magnitudes below 2^22.
inline Lanes rounded(const Lanes& a) {
    const Lanes magic = all(12582912.0f);  // 1.5 * 2^23
    return (a + magic) - magic;
}
inline IntLanes to_int(const Lanes& a) {
    IntLanes made;
    STEP_EACH made.part[p] = __builtin_convertvector(a.part[p], IntPart);
    return made;
}
inline Lanes to_float(const IntLanes& a) {
    Lanes made;
    STEP_EACH made.part[p] = __builtin_convertvector(a.part[p], FloatPart);
    return made;
}
inline IntLanes operator+(IntLanes a, const IntLanes& b) {
    STEP_EACH a.part[p] += b.part[p];
    return a;
}

// The upper half of the lanes combined with the lower, and so on until one is left.
template <typename Number, typename Whole, typename Combine>
inline Number fold(const Whole& a, Combine combine) {
#if defined(__AVX2__)
    typedef Number Eight __attribute__((vector_size(32)));
    typedef Number Four __attribute__((vector_size(16)));
#if defined(__AVX512F__)
    const __m512i whole = __m512i(a.part[0]);
    const Eight eight = combine(Eight(_mm512_castsi512_si256(whole)),
                                Eight(_mm512_extracti64x4_epi64(whole, 1)));
#else
    const Eight eight = combine(a.part[0], a.part[1]);
#endif
    const Four four = combine(Four(_mm256_castsi256_si128(__m256i(eight))),
                              Four(_mm256_extracti128_si256(__m256i(eight), 1)));
    const Four two = combine(four, Four(_mm_unpackhi_epi64(__m128i(four), __m128i(four))));
    return combine(two, Four(_mm_shuffle_epi32(__m128i(two), 1)))[0];
#else
    Number value[kLanes];
    std::memcpy(value, &a, sizeof value);
    for (int width = kLanes / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) value[i] = combine(value[i], value[i + width]);
    return value[0];
#endif
}
inline float fold(const Lanes& a) {
    return fold<float>(a, [](auto x, auto y) { return x + y; });
}
inline float fold_largest(const Lanes& a) {
    return fold<float>(a, [](auto x, auto y) { return x > y ? x : y; });
}
inline int32_t fold_largest(const IntLanes& a) {
    return fold<int32_t>(a, [](auto x, auto y) { return x > y ? x : y; });
}

// 2^n for n in [-126, 127].
inline Lanes power_of_two(IntLanes n) {
    Lanes made;
    STEP_EACH {
        n.part[p] = (n.part[p] + 127) << 23;
        std::memcpy(&made.part[p], &n.part[p], sizeof made.part[p]);
    }
    return made;
}

// e^x for x in [-87, 88], beyond them as at the ends: 2^n times a polynomial of the rest (the one
// of Cephes), with a relative error below 2e-7.
inline Lanes exponential(Lanes x) {
    x = smaller(larger(x, all(-87.0f)), all(88.0f));
    const Lanes n = rounded(x * all(1.44269504f));
    const Lanes r = x - n * all(0.693359375f) + n * all(2.12194440e-4f);
    Lanes y = all(1.9875691500e-4f);
    y = y * r + all(1.3981999507e-3f);
    y = y * r + all(8.3334519073e-3f);
    y = y * r + all(4.1665795894e-2f);
    y = y * r + all(1.6666665459e-1f);
    y = y * r + all(5.0000001201e-1f);
    y = y * r * r + r + all(1.0f);
    return y * power_of_two(to_int(n));
}

}  // namespace step
