#include "assay/evaluate/fold_tables.hpp"

#include <algorithm>

namespace assay {

void fold_tables(Matrix<const double> probabilities, const std::int64_t* codes, const RowLists& lists,
                 std::int64_t* predicted, std::int64_t* tables, int threads) {
    const index_t K = probabilities.cols;
    std::vector<index_t> first(lists.size() + 1, 0);
    for (std::size_t k = 0; k < lists.size(); ++k) first[k + 1] = first[k] + lists[k].count;
    for_each_list(lists, K, threads, [&](index_t f, int) {
        const RowList& list = lists[static_cast<std::size_t>(f)];
        const index_t begin = first[static_cast<std::size_t>(f)];
        std::int64_t* table = tables + f * K * K;
        std::fill_n(table, K * K, 0);
        for (index_t i = 0; i < list.count; ++i) {
            const double* shares = probabilities.row(begin + i);
            index_t best = 0;
            for (index_t k = 1; k < K; ++k)
                if (shares[k] > shares[best]) best = k;
            predicted[begin + i] = best;
            ++table[codes[list.rows[i]] * K + best];
        }
    });
}

}  // namespace assay
