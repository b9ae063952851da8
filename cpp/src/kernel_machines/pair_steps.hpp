// The steps of sequential minimal optimisation over vectors: moving the errors along two rows of the Gram matrix while looking
// for the next variable, choosing its partner, and adding rows to the gradient.
#pragma once

#include <limits>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/kernel_machines/smo.hpp"

namespace assay::kernel_machines {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_curvature = 1e-12;
constexpr index_t width = 8;  // cells at once of the loops below

alignas(64) constexpr std::int64_t counting[width] = {0, 1, 2, 3, 4, 5, 6, 7};

// Vectors of W lanes, as wide as the registers: compilers take comparisons of wider ones apart, lane by lane.
template <int W>
struct Vectors;
#define ASSAY_VECTORS(W)                                                                       \
    template <>                                                                                \
    struct Vectors<W> {                                                                        \
        using numbers = double __attribute__((vector_size(W * 8), aligned(8), may_alias));     \
        using whole = std::int64_t __attribute__((vector_size(W * 8), aligned(8), may_alias)); \
        using singles = float __attribute__((vector_size(W * 4), aligned(4), may_alias));      \
    };                                                                                         \
    ASSAY_INLINE void read(const double* from, Vectors<W>::numbers& to) {                      \
        to = *reinterpret_cast<const Vectors<W>::numbers*>(from);                              \
    }                                                                                          \
    ASSAY_INLINE void read(const float* from, Vectors<W>::numbers& to) {                       \
        const auto& singles = *reinterpret_cast<const Vectors<W>::singles*>(from);             \
        to = __builtin_convertvector(singles, Vectors<W>::numbers);                            \
    }
ASSAY_VECTORS(8)
ASSAY_VECTORS(4)
ASSAY_VECTORS(2)

struct Found {
    double value;
    index_t place;
};

// The largest over the lanes; the first of equal ones.
template <int W>
ASSAY_INLINE Found largest_of(const typename Vectors<W>::numbers* best, const typename Vectors<W>::whole* place) {
    Found found{-infinity, 0};
    for (int u = 0; u < width / W; ++u)
        for (int v = 0; v < W; ++v) {
            const auto at = static_cast<index_t>(place[u][v]);
            if (best[u][v] > found.value || (best[u][v] == found.value && at < found.place)) found = {best[u][v], at};
        }
    return found;
}

// What is left of a kernel row after whole widths, and zeros.
template <class T>
ASSAY_INLINE void copy_rest(const T* from, index_t count, T* to) {
    for (index_t v = 0; v < width; ++v) to[v] = v < count ? from[v] : T{};
}

// e -= step (K_i - K_j), and the largest e + up after it. Kernel rows have n cells, e and up whole widths.
template <class T, int W>
ASSAY_INLINE Found move_body(double* e, const double* up, const T* ki, const T* kj, double step, index_t n) {
    using V = Vectors<W>;
    typename V::numbers best[width / W];
    typename V::whole place[width / W], here[width / W];
    for (int u = 0; u < width / W; ++u) {
        best[u] = typename V::numbers{} - infinity;
        place[u] = here[u] = *reinterpret_cast<const typename V::whole*>(counting + u * W);
    }
    T last_i[width], last_j[width];
    for (index_t i = 0; i < n; i += width) {
        const T *at_i = ki + i, *at_j = kj + i;
        if (i + width > n) {
            copy_rest(at_i, n - i, last_i);
            copy_rest(at_j, n - i, last_j);
            at_i = last_i;
            at_j = last_j;
        }
#pragma GCC unroll 4
        for (int u = 0; u < width / W; ++u) {
            typename V::numbers value, of_i, of_j, open;
            read(e + i + u * W, value);
            read(at_i + u * W, of_i);
            read(at_j + u * W, of_j);
            read(up + i + u * W, open);
            value -= step * (of_i - of_j);
            *reinterpret_cast<typename V::numbers*>(e + i + u * W) = value;
            open += value;
            const auto larger = open > best[u];
            place[u] = larger ? here[u] : place[u];
            best[u] = larger ? open : best[u];
            here[u] += width;
        }
    }
    return largest_of<W>(best, place);
}

// The partner of i: the largest gain (e_i - e_j)^2 / (K_ii + K_jj - 2 K_ij) among those that may fall, 0 if there is
// none; and the least e among these, for the violation. Gains are compared by products, which are quicker than quotients.
template <class T, int W>
ASSAY_INLINE Found partner_body(const double* e, const double* down, const double* diagonal, const T* ki, double ei,
                                double kii, index_t n, double* least) {
    using V = Vectors<W>;
    using numbers = typename V::numbers;
    numbers square_of_best[width / W], curve_of_best[width / W], lowest[width / W];
    typename V::whole place[width / W], here[width / W];
    for (int u = 0; u < width / W; ++u) {
        square_of_best[u] = numbers{};
        curve_of_best[u] = numbers{} + 1.0;
        lowest[u] = numbers{} + infinity;
        place[u] = here[u] = *reinterpret_cast<const typename V::whole*>(counting + u * W);
    }
    T last_i[width];
    for (index_t i = 0; i < n; i += width) {
        const T* at_i = ki + i;
        if (i + width > n) {
            copy_rest(at_i, n - i, last_i);
            at_i = last_i;
        }
#pragma GCC unroll 4
        for (int u = 0; u < width / W; ++u) {
            numbers value, closed, own, of_i;
            read(e + i + u * W, value);
            read(down + i + u * W, closed);
            read(diagonal + i + u * W, own);
            read(at_i + u * W, of_i);
            value += closed;
            lowest[u] = value < lowest[u] ? value : lowest[u];
            const numbers gap = ei - value;
            numbers curve = (kii + own) - 2.0 * of_i;
            curve = curve > least_curvature ? curve : numbers{} + least_curvature;
            const numbers square = gap > 0.0 ? gap * gap : numbers{};
            const auto larger = square * curve_of_best[u] > square_of_best[u] * curve;
            place[u] = larger ? here[u] : place[u];
            square_of_best[u] = larger ? square : square_of_best[u];
            curve_of_best[u] = larger ? curve : curve_of_best[u];
            here[u] += width;
        }
    }
    *least = infinity;
    for (int u = 0; u < width / W; ++u) {
        for (int v = 0; v < W; ++v) *least = lowest[u][v] < *least ? lowest[u][v] : *least;
        square_of_best[u] /= curve_of_best[u];
    }
    return largest_of<W>(square_of_best, place);
}

// Both for a Gram matrix in float32 and in float64.
#define ASSAY_STEPS(T, move_name, partner_name)                                                                          \
    ASSAY_DISPATCH_EACH(Found, move_name, (move_body<T, 8>), (move_body<T, 4>), (move_body<T, 2>),                       \
                        (double* e, const double* up, const T* ki, const T* kj, double step, index_t n),                 \
                        (e, up, ki, kj, step, n))                                                                        \
    ASSAY_DISPATCH_EACH(Found, partner_name, (partner_body<T, 8>), (partner_body<T, 4>), (partner_body<T, 2>),           \
                        (const double* e, const double* down, const double* diagonal, const T* ki, double ei, double kii, \
                         index_t n, double* least),                                                                      \
                        (e, down, diagonal, ki, ei, kii, n, least))                                                      \
    ASSAY_INLINE Found move(double* e, const double* up, const T* ki, const T* kj, double step, index_t n) {             \
        return move_name(e, up, ki, kj, step, n);                                                                        \
    }                                                                                                                    \
    ASSAY_INLINE Found partner(const double* e, const double* down, const double* diagonal, const T* ki, double ei,      \
                               double kii, index_t n, double* least) {                                                   \
        return partner_name(e, down, diagonal, ki, ei, kii, n, least);                                                   \
    }
ASSAY_STEPS(float, move_float, partner_float)
ASSAY_STEPS(double, move_double, partner_double)

// f += step k over a stretch.
template <class T>
ASSAY_INLINE void add_body(double* f, const T* k, double step, index_t n) {
    for (index_t i = 0; i < n; ++i) f[i] += step * static_cast<double>(k[i]);
}
// Four rows at once, so that f is read and written once for them.
template <class T>
ASSAY_INLINE void add_four_body(double* f, const T* const* k, const double* step, index_t begin, index_t end) {
    const T *a = k[0], *b = k[1], *c = k[2], *d = k[3];
    for (index_t i = begin; i < end; ++i)
        f[i] += (step[0] * static_cast<double>(a[i]) + step[1] * static_cast<double>(b[i])) +
                (step[2] * static_cast<double>(c[i]) + step[3] * static_cast<double>(d[i]));
}
ASSAY_DISPATCH(void, add_float, add_body<float>, (double* f, const float* k, double step, index_t n), (f, k, step, n))
ASSAY_DISPATCH(void, add_double, add_body<double>, (double* f, const double* k, double step, index_t n), (f, k, step, n))
ASSAY_DISPATCH(void, add_four_float, add_four_body<float>,
               (double* f, const float* const* k, const double* step, index_t begin, index_t end), (f, k, step, begin, end))
ASSAY_DISPATCH(void, add_four_double, add_four_body<double>,
               (double* f, const double* const* k, const double* step, index_t begin, index_t end), (f, k, step, begin, end))
void add(double* f, const float* k, double step, index_t n) { add_float(f, k, step, n); }
void add(double* f, const double* k, double step, index_t n) { add_double(f, k, step, n); }
void add_four(double* f, const float* const* k, const double* step, index_t begin, index_t end) {
    add_four_float(f, k, step, begin, end);
}
void add_four(double* f, const double* const* k, const double* step, index_t begin, index_t end) {
    add_four_double(f, k, step, begin, end);
}

template <class T>
void move_all(const std::vector<const T*>& rows, const std::vector<double>& steps, double* f, index_t n, int threads) {
    const auto count = static_cast<index_t>(rows.size());
    parallel_chunks(n, 2048, threads, [&](index_t, index_t begin, index_t end) {
        index_t k = 0;
        for (; k + 4 <= count; k += 4) add_four(f, rows.data() + k, steps.data() + k, begin, end);
        for (; k < count; ++k)
            add(f + begin, rows[static_cast<std::size_t>(k)] + begin, steps[static_cast<std::size_t>(k)], end - begin);
    });
}

}  // namespace
}  // namespace assay::kernel_machines
