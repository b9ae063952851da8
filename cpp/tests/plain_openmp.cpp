// The part of GCC's OpenMP runtime that parallel_chunks needs, on plain threads. The thread sanitizer does not see how
// libgomp synchronises its threads and would report races that are none; linked before it, these functions let the
// kernels run unchanged with every start, join and shared counter in sight. Only for builds with that sanitizer.
#ifdef __SANITIZE_THREAD__

#include <atomic>
#include <thread>
#include <vector>

namespace {

struct Loop {
    std::atomic<long> next{0};
    long end = 0, increment = 1, chunk = 1;
};

thread_local Loop* current = nullptr;

}  // namespace

extern "C" {

void GOMP_parallel_loop_nonmonotonic_dynamic(void (*work)(void*), void* data, unsigned threads, long start, long end,
                                             long increment, long chunk, unsigned) {
    Loop loop;
    loop.next = start;
    loop.end = end;
    loop.increment = increment;
    loop.chunk = chunk;
    const auto take_part = [&] {
        Loop* before = current;
        current = &loop;
        work(data);
        current = before;
    };
    std::vector<std::thread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(take_part);
    take_part();
    for (std::thread& other : others) other.join();
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
