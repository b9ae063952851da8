#include "assay/neighbours/kernel_functions.hpp"

#include "assay/common/elementary.hpp"
#include "assay/neighbours/panel_visitor.hpp"

namespace assay::neighbours {
namespace {

ASSAY_INLINE void exponentials_body(const double* reduced, index_t count, double gamma, double* out) {
    for (index_t i = 0; i < count; ++i) out[i] = fast_exp(-gamma * reduced[i]);
}
ASSAY_DISPATCH(void, exponentials, exponentials_body, (const double* reduced, index_t count, double gamma, double* out),
               (reduced, count, gamma, out))

}  // namespace

void kernel_gram(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                 Matrix<const double> queries, double gamma, double* gram, int threads, bool half) {
    visit_panels(
        metric, options, panels, n, queries, threads,
        [&](index_t i, index_t first, index_t rows, const double* reduced) {
            double* const out = gram + i * n + first;
            if (gamma < 0.0)
                std::copy(reduced, reduced + rows, out);
            else
                exponentials(reduced, rows, gamma, out);
            if (!half) return;
            const index_t others = std::min(rows, i / queries_at_once * queries_at_once - first);
            for (index_t r = 0; r < others; ++r) gram[(first + r) * n + i] = out[r];
        },
        half);
}

void kernel_line(Metric metric, const double* query, const double* panels, index_t count, index_t d, double gamma, double* out) {
    panel_distances(metric)(query, panels, count, d, {}, out);
    exponentials(out, count * panel_lanes, gamma, out);
}

void kernel_sums(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                 Matrix<const double> queries, double gamma, const double* weights, double* sums, int threads) {
    std::fill(sums, sums + queries.rows, 0.0);
    visit_panels(metric, options, panels, n, queries, threads,
                 [&](index_t i, index_t first, index_t rows, const double* reduced) {
                     double values[most_panels_at_once * panel_lanes];
                     exponentials(reduced, rows, gamma, values);
                     double total = 0.0;
                     for (index_t r = 0; r < rows; ++r)
                         total += weights == nullptr ? values[r] : weights[first + r] * values[r];
                     sums[i] += total;
                 });
}

}  // namespace assay::neighbours
