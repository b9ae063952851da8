#include "assay/kernel_machines/kernel_rows.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/elementary.hpp"
#include "assay/common/lanes.hpp"
#include "assay/common/threads.hpp"

namespace assay::kernel_machines {
namespace {

constexpr index_t lanes = 64, group = 6, panels_at_once = 16;
// gamma |x|^2 up to which products in float32 have the exponent to a few 1e-6.
constexpr double most_exponent = 16.0;

template <int W, int NV, class Term>
ASSAY_INLINE void tile(const float* panel, index_t d, const float* const* queries, float* out, Term term) {
    using vec = typename FloatLanes<W>::type;
    for (index_t first = 0; first < lanes; first += W * NV) {
        vec sum[group][NV];
#pragma GCC unroll 6
        for (int q = 0; q < group; ++q)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) sum[q][v] = vec{};
        for (index_t t = 0; t < d; ++t) {
            vec x[NV];
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) x[v] = *reinterpret_cast<const vec*>(panel + t * lanes + first + v * W);
#pragma GCC unroll 6
            for (int q = 0; q < group; ++q) {
                const float c = queries[q][t];
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) term(sum[q][v], x[v], c);
            }
        }
#pragma GCC unroll 6
        for (int q = 0; q < group; ++q)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) *reinterpret_cast<vec*>(out + q * lanes + first + v * W) = sum[q][v];
    }
}

template <int W, int NV>
ASSAY_INLINE void products_body(const float* panel, index_t d, const float* const* queries, float* out) {
    tile<W, NV>(panel, d, queries, out, [](auto& sum, const auto& x, float c) __attribute__((always_inline)) { sum += c * x; });
}
template <int W, int NV>
ASSAY_INLINE void squares_body(const float* panel, index_t d, const float* const* queries, float* out) {
    tile<W, NV>(panel, d, queries, out, [](auto& sum, const auto& x, float c) __attribute__((always_inline)) {
        const auto gap = x - c;
        sum += gap * gap;
    });
}
template <int W, int NV>
ASSAY_INLINE void absolutes_body(const float* panel, index_t d, const float* const* queries, float* out) {
    tile<W, NV>(panel, d, queries, out, [](auto& sum, const auto& x, float c) __attribute__((always_inline)) {
        const auto gap = x - c;
        sum += gap < 0.0F ? -gap : gap;
    });
}
ASSAY_DISPATCH_LANES(void, products, products_body, (const float* panel, index_t d, const float* const* queries, float* out),
                     (panel, d, queries, out))
ASSAY_DISPATCH_LANES(void, squares, squares_body, (const float* panel, index_t d, const float* const* queries, float* out),
                     (panel, d, queries, out))
ASSAY_DISPATCH_LANES(void, absolutes, absolutes_body,
                     (const float* panel, index_t d, const float* const* queries, float* out), (panel, d, queries, out))

// values: 2 gamma <x, y> - gamma |x|^2 - gamma |y|^2 or -gamma times a distance; its exponential.
ASSAY_INLINE void exponentials_body(float* values, index_t count, float factor, float half, const float* halves) {
    for (index_t i = 0; i < count; ++i) {
        const float exponent = factor * values[i] - (half + halves[i]);
        values[i] = fast_exp(exponent > 0.0F ? 0.0F : exponent);
    }
}
ASSAY_DISPATCH(void, exponentials, exponentials_body,
               (float* values, index_t count, float factor, float half, const float* halves),
               (values, count, factor, half, halves))

ASSAY_INLINE void powers_body(float* values, index_t count, float gamma, float coef0, int degree) {
    for (index_t i = 0; i < count; ++i) {
        const float base = gamma * values[i] + coef0;
        float power = 1.0F;
        for (int k = 0; k < degree; ++k) power *= base;
        values[i] = power;
    }
}
ASSAY_DISPATCH(void, powers, powers_body, (float* values, index_t count, float gamma, float coef0, int degree),
               (values, count, gamma, coef0, degree))

ASSAY_INLINE void tangents_body(float* values, index_t count, float gamma, float coef0) {
    for (index_t i = 0; i < count; ++i) {
        const float x = gamma * values[i] + coef0;
        const float size = x < 0.0F ? -x : x;
        const float grown = fast_exp(-2.0F * size);
        const float value = (1.0F - grown) / (1.0F + grown);
        values[i] = x < 0.0F ? -value : value;
    }
}
ASSAY_DISPATCH(void, tangents, tangents_body, (float* values, index_t count, float gamma, float coef0),
               (values, count, gamma, coef0))

// The values of one panel times its coefficients.
ASSAY_INLINE void accumulate_body(const float* values, const double* coefficients, index_t outputs, double* sums) {
    for (index_t k = 0; k < outputs; ++k) {
        double part[8] = {};
        const double* const own = coefficients + k * lanes;
        for (index_t i = 0; i < lanes; i += 8)
            for (index_t v = 0; v < 8; ++v) part[v] += static_cast<double>(values[i + v]) * own[i + v];
        sums[k] += ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
    }
}
ASSAY_DISPATCH(void, accumulate, accumulate_body,
               (const float* values, const double* coefficients, index_t outputs, double* sums),
               (values, coefficients, outputs, sums))

}  // namespace

KernelPanels::KernelPanels(Matrix<const double> rows, const KernelSpec& spec, int threads)
    : spec_(spec), n_(rows.rows), d_(rows.cols), panels_((rows.rows + lanes - 1) / lanes),
      centre_(static_cast<std::size_t>(rows.cols), 0.0) {
    if (spec_.function == Function::gaussian || spec_.function == Function::laplacian) {
        for (index_t i = 0; i < n_; ++i)
            for (index_t j = 0; j < d_; ++j) centre_[static_cast<std::size_t>(j)] += (rows(i, j) - centre_[static_cast<std::size_t>(j)]) / static_cast<double>(i + 1);
    }
    way_ = spec_.function == Function::laplacian ? Way::absolutes : Way::products;
    if (spec_.function == Function::gaussian) {
        double largest = 0.0;
        for (index_t i = 0; i < n_; ++i) {
            double norm = 0.0;
            for (index_t j = 0; j < d_; ++j) {
                const double gap = rows(i, j) - centre_[static_cast<std::size_t>(j)];
                norm += gap * gap;
            }
            largest = std::max(largest, norm);
        }
        if (spec_.gamma * largest > most_exponent) way_ = Way::squares;
    }
    place(rows, cells_, halves_);
    fill_panels(threads);
    diagonal_.assign(static_cast<std::size_t>(n_), 1.0);
    if (way_ == Way::products && spec_.function != Function::gaussian)
        for (index_t i = 0; i < n_; ++i) {
            double product = 0.0;
            for (index_t j = 0; j < d_; ++j) product += rows(i, j) * rows(i, j);
            const double shaped = spec_.gamma * product + spec_.coef0;
            diagonal_[static_cast<std::size_t>(i)] = spec_.function == Function::linear       ? product
                                                     : spec_.function == Function::polynomial ? std::pow(shaped, spec_.degree)
                                                                                              : std::tanh(shaped);
        }
}

KernelPanels::KernelPanels(const KernelPanels& all, const std::vector<std::int32_t>& rows, int threads)
    : spec_(all.spec_), way_(all.way_), n_(static_cast<index_t>(rows.size())), d_(all.d_),
      panels_((n_ + lanes - 1) / lanes), centre_(all.centre_) {
    for (const auto row : rows) {
        const auto from = all.cells_.begin() + row * d_;
        cells_.insert(cells_.end(), from, from + d_);
        halves_.push_back(all.halves_[static_cast<std::size_t>(row)]);
        diagonal_.push_back(all.diagonal_[static_cast<std::size_t>(row)]);
    }
    fill_panels(threads);
}

// From the cells, row by row; what fills up the last panel is zero.
void KernelPanels::fill_panels(int threads) {
    halves_.resize(static_cast<std::size_t>(panels_ * lanes), 0.0F);
    panel_.assign(static_cast<std::size_t>(panels_ * lanes * std::max<index_t>(1, d_)), 0.0F);
    parallel_chunks(panels_, 16, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t p = begin; p < end; ++p)
            for (index_t l = 0; l < std::min(lanes, n_ - p * lanes); ++l)
                for (index_t j = 0; j < d_; ++j)
                    panel_[static_cast<std::size_t>((p * d_ + j) * lanes + l)] =
                        cells_[static_cast<std::size_t>((p * lanes + l) * d_ + j)];
    });
}

void KernelPanels::place(Matrix<const double> rows, std::vector<float>& cells, std::vector<float>& halves) const {
    cells.resize(static_cast<std::size_t>(rows.rows * d_));
    halves.assign(static_cast<std::size_t>(rows.rows), 0.0F);
    const bool norms = spec_.function == Function::gaussian && way_ == Way::products;
    for (index_t i = 0; i < rows.rows; ++i) {
        double norm = 0.0;
        for (index_t j = 0; j < d_; ++j) {
            const float cell = static_cast<float>(rows(i, j) - centre_[static_cast<std::size_t>(j)]);
            cells[static_cast<std::size_t>(i * d_ + j)] = cell;
            norm += static_cast<double>(cell) * cell;
        }
        if (norms) halves[static_cast<std::size_t>(i)] = static_cast<float>(spec_.gamma * norm);
    }
}

void KernelPanels::finish(float* values, index_t count, float half, const float* halves) const {
    const auto gamma = static_cast<float>(spec_.gamma), coef0 = static_cast<float>(spec_.coef0);
    switch (spec_.function) {
        case Function::linear: return;
        case Function::polynomial: return powers(values, count, gamma, coef0, spec_.degree);
        case Function::sigmoid: return tangents(values, count, gamma, coef0);
        default: return exponentials(values, count, way_ == Way::products ? 2.0F * gamma : -gamma, half, halves);
    }
}

void KernelPanels::block(const float* const* queries, const float* halves, index_t count, index_t first, index_t last,
                         float* const* out) const {
    alignas(64) float values[group * lanes];
    const float* given[group];
    for (index_t q = 0; q < group; ++q) given[q] = queries[std::min(q, count - 1)];
    for (index_t p = first; p < last; ++p) {
        const float* const panel = panel_.data() + p * d_ * lanes;
        if (way_ == Way::products)
            products(panel, d_, given, values);
        else if (way_ == Way::squares)
            squares(panel, d_, given, values);
        else
            absolutes(panel, d_, given, values);
        const index_t used = std::min(lanes, n_ - p * lanes);
        for (index_t q = 0; q < count; ++q) {
            finish(values + q * lanes, lanes, halves[q], halves_.data() + p * lanes);
            std::copy(values + q * lanes, values + q * lanes + used, out[q] + (p - first) * lanes);
        }
    }
}

void KernelPanels::rows(const std::int32_t* which, index_t count, float* const* out, int threads) const {
    parallel_chunks(panels_, panels_at_once, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t k = 0; k < count; k += group) {
            const index_t used = std::min(group, count - k);
            const float* queries[group];
            float halves[group];
            float* to[group];
            for (index_t q = 0; q < used; ++q) {
                queries[q] = cells_.data() + which[k + q] * d_;
                halves[q] = halves_[static_cast<std::size_t>(which[k + q])];
                to[q] = out[k + q] + begin * lanes;
            }
            block(queries, halves, used, begin, end, to);
        }
    });
}

void KernelPanels::gram(float* out, int threads) const {
    parallel_chunks(n_, 96, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t p = 0; p < panels_; p += panels_at_once) {
            const index_t last = std::min(panels_, p + panels_at_once);
            for (index_t i = begin; i < end; i += group) {
                const index_t used = std::min(group, end - i);
                const float* queries[group];
                float* to[group];
                for (index_t q = 0; q < used; ++q) {
                    queries[q] = cells_.data() + (i + q) * d_;
                    to[q] = out + (i + q) * n_ + p * lanes;
                }
                block(queries, halves_.data() + i, used, p, last, to);
            }
        }
        for (index_t i = begin; i < end; ++i) out[i * n_ + i] = static_cast<float>(diagonal(i));
    });
}

void KernelPanels::sums(Matrix<const double> queries, Matrix<const double> coefficients, double* out, int threads) const {
    std::fill(out, out + queries.rows * coefficients.cols, 0.0);
    std::vector<float> cells, halves;
    place(queries, cells, halves);
    std::vector<const float*> placed;
    for (index_t i = 0; i < queries.rows; ++i) placed.push_back(cells.data() + i * d_);
    add_placed_sums(placed, halves, coefficients, out, threads);
}

void KernelPanels::add_sums(const KernelPanels& all, const std::vector<std::int32_t>& queries, const double* coefficients,
                            double* out, int threads) const {
    std::vector<const float*> placed;
    std::vector<float> halves;
    for (const auto row : queries) {
        placed.push_back(all.cells_.data() + row * d_);
        halves.push_back(all.halves_[static_cast<std::size_t>(row)]);
    }
    add_placed_sums(placed, halves, c_matrix(coefficients, n_, 1), out, threads);
}

void KernelPanels::add_placed_sums(const std::vector<const float*>& cells, const std::vector<float>& halves,
                                   Matrix<const double> coefficients, double* out, int threads) const {
    const index_t outputs = coefficients.cols;
    // Coefficients by panel and output, so that a panel's are in one stretch.
    std::vector<double> by_panel(static_cast<std::size_t>(panels_ * lanes * outputs), 0.0);
    for (index_t i = 0; i < n_; ++i)
        for (index_t k = 0; k < outputs; ++k)
            by_panel[static_cast<std::size_t>(((i / lanes) * outputs + k) * lanes + i % lanes)] = coefficients(i, k);
    parallel_chunks(static_cast<index_t>(cells.size()), 48, threads, [&](index_t, index_t begin, index_t end) {
        alignas(64) float values[group * lanes] = {};
        float* to[group];
        for (index_t q = 0; q < group; ++q) to[q] = values + q * lanes;
        for (index_t p = 0; p < panels_; ++p) {
            for (index_t i = begin; i < end; i += group) {
                const index_t used = std::min(group, end - i);
                block(cells.data() + i, halves.data() + i, used, p, p + 1, to);
                for (index_t q = 0; q < used; ++q)
                    accumulate(values + q * lanes,
                               by_panel.data() + p * outputs * lanes, outputs, out + (i + q) * outputs);
            }
        }
    });
}

}  // namespace assay::kernel_machines
