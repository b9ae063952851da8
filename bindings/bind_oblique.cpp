#include <nanobind/stl/optional.h>

#include <optional>

#include "assay/trees/linear_leaves.hpp"
#include "bindings.hpp"

namespace assay::bindings {

void bind_oblique(nb::module_& m) {
    m.def(
        "fit_linear_nodes",
        [](Array1<const std::int32_t> left, Array1<const std::int32_t> right, Array1<const std::int64_t> begin,
           Array1<const std::int64_t> end, Array1<const std::int32_t> tested, Array1<const std::uint8_t> stop,
           Array2<const double> cells, Array1<const double> y, std::optional<Array1<const double>> weights,
           bool all_columns, bool drop, bool prune, int threads) {
            const std::size_t n = left.shape(0), q = cells.shape(1);
            require(right.shape(0) == n && begin.shape(0) == n && end.shape(0) == n && tested.shape(0) == n &&
                        stop.shape(0) == n,
                    "fit_linear_nodes", "one value per node");
            require(y.shape(0) == cells.shape(0) && (!weights || weights->shape(0) == y.shape(0)) && y.shape(0) > 0,
                    "fit_linear_nodes", "one target and weight per row");
            const trees::NodeRows tree{view(left),  view(right),   begin.data(),
                                       end.data(),  tested.data(), stop.data()};
            auto made = without_gil([&] {
                return trees::fit_linear_nodes(tree, view(cells), y.data(), weights ? weights->data() : nullptr,
                                               all_columns, drop, prune, threads);
            });
            nb::dict result;
            result["intercept"] = own(std::move(made.intercept));
            result["residual"] = own(std::move(made.residual));
            result["parameters"] = own(std::move(made.parameters));
            result["coefficient"] = own(std::move(made.coefficient), n, q);
            result["mean"] = own(std::move(made.mean), n, q);
            result["deviation"] = own(std::move(made.deviation), n, q);
            result["leaf"] = own(std::move(made.leaf));
            return result;
        },
        "left"_a, "right"_a, "begin"_a, "end"_a, "tested"_a, "stop"_a, "cells"_a, "y"_a, "weights"_a.none(),
        "all_columns"_a, "drop"_a, "prune"_a, "threads"_a,
        "Linear models in the nodes of a tree whose rows are sorted by leaf, and the leaves that pruning leaves.");
    m.def(
        "linear_leaf_values",
        [](Array1<const std::int32_t> leaf, Array1<const double> intercept, Array2<const double> coefficient,
           Array2<const double> fill, Array1<const std::int32_t> columns, Array2<const double> cells, int threads) {
            require(leaf.shape(0) == cells.shape(0), "linear_leaf_values", "one leaf per row");
            require(coefficient.shape(1) == columns.shape(0) && fill.shape(1) == columns.shape(0) &&
                        coefficient.shape(0) == intercept.shape(0) && fill.shape(0) == intercept.shape(0),
                    "linear_leaf_values", "one coefficient and fill per node and column");
            std::vector<double> value(leaf.shape(0));
            without_gil([&] {
                trees::linear_leaf_values(view(leaf), intercept.data(), view(coefficient), view(fill), view(columns),
                                          view(cells), {value.data(), static_cast<index_t>(value.size()), 1}, threads);
            });
            return own(std::move(value));
        },
        "leaf"_a, "intercept"_a, "coefficient"_a, "fill"_a, "columns"_a, "cells"_a.noconvert(), "threads"_a,
        "The value of the linear model of each row's leaf.");
}

}  // namespace assay::bindings
