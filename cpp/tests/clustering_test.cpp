#include "assay/clustering/dbscan.hpp"
#include "assay/clustering/k_means.hpp"
#include "assay/clustering/k_medians.hpp"
#include "assay/clustering/kernel_k_means.hpp"
#include "assay/clustering/linkage.hpp"
#include "assay/clustering/spanning_tree.hpp"

#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;

namespace {

std::vector<double> points(index_t n, index_t d, std::uint64_t key) {
    Random random(key);
    std::vector<double> cells(static_cast<std::size_t>(n * d));
    for (double& cell : cells) cell = random.normal() + 3.0 * static_cast<double>(random.below(4));
    return cells;
}

}  // namespace

TEST("k-means gives the same labels with bounds and without, for every instruction set and any number of threads") {
    const index_t n = 5000, d = 7, k = 19;
    const auto cells = points(n, d, 5);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    std::vector<std::int32_t> first;
    const Simd best = simd_level();
    for (const Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
        if (set_simd_level(level) != level) continue;
        for (const bool bounds : {true, false})
            for (const int threads : {1, 3}) {
                std::vector<double> centres(cells.begin(), cells.begin() + k * d);
                std::vector<std::int32_t> labels(static_cast<std::size_t>(n));
                clustering::KMeansOptions options;
                options.bounds = bounds;
                const auto runs =
                    clustering::k_means(rows, nullptr, k, 1, centres.data(), labels.data(), options, threads);
                CHECK(runs[0].n_iter > 3);
                if (first.empty()) first = labels;
                CHECK(first == labels);
            }
    }
    set_simd_level(best);
}

TEST("k-means++ draws no row twice while rows differ") {
    const index_t n = 70;
    std::vector<double> cells(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) cells[static_cast<std::size_t>(i)] = static_cast<double>(i % 7);
    std::vector<std::int64_t> chosen(7);
    clustering::plus_plus_starts(c_matrix<const double>(cells.data(), n, 1), nullptr, 7, 3, 11, 0, chosen.data(), 2);
    std::vector<int> seen(7, 0);
    for (const auto row : chosen) ++seen[static_cast<std::size_t>(cells[static_cast<std::size_t>(row)])];
    for (const int count : seen) CHECK(count == 1);
}

TEST("DBSCAN, spanning trees and linkages agree for any number of threads, and merges never come twice") {
    const index_t n = 3000, d = 3;
    const auto cells = points(n, d, 9);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(n)), again(labels.size());
    std::vector<std::uint8_t> core(labels.size());
    clustering::dbscan(rows, nullptr, neighbours::Metric::euclidean, 0.25, 5.0, labels.data(), core.data(), 1);
    clustering::dbscan(rows, nullptr, neighbours::Metric::euclidean, 0.25, 5.0, again.data(), core.data(), 3);
    CHECK(labels == again);
    const auto one = clustering::boruvka_tree(rows, nullptr, 1), three = clustering::boruvka_tree(rows, nullptr, 3);
    const auto prim = clustering::prim_tree(rows, neighbours::Metric::euclidean, 2.0, nullptr, 2);
    CHECK(one.size() == static_cast<std::size_t>(n - 1));
    CHECK(one == three);
    double weight = 0.0, other = 0.0;
    for (std::size_t e = 0; e < one.size(); ++e) {
        weight += one[e].distance;
        other += prim[e].distance;
    }
    CHECK_NEAR(weight, other, 1e-8);
    std::vector<double> z(static_cast<std::size_t>(4 * (n - 1)));
    clustering::ward_linkage(rows, z.data(), 2);
    const auto wide = points(700, 700, 4);  // lines of so many columns are made on all threads
    std::vector<double> alone(4 * 699), together(alone.size());
    const auto wide_rows = c_matrix<const double>(wide.data(), 700, 700);
    clustering::rows_linkage(wide_rows, neighbours::Metric::manhattan, 2.0, clustering::Linkage::average, alone.data(), 1);
    clustering::rows_linkage(wide_rows, neighbours::Metric::manhattan, 2.0, clustering::Linkage::average, together.data(), 3);
    CHECK(alone == together);
    std::vector<int> joined(static_cast<std::size_t>(2 * n - 1), 0);
    for (index_t t = 0; t + 1 < n; ++t) {
        ++joined[static_cast<std::size_t>(z[static_cast<std::size_t>(4 * t)])];
        ++joined[static_cast<std::size_t>(z[static_cast<std::size_t>(4 * t + 1)])];
    }
    for (index_t c = 0; c < 2 * n - 2; ++c) CHECK(joined[static_cast<std::size_t>(c)] == 1);
    CHECK_NEAR(z.back(), static_cast<double>(n), 0.0);
}

TEST("k-medians gives the same centres for every instruction set and any number of threads, and medians halve the weight") {
    const index_t n = 6000, d = 9, k = 5;
    const auto cells = points(n, d, 21);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    std::vector<double> weights(static_cast<std::size_t>(n)), first;
    Random random(3);
    for (double& w : weights) w = static_cast<double>(random.below(4));
    const Simd best = simd_level();
    for (const Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
        if (set_simd_level(level) != level) continue;
        for (const int threads : {1, 3}) {
            std::vector<double> centres(cells.begin(), cells.begin() + k * d);
            std::vector<std::int32_t> labels(static_cast<std::size_t>(n));
            const auto runs =
                clustering::k_medians(rows, weights.data(), k, 1, centres.data(), labels.data(), 300, true, threads);
            CHECK(runs[0].converged && runs[0].n_iter > 2);
            for (std::size_t t = 1; t < runs[0].inertias.size(); ++t)
                CHECK(runs[0].inertias[t] <= runs[0].inertias[t - 1] * (1 + 1e-12));
            if (first.empty()) first = centres;
            CHECK(first == centres);
            for (index_t j = 0; j < k; ++j) {
                double below = 0.0, upto = 0.0, total = 0.0;
                for (index_t i = 0; i < n; ++i) {
                    if (labels[static_cast<std::size_t>(i)] != j) continue;
                    const double w = weights[static_cast<std::size_t>(i)], c = centres[static_cast<std::size_t>(j * d)];
                    total += w;
                    below += rows(i, 0) < c ? w : 0.0;
                    upto += rows(i, 0) <= c ? w : 0.0;
                }
                CHECK(below < total / 2 && upto >= total / 2);
            }
        }
    }
    set_simd_level(best);
}

TEST("kernel k-means with inner products ends where Lloyd's steps end, for any number of threads") {
    const index_t n = 1200, d = 3, k = 6;
    const auto cells = points(n, d, 4);
    std::vector<double> gram(static_cast<std::size_t>(n * n));
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
            double sum = 0.0;
            for (index_t t = 0; t < d; ++t)
                sum += cells[static_cast<std::size_t>(i * d + t)] * cells[static_cast<std::size_t>(j * d + t)];
            gram[static_cast<std::size_t>(i * n + j)] = sum;
        }
    const std::vector<std::int64_t> starts{0, 1, 2, 3, 4, 5};
    std::vector<std::int32_t> labels(static_cast<std::size_t>(n)), again(labels.size()), plain(labels.size());
    std::vector<double> norms(static_cast<std::size_t>(k));
    const clustering::KernelLines square(c_matrix<const double>(gram.data(), n, n));
    const auto runs = clustering::kernel_k_means(square, nullptr, k, 1, starts.data(), 500, false, labels.data(), norms.data(), 1);
    clustering::kernel_k_means(square, nullptr, k, 1, starts.data(), 500, false, again.data(), norms.data(), 3);
    CHECK(labels == again && runs[0].converged);
    std::vector<double> centres(cells.begin(), cells.begin() + k * d);
    clustering::KMeansOptions options;
    options.tol = 0.0;
    const auto lloyd = clustering::k_means(c_matrix<const double>(cells.data(), n, d), nullptr, k, 1, centres.data(),
                                           plain.data(), options, 1);
    CHECK(labels == plain);
    CHECK_NEAR(runs[0].inertia, lloyd[0].inertia, 1e-7 * lloyd[0].inertia);
}
