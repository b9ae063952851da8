// Small nodes as sets of rows: the rows of a node of at most 64 have a bit each, their codes in a column are one vector of bytes, and a
// node below is a word of bits. Extremes, tests and sums then take a few instructions, however many rows the node has.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "assay/common/simd.hpp"
#include "assay/trees/packed_sums.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace assay::ensembles {
namespace {

using RowSet = std::uint64_t;
constexpr index_t set_rows = 64;
inline RowSet first_rows(index_t m) { return m >= set_rows ? ~RowSet{0} : (RowSet{1} << m) - 1; }

constexpr index_t columns_together = 8;

// Some columns of the 64 rows, and one code of each.
struct SetColumns {
    const std::uint8_t* codes[columns_together];
    std::uint8_t low[columns_together], high[columns_together];  // the extreme codes of a set
    std::uint8_t limit[columns_together];
};

// What is asked of a set; codes and words are those of 64 rows, of which the ones in no set may hold anything.
struct SetTools {
    // OUT low, high of the first `count` columns.
    void (*extremes)(SetColumns& columns, index_t count, RowSet set);
    // OUT left: the sums of the words whose code is at most the limit.
    void (*sums)(const SetColumns& columns, index_t count, RowSet set, const trees::Word* words, trees::Word* left);
    RowSet (*at_most)(const std::uint8_t* codes, std::uint8_t limit, RowSet set);
    trees::Word (*sum)(const trees::Word* words, RowSet set);
};

inline void extremes_plain(SetColumns& columns, index_t count, RowSet set) {
    for (index_t c = 0; c < count; ++c) {
        const std::uint8_t* codes = columns.codes[c];
        std::uint8_t low = 255, high = 0;
        for (RowSet rest = set; rest != 0; rest &= rest - 1) {
            const std::uint8_t code = codes[std::countr_zero(rest)];
            low = std::min(low, code);
            high = std::max(high, code);
        }
        columns.low[c] = low;
        columns.high[c] = high;
    }
}
inline RowSet at_most_plain(const std::uint8_t* codes, std::uint8_t limit, RowSet set) {
    RowSet found = 0;
    for (RowSet rest = set; rest != 0; rest &= rest - 1) found |= codes[std::countr_zero(rest)] <= limit ? rest & (0 - rest) : 0;
    return found;
}
inline trees::Word sum_plain(const trees::Word* words, RowSet set) {
    trees::Word total = 0;
    for (; set != 0; set &= set - 1) total += words[std::countr_zero(set)];
    return total;
}
inline void sums_plain(const SetColumns& columns, index_t count, RowSet set, const trees::Word* words, trees::Word* left) {
    for (index_t c = 0; c < count; ++c) left[c] = sum_plain(words, at_most_plain(columns.codes[c], columns.limit[c], set));
}

#if defined(__x86_64__) && defined(__GNUC__)
#define ASSAY_V4 __attribute__((target("arch=x86-64-v4")))
#define ASSAY_V3 __attribute__((target("arch=x86-64-v3")))

// The least of 16 bytes: pairs first, then the instruction for the least of eight 16-bit numbers.
ASSAY_V3 inline std::uint8_t least_byte(__m128i v) {
    return static_cast<std::uint8_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_min_epu8(v, _mm_srli_epi16(v, 8)))));
}
ASSAY_V3 inline std::uint8_t least_byte(__m256i v) {
    return least_byte(_mm_min_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

// (With masks of ones: without, GCC 12 takes what the instruction overwrites for a variable that is read.)
ASSAY_V4 inline __m256i lower_half(__m512i v) { return _mm512_maskz_extracti64x4_epi64(0xF, v, 0); }
ASSAY_V4 inline __m256i upper_half(__m512i v) { return _mm512_maskz_extracti64x4_epi64(0xF, v, 1); }
ASSAY_V4 inline trees::Word sum_of_lanes(__m512i v) {
    const __m256i half = _mm256_add_epi64(lower_half(v), upper_half(v));
    const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return static_cast<trees::Word>(_mm_cvtsi128_si64(pair)) + static_cast<trees::Word>(_mm_extract_epi64(pair, 1));
}

ASSAY_V4 inline void extremes_avx512(SetColumns& columns, index_t count, RowSet set) {
    const __m512i all = _mm512_set1_epi8(-1);
    for (index_t c = 0; c < count; ++c) {
        const __m512i codes = _mm512_loadu_si512(columns.codes[c]);
        const __m512i own = _mm512_mask_mov_epi8(all, set, codes);
        const __m512i other = _mm512_mask_mov_epi8(all, set, _mm512_xor_si512(codes, all));  // the largest is the least of the complements
        columns.low[c] = least_byte(_mm256_min_epu8(lower_half(own), upper_half(own)));
        columns.high[c] = static_cast<std::uint8_t>(
            ~least_byte(_mm256_min_epu8(lower_half(other), upper_half(other))));
    }
}
ASSAY_V4 inline RowSet at_most_avx512(const std::uint8_t* codes, std::uint8_t limit, RowSet set) {
    return _mm512_mask_cmple_epu8_mask(set, _mm512_loadu_si512(codes), _mm512_set1_epi8(static_cast<char>(limit)));
}
ASSAY_V4 inline trees::Word sum_avx512(const trees::Word* words, RowSet set) {
    __m512i even = _mm512_setzero_si512(), odd = even;
    for (int g = 0; g < 8; g += 2) {
        even = _mm512_mask_add_epi64(even, static_cast<__mmask8>(set >> (8 * g)), even, _mm512_loadu_si512(words + 8 * g));
        odd = _mm512_mask_add_epi64(odd, static_cast<__mmask8>(set >> (8 * g + 8)), odd, _mm512_loadu_si512(words + 8 * g + 8));
    }
    return sum_of_lanes(_mm512_add_epi64(even, odd));
}
ASSAY_V4 inline void sums_avx512(const SetColumns& columns, index_t count, RowSet set, const trees::Word* words, trees::Word* left) {
    for (index_t c = 0; c < count; ++c) left[c] = sum_avx512(words, at_most_avx512(columns.codes[c], columns.limit[c], set));
}

// Bytes of ones where a bit is set.
ASSAY_V3 inline __m256i spread(std::uint32_t bits) {
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)),
                                              _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    const __m256i own = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, own), own);
}
ASSAY_V3 inline __m256i bytes_of(const std::uint8_t* codes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)); }
ASSAY_V3 inline void extremes_avx2(SetColumns& columns, index_t count, RowSet set) {
    const __m256i all = _mm256_set1_epi8(-1);
    const __m256i out_first = _mm256_xor_si256(spread(static_cast<std::uint32_t>(set)), all);
    const __m256i out_second = _mm256_xor_si256(spread(static_cast<std::uint32_t>(set >> 32)), all);
    for (index_t c = 0; c < count; ++c) {
        const __m256i a = bytes_of(columns.codes[c]), b = bytes_of(columns.codes[c] + 32);
        columns.low[c] = least_byte(_mm256_min_epu8(_mm256_or_si256(a, out_first), _mm256_or_si256(b, out_second)));
        const __m256i other = _mm256_min_epu8(_mm256_or_si256(_mm256_xor_si256(a, all), out_first), _mm256_or_si256(_mm256_xor_si256(b, all), out_second));
        columns.high[c] = static_cast<std::uint8_t>(~least_byte(other));
    }
}
ASSAY_V3 inline RowSet at_most_avx2(const std::uint8_t* codes, std::uint8_t limit, RowSet set) {
    const __m256i bound = _mm256_set1_epi8(static_cast<char>(limit));
    RowSet found = 0;
    for (int half = 0; half < 2; ++half) {
        const __m256i own = bytes_of(codes + 32 * half);
        const auto below = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(own, bound), own)));
        found |= static_cast<RowSet>(below) << (32 * half);
    }
    return found & set;
}
ASSAY_V3 inline void sums_avx2(const SetColumns& columns, index_t count, RowSet set, const trees::Word* words, trees::Word* left) {
    for (index_t c = 0; c < count; ++c) left[c] = sum_plain(words, at_most_avx2(columns.codes[c], columns.limit[c], set));
}
// How many of m rows (a multiple of 64) go left, those of codes at most `bin` and of code `other`: they stay in front in their order, the
// others go to `right_rows` and `right_words`, which have room for 16 more. Adds the words of the left to `sum`; OUT next: the least code
// of the others, or 255. Without words, rows alone.
template <bool with_words>
ASSAY_V4 inline index_t divide_avx512(const std::uint8_t* code, std::int32_t* rows, trees::Word* words, index_t m, std::uint8_t bin, index_t other,
                                      std::int32_t* right_rows, trees::Word* right_words, trees::Word& sum, index_t& next) {
    const __m512i all = _mm512_set1_epi8(-1), bound = _mm512_set1_epi8(static_cast<char>(bin));
    const __m512i missing = _mm512_set1_epi8(static_cast<char>(other));
    __m512i least = all, total = _mm512_setzero_si512();
    index_t left = 0, right = 0;
    alignas(64) std::uint8_t own[64];
    for (index_t i = 0; i < m; i += 64) {
        for (index_t k = 0; k < 64; ++k) own[k] = code[rows[i + k]];
        const __m512i codes = _mm512_load_si512(own);
        const RowSet goes = _mm512_cmple_epu8_mask(codes, bound) | (other >= 0 ? _mm512_cmpeq_epu8_mask(codes, missing) : 0);
        least = _mm512_min_epu8(least, _mm512_mask_mov_epi8(codes, goes, all));
        index_t left_words = left, right_place = right;
        for (index_t k = 0; k < 64; k += 16) {
            const auto mask = static_cast<__mmask16>(goes >> k), rest = static_cast<__mmask16>(~mask);
            const __m512i group = _mm512_loadu_si512(rows + i + k);
            _mm512_storeu_si512(rows + left, _mm512_maskz_compress_epi32(mask, group));
            _mm512_storeu_si512(right_rows + right, _mm512_maskz_compress_epi32(rest, group));
            left += std::popcount(static_cast<unsigned>(mask));
            right += std::popcount(static_cast<unsigned>(rest));
        }
        for (index_t k = 0; k < 64 && with_words; k += 8) {
            const auto mask = static_cast<__mmask8>(goes >> k), rest = static_cast<__mmask8>(~mask);
            const __m512i group = _mm512_loadu_si512(words + i + k);
            total = _mm512_mask_add_epi64(total, mask, total, group);
            _mm512_storeu_si512(words + left_words, _mm512_maskz_compress_epi64(mask, group));
            _mm512_storeu_si512(right_words + right_place, _mm512_maskz_compress_epi64(rest, group));
            left_words += std::popcount(static_cast<unsigned>(mask));
            right_place += std::popcount(static_cast<unsigned>(rest));
        }
    }
    sum += sum_of_lanes(total);
    next = least_byte(_mm256_min_epu8(lower_half(least), upper_half(least)));
    return left;
}
#undef ASSAY_V3
#undef ASSAY_V4
#endif

// OUT codes (8 x 64): those of 8 columns, column after column, from the words of 8 bytes that rows have in their block.
ASSAY_INLINE void turn_block_body(const std::uint8_t* block, const std::int32_t* rows, index_t m, std::uint8_t* codes) {
    constexpr std::uint64_t fours = 0x00000000FFFFFFFFULL, twos = 0x0000FFFF0000FFFFULL, ones = 0x00FF00FF00FF00FFULL;
    alignas(64) std::uint64_t cells[8][8] = {};  // the word of row 8 g + r stands in [r][g]
    for (index_t i = 0; i < m; ++i) __builtin_memcpy(&cells[i % 8][i / 8], block + static_cast<index_t>(rows[i]) * 8, 8);
    const index_t groups = (m + 7) / 8;
    // Squares of 8 x 8 bytes are transposed by swapping their halves, quarters and eighths.
    const auto swap = [&](std::size_t a, std::size_t b, int shift, std::uint64_t mask) {
#pragma omp simd
        for (index_t g = 0; g < 8; ++g) {
            const std::uint64_t moved = ((cells[a][g] >> shift) ^ cells[b][g]) & mask;
            cells[b][g] ^= moved;
            cells[a][g] ^= moved << shift;
        }
    };
    for (std::size_t r = 0; r < 4; ++r) swap(r, r + 4, 32, fours);
    for (const std::size_t r : {0, 1, 4, 5}) swap(r, r + 2, 16, twos);
    for (const std::size_t r : {0, 2, 4, 6}) swap(r, r + 1, 8, ones);
    for (std::size_t c = 0; c < 8; ++c) __builtin_memcpy(codes + c * 64, cells[c], static_cast<std::size_t>(groups) * 8);
}
ASSAY_DISPATCH(void, turn_block, turn_block_body, (const std::uint8_t* block, const std::int32_t* rows, index_t m, std::uint8_t* codes),
               (block, rows, m, codes))

using Divide = index_t (*)(const std::uint8_t*, std::int32_t*, trees::Word*, index_t, std::uint8_t, index_t, std::int32_t*, trees::Word*,
                           trees::Word&, index_t&);

// Null where rows are divided one by one.
template <bool with_words>
Divide divide_tool() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (simd_level() == Simd::avx512) return divide_avx512<with_words>;
#endif
    return nullptr;
}

inline SetTools set_tools() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (simd_level() == Simd::avx512) return {extremes_avx512, sums_avx512, at_most_avx512, sum_avx512};
    if (simd_level() == Simd::avx2) return {extremes_avx2, sums_avx2, at_most_avx2, sum_plain};
#endif
    return {extremes_plain, sums_plain, at_most_plain, sum_plain};
}

}  // namespace
}  // namespace assay::ensembles
