#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/linear/glm.hpp"
#include "check.hpp"

using namespace assay;

namespace {

ASSAY_INLINE void log_all_body(const double* x, double* out, index_t n) {
    for (index_t i = 0; i < n; ++i) out[i] = fast_log(x[i]);
}
ASSAY_DISPATCH(void, log_all, log_all_body, (const double* x, double* out, index_t n), (x, out, n))

// Two dense columns, an intercept, and nominal columns of 3 and 2 levels (code 5: no level).
struct Example {
    index_t n = 150;
    std::vector<double> x, y, weights, offset, centre{0.1, -0.2}, inverse_scale{0.5, 2.0};
    std::vector<std::int32_t> codes, starts{0, 3, 5};
    std::vector<double> coefficients{0.1, 0.05, 0.9, 0.05, -0.1, 0.02, 0.0, 0.07};
    Example() {
        Random random(3);
        for (index_t i = 0; i < n; ++i) {
            x.push_back(0.5 * random.normal());
            x.push_back(0.2 * random.normal());
            y.push_back(0.5 + static_cast<double>(random.below(4)));
            weights.push_back(static_cast<double>(random.below(3)));
            offset.push_back(0.05 * random.normal());
            codes.push_back(static_cast<std::int32_t>(random.below(3)));
            codes.push_back(i % 7 == 0 ? 5 : static_cast<std::int32_t>(3 + random.below(2)));
        }
    }
    GlmProblem problem(GlmFamily family, GlmLink link, double parameter) const {
        GlmProblem out;
        out.x = c_matrix(x.data(), n, 2);
        out.codes = c_matrix(codes.data(), n, 2);
        out.starts = {starts.data(), 3};
        out.y = {y.data(), n};
        out.weights = {weights.data(), n};
        out.offset = {offset.data(), n};
        out.centre = {centre.data(), 2};
        out.inverse_scale = {inverse_scale.data(), 2};
        out.family = family;
        out.link = link;
        out.parameter = parameter;
        return out;
    }
};

struct Sums {
    GlmSums sums;
    std::vector<double> gradient, hessian;
};

Sums pass(const GlmProblem& problem, const std::vector<double>& coefficients, GlmCurvature curvature, int threads = 1) {
    const auto m = static_cast<std::size_t>(problem.unknowns());
    Sums out{{}, std::vector<double>(m), std::vector<double>(m * m)};
    out.sums = glm_pass(problem, coefficients.data(), curvature, out.gradient.data(), out.hessian.data(), threads);
    return out;
}

}  // namespace

TEST("log is right to a few units in the last place at every instruction set") {
    std::vector<double> x, out;
    Random random(1);
    for (int i = 0; i < 2000; ++i) x.push_back(std::exp(40.0 * random.normal()));
    x.insert(x.end(), {1.0, 0.5, 2.0, 1e-300, 1e300, std::sqrt(0.5), std::sqrt(2.0), 1.0 + 1e-15});
    out.resize(x.size());
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        log_all(x.data(), out.data(), static_cast<index_t>(x.size()));
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double exact = std::log(x[i]);
            CHECK(std::abs(out[i] - exact) <= 5e-16 * std::abs(exact) + 1e-30);
        }
    }
    set_simd_level(best);
}

TEST("gradient and Newton matrix are the derivatives of the loss for every family and link") {
    const Example example;
    struct Case {
        GlmFamily family;
        GlmLink link;
        double parameter;
    };
    const Case cases[] = {{GlmFamily::gaussian, GlmLink::identity, 0},      {GlmFamily::gaussian, GlmLink::log, 0},
                          {GlmFamily::gaussian, GlmLink::inverse, 0},       {GlmFamily::poisson, GlmLink::log, 0},
                          {GlmFamily::poisson, GlmLink::sqrt, 0},           {GlmFamily::poisson, GlmLink::identity, 0},
                          {GlmFamily::gamma, GlmLink::log, 0},              {GlmFamily::gamma, GlmLink::inverse, 0},
                          {GlmFamily::inverse_gaussian, GlmLink::inverse_squared, 0},
                          {GlmFamily::inverse_gaussian, GlmLink::log, 0},   {GlmFamily::tweedie, GlmLink::log, 1.5},
                          {GlmFamily::tweedie, GlmLink::log, 2.5},          {GlmFamily::negative_binomial, GlmLink::log, 2.0}};
    for (const Case& c : cases) {
        const GlmProblem problem = example.problem(c.family, c.link, c.parameter);
        const Sums at = pass(problem, example.coefficients, GlmCurvature::newton);
        CHECK(std::isfinite(at.sums.loss));
        const auto m = static_cast<std::size_t>(problem.unknowns());
        for (std::size_t j = 0; j < m; ++j) {
            const double h = 1e-5;
            auto up = example.coefficients, down = example.coefficients;
            up[j] += h;
            down[j] -= h;
            const Sums high = pass(problem, up, GlmCurvature::none), low = pass(problem, down, GlmCurvature::none);
            CHECK_NEAR(at.gradient[j], (high.sums.loss - low.sums.loss) / (2 * h), 1e-5 * (1.0 + std::abs(at.gradient[j])));
            if (at.sums.replaced > 0.0) continue;
            for (std::size_t k = 0; k < m; ++k) {
                const double exact = at.hessian[j * m + k];
                CHECK_NEAR(exact, (high.gradient[k] - low.gradient[k]) / (2 * h), 1e-5 * (1.0 + std::abs(exact)));
            }
        }
    }
}

TEST("yes and no targets have exact derivatives under logit, probit and cloglog") {
    Example example;
    for (double& y : example.y) y = y > 2.0 ? 1.0 : 0.0;
    for (const GlmLink link : {GlmLink::logit, GlmLink::probit, GlmLink::cloglog}) {
        const GlmProblem problem = example.problem(GlmFamily::bernoulli, link, 0);
        const Sums at = pass(problem, example.coefficients, GlmCurvature::newton);
        CHECK(at.sums.replaced == 0.0);
        auto up = example.coefficients, down = example.coefficients;
        up[1] += 1e-5;
        down[1] -= 1e-5;
        const Sums high = pass(problem, up, GlmCurvature::none), low = pass(problem, down, GlmCurvature::none);
        CHECK_NEAR(at.gradient[1], (high.sums.loss - low.sums.loss) / 2e-5, 1e-5);
        CHECK_NEAR(at.hessian[1 * 8 + 4], (high.gradient[4] - low.gradient[4]) / 2e-5, 1e-5);
    }
}

TEST("sums are the same bits for any number of threads and close for any instruction set") {
    const Example example;
    const GlmProblem problem = example.problem(GlmFamily::poisson, GlmLink::log, 0);
    const Sums one = pass(problem, example.coefficients, GlmCurvature::fisher, 1);
    const Sums three = pass(problem, example.coefficients, GlmCurvature::fisher, 3);
    CHECK(one.hessian == three.hessian && one.gradient == three.gradient && one.sums.loss == three.sums.loss);
    const Simd best = simd_supported();
    set_simd_level(Simd::baseline);
    const Sums plain = pass(problem, example.coefficients, GlmCurvature::fisher, 1);
    set_simd_level(best);
    CHECK_NEAR(plain.sums.loss, one.sums.loss, 1e-10);
    for (std::size_t i = 0; i < one.hessian.size(); ++i) CHECK_NEAR(plain.hessian[i], one.hessian[i], 1e-9);
}

TEST("a mean out of range makes the loss infinite") {
    const Example example;
    auto low = example.coefficients;
    low[2] = -3.0;
    const GlmProblem problem = example.problem(GlmFamily::gamma, GlmLink::identity, 0);
    CHECK(std::isinf(pass(problem, low, GlmCurvature::newton).sums.loss));
    CHECK(std::isfinite(pass(problem, example.coefficients, GlmCurvature::newton).sums.loss));
}

TEST("the penalised quadratic meets its optimality conditions") {
    const index_t n = 12;
    Random random(5);
    std::vector<double> root(static_cast<std::size_t>(n * n)), h(root.size(), 0.0), gradient(12), l1(12, 1.5), x(12, 0.0);
    for (double& v : root) v = random.normal();
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j)
            for (index_t k = 0; k < n; ++k)
                h[static_cast<std::size_t>(i * n + j)] +=
                    root[static_cast<std::size_t>(i * n + k)] * root[static_cast<std::size_t>(j * n + k)] + (i == j) * 0.1;
    for (double& v : gradient) v = 3.0 * random.normal();
    l1[0] = 0.0;
    penalised_quadratic(c_matrix<const double>(h.data(), n, n), gradient.data(), l1.data(), 1e-12, 100000, x.data());
    int zeros = 0;
    for (index_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        double slope = gradient[at];
        for (index_t j = 0; j < n; ++j) slope += h[static_cast<std::size_t>(i * n + j)] * x[static_cast<std::size_t>(j)];
        if (x[at] == 0.0) {
            ++zeros;
            CHECK(std::abs(slope) <= l1[at] + 1e-9);
        } else {
            CHECK_NEAR(slope + std::copysign(l1[at], x[at]), 0.0, 1e-9);
        }
    }
    CHECK(zeros > 0 && zeros < 12);
}
