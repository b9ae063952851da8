#include "elastic_net_factor.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"

namespace assay::elastic_net {
namespace {

constexpr index_t panel = 48;        // columns, a multiple of the lanes and of both sides of a tile
constexpr index_t rows_a_task = 48;
constexpr double least_pivot = 1e-11;  // of the diagonal: below it a column is taken for dependent

// Takes off rows [begin, end) of the panel what the columns before it explain.
void subtract_explained(double* a, index_t first, index_t last, index_t begin, index_t end) {
    if (first == 0) return;
    for (index_t i = begin; i < end; i += 4) {
        const double* left[4];
        const index_t tall = std::min<index_t>(4, end - i);
        for (index_t r = 0; r < tall; ++r) left[r] = a + row_start(i + r);
        for (index_t j = first; j < std::min(last, i + tall); j += tile_width) {
            const double* right[tile_width];
            const index_t wide = std::min(tile_width, last - j);
            for (index_t c = 0; c < wide; ++c) right[c] = a + row_start(j + c);
            double out[4 * tile_width];
            tile_products(left, tall, right, wide, first, out);
            for (index_t r = 0; r < tall; ++r)
                for (index_t c = 0; c < std::min(wide, i + r + 1 - j); ++c) a[row_start(i + r) + j + c] -= out[r * tile_width + c];
        }
    }
}

}  // namespace

bool factorise(double* a, index_t m, int threads) {
    std::vector<double> diagonal(at(m));
    for (index_t j = 0; j < m; ++j) diagonal[at(j)] = a[row_start(j) + j];
    for (index_t first = 0; first < m; first += panel) {
        const index_t last = std::min(m, first + panel);
        subtract_explained(a, first, last, first, last);
        for (index_t j = first; j < last; ++j) {
            double* const row = a + row_start(j);
            for (index_t k = first; k <= j; ++k) {
                const double rest = row[k] - dot(row + first, a + row_start(k) + first, k - first);
                if (k < j) row[k] = rest / a[row_start(k) + k];
                else if (!(rest > least_pivot * diagonal[at(j)])) return false;
                else row[j] = std::sqrt(rest);
            }
        }
        const double work = static_cast<double>(m - last) * static_cast<double>(last) * panel;
        parallel_chunks(m - last, rows_a_task, threads_for(work, threads), [&](index_t, index_t begin, index_t end) {
            subtract_explained(a, first, last, last + begin, last + end);
            for (index_t i = last + begin; i < last + end; ++i) {
                double* const row = a + row_start(i);
                for (index_t k = first; k < last; ++k)
                    row[k] = (row[k] - dot(row + first, a + row_start(k) + first, k - first)) / a[row_start(k) + k];
            }
        });
    }
    return true;
}

void solve_factored(const double* a, index_t m, std::vector<double>& x) {
    for (index_t i = 0; i < m; ++i) x[at(i)] = (x[at(i)] - dot(a + row_start(i), x.data(), i)) / a[row_start(i) + i];
    for (index_t i = m - 1; i >= 0; --i) {
        x[at(i)] /= a[row_start(i) + i];
        add_multiple(-x[at(i)], a + row_start(i), x.data(), i);
    }
}

}  // namespace assay::elastic_net
