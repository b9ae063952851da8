// Compiled with -ffp-contract=off (see CMakeLists.txt): fusing a product into a sum would break the exact error terms.
#include "assay/linear/double_double_qr.hpp"

#include <cmath>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

struct Double2 {
    double hi = 0, lo = 0;
};

ASSAY_INLINE Double2 fast_two_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
ASSAY_INLINE Double2 two_sum(double a, double b) {
    const double s = a + b, bb = s - a;
    return {s, (a - (s - bb)) + (b - bb)};
}
ASSAY_INLINE Double2 two_product(double a, double b) {
    const double p = a * b;
    return {p, __builtin_fma(a, b, -p)};
}
ASSAY_INLINE Double2 add(Double2 a, Double2 b) {
    Double2 s = two_sum(a.hi, b.hi);
    const Double2 t = two_sum(a.lo, b.lo);
    s = fast_two_sum(s.hi, s.lo + t.hi);
    return fast_two_sum(s.hi, s.lo + t.lo);
}
ASSAY_INLINE Double2 negate(Double2 a) { return {-a.hi, -a.lo}; }
ASSAY_INLINE Double2 multiply(Double2 a, Double2 b) {
    const Double2 p = two_product(a.hi, b.hi);
    return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
Double2 divide(Double2 a, Double2 b) {
    const double first = a.hi / b.hi;
    Double2 rest = add(a, negate(multiply({first, 0}, b)));
    const double second = rest.hi / b.hi;
    rest = add(rest, negate(multiply({second, 0}, b)));
    return add(fast_two_sum(first, second), {rest.hi / b.hi, 0});
}
Double2 square_root(Double2 a) {
    if (a.hi <= 0) return {};
    const double root = std::sqrt(a.hi);
    const Double2 rest = add(a, negate(two_product(root, root)));
    return fast_two_sum(root, rest.hi / (2 * root));
}
double rounded(Double2 a) { return a.hi + a.lo; }

// A column as two arrays, so that eight rows fit a vector register.
struct Column {
    double* hi;
    double* lo;
};

ASSAY_INLINE void dot_body(Column a, Column b, index_t n, Double2* result) {
    constexpr int lanes = 8;
    double hi[lanes] = {}, lo[lanes] = {};
    const index_t whole = n / lanes * lanes;
    for (index_t i = 0; i < whole; i += lanes) {
        for (int l = 0; l < lanes; ++l) {
            const Double2 product = multiply({a.hi[i + l], a.lo[i + l]}, {b.hi[i + l], b.lo[i + l]});
            const Double2 sum = add({hi[l], lo[l]}, product);
            hi[l] = sum.hi;
            lo[l] = sum.lo;
        }
    }
    Double2 total;
    for (int l = 0; l < lanes; ++l) total = add(total, {hi[l], lo[l]});
    for (index_t i = whole; i < n; ++i) total = add(total, multiply({a.hi[i], a.lo[i]}, {b.hi[i], b.lo[i]}));
    *result = total;
}
ASSAY_DISPATCH(void, dot, dot_body, (Column a, Column b, index_t n, Double2* result), (a, b, n, result))

// b -= factor a
ASSAY_INLINE void subtract_body(Column a, Double2 factor, Column b, index_t n) {
    double *__restrict to_hi = b.hi, *__restrict to_lo = b.lo;
    for (index_t i = 0; i < n; ++i) {
        const Double2 product = multiply({a.hi[i], a.lo[i]}, factor);
        const Double2 difference = add({to_hi[i], to_lo[i]}, negate(product));
        to_hi[i] = difference.hi;
        to_lo[i] = difference.lo;
    }
}
ASSAY_DISPATCH(void, subtract, subtract_body, (Column a, Double2 factor, Column b, index_t n), (a, factor, b, n))

// [A y] with rows scaled by sqrt(w), column by column.
class Columns {
public:
    Columns(Matrix<const double> design, const double* target, const double* weights)
        : n_(design.rows), k_(design.cols), hi_(size(n_ * (k_ + 1))), lo_(size(n_ * (k_ + 1))) {
        for (index_t i = 0; i < n_; ++i) {
            const Double2 scale = weights == nullptr ? Double2{1, 0} : square_root({weights[i], 0});
            for (index_t j = 0; j <= k_; ++j) {
                const Double2 cell = multiply({j < k_ ? design(i, j) : target[i], 0}, scale);
                hi_[size(j * n_ + i)] = cell.hi;
                lo_[size(j * n_ + i)] = cell.lo;
            }
        }
    }
    Column operator[](index_t j) { return {hi_.data() + j * n_, lo_.data() + j * n_}; }
    Double2 squared_norm(index_t j) {
        Double2 result;
        dot((*this)[j], (*this)[j], n_, &result);
        return result;
    }

private:
    static std::size_t size(index_t n) { return static_cast<std::size_t>(n); }
    index_t n_, k_;
    std::vector<double> hi_, lo_;
};

// The inverse of the upper triangular k x k matrix `r` over the kept columns, and its action on `rotated`.
void solve_triangle(const std::vector<Double2>& r, const std::vector<Double2>& rotated, index_t k,
                    ExactLeastSquares& out) {
    const auto at = [k](index_t i, index_t j) { return static_cast<std::size_t>(i * k + j); };
    std::vector<Double2> inverse(static_cast<std::size_t>(k * k));
    for (index_t j = 0; j < k; ++j) {
        if (out.kept[static_cast<std::size_t>(j)] == 0) continue;
        inverse[at(j, j)] = divide({1, 0}, r[at(j, j)]);
        for (index_t i = j - 1; i >= 0; --i) {
            if (out.kept[static_cast<std::size_t>(i)] == 0) continue;
            Double2 sum;
            for (index_t l = i + 1; l <= j; ++l) sum = add(sum, multiply(r[at(i, l)], inverse[at(l, j)]));
            inverse[at(i, j)] = divide(negate(sum), r[at(i, i)]);
        }
    }
    for (index_t i = k - 1; i >= 0; --i) {
        const auto row = static_cast<std::size_t>(i);
        if (out.kept[row] == 0) continue;
        Double2 squares, coefficient;
        for (index_t j = i; j < k; ++j) {
            squares = add(squares, multiply(inverse[at(i, j)], inverse[at(i, j)]));
            coefficient = add(coefficient, multiply(inverse[at(i, j)], rotated[static_cast<std::size_t>(j)]));
            out.inverse[at(i, j)] = rounded(inverse[at(i, j)]);
        }
        out.spread[row] = rounded(square_root(squares));
        out.coefficients[row] = rounded(coefficient);
    }
}

}  // namespace

ExactLeastSquares exact_least_squares(Matrix<const double> design, const double* target, const double* weights,
                                      bool intercept_first, double tolerance, int threads) {
    const index_t n = design.rows, k = design.cols;
    const auto size = [](index_t count) { return static_cast<std::size_t>(count); };
    ExactLeastSquares out;
    out.coefficients.assign(size(k), 0.0);
    out.spread = out.remaining = out.coefficients;
    out.inverse.assign(size(k * k), 0.0);
    out.kept.assign(size(k), 0);
    Columns columns(design, target, weights);
    std::vector<double> norms(size(k));
    for (index_t j = 0; j < k; ++j) norms[size(j)] = rounded(square_root(columns.squared_norm(j)));
    out.total_squares = rounded(columns.squared_norm(k));

    std::vector<Double2> r(size(k * k)), rotated(size(k));
    for (index_t j = 0; j < k && !interrupted(); ++j) {
        const Double2 length = square_root(columns.squared_norm(j));
        out.remaining[size(j)] = norms[size(j)] > 0 ? rounded(length) / norms[size(j)] : 0.0;
        if (!(out.remaining[size(j)] > tolerance)) continue;
        out.kept[size(j)] = 1;
        r[size(j * k + j)] = length;
        const Double2 reciprocal = divide({1, 0}, length);
        const Column direction = columns[j];
        for (index_t i = 0; i < n; ++i) {
            const Double2 unit = multiply({direction.hi[i], direction.lo[i]}, reciprocal);
            direction.hi[i] = unit.hi;
            direction.lo[i] = unit.lo;
        }
        const int team = n * (k - j) > 100000 ? threads : 1;
        parallel_chunks(k - j, 1, team, [&](index_t step, index_t, index_t) {
            const index_t other = j + 1 + step;
            Double2 projection;
            dot(direction, columns[other], n, &projection);
            subtract(direction, projection, columns[other], n);
            (other < k ? r[size(j * k + other)] : rotated[size(j)]) = projection;
        });
        if (j == 0 && intercept_first) out.total_squares = rounded(columns.squared_norm(k));
    }
    out.residual_squares = rounded(columns.squared_norm(k));
    solve_triangle(r, rotated, k, out);
    return out;
}

}  // namespace assay
