// Kernel functions of pairs of rows in float32 or float64, many at once.
//
//     linear <x, y>, polynomial (gamma <x, y> + coef0)^degree, sigmoid tanh(gamma <x, y> + coef0),
//     Gaussian exp(-gamma |x - y|^2), Laplacian exp(-gamma sum |x_j - y_j|)
//
// Rows lie in panels of 64, column by column; six other rows pass over a panel at once, their sums in registers, and the
// function is applied while they are in the first-level cache. In float32 the Gaussian kernel takes |x|^2 + |y|^2 - 2 <x, y>
// of rows about their mean where gamma |x|^2 is small enough (an error of 1e-6 at most), else differences, as in float64.
// A value depends on its two rows alone, not on what else is asked for nor on the number of threads.
// Cost: 2 d + 20 operations a pair. Reference: Wen, Shi, Li, He & Chen, ThunderSVM, J. Machine Learning Research 19, 2018.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::kernel_machines {

enum class Function : int { linear = 0, polynomial = 1, sigmoid = 2, gaussian = 3, laplacian = 4 };
constexpr int function_count = 5;

struct KernelSpec {
    Function function = Function::gaussian;
    double gamma = 1.0;
    double coef0 = 0.0;
    int degree = 3;
};

// What is summed over the columns of two rows.
enum class Way : int { products, squares, absolutes };

template <class T>
class KernelPanels {
public:
    KernelPanels(Matrix<const double> rows, const KernelSpec& spec);
    // Some of the rows of others, in this order: the same values between them.
    KernelPanels(const KernelPanels& all, const std::vector<std::int32_t>& rows);

    index_t size() const { return n_; }
    index_t columns() const { return d_; }

    // OUT out[k][0..size): k(row which[k], each row).
    void rows(const std::int32_t* which, index_t count, T* const* out, int threads) const;

    // OUT gram, size x size: every pair.
    void gram(T* out, int threads) const;

    // OUT sums, queries x outputs: sum over rows of k(query, row) coefficients(row, output), added in the order of rows.
    void sums(Matrix<const double> queries, Matrix<const double> coefficients, double* out, int threads) const;

    // OUT out, one number for each of `queries`, rows of `all`, from which these rows were taken: grows by the sum over
    // rows of k(query, row) coefficient(row).
    void add_sums(const KernelPanels& all, const std::vector<std::int32_t>& queries, const double* coefficients,
                  double* out, int threads) const;

    double diagonal(index_t row) const { return diagonal_[static_cast<std::size_t>(row)]; }
    double largest_diagonal() const;  // by size

    const KernelSpec& spec() const { return spec_; }
    // The rows, as they are compared.
    const std::vector<T>& cells() const { return cells_; }

private:
    // Rows as they are compared: less the mean where only differences count, with half of their share of the exponent.
    void place(Matrix<const double> rows, std::vector<T>& cells, std::vector<T>& halves) const;
    // Values of up to six queries and the rows of panels [first, last), written to out[k] - offset.
    void block(const T* panels, const T* const* queries, const T* halves, index_t count, index_t first, index_t last,
               T* const* out) const;
    void finish(T* values, index_t count, T half, const T* halves) const;
    const T* panels(int threads) const;
    void add_placed_sums(const std::vector<const T*>& cells, const std::vector<T>& halves,
                         Matrix<const double> coefficients, double* out, int threads) const;

    KernelSpec spec_;
    Way way_ = Way::products;
    index_t n_ = 0, d_ = 0, panels_ = 0;
    std::vector<double> centre_;
    std::vector<T> cells_, halves_;
    mutable std::once_flag laid_out_;
    mutable std::vector<T> panel_;  // made when first wanted
    std::vector<double> diagonal_;
};

}  // namespace assay::kernel_machines
