// What a look at a table asks of its columns and of its text, at the speed of memory.
//
// bin_codes     code of a number = how many of the edges e_0 < ... < e_{m-1} are at most it: bin k holds
//               e_{k-1} <= x < e_k, the last one everything from e_{m-1} on. NaN has code `no_code`. m <= 254.
//               IN values (n), edges (m); OUT codes (n). n m comparisons without a branch, which for the at most 50 bins
//               of a survey is several times faster than a binary search, whose steps no machine can predict.
// cross_counts  table[a n_second + b] = rows with first code a and second code b; rows where either code is not below
//               its number of codes (such as `no_code`) are left out. IN first, second (n); OUT table (n_first n_second).
// code_counts   rows with each code 0 .. 255. IN codes (n).
// group_sums    sums of numbers by code 0 .. 255 and how many went into each; NaN is left out. IN codes, values (n).
// moments       mean, sum of squares and sum of cubes around the mean, in two passes over fixed blocks. IN values (n).
// mid_ranks     ranks from 1 on, equal values share the mean of theirs; NaN keeps NaN. IN values (n); OUT ranks (n).
// twice_ranks   twice those ranks, which are whole numbers, in 4 bytes; 0 for NaN. n <= 2^30. IN values (n); OUT ranks (n).
// sort_numbers  the values but NaN in ascending order: radix sort by the upper half of their keys, then runs in which it
//               agrees by the lower one. IN values (n); OUT sorted (n at most). Returns how many.
// standard_rows z_ij = (x_j[begin + i] - centre_j) / spread_j as rows, read from columns; a missing cell (NaN) becomes 0,
//               or its row is left out. IN columns (p of n), centre, spread (p); OUT z (rows x p). Returns its rows.
// even_widths   whether every line that is not blank holds `width` - 1 separators. Text without quotes only: no quoting
//               is looked at. Lines end in LF, CR before it belongs to the line end. IN text (n bytes).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::tables {

inline constexpr std::uint8_t no_code = 255;

void bin_codes(Vector<const double> values, Vector<const double> edges, Vector<std::uint8_t> codes);

std::vector<std::int64_t> cross_counts(Vector<const std::uint8_t> first, Vector<const std::uint8_t> second, int n_first,
                                       int n_second);

std::vector<std::int64_t> code_counts(Vector<const std::uint8_t> codes);

struct GroupSums {
    std::vector<double> sums;
    std::vector<std::int64_t> counts;
};
GroupSums group_sums(Vector<const std::uint8_t> codes, Vector<const double> values);

struct Moments {
    double mean, squares, cubes;
};
Moments moments(Vector<const double> values);

void mid_ranks(Vector<const double> values, Vector<double> ranks);
void twice_ranks(Vector<const double> values, Vector<std::uint32_t> ranks);

index_t sort_numbers(Vector<const double> values, double* sorted);

index_t standard_rows(const std::vector<const double*>& columns, index_t begin, index_t end, const double* centre,
                      const double* spread, bool complete, double* z);

bool even_widths(Vector<const std::uint8_t> text, std::uint8_t separator, index_t width);

}  // namespace assay::tables
