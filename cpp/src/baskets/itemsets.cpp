#include "assay/baskets/itemsets.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "set_index.hpp"

namespace assay::baskets {
namespace {

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

ASSAY_INLINE std::int64_t and_body(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* both, index_t words) {
    std::int64_t count = 0;
    for (index_t w = 0; w < words; ++w) {
        both[w] = a[w] & b[w];
        count += std::popcount(both[w]);
    }
    return count;
}
ASSAY_DISPATCH(std::int64_t, intersect, and_body,
               (const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* both, index_t words), (a, b, both, words))

// Items that may extend a set, with the baskets of the set that hold them.
struct Extensions {
    std::vector<std::int32_t> ranks;
    std::vector<std::int64_t> counts;
    std::vector<std::uint64_t> bits;
};

// The sets that begin with one item.
class Branch {
public:
    Branch(index_t words, std::int64_t least, index_t longest, std::int64_t most, std::atomic<std::int64_t>& kept,
           const std::vector<std::int32_t>& ids, Itemsets& out)
        : words_(words), least_(least), longest_(longest), most_(most), kept_(kept), ids_(ids), out_(out) {}

    void emit(std::int64_t count) {
        const std::size_t before = out_.items.size();
        for (const std::int32_t rank : prefix) out_.items.push_back(ids_[at(rank)]);
        std::sort(out_.items.begin() + static_cast<std::ptrdiff_t>(before), out_.items.end());
        out_.starts.push_back(static_cast<std::int64_t>(out_.items.size()));
        out_.counts.push_back(count);
        if (kept_.fetch_add(1, std::memory_order_relaxed) >= most_) stopped = true;
    }
    void extend(const Extensions& from) {
        const auto many = static_cast<index_t>(from.ranks.size());
        Extensions next;
        for (index_t a = 0; a < many && !stopped; ++a) {
            prefix.push_back(from.ranks[at(a)]);
            emit(from.counts[at(a)]);
            if (longest_ == 0 || static_cast<index_t>(prefix.size()) < longest_) {
                next.ranks.clear();
                next.counts.clear();
                if (from.bits.empty()) next.bits.clear();
                else next.bits.resize(at((many - a) * words_));
                for (index_t b = a + 1; b < many && !from.bits.empty(); ++b) {
                    std::uint64_t* const both = next.bits.data() + static_cast<index_t>(next.ranks.size()) * words_;
                    const std::int64_t count =
                        intersect(from.bits.data() + a * words_, from.bits.data() + b * words_, both, words_);
                    if (count < least_) continue;
                    next.ranks.push_back(from.ranks[at(b)]);
                    next.counts.push_back(count);
                }
                if (!next.ranks.empty()) extend(next);
            }
            prefix.pop_back();
            if (interrupted()) stopped = true;
        }
    }

    std::vector<std::int32_t> prefix;
    bool stopped = false;

private:
    index_t words_;
    std::int64_t least_;
    index_t longest_;
    std::int64_t most_;
    std::atomic<std::int64_t>& kept_;
    const std::vector<std::int32_t>& ids_;
    Itemsets& out_;
};

// The sets of the items `ids`, which are numbered by `rank`. Baskets are held by rank, ascending, each with `end` behind it.
template <class Rank, class Place>
Itemsets search(Vector<const std::int64_t> offsets, Vector<const std::int32_t> items, const std::vector<std::int32_t>& ids,
                const std::vector<std::int32_t>& rank, const std::vector<std::int64_t>& count, std::int64_t least,
                index_t longest, std::int64_t most, int threads) {
    constexpr Rank end = std::numeric_limits<Rank>::max();
    const index_t n = offsets.size - 1;
    const auto many = static_cast<index_t>(ids.size());
    // For each rank the baskets that hold it, and from these the baskets by rank: two passes of counting.
    std::vector<std::int64_t> rows(at(many + 1), 0);
    for (index_t r = 0; r < many; ++r) rows[at(r + 1)] = rows[at(r)] + count[at(ids[at(r)])];
    std::vector<Place> where(at(rows.back()));  // the basket, then the place of the item in `held`: later items follow it
    std::vector<Rank> held(where.size() + at(n), end);
    {
        std::vector<Place> next(at(n));
        std::vector<std::int64_t> filled(rows.begin(), rows.end() - 1);
        std::int64_t begin = 0;
        for (index_t b = 0; b < n; ++b) {
            next[at(b)] = static_cast<Place>(begin);
            for (index_t p = offsets[b]; p < offsets[b + 1]; ++p) {
                const std::int32_t r = rank[at(items[p])];
                if (r < 0) continue;
                where[at(filled[at(r)]++)] = static_cast<Place>(b);
                ++begin;
            }
            ++begin;
        }
        for (index_t r = 0; r < many; ++r)
            for (std::int64_t q = rows[at(r)]; q < rows[at(r + 1)]; ++q) {
                const Place place = next[where[at(q)]]++;
                held[place] = static_cast<Rank>(r);
                where[at(q)] = place;
            }
    }

    std::vector<Itemsets> parts(at(many));
    std::atomic<std::int64_t> kept{0};
    std::atomic<bool> over{false};
    parallel_chunks(many, 1, threads, [&](index_t, index_t first, index_t) {
        if (over.load(std::memory_order_relaxed)) return;
        const std::int64_t own = rows[at(first + 1)] - rows[at(first)];
        const index_t words = (own + 63) / 64;
        Branch branch(words, least, longest, most, kept, ids, parts[at(first)]);
        branch.prefix.push_back(static_cast<std::int32_t>(first));
        branch.emit(own);
        if (longest == 0 || longest > 1) {
            std::vector<std::int32_t> together(at(many), 0);
            for (std::int64_t q = rows[at(first)]; q < rows[at(first + 1)]; ++q)
                for (const Rank* later = held.data() + where[at(q)] + 1; *later != end; ++later) ++together[*later];
            Extensions next;
            std::vector<std::int64_t> place(at(many), 0);
            for (index_t r = first + 1; r < many; ++r)
                if (together[at(r)] >= least) {
                    place[at(r)] = static_cast<std::int64_t>(next.ranks.size()) * words;
                    next.ranks.push_back(static_cast<std::int32_t>(r));
                    next.counts.push_back(together[at(r)]);
                }
            if (next.ranks.size() < 2 || longest == 2) {
                branch.extend(next);
                if (branch.stopped) over.store(true, std::memory_order_relaxed);
                return;
            }
            const auto spare = static_cast<std::int64_t>(next.ranks.size()) * words;
            for (index_t r = first + 1; r < many; ++r)
                if (together[at(r)] < least) place[at(r)] = spare;
            next.bits.assign((next.ranks.size() + 1) * at(words), 0);
            for (std::int64_t q = rows[at(first)]; q < rows[at(first + 1)]; ++q) {
                const std::int64_t row = q - rows[at(first)];
                std::uint64_t* const word = next.bits.data() + row / 64;
                const std::uint64_t bit = std::uint64_t{1} << (row % 64);
                // Items that make no frequent pair write to a place of their own: no branch.
                for (const Rank* later = held.data() + where[at(q)] + 1; *later != end; ++later) word[place[*later]] |= bit;
            }
            branch.extend(next);
        }
        if (branch.stopped) over.store(true, std::memory_order_relaxed);
    });

    Itemsets out;
    out.complete = !over.load();
    if (!out.complete) return out;
    std::size_t sets = 0, members = 0;
    for (const Itemsets& part : parts) {
        sets += part.counts.size();
        members += part.items.size();
    }
    out.items.reserve(members);
    out.counts.reserve(sets);
    out.starts.reserve(sets + 1);
    for (Itemsets& found : parts) {
        const Itemsets part = std::move(found);  // which is let go as soon as it is copied
        const auto shift = static_cast<std::int64_t>(out.items.size());
        out.items.insert(out.items.end(), part.items.begin(), part.items.end());
        out.counts.insert(out.counts.end(), part.counts.begin(), part.counts.end());
        for (std::size_t s = 1; s < part.starts.size(); ++s) out.starts.push_back(part.starts[s] + shift);
    }
    return out;
}

}  // namespace

Itemsets frequent_itemsets(Vector<const std::int64_t> offsets, Vector<const std::int32_t> items, index_t n_items,
                           std::int64_t least, index_t longest, std::int64_t most, int threads) {
    std::vector<std::int64_t> count(at(n_items), 0);
    for (index_t p = 0; p < items.size; ++p) ++count[at(items[p])];
    std::vector<std::int32_t> ids;
    for (index_t item = 0; item < n_items; ++item)
        if (count[at(item)] >= least) ids.push_back(static_cast<std::int32_t>(item));
    std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) { return count[at(a)] < count[at(b)]; });
    const auto many = static_cast<index_t>(ids.size());
    std::vector<std::int32_t> rank(at(n_items), -1);
    for (index_t r = 0; r < many; ++r) rank[at(ids[at(r)])] = static_cast<std::int32_t>(r);

    const index_t kept_items = std::accumulate(ids.begin(), ids.end(), index_t{0},
                                               [&](index_t sum, std::int32_t item) { return sum + count[at(item)]; });
    const bool small = many < 0xFFFF && kept_items + offsets.size < index_t{0xFFFFFFFF};
    return small ? search<std::uint16_t, std::uint32_t>(offsets, items, ids, rank, count, least, longest, most, threads)
                 : search<std::uint32_t, std::uint64_t>(offsets, items, ids, rank, count, least, longest, most, threads);
}

std::vector<std::int64_t> itemset_order(Vector<const std::int64_t> starts, Vector<const std::int32_t> items) {
    struct Keyed {
        std::uint64_t key;  // size and the first items, as far as they fit
        std::int64_t set;
    };
    std::vector<Keyed> keyed(at(starts.size - 1));
    for (index_t s = 0; s + 1 < starts.size; ++s) {
        const index_t size = starts[s + 1] - starts[s];
        std::uint64_t key = static_cast<std::uint64_t>(std::min<index_t>(size, 0xFF)) << 56;
        if (size > 0) key |= static_cast<std::uint64_t>(std::min(items[starts[s]], 0xFFFFFFF)) << 28;
        if (size > 1) key |= static_cast<std::uint64_t>(std::min(items[starts[s] + 1], 0xFFFFFFF));
        keyed[at(s)] = {key, s};
    }
    std::sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
        if (a.key != b.key) return a.key < b.key;
        const index_t first = starts[a.set], second = starts[b.set];
        const index_t sizes[2] = {starts[a.set + 1] - first, starts[b.set + 1] - second};
        if (sizes[0] != sizes[1]) return sizes[0] < sizes[1];
        for (index_t k = 0; k < sizes[0]; ++k)
            if (items[first + k] != items[second + k]) return items[first + k] < items[second + k];
        return a.set < b.set;
    });
    std::vector<std::int64_t> order(keyed.size());
    for (std::size_t k = 0; k < keyed.size(); ++k) order[k] = keyed[k].set;
    return order;
}

std::vector<std::uint8_t> itemset_kinds(Vector<const std::int64_t> starts, Vector<const std::int32_t> items,
                                        Vector<const std::int64_t> counts, index_t n_items) {
    const index_t sets = counts.size;
    const SetIndex index(starts, items, n_items);
    std::vector<std::uint8_t> kinds(at(sets), 3);
    std::vector<std::int32_t> part;
    for (index_t s = 0; s < sets && !interrupted(); ++s) {
        const std::span<const std::int32_t> held = index.members(s);
        if (held.size() < 2) continue;
        for (std::size_t left_out = 0; left_out < held.size(); ++left_out) {
            part.assign(held.begin(), held.end());
            part.erase(part.begin() + static_cast<std::ptrdiff_t>(left_out));
            const index_t found = index.find(part);
            if (found >= 0) kinds[at(found)] &= static_cast<std::uint8_t>(counts[found] == counts[s] ? 0 : 1);
        }
    }
    return kinds;
}

}  // namespace assay::baskets
