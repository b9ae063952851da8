#include "elastic_net_design.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::elastic_net {
namespace {

using Lanes = double __attribute__((vector_size(64), may_alias, aligned(8)));

constexpr index_t tile_width = 6;   // right-hand columns of a tile
constexpr index_t row_chunk = 512;  // rows whose cells of a tile's columns stay in the level-1 cache

// out[a * tile_width + b] = left_a . right_b over `count` cells (a multiple of 8). Each product has its own lanes, added in
// one fixed order, so a value does not depend on the shape of the tile it is computed in.
template <int A, int B>
ASSAY_INLINE void tile_body(const double* const* left, const double* const* right, index_t count, double* out) {
    Lanes sum[A][B] = {};
    for (index_t i = 0; i < count; i += 8) {
        Lanes l[A];
#pragma GCC unroll 4
        for (int a = 0; a < A; ++a) l[a] = *reinterpret_cast<const Lanes*>(left[a] + i);
#pragma GCC unroll 6
        for (int b = 0; b < B; ++b) {
            const Lanes r = *reinterpret_cast<const Lanes*>(right[b] + i);
#pragma GCC unroll 4
            for (int a = 0; a < A; ++a) sum[a][b] += l[a] * r;
        }
    }
    for (int a = 0; a < A; ++a)
        for (int b = 0; b < B; ++b) {
            const Lanes s = sum[a][b];
            out[a * tile_width + b] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
}

#define ASSAY_TILE(A, B)                                                                                    \
    ASSAY_DISPATCH(void, tile_##A##B, (tile_body<A, B>),                                                    \
                   (const double* const* left, const double* const* right, index_t count, double* out),    \
                   (left, right, count, out))
ASSAY_TILE(4, 6)
ASSAY_TILE(4, 5)
ASSAY_TILE(4, 4)
ASSAY_TILE(4, 3)
ASSAY_TILE(4, 2)
ASSAY_TILE(4, 1)
ASSAY_TILE(2, 2)
ASSAY_TILE(1, 1)
#undef ASSAY_TILE

// Any part of a 4 x 6 tile of inner products, in the largest pieces that the registers hold.
void products(const double* const* left, index_t a_count, const double* const* right, index_t b_count, index_t count,
              double* out) {
    if (a_count == 4 && simd_level() == Simd::avx512) {
        constexpr decltype(&tile_41) tiles[] = {tile_41, tile_42, tile_43, tile_44, tile_45, tile_46};
        return tiles[b_count - 1](left, right, count, out);
    }
    for (index_t a = 0; a < a_count; a += 2) {
        for (index_t b = 0; b < b_count; b += 2) {
            if (a + 1 < a_count && b + 1 < b_count) {
                tile_22(left + a, right + b, count, out + a * tile_width + b);
                continue;
            }
            for (index_t i = a; i < std::min(a + 2, a_count); ++i)
                for (index_t j = b; j < std::min(b + 2, b_count); ++j)
                    tile_11(left + i, right + j, count, out + i * tile_width + j);
        }
    }
}

ASSAY_INLINE double dot_body(const double* x, const double* y, index_t count) {
    Lanes sum[2] = {};
    index_t i = 0;
    for (; i + 16 <= count; i += 16) {
        sum[0] += *reinterpret_cast<const Lanes*>(x + i) * *reinterpret_cast<const Lanes*>(y + i);
        sum[1] += *reinterpret_cast<const Lanes*>(x + i + 8) * *reinterpret_cast<const Lanes*>(y + i + 8);
    }
    sum[0] += sum[1];
    double total = 0;
    for (int k = 0; k < 8; ++k) total += sum[0][k];
    for (; i < count; ++i) total += x[i] * y[i];
    return total;
}
ASSAY_DISPATCH(double, dot_dispatched, dot_body, (const double* x, const double* y, index_t count), (x, y, count))

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

ASSAY_INLINE void weigh_body(const double* w, const double* x, double mean, double factor, double* __restrict__ out,
                             index_t count) {
    for (index_t i = 0; i < count; ++i) out[i] = factor * w[i] * (x[i] - mean);
}
ASSAY_DISPATCH(void, weigh, weigh_body,
               (const double* w, const double* x, double mean, double factor, double* out, index_t count),
               (w, x, mean, factor, out, count))

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

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

double dot(const double* x, const double* y, index_t count) { return dot_dispatched(x, y, count); }
void add_multiple(double a, const double* x, double* y, index_t count) { add_multiple_dispatched(a, x, y, count); }
void add_multiple(double a, const float* x, double* y, index_t count) { add_single(a, x, y, count); }

void Block::add_row(double factor, index_t a, double* y, index_t count) const {
    if (single_) add_multiple(factor, low_.get() + a * capacity, y, count);
    else add_multiple(factor, high_.get() + a * capacity, y, count);
}

void Block::grow(index_t columns, index_t kept) {
    const auto move = [&](auto& cells) {
        using Cell = std::remove_reference_t<decltype(cells[0])>;
        std::unique_ptr<Cell[]> larger(new Cell[at(columns * columns)]);
        for (index_t a = 0; a < kept; ++a) std::copy_n(cells.get() + a * capacity, kept, larger.get() + a * columns);
        cells.swap(larger);
    };
    if (single_) move(low_);
    else move(high_);
    capacity = columns;
}

MomentDesign::MomentDesign(const std::vector<ElasticNetMoments>& moments, index_t columns) : moments_(moments) {
    p = columns;
    problems = static_cast<index_t>(moments.size());
}

double MomentDesign::y_squares(index_t problem) const { return moments_[at(problem)].y_squares; }
const double* MomentDesign::cross(index_t problem) const { return moments_[at(problem)].cross; }

void MomentDesign::block(index_t problem, const std::vector<index_t>& columns, index_t first,
                         Block& block) const {
    const double* gram = moments_[at(problem)].gram;
    const auto m = static_cast<index_t>(columns.size());
    for (index_t a = 0; a < m; ++a) {
        const double* row = gram + columns[at(a)] * p;
        for (index_t b = a < first ? first : 0; b < m; ++b) block.set(a, b, row[columns[at(b)]]);
    }
}

void MomentDesign::refresh(std::vector<Request>& requests, const double*, int threads) {
    parallel_chunks(static_cast<index_t>(requests.size()), 1, threads, [&](index_t k, index_t, index_t) {
        const Request& request = requests[at(k)];
        const ElasticNetMoments& moments = moments_[at(request.problem)];
        std::vector<double>& g = request.gradient.value;
        std::copy(moments.cross, moments.cross + p, g.begin());
        const auto m = static_cast<index_t>(request.support.columns.size());
        for (index_t a = 0; a < m; ++a)
            if (request.support.values[at(a)] != 0)
                add_multiple(-request.support.values[at(a)], moments.gram + request.support.columns[at(a)] * p, g.data(),
                             p);
        double explained = 0;
        for (index_t a = 0; a < m; ++a) {
            const index_t j = request.support.columns[at(a)];
            explained += request.support.values[at(a)] * (moments.cross[j] + g[at(j)]);
        }
        request.gradient.residual_squares = std::max(0.0, moments.y_squares - explained);
    });
}

ColumnDesign::ColumnDesign(const ColumnTable& table, const double* weights, index_t n_problems, bool intercept,
                           double* x_mean, double* y_mean, int threads)
    : table_(table), x_mean_(x_mean), norms_(at(table.p)), parts_(at(n_problems)) {
    p = table.p;
    problems = n_problems;
    const index_t n = table.stride;
    std::vector<const double*> right;
    for (index_t f = 0; f < problems; ++f) {
        Part& part = parts_[at(f)];
        part.weights = weights + f * n;
        double total = 0, largest = 0, first = 0;
        for (index_t i = 0; i < n; ++i) {
            total += part.weights[i];
            largest = std::max(largest, part.weights[i]);
            first += part.weights[i] * table.target[i];
        }
        part.weight = total;
        part.ranges = used_rows(part.weights, n);
        part.norm_factor = std::sqrt(largest / total);
        part.y_mean = y_mean[f] = intercept ? first / total : 0.0;
        part.cross.resize(at(p));
        part.residual.resize(at(n));
        part.weighted_residual.resize(at(n));
        for (index_t i = 0; i < n; ++i) {
            const double w = part.weights[i];
            part.residual[at(i)] = w > 0 ? table.target[i] - part.y_mean : 0.0;
            part.weighted_residual[at(i)] = w * part.residual[at(i)] / total;
        }
        part.y_squares = dot(part.residual.data(), part.weighted_residual.data(), n);
        right.push_back(part.weighted_residual.data());
        right.push_back(part.weights);
    }
    const auto sides = static_cast<index_t>(right.size());
    parallel_chunks(p, 16, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; j += 4) {
            const double* left[4];
            const index_t count = std::min<index_t>(4, end - j);
            for (index_t a = 0; a < count; ++a) {
                left[a] = table_.columns + (j + a) * n;
                norms_[at(j + a)] = std::sqrt(dot(left[a], left[a], n));
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
        }
    });
}

bool ColumnDesign::finite() const {
    return std::all_of(norms_.begin(), norms_.end(), [](double norm) { return std::isfinite(norm); });
}

void ColumnDesign::block(index_t problem, const std::vector<index_t>& columns, index_t first,
                         Block& block) const {
    const Part& part = parts_[at(problem)];
    const double* mean = x_mean_ + problem * p;
    const index_t n = table_.stride, m = static_cast<index_t>(columns.size());
    // Entering columns are weighted in groups that stay in the cache while all others stream past them.
    const index_t group = std::clamp<index_t>((index_t{512} << 10) / (8 * n) / tile_width * tile_width, tile_width, 60);
    const index_t most = std::min(group, m - first);
    std::vector<double> scaled(at(most * n)), sums(at(m * most));
    for (index_t begin = first; begin < m; begin += group) {
        const index_t end = std::min(m, begin + group), wide = end - begin;
        for (index_t b = begin; b < end; ++b) {
            const index_t j = columns[at(b)];
            weigh(part.weights, table_.columns + j * n, mean[j], 1.0 / part.weight, scaled.data() + (b - begin) * n, n);
        }
        std::fill(sums.begin(), sums.end(), 0.0);
        for (const RowRange& range : part.ranges) {
            for (index_t a = 0; a < end; a += 4) {
                const double* left[4];
                const index_t tall = std::min<index_t>(4, end - a);
                for (index_t k = 0; k < tall; ++k) left[k] = table_.columns + columns[at(a + k)] * n + range.begin;
                for (index_t b = begin; b < end; b += tile_width) {
                    if (b + tile_width <= a) continue;
                    const double* right[tile_width];
                    const index_t some = std::min(tile_width, end - b);
                    for (index_t k = 0; k < some; ++k) right[k] = scaled.data() + (b - begin + k) * n + range.begin;
                    double out[4 * tile_width];
                    products(left, tall, right, some, range.end - range.begin, out);
                    for (index_t i = 0; i < tall; ++i)
                        for (index_t k = 0; k < some; ++k)
                            sums[at((a + i) * wide + b - begin + k)] += out[i * tile_width + k];
                }
            }
        }
        for (index_t a = 0; a < end; ++a)
            for (index_t b = std::max(begin, a); b < end; ++b) {
                block.set(a, b, sums[at(a * wide + b - begin)]);
                block.set(b, a, sums[at(a * wide + b - begin)]);
            }
    }
}

// r = y - mean - sum_j b_j (x_j - mean_j) on the training rows, of all problems asked for: a column is read once for them.
void ColumnDesign::residuals(const std::vector<Request>& requests, int threads) {
    struct Entry {
        index_t column, request;
        double value;
    };
    std::vector<Entry> entries;
    std::vector<double> level;
    for (std::size_t k = 0; k < requests.size(); ++k) {
        const Support& support = requests[k].support;
        const double* mean = x_mean_ + requests[k].problem * p;
        double shift = -parts_[at(requests[k].problem)].y_mean;
        for (std::size_t a = 0; a < support.columns.size(); ++a) {
            if (support.values[a] == 0) continue;
            shift += support.values[a] * mean[support.columns[a]];
            entries.push_back({support.columns[a], static_cast<index_t>(k), support.values[a]});
        }
        level.push_back(shift);
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
        return left.column < right.column || (left.column == right.column && left.request < right.request);
    });
    parallel_chunks(table_.stride, 256, threads, [&](index_t, index_t begin, index_t end) {
        for (std::size_t k = 0; k < requests.size(); ++k) {
            double* r = parts_[at(requests[k].problem)].residual.data();
            for (index_t i = begin; i < end; ++i) r[i] = table_.target[i] + level[k];
        }
        for (const Entry& entry : entries)
            add_multiple(-entry.value, table_.columns + entry.column * table_.stride + begin,
                         parts_[at(requests[at(entry.request)].problem)].residual.data() + begin, end - begin);
    });
}

void ColumnDesign::refresh(std::vector<Request>& requests, const double* penalty_weights, int threads) {
    const index_t n = table_.stride, count = static_cast<index_t>(requests.size());
    std::vector<std::vector<double>> before;
    for (const Request& request : requests) before.push_back(parts_[at(request.problem)].residual);
    residuals(requests, threads);
    parallel_chunks(count, 1, threads, [&](index_t k, index_t, index_t) {
        Request& request = requests[at(k)];
        Part& part = parts_[at(request.problem)];
        double squares = 0, moved = 0;
        for (index_t i = 0; i < n; ++i) {
            const double w = part.weights[i] / part.weight;
            double& r = part.residual[at(i)];
            if (w == 0) r = 0;
            part.weighted_residual[at(i)] = w * r;
            squares += w * r * r;
            const double change = r - before[at(k)][at(i)];
            moved += w * change * change;
        }
        request.gradient.residual_squares = squares;
        const double way = std::sqrt(moved) * part.norm_factor;
        for (index_t j = 0; j < p; ++j) request.gradient.slack[at(j)] += way * norms_[at(j)];
    });
    // A column is read if some problem cannot do without it; the others keep what they know of it.
    const auto needs = [&](const Request& request, index_t j) {
        return request.place[at(j)] >= 0 ||
               std::abs(request.gradient.value[at(j)]) + request.gradient.slack[at(j)] > request.l1 * penalty_weights[j];
    };
    std::vector<index_t> wanted;
    for (index_t j = 0; j < p; ++j)
        if (std::isfinite(penalty_weights[j]) &&
            std::any_of(requests.begin(), requests.end(), [&](const Request& request) { return needs(request, j); }))
            wanted.push_back(j);
    parallel_chunks(static_cast<index_t>(wanted.size()), 16, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; j += 4) {
            const double* left[4];
            const index_t tall = std::min<index_t>(4, end - j);
            for (index_t a = 0; a < tall; ++a) left[a] = table_.columns + wanted[at(j + a)] * n;
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
                        request.gradient.value[at(column)] = out[a * tile_width + b];
                        request.gradient.slack[at(column)] = 0;
                    }
            }
        }
    });
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
