#include "assay/statistics/gap_sums.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t row_block = 128;
constexpr index_t strip = 32;  // with its squares, eight registers of eight doubles

using Wide = double __attribute__((vector_size(64), may_alias, aligned(8)));

// sums and squares of one strip of a packed block (row_block x strip) over the listed rows.
ASSAY_INLINE void add_rows_body(const double* block, const std::uint8_t* rows, index_t count, index_t columns,
                                double* sums, double* squares) {
    Wide sum[4] = {}, square[4] = {};
    for (index_t r = 0; r < count; ++r) {
        const double* cells = block + rows[r] * strip;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const Wide x = *reinterpret_cast<const Wide*>(cells + 8 * k);
            sum[k] += x;
            square[k] += x * x;
        }
    }
    for (index_t c = 0; c < columns; ++c) {
        sums[c] += sum[c / 8][c % 8];
        squares[c] += square[c / 8][c % 8];
    }
}
ASSAY_DISPATCH(void, add_rows, add_rows_body,
               (const double* block, const std::uint8_t* rows, index_t count, index_t columns, double* sums,
                double* squares),
               (block, rows, count, columns, sums, squares))

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
    // A strip belongs to one thread, which adds the blocks of rows in order.
    parallel_chunks(strips, 1, threads, [&](index_t, index_t first, index_t) {
        const index_t begin = first * strip, columns = std::min(strip, p - begin);
        std::vector<double> block(static_cast<std::size_t>(row_block * strip), 0.0);
        std::uint8_t listed[row_block];
        for (index_t top = 0; top < n; top += row_block) {
            const index_t rows = std::min(row_block, n - top);
            for (index_t r = 0; r < rows; ++r)
                std::copy(z.row(top + r) + begin, z.row(top + r) + begin + columns, block.data() + r * strip);
            for (index_t j = 0; j < p; ++j) {
                index_t count = 0;
                for (index_t w = top / 64; w < std::min(words, (top + row_block) / 64); ++w)
                    for (std::uint64_t left = bits[static_cast<std::size_t>(j * words + w)]; left != 0; left &= left - 1)
                        listed[count++] = static_cast<std::uint8_t>(w * 64 - top + std::countr_zero(left));
                if (count > 0)
                    add_rows(block.data(), listed, count, columns, sums + j * p + begin, squares + j * p + begin);
            }
        }
    });
    parallel_chunks(p, 1, threads, [&](index_t j, index_t, index_t) {
        for (index_t i = 0; i < p; ++i)
            both_marked[j * p + i] += static_cast<double>(common_bits(&bits[static_cast<std::size_t>(i * words)],
                                                                     &bits[static_cast<std::size_t>(j * words)], words));
    });
}

}  // namespace assay
