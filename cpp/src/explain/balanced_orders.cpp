#include "assay/explain/balanced_orders.hpp"

#include <numeric>
#include <utility>

#include "assay/common/random.hpp"

namespace assay::explain {

namespace {

// How often each member of each triple is between the other two; triples are known by their members in order.
class Middles {
public:
    explicit Middles(index_t players) : m_(players), counts_(static_cast<std::size_t>(3 * players * players * players)) {}

    void add(index_t a, index_t b, index_t c, const std::int32_t* rank) {
        ++counts_[place(a, b, c) + middle(rank[a], rank[b], rank[c])];
    }

    // What the objective gains if a triple with these ranks has those after; `apply` makes the change.
    template <bool apply>
    index_t moved(index_t a, index_t b, index_t c, const std::int32_t* rank, std::int32_t ra, std::int32_t rb, std::int32_t rc) {
        const std::size_t before = middle(rank[a], rank[b], rank[c]), after = middle(ra, rb, rc);
        if (before == after) return 0;
        const std::size_t at = place(a, b, c);
        const index_t gain = 2 * (static_cast<index_t>(counts_[at + after]) - static_cast<index_t>(counts_[at + before]) + 1);
        if constexpr (apply) {
            --counts_[at + before];
            ++counts_[at + after];
        }
        return gain;
    }

private:
    std::size_t place(index_t a, index_t b, index_t c) const { return static_cast<std::size_t>(3 * ((a * m_ + b) * m_ + c)); }
    static std::size_t middle(std::int32_t a, std::int32_t b, std::int32_t c) {
        if ((a < b) == (b < c)) return 1;
        return (b < a) == (a < c) ? 0 : 2;
    }
    index_t m_;
    std::vector<std::uint16_t> counts_;
};

// The gain of swapping the players i < j in one order, over all triples that hold one of them.
template <bool apply>
index_t swapped(Middles& middles, const std::int32_t* rank, index_t m, index_t i, index_t j) {
    const auto after = [&](index_t p) { return p == i ? rank[j] : p == j ? rank[i] : rank[p]; };
    const auto change = [&](index_t a, index_t b, index_t c) {
        return middles.template moved<apply>(a, b, c, rank, after(a), after(b), after(c));
    };
    // A triple of p and of a < b, its members in order.
    const auto with = [&](index_t p, index_t a, index_t b) {
        return p < a ? change(p, a, b) : p < b ? change(a, p, b) : change(a, b, p);
    };
    index_t gain = 0;
    for (index_t a = 0; a < m; ++a) {
        if (a == i || a == j) continue;
        gain += with(a, i, j);
        for (index_t b = a + 1; b < m; ++b)
            if (b != i && b != j) gain += with(i, a, b) + with(j, a, b);
    }
    return gain;
}

}  // namespace

std::vector<std::int32_t> balanced_orders(index_t count, index_t players, index_t swaps, std::uint64_t key) {
    const index_t m = players;
    Random random(key);
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(count * m));
    Middles middles(m);
    for (index_t r = 0; r < count; ++r) {
        std::int32_t* rank = ranks.data() + r * m;
        std::iota(rank, rank + m, 0);
        for (index_t p = m - 1; p > 0; --p) std::swap(rank[p], rank[random.below(static_cast<std::uint32_t>(p + 1))]);
        for (index_t a = 0; a < m; ++a)
            for (index_t b = a + 1; b < m; ++b)
                for (index_t c = b + 1; c < m; ++c) middles.add(a, b, c, rank);
    }
    for (index_t tried = 0; tried < swaps; ++tried) {
        std::int32_t* rank = ranks.data() + static_cast<index_t>(random.below(static_cast<std::uint32_t>(count))) * m;
        auto i = static_cast<index_t>(random.below(static_cast<std::uint32_t>(m)));
        auto j = static_cast<index_t>(random.below(static_cast<std::uint32_t>(m - 1)));
        j += j >= i;
        if (i > j) std::swap(i, j);
        if (swapped<false>(middles, rank, m, i, j) > 0) continue;
        swapped<true>(middles, rank, m, i, j);
        std::swap(rank[i], rank[j]);
    }
    return ranks;
}

}  // namespace assay::explain
