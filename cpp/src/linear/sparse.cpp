#include "assay/linear/sparse.hpp"

#include <algorithm>
#include <vector>

#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t most_chunks = 32;

// Rows in a chunk of about the same number of cells each, at least `least` of them.
index_t row_grain(const SparseMatrix& rows, index_t cells_in_chunk) {
    const index_t cells = std::max<index_t>(rows.cells(), 1);
    const auto share = static_cast<double>(cells_in_chunk) / static_cast<double>(cells);
    return std::max<index_t>(64, static_cast<index_t>(share * static_cast<double>(rows.lines)));
}

// Waking threads costs more than a small product; the chunks, and so the bits, are the same.
int worth(index_t work, int threads) { return work < 500'000 ? 1 : threads; }

double line_dot(const SparseMatrix& rows, index_t line, const double* v) {
    double even = 0.0, odd = 0.0;
    index_t k = rows.begin(line);
    const index_t end = rows.end(line);
    for (; k + 2 <= end; k += 2) {
        even += rows.values[k] * v[rows.indices[k]];
        odd += rows.values[k + 1] * v[rows.indices[k + 1]];
    }
    if (k < end) even += rows.values[k] * v[rows.indices[k]];
    return even + odd;
}

}  // namespace

void sparse_product(const SparseMatrix& rows, Matrix<const double> v, Matrix<double> out, int threads) {
    const index_t outputs = v.cols;
    threads = worth(rows.cells() * outputs, threads);
    parallel_chunks(rows.lines, row_grain(rows, 1 << 16), threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            if (outputs == 1) {
                out.data[i] = line_dot(rows, i, v.data);
                continue;
            }
            double* const to = out.row(i);
            std::fill_n(to, outputs, 0.0);
            for (index_t k = rows.begin(i); k < rows.end(i); ++k) {
                const double value = rows.values[k];
                const double* const from = v.row(rows.indices[k]);
                for (index_t c = 0; c < outputs; ++c) to[c] += value * from[c];
            }
        }
    });
}

void sparse_transposed_product(const SparseMatrix& rows, Matrix<const double> v, Matrix<double> out, int threads) {
    const index_t outputs = v.cols, size = rows.places * outputs;
    const auto add = [&](index_t begin, index_t end, double* into) {
        for (index_t i = begin; i < end; ++i) {
            if (outputs == 1) {
                const double factor = v.data[i];
                if (factor == 0.0) continue;
                for (index_t k = rows.begin(i); k < rows.end(i); ++k) into[rows.indices[k]] += factor * rows.values[k];
                continue;
            }
            const double* const factors = v.row(i);
            for (index_t k = rows.begin(i); k < rows.end(i); ++k) {
                const double value = rows.values[k];
                double* const to = into + rows.indices[k] * outputs;
                for (index_t c = 0; c < outputs; ++c) to[c] += value * factors[c];
            }
        }
    };
    std::fill_n(out.data, size, 0.0);
    const index_t work = rows.cells() * outputs;
    threads = worth(work, threads);
    const index_t wanted = std::clamp<index_t>(work / std::max<index_t>(8 * size, 1 << 15), 1, most_chunks);
    const index_t grain = std::max<index_t>(1, (rows.lines + wanted - 1) / wanted);
    const index_t chunks = chunk_count(rows.lines, grain);
    if (chunks <= 1) {
        add(0, rows.lines, out.data);
        return;
    }
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(chunks));
    parallel_chunks(rows.lines, grain, threads, [&](index_t c, index_t begin, index_t end) {
        std::vector<double>& part = parts[static_cast<std::size_t>(c)];
        part.assign(static_cast<std::size_t>(size), 0.0);
        add(begin, end, part.data());
    });
    parallel_chunks(size, 1 << 14, threads, [&](index_t, index_t begin, index_t end) {
        for (const std::vector<double>& part : parts) {
            if (part.empty()) continue;  // interrupted: the result will not be used
            for (index_t j = begin; j < end; ++j) out.data[j] += part[static_cast<std::size_t>(j)];
        }
    });
}

void sparse_gram(const SparseMatrix& rows, const SparseMatrix& columns, Vector<const double> weights,
                 Matrix<double> out, int threads) {
    const index_t p = rows.places;
    threads = worth(p * p + rows.cells() * (rows.cells() / std::max<index_t>(rows.lines, 1)), threads);
    // Row j of the result: the rows that hold column j, from that column on, each times w x_j.
    parallel_chunks(p, 8, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; ++j) {
            double* const to = out.row(j);
            std::fill(to + j, to + p, 0.0);
            for (index_t c = columns.begin(j); c < columns.end(j); ++c) {
                const index_t i = columns.indices[c], last = rows.end(i);
                const double factor = columns.values[c] * (weights.empty() ? 1.0 : weights[i]);
                const auto* const first = rows.indices + rows.begin(i);
                index_t k = std::lower_bound(first, rows.indices + last, static_cast<std::int32_t>(j)) - rows.indices;
                for (; k < last; ++k) to[rows.indices[k]] += factor * rows.values[k];
            }
        }
    });
    constexpr index_t block = 64;
    parallel_chunks(p, block, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t first = 0; first < end; first += block)
            for (index_t i = begin; i < end; ++i)
                for (index_t j = first; j < std::min({first + block, end, i}); ++j) out(i, j) = out(j, i);
    });
}

double sparse_column_moments(const SparseMatrix& columns, Vector<const double> weights, Vector<double> mean,
                             Vector<double> variance, int threads) {
    double total = static_cast<double>(columns.places);
    if (!weights.empty()) {
        total = 0.0;
        for (index_t i = 0; i < columns.places; ++i) total += weights[i];
    }
    threads = worth(columns.cells(), threads);
    const auto weight = [&](index_t k) { return weights.empty() ? 1.0 : weights[columns.indices[k]]; };
    parallel_chunks(columns.lines, 64, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; ++j) {
            const index_t first = columns.begin(j), last = columns.end(j);
            if (first == last || !(total > 0.0)) {
                mean[j] = variance[j] = 0.0;
                continue;
            }
            // Measured from a stored cell, a constant column has variance 0 exactly.
            const double origin = last - first == columns.places ? columns.values[first] : 0.0;
            double sum = 0.0, stored = 0.0, squares = 0.0;
            for (index_t k = first; k < last; ++k) {
                sum += weight(k) * (columns.values[k] - origin);
                stored += weight(k);
            }
            const double offset = sum / total;
            for (index_t k = first; k < last; ++k) {
                const double gap = (columns.values[k] - origin) - offset;
                squares += weight(k) * gap * gap;
            }
            const double absent = last - first == columns.places ? 0.0 : std::max(0.0, total - stored);
            mean[j] = origin + offset;
            variance[j] = (squares + absent * offset * offset) / total;
        }
    });
    return total;
}

double sparse_row_moments(const SparseMatrix& rows, Vector<const double> weights, Vector<double> mean,
                          Vector<double> variance) {
    const auto p = static_cast<std::size_t>(rows.places);
    double total = static_cast<double>(rows.lines);
    if (!weights.empty()) {
        total = 0.0;
        for (index_t i = 0; i < rows.lines; ++i) total += weights[i];
    }
    std::vector<double> origin(p, 0.0), stored(p, 0.0), offset(p, 0.0), squares(p, 0.0);
    std::vector<index_t> counts(p, 0);
    const auto for_cells = [&](auto&& visit) {
        for (index_t i = 0; i < rows.lines; ++i) {
            const double weight = weights.empty() ? 1.0 : weights[i];
            for (index_t k = rows.begin(i); k < rows.end(i); ++k)
                visit(static_cast<std::size_t>(rows.indices[k]), rows.values[k], weight);
        }
    };
    for_cells([&](std::size_t j, double value, double weight) {
        if (counts[j]++ == 0) origin[j] = value;
        stored[j] += weight;
    });
    // Measured from a stored cell, a constant column has variance 0 exactly.
    for (std::size_t j = 0; j < p; ++j)
        if (counts[j] != rows.lines) origin[j] = 0.0;
    for_cells([&](std::size_t j, double value, double weight) { offset[j] += weight * (value - origin[j]); });
    for (double& sum : offset) sum = total > 0.0 ? sum / total : 0.0;
    for_cells([&](std::size_t j, double value, double weight) {
        const double gap = (value - origin[j]) - offset[j];
        squares[j] += weight * gap * gap;
    });
    for (std::size_t j = 0; j < p; ++j) {
        const auto at = static_cast<index_t>(j);
        const bool empty = counts[j] == 0 || !(total > 0.0);
        const double absent = counts[j] == rows.lines ? 0.0 : std::max(0.0, total - stored[j]);
        mean[at] = empty ? 0.0 : origin[j] + offset[j];
        variance[at] = empty ? 0.0 : (squares[j] + absent * offset[j] * offset[j]) / total;
    }
    return total;
}

}  // namespace assay
