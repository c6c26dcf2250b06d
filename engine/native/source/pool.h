// The threads of a pass, and how they wait for one another.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace step {

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// A pass is a series of phases with a barrier behind each. Work is handed out in small portions, so
// that a thread that was put aside holds the others up by one portion only. Waits spin briefly,
// then give the processor away, and between two passes the threads sleep.
class Pool {
public:
    explicit Pool(int threads) : count_(std::max(threads, 1)) {
        for (int i = 1; i < count_; ++i) workers_.emplace_back([this, i] { serve(i); });
    }

    ~Pool() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ending_ = true;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int size() const { return count_; }

    // Run `body(thread)` on all threads and wait for the end.
    void run(const std::function<void(int)>& body) {
        for (auto& next : next_) next.store(0, std::memory_order_relaxed);
        if (count_ > 1) {
            busy_.store(count_ - 1, std::memory_order_relaxed);
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                body_ = &body;
                pass_.fetch_add(1, std::memory_order_release);
            }
            wake_.notify_all();
        }
        body(0);
        wait([this] { return busy_.load(std::memory_order_acquire) == 0; });
    }

    // The first item of the next portion of a phase; beyond the last one when none is left.
    int take(int phase, int portion) {
        return next_[phase % kPhases].fetch_add(portion, std::memory_order_relaxed);
    }

    // Every thread comes here at the end of each phase, and goes on when all have.
    void barrier(int phase) {
        const uint32_t before = phase_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
            arrived_.store(0, std::memory_order_relaxed);
            // No thread is left in the phase before this one: its counter can serve again.
            next_[(phase + kPhases - 1) % kPhases].store(0, std::memory_order_relaxed);
            phase_.store(before + 1, std::memory_order_release);
        } else {
            wait([&] { return phase_.load(std::memory_order_acquire) != before; });
        }
    }

private:
    static constexpr int kPhases = 4;
    static constexpr int kSpins = 2000;

    template <typename Done>
    static void wait(Done done) {
        for (int i = 0; i < kSpins; ++i) {
            if (done()) return;
            relax();
        }
        while (!done()) std::this_thread::yield();
    }

    void serve(int index) {
        uint32_t seen = 0;
        for (;;) {
            for (int i = 0; i < kSpins && pass_.load(std::memory_order_acquire) == seen; ++i)
                relax();
            const std::function<void(int)>* body;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return ending_ || pass_.load() != seen; });
                if (ending_) return;
                seen = pass_.load();
                body = body_;
            }
            (*body)(index);
            busy_.fetch_sub(1, std::memory_order_acq_rel);
        }
    }

    const int count_;
    std::mutex mutex_;
    std::condition_variable wake_;
    const std::function<void(int)>* body_ = nullptr;
    bool ending_ = false;
    std::atomic<uint32_t> pass_{0}, phase_{0};
    std::atomic<int> busy_{0}, arrived_{0};
    std::atomic<int> next_[kPhases] = {};
    std::vector<std::thread> workers_;  // last: they use all that stands above
};

}  // namespace step
