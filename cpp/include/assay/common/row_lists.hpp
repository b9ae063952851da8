// Lists of row numbers of one table, one list per fold, and work that is done for each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/threads.hpp"
#include "assay/common/views.hpp"

namespace assay {

struct RowList {
    const std::int64_t* rows = nullptr;
    index_t count = 0;
};

using RowLists = std::vector<RowList>;

// Whether every number is at least `low` and below `end` (`low` <= 0 <= `end`).
bool are_between(const std::int64_t* numbers, index_t count, std::int64_t low, std::int64_t end);

// How many of n rows are of fold `wanted`.
index_t rows_of_fold(const std::int32_t* fold_of_row, index_t n, std::int32_t wanted);

// The rows 0 .. n - 1 that are not of fold `wanted` (kept, OUT) and those that are (left, OUT), both ascending; there must be
// room for one more in each.
void split_rows(const std::int32_t* fold_of_row, index_t n, std::int32_t wanted, std::int64_t* kept, std::int64_t* left);

// Calls work(k, threads) for every list k: the lists side by side where there are enough of them, each on one thread, else one
// after the other, each with all threads. `work` gives the same bits for any number of threads, and so does this.
template <class Work>
void for_each_list(const RowLists& lists, int threads, Work&& work) {
    const auto count = static_cast<index_t>(lists.size());
    const bool side_by_side = count >= threads;
    parallel_chunks(count, 1, side_by_side ? threads : 1,
                    [&](index_t k, index_t, index_t) { work(k, side_by_side ? 1 : threads); });
}

}  // namespace assay
