#include "assay/bayes/discriminant.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/lanes.hpp"
#include "assay/common/panels.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

struct Sums {
    double yy, yw, ww, logs;
};

// The sums in lanes, so that columns are added side by side.
struct Lanes {
    static constexpr int count = 8;
    double yy[count] = {}, yw[count] = {}, ww[count] = {}, logs[count] = {};

    __attribute__((always_inline)) void add(int l, double y, double w, double value) {
        const double inverse = 1.0 / value, scaled = w * inverse;
        yy[l] += y * y * inverse;
        yw[l] += y * scaled;
        ww[l] += w * scaled;
        logs[l] += fast_log(value);
    }
};

// Sums of y^2 / D, y w / D, w^2 / D and log D over the columns, in lanes that are added in order.
ASSAY_INLINE Sums sums_body(const double* y, const double* w, const double* e, index_t d, double keep, double sphere) {
    Lanes lanes;
    index_t j = 0;
    for (; j + Lanes::count <= d; j += Lanes::count)
        for (int l = 0; l < Lanes::count; ++l) lanes.add(l, y[j + l], w[j + l], keep * e[j + l] + sphere);
    for (int l = 0; j + l < d; ++l) lanes.add(l, y[j + l], w[j + l], keep * e[j + l] + sphere);
    Sums total{};
    for (int l = 0; l < Lanes::count; ++l) {
        total.yy += lanes.yy[l];
        total.yw += lanes.yw[l];
        total.ww += lanes.ww[l];
        total.logs += lanes.logs[l];
    }
    return total;
}
ASSAY_DISPATCH(Sums, sums, sums_body,
               (const double* y, const double* w, const double* e, index_t d, double keep, double sphere),
               (y, w, e, d, keep, sphere))

constexpr index_t together = panel_lanes;  // rows scored at a time
constexpr index_t halves = together / 8;

// z = t - centre in every lane.
template <int W>
ASSAY_INLINE void less(const double* t, const double* centre, index_t d, double* z) {
    for (index_t j = 0; j < d; ++j)
        for (index_t h = 0; h < together; h += 8) (Eight<W>::load(t + j * together + h) - centre[j]).store(z + j * together + h);
}

// total -= |G z|^2 / 2, `side` rows of G at a time: as many as there are registers for.
template <int W>
ASSAY_INLINE void take_squares(const double* form, const double* z, index_t d, Eight<W>* total) {
    constexpr index_t side = W == 8 ? 4 : 2;
    for (index_t c = 0; c < d; c += side) {
        // Past the last row the last one is taken again and not counted.
        const double* row[side];
        for (index_t l = 0; l < side; ++l) row[l] = form + std::min(c + l, d - 1) * d;
        Eight<W> white[side][halves] = {};
        for (index_t j = 0; j < std::min(c + side, d); ++j) {
            const auto low = Eight<W>::load(z + j * together), high = Eight<W>::load(z + j * together + 8);
#pragma GCC unroll 4
            for (index_t l = 0; l < side; ++l) {
                white[l][0] += row[l][j] * low;
                white[l][1] += row[l][j] * high;
            }
        }
        for (index_t l = 0; l < side && c + l < d; ++l)
            for (index_t h = 0; h < halves; ++h) total[h] -= 0.5 * white[l][h] * white[l][h];
    }
}

// scores[k * 16 + r] of the rows that `t` holds; `z` is room for as many cells.
template <int W>
ASSAY_INLINE void scores_body(const double* t, index_t d, const DiscriminantFolds& fold, double* z, double* scores) {
    if (!fold.quadratic) less<W>(t, fold.centres, d, z);
    for (index_t k = 0; k < fold.classes; ++k) {
        Eight<W> total[halves];
        for (index_t h = 0; h < halves; ++h) total[h] = Eight<W>::all(fold.levels[k]);
        if (fold.quadratic) {
            less<W>(t, fold.centres + k * d, d, z);
            take_squares<W>(fold.forms + k * d * d, z, d, total);
        } else {
            const double* form = fold.forms + k * d;
            for (index_t j = 0; j < d; ++j)
                for (index_t h = 0; h < halves; ++h) total[h] += form[j] * Eight<W>::load(z + j * together + h * 8);
        }
        for (index_t h = 0; h < halves; ++h) total[h].store(scores + k * together + h * 8);
    }
    double top[together], sum[together];
    for (index_t r = 0; r < together; ++r) top[r] = scores[r];
    for (index_t k = 1; k < fold.classes; ++k)
        for (index_t r = 0; r < together; ++r) top[r] = std::max(top[r], scores[k * together + r]);
    for (index_t r = 0; r < together; ++r) sum[r] = 0.0;
    for (index_t k = 0; k < fold.classes; ++k)
        for (index_t r = 0; r < together; ++r) {
            double& one = scores[k * together + r];
            one = fast_exp(one - top[r]);
            sum[r] += one;
        }
    for (index_t k = 0; k < fold.classes; ++k)
        for (index_t r = 0; r < together; ++r) scores[k * together + r] /= sum[r];
}

ASSAY_DISPATCH_DOUBLES(void, score_block, scores_body,
                       (const double* t, index_t d, const DiscriminantFolds& fold, double* z, double* scores),
                       (t, d, fold, z, scores))

}  // namespace

void discriminant_fold_scores(Matrix<const double> x, const RowLists& lists, const DiscriminantFolds& folds,
                              double* probabilities, int threads) {
    const index_t d = x.cols, K = folds.classes;
    std::vector<index_t> first(lists.size() + 1, 0);
    for (std::size_t k = 0; k < lists.size(); ++k) first[k + 1] = first[k] + lists[k].count;
    for_each_list(lists, K * d * (folds.quadratic ? d : 1), threads, [&](index_t f, int inside) {
        DiscriminantFolds own = folds;
        if (own.origin != nullptr) own.origin += f * d, own.factor += f * d;
        own.levels += f * K;
        own.centres += f * (own.quadratic ? K * d : d);
        own.forms += f * (own.quadratic ? K * d * d : K * d);
        const RowList& list = lists[static_cast<std::size_t>(f)];
        double* out = probabilities + first[static_cast<std::size_t>(f)] * K;
        parallel_chunks(list.count, 4096, inside, [&](index_t, index_t begin, index_t end) {
            std::vector<double> t(static_cast<std::size_t>(d * together), 0.0), z(t.size());
            std::vector<double> scores(static_cast<std::size_t>(K * together));
            for (index_t i = begin; i < end; i += together) {
                const index_t count = std::min(together, end - i);
                const double* row[together];
                for (index_t r = 0; r < together; ++r) row[r] = x.row(list.rows[i + std::min(r, count - 1)]);
                pack_panel(row, d, t.data(), {own.origin, own.factor});
                score_block(t.data(), d, own, z.data(), scores.data());
                for (index_t r = 0; r < count; ++r)
                    for (index_t k = 0; k < K; ++k)
                        out[(i + r) * K + k] = scores[static_cast<std::size_t>(k * together + r)];
            }
        });
    });
}

void leave_one_out_scores(Matrix<const double> y, Matrix<const double> w, const double* eigenvalues,
                          const double* spheres, double c, Vector<const double> shares, double* scores, int threads) {
    parallel_chunks(y.rows, 64, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            for (index_t m = 0; m < shares.size; ++m) {
                const double keep = 1.0 - shares[m];
                const Sums found = sums(y.row(i), w.row(i), eigenvalues, y.cols, keep, shares[m] * spheres[i]);
                const double rest = 1.0 - keep * c * found.ww;
                double& out = scores[i * shares.size + m];
                out = rest > 0.0 ? -0.5 * (found.yy + keep * c * found.yw * found.yw / rest + found.logs + std::log(rest))
                                 : -std::numeric_limits<double>::infinity();
            }
        }
    });
}

}  // namespace assay
