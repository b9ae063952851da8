#include "assay/bayes/naive_bayes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/lanes.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t lanes = 16;         // rows scored together
constexpr index_t eight = 8;          // columns of a vector
constexpr index_t column_block = 64;  // columns transposed at a time
constexpr index_t grain = 4096;

// Gaussian columns that stand side by side: the last vector of a row reaches back over cells that were counted, where its
// half precisions are 0.
struct SideBySide {
    bool whole = false;
    std::vector<double> last;  // classes x 8
};

SideBySide side_by_side(const NaiveBayesModel& m) {
    SideBySide found;
    if (m.n_gaussian < eight) return found;
    for (index_t j = 0; j < m.n_gaussian; ++j)
        if (m.gaussian[j] != m.gaussian[0] + j) return found;
    found.whole = true;
    found.last.assign(static_cast<std::size_t>(m.classes * eight), 0.0);
    const index_t tail = m.n_gaussian % eight;
    for (index_t c = 0; c < m.classes; ++c)
        for (index_t k = eight - tail; k < eight; ++k)
            found.last[static_cast<std::size_t>(c * eight + k)] = m.half_precision[(c + 1) * m.n_gaussian - eight + k];
    return found;
}

// half_precision (x - mean)^2, summed over the columns of a row, 8 of them at a time.
template <int W>
ASSAY_INLINE double squares_of_row(const double* x, const double* mean, const double* half, const double* last, index_t p) {
    Eight<W> sum = {};
    index_t j = 0;
    const auto add = [&](index_t at, const double* weights) __attribute__((always_inline)) {
        const auto v = Eight<W>::load(x + at) - Eight<W>::load(mean + at);
        sum += Eight<W>::load(weights) * v * v;
    };
    for (; j + eight <= p; j += eight) add(j, half + j);
    if (j < p) add(p - eight, last);
    const auto fourth = [&](int l) __attribute__((always_inline)) { return sum.lane(l) + sum.lane(l + 4); };
    return (fourth(0) + fourth(2)) + (fourth(1) + fourth(3));
}

// Gaussian part of up to 16 rows: sums[c * 16 + r] -= half_precision (x - mean)^2 over the Gaussian columns.
template <int W>
ASSAY_INLINE void gaussian_block_body(Matrix<const double> x, const RowSelection& chosen, index_t first, index_t rows,
                                      const NaiveBayesModel& m, const SideBySide& beside, double* __restrict buffer,
                                      double* __restrict sums) {
    if (beside.whole) {
        for (index_t r = 0; r < rows; ++r) {
            const double* row = x.row(chosen.row(first + r)) + m.gaussian[0];
            for (index_t c = 0; c < m.classes; ++c)
                sums[c * lanes + r] -=
                    squares_of_row<W>(row, m.mean + c * m.n_gaussian, m.half_precision + c * m.n_gaussian,
                                      beside.last.data() + c * eight, m.n_gaussian);
        }
        return;
    }
    for (index_t begin = 0; begin < m.n_gaussian; begin += column_block) {
        const index_t width = std::min(column_block, m.n_gaussian - begin);
        for (index_t r = 0; r < rows; ++r) {
            const double* row = x.row(chosen.row(first + r));
            for (index_t j = 0; j < width; ++j) buffer[j * lanes + r] = row[m.gaussian[begin + j]];
        }
        for (index_t c = 0; c < m.classes; ++c) {
            const double* mean = m.mean + c * m.n_gaussian + begin;
            const double* half = m.half_precision + c * m.n_gaussian + begin;
            double total[lanes];
            for (index_t r = 0; r < lanes; ++r) total[r] = sums[c * lanes + r];
            for (index_t j = 0; j < width; ++j) {
                for (index_t r = 0; r < lanes; ++r) {
                    const double v = buffer[j * lanes + r] - mean[j];
                    total[r] -= half[j] * v * v;
                }
            }
            for (index_t r = 0; r < lanes; ++r) sums[c * lanes + r] = total[r];
        }
    }
}
ASSAY_DISPATCH_DOUBLES(void, gaussian_block, gaussian_block_body,
               (Matrix<const double> x, const RowSelection& chosen, index_t first, index_t rows, const NaiveBayesModel& m,
                const SideBySide& beside, double* buffer, double* sums),
               (x, chosen, first, rows, m, beside, buffer, sums))

// Counts of up to 16 rows: sums[c * 16 + r] += slope x over the columns of the multinomial; a missing cell adds nothing.
ASSAY_INLINE void counts_block_body(Matrix<const double> x, const RowSelection& chosen, index_t first, index_t rows,
                                    const NaiveBayesModel& m, double* __restrict buffer, double* __restrict sums) {
    for (index_t begin = 0; begin < m.n_proportional; begin += column_block) {
        const index_t width = std::min(column_block, m.n_proportional - begin);
        for (index_t r = 0; r < rows; ++r) {
            const double* row = x.row(chosen.row(first + r));
            for (index_t j = 0; j < width; ++j) {
                const double v = row[m.proportional[begin + j]];
                buffer[j * lanes + r] = v == v ? v : 0.0;
            }
        }
        for (index_t c = 0; c < m.classes; ++c) {
            const double* slope = m.slope + c * m.n_proportional + begin;
            double total[lanes];
            for (index_t r = 0; r < lanes; ++r) total[r] = sums[c * lanes + r];
            for (index_t j = 0; j < width; ++j)
                for (index_t r = 0; r < lanes; ++r) total[r] += slope[j] * buffer[j * lanes + r];
            for (index_t r = 0; r < lanes; ++r) sums[c * lanes + r] = total[r];
        }
    }
}
ASSAY_DISPATCH(void, counts_block, counts_block_body,
               (Matrix<const double> x, const RowSelection& chosen, index_t first, index_t rows, const NaiveBayesModel& m,
                double* buffer, double* sums),
               (x, chosen, first, rows, m, buffer, sums))

// The columns with a table of codes, for one row.
void add_tabled(const double* row, const NaiveBayesModel& m, index_t categories, double* score, index_t stride) {
    index_t offset = 0;
    for (index_t k = 0; k < m.n_tabled; ++k) {
        const double v = row[m.tabled[k]];
        const double code = m.binary[k] != 0 ? (v == v ? static_cast<double>(v > 0) : v) : v;
        if (code >= 0 && code < m.table_sizes[k]) {
            const double* entry = m.table + offset + static_cast<index_t>(code);
            for (index_t c = 0; c < m.classes; ++c) score[c * stride] += entry[c * categories];
        }
        offset += m.table_sizes[k];
    }
}

// The Gaussian columns of a row that holds a missing cell.
void add_present(const double* row, const NaiveBayesModel& m, double* score, index_t stride) {
    for (index_t c = 0; c < m.classes; ++c) {
        double total = m.log_prior[c];
        for (index_t j = 0; j < m.n_gaussian; ++j) {
            const double v = row[m.gaussian[j]] - m.mean[c * m.n_gaussian + j];
            if (v == v) total += m.constant[c * m.n_gaussian + j] - m.half_precision[c * m.n_gaussian + j] * v * v;
        }
        score[c * stride] = total;
    }
}

bool misses_a_cell(const double* row, const NaiveBayesModel& m) {
    for (index_t j = 0; j < m.n_gaussian; ++j)
        if (std::isnan(row[m.gaussian[j]])) return true;
    return false;
}

// Calls finish(first, rows, scores) with the joint log probabilities of up to 16 chosen rows from place `first` on:
// scores[c * 16 + r].
template <class Finish>
void score_rows(Matrix<const double> x, const RowSelection& chosen, const NaiveBayesModel& m, int threads,
                Finish&& finish) {
    index_t categories = 0;
    for (index_t k = 0; k < m.n_tabled; ++k) categories += m.table_sizes[k];
    std::vector<double> start(static_cast<std::size_t>(m.classes));
    for (index_t c = 0; c < m.classes; ++c) {
        double total = m.log_prior[c];
        for (index_t j = 0; j < m.n_gaussian; ++j) total += m.constant[c * m.n_gaussian + j];
        start[static_cast<std::size_t>(c)] = total;
    }
    const SideBySide beside = side_by_side(m);
    parallel_chunks(chosen.count, grain, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> buffer(static_cast<std::size_t>(column_block * lanes), 0.0);
        std::vector<double> sums(static_cast<std::size_t>(m.classes * lanes));
        for (index_t first = begin; first < end; first += lanes) {
            const index_t rows = std::min(lanes, end - first);
            for (index_t c = 0; c < m.classes; ++c)
                std::fill_n(sums.begin() + c * lanes, lanes, start[static_cast<std::size_t>(c)]);
            gaussian_block(x, chosen, first, rows, m, beside, buffer.data(), sums.data());
            for (index_t r = 0; r < rows; ++r) {
                const double* row = x.row(chosen.row(first + r));
                double* score = sums.data() + r;
                if (std::isnan(score[0]) && misses_a_cell(row, m)) add_present(row, m, score, lanes);
            }
            if (m.n_proportional > 0) counts_block(x, chosen, first, rows, m, buffer.data(), sums.data());
            if (m.n_tabled > 0)
                for (index_t r = 0; r < rows; ++r)
                    add_tabled(x.row(chosen.row(first + r)), m, categories, sums.data() + r, lanes);
            finish(first, rows, sums.data());
        }
    });
}

index_t highest(const double* score, index_t classes, index_t stride) {
    index_t best = 0;
    for (index_t c = 1; c < classes; ++c)
        if (score[c * stride] > score[best * stride]) best = c;
    return best;
}

// The joint log probabilities of 16 rows (of which `rows` count) as they are wanted, one row after the other in `out`.
ASSAY_INLINE void wanted_body(double* __restrict scores, index_t classes, index_t rows, ClassScores wanted,
                              double* __restrict out) {
    if (wanted != ClassScores::joint) {
        double top[lanes], total[lanes];
        for (index_t r = 0; r < lanes; ++r) top[r] = scores[r];
        for (index_t c = 1; c < classes; ++c)
            for (index_t r = 0; r < lanes; ++r) top[r] = scores[c * lanes + r] > top[r] ? scores[c * lanes + r] : top[r];
        for (index_t r = 0; r < lanes; ++r) total[r] = 0.0;
        for (index_t c = 0; c < classes; ++c)
            for (index_t r = 0; r < lanes; ++r) {
                const double share = fast_exp(scores[c * lanes + r] - top[r]);
                total[r] += share;
                if (wanted == ClassScores::probability) scores[c * lanes + r] = share;
            }
        if (wanted == ClassScores::probability) {
            for (index_t c = 0; c < classes; ++c)
                for (index_t r = 0; r < lanes; ++r) scores[c * lanes + r] /= total[r];
        } else {
            for (index_t r = 0; r < lanes; ++r) total[r] = top[r] + std::log(total[r]);
            for (index_t c = 0; c < classes; ++c)
                for (index_t r = 0; r < lanes; ++r) scores[c * lanes + r] -= total[r];
        }
    }
    for (index_t r = 0; r < rows; ++r)
        for (index_t c = 0; c < classes; ++c) out[r * classes + c] = scores[c * lanes + r];
}
ASSAY_DISPATCH(void, give_wanted, wanted_body,
               (double* scores, index_t classes, index_t rows, ClassScores wanted, double* out),
               (scores, classes, rows, wanted, out))

void scores_of(Matrix<const double> x, const RowSelection& chosen, const NaiveBayesModel& model, ClassScores wanted,
               double* scores, int threads) {
    score_rows(x, chosen, model, threads, [&](index_t first, index_t rows, double* block) {
        give_wanted(block, model.classes, rows, wanted, scores + first * model.classes);
    });
}

}  // namespace

void naive_bayes_scores(Matrix<const double> x, const NaiveBayesModel& model, ClassScores wanted, double* scores,
                        int threads) {
    scores_of(x, {nullptr, x.rows, nullptr}, model, wanted, scores, threads);
}

void naive_bayes_fold_scores(Matrix<const double> x, const RowLists& lists, const NaiveBayesModel& models,
                             double* probabilities, int threads) {
    std::vector<index_t> first(lists.size() + 1, 0);
    for (std::size_t k = 0; k < lists.size(); ++k) first[k + 1] = first[k] + lists[k].count;
    for_each_list(lists, 2 * x.cols * models.classes, threads, [&](index_t k, int inside) {
        NaiveBayesModel model = models;
        const index_t cells = model.classes * model.n_gaussian;
        model.log_prior += k * model.classes;
        model.mean += k * cells;
        model.half_precision += k * cells;
        model.constant += k * cells;
        const RowList& list = lists[static_cast<std::size_t>(k)];
        scores_of(x, {list.rows, list.count, nullptr}, model, ClassScores::probability,
                  probabilities + first[static_cast<std::size_t>(k)] * model.classes, inside);
    });
}

void naive_bayes_labels(Matrix<const double> x, const NaiveBayesModel& model, std::int32_t* best, int threads) {
    score_rows(x, {nullptr, x.rows, nullptr}, model, threads, [&](index_t first, index_t rows, const double* block) {
        for (index_t r = 0; r < rows; ++r)
            best[first + r] = static_cast<std::int32_t>(highest(block + r, model.classes, lanes));
    });
}

}  // namespace assay
