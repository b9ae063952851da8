#include "assay/evaluate/replicates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/evaluate/multinomial.hpp"

namespace assay {
namespace {

constexpr std::uint8_t kPositive = 1, kLast = 2;
constexpr index_t kLanes = 16;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rows of work per chunk of replicates; fixed by the problem alone.
index_t replicate_grain(index_t n) { return std::clamp<index_t>((1 << 18) / std::max<index_t>(n, 1), 1, 64); }

// Sixteen running sums, so that the order of additions is the same whatever the vector width is.
ASSAY_INLINE double weighted_sum_body(const std::uint8_t* counts, const double* x, index_t n) {
    double lanes[kLanes] = {};
    index_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (index_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(counts[i + l]) * x[i + l];
    double total = 0;
    for (; i < n; ++i) total += static_cast<double>(counts[i]) * x[i];
    for (double lane : lanes) total += lane;
    return total;
}
ASSAY_DISPATCH(double, weighted_sum, weighted_sum_body, (const std::uint8_t* counts, const double* x, index_t n),
               (counts, x, n))

ASSAY_INLINE double weighted_deviation_body(const std::uint8_t* counts, const double* x, index_t n, double centre) {
    double lanes[kLanes] = {};
    index_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (index_t l = 0; l < kLanes; ++l)
            lanes[l] += static_cast<double>(counts[i + l]) * std::abs(x[i + l] - centre);
    double total = 0;
    for (; i < n; ++i) total += static_cast<double>(counts[i]) * std::abs(x[i] - centre);
    for (double lane : lanes) total += lane;
    return total;
}
ASSAY_DISPATCH(double, weighted_deviation, weighted_deviation_body,
               (const std::uint8_t* counts, const double* x, index_t n, double centre), (counts, x, n, centre))

// Four tables in turn: neighbouring rows often share a group, and one table would wait for its own last addition.
void group_sums(const std::uint8_t* counts, const std::int32_t* groups, const double* weights, index_t n,
                index_t size, std::vector<double>& tables, double* sums) {
    tables.assign(static_cast<std::size_t>(4 * size), 0.0);
    double* table[4] = {tables.data(), tables.data() + size, tables.data() + 2 * size, tables.data() + 3 * size};
    index_t i = 0;
    if (weights == nullptr) {
        for (; i + 4 <= n; i += 4)
            for (index_t l = 0; l < 4; ++l) table[l][groups[i + l]] += static_cast<double>(counts[i + l]);
        for (; i < n; ++i) table[0][groups[i]] += static_cast<double>(counts[i]);
    } else {
        for (; i + 4 <= n; i += 4)
            for (index_t l = 0; l < 4; ++l)
                table[l][groups[i + l]] += static_cast<double>(counts[i + l]) * weights[i + l];
        for (; i < n; ++i) table[0][groups[i]] += static_cast<double>(counts[i]) * weights[i];
    }
    for (index_t g = 0; g < size; ++g) sums[g] = (table[0][g] + table[1][g]) + (table[2][g] + table[3][g]);
}

struct Ranking {
    bool identity = true;
    bool ties = false;
};

Ranking describe(const std::int32_t* order, const std::uint8_t* flags, index_t n) {
    Ranking ranking;
    for (index_t i = 0; i < n; ++i) {
        ranking.identity &= order[i] == i;
        ranking.ties |= (flags[i] & kLast) == 0;
    }
    return ranking;
}

// Area and, if wanted, average precision of the drawn rows; `drawn(i)` is the count at place i.
template <bool ties, class Drawn>
void ranked(const Drawn& drawn, const std::uint8_t* flags, index_t n, double* area, double* precision) {
    std::uint64_t twice = 0, hits = 0, misses = 0;
    double gained = 0;
    if constexpr (!ties) {
        if (precision == nullptr) {
            std::uint64_t total = 0;
            for (index_t i = 0; i < n; ++i) {
                const std::uint64_t count = drawn(i), positive = count & (0 - static_cast<std::uint64_t>(flags[i] & 1));
                twice += (count - positive) * hits;
                hits += positive;
                total += count;
            }
            twice *= 2;
            misses = total - hits;
        } else {
            for (index_t i = 0; i < n; ++i) {
                const std::uint64_t count = drawn(i), positive = count & (0 - static_cast<std::uint64_t>(flags[i] & 1));
                twice += (count - positive) * hits;
                hits += positive;
                misses += count - positive;
                // Dividing for every row costs less than guessing which rows were drawn.
                gained += static_cast<double>(static_cast<std::int64_t>(positive * hits)) /
                          static_cast<double>(static_cast<std::int64_t>(std::max<std::uint64_t>(hits + misses, 1)));
            }
            twice *= 2;
        }
    } else {
        std::uint64_t p = 0, q = 0;
        for (index_t i = 0; i < n; ++i) {
            const std::uint64_t count = drawn(i), positive = count & (0 - static_cast<std::uint64_t>(flags[i] & 1));
            p += positive;
            q += count - positive;
            if ((flags[i] & kLast) == 0) continue;
            twice += q * (2 * hits + p);
            hits += p;
            misses += q;
            if (precision != nullptr && p != 0)
                gained += static_cast<double>(p) * static_cast<double>(hits) / static_cast<double>(hits + misses);
            p = q = 0;
        }
    }
    *area = hits > 0 && misses > 0
                ? 0.5 * static_cast<double>(twice) / (static_cast<double>(hits) * static_cast<double>(misses))
                : kNaN;
    if (precision != nullptr) *precision = hits > 0 && misses > 0 ? gained / static_cast<double>(hits) : kNaN;
}

void ranked(const Ranking& ranking, const std::uint8_t* counts, const std::int32_t* order, const std::uint8_t* flags,
            index_t n, double* area, double* precision) {
    const auto direct = [counts](index_t i) { return static_cast<std::uint64_t>(counts[i]); };
    const auto looked_up = [counts, order](index_t i) { return static_cast<std::uint64_t>(counts[order[i]]); };
    if (ranking.identity)
        ranking.ties ? ranked<true>(direct, flags, n, area, precision) : ranked<false>(direct, flags, n, area, precision);
    else
        ranking.ties ? ranked<true>(looked_up, flags, n, area, precision)
                     : ranked<false>(looked_up, flags, n, area, precision);
}

}  // namespace

void replicate_rows(const RowStatistics& in, std::uint64_t key, std::uint64_t first, index_t replicates, int threads,
                    const RowReplicates& out) {
    const index_t n = in.n, rankings = in.orders.rows, sets = in.groups.rows, terms = in.terms.rows;
    std::vector<Ranking> ranking(static_cast<std::size_t>(rankings));
    for (index_t r = 0; r < rankings; ++r)
        ranking[static_cast<std::size_t>(r)] = describe(in.orders.row(r), in.flags.row(r), n);
    index_t all_groups = 0;
    for (index_t s = 0; s < sets; ++s) all_groups += in.sizes[s];
    parallel_chunks(replicates, replicate_grain(n), threads, [&](index_t, index_t begin, index_t end) {
        std::vector<std::uint8_t> counts(static_cast<std::size_t>(n));
        std::vector<double> tables;
        for (index_t b = begin; b < end; ++b) {
            resample(key, first + static_cast<std::uint64_t>(b), n, counts.data());
            for (index_t r = 0; r < rankings; ++r)
                ranked(ranking[static_cast<std::size_t>(r)], counts.data(), in.orders.row(r), in.flags.row(r), n,
                       out.areas + b * rankings + r, in.want_precision ? out.precisions + b * rankings + r : nullptr);
            double* sums = out.sums + b * all_groups;
            for (index_t s = 0; s < sets; ++s) {
                const double* weights = in.weights.rows > 0 ? in.weights.row(s) : nullptr;
                group_sums(counts.data(), in.groups.row(s), weights, n, in.sizes[s], tables, sums);
                sums += in.sizes[s];
            }
            for (index_t t = 0; t < terms; ++t)
                out.terms[b * terms + t] = weighted_sum(counts.data(), in.terms.row(t), n);
            for (index_t t = 0; t < in.deviations.rows; ++t) {
                const double* z = in.deviations.row(t);
                const double centre = weighted_sum(counts.data(), z, n) / static_cast<double>(n);
                out.deviations[b * in.deviations.rows + t] = weighted_deviation(counts.data(), z, n, centre);
            }
        }
    });
}

void resample_rows(std::uint64_t key, std::uint64_t first, index_t replicates, index_t n, int threads,
                   std::uint8_t* counts) {
    parallel_chunks(replicates, replicate_grain(n), threads, [&](index_t, index_t begin, index_t end) {
        for (index_t b = begin; b < end; ++b)
            resample(key, first + static_cast<std::uint64_t>(b), n, counts + b * n);
    });
}

void replicate_cells(Vector<const std::int64_t> counts, std::uint64_t key, std::uint64_t first, index_t replicates,
                     int threads, double* drawn) {
    parallel_chunks(replicates, replicate_grain(64 * counts.size), threads, [&](index_t, index_t begin, index_t end) {
        for (index_t b = begin; b < end; ++b) {
            Random random(key, first + static_cast<std::uint64_t>(b));
            multinomial(random, counts, drawn + b * counts.size);
        }
    });
}

void placements(Vector<const std::int32_t> order, Vector<const std::uint8_t> flags, double* placed) {
    const index_t n = order.size;
    index_t negatives = 0;
    for (index_t i = 0; i < n; ++i) negatives += (flags[i] & kPositive) == 0;
    index_t hits = 0, misses = 0;
    for (index_t begin = 0; begin < n;) {
        index_t end = begin, p = 0;
        do p += flags[end] & kPositive;
        while ((flags[end++] & kLast) == 0 && end < n);
        const index_t q = end - begin - p;
        const double below = static_cast<double>(negatives - misses - q) + 0.5 * static_cast<double>(q);
        const double above = static_cast<double>(hits) + 0.5 * static_cast<double>(p);
        for (index_t i = begin; i < end; ++i) placed[order[i]] = (flags[i] & kPositive) != 0 ? below : above;
        hits += p;
        misses += q;
        begin = end;
    }
}

}  // namespace assay
