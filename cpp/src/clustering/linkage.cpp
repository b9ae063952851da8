#include "assay/clustering/linkage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "assay/common/large_pages.hpp"
#include "assay/common/simd.hpp"
#include "assay/neighbours/panel_visitor.hpp"
#include "screen_panel.hpp"
#include "point_boxes.hpp"

namespace assay::clustering {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class I>
std::size_t at(I i) {
    return static_cast<std::size_t>(i);
}

struct Merge {
    std::int32_t a, b;  // any row of each of the two clusters
    double height;
};

// Merges in the order of their heights, numbered as SciPy does.
void write_merges(std::vector<Merge>& merges, index_t n, bool sort, double* z) {
    if (sort) std::stable_sort(merges.begin(), merges.end(), [](const Merge& x, const Merge& y) { return x.height < y.height; });
    DisjointSets sets(n);
    std::vector<double> name(at(n)), size(at(n), 1.0);
    std::iota(name.begin(), name.end(), 0.0);
    for (std::size_t t = 0; t < merges.size(); ++t) {
        const auto a = at(sets.find(merges[t].a)), b = at(sets.find(merges[t].b));
        sets.join(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
        const auto root = at(sets.find(static_cast<std::int32_t>(a)));
        z[4 * t] = std::min(name[a], name[b]);
        z[4 * t + 1] = std::max(name[a], name[b]);
        z[4 * t + 2] = merges[t].height;
        z[4 * t + 3] = size[a] + size[b];
        size[root] = size[a] + size[b];
        name[root] = static_cast<double>(static_cast<std::size_t>(n) + t);
    }
}

// The least of row[j] + closed[j] (0, or infinity for what is gone).
ASSAY_INLINE double least_body(const double* row, const double* closed, index_t n) {
    double best[32];
    for (double& b : best) b = infinity;
    index_t j = 0;
    for (; j + 32 <= n; j += 32)
        for (index_t v = 0; v < 32; ++v) {
            const double value = row[j + v] + closed[j + v];
            best[v] = value < best[v] ? value : best[v];
        }
    for (; j < n; ++j) best[0] = std::min(best[0], row[j] + closed[j]);
    for (index_t v = 1; v < 32; ++v) best[0] = std::min(best[0], best[v]);
    return best[0];
}
ASSAY_DISPATCH(double, least_of, least_body, (const double* row, const double* closed, index_t n), (row, closed, n))

// The first j with row[j] + closed[j] == value.
ASSAY_INLINE index_t place_body(const double* row, const double* closed, index_t n, double value) {
    index_t j = 0;
    for (; j + 32 <= n; j += 32) {
        int some = 0;
        for (index_t v = 0; v < 32; ++v) some |= row[j + v] + closed[j + v] == value;
        if (some) break;
    }
    while (j < n && !(row[j] + closed[j] == value)) ++j;
    return j;
}
ASSAY_DISPATCH(index_t, place_of, place_body, (const double* row, const double* closed, index_t n, double value),
               (row, closed, n, value))

ASSAY_INLINE void roots_body(const double* squares, index_t n, double* to) {
    for (index_t j = 0; j < n; ++j) to[j] = std::sqrt(squares[j]);
}
ASSAY_DISPATCH(void, roots_of, roots_body, (const double* squares, index_t n, double* to), (squares, n, to))

struct Update {
    Linkage linkage;
    double n_i, n_j, between;
};
template <class Rule>
ASSAY_INLINE void join_rows_with(double* into, const double* other, index_t n, Rule&& rule) {
    for (index_t k = 0; k < n; ++k) into[k] = rule(into[k], other[k]);
}
ASSAY_INLINE void join_rows_body(double* into, const double* other, index_t n, const Update& u) {
    const double total = u.n_i + u.n_j, share_i = u.n_i / total, share_j = u.n_j / total;
    switch (u.linkage) {
        case Linkage::complete: return join_rows_with(into, other, n, [](double a, double b) { return a > b ? a : b; });
        case Linkage::single: return join_rows_with(into, other, n, [](double a, double b) { return a < b ? a : b; });
        case Linkage::average:
            return join_rows_with(into, other, n, [&](double a, double b) { return (u.n_i * a + u.n_j * b) / total; });
        case Linkage::weighted: return join_rows_with(into, other, n, [](double a, double b) { return (a + b) / 2; });
        case Linkage::centroid:
            return join_rows_with(into, other, n, [&](double a, double b) {
                return share_i * a + share_j * b - share_i * share_j * u.between;
            });
        case Linkage::median:
            return join_rows_with(into, other, n, [&](double a, double b) { return (a + b) / 2 - u.between / 4; });
    }
}
ASSAY_DISPATCH(void, join_rows, join_rows_body, (double* into, const double* other, index_t n, const Update& u),
               (into, other, n, u))

// The distances of rows that nothing has been joined to, one line at a time, in the order of the slots.
class RowDistances {
public:
    RowDistances(Matrix<const double> rows, neighbours::Metric metric, double p, int threads)
        : rows_(rows), metric_(metric), measure_(neighbours::panel_distances(metric)), threads_(threads),
          panels_(at(neighbours::panel_count(rows.rows) * lanes * rows.cols)) {
        options_.p = p;
        neighbours::pack_panels(rows, nullptr, panels_.data(), threads);
    }

    // The first n distances of the row to the slots.
    void fill(std::int32_t row, index_t n, double* line) const {
        const double* const query = rows_.row(row);
        const index_t d = rows_.cols;
        parallel_chunks(n, grain, n * d > 400000 ? threads_ : 1, [&](index_t, index_t begin, index_t end) {
            alignas(64) double found[grain];
            const index_t count = end - begin;
            measure_(query, panels_.data() + begin * d, neighbours::panel_count(count), d, options_, found);
            if (metric_ == neighbours::Metric::euclidean)
                roots_of(found, count, line + begin);
            else if (metric_ == neighbours::Metric::minkowski)
                for (index_t k = 0; k < count; ++k) line[begin + k] = std::pow(found[k], 1.0 / options_.p);
            else
                std::copy_n(found, count, line + begin);
        });
    }
    // The slots hold these rows from now on.
    void close_up(const std::vector<std::int32_t>& row, index_t n) {
        neighbours::pack_panels(c_matrix<const double>(rows_.data, n, rows_.cols), row.data(), panels_.data(), threads_);
    }

private:
    static constexpr index_t lanes = neighbours::panel_lanes, grain = 512;
    Matrix<const double> rows_;
    neighbours::Metric metric_;
    neighbours::PanelDistances measure_;
    neighbours::MetricOptions options_;
    int threads_;
    LargeVector<double> panels_;
};

// Lines of distances between clusters, closed up when half of the clusters are gone: those of a given square, or those of rows,
// each made when it is first looked at. Then only clusters that were joined and rows on the chain have a line, and a row that
// comes late has a short one.
// A join writes the line of the new cluster alone, not its column: of two clusters the one joined last holds their distance. A
// line takes over what it has missed when it is next looked at, which for most lines is seldom.
class Lines {
public:
    Lines(double* square, index_t n) : Lines(n) {
        for (index_t i = 0; i < n; ++i) line_[at(i)] = square + i * n;
        for (index_t i = 0; i < n; ++i) cell(i, i) = infinity;
    }
    Lines(RowDistances& rows, index_t n) : Lines(n) { rows_ = &rows; }

    double& cell(index_t i, index_t j) { return line_[at(i)][j]; }
    // Of a line that was brought up to date.
    double least(index_t i) const { return least_of(line_[at(i)], closed_.data(), n_); }
    index_t place(index_t i, double value) const { return place_of(line_[at(i)], closed_.data(), n_, value); }
    bool gone(index_t i) const { return closed_[at(i)] != 0.0; }
    std::int32_t row(index_t i) const { return row_[at(i)]; }
    index_t slots() const { return n_; }

    // Takes over the distances to clusters that were joined since.
    void bring_up_to_date(index_t i) {
        if (line_[at(i)] == nullptr) rows_->fill(row(i), n_, line_[at(i)] = empty_line());
        double* const own = line_[at(i)];
        constexpr std::size_t ahead = 24;
        for (std::size_t r = joins_.size(); r-- > 0 && joins_[r].time > seen_[at(i)];) {
            const Join& join = joins_[r];
            if (r >= ahead) __builtin_prefetch(line_[at(joins_[r - ahead].slot)] + i);
            if (lives(join)) own[join.slot] = line_[at(join.slot)][i];
        }
        own[i] = infinity;
        seen_[at(i)] = now_;
    }

    // Cluster j goes into cluster i.
    void join(index_t i, index_t j, Linkage linkage) {
        bring_up_to_date(i);
        bring_up_to_date(j);
        const Update update{linkage, size_[at(i)], size_[at(j)], cell(i, j)};
        join_rows(line_[at(i)], line_[at(j)], n_, update);
        cell(i, i) = infinity;
        size_[at(i)] += size_[at(j)];
        closed_[at(j)] = infinity;
        free_.push_back(line_[at(j)]);
        ++closed_count_;
        joined_[at(i)] = seen_[at(i)] = ++now_;
        joins_.push_back({now_, i});
        if (joins_.size() > most_joins_) {
            std::erase_if(joins_, [&](const Join& join) { return !lives(join); });
            most_joins_ = 2 * joins_.size() + 64;
        }
    }

    // Close up; `moved[old] = new` for slots that live on, empty if nothing moved.
    std::vector<index_t> close_up() {
        std::vector<index_t> moved;
        if (2 * closed_count_ < n_ || n_ < 64) return moved;
        std::vector<index_t> kept;
        for (index_t i = 0; i < n_; ++i)
            if (!gone(i)) kept.push_back(i);
        moved.assign(at(n_), -1);
        // A line is as long as half of what it was: there is room for another one behind it.
        const auto m = static_cast<index_t>(kept.size());
        for (std::size_t k = free_.size(); k-- > 0;) free_.push_back(free_[k] + m);
        for (index_t a = 0; a < m; ++a) {
            double* const line = line_[at(kept[at(a)])];
            line_[at(a)] = line;
            if (line != nullptr) {
                for (index_t b = 0; b < m; ++b) line[b] = line[kept[at(b)]];
                free_.push_back(line + m);
            }
            size_[at(a)] = size_[at(kept[at(a)])];
            row_[at(a)] = row_[at(kept[at(a)])];
            seen_[at(a)] = seen_[at(kept[at(a)])];
            moved[at(kept[at(a)])] = a;
        }
        std::erase_if(joins_, [&](const Join& join) { return !lives(join); });
        for (Join& join : joins_) join.slot = moved[at(join.slot)];
        std::fill(joined_.begin(), joined_.end(), 0);
        for (const Join& join : joins_) joined_[at(join.slot)] = join.time;
        n_ = m;
        closed_.assign(at(m), 0.0);
        closed_count_ = 0;
        if (rows_ != nullptr) rows_->close_up(row_, m);
        return moved;
    }

private:
    explicit Lines(index_t n)
        : line_(at(n), nullptr), n_(n), closed_(at(n), 0.0), size_(at(n), 1.0), row_(at(n)), joined_(at(n), 0), seen_(at(n), 0) {
        std::iota(row_.begin(), row_.end(), 0);
    }
    struct Join {
        index_t time, slot;
    };
    bool lives(const Join& join) const { return joined_[at(join.slot)] == join.time && !gone(join.slot); }

    double* empty_line() {
        if (free_.empty()) {
            const index_t lines = std::clamp<index_t>((index_t{1} << 21) / n_, 1, n_ / 2 + 1);  // 16 MB, or all that can be asked for
            blocks_.emplace_back(new LargeVector<double>());
            blocks_.back()->reserve(at(lines * n_));
            for (index_t k = lines; k-- > 0;) free_.push_back(blocks_.back()->data() + k * n_);
        }
        double* const line = free_.back();
        free_.pop_back();
        return line;
    }

    std::vector<double*> line_;  // of each slot, null if it was not made yet
    index_t n_, closed_count_ = 0, now_ = 0;
    std::vector<double> closed_, size_;
    std::vector<std::int32_t> row_;
    std::vector<index_t> joined_, seen_;  // when a slot was joined last, and up to when its line is up to date
    std::vector<Join> joins_;             // in the order of time; some are of the past
    std::size_t most_joins_ = 64;
    RowDistances* rows_ = nullptr;
    std::vector<double*> free_;  // places for lines
    std::vector<std::unique_ptr<LargeVector<double>>> blocks_;
};

// An empty chain of nearest neighbours starts at the first slot that lives.
template <class Slots>
void start(std::vector<index_t>& chain, const Slots& slots) {
    if (!chain.empty()) return;
    index_t i = 0;
    while (slots.gone(i)) ++i;
    chain.push_back(i);
}

// Closes up the slots, and lets the chain follow.
template <class Slots>
void close_up(std::vector<index_t>& chain, Slots& slots) {
    const auto moved = slots.close_up();
    if (!moved.empty())
        for (index_t& slot : chain) slot = moved[at(slot)];
}

void chain_on_lines(Lines& lines, index_t n, Linkage linkage, std::vector<Merge>& merges) {
    std::vector<index_t> chain;
    while (static_cast<index_t>(merges.size()) < n - 1 && !interrupted()) {
        start(chain, lines);
        const index_t x = chain.back();
        lines.bring_up_to_date(x);
        const double near = lines.least(x);
        const index_t before = chain.size() > 1 ? chain[chain.size() - 2] : -1;
        if (before >= 0 && lines.cell(x, before) == near) {
            merges.push_back({lines.row(x), lines.row(before), near});
            chain.resize(chain.size() - 2);
            lines.join(std::min(x, before), std::max(x, before), linkage);
            close_up(chain, lines);
        } else {
            chain.push_back(lines.place(x, near));
        }
    }
}

void nearest_pairs(Lines& lines, index_t n, Linkage linkage, std::vector<Merge>& merges) {
    std::vector<double> near(at(n));
    std::vector<index_t> who(at(n));
    const auto look = [&](index_t i) {
        lines.bring_up_to_date(i);
        near[at(i)] = lines.least(i);
        who[at(i)] = lines.place(i, near[at(i)]);
    };
    for (index_t i = 0; i < n; ++i) look(i);
    while (static_cast<index_t>(merges.size()) < n - 1 && !interrupted()) {
        index_t x = -1;
        for (index_t i = 0; i < lines.slots(); ++i)
            if (!lines.gone(i) && (x < 0 || near[at(i)] < near[at(x)])) x = i;
        const index_t i = std::min(x, who[at(x)]), j = std::max(x, who[at(x)]);
        merges.push_back({lines.row(i), lines.row(j), std::sqrt(std::max(0.0, near[at(x)]))});
        lines.join(i, j, linkage);
        const auto moved = lines.close_up();
        if (!moved.empty()) {
            for (index_t k = 0; k < lines.slots(); ++k) look(k);
            continue;
        }
        look(i);
        for (index_t k = 0; k < lines.slots(); ++k) {
            if (lines.gone(k) || k == i) continue;
            if (who[at(k)] == i || who[at(k)] == j)
                look(k);
            else if (lines.cell(i, k) < near[at(k)]) {
                near[at(k)] = lines.cell(i, k);
                who[at(k)] = i;
            }
        }
    }
}

// Means of clusters in panels of 16, closed up as clusters vanish.
class Means {
public:
    Means(Matrix<const double> rows, int threads) : d_(rows.cols), threads_(threads), size_(at(rows.rows), 1.0), row_(at(rows.rows)) {
        std::iota(row_.begin(), row_.end(), 0);
        mean_.resize(at(rows.rows * d_));
        for (index_t i = 0; i < rows.rows; ++i) std::copy_n(rows.row(i), d_, mean_.begin() + i * d_);
        pack();
    }
    index_t count() const { return static_cast<index_t>(size_.size()); }
    double size(index_t i) const { return size_[at(i)]; }
    bool gone(index_t i) const { return size_[at(i)] == 0.0; }
    std::int32_t row(index_t i) const { return row_[at(i)]; }
    double between(index_t i, index_t j) const {
        return cost(squared_distance(mean_.data() + i * d_, mean_.data() + j * d_, d_), size_[at(i)], size_[at(j)]);
    }

    struct Near {
        double value = infinity;
        index_t slot = -1;
    };
    Near nearest(index_t i) {
        constexpr index_t grain = 4096;
        const index_t n = count(), chunks = chunk_count(n, grain);
        std::vector<Near> found(at(chunks));
        const auto measure = neighbours::panel_distances(neighbours::Metric::euclidean);
        parallel_chunks(n, grain, n * d_ > 200000 ? threads_ : 1, [&](index_t c, index_t begin, index_t end) {
            alignas(64) double distances[grain];
            const neighbours::MetricOptions options;
            measure(mean_.data() + i * d_, panels_.data() + begin * d_, neighbours::panel_count(end - begin), d_, options, distances);
            Near best;
            for (index_t j = begin; j < end; ++j) {
                if (gone(j) || j == i) continue;
                const double value = cost(distances[j - begin], size_[at(i)], size_[at(j)]);
                if (value < best.value) best = {value, j};
            }
            found[at(c)] = best;
        });
        Near best;
        for (const Near& one : found)
            if (one.value < best.value) best = one;
        return best;
    }
    void join(index_t i, index_t j) {
        const double a = size_[at(i)], b = size_[at(j)];
        for (index_t t = 0; t < d_; ++t) {
            double& m = mean_[at(i * d_ + t)];
            m = (a * m + b * mean_[at(j * d_ + t)]) / (a + b);
            panels_[at((i / lanes * d_ + t) * lanes + i % lanes)] = m;
        }
        size_[at(i)] = a + b;
        size_[at(j)] = 0.0;
        ++gone_;
    }
    std::vector<index_t> close_up() {
        std::vector<index_t> moved;
        if (2 * gone_ < count() || count() < 64) return moved;
        moved.assign(size_.size(), -1);
        index_t m = 0;
        for (index_t i = 0; i < count(); ++i) {
            if (gone(i)) continue;
            size_[at(m)] = size_[at(i)];
            row_[at(m)] = row_[at(i)];
            std::copy_n(mean_.begin() + i * d_, d_, mean_.begin() + m * d_);
            moved[at(i)] = m++;
        }
        size_.resize(at(m));
        row_.resize(at(m));
        mean_.resize(at(m * d_));
        gone_ = 0;
        pack();
        return moved;
    }

private:
    static constexpr index_t lanes = neighbours::panel_lanes;
    static double cost(double squared, double a, double b) { return 2.0 * a * b / (a + b) * squared; }
    void pack() {
        panels_.assign(at(neighbours::panel_count(count()) * lanes * d_), 0.0);
        neighbours::pack_panels(c_matrix<const double>(mean_.data(), count(), d_), nullptr, panels_.data(), 1);
    }
    index_t d_, gone_ = 0;
    int threads_;
    std::vector<double> size_, mean_, panels_;
    std::vector<std::int32_t> row_;
};

}  // namespace

void matrix_linkage(double* square, index_t n, Linkage linkage, double* z) {
    if (n < 2) return;
    Lines cells(square, n);
    std::vector<Merge> merges;
    merges.reserve(at(n - 1));
    const bool reducible = linkage != Linkage::centroid && linkage != Linkage::median;
    if (reducible)
        chain_on_lines(cells, n, linkage, merges);
    else
        nearest_pairs(cells, n, linkage, merges);
    write_merges(merges, n, reducible, z);
}

void rows_linkage(Matrix<const double> rows, neighbours::Metric metric, double p, Linkage linkage, double* z, int threads) {
    const index_t n = rows.rows;
    if (n < 2) return;
    RowDistances distances(rows, metric, p, threads);
    Lines lines(distances, n);
    std::vector<Merge> merges;
    merges.reserve(at(n - 1));
    chain_on_lines(lines, n, linkage, merges);
    write_merges(merges, n, true, z);
}

void fill_square(Matrix<const double> rows, neighbours::Metric metric, double p, bool squared, double* square, int threads) {
    const index_t n = rows.rows;
    std::vector<double> panels(at(neighbours::panel_count(n) * neighbours::panel_lanes * rows.cols));
    neighbours::pack_panels(rows, nullptr, panels.data(), threads);
    neighbours::MetricOptions options;
    options.p = p;
    const bool root = metric == neighbours::Metric::euclidean && !squared;
    neighbours::visit_panels(metric, options, panels.data(), n, rows, threads,
                             [&](index_t i, index_t first, index_t count, const double* found) {
                                 double* const to = square + i * n + first;
                                 if (root)
                                     roots_of(found, count, to);
                                 else
                                     std::copy_n(found, count, to);
                             });
    if (metric == neighbours::Metric::minkowski)
        for (index_t i = 0; i < n * n; ++i) square[i] = std::pow(square[i], 1.0 / p);
    if (squared && metric != neighbours::Metric::euclidean)
        for (index_t i = 0; i < n * n; ++i) square[i] *= square[i];
}

void ward_linkage(Matrix<const double> rows, double* z, int threads) {
    const index_t n = rows.rows;
    if (n < 2) return;
    Means means(rows, threads);
    std::vector<Merge> merges;
    std::vector<index_t> chain;
    while (static_cast<index_t>(merges.size()) < n - 1 && !interrupted()) {
        start(chain, means);
        const index_t x = chain.back(), before = chain.size() > 1 ? chain[chain.size() - 2] : -1;
        const auto near = means.nearest(x);
        if (before >= 0 && means.between(x, before) <= near.value * (1 + 1e-14)) {
            merges.push_back({means.row(x), means.row(before), std::sqrt(means.between(x, before))});
            chain.resize(chain.size() - 2);
            means.join(std::min(x, before), std::max(x, before));
            close_up(chain, means);
        } else {
            chain.push_back(near.slot);
        }
    }
    write_merges(merges, n, true, z);
}

}  // namespace assay::clustering
