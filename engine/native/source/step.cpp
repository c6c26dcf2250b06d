// One decode step of the Qwen3 stacks over quantised weights, without torch and third-party code.
//
// Compiled once for each instruction set; the caller opens the best one that this processor has.
// All pointers are to plain buffers of the caller. A context serves one call at a time.

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "drawing.h"
#include "transformer.h"
#include "waves.h"

#if defined(_WIN32)
#define API extern "C" __declspec(dllexport)
#else
#define API extern "C" __attribute__((visibility("default")))
#endif

using namespace step;

namespace {

struct Table {  // rows as the file stores them
    const uint8_t* data;
    int32_t type, rows, columns, reserved;
};

struct Predictor {
    Stack stack;
    const Matrix* heads;       // [books]
    const Table* embeddings;   // [books], of the talker's width
    const Matrix* projection;  // talker's width -> width, or null
    int32_t books, wide;
};

void read_row(const Table& table, int row, float* to) {
    const int64_t bytes = stored_bytes(table.type, table.columns);
    dequantize(table.type, table.data + bytes * row, table.columns, to);
}

}  // namespace

// The layout of the structures and arguments below: raised with every change of them.
API int step_version() { return 2; }

API const char* step_name() { return kName; }

// Whether this processor can run what this file was compiled for.
API int step_supported() {
#if defined(__x86_64__)
    __builtin_cpu_init();
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
#elif defined(__AVX2__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    if (!has_f16c || !__builtin_cpu_supports("avx2")) return 0;
#if defined(__AVXVNNI__)
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
#endif
#endif
#endif
    return 1;
}

API void* step_open(int threads) { return new Context(threads); }

API void step_close(void* handle) { delete static_cast<Context*>(handle); }

// Bytes of a repacked matrix, or -1 if its columns do not fill whole blocks.
API int64_t step_packed_bytes(int kind, int64_t rows, int64_t columns) {
    if (columns <= 0 || columns % (kind == kQ4 ? kSuper : kBlock)) return -1;
    return (rows + kRows - 1) / kRows * int64_t(group_bytes(kind, columns));
}

// Repack rows of a stored matrix. q4 takes Q4_K only. Returns 0, or -1 for what it cannot do.
API int step_pack(void* handle, int kind, int type, const uint8_t* from, int64_t rows,
                  int64_t columns, uint8_t* to) {
    const int64_t row_bytes = stored_bytes(type, columns);
    if (row_bytes < 0 || step_packed_bytes(kind, rows, columns) < 0) return -1;
    if (kind == kQ4 && type != kQ4K) return -1;
    Context& context = *static_cast<Context*>(handle);
    const int groups = int((rows + kRows - 1) / kRows);
    context.pool.run([&](int thread) {
        Worker worker{context, thread};
        worker.share_out(groups, [&](int group) {
            GroupRows source;
            for (int i = 0; i < kRows; ++i) {
                const int64_t row = int64_t(kRows) * group + i;
                source.row[i] = from + row_bytes * std::min(row, rows - 1);
                source.is_padding[i] = row >= rows;
            }
            uint8_t* target = to + size_t(group) * group_bytes(kind, columns);
            if (kind == kQ4)
                pack_q4_group(source, columns, target);
            else
                pack_q8_group(source, type, columns, target, worker.row());
        });
    });
    return 0;
}

// The values [rows][columns] of a repacked matrix.
API void step_unpack(int kind, const uint8_t* from, int64_t rows, int64_t columns, float* to) {
    for (int64_t row = 0; row < rows; ++row) unpack_row(kind, from, columns, row, to + row * columns);
}

// The values of stored blocks; -1 for types that are not read here.
API int step_dequantize(int type, const uint8_t* from, int64_t count, float* to) {
    if (stored_bytes(type, count) < 0) return -1;
    dequantize(type, from, count, to);
    return 0;
}

// to [columns][all rows] = the matrices, one below the other, times x [columns][length].
API void step_linear(void* handle, const Matrix* matrices, int count, const float* x, int columns,
                     float* to) {
    Context& context = *static_cast<Context*>(handle);
    std::vector<const Matrix*> parts;
    std::vector<int> starts;
    int rows_of_all = 0;
    for (int i = 0; i < count; ++i) {
        parts.push_back(matrices + i);
        starts.push_back(rows_of_all);
        rows_of_all += matrices[i].rows;
    }
    const int length = matrices[0].columns;
    context.pool.run([&](int thread) {
        Worker worker{context, thread};
        const Activations& in = worker.quantize(columns, length, [&](int column, float*) {
            return x + size_t(column) * length;
        });
        const auto put = [&](int which, int column, int first, int rows, const float* values) {
            std::memcpy(to + size_t(column) * rows_of_all + starts[size_t(which)] + first, values,
                        sizeof(float) * rows);
        };
        worker.multiply(parts.data(), count, in, columns, put);
    });
}

// Blocks `first` to `end` on x [lanes][length][width], in place; `start` positions are in the cache
// already and `length` more afterwards. With `normalise` the last norm follows.
API void step_stack(void* handle, const Stack* stack, const Cache* cache, int first, int end,
                    int normalise, float* x, int lanes, int length, int64_t start) {
    Context& context = *static_cast<Context*>(handle);
    reserve(context, *stack, lanes * length);
    context.pool.run([&](int thread) {
        Worker worker{context, thread};
        run_blocks(*stack, *cache, first, end, x, lanes, length, start, worker);
        if (!normalise) return;
        for (int c = thread; c < lanes * length; c += context.pool.size()) {
            float* row = x + size_t(c) * stack->width;
            rms_norm(row, stack->norm, stack->width, stack->epsilon, row);
        }
    });
}

// The code that `draw` gives, or -1.
API int step_draw(const float* logits, int count, const Drawing* how, float uniform) {
    Ranked order;
    return draw(logits, count, *how, uniform, order);
}

// One frame of the code predictor: inputs [lanes][2][wide] (the talker's hidden state, and the
// embedding of its code) and uniforms [lanes][books] give codes [lanes][books] and the sum of their
// embeddings [lanes][wide]. Returns 0, or -1 if the scores were no numbers.
API int step_predict(void* handle, const Predictor* model, const Cache* cache, const float* inputs,
                     const float* uniforms, const Drawing* how, int lanes, int64_t* codes,
                     float* sums) {
    Context& context = *static_cast<Context*>(handle);
    const Stack& stack = model->stack;
    const int width = stack.width, wide = model->wide, books = model->books;
    reserve(context, stack, 2 * lanes);
    int most = 0;
    for (int book = 0; book < books; ++book) most = std::max(most, model->heads[book].rows);
    std::vector<float> x(size_t(2) * lanes * width), next(size_t(lanes) * wide);
    std::vector<float> logits(size_t(lanes) * most);
    std::fill(sums, sums + size_t(lanes) * wide, 0.0f);
    std::atomic<bool> has_failed{false};

    const auto choose = [&](int book, int thread, Ranked& order) {
        const int rows = model->heads[book].rows;
        for (int lane = thread; lane < lanes; lane += context.pool.size()) {
            const size_t at = size_t(lane) * books + book;
            int code = draw(logits.data() + size_t(lane) * rows, rows, *how, uniforms[at], order);
            if (code < 0) {
                has_failed = true;
                code = 0;
            }
            codes[at] = code;
            float* embedded = next.data() + size_t(lane) * wide;
            float* sum = sums + size_t(lane) * wide;
            read_row(model->embeddings[book], code, embedded);
            for (int i = 0; i < wide; ++i) sum[i] += embedded[i];
        }
    };
    context.pool.run([&](int thread) {
        Worker worker{context, thread};
        Ranked order;
        for (int book = 0; book < books; ++book) {
            const int length = book ? 1 : 2, columns = lanes * length;
            const float* from = book ? next.data() : inputs;
            if (model->projection != nullptr) {
                const Matrix* only[] = {model->projection};
                const auto put = [&](int, int column, int first, int rows, const float* values) {
                    std::memcpy(x.data() + size_t(column) * width + first, values,
                                sizeof(float) * rows);
                };
                const auto input = [&](int column, float*) { return from + size_t(column) * wide; };
                worker.multiply(only, 1, worker.quantize(columns, wide, input), columns, put);
            } else {
                if (thread == 0) std::memcpy(x.data(), from, sizeof(float) * columns * width);
                worker.barrier();
            }
            run_blocks(stack, *cache, 0, stack.count, x.data(), lanes, length, book ? book + 1 : 0,
                       worker);
            const Matrix* head[] = {model->heads + book};
            const int rows_of_head = head[0]->rows;
            const auto last = [&](int lane, float* to) -> const float* {
                const size_t at = size_t(lane) * length + length - 1;
                rms_norm(x.data() + at * width, stack.norm, width, stack.epsilon, to);
                return to;
            };
            const auto put = [&](int, int lane, int first, int rows, const float* values) {
                std::memcpy(logits.data() + size_t(lane) * rows_of_head + first, values,
                            sizeof(float) * rows);
            };
            worker.multiply(head, 1, worker.quantize(lanes, width, last), lanes, put);
            choose(book, thread, order);
            worker.barrier();
        }
    });
    return has_failed ? -1 : 0;
}

// Whether chains of convolutions are faster here than in floats.
API int step_fast_waves() { return kFastWaves; }

// Pack float weights [rows][inputs][taps] of one phase of a convolution. Rows and inputs are
// multiples of 16; `to` holds zeros.
API void step_pack_convolution(void* handle, const float* from, int rows, int inputs, int taps,
                               int16_t* to, float* scales) {
    Context& context = *static_cast<Context*>(handle);
    const size_t row = size_t(inputs) * taps;
    context.pool.run([&](int thread) {
        Worker worker{context, thread};
        worker.share_out(rows / kLanes, [&](int group) {
            for (int i = 0; i < kLanes; ++i) {
                const size_t at = size_t(group) * kLanes + size_t(i);
                int16_t* first = to + size_t(group) * kLanes * row + 2 * i;
                scales[at] = pack_row(from + at * row, inputs, taps, first);
            }
        });
    });
}

// Bytes that a chain of convolutions remembers of each lane.
API int64_t step_wave_past(const Convolution* layers, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += past_bytes(layers[i]);
    return int64_t(bytes);
}

// Run a chain on x [lanes][length][inputs]; `past` [lanes][bytes] moves on.
API void step_waves(void* handle, const Convolution* layers, int count, const float* x, int lanes,
                    int length, uint8_t* past, float* made) {
    Context& context = *static_cast<Context*>(handle);
    const WaveRun run{layers, count, lanes, length, past, made, context.waves};
    run.reserve(context.pool.size());
    context.pool.run([&](int thread) {
        Worker worker{context, thread};
        run_waves(run, x, worker);
    });
}
