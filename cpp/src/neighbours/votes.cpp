#include "assay/neighbours/votes.hpp"

#include <algorithm>

#include "assay/common/threads.hpp"

namespace assay::neighbours {

void vote_shares(const std::int64_t* rows, index_t n, index_t k, const std::int32_t* codes, const double* weights,
                 index_t classes, double* shares, int threads) {
    parallel_chunks(n, 4096, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            double* const out = shares + i * classes;
            std::fill_n(out, classes, 0.0);
            for (index_t j = i * k; j < (i + 1) * k; ++j) out[codes[rows[j]]] += weights == nullptr ? 1.0 : weights[j];
            double total = 0.0;
            for (index_t c = 0; c < classes; ++c) total += out[c];
            for (index_t c = 0; c < classes; ++c) out[c] /= total;
        }
    });
}

}  // namespace assay::neighbours
