// The conditional models of chained equations: each column given all others, over one design of standardised numbers.
//
// A table of v columns becomes a design of p columns: a number x is (x - centre) / scale, a nominal column of K categories
// is K - 1 indicators (the first category has none). With x_i the design row without the target's own columns:
//
//   normal     y = b0 + x'b + e, e ~ N(0, s2). From the Gram matrix of the rows where y is observed, centred to S (columns
//              against columns), c (columns against y) and yy: b^ = (S + R)^-1 c with R = ridge diag(S), RSS = yy - c'b^ -
//              b^'R b^, df = max(n - columns - 1, 1). Draw: s*^2 = RSS / chi2(df), b* = b^ + s* L^-T z with
//              S + R = L L', b0* = mean(y) + s* z / sqrt(n) - mean(x)'b* (Rubin 1987, p. 167).
//              A chosen ridge: with D = diag(S), b ~ N(0, t2 D^-1) gives the posterior mean above for ridge = s2 / t2. From fit
//              to fit (first columns / n) it takes the step of MacKay towards the likeliest value,
//              g s^2 / b^'D b^,   g = columns - ridge trace (S + R)^-1 D,   s^2 = RSS / (n - g - 1).
//   matching   predictive mean matching: a missing cell gets the value of one of the k observed rows whose x'b^ is nearest
//              to its own x'b*; rows whose predictions tie are equally likely.
//   logistic   P(y = k) proportional to exp(b0_k + x'b_k), b_0 = 0, by Newton steps from the last sweep's solution on the
//              log-likelihood less b^2 / (2 2.5^2) for each coefficient and b0^2 / (2 10^2) (weakly informative, so that separated
//              classes have a maximum; Gelman et al. 2008 use the same scales). Draw: normal approximation at the maximum.
//   tree       a classification or regression tree on a bootstrap sample; a missing cell gets the value of a sampled row
//              of its leaf (Doove, van Buuren & Dusseldorp 2014).
//
// Without draws, a cell gets the mean (of the conditional, of the k donors, of the leaf) or the most probable category.
// References: van Buuren, Flexible Imputation of Missing Data, 2nd ed., 2018, ch. 3; MacKay, Bayesian Interpolation, Neural
// Computation 4, 1992.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/views.hpp"
#include "assay/trees/forest.hpp"

namespace assay::prepare {

enum class Conditional : int { normal = 0, matching = 1, logistic = 2, tree = 3 };

// Observed values in the order of their prediction, with running sums of the values (one more than there are values).
struct Donors {
    std::vector<double> predictions, values, sums;
};

// Trees and the values of the rows in each of their nodes (none but in leaves): values[offsets[i] .. offsets[i + 1]) of node i.
struct DonorForest {
    trees::Forest trees;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> values;
};

// What a set of columns looks like as a design.
struct Design {
    std::vector<std::int32_t> n_categories;  // v; 0 for a number
    std::vector<index_t> first;              // v + 1: the design columns of column j are first[j] .. first[j + 1]
    std::vector<double> centre, scale;       // v; 0 and 1 for nominal columns

    index_t columns() const { return static_cast<index_t>(n_categories.size()); }
    index_t width() const { return first.empty() ? 0 : first.back(); }
    // Writes the design cells of column j for a value or category code.
    void code(index_t j, double value, double* row) const {
        const index_t begin = first[j], end = first[j + 1];
        if (n_categories[j] == 0) {
            row[begin] = (value - centre[j]) / scale[j];
            return;
        }
        for (index_t t = begin; t < end; ++t) row[t] = 0.0;
        const auto category = static_cast<index_t>(value);
        if (category > 0) row[begin + category - 1] = 1.0;
    }
};

// One fitted conditional, as views. Coefficients: one row of width + 1 for each output (intercept last; a number has one
// output, a nominal column K - 1); entries of the target's own design columns are 0. Numbers are predicted standardised.
struct ConditionalView {
    Conditional kind = Conditional::normal;
    index_t column = 0;
    const double* coefficient = nullptr;
    const double* drawn = nullptr;
    double deviation = 0;                                         // s*, standardised
    Vector<const double> donor_predictions, donor_values, donor_sums;
    trees::ForestView trees;
    index_t tree = 0;                                             // which of them
    const std::int64_t* leaf_offsets = nullptr;                   // of the nodes of all trees
    const double* leaf_values = nullptr;
};

// Coefficients of the normal conditional of design column `target` from gram ((p + 1) x (p + 1), intercept last) of the
// rows where it is observed. OUT coefficient, drawn (p + 1); next_ridge, unless null; returns s*, or the residual deviation
// without `random`.
double normal_conditional(const double* gram, index_t p, index_t target, double ridge, Random* random,
                          double* coefficient, double* drawn, double* next_ridge = nullptr);

// Newton steps for column j on `rows` of the design (n x p, C-ordered) with category codes in cells(row, j).
// IN/OUT coefficient ((K - 1) x (p + 1)): where to start, the maximum. OUT drawn. Returns the number of steps taken.
int logistic_conditional(const Design& design, Matrix<const double> rows_of_design, Matrix<const double> cells, index_t j,
                         const std::vector<std::int64_t>& rows, Random* random, double* coefficient, double* drawn,
                         int threads);

// Observed values sorted by prediction (stable); predictions and values are parallel.
Donors sort_donors(std::vector<double>&& predictions, std::vector<double>&& values);

// scores[i] = row . beta + beta[p] for the rows listed (all if null).
void linear_scores(const double* design, index_t p, const std::int64_t* rows, index_t count, const double* beta,
                   double* scores);

// The value of one missing cell: a draw, or the mean (most probable category) without `random`. `donors` is k.
// design_row (p) and cells (v) are the completed row; `scratch` holds 2 K doubles for a nominal column.
double impute_cell(const ConditionalView& model, const Design& design, const double* design_row, const double* cells,
                   index_t donors, Random* random, double* scratch);

}  // namespace assay::prepare
