#include "assay/neighbours/condensed.hpp"

#include <algorithm>
#include <limits>

#include "assay/common/interrupt.hpp"

namespace assay::neighbours {
namespace {

// Panels of kept rows that grow one row at a time.
class Kept {
public:
    Kept(Metric metric, index_t d) : measure_(panel_distances(metric)), d_(d) {}

    void add(const double* row) {
        const index_t lane = count_ % panel_lanes;
        if (lane == 0) panels_.resize(panels_.size() + static_cast<std::size_t>(d_ * panel_lanes), 0.0);
        double* panel = panels_.data() + count_ / panel_lanes * d_ * panel_lanes;
        for (index_t j = 0; j < d_; ++j) panel[j * panel_lanes + lane] = row[j];
        ++count_;
    }
    index_t count() const { return count_; }

    // Calls use(kept number, distance) for every kept row from `first` on.
    template <class Use>
    void from(index_t first, const double* query, Use&& use) const {
        constexpr index_t at_once = 16;
        double distances[at_once * panel_lanes];
        const index_t total = panel_count(count_);
        for (index_t panel = first / panel_lanes; panel < total; panel += at_once) {
            const index_t now = std::min(at_once, total - panel);
            measure_(query, panels_.data() + panel * d_ * panel_lanes, now, d_, {}, distances);
            const index_t begin = std::max(first, panel * panel_lanes);
            const index_t end = std::min(count_, (panel + now) * panel_lanes);
            for (index_t i = begin; i < end; ++i) use(i, distances[i - panel * panel_lanes]);
        }
    }

private:
    PanelDistances measure_;
    index_t d_, count_ = 0;
    std::vector<double> panels_;
};

}  // namespace

Condensed condense(Metric metric, Matrix<const double> rows, const std::int32_t* codes, const std::int64_t* order) {
    Condensed found;
    const index_t n = rows.rows;
    Kept kept(metric, rows.cols);
    std::vector<double> best(static_cast<std::size_t>(n), std::numeric_limits<double>::infinity());
    std::vector<std::int64_t> nearest(static_cast<std::size_t>(n), -1);
    std::vector<index_t> met(static_cast<std::size_t>(n), 0);
    std::vector<std::uint8_t> is_kept(static_cast<std::size_t>(n), 0);
    for (bool grew = true; grew && !interrupted();) {
        grew = false;
        for (index_t place = 0; place < n; ++place) {
            if (place % 1024 == 0 && interrupted()) break;
            const std::int64_t row = order[place];
            if (is_kept[row] != 0) continue;
            kept.from(met[row], rows.row(row), [&](index_t k, double distance) {
                const std::int64_t other = found.kept[static_cast<std::size_t>(k)];
                if (distance < best[row] || (distance == best[row] && other < nearest[row])) {
                    best[row] = distance;
                    nearest[row] = other;
                }
            });
            met[row] = kept.count();
            if (nearest[row] >= 0 && codes[nearest[row]] == codes[row]) continue;
            kept.add(rows.row(row));
            found.kept.push_back(row);
            is_kept[row] = 1;
            grew = true;
        }
        found.after_pass.push_back(static_cast<std::int64_t>(found.kept.size()));
    }
    return found;
}

}  // namespace assay::neighbours
