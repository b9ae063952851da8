#include "assay/losses/losses.hpp"

#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;

TEST("losses agree on every instruction set and with the sum of single rows") {
    const Simd best = simd_supported();
    const index_t n = 1000;
    Random random(5);
    std::vector<double> y, raw, weights;
    for (index_t i = 0; i < n; ++i) {
        y.push_back(std::floor(3.0 * random.uniform()) + 1.0);
        weights.push_back(random.uniform());
    }
    for (index_t i = 0; i < 4 * n; ++i) raw.push_back(random.normal());
    for (int number = 0; number < static_cast<int>(Loss::count); ++number)
        for (const index_t outputs : {index_t{1}, index_t{4}}) {
            std::vector<double> gradient(static_cast<std::size_t>(n * outputs)), hessian(gradient.size());
            std::vector<double> first_gradient, first_hessian;
            double first = 0.0, single = 0.0;
            LossRows rows{static_cast<Loss>(number), 1.5, {y.data(), n}, c_matrix<const double>(raw.data(), n, outputs),
                          {weights.data(), n}};
            for (int level = 0; level <= static_cast<int>(best); ++level) {
                set_simd_level(static_cast<Simd>(level));
                const double value = loss_gradient(rows, gradient.data(), hessian.data(), 2);
                if (level == 0) {
                    first = value;
                    first_gradient = gradient;
                    first_hessian = hessian;
                }
                CHECK_NEAR(value, first, 1e-10 * std::abs(first));
                for (std::size_t i = 0; i < gradient.size(); ++i) {
                    CHECK_NEAR(gradient[i], first_gradient[i], 1e-12 * (1.0 + std::abs(first_gradient[i])));
                    CHECK_NEAR(hessian[i], first_hessian[i], 1e-12 * (1.0 + std::abs(first_hessian[i])));
                }
            }
            set_simd_level(best);
            for (index_t i = 0; i < n; ++i) {
                const LossRows row{rows.loss, 1.5, {y.data() + i, 1}, c_matrix<const double>(raw.data() + i * outputs, 1, outputs),
                                   {weights.data() + i, 1}};
                single += loss_gradient(row, nullptr, nullptr, 1);
            }
            CHECK_NEAR(single, first, 1e-10 * std::abs(first));
        }
    CHECK(loss_names().size() == static_cast<std::size_t>(Loss::count));
}
