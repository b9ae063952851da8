#include "assay/neighbours/distance_reduce.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/neighbours/byte_screen.hpp"
#include "assay/neighbours/kd_tree.hpp"
#include "assay/neighbours/kernel_functions.hpp"
#include "assay/neighbours/mixed_tree.hpp"
#include "check.hpp"

using namespace assay;
using namespace assay::neighbours;

namespace {

struct Found {
    std::vector<std::int64_t> rows;
    std::vector<double> distances;
    bool operator==(const Found&) const = default;
};

// Sorted by (distance, row) from the plain definition.
Found by_definition(const std::vector<double>& X, const std::vector<double>& Q, index_t d, index_t k) {
    Found found;
    const index_t n = static_cast<index_t>(X.size()) / d, m = static_cast<index_t>(Q.size()) / d;
    const PanelDistances measure = panel_distances(Metric::euclidean);
    std::vector<double> panel(static_cast<std::size_t>(d * panel_lanes));
    for (index_t q = 0; q < m; ++q) {
        std::vector<std::pair<double, std::int64_t>> all;
        for (index_t i = 0; i < n; ++i) {
            double lanes[panel_lanes];
            for (index_t j = 0; j < d; ++j)
                panel[static_cast<std::size_t>(j * panel_lanes + 3)] = X[static_cast<std::size_t>(i * d + j)];
            measure(Q.data() + q * d, panel.data(), 1, d, {}, lanes);
            all.emplace_back(lanes[3], i);
        }
        std::sort(all.begin(), all.end());
        for (index_t i = 0; i < k; ++i) {
            found.distances.push_back(all[static_cast<std::size_t>(i)].first);
            found.rows.push_back(all[static_cast<std::size_t>(i)].second);
        }
    }
    return found;
}

struct Index {
    std::vector<float> panels, half_norms;
    std::vector<double> centre;
    ScreenScale scale;
    Index(Matrix<const double> X)
        : panels(static_cast<std::size_t>(screen_panel_count(X.rows) * screen_points * X.cols)),
          half_norms(static_cast<std::size_t>(screen_panel_count(X.rows) * screen_points)),
          centre(static_cast<std::size_t>(X.cols)),
          scale(build_screen(X, panels.data(), half_norms.data(), centre.data(), 1)) {}
    Screen screen() const {
        return {panels.data(), half_norms.data(), centre.data(), scale.scale, scale.largest_norm};
    }
};

Found screened(Matrix<const double> X, Matrix<const double> Q, index_t k, int threads) {
    const Index index(X);
    CHECK(index.scale.usable);
    const auto size = static_cast<std::size_t>(Q.rows * k);
    Found found{std::vector<std::int64_t>(size), std::vector<double>(size)};
    nearest_euclidean(X, index.screen(), Q, k, found.rows.data(), found.distances.data(), threads);
    return found;
}

struct InBytes {
    std::vector<std::uint8_t> panels;
    std::vector<float> half_norms, steps, residuals;
    std::vector<double> centre;
    double scale;
    InBytes(Matrix<const double> X, bool only_if_it_pays)
        : panels(static_cast<std::size_t>(byte_panel_count(X.rows) * byte_points * byte_width(X.cols))),
          half_norms(static_cast<std::size_t>(byte_panel_count(X.rows) * byte_points)), steps(half_norms),
          residuals(half_norms), centre(static_cast<std::size_t>(X.cols)),
          scale(build_byte_screen(
              X, {panels.data(), half_norms.data(), steps.data(), residuals.data(), centre.data()}, only_if_it_pays, 2)) {}
    ByteScreen screen() const {
        return {panels.data(), half_norms.data(), steps.data(), residuals.data(), centre.data(), scale};
    }
};

// The answer by bytes, and how many queries were left open.
std::pair<Found, index_t> in_bytes(Matrix<const double> X, Matrix<const double> Q, index_t k, int threads) {
    const InBytes index(X, false);
    const auto size = static_cast<std::size_t>(Q.rows * k);
    Found found{std::vector<std::int64_t>(size), std::vector<double>(size)};
    const index_t open =
        nearest_by_bytes(X, index.screen(), Q, k, found.rows.data(), found.distances.data(), threads);
    return {found, open};
}

Found in_tree(Matrix<const double> X, Matrix<const double> Q, index_t k, Metric metric) {
    const KdTree tree = build_kd_tree(X, 1);
    const KdTreeView view = tree.view(X);
    const auto size = static_cast<std::size_t>(Q.rows * k);
    Found found{std::vector<std::int64_t>(size), std::vector<double>(size)};
    nearest_in_tree(view, metric, 3.0, Q, k, found.rows.data(), found.distances.data(), 2);
    return found;
}

Found by_panels(Matrix<const double> X, Matrix<const double> Q, index_t k, Metric metric) {
    std::vector<double> panels(static_cast<std::size_t>(panel_count(X.rows) * panel_lanes * X.cols));
    pack_panels(X, nullptr, panels.data(), 1);
    MetricOptions options;
    options.p = 3.0;
    const auto size = static_cast<std::size_t>(Q.rows * k);
    Found found{std::vector<std::int64_t>(size), std::vector<double>(size)};
    nearest_by_metric(metric, options, panels.data(), X.rows, Q, k, found.rows.data(), found.distances.data(), 2);
    return found;
}

enum class Shape { normal, grid, offset, copies, outlier };

std::vector<double> draw(Shape shape, index_t n, index_t d, std::uint64_t key) {
    Random random(key);
    std::vector<double> values(static_cast<std::size_t>(n * d));
    for (std::size_t i = 0; i < values.size(); ++i) {
        switch (shape) {
            case Shape::normal: values[i] = random.normal(); break;
            case Shape::grid: values[i] = random.below(4); break;
            case Shape::offset: values[i] = 1e8 + 1e-3 * random.normal(); break;
            case Shape::copies: values[i] = i < static_cast<std::size_t>(d) ? random.normal() : values[i % static_cast<std::size_t>(d)]; break;
            case Shape::outlier: values[i] = random.normal() * (i == 7 ? 1e9 : 1.0); break;
        }
    }
    return values;
}

}  // namespace

TEST("screened search, panels and tree give the float64 answer on friendly and nasty data") {
    for (Shape shape : {Shape::normal, Shape::grid, Shape::offset, Shape::copies, Shape::outlier}) {
        for (index_t d : {1, 3, 17}) {
            const index_t n = 517, m = 29;
            const auto x = draw(shape, n, d, 1), q = draw(shape, m, d, 2);
            const auto X = c_matrix(x.data(), n, d), Q = c_matrix(q.data(), m, d);
            for (index_t k : {1, 6, 8, 9, 200, 517}) {
                const Found expected = by_definition(x, q, d, k);
                CHECK(screened(X, Q, k, 1) == expected);
                CHECK(by_panels(X, Q, k, Metric::euclidean) == expected);
                CHECK(in_tree(X, Q, k, Metric::euclidean) == expected);
            }
        }
    }
}

TEST("search in bytes gives the float64 answer, and leaves no query of friendly data open") {
    for (Shape shape : {Shape::normal, Shape::grid, Shape::offset, Shape::copies, Shape::outlier}) {
        for (index_t d : {1, 2, 4, 5, 17, 64, 133}) {
            const index_t n = 1203, m = 29;
            const auto x = draw(shape, n, d, 21), q = draw(shape, m, d, 22);
            const auto X = c_matrix(x.data(), n, d), Q = c_matrix(q.data(), m, d);
            const Found expected = by_definition(x, q, d, n);
            for (index_t k : {1, 6, 65, 200, 513, 1203}) {
                const auto [found, open] = in_bytes(X, Q, k, 2);
                Found first;
                for (index_t i = 0; i < m; ++i) {
                    first.rows.insert(first.rows.end(), expected.rows.begin() + i * n, expected.rows.begin() + i * n + k);
                    first.distances.insert(first.distances.end(), expected.distances.begin() + i * n,
                                           expected.distances.begin() + i * n + k);
                }
                CHECK(found == first);
                if (shape == Shape::normal && d >= 4 && k <= 6) CHECK(open == (byte_products() ? 0 : m));
                if (k > most_byte_neighbours) CHECK(open == m);
            }
        }
    }
}

TEST("rows that bytes cannot tell apart are refused at once, others are not") {
    const auto normal = draw(Shape::normal, 4000, 20, 23), copies = draw(Shape::copies, 4000, 20, 24);
    CHECK((InBytes(c_matrix(normal.data(), 4000, 20), true).scale > 0.0) == byte_products());
    CHECK(InBytes(c_matrix(copies.data(), 4000, 20), true).scale == 0.0);
    const std::vector<double> huge{1e200, -1e200, 3e199, 1e199};
    CHECK(InBytes(c_matrix(huge.data(), 4, 1), false).scale == 0.0);
}

TEST("the tree gives the neighbours of brute force for every metric it knows") {
    for (Shape shape : {Shape::normal, Shape::grid, Shape::copies}) {
        const auto x = draw(shape, 700, 3, 5), q = draw(shape, 40, 3, 6);
        const auto X = c_matrix(x.data(), 700, 3), Q = c_matrix(q.data(), 40, 3);
        for (Metric metric : {Metric::manhattan, Metric::chebyshev, Metric::minkowski})
            CHECK(in_tree(X, Q, 9, metric) == by_panels(X, Q, 9, metric));
    }
}

TEST("the number of threads changes nothing") {
    const auto x = draw(Shape::grid, 900, 5, 3), q = draw(Shape::grid, 300, 5, 4);
    const auto X = c_matrix(x.data(), 900, 5), Q = c_matrix(q.data(), 300, 5);
    const Found one = screened(X, Q, 7, 1);
    for (int threads : {2, 5}) CHECK(screened(X, Q, 7, threads) == one);
}

TEST("every instruction set finds the same rows where distances are exact") {
    const auto x = draw(Shape::grid, 333, 6, 8), q = draw(Shape::grid, 25, 6, 9);
    const auto X = c_matrix(x.data(), 333, 6), Q = c_matrix(q.data(), 25, 6);
    const Found expected = by_definition(x, q, 6, 10);
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        CHECK(screened(X, Q, 10, 1) == expected);
        CHECK(in_bytes(X, Q, 10, 1).first == expected);
        CHECK(by_panels(X, Q, 10, Metric::euclidean) == expected);
        CHECK(in_tree(X, Q, 10, Metric::euclidean) == expected);
        for (index_t k : {1, 7, 8, 9, 16, 17, 63, 64, 65})  // vectors of the smallest scores, full and nearly so
            CHECK(screened(X, Q, k, 1) == by_definition(x, q, 6, k));
    }
    set_simd_level(best);
}

TEST("counts within a radius agree between screening, panels, tree and definition") {
    for (Shape shape : {Shape::normal, Shape::grid}) {
        const auto x = draw(shape, 450, 4, 10), q = draw(shape, 31, 4, 11);
        const auto X = c_matrix(x.data(), 450, 4), Q = c_matrix(q.data(), 31, 4);
        const Found all = by_definition(x, q, 4, 450);
        const Index index(X);
        std::vector<double> panels(static_cast<std::size_t>(panel_count(450) * panel_lanes * 4));
        pack_panels(X, nullptr, panels.data(), 1);
        const KdTree tree = build_kd_tree(X, 1);
        const KdTreeView view = tree.view(X);
        for (double squared : {0.0, 1.0, 3.0, 100.0}) {
            std::vector<std::int64_t> expected(31, 0), counts(31);
            for (std::size_t i = 0; i < all.distances.size(); ++i) expected[i / 450] += all.distances[i] <= squared;
            count_euclidean(X, index.screen(), Q, squared, counts.data(), 2);
            CHECK(counts == expected);
            count_by_metric(Metric::euclidean, {}, panels.data(), 450, Q, squared, counts.data(), 2);
            CHECK(counts == expected);
            count_in_tree(view, Metric::euclidean, 2.0, Q, squared, counts.data(), 2);
            CHECK(counts == expected);
        }
    }
}

TEST("a tree whose links were changed is refused") {
    const auto x = draw(Shape::normal, 200, 2, 13);
    const Matrix<const double> X = c_matrix(x.data(), 200, 2);
    KdTree tree = build_kd_tree(X, 1);
    const auto formed = [&] { return well_formed(tree.view(X)); };
    CHECK(formed());
    const std::int32_t right = tree.right[0], column = tree.column[0];
    for (std::int32_t wrong : {-1, 0, 1, 1000000}) {
        tree.right[0] = wrong;
        CHECK(!formed());
    }
    tree.right[0] = right;
    for (std::int32_t wrong : {-1, 2}) {
        tree.column[0] = wrong;
        CHECK(!formed());
    }
    tree.column[0] = column;
    CHECK(formed());
    for (std::int32_t wrong : {-1, 200}) {
        tree.order[7] = wrong;
        CHECK(!formed());
    }
}

TEST("a query far outside the data is answered in float64") {
    const auto x = draw(Shape::normal, 100, 2, 12);
    const std::vector<double> q{1e12, -3e12, 1e300, 0.0};
    const auto X = c_matrix(x.data(), 100, 2), Q = c_matrix(q.data(), 2, 2);
    CHECK(screened(X, Q, 5, 1) == by_definition(x, q, 2, 5));
}

TEST("data whose differences leave the range of float32 screening are refused") {
    const std::vector<double> x{1e200, -1e200, 0.0};
    CHECK(!Index(c_matrix(x.data(), 3, 1)).scale.usable);
}

TEST("the mixed tree finds what the panels find, with ties, missing cells and unseen codes") {
    Random random(21);
    for (const index_t n : {index_t{1}, index_t{40}, index_t{1300}}) {
        for (const index_t d : {index_t{3}, index_t{14}}) {
            std::vector<double> x(static_cast<std::size_t>(n * d));
            std::vector<std::uint8_t> nominal(static_cast<std::size_t>(d));
            for (index_t j = 0; j < d; ++j) nominal[static_cast<std::size_t>(j)] = j % 2;
            for (index_t i = 0; i < n * d; ++i) {
                const double u = random.uniform();
                double& cell = x[static_cast<std::size_t>(i)];
                cell = i % d % 2 ? std::floor(u * 4.0) : (i % d == 0 ? std::floor(u * 5.0) / 4.0 : u);
                if (random.uniform() < 0.1) cell = __builtin_nan("");
            }
            std::vector<double> q(x.begin(), x.begin() + std::min<index_t>(n, 20) * d);
            for (std::size_t i = 1; i < q.size(); i += 5) q[i] = nominal[i % static_cast<std::size_t>(d)] ? -1.0 : 1.0;
            const Matrix<const double> X = c_matrix<const double>(x.data(), n, d),
                                       Q = c_matrix<const double>(q.data(), std::min<index_t>(n, 20), d);
            const index_t k = std::min<index_t>(n, 9);
            const auto size = static_cast<std::size_t>(Q.rows * k);
            Found tree_found{std::vector<std::int64_t>(size), std::vector<double>(size)}, found = tree_found;
            const MixedTree tree = build_mixed_tree(X, nominal.data(), 2);
            const MixedTreeView view{tree.order.data(), tree.right.data(), tree.panel.data(), tree.first_row.data(),
                                     tree.low.data(), tree.high.data(), tree.known.data(), tree.panels.data(),
                                     tree.base.data(), tree.unit.data(), tree.bytes.data(), tree.byte_block.data(),
                                     nominal.data(), static_cast<index_t>(tree.right.size()),
                                     static_cast<index_t>(tree.order.size()) / panel_lanes,
                                     static_cast<index_t>(tree.bytes.size()), d, n};
            CHECK(well_formed(view));
            nearest_in_mixed_tree(view, Q, k, tree_found.rows.data(), tree_found.distances.data(), 2);
            std::vector<double> panels(static_cast<std::size_t>(panel_count(n) * panel_lanes * d));
            pack_panels(X, nullptr, panels.data(), 1);
            MetricOptions options;
            options.nominal = nominal.data();
            nearest_by_metric(Metric::mixed, options, panels.data(), n, Q, k, found.rows.data(), found.distances.data(), 1);
            CHECK(tree_found == found);
        }
    }
}

TEST("radius lists of every search hold the rows that the counts count") {
    for (const Shape shape : {Shape::normal, Shape::grid, Shape::offset, Shape::copies}) {
        const index_t n = 700, m = 25, d = 3;
        const auto x = draw(shape, n, d, 31);
        const auto X = c_matrix<const double>(x.data(), n, d), Q = c_matrix<const double>(x.data(), m, d);
        const Index index(X);
        std::vector<double> panels(static_cast<std::size_t>(panel_count(n) * panel_lanes * d));
        pack_panels(X, nullptr, panels.data(), 1);
        const KdTree tree = build_kd_tree(X, 1);
        const KdTreeView view = tree.view(X);
        std::vector<std::int64_t> nearest(static_cast<std::size_t>(m * 40));
        std::vector<double> distances(nearest.size());
        nearest_by_metric(Metric::euclidean, {}, panels.data(), n, Q, 40, nearest.data(), distances.data(), 1);
        const double radius = distances[39];
        std::vector<std::int64_t> counts(static_cast<std::size_t>(m));
        count_by_metric(Metric::euclidean, {}, panels.data(), n, Q, radius, counts.data(), 1);
        const RadiusLists plain = within_by_metric(Metric::euclidean, {}, panels.data(), n, Q, radius, 2);
        const RadiusLists screened_lists = within_euclidean(X, index.screen(), Q, radius, 2);
        const RadiusLists tree_lists = within_in_tree(view, Metric::euclidean, 2.0, Q, radius, 2);
        for (index_t i = 0; i < m; ++i) {
            const auto at = static_cast<std::size_t>(i);
            CHECK(plain.start[at + 1] - plain.start[at] == counts[at]);
        }
        for (const RadiusLists* lists : {&screened_lists, &tree_lists})
            CHECK(lists->start == plain.start && lists->rows == plain.rows && lists->distances == plain.distances);
    }
}

TEST("sums of a kernel function are the sums of its matrix") {
    const index_t n = 130, m = 9, d = 4;
    const auto x = draw(Shape::normal, n, d, 41);
    const auto X = c_matrix<const double>(x.data(), n, d), Q = c_matrix<const double>(x.data(), m, d);
    std::vector<double> panels(static_cast<std::size_t>(panel_count(n) * panel_lanes * d)), gram(m * n), sums(m);
    pack_panels(X, nullptr, panels.data(), 1);
    for (const Metric metric : {Metric::euclidean, Metric::manhattan}) {
        kernel_gram(metric, {}, panels.data(), n, Q, 0.3, gram.data(), 2);
        kernel_sums(metric, {}, panels.data(), n, Q, 0.3, nullptr, sums.data(), 2);
        for (index_t i = 0; i < m; ++i) {
            double total = 0.0, reduced = 0.0;
            for (index_t r = 0; r < n; ++r) total += gram[static_cast<std::size_t>(i * n + r)];
            CHECK_NEAR(total, sums[static_cast<std::size_t>(i)], 1e-12 * total);
            CHECK(gram[static_cast<std::size_t>(i * n + i)] == 1.0);
            for (index_t j = 0; j < d; ++j) {
                const double gap = X(i, j) - X(m, j);
                reduced += metric == Metric::euclidean ? gap * gap : std::abs(gap);
            }
            CHECK_NEAR(gram[static_cast<std::size_t>(i * n + m)], std::exp(-0.3 * reduced), 1e-14);
        }
    }
}
