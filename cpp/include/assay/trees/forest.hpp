// Many trees in one set of arrays. The nodes of tree t are offsets[t] .. offsets[t + 1), in preorder; children count from
// the first node of their tree, so that a slice is a tree of its own (cart.hpp says what the arrays of one mean).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::trees {

struct Forest {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> feature, left, right;
    std::vector<double> threshold;
    std::vector<std::int64_t> categories;  // first word in `words`, or -1
    std::vector<std::uint64_t> words;
    std::vector<std::uint8_t> missing_left;
    std::vector<double> value;  // n_nodes x width
    std::vector<double> rows, weight, gain;  // no `weight` where it is the same as `rows`
    index_t width = 1;

    index_t n_trees() const { return static_cast<index_t>(offsets.size()) - 1; }
    index_t n_nodes() const { return static_cast<index_t>(feature.size()); }
};

// Makes room for so many nodes in all.
void reserve(Forest& forest, std::size_t nodes);

// Adds the only tree of `tree`, of the same width, at the end.
void append(Forest& forest, const Forest& tree);

struct ForestView {
    Vector<const std::int64_t> offsets;
    const std::int32_t *feature = nullptr, *left = nullptr, *right = nullptr;
    const double* threshold = nullptr;
    const std::int64_t* categories = nullptr;
    Vector<const std::uint64_t> words;
    const std::uint8_t* missing_left = nullptr;
    const double* value = nullptr;  // n_nodes x width
    index_t width = 1;
    const std::int32_t* n_categories = nullptr;

    index_t n_trees() const { return offsets.size - 1; }
};

struct Tree;
// A tree of cart.hpp as a forest of one; its traces and linear tests are left behind.
Forest forest_of(Tree&& tree);

ForestView view_of(const Forest& forest, const std::int32_t* n_categories);

// The leaf of `tree` that a row of cells reaches, counted from the first node of the tree.
std::int32_t leaf_of(const ForestView& forest, index_t tree, const double* row);

// What to do with the values of the leaves that a row reaches.
struct Gathering {
    index_t first = 0, last = 0;  // trees first .. last-1
    index_t outputs = 1;          // tree t adds its `width` values to the outputs from (t % (outputs / width)) * width on
};

// OUT sums (n x outputs), to which the values are added in the order of the trees, so that sums have the same bits for any
// number of threads and any blocks of rows. The thresholds that the forest uses are ranked per column, a row's cells become
// codes by them once, and trees compare codes. Trees of at most 64 leaves are evaluated without branches: every test that
// sends a row to the right strikes the leaves of its left side out of the row's set, and the first leaf left is the row's
// (Lucchese et al., QuickScorer, SIGIR 2015), 256 rows side by side. Forests of larger trees are walked level by level, 32 rows at a time.
void add_predictions(const ForestView& forest, Matrix<const double> cells, const Gathering& what, Matrix<double> sums,
                     int threads);

// OUT leaves (n x trees): the number of the leaf, from the first node of its tree.
void apply_forest(const ForestView& forest, Matrix<const double> cells, Matrix<std::int32_t> leaves, int threads);

}  // namespace assay::trees
