#include "assay/linear/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/log_loss.hpp"
#include "assay/losses/softmax.hpp"
#include "tiles.hpp"

namespace assay {
namespace {

// What a chunk works on: packed copies of one tile, and the places where its sums go.
struct Scratch {
    index_t width, outputs_padded;
    std::vector<double> z, weighted, eta, residual, curvature, weight, sign, lanes;
    Scratch(index_t columns, index_t outputs)
        : width(padded(columns)),
          outputs_padded(padded(outputs)),
          z(static_cast<std::size_t>(tile_rows * width)),
          weighted(z.size()),
          eta(static_cast<std::size_t>(tile_rows * outputs_padded)),
          residual(eta.size()),
          curvature(tile_rows),
          weight(tile_rows),
          sign(tile_rows),
          lanes(static_cast<std::size_t>(outputs_padded * losses::softmax_rows)) {}
};

struct ChunkSums {
    double loss = 0.0, not_right = 0.0;
    std::vector<double> gradient;  // outputs_padded x width
    std::vector<double> blocks;    // one width x width block (lower part) per pair of classes
};

// Standardised rows begin..end of the problem as a tile_rows x width matrix; missing rows and columns are 0.
ASSAY_INLINE void pack(const LogisticProblem& problem, index_t begin, index_t end, Scratch& s) {
    const index_t p = problem.x.cols, width = s.width;
    const double* const centre = problem.centre.data;
    const double* const inverse_scale = problem.inverse_scale.data;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = problem.row(i);
        const double* const x = problem.x.row(row);
        double* const z = s.z.data() + (i - begin) * width;
        for (index_t j = 0; j < p; ++j) z[j] = (x[j] - centre[j]) * inverse_scale[j];
        if (problem.intercept) z[p] = 1.0;
        s.weight[static_cast<std::size_t>(i - begin)] = problem.weights.empty() ? 1.0 : problem.weights[row];
    }
    for (index_t t = end - begin; t < tile_rows; ++t) {
        std::fill_n(s.z.data() + t * width, width, 0.0);
        s.weight[static_cast<std::size_t>(t)] = 0.0;
    }
}

// Two classes: residuals w (p - y) and curvatures w p (1 - p) of a tile from eta, by the margin +-eta of the row's class.
ASSAY_INLINE void binary_tile(Scratch& s, ChunkSums& sums) {
    double loss[tile_rows], wrong[tile_rows];
    const double* const eta = s.eta.data();
    const double* const weight = s.weight.data();
    const double* const sign = s.sign.data();
    for (index_t t = 0; t < tile_rows; ++t) {
        const double margin = sign[t] * eta[t];
        const losses::LossTerms terms = losses::LogLoss::at(margin);
        loss[t] = weight[t] * terms.value;
        s.residual[static_cast<std::size_t>(t)] = sign[t] * weight[t] * terms.gradient;
        s.curvature[static_cast<std::size_t>(t)] = weight[t] * terms.hessian;
        wrong[t] = (margin > 0.0 || weight[t] == 0.0) ? 0.0 : 1.0;
    }
    sums.loss += sum_tile(loss);
    sums.not_right += sum_tile(wrong);
}

// Softmax: eta becomes the probabilities of each row, residual w (p_k - [y = k]).
ASSAY_INLINE void softmax_tile(const LogisticProblem& problem, index_t begin, index_t end, Scratch& s, ChunkSums& sums) {
    constexpr index_t rows = losses::softmax_rows;
    const index_t classes = problem.classes, stride = s.outputs_padded;
    alignas(64) double own[rows], loss[rows], missed[rows], other[rows];
    double* const lanes = s.lanes.data();
    for (index_t first = begin; first < end; first += rows) {
        const index_t count = std::min(rows, end - first), from = first - begin;
        const double* const weight = s.weight.data() + from;  // 0 after the last row
        for (index_t t = 0; t < rows; ++t) {
            own[t] = static_cast<double>(problem.codes[problem.row(first + std::min(t, count - 1))]);
            other[t] = -INFINITY;
            for (index_t k = 0; k < classes; ++k) lanes[k * rows + t] = s.eta[static_cast<std::size_t>((from + t) * stride + k)];
        }
        double right[rows] = {};
        for (index_t k = 0; k < classes; ++k)
            for (index_t t = 0; t < rows; ++t) {
                const bool here = own[t] == static_cast<double>(k);
                const double score = lanes[k * rows + t];
                right[t] = here ? score : right[t];
                other[t] = !here && score > other[t] ? score : other[t];
            }
        losses::softmax_of_rows(lanes, classes, own, loss, missed);
        double total = 0.0, wrong = 0.0;
        for (index_t t = 0; t < rows; ++t) {
            total += weight[t] * loss[t];
            wrong += right[t] > other[t] || weight[t] == 0.0 ? 0.0 : 1.0;
        }
        sums.loss += total;
        sums.not_right += wrong;
        for (index_t t = 0; t < count; ++t) {
            double* const eta = s.eta.data() + (from + t) * stride;
            double* const residual = s.residual.data() + (from + t) * stride;
            for (index_t k = 0; k < classes; ++k) eta[k] = lanes[k * rows + t];
            std::fill(eta + classes, eta + stride, 0.0);
            for (index_t k = 0; k < stride; ++k) residual[k] = weight[t] * eta[k];
            residual[static_cast<index_t>(own[t])] = -weight[t] * missed[t];
        }
    }
    const index_t cells = (end - begin) * stride;
    std::fill(s.eta.begin() + cells, s.eta.end(), 0.0);
    std::fill(s.residual.begin() + cells, s.residual.end(), 0.0);
}

struct PassArguments {
    const LogisticProblem& problem;
    const double* coefficients;  // two classes: width values; softmax: width x outputs_padded (transposed)
    bool with_hessian;
    Matrix<double> probabilities;
};

template <int W, int MR, int NV>
ASSAY_INLINE void pass_chunk_body(const PassArguments& with, index_t begin, index_t end, Scratch& s, ChunkSums& sums) {
    const LogisticProblem& problem = with.problem;
    const index_t width = s.width, stride = s.outputs_padded;
    for (index_t first = begin; first < end; first += tile_rows) {
        const index_t last = std::min(end, first + tile_rows);
        pack(problem, first, last, s);
        if (problem.classes == 2) {
            for (index_t t = 0; t < tile_rows; ++t)
                s.sign[static_cast<std::size_t>(t)] =
                    first + t < last && problem.codes[problem.row(first + t)] == 0 ? -1.0 : 1.0;
            dot_tile<W>(s.z.data(), width, with.coefficients, s.eta.data());
            binary_tile(s, sums);
            if (with.probabilities.data != nullptr)
                for (index_t i = first; i < last; ++i)
                    with.probabilities(i, 0) =
                        losses::LogLoss::probability(s.eta[static_cast<std::size_t>(i - first)]);
            multiply<W, 1, 4>(s.residual.data(), 1, 1, s.z.data(), width, sums.gradient.data(), width, 1, width,
                              tile_rows, false);
            if (with.with_hessian)
                add_sandwich<W, MR, NV>(s.z.data(), width, s.curvature.data(), s.weighted.data(), sums.blocks.data());
            continue;
        }
        std::fill(s.eta.begin(), s.eta.end(), 0.0);
        multiply<W, MR, NV>(s.z.data(), 1, width, with.coefficients, stride, s.eta.data(), stride, tile_rows, stride,
                            width, false);
        softmax_tile(problem, first, last, s, sums);
        if (with.probabilities.data != nullptr)
            for (index_t i = first; i < last; ++i)
                std::copy_n(s.eta.data() + (i - first) * stride, problem.classes, with.probabilities.row(i));
        multiply<W, MR, NV>(s.residual.data(), stride, 1, s.z.data(), width, sums.gradient.data(), width, stride, width,
                            tile_rows, false);
        if (!with.with_hessian) continue;
        double* block = sums.blocks.data();
        for (index_t k = 0; k < problem.classes; ++k)
            for (index_t l = k + 1; l < problem.classes; ++l, block += width * width) {
                for (index_t t = 0; t < tile_rows; ++t)
                    s.curvature[static_cast<std::size_t>(t)] = -s.weight[static_cast<std::size_t>(t)] *
                                                               s.eta[static_cast<std::size_t>(t * stride + k)] *
                                                               s.eta[static_cast<std::size_t>(t * stride + l)];
                add_sandwich<W, MR, NV>(s.z.data(), width, s.curvature.data(), s.weighted.data(), block);
            }
    }
}

// product += the Hessian of these rows times direction, from stored probabilities.
template <int W, int MR, int NV>
ASSAY_INLINE void product_chunk_body(const PassArguments& with, index_t begin, index_t end, Scratch& s,
                                     ChunkSums& sums) {
    const LogisticProblem& problem = with.problem;
    const index_t width = s.width, stride = s.outputs_padded, outputs = problem.outputs();
    for (index_t first = begin; first < end; first += tile_rows) {
        const index_t last = std::min(end, first + tile_rows);
        pack(problem, first, last, s);
        std::fill(s.residual.begin(), s.residual.end(), 0.0);
        if (outputs == 1) {
            dot_tile<W>(s.z.data(), width, with.coefficients, s.eta.data());
            for (index_t i = first; i < last; ++i) {
                const index_t t = i - first;
                const double p = with.probabilities(i, 0);
                s.residual[static_cast<std::size_t>(t)] =
                    s.weight[static_cast<std::size_t>(t)] * p * (1.0 - p) * s.eta[static_cast<std::size_t>(t)];
            }
            multiply<W, 1, 4>(s.residual.data(), 1, 1, s.z.data(), width, sums.gradient.data(), width, 1, width,
                              tile_rows, false);
            continue;
        }
        std::fill(s.eta.begin(), s.eta.end(), 0.0);
        multiply<W, MR, NV>(s.z.data(), 1, width, with.coefficients, stride, s.eta.data(), stride, tile_rows, stride,
                            width, false);
        for (index_t i = first; i < last; ++i) {
            const double* const p = with.probabilities.row(i);
            const double* const change = s.eta.data() + (i - first) * stride;
            double* const out = s.residual.data() + (i - first) * stride;
            double mean = 0.0;
            for (index_t k = 0; k < outputs; ++k) mean += p[k] * change[k];
            const double weight = s.weight[static_cast<std::size_t>(i - first)];
            for (index_t k = 0; k < outputs; ++k) out[k] = weight * p[k] * (change[k] - mean);
        }
        multiply<W, MR, NV>(s.residual.data(), stride, 1, s.z.data(), width, sums.gradient.data(), width, stride, width,
                            tile_rows, false);
    }
}

using ChunkFunction = void (*)(const PassArguments&, index_t, index_t, Scratch&, ChunkSums&);

ASSAY_DISPATCH_BLOCKED(pass_chunk, pass_chunk_body,
                       (const PassArguments& with, index_t begin, index_t end, Scratch& s, ChunkSums& sums),
                       (with, begin, end, s, sums))
ASSAY_DISPATCH_BLOCKED(product_chunk, product_chunk_body,
                       (const PassArguments& with, index_t begin, index_t end, Scratch& s, ChunkSums& sums),
                       (with, begin, end, s, sums))

struct RowArguments {
    const LogisticProblem& problem;
    Matrix<const double> eta;
    Matrix<double> residuals;
    Vector<double> curvatures;
    Matrix<double> probabilities;
};

ASSAY_INLINE void rows_chunk_body(const RowArguments& with, index_t begin, index_t end, Scratch& s, ChunkSums& sums) {
    const LogisticProblem& problem = with.problem;
    const index_t stride = s.outputs_padded, outputs = problem.outputs();
    for (index_t first = begin; first < end; first += tile_rows) {
        const index_t last = std::min(end, first + tile_rows);
        std::fill(s.eta.begin(), s.eta.end(), 0.0);
        for (index_t t = 0; t < tile_rows; ++t) {
            const bool inside = first + t < last;
            s.weight[static_cast<std::size_t>(t)] =
                !inside ? 0.0 : problem.weights.empty() ? 1.0 : problem.weights[first + t];
            s.sign[static_cast<std::size_t>(t)] = inside && problem.codes[first + t] == 0 ? -1.0 : 1.0;
        }
        if (outputs == 1) {
            for (index_t i = first; i < last; ++i) s.eta[static_cast<std::size_t>(i - first)] = with.eta(i, 0);
            binary_tile(s, sums);
            for (index_t i = first; i < last; ++i) {
                const auto t = static_cast<std::size_t>(i - first);
                with.residuals(i, 0) = s.residual[t];
                if (with.curvatures.data != nullptr) with.curvatures[i] = s.curvature[t];
                if (with.probabilities.data != nullptr)
                    with.probabilities(i, 0) = losses::LogLoss::probability(s.eta[t]);
            }
            continue;
        }
        for (index_t i = first; i < last; ++i)
            std::copy_n(with.eta.row(i), outputs, s.eta.data() + (i - first) * stride);
        softmax_tile(problem, first, last, s, sums);
        for (index_t i = first; i < last; ++i) {
            std::copy_n(s.residual.data() + (i - first) * stride, outputs, with.residuals.row(i));
            if (with.probabilities.data != nullptr)
                std::copy_n(s.eta.data() + (i - first) * stride, outputs, with.probabilities.row(i));
        }
    }
}
ASSAY_DISPATCH(void, rows_chunk, rows_chunk_body,
               (const RowArguments& with, index_t begin, index_t end, Scratch& s, ChunkSums& sums),
               (with, begin, end, s, sums))

// Coefficients in the layout of the tile products: padded, and transposed for softmax.
std::vector<double> padded_coefficients(const LogisticProblem& problem, Matrix<const double> coefficients,
                                        const Scratch& shape) {
    const index_t outputs = problem.outputs();
    const index_t step = outputs == 1 ? 1 : shape.outputs_padded;
    std::vector<double> out(static_cast<std::size_t>(shape.width * step), 0.0);
    for (index_t k = 0; k < outputs; ++k)
        for (index_t j = 0; j < problem.columns(); ++j) out[static_cast<std::size_t>(j * step + k)] = coefficients(k, j);
    return out;
}

// Runs the chunks and adds their sums up in order.
ChunkSums run_chunks(const PassArguments& with, ChunkFunction chunk, index_t block_count, int threads) {
    const LogisticProblem& problem = with.problem;
    const index_t n = problem.row_count(), outputs = problem.outputs();
    const index_t width = padded(problem.columns()), outputs_padded = outputs == 1 ? 1 : padded(outputs);
    const index_t block_cells = block_count * width * width, gradient_cells = outputs_padded * width;
    const index_t grain = chunk_grain(n, block_cells + gradient_cells);
    std::vector<ChunkSums> parts(static_cast<std::size_t>(chunk_count(n, grain)));
    const index_t operations = block_cells / 2 + 4 * gradient_cells + 64;
    parallel_chunks(n, grain, pass_threads(n, operations, threads), [&](index_t c, index_t begin, index_t end) {
        ChunkSums& sums = parts[static_cast<std::size_t>(c)];
        sums.gradient.assign(static_cast<std::size_t>(gradient_cells), 0.0);
        sums.blocks.assign(static_cast<std::size_t>(block_cells), 0.0);
        Scratch scratch(problem.columns(), outputs);
        chunk(with, begin, end, scratch, sums);
    });
    ChunkSums total;
    total.gradient.assign(static_cast<std::size_t>(gradient_cells), 0.0);
    total.blocks.assign(static_cast<std::size_t>(block_cells), 0.0);
    for (const ChunkSums& part : parts) {
        if (part.gradient.empty()) continue;  // interrupted: the result will not be used
        total.loss += part.loss;
        total.not_right += part.not_right;
        for (std::size_t i = 0; i < total.gradient.size(); ++i) total.gradient[i] += part.gradient[i];
        for (std::size_t i = 0; i < total.blocks.size(); ++i) total.blocks[i] += part.blocks[i];
    }
    return total;
}

// The full symmetric Hessian from the lower parts of its blocks.
void assemble_hessian(const LogisticProblem& problem, const std::vector<double>& blocks, Matrix<double> hessian) {
    const index_t m = problem.columns(), width = padded(m), classes = problem.classes;
    const auto lower = [&](index_t block, index_t i, index_t j) {
        return blocks[static_cast<std::size_t>((block * width + std::max(i, j)) * width + std::min(i, j))];
    };
    if (classes == 2) {
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < m; ++j) hessian(i, j) = lower(0, i, j);
        return;
    }
    for (index_t i = 0; i < classes * m; ++i) std::fill_n(hessian.row(i), classes * m, 0.0);
    index_t block = 0;
    for (index_t k = 0; k < classes; ++k)
        for (index_t l = k + 1; l < classes; ++l, ++block)
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < m; ++j) {
                    const double value = lower(block, i, j);
                    hessian(k * m + i, l * m + j) = value;
                    hessian(l * m + i, k * m + j) = value;
                    hessian(k * m + i, k * m + j) -= value;
                    hessian(l * m + i, l * m + j) -= value;
                }
}

// Mean less `origin`, and squared deviations, of one chunk: two sweeps over rows that are still in cache. Measured from
// a row of the data, a constant column has variance 0 exactly.
ASSAY_INLINE void moments_chunk_body(const LogisticProblem& problem, const double* origin, index_t begin, index_t end,
                                     double* weight_sum, double* mean, double* deviation) {
    const index_t p = problem.x.cols;
    double total = 0.0;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = problem.row(i);
        const double* const x = problem.x.row(row);
        const double weight = problem.weights.empty() ? 1.0 : problem.weights[row];
        total += weight;
        for (index_t j = 0; j < p; ++j) mean[j] += weight * (x[j] - origin[j]);
    }
    const double scale = total > 0.0 ? 1.0 / total : 0.0;
    for (index_t j = 0; j < p; ++j) mean[j] *= scale;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = problem.row(i);
        const double* const x = problem.x.row(row);
        const double weight = problem.weights.empty() ? 1.0 : problem.weights[row];
        for (index_t j = 0; j < p; ++j) {
            const double gap = (x[j] - origin[j]) - mean[j];
            deviation[j] += weight * gap * gap;
        }
    }
    *weight_sum = total;
}
ASSAY_DISPATCH(void, moments_chunk, moments_chunk_body,
               (const LogisticProblem& problem, const double* origin, index_t begin, index_t end, double* weight_sum,
                double* mean, double* deviation),
               (problem, origin, begin, end, weight_sum, mean, deviation))

double weight_of(const LogisticProblem& problem, index_t i) {
    return problem.weights.empty() ? 1.0 : problem.weights[i];
}

// Blocks of pairs of classes, one X'WX each; those of a row add up to zero, which gives the diagonal ones.
void sparse_softmax_hessian(const LogisticProblem& problem, Matrix<const double> probabilities, Matrix<double> hessian,
                            int threads) {
    const index_t classes = problem.classes, m = problem.columns(), n = probabilities.rows;
    const SparseColumns z = problem.sparse_columns();
    std::vector<double> weights(static_cast<std::size_t>(n)), block(static_cast<std::size_t>(m * m));
    for (index_t i = 0; i < classes * m; ++i) std::fill_n(hessian.row(i), classes * m, 0.0);
    for (index_t k = 0; k < classes; ++k)
        for (index_t l = k + 1; l < classes; ++l) {
            for (index_t i = 0; i < n; ++i)
                weights[static_cast<std::size_t>(i)] = -weight_of(problem, i) * probabilities(i, k) * probabilities(i, l);
            z.gram({weights.data(), n}, c_matrix(block.data(), m, m), threads);
            for (index_t a = 0; a < m; ++a)
                for (index_t b = 0; b < m; ++b) {
                    const double value = block[static_cast<std::size_t>(a * m + b)];
                    hessian(k * m + a, l * m + b) = hessian(l * m + a, k * m + b) = value;
                    hessian(k * m + a, k * m + b) -= value;
                    hessian(l * m + a, l * m + b) -= value;
                }
        }
}

LogisticSums sparse_pass(const LogisticProblem& problem, Matrix<const double> coefficients, Matrix<double> gradient,
                         Matrix<double> hessian, Matrix<double> probabilities, int threads) {
    const index_t n = problem.row_count(), outputs = problem.outputs();
    const bool with_hessian = hessian.data != nullptr, binary = outputs == 1;
    const SparseColumns z = problem.sparse_columns();
    const auto cells = static_cast<std::size_t>(n * outputs);
    const bool own_probabilities = with_hessian && !binary && probabilities.data == nullptr;
    std::vector<double> eta(cells), residuals(cells), curvatures(with_hessian && binary ? cells : 0),
        kept(own_probabilities ? cells : 0);
    if (own_probabilities) probabilities = c_matrix(kept.data(), n, outputs);
    z.product(coefficients, c_matrix(eta.data(), n, outputs), threads);
    const LogisticSums sums =
        logistic_rows(c_matrix<const double>(eta.data(), n, outputs), problem.codes, problem.weights, problem.classes,
                      c_matrix(residuals.data(), n, outputs),
                      {curvatures.empty() ? nullptr : curvatures.data(), static_cast<index_t>(curvatures.size())},
                      probabilities, threads);
    z.transposed_product(c_matrix<const double>(residuals.data(), n, outputs), gradient, threads);
    if (with_hessian && binary) z.gram({curvatures.data(), n}, hessian, threads);
    if (with_hessian && !binary)
        sparse_softmax_hessian(problem, {probabilities.data, n, outputs, probabilities.row_stride, 1}, hessian, threads);
    return sums;
}

void sparse_hessian_product(const LogisticProblem& problem, Matrix<const double> probabilities,
                            Matrix<const double> direction, Matrix<double> product, int threads) {
    const index_t n = problem.row_count(), outputs = problem.outputs();
    const SparseColumns z = problem.sparse_columns();
    std::vector<double> change(static_cast<std::size_t>(n * outputs));
    z.product(direction, c_matrix(change.data(), n, outputs), threads);
    for (index_t i = 0; i < n; ++i) {
        const double* const p = probabilities.row(i);
        double* const to = change.data() + i * outputs;
        double mean = 0.0;  // one output: p (change - p change) = p (1 - p) change
        for (index_t k = 0; k < outputs; ++k) mean += p[k] * to[k];
        for (index_t k = 0; k < outputs; ++k) to[k] = weight_of(problem, i) * p[k] * (to[k] - mean);
    }
    z.transposed_product(c_matrix<const double>(change.data(), n, outputs), product, threads);
}

}  // namespace

LogisticSums logistic_pass(const LogisticProblem& problem, Matrix<const double> coefficients, Matrix<double> gradient,
                           Matrix<double> hessian, Matrix<double> probabilities, int threads) {
    if (problem.sparse()) return sparse_pass(problem, coefficients, gradient, hessian, probabilities, threads);
    const index_t outputs = problem.outputs(), m = problem.columns();
    const bool with_hessian = hessian.data != nullptr;
    const index_t pairs = outputs == 1 ? 1 : outputs * (outputs - 1) / 2;
    const std::vector<double> packed = padded_coefficients(problem, coefficients, Scratch(m, outputs));
    const PassArguments with{problem, packed.data(), with_hessian, probabilities};
    const ChunkSums sums = run_chunks(with, pass_chunk, with_hessian ? pairs : 0, threads);
    for (index_t k = 0; k < outputs; ++k) std::copy_n(sums.gradient.data() + k * padded(m), m, gradient.row(k));
    if (with_hessian) assemble_hessian(problem, sums.blocks, hessian);
    return {sums.loss, sums.not_right};
}

void logistic_hessian_product(const LogisticProblem& problem, Matrix<const double> probabilities,
                              Matrix<const double> direction, Matrix<double> product, int threads) {
    if (problem.sparse()) return sparse_hessian_product(problem, probabilities, direction, product, threads);
    const index_t outputs = problem.outputs(), m = problem.columns();
    const std::vector<double> packed = padded_coefficients(problem, direction, Scratch(m, outputs));
    const Matrix<double> stored{const_cast<double*>(probabilities.data), probabilities.rows, probabilities.cols,
                                probabilities.row_stride, probabilities.col_stride};
    const PassArguments with{problem, packed.data(), false, stored};
    const ChunkSums sums = run_chunks(with, product_chunk, 0, threads);
    for (index_t k = 0; k < outputs; ++k) std::copy_n(sums.gradient.data() + k * padded(m), m, product.row(k));
}

LogisticSums logistic_rows(Matrix<const double> eta, Vector<const std::int32_t> codes, Vector<const double> weights,
                           index_t classes, Matrix<double> residuals, Vector<double> curvatures,
                           Matrix<double> probabilities, int threads) {
    LogisticProblem problem;
    problem.x = {nullptr, eta.rows, 0, 0, 1};
    problem.codes = codes;
    problem.weights = weights;
    problem.intercept = false;
    problem.classes = classes;
    const RowArguments with{problem, eta, residuals, curvatures, probabilities};
    constexpr index_t grain = 4096;
    std::vector<ChunkSums> parts(static_cast<std::size_t>(chunk_count(eta.rows, grain)));
    parallel_chunks(eta.rows, grain, threads, [&](index_t c, index_t begin, index_t end) {
        Scratch scratch(0, problem.outputs());
        rows_chunk(with, begin, end, scratch, parts[static_cast<std::size_t>(c)]);
    });
    LogisticSums total;
    for (const ChunkSums& part : parts) {
        total.loss += part.loss;
        total.not_right += part.not_right;
    }
    return total;
}

double column_moments(const LogisticProblem& problem, Vector<double> mean, Vector<double> variance, int threads) {
    const index_t n = problem.row_count(), p = problem.x.cols, grain = 1024;
    const auto chunks = static_cast<std::size_t>(chunk_count(n, grain)), columns = static_cast<std::size_t>(p);
    std::vector<double> weights(chunks, 0.0), means(chunks * columns, 0.0), deviations(chunks * columns, 0.0);
    const double* const origin = n > 0 ? problem.x.row(problem.row(0)) : nullptr;
    parallel_chunks(n, grain, pass_threads(n, 4 * p, threads), [&](index_t c, index_t begin, index_t end) {
        const auto at = static_cast<std::size_t>(c) * columns;
        moments_chunk(problem, origin, begin, end, &weights[static_cast<std::size_t>(c)], means.data() + at,
                      deviations.data() + at);
    });
    double total = 0.0;
    std::fill_n(mean.data, p, 0.0);
    std::fill_n(variance.data, p, 0.0);
    for (std::size_t c = 0; c < chunks; ++c) {
        if (weights[c] <= 0.0) continue;
        const double after = total + weights[c], share = weights[c] / after;
        for (index_t j = 0; j < p; ++j) {
            const double gap = means[c * columns + static_cast<std::size_t>(j)] - mean[j];
            variance[j] += deviations[c * columns + static_cast<std::size_t>(j)] + gap * gap * total * share;
            mean[j] += gap * share;
        }
        total = after;
    }
    for (index_t j = 0; j < p && total > 0.0; ++j) {
        mean[j] += origin[j];
        variance[j] /= total;
    }
    return total;
}

}  // namespace assay
