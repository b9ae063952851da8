// Searches by any metric over float64 panels: each is a policy of the block visitor.
#include <algorithm>

#include "assay/common/simd.hpp"
#include "assay/neighbours/distance_reduce.hpp"
#include "assay/neighbours/panel_visitor.hpp"

namespace assay::neighbours {
namespace {

// The first of found[from..count) below the bound, or count.
ASSAY_INLINE index_t next_below_body(const double* found, index_t from, index_t count, double bound) {
    for (; from + panel_lanes <= count; from += panel_lanes) {
        int some = 0;
        for (index_t i = 0; i < panel_lanes; ++i) some |= found[from + i] < bound;
        if (some) break;
    }
    while (from < count && !(found[from] < bound)) ++from;
    return from;
}
ASSAY_DISPATCH(index_t, next_below, next_below_body, (const double* found, index_t from, index_t count, double bound),
               (found, from, count, bound))

}  // namespace

void nearest_by_metric(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                       Matrix<const double> queries, index_t k, std::int64_t* nearest, double* distances, int threads) {
    std::vector<Nearest> best(static_cast<std::size_t>(queries.rows), Nearest(k));
    visit_panels(metric, options, panels, n, queries, threads,
                  [&](index_t i, index_t first, index_t rows, const double* found) {
                      Nearest& mine = best[static_cast<std::size_t>(i)];
                      index_t r = 0;
                      for (; r < rows && !mine.full(); ++r) mine.offer(found[r], first + r);
                      for (; (r = next_below(found, r, rows, mine.bound())) < rows; ++r) mine.offer(found[r], first + r);
                  });
    for (index_t i = 0; i < queries.rows; ++i)
        best[static_cast<std::size_t>(i)].write(nearest + i * k, distances + i * k);
}

void count_by_metric(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                     Matrix<const double> queries, double radius, std::int64_t* counts, int threads) {
    std::fill(counts, counts + queries.rows, 0);
    visit_panels(metric, options, panels, n, queries, threads,
                  [&](index_t i, index_t, index_t rows, const double* found) {
                      for (index_t r = 0; r < rows; ++r) counts[i] += found[r] <= radius;
                  });
}

RadiusLists within_by_metric(Metric metric, const MetricOptions& options, const double* panels, index_t n,
                             Matrix<const double> queries, double radius, int threads) {
    RadiusCollector collector(queries.rows);
    visit_panels(metric, options, panels, n, queries, threads,
                 [&](index_t i, index_t first, index_t rows, const double* found) {
                     for (index_t r = 0; r < rows; ++r)
                         if (found[r] <= radius) collector.add(i, found[r], first + r);
                 });
    return collector.lists();
}

}  // namespace assay::neighbours
