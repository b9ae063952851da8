// Sparse tables: the three products against plain loops, and the same bits for every number of threads.
#include "assay/linear/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/linear/elastic_net.hpp"
#include "assay/linear/glm.hpp"
#include "assay/linear/logistic.hpp"
#include "check.hpp"

using namespace assay;

namespace {

struct Compressed {
    std::vector<double> values;
    std::vector<std::int32_t> indices;
    std::vector<std::int64_t> starts{0};
    index_t places = 0;
    SparseMatrix view() const {
        return {values.data(), indices.data(), starts.data(), static_cast<index_t>(starts.size()) - 1, places};
    }
};

struct Fixture {
    index_t n = 700, p = 30;
    std::vector<double> cells;
    Compressed rows, columns;

    Fixture() : cells(static_cast<std::size_t>(n * p), 0.0) {
        Random random(7);
        for (double& cell : cells)
            if (random.uniform() < 0.1) cell = random.normal() + 0.5;
        for (index_t i = 0; i < n; ++i) cells[static_cast<std::size_t>(i * p + 3)] = 0.0;  // an empty column
        rows = compress(n, p, [&](index_t i, index_t j) { return cells[static_cast<std::size_t>(i * p + j)]; });
        columns = compress(p, n, [&](index_t j, index_t i) { return cells[static_cast<std::size_t>(i * p + j)]; });
    }
    template <class Cell>
    static Compressed compress(index_t lines, index_t places, Cell cell) {
        Compressed out;
        out.places = places;
        for (index_t i = 0; i < lines; ++i) {
            for (index_t j = 0; j < places; ++j)
                if (const double value = cell(i, j); value != 0.0) {
                    out.values.push_back(value);
                    out.indices.push_back(static_cast<std::int32_t>(j));
                }
            out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
        }
        return out;
    }
    double at(index_t i, index_t j) const { return cells[static_cast<std::size_t>(i * p + j)]; }
};

double farthest(const std::vector<double>& one, const std::vector<double>& other) {
    double most = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(one[i] - other[i]));
    return most;
}

}  // namespace

TEST("sparse: products equal plain loops for every thread count") {
    const Fixture f;
    for (const index_t outputs : {1, 3}) {
        std::vector<double> v(static_cast<std::size_t>(f.p * outputs)), u(static_cast<std::size_t>(f.n * outputs));
        Random random(3);
        for (double& x : v) x = random.normal();
        for (double& x : u) x = random.normal();
        std::vector<double> forward(u.size()), back(v.size()), again(v.size());
        sparse_product(f.rows.view(), c_matrix<const double>(v.data(), f.p, outputs),
                       c_matrix(forward.data(), f.n, outputs), 2);
        sparse_transposed_product(f.rows.view(), c_matrix<const double>(u.data(), f.n, outputs),
                                  c_matrix(back.data(), f.p, outputs), 1);
        sparse_transposed_product(f.rows.view(), c_matrix<const double>(u.data(), f.n, outputs),
                                  c_matrix(again.data(), f.p, outputs), 3);
        CHECK(back == again);
        for (index_t k = 0; k < outputs; ++k) {
            for (index_t i = 0; i < f.n; ++i) {
                double sum = 0;
                for (index_t j = 0; j < f.p; ++j) sum += f.at(i, j) * v[static_cast<std::size_t>(j * outputs + k)];
                CHECK(std::abs(sum - forward[static_cast<std::size_t>(i * outputs + k)]) < 1e-12);
            }
            for (index_t j = 0; j < f.p; ++j) {
                double sum = 0;
                for (index_t i = 0; i < f.n; ++i) sum += f.at(i, j) * u[static_cast<std::size_t>(i * outputs + k)];
                CHECK(std::abs(sum - back[static_cast<std::size_t>(j * outputs + k)]) < 1e-11);
            }
        }
    }
}

TEST("sparse: gram and moments equal plain loops") {
    const Fixture f;
    std::vector<double> weights(static_cast<std::size_t>(f.n));
    Random random(5);
    for (double& w : weights) w = random.uniform();
    std::vector<double> gram(static_cast<std::size_t>(f.p * f.p)), mean(static_cast<std::size_t>(f.p)), variance(mean);
    sparse_gram(f.rows.view(), f.columns.view(), {weights.data(), f.n}, c_matrix(gram.data(), f.p, f.p), 2);
    const double total = sparse_column_moments(f.columns.view(), {weights.data(), f.n}, {mean.data(), f.p},
                                               {variance.data(), f.p}, 2);
    for (index_t a = 0; a < f.p; ++a) {
        double first = 0;
        for (index_t i = 0; i < f.n; ++i) first += weights[static_cast<std::size_t>(i)] * f.at(i, a);
        CHECK(std::abs(first / total - mean[static_cast<std::size_t>(a)]) < 1e-13);
        for (index_t b = 0; b < f.p; ++b) {
            double sum = 0;
            for (index_t i = 0; i < f.n; ++i) sum += weights[static_cast<std::size_t>(i)] * f.at(i, a) * f.at(i, b);
            CHECK(std::abs(sum - gram[static_cast<std::size_t>(a * f.p + b)]) < 1e-11);
            if (a == b) CHECK(std::abs(sum / total - first * first / total / total - variance[static_cast<std::size_t>(a)]) < 1e-12);
        }
    }
}

TEST("sparse: lasso is optimal") {
    const Fixture f;
    std::vector<double> target(static_cast<std::size_t>(f.n)), weights(static_cast<std::size_t>(f.n), 1.0);
    Random random(9);
    for (index_t i = 0; i < f.n; ++i)
        target[static_cast<std::size_t>(i)] = 2 * f.at(i, 0) - f.at(i, 5) + 0.1 * random.normal() + 3;
    const double alpha = 0.01;
    const std::vector<double> factors(static_cast<std::size_t>(f.p), 1.0);
    const ElasticNetTask task{&alpha, 1, 1.0, factors.data(), false, 1e-10, 1000, true, false};
    std::vector<double> x_mean(static_cast<std::size_t>(f.p)), y_mean(1);
    const ElasticNetSolution found = elastic_net_from_sparse_columns({f.columns.view(), target.data()}, weights.data(), 1,
                                                                     true, nullptr, task, x_mean.data(), y_mean.data(), 1);
    const std::vector<double> coefficients = found.coefficients(f.p);
    std::vector<double> residual(target);
    for (index_t i = 0; i < f.n; ++i) {
        residual[static_cast<std::size_t>(i)] -= y_mean[0];
        for (index_t j = 0; j < f.p; ++j)
            residual[static_cast<std::size_t>(i)] -=
                coefficients[static_cast<std::size_t>(j)] * (f.at(i, j) - x_mean[static_cast<std::size_t>(j)]);
    }
    for (index_t j = 0; j < f.p; ++j) {
        double slope = 0;
        for (index_t i = 0; i < f.n; ++i)
            slope += (f.at(i, j) - x_mean[static_cast<std::size_t>(j)]) * residual[static_cast<std::size_t>(i)];
        slope /= static_cast<double>(f.n);
        const double b = coefficients[static_cast<std::size_t>(j)];
        CHECK(b == 0 ? std::abs(slope) <= alpha * (1 + 1e-8) : std::abs(slope - std::copysign(alpha, b)) < 1e-12);
    }
}

TEST("sparse: the passes of logistic regression and of a generalised linear model equal those over the written-out rows") {
    const Fixture f;
    const auto n = static_cast<std::size_t>(f.n), p = static_cast<std::size_t>(f.p);
    Random random(11);
    std::vector<double> centre(p), inverse(p), weights(n), offset(n), y(n), coefficients;
    for (double& x : centre) x = 0.2 * random.normal();
    for (double& x : inverse) x = 0.5 + random.uniform();
    for (double& x : weights) x = random.uniform();
    for (double& x : offset) x = 0.1 * random.normal();
    for (double& x : y) x = std::floor(3 * random.uniform());
    for (const index_t classes : {2, 3})
        for (const bool intercept : {true, false}) {
            const index_t outputs = classes == 2 ? 1 : classes, m = f.p + (intercept ? 1 : 0), side = outputs * m;
            std::vector<std::int32_t> codes(n);
            for (std::int32_t& code : codes) code = static_cast<std::int32_t>(random.uniform() * static_cast<double>(classes));
            coefficients.assign(static_cast<std::size_t>(side), 0.0);
            for (double& b : coefficients) b = 0.3 * random.normal();
            LogisticProblem dense{c_matrix<const double>(f.cells.data(), f.n, f.p), {}, {codes.data(), f.n},
                                  {weights.data(), f.n}, {centre.data(), f.p}, {inverse.data(), f.p}, intercept, classes};
            LogisticProblem sparse = dense;
            sparse.x.data = nullptr;
            sparse.by_row = f.rows.view();
            sparse.by_column = f.columns.view();
            const auto b = c_matrix<const double>(coefficients.data(), outputs, m);
            struct Found {
                std::vector<double> gradient, hessian, probabilities, product;
                LogisticSums sums;
            };
            const auto pass = [&](const LogisticProblem& problem, int threads) {
                Found found{std::vector<double>(coefficients.size()),
                            std::vector<double>(coefficients.size() * coefficients.size()),
                            std::vector<double>(n * static_cast<std::size_t>(outputs)),
                            std::vector<double>(coefficients.size()),
                            {}};
                found.sums = logistic_pass(problem, b, c_matrix(found.gradient.data(), outputs, m),
                                           c_matrix(found.hessian.data(), side, side),
                                           c_matrix(found.probabilities.data(), f.n, outputs), threads);
                logistic_hessian_product(problem, c_matrix<const double>(found.probabilities.data(), f.n, outputs), b,
                                         c_matrix(found.product.data(), outputs, m), threads);
                return found;
            };
            const Found one = pass(dense, 1), other = pass(sparse, 1), again = pass(sparse, 3);
            CHECK(std::abs(one.sums.loss - other.sums.loss) < 1e-9);
            CHECK(one.sums.not_right == other.sums.not_right);
            CHECK(other.gradient == again.gradient && other.hessian == again.hessian && other.product == again.product);
            CHECK(farthest(one.gradient, other.gradient) < 1e-10);
            CHECK(farthest(one.hessian, other.hessian) < 1e-10);
            CHECK(farthest(one.probabilities, other.probabilities) < 1e-13);
            CHECK(farthest(one.product, other.product) < 1e-10);
        }
    const std::int32_t no_levels = 0;
    for (const GlmCurvature curvature : {GlmCurvature::newton, GlmCurvature::fisher, GlmCurvature::none}) {
        GlmProblem dense;
        dense.x = c_matrix<const double>(f.cells.data(), f.n, f.p);
        dense.codes = {nullptr, f.n, 0, 0, 1};
        dense.starts = {&no_levels, 1};
        dense.y = {y.data(), f.n};
        dense.weights = {weights.data(), f.n};
        dense.offset = {offset.data(), f.n};
        dense.centre = {centre.data(), f.p};
        dense.inverse_scale = {inverse.data(), f.p};
        dense.family = GlmFamily::poisson;
        dense.link = GlmLink::sqrt;
        GlmProblem sparse = dense;
        sparse.x.data = nullptr;
        sparse.by_row = f.rows.view();
        sparse.by_column = f.columns.view();
        const std::size_t m = p + 1, side = curvature == GlmCurvature::none ? 0 : m;
        coefficients.assign(m, 0.01);
        coefficients.back() = 1.0;
        std::vector<double> gradient(m), hessian(side * side), mine(m), matrix(side * side), curvatures(n), diagonal(m);
        const GlmSums one = glm_pass(dense, coefficients.data(), curvature, gradient.data(), hessian.data(), 2);
        const GlmSums other = glm_pass(sparse, coefficients.data(), curvature, mine.data(), matrix.data(), 2);
        CHECK(std::isfinite(one.loss) && std::abs(one.loss - other.loss) < 1e-10 * one.loss);
        CHECK(std::abs(one.pearson - other.pearson) < 1e-10 * one.pearson && std::abs(one.worst - other.worst) < 1e-12);
        CHECK(one.replaced == other.replaced);
        CHECK(farthest(gradient, mine) < 1e-10 && farthest(hessian, matrix) < 1e-10);
        if (side == 0) continue;
        sparse_glm_pass(sparse, coefficients.data(), curvature, mine.data(), curvatures.data(), 1);
        const SparseColumns z = sparse.sparse_columns();
        z.gram_diagonal({curvatures.data(), f.n}, diagonal.data(), 2);
        for (std::size_t j = 0; j < m; ++j) CHECK(std::abs(diagonal[j] - hessian[j * m + j]) < 1e-10);
        // The matrix times the solution gives back the right side over the active unknowns.
        std::vector<double> right(m), ridge(m, 0.5), solution(m);
        for (double& value : right) value = random.normal();
        const auto active = std::make_unique<bool[]>(m);
        for (std::size_t j = 0; j < m; ++j) active[j] = j != 4;
        solve_by_products(z, {curvatures.data(), f.n}, diagonal.data(), right.data(), ridge.data(), active.get(), 1e-12,
                          solution.data(), 2);
        CHECK(solution[4] == 0.0);
        for (std::size_t i = 0; i < m; ++i) {
            double sum = ridge[i] * solution[i];
            for (std::size_t j = 0; j < m; ++j) sum += hessian[i * m + j] * solution[j];
            if (active[i]) CHECK(std::abs(sum - right[i]) < 1e-9);
        }
    }
}
