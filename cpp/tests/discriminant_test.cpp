// Leave-one-out scores of discriminants against the determinant and inverse of the matrix written out.
#include <cmath>
#include <limits>
#include <vector>

#include "assay/bayes/discriminant.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;

TEST("leave-one-out scores equal those of the matrix written out") {
    const double y[] = {0.5, -1.0}, w[] = {0.3, 0.4}, e[] = {2.0, 1.0}, spheres[] = {1.5}, shares[] = {0.0, 0.25, 1.0};
    const double c = 0.7;
    double found[3];
    leave_one_out_scores(c_matrix(y, 1, 2), c_matrix(w, 1, 2), e, spheres, c, {shares, 3, 1}, found, 1);
    for (int m = 0; m < 3; ++m) {
        const double keep = 1.0 - shares[m];
        const double a = keep * (e[0] - c * w[0] * w[0]) + shares[m] * spheres[0];
        const double b = -keep * c * w[0] * w[1];
        const double d = keep * (e[1] - c * w[1] * w[1]) + shares[m] * spheres[0];
        const double determinant = a * d - b * b;
        const double form = (d * y[0] * y[0] - 2 * b * y[0] * y[1] + a * y[1] * y[1]) / determinant;
        CHECK_NEAR(found[m], -0.5 * (form + std::log(determinant)), 1e-12);
    }
}

TEST("a matrix that is singular without the row gives minus infinity") {
    const double y[] = {1.0}, w[] = {1.0}, e[] = {1.0}, spheres[] = {1.0}, shares[] = {0.0};
    double found[1];
    leave_one_out_scores(c_matrix(y, 1, 1), c_matrix(w, 1, 1), e, spheres, 1.0, {shares, 1, 1}, found, 1);
    CHECK(found[0] == -std::numeric_limits<double>::infinity());
}

TEST("the discriminants of folds score their rows as the formulas say, on every instruction set and thread count") {
    constexpr index_t n = 40, d = 5, K = 3;
    Random random(8);
    const auto drawn = [&](index_t count) {
        std::vector<double> out(static_cast<std::size_t>(count));
        for (double& one : out) one = random.normal();
        return out;
    };
    const auto x = drawn(n * d), levels = drawn(2 * K), centres = drawn(2 * K * d), slopes = drawn(2 * K * d);
    const auto origin = drawn(2 * d), factor = drawn(2 * d);
    auto forms = drawn(2 * K * d * d);
    for (index_t m = 0; m < 2 * K; ++m)
        for (index_t a = 0; a < d; ++a)
            for (index_t b = a + 1; b < d; ++b) forms[static_cast<std::size_t>((m * d + a) * d + b)] = 0.0;
    std::vector<std::int64_t> one{3, 1, 39}, two;
    for (std::int64_t i = 0; i < 33; ++i) two.push_back(i);
    const RowLists lists{{one.data(), 3}, {two.data(), 33}};
    for (bool quadratic : {false, true}) {
        for (bool scaled : {false, true}) {
            const DiscriminantFolds folds{K, quadratic, scaled ? origin.data() : nullptr, scaled ? factor.data() : nullptr,
                                          levels.data(), centres.data(), quadratic ? forms.data() : slopes.data()};
            for (Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
                set_simd_level(level);
                std::vector<double> found(36 * K), again(found);
                discriminant_fold_scores(c_matrix(x.data(), n, d), lists, folds, found.data(), 1);
                discriminant_fold_scores(c_matrix(x.data(), n, d), lists, folds, again.data(), 4);
                CHECK(found == again);
                for (index_t i = 0; i < 36; ++i) {
                    const index_t f = i < 3 ? 0 : 1, row = i < 3 ? one[static_cast<std::size_t>(i)] : two[static_cast<std::size_t>(i - 3)];
                    double score[K], sum = 0;
                    for (index_t k = 0; k < K; ++k) {
                        const double* centre = centres.data() + (quadratic ? (f * K + k) * d : f * d);
                        double z[d];
                        for (index_t j = 0; j < d; ++j) {
                            const double cell = x[static_cast<std::size_t>(row * d + j)];
                            z[j] = (scaled ? (cell - origin[static_cast<std::size_t>(f * d + j)]) *
                                                 factor[static_cast<std::size_t>(f * d + j)]
                                           : cell) - centre[j];
                        }
                        score[k] = levels[static_cast<std::size_t>(f * K + k)];
                        for (index_t a = 0; a < d; ++a) {
                            if (!quadratic) {
                                score[k] += slopes[static_cast<std::size_t>((f * K + k) * d + a)] * z[a];
                                continue;
                            }
                            double white = 0;
                            for (index_t b = 0; b < d; ++b)
                                white += forms[static_cast<std::size_t>(((f * K + k) * d + a) * d + b)] * z[b];
                            score[k] -= 0.5 * white * white;
                        }
                        sum += std::exp(score[k]);
                    }
                    for (index_t k = 0; k < K; ++k)
                        CHECK_NEAR(found[static_cast<std::size_t>(i * K + k)], std::exp(score[k]) / sum, 1e-12);
                }
            }
        }
    }
    set_simd_level(simd_supported());
}
