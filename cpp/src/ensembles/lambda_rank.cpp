#include "assay/ensembles/lambda_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::ensembles {
namespace {

constexpr index_t query_chunk = 16;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

constexpr index_t lanes = 8, few_rows = 128;

// The sum in lanes: the same on every machine.
ASSAY_INLINE double lane_sum(const double* values, index_t count) {
    double sums[lanes] = {};
    for (index_t from = 0; from < count; from += lanes)
        for (index_t k = 0; k < lanes; ++k) sums[k] += values[from + k];
    for (index_t k = 0; k < lanes / 2; ++k) sums[k] += sums[k + lanes / 2];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// The pairs of the row at place i with those after it; scores, gains, discounts, g and h in the order of places, all with room for
// `lanes` more, so that the last lanes need no loop of their own. `room` holds 3 (m + lanes) numbers. Returns the sum of sizes.
ASSAY_INLINE double pairs_body(index_t i, index_t m, const double* score, const double* gain, const double* discount, double scale,
                               bool spread, double* g, double* h, double* room) {
    const index_t count = (m - i - 1 + lanes - 1) / lanes * lanes, others = m - i - 1;
    const double own_score = score[i], own_gain = gain[i], own_discount = discount[i], least = spread ? 0.01 : 1.0, by_gap = spread ? 1.0 : 0.0;
    const double *s = score + i + 1, *y = gain + i + 1, *d = discount + i + 1;
    double *size = room, *curve = room + m + lanes, *push = curve + m + lanes;
#pragma omp simd
    for (index_t j = 0; j < count; ++j) {
        const double difference = own_gain - y[j], sign = difference > 0 ? 1.0 : -1.0;
        const double gap = sign * (own_score - s[j]), apart = least + by_gap * std::abs(gap);
        const double full = std::abs(difference) * (own_discount - d[j]) * scale;
        const double delta = j < others ? full : 0.0;
        double bounded = gap < -50.0 ? -50.0 : gap;
        bounded = bounded > 50.0 ? 50.0 : bounded;
        const double odds = fast_exp(bounded), share = 1 / ((1 + odds) * apart);  // p = 1 / (1 + odds), with one division for both
        size[j] = share * delta;
        push[j] = sign * size[j];
        curve[j] = size[j] * odds * (share * apart);
    }
    for (index_t j = 0; j < count; ++j) g[i + 1 + j] += push[j];
    for (index_t j = 0; j < count; ++j) h[i + 1 + j] += curve[j];
    g[i] -= lane_sum(push, count);
    h[i] += lane_sum(curve, count);
    return 2 * lane_sum(size, count);
}
ASSAY_DISPATCH(double, pairs, pairs_body,
               (index_t i, index_t m, const double* score, const double* gain, const double* discount, double scale, bool spread, double* g,
                double* h, double* room),
               (i, m, score, gain, discount, scale, spread, g, h, room))

// The place of each of few rows in falling order of their scores, by counting; equal ones keep their order.
ASSAY_INLINE void places_body(const double* score, index_t m, std::int64_t* place) {
    for (index_t i = 0; i < m; ++i) {
        const double own = score[i];
        std::int64_t before = 0;
        for (index_t j = 0; j < i; ++j) before += score[j] >= own ? 1 : 0;
        for (index_t j = i + 1; j < m; ++j) before += score[j] > own ? 1 : 0;
        place[i] = before;
    }
}
ASSAY_DISPATCH(void, places, places_body, (const double* score, index_t m, std::int64_t* place), (score, m, place))

// Rows in falling order of their scores; equal ones keep their order.
void sort_rows(const double* score, index_t m, std::vector<index_t>& order) {
    order.resize(at(m));
    if (m <= few_rows) {
        std::int64_t place[few_rows];
        places(score, m, place);
        for (index_t i = 0; i < m; ++i) order[at(place[i])] = i;
        return;
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [score](index_t a, index_t b) { return score[a] > score[b]; });
}

std::vector<double> discounts(const RankTask& task) {
    index_t longest = 0;
    for (index_t q = 0; q + 1 < task.begin.size; ++q) longest = std::max(longest, static_cast<index_t>(task.begin[q + 1] - task.begin[q]));
    std::vector<double> discount(at(longest + lanes), 0.0);
    for (index_t r = 0; r < longest; ++r) discount[at(r)] = 1 / std::log2(static_cast<double>(r) + 2);
    return discount;
}

}  // namespace

std::vector<double> largest_gains(const RankTask& task) {
    const std::vector<double> discount = discounts(task);
    std::vector<double> found(at(task.begin.size - 1), 0.0);
    parallel_chunks(task.begin.size - 1, query_chunk, task.threads, [&](index_t, index_t first, index_t last) {
        std::vector<double> best;
        for (index_t q = first; q < last; ++q) {
            best.assign(task.gains + task.begin[q], task.gains + task.begin[q + 1]);
            const index_t top = std::min(static_cast<index_t>(best.size()), task.truncation);
            std::partial_sort(best.begin(), best.begin() + top, best.end(), std::greater<>());
            for (index_t r = 0; r < top; ++r) found[at(q)] += best[at(r)] * discount[at(r)];
        }
    });
    return found;
}

void lambda_gradients(const RankTask& task, const double* largest, const double* scores, double* g, double* h, double* ndcg) {
    const std::vector<double> discount = discounts(task);
    parallel_chunks(task.begin.size - 1, query_chunk, task.threads, [&](index_t, index_t first, index_t last) {
        std::vector<index_t> order;
        std::vector<double> score, gain, own_g, own_h, room;
        for (index_t q = first; q < last; ++q) {
            const auto begin = static_cast<index_t>(task.begin[q]), m = static_cast<index_t>(task.begin[q + 1]) - begin;
            const index_t top = std::min(m, task.truncation);
            std::fill_n(g + begin, m, 0.0);
            std::fill_n(h + begin, m, 0.0);
            ndcg[q] = 1;
            if (!(largest[q] > 0)) continue;
            sort_rows(scores + begin, m, order);
            for (auto* list : {&score, &gain, &own_g, &own_h}) list->assign(at(m + lanes), 0.0);
            room.resize(at(3 * (m + lanes)));
            double reached = 0;
            for (index_t r = 0; r < m; ++r) {
                score[at(r)] = scores[begin + order[at(r)]];
                gain[at(r)] = task.gains[begin + order[at(r)]];
                reached += r < top ? gain[at(r)] * discount[at(r)] : 0.0;
            }
            ndcg[q] = reached / largest[q];
            double sum = 0;
            const bool spread = score[0] != score[at(m - 1)];
            for (index_t i = 0; i < top; ++i)
                sum += pairs(i, m, score.data(), gain.data(), discount.data(), 1 / largest[q], spread, own_g.data(), own_h.data(), room.data());
            const double scale = sum > 0 ? std::log2(1 + sum) / sum : 1.0;
            for (index_t r = 0; r < m; ++r) {
                g[begin + order[at(r)]] = scale * own_g[at(r)];
                h[begin + order[at(r)]] = scale * own_h[at(r)];
            }
        }
    });
}

}  // namespace assay::ensembles
