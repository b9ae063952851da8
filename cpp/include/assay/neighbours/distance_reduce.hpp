// Distance and reduction in one pass, without a distance matrix: for every query the k nearest rows, or the number of rows
// within a radius. Exact: the answer is that of float64 distances (metrics.hpp) sorted by (distance, row number).
//
// Any metric: the rows lie in float64 panels; each panel's 16 distances are compared with the k-th best so far.
//
// Euclidean distance, screened in float32. Rows are moved by a centre c and scaled by a power of two (x' = (x-c) 2^-s,
// |x'_j| <= 1) and kept in float32 panels of 32 points. For a query q' the score
//     s(x) = |x'|^2 / 2 - <q', x'>,   |q'-x'|^2 = |q'|^2 + 2 s(x),
// orders the rows as the distance does and costs one multiply-add per coordinate. A register tile holds the scores of 12
// queries x 32 points; one comparison per vector with each query's running bound decides, and only survivors are stored.
//   Error bound. Rounding x' and q' (relative u = 2^-24 each), |x'|^2/2 (u) and d+1 additions gives
//     |s_float32(x) - s(x)| <= e(|x'|),   e(r) = 1.02 (d+8) u (r^2/2 + |q'| r) + (d+8) 2^-51 (|q'| + r)^2 + tiny,
//   where the second term covers the rounding of the float64 distances themselves and `tiny` underflow (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, sections 2-3).
//   Bound. Let v be the k-th smallest float32 score seen. Then k rows have s <= v + e(r) where r = min(R, |q'| + D),
//   D^2 = |q'|^2 + 2 (v + e(r)) and R is the largest row norm (start with r = R, repeat a few times). A row nearer than
//   that k-th row has norm <= r too, so a float32 score above v + 2 e(r) cannot be among the k nearest: it is dropped.
//   Up to 64 neighbours (AVX-512, AVX2): the k smallest scores of a query stay sorted in vectors, and v is renewed with every
//   survivor; otherwise it is renewed when a query's list of survivors is full.
//   When too many survive (ties, duplicates) the candidates are rescored in float64 and the bound becomes s_k + e(r).
//   At the end the few candidates left are rescored in float64 and sorted.
// Queries too far away for float32 are answered by a float64 scan.
//
// Shapes: rows n x d, queries m x d, OUT rows/distances m x k (reduced distances). Cost: m n d multiply-adds in float32
// (float64 for other metrics), selection below a tenth of that, memory m k plus buffers. Queries are split in fixed chunks
// and each answer is exact, so the number of threads changes nothing.
#pragma once

#include <functional>
#include <vector>

#include "assay/common/row_lists.hpp"
#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

constexpr index_t screen_points = 32;

// The float32 side of a Euclidean index. panels: ceil(n/32) x d x 32; half_norms: ceil(n/32) x 32, infinity after the
// last row; centre: d; `usable` is false when the data do not fit (differences overflow), and nothing else is valid.
struct Screen {
    const float* panels = nullptr;
    const float* half_norms = nullptr;
    const double* centre = nullptr;
    double scale = 1.0;         // 2^-s
    double largest_norm = 0.0;  // R, after scaling
};
struct ScreenScale {
    bool usable = false;
    double scale = 1.0;
    double largest_norm = 0.0;
};
inline index_t screen_panel_count(index_t rows) { return (rows + screen_points - 1) / screen_points; }
ScreenScale build_screen(Matrix<const double> rows, float* panels, float* half_norms, double* centre, int threads);

void nearest_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries, index_t k,
                       std::int64_t* nearest, double* distances, int threads);
// Rows with a squared distance <= squared_radius.
void count_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries,
                     double squared_radius, std::int64_t* counts, int threads);

// Rows with a squared distance <= squared_radius, listed.
RadiusLists within_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries,
                             double squared_radius, int threads);

// Calls use(query, its rows with a squared distance <= squared_radius, in no order) for every query, from any thread.
using UseRows = std::function<void(index_t query, const std::vector<std::int32_t>& rows)>;
void rows_within_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries,
                           double squared_radius, int threads, const UseRows& use);

void nearest_by_metric(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                       Matrix<const double> queries, index_t k, std::int64_t* nearest, double* distances, int threads);
// Rows with a reduced distance <= radius.
void count_by_metric(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                     Matrix<const double> queries, double radius, std::int64_t* counts, int threads);

RadiusLists within_by_metric(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                             Matrix<const double> queries, double radius, int threads);

// The k nearest of a query's listed rows: candidates m x length row numbers, -1 for none. Candidates come in the order of
// their distances c in another metric (m x length), below which no distance falls by more than this: d >= ratio c - slack
// (one slack per query). The candidates that come after the k-th distance is passed are not measured. The list of query i
// is number place[i] (i if null), and candidates whose flag in `kept` is 0 count as none. `scaling` is applied to the rows,
// not to the queries. OUT found: how many of the k there are; the entries after them are not written.
struct CandidateLists {
    const std::int64_t* rows;
    const double* distances;
    index_t length;
    double ratio;
    const double* slack;
    const std::int64_t* place = nullptr;
    const std::uint8_t* kept = nullptr;
};
void nearest_of_candidates(Metric metric, const MetricOptions& options, Matrix<const double> rows,
                           const Scaling& scaling, Matrix<const double> queries, const CandidateLists& candidates,
                           index_t k, std::int64_t* nearest, double* distances, std::int64_t* found, int threads);

// The same for many folds: the queries of fold f are the rows tests[f], the rows that count are trains[f], and both are seen
// through the scaling of the fold (folds x d; null: as they are), with the fold's own ratio and slack. The list of row i is
// number place[i]. OUT nearest, distances, found: of the queries of all folds, one fold below the other.
struct FoldQueries {
    const RowLists &trains, &tests;
    const double *mean = nullptr, *factor = nullptr, *ratio = nullptr, *slack = nullptr;
    const std::int64_t* place = nullptr;
};
void nearest_in_folds(Metric metric, const MetricOptions& options, Matrix<const double> rows, const FoldQueries& folds,
                      const std::int64_t* listed, const double* bounds, index_t length, index_t k, std::int64_t* nearest,
                      double* distances, std::int64_t* found, int threads);

}  // namespace assay::neighbours
