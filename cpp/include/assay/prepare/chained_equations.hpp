// Multiple imputation by chained equations (fully conditional specification).
//
// A chain starts from a table whose missing cells are filled with draws from the observed cells of their column (or its
// mean or most frequent category), and then sweeps: for each column with missing cells, in a given order, its conditional
// model (see conditionals.hpp) is fitted to the rows where the column is observed, parameters are drawn from their
// posterior, and the missing cells are drawn given all other columns as they are now. After `sweeps` sweeps the state of
// each chain is one completed table. Conditionals of complete columns are fitted at the end, for rows that come later.
//
// All normal and matching conditionals share one Gram matrix G of the completed design (Z, 1):
//   G over the rows where column j is observed = G - sum over its missing rows z z'       n_mis p^2 / 2 multiply-adds
//   when cells of j change by delta_i:  G_.j += sum_i delta_i z_i, on its missing rows    n_mis p
// so a column step costs n_mis p^2 / 2 + p^3 / 6, not n p^2; G is made anew every `refresh` sweeps, so that rounding does not
// pile up. If more than half of a column is missing its observed rows are summed directly.
// A tree step recodes only columns whose cells changed (rank codes of one column: one radix sort).
//
// Rows that come later are completed by the parameters that each chain drew last: cells start at the mean or most
// frequent category and are drawn in turn for `sweeps` sweeps (one if a single cell of the row is missing). Such rows
// teach nothing.
//
// Chains run in parallel, each on its own stream; a single chain gives its threads to the Gram matrix and the trees.
// Results do not depend on the number of threads. Memory: 8 n (v + p) bytes for each running chain.
// References: van Buuren & Groothuis-Oudshoorn, mice, J. Stat. Softw. 45(3), 2011; Rubin, Multiple Imputation, 1987.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/prepare/conditionals.hpp"

namespace assay::prepare {

constexpr index_t refresh = 8;
// Donors kept for rows that come later: of a column, in the order of prediction all at both ends, where they lie far from each
// other, and evenly spaced ones between, where the k nearest of them are as good as the k nearest of all; and of a leaf.
constexpr index_t kept_donors = 1500, kept_leaf_donors = 64;

struct ChainOptions {
    index_t sweeps = 10;
    index_t donors = 5;  // k of matching, and the least rows of a leaf
    double ridge = 1e-5;
    bool choose_ridge = false;  // without draws: what the data make likeliest, at least `ridge`
    bool draw = true;    // draws, or means and most probable categories
    bool start_with_draws = true;
    int threads = 1;
};

// The conditionals of m chains, in flat arrays. Column j of chain c has number c v + j in the arrays of offsets.
struct FittedChains {
    Design design;
    std::vector<std::int32_t> method;                      // v
    std::vector<double> start;                             // v: mean or most frequent category
    std::vector<double> coefficient, drawn;                // m x p x (p + 1): output first[j] + a in row first[j] + a
    std::vector<double> deviation;                         // m x v
    std::vector<std::int64_t> donor_offsets;               // m v + 1
    std::vector<double> donor_predictions, donor_values;
    DonorForest leaves;                                    // m v trees, without a node where the conditional is none
};

struct Chains {
    FittedChains fitted;
    std::vector<double> imputed;          // m x missing cells, cells in row-major order
    std::vector<double> mean, spread;     // m x sweeps x v: of the cells imputed in each sweep; NaN for complete columns
};

// cells: n x v, C-ordered, NaN for missing, category codes in nominal columns, every column observed at least once;
// n_categories (v): 0 for numbers; method (v): Conditional; order: the columns with missing cells; keys: one per chain.
Chains run_chains(Matrix<const double> cells, Vector<const std::int32_t> n_categories, Vector<const std::int32_t> method,
                  Vector<const std::int32_t> order, Vector<const std::uint64_t> keys, const ChainOptions& options);

// Completes other rows: OUT values (m x missing cells, row-major), by draws on stream (key of the chain, row) or by means.
void complete_rows(const FittedChains& fitted, Matrix<const double> cells, Vector<const std::uint64_t> keys,
                   const ChainOptions& options, double* values);

}  // namespace assay::prepare
