// Binned columns: one byte a cell, the ground of histogram trees.
//
// A numeric column of at most `max_bins` distinct values has one bin per value; a column of more is cut into bins of
// nearly equal weight. Bin b of a numeric column holds the cells with cuts[b - 1] < x <= cuts[b]; where the column has one
// bin per value the cuts are the midpoints, so that nothing is lost. A nominal column has one bin per category; if there are
// more than 255, the heaviest keep a bin of their own and the rest share the last. A missing cell, and a category that
// is not known, has the code n_bins[j].
//   Codes stand in blocks of 8 columns, row after row, so that a row's codes of one block are one 64-bit word and the
// histograms of a block stay in the first cache.
//   Cuts depend on the values and their weights alone, not on the order of the rows; a row of whole weight w counts as w
// rows. Cost O(n d): radix sort by the upper halves of the keys, 1 byte a cell of result.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "assay/common/large_pages.hpp"
#include "assay/common/views.hpp"

namespace assay::trees {

constexpr index_t block_columns = 8, bin_stride = 256;

// A set of codes.
using CodeSet = std::array<std::uint64_t, bin_stride / 64>;
inline bool in_set(const CodeSet& set, index_t code) { return (set[static_cast<std::size_t>(code / 64)] >> (code % 64) & 1) != 0; }
inline void put_in(CodeSet& set, index_t code) { set[static_cast<std::size_t>(code / 64)] |= std::uint64_t{1} << (code % 64); }

struct Bins {
    index_t n = 0, d = 0, blocks = 0;
    LargeVector<std::uint8_t> codes;
    std::vector<std::int32_t> n_bins, n_categories;
    std::vector<std::vector<double>> cuts;                  // numeric: ends of all bins but the last
    std::vector<std::vector<std::uint8_t>> bin_of_category;  // nominal

    std::uint8_t code(index_t row, index_t column) const {
        return codes[static_cast<std::size_t>(((column / block_columns) * n + row) * block_columns + column % block_columns)];
    }
    const std::uint8_t* block(index_t b) const { return codes.data() + b * n * block_columns; }
    index_t block_width(index_t b) const { return d - b * block_columns < block_columns ? d - b * block_columns : block_columns; }
};

Bins make_bins(Matrix<const double> cells, Vector<const std::int32_t> n_categories, const double* weights, index_t max_bins,
               int threads);

// The rank of every cell in its column, for bins of some of the rows at a time (folds): where whole columns were sorted once,
// the bins of m rows cost O(m d), and are those that make_bins finds in these rows alone, bit for bit.
struct Ranks {
    index_t n = 0, d = 0;
    std::vector<std::uint32_t> rank;           // d x n: the place among the values, or the category; no_rank if missing
    std::vector<std::vector<double>> values;   // numeric: the distinct values, rising
    std::vector<std::int32_t> n_categories;
};
constexpr std::uint32_t no_rank = 0xFFFFFFFFU;

Ranks rank_columns(Matrix<const double> cells, Vector<const std::int32_t> n_categories, int threads);

// Rows of a ranked table, each with a whole weight above 0 (null: 1). Categories may have new numbers (-1: gone), those of
// column j from renamed_first[j] on; `n_categories` then counts the new ones.
struct ChosenRanks {
    const Ranks& ranks;
    Vector<const std::int32_t> rows;
    const std::int32_t* n_categories = nullptr;
    const std::int32_t* renamed = nullptr;
    const std::int64_t* renamed_first = nullptr;
    const double* weights = nullptr;
    index_t counted = -1;  // rows, the first ones, that the bins are found in, and that have weights; the others are told their codes (-1: all)
};

Bins make_bins(const ChosenRanks& chosen, index_t max_bins, int threads);

// Rows in an order that depends on their contents alone: by a 64-bit hash of the row's codes and of `extra` (n x k). Whatever
// is drawn by place in that order (bootstrap samples, validation rows) is the same for any order of the table's rows.
std::vector<std::int32_t> content_order(const Bins& bins, Matrix<const double> extra, int threads);

// The columns of all parts side by side, in the order of the parts, which have the same rows: a table too large to be held
// as numbers is binned some columns at a time.
Bins join_columns(const std::vector<const Bins*>& parts);

// The rows of `bins` in this order.
Bins take_rows(const Bins& bins, Vector<const std::int32_t> order, int threads);

}  // namespace assay::trees
