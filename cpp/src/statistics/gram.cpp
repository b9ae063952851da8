#include "assay/statistics/gram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "assay/common/lanes.hpp"
#include "assay/common/scratch.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t panel = 16;       // columns of a panel
constexpr index_t row_block = 128;  // rows packed at a time: a panel of them is 16 KiB, half of a level-1 cache
constexpr index_t narrow_limit = 768;
constexpr index_t few_panels = 4;  // of a table for which there is room on the stack

using Vector8 = double __attribute__((vector_size(64), may_alias));
using Vector4 = double __attribute__((vector_size(32), may_alias));

struct Free {
    void operator()(double* p) const { std::free(p); }
};
using Aligned = std::unique_ptr<double[], Free>;

Aligned allocate(index_t count) {
    return Aligned(static_cast<double*>(std::aligned_alloc(64, static_cast<std::size_t>((count + 7) / 8 * 8) * 8)));
}

// Which part of a 16 x 16 tile is wanted: columns that exist, and on the diagonal the upper triangle (in blocks of 8).
struct TileShape {
    index_t a_columns, b_columns;
    bool diagonal;

    bool wants(index_t top, index_t side) const {
        return top < a_columns && side < b_columns && !(diagonal && side + 8 <= top);
    }
};

// c[8 x 8 or 16] += a^T b over `rows` rows: eight columns of panel a, the left and/or right half of panel b.
template <bool left, bool right>
ASSAY_INLINE void half_tile(const double* a, const double* b, index_t rows, double* c, index_t stride) {
    // The sums of a wide table are beyond the near caches: they arrive while the products are formed.
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
        if constexpr (left) __builtin_prefetch(c + i * stride, 1);
        if constexpr (right) __builtin_prefetch(c + i * stride + 8, 1);
    }
    Vector8 sum[8][2] = {};
    for (index_t r = 0; r < rows; ++r) {
        const Vector8 low = *reinterpret_cast<const Vector8*>(b + r * panel);
        const Vector8 high = *reinterpret_cast<const Vector8*>(b + r * panel + 8);
        const double* row = a + r * panel;
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            if constexpr (left) sum[i][0] += row[i] * low;
            if constexpr (right) sum[i][1] += row[i] * high;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
        if constexpr (left) *reinterpret_cast<Vector8*>(c + i * stride) += sum[i][0];
        if constexpr (right) *reinterpret_cast<Vector8*>(c + i * stride + 8) += sum[i][1];
    }
}

ASSAY_INLINE void tile_wide_body(const double* a, const double* b, index_t rows, TileShape shape, double* c,
                                 index_t stride) {
    for (index_t top = 0; top < panel; top += 8) {
        const bool left = shape.wants(top, 0), right = shape.wants(top, 8);
        if (left && right) half_tile<true, true>(a + top, b, rows, c + top * stride, stride);
        else if (left) half_tile<true, false>(a + top, b, rows, c + top * stride, stride);
        else if (right) half_tile<false, true>(a + top, b, rows, c + top * stride, stride);
    }
}

// The same with 4 x 8 accumulators, for machines with sixteen 256-bit registers.
ASSAY_INLINE void tile_narrow_body(const double* a, const double* b, index_t rows, TileShape shape, double* c,
                                   index_t stride) {
    for (index_t top = 0; top < panel; top += 4) {
        for (index_t side = 0; side < panel; side += 8) {
            if (!shape.wants(top, side)) continue;
            Vector4 sum[4][2] = {};
            for (index_t r = 0; r < rows; ++r) {
                const Vector4 left = *reinterpret_cast<const Vector4*>(b + r * panel + side);
                const Vector4 right = *reinterpret_cast<const Vector4*>(b + r * panel + side + 4);
                const double* row = a + r * panel + top;
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) {
                    sum[i][0] += row[i] * left;
                    sum[i][1] += row[i] * right;
                }
            }
            for (int i = 0; i < 4; ++i) {
                double* out = c + (top + i) * stride + side;
                for (int j = 0; j < 4; ++j) {
                    out[j] += sum[i][0][j];
                    out[j + 4] += sum[i][1][j];
                }
            }
        }
    }
}

ASSAY_DISPATCH(void, tile_wide, tile_wide_body,
               (const double* a, const double* b, index_t rows, TileShape shape, double* c, index_t stride),
               (a, b, rows, shape, c, stride))
ASSAY_DISPATCH(void, tile_narrow, tile_narrow_body,
               (const double* a, const double* b, index_t rows, TileShape shape, double* c, index_t stride),
               (a, b, rows, shape, c, stride))

// One shifted row into its place in every panel; `step` doubles separate the panels of the block.
ASSAY_INLINE void pack_row_body(const double* x, index_t p, const double* y, index_t q, const double* shift,
                                double weight, double* to, index_t step) {
    for (index_t begin = 0; begin < p; begin += panel) {
        const index_t end = std::min(p, begin + panel);
        double* out = to + begin / panel * step;
        for (index_t j = begin; j < end; ++j) out[j - begin] = weight * (x[j] - shift[j]);
    }
    for (index_t j = 0; j < q; ++j) to[(p + j) / panel * step + (p + j) % panel] = weight * (y[j] - shift[p + j]);
    to[(p + q) / panel * step + (p + q) % panel] = weight;
}
ASSAY_DISPATCH(void, pack_row, pack_row_body,
               (const double* x, index_t p, const double* y, index_t q, const double* shift, double weight, double* to,
                index_t step),
               (x, p, y, q, shift, weight, to, step))

struct Table {
    Matrix<const double> x, y;
    RowSelection selection;
    const double* shift;
    index_t panels;
    const MakeRows* make = nullptr;  // what writes the rows, where x holds none

    index_t packed_size() const { return panels * row_block * panel; }
    index_t used(index_t i) const { return std::min(panel, x.cols + y.cols + 1 - i * panel); }

    // sums[i, j] += left_i^T right_j over `rows` packed rows.
    void multiply(const double* left, const double* right, index_t rows, index_t i, index_t j, double* sums) const {
        const double *a = left + i * row_block * panel, *b = right + j * row_block * panel;
        const TileShape shape{used(i), used(j), i == j};
        double* c = sums + i * panel * panels * panel + j * panel;
        if (simd_level() == Simd::avx512) tile_wide(a, b, rows, shape, c, panels * panel);
        else tile_narrow(a, b, rows, shape, c, panels * panel);
    }

    // Asks for the share i of `panels` of the rows that are packed next, so that they arrive while others are multiplied.
    void expect(index_t i, index_t begin, index_t end) const {
        if (make != nullptr) return;
        constexpr index_t line = 8;
        const index_t rows = end - begin;
        for (index_t k = begin + rows * i / panels; k < begin + rows * (i + 1) / panels; ++k) {
            const double* next = x.row(selection.row(k));
            for (index_t j = 0; j < x.cols; j += line) __builtin_prefetch(next + j);
        }
    }

    // Rows begin..end of the selection into packed panels, from `made` where they are there; `weighted` is left alone when there
    // are no weights.
    void pack(index_t begin, index_t end, double* plain, double* weighted, const double* made = nullptr) const {
        const index_t step = row_block * panel;
        // Listed rows lie apart, where the processor does not expect them: they are asked for some rows ahead.
        constexpr index_t ahead = 12, line = 8;
        for (index_t i = begin; i < end; ++i) {
            const index_t row = selection.row(i);
            if (made == nullptr && selection.rows != nullptr && i + ahead < selection.count) {
                const double* next = x.row(selection.row(i + ahead));
                for (index_t j = 0; j < x.cols; j += line) __builtin_prefetch(next + j);
            }
            const double* xs = made != nullptr ? made + (i - begin) * x.cols : x.row(row);
            const double* ys = y.cols > 0 ? y.row(row) : nullptr;
            pack_row(xs, x.cols, ys, y.cols, shift, 1.0, plain + (i - begin) * panel, step);
            if (selection.weights != nullptr)
                pack_row(xs, x.cols, ys, y.cols, shift, selection.weights[row], weighted + (i - begin) * panel, step);
        }
    }
};

void narrow_gram(const Table& table, double* padded, int threads) {
    const index_t width = table.panels * panel, cells = width * width, n = table.selection.count;
    const index_t most_chunks = std::max<index_t>(1, (index_t{64} << 20) / (cells * 8));
    // Few rows to a chunk where the work on them outweighs a matrix more to add: even shares for the threads.
    const index_t least = width < 256 ? 4096 : 1024;
    const index_t grain = std::max<index_t>(least, (chunk_count(n, most_chunks) + row_block - 1) / row_block * row_block);
    const index_t chunks = chunk_count(n, grain);
    // Chunks go in waves, whose sums are added in order before the next one begins: the bits do not depend on the waves, and
    // few matrices are held at a time, used again and again.
    constexpr index_t wave_bytes = index_t{4} << 20;
    const index_t wave = std::min(chunks, std::max(index_t{4} * std::max(threads, 1), wave_bytes / (cells * 8)));
    std::vector<Aligned> partial(static_cast<std::size_t>(wave));
    for (index_t start = 0; start < chunks && !interrupted(); start += wave) {
        const index_t skipped = start * grain, rows = std::min(n, (start + wave) * grain) - skipped;
        parallel_chunks(rows, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
            begin += skipped;
            end += skipped;
            const bool weighted = table.selection.weights != nullptr;
            const index_t packed = table.packed_size();
            const Aligned made = table.make != nullptr ? allocate(row_block * table.x.cols) : nullptr;
            Scratch<2 * few_panels * row_block * panel> room(weighted ? 2 * packed : packed);
            double *const plain = room.data(), *const scaled = plain + packed;
            std::fill(plain, plain + (weighted ? 2 * packed : packed), 0.0);
            // Cleared here and not for all at once: the memory is first touched by the thread that uses it. A single chunk has
            // nothing to be added to.
            Aligned& own = partial[static_cast<std::size_t>(chunk)];
            if (own == nullptr && chunks > 1) own = allocate(cells);
            double* sums = chunks > 1 ? own.get() : padded;
            if (chunks > 1) std::fill(sums, sums + cells, 0.0);
            for (index_t first = begin; first < end; first += row_block) {
                const index_t last = std::min(end, first + row_block);
                if (made != nullptr) (*table.make)(first, last, made.get());
                table.pack(first, last, plain, scaled, made.get());
                const double* left = weighted ? scaled : plain;
                for (index_t i = 0; i < table.panels; ++i) {
                    table.expect(i, last, std::min(end, last + row_block));
                    for (index_t j = i; j < table.panels; ++j)
                        table.multiply(left, plain, last - first, i, j, sums);
                }
            }
        });
        if (chunks == 1) return;
        const auto used = static_cast<std::size_t>(chunk_count(rows, grain));
        parallel_chunks(width, panel, threads, [&](index_t, index_t begin, index_t end) {
            for (std::size_t c = 0; c < used; ++c) {
                const Aligned& sums = partial[c];
                for (index_t i = begin; i < end && sums != nullptr; ++i)
                    for (index_t k = i * width + begin; k < (i + 1) * width; ++k)
                        padded[k] += sums[static_cast<std::size_t>(k)];
            }
        });
    }
}

void wide_gram(const Table& table, double* padded, int threads) {
    const index_t n = table.selection.count;
    const bool weighted = table.selection.weights != nullptr;
    Aligned plain = allocate(table.packed_size());
    Aligned scaled = weighted ? allocate(table.packed_size()) : nullptr;
    std::fill(plain.get(), plain.get() + table.packed_size(), 0.0);
    if (weighted) std::fill(scaled.get(), scaled.get() + table.packed_size(), 0.0);
    const Aligned made = table.make != nullptr ? allocate(row_block * table.x.cols) : nullptr;
    for (index_t first = 0; first < n && !interrupted(); first += row_block) {
        const index_t last = std::min(n, first + row_block);
        if (made != nullptr) (*table.make)(first, last, made.get());
        parallel_chunks(last - first, 8, threads, [&](index_t, index_t begin, index_t end) {
            table.pack(first + begin, first + end, plain.get() + begin * panel,
                       weighted ? scaled.get() + begin * panel : nullptr,
                       made != nullptr ? made.get() + begin * table.x.cols : nullptr);
        });
        const double* left = weighted ? scaled.get() : plain.get();
        parallel_chunks(table.panels, 1, threads, [&](index_t i, index_t, index_t) {
            for (index_t j = i; j < table.panels; ++j)
                table.multiply(left, plain.get(), last - first, i, j, padded);
        });
    }
}

// Rows of the selection from `begin`, shifted, into the blocks of their classes, until one is full or all are packed;
// gives the next row. Whole panels go by vectors.
template <int W>
ASSAY_INLINE index_t pack_classes_body(const Table& table, const std::int32_t* codes, index_t begin, index_t end,
                                       index_t* filled, double* packed, index_t* full) {
    constexpr index_t step = row_block * panel;
    const index_t p = table.x.cols, whole = p / panel * panel, size = table.packed_size();
    while (begin < end) {
        const index_t row = table.selection.row(begin++), k = codes[row];
        const double *x = table.x.row(row), *shift = table.shift + k * p;
        double* to = packed + k * size + filled[k] * panel;
        for (index_t j = 0; j < whole; j += panel, to += step)
            for (index_t h = 0; h < panel; h += 8)
                (Eight<W>::load(x + j + h) - Eight<W>::load(shift + j + h)).store(to + h);
        index_t j = whole;
        for (; j + 8 <= p; j += 8) (Eight<W>::load(x + j) - Eight<W>::load(shift + j)).store(to + j - whole);
        for (; j < p; ++j) to[j - whole] = x[j] - shift[j];
        to[p - whole] = 1.0;
        if (++filled[k] == row_block) {
            *full = k;
            break;
        }
    }
    return begin;
}
ASSAY_DISPATCH_DOUBLES(index_t, pack_classes, pack_classes_body,
               (const Table& table, const std::int32_t* codes, index_t begin, index_t end, index_t* filled, double* packed,
                index_t* full),
               (table, codes, begin, end, filled, packed, full))

// Blocks of rows of one class each, and the sums of all classes.
class ClassBlocks {
public:
    ClassBlocks(const Table& table, index_t classes, double* sums)
        : table_(table), weighted_(table.selection.weights != nullptr), filled_(static_cast<std::size_t>(classes), 0),
          plain_(allocate(classes * table.packed_size())),
          scaled_(weighted_ ? allocate(classes * table.packed_size()) : nullptr), sums_(sums) {
        std::fill(plain_.get(), plain_.get() + classes * table.packed_size(), 0.0);
        if (weighted_) std::fill(scaled_.get(), scaled_.get() + classes * table.packed_size(), 0.0);
    }

    // Rows begin..end of the selection, each into the block of its class.
    void add(index_t begin, index_t end, const std::int32_t* codes) {
        if (weighted_) {
            for (index_t i = begin; i < end; ++i) add_weighted(table_.selection.row(i), codes[table_.selection.row(i)]);
            return;
        }
        while (begin < end) {
            index_t full = -1;
            begin = pack_classes(table_, codes, begin, end, filled_.data(), plain_.get(), &full);
            if (full >= 0) multiply(full);
        }
    }

    void finish() {
        for (index_t k = 0; k < static_cast<index_t>(filled_.size()); ++k) multiply(k);
    }

private:
    void add_weighted(index_t row, index_t k) {
        const index_t p = table_.x.cols, step = row_block * panel, size = table_.packed_size();
        index_t& filled = filled_[static_cast<std::size_t>(k)];
        const double *xs = table_.x.row(row), *shift = table_.shift + k * p;
        const index_t place = k * size + filled * panel;
        pack_row(xs, p, nullptr, 0, shift, 1.0, plain_.get() + place, step);
        pack_row(xs, p, nullptr, 0, shift, table_.selection.weights[row], scaled_.get() + place, step);
        if (++filled == row_block) multiply(k);
    }

    void multiply(index_t k) {
        index_t& filled = filled_[static_cast<std::size_t>(k)];
        if (filled == 0) return;
        const index_t width = table_.panels * panel;
        const double* right = plain_.get() + k * table_.packed_size();
        const double* left = weighted_ ? scaled_.get() + k * table_.packed_size() : right;
        for (index_t i = 0; i < table_.panels; ++i)
            for (index_t j = i; j < table_.panels; ++j)
                table_.multiply(left, right, filled, i, j, sums_ + k * width * width);
        filled = 0;
    }

    const Table& table_;
    bool weighted_;
    std::vector<index_t> filled_;
    Aligned plain_, scaled_;
    double* sums_;
};

// Four quadratic forms at once, so that each row of the matrix is read for four of them.
template <int W>
ASSAY_INLINE void forms_body(Matrix<const double> gram, const double* const* c, double* out) {
    const index_t d = gram.cols, whole = d / 8 * 8;
    out[0] = out[1] = out[2] = out[3] = 0;
    for (index_t i = 0; i < d; ++i) {
        if (c[0][i] == 0 && c[1][i] == 0 && c[2][i] == 0 && c[3][i] == 0) continue;
        const double* row = gram.row(i);
        Eight<W> sum[4] = {};
        for (index_t j = 0; j < whole; j += 8) {
            const auto cells = Eight<W>::load(row + j);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) sum[k] += cells * Eight<W>::load(c[k] + j);
        }
        for (int k = 0; k < 4; ++k) {
            double total = 0;
            for (int lane = 0; lane < 8; ++lane) total += sum[k].lane(lane);
            for (index_t j = whole; j < d; ++j) total += row[j] * c[k][j];
            out[k] += c[k][i] * total;
        }
    }
}
ASSAY_DISPATCH_DOUBLES(void, forms, forms_body, (Matrix<const double> gram, const double* const* c, double* out),
               (gram, c, out))

// The upper half of a padded matrix into both halves of a d x d one.
void write_both_halves(const double* padded, index_t width, double* gram, index_t d) {
    for (index_t i = 0; i < d; ++i)
        for (index_t j = i; j < d; ++j) gram[i * d + j] = gram[j * d + i] = padded[i * width + j];
}

index_t panels_of(index_t columns) { return (columns + panel - 1) / panel; }

void gram_of(const Table& table, double* gram, int threads) {
    const index_t d = table.x.cols + table.y.cols + 1, width = table.panels * panel;
    Scratch<few_panels * few_panels * panel * panel> padded(width * width);
    std::fill(padded.data(), padded.data() + width * width, 0.0);
    // Waking threads costs more than a small product; the chunks, and so the bits, are the same.
    if (table.selection.count * d * d < 6'000'000) threads = 1;
    if (d <= narrow_limit) narrow_gram(table, padded.data(), threads);
    else wide_gram(table, padded.data(), threads);
    write_both_halves(padded.data(), width, gram, d);
}

}  // namespace

void quadratic_forms(Matrix<const double> gram, Matrix<const double> combinations, double* out, int threads) {
    parallel_chunks(combinations.rows, 4, threads, [&](index_t, index_t begin, index_t end) {
        const double* c[4];
        double found[4];
        for (index_t k = 0; k < 4; ++k) c[k] = combinations.row(std::min(begin + k, end - 1));
        forms(gram, c, found);
        std::copy(found, found + (end - begin), out + begin);
    });
}

void weighted_gram(Matrix<const double> x, Matrix<const double> y, RowSelection selection, const double* shift,
                   double* gram, int threads) {
    gram_of({x, y, selection, shift, panels_of(x.cols + y.cols + 1)}, gram, threads);
}

void made_gram(index_t columns, const MakeRows& make, Matrix<const double> y, const double* weights, const double* shift,
               double* gram, int threads) {
    const Matrix<const double> none{nullptr, y.rows, columns, columns, 1};
    gram_of({none, y, {nullptr, y.rows, weights}, shift, panels_of(columns + y.cols + 1), &make}, gram, threads);
}

void central_values(Matrix<const double> x, Matrix<const double> y, index_t step, double* shift) {
    for (const Matrix<const double>& table : {x, y}) {
        std::vector<double> sums(static_cast<std::size_t>(table.cols), 0.0), others(sums);
        index_t count = 0;
        for (index_t i = 0; i < table.rows; i += step, ++count) {
            constexpr index_t ahead = 8, line = 8;  // such rows lie where the processor does not expect them
            const double *row = table.row(i), *first = table.row(0);
            if (i + ahead * step < table.rows)
                for (index_t j = 0; j < table.cols; j += line) __builtin_prefetch(row + ahead * step * table.row_stride + j);
            for (std::size_t j = 0; j < sums.size(); ++j) {
                sums[j] += row[j];
                others[j] += row[j] != first[j] ? 1.0 : 0.0;
            }
        }
        for (std::size_t j = 0; j < sums.size(); ++j)
            *shift++ = others[j] > 0.0 ? sums[j] / static_cast<double>(count) : table.row(0)[j];
    }
}

void far_columns(Matrix<const double> gram, const double* shift, bool* far) {
    const index_t d = gram.cols - 1;
    const double *last = gram.row(d), weight = last[d];
    for (index_t j = 0; j < d; ++j) {
        const double offset = std::abs(last[j] / weight), variance = gram.row(j)[j] / weight - offset * offset;
        far[j] = offset > 100 * std::sqrt(std::max(variance, 0.0)) && offset > 1e-10 * std::abs(shift[j]) &&
                 offset < INFINITY;
    }
}

CentredMoments centred_moments(Matrix<const double> gram, const double* less, const double* shift, index_t targets,
                               bool centre, bool averaged) {
    const index_t d = gram.cols, q = targets, p = d - 1 - q;
    const auto size = [](index_t count) { return static_cast<std::size_t>(count); };
    // Row i of the sums into `row`, from `begin` to `end`.
    const auto copy = [&](index_t i, index_t begin, index_t end, double* row) {
        const double* from = gram.row(i);
        if (less == nullptr) std::copy(from + begin, from + end, row);
        else
            for (index_t j = begin; j < end; ++j) row[j - begin] = from[j] - less[i * d + j];
    };
    std::vector<double> first(size(d)), mean(size(d - 1), 0.0);
    copy(d - 1, 0, d, first.data());
    const double weight = first.back();
    for (index_t j = 0; centre && j < d - 1; ++j) mean[size(j)] = first[size(j)] / weight;
    CentredMoments found{weight,
                         std::vector<double>(size(p), 0.0),
                         std::vector<double>(size(q), 0.0),
                         std::vector<double>(size(p * p)),
                         std::vector<double>(size(p * q)),
                         std::vector<double>(size(q))};
    const auto moments = [&](index_t i, index_t begin, index_t end, double* row) {
        copy(i, begin, end, row);
        if (centre)
            for (index_t j = begin; j < end; ++j) row[j - begin] -= first[size(i)] * mean[size(j)];
        if (averaged)
            for (index_t j = begin; j < end; ++j) row[j - begin] /= weight;
    };
    for (index_t i = 0; i < p; ++i) {
        moments(i, 0, p, found.gram.data() + i * p);
        moments(i, p, d - 1, found.cross.data() + i * q);
    }
    for (index_t k = 0; k < q; ++k) moments(p + k, p + k, p + k + 1, found.y_squares.data() + k);
    for (index_t j = 0; centre && j < d - 1; ++j)
        (j < p ? found.x_mean[size(j)] : found.y_mean[size(j - p)]) = shift[j] + mean[size(j)];
    return found;
}

void class_grams(Matrix<const double> x, const std::int32_t* codes, index_t classes, RowSelection selection,
                 const double* shift, double* grams, int threads) {
    constexpr index_t second_level = 512 << 10, grain = 16384;
    const index_t p = x.cols, d = p + 1, panels = (d + panel - 1) / panel, width = panels * panel, n = selection.count;
    const Matrix<const double> none{nullptr, x.rows, 0, 0, 1};
    if (classes * (width * width + row_block * width) * 8 > second_level) {
        std::vector<std::int64_t> mine;
        for (index_t k = 0; k < classes; ++k) {
            mine.clear();
            for (index_t i = 0; i < n; ++i)
                if (codes[selection.row(i)] == k) mine.push_back(selection.row(i));
            const RowSelection own{mine.data(), static_cast<index_t>(mine.size()), selection.weights};
            weighted_gram(x, none, own, shift + k * p, grams + k * d * d, threads);
        }
        return;
    }
    const Table table{x, none, selection, shift, panels};
    const index_t cells = classes * width * width;
    std::vector<Aligned> partial(static_cast<std::size_t>(chunk_count(n, grain)));
    parallel_chunks(n, grain, n * d * d < 2'000'000 ? 1 : threads, [&](index_t chunk, index_t begin, index_t end) {
        Aligned& own = partial[static_cast<std::size_t>(chunk)];
        own = allocate(cells);
        std::fill(own.get(), own.get() + cells, 0.0);
        ClassBlocks blocks(table, classes, own.get());
        blocks.add(begin, end, codes);
        blocks.finish();
    });
    const Aligned padded = allocate(cells);
    std::fill(padded.get(), padded.get() + cells, 0.0);
    for (const Aligned& sums : partial)
        for (index_t c = 0; c < cells && sums != nullptr; ++c)
            padded[static_cast<std::size_t>(c)] += sums[static_cast<std::size_t>(c)];
    for (index_t k = 0; k < classes; ++k)
        write_both_halves(padded.get() + k * width * width, width, grams + k * d * d, d);
}

}  // namespace assay
