// Exact distances of scattered rows: the float64 answer to which every screen's candidates are put.
#pragma once

#include <algorithm>
#include <vector>

#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

class Rescorer {
public:
    // With `scaling` the cells of a row are brought to (x - mean) * factor before they are compared.
    explicit Rescorer(Matrix<const double> rows, Metric metric = Metric::euclidean, const MetricOptions& options = {},
                      const Scaling& scaling = {})
        : rows_(rows), measure_(panel_distances(metric)), options_(options), scaling_(scaling),
          panel_(static_cast<std::size_t>(rows.cols * panel_lanes), 0.0) {}

    // Reduced distances from `query` to the listed rows; infinity where there is none, so that they can be sorted.
    template <class Row>
    void score(const double* query, const Row* listed, index_t count, double* out) {
        double lanes[panel_lanes];
        for (index_t first = 0; first < count; first += panel_lanes) {
            const index_t used = std::min(panel_lanes, count - first);
            const double* side_by_side[panel_lanes];
            for (index_t lane = 0; lane < panel_lanes; ++lane)
                side_by_side[lane] = rows_.row(static_cast<index_t>(listed[first + std::min(lane, used - 1)]));
            pack_panel(side_by_side, rows_.cols, panel_.data(), scaling_, used);
            measure_(query, panel_.data(), 1, rows_.cols, options_, lanes);
            for (index_t lane = 0; lane < used; ++lane)
                out[first + lane] = lanes[lane] == lanes[lane] ? lanes[lane] : __builtin_inf();
        }
    }

private:
    Matrix<const double> rows_;
    PanelDistances measure_;
    MetricOptions options_;
    Scaling scaling_;
    std::vector<double> panel_;
};

// The nearest of all n rows, one float64 distance after the other.
inline void scan_rows(Rescorer& rescorer, const double* query, index_t n, Nearest& nearest) {
    std::int64_t listed[panel_lanes];
    double distances[panel_lanes];
    nearest.clear();
    for (index_t first = 0; first < n; first += panel_lanes) {
        const index_t used = std::min(panel_lanes, n - first);
        for (index_t i = 0; i < used; ++i) listed[i] = first + i;
        rescorer.score(query, listed, used, distances);
        for (index_t i = 0; i < used; ++i)
            if (!nearest.full() || distances[i] < nearest.bound()) nearest.offer(distances[i], listed[i]);
    }
}

}  // namespace assay::neighbours
