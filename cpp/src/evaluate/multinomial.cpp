#include "assay/evaluate/multinomial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "assay/common/simd.hpp"

namespace assay {
namespace {

constexpr double kInversionLimit = 10.0;
constexpr index_t kRun = 256;
constexpr int kLanes = 16;
constexpr int kBufferBytes = kLanes * 16;
// Streams of bytes must not meet the streams of the binomials.
constexpr std::uint64_t kByteStream = 1ULL << 63;

// ln k! minus Stirling's leading terms.
double stirling_tail(double k) {
    static constexpr double table[] = {0.0810614667953272, 0.0413406959554092,  0.0276779256849983,
                                       0.0207906721037650, 0.0166446911898211,  0.0138761288230707,
                                       0.0118967099458917, 0.0104112652619720,  0.00925546218271273,
                                       0.00833056343336287};
    if (k <= 9) return table[static_cast<int>(k)];
    const double next = k + 1, square = next * next;
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next;
}

std::int64_t binomial_inversion(Random& random, std::int64_t n, double p) {
    const double q = 1 - p, odds = p / q, start = std::exp(static_cast<double>(n) * std::log1p(-p));
    for (;;) {
        double u = random.uniform(), mass = start;
        for (std::int64_t k = 0; k <= n; ++k) {
            if (u <= mass) return k;
            u -= mass;
            mass *= odds * static_cast<double>(n - k) / static_cast<double>(k + 1);
        }
    }
}

std::int64_t binomial_rejection(Random& random, std::int64_t trials, double p) {
    const double n = static_cast<double>(trials), spread = std::sqrt(n * p * (1 - p));
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
    const double squeeze = 0.92 - 4.2 / b;
    for (;;) {
        const double u = random.uniform() - 0.5;
        double v = random.uniform();
        const double edge = 0.5 - std::abs(u);
        const double k = std::floor((2 * a / edge + b) * u + c);
        if (edge >= 0.07 && v <= squeeze) return static_cast<std::int64_t>(k);
        if (!(k >= 0 && k <= n)) continue;
        const double alpha = (2.83 + 5.1 / b) * spread, odds = p / (1 - p), mode = std::floor((n + 1) * p);
        v = std::log(v * alpha / (a / (edge * edge) + b));
        const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                             (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                             (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_tail(mode) +
                             stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k);
        if (v <= bound) return static_cast<std::int64_t>(k);
    }
}

// 16 consecutive Philox blocks, side by side: word w of block l is words[w * 16 + l].
ASSAY_INLINE void philox_lanes_body(std::uint64_t key, std::uint64_t counter, std::uint64_t stream,
                                    std::uint32_t* words) {
    std::uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
    for (int l = 0; l < kLanes; ++l) {
        x0[l] = static_cast<std::uint32_t>(counter) + static_cast<std::uint32_t>(l);
        x1[l] = static_cast<std::uint32_t>(counter >> 32);
        x2[l] = static_cast<std::uint32_t>(stream);
        x3[l] = static_cast<std::uint32_t>(stream >> 32);
    }
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        for (int l = 0; l < kLanes; ++l) {
            const std::uint64_t a = 0xD2511F53ULL * x0[l], b = 0xCD9E8D57ULL * x2[l];
            x0[l] = static_cast<std::uint32_t>(b >> 32) ^ x1[l] ^ k0;
            x1[l] = static_cast<std::uint32_t>(b);
            x2[l] = static_cast<std::uint32_t>(a >> 32) ^ x3[l] ^ k1;
            x3[l] = static_cast<std::uint32_t>(a);
        }
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    std::memcpy(words, x0, sizeof x0);
    std::memcpy(words + kLanes, x1, sizeof x1);
    std::memcpy(words + 2 * kLanes, x2, sizeof x2);
    std::memcpy(words + 3 * kLanes, x3, sizeof x3);
}
ASSAY_DISPATCH(void, philox_lanes, philox_lanes_body,
               (std::uint64_t key, std::uint64_t counter, std::uint64_t stream, std::uint32_t* words),
               (key, counter, stream, words))

// Random bytes of one replicate, a buffer at a time.
struct Bytes {
    std::uint64_t key, stream, counter = 0;
    int used = kBufferBytes;
    alignas(64) std::uint32_t words[kBufferBytes / 4];

    Bytes(std::uint64_t key_, std::uint64_t stream_) : key(key_), stream(stream_) {}
    const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(words); }
    void refill() {
        philox_lanes(key, counter, stream, words);
        counter += kLanes;
        used = 0;
    }
};

// `draws` draws from a full run: every byte is a row.
void draw_full_run(Bytes& bytes, std::int64_t draws, std::uint8_t* counts) {
    while (draws > 0) {
        if (bytes.used == kBufferBytes) bytes.refill();
        const int take = static_cast<int>(std::min<std::int64_t>(draws, kBufferBytes - bytes.used));
        const std::uint8_t* data = bytes.data() + bytes.used;
        for (int i = 0; i < take; ++i) ++counts[data[i]];
        bytes.used += take;
        draws -= take;
    }
}

// `draws` draws from a run of fewer than 256 rows, by multiplication with rejection (Lemire).
void draw_short_run(Bytes& bytes, std::int64_t draws, index_t rows, std::uint8_t* counts) {
    const unsigned size = static_cast<unsigned>(rows), floor = 256U % size;
    while (draws > 0) {
        if (bytes.used == kBufferBytes) bytes.refill();
        const unsigned product = size * bytes.data()[bytes.used++];
        if ((product & 255U) < floor) continue;
        ++counts[product >> 8];
        --draws;
    }
}

}  // namespace

std::int64_t binomial(Random& random, std::int64_t n, double p) {
    if (n <= 0 || !(p > 0)) return 0;
    if (p >= 1) return n;
    if (p > 0.5) return n - binomial(random, n, 1 - p);
    return static_cast<double>(n) * p < kInversionLimit ? binomial_inversion(random, n, p)
                                                        : binomial_rejection(random, n, p);
}

void multinomial(Random& random, Vector<const std::int64_t> counts, double* drawn) {
    std::int64_t left = 0;
    for (index_t j = 0; j < counts.size; ++j) left += counts[j];
    std::int64_t draws = left;
    for (index_t j = 0; j < counts.size; ++j) {
        const std::int64_t x =
            left > 0 ? binomial(random, draws, static_cast<double>(counts[j]) / static_cast<double>(left)) : 0;
        drawn[j] = static_cast<double>(x);
        draws -= x;
        left -= counts[j];
    }
}

void resample(std::uint64_t key, std::uint64_t replicate, index_t n, std::uint8_t* counts) {
    std::memset(counts, 0, static_cast<std::size_t>(n));
    Random random(key, replicate);
    Bytes bytes(key, replicate | kByteStream);
    std::int64_t draws = n;
    for (index_t begin = 0; begin < n; begin += kRun) {
        const index_t rows = std::min(kRun, n - begin), left = n - begin;
        const std::int64_t here =
            rows == left ? draws : binomial(random, draws, static_cast<double>(rows) / static_cast<double>(left));
        if (rows == kRun)
            draw_full_run(bytes, here, counts + begin);
        else
            draw_short_run(bytes, here, rows, counts + begin);
        draws -= here;
    }
}

}  // namespace assay
