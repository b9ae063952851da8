#include "assay/linear/elastic_net.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// A small table by column, with its moments computed the plain way.
struct Table {
    index_t n, p, stride;
    std::vector<double> columns, target, weights, gram, cross, ones;
    double y_squares = 0;

    Table(index_t n_, index_t p_) : n(n_), p(p_), stride((n_ + 7) / 8 * 8) {
        Random random(5);
        columns.assign(static_cast<std::size_t>(p * stride), 0.0);
        target.assign(static_cast<std::size_t>(stride), 0.0);
        weights.assign(static_cast<std::size_t>(stride), 0.0);
        ones.assign(static_cast<std::size_t>(p), 1.0);
        for (index_t i = 0; i < n; ++i) {
            weights[static_cast<std::size_t>(i)] = 1.0 + static_cast<double>(random.below(3));
            const double shared = random.normal();
            for (index_t j = 0; j < p; ++j) at(i, j) = random.normal() + 0.5 * shared;
            target[static_cast<std::size_t>(i)] = at(i, 0) - 2.0 * at(i, 1) + 0.1 * random.normal();
        }
        double total = 0;
        for (double w : weights) total += w;
        gram.assign(static_cast<std::size_t>(p * p), 0.0);
        cross.assign(static_cast<std::size_t>(p), 0.0);
        for (index_t i = 0; i < n; ++i) {
            const double w = weights[static_cast<std::size_t>(i)] / total, y = target[static_cast<std::size_t>(i)];
            y_squares += w * y * y;
            for (index_t j = 0; j < p; ++j) {
                cross[static_cast<std::size_t>(j)] += w * y * at(i, j);
                for (index_t k = 0; k < p; ++k) gram[static_cast<std::size_t>(j * p + k)] += w * at(i, j) * at(i, k);
            }
        }
    }
    double& at(index_t i, index_t j) { return columns[static_cast<std::size_t>(j * stride + i)]; }

    ElasticNetTask task(const std::vector<double>& alphas, double l1_ratio, bool positive, bool refine) const {
        return {alphas.data(), static_cast<index_t>(alphas.size()), l1_ratio, ones.data(), positive, 1e-10, 10000,
                refine,        true};
    }
    ElasticNetSolution by_columns(const ElasticNetTask& task, int threads) const {
        std::vector<double> x_mean(static_cast<std::size_t>(p)), y_mean(1);
        return elastic_net_from_columns({columns.data(), target.data(), p, stride}, weights.data(), 1, false, nullptr,
                                        task, x_mean.data(), y_mean.data(), threads);
    }
    ElasticNetSolution by_moments(const ElasticNetTask& task) const {
        return elastic_net_from_moments({{gram.data(), cross.data(), y_squares}}, p, nullptr, task, 1);
    }
    // Largest breach of the optimality conditions.
    double breach(const double* b, double l1, double l2, bool positive) const {
        double worst = 0;
        for (index_t j = 0; j < p; ++j) {
            double g = cross[static_cast<std::size_t>(j)] - l2 * b[j];
            for (index_t k = 0; k < p; ++k) g -= gram[static_cast<std::size_t>(j * p + k)] * b[k];
            if (b[j] != 0) worst = std::max(worst, std::abs(g - std::copysign(l1, b[j])));
            else worst = std::max(worst, (positive ? g : std::abs(g)) - l1);
        }
        return worst;
    }
};

const std::vector<double> alphas{1.0, 0.3, 0.1, 0.03, 0.01, 0.001};

}  // namespace

TEST("elastic net: optimality conditions hold to rounding from columns and from moments, at every level") {
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        for (index_t p : {7, 60}) {
            const Table table(37, p);
            for (bool positive : {false, true})
                for (double ratio : {1.0, 0.4}) {
                    const ElasticNetTask task = table.task(alphas, ratio, positive, true);
                    for (const ElasticNetSolution& s : {table.by_columns(task, 1), table.by_moments(task)})
                        for (std::size_t a = 0; a < alphas.size(); ++a) {
                            const double* b = s.coefficients.data() + a * static_cast<std::size_t>(p);
                            CHECK(table.breach(b, alphas[a] * ratio, alphas[a] * (1 - ratio), positive) < 1e-10);
                            CHECK(s.gaps[a] <= 1e-10 * table.y_squares);
                            if (positive) CHECK(*std::min_element(b, b + p) >= 0.0);
                        }
                }
        }
    }
    set_simd_level(best);
}

TEST("elastic net: the objective never rises") {
    const Table table(40, 60);
    for (bool refine : {false, true}) {
        const ElasticNetSolution s = table.by_columns(table.task(alphas, 0.9, false, refine), 1);
        CHECK(s.objective.size() > alphas.size());
        // The value is a difference of numbers as large as y'y: a few roundings of those remain.
        const double rounding = 1e-15 * table.y_squares;
        for (std::size_t k = 1; k < s.objective.size(); ++k)
            if (s.traced[k] == s.traced[k - 1]) CHECK(s.objective[k] <= s.objective[k - 1] + rounding);
    }
}

TEST("elastic net: a problem is the same alone, in company and on any number of threads") {
    Table table(50, 90);
    std::vector<double> both = table.weights, means(180), y_means(2);
    both.insert(both.end(), table.weights.begin(), table.weights.end());
    for (index_t i = 0; i < 10; ++i) both[static_cast<std::size_t>(table.stride + i)] = 0.0;
    const ElasticNetTask task = table.task(alphas, 1.0, false, false);
    const ElasticNetSolution alone = table.by_columns(task, 1);
    for (int threads : {1, 3}) {
        const ElasticNetSolution together =
            elastic_net_from_columns({table.columns.data(), table.target.data(), table.p, table.stride}, both.data(), 2,
                                     false, nullptr, task, means.data(), y_means.data(), threads);
        CHECK(std::equal(alone.coefficients.begin(), alone.coefficients.end(), together.coefficients.begin()));
    }
}

TEST("elastic net: an infinite penalty weight leaves a column out, and a start does not move the solution") {
    Table table(40, 30);
    table.ones[1] = INFINITY;
    const std::vector<double> one{0.01};
    const ElasticNetTask task = table.task(one, 1.0, false, true);
    const ElasticNetSolution cold = table.by_moments(task);
    CHECK(cold.coefficients[1] == 0.0);
    const std::vector<double> start(30, 0.5);
    const ElasticNetSolution warm =
        elastic_net_from_moments({{table.gram.data(), table.cross.data(), table.y_squares}}, 30, start.data(), task, 1);
    for (std::size_t j = 0; j < 30; ++j) CHECK_NEAR(cold.coefficients[j], warm.coefficients[j], 1e-11);
}

TEST("shifted columns are the table by column, padded with zeros") {
    const std::vector<double> x{1, 2, 3, 4, 5, 6}, shift{1, 1};
    std::vector<double> out(16, -1.0);
    shifted_columns(c_matrix<const double>(x.data(), 3, 2), shift.data(), out.data(), 8, 2);
    CHECK(out[0] == 0 && out[1] == 2 && out[2] == 4 && out[3] == 0 && out[8] == 1 && out[10] == 5 && out[15] == 0);
}

namespace {

// Penalties many enough, and a tolerance loose enough, for the copy of the columns in single precision.
std::vector<double> long_path(double largest) {
    std::vector<double> path;
    for (int k = 0; k < 12; ++k) path.push_back(largest * std::pow(0.6, k));
    return path;
}

ElasticNetTask loosely(const Table& table, const std::vector<double>& path, double tolerance) {
    ElasticNetTask task = table.task(path, 1.0, false, false);
    task.tolerance = tolerance;
    task.trace = false;
    return task;
}

}  // namespace

TEST("elastic net: with passes in single precision the gap is that of double, at every level and scale of columns") {
    // 1,203 rows: more than one sum in single precision, and a last piece that is padded.
    Table plain(1203, 60);
    const Simd best = simd_supported();
    for (double scale : {1.0, 1e-9, 1e9}) {
        Table table = plain;
        for (double& cell : table.columns) cell *= scale;
        for (double& cell : table.gram) cell *= scale * scale;
        for (double& cell : table.cross) cell *= scale;
        const std::vector<double> path = long_path(scale);
        const ElasticNetSolution exact = table.by_moments(table.task(path, 1.0, false, true));
        for (int level = 0; level <= static_cast<int>(best); ++level) {
            set_simd_level(static_cast<Simd>(level));
            const double tolerance = 1e-5;
            const ElasticNetSolution found = table.by_columns(loosely(table, path, tolerance), 1);
            const ElasticNetSolution threaded = table.by_columns(loosely(table, path, tolerance), 3);
            CHECK(found.coefficients == threaded.coefficients);
            for (std::size_t a = 0; a < path.size(); ++a) {
                const auto objective = [&](const ElasticNetSolution& solution) {
                    const double* b = solution.coefficients.data() + a * 60;
                    double value = 0.5 * table.y_squares;
                    for (std::size_t j = 0; j < 60; ++j) {
                        value += path[a] * std::abs(b[j]) - table.cross[j] * b[j];
                        for (std::size_t k = 0; k < 60; ++k) value += 0.5 * b[j] * b[k] * table.gram[j * 60 + k];
                    }
                    return value;
                };
                CHECK(found.gaps[a] <= tolerance * table.y_squares);
                CHECK(objective(found) - objective(exact) <= found.gaps[a] + 1e-12 * table.y_squares);
            }
        }
        set_simd_level(best);
    }
}

TEST("elastic net: a long path over columns far from zero meets the exact one, alone and in company") {
    Table table(400, 30);
    for (index_t j = 0; j < 30; ++j)
        for (index_t i = 0; i < 400; ++i) table.at(i, j) += 1e5 * static_cast<double>(j % 3);
    const std::vector<double> path = long_path(2.0);
    std::vector<double> x_mean(60), y_mean(2), weights(table.weights);
    weights.insert(weights.end(), table.weights.begin(), table.weights.end());
    for (std::size_t i = 0; i < 130; ++i) weights[static_cast<std::size_t>(table.stride) + i] = 0;
    const auto solve = [&](const double* given, index_t problems, const ElasticNetTask& task) {
        return elastic_net_from_columns({table.columns.data(), table.target.data(), 30, table.stride}, given, problems,
                                        true, nullptr, task, x_mean.data(), y_mean.data(), 2);
    };
    const ElasticNetTask loose = loosely(table, path, 1e-5);
    const ElasticNetSolution both = solve(weights.data(), 2, loose);
    const ElasticNetSolution exact = solve(weights.data(), 2, table.task(path, 1.0, false, true));
    for (std::size_t k = 0; k < both.coefficients.size(); ++k)
        CHECK_NEAR(both.coefficients[k], exact.coefficients[k], 0.05);
    for (double gap : both.gaps) CHECK(gap <= 1e-5 * 20);
    const ElasticNetSolution alone = solve(weights.data() + table.stride, 1, loose);
    CHECK(std::equal(alone.coefficients.begin(), alone.coefficients.end(), both.coefficients.begin() + 12 * 30));
}
