// A k-d tree from arrays, which may come from a file.
#pragma once

#include "assay/neighbours/kd_tree.hpp"
#include "bindings.hpp"

namespace assay::bindings {

inline neighbours::KdTreeView checked_tree(const char* kernel, const Array1<const std::int32_t>& order,
                                           const Array1<const std::int32_t>& column, const Array1<const std::int32_t>& right,
                                           const Array1<const double>& low, const Array1<const double>& high,
                                           const Array2<const double>& rows) {
    require(order.shape(0) > 0 && column.shape(0) > 0, kernel, "the tree must not be empty");
    require(right.shape(0) == column.shape(0) && low.shape(0) == column.shape(0) && high.shape(0) == column.shape(0), kernel,
            "node arrays must have one length");
    require(rows.shape(0) == order.shape(0), kernel, "rows must be those of the tree");
    const neighbours::KdTreeView tree{order.data(), column.data(), right.data(), low.data(), high.data(),
                                      static_cast<index_t>(column.shape(0)), view(rows)};
    require(well_formed(tree), kernel, "the links of the tree must lead to its nodes and rows");
    return tree;
}

}  // namespace assay::bindings
