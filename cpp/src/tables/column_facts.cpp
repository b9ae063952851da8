#include "assay/tables/column_facts.hpp"

#include <cmath>
#include <limits>

#include "assay/common/simd.hpp"

namespace assay::tables {
namespace {

// Folds a row into the sums of its columns; 0 unless a cell is missing or infinite.
ASSAY_INLINE double fold_row(const double* x, index_t d, double* low, double* high, double* other) {
    double odd = 0.0;
    for (index_t j = 0; j < d; ++j) {
        const double value = x[j];
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
        other[j] = value == 0.0 || value == 1.0 || value != value ? other[j] : 1.0;
        odd += value - value == 0.0 ? 0.0 : 1.0;
    }
    return odd;
}

ASSAY_INLINE void facts_body(Matrix<const double> cells, ColumnFacts& facts, double* other) {
    const index_t d = cells.cols;
    for (index_t i = 0; i < cells.rows; ++i) {
        const double* const x = cells.row(i);
        if (fold_row(x, d, facts.low.data(), facts.high.data(), other) == 0.0) continue;
        for (index_t j = 0; j < d; ++j) {
            if (std::isfinite(x[j])) continue;
            const auto at = static_cast<std::size_t>(j);
            ++(std::isnan(x[j]) ? facts.missing : facts.infinite)[at];
            if (facts.first_odd[at] < 0) facts.first_odd[at] = i;
        }
    }
}
ASSAY_DISPATCH(void, facts_of, facts_body, (Matrix<const double> cells, ColumnFacts& facts, double* other),
               (cells, facts, other))

}  // namespace

ColumnFacts column_facts(Matrix<const double> cells) {
    const auto d = static_cast<std::size_t>(cells.cols);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    ColumnFacts facts{std::vector<double>(d, infinity),  std::vector<double>(d, -infinity),
                      std::vector<std::int64_t>(d, 0),   std::vector<std::int64_t>(d, 0),
                      std::vector<std::int64_t>(d, -1),  std::vector<std::uint8_t>(d, 1)};
    std::vector<double> other(d, 0.0);
    facts_of(cells, facts, other.data());
    for (std::size_t j = 0; j < d; ++j) {
        if (facts.missing[j] == cells.rows)
            facts.low[j] = facts.high[j] = std::numeric_limits<double>::quiet_NaN();
        facts.zero_one[j] = other[j] == 0.0 ? 1 : 0;
    }
    return facts;
}

}  // namespace assay::tables
