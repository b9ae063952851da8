// Kernel functions of reduced distances r (metrics.hpp), on the block visitor: k(q, x) = exp(-gamma r). With the Euclidean
// metric (r = |q - x|^2) this is the Gaussian kernel, with the Manhattan metric the Laplacian one.
//
// gram: OUT m x n, k of every query and row, or r itself if gamma is negative. Each distance is computed directly, not as
// |q|^2 - 2 <q,x> + |x|^2: near rows keep their digits and the matrix is symmetric bit for bit. With `half` the queries are
// the rows, and of each two pairs one is measured; for metrics whose distance of (x, q) has the bits of (q, x).
// line: OUT 16 count, k of one query and the rows of `count` panels, the bits of the matrix.
// sums: OUT m, sum over rows of w k(q, x) (Parzen; all weights 1 if `weights` is null), without the matrix.
// Cost: m n (d + 20) operations.
#pragma once

#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

void kernel_gram(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                 Matrix<const double> queries, double gamma, double* gram, int threads, bool half = false);
void kernel_line(Metric metric, const double* query, const double* panels, index_t count, index_t d, double gamma, double* out);
void kernel_sums(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                 Matrix<const double> queries, double gamma, const double* weights, double* sums, int threads);

}  // namespace assay::neighbours
