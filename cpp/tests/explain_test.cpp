#include "assay/explain/balanced_orders.hpp"
#include "assay/explain/replaced_cells.hpp"
#include "assay/explain/tree_shap.hpp"

#include <limits>

#include "check.hpp"

using namespace assay;

namespace {

// 80 if both columns are above a half, else 0; four rows, one in each corner.
struct And : trees::Forest {
    std::vector<std::int32_t> n_categories{0, 0};
    std::vector<double> cover{4, 2, 2, 1, 1};

    And() {
        offsets = {0, 5};
        feature = {0, -1, 1, -1, -1};
        left = {1, -1, 3, -1, -1};
        right = {2, -1, 4, -1, -1};
        threshold = {0.5, 0, 0.5, 0, 0};
        categories.assign(5, -1);
        missing_left.assign(5, 0);
        value = {0, 0, 0, 0, 80};
    }
    trees::ForestView view() const { return trees::view_of(*this, n_categories.data()); }
};

}  // namespace

TEST("the and of two columns is shared alike, by cover and by background, with and without tables") {
    const And tree;
    const std::vector<double> corners{0, 0, 0, 1, 1, 0, 1, 1};
    std::vector<double> many;
    for (int k = 0; k < 700; ++k) many.insert(many.end(), {1.0, 1.0});
    const Matrix<const double> background = c_matrix(corners.data(), 4, 2);
    for (const index_t rows : {index_t{1}, index_t{700}})
        for (const bool against : {false, true}) {
            explain::ShapTask task;
            task.cover = tree.cover.data();
            task.cells = c_matrix(static_cast<const double*>(many.data()), rows, 2);
            if (against) task.background = &background;
            task.interactions = true;
            task.threads = 2;
            const auto found = explain::tree_shap(tree.view(), task);
            const auto last = static_cast<std::size_t>(rows - 1), n = static_cast<std::size_t>(rows);
            CHECK_NEAR(found.base[0], 20.0, 1e-12);
            CHECK_NEAR(found.values[last], 30.0, 1e-12);
            CHECK_NEAR(found.values[n + last], 30.0, 1e-12);
            CHECK_NEAR(found.interactions[n + last], 10.0, 1e-12);
            CHECK_NEAR(found.interactions[last], 20.0, 1e-12);
        }
}

TEST("replaced cells: each alternative has the output of the changed row") {
    const And tree;
    const std::vector<double> cells{1, 1, 0, 1}, source{0, 0, 1, 1};
    const std::vector<std::int32_t> group{0, 1}, donors{0, 1, 1, 0, 0, 0, 1, 1};  // (2 groups x 2) x 2 rows
    explain::Replacements what;
    what.cells = c_matrix(cells.data(), 2, 2);
    what.source = c_matrix(source.data(), 2, 2);
    what.group = group.data();
    what.groups = 2;
    what.alternatives = 2;
    what.donors = c_matrix(donors.data(), 4, 2);
    std::vector<double> sums(8);
    explain::replaced_sums(tree.view(), what, sums.data());
    // First column from rows 0 and 1, then 1 and 0; second column from row 0 for both, then from row 1.
    const std::vector<double> expected{0, 80, 80, 0, 0, 0, 80, 0};
    for (std::size_t k = 0; k < expected.size(); ++k) CHECK_NEAR(sums[k], expected[k], 0.0);
    what.donors = c_matrix(donors.data(), 4, 1);
    explain::replaced_sums(tree.view(), what, sums.data());
    CHECK_NEAR(sums[0], 0.0, 0.0);
}

TEST("replaced cells: a chain of more tests than short codes can number, with donors for all rows and for each") {
    const std::int32_t inner = 66000;
    const auto nodes = static_cast<std::size_t>(2 * inner + 1);
    const std::vector<std::int32_t> n_categories{0, 0};
    trees::Forest chain;
    chain.offsets = {0, 2 * inner + 1};
    for (auto* list : {&chain.feature, &chain.left, &chain.right}) list->assign(nodes, -1);
    for (auto* list : {&chain.threshold, &chain.value}) list->assign(nodes, 0.0);
    chain.categories.assign(nodes, -1);
    chain.missing_left.assign(nodes, 0);
    for (std::int32_t i = 0; i < inner; ++i) {
        const auto at = static_cast<std::size_t>(2 * i);
        chain.feature[at] = i % 3 == 0 ? 0 : 1;  // up to i, the leaf beside it holds i
        chain.threshold[at] = i;
        chain.left[at] = 2 * i + 1;
        chain.right[at] = 2 * i + 2;
        chain.value[at + 1] = i;
        chain.missing_left[at] = i == 999;
    }
    chain.value.back() = inner;
    const double none = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> cells{100, 65000, 7e4, 7e4, none, 30000, 5, 2}, source{10, 10, 65998.5, 65998.5, none, none};
    const auto output = [&](double a, double b) {
        for (std::int32_t i = 0; i < inner; ++i) {
            const double x = i % 3 == 0 ? a : b;
            if (x <= i || (i == 999 && x != x)) return static_cast<double>(i);
        }
        return static_cast<double>(inner);
    };
    const std::vector<std::int32_t> group{0, 1}, for_all{0, 1, 2, 2, 1, 0};
    std::vector<std::int32_t> for_each;
    for (const auto k : for_all) for_each.insert(for_each.end(), 4, k);
    for (const bool shared : {true, false}) {
        explain::Replacements what;
        what.cells = c_matrix(cells.data(), 4, 2);
        what.source = c_matrix(source.data(), 3, 2);
        what.group = group.data();
        what.groups = 2;
        what.alternatives = 3;
        what.donors = shared ? c_matrix(for_all.data(), 6, 1) : c_matrix(static_cast<const std::int32_t*>(for_each.data()), 6, 4);
        std::vector<double> sums(24);
        explain::replaced_sums(trees::view_of(chain, n_categories.data()), what, sums.data());
        for (std::size_t g = 0; g < 2; ++g)
            for (std::size_t k = 0; k < 3; ++k)
                for (std::size_t i = 0; i < 4; ++i) {
                    const double x = source[static_cast<std::size_t>(for_all[3 * g + k]) * 2 + g];
                    const double expected = g == 0 ? output(x, cells[2 * i + 1]) : output(cells[2 * i], x);
                    CHECK_NEAR(sums[(3 * g + k) * 4 + i], expected, 0.0);
                }
    }
}

TEST("preorder: left sides first, and no tree where children meet") {
    const std::vector<std::int32_t> left{2, -1, 3, -1, -1}, right{1, -1, 4, -1, -1};
    const auto of = [](const std::vector<std::int32_t>& of_nodes) { return Vector<const std::int32_t>{of_nodes.data(), 5, 1}; };
    CHECK((explain::preorder(of(left), of(right)) == std::vector<std::int32_t>{0, 2, 3, 4, 1}));
    const std::vector<std::int32_t> round{0, -1, 3, -1, -1}, out{5, -1, 3, -1, -1};
    CHECK(explain::preorder(of(round), of(right)).empty());
    CHECK(explain::preorder(of(out), of(right)).empty());
}

namespace {

// Sum over triples and their members of (orders in which the member is between the others)^2.
double imbalance(const std::vector<std::int32_t>& ranks, index_t count, index_t m) {
    double total = 0.0;
    for (index_t a = 0; a < m; ++a)
        for (index_t b = a + 1; b < m; ++b)
            for (index_t c = b + 1; c < m; ++c) {
                double between[3] = {0, 0, 0};
                for (index_t r = 0; r < count; ++r) {
                    const std::int32_t* rank = ranks.data() + r * m;
                    const index_t members[3] = {a, b, c};
                    for (int k = 0; k < 3; ++k) {
                        const std::int32_t own = rank[members[k]], one = rank[members[(k + 1) % 3]], other = rank[members[(k + 2) % 3]];
                        between[k] += (one < own) != (other < own);
                    }
                }
                for (const double times : between) total += times * times;
            }
    return total;
}

}  // namespace

TEST("balanced orders: each of three players is between the others about equally often") {
    for (const index_t m : {3, 4, 12}) {
        const index_t count = 9;
        const auto random = explain::balanced_orders(count, m, 0, 5), better = explain::balanced_orders(count, m, 20000, 5);
        for (index_t r = 0; r < count; ++r) {
            std::vector<int> seen(static_cast<std::size_t>(m), 0);
            for (index_t p = 0; p < m; ++p) ++seen[static_cast<std::size_t>(better[static_cast<std::size_t>(r * m + p)])];
            for (const int times : seen) CHECK_NEAR(times, 1.0, 0.0);
        }
        const double triples = static_cast<double>(m * (m - 1) * (m - 2)) / 6.0, least = 27.0 * triples;
        const double before = imbalance(random, count, m) - least, after = imbalance(better, count, m) - least;
        CHECK_NEAR(after < 0.6 * before + 1e-9, 1.0, 0.0);
        if (m == 3) CHECK_NEAR(after, 0.0, 0.0);
    }
}
