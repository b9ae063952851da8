#include "assay/statistics/class_moments.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t least_grain = 8192;

ASSAY_INLINE void add_row_body(const double* __restrict x, const double* __restrict shift, index_t columns,
                               double weight, double* __restrict sum, double* __restrict square) {
    for (index_t j = 0; j < columns; ++j) {
        const double v = x[j] - shift[j], weighted = weight * v;
        sum[j] += weighted;
        square[j] += weighted * v;
    }
}

ASSAY_INLINE void add_rows_body(Matrix<const double> x, const std::int32_t* codes, const RowSelection& selection,
                                const double* shift, index_t begin, index_t end, double* sum, double* square) {
    for (index_t i = begin; i < end; ++i) {
        const index_t row = selection.row(i), at = codes[row] * x.cols;
        const double weight = selection.weights == nullptr ? 1.0 : selection.weights[row];
        add_row_body(x.row(row), shift, x.cols, weight, sum + at, square + at);
    }
}
ASSAY_DISPATCH(void, add_rows, add_rows_body,
               (Matrix<const double> x, const std::int32_t* codes, const RowSelection& selection, const double* shift,
                index_t begin, index_t end, double* sum, double* square),
               (x, codes, selection, shift, begin, end, sum, square))

// The careful loop: missing cells are skipped and present ones counted.
void add_present(Matrix<const double> x, const std::int32_t* codes, const RowSelection& selection, const double* shift,
                 index_t begin, index_t end, double* count, double* sum, double* square) {
    for (index_t i = begin; i < end; ++i) {
        const index_t row = selection.row(i), at = codes[row] * x.cols;
        const double weight = selection.weights == nullptr ? 1.0 : selection.weights[row];
        const double* cells = x.row(row);
        for (index_t j = 0; j < x.cols; ++j) {
            const double v = cells[j] - shift[j];
            const double present = v == v ? weight : 0.0, kept = v == v ? v : 0.0;
            count[at + j] += present;
            sum[at + j] += present * kept;
            square[at + j] += present * kept * kept;
        }
    }
}

void add_tallies(Matrix<const double> x, const std::int32_t* codes, const RowSelection& selection,
                 const NominalColumns& nominal, index_t categories, index_t begin, index_t end, double* tally) {
    for (index_t i = begin; i < end; ++i) {
        const index_t row = selection.row(i);
        const double weight = selection.weights == nullptr ? 1.0 : selection.weights[row];
        double* to = tally + codes[row] * categories;
        for (index_t k = 0; k < nominal.count; ++k) {
            const double code = x(row, nominal.columns[k]);
            if (code >= 0 && code < nominal.sizes[k]) to[static_cast<index_t>(code)] += weight;
            to += nominal.sizes[k];
        }
    }
}

void accumulate(std::vector<double>& total, const std::vector<double>& part) {
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += part[k];
}

ClassMoments zeros(index_t classes, index_t columns, index_t categories) {
    const auto size = [](index_t n) { return static_cast<std::size_t>(n); };
    const std::vector<double> cells(size(classes * columns), 0.0);
    return {classes, columns, categories, std::vector<double>(size(classes), 0.0), cells, cells, cells,
            std::vector<double>(size(classes * categories), 0.0)};
}

}  // namespace

ClassMoments class_moments(Matrix<const double> x, const std::int32_t* codes, index_t classes, RowSelection selection,
                           const double* shift, NominalColumns nominal, int threads) {
    index_t categories = 0;
    for (index_t k = 0; k < nominal.count; ++k) categories += nominal.sizes[k];
    const index_t bytes = 8 * classes * (3 * x.cols + categories + 1);
    const index_t most_chunks = std::clamp<index_t>((index_t{64} << 20) / bytes, 1, 1024);
    const index_t grain = std::max(least_grain, chunk_count(selection.count, most_chunks));
    std::vector<ClassMoments> parts(static_cast<std::size_t>(chunk_count(selection.count, grain)));
    parallel_chunks(selection.count, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        ClassMoments part = zeros(classes, x.cols, categories);
        for (index_t i = begin; i < end; ++i) {
            const index_t row = selection.row(i);
            part.class_weight[static_cast<std::size_t>(codes[row])] +=
                selection.weights == nullptr ? 1.0 : selection.weights[row];
        }
        add_rows(x, codes, selection, shift, begin, end, part.sum.data(), part.square.data());
        const bool complete = std::none_of(part.sum.begin(), part.sum.end(), [](double v) { return std::isnan(v); });
        if (complete) {
            for (index_t c = 0; c < classes; ++c)
                std::fill_n(part.count.begin() + c * x.cols, x.cols, part.class_weight[static_cast<std::size_t>(c)]);
        } else {
            std::fill(part.sum.begin(), part.sum.end(), 0.0);
            std::fill(part.square.begin(), part.square.end(), 0.0);
            add_present(x, codes, selection, shift, begin, end, part.count.data(), part.sum.data(),
                        part.square.data());
        }
        if (nominal.count > 0)
            add_tallies(x, codes, selection, nominal, categories, begin, end, part.tally.data());
        parts[static_cast<std::size_t>(chunk)] = std::move(part);
    });
    ClassMoments total = zeros(classes, x.cols, categories);
    for (const ClassMoments& part : parts) {
        if (part.classes == 0) continue;  // a chunk that an interrupt left out
        accumulate(total.class_weight, part.class_weight);
        accumulate(total.count, part.count);
        accumulate(total.sum, part.sum);
        accumulate(total.square, part.square);
        accumulate(total.tally, part.tally);
    }
    return total;
}

}  // namespace assay
