// Subset selection for least squares: every candidate of a step scored from one sweep, and the best subset of each size.
//
// A part holds two symmetric matrices over the p columns and the target (index p), C-ordered, (p + 1) x (p + 1):
//   A = sum over its training rows of w z z^T, z centred by the training means (if there is an intercept);
//   T = the same sum over its test rows, z centred by the TRAINING means (no data: the part has no test rows).
// Columns should be scaled so that A has ones on its diagonal; a column without variation has a zero row and column.
//
// For a subset S write u_j = e_j - sum_s B_js e_s for a column (or the target y) outside S with its part explained by S
// taken out, and v_k = sum_s V_sk e_s with V = A_SS^{-1} for k in S. With d_jl = u_j' A u_l and t_jl = u_j' T u_l:
//   error on training rows           d_yy,                                       on test rows t_yy
//   after adding j, g = d_jy / d_jj  d_yy - g d_jy                               t_yy - 2 g t_jy + g^2 t_jj
//   after removing k, h = b_k / V_kk d_yy + h b_k                                t_yy + 2 h v_k' T u_y + h^2 v_k' T v_k
// so all additions cost O(p) and all removals O(|S|). Adding k makes v_k = u_k / d_kk and takes the multiple d_jk of it
// out of every u_j and B_ks of it out of every v_s; removing k is the reverse: both cost O(p |S|), because only the row
// of A and of T that belongs to k is formed. This is the sweep operator of Beaton (1964; Goodnight, A tutorial on the
// SWEEP operator, The American Statistician 33, 1979) on A, with the matching congruence on T.
//
// A column with d_jj <= tolerance A_jj is a combination of S in that part: there it stays out with coefficient zero, and
// comes in when a removal frees it. Removing a column of variance inflation V_kk A_kk costs that many units of rounding;
// when their sum passes a limit the part is built anew from A and T.
//
// Memory: O(p |S|) for each part beside A and T. Parts are independent and each is one thread's work: the same bits for
// any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "assay/common/views.hpp"

namespace assay {

struct SubsetPart {
    const double* train = nullptr;  // IN (p + 1) x (p + 1)
    const double* test = nullptr;   // IN (p + 1) x (p + 1), or null: errors are those of the training rows
};

class SubsetSweep {
public:
    // The subset starts empty. `removals` says whether removal scores will be asked for or columns removed.
    SubsetSweep(index_t columns, const std::vector<SubsetPart>& parts, double tolerance, bool removals, int threads);
    ~SubsetSweep();

    index_t columns() const { return columns_; }
    index_t parts() const;
    bool holds(index_t column) const { return chosen_[static_cast<std::size_t>(column)] != 0; }

    void add(index_t column);     // a column outside the subset
    void remove(index_t column);  // a column of the subset

    // Error of each part (OUT, one value): of the test rows if the part has any, else of the training rows.
    void errors(double* out) const;
    // Errors after adding or removing each column (OUT, parts x p): NaN where that is not possible. In the first part a
    // column that depends on the subset counts as not possible; in the others it leaves the error as it is.
    void additions(Matrix<double> out) const;
    void removals(Matrix<double> out) const;
    // Columns of the subset that depend on the others in the first part.
    std::vector<std::int64_t> redundant() const;

private:
    class Part;
    int team() const;  // threads for one step
    index_t columns_;
    int threads_;
    std::vector<std::uint8_t> chosen_;
    std::vector<std::unique_ptr<Part>> parts_;
};

// Best subsets of each size, exactly: min over |S| = m of the residual sum of squares, for the Gram matrix of p columns
// and the target, (p + 1) x (p + 1), unit diagonal, the first `fixed` columns in every subset.
//
// Branch and bound over the tree of dropped columns (Furnival & Wilson, Regressions by leaps and bounds, Technometrics
// 16, 1974; in the triangular form of Gatu & Kontoghiorghes, J. Comput. Graph. Stat. 15, 2006). A node is an ordered set
// v_1 .. v_s of which the first k stay; its triangular factor gives the errors of all leading subsets, and its children
// drop v_i and keep v_1 .. v_{i-1} (i > k), so that every subset is met once. No subset below a child has a smaller
// error than the set without v_i: the child is left out when that error is no better than the `keep`-th best known for
// every wanted size it can reach. Nodes sort their free columns by that error, largest first; greedy chains in both
// directions give the first bounds. Singular matrices get 1e-10 on the diagonal first.
//
// Cost: O(d^3) for a node with d free columns; the number of nodes depends on the data, at worst 2^(p - fixed).
struct BestSubsets {
    index_t smallest = 0, largest = 0, keep = 1;
    std::vector<std::uint64_t> members;  // (largest - smallest + 1) x keep, bit j for column j
    std::vector<double> error;           // the same shape, ascending in each row; infinity where there are fewer
    std::int64_t nodes = 0;
    bool singular = false;
};

// p <= 63; smallest >= max(fixed, 1); largest <= p.
BestSubsets best_subsets(const double* gram, index_t columns, index_t fixed, index_t smallest, index_t largest,
                         index_t keep);

}  // namespace assay
