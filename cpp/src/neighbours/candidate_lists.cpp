// The nearest of listed candidates, and of the candidates that many folds share.
#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/interrupt.hpp"
#include "assay/common/threads.hpp"
#include "assay/neighbours/distance_reduce.hpp"
#include "rescorer.hpp"

namespace assay::neighbours {
namespace {

double to_reduced(Metric metric, double p, double distance) {
    if (metric == Metric::euclidean) return distance * distance;
    return metric == Metric::minkowski ? std::pow(distance, p) : distance;
}

}  // namespace

void nearest_of_candidates(Metric metric, const MetricOptions& options, Matrix<const double> rows,
                           const Scaling& scaling, Matrix<const double> queries, const CandidateLists& candidates,
                           index_t k, std::int64_t* nearest, double* distances, std::int64_t* found, int threads) {
    const auto is_kept = [&](std::int64_t row) {
        return row >= 0 && (candidates.kept == nullptr || candidates.kept[row] != 0);
    };
    const auto list_of = [&](index_t i) {
        return (candidates.place == nullptr ? i : candidates.place[i]) * candidates.length;
    };
    // The k nearest are mostly among the first few: farther candidates are looked at only where these leave a doubt.
    const index_t together = std::min<index_t>(panel_lanes, std::max<index_t>(8, k + 3));
    const index_t ahead = std::min(together + 1, candidates.length);
    parallel_chunks(queries.rows, 256, threads, [&](index_t, index_t begin, index_t end) {
        Rescorer rescorer(rows, metric, options, scaling);
        Nearest best(k);
        for (index_t i = begin; i < end && !interrupted(); ++i) {
            const index_t list = list_of(i);
            const std::int64_t* const listed = candidates.rows + list;
            const double* const bounds = candidates.distances + list;
            std::int64_t batch[panel_lanes];
            double scores[panel_lanes];
            best.clear();
            found[i] = 0;
            if (i + 4 < end)
                for (index_t c = 0; c <= ahead; c += 7) {
                    __builtin_prefetch(candidates.rows + list_of(i + 4) + c);
                    __builtin_prefetch(candidates.distances + list_of(i + 4) + c);
                }
            if (i + 2 < end) {
                const std::int64_t* const next = candidates.rows + list_of(i + 2);
                for (index_t c = 0; c < ahead; ++c) {
                    const double* const cells = rows.row(std::max<std::int64_t>(next[c], 0));
                    for (index_t j = 0; j < rows.cols; j += 8) __builtin_prefetch(cells + j);
                }
            }
            for (index_t c = 0; c < candidates.length;) {
                if (best.full()) {
                    const double floor = candidates.ratio * bounds[c] - candidates.slack[i];
                    if (floor > 0.0 && best.bound() < to_reduced(metric, options.p, floor) * (1.0 - 1e-12)) break;
                }
                index_t used = 0;
                for (; c < candidates.length && used < together; ++c)
                    if (is_kept(listed[c])) batch[used++] = listed[c];
                rescorer.score(queries.row(i), batch, used, scores);
                for (index_t b = 0; b < used; ++b) best.offer(scores[b], batch[b]);
                found[i] = std::min<std::int64_t>(k, found[i] + used);
            }
            best.write(nearest + i * k, distances + i * k);
        }
    });
}

void nearest_in_folds(Metric metric, const MetricOptions& options, Matrix<const double> rows, const FoldQueries& folds,
                      const std::int64_t* listed, const double* bounds, index_t length, index_t k, std::int64_t* nearest,
                      double* distances, std::int64_t* found, int threads) {
    std::vector<index_t> first(folds.tests.size() + 1, 0);
    for (std::size_t f = 0; f < folds.tests.size(); ++f) first[f + 1] = first[f] + folds.tests[f].count;
    for_each_list(folds.tests, length * rows.cols, threads, [&](index_t f, int inside) {
        const auto at = static_cast<std::size_t>(f);
        const RowList &train = folds.trains[at], &test = folds.tests[at];
        const index_t d = rows.cols;
        const Scaling scaling{folds.mean == nullptr ? nullptr : folds.mean + f * d,
                              folds.factor == nullptr ? nullptr : folds.factor + f * d};
        std::vector<std::uint8_t> kept(static_cast<std::size_t>(rows.rows), 0);
        for (index_t i = 0; i < train.count; ++i) kept[static_cast<std::size_t>(train.rows[i])] = 1;
        std::vector<double> queries(static_cast<std::size_t>(test.count * d));
        std::vector<double> slack(static_cast<std::size_t>(test.count), folds.slack[f]);
        std::vector<std::int64_t> place(static_cast<std::size_t>(test.count));
        for (index_t i = 0; i < test.count; ++i) {
            const double* cells = rows.row(test.rows[i]);
            double* query = queries.data() + i * d;
            place[static_cast<std::size_t>(i)] = folds.place[test.rows[i]];
            for (index_t j = 0; j < d; ++j)
                query[j] = scaling.mean == nullptr ? cells[j] : (cells[j] - scaling.mean[j]) * scaling.factor[j];
        }
        const CandidateLists candidates{listed, bounds, length, folds.ratio[f], slack.data(), place.data(), kept.data()};
        nearest_of_candidates(metric, options, rows, scaling, c_matrix<const double>(queries.data(), test.count, d),
                              candidates, k, nearest + first[at] * k, distances + first[at] * k, found + first[at], inside);
    });
}

}  // namespace assay::neighbours
