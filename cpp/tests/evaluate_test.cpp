#include "assay/evaluate/clusterings.hpp"
#include "assay/evaluate/fold_tables.hpp"
#include "assay/evaluate/multinomial.hpp"
#include "assay/evaluate/replicates.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;

namespace {

double chi_square_of_binomial(std::int64_t n, double p, int draws, int& cells) {
    std::vector<double> seen(static_cast<std::size_t>(n) + 1, 0.0), mass(seen.size());
    Random random(11, 3);
    for (int i = 0; i < draws; ++i) seen[static_cast<std::size_t>(binomial(random, n, p))] += 1;
    double chi2 = 0, pooled_seen = 0, pooled_mass = 0;
    cells = 0;
    for (std::int64_t k = 0; k <= n; ++k) {
        const double log_mass = std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                                static_cast<double>(k) * std::log(p) + static_cast<double>(n - k) * std::log1p(-p);
        pooled_seen += seen[static_cast<std::size_t>(k)];
        pooled_mass += std::exp(log_mass);
        if (pooled_mass * draws < 10 && k < n) continue;
        if (pooled_mass * draws > 0.5)
            chi2 += (pooled_seen - pooled_mass * draws) * (pooled_seen - pooled_mass * draws) / (pooled_mass * draws);
        ++cells;
        pooled_seen = pooled_mass = 0;
    }
    return chi2;
}

}  // namespace

TEST("binomial draws follow the binomial distribution, in both methods and mirrored") {
    const std::pair<std::int64_t, double> settings[] = {{5, 0.3}, {40, 0.1}, {60, 0.4}, {1000, 0.02}, {1000, 0.7}, {300, 0.5}};
    for (const auto& [n, p] : settings) {
        int cells = 0;
        const double chi2 = chi_square_of_binomial(n, p, 200000, cells);
        CHECK(chi2 < cells + 4.5 * std::sqrt(2.0 * cells));
    }
}

TEST("binomial draws at the ends are certain") {
    Random random(1);
    CHECK(binomial(random, 10, 0.0) == 0);
    CHECK(binomial(random, 10, 1.0) == 10);
    CHECK(binomial(random, 0, 0.5) == 0);
}

TEST("multinomial counts add up and have the right means") {
    const std::int64_t counts[] = {50, 0, 30, 20};
    double mean[4] = {}, drawn[4];
    for (std::uint64_t r = 0; r < 20000; ++r) {
        Random random(5, r);
        multinomial(random, {counts, 4, 1}, drawn);
        CHECK(std::accumulate(drawn, drawn + 4, 0.0) == 100);
        for (int j = 0; j < 4; ++j) mean[j] += drawn[j] / 20000;
    }
    for (int j = 0; j < 4; ++j) CHECK_NEAR(mean[j], static_cast<double>(counts[j]), 0.2);
    CHECK(mean[1] == 0);
}

TEST("resampled rows add up to n, and a row's count has the variance 1 - 1/n") {
    for (index_t n : {1, 7, 200, 256, 257, 700}) {
        std::vector<std::uint8_t> counts(static_cast<std::size_t>(n));
        double squares = 0, cross = 0;
        const int replicates = 4000;
        for (int r = 0; r < replicates; ++r) {
            resample(9, static_cast<std::uint64_t>(r), n, counts.data());
            CHECK(std::accumulate(counts.begin(), counts.end(), index_t{0}) == n);
            for (std::uint8_t c : counts) squares += (c - 1.0) * (c - 1.0);
            cross += (counts.front() - 1.0) * (counts.back() - 1.0);
        }
        const double dn = static_cast<double>(n);
        CHECK_NEAR(squares / (replicates * dn), 1 - 1 / dn, 5.0 / std::sqrt(replicates * dn) + 1e-12);
        if (n > 1) CHECK_NEAR(cross / replicates, -1 / dn, 5.0 / std::sqrt(1.0 * replicates));
    }
}

TEST("replicates do not depend on the number of threads, the block or the instruction set") {
    const index_t n = 1000;
    std::vector<std::uint8_t> all(20 * 1000), part(5 * 1000);
    const Simd best = simd_supported();
    resample_rows(3, 0, 20, n, 1, all.data());
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        resample_rows(3, 10, 5, n, 3, part.data());
        for (std::size_t i = 0; i < part.size(); ++i) CHECK(part[i] == all[10 * 1000 + i]);
    }
    set_simd_level(best);
}

TEST("areas of replicates equal the count over all pairs, with and without ties") {
    const index_t n = 60;
    for (int levels : {5, 1000000}) {
        Random random(8, static_cast<std::uint64_t>(levels));
        std::vector<double> score(n);
        std::vector<int> positive(n);
        for (index_t i = 0; i < n; ++i) {
            positive[static_cast<std::size_t>(i)] = random.uniform() < 0.4;
            score[static_cast<std::size_t>(i)] =
                std::floor(levels * (random.uniform() + 0.2 * positive[static_cast<std::size_t>(i)]));
        }
        std::vector<std::int32_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
            return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
        });
        std::vector<std::uint8_t> flags(n);
        for (std::size_t i = 0; i < flags.size(); ++i) {
            const auto row = static_cast<std::size_t>(order[i]);
            const bool last = i + 1 == flags.size() || score[static_cast<std::size_t>(order[i + 1])] != score[row];
            flags[i] = static_cast<std::uint8_t>(positive[row] | (last ? 2 : 0));
        }
        RowStatistics in;
        in.n = n;
        in.orders = c_matrix<const std::int32_t>(order.data(), 1, n);
        in.flags = c_matrix<const std::uint8_t>(flags.data(), 1, n);
        in.terms = c_matrix<const double>(score.data(), 1, n);
        double areas[30], terms[30];
        std::vector<std::uint8_t> counts(30 * n);
        replicate_rows(in, 4, 0, 30, 2, {areas, nullptr, nullptr, terms, nullptr});
        resample_rows(4, 0, 30, n, 1, counts.data());
        for (std::size_t b = 0; b < 30; ++b) {
            double wins = 0, pairs = 0, sum = 0;
            for (std::size_t i = 0; i < 60; ++i) {
                sum += counts[b * 60 + i] * score[i];
                for (std::size_t j = 0; j < 60; ++j) {
                    if (!positive[i] || positive[j]) continue;
                    const double weight = 1.0 * counts[b * 60 + i] * counts[b * 60 + j];
                    pairs += weight;
                    wins += weight * (score[i] > score[j] ? 1.0 : score[i] == score[j] ? 0.5 : 0.0);
                }
            }
            CHECK_NEAR(areas[b], wins / pairs, 1e-12);
            CHECK_NEAR(terms[b], sum, 1e-9 * std::abs(sum) + 1e-9);
        }
    }
}

TEST("a perfect ranking places every positive above all negatives") {
    const std::int32_t order[] = {2, 0, 1, 3};
    const std::uint8_t flags[] = {3, 3, 2, 2};
    double placed[4];
    placements({order, 4, 1}, {flags, 4, 1}, placed);
    for (double p : placed) CHECK(p == 2);
}

TEST("expected mutual information of two halves of four points is that of the three outcomes") {
    // k = 0, 1, 2 with probabilities 1/6, 4/6, 1/6; k = 1 adds nothing, k = 2 adds (2/4) ln 2, k = 0 nothing.
    const std::int64_t two[] = {2}, times[] = {2};
    CHECK_NEAR(expected_mutual_information({two, 1, 1}, {times, 1, 1}, {two, 1, 1}, {times, 1, 1}, 4, 1),
               4 * 0.5 * std::log(2.0) / 6, 1e-15);
}

TEST("the silhouette of two far pairs and a lone point is known") {
    const double x[] = {0, 1, 10, 11, 100};
    const std::int64_t start[] = {0, 2, 4, 5};
    double s[5];
    silhouette(c_matrix<const double>(x, 1, 5), {start, 4, 1}, 2, s);
    CHECK_NEAR(s[0], 1 - 1 / 10.5, 1e-15);
    CHECK_NEAR(s[1], 1 - 1 / 9.5, 1e-15);
    CHECK_NEAR(s[3], 1 - 1 / 10.5, 1e-15);
    CHECK(s[4] == 0);
}

TEST("the tables of folds count rows by their class and their likeliest class, the first of equals") {
    const double shares[] = {0.2, 0.8, 0.5, 0.5, 0.9, 0.1, 0.3, 0.7};
    const std::int64_t codes[] = {1, 0, 1};
    const std::vector<std::int64_t> first{0, 1, 2}, second{2};
    std::int64_t predicted[4], tables[8];
    assay::fold_tables(assay::c_matrix(shares, 4, 2), codes, {{first.data(), 3}, {second.data(), 1}}, predicted, tables, 2);
    CHECK(predicted[0] == 1 && predicted[1] == 0 && predicted[2] == 0 && predicted[3] == 1);
    const std::int64_t wanted[] = {1, 0, 1, 1, 0, 0, 0, 1};
    for (int i = 0; i < 8; ++i) CHECK(tables[i] == wanted[i]);
}
