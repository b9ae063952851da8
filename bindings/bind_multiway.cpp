#include "assay/trees/multiway.hpp"
#include "coded_columns.hpp"

namespace assay::bindings {
namespace {

trees::MultiwayView multiway_view(const Array1<const std::int32_t>& feature, const Array1<const std::int32_t>& left,
                                  const Array1<const std::int32_t>& right, const Array1<const double>& threshold,
                                  const Array1<const std::int64_t>& branch, const Array1<const std::int32_t>& branches,
                                  const Array1<const std::uint8_t>& missing_left,
                                  const Array1<const std::int32_t>& n_categories, const Array2<const double>& cells) {
    const std::size_t n = feature.shape(0);
    require(left.shape(0) == n && right.shape(0) == n && threshold.shape(0) == n && branch.shape(0) == n &&
                missing_left.shape(0) == n,
            "multiway tree", "one value per node");
    require(cells.shape(1) == n_categories.shape(0), "multiway tree", "one column per n_categories");
    trees::MultiwayView tree;
    tree.feature = view(feature);
    tree.left = left.data();
    tree.right = right.data();
    tree.threshold = threshold.data();
    tree.branch = branch.data();
    tree.branches = view(branches);
    tree.missing_left = missing_left.data();
    tree.n_categories = n_categories.data();
    return tree;
}

nb::dict to_dict(trees::MultiwayTree&& tree, std::size_t n_classes, std::size_t n_columns, bool trace) {
    const std::size_t n = tree.feature.size();
    nb::dict result;
    put(result, "feature", tree.feature, "left", tree.left, "right", tree.right, "threshold", tree.threshold, "branch",
        tree.branch, "branches", tree.branches, "missing_left", tree.missing_left, "impurity", tree.impurity, "rows",
        tree.rows, "weight", tree.weight);
    result["value"] = own(std::move(tree.value), n, n_classes);
    if (trace) result["table"] = own(std::move(tree.table), n, n_columns * 4);
    return result;
}

}  // namespace

void bind_multiway(nb::module_& m) {
    m.def(
        "grow_multiway",
        [](Cells cells, Order order, Array1<const std::int32_t> rows, ColumnCounts n_categories, Renamed renamed,
           RenamedFirst renamed_first, Array1<const std::int32_t> labels,
           int n_classes, std::optional<Array1<const double>> weights, bool gini, bool by_ratio, bool threshold_cost,
           bool large_branches, bool positive_gain, index_t max_depth, double min_split, double min_leaf,
           double min_decrease, bool trace, int threads) {
            const std::size_t n = rows.shape(0), d = cells.shape(1);
            require(labels.shape(0) == n, "grow_multiway", "one label per row");
            require(!weights || weights->shape(0) == n, "grow_multiway", "one weight per row");
            const auto columns = coded_columns(cells, order, rows, n_categories, renamed, renamed_first, "grow_multiway");
            trees::CartTarget target;
            target.labels = labels.data();
            target.n_classes = n_classes;
            target.weights = weights ? weights->data() : nullptr;
            const trees::MultiwayOptions options{gini,      by_ratio, threshold_cost, large_branches, positive_gain,
                                                 max_depth, min_split, min_leaf,       min_decrease,   trace, threads};
            auto tree = without_gil([&] { return trees::grow_multiway(columns, order.data(), view(rows), target, options); });
            return to_dict(std::move(tree), static_cast<std::size_t>(n_classes), d, trace);
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "rows"_a, "n_categories"_a, "renamed"_a.none(),
        "renamed_first"_a.none(), "labels"_a, "n_classes"_a,
        "weights"_a.none(), "gini"_a, "by_ratio"_a, "threshold_cost"_a, "large_branches"_a, "positive_gain"_a,
        "max_depth"_a, "min_split"_a, "min_leaf"_a, "min_decrease"_a, "trace"_a, "threads"_a,
        "Grow a classification tree with a branch per category and fractional rows; its arrays in preorder.");
    m.def(
        "apply_multiway",
        [](Array1<const std::int32_t> feature, Array1<const std::int32_t> left, Array1<const std::int32_t> right,
           Array1<const double> threshold, Array1<const std::int64_t> branch, Array1<const std::int32_t> branches,
           Array1<const std::uint8_t> missing_left, Array1<const std::int32_t> n_categories, Array2<const double> cells,
           int threads) {
            const auto tree =
                multiway_view(feature, left, right, threshold, branch, branches, missing_left, n_categories, cells);
            std::vector<std::int32_t> leaf(cells.shape(0));
            without_gil([&] {
                trees::apply_multiway(tree, view(cells), {leaf.data(), static_cast<index_t>(leaf.size()), 1}, threads);
            });
            return own(std::move(leaf));
        },
        "feature"_a, "left"_a, "right"_a, "threshold"_a, "branch"_a, "branches"_a, "missing_left"_a, "n_categories"_a,
        "cells"_a.noconvert(), "threads"_a, "The leaf that each row reaches; the heaviest branch where a cell is missing.");
    m.def(
        "multiway_shares",
        [](Array1<const std::int32_t> feature, Array1<const std::int32_t> left, Array1<const std::int32_t> right,
           Array1<const double> threshold, Array1<const std::int64_t> branch, Array1<const std::int32_t> branches,
           Array1<const std::uint8_t> missing_left, Array1<const std::int32_t> n_categories,
           Array1<const double> weight, Array2<const double> value, Array2<const double> cells, int threads) {
            auto tree =
                multiway_view(feature, left, right, threshold, branch, branches, missing_left, n_categories, cells);
            require(weight.shape(0) == feature.shape(0) && value.shape(0) == feature.shape(0), "multiway_shares",
                    "one value per node");
            tree.weight = weight.data();
            tree.value = value.data();
            tree.n_classes = static_cast<index_t>(value.shape(1));
            std::vector<double> shares(cells.shape(0) * value.shape(1));
            without_gil([&] {
                trees::multiway_shares(
                    tree, view(cells),
                    c_matrix(shares.data(), static_cast<index_t>(cells.shape(0)), tree.n_classes), threads);
            });
            return own(std::move(shares), cells.shape(0), value.shape(1));
        },
        "feature"_a, "left"_a, "right"_a, "threshold"_a, "branch"_a, "branches"_a, "missing_left"_a, "n_categories"_a,
        "weight"_a, "value"_a, "cells"_a.noconvert(), "threads"_a,
        "Class shares of each row; where a tested cell is missing, the mean over the branches by weight.");
}

}  // namespace assay::bindings
