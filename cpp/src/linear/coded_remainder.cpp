#include "assay/linear/coded_remainder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/log_loss.hpp"
#include "tiles.hpp"

namespace assay {
namespace {

constexpr index_t grain = 64 * tile_rows;
constexpr double most_code = 32767.0;
constexpr double whole = 6755399441055744.0;  // 1.5 * 2^52: added to a small number, its last bits are the nearest integer

// u of the rows first .. first + tile_rows - 1: four of them from one call.
void dither(std::uint64_t key, std::uint64_t first, double* u) {
    std::array<std::uint32_t, 4> bits{};
    for (index_t t = 0; t < tile_rows; ++t) {
        const std::uint64_t row = first + static_cast<std::uint64_t>(t);
        if (t == 0 || row % 4 == 0) bits = philox(key, row / 4, 0);
        u[t] = (static_cast<double>(bits[row % 4]) + 0.5) * 0x1p-32 - 0.5;
    }
}

struct CodeArguments {
    Matrix<const double> x;
    const double *centre, *per_unit;
    std::uint64_t key, first;
    Matrix<std::int16_t> codes;
};

ASSAY_INLINE double code_chunk_body(const CodeArguments& with, index_t begin, index_t end) {
    const index_t p = with.x.cols;
    const double *const centre = with.centre, *const per_unit = with.per_unit;
    double odd = 0.0, u[tile_rows];
    for (index_t first = begin; first < end; first += tile_rows) {
        dither(with.key, with.first + static_cast<std::uint64_t>(first), u);
        for (index_t i = first; i < std::min(end, first + tile_rows); ++i) {
            const double* const x = with.x.row(i);
            std::int16_t* const to = with.codes.row(i);
            const double moved = u[i - first];
            for (index_t j = 0; j < p; ++j) {
                const double place = (x[j] - centre[j]) * per_unit[j] + moved;
                odd += std::abs(place) <= most_code ? 0.0 : 1.0;
                to[j] = static_cast<std::int16_t>(std::bit_cast<std::int64_t>(place + whole));
            }
        }
    }
    return odd;
}
ASSAY_DISPATCH(double, code_chunk, code_chunk_body, (const CodeArguments& with, index_t begin, index_t end), (with, begin, end))

struct RemainderArguments {
    const CodedRows& rows;
    const double *at, *step;  // padded
    double moved, shifted;    // D, E
};

struct ChunkSums {
    RemainderSums sums;
    std::vector<double> gradient, spread;
};

template <int W, int MR, int NV>
ASSAY_INLINE void remainder_chunk_body(const RemainderArguments& with, index_t begin, index_t end, ChunkSums& out) {
    const CodedRows& rows = with.rows;
    const index_t p = rows.codes.cols, width = padded(rows.columns());
    const double* const unit = rows.unit.data;
    std::vector<double> z(static_cast<std::size_t>(tile_rows * width), 0.0), squares(z.size(), 0.0);
    double u[tile_rows], weight[tile_rows], eta[tile_rows], delta[tile_rows], rho[tile_rows], value[tile_rows],
        slack[tile_rows], slack_square[tile_rows], whole_square[tile_rows];
    for (index_t first = begin; first < end; first += tile_rows) {
        const index_t count = std::min(end - first, tile_rows);
        dither(rows.key, rows.first + static_cast<std::uint64_t>(first), u);
        for (index_t t = 0; t < tile_rows; ++t) {
            double *const to = z.data() + t * width, *const square = squares.data() + t * width;
            if (t >= count) {
                std::fill_n(to, width, 0.0);
                std::fill_n(square, width, 0.0);
                weight[t] = 0.0;
                continue;
            }
            const std::int16_t* const code = rows.codes.row(first + t);
            const double moved = u[t];
            for (index_t j = 0; j < p; ++j) {
                const double cell = (static_cast<double>(code[j]) - moved) * unit[j];
                to[j] = cell;
                square[j] = cell * cell;
            }
            if (rows.intercept) to[p] = square[p] = 1.0;
            weight[t] = rows.weights.empty() ? 1.0 : rows.weights[first + t];
        }
        dot_tile<W>(z.data(), width, with.at, eta);
        dot_tile<W>(z.data(), width, with.step, delta);
        for (index_t t = 0; t < tile_rows; ++t) {
            const losses::LossTerms here = losses::LogLoss::at(-eta[t]), there = losses::LogLoss::at(-eta[t] - delta[t]);
            const double gone = std::abs(delta[t]) + with.moved;
            rho[t] = weight[t] * (here.gradient - there.gradient - here.hessian * delta[t]);
            value[t] = weight[t] * (there.value - here.value + delta[t] * (here.gradient - 0.5 * here.hessian * delta[t]));
            slack[t] = weight[t] * gone * (0.0963 * with.moved + 0.0625 * gone * with.shifted);
            slack_square[t] = slack[t] * slack[t];
            const double both = slack[t] + 0.0482 * weight[t] * gone * gone;
            whole_square[t] = both * both;
        }
        out.sums.value += sum_tile(value);
        out.sums.slack += sum_tile(slack);
        out.sums.slack_square += sum_tile(whole_square);
        multiply<W, 1, 4>(rho, 1, 1, z.data(), width, out.gradient.data(), width, 1, width, tile_rows, false);
        multiply<W, 1, 4>(slack_square, 1, 1, squares.data(), width, out.spread.data(), width, 1, width, tile_rows, false);
    }
}
ASSAY_DISPATCH_BLOCKED(remainder_chunk, remainder_chunk_body,
                       (const RemainderArguments& with, index_t begin, index_t end, ChunkSums& out), (with, begin, end, out))

}  // namespace

bool code_rows(Matrix<const double> x, Vector<const double> centre, Vector<const double> per_unit, std::uint64_t key,
               std::uint64_t first, Matrix<std::int16_t> codes, int threads) {
    const CodeArguments with{x, centre.data, per_unit.data, key, first, codes};
    std::vector<double> odd(static_cast<std::size_t>(chunk_count(x.rows, grain)), 0.0);
    parallel_chunks(x.rows, grain, pass_threads(x.rows, 4 * x.cols, threads), [&](index_t c, index_t begin, index_t end) {
        odd[static_cast<std::size_t>(c)] = code_chunk(with, begin, end);
    });
    return std::all_of(odd.begin(), odd.end(), [](double count) { return count == 0.0; });
}

RemainderSums coded_remainder(const CodedRows& rows, Vector<const double> at, Vector<const double> step, Vector<double> gradient,
                              Vector<double> spread, int threads) {
    const index_t m = rows.columns(), width = padded(m), n = rows.codes.rows;
    std::vector<double> from(static_cast<std::size_t>(width), 0.0), way(from.size(), 0.0);
    std::copy_n(at.data, m, from.data());
    std::copy_n(step.data, m, way.data());
    RemainderArguments with{rows, from.data(), way.data(), 0.0, 0.0};
    for (index_t j = 0; j < rows.codes.cols; ++j) {
        with.moved += 0.5 * rows.unit[j] * std::abs(step[j]);
        with.shifted += 0.5 * rows.unit[j] * std::abs(at[j]);
    }
    std::vector<ChunkSums> parts(static_cast<std::size_t>(chunk_count(n, grain)));
    parallel_chunks(n, grain, pass_threads(n, 8 * width + 128, threads), [&](index_t c, index_t begin, index_t end) {
        ChunkSums& out = parts[static_cast<std::size_t>(c)];
        out.gradient.assign(static_cast<std::size_t>(width), 0.0);
        out.spread.assign(static_cast<std::size_t>(width), 0.0);
        remainder_chunk(with, begin, end, out);
    });
    RemainderSums total;
    std::fill_n(gradient.data, m, 0.0);
    std::fill_n(spread.data, m, 0.0);
    for (const ChunkSums& part : parts) {
        if (part.gradient.empty()) continue;  // interrupted: the result will not be used
        total.value += part.sums.value;
        total.slack += part.sums.slack;
        total.slack_square += part.sums.slack_square;
        for (index_t j = 0; j < m; ++j) {
            gradient[j] += part.gradient[static_cast<std::size_t>(j)];
            spread[j] += part.spread[static_cast<std::size_t>(j)];
        }
    }
    return total;
}

}  // namespace assay
