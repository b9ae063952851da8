#include "assay/explain/replaced_cells.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/forest_codes.hpp"

namespace assay::explain {
namespace {

constexpr index_t numbers_per_chunk = 1 << 16, fewest_rows = 64, most_rows = 4096, rows_coded = 1024, most_ranks = 65000;
constexpr index_t most_own = 32;  // alternatives of a row that are followed at once: bits of a mask

ASSAY_INLINE void add_kept_body(double value, const double* kept, double* sums, index_t count) {
    for (index_t q = 0; q < count; ++q) sums[q] += kept[q] * value;
}
ASSAY_DISPATCH(void, add_kept, add_kept_body, (double value, const double* kept, double* sums, index_t count), (value, kept, sums, count))

ASSAY_INLINE void add_to_all_body(double value, double* sums, index_t count) {
    for (index_t q = 0; q < count; ++q) sums[q] += value;
}
ASSAY_DISPATCH(void, add_to_all, add_to_all_body, (double value, double* sums, index_t count), (value, sums, count))

template <class Code>
struct Node {
    Code limit;                        // numeric: the codes up to `limit` go left
    bool asks_below;                   // whether a test on a column of a group follows
    bool missing_left;
    std::int32_t column, left, right;  // column among those in use; -1 in a leaf
    std::int32_t group;                // of the column, or -1
    std::int32_t set;                  // of a nominal test, or -1

    // Numeric: the code that goes left beside those up to `limit`; no cell has the last but one.
    Code missing() const { return static_cast<Code>(std::numeric_limits<Code>::max() - (missing_left ? 0 : 1)); }
};

// The categories that go left at a nominal test.
struct CategorySet {
    const std::uint64_t* words;
    std::int64_t known;  // categories of its column
};

// A row in one group, on its way through a tree away from the row's own path. With donors of its own the alternatives that are there are
// told by a mask; donors that serve all rows are where the node's share of the alternatives says.
struct Masked {
    std::uint32_t key, mask;
};
struct Bare {
    std::uint32_t key;
};

template <class Code, bool shared>
class Replacer {
    using Item = std::conditional_t<shared, Bare, Masked>;

public:
    Replacer(const trees::ForestView& forest, const trees::ForestCodes& codes, const Replacements& what)
        : f_(forest), codes_(codes), what_(what), nodes_(static_cast<std::size_t>(f_.offsets[f_.n_trees()])) {
        for (index_t t = 0; t < f_.n_trees(); ++t)
            for (std::int64_t i = f_.offsets[t + 1] - 1; i >= f_.offsets[t]; --i) {
                Node<Code>& node = nodes_[static_cast<std::size_t>(i)];
                node = {0, false, f_.missing_left[i] != 0, -1, -1, -1, -1, -1};
                const std::int32_t column = f_.feature[i];
                if (column < 0) continue;
                node.column = codes.place[static_cast<std::size_t>(column)];
                node.left = f_.left[i];
                node.right = f_.right[i];
                node.group = what.group[column];
                const auto below = [&](std::int32_t child) { return nodes_[static_cast<std::size_t>(f_.offsets[t] + child)].asks_below; };
                node.asks_below = node.group >= 0 || below(node.left) || below(node.right);
                if (f_.categories[i] >= 0) {
                    node.set = static_cast<std::int32_t>(sets_.size());
                    sets_.push_back({&f_.words[f_.categories[i]], f_.n_categories[column]});
                } else {
                    node.limit = static_cast<Code>(codes.rank(f_, i));
                }
            }
        cells_ = encoded(what.cells);
        if (what.source.data != what.cells.data || what.source.rows != what.cells.rows) source_ = encoded(what.source);
        else same_ = true;
    }

    void run(double* out) const {
        const index_t questions = what_.groups * what_.alternatives, n = what_.cells.rows;
        const auto fitting = static_cast<std::uint64_t>(std::clamp(numbers_per_chunk / std::max<index_t>(1, questions * what_.outputs), fewest_rows, most_rows));
        const auto quarter = static_cast<std::uint64_t>(std::max(fewest_rows, n / 4));
        const auto grain = static_cast<index_t>(std::bit_floor(std::min(fitting, quarter)));
        parallel_chunks(n, grain, what_.threads, [&](index_t, index_t begin, index_t end) {
            Chunk chunk(*this, begin, end - begin, grain);
            for (index_t t = 0; t < f_.n_trees() && !interrupted(); ++t) chunk.add(t);
            for (index_t q = 0; q < questions; ++q)
                for (index_t i = begin; i < end; ++i)
                    for (index_t o = 0; o < what_.outputs; ++o)
                        out[(q * n + i) * what_.outputs + o] = chunk.sums[static_cast<std::size_t>(((i - begin) * what_.outputs + o) * questions + q)];
        });
    }

private:
    std::vector<Code> encoded(Matrix<const double> rows) const {
        std::vector<Code> found(codes_.columns.size() * static_cast<std::size_t>(rows.rows));
        parallel_chunks(rows.rows, rows_coded, what_.threads, [&](index_t, index_t begin, index_t end) {
            codes_.encode(rows, begin, end - begin, found.data() + begin, rows.rows);
        });
        return found;
    }
    const Code* cells_of(index_t column) const { return cells_.data() + column * what_.cells.rows; }
    const Code* source_of(index_t column) const { return (same_ ? cells_ : source_).data() + column * what_.source.rows; }

    bool goes_left(const Node<Code>& node, Code code) const {
        if (node.set < 0) return (code <= node.limit) | (code == node.missing());
        const CategorySet& set = sets_[static_cast<std::size_t>(node.set)];
        return code < set.known ? (set.words[code / 64] >> (code % 64) & 1) != 0 : node.missing_left;
    }

    // Some rows in all trees, one after the other.
    struct Chunk {
        struct List {
            std::vector<Item> items;
            std::size_t top = 0;
            void room(std::size_t more) {
                if (items.size() < top + more) items.resize(2 * (top + more));
            }
        };
        struct Range {
            index_t begin, end;
        };
        // Something to do: a node to visit, or a group to put back as it was before a test on it.
        struct Step {
            std::int32_t node;  // or -1
            std::int32_t group;
            bool from_left;     // which list its items are in
            Range items, rows, share;
            std::size_t left_top, right_top;
        };

        const Replacer& of;
        const index_t begin, count, questions, k_all, shift;
        std::vector<double> sums, kept;  // rows x outputs x questions; by question 1, or 0 where it has left
        std::vector<std::int32_t> rows, moved, leaf, middle;
        std::vector<Code> donor_codes;         // by column, row and alternative
        std::vector<std::uint32_t> on_path;    // by group and row: the alternatives that share the row's way so far
        std::vector<std::int32_t> met, trail;  // by group: tests on it above; the groups that were met
        std::vector<Range> share;              // by group: the alternatives that can come here, as a part of `order`
        std::vector<std::int32_t> order, aside;
        std::vector<std::uint8_t> rises;       // by group: one column whose alternatives stand in the order of its codes
        List left, right;
        std::vector<Step> steps;

        Chunk(const Replacer& owner, index_t first, index_t size, index_t grain)
            : of(owner), begin(first), count(size), questions(owner.what_.groups * owner.what_.alternatives), k_all(owner.what_.alternatives),
              shift(std::countr_zero(static_cast<std::uint64_t>(grain))), sums(static_cast<std::size_t>(size * owner.what_.outputs * questions), 0.0),
              kept(static_cast<std::size_t>(questions), 1.0), rows(static_cast<std::size_t>(size)), moved(rows.size()),
              leaf(rows.size()), met(static_cast<std::size_t>(owner.what_.groups), 0) {
            const Replacements& what = of.what_;
            const auto groups = static_cast<std::size_t>(what.groups);
            if constexpr (shared) {
                share.resize(groups);
                order.resize(static_cast<std::size_t>(questions));
                aside.resize(static_cast<std::size_t>(k_all));
                rises.assign(groups, 0);
                for (std::size_t c = 0; c < of.codes_.columns.size(); ++c) {
                    const std::int32_t g = what.group[of.codes_.columns[c]];
                    if (g < 0) continue;
                    const auto in_group = std::count(what.group, what.group + what.cells.cols, g);
                    const auto below = [&](index_t a, index_t b) { return code(static_cast<index_t>(c), g, a) < code(static_cast<index_t>(c), g, b); };
                    bool rising = in_group == 1 && of.codes_.categories[c] == 0;
                    for (index_t k = 1; k < k_all && rising; ++k) rising = !below(k, k - 1);
                    // A missing value has the largest code and may go left.
                    rises[static_cast<std::size_t>(g)] = rising && code(static_cast<index_t>(c), g, k_all - 1) != std::numeric_limits<Code>::max();
                }
            } else {
                on_path.resize(groups * static_cast<std::size_t>(count));
                donor_codes.resize(of.codes_.columns.size() * static_cast<std::size_t>(count * k_all));
                for (std::size_t c = 0; c < of.codes_.columns.size(); ++c) {
                    const std::int32_t g = what.group[of.codes_.columns[c]];
                    if (g < 0) continue;
                    const Code* from = of.source_of(static_cast<index_t>(c));
                    Code* to = donor_codes.data() + static_cast<index_t>(c) * count * k_all;
                    for (index_t k = 0; k < k_all; ++k)
                        for (index_t i = 0; i < count; ++i) to[i * k_all + k] = from[what.donors(g * k_all + k, begin + i)];
                }
            }
        }

        Code code(index_t column, index_t g, index_t k) const { return of.source_of(column)[of.what_.donors(g * k_all + k, 0)]; }

        void add(index_t tree) {
            const Node<Code>* nodes = of.nodes_.data() + of.f_.offsets[tree];
            const auto size = static_cast<std::size_t>(of.f_.offsets[tree + 1] - of.f_.offsets[tree]);
            if (middle.size() < size) middle.resize(size);
            part_rows(nodes);
            const index_t width = of.f_.width, first = tree % (of.what_.outputs / width) * width;
            const double* value = of.f_.value + of.f_.offsets[tree] * width;
            if constexpr (shared)
                for (index_t g = 0; g < of.what_.groups; ++g) {
                    share[static_cast<std::size_t>(g)] = {g * k_all, (g + 1) * k_all};
                    std::iota(order.begin() + g * k_all, order.begin() + (g + 1) * k_all, 0);
                }
            steps.push_back({0, -1, true, {0, 0}, {0, count}, {0, 0}, 0, 0});
            while (!steps.empty()) {
                const Step step = steps.back();
                steps.pop_back();
                if (step.group >= 0) {
                    if constexpr (shared) share[static_cast<std::size_t>(step.group)] = step.share;
                }
                if (step.node < 0) {
                    left.top = step.left_top;
                    right.top = step.right_top;
                    if (step.group >= 0 && --met[static_cast<std::size_t>(step.group)] == 0) trail.pop_back();
                    continue;
                }
                Range own = step.rows;
                if (!nodes[step.node].asks_below && own.begin < own.end) {
                    finish(own, value, first);
                    own.end = own.begin;
                }
                if (nodes[step.node].column < 0) settle(step, value, first);
                else if (own.begin < own.end || step.items.begin < step.items.end) visit(nodes, step, own);
            }
        }

        // The rows in the order of their leaves, so that the rows of a node stand together; where they part, and the leaf of each.
        void part_rows(const Node<Code>* nodes) {
            std::iota(rows.begin(), rows.end(), 0);
            steps.push_back({0, -1, true, {0, 0}, {0, count}, {0, 0}, 0, 0});
            while (!steps.empty()) {
                const auto [b, e] = steps.back().rows;
                const std::int32_t at = steps.back().node;
                steps.pop_back();
                const Node<Code>& node = nodes[at];
                if (node.column < 0) {
                    for (index_t p = b; p < e; ++p) leaf[static_cast<std::size_t>(rows[static_cast<std::size_t>(p)])] = at;
                    continue;
                }
                const Code* codes = of.cells_of(node.column) + begin;
                std::int32_t *row = rows.data(), *off = moved.data();
                index_t l = b, r = 0;
                const auto part = [&](auto&& test) {
                    for (index_t p = b; p < e; ++p) {
                        const std::int32_t i = row[p];
                        const bool goes = test(codes[i]);
                        row[l] = i;
                        off[r] = i;
                        l += goes;
                        r += !goes;
                    }
                };
                if (node.set < 0) part([limit = node.limit, missing = node.missing()](Code c) { return (c <= limit) | (c == missing); });
                else part([&](Code c) { return of.goes_left(node, c); });
                std::copy_n(off, r, row + l);
                middle[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(l);
                if (l > b) steps.push_back({node.left, -1, true, {0, 0}, {b, l}, {0, 0}, 0, 0});
                if (l < e) steps.push_back({node.right, -1, true, {0, 0}, {l, e}, {0, 0}, 0, 0});
            }
        }

        void visit(const Node<Code>* nodes, const Step& step, Range own) {
            const Node<Code>& node = nodes[step.node];
            const auto [b, e] = own;
            const index_t mid = b == e ? b : middle[static_cast<std::size_t>(step.node)];
            const std::size_t left_top = left.top, right_top = right.top;
            left.room(static_cast<std::size_t>(step.items.end - step.items.begin + e - mid));
            right.room(static_cast<std::size_t>(step.items.end - step.items.begin + mid - b));
            const Item* items = (step.from_left ? left : right).items.data();
            Item *to_left = left.items.data() + left_top, *to_right = right.items.data() + right_top;
            const auto mask = (std::uint32_t{1} << shift) - 1;
            const Code* codes = of.cells_of(node.column) + begin;
            const std::int32_t g = node.group;
            Range all{0, 0};
            index_t cut = 0;
            if (g >= 0) {
                if constexpr (shared) {
                    all = share[static_cast<std::size_t>(g)];
                    cut = part_share(node, all);
                }
            }
            const auto move = [&](auto&& test) {
                const auto plain = [&](const Item& item) {
                    const bool goes = test(codes[item.key & mask]);
                    *to_left = item;
                    *to_right = item;
                    to_left += goes;
                    to_right += !goes;
                };
                if (g < 0) {
                    for (index_t p = step.items.begin; p < step.items.end; ++p) plain(items[p]);
                    return;
                }
                for (index_t p = step.items.begin; p < step.items.end; ++p) {
                    const Item item = items[p];
                    if (item.key >> shift != static_cast<std::uint32_t>(g)) plain(item);
                    else divide(node, item, item.key & mask, all.begin < cut, cut < all.end, to_left, to_right, test);
                }
            };
            if (node.set < 0) {
                const auto test = [limit = node.limit, missing = node.missing()](Code c) { return (c <= limit) | (c == missing); };
                move(test);
                if (g >= 0) leave(node, {b, mid}, {mid, e}, all.begin < cut, cut < all.end, to_left, to_right, test);
            } else {
                const auto test = [&](Code c) { return of.goes_left(node, c); };
                move(test);
                if (g >= 0) leave(node, {b, mid}, {mid, e}, all.begin < cut, cut < all.end, to_left, to_right, test);
            }
            left.top = static_cast<std::size_t>(to_left - left.items.data());
            right.top = static_cast<std::size_t>(to_right - right.items.data());
            if (g >= 0 && met[static_cast<std::size_t>(g)]++ == 0) trail.push_back(g);
            steps.push_back({-1, g, true, {0, 0}, {0, 0}, all, left_top, right_top});
            steps.push_back({node.right, g, false, {static_cast<index_t>(right_top), static_cast<index_t>(right.top)}, {mid, e}, {cut, all.end}, 0, 0});
            steps.push_back({node.left, g, true, {static_cast<index_t>(left_top), static_cast<index_t>(left.top)}, {b, mid}, {all.begin, cut}, 0, 0});
        }

        // Puts the alternatives that can come to a node in order, those that go left first; returns where the others begin.
        index_t part_share(const Node<Code>& node, Range all) {
            std::int32_t* at = order.data();
            const auto goes = [&](std::int32_t k) { return of.goes_left(node, code(node.column, node.group, k)); };
            if (rises[static_cast<std::size_t>(node.group)] != 0) return std::partition_point(at + all.begin, at + all.end, goes) - at;
            index_t l = all.begin, r = 0;
            for (index_t p = all.begin; p < all.end; ++p) {
                const std::int32_t k = at[p];
                if (goes(k)) at[l++] = k;
                else aside[static_cast<std::size_t>(r++)] = k;
            }
            std::copy_n(aside.begin(), r, at + l);
            return l;
        }

        template <class Test>
        std::uint32_t goes_left_mask(const Node<Code>& node, index_t row, Test&& test) const {
            const Code* codes = donor_codes.data() + (node.column * count + row) * k_all;
            std::uint32_t found = 0;
            for (index_t k = 0; k < k_all; ++k) found |= static_cast<std::uint32_t>(test(codes[k])) << k;
            return found;
        }

        // An item of the node's own group goes where its alternatives go: to one side or to both.
        template <class Test>
        void divide(const Node<Code>& node, const Item& item, [[maybe_unused]] index_t row, [[maybe_unused]] bool some_left, [[maybe_unused]] bool some_right,
                    Item*& to_left, Item*& to_right, Test&& test) {
            *to_left = item;
            *to_right = item;
            if constexpr (shared) {
                to_left += some_left;
                to_right += some_right;
            } else {
                const std::uint32_t goes = goes_left_mask(node, row, test);
                to_left->mask &= goes;
                to_right->mask &= ~goes;
                const bool l = to_left->mask != 0, r = to_right->mask != 0;
                to_left += l;
                to_right += r;
            }
        }

        // Alternatives of the rows of a node that leave their rows' way here.
        template <class Test>
        void leave(const Node<Code>& node, Range stay_left, Range stay_right, [[maybe_unused]] bool some_left, [[maybe_unused]] bool some_right, Item*& to_left,
                   Item*& to_right, Test&& test) {
            const auto group = static_cast<std::uint32_t>(node.group) << shift;
            const std::int32_t* row = rows.data();
            if constexpr (shared) {
                if (some_right)
                    for (index_t p = stay_left.begin; p < stay_left.end; ++p) (to_right++)->key = group | static_cast<std::uint32_t>(row[p]);
                if (some_left)
                    for (index_t p = stay_right.begin; p < stay_right.end; ++p) (to_left++)->key = group | static_cast<std::uint32_t>(row[p]);
            } else {
                std::uint32_t* on = on_path.data() + node.group * count;
                const bool first = met[static_cast<std::size_t>(node.group)] == 0;
                const std::uint32_t every = k_all == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << k_all) - 1;
                const auto send = [&](Range from, std::uint32_t turned, Item*& to) {
                    for (index_t p = from.begin; p < from.end; ++p) {
                        const std::int32_t i = row[p];
                        const std::uint32_t were = first ? every : on[i], goes = goes_left_mask(node, i, test) ^ turned;
                        on[i] = were & goes;
                        *to = {group | static_cast<std::uint32_t>(i), were & ~goes};
                        to += (were & ~goes) != 0;
                    }
                };
                send(stay_left, 0, to_right);
                send(stay_right, ~std::uint32_t{0}, to_left);
            }
        }

        // Rows below which no alternative leaves any more: those that never left have the value of the row's own leaf.
        void finish(Range own, const double* value, index_t first) {
            const index_t width = of.f_.width, outputs = of.what_.outputs;
            if constexpr (shared)
                for (const std::int32_t g : trail) {
                    double* of_group = kept.data() + g * k_all;
                    std::fill_n(of_group, k_all, 0.0);
                    const Range here = share[static_cast<std::size_t>(g)];
                    for (index_t p = here.begin; p < here.end; ++p) of_group[order[static_cast<std::size_t>(p)]] = 1.0;
                }
            for (index_t p = own.begin; p < own.end; ++p) {
                const std::int32_t row = rows[static_cast<std::size_t>(p)];
                if constexpr (!shared)
                    for (const std::int32_t g : trail) {
                        const std::uint32_t on = on_path[static_cast<std::size_t>(g * count + row)];
                        for (index_t k = 0; k < k_all; ++k) kept[static_cast<std::size_t>(g * k_all + k)] = static_cast<double>(on >> k & 1);
                    }
                for (index_t c = 0; c < width; ++c) {
                    const double add = value[leaf[static_cast<std::size_t>(row)] * width + c];
                    double* to = sums.data() + (row * outputs + first + c) * questions;
                    if (trail.empty()) add_to_all(add, to, questions);
                    else add_kept(add, kept.data(), to, questions);
                }
            }
            for (const std::int32_t g : trail) std::fill_n(kept.begin() + g * k_all, k_all, 1.0);
        }

        // The items that reached a leaf: their alternatives have its value.
        void settle(const Step& step, const double* value, index_t first) {
            const Item* items = (step.from_left ? left : right).items.data();
            const index_t width = of.f_.width, outputs = of.what_.outputs;
            const auto mask = (std::uint32_t{1} << shift) - 1;
            for (index_t p = step.items.begin; p < step.items.end; ++p) {
                const index_t row = items[p].key & mask, g = items[p].key >> shift;
                for (index_t c = 0; c < width; ++c) {
                    const double add = value[step.node * width + c];
                    double* to = sums.data() + (row * outputs + first + c) * questions + g * k_all;
                    if constexpr (shared) {
                        const Range here = share[static_cast<std::size_t>(g)];
                        const std::int32_t* at = order.data();
                        // Those of one column that rise stay as they stand; others are put in another order by every test.
                        if (rises[static_cast<std::size_t>(g)] != 0)
                            add_to_all(add, to + at[here.begin], here.end - here.begin);
                        else
                            for (index_t q = here.begin; q < here.end; ++q) to[at[q]] += add;
                    } else {
                        for (std::uint32_t bits = items[p].mask; bits != 0; bits &= bits - 1) to[std::countr_zero(bits)] += add;
                    }
                }
            }
        }
    };

    const trees::ForestView& f_;
    const trees::ForestCodes& codes_;
    const Replacements& what_;
    std::vector<Node<Code>> nodes_;
    std::vector<CategorySet> sets_;
    std::vector<Code> cells_, source_;
    bool same_ = false;
};

template <bool shared>
void sums_by_codes(const trees::ForestView& forest, const trees::ForestCodes& codes, const Replacements& what, double* sums) {
    if (codes.most <= most_ranks) Replacer<std::uint16_t, shared>(forest, codes, what).run(sums);
    else Replacer<std::uint32_t, shared>(forest, codes, what).run(sums);
}

}  // namespace

void replaced_sums(const trees::ForestView& forest, const Replacements& what, double* sums) {
    if (what.cells.rows == 0 || what.alternatives == 0) return;
    const trees::ForestCodes codes(forest, 0, forest.n_trees(), what.cells.cols);
    if (what.donors.cols == 1) return sums_by_codes<true>(forest, codes, what, sums);
    if (what.alternatives <= most_own) return sums_by_codes<false>(forest, codes, what, sums);
    // More alternatives than a mask has bits: some at a time.
    const index_t n = what.donors.cols, m = what.cells.rows * what.outputs;
    for (index_t from = 0; from < what.alternatives; from += most_own) {
        const index_t some = std::min(most_own, what.alternatives - from);
        std::vector<std::int32_t> donors(static_cast<std::size_t>(what.groups * some * n));
        std::vector<double> found(static_cast<std::size_t>(what.groups * some * m));
        for (index_t g = 0; g < what.groups; ++g)
            for (index_t k = 0; k < some; ++k)
                for (index_t i = 0; i < n; ++i) donors[static_cast<std::size_t>(((g * some) + k) * n + i)] = what.donors(g * what.alternatives + from + k, i);
        Replacements part = what;
        part.alternatives = some;
        part.donors = c_matrix(static_cast<const std::int32_t*>(donors.data()), what.groups * some, n);
        sums_by_codes<false>(forest, codes, part, found.data());
        for (index_t g = 0; g < what.groups; ++g)
            std::copy_n(found.begin() + g * some * m, some * m, sums + (g * what.alternatives + from) * m);
    }
}

std::vector<std::int32_t> preorder(Vector<const std::int32_t> left, Vector<const std::int32_t> right) {
    std::vector<std::int32_t> order, waiting{0};
    const auto inside = [&](std::int32_t node) { return node >= 0 && node < left.size; };
    while (!waiting.empty()) {
        const std::int32_t node = waiting.back();
        waiting.pop_back();
        order.push_back(node);
        if (!inside(node) || static_cast<index_t>(order.size() + waiting.size()) > left.size) return {};
        if (left[node] < 0) continue;
        waiting.push_back(right[node]);
        waiting.push_back(left[node]);
    }
    return order;
}

}  // namespace assay::explain
