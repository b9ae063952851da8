#include "assay/trees/multiway.hpp"

#include <cmath>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/tables/coded_columns.hpp"
#include "check.hpp"
#include "labelled_table.hpp"

using namespace assay;
using trees::MultiwayOptions;
using trees::MultiwayTree;

namespace {

// Two numeric columns, then two nominal ones of 4 categories; one cell in ten is missing if asked.
Table noise(index_t n, bool missing) {
    Table t{n, 4, {}, {0, 0, 4, 4}, {}, {}};
    Random random(5);
    for (index_t i = 0; i < n; ++i) {
        const double x = std::round(random.normal() * 20);
        const auto colour = static_cast<double>(random.below(4));
        t.cells.insert(t.cells.end(), {x, random.normal(), colour, static_cast<double>(random.below(4))});
        t.labels.push_back(random.below(5) == 0 ? 2 : (x > 0) != (colour == 1));
    }
    t.finish(random, missing);
    return t;
}

MultiwayTree grow(const Table& t, const MultiwayOptions& options) {
    return trees::grow_multiway(t.columns(), t.order().data(), {t.rows.data(), t.n, 1}, t.target(3), options);
}

trees::MultiwayView view_of(const MultiwayTree& tree, const Table& t) {
    const auto n = static_cast<index_t>(tree.feature.size());
    trees::MultiwayView view;
    view.feature = {tree.feature.data(), n, 1};
    view.left = tree.left.data();
    view.right = tree.right.data();
    view.threshold = tree.threshold.data();
    view.branch = tree.branch.data();
    view.branches = {tree.branches.data(), static_cast<index_t>(tree.branches.size()), 1};
    view.missing_left = tree.missing_left.data();
    view.n_categories = t.n_categories.data();
    view.weight = tree.weight.data();
    view.value = tree.value.data();
    view.n_classes = 3;
    return view;
}

}  // namespace

TEST("multiway tree is the same for any number of threads") {
    const Table t = noise(9000, true);
    for (const bool gini : {false, true}) {
        MultiwayOptions options;
        options.gini = gini;
        options.by_ratio = !gini;
        const MultiwayTree one = grow(t, options);
        options.threads = 3;
        const MultiwayTree three = grow(t, options);
        CHECK(one.feature == three.feature);
        CHECK(one.threshold == three.threshold);
        CHECK(one.branches == three.branches);
        CHECK(one.value == three.value);
        CHECK(one.feature.size() > 20);
    }
}

TEST("multiway leaves hold the weight of all rows") {
    for (const bool missing : {false, true}) {
        const MultiwayTree tree = grow(noise(3000, missing), {});
        double total = 0;
        for (std::size_t i = 0; i < tree.feature.size(); ++i)
            if (tree.feature[i] < 0) total += tree.weight[i];
        CHECK_NEAR(total, 3000.0, 1e-6);
    }
}

TEST("multiway shares of a whole row are those of its leaf") {
    const Table t = noise(500, false);
    const MultiwayTree tree = grow(t, {});
    const auto view = view_of(tree, t);
    std::vector<std::int32_t> leaf(500);
    std::vector<double> shares(1500);
    trees::apply_multiway(view, c_matrix(t.cells.data(), t.n, t.d), {leaf.data(), 500, 1}, 2);
    trees::multiway_shares(view, c_matrix(t.cells.data(), t.n, t.d), c_matrix(shares.data(), 500, 3), 2);
    for (std::size_t i = 0; i < 500; ++i)
        for (std::size_t k = 0; k < 3; ++k)
            CHECK(shares[i * 3 + k] == tree.value[static_cast<std::size_t>(leaf[i]) * 3 + k]);
}

TEST("multiway shares of a row without cells are those of all rows") {
    const Table t = noise(500, false);
    const MultiwayTree tree = grow(t, {});
    const std::vector<double> nothing(4, std::nan(""));
    std::vector<double> shares(3);
    trees::multiway_shares(view_of(tree, t), c_matrix(nothing.data(), 1, 4), c_matrix(shares.data(), 1, 3), 1);
    for (std::size_t k = 0; k < 3; ++k) CHECK_NEAR(shares[k], tree.value[k], 1e-9);
}

TEST("multiway split table is kept on request") {
    MultiwayOptions options;
    options.trace = true;
    const MultiwayTree tree = grow(noise(300, true), options);
    CHECK(tree.table.size() == tree.feature.size() * 16);
    const double* root = tree.table.data() + static_cast<index_t>(tree.feature[0]) * 4;
    CHECK_NEAR(root[2], root[0] / root[1], 1e-12);
}
