#include "assay/common/row_lists.hpp"

#include <algorithm>

#include "assay/common/simd.hpp"

namespace assay {
namespace {

ASSAY_INLINE bool between_body(const std::int64_t* numbers, index_t count, std::uint64_t low, std::uint64_t last) {
    std::uint64_t beyond = 0;  // the highest bit: some number is below `low` or above `last`
    for (index_t i = 0; i < count; ++i) {
        const auto one = static_cast<std::uint64_t>(numbers[i]);
        beyond |= (one - low) | (last - one);
    }
    return (beyond >> 63) == 0;
}
ASSAY_DISPATCH(bool, between, between_body,
               (const std::int64_t* numbers, index_t count, std::uint64_t low, std::uint64_t last),
               (numbers, count, low, last))

}  // namespace

void rows_by_fold(const std::int32_t* fold_of_row, index_t n, index_t folds, std::int64_t* rows, std::int64_t* ends) {
    const auto place = [&](index_t i) {
        const index_t fold = fold_of_row[i];
        return static_cast<std::size_t>(fold < 0 || fold > folds ? folds : fold);
    };
    std::vector<index_t> next(static_cast<std::size_t>(folds) + 2, 0);
    for (index_t i = 0; i < n; ++i) ++next[place(i) + 1];
    for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
    std::copy_n(next.begin() + 1, folds, ends);
    for (index_t i = 0; i < n; ++i) rows[next[place(i)]++] = i;
}

void deal_rows(const std::int64_t* shuffled, const std::int64_t* codes, index_t n, index_t classes, const std::int32_t* turn,
               index_t folds, std::int32_t* fold_of_row) {
    std::vector<index_t> next(static_cast<std::size_t>(classes) + 1, 0);  // whose turn it is when a row of a class comes
    for (index_t i = 0; i < n; ++i) ++next[static_cast<std::size_t>(codes[i]) + 1];
    for (std::size_t c = 1; c < next.size(); ++c) next[c] = (next[c] + next[c - 1]) % folds;
    for (index_t i = 0; i < n; ++i) {
        index_t& at = next[static_cast<std::size_t>(codes[shuffled[i]])];
        fold_of_row[shuffled[i]] = turn[at];
        at = at + 1 == folds ? 0 : at + 1;
    }
}

bool are_between(const std::int64_t* numbers, index_t count, std::int64_t low, std::int64_t end) {
    return between(numbers, count, static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(end - 1));
}

}  // namespace assay
