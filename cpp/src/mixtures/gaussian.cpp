#include "assay/mixtures/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "../linear/tiles.hpp"
#include "assay/common/elementary.hpp"
#include "assay/common/threads.hpp"

namespace assay::mixtures {
namespace {

constexpr index_t group = 16;          // rows measured together
constexpr index_t height = 4;         // rows of W at a time
constexpr double negligible = 1e-13;   // responsibilities below add nothing to the moments
constexpr double out_of_reach = 40.0;  // log f_c so far below the best of a row is nothing: exp(-40) < 2^-57
constexpr float rounding = 1e-6F;      // more than what float32 loses in a bound or a limit

template <class I>
std::size_t at(I i) {
    return static_cast<std::size_t>(i);
}

// All W_c in blocks of four rows. Triangles: block a holds, for b = 0..4a+3, the four cells W[4a..4a+3][b]. Factors: the d
// inverse variances, then R in blocks that hold all columns.
struct PackedWhitening {
    std::vector<double> cells;
    index_t blocks, size;

    PackedWhitening(const GaussianComponents& parts, index_t d)
        : blocks(((parts.factors > 0 ? parts.factors : d) + height - 1) / height),
          size(parts.factors > 0 ? d + height * blocks * d : 2 * height * blocks * (blocks + 1)) {
        if (parts.diagonal) return;
        cells.assign(static_cast<std::size_t>(parts.k * size), 0.0);
        for (index_t c = 0; c < parts.k; ++c)
            if (parts.factors > 0)
                pack_factors(parts.whitening + c * (parts.factors + 1) * d, parts.factors, d, cells.data() + c * size);
            else
                pack_triangle(parts.whitening + c * d * d, d, cells.data() + c * size);
    }
    static index_t offset(index_t a) { return height * height * a * (a + 1) / 2; }

private:
    void pack_triangle(const double* whitening, index_t d, double* to) const {
        for (index_t a = 0; a < blocks; ++a)
            for (index_t b = 0; b < std::min(d, height * (a + 1)); ++b)
                for (index_t r = 0; r < height; ++r) {
                    const index_t row = height * a + r;
                    if (row < d && b <= row) to[offset(a) + b * height + r] = whitening[row * d + b];
                }
    }
    static void pack_factors(const double* whitening, index_t q, index_t d, double* to) {
        for (index_t t = 0; t < d; ++t) to[t] = whitening[t] * whitening[t];
        for (index_t f = 0; f < q; ++f)
            for (index_t t = 0; t < d; ++t)
                to[d + (f / height * d + t) * height + f % height] = whitening[(f + 1) * d + t];
    }
};

// A group of rows, dimension by dimension; four by four cells at a time.
ASSAY_INLINE void transpose_body(const double* const* rows, index_t d, double* panel) {
    using vec = Lanes<4>::type;
    using places = Lanes<4>::whole;
    for (index_t p = 0; p < group; p += 4) {
        index_t t = 0;
        for (; t + 4 <= d; t += 4) {
            vec x[4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) x[r] = *reinterpret_cast<const vec*>(rows[p + r] + t);
            const vec a = __builtin_shuffle(x[0], x[1], places{0, 4, 2, 6}), b = __builtin_shuffle(x[0], x[1], places{1, 5, 3, 7});
            const vec c = __builtin_shuffle(x[2], x[3], places{0, 4, 2, 6}), e = __builtin_shuffle(x[2], x[3], places{1, 5, 3, 7});
            *reinterpret_cast<vec*>(panel + t * group + p) = __builtin_shuffle(a, c, places{0, 1, 4, 5});
            *reinterpret_cast<vec*>(panel + (t + 1) * group + p) = __builtin_shuffle(b, e, places{0, 1, 4, 5});
            *reinterpret_cast<vec*>(panel + (t + 2) * group + p) = __builtin_shuffle(a, c, places{2, 3, 6, 7});
            *reinterpret_cast<vec*>(panel + (t + 3) * group + p) = __builtin_shuffle(b, e, places{2, 3, 6, 7});
        }
        for (; t < d; ++t)
            for (index_t r = 0; r < 4; ++r) panel[t * group + p + r] = rows[p + r][t];
    }
}
ASSAY_DISPATCH(void, transpose, transpose_body, (const double* const* rows, index_t d, double* panel), (rows, d, panel))

// sum[r] += cell[b * height + r] z[b] over the first `count` dimensions of a group of rows.
template <int W, int NV>
ASSAY_INLINE void add_products(const double* cell, const double* z, index_t count,
                               typename Lanes<W>::type (&sum)[height][NV]) {
    using vec = typename Lanes<W>::type;
    for (index_t b = 0; b < count; ++b) {
        vec x[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) x[v] = *reinterpret_cast<const vec*>(z + b * group + v * W);
#pragma GCC unroll 4
        for (int r = 0; r < height; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) sum[r][v] += cell[b * height + r] * x[v];
    }
}

// logs[p] = constant - |W (x_p - m)|^2 / 2 for a group of rows; z is room for x - m.
template <int W, int MR, int NV>
ASSAY_INLINE void quadratic_body(const double* panel, index_t d, const double* mean, const double* packed, index_t blocks,
                                 double constant, double* z, double* logs) {
    using vec = typename Lanes<W>::type;
    for (index_t first = 0; first < group; first += W * NV) {
        vec total[NV] = {};
        for (index_t a = 0; a < blocks; ++a) {
            vec sum[height][NV] = {};
            const double* const cell = packed + height * height * a * (a + 1) / 2;
            const index_t stop = std::min(d, height * (a + 1));
            // Stored as whole vectors, as they are read below.
            for (index_t b = height * a; b < stop; ++b)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v)
                    *reinterpret_cast<vec*>(z + b * group + first + v * W) =
                        *reinterpret_cast<const vec*>(panel + b * group + first + v * W) - mean[b];
            add_products<W, NV>(cell, z + first, stop, sum);
#pragma GCC unroll 4
            for (int r = 0; r < height; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) total[v] += sum[r][v] * sum[r][v];
        }
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) *reinterpret_cast<vec*>(logs + first + v * W) = constant - 0.5 * total[v];
    }
}
ASSAY_DISPATCH_BLOCKED(quadratic, quadratic_body,
                       (const double* panel, index_t d, const double* mean, const double* packed, index_t blocks,
                        double constant, double* z, double* logs),
                       (panel, d, mean, packed, blocks, constant, z, logs))

// logs[p] = constant - (|V^-1/2 (x_p - m)|^2 - |R (x_p - m)|^2) / 2 for a group of rows; z is room for x - m.
template <int W, int MR, int NV>
ASSAY_INLINE void factors_body(const double* panel, index_t d, const double* mean, const double* packed, index_t blocks,
                               double constant, double* z, double* logs) {
    using vec = typename Lanes<W>::type;
    for (index_t first = 0; first < group; first += W * NV) {
        vec total[NV] = {};
        for (index_t t = 0; t < d; ++t)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
                const vec gap = *reinterpret_cast<const vec*>(panel + t * group + first + v * W) - mean[t];
                *reinterpret_cast<vec*>(z + t * group + first + v * W) = gap;
                total[v] += packed[t] * gap * gap;
            }
        for (index_t a = 0; a < blocks; ++a) {
            vec sum[height][NV] = {};
            const double* const cell = packed + d + a * d * height;
            add_products<W, NV>(cell, z + first, d, sum);
#pragma GCC unroll 4
            for (int r = 0; r < height; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) total[v] -= sum[r][v] * sum[r][v];
        }
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            const vec squares = total[v] > 0.0 ? total[v] : vec{};
            *reinterpret_cast<vec*>(logs + first + v * W) = constant - 0.5 * squares;
        }
    }
}
ASSAY_DISPATCH_BLOCKED(factor_logs, factors_body,
                       (const double* panel, index_t d, const double* mean, const double* packed, index_t blocks,
                        double constant, double* z, double* logs),
                       (panel, d, mean, packed, blocks, constant, z, logs))

ASSAY_INLINE void diagonal_body(const double* panel, index_t d, const double* mean, const double* inverse, double constant,
                                double* logs) {
    double squares[group] = {};
    for (index_t t = 0; t < d; ++t) {
        const double m = mean[t], s = inverse[t];
        for (index_t p = 0; p < group; ++p) {
            const double gap = (panel[t * group + p] - m) * s;
            squares[p] += gap * gap;
        }
    }
    for (index_t p = 0; p < group; ++p) logs[p] = constant - 0.5 * squares[p];
}
ASSAY_DISPATCH(void, diagonal_logs, diagonal_body,
               (const double* panel, index_t d, const double* mean, const double* inverse, double constant, double* logs),
               (panel, d, mean, inverse, constant, logs))

// A += r z, diagonal of B += r z^2, N += r over a group.
ASSAY_INLINE void diagonal_moments_body(const double* panel, index_t d, const double* mean, const double* shares,
                                        double* sums) {
    for (index_t t = 0; t <= d; ++t) {
        double first[8] = {}, second[8] = {};
        for (index_t p = 0; p < group; p += 8)
            for (index_t v = 0; v < 8; ++v) {
                const double gap = t < d ? panel[t * group + p + v] - mean[t] : 1.0;
                first[v] += shares[p + v] * gap;
                second[v] += shares[p + v] * gap * gap;
            }
        double a = 0.0, b = 0.0;
        for (index_t v = 0; v < 8; ++v) {
            a += first[v];
            b += second[v];
        }
        if (t < d) {
            sums[t] += a;
            sums[d + t] += b;
        } else {
            sums[2 * d] += a;
        }
    }
}
ASSAY_DISPATCH(void, diagonal_moments, diagonal_moments_body,
               (const double* panel, index_t d, const double* mean, const double* shares, double* sums),
               (panel, d, mean, shares, sums))

// best = the larger of best and logs, for rows in order.
ASSAY_INLINE void larger_body(const double* logs, double* best) {
    for (index_t p = 0; p < group; ++p) best[p] = logs[p] > best[p] ? logs[p] : best[p];
}
ASSAY_DISPATCH(void, take_larger, larger_body, (const double* logs, double* best), (logs, best))

// The bounds that follow from log f_c: |W (x - m)| rounded down.
ASSAY_INLINE void bounds_body(const double* logs, double constant, float* lower) {
    for (index_t p = 0; p < group; ++p) {
        const double squares = 2.0 * (constant - logs[p]);
        lower[p] = static_cast<float>((1.0 - rounding) * std::sqrt(squares > 0.0 ? squares : 0.0));
    }
}
ASSAY_DISPATCH(void, bounds_of, bounds_body, (const double* logs, double constant, float* lower), (logs, constant, lower))

ASSAY_INLINE void exponentials_body(double* values, index_t n) {
    for (index_t i = 0; i < n; ++i) values[i] = fast_exp(values[i]);
}
ASSAY_DISPATCH(void, exponentials, exponentials_body, (double* values, index_t n), (values, n))

// The same for all rows of a block in order, less their best, and added to their sums.
ASSAY_INLINE void exponentials_in_order_body(double* values, const double* best, double* sums, index_t n) {
    for (index_t i = 0; i < n; ++i) {
        values[i] = fast_exp(values[i] - best[i]);
        sums[i] += values[i];
    }
}
ASSAY_DISPATCH(void, exponentials_in_order, exponentials_in_order_body,
               (double* values, const double* best, double* sums, index_t n), (values, best, sums, n))

ASSAY_INLINE void scale_body(double* values, const double* by, index_t n) {
    for (index_t i = 0; i < n; ++i) values[i] *= by[i];
}
ASSAY_DISPATCH(void, scale, scale_body, (double* values, const double* by, index_t n), (values, by, n))

ASSAY_INLINE void centre_body(const double* x, const double* mean, index_t d, double* to) {
    for (index_t t = 0; t < d; ++t) to[t] = x[t] - mean[t];
}
ASSAY_DISPATCH(void, centre, centre_body, (const double* x, const double* mean, index_t d, double* to), (x, mean, d, to))

// sums[i] becomes its inverse; log_density = most + log(sum).
ASSAY_INLINE void densities_body(const double* most, double* sums, double* log_density) {
    for (index_t i = 0; i < gaussian_block; ++i) {
        log_density[i] = most[i] + fast_log(sums[i]);
        sums[i] = 1.0 / sums[i];
    }
}
ASSAY_DISPATCH(void, densities, densities_body, (const double* most, double* sums, double* log_density),
               (most, sums, log_density))

// Brings the bounds of a block up to date, and says which rows may be in reach: lower^2 <= constant + needs[i], twice each.
ASSAY_INLINE void reach_body(float* lower, float shrink, float shift, float constant, const float* needs,
                             std::uint8_t* near) {
    for (index_t i = 0; i < gaussian_block; ++i) {
        const float bound = lower[i] * shrink - shift;
        lower[i] = bound > 0.0F ? bound : 0.0F;
        near[i] = lower[i] * lower[i] <= constant + needs[i];
    }
}
ASSAY_DISPATCH(void, in_reach, reach_body,
               (float* lower, float shrink, float shift, float constant, const float* needs, std::uint8_t* near),
               (lower, shrink, shift, constant, needs, near))

template <int W, int MR, int NV>
ASSAY_INLINE void sandwich_body(const double* rows, index_t width, const double* curvatures, double* weighted, double* block) {
    add_sandwich<W, MR, NV>(rows, width, curvatures, weighted, block);
}
ASSAY_DISPATCH_BLOCKED(sandwich, sandwich_body,
                       (const double* rows, index_t width, const double* curvatures, double* weighted, double* block),
                       (rows, width, curvatures, weighted, block))

// sums (lines + 1) x width of a tile of rows with shares r: line f < q is sum r (R z)_f z, line q is sum r z, the last is
// sum r z^2. `transposed` is R^T, width x lines; `hidden` is room for 64 x lines.
template <int W, int MR, int NV>
ASSAY_INLINE void factor_moments_body(const double* rows, index_t width, const double* shares, const double* transposed,
                                      index_t q, index_t lines, double* hidden, double* sums) {
    std::fill(hidden, hidden + tile_rows * lines, 0.0);
    multiply<W, MR, NV>(rows, 1, width, transposed, lines, hidden, lines, tile_rows, lines, width, false);
    for (index_t p = 0; p < tile_rows; ++p) {
        hidden[p * lines + q] = 1.0;
        for (index_t f = 0; f < lines; ++f) hidden[p * lines + f] *= shares[p];
    }
    multiply<W, MR, NV>(hidden, lines, 1, rows, width, sums, width, lines, width, tile_rows, false);
    double* const squares = sums + lines * width;
    for (index_t p = 0; p < tile_rows; ++p) {
        const double* const z = rows + p * width;
        for (index_t t = 0; t < width; ++t) squares[t] += shares[p] * z[t] * z[t];
    }
}
ASSAY_DISPATCH_BLOCKED(factor_moments, factor_moments_body,
                       (const double* rows, index_t width, const double* shares, const double* transposed, index_t q,
                        index_t lines, double* hidden, double* sums),
                       (rows, width, shares, transposed, q, lines, hidden, sums))

// Rows on their way into the moments: 64 of them, [x - m_c, 1] padded to whole vectors.
struct Gatherer {
    index_t k, d, q, width, lines;  // lines of the moments of a component, and one more with factors
    std::vector<double> rows, shares, room, transposed;
    std::vector<index_t> count;
    double* blocks;

    Gatherer(const GaussianComponents& parts, index_t columns, double* out)
        : k(parts.k), d(columns), q(parts.factors), width(padded(d + 1)), lines(q > 0 ? padded(q + 1) : width),
          rows(at(k * tile_rows * width)), shares(at(k * tile_rows)), room(at(tile_rows * lines)),
          transposed(at(q > 0 ? k * width * lines : 0), 0.0), count(at(k), 0), blocks(out) {
        for (index_t c = 0; c < k && q > 0; ++c)
            for (index_t f = 0; f < q; ++f)
                for (index_t t = 0; t < d; ++t)
                    transposed[at((c * width + t) * lines + f)] = parts.whitening[(c * (q + 1) + f + 1) * d + t];
    }
    static index_t cells(const GaussianComponents& parts, index_t d) {
        return padded(d + 1) * (parts.factors > 0 ? padded(parts.factors + 1) + 1 : padded(d + 1));
    }

    void add(index_t c, const double* x, const double* mean, double share) {
        index_t& held = count[at(c)];
        double* const to = rows.data() + (c * tile_rows + held) * width;
        centre(x, mean, d, to);
        to[d] = 1.0;
        shares[at(c * tile_rows + held)] = share;
        if (++held == tile_rows) flush(c);
    }
    void flush(index_t c) {
        index_t& held = count[at(c)];
        if (held == 0) return;
        double* const own = shares.data() + c * tile_rows;
        std::fill(own + held, own + tile_rows, 0.0);
        const double* const tile = rows.data() + c * tile_rows * width;
        if (q > 0)
            factor_moments(tile, width, own, transposed.data() + c * width * lines, q, lines, room.data(),
                           blocks + c * (lines + 1) * width);
        else
            sandwich(tile, width, own, room.data(), blocks + c * width * width);
        held = 0;
    }
    // The moments of merged blocks, without padding.
    void unpack(const double* merged, double* moments) const {
        for (index_t c = 0; c < k; ++c) {
            if (q > 0) {
                for (index_t f = 0; f < q + 2; ++f)
                    std::copy_n(merged + (c * (lines + 1) + (f <= q ? f : lines)) * width, d + 1,
                                moments + (c * (q + 2) + f) * (d + 1));
                continue;
            }
            for (index_t a = 0; a <= d; ++a)
                for (index_t b = 0; b <= d; ++b)
                    moments[(c * (d + 1) + a) * (d + 1) + b] =
                        merged[(c * width + std::max(a, b)) * width + std::min(a, b)];
        }
    }
};

// The rows of a block against all components: which are worth measuring, their log f_c, then responsibilities.
class Block {
public:
    Block(Matrix<const double> rows, const double* weights, const GaussianComponents& parts, const PackedWhitening& packed)
        : rows_(rows), weights_(weights), parts_(parts), packed_(packed), d_(rows.cols), listed_(at(parts.k * gaussian_block)),
          shares_(at(parts.k * gaussian_block)), count_(at(parts.k)), in_order_(at(parts.k)), panels_(at(gaussian_block * d_)), panel_(at(group * d_)),
          z_(at(group * d_)) {}

    void look(index_t first, index_t size, const GaussianBounds* bounds) {
        first_ = first;
        size_ = size;
        packed_panels_ = false;
        std::fill(count_.begin(), count_.end(), 0);
        std::fill(best_, best_ + gaussian_block, -std::numeric_limits<double>::infinity());
        float* const lower = bounds ? bounds->lower + first * parts_.k : nullptr;
        if (bounds) {
            // Owners of the pass before set what the other components must reach.
            for (index_t i = 0; i < size; ++i) {
                const index_t c = bounds->owners[first + i];
                listed_[at(c * gaussian_block + count_[at(c)]++)] = static_cast<std::int32_t>(i);
            }
            for (index_t c = 0; c < parts_.k; ++c) measure(c, 0, lower);
            for (index_t i = 0; i < size; ++i)
                needs_[i] = static_cast<float>(2.0 * (out_of_reach - best_[i] + rounding * std::abs(best_[i])));
            std::fill(needs_ + size, needs_ + gaussian_block, -std::numeric_limits<float>::infinity());
        }
        for (index_t c = 0; c < parts_.k; ++c) {
            const index_t held = count_[at(c)];
            std::int32_t* const list = listed_.data() + c * gaussian_block;
            index_t count = held;
            if (bounds) {
                const double constant = parts_.constants[c];
                in_reach(lower + c * gaussian_block, bounds->shrink[c], bounds->shift[c],
                         static_cast<float>(2.0 * (constant + rounding * std::abs(constant))), needs_, near_);
                for (index_t s = 0; s < held; ++s) near_[list[s]] = 0;
                for (index_t i = 0; i < size && count < gaussian_block; ++i) {
                    list[count] = static_cast<std::int32_t>(i);
                    count += near_[i];
                }
            }
            count_[at(c)] = count;
            in_order_[at(c)] = !bounds || 4 * count > 3 * size;
            if (in_order_[at(c)])
                measure_all(c, lower);
            else
                measure(c, held, lower);
        }
    }

    // Responsibilities of what was measured; log densities OUT, and the sum of them.
    double share(double* log_density) {
        std::fill(sums_, sums_ + gaussian_block, 0.0);
        for (index_t c = 0; c < parts_.k; ++c) {
            double* const values = shares_.data() + c * gaussian_block;
            const std::int32_t* const list = listed_.data() + c * gaussian_block;
            if (in_order_[at(c)]) {
                exponentials_in_order(values, best_, sums_, size_);
                continue;
            }
            for (index_t s = 0; s < count_[at(c)]; ++s) values[s] -= best_[list[s]];
            exponentials(values, count_[at(c)]);
            for (index_t s = 0; s < count_[at(c)]; ++s) sums_[list[s]] += values[s];
        }
        std::fill(sums_ + size_, sums_ + gaussian_block, 1.0);
        densities(best_, sums_, density_);
        double total = 0.0;
        for (index_t i = 0; i < size_; ++i) {
            const double w = weights_ ? weights_[first_ + i] : 1.0;
            if (w > 0.0) total += w * density_[i];
        }
        if (log_density) std::copy_n(density_, size_, log_density + first_);
        for (index_t c = 0; c < parts_.k; ++c) {
            double* const values = shares_.data() + c * gaussian_block;
            if (in_order_[at(c)])
                scale(values, sums_, size_);
            else
                for (index_t s = 0; s < count_[at(c)]; ++s) values[s] *= sums_[listed_[at(c * gaussian_block + s)]];
        }
        return total;
    }

    template <class Use>
    void each(index_t c, Use&& use) const {
        for (index_t s = 0; s < count_[at(c)]; ++s)
            use(first_ + listed_[at(c * gaussian_block + s)], shares_[at(c * gaussian_block + s)]);
    }

    // The component with the largest responsibility, the first among equals.
    void own(std::int32_t* owners) {
        double most[gaussian_block] = {};
        for (index_t c = 0; c < parts_.k; ++c)
            each(c, [&](index_t row, double share) {
                if (share > most[row - first_]) {
                    most[row - first_] = share;
                    owners[row] = static_cast<std::int32_t>(c);
                }
            });
    }

    // Moments of a diagonal mixture: all rows, group by group.
    void add_diagonal(index_t c, double* sums) const {
        double shares[gaussian_block] = {};
        each(c, [&](index_t row, double share) {
            shares[row - first_] = share > negligible ? share * (weights_ ? weights_[row] : 1.0) : 0.0;
        });
        for (index_t first = 0; first < size_; first += group)
            diagonal_moments(panels_.data() + first * d_, d_, parts_.means + c * d_, shares + first, sums);
    }

private:
    // log f_c of the rows on its list from `held` on.
    void measure(index_t c, index_t held, float* lower) {
        const index_t count = count_[at(c)];
        const std::int32_t* const list = listed_.data() + c * gaussian_block;
        double found[group];
        float bounds[group];
        for (index_t first = held; first < count; first += group) {
            const index_t size = std::min(group, count - first);
            const double* rows[group];
            for (index_t p = 0; p < group; ++p) rows[p] = rows_.row(first_ + list[first + std::min(p, size - 1)]);
            transpose(rows, d_, panel_.data());
            logs_of(c, panel_.data(), found);
            bounds_of(found, parts_.constants[c], bounds);
            for (index_t p = 0; p < size; ++p) {
                const std::int32_t i = list[first + p];
                shares_[at(c * gaussian_block + first + p)] = found[p];
                best_[i] = found[p] > best_[i] ? found[p] : best_[i];
                lower[c * gaussian_block + i] = bounds[p];
            }
        }
    }
    // log f_c of all rows of the block.
    void measure_all(index_t c, float* lower) {
        count_[at(c)] = size_;
        std::iota(listed_.begin() + c * gaussian_block, listed_.begin() + c * gaussian_block + size_, 0);
        for (index_t first = 0; first < size_; first += group) {
            double* const logs = shares_.data() + c * gaussian_block + first;
            logs_of(c, panels(first), logs);
            take_larger(logs, best_ + first);
            if (lower) bounds_of(logs, parts_.constants[c], lower + c * gaussian_block + first);
        }
    }
    void logs_of(index_t c, const double* panel, double* found) {
        const double *const mean = parts_.means + c * d_, constant = parts_.constants[c];
        if (parts_.diagonal)
            diagonal_logs(panel, d_, mean, parts_.whitening + c * d_, constant, found);
        else if (parts_.factors > 0)
            factor_logs(panel, d_, mean, packed_.cells.data() + c * packed_.size, packed_.blocks, constant, z_.data(), found);
        else
            quadratic(panel, d_, mean, packed_.cells.data() + c * packed_.size, packed_.blocks, constant, z_.data(), found);
    }
    // The rows from `first` on of the block, dimension by dimension, all made when one is asked for.
    const double* panels(index_t first) {
        if (!packed_panels_)
            for (index_t from = 0; from < size_; from += group) {
                const double* rows[group];
                for (index_t p = 0; p < group; ++p) rows[p] = rows_.row(first_ + std::min(from + p, size_ - 1));
                transpose(rows, d_, panels_.data() + from * d_);
            }
        packed_panels_ = true;
        return panels_.data() + first * d_;
    }

    Matrix<const double> rows_;
    const double* weights_;
    const GaussianComponents& parts_;
    const PackedWhitening& packed_;
    index_t d_, first_ = 0, size_ = 0;
    bool packed_panels_ = false;
    std::vector<std::int32_t> listed_;
    std::vector<double> shares_;
    std::vector<index_t> count_;
    std::vector<std::uint8_t> in_order_;  // the list holds all rows
    std::vector<double> panels_, panel_, z_;
    double best_[gaussian_block], sums_[gaussian_block], density_[gaussian_block];
    float needs_[gaussian_block];
    std::uint8_t near_[gaussian_block];
};

}  // namespace

double gaussian_pass(Matrix<const double> rows, const double* weights, const GaussianComponents& components,
                     const GaussianBounds* bounds, double* log_density, double* responsibilities, double* moments,
                     int threads) {
    const index_t n = rows.rows, d = rows.cols, k = components.k;
    const bool diagonal = components.diagonal, gathers = moments && !diagonal;
    const index_t cells = !moments ? 1 : k * (diagonal ? 2 * d + 1 : Gatherer::cells(components, d));
    const index_t grain = (chunk_grain(n, cells) + gaussian_block - 1) / gaussian_block * gaussian_block;
    const index_t chunks = chunk_count(n, grain);
    const PackedWhitening packed(components, d);
    const GaussianComponents none;
    std::vector<double> sums(at(moments ? chunks * cells : 0), 0.0), totals(at(chunks), 0.0);
    parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        Block block(rows, weights, components, packed);
        double* const own = moments ? sums.data() + chunk * cells : nullptr;
        Gatherer gatherer(gathers ? components : none, d, own);
        for (index_t first = begin; first < end && !interrupted(); first += gaussian_block) {
            block.look(first, std::min(gaussian_block, end - first), bounds);
            totals[at(chunk)] += block.share(log_density);
            if (bounds) block.own(bounds->owners);
            for (index_t c = 0; c < k; ++c) {
                if (responsibilities)
                    block.each(c, [&](index_t row, double share) { responsibilities[row * k + c] = share; });
                if (moments && diagonal)
                    block.add_diagonal(c, own + c * (2 * d + 1));
                else if (moments)
                    block.each(c, [&](index_t row, double share) {
                        const double w = weights ? weights[row] : 1.0;
                        if (share > negligible && w > 0.0) gatherer.add(c, rows.row(row), components.means + c * d, share * w);
                    });
            }
        }
        if (gathers)
            for (index_t c = 0; c < k; ++c) gatherer.flush(c);
    });
    if (moments) {
        std::vector<double> merged(static_cast<std::size_t>(cells), 0.0);
        for (index_t chunk = 0; chunk < chunks; ++chunk)
            for (index_t i = 0; i < cells; ++i)
                merged[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(chunk * cells + i)];
        if (diagonal)
            std::copy(merged.begin(), merged.end(), moments);
        else
            Gatherer(components, d, nullptr).unpack(merged.data(), moments);
    }
    double total = 0.0;
    for (const double part : totals) total += part;
    return total;
}

}  // namespace assay::mixtures
