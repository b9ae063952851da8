// Array views: pointer, shape and strides (in elements). Kernels read and write through these; they own nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

using index_t = std::ptrdiff_t;

// A vector of n elements, `stride` apart.
template <class T>
struct Vector {
    T* data = nullptr;
    index_t size = 0;
    index_t stride = 1;

    T& operator[](index_t i) const { return data[i * stride]; }
    bool empty() const { return size == 0; }
};

// A matrix of rows x cols elements. A C-ordered matrix has col_stride 1, a Fortran-ordered one row_stride 1.
template <class T>
struct Matrix {
    T* data = nullptr;
    index_t rows = 0;
    index_t cols = 0;
    index_t row_stride = 0;
    index_t col_stride = 1;

    T& operator()(index_t i, index_t j) const { return data[i * row_stride + j * col_stride]; }
    T* row(index_t i) const { return data + i * row_stride; }
    bool c_ordered() const { return col_stride == 1; }
};

template <class T>
Matrix<T> c_matrix(T* data, index_t rows, index_t cols) {
    return {data, rows, cols, cols, 1};
}

}  // namespace assay
