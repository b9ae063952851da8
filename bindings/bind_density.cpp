// Sums of kernels over trees, and linear binning.
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/density/kernel_sums.hpp"
#include "bindings.hpp"
#include "checked_tree.hpp"

namespace assay::bindings {
namespace {

using density::Kernel;

Result1<double> kernel_sums(const Array1<const std::int32_t>& order, const Array1<const std::int32_t>& column,
                            const Array1<const std::int32_t>& right, const Array1<const double>& low,
                            const Array1<const double>& high, const Array2<const double>& rows, int kernel,
                            const std::optional<Array1<const double>>& weights, const Array2<const double>& queries,
                            const Array1<const double>& bandwidths,
                            const std::optional<Array1<const std::int64_t>>& left_out, double tolerance, int threads) {
    const char* name = "log_kernel_sums";
    require(kernel >= 0 && kernel < density::kernel_count, name, "kernel must be the code of a kernel");
    require(queries.shape(1) == rows.shape(1), name, "queries must have the columns of rows");
    const neighbours::KdTreeView tree = checked_tree(name, order, column, right, low, high, rows);
    const index_t n = tree.rows.rows;
    require(!weights || static_cast<index_t>(weights->shape(0)) == n, name, "weights must have one value per row");
    require(bandwidths.shape(0) == queries.shape(0) || bandwidths.shape(0) == 1, name,
            "bandwidths must have one value, or one per query");
    require(!left_out || left_out->shape(0) == queries.shape(0), name, "left_out must have one row per query");
    for (std::size_t i = 0; left_out && i < left_out->shape(0); ++i)
        require(left_out->data()[i] >= -1 && left_out->data()[i] < n, name, "left_out must hold row numbers or -1");
    std::vector<double> out(queries.shape(0));
    without_gil([&] {
        log_kernel_sums(tree, static_cast<Kernel>(kernel), weights ? weights->data() : nullptr, view(queries),
                        {bandwidths.data(), view(queries).rows, bandwidths.shape(0) == 1 ? 0 : 1}, left_out ? left_out->data() : nullptr, tolerance, out.data(), threads);
    });
    return own(std::move(out));
}

Result1<double> binning(const Array2<const double>& rows, const std::optional<Array1<const double>>& weights,
                        const Array1<const double>& low, const Array1<const double>& step,
                        const Array1<const std::int64_t>& sizes) {
    const char* name = "linear_binning";
    const std::size_t d = rows.shape(1);
    require(d >= 1 && d <= 6 && low.shape(0) == d && step.shape(0) == d && sizes.shape(0) == d, name,
            "low, step and sizes must have one value per column, of at most six");
    require(!weights || weights->shape(0) == rows.shape(0), name, "weights must have one value per row");
    std::size_t cells = 1;
    for (std::size_t j = 0; j < d; ++j) {
        require(sizes.data()[j] >= 1 && step.data()[j] > 0 && sizes.data()[j] < (1 << 30), name,
                "sizes and steps must be positive");
        cells *= static_cast<std::size_t>(sizes.data()[j]);
        require(cells < (std::size_t{1} << 32), name, "the grid must have fewer than 2^32 points");
    }
    std::vector<double> grid(cells, 0.0);
    without_gil([&] {
        density::linear_binning(view(rows), weights ? weights->data() : nullptr, low.data(), step.data(), sizes.data(),
                                grid.data());
    });
    return own(std::move(grid));
}

}  // namespace

void bind_density(nb::module_& m) {
    m.def("log_kernel_sums", &kernel_sums, "order"_a, "column"_a, "right"_a, "low"_a, "high"_a, "rows"_a, "kernel"_a,
          "weights"_a.none(), "queries"_a, "bandwidths"_a, "left_out"_a.none(), "tolerance"_a, "threads"_a,
          "Log of the sum of a kernel (0 gaussian, 1 epanechnikov, 2 box) over the rows of a tree, for each query.");
    m.def("linear_binning", &binning, "rows"_a, "weights"_a.none(), "low"_a, "step"_a, "sizes"_a,
          "Weights of rows shared linearly among the points of a grid, flat in C order.");
}

}  // namespace assay::bindings
