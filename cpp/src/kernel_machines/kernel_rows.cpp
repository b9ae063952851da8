#include "assay/kernel_machines/kernel_rows.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "assay/common/elementary.hpp"
#include "assay/common/lanes.hpp"
#include "assay/common/threads.hpp"

namespace assay::kernel_machines {
namespace {

constexpr index_t lanes = 64, group = 6, panels_at_once = 16, queries_at_once = 6144;
// Panels times rows up to which threads cost more than they save.
constexpr index_t few = 128;
// gamma |x|^2 up to which products in float32 have the exponent to a few 1e-6.
constexpr double most_exponent = 16.0;

template <class T, int W>
struct Lanes {
    using type = typename FloatLanes<W>::type;
};
template <int W>
struct Lanes<double, W> {
    using type = typename Eight<W>::Part;
};

// Sums over the columns for Q queries and the rows of one panel, as many vectors at once as the registers hold.
template <class T, int W, int Q, class Term>
ASSAY_INLINE void tile(const T* panel, index_t d, const T* const* queries, T* out, Term term) {
    using vec = typename Lanes<T, W>::type;
    // A single query needs more sums side by side, as each waits for itself.
    constexpr int vectors = Q == 1 ? (W * 8 < lanes ? 8 : lanes / W) : W * sizeof(T) == 64 ? 4 : 2;
    for (index_t first = 0; first < lanes; first += W * vectors) {
        vec sum[Q][vectors];
#pragma GCC unroll 6
        for (int q = 0; q < Q; ++q)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) sum[q][v] = vec{};
        for (index_t t = 0; t < d; ++t) {
            vec x[vectors];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) x[v] = *reinterpret_cast<const vec*>(panel + t * lanes + first + v * W);
#pragma GCC unroll 6
            for (int q = 0; q < Q; ++q) {
                const T c = queries[q][t];
#pragma GCC unroll 8
                for (int v = 0; v < vectors; ++v) term(sum[q][v], x[v], c);
            }
        }
#pragma GCC unroll 6
        for (int q = 0; q < Q; ++q)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) *reinterpret_cast<vec*>(out + q * lanes + first + v * W) = sum[q][v];
    }
}

template <class T, int W, int Q>
ASSAY_INLINE void summed_body(Way way, const T* panel, index_t d, const T* const* queries, T* out) {
    if (way == Way::products) {
        tile<T, W, Q>(panel, d, queries, out, [](auto& sum, const auto& x, T c) __attribute__((always_inline)) { sum += c * x; });
    } else if (way == Way::squares) {
        tile<T, W, Q>(panel, d, queries, out, [](auto& sum, const auto& x, T c) __attribute__((always_inline)) {
            const auto gap = x - c;
            sum += gap * gap;
        });
    } else {
        tile<T, W, Q>(panel, d, queries, out, [](auto& sum, const auto& x, T c) __attribute__((always_inline)) {
            const auto gap = x - c;
            sum += gap < T{0} ? -gap : gap;
        });
    }
}
#define ASSAY_SUMMED(T, name, Q, wide)                                                                                   \
    ASSAY_DISPATCH_EACH(void, name, (summed_body<T, wide, Q>), (summed_body<T, wide / 2, Q>), (summed_body<T, wide / 4, Q>), \
                        (Way way, const T* panel, index_t d, const T* const* queries, T* out), (way, panel, d, queries, out))
ASSAY_SUMMED(float, summed_float, group, 16)
ASSAY_SUMMED(float, summed_one_float, 1, 16)
ASSAY_SUMMED(double, summed_double, group, 8)
ASSAY_SUMMED(double, summed_one_double, 1, 8)
#undef ASSAY_SUMMED

// values: 2 gamma <x, y> - gamma |x|^2 - gamma |y|^2 or -gamma times a distance; its exponential.
template <class T>
ASSAY_INLINE void exponentials_body(T* values, index_t count, T factor, T half, const T* halves) {
    for (index_t i = 0; i < count; ++i) {
        const T exponent = factor * values[i] - (half + halves[i]);
        values[i] = fast_exp(exponent > T{0} ? T{0} : exponent);
    }
}

template <class T>
ASSAY_INLINE void powers_body(T* values, index_t count, T gamma, T coef0, int degree) {
    for (index_t i = 0; i < count; ++i) {
        const T base = gamma * values[i] + coef0;
        T power = T{1};
        for (int k = 0; k < degree; ++k) power *= base;
        values[i] = power;
    }
}

template <class T>
ASSAY_INLINE void tangents_body(T* values, index_t count, T gamma, T coef0) {
    for (index_t i = 0; i < count; ++i) {
        const T x = gamma * values[i] + coef0;
        const T size = x < T{0} ? -x : x;
        const T grown = fast_exp(T{-2} * size);
        const T value = (T{1} - grown) / (T{1} + grown);
        values[i] = x < T{0} ? -value : value;
    }
}

// The values of one panel times its coefficients.
template <class T>
ASSAY_INLINE void accumulate_body(const T* values, const double* coefficients, index_t outputs, double* sums) {
    for (index_t k = 0; k < outputs; ++k) {
        double part[8] = {};
        const double* const own = coefficients + k * lanes;
        for (index_t i = 0; i < lanes; i += 8)
            for (index_t v = 0; v < 8; ++v) part[v] += static_cast<double>(values[i + v]) * own[i + v];
        sums[k] += ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
    }
}

// The loops by the type of their cells.
template <class T>
struct Loops;
#define ASSAY_FUNCTIONS(T)                                                                                                     \
    ASSAY_DISPATCH(void, exponentials_##T, exponentials_body<T>, (T* values, index_t count, T factor, T half, const T* halves), \
                   (values, count, factor, half, halves))                                                                      \
    ASSAY_DISPATCH(void, powers_##T, powers_body<T>, (T* values, index_t count, T gamma, T coef0, int degree),                 \
                   (values, count, gamma, coef0, degree))                                                                      \
    ASSAY_DISPATCH(void, tangents_##T, tangents_body<T>, (T* values, index_t count, T gamma, T coef0),                         \
                   (values, count, gamma, coef0))                                                                              \
    ASSAY_DISPATCH(void, accumulate_##T, accumulate_body<T>,                                                                   \
                   (const T* values, const double* coefficients, index_t outputs, double* sums),                               \
                   (values, coefficients, outputs, sums))                                                                      \
    template <>                                                                                                                \
    struct Loops<T> {                                                                                                          \
        static constexpr auto summed = summed_##T;                                                                             \
        static constexpr auto summed_one = summed_one_##T;                                                                     \
        static constexpr auto exponentials = exponentials_##T;                                                                 \
        static constexpr auto powers = powers_##T;                                                                             \
        static constexpr auto tangents = tangents_##T;                                                                         \
        static constexpr auto accumulate = accumulate_##T;                                                                     \
    };
ASSAY_FUNCTIONS(float)
ASSAY_FUNCTIONS(double)
#undef ASSAY_FUNCTIONS

}  // namespace

template <class T>
KernelPanels<T>::KernelPanels(Matrix<const double> rows, const KernelSpec& spec)
    : spec_(spec), n_(rows.rows), d_(rows.cols), panels_((rows.rows + lanes - 1) / lanes),
      centre_(static_cast<std::size_t>(rows.cols), 0.0) {
    constexpr bool single = std::is_same_v<T, float>;
    const bool gaussian = spec_.function == Function::gaussian;
    way_ = spec_.function == Function::laplacian ? Way::absolutes : gaussian && !single ? Way::squares : Way::products;
    if (single && (gaussian || way_ == Way::absolutes)) {
        for (index_t i = 0; i < n_; ++i)
            for (index_t j = 0; j < d_; ++j) centre_[static_cast<std::size_t>(j)] += (rows(i, j) - centre_[static_cast<std::size_t>(j)]) / static_cast<double>(i + 1);
    }
    if (single && gaussian) {
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
    halves_.resize(static_cast<std::size_t>(panels_ * lanes), T{0});
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

template <class T>
KernelPanels<T>::KernelPanels(const KernelPanels& all, const std::vector<std::int32_t>& rows)
    : spec_(all.spec_), way_(all.way_), n_(static_cast<index_t>(rows.size())), d_(all.d_),
      panels_((n_ + lanes - 1) / lanes), centre_(all.centre_) {
    for (const auto row : rows) {
        const auto from = all.cells_.begin() + row * d_;
        cells_.insert(cells_.end(), from, from + d_);
        halves_.push_back(all.halves_[static_cast<std::size_t>(row)]);
        diagonal_.push_back(all.diagonal_[static_cast<std::size_t>(row)]);
    }
    halves_.resize(static_cast<std::size_t>(panels_ * lanes), T{0});
}

template <class T>
double KernelPanels<T>::largest_diagonal() const {
    double largest = 0.0;
    for (const double own : diagonal_) largest = std::max(largest, std::abs(own));
    return largest;
}

// From the cells, row by row; what fills up the last panel is zero.
template <class T>
const T* KernelPanels<T>::panels(int threads) const {
    std::call_once(laid_out_, [&] {
        panel_.assign(static_cast<std::size_t>(panels_ * lanes * std::max<index_t>(1, d_)), T{0});
        parallel_chunks(panels_, 16, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t p = begin; p < end; ++p)
                for (index_t l = 0; l < std::min(lanes, n_ - p * lanes); ++l)
                    for (index_t j = 0; j < d_; ++j)
                        panel_[static_cast<std::size_t>((p * d_ + j) * lanes + l)] =
                            cells_[static_cast<std::size_t>((p * lanes + l) * d_ + j)];
        });
    });
    return panel_.data();
}

template <class T>
void KernelPanels<T>::place(Matrix<const double> rows, std::vector<T>& cells, std::vector<T>& halves) const {
    cells.resize(static_cast<std::size_t>(rows.rows * d_));
    halves.assign(static_cast<std::size_t>(rows.rows), T{0});
    const bool norms = spec_.function == Function::gaussian && way_ == Way::products;
    for (index_t i = 0; i < rows.rows; ++i) {
        double norm = 0.0;
        for (index_t j = 0; j < d_; ++j) {
            const T cell = static_cast<T>(rows(i, j) - centre_[static_cast<std::size_t>(j)]);
            cells[static_cast<std::size_t>(i * d_ + j)] = cell;
            norm += static_cast<double>(cell) * cell;
        }
        if (norms) halves[static_cast<std::size_t>(i)] = static_cast<T>(spec_.gamma * norm);
    }
}

template <class T>
void KernelPanels<T>::finish(T* values, index_t count, T half, const T* halves) const {
    const auto gamma = static_cast<T>(spec_.gamma), coef0 = static_cast<T>(spec_.coef0);
    switch (spec_.function) {
        case Function::linear: return;
        case Function::polynomial: return Loops<T>::powers(values, count, gamma, coef0, spec_.degree);
        case Function::sigmoid: return Loops<T>::tangents(values, count, gamma, coef0);
        default: return Loops<T>::exponentials(values, count, way_ == Way::products ? T{2} * gamma : -gamma, half, halves);
    }
}

template <class T>
void KernelPanels<T>::block(const T* panels, const T* const* queries, const T* halves, index_t count, index_t first,
                            index_t last, T* const* out) const {
    alignas(64) T values[group * lanes];
    const T* given[group];
    for (index_t q = 0; q < group; ++q) given[q] = queries[std::min(q, count - 1)];
    for (index_t p = first; p < last; ++p) {
        const T* const panel = panels + p * d_ * lanes;
        if (count == 1)
            Loops<T>::summed_one(way_, panel, d_, given, values);
        else
            Loops<T>::summed(way_, panel, d_, given, values);
        const index_t used = std::min(lanes, n_ - p * lanes);
        for (index_t q = 0; q < count; ++q) {
            finish(values + q * lanes, lanes, halves[q], halves_.data() + p * lanes);
            std::copy(values + q * lanes, values + q * lanes + used, out[q] + (p - first) * lanes);
        }
    }
}

template <class T>
void KernelPanels<T>::rows(const std::int32_t* which, index_t count, T* const* out, int threads) const {
    if (count * panels_ < few) threads = 1;
    const T* const laid = panels(threads);
    parallel_chunks(panels_, panels_at_once, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t k = 0; k < count; k += group) {
            const index_t used = std::min(group, count - k);
            const T* queries[group];
            T halves[group];
            T* to[group];
            for (index_t q = 0; q < used; ++q) {
                queries[q] = cells_.data() + which[k + q] * d_;
                halves[q] = halves_[static_cast<std::size_t>(which[k + q])];
                to[q] = out[k + q] + begin * lanes;
            }
            block(laid, queries, halves, used, begin, end, to);
        }
    });
}

template <class T>
void KernelPanels<T>::gram(T* out, int threads) const {
    const T* const laid = panels(threads);
    parallel_chunks(n_, 96, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t p = 0; p < panels_; p += panels_at_once) {
            const index_t last = std::min(panels_, p + panels_at_once);
            for (index_t i = begin; i < end; i += group) {
                const index_t used = std::min(group, end - i);
                const T* queries[group];
                T* to[group];
                for (index_t q = 0; q < used; ++q) {
                    queries[q] = cells_.data() + (i + q) * d_;
                    to[q] = out + (i + q) * n_ + p * lanes;
                }
                block(laid, queries, halves_.data() + i, used, p, last, to);
            }
        }
        for (index_t i = begin; i < end; ++i) out[i * n_ + i] = static_cast<T>(diagonal(i));
    });
}

template <class T>
void KernelPanels<T>::sums(Matrix<const double> queries, Matrix<const double> coefficients, double* out, int threads) const {
    std::fill(out, out + queries.rows * coefficients.cols, 0.0);
    std::vector<T> cells, halves;
    std::vector<const T*> placed;
    for (index_t begin = 0; begin < queries.rows; begin += queries_at_once) {
        const index_t count = std::min(queries_at_once, queries.rows - begin);
        place({queries.row(begin), count, d_, queries.row_stride, queries.col_stride}, cells, halves);
        placed.clear();
        for (index_t i = 0; i < count; ++i) placed.push_back(cells.data() + i * d_);
        add_placed_sums(placed, halves, coefficients, out + begin * coefficients.cols, threads);
    }
}

template <class T>
void KernelPanels<T>::add_sums(const KernelPanels& all, const std::vector<std::int32_t>& queries,
                               const double* coefficients, double* out, int threads) const {
    std::vector<const T*> placed;
    std::vector<T> halves;
    for (const auto row : queries) {
        placed.push_back(all.cells_.data() + row * d_);
        halves.push_back(all.halves_[static_cast<std::size_t>(row)]);
    }
    add_placed_sums(placed, halves, c_matrix(coefficients, n_, 1), out, threads);
}

template <class T>
void KernelPanels<T>::add_placed_sums(const std::vector<const T*>& cells, const std::vector<T>& halves,
                                      Matrix<const double> coefficients, double* out, int threads) const {
    const index_t outputs = coefficients.cols;
    // Coefficients by panel and output, so that a panel's are in one stretch.
    std::vector<double> by_panel(static_cast<std::size_t>(panels_ * lanes * outputs), 0.0);
    for (index_t i = 0; i < n_; ++i)
        for (index_t k = 0; k < outputs; ++k)
            by_panel[static_cast<std::size_t>(((i / lanes) * outputs + k) * lanes + i % lanes)] = coefficients(i, k);
    const T* const laid = panels(threads);
    parallel_chunks(static_cast<index_t>(cells.size()), 48, threads, [&](index_t, index_t begin, index_t end) {
        alignas(64) T values[group * lanes] = {};
        T* to[group];
        for (index_t q = 0; q < group; ++q) to[q] = values + q * lanes;
        for (index_t p = 0; p < panels_; ++p) {
            for (index_t i = begin; i < end; i += group) {
                const index_t used = std::min(group, end - i);
                block(laid, cells.data() + i, halves.data() + i, used, p, p + 1, to);
                for (index_t q = 0; q < used; ++q)
                    Loops<T>::accumulate(values + q * lanes,
                               by_panel.data() + p * outputs * lanes, outputs, out + (i + q) * outputs);
            }
        }
    });
}

template class KernelPanels<float>;
template class KernelPanels<double>;

}  // namespace assay::kernel_machines
