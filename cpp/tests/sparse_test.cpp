// Sparse tables: the three products against plain loops, and the same bits for every number of threads.
#include "assay/linear/sparse.hpp"

#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/linear/elastic_net.hpp"
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
    std::vector<double> residual(target);
    for (index_t i = 0; i < f.n; ++i) {
        residual[static_cast<std::size_t>(i)] -= y_mean[0];
        for (index_t j = 0; j < f.p; ++j)
            residual[static_cast<std::size_t>(i)] -=
                found.coefficients[static_cast<std::size_t>(j)] * (f.at(i, j) - x_mean[static_cast<std::size_t>(j)]);
    }
    for (index_t j = 0; j < f.p; ++j) {
        double slope = 0;
        for (index_t i = 0; i < f.n; ++i)
            slope += (f.at(i, j) - x_mean[static_cast<std::size_t>(j)]) * residual[static_cast<std::size_t>(i)];
        slope /= static_cast<double>(f.n);
        const double b = found.coefficients[static_cast<std::size_t>(j)];
        CHECK(b == 0 ? std::abs(slope) <= alpha * (1 + 1e-8) : std::abs(slope - std::copysign(alpha, b)) < 1e-12);
    }
}
