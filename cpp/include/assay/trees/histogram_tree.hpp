// Trees by histograms of gradients and Hessians on binned columns.
//
// The criterion is `second_order` of cart.hpp: with G and H the sums of gradients g and Hessians h over a part,
//   value = -T(G) / (H + l2),   cost = -T(G)^2 / (2 (H + l2)),   gain of a split = cost(t) - cost(L) - cost(R).
// Every row's (g, h) is rounded once to whole numbers of at most 31 - log2 W and 32 - log2 W bits (W: total weight) and packed
// into one 64-bit word, so that one integer addition per cell fills the histograms of both. Sums of whole numbers are exact:
// the tree does not depend on the order of the rows or on threads, and the histogram of the larger child is that of its
// parent less that of the smaller one. Values of leaves are summed afterwards from g and h at full precision, in 64-bit
// fixed point.
//   Missing cells are tried on both sides; where a node has none they follow the child with more rows. Nominal columns: prefixes of
// the order (rising and falling) of the categories by G / (H + smoothing), which is added to l2 in such splits. Sorted, even noise
// makes a gain: with v = sum g^2 / sum h of the tree's rows, the sum of a category has the variance v H_c, those above zero add up to
// sum_c sqrt(v H_c / (2 pi)), and half the score (2 / pi) v k, k = (sum_c sqrt(H_c))^2 / H (the number of categories, were they of
// one size), is expected of nothing at all. It is taken off for the k - 2 beyond an ordinary split. Categories of fewer than
// `min_category_rows` rows in the node (estimated from the Hessian) stay on the right. Monotone columns: the value of every
// node lies between bounds; a split in a column of sign s needs s (value(R) - value(L)) >= 0, and the children's bounds meet at the
// mean of their values. Interactions: a path may use columns of one common group only.
//   Growth is leaf-wise (the largest gain next) or depth-wise (the oldest next). `min_rows` is compared with rows estimated from the
// Hessian while searching, and a split whose true count is too small is not made.
// Cost O(n d) for the root and O(n_small d) per split. References: Chen & Guestrin, KDD 2016; Ke et al., LightGBM, NIPS 2017.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/common/threads.hpp"
#include "assay/trees/bins.hpp"
#include "assay/trees/forest.hpp"

namespace assay::trees {

struct HistogramOptions {
    index_t max_leaves = 31;  // 0: no limit
    index_t max_depth = -1;   // -1: no limit
    double min_rows = 20, min_hessian = 1e-3;
    double l2 = 1, l1 = 0, min_gain = 0, smoothing = 10, min_category_rows = 3;
    bool depth_wise = false;
    index_t columns_per_node = 0;             // 0: all
    const std::uint8_t* columns = nullptr;    // which may be used; null: all
    const std::int8_t* monotone = nullptr;    // -1, 0, 1 by column; null: none
    const std::vector<std::vector<std::int32_t>>* interactions = nullptr;
    std::uint64_t key = 0;
    int threads = 1;
};

// Rows of the bins with their gradients. `weights` multiply g and h; null: 1.
struct GradientRows {
    const double *g = nullptr, *h = nullptr;  // by row of the bins, per unit of weight; h null: 1
    const double* weights = nullptr;
    bool whole = true;  // weights are whole numbers: a row of weight w is w rows
};

// A leaf as it was grown: its node in the forest (from the first node of its tree), its rows, and the bounds of its value.
struct GrownLeaf {
    std::int32_t node = 0;
    index_t begin = 0, end = 0;
    double lower = 0, upper = 0;
};

class HistogramGrower {
public:
    HistogramGrower(const Bins& bins, const HistogramOptions& options);
    ~HistogramGrower();

    // Appends a tree on `rows` (reordered in place into the segments of the leaves, each in rising order) to the forest.
    // Values of leaves are Newton steps, not shrunk. Returns the leaves.
    std::vector<GrownLeaf> grow(std::vector<std::int32_t>& rows, const GradientRows& gradients,
                                const HistogramOptions& options, Forest& forest);

private:
    struct State;
    State* state_;
};

// The rows of leaves in parts: those between two multiples of so many, leaf after leaf, so that what a pass reads or writes by row
// stays in the second cache. Where leaves are many for the rows, each is one part.
class LeafRows {
public:
    LeafRows(const std::vector<GrownLeaf>& leaves, const std::vector<std::int32_t>& rows, int threads)
        : leaves_(leaves), rows_(rows), threads_(threads) {
        constexpr index_t least = 8192, least_of_leaf = 64;
        index_t n = 0;
        for (const GrownLeaf& leaf : leaves)
            if (leaf.end > leaf.begin) n = std::max(n, index_t{rows[static_cast<std::size_t>(leaf.end - 1)]} + 1);
        const index_t wanted = std::max(least, least_of_leaf * static_cast<index_t>(leaves.size()));
        if (n > 4 * wanted) rows_together_ = wanted, chunks_ = chunk_count(n, wanted);
    }
    std::size_t count() const { return leaves_.size() * static_cast<std::size_t>(chunks_); }

    // Calls work(part, leaf, begin, end): places begin..end-1 of the rows are part number chunk * leaves + leaf.
    template <class Work>
    void each(Work&& work) const {
        if (chunks_ == 1) {
            parallel_chunks(static_cast<index_t>(leaves_.size()), 1, threads_, [&](index_t l, index_t, index_t) {
                const auto leaf = static_cast<std::size_t>(l);
                work(leaf, leaf, leaves_[leaf].begin, leaves_[leaf].end);
            });
            return;
        }
        parallel_chunks(chunks_, 1, threads_, [&](index_t c, index_t, index_t) {
            for (std::size_t l = 0; l < leaves_.size(); ++l) {
                const auto place = [&](index_t row) {
                    return std::lower_bound(rows_.begin() + leaves_[l].begin, rows_.begin() + leaves_[l].end, row) - rows_.begin();
                };
                work(static_cast<std::size_t>(c) * leaves_.size() + l, l, place(c * rows_together_), place((c + 1) * rows_together_));
            }
        });
    }

private:
    const std::vector<GrownLeaf>& leaves_;
    const std::vector<std::int32_t>& rows_;
    int threads_;
    index_t chunks_ = 1, rows_together_ = 0;
};

// The Newton steps -T(G) / (H + l2) of leaves within their bounds; the sums are whole numbers of up to 62 bits.
std::vector<double> newton_values(const std::vector<GrownLeaf>& leaves, const std::vector<std::int32_t>& rows, const GradientRows& gradients,
                                  double l2, double l1, int threads);

// A node on codes: those up to `last_left` go left, and the code `missing` (none: 256); of a nominal column those of a set. A leaf
// leads to itself.
struct CodedTest {
    std::int32_t column = 0, child[2] = {0, 0};  // right, left
    std::int32_t set = -1;
    std::uint16_t missing = bin_stride;
    std::uint8_t last_left = 0;
};

// The tests of one tree on codes. Sends rows of the bins through the tree.
class CodedTree {
public:
    CodedTree(const Forest& forest, const Bins& bins, index_t tree);
    std::int32_t leaf(index_t row) const;

    const CodedTest& operator[](std::int32_t node) const { return tests_[static_cast<std::size_t>(node)]; }
    bool goes_left(const CodedTest& test, std::int32_t code) const {
        if (test.set < 0) return (code <= test.last_left) | (code == test.missing);
        return in_set(sets_[static_cast<std::size_t>(test.set)], code);
    }
    static bool is_leaf(const CodedTest& test) { return test.child[0] == test.child[1]; }

private:
    const Bins& bins_;
    std::vector<CodedTest> tests_;
    std::vector<CodeSet> sets_;
};

}  // namespace assay::trees
