#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/prepare/chained_equations.hpp"
#include "assay/prepare/conditionals.hpp"
#include "assay/prepare/monomials.hpp"
#include "assay/statistics/gram.hpp"
#include "check.hpp"

using namespace assay;
using namespace assay::prepare;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// n rows of d correlated normal columns with about a fifth of the cells missing.
std::vector<double> holed_table(index_t n, index_t d, std::uint64_t key, double share = 0.2) {
    Random random(key);
    std::vector<double> cells(n * d);
    for (index_t i = 0; i < n; ++i) {
        const double common = random.normal();
        for (index_t j = 0; j < d; ++j) {
            cells[i * d + j] = 10.0 * static_cast<double>(j) + common + 0.5 * random.normal();
            if (random.uniform() < share) cells[i * d + j] = missing;
        }
    }
    return cells;
}

// Least squares with intercept by elimination on the normal equations of raw rows: the direct route.
std::vector<double> regression(const std::vector<std::vector<double>>& x, const std::vector<double>& y) {
    const std::size_t p = x[0].size() + 1;
    std::vector<std::vector<double>> a(p, std::vector<double>(p + 1, 0.0));
    for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<double> row(x[i]);
        row.push_back(1.0);
        for (std::size_t s = 0; s < p; ++s) {
            for (std::size_t t = 0; t < p; ++t) a[s][t] += row[s] * row[t];
            a[s][p] += row[s] * y[i];
        }
    }
    for (std::size_t s = 0; s < p; ++s) {
        for (std::size_t r = s + 1; r < p; ++r)
            if (std::abs(a[r][s]) > std::abs(a[s][s])) std::swap(a[r], a[s]);
        for (std::size_t r = 0; r < p; ++r) {
            if (r == s) continue;
            const double factor = a[r][s] / a[s][s];
            for (std::size_t t = s; t <= p; ++t) a[r][t] -= factor * a[s][t];
        }
    }
    std::vector<double> beta(p);
    for (std::size_t s = 0; s < p; ++s) beta[s] = a[s][p] / a[s][s];
    return beta;
}

Chains chains_of(const std::vector<double>& cells, index_t n, const std::vector<std::int32_t>& categories,
                 const std::vector<std::int32_t>& method, const std::vector<std::uint64_t>& keys, ChainOptions options) {
    const auto d = static_cast<index_t>(categories.size());
    std::vector<std::int32_t> order;
    for (index_t j = 0; j < d; ++j) {
        bool holes = false;
        for (index_t i = 0; i < n; ++i) holes = holes || std::isnan(cells[i * d + j]);
        if (holes) order.push_back(static_cast<std::int32_t>(j));
    }
    return run_chains(c_matrix(cells.data(), n, d), {categories.data(), d, 1}, {method.data(), d, 1},
                      {order.data(), static_cast<index_t>(order.size()), 1},
                      {keys.data(), static_cast<index_t>(keys.size()), 1}, options);
}

}  // namespace

TEST("sweeps on the Gram matrix equal regressions on the rows at each step") {
    const index_t n = 300, d = 5;
    for (const double share : {0.2, 0.6}) {  // less and more than half missing: both ways to the observed rows
        const std::vector<double> cells = holed_table(n, d, 3, share);
        ChainOptions options;
        options.draw = options.start_with_draws = false;
        options.ridge = 0;
        const index_t most = refresh + 2;  // across a point where the Gram matrix is made anew
        // The direct route: fill with means, then regress and predict, column after column.
        std::vector<double> done = cells;
        for (index_t j = 0; j < d; ++j) {
            double sum = 0, count = 0;
            for (index_t i = 0; i < n; ++i)
                if (!std::isnan(cells[i * d + j])) sum += cells[i * d + j], count += 1;
            for (index_t i = 0; i < n; ++i)
                if (std::isnan(cells[i * d + j])) done[i * d + j] = sum / count;
        }
        for (index_t sweep = 1; sweep <= most; ++sweep) {
            for (index_t j = 0; j < d; ++j) {
                std::vector<std::vector<double>> x;
                std::vector<double> y;
                const auto others = [&](index_t i) {
                    std::vector<double> row;
                    for (index_t k = 0; k < d; ++k)
                        if (k != j) row.push_back(done[i * d + k]);
                    return row;
                };
                for (index_t i = 0; i < n; ++i)
                    if (!std::isnan(cells[i * d + j])) x.push_back(others(i)), y.push_back(cells[i * d + j]);
                const std::vector<double> beta = regression(x, y);
                for (index_t i = 0; i < n; ++i) {
                    if (!std::isnan(cells[i * d + j])) continue;
                    const std::vector<double> row = others(i);
                    double value = beta.back();
                    for (std::size_t k = 0; k < row.size(); ++k) value += beta[k] * row[k];
                    done[i * d + j] = value;
                }
            }
            options.sweeps = sweep;
            const Chains found = chains_of(cells, n, std::vector<std::int32_t>(d, 0), std::vector<std::int32_t>(d, 0), {1}, options);
            std::size_t at = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < d; ++j)
                    if (std::isnan(cells[i * d + j])) CHECK_NEAR(found.imputed[at++], done[i * d + j], 1e-6);
        }
    }
}

TEST("draws of a normal conditional scatter around least squares as theory says") {
    const index_t n = 200, p = 3;
    Random random(5);
    std::vector<double> z(n * p);
    for (index_t i = 0; i < n; ++i) {
        z[i * p] = random.normal();
        z[i * p + 1] = 0.6 * z[i * p] + random.normal();
        z[i * p + 2] = 2.0 * z[i * p] - z[i * p + 1] + 0.7 * random.normal();
    }
    std::vector<double> gram(16), shift(p, 0.0);
    weighted_gram(c_matrix<const double>(z.data(), n, p), {nullptr, n, 0, 0, 1}, {nullptr, n, nullptr}, shift.data(), gram.data(), 1);
    double hat[4], drawn[4], sum[4] = {}, squares[4] = {};
    const double residual = normal_conditional(gram.data(), p, 2, 0.0, nullptr, hat, drawn);
    const int draws = 20000;
    double variance = 0;
    for (int k = 0; k < draws; ++k) {
        const double deviation = normal_conditional(gram.data(), p, 2, 0.0, &random, hat, drawn);
        variance += deviation * deviation / draws;
        for (int t = 0; t < 4; ++t) sum[t] += drawn[t] / draws, squares[t] += (drawn[t] - hat[t]) * (drawn[t] - hat[t]) / draws;
    }
    const double df = n - 3;
    CHECK_NEAR(variance / (residual * residual * df / (df - 2)), 1.0, 0.01);
    // Var(b0) from the inverse of the centred 2 x 2 matrix, times the mean of the drawn variance.
    const auto centred = [&](int a, int b) { return gram[a * 4 + b] - gram[a * 4 + 3] * gram[b * 4 + 3] / n; };
    const double determinant = centred(0, 0) * centred(1, 1) - centred(0, 1) * centred(0, 1);
    CHECK_NEAR(squares[0] / (variance * centred(1, 1) / determinant), 1.0, 0.05);
    CHECK_NEAR(squares[1] / (variance * centred(0, 0) / determinant), 1.0, 0.05);
    for (int t : {0, 1, 3}) CHECK_NEAR(sum[t], hat[t], 0.01);
    CHECK(drawn[2] == 0.0 && hat[2] == 0.0);
}

TEST("the logistic conditional is where the gradient of its posterior vanishes") {
    const index_t n = 150;
    Random random(9);
    std::vector<double> cells(n * 3);
    Design design;
    design.n_categories = {0, 3, 0};
    design.first = {0, 1, 3, 4};
    design.centre = design.scale = {0, 0, 0};
    design.scale = {1, 1, 1};
    std::vector<double> z(n * 4);
    std::vector<std::int64_t> rows;
    for (index_t i = 0; i < n; ++i) {
        cells[i * 3] = random.normal();
        cells[i * 3 + 2] = random.normal();
        const double signal = cells[i * 3] + random.normal();
        cells[i * 3 + 1] = signal < -0.5 ? 0 : signal < 0.5 ? 1 : 2;
        for (index_t j = 0; j < 3; ++j) design.code(j, cells[i * 3 + j], z.data() + i * 4);
        rows.push_back(i);
    }
    std::vector<double> coefficient(10, 0.0), drawn(10);
    for (int round = 0; round < 3; ++round)
        logistic_conditional(design, c_matrix<const double>(z.data(), n, 4), c_matrix<const double>(cells.data(), n, 3), 1, rows,
                             nullptr, coefficient.data(), drawn.data(), 1);
    for (int a = 0; a < 2; ++a)
        for (int t : {0, 3, 4}) {
            double gradient = -(t == 4 ? 0.01 : 0.16) * coefficient[a * 5 + t];
            for (index_t i = 0; i < n; ++i) {
                double score[3] = {0, coefficient[4], coefficient[9]};
                for (int b = 0; b < 2; ++b)
                    for (int s : {0, 3}) score[b + 1] += coefficient[b * 5 + s] * z[i * 4 + s];
                const double total = 1 + std::exp(score[1]) + std::exp(score[2]);
                const double rest = (cells[i * 3 + 1] == a + 1 ? 1.0 : 0.0) - std::exp(score[a + 1]) / total;
                gradient += rest * (t == 4 ? 1.0 : z[i * 4 + t]);
            }
            CHECK_NEAR(gradient, 0.0, 1e-6);
        }
    CHECK(coefficient[1] == 0.0 && coefficient[2] == 0.0);
}

TEST("donors are sorted by prediction, also where they agree as floats") {
    Random random(2);
    std::vector<double> predictions, values;
    for (int i = 0; i < 3000; ++i) {
        predictions.push_back(i % 3 == 0 ? 1.0 + 1e-12 * random.uniform() : random.normal());
        values.push_back(predictions.back() * 2);
    }
    const Donors donors = sort_donors(std::move(predictions), std::move(values));
    for (std::size_t i = 0; i < donors.values.size(); ++i) {
        CHECK(donors.values[i] == 2 * donors.predictions[i]);
        if (i > 0) CHECK(donors.predictions[i - 1] <= donors.predictions[i]);
    }
    CHECK(donors.sums.size() == donors.values.size() + 1);
}

TEST("of many donors those at the ends of the order are kept, and evenly spaced ones between") {
    const index_t n = 2 * kept_donors + 7;
    std::vector<double> cells;
    for (index_t i = 0; i < n; ++i) cells.push_back(static_cast<double>(i)), cells.push_back(static_cast<double>(i));
    const Chains chains = chains_of(cells, n, {0, 0}, {1, 1}, {5}, ChainOptions{});
    const std::vector<double>& values = chains.fitted.donor_values;
    CHECK(static_cast<index_t>(values.size()) == 2 * kept_donors && chains.fitted.donor_offsets[1] == kept_donors);
    const index_t end = kept_donors / 6;
    for (index_t k = 0; k < kept_donors; ++k) {
        if (k < end) CHECK(values[k] == static_cast<double>(k));
        if (k >= kept_donors - end) CHECK(values[k] == static_cast<double>(n - kept_donors + k));
        if (k > 0) CHECK(values[k] > values[k - 1] && values[k] <= values[k - 1] + 3);
    }
}

TEST("matching takes the nearest donors, and ties are equally likely") {
    Design design;
    design.n_categories = {0, 0};
    design.first = {0, 1, 2};
    design.centre = {0, 0};
    design.scale = {1, 1};
    const double coefficient[6] = {0, 1, 0, 0, 0, 0};
    const Donors donors = sort_donors({5.0, 1.0, 2.0, 2.0, 2.0, 2.0, 9.0}, {50, 10, 20, 21, 22, 23, 90});
    ConditionalView model;
    model.kind = Conditional::matching;
    model.coefficient = model.drawn = coefficient;
    model.donor_predictions = {donors.predictions.data(), 7, 1};
    model.donor_values = {donors.values.data(), 7, 1};
    model.donor_sums = {donors.sums.data(), 8, 1};
    const double far[2] = {0, 8.0}, near[2] = {0, 2.0};
    CHECK(impute_cell(model, design, far, far, 2, nullptr, nullptr) == 70.0);    // mean of 90 and 50
    CHECK(impute_cell(model, design, near, near, 2, nullptr, nullptr) == 21.5);  // mean of the four that tie
    Random random(4);
    int counts[4] = {};
    for (int k = 0; k < 4000; ++k) ++counts[static_cast<int>(impute_cell(model, design, near, near, 2, &random, nullptr)) - 20];
    for (const int count : counts) CHECK(count > 850 && count < 1150);
}

TEST("chains do not depend on threads, and completing other rows only reads the fitted models") {
    const index_t n = 120;
    std::vector<double> cells = holed_table(n, 4, 11);
    for (index_t i = 0; i < n; ++i)
        if (!std::isnan(cells[i * 4 + 2])) cells[i * 4 + 2] = cells[i * 4 + 2] > 20 ? 1 : 0;
    const std::vector<std::int32_t> categories{0, 0, 2, 0};
    for (const std::vector<std::int32_t>& method : {std::vector<std::int32_t>{0, 1, 2, 1}, {3, 3, 3, 0}}) {
        ChainOptions options;
        options.sweeps = 3;
        const Chains one = chains_of(cells, n, categories, method, {5, 6, 7}, options);
        options.threads = 3;
        const Chains three = chains_of(cells, n, categories, method, {5, 6, 7}, options);
        CHECK(one.imputed == three.imputed && one.fitted.drawn == three.fitted.drawn);
        CHECK(one.fitted.leaves.values == three.fitted.leaves.values && one.fitted.donor_values == three.fitted.donor_values);
        const std::vector<std::uint64_t> keys{1, 2, 3};
        std::vector<double> whole(one.imputed.size()), again(one.imputed.size());
        options.threads = 1;
        complete_rows(one.fitted, c_matrix<const double>(cells.data(), n, 4), {keys.data(), 3, 1}, options, whole.data());
        options.threads = 2;
        complete_rows(one.fitted, c_matrix<const double>(cells.data(), n, 4), {keys.data(), 3, 1}, options, again.data());
        CHECK(whole == again);
        for (const double value : whole) CHECK(std::isfinite(value));
    }
}

TEST("the residual deviation of a conditional has n - columns - 1 degrees of freedom, and draws are RSS over chi-square") {
    // Twelve rows, two predictors: nine degrees of freedom, where one more or less shows.
    const index_t n = 12, p = 3, d = p + 1;
    Random random(5);
    std::vector<std::vector<double>> x(n, std::vector<double>(2));
    std::vector<double> y(n), gram(d * d, 0.0);
    for (index_t i = 0; i < n; ++i) {
        x[i] = {random.normal(), random.normal()};
        y[i] = 1.0 + x[i][0] - 0.5 * x[i][1] + random.normal();
        const double row[d] = {x[i][0], x[i][1], y[i], 1.0};
        for (index_t s = 0; s < d; ++s)
            for (index_t t = 0; t < d; ++t) gram[s * d + t] += row[s] * row[t];
    }
    const std::vector<double> beta = regression(x, y);
    double rss = 0;
    for (index_t i = 0; i < n; ++i) {
        const double e = y[i] - beta[0] * x[i][0] - beta[1] * x[i][1] - beta[2];
        rss += e * e;
    }
    std::vector<double> coefficient(d), drawn(d);
    const double df = static_cast<double>(n - 2 - 1);
    CHECK_NEAR(normal_conditional(gram.data(), p, 2, 0.0, nullptr, coefficient.data(), drawn.data()), std::sqrt(rss / df), 1e-9);
    // The mean of RSS / chi2(df) is RSS / (df - 2); its inverse has mean df / RSS.
    const int draws = 40000;
    double precision = 0;
    for (int k = 0; k < draws; ++k) {
        const double s = normal_conditional(gram.data(), p, 2, 0.0, &random, coefficient.data(), drawn.data());
        precision += 1.0 / (s * s);
    }
    CHECK_NEAR(precision / draws * rss / df, 1.0, 0.01);
}

TEST("monomials are products of their columns, NaN beyond the range") {
    const std::vector<double> x = {2.0, 3.0, 1e200, -1.0};
    const std::vector<std::int64_t> runs = {-1, 0, 2, 0, 0, 2, 1, 1, 1};  // a, b; a^2, a b; b^2
    for (const bool ones : {false, true}) {
        const index_t width = 5 + ones;
        std::vector<double> out(2 * width);
        MonomialRuns given{c_matrix<const std::int64_t>(runs.data(), 3, 3), ones, true};
        monomials(c_matrix<const double>(x.data(), 2, 2), given, c_matrix(out.data(), 2, width), 1);
        const std::vector<double> first = {2.0, 3.0, 4.0, 6.0, 9.0};
        for (index_t k = 0; k < 5; ++k) CHECK(out[k + ones] == first[k]);
        if (ones) CHECK(out[0] == 1.0 && out[width] == 1.0);
        CHECK(std::isnan(out[width + ones + 2]));
        CHECK(out[width + ones + 3] == -1e200);
    }
}
