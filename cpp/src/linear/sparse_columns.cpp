#include "assay/linear/sparse_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/interrupt.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t chunk = 4096;
constexpr index_t most_products = 500;

// Waking threads costs more than a small loop.
int worth(index_t work, int threads) { return work < 500'000 ? 1 : threads; }

std::size_t cells(index_t rows, index_t columns) { return static_cast<std::size_t>(rows * columns); }

// Sums of chunks of rows, added up in order; `sums` OUT one per column.
void column_sums(Matrix<const double> values, double* sums) {
    std::vector<double> part(static_cast<std::size_t>(values.cols));
    std::fill_n(sums, values.cols, 0.0);
    for (index_t begin = 0; begin < values.rows; begin += chunk) {
        std::fill(part.begin(), part.end(), 0.0);
        for (index_t i = begin; i < std::min(values.rows, begin + chunk); ++i)
            for (index_t k = 0; k < values.cols; ++k) part[static_cast<std::size_t>(k)] += values(i, k);
        for (index_t k = 0; k < values.cols; ++k) sums[k] += part[static_cast<std::size_t>(k)];
    }
}

double sum_of(Vector<const double> values) {
    double total = 0.0;
    column_sums(c_matrix(values.data, values.size, 1), &total);
    return total;
}

// Sum of w x, and of w x^2 unless `second` is null, over each column.
void weighted_sums(const SparseMatrix& columns, Vector<const double> weights, double* first, double* second,
                   int threads) {
    parallel_chunks(columns.lines, 256, worth(columns.cells(), threads), [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; ++j) {
            double sum = 0.0, squares = 0.0;
            for (index_t k = columns.begin(j); k < columns.end(j); ++k) {
                const double part = weights[columns.indices[k]] * columns.values[k];
                sum += part;
                squares += part * columns.values[k];
            }
            first[j] = sum;
            if (second != nullptr) second[j] = squares;
        }
    });
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
}

}  // namespace

void SparseColumns::product(Matrix<const double> coefficients, Matrix<double> out, int threads) const {
    const index_t p = rows.places, outputs = coefficients.rows;
    std::vector<double> slopes(cells(p, outputs)), constant(static_cast<std::size_t>(outputs));
    for (index_t k = 0; k < outputs; ++k) {
        double shift = 0.0;
        for (index_t j = 0; j < p; ++j) {
            const double slope = coefficients(k, j) * inverse_scale[j];
            slopes[cells(j, outputs) + static_cast<std::size_t>(k)] = slope;
            shift += slope * centre[j];
        }
        constant[static_cast<std::size_t>(k)] = intercept ? coefficients(k, p) - shift : -shift;
    }
    sparse_product(rows, c_matrix<const double>(slopes.data(), p, outputs), out, threads);
    for (index_t i = 0; i < rows.lines; ++i)
        for (index_t k = 0; k < outputs; ++k) out(i, k) += constant[static_cast<std::size_t>(k)];
}

void SparseColumns::transposed_product(Matrix<const double> values, Matrix<double> out, int threads) const {
    const index_t p = rows.places, outputs = values.cols;
    std::vector<double> sums(static_cast<std::size_t>(outputs)), raw(cells(p, outputs));
    column_sums(values, sums.data());
    sparse_transposed_product(rows, values, c_matrix(raw.data(), p, outputs), threads);
    for (index_t k = 0; k < outputs; ++k) {
        const double sum = sums[static_cast<std::size_t>(k)];
        for (index_t j = 0; j < p; ++j)
            out(k, j) = (raw[cells(j, outputs) + static_cast<std::size_t>(k)] - centre[j] * sum) * inverse_scale[j];
        if (intercept) out(k, p) = sum;
    }
}

void SparseColumns::gram(Vector<const double> weights, Matrix<double> out, int threads) const {
    const index_t p = rows.places;
    const double total = sum_of(weights);
    std::vector<double> first(static_cast<std::size_t>(p));
    weighted_sums(columns, weights, first.data(), nullptr, threads);
    sparse_gram(rows, columns, weights, {out.data, p, p, out.row_stride, 1}, threads);
    parallel_chunks(p, 64, worth(p * p, threads), [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            double* const to = out.row(i);
            const double mine = first[static_cast<std::size_t>(i)], rest = mine - total * centre[i];
            for (index_t j = 0; j < p; ++j)
                to[j] = (to[j] - centre[i] * first[static_cast<std::size_t>(j)] - rest * centre[j]) *
                        (inverse_scale[i] * inverse_scale[j]);
            if (intercept) out(i, p) = out(p, i) = rest * inverse_scale[i];
        }
    });
    if (intercept) out(p, p) = total;
}

void SparseColumns::gram_diagonal(Vector<const double> weights, double* out, int threads) const {
    const index_t p = rows.places;
    const double total = sum_of(weights);
    std::vector<double> first(static_cast<std::size_t>(p));
    weighted_sums(columns, weights, first.data(), out, threads);
    for (index_t j = 0; j < p; ++j) {
        const double around = out[j] - centre[j] * (2.0 * first[static_cast<std::size_t>(j)] - total * centre[j]);
        out[j] = std::max(around, 0.0) * inverse_scale[j] * inverse_scale[j];
    }
    if (intercept) out[p] = total;
}

void solve_by_products(const SparseColumns& z, Vector<const double> curvatures, const double* diagonal,
                       const double* right, const double* ridge, const bool* active, double accuracy, double* x,
                       int threads) {
    const index_t m = z.width(), n = z.rows.lines;
    const auto size = static_cast<std::size_t>(m);
    std::vector<double> condition(size, 0.0), residual(size, 0.0), conditioned(size), product(size),
        change(static_cast<std::size_t>(n));
    for (std::size_t j = 0; j < size; ++j) {
        if (!active[j]) continue;
        condition[j] = 1.0 / std::max(diagonal[j] + ridge[j], std::numeric_limits<double>::min());
        residual[j] = right[j];
        conditioned[j] = condition[j] * residual[j];
    }
    std::fill_n(x, m, 0.0);
    std::vector<double> direction(conditioned);
    const double first = dot(residual, conditioned);
    double power = first;
    bool moved = false;
    for (index_t step = 0; step < most_products && power > accuracy * accuracy * first && power > 0.0; ++step) {
        z.product(c_matrix<const double>(direction.data(), 1, m), c_matrix(change.data(), n, 1), threads);
        for (index_t i = 0; i < n; ++i) change[static_cast<std::size_t>(i)] *= curvatures[i];
        z.transposed_product(c_matrix<const double>(change.data(), n, 1), c_matrix(product.data(), 1, m), threads);
        for (std::size_t j = 0; j < size; ++j) product[j] = active[j] ? product[j] + ridge[j] * direction[j] : 0.0;
        const double bend = dot(direction, product);
        if (!(bend > 0.0) || interrupted()) break;
        const double length = power / bend;
        for (std::size_t j = 0; j < size; ++j) {
            x[j] += length * direction[j];
            residual[j] -= length * product[j];
            conditioned[j] = condition[j] * residual[j];
        }
        moved = true;
        const double before = power;
        power = dot(residual, conditioned);
        for (std::size_t j = 0; j < size; ++j) direction[j] = conditioned[j] + power / before * direction[j];
    }
    if (!moved)
        for (std::size_t j = 0; j < size; ++j) x[j] = condition[j] * right[j];
}

}  // namespace assay
