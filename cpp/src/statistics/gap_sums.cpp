#include "assay/statistics/gap_sums.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "assay/common/lanes.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t row_block = 128;
constexpr index_t strip = 32;  // with its squares, eight registers of eight doubles

// sums[0 .. strip) and squares after them, of a packed block (row_block x strip) over the listed rows.
template <int W>
ASSAY_INLINE void add_rows_body(const double* block, const std::uint8_t* rows, index_t count, double* sums) {
    constexpr int together = W == 8 ? 4 : 1;  // eights of columns that the registers hold with their squares
    for (index_t first = 0; first < strip; first += 8 * together) {
        Eight<W> sum[together], square[together];
#pragma GCC unroll 4
        for (int k = 0; k < together; ++k) {
            sum[k] = Eight<W>::load(sums + first + 8 * k);
            square[k] = Eight<W>::load(sums + strip + first + 8 * k);
        }
        for (index_t r = 0; r < count; ++r) {
            const double* cells = block + rows[r] * strip + first;
#pragma GCC unroll 4
            for (int k = 0; k < together; ++k) {
                const auto x = Eight<W>::load(cells + 8 * k);
                sum[k] += x;
                square[k] += x * x;
            }
        }
#pragma GCC unroll 4
        for (int k = 0; k < together; ++k) {
            sum[k].store(sums + first + 8 * k);
            square[k].store(sums + strip + first + 8 * k);
        }
    }
}
ASSAY_DISPATCH_DOUBLES(void, add_rows, add_rows_body,
                       (const double* block, const std::uint8_t* rows, index_t count, double* sums),
                       (block, rows, count, sums))

ASSAY_INLINE std::int64_t common_body(const std::uint64_t* a, const std::uint64_t* b, index_t words) {
    std::int64_t count = 0;
    for (index_t w = 0; w < words; ++w) count += std::popcount(a[w] & b[w]);
    return count;
}
ASSAY_DISPATCH(std::int64_t, common_bits, common_body, (const std::uint64_t* a, const std::uint64_t* b, index_t words),
               (a, b, words))

}  // namespace

void gap_sums(Matrix<const double> z, Matrix<const std::uint8_t> marks, double* sums, double* squares,
              double* both_marked, int threads) {
    const index_t n = z.rows, p = z.cols, words = (n + 63) / 64, strips = chunk_count(p, strip);
    std::vector<std::uint64_t> bits(static_cast<std::size_t>(p * words), 0);
    parallel_chunks(words, 16, threads, [&](index_t, index_t first, index_t last) {
        for (index_t r = first * 64; r < std::min(n, last * 64); ++r)
            for (index_t j = 0; j < p; ++j)
                bits[static_cast<std::size_t>(j * words + r / 64)] |= std::uint64_t{marks.row(r)[j] != 0} << (r % 64);
    });
    // The marked rows of each block, column by column, listed once for all strips.
    const index_t blocks = chunk_count(n, row_block);
    std::vector<std::size_t> begins(static_cast<std::size_t>(blocks * p) + 1, 0);
    std::vector<std::uint8_t> listed;
    for (index_t b = 0; b < blocks; ++b) {
        for (index_t j = 0; j < p; ++j) {
            for (index_t w = b * row_block / 64; w < std::min(words, (b + 1) * row_block / 64); ++w)
                for (std::uint64_t left = bits[static_cast<std::size_t>(j * words + w)]; left != 0; left &= left - 1)
                    listed.push_back(static_cast<std::uint8_t>(w * 64 - b * row_block + std::countr_zero(left)));
            begins[static_cast<std::size_t>(b * p + j) + 1] = listed.size();
        }
    }
    // A strip belongs to one thread, which adds the blocks of rows in order.
    parallel_chunks(strips, 1, threads, [&](index_t, index_t first, index_t) {
        const index_t begin = first * strip, columns = std::min(strip, p - begin);
        std::vector<double> block(static_cast<std::size_t>(row_block * strip), 0.0);
        std::vector<double> own(static_cast<std::size_t>(2 * strip * p), 0.0);
        for (index_t b = 0; b < blocks; ++b) {
            const index_t top = b * row_block;
            for (index_t r = 0; r < std::min(row_block, n - top); ++r)
                std::copy(z.row(top + r) + begin, z.row(top + r) + begin + columns, block.data() + r * strip);
            for (index_t j = 0; j < p; ++j) {
                const std::size_t from = begins[static_cast<std::size_t>(b * p + j)];
                const auto count = static_cast<index_t>(begins[static_cast<std::size_t>(b * p + j) + 1] - from);
                if (count > 0) add_rows(block.data(), listed.data() + from, count, own.data() + j * 2 * strip);
            }
        }
        for (index_t j = 0; j < p; ++j) {
            for (index_t c = 0; c < columns; ++c) {
                sums[j * p + begin + c] += own[static_cast<std::size_t>(j * 2 * strip + c)];
                squares[j * p + begin + c] += own[static_cast<std::size_t>(j * 2 * strip + strip + c)];
            }
        }
    });
    parallel_chunks(p, 1, threads, [&](index_t j, index_t, index_t) {
        for (index_t i = 0; i <= j; ++i) {
            const auto count = static_cast<double>(common_bits(&bits[static_cast<std::size_t>(i * words)],
                                                               &bits[static_cast<std::size_t>(j * words)], words));
            both_marked[j * p + i] += count;
            if (i != j) both_marked[i * p + j] += count;
        }
    });
}

}  // namespace assay
