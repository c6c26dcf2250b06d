// Weights as GGUF files store them, and repacked as the products read them.
//
// In repacked weights 32 output rows lie side by side, which makes each half of them one operand of
// every instruction set here:
//
//   q8: for each group of 32 rows, for each block of 32 columns:
//         32 scales (IEEE half), then 8 x 32 x 4 weights (w + 128, unsigned bytes)
//   q4: the same, with 8 blocks sharing 32 super scales and 32 super minima (IEEE half); for each
//         block 32 scales and 32 minima (bytes), then 4 x 32 x 4 bytes with two weights each:
//         columns 4j .. 4j + 3 in the low halves, 16 columns further on in the high ones
//
// q4 keeps the values of Q4_K, q8 those of Q8_0; other types are rounded to q8 when repacked.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace step {

constexpr int kRows = 32;   // output rows of a group
constexpr int kBlock = 32;  // columns of a block
constexpr int kSuper = 256;
constexpr int kQ8Bytes = 2 * kRows + kRows * kBlock;
constexpr int kQ4Head = 4 * kRows;
constexpr int kQ4Bytes = 2 * kRows + kRows * kBlock / 2;

enum Kind : int32_t { kQ8 = 0, kQ4 = 1 };
enum Stored : int32_t { kF32 = 0, kF16 = 1, kQ80 = 8, kQ4K = 12, kQ6K = 14, kBF16 = 30 };

inline float half_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = (half >> 10) & 31;
    const uint32_t low = half & 1023;
    uint32_t bits;
    float value;
    if (exponent == 0) {
        value = float(low) * 5.9604644775390625e-8f;  // 2^-24
        std::memcpy(&bits, &value, 4);
        bits |= sign;
    } else {
        bits = sign | ((exponent == 31 ? 255u : exponent + 112u) << 23) | (low << 13);
    }
    std::memcpy(&value, &bits, 4);
    return value;
}

inline uint16_t float_to_half(float value) {  // to nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const uint32_t sign = (bits >> 16) & 0x8000;
    bits &= 0x7fffffff;
    if (bits >= 0x47800000) return uint16_t(sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00));
    if (bits < 0x38800000) {
        std::memcpy(&value, &bits, 4);
        return uint16_t(sign | uint32_t(std::nearbyint(value * 16777216.0f)));
    }
    bits += 0xc8000fff + ((bits >> 13) & 1);
    return uint16_t(sign | (bits >> 13));
}

inline float load_half(const uint8_t* at) {
    uint16_t bits;
    std::memcpy(&bits, at, 2);
    return half_to_float(bits);
}

inline void q4k_scales(const uint8_t* packed, int index, int* scale, int* minimum) {
    if (index < 4) {
        *scale = packed[index] & 63;
        *minimum = packed[index + 4] & 63;
    } else {
        *scale = (packed[index + 4] & 15) | ((packed[index - 4] >> 6) << 4);
        *minimum = (packed[index + 4] >> 4) | ((packed[index] >> 6) << 4);
    }
}

// Bytes of so many stored values, or -1 for types that are not read here.
inline int64_t stored_bytes(int32_t type, int64_t count) {
    switch (type) {
        case kF32: return 4 * count;
        case kF16:
        case kBF16: return 2 * count;
        case kQ80: return count % kBlock ? -1 : count / kBlock * 34;
        case kQ4K: return count % kSuper ? -1 : count / kSuper * 144;
        case kQ6K: return count % kSuper ? -1 : count / kSuper * 210;
        default: return -1;
    }
}

inline void dequantize_q4k(const uint8_t* from, int64_t count, float* to) {
    for (int64_t super = 0; super < count / kSuper; ++super, from += 144, to += kSuper) {
        const float d = load_half(from), dmin = load_half(from + 2);
        for (int block = 0; block < 8; ++block) {
            int scale, minimum;
            q4k_scales(from + 4, block, &scale, &minimum);
            const uint8_t* q = from + 16 + 32 * (block / 2);
            for (int i = 0; i < kBlock; ++i) {
                const int value = block % 2 ? q[i] >> 4 : q[i] & 15;
                to[kBlock * block + i] = d * float(scale) * float(value) - dmin * float(minimum);
            }
        }
    }
}

inline void dequantize_q6k(const uint8_t* from, int64_t count, float* to) {
    for (int64_t super = 0; super < count / kSuper; ++super, from += 210, to += kSuper) {
        const int8_t* scales = reinterpret_cast<const int8_t*>(from + 192);
        const float d = load_half(from + 208);
        for (int i = 0; i < kSuper; ++i) {
            const int half = i / 128, within = i % 128, quarter = within / 32, j = within % 32;
            const uint8_t byte = from[64 * half + 32 * (quarter % 2) + j];
            const int low = quarter < 2 ? byte & 15 : byte >> 4;
            const int high = (from[128 + 32 * half + j] >> (2 * quarter)) & 3;
            to[i] = d * float(scales[8 * half + within / 16]) * float((low | (high << 4)) - 32);
        }
    }
}

inline void dequantize(int32_t type, const uint8_t* from, int64_t count, float* to) {
    switch (type) {
        case kF32: std::memcpy(to, from, size_t(count) * 4); break;
        case kF16:
            for (int64_t i = 0; i < count; ++i) to[i] = load_half(from + 2 * i);
            break;
        case kBF16:
            for (int64_t i = 0; i < count; ++i) {
                uint16_t high;
                std::memcpy(&high, from + 2 * i, 2);
                const uint32_t bits = uint32_t(high) << 16;
                std::memcpy(to + i, &bits, 4);
            }
            break;
        case kQ80:
            for (int64_t block = 0; block < count / kBlock; ++block, from += 34) {
                const float scale = load_half(from);
                for (int i = 0; i < kBlock; ++i)
                    to[kBlock * block + i] = scale * float(int8_t(from[2 + i]));
            }
            break;
        case kQ4K: dequantize_q4k(from, count, to); break;
        default: dequantize_q6k(from, count, to); break;
    }
}

inline size_t group_bytes(int32_t kind, int64_t columns) {
    const size_t blocks = size_t(columns) / kBlock;
    return kind == kQ8 ? blocks * kQ8Bytes : blocks * kQ4Bytes + blocks / 8 * kQ4Head;
}

// Rows behind the last one of a matrix repeat it, with scales of zero.
struct GroupRows {
    const uint8_t* row[kRows];
    bool is_padding[kRows];
};

inline void pack_q4_group(const GroupRows& from, int64_t columns, uint8_t* to) {
    for (int64_t block = 0; block < columns / kBlock; ++block) {
        const int64_t super = block / 8 * 144;
        if (block % 8 == 0) {
            for (int i = 0; i < kRows; ++i)
                for (int part = 0; part < 2; ++part) {
                    uint8_t* at = to + 2 * (kRows * part + i);
                    if (from.is_padding[i])
                        std::memset(at, 0, 2);
                    else
                        std::memcpy(at, from.row[i] + super + 2 * part, 2);
                }
            to += kQ4Head;
        }
        for (int i = 0; i < kRows; ++i) {
            int scale, minimum;
            q4k_scales(from.row[i] + super + 4, int(block % 8), &scale, &minimum);
            to[i] = uint8_t(scale);
            to[kRows + i] = uint8_t(minimum);
            const uint8_t* q = from.row[i] + super + 16 + 32 * (block % 8 / 2);
            for (int j = 0; j < 4; ++j) {
                uint32_t low, high;
                std::memcpy(&low, q + 4 * j, 4);
                std::memcpy(&high, q + 16 + 4 * j, 4);
                const uint32_t both = block % 2 ? ((low >> 4) & 0x0f0f0f0f) | (high & 0xf0f0f0f0)
                                                : (low & 0x0f0f0f0f) | ((high << 4) & 0xf0f0f0f0);
                std::memcpy(to + 2 * kRows + 4 * (kRows * j + i), &both, 4);
            }
        }
        to += kQ4Bytes;
    }
}

inline void pack_q8_block(int row, uint16_t scale, const uint8_t* codes, uint8_t* to) {
    std::memcpy(to + 2 * row, &scale, 2);
    for (int j = 0; j < 8; ++j) {
        uint32_t four;
        std::memcpy(&four, codes + 4 * j, 4);
        four ^= 0x80808080;  // w + 128
        std::memcpy(to + 2 * kRows + 4 * (kRows * j + row), &four, 4);
    }
}

inline void pack_q8_group(const GroupRows& from, int32_t type, int64_t columns, uint8_t* to,
                          std::vector<float>& values) {
    for (int i = 0; i < kRows; ++i) {
        if (type != kQ80) {
            values.resize(size_t(columns));
            dequantize(type, from.row[i], columns, values.data());
        }
        for (int64_t block = 0; block < columns / kBlock; ++block) {
            uint8_t codes[kBlock] = {};
            uint16_t scale = 0;
            if (from.is_padding[i]) {
                // nothing but zeros
            } else if (type == kQ80) {
                std::memcpy(&scale, from.row[i] + 34 * block, 2);
                std::memcpy(codes, from.row[i] + 34 * block + 2, kBlock);
            } else {
                const float* part = values.data() + kBlock * block;
                float largest = 0.0f, total = 0.0f;
                for (int k = 0; k < kBlock; ++k) {
                    largest = std::max(largest, std::fabs(part[k]));
                    total += part[k];
                }
                // What is no number stays none: it must reach the logits, where it is noticed.
                scale = float_to_half(std::isfinite(total) ? largest / 127.0f : NAN);
                const float exact = half_to_float(scale);
                for (int k = 0; k < kBlock && exact > 0.0f; ++k) {
                    const float code = std::nearbyint(part[k] / exact);
                    codes[k] = uint8_t(int8_t(std::min(std::max(code, -127.0f), 127.0f)));
                }
            }
            pack_q8_block(i, scale, codes, to + block * kQ8Bytes);
        }
    }
}

// The values of one repacked row, in the arithmetic of `dequantize`.
inline void unpack_row(int32_t kind, const uint8_t* data, int64_t columns, int64_t row, float* to) {
    const int i = int(row % kRows);
    data += row / kRows * int64_t(group_bytes(kind, columns));
    float super_scale = 0.0f, super_minimum = 0.0f;
    for (int64_t block = 0; block < columns / kBlock; ++block, to += kBlock) {
        if (kind == kQ8) {
            const float scale = load_half(data + 2 * i);
            for (int k = 0; k < kBlock; ++k) {
                const uint8_t code = data[2 * kRows + 4 * (kRows * (k / 4) + i) + k % 4];
                to[k] = scale * float(int(code) - 128);
            }
            data += kQ8Bytes;
            continue;
        }
        if (block % 8 == 0) {
            super_scale = load_half(data + 2 * i);
            super_minimum = load_half(data + 2 * (kRows + i));
            data += kQ4Head;
        }
        const float scale = super_scale * float(data[i]);
        const float minimum = super_minimum * float(data[kRows + i]);
        for (int k = 0; k < kBlock; ++k) {
            const uint8_t both = data[2 * kRows + 4 * (kRows * (k % 16 / 4) + i) + k % 4];
            to[k] = scale * float(k < 16 ? both & 15 : both >> 4) - minimum;
        }
        data += kQ4Bytes;
    }
}

}  // namespace step
