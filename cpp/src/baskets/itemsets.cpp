#include "assay/baskets/itemsets.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

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
                next.bits.resize(at((many - a) * words_));
                for (index_t b = a + 1; b < many; ++b) {
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

}  // namespace

Itemsets frequent_itemsets(Vector<const std::int64_t> offsets, Vector<const std::int32_t> items, index_t n_items,
                           std::int64_t least, index_t longest, std::int64_t most, int threads) {
    const index_t n = offsets.size - 1;
    std::vector<std::int64_t> count(at(n_items), 0);
    for (index_t p = 0; p < items.size; ++p) ++count[at(items[p])];
    std::vector<std::int32_t> ids;
    for (index_t item = 0; item < n_items; ++item)
        if (count[at(item)] >= least) ids.push_back(static_cast<std::int32_t>(item));
    std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) { return count[at(a)] < count[at(b)]; });
    const auto many = static_cast<index_t>(ids.size());
    std::vector<std::int32_t> rank(at(n_items), -1);
    for (index_t r = 0; r < many; ++r) rank[at(ids[at(r)])] = static_cast<std::int32_t>(r);

    // Baskets by rank, ascending, and for each rank the baskets that hold it.
    std::vector<std::int64_t> begins(at(n + 1), 0);
    std::vector<std::int32_t> held;
    held.reserve(at(items.size));
    for (index_t b = 0; b < n; ++b) {
        const auto first = static_cast<std::ptrdiff_t>(held.size());
        for (index_t p = offsets[b]; p < offsets[b + 1]; ++p)
            if (rank[at(items[p])] >= 0) held.push_back(rank[at(items[p])]);
        std::sort(held.begin() + first, held.end());
        begins[at(b + 1)] = static_cast<std::int64_t>(held.size());
    }
    std::vector<std::int64_t> rows(at(many + 1), 0);
    for (const std::int32_t r : held) ++rows[at(r + 1)];
    std::partial_sum(rows.begin(), rows.end(), rows.begin());
    std::vector<std::int64_t> where(held.size());  // place of the item in `held`: what follows it are later items
    std::vector<std::int64_t> stop(held.size());
    std::vector<std::int64_t> filled(rows.begin(), rows.end() - (many >= 0 ? 1 : 0));
    for (index_t b = 0; b < n; ++b)
        for (std::int64_t p = begins[at(b)]; p < begins[at(b + 1)]; ++p) {
            const std::int64_t place = filled[at(held[at(p)])]++;
            where[at(place)] = p;
            stop[at(place)] = begins[at(b + 1)];
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
            std::vector<std::int64_t> together(at(many), 0);
            for (std::int64_t q = rows[at(first)]; q < rows[at(first + 1)]; ++q)
                for (std::int64_t p = where[at(q)] + 1; p < stop[at(q)]; ++p) ++together[at(held[at(p)])];
            Extensions next;
            std::vector<std::int64_t> place(at(many), -1);
            for (index_t r = first + 1; r < many; ++r)
                if (together[at(r)] >= least) {
                    place[at(r)] = static_cast<std::int64_t>(next.ranks.size()) * words;
                    next.ranks.push_back(static_cast<std::int32_t>(r));
                    next.counts.push_back(together[at(r)]);
                }
            next.bits.assign(next.ranks.size() * at(words), 0);
            for (std::int64_t q = rows[at(first)]; q < rows[at(first + 1)]; ++q) {
                const std::int64_t row = q - rows[at(first)];
                for (std::int64_t p = where[at(q)] + 1; p < stop[at(q)]; ++p) {
                    const std::int64_t base = place[at(held[at(p)])];
                    if (base >= 0) next.bits[at(base + row / 64)] |= std::uint64_t{1} << (row % 64);
                }
            }
            if (!branch.stopped) branch.extend(next);
        }
        if (branch.stopped) over.store(true, std::memory_order_relaxed);
    });

    Itemsets out;
    out.complete = !over.load();
    if (!out.complete) return out;
    for (const Itemsets& part : parts) {
        const auto shift = static_cast<std::int64_t>(out.items.size());
        out.items.insert(out.items.end(), part.items.begin(), part.items.end());
        out.counts.insert(out.counts.end(), part.counts.begin(), part.counts.end());
        for (std::size_t s = 1; s < part.starts.size(); ++s) out.starts.push_back(part.starts[s] + shift);
    }
    return out;
}

std::vector<std::uint8_t> itemset_kinds(Vector<const std::int64_t> starts, Vector<const std::int32_t> items,
                                        Vector<const std::int64_t> counts, index_t n_items) {
    const index_t sets = counts.size;
    Random random(0x17E75E75);
    std::vector<std::uint64_t> key(at(n_items));
    for (std::uint64_t& one : key) one = random.bits64();
    std::unordered_multimap<std::uint64_t, index_t> known;
    known.reserve(at(sets));
    std::vector<std::uint64_t> sum(at(sets), 0);
    for (index_t s = 0; s < sets; ++s) {
        for (index_t p = starts[s]; p < starts[s + 1]; ++p) sum[at(s)] ^= key[at(items[p])];
        known.emplace(sum[at(s)], s);
    }
    std::vector<std::uint8_t> kinds(at(sets), 3);
    for (index_t s = 0; s < sets && !interrupted(); ++s) {
        const index_t size = starts[s + 1] - starts[s];
        if (size < 2) continue;
        for (index_t left_out = starts[s]; left_out < starts[s + 1]; ++left_out) {
            const auto range = known.equal_range(sum[at(s)] ^ key[at(items[left_out])]);
            for (auto found = range.first; found != range.second; ++found) {
                const index_t part = found->second;
                if (starts[part + 1] - starts[part] != size - 1) continue;
                bool same = true;
                for (index_t p = starts[s], q = starts[part]; p < starts[s + 1] && same; ++p) {
                    if (p == left_out) continue;
                    same = items[p] == items[q++];
                }
                if (!same) continue;
                kinds[at(part)] &= static_cast<std::uint8_t>(counts[part] == counts[s] ? 0 : 1);
            }
        }
    }
    return kinds;
}

}  // namespace assay::baskets
