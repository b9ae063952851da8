#include "assay/prepare/conditionals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>

#include "assay/common/cholesky.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/softmax.hpp"
#include "assay/optimise/newton_ascent.hpp"
#include "assay/statistics/gram.hpp"

namespace assay::prepare {
namespace {

constexpr double coefficient_precision = 1.0 / (2.5 * 2.5), intercept_precision = 1.0 / (10.0 * 10.0);
constexpr int most_newton_steps = 25;
constexpr double most_ridge = 1e6;

ASSAY_INLINE void scores_body(const double* design, index_t p, const std::int64_t* rows, index_t count,
                              const double* beta, double* scores) {
    for (index_t i = 0; i < count; ++i)
        scores[i] = dot_inline(design + (rows == nullptr ? i : rows[i]) * p, beta, p) + beta[p];
}
ASSAY_DISPATCH(void, scores_dispatch, scores_body,
               (const double* design, index_t p, const std::int64_t* rows, index_t count, const double* beta,
                double* scores),
               (design, p, rows, count, beta, scores))

// spread[s] = (L L')^-1 at (s, s). IN/OUT work (m x m): L^-1, line after line.
ASSAY_INLINE void inverse_diagonal_body(const double* factor, index_t m, double* work, double* spread) {
    for (index_t i = 0; i < m; ++i) {
        double* line = work + i * m;
        for (index_t s = 0; s < i; ++s) line[s] = 0;
        for (index_t k = 0; k < i; ++k) {
            const double* above = work + k * m;
            const double share = factor[i * m + k];
            for (index_t s = 0; s <= k; ++s) line[s] -= share * above[s];
        }
        const double pivot = 1 / factor[i * m + i];
        for (index_t s = 0; s < i; ++s) line[s] *= pivot;
        line[i] = pivot;
        for (index_t s = 0; s <= i; ++s) spread[s] += line[s] * line[s];
    }
}
ASSAY_DISPATCH(void, inverse_diagonal, inverse_diagonal_body, (const double* factor, index_t m, double* work, double* spread),
               (factor, m, work, spread))

// Gamma(shape, 1) by Marsaglia & Tsang (2000); shape >= 1/2.
double gamma_draw(double shape, Random& random) {
    double boost = 1.0;
    if (shape < 1.0) {
        boost = std::pow(1.0 - random.uniform(), 1.0 / shape);
        shape += 1.0;
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
        const double x = random.normal();
        const double root = 1.0 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = 1.0 - random.uniform();
        if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
    }
}

// Rank of a double as an unsigned 32-bit key of its float: order kept, near ties aside.
std::uint32_t float_key(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

// Probabilities of the K categories of a row from its K - 1 scores; probabilities[0] belongs to the reference, whose score
// is 0. Returns the log loss of `category`.
double reference_softmax(const double* scores, index_t outputs, index_t category, double* probabilities) {
    probabilities[0] = 0.0;
    std::copy(scores, scores + outputs, probabilities + 1);
    double missed;
    return losses::softmax(probabilities, outputs + 1, outputs + 1, category, missed);
}

// The u-th nearest donor (from 0) to `prediction`; `position` is the first donor not below it.
index_t nearest_donor(Vector<const double> predictions, index_t position, double prediction, index_t u) {
    index_t left = position - 1, right = position, at = position;
    for (index_t step = 0; step <= u; ++step) {
        const bool take_left = right >= predictions.size ||
                               (left >= 0 && prediction - predictions[left] <= predictions[right] - prediction);
        at = take_left ? left-- : right++;
    }
    return at;
}

// All donors with the same prediction as donor `at`.
std::pair<index_t, index_t> ties(Vector<const double> predictions, index_t at) {
    const double* begin = predictions.data;
    const double value = predictions[at];
    if ((at == 0 || begin[at - 1] != value) && (at + 1 == predictions.size || begin[at + 1] != value)) return {at, at + 1};
    return {std::lower_bound(begin, begin + at, value) - begin,
            std::upper_bound(begin + at, begin + predictions.size, value) - begin};
}

double match(const ConditionalView& model, double prediction, index_t k, Random* random) {
    const auto& predictions = model.donor_predictions;
    k = std::min(k, predictions.size);
    const index_t position =
        std::lower_bound(predictions.data, predictions.data + predictions.size, prediction) - predictions.data;
    if (random != nullptr) {
        const index_t at = nearest_donor(predictions, position, prediction, random->below(static_cast<std::uint32_t>(k)));
        const auto [begin, end] = ties(predictions, at);
        return model.donor_values[end - begin == 1 ? at
                                                   : begin + random->below(static_cast<std::uint32_t>(end - begin))];
    }
    double total = 0;
    for (index_t u = 0; u < k; ++u) {
        const auto [begin, end] = ties(predictions, nearest_donor(predictions, position, prediction, u));
        total += end - begin == 1 ? model.donor_values[begin]
                                  : (model.donor_sums[end] - model.donor_sums[begin]) / static_cast<double>(end - begin);
    }
    return total / static_cast<double>(k);
}

double leaf_value(const ConditionalView& model, const Design& design, const double* cells, Random* random,
                  double* scratch) {
    const std::int64_t leaf = model.trees.offsets[model.tree] + trees::leaf_of(model.trees, model.tree, cells);
    const std::int64_t begin = model.leaf_offsets[leaf], count = model.leaf_offsets[leaf + 1] - begin;
    const double* values = model.leaf_values + begin;
    if (random != nullptr) return values[random->below(static_cast<std::uint32_t>(count))];
    const std::int32_t categories = design.n_categories[model.column];
    if (categories == 0) {
        double total = 0;
        for (std::int64_t i = 0; i < count; ++i) total += values[i];
        return total / static_cast<double>(count);
    }
    std::fill(scratch, scratch + categories, 0.0);
    for (std::int64_t i = 0; i < count; ++i) scratch[static_cast<index_t>(values[i])] += 1.0;
    return static_cast<double>(std::max_element(scratch, scratch + categories) - scratch);
}

// The multinomial log-posterior, its gradient and its Hessian over observed rows.
struct Multinomial {
    const Design& design;
    Matrix<const double> x, cells;
    index_t j;
    const std::vector<std::int64_t>& rows;
    int threads;
    index_t p = x.cols, outputs = design.n_categories[j] - 1;
    index_t own = design.first[j];
    std::vector<index_t> kept{};            // design columns of the other variables, then the intercept (p)
    std::vector<double> probabilities{};    // one row of K for each observed row

    void prepare() {
        for (index_t t = 0; t < p; ++t)
            if (t < own || t >= own + outputs) kept.push_back(t);
        kept.push_back(p);
        probabilities.resize(rows.size() * (outputs + 1));
    }
    double precision(index_t t) const { return t == p ? intercept_precision : coefficient_precision; }

    double log_posterior(const double* coefficient) {
        const index_t n = static_cast<index_t>(rows.size());
        constexpr index_t block = 256;
        std::vector<double> scores(block * outputs), one(outputs);
        double total = 0;
        for (index_t begin = 0; begin < n; begin += block) {
            const index_t count = std::min(block, n - begin);
            for (index_t a = 0; a < outputs; ++a)
                linear_scores(x.data, p, rows.data() + begin, count, coefficient + a * (p + 1), scores.data() + a * block);
            for (index_t i = 0; i < count; ++i) {
                for (index_t a = 0; a < outputs; ++a) one[a] = scores[a * block + i];
                double* probability = probabilities.data() + (begin + i) * (outputs + 1);
                const auto category = static_cast<index_t>(cells(rows[begin + i], j));
                total -= reference_softmax(one.data(), outputs, category, probability);
            }
        }
        for (index_t a = 0; a < outputs; ++a)
            for (const index_t t : kept) {
                const double b = coefficient[a * (p + 1) + t];
                total -= 0.5 * precision(t) * b * b;
            }
        return total;
    }

    void gradient(const double* coefficient, double* to) const {
        const index_t m = static_cast<index_t>(kept.size()), n = static_cast<index_t>(rows.size());
        std::vector<double> sums((p + 1) * outputs, 0.0);
        for (index_t i = 0; i < n; ++i) {
            const index_t row = rows[i];
            const double* z = x.row(row);
            const auto category = static_cast<index_t>(cells(row, j));
            for (index_t a = 0; a < outputs; ++a) {
                const double rest = (category == a + 1 ? 1.0 : 0.0) - probabilities[i * (outputs + 1) + a + 1];
                double* sum = sums.data() + a * (p + 1);
                for (index_t t = 0; t < p; ++t) sum[t] += rest * z[t];
                sum[p] += rest;
            }
        }
        for (index_t a = 0; a < outputs; ++a)
            for (index_t s = 0; s < m; ++s) {
                const index_t t = kept[s];
                to[a * m + s] = sums[a * (p + 1) + t] - precision(t) * coefficient[a * (p + 1) + t];
            }
    }

    void hessian(std::vector<double>& to) const {
        const index_t m = static_cast<index_t>(kept.size()), size = m * outputs, n = static_cast<index_t>(rows.size());
        std::vector<double> weights(x.rows, 0.0), gram((p + 1) * (p + 1));
        const std::vector<double> shift(p, 0.0);
        for (index_t a = 0; a < outputs; ++a)
            for (index_t b = 0; b <= a; ++b) {
                for (index_t i = 0; i < n; ++i) {
                    const double* share = probabilities.data() + i * (outputs + 1) + 1;
                    weights[rows[i]] =
                        share[a] * ((a == b ? 1.0 : 0.0) - share[b]);
                }
                weighted_gram(x, {nullptr, x.rows, 0, 0, 1}, {rows.data(), n, weights.data()}, shift.data(), gram.data(), threads);
                for (index_t s = 0; s < m; ++s)
                    for (index_t t = 0; t < m; ++t) {
                        double value = gram[kept[s] * (p + 1) + kept[t]];
                        if (a == b && s == t) value += precision(kept[s]);
                        to[(a * m + s) * size + b * m + t] = value;
                    }
            }
    }
};

}  // namespace

void linear_scores(const double* design, index_t p, const std::int64_t* rows, index_t count, const double* beta,
                   double* scores) {
    scores_dispatch(design, p, rows, count, beta, scores);
}

double normal_conditional(const double* gram, index_t p, index_t target, double ridge, Random* random,
                          double* coefficient, double* drawn, double* next_ridge) {
    const index_t d = p + 1, m = p - 1;
    const double count = gram[p * d + p];
    const auto other = [&](index_t s) { return s < target ? s : s + 1; };
    const auto mean = [&](index_t t) { return gram[t * d + p] / count; };
    std::vector<double> matrix(m * m), solution(m),
        penalty(m), cross(m);
    const double y_mean = mean(target);
    double residual = std::max(0.0, gram[target * d + target] - count * y_mean * y_mean);
    for (index_t s = 0; s < m; ++s) {
        const index_t a = other(s);
        const double a_mean = mean(a);
        for (index_t t = 0; t <= s; ++t)
            matrix[s * m + t] = gram[a * d + other(t)] - count * a_mean * mean(other(t));
        double& diagonal = matrix[s * m + s];
        cross[s] = gram[a * d + target] - count * a_mean * y_mean;
        // A column that does not vary where the target is observed says nothing: coefficient 0.
        if (!(diagonal > 1e-12 * gram[a * d + a])) {
            for (index_t t = 0; t < s; ++t) matrix[s * m + t] = 0.0;
            diagonal = 1.0;
            cross[s] = 0.0;
            penalty[s] = -1.0;
        } else {
            penalty[s] = ridge * diagonal;
        }
    }
    for (index_t s = 0; s < m; ++s) {
        if (penalty[s] < 0) {
            for (index_t t = s + 1; t < m; ++t) matrix[t * m + s] = 0.0;
            penalty[s] = 0.0;
        }
        matrix[s * m + s] += penalty[s];
    }
    const std::vector<double> whole = matrix;
    for (double extra = 1e-10; !cholesky(matrix.data(), m); extra *= 100) {
        matrix = whole;
        for (index_t s = 0; s < m; ++s) {
            const double more = extra * whole[s * m + s];
            matrix[s * m + s] += more;
        }
        if (extra > 1e6) break;
    }
    solution = cross;
    solve_lower(matrix.data(), m, solution.data());
    solve_upper(matrix.data(), m, solution.data());
    for (index_t s = 0; s < m; ++s) {
        const double b = solution[s];
        residual -= b * cross[s] + penalty[s] * b * b;
    }
    residual = std::max(residual, 0.0);
    if (next_ridge != nullptr && ridge > 0) {
        std::vector<double> inverse(m * m), spread(m, 0.0);
        inverse_diagonal(matrix.data(), m, inverse.data(), spread.data());
        double learned = 0, length = 0;
        for (index_t s = 0; s < m; ++s) {
            if (penalty[s] == 0) continue;  // says nothing
            learned += 1 - penalty[s] * spread[s];
            length += penalty[s] / ridge * solution[s] * solution[s];
        }
        const double noise = residual / std::max(count - learned - 1.0, 1.0);
        *next_ridge = length > 0 ? std::min(std::max(learned, 0.0) * noise / length, most_ridge) : ridge;
    }
    const double df = std::max(count - static_cast<double>(m) - 1.0, 1.0);
    const auto write = [&](const std::vector<double>& coefficients, double level, double* to) {
        std::fill(to, to + d, 0.0);
        for (index_t s = 0; s < m; ++s) {
            to[other(s)] = coefficients[s];
            level -= mean(other(s)) * coefficients[s];
        }
        to[p] = level;
    };
    write(solution, y_mean, coefficient);
    if (random == nullptr) {
        std::copy(coefficient, coefficient + d, drawn);
        return std::sqrt(residual / df);
    }
    const double deviation = std::sqrt(residual / (2.0 * gamma_draw(0.5 * df, *random)));
    std::vector<double> change(m);
    for (double& z : change) z = random->normal();
    const double level = y_mean + deviation * random->normal() / std::sqrt(count);
    solve_upper(matrix.data(), m, change.data());
    for (index_t s = 0; s < m; ++s) solution[s] += deviation * change[s];
    write(solution, level, drawn);
    return deviation;
}

int logistic_conditional(const Design& design, Matrix<const double> x, Matrix<const double> cells, index_t j,
                         const std::vector<std::int64_t>& rows, Random* random, double* coefficient, double* drawn,
                         int threads) {
    Multinomial model{design, x, cells, j, rows, threads};
    const index_t p = model.p, outputs = model.outputs;
    if (outputs <= 0) return 0;
    model.prepare();
    const index_t m = static_cast<index_t>(model.kept.size()), size = m * outputs;
    std::vector<double> place(coefficient, coefficient + outputs * (p + 1)), hessian(size * size), gradient(size), solved;
    double decrement = 0;
    bool factored = false;
    const auto newton_step = [&](const std::vector<double>& at, std::vector<double>& step) {
        model.gradient(at.data(), gradient.data());
        model.hessian(hessian);
        factored = cholesky(hessian.data(), size);
        if (!factored) return false;
        solved = gradient;
        solve_lower(hessian.data(), size, solved.data());
        solve_upper(hessian.data(), size, solved.data());
        decrement = std::inner_product(gradient.begin(), gradient.end(), solved.begin(), 0.0);
        for (index_t a = 0; a < outputs; ++a)
            for (index_t s = 0; s < m; ++s) step[a * (p + 1) + model.kept[s]] = solved[a * m + s];
        return true;
    };
    // After a Newton step the squared distance to the maximum, in posterior deviations, is far below this decrement.
    const int steps = newton_ascent(place, {most_newton_steps, 1e-12}, newton_step,
                                    [&](const std::vector<double>& at) { return model.log_posterior(at.data()); },
                                    [&](double) { return decrement < 1e-3; });
    std::copy(place.begin(), place.end(), coefficient);
    std::copy(coefficient, coefficient + outputs * (p + 1), drawn);
    if (random == nullptr || !factored) return steps;
    std::vector<double> change(size);
    for (double& z : change) z = random->normal();
    solve_upper(hessian.data(), size, change.data());
    for (index_t a = 0; a < outputs; ++a)
        for (index_t s = 0; s < m; ++s)
            drawn[a * (p + 1) + model.kept[s]] += change[a * m + s];
    return steps;
}

Donors sort_donors(std::vector<double>&& predictions, std::vector<double>&& values) {
    const std::size_t n = predictions.size();
    std::vector<std::uint64_t> items(n), spare(n);
    for (std::size_t i = 0; i < n; ++i) items[i] = (static_cast<std::uint64_t>(float_key(predictions[i])) << 32) | i;
    for (int shift = 32; shift < 64; shift += 11) {
        std::uint32_t counts[2048] = {};
        for (const std::uint64_t item : items) ++counts[(item >> shift) & 2047];
        std::uint32_t total = 0;
        for (std::uint32_t& count : counts) {
            const std::uint32_t here = count;
            count = total;
            total += here;
        }
        for (const std::uint64_t item : items) spare[counts[(item >> shift) & 2047]++] = item;
        items.swap(spare);
    }
    Donors result;
    result.predictions.resize(n);
    result.values.resize(n);
    result.sums.resize(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
        const auto from = static_cast<std::uint32_t>(items[i]);
        result.predictions[i] = predictions[from];
        result.values[i] = values[from];
    }
    // Predictions that agree as floats stand in runs; within a run, sort by the double itself.
    for (std::size_t begin = 0; begin < n;) {
        std::size_t end = begin + 1;
        bool sorted = true;
        const std::uint64_t key = items[begin] >> 32;
        for (; end < n && items[end] >> 32 == key; ++end)
            sorted = sorted && result.predictions[end - 1] <= result.predictions[end];
        if (!sorted) {
            std::vector<std::pair<double, double>> run;
            for (std::size_t i = begin; i < end; ++i) run.emplace_back(result.predictions[i], result.values[i]);
            std::stable_sort(run.begin(), run.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            for (std::size_t i = begin; i < end; ++i) std::tie(result.predictions[i], result.values[i]) = run[i - begin];
        }
        begin = end;
    }
    for (std::size_t i = 0; i < n; ++i) result.sums[i + 1] = result.sums[i] + result.values[i];
    return result;
}

double impute_cell(const ConditionalView& model, const Design& design, const double* design_row, const double* cells,
                   index_t donors, Random* random, double* scratch) {
    const auto j = model.column;
    const index_t p = design.width();
    switch (model.kind) {
        case Conditional::normal: {
            double score = 0;
            linear_scores(design_row, p, nullptr, 1, random != nullptr ? model.drawn : model.coefficient, &score);
            if (random != nullptr) score += model.deviation * random->normal();
            return design.centre[j] + design.scale[j] * score;
        }
        case Conditional::matching: {
            double score = 0;
            linear_scores(design_row, p, nullptr, 1, random != nullptr ? model.drawn : model.coefficient, &score);
            return match(model, score, donors, random);
        }
        case Conditional::logistic: {
            const index_t outputs = design.n_categories[j] - 1;
            if (outputs <= 0) return 0.0;
            const double* coefficient = random != nullptr ? model.drawn : model.coefficient;
            double* scores = scratch + outputs + 1;
            for (index_t a = 0; a < outputs; ++a)
                linear_scores(design_row, p, nullptr, 1, coefficient + a * (p + 1), scores + a);
            reference_softmax(scores, outputs, 0, scratch);
            if (random == nullptr)
                return static_cast<double>(std::max_element(scratch, scratch + outputs + 1) - scratch);
            double left = random->uniform();
            for (index_t k = 0; k < outputs; ++k) {
                left -= scratch[k];
                if (left < 0) return static_cast<double>(k);
            }
            return static_cast<double>(outputs);
        }
        default: return leaf_value(model, design, cells, random, scratch);
    }
}

}  // namespace assay::prepare
