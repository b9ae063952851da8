#include "assay/neighbours/distance_reduce.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/neighbours/panel_visitor.hpp"
#include "rescorer.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ASSAY_HAS_VECTORS 1
#endif

namespace assay::neighbours {
namespace {

constexpr int group = 12;             // queries of a register tile
constexpr index_t chunk_groups = 10;  // groups that meet a panel while it is in the first-level cache
constexpr index_t panels_between_looks = 4096;
constexpr double far_query = 1e6;     // |q'| above this goes to the float64 scan

// ---- one query's candidates ------------------------------------------------------------------------------------------

struct Rounding {
    double unit, tiny, doubles, largest_norm, scale;
    Rounding(const Screen& screen, index_t d)
        : unit(1.02 * static_cast<double>(d + 8) * 0x1p-24), tiny(static_cast<double>(d + 8) * 0x1p-120),
          doubles(static_cast<double>(d + 8) * 0x1p-51), largest_norm(screen.largest_norm), scale(screen.scale) {}
    double error(double query_norm, double r) const {
        return unit * (0.5 * r * r + query_norm * r) + doubles * (query_norm + r) * (query_norm + r) +
               tiny * (1.0 + query_norm);
    }
    // e(r) for the rows at least as near as one whose float32 score is v.
    double error_below(double query_norm, double v) const {
        double r = largest_norm;
        for (int turn = 0; turn < 4; ++turn) {
            const double squared = query_norm * query_norm * (1.0 + 1e-9) + 2.0 * (v + error(query_norm, r));
            r = std::min(r, (query_norm + std::sqrt(std::max(0.0, squared))) * (1.0 + 1e-9));
        }
        return error(query_norm, r);
    }
};

float above(double value) {
    const float inf = std::numeric_limits<float>::infinity();
    return std::min(FLT_MAX, std::nextafter(std::nextafter(static_cast<float>(value), inf), inf));
}

struct Candidates {
    float* scores = nullptr;
    std::int32_t* rows = nullptr;
    index_t count = 0;
    double query_norm = 0.0;
    const double* query = nullptr;
};

struct Scored {
    double distance;
    std::int64_t row;
    float score;
    bool operator<(const Scored& other) const {
        return distance < other.distance || (distance == other.distance && row < other.row);
    }
};

// Decides which candidates of a query stay, and the bound below which new ones are taken.
class Contest {
public:
    // room: how many tiles of scores fit beside k candidates.
    Contest(Matrix<const double> rows, const Rounding& rounding, index_t k, index_t room)
        : capacity(std::max(k + room * screen_points, 2 * k + 48)), rounding_(rounding), k_(k), rescorer_(rows) {}

    // Every row that may be among the k nearest has a float32 score below kth + margin, whatever the kth score.
    double margin(double query_norm) const { return 2.0 * rounding_.error(query_norm, rounding_.largest_norm); }

    void tighten(Candidates& c, float& bound) {
        if (c.count < k_) return;
        working_.assign(c.scores, c.scores + c.count);
        std::nth_element(working_.begin(), working_.begin() + (k_ - 1), working_.end());
        tighten(c, bound, working_[static_cast<std::size_t>(k_ - 1)]);
    }

    // The same where the k-th smallest score is known.
    void tighten(Candidates& c, float& bound, double kth) {
        if (c.query == nullptr) {  // a place without a query: norms that no rows give pass every bound
            c.count = 0;
            return;
        }
        bound = std::min(bound, above(kth + 2.0 * rounding_.error_below(c.query_norm, kth)));
        keep_below(c, bound);
        if (c.count > (capacity + k_) / 2) settle(c, bound);
    }

    // False if the index did not hold k usable rows (it was changed since it was built): nothing is written then.
    bool finish(Candidates& c, float bound, std::int64_t* rows, double* distances) {
        tighten(c, bound);
        return write(c, rows, distances);
    }
    bool finish(Candidates& c, float bound, double kth, std::int64_t* rows, double* distances) {
        if (kth < FLT_MAX) tighten(c, bound, kth);
        return write(c, rows, distances);
    }

    const index_t capacity;

private:
    bool write(Candidates& c, std::int64_t* rows, double* distances) {
        if (c.count < k_) return false;
        rescore(c);
        std::sort(exact_.begin(), exact_.end());
        for (index_t i = 0; i < k_; ++i) {
            rows[i] = exact_[static_cast<std::size_t>(i)].row;
            distances[i] = exact_[static_cast<std::size_t>(i)].distance;
        }
        return true;
    }

    static void keep_below(Candidates& c, float bound) {
        index_t kept = 0;
        for (index_t i = 0; i < c.count; ++i) {
            c.scores[kept] = c.scores[i];
            c.rows[kept] = c.rows[i];
            kept += c.scores[kept] < bound;
        }
        c.count = kept;
    }

    void rescore(const Candidates& c) {
        doubles_.resize(static_cast<std::size_t>(c.count));
        rescorer_.score(c.query, c.rows, c.count, doubles_.data());
        exact_.resize(static_cast<std::size_t>(c.count));
        for (std::size_t i = 0; i < exact_.size(); ++i) exact_[i] = {doubles_[i], c.rows[i], c.scores[i]};
    }

    // Ties beyond what float32 can tell apart: keep the k best by float64 distance.
    void settle(Candidates& c, float& bound) {
        rescore(c);
        std::nth_element(exact_.begin(), exact_.begin() + (k_ - 1), exact_.end());
        for (index_t i = 0; i < k_; ++i) {
            c.scores[i] = exact_[static_cast<std::size_t>(i)].score;
            c.rows[i] = static_cast<std::int32_t>(exact_[static_cast<std::size_t>(i)].row);
        }
        c.count = k_;
        const double reach = exact_[static_cast<std::size_t>(k_ - 1)].distance * rounding_.scale * rounding_.scale;
        const double kth = 0.5 * (reach - c.query_norm * c.query_norm);
        const double r = std::min(rounding_.largest_norm, (c.query_norm + std::sqrt(reach)) * (1.0 + 1e-9));
        bound = std::min(bound, above(kth + rounding_.error(c.query_norm, r)));
    }

    const Rounding& rounding_;
    index_t k_;
    Rescorer rescorer_;
    std::vector<float> working_;
    std::vector<double> doubles_;
    std::vector<Scored> exact_;
};

// ---- the register tile -------------------------------------------------------------------------------------------------

// What happens to a finished tile of `queries` x `points` scores whose first query is `query` and first row is `row`.
class Sink {
public:
    std::vector<float> bounds;  // one per query
    virtual void take(const float* tile, index_t query, int queries, int points, std::int32_t row) = 0;

protected:
    explicit Sink(std::size_t queries) : bounds(queries) {}
    ~Sink() = default;
};

#define ASSAY_UNROLL _Pragma("GCC unroll 12")

// `width` floats side by side, and their bit patterns.
template <int width>
struct Lanes {
    typedef float Value __attribute__((vector_size(width * sizeof(float))));
    typedef int Bits __attribute__((vector_size(width * sizeof(float))));
};

// Scores of packed queries (groups x d x 12, float32) against the panels [first, last). Tiles in which no score is below
// its query's bound are forgotten in registers. width: floats of a vector; tile_queries x 2
// vectors of accumulators fit the register file.
struct Pass {
    const float* panels;
    const float* half_norms;
    index_t d;
    const float* queries;
    index_t groups;
};

template <int width, int tile_queries>
ASSAY_INLINE void screen_body(const Pass& pass, index_t first, index_t last, Sink& sink) {
    using Value = typename Lanes<width>::Value;
    using Bits = typename Lanes<width>::Bits;
    static_assert(sizeof(Value) == width * sizeof(float) && sizeof(Bits) == sizeof(Value));
    constexpr int points = 2 * width;
    const index_t d = pass.d;
    const float* const bounds = sink.bounds.data();
    alignas(64) float tile[tile_queries * points];
    for (index_t panel = first; panel < last; ++panel) {
        for (int part = 0; part < screen_points / points; ++part) {
            const index_t row = panel * screen_points + part * points;
            Value low, high;
            std::memcpy(&low, pass.half_norms + row, sizeof low);
            std::memcpy(&high, pass.half_norms + row + width, sizeof high);
            for (index_t query = 0; query < pass.groups * group; query += tile_queries) {
                Value score[tile_queries][2];
                ASSAY_UNROLL
                for (int t = 0; t < tile_queries; ++t) {
                    score[t][0] = low;
                    score[t][1] = high;
                }
                const float* x = pass.panels + panel * d * screen_points + part * points;
                const float* q = pass.queries + query / group * group * d + query % group;
                for (index_t j = 0; j < d; ++j, x += screen_points, q += group) {
                    Value x0, x1;
                    std::memcpy(&x0, x, sizeof x0);
                    std::memcpy(&x1, x + width, sizeof x1);
                    ASSAY_UNROLL
                    for (int t = 0; t < tile_queries; ++t) {
                        score[t][0] -= x0 * q[t];
                        score[t][1] -= x1 * q[t];
                    }
                }
                Bits below = {};  // the sign bit of score - bound
                ASSAY_UNROLL
                for (int t = 0; t < tile_queries; ++t) {
                    below |= (Bits)(score[t][0] - bounds[query + t]);
                    below |= (Bits)(score[t][1] - bounds[query + t]);
                }
                std::uint64_t words[sizeof(Bits) / 8], any = 0;
                std::memcpy(words, &below, sizeof words);
                ASSAY_UNROLL
                for (std::uint64_t word : words) any |= word;
                if (__builtin_expect((any & 0x8000000080000000ULL) == 0, 1)) continue;
                ASSAY_UNROLL
                for (int t = 0; t < tile_queries; ++t) {
                    std::memcpy(tile + t * points, &score[t][0], sizeof(Value));
                    std::memcpy(tile + t * points + width, &score[t][1], sizeof(Value));
                }
                sink.take(tile, query, tile_queries, points, static_cast<std::int32_t>(row));
            }
        }
    }
}

using ScreenPanels = void (*)(const Pass&, index_t, index_t, Sink&);

struct Compiled {
#if defined(__x86_64__) && defined(__GNUC__)
    __attribute__((target("arch=x86-64-v4"))) static void avx512(const Pass& pass, index_t first, index_t last,
                                                                 Sink& sink) {
        screen_body<16, 12>(pass, first, last, sink);
    }
    __attribute__((target("arch=x86-64-v3"))) static void avx2(const Pass& pass, index_t first, index_t last,
                                                               Sink& sink) {
        screen_body<8, 6>(pass, first, last, sink);
    }
#endif
    static void baseline(const Pass& pass, index_t first, index_t last, Sink& sink) {
        screen_body<4, 6>(pass, first, last, sink);
    }
    static ScreenPanels choose() {
#if defined(__x86_64__) && defined(__GNUC__)
        if (simd_level() == Simd::avx512) return &avx512;
        if (simd_level() == Simd::avx2) return &avx2;
#endif
        return &baseline;
    }
};

// Appends the scores of a tile that are below their bounds to the candidates (each has room for `points` more).
void append_baseline(const float* tile, int queries, int points, const float* bounds, std::int32_t row,
                     Candidates* candidates) {
    for (int t = 0; t < queries; ++t, tile += points) {
        Candidates& c = candidates[t];
        for (int p = 0; p < points; ++p) {
            c.scores[c.count] = tile[p];
            c.rows[c.count] = row + p;
            c.count += tile[p] < bounds[t];
        }
    }
}
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("arch=x86-64-v4"))) void append_avx512(const float* tile, int queries, int points,
                                                             const float* bounds, std::int32_t row,
                                                             Candidates* candidates) {
    const __m512i lanes = _mm512_add_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(row));
    for (int t = 0; t < queries; ++t) {
        const __m512 limit = _mm512_set1_ps(bounds[t]);
        for (int p = 0; p < points; p += 16, tile += 16) {
            const __m512 score = _mm512_loadu_ps(tile);
            const __mmask16 mask = _mm512_cmp_ps_mask(score, limit, _CMP_LT_OQ);
            if (__builtin_expect(mask == 0, 1)) continue;
            Candidates& c = candidates[t];
            // Compress in registers: a compressing store is far slower.
            _mm512_storeu_ps(c.scores + c.count, _mm512_maskz_compress_ps(mask, score));
            _mm512_storeu_si512(c.rows + c.count,
                                _mm512_maskz_compress_epi32(mask, _mm512_add_epi32(lanes, _mm512_set1_epi32(p))));
            c.count += __builtin_popcount(mask);
        }
    }
}
#endif

#if defined(ASSAY_HAS_VECTORS)
// Few neighbours (k <= 64): each query's k smallest scores stay sorted in vectors, so that its bound is that of the rows
// seen so far, and not that of the last full list.
constexpr index_t few_neighbours = 64;

struct Few {
    Contest& contest;
    Candidates* candidates;
    float* bounds;
    const double* margins;
    float* smallest;  // `room` per query, ascending: k and what fills the last vector
    index_t k, room;

    // After survivors of a query have come to its list and to its smallest scores.
    void renew(index_t query) const {
        const float kth = smallest[query * room + k - 1];
        float& bound = bounds[query];
        if (kth < FLT_MAX) {
            const auto reach = static_cast<float>(static_cast<double>(kth) + margins[query]);
            bound = std::min(bound, reach + (std::abs(reach) * 0x1p-22F + FLT_MIN));
        }
        if (candidates[query].count + screen_points > contest.capacity) contest.tighten(candidates[query], bound, kth);
    }
};

__attribute__((target("arch=x86-64-v4"), noinline)) void take_few(const Few& few, index_t query, std::uint32_t hits,
                                                                  const float* scores, std::int32_t row) {
    Candidates& c = few.candidates[query];
    const index_t before = c.count;
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int half = 0; half < 2; ++half) {
        const auto mask = static_cast<__mmask16>(hits >> (16 * half));
        // Compress in registers: a compressing store is far slower.
        _mm512_storeu_ps(c.scores + c.count, _mm512_maskz_compress_ps(mask, _mm512_load_ps(scores + 16 * half)));
        _mm512_storeu_si512(
            c.rows + c.count,
            _mm512_maskz_compress_epi32(mask, _mm512_add_epi32(lanes, _mm512_set1_epi32(row + 16 * half))));
        c.count += __builtin_popcount(mask);
    }
    float* smallest = few.smallest + query * few.room;
    const __mmask16 all = 0xFFFF;  // GCC 12 takes the forms without a mask for uses of uninitialised values
    const __m512i lowest = _mm512_castps_si512(_mm512_set1_ps(-FLT_MAX));
    for (index_t i = before; i < c.count; ++i) {
        const __m512 score = _mm512_set1_ps(c.scores[i]);
        // A sorted vector with one more value: each lane is the smaller of itself and max(value, its left neighbour).
        __m512i left = lowest;
        for (index_t v = 0; v < few.room; v += 16) {
            const __m512 old = _mm512_loadu_ps(smallest + v);
            const __m512 shifted =
                _mm512_castsi512_ps(_mm512_maskz_alignr_epi32(all, _mm512_castps_si512(old), left, 15));
            const __m512 larger = _mm512_maskz_max_ps(all, score, shifted);
            _mm512_storeu_ps(smallest + v, _mm512_maskz_min_ps(all, old, larger));
            left = _mm512_castps_si512(old);
        }
    }
    few.renew(query);
}

__attribute__((target("arch=x86-64-v4"))) void screen_few(const Pass& pass, index_t first, index_t last, const Few& few) {
    static_assert(screen_points == 32);
    const index_t d = pass.d;
    alignas(64) float tile[group * screen_points];
    for (index_t panel = first; panel < last; ++panel) {
        const index_t row = panel * screen_points;
        const __m512 low = _mm512_loadu_ps(pass.half_norms + row), high = _mm512_loadu_ps(pass.half_norms + row + 16);
        for (index_t query = 0; query < pass.groups * group; query += group) {
            __m512 score[group][2];
            ASSAY_UNROLL
            for (int t = 0; t < group; ++t) {
                score[t][0] = low;
                score[t][1] = high;
            }
            const float* x = pass.panels + row * d;
            const float* q = pass.queries + query * d;
            for (index_t j = 0; j < d; ++j, x += screen_points, q += group) {
                const __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16);
                ASSAY_UNROLL
                for (int t = 0; t < group; ++t) {
                    const __m512 value = _mm512_set1_ps(q[t]);
                    score[t][0] = _mm512_fnmadd_ps(x0, value, score[t][0]);
                    score[t][1] = _mm512_fnmadd_ps(x1, value, score[t][1]);
                }
            }
            std::uint32_t hits[group], some = 0;
            ASSAY_UNROLL
            for (int t = 0; t < group; ++t) {
                const __m512 bound = _mm512_set1_ps(few.bounds[query + t]);
                hits[t] = _mm512_kunpackw(_mm512_cmp_ps_mask(score[t][1], bound, _CMP_LT_OQ),
                                          _mm512_cmp_ps_mask(score[t][0], bound, _CMP_LT_OQ));
                some |= static_cast<std::uint32_t>(hits[t] != 0) << t;
            }
            if (some == 0) continue;
            ASSAY_UNROLL
            for (int t = 0; t < group; ++t) {
                _mm512_store_ps(tile + t * screen_points, score[t][0]);
                _mm512_store_ps(tile + t * screen_points + 16, score[t][1]);
            }
            for (; some != 0; some &= some - 1) {
                const int t = __builtin_ctz(some);
                take_few(few, query + t, hits[t], tile + t * screen_points, static_cast<std::int32_t>(row));
            }
        }
    }
}

// The same by AVX2, of a tile of `queries` x `points` scores that `screen_body` leaves.
__attribute__((target("arch=x86-64-v3"))) void take_few_avx2(const Few& few, const float* tile, index_t query, int queries,
                                                             int points, std::int32_t row) {
    const __m256i turn = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    for (int t = 0; t < queries; ++t, tile += points) {
        const __m256 bound = _mm256_set1_ps(few.bounds[query + t]);
        unsigned hits = 0;
        for (int p = 0; p < points; p += 8)
            hits |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(tile + p), bound, _CMP_LT_OQ)))
                    << p;
        if (hits == 0) continue;
        Candidates& c = few.candidates[query + t];
        float* const smallest = few.smallest + (query + t) * few.room;
        for (; hits != 0; hits &= hits - 1) {
            const int p = __builtin_ctz(hits);
            c.scores[c.count] = tile[p];
            c.rows[c.count++] = row + p;
            const __m256 score = _mm256_set1_ps(tile[p]);
            __m256 left = _mm256_set1_ps(-FLT_MAX);
            for (index_t v = 0; v < few.room; v += 8) {
                const __m256 old = _mm256_loadu_ps(smallest + v), turned = _mm256_permutevar8x32_ps(old, turn);
                const __m256 larger = _mm256_max_ps(score, _mm256_blend_ps(turned, left, 1));
                _mm256_storeu_ps(smallest + v, _mm256_min_ps(old, larger));
                left = turned;
            }
        }
        few.renew(query + t);
    }
}
#endif

class NearestSink final : public Sink {
public:
    NearestSink(Contest& contest, std::vector<Candidates>& candidates)
        : Sink(candidates.size()), contest_(contest), candidates_(candidates.data()) {
#if defined(ASSAY_HAS_VECTORS)
        if (simd_level() == Simd::avx512) append_ = &append_avx512;
#endif
    }
#if defined(ASSAY_HAS_VECTORS)
    const Few* few = nullptr;
#endif
    void take(const float* tile, index_t query, int queries, int points, std::int32_t row) override {
#if defined(ASSAY_HAS_VECTORS)
        if (few != nullptr) return take_few_avx2(*few, tile, query, queries, points, row);
#endif
        float* limits = bounds.data() + query;
        append_(tile, queries, points, limits, row, candidates_ + query);
        for (int t = 0; t < queries; ++t) {
            Candidates& c = candidates_[query + t];
            if (__builtin_expect(c.count + screen_points > contest_.capacity, 0)) contest_.tighten(c, limits[t]);
        }
    }

private:
    Contest& contest_;
    Candidates* candidates_;
    void (*append_)(const float*, int, int, const float*, std::int32_t, Candidates*) = &append_baseline;
};

// Counts scores that are inside for certain (lists them too if asked to) and lists those in doubt.
class CountSink final : public Sink {
public:
    explicit CountSink(bool list_certain) : Sink(group), list_certain_(list_certain) {}
    float inside[group];
    std::int64_t counts[group];
    std::vector<std::int32_t> certain[group], doubtful[group];
    void take(const float* tile, index_t query, int queries, int points, std::int32_t row) override {
        for (int t = 0; t < queries; ++t) {
            const float* scores = tile + t * points;
            const float low = inside[query + t], high = bounds[static_cast<std::size_t>(query + t)];
            int sure = 0, possible = 0;
            for (int p = 0; p < points; ++p) {
                sure += scores[p] < low;
                possible += scores[p] < high;
            }
            counts[query + t] += sure;
            if (list_certain_ && sure > 0) {
                auto& list = certain[query + t];
                std::size_t count = list.size();
                list.resize(count + static_cast<std::size_t>(points));
                for (int p = 0; p < points; ++p) {
                    list[count] = row + p;
                    count += scores[p] < low;
                }
                list.resize(count);
            }
            if (possible == sure) continue;
            for (int p = 0; p < points; ++p)
                if (scores[p] >= low && scores[p] < high) doubtful[query + t].push_back(row + p);
        }
    }

private:
    bool list_certain_;
};

// ---- queries in float32 --------------------------------------------------------------------------------------------------

// Packs up to 12 queries dimension by dimension; norms[t] is |q'|. Queries that float32 cannot hold become zeros with an
// infinite norm.
void pack_queries(Matrix<const double> queries, index_t first, index_t count, const Screen& screen, float* packed,
                  double* norms) {
    const index_t d = queries.cols;
    for (index_t t = 0; t < group; ++t) {
        double total = 0.0;
        if (t < count) {
            const double* q = queries.row(first + t);
            for (index_t j = 0; j < d; ++j) {
                const double moved = (q[j] - screen.centre[j]) * screen.scale;
                total += moved * moved;
            }
        }
        norms[t] = std::sqrt(total);
        if (!(norms[t] < far_query)) norms[t] = std::numeric_limits<double>::infinity();
        const bool usable = t < count && std::isfinite(norms[t]);
        for (index_t j = 0; j < d; ++j)
            packed[j * group + t] =
                usable ? static_cast<float>((queries(first + t, j) - screen.centre[j]) * screen.scale) : 0.0F;
    }
}

}  // namespace

ScreenScale build_screen(Matrix<const double> rows, float* panels, float* half_norms, double* centre, int threads) {
    const index_t n = rows.rows, d = rows.cols, grain = 4096, chunks = chunk_count(n, grain);
    std::vector<double> sums(static_cast<std::size_t>(chunks * d), 0.0);
    parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        double* sum = sums.data() + chunk * d;
        for (index_t i = begin; i < end; ++i)
            for (index_t j = 0; j < d; ++j) sum[j] += rows(i, j);
    });
    for (index_t j = 0; j < d; ++j) {
        double total = 0.0;
        for (index_t chunk = 0; chunk < chunks; ++chunk) total += sums[static_cast<std::size_t>(chunk * d + j)];
        centre[j] = total / static_cast<double>(n);
    }
    std::vector<double> widest(static_cast<std::size_t>(chunks), 0.0);
    parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        double most = 0.0;
        bool finite = true;
        for (index_t i = begin; i < end; ++i)
            for (index_t j = 0; j < d; ++j) {
                const double size = std::abs(rows(i, j) - centre[j]);
                finite &= size <= DBL_MAX;
                most = size > most ? size : most;
            }
        widest[static_cast<std::size_t>(chunk)] = finite ? most : std::numeric_limits<double>::infinity();
    });
    const double most = chunks == 0 ? 0.0 : *std::max_element(widest.begin(), widest.end());
    ScreenScale result;
    // Beyond these limits squared distances leave the range of float64, or row numbers that of the candidate lists.
    if (!(most < 0x1p400) || (most > 0.0 && most < 0x1p-400) || d > 100000 || n >= INT32_MAX - screen_points)
        return result;
    result.usable = true;
    result.scale = most > 0.0 ? std::ldexp(1.0, -(std::ilogb(most) + 1)) : 1.0;
    std::vector<double> norms(static_cast<std::size_t>(chunk_count(screen_panel_count(n), 128)), 0.0);
    parallel_chunks(screen_panel_count(n), 128, threads, [&](index_t chunk, index_t begin, index_t end) {
        double largest = 0.0;
        for (index_t b = begin; b < end; ++b) {
            float* panel = panels + b * d * screen_points;
            for (index_t lane = 0; lane < screen_points; ++lane) {
                const index_t i = b * screen_points + lane;
                double total = 0.0;
                for (index_t j = 0; j < d; ++j) {
                    const double moved = i < n ? (rows(i, j) - centre[j]) * result.scale : 0.0;
                    total += moved * moved;
                    panel[j * screen_points + lane] = static_cast<float>(moved);
                }
                half_norms[i] = i < n ? static_cast<float>(0.5 * total) : std::numeric_limits<float>::infinity();
                largest = std::max(largest, total);
            }
        }
        norms[static_cast<std::size_t>(chunk)] = largest;
    });
    for (double squared : norms) result.largest_norm = std::max(result.largest_norm, squared);
    result.largest_norm = std::sqrt(result.largest_norm) * (1.0 + 1e-9);
    return result;
}

void nearest_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries, index_t k,
                       std::int64_t* nearest, double* distances, int threads) {
    const index_t n = rows.rows, d = rows.cols, panels = screen_panel_count(n);
    const Rounding rounding(screen, d);
    bool few = false;
#if defined(ASSAY_HAS_VECTORS)
    few = k <= few_neighbours && simd_level() != Simd::baseline;
#endif
    parallel_chunks(queries.rows, (k <= 512 ? chunk_groups : 1) * group, threads, [&](index_t, index_t begin,
                                                                                    index_t end) {
        const ScreenPanels screen_panels = Compiled::choose();
        Contest contest(rows, rounding, k, few ? 4 : 2);
        const index_t groups = (end - begin + group - 1) / group;
        const auto slots = static_cast<std::size_t>(groups * group), capacity = static_cast<std::size_t>(contest.capacity);
        std::unique_ptr<float[]> scores(new float[slots * capacity]);
        std::unique_ptr<std::int32_t[]> listed(new std::int32_t[slots * capacity]);
        std::vector<float> packed(static_cast<std::size_t>(groups * group * d));
        std::vector<double> norms(slots);
        std::vector<Candidates> candidates(slots);
        NearestSink sink(contest, candidates);
        for (index_t g = 0; g < groups; ++g) {
            const index_t first = begin + g * group;
            pack_queries(queries, first, std::min<index_t>(group, end - first), screen, packed.data() + g * group * d,
                         norms.data() + g * group);
        }
        for (std::size_t slot = 0; slot < slots; ++slot) {
            const index_t i = begin + static_cast<index_t>(slot);
            candidates[slot] = {scores.get() + slot * capacity, listed.get() + slot * capacity, 0, norms[slot],
                                i < end ? queries.row(i) : nullptr};
            sink.bounds[slot] = i < end && std::isfinite(norms[slot]) ? FLT_MAX : -FLT_MAX;
        }
        const Pass pass{screen.panels, screen.half_norms, d, packed.data(), groups};
        std::vector<float> smallest;
        std::vector<double> margins;
        const index_t width = simd_level() == Simd::avx512 ? 16 : 8, room = few ? (k + width - 1) / width * width : 0;
#if defined(ASSAY_HAS_VECTORS)
        if (few) {
            smallest.assign(slots * static_cast<std::size_t>(room), FLT_MAX);
            margins.resize(slots);
            for (std::size_t slot = 0; slot < slots; ++slot) margins[slot] = contest.margin(norms[slot]);
        }
        const Few selection{contest, candidates.data(), sink.bounds.data(), margins.data(), smallest.data(), k, room};
        sink.few = few ? &selection : nullptr;
#endif
        for (index_t from = 0; from < panels; from += panels_between_looks) {
            if (interrupted()) return;
            const index_t to = std::min(panels, from + panels_between_looks);
#if defined(ASSAY_HAS_VECTORS)
            if (few && simd_level() == Simd::avx512) {
                screen_few(pass, from, to, selection);
                continue;
            }
#endif
            screen_panels(pass, from, to, sink);
        }
        Rescorer rescorer(rows);
        Nearest scanned(k);
        for (index_t i = begin; i < end; ++i) {
            const auto slot = static_cast<std::size_t>(i - begin);
            if (std::isfinite(norms[slot])) {
                const float bound = sink.bounds[slot];
                std::int64_t* to = nearest + i * k;
                const bool done =
                    few ? contest.finish(candidates[slot], bound,
                                         smallest[slot * static_cast<std::size_t>(room) + static_cast<std::size_t>(k - 1)],
                                         to, distances + i * k)
                        : contest.finish(candidates[slot], bound, to, distances + i * k);
                if (done) continue;
            }
            scan_rows(rescorer, queries.row(i), n, scanned);
            scanned.write(nearest + i * k, distances + i * k);
        }
    });
}

namespace {

// What is wanted of the rows that are inside for certain: how many they are, which they are, or (nothing is certain then)
// their distances too.
enum class Wanted { counts, rows, distances };

// For every query the rows that float32 cannot rule out: done(query, how many rows are inside for certain, these where
// they are wanted, the others, their squared distances).
template <class Done>
void screen_radius(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries, double squared_radius,
                   Wanted wanted, int threads, Done&& done) {
    const index_t n = rows.rows, d = rows.cols, panels = screen_panel_count(n);
    const Rounding rounding(screen, d);
    parallel_chunks(queries.rows, group, threads, [&](index_t, index_t begin, index_t end) {
        const ScreenPanels screen_panels = Compiled::choose();
        Rescorer rescorer(rows);
        CountSink sink(wanted == Wanted::rows);
        std::vector<float> packed(static_cast<std::size_t>(group * d));
        double norms[group];
        pack_queries(queries, begin, end - begin, screen, packed.data(), norms);
        for (int t = 0; t < group; ++t) {
            const bool live = begin + t < end && std::isfinite(norms[t]);
            const double error = live ? rounding.error(norms[t], rounding.largest_norm) : 0.0;
            const double middle =
                live ? 0.5 * (squared_radius * rounding.scale * rounding.scale - norms[t] * norms[t]) : 0.0;
            sink.counts[t] = 0;
            sink.bounds[static_cast<std::size_t>(t)] = live ? above(middle + error) : -FLT_MAX;
            sink.inside[t] = live && wanted != Wanted::distances ? -above(error - middle) : -FLT_MAX;
        }
        const Pass pass{screen.panels, screen.half_norms, d, packed.data(), 1};
        for (index_t from = 0; from < panels; from += panels_between_looks) {
            if (interrupted()) return;
            screen_panels(pass, from, std::min(panels, from + panels_between_looks), sink);
        }
        std::vector<double> exact;
        for (index_t i = begin; i < end; ++i) {
            const index_t t = i - begin;
            auto& doubtful = sink.doubtful[t];
            if (!std::isfinite(norms[t])) {
                doubtful.resize(static_cast<std::size_t>(n));
                for (index_t row = 0; row < n; ++row) doubtful[static_cast<std::size_t>(row)] = static_cast<int>(row);
            }
            exact.resize(doubtful.size());
            rescorer.score(queries.row(i), doubtful.data(), static_cast<index_t>(doubtful.size()), exact.data());
            done(i, sink.counts[t], sink.certain[t], doubtful, exact);
        }
    });
}

}  // namespace

void count_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries,
                     double squared_radius, std::int64_t* counts, int threads) {
    screen_radius(rows, screen, queries, squared_radius, Wanted::counts, threads,
                  [&](index_t i, std::int64_t certain, const auto&, const auto&, const std::vector<double>& exact) {
                      counts[i] = certain;
                      for (double distance : exact) counts[i] += distance <= squared_radius;
                  });
}

RadiusLists within_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries,
                             double squared_radius, int threads) {
    RadiusCollector collector(queries.rows);
    screen_radius(rows, screen, queries, squared_radius, Wanted::distances, threads,
                  [&](index_t i, std::int64_t, const auto&, const auto& listed, const std::vector<double>& exact) {
                      for (std::size_t c = 0; c < exact.size(); ++c)
                          if (exact[c] <= squared_radius) collector.add(i, exact[c], listed[c]);
                  });
    return collector.lists();
}

void rows_within_euclidean(Matrix<const double> rows, const Screen& screen, Matrix<const double> queries,
                           double squared_radius, int threads, const UseRows& use) {
    screen_radius(rows, screen, queries, squared_radius, Wanted::rows, threads,
                  [&](index_t i, std::int64_t, auto& certain, const auto& listed, const std::vector<double>& exact) {
                      for (std::size_t c = 0; c < exact.size(); ++c)
                          if (exact[c] <= squared_radius) certain.push_back(listed[c]);
                      use(i, certain);
                  });
}

}  // namespace assay::neighbours
