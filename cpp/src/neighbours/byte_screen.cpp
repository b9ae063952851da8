#include "assay/neighbours/byte_screen.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "assay/common/large_pages.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/neighbours/distance_reduce.hpp"
#include "rescorer.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ASSAY_HAS_BYTE_PRODUCTS 1
#define ASSAY_BYTES __attribute__((target("arch=x86-64-v4,avx512vnni")))
#endif

namespace assay::neighbours {

bool byte_products() {
#if defined(ASSAY_HAS_BYTE_PRODUCTS)
    static const bool supported = __builtin_cpu_supports("avx512vnni");
    return supported && simd_level() == Simd::avx512;
#else
    return false;
#endif
}

namespace {

constexpr index_t few_open = 8;  // up to here a float64 scan takes less time than another index

// The queries that bytes leave open, by the float32 screen, or by float64 where there are few or float32 cannot.
void nearest_of_open(Matrix<const double> rows, Matrix<const double> queries, const std::vector<index_t>& open, index_t k,
                     std::int64_t* nearest, double* distances, int threads) {
    const auto count = static_cast<index_t>(open.size()), d = rows.cols;
    const index_t padded = screen_panel_count(rows.rows) * screen_points;
    LargeVector<float> panels;
    std::vector<float> half_norms;
    std::vector<double> centre(static_cast<std::size_t>(d));
    ScreenScale scale;
    if (count > few_open) {
        panels.resize(static_cast<std::size_t>(padded * d));
        half_norms.resize(static_cast<std::size_t>(padded));
        scale = build_screen(rows, panels.data(), half_norms.data(), centre.data(), threads);
    }
    if (!scale.usable) {
        parallel_chunks(count, 1, threads, [&](index_t at, index_t, index_t) {
            Rescorer rescorer(rows);
            Nearest found(k);
            const index_t i = open[static_cast<std::size_t>(at)];
            scan_rows(rescorer, queries.row(i), rows.rows, found);
            found.write(nearest + i * k, distances + i * k);
        });
        return;
    }
    std::vector<double> asked(static_cast<std::size_t>(count * d)), reduced(static_cast<std::size_t>(count * k));
    std::vector<std::int64_t> found(static_cast<std::size_t>(count * k));
    for (index_t at = 0; at < count; ++at)
        std::copy_n(queries.row(open[static_cast<std::size_t>(at)]), d, asked.data() + at * d);
    const Screen screen{panels.data(), half_norms.data(), centre.data(), scale.scale, scale.largest_norm};
    nearest_euclidean(rows, screen, c_matrix<const double>(asked.data(), count, d), k, found.data(), reduced.data(), threads);
    for (index_t at = 0; at < count; ++at) {
        const index_t i = open[static_cast<std::size_t>(at)];
        std::copy_n(found.data() + at * k, k, nearest + i * k);
        std::copy_n(reduced.data() + at * k, k, distances + i * k);
    }
}

}  // namespace

#if !defined(ASSAY_HAS_BYTE_PRODUCTS)

double build_byte_screen(Matrix<const double>, const ByteArrays&, bool, int) { return 0.0; }
index_t nearest_by_bytes(Matrix<const double> rows, const ByteScreen&, Matrix<const double> queries, index_t k,
                         std::int64_t* nearest, double* distances, int threads) {
    std::vector<index_t> open;
    for (index_t i = 0; i < queries.rows; ++i) open.push_back(i);
    nearest_of_open(rows, queries, open, k, nearest, distances, threads);
    return queries.rows;
}

#else

namespace {

constexpr int lot = 16;               // rows that are rounded together, one per lane
constexpr int group = 12;             // queries of a register tile
constexpr index_t chunk_groups = 10;  // groups that meet a panel while it is in the first-level cache
constexpr index_t few_neighbours = 64;
constexpr index_t panels_between_looks = 4096;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float farthest_row = 0x1p30F, farthest_query = 0x1p20F, smallest_row = 0x1p-40F;
constexpr double first_limit = 0x1p28;  // rows at |a| > 2^30 are farther than this from queries with |b| < 2^20

// GCC 12 takes the forms without a mask for uses of uninitialised values.
constexpr std::uint16_t all_lanes = 0xFFFF;
ASSAY_BYTES ASSAY_INLINE __m512 as_floats(__m512i numbers) { return _mm512_maskz_cvtepi32_ps(all_lanes, numbers); }

// ---- rounding to bytes -------------------------------------------------------------------------------------------------

float sign_of(std::uint64_t number) {
    number = (number + 1) * 0x9E3779B97F4A7C15ULL;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBULL;
    return (number >> 63) != 0 ? -1.0F : 1.0F;
}

// The rotation of `width` columns: signs, a transform of the first 2^p columns, signs, a transform of the last 2^p.
struct Rotation {
    index_t width, block;
    std::vector<double> first;  // sign times scale, one per column
    std::vector<float> second;  // sign times 2^(-p/2), one per column of the first block
    float last;                 // 2^(-p/2)
    Rotation(index_t d, double scale)
        : width(byte_width(d)), block(static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(width)))),
          last(static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)))) {
        for (index_t j = 0; j < d; ++j) first.push_back(sign_of(static_cast<std::uint64_t>(j)) * scale);
        for (index_t j = 0; j < block; ++j)
            second.push_back(last * (block == width ? 1.0F : sign_of(static_cast<std::uint64_t>(width + j))));
    }
};

// Vectors of 16 floats on cache lines.
struct LotBuffer {
    explicit LotBuffer(index_t vectors)
        : memory_(static_cast<float*>(::operator new(static_cast<std::size_t>(vectors) * lot * sizeof(float),
                                                     std::align_val_t{64}))) {}
    LotBuffer(const LotBuffer&) = delete;
    ~LotBuffer() { ::operator delete(memory_, std::align_val_t{64}); }
    float* data() { return memory_; }

private:
    float* memory_;
};

// What is known of 16 rounded rows.
struct Rounded {
    alignas(64) float steps[lot], residuals[lot], sizes[lot];  // sizes: the largest coordinate, infinity if out of range
    alignas(64) std::int32_t squares[lot], sums[lot];
};

// The Walsh-Hadamard transform of 2^p vectors, without its factor.
ASSAY_BYTES void transform(float* z, index_t block) {
    index_t step = 1;
    for (; step * 4 <= block; step *= 4)
        for (index_t first = 0; first < block; first += 4 * step)
            for (index_t j = first; j < first + step; ++j) {
                float *p0 = z + j * lot, *p1 = p0 + step * lot, *p2 = p1 + step * lot, *p3 = p2 + step * lot;
                const __m512 a = _mm512_load_ps(p0), b = _mm512_load_ps(p1), c = _mm512_load_ps(p2), e = _mm512_load_ps(p3);
                const __m512 s = a + b, t = a - b, u = c + e, v = c - e;
                _mm512_store_ps(p0, s + u);
                _mm512_store_ps(p1, t + v);
                _mm512_store_ps(p2, s - u);
                _mm512_store_ps(p3, t - v);
            }
    for (; step * 2 <= block; step *= 2)
        for (index_t j = 0; j < step; ++j) {
            float *p0 = z + j * lot, *p1 = p0 + step * lot;
            const __m512 a = _mm512_load_ps(p0), b = _mm512_load_ps(p1);
            _mm512_store_ps(p0, a + b);
            _mm512_store_ps(p1, a - b);
        }
}

// Rounds `count` rows (lanes after them hold zeros). work: width x 16; words: word w of lane l goes to
// words[w * stride + l], each number raised by `shift`.
ASSAY_BYTES void round_rows(Matrix<const double> rows, index_t begin, index_t count, const double* centre,
                            const Rotation& turn, float* work, std::int32_t shift, std::int32_t* words, index_t stride,
                            Rounded& out) {
    const index_t d = rows.cols, width = turn.width, block = turn.block;
    std::fill(work, work + width * lot, 0.0F);
    const double* const first = turn.first.data();
    for (index_t from = 0; from < d; from += 8) {
        const index_t to = std::min(d, from + 8);
        for (index_t lane = 0; lane < count; ++lane) {
            const double* row = rows.row(begin + lane);
            for (index_t j = from; j < to; ++j)
                work[j * lot + lane] = static_cast<float>((row[j] - centre[j]) * first[j]);
        }
    }
    transform(work, block);
    for (index_t j = 0; j < block; ++j)
        _mm512_store_ps(work + j * lot,
                        _mm512_load_ps(work + j * lot) * _mm512_set1_ps(turn.second[static_cast<std::size_t>(j)]));
    if (block < width) {
        float* const tail = work + (width - block) * lot;
        transform(tail, block);
        for (index_t j = 0; j < block; ++j)
            _mm512_store_ps(tail + j * lot, _mm512_load_ps(tail + j * lot) * _mm512_set1_ps(turn.last));
    }
    alignas(64) float most[lot] = {}, inverse[lot];
    for (index_t j = 0; j < width; ++j)
        for (int lane = 0; lane < lot; ++lane) {
            const float size = std::abs(work[j * lot + lane]);
            most[lane] = size > most[lane] ? size : most[lane];
        }
    for (int lane = 0; lane < lot; ++lane) {
        const bool usable = most[lane] >= smallest_row && most[lane] <= farthest_row;
        inverse[lane] = usable ? 127.0F / most[lane] : 0.0F;
        out.steps[lane] = usable ? most[lane] / 127.0F : 0.0F;
    }
    const __m512 step = _mm512_load_ps(out.steps), scale = _mm512_load_ps(inverse);
    __m512 left = _mm512_setzero_ps();
    __m512i squares = _mm512_setzero_si512(), sums = _mm512_setzero_si512();
    const __m512i raised = _mm512_set1_epi32(shift), byte = _mm512_set1_epi32(0xFF);
    for (index_t w = 0; w < width / 4; ++w) {
        __m512i word = _mm512_setzero_si512();
        for (int part = 3; part >= 0; --part) {
            const __m512 z = _mm512_load_ps(work + (4 * w + part) * lot);
            const __m512i number = _mm512_maskz_cvtps_epi32(all_lanes, z * scale);
            const __m512 rest = _mm512_fnmadd_ps(step, as_floats(number), z);
            left = _mm512_fmadd_ps(rest, rest, left);
            squares = _mm512_add_epi32(squares, _mm512_mullo_epi32(number, number));
            sums = _mm512_add_epi32(sums, number);
            word = _mm512_or_si512(_mm512_maskz_slli_epi32(all_lanes, word, 8),
                                   _mm512_and_si512(_mm512_add_epi32(number, raised), byte));
        }
        _mm512_storeu_si512(words + w * stride, word);
    }
    _mm512_store_si512(out.squares, squares);
    _mm512_store_si512(out.sums, sums);
    alignas(64) float rests[lot];
    _mm512_store_ps(rests, left);
    for (int lane = 0; lane < lot; ++lane) {
        const double rounded = out.steps[lane] * std::sqrt(static_cast<double>(out.squares[lane]));
        const double rest = std::sqrt(static_cast<double>(rests[lane])) * (1.0 + 0x1p-10);
        const double residual = rest + 0x1p-17 * (rounded + rest) + 0x1p-50;  // the last: squares below the range
        const bool finite = most[lane] <= farthest_row && rests[lane] < infinity;
        out.residuals[lane] = finite ? std::nextafter(static_cast<float>(residual), infinity) : 0.0F;
        out.sizes[lane] = finite ? most[lane] : infinity;
    }
}

double rounded_square(const Rounded& rounded, int lane) {
    return static_cast<double>(rounded.steps[lane]) * rounded.steps[lane] * rounded.squares[lane];
}

// ---- candidates ----------------------------------------------------------------------------------------------------------

struct Candidate {
    float low, high;  // bounds of the distance
    std::int32_t row;
};

struct Scored {
    double distance;
    std::int64_t row;
    bool operator<(const Scored& other) const {
        return distance < other.distance || (distance == other.distance && row < other.row);
    }
};

struct Query {
    Candidate* candidates = nullptr;
    float* smallest = nullptr;  // few neighbours: the least upper bounds, ascending
    const double* point = nullptr;
    double residual = 0.0, square = 0.0, size = 0.0;  // f, |b^|^2, |b^|
    double limit = first_limit;                       // T
    index_t count = 0;
    bool open = true;
};

// The sides of a chunk of queries that the register tile reads, and the candidates it fills.
struct Chunk {
    std::vector<float> reach, bounds, steps;  // u, the right side, step_b
    std::vector<std::int32_t> starts;         // -128 times the sum of the numbers: rows are kept raised by 128
    std::vector<std::int32_t> words;          // groups x width/4 x 12
    std::vector<Query> queries;
    std::vector<int> searching;  // queries of each group that are not left open
};

// A float that is not below the value.
inline float above(double value) { return static_cast<float>(value + (std::abs(value) * 0x1p-23 + 0x1p-120)); }

class Contest {
public:
    Contest(Matrix<const double> rows, double scale, index_t k)
        : capacity(std::max<index_t>(2 * k, k + 768)), k_(k), scale_(scale), rescorer_(rows) {}

    const index_t capacity;
    index_t k() const { return k_; }

    void set_limit(Chunk& chunk, index_t at, double limit) const {
        Query& query = chunk.queries[static_cast<std::size_t>(at)];
        query.limit = std::min(query.limit, limit);
        const double u = (query.limit + query.residual) * (1.0 + 0x1p-20), w = query.size + u;
        const double right = 0.5 * (u * u - query.square) + 0x1p-19 * w * w + 0x1p-80;  // the last: rows of about zero
        chunk.reach[static_cast<std::size_t>(at)] = above(u);
        chunk.bounds[static_cast<std::size_t>(at)] = above(right);
    }

    void leave_open(Chunk& chunk, index_t at) const {
        Query& query = chunk.queries[static_cast<std::size_t>(at)];
        chunk.searching[static_cast<std::size_t>(at / group)] -= query.open;
        query.open = false;
        query.count = 0;
        chunk.bounds[static_cast<std::size_t>(at)] = -FLT_MAX;
    }

    // Makes room in a full list.
    void tighten(Chunk& chunk, index_t at) {
        Query& query = chunk.queries[static_cast<std::size_t>(at)];
        if (query.smallest == nullptr && query.count >= k_) {
            highs_.clear();
            for (index_t i = 0; i < query.count; ++i) highs_.push_back(query.candidates[i].high);
            std::nth_element(highs_.begin(), highs_.begin() + (k_ - 1), highs_.end());
            query.limit = std::min(query.limit, static_cast<double>(highs_[static_cast<std::size_t>(k_ - 1)]));
        }
        keep_below(query);
        if (query.count > (capacity + k_) / 2) {
            measure_best(query);
            keep_below(query);
        }
        set_limit(chunk, at, query.limit);
        if (query.count > k_ + (capacity - k_) / 4 * 3) leave_open(chunk, at);
    }

    bool finish(Query& query, std::int64_t* rows, double* distances) {
        if (!query.open || query.count < k_) return false;
        keep_below(query);
        if (query.count < k_) return false;
        measure_best(query);
        // The first k are measured; of the others those that may be nearer.
        index_t kept = k_;
        for (index_t i = k_; i < query.count; ++i)
            if (query.candidates[i].low <= query.limit) query.candidates[kept++] = query.candidates[i];
        measure(query, k_, kept);
        std::sort(scored_.begin(), scored_.end());
        for (index_t i = 0; i < k_; ++i) {
            rows[i] = scored_[static_cast<std::size_t>(i)].row;
            distances[i] = scored_[static_cast<std::size_t>(i)].distance;
        }
        return true;
    }

private:
    static void keep_below(Query& query) {
        index_t kept = 0;
        for (index_t i = 0; i < query.count; ++i)
            if (query.candidates[i].low <= query.limit) query.candidates[kept++] = query.candidates[i];
        query.count = kept;
    }

    // Appends the float64 distances of the candidates [from, to).
    void measure(const Query& query, index_t from, index_t to) {
        listed_.clear();
        for (index_t i = from; i < to; ++i) listed_.push_back(query.candidates[i].row);
        exact_.resize(listed_.size());
        rescorer_.score(query.point, listed_.data(), to - from, exact_.data());
        for (std::size_t i = 0; i < listed_.size(); ++i) scored_.push_back({exact_[i], listed_[i]});
    }

    // Puts the k candidates with the least lower bounds first, measures them, and lowers the limit to the farthest.
    void measure_best(Query& query) {
        std::nth_element(query.candidates, query.candidates + (k_ - 1), query.candidates + query.count,
                         [](const Candidate& a, const Candidate& b) {
                             return a.low < b.low || (a.low == b.low && a.row < b.row);
                         });
        scored_.clear();
        measure(query, 0, k_);
        double farthest = 0.0;
        for (const Scored& one : scored_) farthest = std::max(farthest, one.distance);
        query.limit = std::min(query.limit, std::sqrt(farthest) * scale_ * (1.0 + 1e-9));
    }

    index_t k_;
    double scale_;
    Rescorer rescorer_;
    std::vector<float> highs_;
    std::vector<std::int32_t> listed_;
    std::vector<double> exact_;
    std::vector<Scored> scored_;
};

// ---- the register tile -----------------------------------------------------------------------------------------------------

#define ASSAY_UNROLL _Pragma("GCC unroll 12")

// sums += the products of four unsigned and four signed bytes in each lane; by intrinsic, GCC 12 copies every sum.
ASSAY_BYTES ASSAY_INLINE void add_products(__m512i& sums, __m512i raised, __m512i numbers) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(raised), "v"(numbers));
}

// Puts the upper bounds of the candidates from `first` on into the sorted vectors of the smallest.
template <int vectors>
ASSAY_BYTES ASSAY_INLINE void insert_highs(const Query& query, index_t first) {
    __m512 smallest[vectors];
    for (int v = 0; v < vectors; ++v) smallest[v] = _mm512_loadu_ps(query.smallest + 16 * v);
    const __m512i lowest = _mm512_castps_si512(_mm512_set1_ps(-FLT_MAX));
    for (index_t i = first; i < query.count; ++i) {
        const __m512 value = _mm512_set1_ps(query.candidates[i].high);
        // A sorted vector with one more value: each lane is the smaller of itself and max(value, its left neighbour).
        __m512i left = lowest;
        for (int v = 0; v < vectors; ++v) {
            const __m512i old = _mm512_castps_si512(smallest[v]);
            const __m512 shifted = _mm512_castsi512_ps(_mm512_maskz_alignr_epi32(all_lanes, old, left, 15));
            smallest[v] = _mm512_maskz_min_ps(all_lanes, smallest[v], _mm512_maskz_max_ps(all_lanes, value, shifted));
            left = old;
        }
    }
    for (int v = 0; v < vectors; ++v) _mm512_storeu_ps(query.smallest + 16 * v, smallest[v]);
}

// Takes the rows of a panel that pass the bound of a query.
ASSAY_BYTES __attribute__((noinline)) void take(const ByteScreen& screen, Chunk& chunk, Contest& contest, index_t at,
                                                std::uint32_t hits, const std::int32_t* products, std::int32_t row) {
    Query& query = chunk.queries[static_cast<std::size_t>(at)];
    if (!query.open) return;  // norms that no rounding gives pass every bound
    const index_t before = query.count;
    const auto square = static_cast<float>(query.square), residual = static_cast<float>(query.residual * (1.0 + 0x1p-20));
    const float step = 2.0F * chunk.steps[static_cast<std::size_t>(at)];
    const float *half_norms = screen.half_norms + row, *steps = screen.steps + row, *residuals = screen.residuals + row;
    const auto bounds_of = [&](int lane, float& low, float& high) {
        const float e = residuals[lane], norm = 2.0F * half_norms[lane] + e * e;
        const float squared = norm + square - step * (steps[lane] * static_cast<float>(products[lane]));
        const float rounding = 0x1p-18F * (norm + square), margin = e + residual;
        const float under = squared - rounding, over = squared + rounding;
        low = std::sqrt(under > 0.0F ? under : 0.0F) * (1.0F - 0x1p-20F) - margin;
        high = std::sqrt(over > 0.0F ? over : 0.0F) * (1.0F + 0x1p-20F) + margin;
    };
    const auto limit = static_cast<float>(query.limit * (1.0 + 0x1p-22));
    if (__builtin_popcount(hits) <= 4) {
        for (; hits != 0; hits &= hits - 1) {
            const int lane = __builtin_ctz(hits);
            float low, high;
            bounds_of(lane, low, high);
            query.candidates[query.count] = {low, high, row + lane};
            query.count += low <= limit;
        }
    } else {
        float low[byte_points], high[byte_points];
        for (int lane = 0; lane < byte_points; ++lane) bounds_of(lane, low[lane], high[lane]);
        for (; hits != 0; hits &= hits - 1) {
            const int lane = __builtin_ctz(hits);
            query.candidates[query.count] = {low[lane], high[lane], row + lane};
            query.count += low[lane] <= limit;
        }
    }
    if (query.smallest != nullptr && query.count > before) {
        switch ((contest.k() + 15) / 16) {
            case 1: insert_highs<1>(query, before); break;
            case 2: insert_highs<2>(query, before); break;
            case 3: insert_highs<3>(query, before); break;
            default: insert_highs<4>(query, before);
        }
        const float kth = query.smallest[contest.k() - 1];
        if (kth < query.limit) contest.set_limit(chunk, at, kth);
    }
    if (query.count + byte_points > contest.capacity) contest.tighten(chunk, at);
}

ASSAY_BYTES void screen_panels(const ByteScreen& screen, index_t width, index_t first, index_t last, Chunk& chunk,
                               Contest& contest) {
    const index_t words = width / 4, groups = static_cast<index_t>(chunk.searching.size());
    alignas(64) std::int32_t tile[group * byte_points];
    for (index_t panel = first; panel < last; ++panel) {
        const index_t row = panel * byte_points;
        const std::uint8_t* const bytes = screen.panels + row * width;
        for (index_t g = 0; g < groups; ++g) {
            if (chunk.searching[static_cast<std::size_t>(g)] == 0) continue;
            const index_t query = g * group;
            __m512i product[group][2];
            ASSAY_UNROLL
            for (int t = 0; t < group; ++t)
                product[t][0] = product[t][1] = _mm512_set1_epi32(chunk.starts[static_cast<std::size_t>(query + t)]);
            const std::uint8_t* x = bytes;
            const std::int32_t* q = chunk.words.data() + query * words;
            for (index_t w = 0; w < words; ++w, x += 4 * byte_points, q += group) {
                const __m512i x0 = _mm512_loadu_si512(x), x1 = _mm512_loadu_si512(x + 64);
                ASSAY_UNROLL
                for (int t = 0; t < group; ++t) {
                    const __m512i value = _mm512_set1_epi32(q[t]);
                    add_products(product[t][0], x0, value);
                    add_products(product[t][1], x1, value);
                }
            }
            std::uint32_t hits[group], some = 0;
            const __m512 n0 = _mm512_loadu_ps(screen.half_norms + row), n1 = _mm512_loadu_ps(screen.half_norms + row + 16);
            const __m512 s0 = _mm512_loadu_ps(screen.steps + row), s1 = _mm512_loadu_ps(screen.steps + row + 16);
            const __m512 e0 = _mm512_loadu_ps(screen.residuals + row), e1 = _mm512_loadu_ps(screen.residuals + row + 16);
            ASSAY_UNROLL
            for (int t = 0; t < group; ++t) {
                const auto at = static_cast<std::size_t>(query + t);
                const __m512 u = _mm512_set1_ps(chunk.reach[at]), step = _mm512_set1_ps(chunk.steps[at]);
                const __m512 bound = _mm512_set1_ps(chunk.bounds[at]);
                const __m512 p0 = as_floats(product[t][0]) * s0, p1 = as_floats(product[t][1]) * s1;
                const __m512 left0 = _mm512_fnmadd_ps(p0, step, _mm512_fnmadd_ps(u, e0, n0));
                const __m512 left1 = _mm512_fnmadd_ps(p1, step, _mm512_fnmadd_ps(u, e1, n1));
                hits[t] = _mm512_kunpackw(_mm512_cmp_ps_mask(left1, bound, _CMP_LE_OQ),
                                          _mm512_cmp_ps_mask(left0, bound, _CMP_LE_OQ));
                some |= static_cast<std::uint32_t>(hits[t] != 0) << t;
            }
            if (some == 0) continue;
            ASSAY_UNROLL
            for (int t = 0; t < group; ++t) {
                _mm512_store_si512(tile + t * byte_points, product[t][0]);
                _mm512_store_si512(tile + t * byte_points + 16, product[t][1]);
            }
            for (; some != 0; some &= some - 1) {
                const int t = __builtin_ctz(some);
                take(screen, chunk, contest, query + t, hits[t], tile + t * byte_points, static_cast<std::int32_t>(row));
            }
        }
    }
}

// Rounds and packs the queries [begin, end).
Chunk open_chunk(Matrix<const double> queries, index_t begin, index_t end, const ByteScreen& screen, const Rotation& turn,
                 const Contest& contest, Candidate* candidates, std::vector<float>& smallest) {
    const index_t groups = (end - begin + group - 1) / group, words = turn.width / 4;
    const auto slots = static_cast<std::size_t>(groups * group);
    Chunk chunk{std::vector<float>(slots),
                std::vector<float>(slots, -FLT_MAX),
                std::vector<float>(slots),
                std::vector<std::int32_t>(slots),
                std::vector<std::int32_t>(slots * static_cast<std::size_t>(words)),
                std::vector<Query>(slots),
                std::vector<int>(static_cast<std::size_t>(groups), group)};
    const bool few = contest.k() <= few_neighbours;
    const auto kept = static_cast<std::size_t>((contest.k() + 15) / 16 * 16);
    if (few) smallest.assign(slots * kept, FLT_MAX);
    LotBuffer work(turn.width);
    std::vector<std::int32_t> lanes(static_cast<std::size_t>(words * lot));
    Rounded rounded;
    for (index_t first = 0; first < groups * group; first += lot) {
        const index_t used = std::clamp<index_t>(end - begin - first, 0, lot);
        round_rows(queries, begin + first, used, screen.centre, turn, work.data(), 0, lanes.data(), lot,
                   rounded);
        for (int lane = 0; lane < lot && first + lane < groups * group; ++lane) {
            const index_t at = first + lane;
            const auto slot = static_cast<std::size_t>(at);
            Query& query = chunk.queries[slot];
            query.candidates = candidates + at * contest.capacity;
            if (few) query.smallest = smallest.data() + slot * kept;
            query.residual = rounded.residuals[lane];
            query.square = rounded_square(rounded, lane);
            query.size = std::sqrt(query.square);
            chunk.steps[slot] = rounded.steps[lane];
            chunk.starts[slot] = -128 * rounded.sums[lane];
            for (index_t w = 0; w < words; ++w)
                chunk.words[static_cast<std::size_t>(at / group * group * words + w * group + at % group)] =
                    lanes[static_cast<std::size_t>(w * lot + lane)];
            if (lane < used && rounded.sizes[lane] < farthest_query) {
                query.point = queries.row(begin + at);
                contest.set_limit(chunk, at, first_limit);
            } else {
                contest.leave_open(chunk, at);
            }
        }
    }
    return chunk;
}

// The medians of the columns of a sample, and the power of two that takes the median size of a row to 1.
double choose_centre(Matrix<const double> rows, double* centre, int threads) {
    const index_t d = rows.cols, stride = std::max<index_t>(1, rows.rows / 128), sample = (rows.rows + stride - 1) / stride;
    std::vector<double> columns(static_cast<std::size_t>(d * sample)), lengths(static_cast<std::size_t>(sample), 0.0);
    for (index_t i = 0; i < sample; ++i)
        for (index_t j = 0; j < d; ++j) columns[static_cast<std::size_t>(j * sample + i)] = rows(i * stride, j);
    parallel_chunks(d, 16, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t j = begin; j < end; ++j) {
            double* const column = columns.data() + j * sample;
            std::nth_element(column, column + sample / 2, column + sample);
            centre[j] = column[sample / 2];
        }
    });
    for (index_t i = 0; i < sample; ++i)
        for (index_t j = 0; j < d; ++j)
            lengths[static_cast<std::size_t>(i)] =
                std::max(lengths[static_cast<std::size_t>(i)], std::abs(rows(i * stride, j) - centre[j]));
    std::nth_element(lengths.begin(), lengths.begin() + sample / 2, lengths.end());
    double length = lengths[static_cast<std::size_t>(sample / 2)];
    if (length == 0.0) length = *std::max_element(lengths.begin(), lengths.end());
    if (!(length < 0x1p400) || (length > 0.0 && length < 0x1p-400)) return 0.0;
    return length > 0.0 ? std::ldexp(1.0, -(std::ilogb(length) + 1)) : 1.0;
}

// open[i]: whether query i is left open.
void screen_queries(Matrix<const double> rows, const ByteScreen& screen, Matrix<const double> queries, index_t k,
                    std::int64_t* nearest, double* distances, std::uint8_t* open, int threads) {
    const Rotation turn(rows.cols, screen.scale);
    const index_t panels = byte_panel_count(rows.rows);
    parallel_chunks(queries.rows, chunk_groups * group, threads, [&](index_t, index_t begin, index_t end) {
        Contest contest(rows, screen.scale, k);
        const index_t slots = (end - begin + group - 1) / group * group;
        std::unique_ptr<Candidate[]> candidates(new Candidate[static_cast<std::size_t>(slots * contest.capacity)]);
        std::vector<float> smallest;
        Chunk chunk = open_chunk(queries, begin, end, screen, turn, contest, candidates.get(), smallest);
        for (index_t from = 0; from < panels; from += panels_between_looks) {
            if (interrupted()) return;
            screen_panels(screen, turn.width, from, std::min(panels, from + panels_between_looks), chunk, contest);
        }
        for (index_t i = begin; i < end; ++i)
            open[i] = !contest.finish(chunk.queries[static_cast<std::size_t>(i - begin)], nearest + i * k, distances + i * k);
    });
}

// Whether most of a few rows find their neighbours in bytes.
bool pays(Matrix<const double> rows, const ByteScreen& screen, int threads) {
    const index_t asked = std::min<index_t>(2 * group, rows.rows), k = std::min<index_t>(16, rows.rows);
    std::vector<std::int64_t> nearest(static_cast<std::size_t>(asked * k));
    std::vector<double> distances(static_cast<std::size_t>(asked * k));
    std::vector<std::uint8_t> open(static_cast<std::size_t>(asked), 1);
    const Matrix<const double> queries{rows.data, asked, rows.cols, rows.row_stride * (rows.rows / asked), rows.col_stride};
    screen_queries(rows, screen, queries, k, nearest.data(), distances.data(), open.data(), threads);
    return std::count(open.begin(), open.end(), 1) * 2 <= asked;
}

}  // namespace

double build_byte_screen(Matrix<const double> rows, const ByteArrays& out, bool only_if_it_pays, int threads) {
    const index_t n = rows.rows, d = rows.cols;
    if (!byte_products() || n < 1 || d < 1 || d > most_byte_columns || n >= INT32_MAX - byte_points) return 0.0;
    const double scale = choose_centre(rows, out.centre, threads);
    if (scale == 0.0) return 0.0;
    const Rotation turn(d, scale);
    parallel_chunks(byte_panel_count(n), 32, threads, [&](index_t, index_t begin, index_t end) {
        LotBuffer work(turn.width);
        Rounded rounded;
        for (index_t panel = begin; panel < end; ++panel)
            for (int half = 0; half < byte_points; half += lot) {
                const index_t first = panel * byte_points + half, used = std::clamp<index_t>(n - first, 0, lot);
                round_rows(rows, first, used, out.centre, turn, work.data(), 128,
                           reinterpret_cast<std::int32_t*>(out.panels + panel * byte_points * turn.width) + half,
                           byte_points, rounded);
                for (int lane = 0; lane < lot; ++lane) {
                    const index_t row = first + lane;
                    const bool usable = row < n && rounded.sizes[lane] < infinity;
                    const double e = rounded.residuals[lane];
                    out.half_norms[row] =
                        usable ? static_cast<float>(0.5 * (rounded_square(rounded, lane) - e * e)) : infinity;
                    out.steps[row] = usable ? rounded.steps[lane] : 0.0F;
                    out.residuals[row] = usable ? rounded.residuals[lane] : 0.0F;
                }
            }
    });
    const ByteScreen screen{out.panels, out.half_norms, out.steps, out.residuals, out.centre, scale};
    return !only_if_it_pays || pays(rows, screen, threads) ? scale : 0.0;
}

index_t nearest_by_bytes(Matrix<const double> rows, const ByteScreen& screen, Matrix<const double> queries, index_t k,
                         std::int64_t* nearest, double* distances, int threads) {
    std::vector<std::uint8_t> marks(static_cast<std::size_t>(queries.rows), 1);
    if (byte_products() && k <= most_byte_neighbours)
        screen_queries(rows, screen, queries, k, nearest, distances, marks.data(), threads);
    std::vector<index_t> open;
    for (index_t i = 0; i < queries.rows; ++i)
        if (marks[static_cast<std::size_t>(i)] != 0) open.push_back(i);
    if (!open.empty() && !interrupted()) nearest_of_open(rows, queries, open, k, nearest, distances, threads);
    return static_cast<index_t>(open.size());
}

#endif

}  // namespace assay::neighbours
