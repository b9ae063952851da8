// Lists of row numbers of one table, one list per fold, and work that is done for each of them.
#pragma once

#include <algorithm>
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

// The rows 0 .. n - 1 by the number of their fold, ascending within a fold: those of fold k end before place ends[k] of `rows`,
// where those of fold k + 1 begin. Rows of folds beyond `folds` come last.
void rows_by_fold(const std::int32_t* fold_of_row, index_t n, index_t folds, std::int64_t* rows, std::int64_t* ends);

// Deals rows to folds in turn: the rows of class 0 in the order in which they are `shuffled`, then those of class 1, and so on.
// The row at place i of this order goes to fold turn[i % folds].
void deal_rows(const std::int64_t* shuffled, const std::int64_t* codes, index_t n, index_t classes, const std::int32_t* turn,
               index_t folds, std::int32_t* fold_of_row);

// Multiply-adds that pay for one more thread: to wake it and to wait for it takes longer than fewer of them do, and much
// longer where the other cores are busy.
constexpr index_t worth_a_thread = 200'000;

// Calls work(k, threads) for every list k: the lists side by side where there are enough of them, each on one thread, else one
// after the other, each with all threads. `steps` are the multiply-adds of a row: no more threads are taken than they pay for.
// `work` gives the same bits for any number of threads, and so does this.
template <class Work>
void for_each_list(const RowLists& lists, index_t steps, int threads, Work&& work) {
    const auto count = static_cast<index_t>(lists.size());
    index_t rows = 0;
    for (const RowList& list : lists) rows += list.count;
    const index_t paid = std::clamp<index_t>(rows * steps / worth_a_thread, 1, std::max(threads, 1));
    const auto team = static_cast<int>(paid);
    const bool side_by_side = count >= team;
    parallel_chunks(count, 1, side_by_side ? team : 1,
                    [&](index_t k, index_t, index_t) { work(k, side_by_side ? 1 : team); });
}

}  // namespace assay
