#include "assay/common/row_lists.hpp"

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

index_t rows_of_fold(const std::int32_t* fold_of_row, index_t n, std::int32_t wanted) {
    index_t count = 0;
    for (index_t i = 0; i < n; ++i) count += fold_of_row[i] == wanted;
    return count;
}

void split_rows(const std::int32_t* fold_of_row, index_t n, std::int32_t wanted, std::int64_t* kept, std::int64_t* left) {
    for (index_t i = 0; i < n; ++i) {
        const bool of_fold = fold_of_row[i] == wanted;
        *kept = i;
        *left = i;
        kept += !of_fold;
        left += of_fold;
    }
}

bool are_between(const std::int64_t* numbers, index_t count, std::int64_t low, std::int64_t end) {
    return between(numbers, count, static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(end - 1));
}

}  // namespace assay
