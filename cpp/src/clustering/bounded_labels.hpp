// Labels of the nearest of k centres that move: bounds of Hamerly, float32 panels, float64 where both leave a doubt. The
// mathematics is in k_means.hpp; `Geometry` (screen_panel.hpp) says which distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/threads.hpp"
#include "screen_panel.hpp"

namespace assay::clustering {

constexpr index_t grain = 2048;  // rows per chunk of the assignment

struct Nearest {
    std::int32_t label;
    double first, second;  // as the geometry measures, in float64
};

template <class Geometry, class T>
Nearest measure_all(const T* x, const double* centres, index_t k, index_t d) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Nearest found{0, infinity, infinity};
    for (index_t j = 0; j < k; ++j) {
        const double distance = Geometry::measure(x, centres + j * d, d);
        if (distance < found.first) {
            found.second = found.first;
            found.first = distance;
            found.label = static_cast<std::int32_t>(j);
        } else if (distance < found.second) {
            found.second = distance;
        }
    }
    return found;
}

// Labels of the rows of a panel; `use(row, label, upper, lower)` gets the bounds in scaled units.
template <class Geometry, class T, class Use>
void flush(Panel& panel, Matrix<const T> rows, const double* centres, index_t k, const ScreenCentres<Geometry>& screen,
           const Frame& frame, Use&& use) {
    if (panel.size == 0) return;
    const index_t d = rows.cols;
    TwoLeast found;
    Geometry::scores(panel.cells.data(), d, screen.cells.data(), screen.offsets.data(), screen.padded, found);
    for (index_t p = 0; p < panel.size; ++p) {
        const index_t row = panel.rows[p];
        const double norm = panel.norms[p], error = Geometry::error(norm, screen.largest_norm, d);
        const double best = static_cast<double>(found.best[p]), second = static_cast<double>(found.second[p]);
        if (second - best > 2.1 * error) {
            use(row, found.index[p], Geometry::length_of_score(norm, best + error) * (1 + 1e-12),
                Geometry::length_of_score(norm, second - error) * (1 - 1e-12));
        } else {
            const Nearest exact = measure_all<Geometry>(rows.row(row), centres, k, d);
            use(row, exact.label, Geometry::length(exact.first) * frame.scale * (1 + 1e-12),
                Geometry::length(exact.second) * frame.scale * (1 - 1e-12));
        }
    }
    panel.size = 0;
}

// The nearest centre of each row; `measured` (if not null) gets the distances as the geometry measures.
template <class T, class Geometry>
void label_all(Matrix<const T> rows, Matrix<const double> centres, std::int32_t* labels, double* measured, int threads) {
    const Frame frame = frame_of(rows, nullptr, threads);
    ScreenCentres<Geometry> screen;
    screen.set(centres.data, centres.rows, centres.cols, frame);
    parallel_chunks(rows.rows, grain, threads, [&](index_t, index_t begin, index_t end) {
        Panel panel(rows.cols);
        const auto take = [&](index_t row, std::int32_t label, double, double) { labels[row] = label; };
        for (index_t i = begin; i < end; ++i) {
            panel.add(rows.row(i), i, rows.cols, frame);
            if (panel.size == panel_points) flush(panel, rows, centres.data, centres.rows, screen, frame, take);
        }
        flush(panel, rows, centres.data, centres.rows, screen, frame, take);
        if (measured)
            for (index_t i = begin; i < end; ++i)
                measured[i] = Geometry::measure(rows.row(i), centres.row(labels[i]), rows.cols);
    });
}

// sum_i w_i times the distance of row i to the centre of its label, by fixed chunks.
template <class Geometry, class T>
double sum_of_distances(Matrix<const T> rows, const double* weights, Matrix<const double> centres,
                        const std::int32_t* labels, int threads) {
    std::vector<double> parts(static_cast<std::size_t>(chunk_count(rows.rows, grain)));
    parallel_chunks(rows.rows, grain, threads, [&](index_t c, index_t begin, index_t end) {
        double sum = 0.0;
        for (index_t i = begin; i < end; ++i)
            sum += (weights ? weights[i] : 1.0) * Geometry::measure(rows.row(i), centres.row(labels[i]), rows.cols);
        parts[static_cast<std::size_t>(c)] = sum;
    });
    double total = 0.0;
    for (const double part : parts) total += part;
    return total;
}

struct Move {
    index_t row;
    std::int32_t from;
};

inline float up(double value) { return static_cast<float>(value) * (1.0f + 2e-7f); }
inline float down(double value) { return static_cast<float>(value) * (1.0f - 2e-7f); }

template <class T, class Geometry>
class BoundedLabels {
public:
    BoundedLabels(Matrix<const T> rows, index_t k, const double* centres, std::int32_t* labels, const Frame& frame,
                  bool bounds)
        : rows_(rows), k_(k), d_(rows.cols), centres_(centres), labels_(labels), frame_(frame), bounds_(bounds) {
        const auto n = static_cast<std::size_t>(rows.rows);
        std::fill(labels, labels + rows.rows, -1);
        if (bounds) {
            upper_.assign(n, 0.0f);
            lower_.assign(n, 0.0f);
        }
        moves_.resize(static_cast<std::size_t>(chunk_count(rows.rows, grain)));
        drift_.assign(static_cast<std::size_t>(k), 0.0);
        half_gap_.assign(static_cast<std::size_t>(k), 0.0f);
    }

    // Rows that changed their label in the last assignment, chunk by chunk.
    const std::vector<std::vector<Move>>& moves() const { return moves_; }
    index_t changed() const {
        index_t count = 0;
        for (const auto& moves : moves_) count += static_cast<index_t>(moves.size());
        return count;
    }

    // How far a centre moved since the assignment, in units of the rows.
    void drifted(index_t centre, double length) {
        drift_[static_cast<std::size_t>(centre)] = length * frame_.scale * (1 + 1e-9);
    }

    void begin_step() {
        screen_.set(centres_, k_, d_, frame_);
        if (!bounds_) return;
        largest_ = second_ = 0.0;
        farthest_ = 0;
        for (index_t j = 0; j < k_; ++j) {
            const double moved = drift_[static_cast<std::size_t>(j)];
            if (moved > largest_) {
                second_ = largest_;
                largest_ = moved;
                farthest_ = static_cast<std::int32_t>(j);
            } else {
                second_ = std::max(second_, moved);
            }
        }
        if (k_ * k_ <= 4 * rows_.rows) find_half_gaps();
    }

    void assign(index_t chunk, index_t begin, index_t end, Panel& panel) {
        auto& moves = moves_[static_cast<std::size_t>(chunk)];
        moves.clear();
        const auto take = [&](index_t row, std::int32_t label, double near, double far) {
            if (labels_[row] != label) {
                moves.push_back({row, labels_[row]});
                labels_[row] = label;
            }
            if (bounds_) {
                upper_[static_cast<std::size_t>(row)] = up(near);
                lower_[static_cast<std::size_t>(row)] = down(far);
            }
        };
        for (index_t i = begin; i < end; ++i) {
            if (keeps_label(i)) continue;
            panel.add(rows_.row(i), i, d_, frame_);
            if (panel.size == panel_points) flush(panel, rows_, centres_, k_, screen_, frame_, take);
        }
        flush(panel, rows_, centres_, k_, screen_, frame_, take);
    }

    // Each cluster without a row of weight takes the row farthest from its centre of a cluster with more than one;
    // `use(row, from, to)` is told. `count` holds the rows with weight of each cluster.
    template <class Use>
    void relocate_empty(const double* weights, const std::vector<std::int64_t>& count, int threads, Use&& use) {
        std::vector<index_t> empty;
        for (index_t j = 0; j < k_; ++j)
            if (count[static_cast<std::size_t>(j)] == 0) empty.push_back(j);
        if (empty.empty()) return;
        std::vector<double> away(static_cast<std::size_t>(rows_.rows));
        parallel_chunks(rows_.rows, grain, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i)
                away[static_cast<std::size_t>(i)] = !weights || weights[i] > 0
                                                        ? Geometry::measure(rows_.row(i), centres_ + labels_[i] * d_, d_)
                                                        : 0.0;
        });
        for (const index_t j : empty) {
            index_t taken = -1;
            for (index_t i = 0; i < rows_.rows; ++i)
                if (away[static_cast<std::size_t>(i)] > (taken < 0 ? 0.0 : away[static_cast<std::size_t>(taken)]) &&
                    count[static_cast<std::size_t>(labels_[i])] > 1)
                    taken = i;
            if (taken < 0) return;
            const std::int32_t from = labels_[taken];
            labels_[taken] = static_cast<std::int32_t>(j);
            use(taken, from, labels_[taken]);
            away[static_cast<std::size_t>(taken)] = 0.0;
            // The centre becomes the row, so no bound is too tight.
            if (bounds_) upper_[static_cast<std::size_t>(taken)] = lower_[static_cast<std::size_t>(taken)] = 0.0f;
        }
    }

private:
    bool keeps_label(index_t i) {
        const std::int32_t own = labels_[i];
        if (own < 0 || !bounds_) return false;
        float& u = upper_[static_cast<std::size_t>(i)];
        float& l = lower_[static_cast<std::size_t>(i)];
        u = up(static_cast<double>(u) + drift_[static_cast<std::size_t>(own)]);
        l = down(std::max(0.0, static_cast<double>(l) - (own == farthest_ ? second_ : largest_)));
        const float bound = std::max(l, half_gap_[static_cast<std::size_t>(own)]);
        if (u * (1.0f + 1e-6f) < bound) return true;
        u = up(Geometry::length(Geometry::measure(rows_.row(i), centres_ + own * d_, d_)) * frame_.scale * (1 + 1e-12));
        return u * (1.0f + 1e-6f) < bound;
    }

    void find_half_gaps() {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        gaps_.assign(static_cast<std::size_t>(k_), infinity);
        for (index_t a = 0; a < k_; ++a)
            for (index_t b = 0; b < a; ++b) {
                const double gap = Geometry::measure(centres_ + a * d_, centres_ + b * d_, d_);
                gaps_[static_cast<std::size_t>(a)] = std::min(gaps_[static_cast<std::size_t>(a)], gap);
                gaps_[static_cast<std::size_t>(b)] = std::min(gaps_[static_cast<std::size_t>(b)], gap);
            }
        for (std::size_t j = 0; j < gaps_.size(); ++j)
            half_gap_[j] = down(0.5 * Geometry::length(gaps_[j]) * frame_.scale * (1 - 1e-12));
    }

    Matrix<const T> rows_;
    index_t k_, d_;
    const double* centres_;
    std::int32_t* labels_;
    const Frame& frame_;
    bool bounds_;
    ScreenCentres<Geometry> screen_;
    std::vector<float> upper_, lower_, half_gap_;
    std::vector<double> drift_, gaps_;
    std::vector<std::vector<Move>> moves_;
    double largest_ = 0.0, second_ = 0.0;
    std::int32_t farthest_ = 0;
};

}  // namespace assay::clustering
