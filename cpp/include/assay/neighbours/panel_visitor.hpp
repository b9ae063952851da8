// The block visitor: walks the float64 panels of any metric and hands every stretch of distances to whoever asked, while
// it is in the first-level cache. The k nearest, counts, radius lists, Gram matrices and Parzen sums are all written on it.
//
//     visit_panels(metric, options, panels, n, queries, threads, [&](index_t query, index_t first, index_t rows,
//                                                                     const double* distances) { ... });
//
// For each query the stretches come in the order of the rows, from one thread: sums over rows are the same bit for bit
// for any number of threads. The float32 screen of Euclidean distances has its own visitor (Sink in distance_reduce.cpp).
#pragma once

#include <algorithm>

#include "assay/common/threads.hpp"
#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

constexpr index_t most_panels_at_once = 32;
constexpr index_t queries_at_once = 16;  // those of a panel, where queries are the rows themselves

// With `half` the queries are the rows, and each sees the rows of its panel and of those before it.
template <class Use>
void visit_panels(Metric metric, MetricOptions options, const double* panels, index_t n, Matrix<const double> queries,
                  int threads, Use&& use, bool half = false) {
    static_assert(queries_at_once == panel_lanes);
    const index_t d = queries.cols;
    std::vector<std::uint8_t> complete;
    if (metric == Metric::mixed) complete = complete_columns(panels, n, d);
    options.complete = complete.empty() ? nullptr : complete.data();
    const PanelDistances measure = panel_distances(metric);
    // A stretch stays in the first-level cache while the queries of the chunk pass.
    const index_t fitting = (1 << 15) / (panel_lanes * static_cast<index_t>(sizeof(double)) * std::max<index_t>(1, d));
    const index_t panels_at_once = std::clamp<index_t>(fitting, 1, most_panels_at_once);
    parallel_chunks(queries.rows, queries_at_once, threads, [&](index_t, index_t begin, index_t end) {
        alignas(64) double distances[most_panels_at_once * panel_lanes];
        const index_t last = half ? end : n, total = panel_count(last);
        for (index_t first = 0; first < total; first += panels_at_once) {
            if (interrupted()) return;
            const index_t count = std::min(panels_at_once, total - first);
            const index_t rows = std::min(count * panel_lanes, last - first * panel_lanes);
            for (index_t i = begin; i < end; ++i) {
                measure(queries.row(i), panels + first * d * panel_lanes, count, d, options, distances);
                use(i, first * panel_lanes, rows, distances);
            }
        }
    });
}

}  // namespace assay::neighbours
