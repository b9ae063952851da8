// Bootstrap replicates of metrics from counts, not from copied rows.
//
// A replicate draws n of n rows with replacement; row i is drawn c_i times (`resample`). All that the metrics need is
//   group sums   S_g = sum_{i: g_i = g} c_i v_i          (confusion matrices with v = 1, calibration bins)
//   term sums    T_t = sum_i c_i x_{ti}                  (squared errors, log losses, ...)
//   deviations   D_t = sum_i c_i |z_{ti} - mean_c(z_t)|  (relative absolute error)
//   rankings     rows sorted once by falling score; with p, q the drawn positives and negatives of a group of equal
//                scores and P before it the positives drawn so far,
//                area under ROC     = sum_groups q (P + p / 2) / (P_all Q_all),
//                average precision  = sum_groups (p / P_all) (P + p) / (P + p + Q + q).
// Everything of one replicate comes from the same draw, so metrics and models are paired. A ranking without a drawn
// positive or negative has no area: NaN, and without a positive no average precision: NaN.
//
// Cost: O(n) per replicate and ranking, group set or term; one sort in all, made by the caller. Replicates run in
// parallel; each is computed by one thread from its own Philox stream: the same bits for any number of threads.
//
// `replicate_cells`: where only counts of cells matter (confusion matrices), the cell counts of a replicate are
// Multinomial(n; counts / n): O(cells) per replicate, independent of n.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay {

struct RowStatistics {
    index_t n = 0;
    // IN orders, flags (rankings x n): row of each place from the highest score down; bit 0 of flags: the row at this
    // place is positive, bit 1: last of its group of equal scores. An identity order costs no look-ups.
    Matrix<const std::int32_t> orders;
    Matrix<const std::uint8_t> flags;
    bool want_precision = false;
    // IN groups, weights (sets x n), sizes (sets): group of each row in [0, size); weights empty means v = 1.
    Matrix<const std::int32_t> groups;
    Matrix<const double> weights;
    Vector<const std::int64_t> sizes;
    // IN terms (t x n), deviations (t x n).
    Matrix<const double> terms;
    Matrix<const double> deviations;
};

struct RowReplicates {
    // OUT, one row per replicate: areas, precisions (rankings), sums (all groups of all sets), terms, deviations.
    double* areas = nullptr;
    double* precisions = nullptr;
    double* sums = nullptr;
    double* terms = nullptr;
    double* deviations = nullptr;
};

void replicate_rows(const RowStatistics& statistics, std::uint64_t key, std::uint64_t first, index_t replicates,
                    int threads, const RowReplicates& out);

// OUT counts (replicates x n): how often each row is drawn in replicates first, first + 1, ...
void resample_rows(std::uint64_t key, std::uint64_t first, index_t replicates, index_t n, int threads,
                   std::uint8_t* counts);

// IN counts (cells). OUT drawn (replicates x cells).
void replicate_cells(Vector<const std::int64_t> counts, std::uint64_t key, std::uint64_t first, index_t replicates,
                     int threads, double* drawn);

// The placements behind DeLong's variance (Biometrics 44, 1988; sorted as in Sun & Xu, IEEE SPL 21, 2014), in one pass:
// for a positive row the negatives below it, for a negative row the positives above it, equal scores counting half.
// IN order, flags (n) as above. OUT placements (n), by row. The area is the sum over positives / (P Q).
void placements(Vector<const std::int32_t> order, Vector<const std::uint8_t> flags, double* placements);

}  // namespace assay
