// Directions for the linear test of one node; see assay/trees/oblique.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/trees/oblique.hpp"

namespace assay::trees {

// The rows of a node. `columns` are those of the p numeric columns that may be used; row i of the node is row table_row[i] of
// the table, in which numeric column c is column table_columns[c].
struct ObliqueNode {
    Matrix<const double> table;
    const std::int32_t* table_columns = nullptr;
    std::vector<std::int32_t> columns, label, table_row;
    std::vector<double> weight;
    std::vector<double> mean, deviation;  // of `columns`; deviation 0 leaves a column out

    index_t size() const { return static_cast<index_t>(label.size()); }
    const double* cells(std::size_t i) const { return table.row(table_row[i]); }
    double cell(std::size_t i, std::int32_t column) const { return cells(i)[table_columns[column]]; }
    double standardised(std::size_t i, std::size_t j) const {
        const double x = cell(i, columns[j]);
        return deviation[j] > 0 && x == x ? (x - mean[j]) / deviation[j] : 0.0;
    }
};

// A test on all p numeric columns; weights of 0 are skipped in the sum.
struct LinearTest {
    std::vector<double> weight, fill, share;
    index_t lead = 0;
};

// The one way in which a sum is made, in training and in use: no fused operations, from left to right.
inline double linear_sum(const LinearTest& test, const double* cells, const std::int32_t* columns) {
    double sum = 0;
    for (std::size_t j = 0; j < test.weight.size(); ++j) {
        if (test.weight[j] == 0) continue;
        const double cell = cells[columns[j]];
        sum += test.weight[j] * (cell == cell ? cell : test.fill[j]);
    }
    return sum;
}

// Candidate directions in units of deviations, one number per entry of `node.columns`; fills node.mean and
// node.deviation.
std::vector<std::vector<double>> oblique_directions(ObliqueNode& node, const ObliqueOptions& options, index_t n_classes,
                                                    std::uint64_t path, int threads);

// The direction as a test; false if fewer than two columns have a weight worth the name.
bool linear_test(const ObliqueNode& node, const std::vector<double>& direction, index_t n_columns, LinearTest& test);

}  // namespace assay::trees
