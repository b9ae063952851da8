// The part of GCC's OpenMP runtime that parallel_chunks needs, on plain threads. The thread sanitizer does not see how
// libgomp synchronises its threads and would report races that are none; linked before it, these functions let the
// kernels run unchanged with every start, join and shared counter in sight. Only for builds with that sanitizer.
#ifdef __SANITIZE_THREAD__

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Loop {
    std::atomic<long> next{0};
    std::once_flag begun;
    long end = 0, increment = 1, chunk = 1;
};

thread_local Loop* current = nullptr;
thread_local int number = 0;

void run_team(Loop& loop, void (*work)(void*), void* data, unsigned threads) {
    const auto take_part = [&](int mine) {
        Loop* outer = current;
        const int before = number;
        current = &loop;
        number = mine;
        work(data);
        current = outer;
        number = before;
    };
    std::vector<std::thread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(take_part, static_cast<int>(t));
    take_part(0);
    for (std::thread& other : others) other.join();
}

void set(Loop& loop, long start, long end, long increment, long chunk) {
    loop.next = start;
    loop.end = end;
    loop.increment = increment;
    loop.chunk = chunk;
}

}  // namespace

extern "C" {

int omp_get_thread_num() { return number; }

void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned) {
    Loop loop;
    run_team(loop, work, data, threads);
}

void GOMP_parallel_loop_nonmonotonic_dynamic(void (*work)(void*), void* data, unsigned threads, long start, long end,
                                             long increment, long chunk, unsigned) {
    Loop loop;
    set(loop, start, end, increment, chunk);
    run_team(loop, work, data, threads);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* begin, long* end);

// The one loop of a region made by GOMP_parallel: the first thread that comes sets it up.
bool GOMP_loop_nonmonotonic_dynamic_start(long start, long stop, long increment, long chunk, long* begin, long* end) {
    std::call_once(current->begun, [&] { set(*current, start, stop, increment, chunk); });
    return GOMP_loop_nonmonotonic_dynamic_next(begin, end);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* begin, long* end) {
    Loop& loop = *current;
    const long step = loop.increment * loop.chunk, at = loop.next.fetch_add(step);
    if (at >= loop.end) return false;
    *begin = at;
    *end = at + step < loop.end ? at + step : loop.end;
    return true;
}

void GOMP_loop_end_nowait() {}
}

#endif
