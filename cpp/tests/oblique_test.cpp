#include "assay/trees/oblique.hpp"

#include <cmath>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/tables/coded_columns.hpp"
#include "assay/trees/linear_leaves.hpp"
#include "check.hpp"
#include "labelled_table.hpp"

using namespace assay;
using trees::Direction;

namespace {

const std::vector<std::int32_t> numeric_columns{0, 1, 2};

// Three numeric columns; the label says whether the second exceeds the first, with some noise if asked.
Table comparison(index_t n, bool noise, bool missing) {
    Table t{n, 3, {}, {0, 0, 0}, {}, {}};
    Random random(7);
    for (index_t i = 0; i < n; ++i) {
        const double a = random.normal(), b = random.normal();
        t.cells.insert(t.cells.end(), {a, b, random.normal()});
        t.labels.push_back((b - a > 0) != (noise && random.below(10) == 0));
    }
    t.finish(random, missing);
    return t;
}

trees::Tree grow(const Table& t, Direction direction, int threads, index_t max_depth = -1) {
    const auto columns = t.columns();
    auto order = t.order();
    const auto target = t.target(2);
    trees::ObliqueOptions oblique;
    oblique.n_columns = t.d;
    oblique.columns = numeric_columns.data();
    oblique.direction = direction;
    oblique.restarts = 3;
    oblique.key = 11;
    trees::CartOptions options;
    options.max_depth = max_depth;
    options.threads = threads;
    options.oblique = &oblique;
    return trees::grow_cart(columns, order.data(), {t.rows.data(), t.n, 1}, target, options);
}

}  // namespace

TEST("a comparison of two columns is one linear test") {
    const Table t = comparison(500, false, false);
    for (const Direction direction : {Direction::lda, Direction::logistic, Direction::coordinate}) {
        const trees::Tree tree = grow(t, direction, 1);
        CHECK(tree.feature.size() == 3);
        CHECK(tree.linear[0] == 0 && tree.linear[1] == -1 && tree.linear[2] == -1);
        CHECK(tree.impurity[1] == 0 && tree.impurity[2] == 0);
    }
}

TEST("linear tests do not depend on the number of threads") {
    const Table t = comparison(20000, true, true);
    for (const Direction direction : {Direction::lda, Direction::logistic, Direction::coordinate}) {
        const trees::Tree one = grow(t, direction, 1, 4), three = grow(t, direction, 3, 4);
        CHECK(one.feature == three.feature && one.threshold == three.threshold);
        CHECK(one.linear_weight == three.linear_weight && one.linear_fill == three.linear_fill);
    }
}

TEST("rows reach the leaves that counted them") {
    const Table t = comparison(2000, true, true);
    const trees::Tree tree = grow(t, Direction::lda, 1);
    const auto nodes = static_cast<index_t>(tree.feature.size());
    const trees::TreeView view{{tree.feature.data(), nodes, 1},
                               {tree.left.data(), nodes, 1},
                               {tree.right.data(), nodes, 1},
                               tree.threshold.data(),
                               tree.categories.data(),
                               {tree.words.data(), static_cast<index_t>(tree.words.size()), 1},
                               tree.missing_left.data(),
                               t.n_categories.data()};
    const auto tests = static_cast<index_t>(tree.linear_weight.size()) / t.d;
    const trees::LinearTests linear{tree.linear.data(), c_matrix(tree.linear_weight.data(), tests, t.d),
                                    c_matrix(tree.linear_fill.data(), tests, t.d), {numeric_columns.data(), t.d, 1}};
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(t.n));
    trees::apply_oblique(view, linear, c_matrix(t.cells.data(), t.n, t.d), {leaf.data(), t.n, 1}, 2);
    std::vector<double> counted(tree.feature.size(), 0);
    for (const std::int32_t at : leaf) ++counted[static_cast<std::size_t>(at)];
    for (std::size_t i = 0; i < counted.size(); ++i)
        if (tree.feature[i] < 0) CHECK(counted[i] == tree.rows[i]);
}

TEST("two lines are fitted exactly and their split is kept") {
    // Rows 0..4 on y = 1 + 2x, rows 5..9 on y = 50 - x; one split between them.
    std::vector<double> x, y;
    for (int i = 0; i < 10; ++i) {
        x.push_back(i);
        y.push_back(i < 5 ? 1 + 2 * i : 50 - i);
    }
    const std::int32_t left[] = {1, -1, -1}, right[] = {2, -1, -1}, tested[] = {0, -1, -1};
    const std::int64_t begin[] = {0, 0, 5}, end[] = {10, 5, 10};
    const std::uint8_t stop[] = {0, 0, 0};
    const trees::NodeRows tree{{left, 3, 1}, {right, 3, 1}, begin, end, tested, stop};
    const std::int32_t columns[] = {0}, order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const trees::LeafRows rows{c_matrix<const double>(x.data(), 10, 1), {columns, 1, 1}, {order, 10, 1}, y.data(), nullptr};
    for (const int threads : {1, 2}) {
        const auto made = trees::fit_linear_nodes(tree, rows, {true, true, true, false}, threads);
        CHECK(made.kept == std::vector<std::int32_t>({0, 1, 2}));
        CHECK(made.leaf[0] == 0 && made.leaf[1] == 1 && made.leaf[2] == 1);
        CHECK(std::abs(made.coefficient[1] - 2) < 1e-12 && std::abs(made.coefficient[2] + 1) < 1e-12);
        CHECK(std::abs(made.intercept[1] - 1) < 1e-12 && std::abs(made.intercept[2] - 50) < 1e-12);
        CHECK(made.parameters[0] == 2);
        CHECK(made.residual[1] < 1e-10 && made.residual[2] < 1e-10);
    }
}

TEST("a missing cell counts as the fill of the leaf") {
    const std::int32_t leaf[] = {1, 0}, columns[] = {1};
    const double intercept[] = {1, 10}, coefficient[] = {2, 3}, fill[] = {5, 7};
    const double cells[] = {0, 4, 0, std::nan("")};
    double value[2];
    trees::linear_leaf_values({leaf, 2, 1}, intercept, c_matrix(coefficient, 2, 1), c_matrix(fill, 2, 1), {columns, 1, 1},
                              c_matrix(cells, 2, 2), {value, 2, 1}, 1);
    CHECK(value[0] == 22 && value[1] == 11);
}
