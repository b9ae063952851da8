// What designs by column read: the cells of a column, written out or gathered from its rows when they are asked for, and the
// target under its weights.
#include <algorithm>
#include <cmath>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"

namespace assay::elastic_net {
namespace {

// out[u * (end - begin) + i - begin] = cell (i, columns[u]) less its shift, zero past the last row. Eight rows at a time, so
// that the lines of memory that columns share are read once.
ASSAY_INLINE void gather_body(Matrix<const double> x, const double* shift, const index_t* columns, index_t count,
                              index_t begin, index_t end, double* __restrict__ out) {
    constexpr index_t tall = 8;
    const index_t length = end - begin;
    for (index_t first = begin; first < end; first += tall) {
        double* const to = out + first - begin;
        if (first + tall > x.rows) {
            for (index_t u = 0; u < count; ++u)
                for (index_t k = 0; k < tall; ++k)
                    to[u * length + k] = first + k < x.rows ? x(first + k, columns[u]) - shift[columns[u]] : 0.0;
            continue;
        }
        const double* const from = x.row(first);
        const bool more = first + 2 * tall <= x.rows;
        index_t line = -1;
        for (index_t u = 0; u < count; ++u) {
            const double* const cell = from + columns[u];
            if (more && columns[u] / 8 != line) {
                line = columns[u] / 8;
                for (index_t k = tall; k < 2 * tall; ++k) __builtin_prefetch(cell + k * x.row_stride);
            }
            const double less = shift[columns[u]];
            for (index_t k = 0; k < tall; ++k) to[u * length + k] = cell[k * x.row_stride] - less;
        }
    }
}
ASSAY_DISPATCH(void, gather, gather_body,
               (Matrix<const double> x, const double* shift, const index_t* columns, index_t count, index_t begin,
                index_t end, double* out),
               (x, shift, columns, count, begin, end, out))

}  // namespace

void CellsOf::read(const index_t* columns, index_t count, index_t begin, index_t end, const double** to) {
    if (table_.columns != nullptr) {
        for (index_t u = 0; u < count; ++u) to[u] = table_.columns + columns[u] * table_.stride + begin;
        return;
    }
    const index_t length = end - begin;
    if (count * length > size_) {
        size_ = count * length;
        room_.reset(new double[at(size_)]);
    }
    for (index_t u = 0; u < count; ++u) to[u] = room_.get() + u * length;
    gather(table_.rows, table_.shift, columns, count, begin, end, room_.get());
}

void WeightedTarget::start(const double* target, const double* of_rows, index_t n_rows, index_t n_columns,
                           bool intercept) {
    weights = of_rows;
    double largest = 0, first = 0;
    for (index_t i = 0; i < n_rows; ++i) {
        weight += weights[i];
        largest = std::max(largest, weights[i]);
        first += weights[i] * target[i];
    }
    norm_factor = std::sqrt(largest / weight);
    y_mean = intercept ? first / weight : 0.0;
    cross.resize(at(n_columns));
    residual.resize(at(n_rows));
    weighted_residual.resize(at(n_rows));
    for (index_t i = 0; i < n_rows; ++i) {
        residual[at(i)] = weights[i] > 0 ? target[i] - y_mean : 0.0;
        weighted_residual[at(i)] = weights[i] * residual[at(i)] / weight;
        residual_sum += weighted_residual[at(i)];
    }
    y_squares = dot(residual.data(), weighted_residual.data(), n_rows);
}

void WeightedTarget::settle(const std::vector<double>& before, const std::vector<double>& norms, Gradient& gradient) {
    double squares = 0, moved = 0, sum = 0;
    weighted_residual.resize(residual.size());  // it may have been taken
    for (std::size_t i = 0; i < residual.size(); ++i) {
        const double w = weights[i] / weight;
        double& r = residual[i];
        if (w == 0) r = 0;
        weighted_residual[i] = w * r;
        squares += w * r * r;
        sum += w * r;
        const double change = r - before[i];
        moved += w * change * change;
    }
    residual_sum = sum;
    gradient.residual_squares = squares;
    const double way = std::sqrt(moved) * norm_factor;
    for (std::size_t j = 0; j < norms.size(); ++j) gradient.slack[j] += way * norms[j];
}

}  // namespace assay::elastic_net

namespace assay {

void shifted_columns(Matrix<const double> x, const double* shift, double* out, index_t stride, int threads) {
    constexpr index_t block = 16;
    parallel_chunks(x.cols, block, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t first = 0; first < x.rows; first += 64) {
            const index_t last = std::min(x.rows, first + 64);
            for (index_t j = begin; j < end; ++j)
                for (index_t i = first; i < last; ++i) out[j * stride + i] = x(i, j) - shift[j];
        }
        for (index_t j = begin; j < end; ++j) std::fill(out + j * stride + x.rows, out + (j + 1) * stride, 0.0);
    });
}

}  // namespace assay
