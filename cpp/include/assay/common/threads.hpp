// Threads over fixed chunks. The split of the work into chunks depends on the problem alone, never on the number of
// threads, and partial results are merged in chunk order: the result is the same bit for bit for any thread count.
//
// The threads are our own and wait for nobody: the caller works on its chunks at once, helpers that wake up take some of
// the others, and the end is reached when every chunk is done, whether a helper came or not. A barrier of a whole team
// would wait for threads whose core is busy elsewhere (another process, BLAS threads that spin), a tick of the scheduler
// or more for work of microseconds. Helpers that run out of work look for more for a moment and then sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "assay/common/interrupt.hpp"
#include "assay/common/views.hpp"

namespace assay {

// The threads that a parallel region may have: 1 inside of another region, and in a forked child of a process that had
// helpers, since threads do not live on there.
int team_size(int threads);

// The threads that OpenMP would use now, so that its limits (OMP_NUM_THREADS, those of joblib and threadpoolctl) are
// ours; 1 in such a child.
int max_threads();

// The number of chunks of `grain` rows that cover n rows.
inline index_t chunk_count(index_t n, index_t grain) { return n <= 0 ? 0 : (n + grain - 1) / grain; }

// The number of this thread among those of the region it works in: 0 for the one that asked, less than `threads` for all.
int thread_number();

// Calls call(work, chunk) for chunks 0 to count - 1 on this thread and up to threads - 1 helpers; returns when all are done.
// The first exception of any of them is thrown here, and chunks that were not begun are left out.
void run_chunks(index_t count, int threads, void (*call)(void*, index_t), void* work);

// Calls work(chunk, begin, end) for every chunk of `grain` rows on `threads` threads; stops early when interrupted.
// `work` must only write to places that belong to its chunk.
template <class Work>
void parallel_chunks(index_t n, index_t grain, int threads, Work&& work) {
    const index_t chunks = chunk_count(n, grain);
    auto one = [&](index_t c) {
        if (!interrupted()) work(c, c * grain, std::min(n, (c + 1) * grain));
    };
    if (chunks <= 1 || threads <= 1) {
        for (index_t c = 0; c < chunks; ++c) one(c);
        return;
    }
    run_chunks(chunks, threads, [](void* data, index_t c) { (*static_cast<decltype(one)*>(data))(c); }, &one);
}

}  // namespace assay
