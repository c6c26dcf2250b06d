// The threads of a model with the buffers that passes leave for the next, and what one thread does.

#pragma once

#include "pool.h"
#include "products.h"

namespace step {

struct Scratch {
    Activations shared;                      // of many columns
    std::vector<Activations> own;            // per thread, of few columns
    std::vector<std::vector<float>> rows;    // per thread, one row of activations
    std::vector<std::vector<float>> scores;  // per thread, of all positions
    std::vector<float> queries, keys, values, mixed, gated;
};

// Of chains of convolutions (waves.h).
struct WaveScratch {
    std::vector<int16_t> values[2];  // of signals: in turn what a convolution reads and makes
    std::vector<float> scales[2];
    std::vector<float> kept;               // [lane][position][channel], to which is added later
    std::vector<std::vector<float>> sums;  // per thread [column][channel of a panel]
};

struct Context {
    explicit Context(int threads) : pool(threads) {
        scratch.own.resize(size_t(pool.size()));
        scratch.rows.resize(size_t(pool.size()));
        scratch.scores.resize(size_t(pool.size()));
    }
    Pool pool;
    Scratch scratch;
    WaveScratch waves;
};

inline void fit(std::vector<float>& values, size_t count) {
    if (values.size() < count) values.resize(count);
}

// What one thread knows of a pass.
struct Worker {
    Context& context;
    int thread;
    int phase = 0;

    void barrier() { context.pool.barrier(phase++); }
    std::vector<float>& row() { return context.scratch.rows[size_t(thread)]; }

    // Quantised activations; `fill(column, row)` gives each, or points to where it stands. Few are
    // made by every thread for itself, which saves waiting; many are shared out.
    template <typename Fill>
    const Activations& quantize(int columns, int length, Fill fill) {
        fit(row(), size_t(length));
        if (columns <= kOwn) {
            Activations& own = context.scratch.own[size_t(thread)];
            own.reserve(columns, length);
            for (int c = 0; c < columns; ++c) quantize_row(fill(c, row().data()), c, own);
            return own;
        }
        Activations& shared = context.scratch.shared;
        if (thread == 0) shared.reserve(columns, length);
        barrier();
        for (int c = thread; c < columns; c += context.pool.size())
            quantize_row(fill(c, row().data()), c, shared);
        barrier();
        return shared;
    }

    // Take the groups of the matrices in turn and multiply each with x; `put(matrix, column, first
    // row, rows, values)` gets what comes out.
    template <typename Put>
    void multiply(const Matrix* const* matrices, int count, const Activations& x, int columns,
                  const Put& put) {
        int total = 0;
        for (int i = 0; i < count; ++i) total += groups_of(*matrices[i]);
        share_out(total, [&](int at) {
            int which = 0;
            while (at >= groups_of(*matrices[which])) at -= groups_of(*matrices[which++]);
            const Matrix& m = *matrices[which];
            multiply_group(m, at, x, columns, [&](int column, const float* values) {
                put(which, column, kRows * at, std::min(kRows, m.rows - kRows * at), values);
            });
        });
        barrier();
    }

    template <typename Do>
    void share_out(int total, Do act) {
        const int portion = std::max(1, total / (context.pool.size() * 8));
        for (int first; (first = context.pool.take(phase, portion)) < total;)
            for (int at = first; at < std::min(first + portion, total); ++at) act(at);
    }

private:
    static constexpr int kOwn = 8;
};

}  // namespace step
