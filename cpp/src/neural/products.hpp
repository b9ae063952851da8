// Products of small matrices in register tiles, and rows of numbers passed through a function, for float and double.
//
// c (m x n) = start + a b, where a is m x k with any strides and b, c, start have rows that begin at multiples of 64 bytes and
// are filled up to a multiple of 64 bytes: no column is left over. A tile of R rows and V vectors stays in registers while k
// runs; every cell is summed in the order of k, whatever the tile, so that cutting a matrix in parts changes no bit.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"
#include "assay/neural/mlp.hpp"

namespace assay::neural {

template <class T>
constexpr index_t lane = static_cast<index_t>(64 / sizeof(T));

// Elements of a row with room for whole vectors; rows a multiple of 1 kB apart would fall on the same lines of the cache.
template <class T>
index_t padded(index_t n) {
    const index_t whole = (n + lane<T> - 1) / lane<T> * lane<T>;
    return whole * static_cast<index_t>(sizeof(T)) % 1024 == 0 ? whole + lane<T> : whole;
}

// Zeroed memory on a boundary of 64 bytes.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(index_t count) {
        const auto bytes = (static_cast<std::size_t>(count) * sizeof(T) + 127) / 64 * 64;
        T* const memory = static_cast<T*>(std::aligned_alloc(64, bytes));
        if (memory == nullptr) throw std::bad_alloc();
        std::fill_n(reinterpret_cast<char*>(memory), bytes, '\0');
        held_.reset(memory);
    }
    T* data() const { return held_.get(); }

private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    std::unique_ptr<T[], Free> held_;
};

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
    typedef float type __attribute__((vector_size(64), aligned(64), may_alias));
};
template <>
struct LanesOf<double> {
    typedef double type __attribute__((vector_size(64), aligned(64), may_alias));
};

template <class T>
struct Product {
    const T* a;
    index_t a_row, a_col;
    const T* b;
    index_t b_row;
    T* c;
    index_t c_row;
    index_t m, n, k;
    const T* start;  // n numbers, the same for every row; null: 0, or c itself with `add`
    bool add = false;
};

template <class T, int R, int V>
ASSAY_INLINE void tile(const Product<T>& p, index_t i, index_t j) {
    using lanes = typename LanesOf<T>::type;
    lanes sum[R][V];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            if (p.add)
                sum[r][v] = *reinterpret_cast<const lanes*>(p.c + (i + r) * p.c_row + j + v * lane<T>);
            else if (p.start != nullptr)
                sum[r][v] = *reinterpret_cast<const lanes*>(p.start + j + v * lane<T>);
            else
                sum[r][v] = lanes{};
        }
    const T* a = p.a + i * p.a_row;
    const T* b = p.b + j;
    for (index_t k = 0; k < p.k; ++k, a += p.a_col, b += p.b_row) {
        lanes right[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) right[v] = *reinterpret_cast<const lanes*>(b + v * lane<T>);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const T left = a[r * p.a_row];
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) sum[r][v] += left * right[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            *reinterpret_cast<lanes*>(p.c + (i + r) * p.c_row + j + v * lane<T>) = sum[r][v];
}

template <class T, int R, int V>
ASSAY_INLINE void columns(const Product<T>& p, index_t j) {
    index_t i = 0;
    for (; i + R <= p.m; i += R) tile<T, R, V>(p, i, j);
    if constexpr (R > 4)
        if (i + 4 <= p.m) tile<T, 4, V>(p, i, j), i += 4;
    for (; i < p.m; ++i) tile<T, 1, V>(p, i, j);
}

template <class T, int R, int V>
ASSAY_INLINE void multiply_body(const Product<T>& p) {
    const index_t width = (p.n + lane<T> - 1) / lane<T> * lane<T>;
    index_t j = 0;
    for (; j + V * lane<T> <= width; j += V * lane<T>) columns<T, R, V>(p, j);
    if constexpr (V > 1)
        for (; j < width; j += lane<T>) columns<T, R, 1>(p, j);
}

// A tile for the registers of each instruction set.
#define ASSAY_MULTIPLY(T)                                                                                          \
    ASSAY_DISPATCH_EACH(void, multiply, (multiply_body<T, 8, 2>), (multiply_body<T, 6, 1>), (multiply_body<T, 2, 1>), \
                        (const Product<T>& p), (p))
ASSAY_MULTIPLY(float)
ASSAY_MULTIPLY(double)
#undef ASSAY_MULTIPLY

// Dot products of a's rows with few rows b: c (m x n) = start + a b^T, over rows padded with zeros in b.
template <class T>
ASSAY_INLINE void dots_body(const Product<T>& p) {
    using lanes = typename LanesOf<T>::type;
    const index_t width = (p.k + lane<T> - 1) / lane<T> * lane<T>;
    for (index_t i = 0; i < p.m; ++i)
        for (index_t j = 0; j < p.n; ++j) {
            const T* const a = p.a + i * p.a_row;
            const T* const b = p.b + j * p.b_row;
            lanes sum = {};
            for (index_t k = 0; k < width; k += lane<T>)
                sum += *reinterpret_cast<const lanes*>(a + k) * *reinterpret_cast<const lanes*>(b + k);
            T total = T(0);
#pragma GCC unroll 16
            for (index_t v = 0; v < lane<T>; ++v) total += sum[v];
            p.c[i * p.c_row + j] = p.start[j] + total;
        }
}
ASSAY_DISPATCH(void, dots, dots_body, (const Product<float>& p), (p))
ASSAY_DISPATCH(void, dots, dots_body, (const Product<double>& p), (p))

template <class T>
ASSAY_INLINE void activate_body(T* z, index_t count, Activation activation) {
    switch (activation) {
        case Activation::identity: return;
        case Activation::logistic:
            for (index_t i = 0; i < count; ++i) z[i] = T(1) / (T(1) + fast_exp(-z[i]));
            return;
        case Activation::tanh:
            for (index_t i = 0; i < count; ++i) {
                const T e = fast_exp(z[i] + z[i]);
                z[i] = e > T(1e30) ? T(1) : (e - T(1)) / (e + T(1));
            }
            return;
        case Activation::relu:
            for (index_t i = 0; i < count; ++i) z[i] = z[i] > T(0) ? z[i] : T(0);
            return;
    }
}
ASSAY_DISPATCH(void, activate, activate_body, (float* z, index_t count, Activation a), (z, count, a))
ASSAY_DISPATCH(void, activate, activate_body, (double* z, index_t count, Activation a), (z, count, a))

// delta *= s'(z), by the value a = s(z).
template <class T>
ASSAY_INLINE void chain_body(T* delta, const T* a, index_t count, Activation activation) {
    switch (activation) {
        case Activation::identity: return;
        case Activation::logistic:
            for (index_t i = 0; i < count; ++i) delta[i] *= a[i] * (T(1) - a[i]);
            return;
        case Activation::tanh:
            for (index_t i = 0; i < count; ++i) delta[i] *= T(1) - a[i] * a[i];
            return;
        case Activation::relu:
            for (index_t i = 0; i < count; ++i) delta[i] = a[i] > T(0) ? delta[i] : T(0);
            return;
    }
}
ASSAY_DISPATCH(void, chain, chain_body, (float* delta, const float* a, index_t count, Activation s), (delta, a, count, s))
ASSAY_DISPATCH(void, chain, chain_body, (double* delta, const double* a, index_t count, Activation s), (delta, a, count, s))

// One step on a run of parameters with the gradient g of the data.
template <class T>
struct Step {
    T eta, momentum, beta1, beta2, epsilon, l1, l2;
    bool adam, nesterov;
};

template <class T>
ASSAY_INLINE T shrink(T value, T by) {
    return value > by ? value - by : (value < -by ? value + by : T(0));
}

template <class T>
ASSAY_INLINE void step_body(T* __restrict__ theta, T* __restrict__ first, T* __restrict__ second,
                            const T* __restrict__ g, index_t count, const Step<T>& given) {
    const Step<T> s = given;
    if (s.adam) {
        for (index_t i = 0; i < count; ++i) {
            const T gradient = g[i] + s.l2 * theta[i];
            first[i] = s.beta1 * first[i] + (T(1) - s.beta1) * gradient;
            second[i] = s.beta2 * second[i] + (T(1) - s.beta2) * gradient * gradient;
            const T size = s.eta / (std::sqrt(second[i]) + s.epsilon);
            const T next = theta[i] - size * first[i];
            theta[i] = s.l1 > T(0) ? shrink(next, size * s.l1) : next;
        }
        return;
    }
    for (index_t i = 0; i < count; ++i) {
        const T move = s.eta * (g[i] + s.l2 * theta[i]);
        if (s.l1 > T(0)) {
            // Velocity is the move of the point that the threshold acts on; Nesterov's theta looks ahead of it.
            const T ahead = s.momentum * first[i], from = s.nesterov ? theta[i] - ahead : theta[i];
            const T point = shrink((s.nesterov ? theta[i] : theta[i] + ahead) - move, s.eta * s.l1);
            first[i] = point - from;
            theta[i] = s.nesterov ? point + s.momentum * first[i] : point;
            continue;
        }
        const T velocity = s.momentum * first[i] - move;
        first[i] = velocity;
        theta[i] += s.nesterov ? s.momentum * velocity - move : velocity;
    }
}
ASSAY_DISPATCH(void, take_step, step_body,
               (float* theta, float* first, float* second, const float* g, index_t count, const Step<float>& s),
               (theta, first, second, g, count, s))
ASSAY_DISPATCH(void, take_step, step_body,
               (double* theta, double* first, double* second, const double* g, index_t count, const Step<double>& s),
               (theta, first, second, g, count, s))

}  // namespace assay::neural
