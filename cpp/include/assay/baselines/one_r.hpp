// 1R: the rule of one column, for every column.
//
// A nominal column has one branch per category; a numeric column is cut into intervals: from the smallest value up,
// values join the current bucket until some class holds at least `min_bucket` of weight in it, then further while a value
// belongs to the bucket's majority class alone; rows of equal value are never parted. The last bucket takes what is left.
// A bucket whose majority class is that of the bucket before joins it. Rows with a missing cell form a branch of their
// own, the last one. Ties: the class of the bucket before if it is among the tied, else the first class.
// Cuts lie midway between neighbouring values; x <= cut goes left.
//
// Error of a column: the weight of the rows outside the majority class of their branch.
// Cost: a byte-wise sort per numeric column, at most 8 sweeps; columns run in parallel, each on its own.
// Reference: Holte, Very simple classification rules perform well on most commonly used datasets, Machine Learning 11,
// 1993, 63-91.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay {

struct OneRule {
    std::vector<double> cuts;              // numeric columns: one less than intervals
    std::vector<double> counts;            // branches x classes weights; the last branch is "missing"
    std::vector<std::int32_t> prediction;  // class per branch, -1 for a branch without rows
    double error = 0.0;
};

// x IN n x d: numbers, or category codes where n_categories[j] > 0; NaN is missing. codes IN n in 0..classes-1;
// weights IN n or empty. Returns one rule per column.
std::vector<OneRule> one_rules(Matrix<const double> x, Vector<const std::int32_t> n_categories,
                               Vector<const std::int32_t> codes, Vector<const double> weights, index_t classes,
                               double min_bucket, int threads);

}  // namespace assay
