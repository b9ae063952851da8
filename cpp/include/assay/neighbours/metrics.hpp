// Distances between a query and panels of points, in float64.
//
// A panel holds `panel_lanes` = 16 points dimension by dimension: panel[j * 16 + p] is coordinate j of point p, so that
// one vector instruction treats many points. Every exact distance of this family (brute force, tree leaves, the rescoring
// of screened candidates) comes from the one compiled function that `panel_distances` returns, and each lane adds its
// terms in the order j = 0..d-1: a pair of rows has the same distance, bit for bit, whichever search asks.
//
// Reduced distances (what the kernels compare and return; the caller takes the root):
//   euclidean   sum (q-x)^2          manhattan   sum |q-x|        chebyshev   max |q-x|     minkowski  sum |q-x|^p
//   hamming     share of columns with q != x
//   matching    share of columns where exactly one of q, x is present (not zero)
//   jaccard     the same count over the columns where at least one is present (0 if there is none)
//   cosine      max(0, 1 - sum q x) for rows scaled to length 1 (a row of zeros is at distance 1 from every row)
//   mixed       mean over the columns where both cells are present (not NaN) of |q-x| (numeric) or [q != x] (nominal);
//               1 if there is no such column (Gower, "A general coefficient of similarity", Biometrics 27, 1971)
//   present_euclidean  d / d' times sum (q-x)^2 over the d' columns where the query is not NaN
//   known_euclidean    the same over the columns where neither cell is NaN; infinity if there is none, 0 for a query
//               without any cell
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/common/panels.hpp"
#include "assay/common/views.hpp"

namespace assay::neighbours {

using assay::pack_panel;
using assay::panel_count;
using assay::panel_lanes;
using assay::Scaling;

enum class Metric : int {
    euclidean,
    manhattan,
    chebyshev,
    minkowski,
    hamming,
    matching,
    jaccard,
    cosine,
    mixed,
    present_euclidean,
    known_euclidean
};
constexpr int metric_count = 11;

struct MetricOptions {
    double p = 2.0;                         // minkowski
    const std::uint8_t* nominal = nullptr;  // mixed: one flag per column
    const std::uint8_t* complete = nullptr;  // mixed: columns without a missing cell in any panel (null: not known)
};

// IN query (d), panels (count x d x 16); OUT distances (count x 16).
using PanelDistances = void (*)(const double* query, const double* panels, index_t count, index_t d,
                                const MetricOptions& options, double* distances);
// The function of a metric for the instruction set in force.
PanelDistances panel_distances(Metric metric);

// Copies rows (in the given order, or 0..n-1 if `order` is null) into panels; the lanes after the last row hold zeros.
void pack_panels(Matrix<const double> rows, const std::int32_t* order, double* panels, int threads);

// For each column whether no row of the panels has it missing.
std::vector<std::uint8_t> complete_columns(const double* panels, index_t n, index_t d);

// The rows within a radius of each query, by row number: those of query i are [start[i], start[i + 1]).
struct RadiusLists {
    std::vector<std::int64_t> start, rows;
    std::vector<double> distances;
};

// Collects the lists of all queries; different queries may be added to from different threads.
class RadiusCollector {
public:
    explicit RadiusCollector(index_t queries) : found_(static_cast<std::size_t>(queries)) {}
    void add(index_t query, double distance, std::int64_t row) {
        found_[static_cast<std::size_t>(query)].push_back({distance, row});
    }
    RadiusLists lists();

private:
    struct Entry {
        double distance;
        std::int64_t row;
    };
    std::vector<std::vector<Entry>> found_;
};

// The k nearest so far, sorted by (distance, row): of two rows at the same distance the smaller row number is nearer.
class Nearest {
public:
    explicit Nearest(index_t k) : k_(k), entries_(static_cast<std::size_t>(k)) {}
    void clear() {
        size_ = 0;
        bound_ = infinity;
    }
    double bound() const { return bound_; }
    bool full() const { return size_ == k_; }
    // Whether a row at this distance (or a later or farther one) would be kept.
    bool wants(double distance, std::int64_t row) const {
        return !full() || nearer({distance, row}, entries_.back());
    }
    void offer(double distance, std::int64_t row) {
        const Entry entry{distance, row};
        if (full() && !nearer(entry, entries_.back())) return;
        if (!full()) ++size_;
        index_t at = size_ - 1;
        Entry* const kept = entries_.data();
        if (at > few) {
            Entry* const place = std::upper_bound(kept, kept + at, entry, nearer);
            std::copy_backward(place, kept + at, kept + at + 1);
            at = place - kept;
        } else {
            for (; at > 0 && nearer(entry, kept[at - 1]); --at) kept[at] = kept[at - 1];
        }
        kept[at] = entry;
        if (full()) bound_ = kept[k_ - 1].distance;
    }
    void write(std::int64_t* rows, double* distances) const;

private:
    struct Entry {
        double distance;
        std::int64_t row;
    };
    static bool nearer(const Entry& a, const Entry& b) {
        return a.distance < b.distance || (a.distance == b.distance && a.row < b.row);
    }
    static constexpr double infinity = __builtin_inf();
    static constexpr index_t few = 24;  // up to here a place is found step by step, above by halving
    index_t k_, size_ = 0;
    double bound_ = infinity;
    std::vector<Entry> entries_;
};

}  // namespace assay::neighbours
