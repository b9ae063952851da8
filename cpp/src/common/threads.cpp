#include "assay/common/threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace assay {
namespace {

// How long a thread looks for what it waits for before it sleeps: longer than most steps between two parallel loops of a
// kernel take. It lets others run meanwhile, so that a thread of another program or of BLAS that has work need not wait.
constexpr std::chrono::microseconds patience{500};

thread_local bool inside = false;
thread_local int number = 0;

// Work that helpers may join; it lives on the stack of the thread that asked for it.
struct Job {
    void (*call)(void*, index_t);
    void* work;
    index_t count;
    int places;  // for helpers that have not come yet; under the pool's lock
    std::atomic<index_t> next{0};
    std::atomic<int> helping{0};
    std::exception_ptr failure = nullptr;  // under the pool's lock
};

// Calls until(), which should be cheap, until it says true or patience ends; returns what it said last.
template <class Until>
bool soon(Until&& until) {
    const auto end = std::chrono::steady_clock::now() + patience;
    do {
        for (int i = 0; i < 16; ++i) {
            if (until()) return true;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    return until();
}

class Pool {
public:
    void run(Job& job) {
        std::unique_lock lock(mutex_);
        grow(job.places);
        jobs_.push_back(&job);
        posted_.fetch_add(1, std::memory_order_release);
        int sleepers = std::min(job.places, sleeping_);
        lock.unlock();
        for (; sleepers > 0; --sleepers) wake_.notify_one();
        take_part(job, 0);
        lock.lock();
        jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
        if (job.helping.load(std::memory_order_acquire) > 0) {
            lock.unlock();
            const auto done = [&] { return job.helping.load(std::memory_order_acquire) == 0; };
            soon(done);
            lock.lock();  // the last helper has left the job once it let go of the lock
            done_.wait(lock, done);
        }
        lock.unlock();
        if (job.failure) std::rethrow_exception(job.failure);
    }

private:
    void grow(int helpers) {
        try {
            for (; helpers_ < helpers; ++helpers_) std::thread([this] { help(); }).detach();
        } catch (const std::system_error&) {
            // No more threads can be had: those that there are do the work.
        }
    }

    void take_part(Job& job, int mine) {
        inside = true;
        number = mine;
        try {
            for (index_t c; (c = job.next.fetch_add(1, std::memory_order_relaxed)) < job.count;) job.call(job.work, c);
        } catch (...) {
            job.next.store(job.count, std::memory_order_relaxed);
            const std::lock_guard lock(mutex_);
            if (!job.failure) job.failure = std::current_exception();
        }
        inside = false;
    }

    // Under the lock: a job that has a place left and chunks that nobody has begun.
    Job* open_job() {
        for (Job* job : jobs_)
            if (job->places > 0 && job->next.load(std::memory_order_relaxed) < job->count) return job;
        return nullptr;
    }

    void help() {
        std::unique_lock lock(mutex_);
        while (true) {
            const unsigned seen = posted_.load(std::memory_order_relaxed);
            if (Job* job = open_job()) {
                const int mine = job->places--;
                job->helping.fetch_add(1, std::memory_order_relaxed);
                lock.unlock();
                take_part(*job, mine);
                lock.lock();
                if (job->helping.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
                continue;
            }
            lock.unlock();
            const auto posted = [&] { return posted_.load(std::memory_order_acquire) != seen; };
            const bool more = soon(posted);
            lock.lock();
            if (more) continue;
            ++sleeping_;
            wake_.wait(lock, posted);
            --sleeping_;
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<Job*> jobs_;
    std::atomic<unsigned> posted_{0};
    int helpers_ = 0, sleeping_ = 0;
};

std::atomic<bool> pool_begun{false};
std::atomic<bool> pool_lost{false};

// Never destroyed: helpers sleep in it until the process ends.
Pool& pool() {
    static Pool* const one = new Pool;
    return *one;
}

void in_child() {
    if (pool_begun.load(std::memory_order_relaxed)) pool_lost.store(true, std::memory_order_relaxed);
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, in_child);

}  // namespace

int team_size(int threads) { return threads <= 1 || inside || pool_lost.load(std::memory_order_relaxed) ? 1 : threads; }

int max_threads() { return pool_lost.load(std::memory_order_relaxed) ? 1 : omp_get_max_threads(); }

int thread_number() { return number; }

void run_chunks(index_t count, int threads, void (*call)(void*, index_t), void* work) {
    if (team_size(threads) <= 1) {
        const struct Alone {
            int outer = std::exchange(number, 0);
            ~Alone() { number = outer; }
        } alone;
        for (index_t c = 0; c < count; ++c) call(work, c);
        return;
    }
    pool_begun.store(true, std::memory_order_relaxed);
    Job job{call, work, count, static_cast<int>(std::min<index_t>(threads, count)) - 1};
    pool().run(job);
}

}  // namespace assay
