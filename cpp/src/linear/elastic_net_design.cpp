#include "elastic_net_design.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <type_traits>

#include "assay/common/lanes.hpp"
#include "assay/common/threads.hpp"

namespace assay::elastic_net {
namespace {

template <class Cell>
constexpr index_t lane_count = 64 / static_cast<index_t>(sizeof(Cell));

constexpr index_t together = 16;    // columns whose cells of one chunk of rows stay in the level-1 cache
constexpr index_t a_step = 4;       // columns of a sweep that share the reads and writes of the residual
constexpr double farthest = 1e4;    // square of a mean, in variances, up to which sweeps keep the residual's sum at zero
constexpr index_t row_chunk = 512;  // rows whose cells of a tile's columns stay in the level-1 cache
constexpr index_t low_chunk = 1024; // the same of single-precision cells, and the longest sum in single precision

// A product of two single-precision vectors of at most low_chunk cells, each rounded once, is within this many times
// |x| |r| of the exact one: low_chunk / 16 fused additions a lane, 4 levels of adding lanes, 3 roundings, and some to spare.
constexpr double low_error = (static_cast<double>(low_chunk) / 16 + 16) * 0x1p-24;
// What underflow can lose, as a share of the scales.
constexpr double low_underflow = 0x1p-100;

ASSAY_INLINE double add_lanes(const double* s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
ASSAY_INLINE double add_lanes(const float* s) {
    float quarter[4];
    for (int q = 0; q < 4; ++q) quarter[q] = (s[q] + s[q + 8]) + (s[q + 4] + s[q + 12]);
    return static_cast<double>((quarter[0] + quarter[2]) + (quarter[1] + quarter[3]));
}

// out[a * tile_width + b] = left_a . right_b over `count` cells (a multiple of the lanes). Each product has its own lanes,
// added in one fixed order, so a value does not depend on the shape of the tile it is computed in.
// The 64 bytes of lanes are held in vectors of `width` bytes.
template <class Cell, int width, int A, int B>
ASSAY_INLINE void tile_body(const Cell* const* left, const Cell* const* right, index_t count, double* out) {
    typedef Cell Vector __attribute__((vector_size(width), aligned(sizeof(Cell)), may_alias));
    constexpr int parts = 64 / width, part = width / static_cast<int>(sizeof(Cell));
    Vector sum[A][B][parts] = {};
    for (index_t i = 0; i < count; i += lane_count<Cell>) {
#pragma GCC unroll 4
        for (int p = 0; p < parts; ++p) {
            Vector l[A];
#pragma GCC unroll 4
            for (int a = 0; a < A; ++a) l[a] = *reinterpret_cast<const Vector*>(left[a] + i + p * part);
#pragma GCC unroll 6
            for (int b = 0; b < B; ++b) {
                const Vector r = *reinterpret_cast<const Vector*>(right[b] + i + p * part);
#pragma GCC unroll 4
                for (int a = 0; a < A; ++a) sum[a][b][p] += l[a] * r;
            }
        }
    }
#pragma GCC unroll 4
    for (int a = 0; a < A; ++a)
#pragma GCC unroll 6
        for (int b = 0; b < B; ++b) {
            Cell lanes[lane_count<Cell>];
#pragma GCC unroll 4
            for (int p = 0; p < parts; ++p) *reinterpret_cast<Vector*>(lanes + p * part) = sum[a][b][p];
            out[a * tile_width + b] = add_lanes(lanes);
        }
}

#define ASSAY_TILE_OF(Cell, name, A, B)                                                                            \
    ASSAY_DISPATCH_EACH(void, name##_##A##B, (tile_body<Cell, 64, A, B>), (tile_body<Cell, 32, A, B>),             \
                        (tile_body<Cell, 16, A, B>),                                                                \
                        (const Cell* const* left, const Cell* const* right, index_t count, double* out),            \
                        (left, right, count, out))
#define ASSAY_TILE(A, B)               \
    ASSAY_TILE_OF(double, tile, A, B)  \
    ASSAY_TILE_OF(float, low_tile, A, B)
ASSAY_TILE(4, 6)
ASSAY_TILE(4, 5)
ASSAY_TILE(4, 4)
ASSAY_TILE(4, 3)
ASSAY_TILE(4, 2)
ASSAY_TILE(4, 1)
ASSAY_TILE(2, 2)
ASSAY_TILE(1, 1)
#undef ASSAY_TILE
#undef ASSAY_TILE_OF

template <class Cell>
using Tile = void (*)(const Cell* const*, const Cell* const*, index_t, double*);
template <class Cell>
struct Tiles {
    static constexpr Tile<double> four[] = {tile_41, tile_42, tile_43, tile_44, tile_45, tile_46};
    static constexpr Tile<double> two = tile_22, one = tile_11;
};
template <>
struct Tiles<float> {
    static constexpr Tile<float> four[] = {low_tile_41, low_tile_42, low_tile_43, low_tile_44, low_tile_45, low_tile_46};
    static constexpr Tile<float> two = low_tile_22, one = low_tile_11;
};

// Any part of a 4 x 6 tile of inner products, in the largest pieces that the registers hold.
template <class Cell>
void products(const Cell* const* left, index_t a_count, const Cell* const* right, index_t b_count, index_t count,
              double* out) {
    if (a_count == 4 && simd_level() == Simd::avx512) return Tiles<Cell>::four[b_count - 1](left, right, count, out);
    for (index_t a = 0; a < a_count; a += 2) {
        for (index_t b = 0; b < b_count; b += 2) {
            if (a + 1 < a_count && b + 1 < b_count) {
                Tiles<Cell>::two(left + a, right + b, count, out + a * tile_width + b);
                continue;
            }
            for (index_t i = a; i < std::min(a + 2, a_count); ++i)
                for (index_t j = b; j < std::min(b + 2, b_count); ++j)
                    Tiles<Cell>::one(left + i, right + j, count, out + i * tile_width + j);
        }
    }
}

// residual_b -= sum_u coefficients[u * tile_width + b] column_u over 8 V rows: B residuals stay in registers while the
// columns pass. A coefficient of zero changes nothing, so a residual is the same alone or in company.
template <int W, int V, int B>
ASSAY_INLINE void subtract_rows(const double* const* columns, const double* coefficients, index_t count, index_t row,
                                double* const* residuals) {
    Eight<W> r[B][V];
#pragma GCC unroll 6
    for (int b = 0; b < B; ++b)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) r[b][v] = Eight<W>::load(residuals[b] + row + 8 * v);
    for (index_t u = 0; u < count; ++u) {
        for (int v = 0; v < V; ++v) __builtin_prefetch(columns[u] + row + 8 * (v + 8));
        Eight<W> x[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) x[v] = Eight<W>::load(columns[u] + row + 8 * v);
#pragma GCC unroll 6
        for (int b = 0; b < B; ++b)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) r[b][v] -= coefficients[u * tile_width + b] * x[v];
    }
#pragma GCC unroll 6
    for (int b = 0; b < B; ++b)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) r[b][v].store(residuals[b] + row + 8 * v);
}

template <int W, int B>
ASSAY_INLINE void subtract_body(const double* const* columns, const double* coefficients, index_t count, index_t end,
                                double* const* residuals) {
    index_t row = 0;
    if constexpr (W == 8 || B <= 2)  // what the registers hold
        for (; row + 16 <= end; row += 16) subtract_rows<W, 2, B>(columns, coefficients, count, row, residuals);
    for (; row < end; row += 8) subtract_rows<W, 1, B>(columns, coefficients, count, row, residuals);
}

#define ASSAY_SUBTRACT(B)                                                                                            \
    ASSAY_DISPATCH_EACH(void, subtract_##B, (subtract_body<8, B>), (subtract_body<4, B>), (subtract_body<2, B>),     \
                   (const double* const* columns, const double* coefficients, index_t count, index_t end,            \
                    double* const* residuals),                                                                       \
                   (columns, coefficients, count, end, residuals))
ASSAY_SUBTRACT(1)
ASSAY_SUBTRACT(2)
ASSAY_SUBTRACT(3)
ASSAY_SUBTRACT(4)
ASSAY_SUBTRACT(5)
ASSAY_SUBTRACT(6)
#undef ASSAY_SUBTRACT

// e -= w / W (level + sum_u factors[u] column_u): the change of w r / W when coefficients change; `share` is 1 / W.
template <int W>
ASSAY_INLINE void move_body(const double* const* columns, const double* factors, index_t count, double level,
                            const double* weights, double share, double* __restrict__ e, index_t n) {
    index_t row = 0;
    for (; row + 16 <= n; row += 16) {
        Eight<W> sum[2] = {Eight<W>::all(level), Eight<W>::all(level)};
        for (index_t u = 0; u < count; ++u) {
            sum[0] += factors[u] * Eight<W>::load(columns[u] + row);
            sum[1] += factors[u] * Eight<W>::load(columns[u] + row + 8);
        }
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
            double* const to = e + row + 8 * h;
            (Eight<W>::load(to) - share * Eight<W>::load(weights + row + 8 * h) * sum[h]).store(to);
        }
    }
    for (; row < n; ++row) {
        double sum = level;
        for (index_t u = 0; u < count; ++u) sum += factors[u] * columns[u][row];
        e[row] -= share * weights[row] * sum;
    }
}
ASSAY_DISPATCH_DOUBLES(void, move_residual, move_body,
               (const double* const* columns, const double* factors, index_t count, double level, const double* weights,
                double share, double* e, index_t n),
               (columns, factors, count, level, weights, share, e, n))

// A power of two that is at least the length of a vector.
double scale_of(double norm) { return norm > 0 ? std::ldexp(1.0, std::max(std::ilogb(norm) + 1, -960)) : 1.0; }

ASSAY_INLINE void narrow_body(const double* x, double factor, float* __restrict__ out, index_t count) {
    for (index_t i = 0; i < count; ++i) out[i] = static_cast<float>(factor * x[i]);
}
ASSAY_DISPATCH(void, narrow, narrow_body, (const double* x, double factor, float* out, index_t count),
               (x, factor, out, count))

ASSAY_INLINE void widen_body(const float* x, double factor, double* __restrict__ out, index_t count) {
    for (index_t i = 0; i < count; ++i) out[i] = factor * static_cast<double>(x[i]);
}
ASSAY_DISPATCH(void, widen, widen_body, (const float* x, double factor, double* out, index_t count),
               (x, factor, out, count))

template <int W>
ASSAY_INLINE double dot_body(const double* x, const double* y, index_t count) {
    Eight<W> sum[2] = {};
    index_t i = 0;
    for (; i + 16 <= count; i += 16) {
        sum[0] += Eight<W>::load(x + i) * Eight<W>::load(y + i);
        sum[1] += Eight<W>::load(x + i + 8) * Eight<W>::load(y + i + 8);
    }
    sum[0] += sum[1];
    double total = 0;
    for (int k = 0; k < 8; ++k) total += sum[0].lane(k);
    for (; i < count; ++i) total += x[i] * y[i];
    return total;
}
ASSAY_DISPATCH_DOUBLES(double, dot_dispatched, dot_body, (const double* x, const double* y, index_t count), (x, y, count))

ASSAY_INLINE void add_multiple_body(double a, const double* x, double* __restrict__ y, index_t count) {
    for (index_t i = 0; i < count; ++i) y[i] += a * x[i];
}
ASSAY_DISPATCH(void, add_multiple_dispatched, add_multiple_body,
               (double a, const double* x, double* y, index_t count), (a, x, y, count))

ASSAY_INLINE void add_single_body(double a, const float* x, double* __restrict__ y, index_t count) {
    for (index_t i = 0; i < count; ++i) y[i] += a * static_cast<double>(x[i]);
}
ASSAY_DISPATCH(void, add_single, add_single_body, (double a, const float* x, double* y, index_t count),
               (a, x, y, count))

// y += sum_r factors[r] x_r, so that y is read and written once for all rows. Cells in single precision are added up in
// single precision, eight at a time: that rounds no more than the cells are rounded themselves.
template <class Cell>
ASSAY_INLINE void add_batch_body(const double* factors, const Cell* const* x, double* __restrict__ y, index_t count) {
    static_assert(Block::batch == 8);
    const Cell *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
    Cell f[Block::batch];
    for (index_t r = 0; r < Block::batch; ++r) f[r] = static_cast<Cell>(factors[r]);
    for (index_t i = 0; i < count; ++i) {
        const Cell even = f[0] * x0[i] + f[2] * x2[i] + f[4] * x4[i] + f[6] * x6[i];
        const Cell odd = f[1] * x1[i] + f[3] * x3[i] + f[5] * x5[i] + f[7] * x7[i];
        y[i] += static_cast<double>(even + odd);
    }
}
ASSAY_DISPATCH(void, add_batch, add_batch_body<double>,
               (const double* factors, const double* const* x, double* y, index_t count), (factors, x, y, count))
ASSAY_DISPATCH(void, add_low_batch, add_batch_body<float>,
               (const double* factors, const float* const* x, double* y, index_t count), (factors, x, y, count))

ASSAY_INLINE void weigh_body(const double* w, const double* x, double mean, double factor, double* __restrict__ out,
                             index_t count) {
    for (index_t i = 0; i < count; ++i) out[i] = factor * w[i] * (x[i] - mean);
}
ASSAY_DISPATCH(void, weigh, weigh_body,
               (const double* w, const double* x, double mean, double factor, double* out, index_t count),
               (w, x, mean, factor, out, count))

double sum_of(const double* x, index_t count) {
    double sum = 0;
    for (index_t i = 0; i < count; ++i) sum += x[i];
    return sum;
}

// Ranges of rows, of 8 to row_chunk each, that leave out long runs of rows without weight.
std::vector<RowRange> used_rows(const double* weights, index_t n) {
    constexpr index_t granule = 64;
    std::vector<RowRange> ranges;
    for (index_t begin = 0; begin < n; begin += granule) {
        const index_t end = std::min(n, begin + granule);
        if (std::all_of(weights + begin, weights + end, [](double w) { return w == 0; })) continue;
        if (!ranges.empty() && ranges.back().end == begin && end - ranges.back().begin <= row_chunk) ranges.back().end = end;
        else ranges.push_back({begin, end});
    }
    return ranges;
}

}  // namespace

void tile_products(const double* const* left, index_t a_count, const double* const* right, index_t b_count,
                   index_t count, double* out) {
    products(left, a_count, right, b_count, count, out);
}
void tile_products(const float* const* left, index_t a_count, const float* const* right, index_t b_count, index_t count,
                   double* out) {
    products(left, a_count, right, b_count, count, out);
}
double dot(const double* x, const double* y, index_t count) { return dot_dispatched(x, y, count); }
void add_multiple(double a, const double* x, double* y, index_t count) { add_multiple_dispatched(a, x, y, count); }
void add_multiple(double a, const float* x, double* y, index_t count) { add_single(a, x, y, count); }

void Block::add_rows(const double* factors, const index_t* rows, index_t row_count, double* y, index_t count) const {
    index_t first = 0;
    for (; first + batch <= row_count; first += batch) {
        if (single_) {
            const float* x[batch];
            for (index_t r = 0; r < batch; ++r) x[r] = low_.get() + rows[first + r] * capacity;
            add_low_batch(factors + first, x, y, count);
        } else {
            const double* x[batch];
            for (index_t r = 0; r < batch; ++r) x[r] = high_.get() + rows[first + r] * capacity;
            add_batch(factors + first, x, y, count);
        }
    }
    for (; first < row_count; ++first) {
        if (single_) add_multiple(factors[first], low_.get() + rows[first] * capacity, y, count);
        else add_multiple(factors[first], high_.get() + rows[first] * capacity, y, count);
    }
}

void Block::grow(index_t columns, index_t kept) {
    const auto move = [&](auto& cells) {
        using Cell = std::remove_reference_t<decltype(cells[0])>;
        cells.resize(at(columns * columns));
        for (index_t a = kept - 1; a > 0; --a) {
            const Cell* const from = cells.get() + a * capacity;
            std::copy_backward(from, from + kept, cells.get() + a * columns + kept);
        }
    };
    if (single_) move(low_);
    else move(high_);
    capacity = columns;
}

ColumnDesign::ColumnDesign(const ColumnTable& table, const double* weights, index_t n_problems, bool intercept,
                           double* x_mean, double* y_mean, bool keep_low, int threads)
    : TargetDesign(n_problems), table_(table), x_mean_(x_mean), norms_(at(table.p)) {
    p = table.p;
    problems = n_problems;
    const index_t n = table.stride;
    if (keep_low) {
        low_stride_ = (n + 15) / 16 * 16;
        low_.resize(at(p * low_stride_));
        scales_.resize(at(p));
    }
    std::vector<const double*> right;
    for (index_t f = 0; f < problems; ++f) {
        Part& part = parts_[at(f)];
        part.start(table.target, weights + f * n, n, p, intercept);
        y_mean[f] = part.y_mean;
        part.ranges = used_rows(part.weights, n);
        right.push_back(part.weighted_residual.data());
        right.push_back(part.weights);
    }
    const auto sides = static_cast<index_t>(right.size());
    parallel_chunks(p, together, threads, [&](index_t, index_t begin, index_t end) {
        CellsOf cells(table_);
        index_t chosen[together];
        const double* all[together];
        for (index_t j = begin; j < end; ++j) chosen[j - begin] = j;
        cells.read(chosen, end - begin, 0, n, all);
        for (index_t j = begin; j < end; j += 4) {
            const double* const* const left = all + (j - begin);
            const index_t count = std::min<index_t>(4, end - j);
            for (index_t a = 0; a < count; ++a) {
                norms_[at(j + a)] = std::sqrt(dot(left[a], left[a], n));
                if (!keep_low) continue;
                scales_[at(j + a)] = scale_of(norms_[at(j + a)]);
                float* const low = low_.get() + (j + a) * low_stride_;
                narrow(left[a], 1 / scales_[at(j + a)], low, n);
                std::fill(low + n, low + low_stride_, 0.0f);
            }
            for (index_t s = 0; s < sides; s += tile_width) {
                double out[4 * tile_width];
                const index_t wide = std::min(tile_width, sides - s);
                products(left, count, right.data() + s, wide, n, out);
                for (index_t a = 0; a < count; ++a)
                    for (index_t b = 0; b < wide; ++b) {
                        const index_t f = (s + b) / 2;
                        if ((s + b) % 2 == 0) parts_[at(f)].cross[at(j + a)] = out[a * tile_width + b];
                        else x_mean[f * p + j + a] = intercept ? out[a * tile_width + b] / parts_[at(f)].weight : 0.0;
                    }
            }
            for (index_t f = 0; f < problems; ++f)
                for (index_t a = 0; a < count; ++a)
                    parts_[at(f)].cross[at(j + a)] -= x_mean[f * p + j + a] * parts_[at(f)].residual_sum;
        }
    });
}

bool ColumnDesign::finite() const {
    return std::all_of(norms_.begin(), norms_.end(), [](double norm) { return std::isfinite(norm); });
}

void ColumnDesign::block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
                         int threads) const {
    // Single precision holds where no column's mean is far from zero for its spread: the cells are of columns not centred.
    const auto near = [&](index_t begin, index_t end) {
        for (index_t a = begin; a < end; ++a) {
            const double mean = x_mean_[problem * p + columns[at(a)]];
            if (!(mean * mean <= 10 * block.cell(a, a))) return false;
        }
        return true;
    };
    if (low_.get() != nullptr && block.single() && near(0, first)) {
        fill<float>(problem, columns, first, block, threads);
        if (near(first, static_cast<index_t>(columns.size()))) return;
    }
    fill<double>(problem, columns, first, block, threads);
}

template <class Cell>
void ColumnDesign::fill(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
                        int threads) const {
    constexpr bool low = std::is_same_v<Cell, float>;
    const Part& part = parts_[at(problem)];
    const double* mean = x_mean_ + problem * p;
    const index_t n = table_.stride, stride = low ? low_stride_ : n, m = static_cast<index_t>(columns.size());
    // Entering columns are weighted in groups that stay in the cache while all others stream past them.
    const auto room = (index_t{512} << 10) / (static_cast<index_t>(sizeof(Cell)) * n);
    const index_t group = std::clamp<index_t>(room / tile_width * tile_width, tile_width, 60);
    const int workers = threads_for(static_cast<double>(m - first) * static_cast<double>(m) * static_cast<double>(n), threads);
    CellsOf full(table_);
    std::vector<const double*> sources(low ? 0 : at(m));
    if constexpr (!low) full.read(columns.data(), m, 0, n, sources.data());
    parallel_chunks(m - first, group, workers, [&](index_t, index_t from, index_t to_place) {
        const index_t begin = first + from, end = first + to_place, wide = end - begin;
        CellsOf entering(table_);
        const OwnPages<Cell> scaled(at(wide * stride));
        const OwnPages<double> sums(at(end * wide));
        std::fill_n(scaled.get(), wide * stride, Cell{0});
        std::fill_n(sums.get(), end * wide, 0.0);
        std::vector<double> own(low ? at(n) : 0), scales(at(wide), 1.0);
        std::vector<double> left_over(at(wide));  // of the sum of a weighted column, which is zero but for rounding
        const double* cells[together];
        for (index_t b = begin; b < end; ++b) {
            const index_t j = columns[at(b)], place = (b - begin) % together;
            Cell* const to = scaled.get() + (b - begin) * stride;
            if constexpr (low) {
                if (place == 0) entering.read(columns.data() + b, std::min(together, end - b), 0, n, cells);
                weigh(part.weights, cells[place], mean[j], 1.0 / part.weight, own.data(), n);
                double& scale = scales[at(b - begin)];
                scale = scale_of(std::sqrt(dot(own.data(), own.data(), n)));
                narrow(own.data(), 1 / scale, to, n);
            } else {
                weigh(part.weights, sources[at(b)], mean[j], 1.0 / part.weight, to, n);
                left_over[at(b - begin)] = sum_of(to, n);
            }
        }
        for (const RowRange& range : part.ranges) {
            const index_t last = range.end == n ? stride : range.end;
            for (index_t a = 0; a < end; a += 4) {
                const Cell* left[4];
                const index_t tall = std::min<index_t>(4, end - a);
                for (index_t k = 0; k < tall; ++k) {
                    if constexpr (low) left[k] = low_column(columns[at(a + k)]) + range.begin;
                    else left[k] = sources[at(a + k)] + range.begin;
                }
                for (index_t b = begin; b < end; b += tile_width) {
                    if (b + tile_width <= a) continue;
                    const Cell* right[tile_width];
                    const index_t some = std::min(tile_width, end - b);
                    for (index_t k = 0; k < some; ++k) right[k] = scaled.get() + (b - begin + k) * stride + range.begin;
                    double out[4 * tile_width];
                    products(left, tall, right, some, last - range.begin, out);
                    for (index_t i = 0; i < tall; ++i)
                        for (index_t k = 0; k < some; ++k)
                            sums[at((a + i) * wide + b - begin + k)] += out[i * tile_width + k];
                }
            }
        }
        for (index_t a = 0; a < end; ++a) {
            const double scale = low ? scales_[at(columns[at(a)])] : 1.0;
            for (index_t b = std::max(begin, a); b < end; ++b) {
                const double value = sums[at(a * wide + b - begin)] * scale * scales[at(b - begin)] -
                                     mean[columns[at(a)]] * left_over[at(b - begin)];
                block.set(a, b, value);
                block.set(b, a, value);
            }
        }
    });
}

// r = y - mean - sum_j b_j (x_j - mean_j) on the training rows, of all problems asked for: a column is read once for them,
// or its copy in single precision.
void ColumnDesign::residuals(const std::vector<Request>& requests, bool low, int threads) {
    const auto count = static_cast<index_t>(requests.size());
    std::vector<index_t> place(at(p), -1);
    for (const Request& request : requests)
        for (std::size_t a = 0; a < request.support.columns.size(); ++a)
            if (request.support.values[a] != 0) place[at(request.support.columns[a])] = 0;
    std::vector<index_t> columns;
    for (index_t j = 0; j < p; ++j) {
        if (place[at(j)] < 0) continue;
        place[at(j)] = static_cast<index_t>(columns.size());
        columns.push_back(j);
    }
    // Coefficients of each column, in groups of tile_width problems.
    const auto used = static_cast<index_t>(columns.size()), groups = (count + tile_width - 1) / tile_width;
    std::vector<double> coefficients(at(groups * used * tile_width), 0.0), level(at(count));
    std::vector<double*> to(at(count));
    for (index_t k = 0; k < count; ++k) {
        const Request& request = requests[at(k)];
        Part& part = parts_[at(request.problem)];
        const double* mean = x_mean_ + request.problem * p;
        to[at(k)] = part.residual.data();
        level[at(k)] = -part.y_mean;
        double* const own = coefficients.data() + k / tile_width * used * tile_width + k % tile_width;
        for (std::size_t a = 0; a < request.support.columns.size(); ++a) {
            const index_t j = request.support.columns[a];
            if (request.support.values[a] == 0) continue;
            level[at(k)] += request.support.values[a] * mean[j];
            own[place[at(j)] * tile_width] = request.support.values[a];
        }
    }
    constexpr decltype(&subtract_1) subtract[] = {subtract_1, subtract_2, subtract_3, subtract_4, subtract_5, subtract_6};
    const int workers = threads_for(static_cast<double>(table_.stride * used * count), threads);
    constexpr index_t chunk = 256;
    parallel_chunks(table_.stride, chunk, workers, [&](index_t, index_t begin, index_t end) {
        for (index_t k = 0; k < count; ++k)
            for (index_t i = begin; i < end; ++i) to[at(k)][i] = table_.target[i] + level[at(k)];
        std::vector<double*> from_begin(at(count));
        for (index_t k = 0; k < count; ++k) from_begin[at(k)] = to[at(k)] + begin;
        CellsOf cells(table_);
        const double* sources[together];
        double widened[together * chunk];
        for (index_t u = 0; u < used; u += together) {
            const index_t some = std::min(together, used - u);
            if (!low) cells.read(columns.data() + u, some, begin, end, sources);
            for (index_t k = 0; low && k < some; ++k) {
                const index_t j = columns[at(u + k)];
                widen(low_column(j) + begin, scales_[at(j)], widened + k * chunk, end - begin);
                sources[k] = widened + k * chunk;
            }
            for (index_t g = 0; g < groups; ++g)
                subtract[std::min(tile_width, count - g * tile_width) - 1](
                    sources, coefficients.data() + (g * used + u) * tile_width, some, end - begin,
                    from_begin.data() + g * tile_width);
        }
    });
}

void ColumnDesign::extend(index_t problem, const std::vector<index_t>& columns, index_t first, ResidualState& state,
                          int threads) const {
    const Part& part = parts_[at(problem)];
    const index_t n = table_.stride, m = static_cast<index_t>(columns.size()), known = first / a_step * a_step;
    state.own.resize(at(m * a_step));
    const int workers = threads_for(static_cast<double>((m - known) * n * a_step), threads);
    parallel_chunks(m - known, 16 * a_step, workers, [&](index_t, index_t from, index_t to) {
        double scaled[row_chunk];
        const double* const right = scaled;
        for (index_t begin = known + from; begin < known + to; begin += a_step) {
            const index_t wide = std::min(a_step, m - begin);
            double* const own = state.own.data() + begin * a_step;
            std::fill_n(own, wide * a_step, 0.0);
            for (index_t row = 0; row < n; row += row_chunk) {
                const index_t some = std::min(row_chunk, n - row);
                const double* left[a_step];
                for (index_t k = 0; k < wide; ++k) left[k] = table_.columns + columns[at(begin + k)] * n + row;
                for (index_t c = 0; c < wide; ++c) {
                    const double mean = x_mean_[problem * p + columns[at(begin + c)]];
                    weigh(part.weights + row, left[c], mean, 1 / part.weight, scaled, some);
                    double out[4 * tile_width];
                    products(left, wide, &right, 1, some, out);
                    for (index_t k = 0; k < wide; ++k) own[k * a_step + c] += out[k * tile_width];
                }
            }
        }
    });
}

void ColumnDesign::residual(index_t problem, const Support& support, ResidualState& state) const {
    const Part& part = parts_[at(problem)];
    const index_t n = table_.stride;
    state.e.resize(at(n));
    weigh(part.weights, table_.target, part.y_mean, 1 / part.weight, state.e.data(), n);
    const double* moved[a_step];
    double by[a_step], level = 0;
    index_t count = 0;
    const auto flush = [&] {
        move_residual(moved, by, count, level, part.weights, 1 / part.weight, state.e.data(), n);
        count = 0;
        level = 0;
    };
    for (std::size_t a = 0; a < support.columns.size(); ++a) {
        if (support.values[a] == 0) continue;
        moved[count] = table_.columns + support.columns[a] * n;
        by[count++] = support.values[a];
        level -= support.values[a] * x_mean_[problem * p + support.columns[a]];
        if (count == a_step) flush();
    }
    flush();
}

double ColumnDesign::slope(index_t, index_t column, const ResidualState& state) const {
    return dot(table_.columns + column * table_.stride, state.e.data(), table_.stride);
}

bool ColumnDesign::near(index_t problem, const std::vector<index_t>& columns, const ResidualState& state) const {
    for (std::size_t k = 0; k < columns.size(); ++k) {
        const double mean = x_mean_[problem * p + columns[k]];
        const double own = state.own[k * at(a_step) + k % at(a_step)];
        if (!(mean * mean <= farthest * own || mean == 0)) return false;
    }
    return true;
}

GapSums ColumnDesign::sweep(index_t problem, const std::vector<index_t>& columns, const Penalty& penalty,
                            const std::vector<double>& v, std::vector<double>& b, ResidualState& state) const {
    const Part& part = parts_[at(problem)];
    const double* const mean = x_mean_ + problem * p;
    const index_t n = table_.stride, m = static_cast<index_t>(columns.size());
    GapSums sums{part.y_squares, 0};
    for (index_t begin = 0; begin < m; begin += a_step) {
        const index_t wide = std::min(a_step, m - begin);
        const double* left[a_step];
        double g[a_step];
        for (index_t k = 0; k < wide; ++k) left[k] = table_.columns + columns[at(begin + k)] * n;
        const double* const right = state.e.data();
        double out[4 * tile_width];
        products(left, wide, &right, 1, n, out);
        for (index_t k = 0; k < wide; ++k) g[k] = out[k * tile_width];
        const double* changed[a_step];
        double change[a_step], level = 0;
        index_t count = 0;
        for (index_t k = 0; k < wide; ++k) {
            const index_t j = columns[at(begin + k)];
            const double* const own = state.own.data() + (begin + k) * a_step;
            const double old = b[at(begin + k)], weight = v[at(begin + k)];
            sums.add(penalty, weight, old, g[k], part.cross[at(j)]);
            const double curvature = own[k] + penalty.l2 * weight;
            if (!(curvature > 0)) continue;
            const double value = penalty.soft(g[k] + own[k] * old, penalty.l1 * weight) / curvature;
            if (value == old) continue;
            b[at(begin + k)] = value;
            changed[count] = left[k];
            change[count++] = value - old;
            level -= (value - old) * mean[j];
            for (index_t later = k + 1; later < wide; ++later) g[later] -= (value - old) * own[later];
        }
        if (count > 0) move_residual(changed, change, count, level, part.weights, 1 / part.weight, state.e.data(), n);
    }
    sums.residual_squares = squares(problem, state);
    return sums;
}

double ColumnDesign::squares(index_t problem, const ResidualState& state) const {
    const Part& part = parts_[at(problem)];
    double sum = 0;
    for (std::size_t i = 0; i < state.e.size(); ++i)
        if (part.weights[i] > 0) sum += state.e[i] * state.e[i] / part.weights[i];
    return sum * part.weight;
}

void ColumnDesign::refresh(std::vector<Request>& requests, const double* penalty_weights, bool rough, int threads) {
    const index_t n = table_.stride, count = static_cast<index_t>(requests.size());
    threads = threads_for(static_cast<double>(n * p * count), threads);
    const bool low = low_.get() != nullptr && std::all_of(requests.begin(), requests.end(), [](const Request& request) {
        return request.l1 > 0;
    });
    rough = rough && low;
    std::vector<std::vector<double>> before;
    for (const Request& request : requests) before.push_back(parts_[at(request.problem)].residual);
    residuals(requests, rough, threads);
    parallel_chunks(count, 1, threads, [&](index_t k, index_t, index_t) {
        parts_[at(requests[at(k)].problem)].settle(before[at(k)], norms_, requests[at(k)].gradient);
    });
    // A column is read if some problem cannot do without it; the others keep what they know of it. In single precision
    // where there is such a copy: the rounding is bounded and goes to the slack, and only columns with a coefficient, or
    // which may still break the conditions, are read again in double, or none where this only leads the way.
    const auto open = [&](const Request& request, index_t j) {
        return std::abs(request.gradient.value[at(j)]) + request.gradient.slack[at(j)] > request.l1 * penalty_weights[j];
    };
    const auto active = [&](const Request& request, index_t j) {
        const index_t place = request.place[at(j)];
        return !rough && place >= 0 && request.support.values[at(place)] != 0;
    };
    const auto wanted = [&](const auto& needs) {
        std::vector<index_t> chosen;
        for (index_t j = 0; j < p; ++j)
            if (std::isfinite(penalty_weights[j]) &&
                std::any_of(requests.begin(), requests.end(), [&](const Request& request) { return needs(request, j); }))
                chosen.push_back(j);
        return chosen;
    };
    if (low) {
        const auto needs = [&](const Request& request, index_t j) {
            return !active(request, j) && (request.place[at(j)] >= 0 || open(request, j));
        };
        low_gradients(requests, wanted(needs), needs, threads);
    }
    if (rough) return;
    const auto needs = [&](const Request& request, index_t j) {
        return (low ? active(request, j) : request.place[at(j)] >= 0) || open(request, j);
    };
    gradients(requests, wanted(needs), needs, threads);
}

template <class Needs>
void ColumnDesign::gradients(std::vector<Request>& requests, const std::vector<index_t>& wanted, const Needs& needs,
                             int threads) {
    const index_t n = table_.stride, count = static_cast<index_t>(requests.size());
    parallel_chunks(static_cast<index_t>(wanted.size()), together, threads, [&](index_t, index_t begin, index_t end) {
        CellsOf cells(table_);
        const double* all[together];
        cells.read(wanted.data() + begin, end - begin, 0, n, all);
        for (index_t j = begin; j < end; j += 4) {
            const double* const* const left = all + (j - begin);
            const index_t tall = std::min<index_t>(4, end - j);
            for (index_t s = 0; s < count; s += tile_width) {
                const double* right[tile_width];
                const index_t wide = std::min(tile_width, count - s);
                for (index_t b = 0; b < wide; ++b)
                    right[b] = parts_[at(requests[at(s + b)].problem)].weighted_residual.data();
                double out[4 * tile_width];
                products(left, tall, right, wide, n, out);
                for (index_t a = 0; a < tall; ++a)
                    for (index_t b = 0; b < wide; ++b) {
                        Request& request = requests[at(s + b)];
                        const index_t column = wanted[at(j + a)];
                        if (!needs(request, column)) continue;
                        request.gradient.value[at(column)] = out[a * tile_width + b] - level(request.problem, column);
                        request.gradient.slack[at(column)] = 0;
                    }
            }
        }
    });
}

template <class Needs>
void ColumnDesign::low_gradients(std::vector<Request>& requests, const std::vector<index_t>& wanted, const Needs& needs,
                                 int threads) {
    const index_t n = table_.stride, count = static_cast<index_t>(requests.size());
    std::vector<float> sides(at(count * low_stride_), 0.0f);
    std::vector<double> norms(at(count)), scales(at(count));
    for (index_t k = 0; k < count; ++k) {
        const std::vector<double>& residual = parts_[at(requests[at(k)].problem)].weighted_residual;
        norms[at(k)] = std::sqrt(dot(residual.data(), residual.data(), n));
        scales[at(k)] = scale_of(norms[at(k)]);
        narrow(residual.data(), 1 / scales[at(k)], sides.data() + k * low_stride_, n);
    }
    parallel_chunks(static_cast<index_t>(wanted.size()), 16, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; j += 4) {
            const index_t tall = std::min<index_t>(4, end - j);
            for (index_t s = 0; s < count; s += tile_width) {
                const index_t wide = std::min(tile_width, count - s);
                double sums[4 * tile_width] = {};
                for (index_t row = 0; row < low_stride_; row += low_chunk) {
                    const float *left[4], *right[tile_width];
                    for (index_t a = 0; a < tall; ++a) left[a] = low_column(wanted[at(j + a)]) + row;
                    for (index_t b = 0; b < wide; ++b) right[b] = sides.data() + (s + b) * low_stride_ + row;
                    double out[4 * tile_width];
                    products(left, tall, right, wide, std::min(low_chunk, low_stride_ - row), out);
                    for (index_t a = 0; a < tall; ++a)
                        for (index_t b = 0; b < wide; ++b) sums[a * tile_width + b] += out[a * tile_width + b];
                }
                for (index_t a = 0; a < tall; ++a)
                    for (index_t b = 0; b < wide; ++b) {
                        Request& request = requests[at(s + b)];
                        const index_t column = wanted[at(j + a)];
                        if (!needs(request, column)) continue;
                        const double scale = scales_[at(column)] * scales[at(s + b)];
                        request.gradient.value[at(column)] =
                            sums[a * tile_width + b] * scale - level(request.problem, column);
                        request.gradient.slack[at(column)] =
                            low_error * norms_[at(column)] * norms[at(s + b)] + low_underflow * scale;
                    }
            }
        }
    });
}

}  // namespace assay::elastic_net
