// A grown binary tree as the arrays that Python keeps.
#pragma once

#include "assay/trees/cart.hpp"
#include "bindings.hpp"

namespace assay::bindings {

inline nb::dict tree_arrays(trees::Tree& tree, std::size_t n_columns, bool trace) {
    const std::size_t n = tree.feature.size(), width = static_cast<std::size_t>(tree.width);
    nb::dict result;
    put(result, "feature", tree.feature, "left", tree.left, "right", tree.right, "threshold", tree.threshold,
        "categories", tree.categories, "words", tree.words, "missing_left", tree.missing_left, "impurity",
        tree.impurity, "rows", tree.rows, "weight", tree.weight);
    result["value"] = own(std::move(tree.value), n, width);
    if (trace) result["gains"] = own(std::move(tree.gains), n, n_columns);
    return result;
}

}  // namespace assay::bindings
