#include "elastic_net_factor.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"

namespace assay::elastic_net {
namespace {

constexpr index_t panel = 48;        // columns, a multiple of the lanes and of both sides of a tile
constexpr index_t rows_a_task = 48;
constexpr index_t lanes = 16, at_once = 4;  // cells of a row, and rows, that are solved for together
template <class Cell>
constexpr double least_pivot = sizeof(Cell) == 8 ? 1e-11 : 1e-4;  // of the diagonal: below it a column is taken for dependent

// In sixteen running sums, whatever the precision of the cells.
template <class Left, class Right>
ASSAY_INLINE double low_dot_body(const Left* x, const Right* y, index_t count) {
    double part[16] = {};
    index_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int k = 0; k < 16; ++k) part[k] += static_cast<double>(x[i + k]) * static_cast<double>(y[i + k]);
    for (int k = 0; i + k < count; ++k) part[k] += static_cast<double>(x[i + k]) * static_cast<double>(y[i + k]);
    for (int width = 8; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) part[k] += part[k + width];
    return part[0];
}
ASSAY_DISPATCH(double, low_dot, (low_dot_body<float, float>), (const float* x, const float* y, index_t count),
               (x, y, count))
ASSAY_DISPATCH(double, low_with_full_dot, (low_dot_body<float, double>),
               (const float* x, const double* y, index_t count), (x, y, count))

double dot(const float* x, const float* y, index_t count) { return low_dot(x, y, count); }
double dot(const float* x, const double* y, index_t count) { return low_with_full_dot(x, y, count); }
using elastic_net::dot;

// Takes off rows [begin, end) of the panel what the columns before it explain.
template <class Cell>
void subtract_explained(Cell* a, index_t first, index_t last, index_t begin, index_t end) {
    if (first == 0) return;
    for (index_t i = begin; i < end; i += 4) {
        const Cell* left[4];
        const index_t tall = std::min<index_t>(4, end - i);
        for (index_t r = 0; r < tall; ++r) left[r] = a + row_start(i + r);
        for (index_t j = first; j < std::min(last, i + tall); j += tile_width) {
            const Cell* right[tile_width];
            const index_t wide = std::min(tile_width, last - j);
            for (index_t c = 0; c < wide; ++c) right[c] = a + row_start(j + c);
            double out[4 * tile_width];
            tile_products(left, tall, right, wide, first, out);
            for (index_t r = 0; r < tall; ++r)
                for (index_t c = 0; c < std::min(wide, i + r + 1 - j); ++c)
                    a[row_start(i + r) + j + c] -= static_cast<Cell>(out[r * tile_width + c]);
        }
    }
}

// Rows of the panel times the inverse of its triangle, whose columns below the diagonal are those of `columns`.
template <class Cell>
ASSAY_INLINE void solve_panel_body(const Cell* columns, const Cell* diagonal, Cell* const* rows, index_t count) {
    Cell x[at_once][panel] = {};
    for (index_t r = 0; r < count; ++r)
        for (index_t k = 0; k < panel; ++k) x[r][k] = rows[r][k];
    for (index_t k = 0; k < panel; ++k)
        for (index_t r = 0; r < at_once; ++r) {
            const Cell value = x[r][k] / diagonal[k];
            x[r][k] = value;
            for (index_t begin = k / lanes * lanes; begin < panel; begin += lanes)
                for (index_t j = begin; j < begin + lanes; ++j) x[r][j] -= value * columns[k * panel + j];
        }
    for (index_t r = 0; r < count; ++r)
        for (index_t k = 0; k < panel; ++k) rows[r][k] = x[r][k];
}
ASSAY_DISPATCH(void, solve_panel, solve_panel_body<double>,
               (const double* columns, const double* diagonal, double* const* rows, index_t count),
               (columns, diagonal, rows, count))
ASSAY_DISPATCH(void, solve_low_panel, solve_panel_body<float>,
               (const float* columns, const float* diagonal, float* const* rows, index_t count),
               (columns, diagonal, rows, count))

}  // namespace

template <class Cell>
bool factorise(Cell* a, index_t m, int threads) {
    std::vector<double> diagonal(at(m));
    for (index_t j = 0; j < m; ++j) diagonal[at(j)] = a[row_start(j) + j];
    for (index_t first = 0; first < m; first += panel) {
        const index_t last = std::min(m, first + panel);
        subtract_explained(a, first, last, first, last);
        for (index_t j = first; j < last; ++j) {
            Cell* const row = a + row_start(j);
            for (index_t k = first; k <= j; ++k) {
                const double rest = row[k] - dot(row + first, a + row_start(k) + first, k - first);
                if (k < j) row[k] = static_cast<Cell>(rest / a[row_start(k) + k]);
                else if (!(rest > least_pivot<Cell> * diagonal[at(j)])) return false;
                else row[j] = static_cast<Cell>(std::sqrt(rest));
            }
        }
        if (last == m) break;
        std::vector<Cell> columns(at(panel * panel)), diagonal_cells(at(panel));
        for (index_t j = 0; j < panel; ++j) {
            const Cell* const row = a + row_start(first + j) + first;
            for (index_t k = 0; k < j; ++k) columns[at(k * panel + j)] = row[k];
            diagonal_cells[at(j)] = row[j];
        }
        const double work = static_cast<double>(m - last) * static_cast<double>(last) * panel;
        parallel_chunks(m - last, rows_a_task, threads_for(work, threads), [&](index_t, index_t begin, index_t end) {
            subtract_explained(a, first, last, last + begin, last + end);
            for (index_t i = last + begin; i < last + end; i += at_once) {
                Cell* rows[at_once];
                const index_t count = std::min(at_once, last + end - i);
                for (index_t r = 0; r < count; ++r) rows[r] = a + row_start(i + r) + first;
                if constexpr (sizeof(Cell) == sizeof(double)) solve_panel(columns.data(), diagonal_cells.data(), rows, count);
                else solve_low_panel(columns.data(), diagonal_cells.data(), rows, count);
            }
        });
    }
    return true;
}

template <class Cell>
void solve_factored(const Cell* a, index_t m, std::vector<double>& x) {
    for (index_t i = 0; i < m; ++i) x[at(i)] = (x[at(i)] - dot(a + row_start(i), x.data(), i)) / a[row_start(i) + i];
    for (index_t i = m - 1; i >= 0; --i) {
        x[at(i)] /= a[row_start(i) + i];
        add_multiple(-x[at(i)], a + row_start(i), x.data(), i);
    }
}

template bool factorise<double>(double*, index_t, int);
template bool factorise<float>(float*, index_t, int);
template void solve_factored<double>(const double*, index_t, std::vector<double>&);
template void solve_factored<float>(const float*, index_t, std::vector<double>&);

}  // namespace assay::elastic_net
