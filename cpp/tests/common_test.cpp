#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "check.hpp"

using namespace assay;

namespace {

ASSAY_INLINE double sum_body(const double* x, index_t n) {
    double total = 0;
    for (index_t i = 0; i < n; ++i) total += x[i];
    return total;
}
ASSAY_DISPATCH(double, sum, sum_body, (const double* x, index_t n), (x, n))

}  // namespace

TEST("philox reproduces the known-answer vectors of its authors") {
    const auto zero = philox(0, 0, 0);
    CHECK(zero[0] == 0x6627e8d5U && zero[1] == 0xe169c58dU && zero[2] == 0xbc57ac4cU && zero[3] == 0x9b00dbd8U);
    const auto ones = philox(~0ULL, ~0ULL, ~0ULL);
    CHECK(ones[0] == 0x408f276dU && ones[1] == 0x41c83b0eU && ones[2] == 0xa20bc7c6U && ones[3] == 0x6d5451fdU);
    const auto pi = philox(0x299f31d0a4093822ULL, 0x85a308d3243f6a88ULL, 0x0370734413198a2eULL);
    CHECK(pi[0] == 0xd16cfe09U && pi[1] == 0x94fdccebU && pi[2] == 0x5001e420U && pi[3] == 0x24126ea1U);
}

TEST("bounded integers are uniform") {
    Random random(42);
    int counts[7] = {};
    for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
    double chi2 = 0;
    for (int c : counts) chi2 += (c - 10000.0) * (c - 10000.0) / 10000.0;
    CHECK(chi2 < 22.5);  // chi-square with 6 degrees of freedom, p = .001
}

TEST("normal draws have mean 0 and variance 1") {
    Random random(1, 5);
    double sum1 = 0, sum2 = 0;
    for (int i = 0; i < 100000; ++i) {
        const double z = random.normal();
        sum1 += z;
        sum2 += z * z;
    }
    CHECK_NEAR(sum1 / 1e5, 0.0, 0.015);
    CHECK_NEAR(sum2 / 1e5, 1.0, 0.02);
}

TEST("every instruction set gives the same sum of small integers") {
    std::vector<double> x(1001);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        CHECK(simd_level() == static_cast<Simd>(level));
        CHECK(sum(x.data(), 1001) == 500500.0);
    }
    set_simd_level(best);
}

TEST("chunks cover every row once, for any number of threads") {
    for (int threads : {1, 2, 5}) {
        std::vector<int> seen(1003, 0);
        parallel_chunks(1003, 64, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (int times : seen) CHECK(times == 1);
    }
}
