// Threads over fixed chunks. The split of the work into chunks depends on the problem alone, never on the number of
// threads, and partial results are merged in chunk order: the result is the same bit for bit for any thread count.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "assay/common/interrupt.hpp"
#include "assay/common/views.hpp"

namespace assay {

// The threads that a parallel region may have. The threads of OpenMP do not live on in a forked child, and a region would
// wait for them without end: a child of a process that had a team works alone.
int team_size(int threads);

// The threads that OpenMP may use now; 1 in such a child.
int max_threads();

// The number of chunks of `grain` rows that cover n rows.
inline index_t chunk_count(index_t n, index_t grain) { return n <= 0 ? 0 : (n + grain - 1) / grain; }

// Calls work(chunk, begin, end) for every chunk of `grain` rows on `threads` threads; stops early when interrupted.
// `work` must only write to places that belong to its chunk.
template <class Work>
void parallel_chunks(index_t n, index_t grain, int threads, Work&& work) {
    const index_t chunks = chunk_count(n, grain);
    const int team = chunks <= 1 ? 1 : team_size(threads);
    if (team <= 1) {
        for (index_t c = 0; c < chunks && !interrupted(); ++c) work(c, c * grain, std::min(n, (c + 1) * grain));
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (index_t c = 0; c < chunks; ++c) {
        if (!interrupted()) work(c, c * grain, std::min(n, (c + 1) * grain));
    }
}

}  // namespace assay
