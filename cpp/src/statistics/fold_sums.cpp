#include "assay/statistics/fold_sums.hpp"

#include <algorithm>

#include "assay/common/lanes.hpp"
#include "assay/statistics/gram.hpp"

namespace assay {
namespace {

constexpr index_t lanes = 8, block = 512;

// sums[0 .. V) += up to 512 rows of V vectors of columns, squares likewise where wanted: both about `centre`. Four lanes are
// held in registers at a time.
template <int width, int V, bool squares>
ASSAY_INLINE void columns_body(Matrix<const double> x, index_t first, const std::int64_t* rows, index_t n,
                               const double* __restrict centre, double* __restrict sums,
                               [[maybe_unused]] double* __restrict square_sums) {
    typedef double Vector __attribute__((vector_size(width * 8), aligned(8), may_alias));
    constexpr index_t side = 4;
    const index_t even = n / lanes * lanes;
    Vector middle[V], whole[V] = {}, whole_square[V] = {};
    for (int v = 0; v < V; ++v) middle[v] = *reinterpret_cast<const Vector*>(centre + v * width);
    for (index_t group = 0; group < lanes; group += side) {
        Vector total[side][V] = {}, square[side][V] = {};
        const auto add = [&](index_t i, index_t lane) __attribute__((always_inline)) {
            const double* const cells = x.row(rows[i]) + first;
            for (int v = 0; v < V; ++v) {
                const Vector one = *reinterpret_cast<const Vector*>(cells + v * width) - middle[v];
                total[lane][v] += one;
                if constexpr (squares) square[lane][v] += one * one;
            }
        };
        for (index_t i = group; i < even; i += lanes) {
#pragma GCC unroll 4
            for (index_t lane = 0; lane < side; ++lane) add(i + lane, lane);
        }
#pragma GCC unroll 4
        for (index_t lane = 0; lane < side; ++lane)
            if (even + group + lane < n) add(even + group + lane, lane);
        for (index_t lane = 0; lane < side; ++lane)
            for (int v = 0; v < V; ++v) {
                whole[v] = total[lane][v] + whole[v];
                if constexpr (squares) whole_square[v] = square[lane][v] + whole_square[v];
            }
    }
    for (int v = 0; v < V; ++v) {
        *reinterpret_cast<Vector*>(sums + v * width) += whole[v];
        if constexpr (squares) *reinterpret_cast<Vector*>(square_sums + v * width) += whole_square[v];
    }
}

// The same of p columns, in vectors of W: as many at a time as there are registers for.
template <int W, bool squares>
ASSAY_INLINE void rows_body(Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n, const double* centre,
                            double* sums, double* square_sums) {
    constexpr int several = W < 8 && squares ? 1 : 2, four = W < 4 ? W : 4;
    const auto columns = [&]<int width, int V>(index_t& j) __attribute__((always_inline)) {
        for (; j + V * width <= p; j += V * width)
            columns_body<width, V, squares>(x, j, rows, n, centre + j, sums + j, square_sums + j);
    };
    index_t j = 0;
    columns.template operator()<W, several>(j);
    columns.template operator()<W, 1>(j);
    columns.template operator()<four, 1>(j);
    columns.template operator()<1, 1>(j);
}
template <int W>
ASSAY_INLINE void sums_body(Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n, const double* centre,
                            double* sums) {
    rows_body<W, false>(x, p, rows, n, centre, sums, sums);
}
template <int W>
ASSAY_INLINE void squares_body(Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n,
                               const double* centre, double* sums, double* square_sums) {
    rows_body<W, true>(x, p, rows, n, centre, sums, square_sums);
}
ASSAY_DISPATCH_DOUBLES(void, add_rows, sums_body,
                       (Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n, const double* centre,
                        double* sums),
                       (x, p, rows, n, centre, sums))
ASSAY_DISPATCH_DOUBLES(void, add_rows_and_squares, squares_body,
                       (Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n, const double* centre,
                        double* sums, double* square_sums),
                       (x, p, rows, n, centre, sums, square_sums))

struct Sums {
    double sum = 0, square = 0;
};

// The same of one column whose cells lie side by side.
ASSAY_INLINE Sums column_body(const double* cells, index_t n, double centre) {
    Sums out;
    for (index_t begin = 0; begin < n; begin += block) {
        const index_t end = std::min(n, begin + block), whole = begin + (end - begin) / lanes * lanes;
        double total[lanes] = {}, square[lanes] = {};
        for (index_t i = begin; i < whole; i += lanes)
            for (index_t lane = 0; lane < lanes; ++lane) {
                const double v = cells[i + lane] - centre;
                total[lane] += v;
                square[lane] += v * v;
            }
        for (index_t i = whole; i < end; ++i) {
            const double v = cells[i] - centre;
            total[i - whole] += v;
            square[i - whole] += v * v;
        }
        for (index_t lane = 1; lane < lanes; ++lane) {
            total[lane] += total[lane - 1];
            square[lane] += square[lane - 1];
        }
        out.sum += total[lanes - 1];
        out.square += square[lanes - 1];
    }
    return out;
}
ASSAY_DISPATCH(Sums, column_sums, column_body, (const double* cells, index_t n, double centre), (cells, n, centre))

// values[i] = mean[p] + sum over columns of coefficient (x - mean), in eight lanes that are added in order.
template <int W>
ASSAY_INLINE void line_body(Matrix<const double> x, const std::int64_t* rows, index_t n, const double* __restrict mean,
                            const double* __restrict coefficient, double* __restrict values) {
    // Listed rows lie apart, where the processor does not expect them: they are asked for some rows ahead.
    constexpr index_t ahead = 12;
    const index_t p = x.cols, whole = p / lanes * lanes;
    for (index_t i = 0; i < n; ++i) {
        if (i + ahead < n)
            for (index_t j = 0; j < p; j += lanes) __builtin_prefetch(x.row(rows[i + ahead]) + j);
        const double* const cells = x.row(rows[i]);
        Eight<W> sum = {};
        for (index_t j = 0; j < whole; j += lanes)
            sum += Eight<W>::load(coefficient + j) * (Eight<W>::load(cells + j) - Eight<W>::load(mean + j));
        double value = mean[p];
        for (int lane = 0; lane < lanes; ++lane) value += sum.lane(lane);
        for (index_t j = whole; j < p; ++j) value += coefficient[j] * (cells[j] - mean[j]);
        values[i] = value;
    }
}
ASSAY_DISPATCH_DOUBLES(void, line_values, line_body,
                       (Matrix<const double> x, const std::int64_t* rows, index_t n, const double* mean,
                        const double* coefficient, double* values),
                       (x, rows, n, mean, coefficient, values))

ASSAY_INLINE bool ascending_body(const std::int64_t* rows, index_t count) {
    std::int64_t falls = 0;
    for (index_t i = 1; i < count; ++i) falls |= static_cast<std::int64_t>(rows[i] <= rows[i - 1]);
    return falls == 0;
}
ASSAY_DISPATCH(bool, ascending, ascending_body, (const std::int64_t* rows, index_t count), (rows, count))

// Whether two lists in ascending order, which together are as long as the table, have no row in common: row t, the i-th of
// the shorter list, stands between the rows t - i - 1 and t - i of the longer one.
bool interlock(const RowList& one, const RowList& other) {
    const RowList &longer = one.count >= other.count ? one : other, &shorter = one.count >= other.count ? other : one;
    for (index_t i = 0; i < shorter.count; ++i) {
        const std::int64_t row = shorter.rows[i];
        const index_t before = row - i;  // at least 0, as the rows ascend from 0 on
        if (before > longer.count || (before > 0 && longer.rows[before - 1] >= row) ||
            (before < longer.count && longer.rows[before] <= row))
            return false;
    }
    return true;
}

}  // namespace

std::vector<ClassMoments> fold_moments(Matrix<const double> x, const std::int32_t* codes, index_t classes,
                                       const RowLists& lists, const double* shift, int threads) {
    std::vector<ClassMoments> out(lists.size());
    for_each_list(lists, 2 * x.cols, threads, [&](index_t k, int inside) {
        const RowList& list = lists[static_cast<std::size_t>(k)];
        out[static_cast<std::size_t>(k)] =
            class_moments(x, codes, classes, {list.rows, list.count, nullptr}, shift, {}, inside);
    });
    return out;
}

void fold_grams(Matrix<const double> x, const std::int32_t* codes, index_t classes, const RowLists& lists,
                const double* shift, double* grams, int threads) {
    const index_t size = classes * (x.cols + 1) * (x.cols + 1);
    for_each_list(lists, x.cols * x.cols / 2, threads, [&](index_t k, int inside) {
        const RowList& list = lists[static_cast<std::size_t>(k)];
        class_grams(x, codes, classes, {list.rows, list.count, nullptr}, shift, grams + k * size, inside);
    });
}

void fold_spreads(Matrix<const double> x, index_t p, const RowLists& lists, double* mean, double* left, double* square,
                  int threads) {
    const auto count = static_cast<index_t>(lists.size());
    // Lists of training rows are much the same: block after block, so that the rows of one list are at hand for the next.
    const index_t lot = std::clamp<index_t>(count / std::max(threads, 1), 1, 16);
    std::fill_n(mean, count * p, 0.0);
    std::fill_n(left, count * p, 0.0);
    std::fill_n(square, count * p, 0.0);
    parallel_chunks(count, lot, threads, [&](index_t, index_t from, index_t to) {
        const std::vector<double> zero(static_cast<std::size_t>(p), 0.0);
        const auto over = [&](const auto& work) {
            index_t longest = 0;
            for (index_t k = from; k < to; ++k) longest = std::max(longest, lists[static_cast<std::size_t>(k)].count);
            for (index_t begin = 0; begin < longest; begin += block)
                for (index_t k = from; k < to; ++k) {
                    const RowList& list = lists[static_cast<std::size_t>(k)];
                    if (begin < list.count) work(k, list.rows + begin, std::min(block, list.count - begin));
                }
        };
        const auto divide = [&](double* sums) {
            for (index_t k = from; k < to; ++k)
                for (index_t j = 0; j < p; ++j)
                    sums[k * p + j] /= static_cast<double>(std::max<index_t>(lists[static_cast<std::size_t>(k)].count, 1));
        };
        over([&](index_t k, const std::int64_t* rows, index_t n) {
            add_rows(x, p, rows, n, zero.data(), mean + k * p);
        });
        divide(mean);
        over([&](index_t k, const std::int64_t* rows, index_t n) {
            add_rows_and_squares(x, p, rows, n, mean + k * p, left + k * p, square + k * p);
        });
        divide(left);
        divide(square);
    });
}

void column_spread(Matrix<const double> columns, double* mean, double* left, double* square, int threads) {
    const double count = static_cast<double>(std::max<index_t>(columns.cols, 1));
    parallel_chunks(columns.rows, 1, columns.rows * columns.cols < 100'000 ? 1 : threads,
                    [&](index_t j, index_t, index_t) {
                        mean[j] = column_sums(columns.row(j), columns.cols, 0.0).sum / count;
                        const Sums about = column_sums(columns.row(j), columns.cols, mean[j]);
                        left[j] = about.sum / count;
                        square[j] = about.square / count;
                    });
}

void fold_lines(Matrix<const double> x, const RowLists& lists, Matrix<const double> means, Matrix<const double> coefficients,
                double* values, int threads) {
    std::vector<index_t> first(lists.size() + 1, 0);
    for (std::size_t k = 0; k < lists.size(); ++k) first[k + 1] = first[k] + lists[k].count;
    for_each_list(lists, x.cols, threads, [&](index_t k, int inside) {
        const RowList& list = lists[static_cast<std::size_t>(k)];
        double* const out = values + first[static_cast<std::size_t>(k)];
        parallel_chunks(list.count, 4096, inside, [&](index_t, index_t begin, index_t end) {
            line_values(x, list.rows + begin, end - begin, means.row(k), coefficients.row(k), out + begin);
        });
    });
}

void complementary(const RowLists& trains, const RowLists& tests, index_t n, std::uint8_t* split, int threads) {
    for_each_list(trains, 1, threads, [&](index_t k, int) {
        const RowList &train = trains[static_cast<std::size_t>(k)], &test = tests[static_cast<std::size_t>(k)];
        split[k] = 0;
        if (train.count + test.count != n) return;
        if (ascending(train.rows, train.count) && ascending(test.rows, test.count)) {
            split[k] = interlock(train, test) ? 2 : 0;
            return;
        }
        std::vector<std::uint8_t> seen(static_cast<std::size_t>(n), 0);
        for (const RowList* list : {&train, &test})
            for (index_t i = 0; i < list->count; ++i) seen[static_cast<std::size_t>(list->rows[i])] = 1;
        split[k] = std::all_of(seen.begin(), seen.end(), [](std::uint8_t one) { return one != 0; });
    });
}

}  // namespace assay
