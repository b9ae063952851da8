#include "assay/statistics/fold_sums.hpp"

#include <algorithm>

#include "assay/common/simd.hpp"
#include "assay/statistics/gram.hpp"

namespace assay {
namespace {

constexpr index_t lanes = 8, block = 512;

// sums[0 .. p) += the rows, squares likewise where wanted: both about `centre`. `held` has room for 2 * lanes * p numbers.
template <bool squares>
ASSAY_INLINE void rows_body(Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n,
                            const double* __restrict centre, double* __restrict held, double* __restrict sums,
                            [[maybe_unused]] double* __restrict square_sums) {
    for (index_t begin = 0; begin < n; begin += block) {
        const index_t end = std::min(n, begin + block);
        std::fill_n(held, (squares ? 2 : 1) * lanes * p, 0.0);
        for (index_t i = begin; i < end; ++i) {
            const double* __restrict cells = x.row(rows[i]);
            double* __restrict total = held + (i - begin) % lanes * p;
            [[maybe_unused]] double* __restrict square = total + lanes * p;
            for (index_t j = 0; j < p; ++j) {
                const double v = cells[j] - centre[j];
                total[j] += v;
                if constexpr (squares) square[j] += v * v;
            }
        }
        for (index_t lane = 1; lane < lanes; ++lane)
            for (index_t j = 0; j < p; ++j) held[lane * p + j] += held[(lane - 1) * p + j];
        for (index_t j = 0; j < p; ++j) sums[j] += held[(lanes - 1) * p + j];
        if constexpr (squares) {
            double* square = held + lanes * p;
            for (index_t lane = 1; lane < lanes; ++lane)
                for (index_t j = 0; j < p; ++j) square[lane * p + j] += square[(lane - 1) * p + j];
            for (index_t j = 0; j < p; ++j) square_sums[j] += square[(lanes - 1) * p + j];
        }
    }
}
ASSAY_DISPATCH(void, add_rows, rows_body<false>,
               (Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n, const double* centre, double* held,
                double* sums, double* square_sums),
               (x, p, rows, n, centre, held, sums, square_sums))
ASSAY_DISPATCH(void, add_rows_and_squares, rows_body<true>,
               (Matrix<const double> x, index_t p, const std::int64_t* rows, index_t n, const double* centre, double* held,
                double* sums, double* square_sums),
               (x, p, rows, n, centre, held, sums, square_sums))

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

}  // namespace

std::vector<ClassMoments> fold_moments(Matrix<const double> x, const std::int32_t* codes, index_t classes,
                                       const RowLists& lists, const double* shift, int threads) {
    std::vector<ClassMoments> out(lists.size());
    for_each_list(lists, threads, [&](index_t k, int inside) {
        const RowList& list = lists[static_cast<std::size_t>(k)];
        out[static_cast<std::size_t>(k)] =
            class_moments(x, codes, classes, {list.rows, list.count, nullptr}, shift, {}, inside);
    });
    return out;
}

void fold_grams(Matrix<const double> x, const std::int32_t* codes, index_t classes, const RowLists& lists,
                const double* shift, double* grams, int threads) {
    const index_t size = classes * (x.cols + 1) * (x.cols + 1);
    for_each_list(lists, threads, [&](index_t k, int inside) {
        const RowList& list = lists[static_cast<std::size_t>(k)];
        class_grams(x, codes, classes, {list.rows, list.count, nullptr}, shift, grams + k * size, inside);
    });
}

void fold_spreads(Matrix<const double> x, index_t p, const RowLists& lists, double* mean, double* left, double* square,
                  int threads) {
    for_each_list(lists, threads, [&](index_t k, int) {
        const RowList& list = lists[static_cast<std::size_t>(k)];
        const double count = static_cast<double>(std::max<index_t>(list.count, 1));
        std::vector<double> held(static_cast<std::size_t>(2 * lanes * p)), zero(static_cast<std::size_t>(p), 0.0);
        double *m = mean + k * p, *l = left + k * p, *s = square + k * p;
        std::fill_n(m, p, 0.0);
        std::fill_n(l, p, 0.0);
        std::fill_n(s, p, 0.0);
        add_rows(x, p, list.rows, list.count, zero.data(), held.data(), m, nullptr);
        for (index_t j = 0; j < p; ++j) m[j] /= count;
        add_rows_and_squares(x, p, list.rows, list.count, m, held.data(), l, s);
        for (index_t j = 0; j < p; ++j) {
            l[j] /= count;
            s[j] /= count;
        }
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

void complementary(const RowLists& trains, const RowLists& tests, index_t n, std::uint8_t* split, int threads) {
    for_each_list(tests, threads, [&](index_t k, int) {
        const RowList &train = trains[static_cast<std::size_t>(k)], &test = tests[static_cast<std::size_t>(k)];
        split[k] = 0;
        if (train.count + test.count != n) return;
        std::vector<std::uint8_t> seen(static_cast<std::size_t>(n), 0);
        for (const RowList* list : {&train, &test})
            for (index_t i = 0; i < list->count; ++i) seen[static_cast<std::size_t>(list->rows[i])] = 1;
        split[k] = std::all_of(seen.begin(), seen.end(), [](std::uint8_t one) { return one != 0; });
    });
}

}  // namespace assay
