#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/linear/logistic.hpp"
#include "check.hpp"

using namespace assay;

namespace {

ASSAY_INLINE void exp_all_body(const double* x, double* out, index_t n) {
    for (index_t i = 0; i < n; ++i) out[i] = fast_exp(x[i]);
}
ASSAY_DISPATCH(void, exp_all, exp_all_body, (const double* x, double* out, index_t n), (x, out, n))
ASSAY_INLINE void log1p_all_body(const double* x, double* out, index_t n) {
    for (index_t i = 0; i < n; ++i) out[i] = log1p_unit(x[i]);
}
ASSAY_DISPATCH(void, log1p_all, log1p_all_body, (const double* x, double* out, index_t n), (x, out, n))

double ulp(double value) { return std::nextafter(value, INFINITY) - value; }

template <class Body>
void at_every_level(Body&& body) {
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        body();
    }
    set_simd_level(best);
}

struct Example {
    index_t n, p, classes;
    std::vector<double> x, weights, centre, inverse_scale;
    std::vector<std::int32_t> codes;
    std::vector<std::int64_t> rows;

    Example(index_t n_, index_t p_, index_t classes_) : n(n_), p(p_), classes(classes_) {
        Random random(11);
        for (index_t i = 0; i < n * p; ++i) x.push_back(2.0 + 3.0 * random.normal());
        for (index_t i = 0; i < n; ++i) {
            weights.push_back(0.5 + random.uniform());
            codes.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(classes))));
            if (i % 3 != 0) rows.push_back(n - 1 - i);
        }
        centre.assign(static_cast<std::size_t>(p), 2.0);
        inverse_scale.assign(static_cast<std::size_t>(p), 1.0 / 3.0);
    }
    LogisticProblem problem() const {
        return {c_matrix<const double>(x.data(), n, p),
                {rows.data(), static_cast<index_t>(rows.size())},
                {codes.data(), n},
                {weights.data(), n},
                {centre.data(), p},
                {inverse_scale.data(), p},
                true,
                classes};
    }
};

struct Result {
    LogisticSums sums;
    std::vector<double> gradient, hessian, probabilities;
};

Result pass(const Example& example, const std::vector<double>& coefficients, int threads) {
    const LogisticProblem problem = example.problem();
    const index_t outputs = problem.outputs(), m = problem.columns(), side = outputs * m, rows = problem.row_count();
    Result r{{},
             std::vector<double>(static_cast<std::size_t>(side)),
             std::vector<double>(static_cast<std::size_t>(side * side)),
             std::vector<double>(static_cast<std::size_t>(rows * outputs))};
    r.sums = logistic_pass(problem, c_matrix<const double>(coefficients.data(), outputs, m),
                           c_matrix(r.gradient.data(), outputs, m), c_matrix(r.hessian.data(), side, side),
                           c_matrix(r.probabilities.data(), rows, outputs), threads);
    return r;
}

std::vector<double> some_coefficients(const Example& example) {
    const LogisticProblem problem = example.problem();
    Random random(5);
    std::vector<double> out;
    for (index_t i = 0; i < problem.outputs() * problem.columns(); ++i) out.push_back(0.4 * random.normal());
    return out;
}

}  // namespace

namespace {

// Each value of a function over arrays is within `limit` ulp of the exact one, at every instruction set.
template <class All, class Exact>
void check_ulps(const std::vector<double>& x, All all, Exact exact_of, double limit) {
    std::vector<double> out(x.size());
    at_every_level([&] {
        all(x.data(), out.data(), static_cast<index_t>(x.size()));
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double exact = exact_of(x[i]);
            CHECK_NEAR(std::abs(out[i] - exact) / ulp(exact), 0.0, limit);
        }
    });
}

}  // namespace

TEST("exp is within 1.5 ulp over the whole range, at every instruction set") {
    std::vector<double> x;
    for (double v = -745.0; v < 709.7; v += 0.00737) x.push_back(v);
    for (double v = 1e-300; v < 1.0; v *= 7.3) {
        x.push_back(v);
        x.push_back(-v);
    }
    check_ulps(x, exp_all, [](double v) { return std::exp(v); }, 1.5);
}

TEST("exp ends in 0 and infinity, and exp(0) is 1") {
    const double x[] = {-INFINITY, -1e300, -746.0, 0.0, -0.0, 710.0, 1e300, INFINITY};
    double out[8];
    at_every_level([&] {
        exp_all(x, out, 8);
        for (int i = 0; i < 3; ++i) CHECK(out[i] == 0.0);
        CHECK(out[3] == 1.0 && out[4] == 1.0);
        for (int i = 5; i < 8; ++i) CHECK(out[i] == INFINITY);
    });
}

TEST("log1p is within 2 ulp on the unit interval") {
    std::vector<double> x{0.0, 1.0};
    for (double v = 1e-300; v < 1.0; v *= 1.37) x.push_back(v);
    for (double v = 0.0; v < 1.0; v += 1.7e-5) x.push_back(v);
    check_ulps(x, log1p_all, [](double v) { return std::log1p(v); }, 2.0);
}

TEST("gradient and Hessian agree with finite differences of loss and gradient") {
    for (index_t classes : {2, 3, 9}) {
        const Example example(203, 5, classes);
        std::vector<double> b = some_coefficients(example);
        const Result here = pass(example, b, 2);
        const std::size_t side = b.size();
        for (std::size_t c = 0; c < side; ++c) {
            const double h = 1e-5, at = b[c];
            b[c] = at + h;
            const Result up = pass(example, b, 1);
            b[c] = at - h;
            const Result down = pass(example, b, 1);
            b[c] = at;
            CHECK_NEAR((up.sums.loss - down.sums.loss) / (2 * h), here.gradient[c], 2e-6);
            for (std::size_t d = 0; d < side; ++d)
                CHECK_NEAR((up.gradient[d] - down.gradient[d]) / (2 * h), here.hessian[c * side + d], 2e-6);
        }
    }
}

TEST("the Hessian product is the Hessian times the direction") {
    for (index_t classes : {2, 4}) {
        const Example example(300, 7, classes);
        const std::vector<double> b = some_coefficients(example);
        const Result here = pass(example, b, 1);
        const LogisticProblem problem = example.problem();
        const index_t outputs = problem.outputs(), m = problem.columns();
        const std::size_t side = b.size();
        std::vector<double> product(side);
        logistic_hessian_product(problem, c_matrix<const double>(here.probabilities.data(), problem.row_count(), outputs),
                                 c_matrix<const double>(b.data(), outputs, m), c_matrix(product.data(), outputs, m), 2);
        for (std::size_t c = 0; c < side; ++c) {
            double expected = 0.0;
            for (std::size_t d = 0; d < side; ++d) expected += here.hessian[c * side + d] * b[d];
            CHECK_NEAR(product[c], expected, 1e-10);
        }
    }
}

TEST("a pass gives the same bits for any number of threads") {
    for (index_t classes : {2, 3}) {
        const Example example(9001, 11, classes);
        const std::vector<double> b = some_coefficients(example);
        const Result one = pass(example, b, 1);
        for (int threads : {2, 5}) {
            const Result many = pass(example, b, threads);
            CHECK(one.sums.loss == many.sums.loss && one.gradient == many.gradient && one.hessian == many.hessian);
        }
    }
}

TEST("every instruction set gives the same sums to rounding") {
    const Example example(1001, 30, 4);
    const std::vector<double> b = some_coefficients(example);
    const Result best = pass(example, b, 1);
    at_every_level([&] {
        const Result here = pass(example, b, 1);
        CHECK_NEAR(here.sums.loss, best.sums.loss, 1e-10);
        for (std::size_t i = 0; i < best.hessian.size(); ++i) CHECK_NEAR(here.hessian[i], best.hessian[i], 1e-10);
    });
}

TEST("losses stay finite far from the boundary, and the count of rows not right is exact") {
    const std::vector<double> x{-2.0, -1.0, 1.0, 2.0};
    const std::vector<std::int32_t> codes{0, 0, 1, 0};
    const std::vector<double> zero{0.0}, one{1.0}, b{1e4, 0.0};
    const LogisticProblem problem{c_matrix<const double>(x.data(), 4, 1), {}, {codes.data(), 4}, {}, {zero.data(), 1},
                                  {one.data(), 1}, true, 2};
    std::vector<double> gradient(2), hessian(4);
    const LogisticSums sums = logistic_pass(problem, c_matrix<const double>(b.data(), 1, 2), c_matrix(gradient.data(), 1, 2),
                                            c_matrix(hessian.data(), 2, 2), {}, 1);
    CHECK(sums.loss == 2e4);
    CHECK(sums.not_right == 1.0);
    CHECK(gradient[0] == 2.0 && gradient[1] == 1.0);
}

TEST("moments of far-off columns keep their digits, and a constant column has variance 0") {
    std::vector<double> x;
    for (int i = 0; i < 5000; ++i) {
        x.push_back(1e9 + (i % 2 == 0 ? 1.0 : -1.0));
        x.push_back(0.1);
    }
    LogisticProblem problem;
    problem.x = c_matrix<const double>(x.data(), 5000, 2);
    std::vector<double> mean(2), variance(2);
    const double total = column_moments(problem, {mean.data(), 2}, {variance.data(), 2}, 2);
    CHECK(total == 5000.0);
    CHECK_NEAR(mean[0], 1e9, 1e-6);
    CHECK_NEAR(variance[0], 1.0, 1e-12);
    CHECK(mean[1] == 0.1 && variance[1] == 0.0);
}
