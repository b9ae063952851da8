// Sparse tables behind three products: X v, X'v and X'WX. Every solver of a linear model reads its rows through these,
// so that a sparse table costs what its stored cells cost.
//
// A table is compressed by line: the cells of line i are values[starts[i]..starts[i + 1]-1] at places indices[...], which
// rise within a line (no place twice). By row the lines are rows and places columns; by column the other way round.
//   product:            out = X v,            n x K from p x K              2 K flops a stored cell
//   transposed_product: out = X'v,            p x K from n x K              2 K flops a stored cell
//   sparse_gram:        out = X' diag(w) X,   p x p, both triangles         (cells of the row) flops a stored cell
//   column_moments:     weighted mean and mean squared deviation of each column, absent cells counted as zeros
// Centring is implicit: (X - 1 m')v = X v - 1 (m'v) and so on, which the callers add; where a mean is so large that this
// would cancel, they store the column shifted instead.
// X v sums each row by itself, X'WX each row of the result by itself; X'v sums fixed chunks of rows (as many as keep the
// merging cheaper than the sum) and merges them in order. All are the same bit for bit for every thread count.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay {

struct SparseMatrix {
    const double* values = nullptr;
    const std::int32_t* indices = nullptr;
    const std::int64_t* starts = nullptr;  // lines + 1
    index_t lines = 0;
    index_t places = 0;

    bool empty() const { return starts == nullptr; }
    index_t cells() const { return starts == nullptr ? 0 : static_cast<index_t>(starts[lines]); }
    index_t begin(index_t line) const { return static_cast<index_t>(starts[line]); }
    index_t end(index_t line) const { return static_cast<index_t>(starts[line + 1]); }
};

// rows: by row. v places x K, out lines x K.
void sparse_product(const SparseMatrix& rows, Matrix<const double> v, Matrix<double> out, int threads);

// rows: by row. v lines x K, out places x K.
void sparse_transposed_product(const SparseMatrix& rows, Matrix<const double> v, Matrix<double> out, int threads);

// The same table by row and by column; weights one per row, or empty for 1; out p x p.
void sparse_gram(const SparseMatrix& rows, const SparseMatrix& columns, Vector<const double> weights,
                 Matrix<double> out, int threads);

// columns: by column; weights one per row or empty. mean, variance OUT p; returns the total weight.
double sparse_column_moments(const SparseMatrix& columns, Vector<const double> weights, Vector<double> mean,
                             Vector<double> variance, int threads);

// The same bits from the table by row, on one thread, for tables that are not needed by column.
double sparse_row_moments(const SparseMatrix& rows, Vector<const double> weights, Vector<double> mean,
                          Vector<double> variance);

}  // namespace assay
