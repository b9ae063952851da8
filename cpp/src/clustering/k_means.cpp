#include "assay/clustering/k_means.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/random.hpp"
#include "bounded_labels.hpp"

namespace assay::clustering {
namespace {

// One start on its way.
template <class T>
class Descent {
public:
    Descent(Matrix<const T> rows, const double* weights, index_t k, double* centres, std::int32_t* labels,
            const Frame& frame, const KMeansOptions& options, int threads)
        : rows_(rows), weights_(weights), k_(k), d_(rows.cols), centres_(centres), labels_(labels), frame_(frame),
          options_(options), threads_(threads), limit_(options.tol * frame.mean_variance),
          assignment_(rows, k, centres, labels, frame, options.bounds) {}

    bool active = true;
    KMeansRun run;

    void begin_step() { assignment_.begin_step(); }
    void assign(index_t chunk, index_t begin, index_t end, Panel& panel) { assignment_.assign(chunk, begin, end, panel); }

    // Means of the labels just given; false when the run has ended.
    void update() {
        const index_t changed = assignment_.changed();
        ++run.n_iter;
        if (options_.record) run.inertias.push_back(inertia_of(rows_, weights_, view(), labels_, threads_));
        if (changed == 0) {
            run.converged = true;
            settled_ = true;
            active = false;
            return;
        }
        if (run.n_iter == 1 || changed > rows_.rows / 8 || run.n_iter % 32 == 0)
            add_up();
        else
            correct();
        relocate_empty();
        const double moved = move_centres();
        if (moved <= limit_) {
            run.converged = true;
            active = false;
        } else if (run.n_iter >= options_.max_iter) {
            active = false;
        }
    }

    void finish() {
        if (!settled_) nearest_centres(rows_, view(), labels_, nullptr, threads_);
        run.inertia = inertia_of(rows_, weights_, view(), labels_, threads_);
    }

private:
    Matrix<const double> view() const { return c_matrix<const double>(centres_, k_, d_); }
    double weight(index_t i) const { return weights_ ? weights_[i] : 1.0; }

    void add_row(index_t i, double sign, double* sums, double* mass, std::int64_t* count, std::int32_t label) const {
        const double w = sign * weight(i);
        double* const sum = sums + label * d_;
        const T* const x = rows_.row(i);
        for (index_t t = 0; t < d_; ++t) sum[t] += w * (static_cast<double>(x[t]) - frame_.mean[static_cast<std::size_t>(t)]);
        mass[label] += w;
        if (weight(i) > 0) count[label] += sign > 0 ? 1 : -1;
    }

    void add_up() {
        const index_t cells = k_ * d_, n = rows_.rows;
        const index_t most = std::clamp<index_t>((index_t{4} << 20) / std::max<index_t>(1, cells), 4, 64);
        const index_t part = std::max<index_t>((n + most - 1) / most, 1024), chunks = chunk_count(n, part);
        std::vector<double> sums(static_cast<std::size_t>(chunks * cells)), masses(static_cast<std::size_t>(chunks * k_));
        std::vector<std::int64_t> counts(static_cast<std::size_t>(chunks * k_));
        parallel_chunks(n, part, threads_, [&](index_t c, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i)
                add_row(i, 1.0, sums.data() + c * cells, masses.data() + c * k_, counts.data() + c * k_, labels_[i]);
        });
        sums_.assign(static_cast<std::size_t>(cells), 0.0);
        mass_.assign(static_cast<std::size_t>(k_), 0.0);
        count_.assign(static_cast<std::size_t>(k_), 0);
        for (index_t c = 0; c < chunks; ++c) {
            for (index_t t = 0; t < cells; ++t) sums_[static_cast<std::size_t>(t)] += sums[static_cast<std::size_t>(c * cells + t)];
            for (index_t j = 0; j < k_; ++j) {
                mass_[static_cast<std::size_t>(j)] += masses[static_cast<std::size_t>(c * k_ + j)];
                count_[static_cast<std::size_t>(j)] += counts[static_cast<std::size_t>(c * k_ + j)];
            }
        }
    }

    void correct() {
        for (const auto& moves : assignment_.moves())
            for (const Move& move : moves) {
                add_row(move.row, -1.0, sums_.data(), mass_.data(), count_.data(), move.from);
                add_row(move.row, 1.0, sums_.data(), mass_.data(), count_.data(), labels_[move.row]);
            }
    }

    void relocate_empty() {
        assignment_.relocate_empty(weights_, count_, threads_, [&](index_t row, std::int32_t from, std::int32_t to) {
            add_row(row, -1.0, sums_.data(), mass_.data(), count_.data(), from);
            add_row(row, 1.0, sums_.data(), mass_.data(), count_.data(), to);
        });
    }

    double move_centres() {
        double total = 0.0;
        for (index_t j = 0; j < k_; ++j) {
            if (count_[static_cast<std::size_t>(j)] == 0) {
                assignment_.drifted(j, 0.0);
                continue;
            }
            double moved = 0.0;
            for (index_t t = 0; t < d_; ++t) {
                double& c = centres_[j * d_ + t];
                const double to = frame_.mean[static_cast<std::size_t>(t)] +
                                  sums_[static_cast<std::size_t>(j * d_ + t)] / mass_[static_cast<std::size_t>(j)];
                moved += (to - c) * (to - c);
                c = to;
            }
            total += moved;
            assignment_.drifted(j, std::sqrt(moved));
        }
        return total;
    }

    Matrix<const T> rows_;
    const double* weights_;
    index_t k_, d_;
    double* centres_;
    std::int32_t* labels_;
    const Frame& frame_;
    const KMeansOptions& options_;
    int threads_;
    double limit_;
    bool settled_ = false;
    BoundedLabels<T, Euclidean> assignment_;
    std::vector<double> sums_, mass_;
    std::vector<std::int64_t> count_;
};

}  // namespace

template <class T>
double inertia_of(Matrix<const T> rows, const double* weights, Matrix<const double> centres, const std::int32_t* labels,
                  int threads) {
    return sum_of_distances<Euclidean>(rows, weights, centres, labels, threads);
}

template <class T>
void nearest_centres(Matrix<const T> rows, Matrix<const double> centres, std::int32_t* labels, double* squared,
                     int threads) {
    label_all<T, Euclidean>(rows, centres, labels, squared, threads);
}

template <class T>
std::vector<KMeansRun> k_means(Matrix<const T> rows, const double* weights, index_t k, index_t restarts, double* centres,
                               std::int32_t* labels, const KMeansOptions& options, int threads) {
    const Frame frame = frame_of(rows, weights, threads);
    std::vector<Descent<T>> descents;
    descents.reserve(static_cast<std::size_t>(restarts));
    for (index_t r = 0; r < restarts; ++r)
        descents.emplace_back(rows, weights, k, centres + r * k * rows.cols, labels + r * rows.rows, frame, options, threads);
    bool some = true;
    while (some && !interrupted()) {
        for (auto& descent : descents)
            if (descent.active) descent.begin_step();
        parallel_chunks(rows.rows, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
            Panel panel(rows.cols);
            for (auto& descent : descents)
                if (descent.active) descent.assign(chunk, begin, end, panel);
        });
        some = false;
        for (auto& descent : descents)
            if (descent.active && !interrupted()) {
                descent.update();
                some = some || descent.active;
            }
    }
    std::vector<KMeansRun> runs;
    for (auto& descent : descents) {
        if (!interrupted()) descent.finish();
        runs.push_back(std::move(descent.run));
    }
    return runs;
}

namespace {

// closest = min(closest, |x - candidate|^2) for one panel and one candidate; the weighted sum is returned. With `keep` the
// minima are stored.
template <int W, int NV>
ASSAY_INLINE double potential_body(const float* panel, index_t d, const float* candidate, float* closest,
                                   const float* weight, bool keep) {
    using vec = typename FloatLanes<W>::type;
    vec total = {};
    for (index_t first = 0; first < panel_points; first += W * NV) {
        vec distance[NV] = {};
        for (index_t t = 0; t < d; ++t)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
                const vec gap = *reinterpret_cast<const vec*>(panel + t * panel_points + first + v * W) - candidate[t];
                distance[v] += gap * gap;
            }
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            const vec before = *reinterpret_cast<const vec*>(closest + first + v * W);
            const vec now = distance[v] < before ? distance[v] : before;
            total += now * *reinterpret_cast<const vec*>(weight + first + v * W);
            if (keep) *reinterpret_cast<vec*>(closest + first + v * W) = now;
        }
    }
    double sum = 0.0;
    for (int v = 0; v < W; ++v) sum += static_cast<double>(total[v]);
    return sum;
}
ASSAY_DISPATCH_LANES(double, potential, potential_body,
                     (const float* panel, index_t d, const float* candidate, float* closest, const float* weight, bool keep),
                     (panel, d, candidate, closest, weight, keep))

// Row numbers in the order of the rows' cells: draws do not depend on the order in which rows came, and a row of weight 2
// takes the room of two equal rows.
template <class T>
std::vector<index_t> by_cells(Matrix<const T> rows) {
    std::vector<std::pair<T, index_t>> keys(static_cast<std::size_t>(rows.rows));
    for (index_t i = 0; i < rows.rows; ++i) keys[static_cast<std::size_t>(i)] = {rows(i, 0), i};
    std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        const T *const x = rows.row(a.second), *const y = rows.row(b.second);
        for (index_t t = 1; t < rows.cols; ++t)
            if (x[t] != y[t]) return x[t] < y[t];
        return a.second < b.second;
    });
    std::vector<index_t> order(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) order[i] = keys[i].second;
    return order;
}

// The place where a running sum of parts passes `target`.
template <class Part>
index_t locate(index_t count, double target, Part&& part) {
    double sum = 0.0;
    index_t last = 0;
    for (index_t i = 0; i < count; ++i) {
        const double own = part(i);
        if (own <= 0.0) continue;
        last = i;
        sum += own;
        if (sum > target) return i;
    }
    return last;
}

}  // namespace

template <class T>
void plus_plus_starts(Matrix<const T> rows, const double* weights, index_t k, index_t trials, std::uint64_t key,
                      std::uint64_t stream, std::int64_t* chosen, int threads) {
    const index_t n = rows.rows, d = rows.cols, panels = (n + panel_points - 1) / panel_points;
    const Frame frame = frame_of(rows, weights, threads);
    std::vector<float> cells(static_cast<std::size_t>(panels * d * panel_points), 0.0f);
    std::vector<float> closest(static_cast<std::size_t>(panels * panel_points), std::numeric_limits<float>::max());
    std::vector<float> weight(closest.size(), 0.0f);
    const std::vector<index_t> order = by_cells(rows);
    double heaviest = 1.0;
    if (weights) heaviest = *std::max_element(weights, weights + n);
    constexpr index_t panels_per_chunk = 32;
    parallel_chunks(panels, panels_per_chunk, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t q = begin; q < end; ++q)
            for (index_t p = 0; p < std::min(panel_points, n - q * panel_points); ++p) {
                const index_t i = q * panel_points + p, from = order[static_cast<std::size_t>(i)];
                const T* const x = rows.row(from);
                for (index_t t = 0; t < d; ++t)
                    cells[static_cast<std::size_t>((q * d + t) * panel_points + p)] = static_cast<float>(
                        (static_cast<double>(x[t]) - frame.mean[static_cast<std::size_t>(t)]) * frame.scale);
                weight[static_cast<std::size_t>(i)] = static_cast<float>(weights ? weights[from] / heaviest : 1.0);
            }
    });
    const index_t chunks = chunk_count(panels, panels_per_chunk);
    Random random(key, stream);
    std::vector<float> candidates(static_cast<std::size_t>(trials * d));
    std::vector<double> sums(static_cast<std::size_t>(chunks * trials)), parts(static_cast<std::size_t>(chunks), 0.0);
    const auto weight_of = [&](index_t i) { return static_cast<double>(weight[static_cast<std::size_t>(i)]); };
    double all_weight = 0.0;
    for (index_t i = 0; i < n; ++i) all_weight += weight_of(i);
    const auto by_weight = [&] { return locate(n, random.uniform() * all_weight, weight_of); };
    const auto load = [&](index_t i, float* to) {
        const index_t q = i / panel_points, p = i % panel_points;
        for (index_t t = 0; t < d; ++t) to[t] = cells[static_cast<std::size_t>((q * d + t) * panel_points + p)];
    };
    // The potential of `count` candidates at once, chunk by chunk; with `keep` (one candidate) it becomes the current one.
    const auto measure = [&](index_t count, bool keep) {
        parallel_chunks(panels, panels_per_chunk, threads, [&](index_t c, index_t begin, index_t end) {
            for (index_t r = 0; r < count; ++r) {
                double sum = 0.0;
                for (index_t q = begin; q < end; ++q)
                    sum += potential(cells.data() + q * d * panel_points, d, candidates.data() + r * d,
                                     closest.data() + q * panel_points, weight.data() + q * panel_points, keep);
                sums[static_cast<std::size_t>(c * trials + r)] = sum;
            }
        });
    };
    chosen[0] = by_weight();
    for (index_t j = 0; j < k && !interrupted(); ++j) {
        if (j > 0) {
            const double total = std::accumulate(parts.begin(), parts.end(), 0.0);
            std::vector<index_t> drawn(static_cast<std::size_t>(trials));
            if (!(total > 0.0)) {
                chosen[j] = by_weight();
                continue;
            }
            for (index_t r = 0; r < trials; ++r) {
                double target = random.uniform() * total;
                const index_t c = locate(chunks, target, [&](index_t i) { return parts[static_cast<std::size_t>(i)]; });
                for (index_t i = 0; i < c; ++i) target -= parts[static_cast<std::size_t>(i)];
                const index_t begin = c * panels_per_chunk * panel_points;
                const index_t size = std::min(n, begin + panels_per_chunk * panel_points) - begin;
                drawn[static_cast<std::size_t>(r)] = begin + locate(size, target, [&](index_t i) {
                    return weight_of(begin + i) * static_cast<double>(closest[static_cast<std::size_t>(begin + i)]);
                });
                load(drawn[static_cast<std::size_t>(r)], candidates.data() + r * d);
            }
            measure(trials, false);
            index_t best = 0;
            double least = std::numeric_limits<double>::infinity();
            for (index_t r = 0; r < trials; ++r) {
                double sum = 0.0;
                for (index_t c = 0; c < chunks; ++c) sum += sums[static_cast<std::size_t>(c * trials + r)];
                if (sum < least) {
                    least = sum;
                    best = r;
                }
            }
            chosen[j] = drawn[static_cast<std::size_t>(best)];
        }
        load(chosen[j], candidates.data());
        measure(1, true);
        for (index_t c = 0; c < chunks; ++c) parts[static_cast<std::size_t>(c)] = sums[static_cast<std::size_t>(c * trials)];
    }
    for (index_t j = 0; j < k; ++j) chosen[j] = order[static_cast<std::size_t>(chosen[j])];
}

#define ASSAY_K_MEANS(T)                                                                                               \
    template std::vector<KMeansRun> k_means<T>(Matrix<const T>, const double*, index_t, index_t, double*, std::int32_t*, \
                                               const KMeansOptions&, int);                                              \
    template void nearest_centres<T>(Matrix<const T>, Matrix<const double>, std::int32_t*, double*, int);               \
    template void plus_plus_starts<T>(Matrix<const T>, const double*, index_t, index_t, std::uint64_t, std::uint64_t,   \
                                      std::int64_t*, int);                                                              \
    template double inertia_of<T>(Matrix<const T>, const double*, Matrix<const double>, const std::int32_t*, int);
ASSAY_K_MEANS(float)
ASSAY_K_MEANS(double)

}  // namespace assay::clustering
