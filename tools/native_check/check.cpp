// Prints what the native step computes from fixed numbers, as hashes: every instruction set has to
// print the same lines. See run.sh.

#include "step.cpp"

#include <cinttypes>
#include <cstdio>

namespace {

using namespace step;

uint32_t state = 12345;

uint32_t next_number() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

std::vector<float> numbers(size_t count, float largest) {
    std::vector<float> values(count);
    for (float& value : values) value = (int(next_number() % 20001) - 10000) * 1e-4f * largest;
    return values;
}

template <typename T>
void tell(const char* what, const std::vector<T>& values) {
    uint64_t hash = 1469598103934665603ull;
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
    std::printf("%s %016" PRIx64 "\n", what, hash);
}

void products(void* handle, const Matrix& matrix) {
    for (int columns : {1, 3, 16, 70}) {
        std::vector<float> x = numbers(size_t(columns) * size_t(matrix.columns), 10);
        x[5] = 900;
        std::vector<float> made(size_t(columns) * size_t(matrix.rows));
        step_linear(handle, &matrix, 1, x.data(), columns, made.data());
        tell(matrix.kind == kQ8 ? "product q8" : "product q4", made);
    }
}

void matrices(void* handle) {
    const int rows = 83, columns = 512, super_bytes = 144;
    const std::vector<float> weights = numbers(size_t(rows) * columns, 1);
    std::vector<uint8_t> packed(size_t(step_packed_bytes(kQ8, rows, columns)));
    const auto* bytes = reinterpret_cast<const uint8_t*>(weights.data());
    step_pack(handle, kQ8, kF32, bytes, rows, columns, packed.data());
    products(handle, Matrix{packed.data(), nullptr, rows, columns, kQ8, 0});

    std::vector<uint8_t> stored(size_t(rows) * columns / kSuper * super_bytes);
    for (uint8_t& byte : stored) byte = uint8_t(next_number());
    for (size_t at = 0; at < stored.size(); at += super_bytes) {
        stored[at] = stored[at + 2] = 0;  // half-precision scales of ordinary size
        stored[at + 1] = 0x2c;
        stored[at + 3] = 0x28;
    }
    packed.assign(size_t(step_packed_bytes(kQ4, rows, columns)), 0);
    step_pack(handle, kQ4, kQ4K, stored.data(), rows, columns, packed.data());
    products(handle, Matrix{packed.data(), nullptr, rows, columns, kQ4, 0});
}

void waves(void* handle) {
    const int inputs = 112, outputs = 48, taps = 7, lanes = 2, length = 37;
    const std::vector<float> weights = numbers(size_t(outputs) * inputs * taps, 1);
    std::vector<int16_t> packed(weights.size());
    std::vector<float> scales(outputs), bias = numbers(outputs, 1);
    std::vector<float> frequency = numbers(outputs, 0.3f), strength = numbers(outputs, 1);
    step_pack_convolution(handle, weights.data(), outputs, inputs, taps, packed.data(), scales.data());
    const Convolution chain[] = {{packed.data(), scales.data(), bias.data(), frequency.data(),
                                  strength.data(), inputs, outputs, taps, 3, 1, kNone}};
    std::vector<uint8_t> past(size_t(lanes) * size_t(step_wave_past(chain, 1)));
    for (int piece = 0; piece < 3; ++piece) {
        const std::vector<float> x = numbers(size_t(lanes) * length * inputs, 3);
        std::vector<float> made(size_t(lanes) * length * outputs);
        step_waves(handle, chain, 1, x.data(), lanes, length, past.data(), made.data());
        tell("wave", made);
    }
    tell("past", past);
}

}  // namespace

int main() {
    std::fprintf(stderr, "%s\n", step_name());
    void* handle = step_open(2);
    matrices(handle);
    waves(handle);
    step_close(handle);
}
