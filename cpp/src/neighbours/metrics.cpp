#include "assay/neighbours/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::neighbours {
namespace {

// `width` doubles side by side; `Mask` is what comparing two of them gives.
template <int width>
struct Lanes {
    typedef double Value __attribute__((vector_size(width * sizeof(double))));
    typedef long long Mask __attribute__((vector_size(width * sizeof(double))));
};

template <class L>
ASSAY_INLINE void absolute(typename L::Value& x) {
    x = (typename L::Value)((typename L::Mask)x & 0x7fffffffffffffffLL);
}

// A policy adds the term of one column (`step`) and turns the sums into a distance (`finish`). `skips_missing`: columns
// where the query is NaN are left out.
struct SumPolicy {
    static constexpr bool skips_missing = false;
    template <class L>
    ASSAY_INLINE void finish(typename L::Value&, const typename L::Value&, index_t, index_t) {}
};

struct Euclidean : SumPolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q, double) {
        const typename L::Value difference = x - q;
        total += difference * difference;
    }
};

struct Manhattan : SumPolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q, double) {
        typename L::Value difference = x - q;
        absolute<L>(difference);
        total += difference;
    }
};

struct Chebyshev : SumPolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q, double) {
        typename L::Value difference = x - q;
        absolute<L>(difference);
        total = difference > total ? difference : total;
    }
};

struct Minkowski : SumPolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q,
                           double p) {
        constexpr int width = sizeof(typename L::Value) / sizeof(double);
        for (int i = 0; i < width; ++i) total[i] += std::pow(std::abs(x[i] - q), p);
    }
};

struct SharePolicy : SumPolicy {
    template <class L>
    ASSAY_INLINE void finish(typename L::Value& total, const typename L::Value&, index_t d, index_t) {
        total = total / static_cast<double>(d);
    }
};

struct Hamming : SharePolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q, double) {
        const typename L::Value none{}, one = none + 1.0, other = none + q;
        total += x != other ? one : none;
    }
};

struct Matching : SharePolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q, double) {
        const typename L::Value none{}, one = none + 1.0;
        if (q != 0.0)
            total += x != none ? none : one;
        else
            total += x != none ? one : none;
    }
};

struct Jaccard : SumPolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value& present, const typename L::Value& x, double q,
                           double) {
        const typename L::Value none{}, one = none + 1.0;
        if (q != 0.0) {
            total += x != none ? none : one;
            present += one;
        } else {
            total += x != none ? one : none;
            present += x != none ? one : none;
        }
    }
    template <class L>
    ASSAY_INLINE void finish(typename L::Value& total, const typename L::Value& present, index_t, index_t) {
        const typename L::Value none{}, one = none + 1.0;
        total = total / (present > none ? present : one);
    }
};

struct Cosine : SumPolicy {
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value&, const typename L::Value& x, double q, double) {
        total += x * q;
    }
    template <class L>
    ASSAY_INLINE void finish(typename L::Value& total, const typename L::Value&, index_t, index_t) {
        const typename L::Value none{}, distance = 1.0 - total;
        total = distance > none ? distance : none;
    }
};

struct PresentEuclidean : Euclidean {
    static constexpr bool skips_missing = true;
    template <class L>
    ASSAY_INLINE void finish(typename L::Value& total, const typename L::Value&, index_t d, index_t used) {
        total = total * (used > 0 ? static_cast<double>(d) / static_cast<double>(used) : 0.0);
    }
};

struct KnownEuclidean : SumPolicy {
    static constexpr bool skips_missing = true;
    template <class L>
    ASSAY_INLINE void step(typename L::Value& total, typename L::Value& compared, const typename L::Value& x, double q,
                           double) {
        const typename L::Value none{}, one = none + 1.0, difference = x - q;
        total += difference == difference ? difference * difference : none;
        compared += difference == difference ? one : none;
    }
    template <class L>
    ASSAY_INLINE void finish(typename L::Value& total, const typename L::Value& compared, index_t d, index_t used) {
        const typename L::Value none{}, one = none + 1.0;
        const typename L::Value scaled = total * (static_cast<double>(d) / (compared > none ? compared : one));
        const double otherwise = used > 0 ? __builtin_inf() : 0.0;
        total = compared > none ? scaled : none + otherwise;
    }
};

// `together` panels at a time: their sums are independent, which hides the latency of the additions.
template <class Policy, int width, int together>
ASSAY_INLINE void panels_body(const double* query, const double* panels, index_t d, const MetricOptions& options,
                              double* distances) {
    using L = Lanes<width>;
    using Value = typename L::Value;
    static_assert(sizeof(Value) == width * sizeof(double));
    constexpr int parts = panel_lanes / width;
    Value total[together][parts] = {}, extra[together][parts] = {};
    index_t used = 0;
    for (index_t j = 0; j < d; ++j) {
        const double q = query[j];
        if constexpr (Policy::skips_missing)
            if (q != q) continue;
        ++used;
#pragma GCC unroll 8
        for (int b = 0; b < together; ++b) {
#pragma GCC unroll 8
            for (int part = 0; part < parts; ++part) {
                Value x;
                std::memcpy(&x, panels + (b * d + j) * panel_lanes + part * width, sizeof x);
                Policy::template step<L>(total[b][part], extra[b][part], x, q, options.p);
            }
        }
    }
#pragma GCC unroll 8
    for (int b = 0; b < together; ++b) {
#pragma GCC unroll 8
        for (int part = 0; part < parts; ++part) {
            Policy::template finish<L>(total[b][part], extra[b][part], d, used);
            std::memcpy(distances + b * panel_lanes + part * width, &total[b][part], sizeof(Value));
        }
    }
}

template <class Policy, int width>
ASSAY_INLINE void distances_body(const double* query, const double* panels, index_t count, index_t d,
                                 const MetricOptions& options, double* distances) {
    constexpr int together = width == 8 ? 4 : 1;  // what the register file holds
    index_t b = 0;
    for (; b + together <= count; b += together)
        panels_body<Policy, width, together>(query, panels + b * d * panel_lanes, d, options,
                                             distances + b * panel_lanes);
    for (; b < count; ++b)
        panels_body<Policy, width, 1>(query, panels + b * d * panel_lanes, d, options, distances + b * panel_lanes);
}

// The mixed metric in plain loops over lanes, compiled for each kind of column: comparisons of vector types would be
// taken apart lane by lane before the instruction set is known, and x == x would become a branch.
constexpr std::uint64_t infinite = std::uint64_t{0x7FF} << 53;  // the bits of infinity without the sign; NaN is above
template <index_t together, bool nominal, bool complete>
ASSAY_INLINE void mixed_column(const double* column, index_t stride, double q, double* total, double* compared) {
    for (index_t b = 0; b < together; ++b)
        for (index_t i = 0; i < panel_lanes; ++i) {
            const double x = column[b * stride + i];
            const double term = nominal ? (x != q ? 1.0 : 0.0) : std::abs(x - q);
            if constexpr (complete) {
                total[b * panel_lanes + i] += term;
            } else {
                const std::uint64_t present = std::bit_cast<std::uint64_t>(x) << 1 > infinite ? 0 : ~std::uint64_t{0};
                total[b * panel_lanes + i] += std::bit_cast<double>(std::bit_cast<std::uint64_t>(term) & present);
                compared[b * panel_lanes + i] += std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0) & present);
            }
        }
}

template <index_t together>
ASSAY_INLINE void mixed_panels(const double* query, const double* panels, index_t d, const MetricOptions& options,
                               double* distances) {
    constexpr index_t lanes = together * panel_lanes;
    const index_t stride = d * panel_lanes;
    alignas(64) double total[lanes] = {}, compared[lanes] = {};
    double always = 0.0;
    for (index_t j = 0; j < d; ++j) {
        const double q = query[j];
        if (q != q) continue;
        const double* const column = panels + j * panel_lanes;
        const bool nominal = options.nominal != nullptr && options.nominal[j] != 0;
        if (options.complete != nullptr && options.complete[j] != 0) {
            always += 1.0;
            if (nominal) mixed_column<together, true, true>(column, stride, q, total, compared);
            else mixed_column<together, false, true>(column, stride, q, total, compared);
        } else {
            if (nominal) mixed_column<together, true, false>(column, stride, q, total, compared);
            else mixed_column<together, false, false>(column, stride, q, total, compared);
        }
    }
    for (index_t i = 0; i < lanes; ++i) {
        const double columns = compared[i] + always;
        distances[i] = columns > 0.0 ? total[i] / (columns > 0.0 ? columns : 1.0) : 1.0;
    }
}

ASSAY_INLINE void mixed_body(const double* query, const double* panels, index_t count, index_t d,
                             const MetricOptions& options, double* distances) {
    index_t b = 0;
    for (; b + 4 <= count; b += 4)
        mixed_panels<4>(query, panels + b * d * panel_lanes, d, options, distances + b * panel_lanes);
    for (; b < count; ++b)
        mixed_panels<1>(query, panels + b * d * panel_lanes, d, options, distances + b * panel_lanes);
}
ASSAY_DISPATCH(void, mixed_distances, mixed_body,
               (const double* query, const double* panels, index_t count, index_t d, const MetricOptions& options,
                double* distances),
               (query, panels, count, d, options, distances))

// One compiled function per policy and instruction set (each wants its own vector width).
template <class Policy>
struct Compiled {
#if defined(__x86_64__) && defined(__GNUC__)
    __attribute__((target("arch=x86-64-v4"))) static void avx512(const double* query, const double* panels,
                                                                 index_t count, index_t d,
                                                                 const MetricOptions& options, double* distances) {
        distances_body<Policy, 8>(query, panels, count, d, options, distances);
    }
    __attribute__((target("arch=x86-64-v3"))) static void avx2(const double* query, const double* panels, index_t count,
                                                               index_t d, const MetricOptions& options,
                                                               double* distances) {
        distances_body<Policy, 4>(query, panels, count, d, options, distances);
    }
#endif
    static void baseline(const double* query, const double* panels, index_t count, index_t d,
                         const MetricOptions& options, double* distances) {
        distances_body<Policy, 2>(query, panels, count, d, options, distances);
    }
    static PanelDistances choose() {
#if defined(__x86_64__) && defined(__GNUC__)
        if (simd_level() == Simd::avx512) return &avx512;
        if (simd_level() == Simd::avx2) return &avx2;
#endif
        return &baseline;
    }
};

}  // namespace

PanelDistances panel_distances(Metric metric) {
    switch (metric) {
        case Metric::euclidean: return Compiled<Euclidean>::choose();
        case Metric::manhattan: return Compiled<Manhattan>::choose();
        case Metric::chebyshev: return Compiled<Chebyshev>::choose();
        case Metric::minkowski: return Compiled<Minkowski>::choose();
        case Metric::hamming: return Compiled<Hamming>::choose();
        case Metric::matching: return Compiled<Matching>::choose();
        case Metric::jaccard: return Compiled<Jaccard>::choose();
        case Metric::cosine: return Compiled<Cosine>::choose();
        case Metric::mixed: return &mixed_distances;
        case Metric::present_euclidean: return Compiled<PresentEuclidean>::choose();
        case Metric::known_euclidean: return Compiled<KnownEuclidean>::choose();
    }
    return nullptr;
}

void pack_panels(Matrix<const double> rows, const std::int32_t* order, double* panels, int threads) {
    const std::vector<double> zeros(static_cast<std::size_t>(rows.cols), 0.0);
    parallel_chunks(panel_count(rows.rows), 64, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t b = begin; b < end; ++b) {
            const double* lanes[panel_lanes];
            for (index_t lane = 0; lane < panel_lanes; ++lane) {
                const index_t i = b * panel_lanes + lane;
                lanes[lane] = i >= rows.rows ? zeros.data() : rows.row(order == nullptr ? i : static_cast<index_t>(order[i]));
            }
            pack_panel(lanes, rows.cols, panels + b * rows.cols * panel_lanes);
        }
    });
}

std::vector<std::uint8_t> complete_columns(const double* panels, index_t n, index_t d) {
    std::vector<std::uint8_t> complete(static_cast<std::size_t>(d), 1);
    for (index_t panel = 0; panel < panel_count(n); ++panel)
        for (index_t j = 0; j < d; ++j) {
            const double* const cells = panels + (panel * d + j) * panel_lanes;
            int missing = 0;
            for (index_t lane = 0; lane < panel_lanes; ++lane) missing |= cells[lane] != cells[lane];
            complete[static_cast<std::size_t>(j)] &= missing == 0;
        }
    return complete;
}

RadiusLists RadiusCollector::lists() {
    RadiusLists lists;
    lists.start.assign(1, 0);
    for (std::vector<Entry>& found : found_) {
        std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.row < b.row; });
        for (const Entry& entry : found) {
            lists.rows.push_back(entry.row);
            lists.distances.push_back(entry.distance);
        }
        lists.start.push_back(static_cast<std::int64_t>(lists.rows.size()));
        std::vector<Entry>().swap(found);
    }
    return lists;
}

void Nearest::write(std::int64_t* rows, double* distances) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) {
        rows[i] = entries_[i].row;
        distances[i] = entries_[i].distance;
    }
}

}  // namespace assay::neighbours
