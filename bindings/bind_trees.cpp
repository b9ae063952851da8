#include "assay/trees/cart.hpp"
#include "assay/trees/linear_splits.hpp"
#include "coded_columns.hpp"
#include "tree_arrays.hpp"

namespace assay::bindings {
namespace {

using trees::CartOptions;
using trees::CartTarget;

template <class T>
const T* data_or_null(const std::optional<Array1<const T>>& array) {
    return array ? array->data() : nullptr;
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def(
        "grow_cart",
        [](Cells cells, Order order, Array1<const std::int32_t> rows, ColumnCounts n_categories, Renamed renamed,
           RenamedFirst renamed_first,
           std::optional<Array1<const std::int32_t>> labels, int n_classes, std::optional<Array2<const double>> y,
           std::optional<Array1<const double>> weights, std::optional<Array1<const double>> repeats, int criterion,
           index_t max_depth, double min_split, double min_leaf, double min_weight_leaf, index_t max_leaf_nodes,
           double min_decrease, index_t max_features, std::uint64_t key, bool trace, int threads) {
            const std::size_t n = rows.shape(0), d = cells.shape(1);
            require(labels.has_value() != y.has_value(), "grow_cart", "give labels or y");
            require((labels ? labels->shape(0) : y->shape(0)) == n, "grow_cart", "one target per row");
            require(!weights || weights->shape(0) == n, "grow_cart", "one weight per row");
            require(!repeats || repeats->shape(0) == n, "grow_cart", "one repeat per row");
            require(criterion >= 0 && criterion < 6 && (criterion < 3) == labels.has_value(), "grow_cart",
                    "criterion must fit the target");
            const auto columns = coded_columns(cells, order, rows, n_categories, renamed, renamed_first, "grow_cart");
            const CartTarget target{data_or_null(labels), n_classes, y ? y->data() : nullptr,
                                    y ? static_cast<index_t>(y->shape(1)) : 1, data_or_null(weights),
                                    data_or_null(repeats)};
            const CartOptions options{static_cast<trees::Criterion>(criterion), max_depth, min_split, min_leaf,
                                      min_weight_leaf, max_leaf_nodes, min_decrease, max_features, key, trace, threads};
            auto tree = without_gil([&] { return trees::grow_cart(columns, order.data(), view(rows), target, options); });
            return tree_arrays(tree, d, trace);
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "rows"_a, "n_categories"_a, "renamed"_a.none(), "renamed_first"_a.none(), "labels"_a.none(), "n_classes"_a,
        "y"_a.none(), "weights"_a.none(), "repeats"_a.none(), "criterion"_a, "max_depth"_a, "min_split"_a, "min_leaf"_a,
        "min_weight_leaf"_a, "max_leaf_nodes"_a, "min_decrease"_a, "max_features"_a, "key"_a, "trace"_a, "threads"_a,
        "Grow a classification or regression tree on sorted columns, which it uses up; returns its arrays in preorder.");
    m.def(
        "grow_second_order",
        [](Cells cells, Order order, Array1<const std::int32_t> rows, ColumnCounts n_categories, Renamed renamed,
           RenamedFirst renamed_first, Array1<const double> gradients,
           Array1<const double> hessians, index_t max_depth, double min_leaf, double min_child_weight,
           index_t max_leaf_nodes, double min_gain, double l2, double l1, bool trace, int threads) {
            const std::size_t n = rows.shape(0), d = cells.shape(1);
            require(gradients.shape(0) == n && hessians.shape(0) == n, "grow_second_order",
                    "one gradient and one hessian per row");
            require(l2 >= 0 && l1 >= 0, "grow_second_order", "penalties must not be negative");
            const auto columns = coded_columns(cells, order, rows, n_categories, renamed, renamed_first, "grow_second_order");
            CartTarget target;
            target.gradients = gradients.data();
            target.hessians = hessians.data();
            CartOptions options;
            options.criterion = trees::Criterion::second_order;
            options.max_depth = max_depth;
            options.min_leaf = min_leaf;
            options.min_weight_leaf = min_child_weight;
            options.max_leaf_nodes = max_leaf_nodes;
            options.min_decrease = min_gain;
            options.l2 = l2;
            options.l1 = l1;
            options.trace = trace;
            options.threads = threads;
            auto tree = without_gil([&] { return trees::grow_cart(columns, order.data(), view(rows), target, options); });
            return tree_arrays(tree, d, trace);
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "rows"_a, "n_categories"_a, "renamed"_a.none(), "renamed_first"_a.none(), "gradients"_a, "hessians"_a,
        "max_depth"_a, "min_leaf"_a, "min_child_weight"_a, "max_leaf_nodes"_a, "min_gain"_a, "l2"_a, "l1"_a, "trace"_a,
        "threads"_a, "Grow a tree on gradients and hessians, for boosting; returns its arrays in preorder.");
    m.def(
        "grow_by_planes",
        [](Cells cells, Order order, Array1<const std::int32_t> rows, ColumnCounts n_categories, Renamed renamed,
           RenamedFirst renamed_first, Array1<const double> y, std::optional<Array1<const double>> weights,
           std::optional<Array1<const double>> repeats, index_t max_depth, double min_split, double min_leaf, int threads) {
            const std::size_t n = rows.shape(0);
            require(y.shape(0) == n && (!weights || weights->shape(0) == n) && (!repeats || repeats->shape(0) == n),
                    "grow_by_planes", "one target, weight and repeat per row");
            const auto columns = coded_columns(cells, order, rows, n_categories, renamed, renamed_first, "grow_by_planes");
            trees::CartTarget target;
            target.y = y.data();
            target.weights = data_or_null(weights);
            target.repeats = data_or_null(repeats);
            auto tree = without_gil([&] {
                return trees::grow_by_planes(columns, order.data(), view(rows), target, {max_depth, min_split, min_leaf, threads});
            });
            return tree_arrays(tree, cells.shape(1), false);
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "rows"_a, "n_categories"_a, "renamed"_a.none(), "renamed_first"_a.none(),
        "y"_a, "weights"_a.none(), "repeats"_a.none(), "max_depth"_a, "min_split"_a, "min_leaf"_a, "threads"_a,
        "Grow a regression tree by the error of linear models on both sides of a split; returns its arrays in preorder.");
    m.def("least_rows_to_split", &trees::least_rows_to_split, "columns"_a,
          "Fewer rows than this are not split by linear models of that many columns.");
    m.def(
        "apply_tree",
        [](Array1<const std::int32_t> feature, Array1<const std::int32_t> left, Array1<const std::int32_t> right,
           Array1<const double> threshold, Array1<const std::int64_t> categories, Array1<const std::uint64_t> words,
           Array1<const std::uint8_t> missing_left, Array1<const std::int32_t> n_categories, Array2<const double> cells,
           int threads) {
            require(cells.shape(1) == n_categories.shape(0), "apply_tree", "one column per n_categories");
            std::vector<std::int32_t> leaf(cells.shape(0));
            const trees::TreeView tree{view(feature), view(left), view(right), threshold.data(), categories.data(),
                                       view(words), missing_left.data(), n_categories.data()};
            without_gil([&] {
                trees::apply_tree(tree, view(cells), {leaf.data(), static_cast<index_t>(leaf.size()), 1}, threads);
            });
            return own(std::move(leaf));
        },
        "feature"_a, "left"_a, "right"_a, "threshold"_a, "categories"_a, "words"_a, "missing_left"_a, "n_categories"_a,
        "cells"_a.noconvert(), "threads"_a, "The leaf that each row reaches.");
    m.def(
        "weakest_links",
        [](Array1<const std::int32_t> parent, Array1<const double> risk) {
            require(parent.shape(0) > 0 && parent.shape(0) == risk.shape(0), "weakest_links", "one value per node");
            auto path = without_gil([&] { return trees::weakest_links(view(parent), risk.data()); });
            return nb::make_tuple(own(std::move(path.alphas)), own(std::move(path.impurities)),
                                  own(std::move(path.cut_at)));
        },
        "parent"_a, "risk"_a,
        "Weakest-link pruning: effective alphas, total risks, and the alpha from which each node is a leaf.");
}

}  // namespace assay::bindings
