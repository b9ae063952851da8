#include "assay/clustering/kernel_k_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/large_pages.hpp"
#include "assay/common/panels.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/neighbours/kernel_functions.hpp"

namespace assay::clustering {
namespace {

constexpr index_t strip = 1024;  // columns of the sums that stay in cache, whole panels

template <class I>
std::size_t at(I i) {
    return static_cast<std::size_t>(i);
}

ASSAY_INLINE void add_line_body(double* sums, const double* line, double weight, index_t n) {
    for (index_t i = 0; i < n; ++i) sums[i] += weight * line[i];
}
ASSAY_DISPATCH(void, add_line, add_line_body, (double* sums, const double* line, double weight, index_t n),
               (sums, line, weight, n))

// best = min(best, own - slope s + norm), and the number of the first cluster that has it.
ASSAY_INLINE void nearer_body(const double* own, const double* sums, double slope, double norm, std::int32_t number,
                              double* best, std::int32_t* label, index_t n) {
    for (index_t i = 0; i < n; ++i) {
        double away = own[i] - slope * sums[i] + norm;
        away = away > 0.0 ? away : 0.0;
        const bool less = away < best[i];
        label[i] = less ? number : label[i];
        best[i] = less ? away : best[i];
    }
}
ASSAY_DISPATCH(void, nearer, nearer_body,
               (const double* own, const double* sums, double slope, double norm, std::int32_t number, double* best,
                std::int32_t* label, index_t n),
               (own, sums, slope, norm, number, best, label, n))

struct LineMove {
    index_t row;
    std::int32_t from, to;
};

// One start on its way.
struct KernelDescent {
    index_t n, k;
    const double* weights;
    std::int32_t* labels;
    bool active = true;
    KMeansRun run;
    LargeVector<double> sums;  // k x n
    std::vector<double> away, mass, norms;
    std::vector<std::int32_t> next;
    std::vector<LineMove> moves;

    KernelDescent(index_t rows, index_t clusters, const double* w, std::int32_t* out)
        : n(rows), k(clusters), weights(w), labels(out), sums(at(rows * clusters), 0.0), away(at(rows)), mass(at(clusters)),
          norms(at(clusters)), next(at(rows)) {}

    double weight(index_t i) const { return weights ? weights[i] : 1.0; }

    void start(const KernelLines& lines, const std::vector<double>& own, const std::int64_t* rows, int threads) {
        look(own, threads, [&](index_t c, index_t begin, index_t end) {
            double room[strip];
            nearer(own.data() + begin, lines.cells(rows[c], begin, end, room), 2.0, own[at(rows[c])],
                   static_cast<std::int32_t>(c), away.data() + begin, next.data() + begin, end - begin);
        });
        std::copy(next.begin(), next.end(), labels);
        add_all();
        fill_empty();
    }

    // The nearest cluster of each row, by `measure(cluster, begin, end)`.
    template <class Measure>
    void look(const std::vector<double>& own, int threads, Measure&& measure) {
        parallel_chunks(static_cast<index_t>(own.size()), strip, threads, [&](index_t, index_t begin, index_t end) {
            std::fill(away.begin() + begin, away.begin() + end, std::numeric_limits<double>::infinity());
            std::fill(next.begin() + begin, next.begin() + end, 0);
            for (index_t c = 0; c < k; ++c) measure(c, begin, end);
        });
    }

    // The sums are made anew from all rows.
    void add_all() {
        std::fill(sums.begin(), sums.end(), 0.0);
        moves.clear();
        for (index_t i = 0; i < n; ++i) moves.push_back({i, -1, labels[i]});
    }

    void fill_empty() {
        std::vector<index_t> count(at(k), 0);
        for (index_t i = 0; i < n; ++i) count[at(labels[i])] += weight(i) > 0.0;
        for (index_t c = 0; c < k; ++c) {
            if (count[at(c)] > 0) continue;
            index_t taken = -1;
            for (index_t i = 0; i < n; ++i)
                if (weight(i) > 0.0 && count[at(labels[i])] > 1 && away[at(i)] > (taken < 0 ? 0.0 : away[at(taken)])) taken = i;
            if (taken < 0) return;
            --count[at(labels[taken])];
            moves.push_back({taken, labels[taken], static_cast<std::int32_t>(c)});
            labels[taken] = static_cast<std::int32_t>(c);
            away[at(taken)] = 0.0;
            count[at(c)] = 1;
        }
    }

    // Weights of clusters and norms of their means.
    void weigh() {
        std::fill(mass.begin(), mass.end(), 0.0);
        std::fill(norms.begin(), norms.end(), 0.0);
        for (index_t i = 0; i < n; ++i) {
            const index_t c = labels[i];
            mass[at(c)] += weight(i);
            norms[at(c)] += weight(i) * sums[at(c * n + i)];
        }
        for (index_t c = 0; c < k; ++c)
            norms[at(c)] = mass[at(c)] > 0.0 ? norms[at(c)] / (mass[at(c)] * mass[at(c)])
                                             : std::numeric_limits<double>::infinity();
    }

    // Labels follow the means; false when the run has ended.
    void step(const std::vector<double>& own, index_t max_iter, bool record, int threads) {
        weigh();
        look(own, threads, [&](index_t c, index_t begin, index_t end) {
            if (mass[at(c)] > 0.0)
                nearer(own.data() + begin, sums.data() + c * n + begin, 2.0 / mass[at(c)], norms[at(c)],
                       static_cast<std::int32_t>(c), away.data() + begin, next.data() + begin, end - begin);
        });
        moves.clear();
        run.inertia = 0.0;
        for (index_t i = 0; i < n; ++i) {
            if (weight(i) > 0.0) run.inertia += weight(i) * away[at(i)];
            if (next[at(i)] == labels[i]) continue;
            moves.push_back({i, labels[i], next[at(i)]});
            labels[i] = next[at(i)];
        }
        ++run.n_iter;
        if (record) run.inertias.push_back(run.inertia);
        run.converged = moves.empty();
        if (run.converged) {
            active = false;
            return;
        }
        fill_empty();
        if (2 * static_cast<index_t>(moves.size()) > n || run.n_iter % 32 == 0) add_all();
        if (run.n_iter >= max_iter) active = false;  // once the sums have followed, `finish` tells the inertia of the labels
    }

    void finish(const std::vector<double>& own, double* centre_norms) {
        weigh();
        if (!run.converged) {
            run.inertia = 0.0;
            for (index_t i = 0; i < n; ++i) run.inertia += weight(i) * own[at(i)];
            for (index_t c = 0; c < k; ++c)
                if (mass[at(c)] > 0.0) run.inertia -= norms[at(c)] * mass[at(c)];
            run.inertia = std::max(run.inertia, 0.0);
        }
        std::copy(norms.begin(), norms.end(), centre_norms);
    }
};

// The sums of all descents follow their moves: lines in the order of the rows, each read once for all.
void follow(const KernelLines& lines, std::vector<KernelDescent>& descents, int threads) {
    struct Turn {
        LineMove move;
        std::size_t descent;
    };
    std::vector<Turn> turns;
    for (std::size_t d = 0; d < descents.size(); ++d)
        for (const LineMove& move : descents[d].moves) turns.push_back({move, d});
    std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.move.row < b.move.row; });
    const index_t n = lines.size();
    parallel_chunks(n, strip, threads, [&](index_t, index_t begin, index_t end) {
        double room[strip];
        const double* line = nullptr;
        index_t held = -1;
        for (const Turn& turn : turns) {
            KernelDescent& descent = descents[turn.descent];
            const double weight = descent.weight(turn.move.row);
            if (weight == 0.0) continue;
            if (turn.move.row != held) line = lines.cells(held = turn.move.row, begin, end, room);
            double* const sums = descent.sums.data() + begin;
            if (turn.move.from >= 0) add_line(sums + turn.move.from * n, line, -weight, end - begin);
            add_line(sums + turn.move.to * n, line, weight, end - begin);
        }
    });
    for (KernelDescent& descent : descents) descent.moves.clear();
}

}  // namespace

KernelLines::KernelLines(Matrix<const double> rows, double gamma, int threads)
    : rows_(rows), n_(rows.rows), gamma_(gamma), panels_(at(panel_count(rows.rows) * panel_lanes * rows.cols)) {
    neighbours::pack_panels(rows, nullptr, panels_.data(), threads);
}

const double* KernelLines::cells(index_t row, index_t begin, index_t end, double* room) const {
    if (panels_.empty()) return gram_.row(row) + begin;
    neighbours::kernel_line(neighbours::Metric::euclidean, rows_.row(row), panels_.data() + begin * rows_.cols,
                            panel_count(end - begin), rows_.cols, gamma_, room);
    return room;
}

std::vector<KMeansRun> kernel_k_means(const KernelLines& lines, const double* weights, index_t k, index_t restarts,
                                      const std::int64_t* starts, index_t max_iter, bool record, std::int32_t* labels,
                                      double* centre_norms, int threads) {
    const index_t n = lines.size();
    std::vector<double> own(at(n));
    for (index_t i = 0; i < n; ++i) own[at(i)] = lines.diagonal(i);
    std::vector<KMeansRun> runs;
    // So many restarts at once that their sums stay small beside the matrix.
    const index_t together = std::clamp<index_t>(n / (4 * k), 1, 8);
    for (index_t first = 0; first < restarts && !interrupted(); first += together) {
        std::vector<KernelDescent> descents;
        for (index_t r = first; r < std::min(restarts, first + together); ++r) {
            descents.emplace_back(n, k, weights, labels + r * n);
            descents.back().start(lines, own, starts + r * k, threads);
        }
        bool some = true;
        while (some && !interrupted()) {
            follow(lines, descents, threads);
            some = false;
            for (KernelDescent& descent : descents)
                if (descent.active && !interrupted()) {
                    descent.step(own, max_iter, record, threads);
                    some = true;
                }
        }
        for (std::size_t r = 0; r < descents.size(); ++r) {
            descents[r].finish(own, centre_norms + (first + static_cast<index_t>(r)) * k);
            runs.push_back(std::move(descents[r].run));
        }
    }
    return runs;
}

}  // namespace assay::clustering
