// What the trees of a forest add and compare: sums of a node's rows in one 64-bit word, scans over the words of a histogram, and
// the places of values among cuts.
//
// A word holds one sum and the weight (packed_sums.hpp: two classes, or one output rounded to fit), or the counts of up to four
// classes as lanes of 64 / K bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/trees/bins.hpp"
#include "assay/trees/packed_sums.hpp"

namespace assay::ensembles {
namespace {

using trees::bin_stride;
using trees::Bins;
using trees::block_columns;
using trees::CodeSet;
using trees::gradient_of;
using trees::in_set;
using trees::put_in;
using trees::weight_of;
using trees::Word;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Counts of few classes as lanes of one word, class 0 lowest: one addition adds them all.
struct Lanes {
    index_t classes = 0;
    int bits = 0;
    Word mask = 0;

    explicit Lanes(index_t k = 0) : classes(k), bits(k > 0 ? static_cast<int>(64 / k) : 0), mask((Word{1} << bits) - 1) {}
    Word of(Word word, index_t k) const { return word >> (bits * static_cast<int>(k)) & mask; }
    double weight(Word word) const {
        Word sum = 0;
        for (index_t k = 0; k < classes; ++k) sum += of(word, k);
        return static_cast<double>(sum);
    }
    double squares(Word word) const {
        double sum = 0;
        for (index_t k = 0; k < classes; ++k) sum += static_cast<double>(of(word, k)) * static_cast<double>(of(word, k));
        return sum;
    }
    bool pure(Word word) const {
        index_t seen = 0;
        for (index_t k = 0; k < classes; ++k) seen += of(word, k) != 0;
        return seen <= 1;
    }
};
constexpr index_t most_lanes = 4;

constexpr double word_limit = 1073741824.0;  // 2^30

// The score of a part of a node against the rest, or minus infinity if a side is too small.
ASSAY_INLINE double sums_score(Word left, Word total, double least) {
    const double g = gradient_of(left), gr = gradient_of(total) - g;
    const double h = weight_of(left), hr = weight_of(total) - h;
    return h < least || hr < least || !(h * hr > 0) ? -infinity : (g * g * hr + gr * gr * h) / (h * hr);
}

// The weight that each side must have, as a whole number.
ASSAY_INLINE std::uint32_t whole_least(double least) { return static_cast<std::uint32_t>(std::max(std::ceil(least), 1.0)); }

// The largest score of the boundaries after bins 0..count-1 with at least `least` on both sides, and the first that has it; none where it
// is surely not above `needed`.
template <int lanes>
ASSAY_INLINE double scan_words_body(const Word* histogram, index_t count, Word start, Word total, double least, float needed, index_t& best) {
    const auto exact = [&](Word sum) { return sums_score(sum, total, least); };
    return trees::scan_rough<lanes>(histogram, count, start, total, whole_least(least), 0.0F, needed, exact, best);
}
ASSAY_DISPATCH_EACH(double, scan_words, (scan_words_body<8>), (scan_words_body<1>), (scan_words_body<1>),
                    (const Word* histogram, index_t count, Word start, Word total, double least, float needed, index_t& best),
                    (histogram, count, start, total, least, needed, best))

// The score of a part of a node against the rest, with counts of K classes in a word.
template <int K>
ASSAY_INLINE double counts_score(Word left, Word total, double least) {
    constexpr int bits = 64 / K;
    constexpr Word mask = (Word{1} << bits) - 1;
    const Word right = total - left;
    double h = 0, hr = 0, s = 0, sr = 0;
    for (int k = 0; k < K; ++k) {
        const auto l = static_cast<double>(static_cast<std::int32_t>(left >> (bits * k) & mask));
        const auto r = static_cast<double>(static_cast<std::int32_t>(right >> (bits * k) & mask));
        h += l;
        hr += r;
        s += l * l;
        sr += r * r;
    }
    return h < least || hr < least || !(h * hr > 0) ? -infinity : (s * hr + sr * h) / (h * hr);
}

// The same scan with counts of K classes.
template <int K, int lanes>
ASSAY_INLINE double scan_counts_body(const Word* histogram, index_t count, Word start, Word total, double least, float needed, index_t& best) {
    constexpr int bits = 64 / K;
    constexpr Word mask = (Word{1} << bits) - 1;
    alignas(64) Word sums[bin_stride];
    alignas(64) float score[bin_stride];
    alignas(64) std::int32_t smaller[bin_stride];
    trees::running_words<lanes>(histogram, count, start, sums);
    const index_t padded = (count + trees::rough_lanes - 1) / trees::rough_lanes * trees::rough_lanes;
    for (index_t b = count; b < padded; ++b) sums[b] = total;
    std::int32_t all[K];
    for (int k = 0; k < K; ++k) all[k] = static_cast<std::int32_t>(total >> (bits * k) & mask);
#pragma omp simd
    for (index_t b = 0; b < padded; ++b) {
        std::int32_t h = 0, hr = 0;
        float s = 0, sr = 0;
        for (int k = 0; k < K; ++k) {
            const auto l = static_cast<std::int32_t>(sums[b] >> (bits * k) & mask);
            const std::int32_t r = all[k] - l;
            h += l;
            hr += r;
            s += static_cast<float>(l) * static_cast<float>(l);
            sr += static_cast<float>(r) * static_cast<float>(r);
        }
        const auto weight = static_cast<float>(h), rest = static_cast<float>(hr);
        score[b] = (s * rest + sr * weight) / (weight * rest);
        smaller[b] = h < hr ? h : hr;
    }
    const auto enough = static_cast<std::int32_t>(whole_least(least));
#pragma omp simd
    for (index_t b = 0; b < padded; ++b) score[b] = smaller[b] >= enough ? score[b] : -1.0F;
    return trees::first_largest_of(score, sums, count, needed, [&](Word sum) { return counts_score<K>(sum, total, least); }, best);
}
ASSAY_DISPATCH_EACH(double, scan_three, (scan_counts_body<3, 8>), (scan_counts_body<3, 1>), (scan_counts_body<3, 1>),
                    (const Word* histogram, index_t count, Word start, Word total, double least, float needed, index_t& best),
                    (histogram, count, start, total, least, needed, best))
ASSAY_DISPATCH_EACH(double, scan_four, (scan_counts_body<4, 8>), (scan_counts_body<4, 1>), (scan_counts_body<4, 1>),
                    (const Word* histogram, index_t count, Word start, Word total, double least, float needed, index_t& best),
                    (histogram, count, start, total, least, needed, best))

// The sum of the words whose code is at most `limit`.
ASSAY_INLINE Word words_at_most_body(const std::uint8_t* codes, std::uint8_t limit, const Word* words, index_t m) {
    Word sum = 0;
    for (index_t i = 0; i < m; ++i) sum += codes[i] <= limit ? words[i] : Word{0};
    return sum;
}
ASSAY_DISPATCH(Word, words_at_most, words_at_most_body, (const std::uint8_t* codes, std::uint8_t limit, const Word* words, index_t m),
               (codes, limit, words, m))

// The least and the largest of many codes.
ASSAY_INLINE void extreme_codes_body(const std::uint8_t* codes, index_t m, std::uint8_t& low, std::uint8_t& high) {
    std::uint8_t least = 255, largest = 0;
#pragma omp simd reduction(min : least) reduction(max : largest)
    for (index_t i = 0; i < m; ++i) {
        least = codes[i] < least ? codes[i] : least;
        largest = codes[i] > largest ? codes[i] : largest;
    }
    low = least;
    high = largest;
}
ASSAY_DISPATCH(void, extreme_codes, extreme_codes_body, (const std::uint8_t* codes, index_t m, std::uint8_t& low, std::uint8_t& high),
               (codes, m, low, high))

// The blocks of a stream of `Random` from `counter` on, side by side.
constexpr index_t blocks_together = 32;
ASSAY_INLINE void philox_blocks_body(std::uint64_t key, std::uint64_t counter, std::uint64_t stream, std::uint32_t* out) {
    std::uint32_t draws[4][blocks_together];
#pragma omp simd
    for (index_t i = 0; i < blocks_together; ++i) {
        const auto block = philox(key, counter + static_cast<std::uint64_t>(i), stream);
        for (std::size_t k = 0; k < 4; ++k) draws[k][i] = block[k];
    }
    for (index_t i = 0; i < blocks_together; ++i)
        for (index_t k = 0; k < 4; ++k) out[4 * i + k] = draws[k][i];
}
ASSAY_DISPATCH(void, philox_blocks, philox_blocks_body, (std::uint64_t key, std::uint64_t counter, std::uint64_t stream, std::uint32_t* out),
               (key, counter, stream, out))

// The draws of `Random`, many blocks made at a time.
class ManyDraws : public Draws<ManyDraws> {
public:
    ManyDraws(std::uint64_t key, std::uint64_t stream) : key_(key), stream_(stream) {}
    std::uint32_t bits32() {
        if (used_ == draws_.size()) {
            philox_blocks(key_, counter_, stream_, draws_.data());
            counter_ += blocks_together;
            used_ = 0;
        }
        return draws_[used_++];
    }

private:
    std::uint64_t key_, stream_, counter_ = 0;
    std::array<std::uint32_t, 4 * blocks_together> draws_;
    std::size_t used_ = draws_.size();
};

constexpr index_t few_rows = 40;

// The codes of few rows in order, with the places of the rows.
class FewCodes {
public:
    FewCodes(const std::uint8_t* code, const std::int32_t* rows, index_t m) {
        for (index_t i = 0; i < m; ++i) {
            const auto item = static_cast<std::uint16_t>(code[rows[i]] << 8 | i);
            index_t to = i;
            for (; to > 0 && items_[static_cast<std::size_t>(to - 1)] > item; --to)
                items_[static_cast<std::size_t>(to)] = items_[static_cast<std::size_t>(to - 1)];
            items_[static_cast<std::size_t>(to)] = item;
        }
    }
    index_t at(index_t i) const { return items_[static_cast<std::size_t>(i)] >> 8; }
    index_t place(index_t i) const { return items_[static_cast<std::size_t>(i)] & 255; }

private:
    std::array<std::uint16_t, few_rows> items_{};  // code, place
};

// Where values stand among the cuts of their column: a table over equal steps between the outermost cuts says how many are surely below.
class CutPlaces {
public:
    CutPlaces(const Bins& bins, bool wanted) {
        for (std::size_t j = 0; wanted && j < bins.cuts.size(); ++j) {
            const auto& cuts = bins.cuts[j];
            columns_.emplace_back();
            Column& own = columns_.back();
            own.cuts = cuts;
            own.cuts.resize(cuts.size() + few, infinity);
            if (cuts.size() < 2) continue;
            const double per_step = steps / (cuts.back() - cuts.front());
            if (!(per_step > 0 && per_step < std::numeric_limits<double>::max())) continue;  // cuts too far from each other, or too near
            own.first = cuts.front();
            own.per_step = per_step;
            own.most = 0;
            for (index_t s = 0; s < steps; ++s) {
                const auto place = [&](double step) {  // a little to the side: steps of values are rounded
                    return std::upper_bound(cuts.begin(), cuts.end(), own.first + (static_cast<double>(s) + step) / per_step) - cuts.begin();
                };
                own.place[static_cast<std::size_t>(s)] = static_cast<std::uint8_t>(place(-1e-3));
                own.most = std::max<index_t>(own.most, place(1.001) - place(-1e-3));
            }
        }
    }
    // The first of the cuts low .. high - 1 that is above the value, or the last.
    index_t above(std::size_t column, double value, index_t low, index_t high) const {
        const Column& own = columns_[column];
        const double step = std::min(std::max((value - own.first) * own.per_step, 0.0), static_cast<double>(steps - 1));
        const index_t begin = own.place[static_cast<std::size_t>(static_cast<std::int32_t>(step))];
        const double* cuts = own.cuts.data() + begin;
        index_t below = 0;
        if (own.most <= few)
            for (index_t t = 0; t < few; ++t) below += cuts[t] <= value ? 1 : 0;
        else
            below = std::upper_bound(cuts, own.cuts.data() + own.cuts.size(), value) - cuts;
        return std::min(std::max(begin + below, low), high - 1);
    }

private:
    static constexpr index_t steps = 512, few = 6;
    struct Column {
        double first = 0, per_step = 0;
        std::vector<double> cuts;   // and some that are above all
        index_t most = bin_stride;  // cuts in a step
        std::array<std::uint8_t, steps> place{};
    };
    std::vector<Column> columns_;
};

}  // namespace
}  // namespace assay::ensembles
