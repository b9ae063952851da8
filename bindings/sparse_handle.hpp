// A checked sparse table, held by Python; other bindings take it in place of a dense one.
#pragma once

#include <optional>

#include "assay/linear/sparse.hpp"
#include "bindings.hpp"

namespace assay::bindings {

struct SparseHandle {
    Array1<const double> values;
    Array1<const std::int32_t> indices;
    Array1<const std::int64_t> starts;
    SparseMatrix matrix;

    SparseHandle(Array1<const double> values_, Array1<const std::int32_t> indices_, Array1<const std::int64_t> starts_,
                 std::int64_t places)
        : values(std::move(values_)),
          indices(std::move(indices_)),
          starts(std::move(starts_)),
          matrix{values.data(), indices.data(), starts.data(), static_cast<index_t>(starts.shape(0)) - 1,
                 static_cast<index_t>(places)} {
        const char* const kernel = "SparseMatrix";
        require(starts.shape(0) >= 1 && starts(0) == 0, kernel, "starts must begin with 0");
        require(indices.shape(0) == values.shape(0) &&
                    starts(starts.shape(0) - 1) == static_cast<std::int64_t>(values.shape(0)),
                kernel, "starts must end with the number of values, and indices be as many");
        for (index_t i = 0; i < matrix.lines; ++i) {
            require(starts.data()[i] <= starts.data()[i + 1], kernel, "starts must not fall");
            std::int64_t before = -1;
            for (index_t k = matrix.begin(i); k < matrix.end(i); ++k) {
                require(matrix.indices[k] > before && matrix.indices[k] < places, kernel,
                        "indices must rise within a line and lie within the table");
                before = matrix.indices[k];
            }
        }
    }
};

inline void check_pair(const char* kernel, const SparseHandle& rows, const SparseHandle& columns) {
    require(rows.matrix.lines == columns.matrix.places && rows.matrix.places == columns.matrix.lines &&
                rows.matrix.cells() == columns.matrix.cells(),
            kernel, "rows and columns must be the same table");
}

// A sparse table by row and, for sums of products of its columns, by column, held beside the problem that reads it.
struct SparsePair {
    SparseHandle rows;
    std::optional<SparseHandle> columns;

    SparsePair(const char* kernel, const SparseHandle& rows_, const SparseHandle* columns_) : rows(rows_) {
        if (columns_ == nullptr) return;
        columns = *columns_;
        check_pair(kernel, rows, *columns);
    }
    SparseMatrix by_column() const { return columns ? columns->matrix : SparseMatrix{}; }
    Matrix<const double> shape() const {
        return {nullptr, rows.matrix.lines, rows.matrix.places, rows.matrix.places, 1};
    }
};

// A dense table or a sparse one by row, as a kernel that reads either takes it.
struct AnyTable {
    Matrix<const double> x;  // the shape alone for a sparse table
    SparseMatrix sparse;
    Array2<const double> held;

    static AnyTable of(const nb::object& given) {
        if (nb::isinstance<SparseHandle>(given)) {
            const auto& handle = nb::cast<const SparseHandle&>(given);
            return {{nullptr, handle.matrix.lines, handle.matrix.places, handle.matrix.places, 1}, handle.matrix, {}};
        }
        Array2<const double> array = nb::cast<Array2<const double>>(given, false);
        return {view(array), {}, array};
    }
};

}  // namespace assay::bindings
