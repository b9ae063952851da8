#include "assay/trees/forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/cart.hpp"
#include "assay/trees/forest_codes.hpp"

namespace assay::trees {
namespace {

using Code = std::uint16_t;
constexpr Code missing_code = 0xFFFF;
constexpr index_t rows_per_block = 256, most_ranks = 65000, most_leaves = 64, leaves_per_piece = 16, side_by_side = 8,
                  levels_at_once = 4, rows_struck = 32;
constexpr index_t few_tests = 8'000'000, tests_of_walk = 512;  // so many take half a millisecond; a walk down a large tree as long as so many
constexpr std::uint32_t rows_walked = 1024, walked_together = 32;

// Where a row goes from an inner node, read from its cells.
bool goes_left(const ForestView& f, std::int64_t node, const double* row) {
    const std::int32_t column = f.feature[node];
    const double cell = row[column];
    if (f.categories[node] >= 0) {
        if (!(cell >= 0 && cell < f.n_categories[column])) return f.missing_left[node] != 0;
        const auto c = static_cast<std::int64_t>(cell);
        return (f.words[f.categories[node] + c / 64] >> (c % 64) & 1) != 0;
    }
    return std::isnan(cell) ? f.missing_left[node] != 0 : cell <= f.threshold[node];
}

std::int32_t walk(const ForestView& f, index_t tree, const double* row) {
    const std::int64_t first = f.offsets[tree];
    std::int32_t node = 0;
    while (f.feature[first + node] >= 0)
        node = goes_left(f, first + node, row) ? f.left[first + node] : f.right[first + node];
    return node;
}

// OUT leaf (m): what `walk` says of rows from `begin` on, some of them side by side: one would wait for memory at every step.
void walk_cells(const ForestView& f, index_t tree, Matrix<const double> cells, index_t begin, index_t m, std::int32_t* leaf) {
    constexpr index_t together = 16;
    const std::int64_t first = f.offsets[tree];
    const std::int32_t *feature = f.feature + first, *left = f.left + first, *right = f.right + first;
    const double* threshold = f.threshold + first;
    const bool nominal = f.words.size > 0;
    for (index_t from = 0; from < m; from += together) {
        std::int32_t at[together] = {};
        index_t row[together], open = std::min(together, m - from);
        std::int32_t node[together];
        for (index_t i = 0; i < open; ++i) row[i] = from + i;
        std::fill_n(node, open, 0);
        while (open > 0) {
            index_t stay = 0;
            for (index_t i = 0; i < open; ++i) {
                const std::int32_t here = node[i], column = feature[here];
                if (column < 0) {
                    at[row[i] - from] = here;
                    continue;
                }
                const double* own = cells.row(begin + row[i]);
                const double cell = own[column];
                const bool plain = cell == cell && (!nominal || f.categories[first + here] < 0);
                const bool goes = plain ? cell <= threshold[here] : goes_left(f, first + here, own);
                const std::int32_t l = left[here], r = right[here];
                row[stay] = row[i];
                node[stay++] = goes ? l : r;
            }
            open = stay;
        }
        std::copy_n(at, std::min(together, m - from), leaf + from);
    }
}

ASSAY_INLINE void ranks_body(const double* cuts, std::int32_t count, const double* x, std::int32_t m, std::int32_t* rank) {
    for (std::int32_t i = 0; i < m; ++i) rank[i] = 0;
    for (; count > 1;) {
        const std::int32_t half = count / 2;
        for (std::int32_t i = 0; i < m; ++i) rank[i] += cuts[rank[i] + half - 1] < x[i] ? half : 0;
        count -= half;
    }
    if (count == 1)
        for (std::int32_t i = 0; i < m; ++i) rank[i] += cuts[rank[i]] < x[i] ? 1 : 0;
}
ASSAY_DISPATCH(void, ranks, ranks_body, (const double* cuts, std::int32_t count, const double* x, std::int32_t m, std::int32_t* rank),
               (cuts, count, x, m, rank))

// The codes that go right by a nominal test: a byte for each category, and one for those not known.
void add_table(const ForestView& f, std::int64_t node, std::vector<std::uint8_t>& tables) {
    for (std::int64_t c = 0; c < f.n_categories[f.feature[node]]; ++c)
        tables.push_back(static_cast<std::uint8_t>(~(f.words[f.categories[node] + c / 64] >> (c % 64)) & 1));
    tables.push_back(f.missing_left[node] != 0 ? 0 : 1);
}

// A test on codes: a row goes right if code + shift > limit. With shift 1 the missing code becomes 0 and goes left.
struct Test {
    std::int32_t column;  // place among the columns in use
    Code limit, shift;
    std::int32_t nominal;  // first byte of its table in `tables`, or -1: there a row goes right where the byte is 1
};
struct Step {
    Test test;
    std::int32_t left, right;  // a leaf points to itself
};
// Sets of leaves stand in pieces as wide as a code, so that a comparison of codes is a mask for them without widening; a test
// mostly strikes leaves of one piece.
struct Strike {
    Test test;
    Code piece, struck;  // leaves of the piece that the row cannot reach if it goes right
};

// The forest prepared for codes.
struct Plan {
    ForestCodes codes;
    std::vector<std::uint8_t> tables;
    std::vector<Strike> strikes;
    std::vector<Step> steps;
    struct Tree {
        bool walked = false;
        index_t begin = 0, end = 0, depth = 0;
        std::vector<std::int32_t> leaves;  // nodes of the leaves from left to right
    };
    std::vector<Tree> trees;
    bool fits = true;
    // Of each node of the tree that is added: the leaves below, those before it from left to right, and its depth.
    struct Span {
        index_t leaves, before, depth;
    };
    std::vector<Span> span;
    std::vector<std::int64_t> tests;  // its nodes that are no leaves

    Plan(const ForestView& f, index_t first, index_t last, index_t n_columns) : codes(f, first, last, n_columns) {
        fits = codes.most <= most_ranks;
        strikes.reserve(static_cast<std::size_t>(f.offsets[last] - f.offsets[first]));
        trees.reserve(static_cast<std::size_t>(last - first));
        for (index_t t = first; t < last && fits; ++t) add(f, t);
    }

    Test test_of(const ForestView& f, std::int64_t node) {
        const std::int32_t column = f.feature[node];
        Test test{codes.place[static_cast<std::size_t>(column)], 0, static_cast<Code>(f.missing_left[node] != 0), -1};
        if (f.categories[node] >= 0) {
            test.nominal = static_cast<std::int32_t>(tables.size());
            add_table(f, node, tables);
            return test;
        }
        test.limit = static_cast<Code>(codes.rank(f, node) + test.shift);
        return test;
    }

    void add(const ForestView& f, index_t t) {
        const std::int64_t first = f.offsets[t];
        const auto nodes = static_cast<index_t>(f.offsets[t + 1] - first);
        Tree tree;
        tests.resize(static_cast<std::size_t>(nodes));
        tests.resize(static_cast<std::size_t>(list_tests(f.feature + first, 0, nodes, tests.data())));
        span.assign(static_cast<std::size_t>(nodes), {1, 0, 0});
        const auto of = [&](index_t node) -> Span& { return span[static_cast<std::size_t>(node)]; };
        // Children come after their parent.
        for (std::size_t k = tests.size(); k-- > 0;) {
            const std::int64_t i = tests[k];
            of(i).leaves = of(f.left[first + i]).leaves + of(f.right[first + i]).leaves;
        }
        for (const std::int64_t i : tests) {
            const Span& own = of(i);
            Span &left = of(f.left[first + i]), &right = of(f.right[first + i]);
            left.before = own.before;
            right.before = own.before + left.leaves;
            left.depth = right.depth = own.depth + 1;
            tree.depth = std::max(tree.depth, own.depth + 1);
        }
        // The last node before which so many leaves stand is a leaf, for it is below the others.
        const index_t leaves = of(0).leaves;
        tree.leaves.resize(static_cast<std::size_t>(leaves));
        for (index_t i = 0; i < nodes; ++i) tree.leaves[static_cast<std::size_t>(of(i).before)] = static_cast<std::int32_t>(i);
        tree.walked = leaves > most_leaves;
        const auto bits = [](index_t count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; };
        if (tree.walked) {
            tree.begin = static_cast<index_t>(steps.size());
            for (index_t i = 0; i < nodes; ++i) {
                const auto self = static_cast<std::int32_t>(i);
                if (f.feature[first + i] < 0)
                    steps.push_back({{0, missing_code, 0, -1}, self, self});
                else
                    steps.push_back({test_of(f, first + i), f.left[first + i], f.right[first + i]});
            }
            tree.end = static_cast<index_t>(steps.size());
        } else {
            tree.begin = static_cast<index_t>(strikes.size());
            for (const std::int64_t i : tests) {
                const index_t from = of(i).before, to = of(f.right[first + i]).before;  // of its left side
                const std::uint64_t struck = bits(to) & ~bits(from);
                const Test test = test_of(f, first + i);
                for (index_t piece = from / leaves_per_piece; piece * leaves_per_piece < to; ++piece)
                    strikes.push_back({test, static_cast<Code>(piece), static_cast<Code>(struck >> (piece * leaves_per_piece))});
            }
            tree.end = static_cast<index_t>(strikes.size());
        }
        trees.push_back(std::move(tree));
    }
};

// Large trees are walked, many rows side by side. The nodes of a tree stand level by level and the children of a node side by side, so that
// a step is two look-ups, one comparison and one addition; a leaf points to itself. A test is limit, column and shift (as in Test) in one word.
struct Walk {
    struct Tree {
        index_t begin = 0, depth = 0;  // of its steps
        bool nominal = false;
    };
    ForestCodes codes;
    std::vector<std::uint32_t> test, child;
    std::vector<std::int32_t> node;      // of a step, from the first node of its tree
    std::vector<std::int32_t> table;     // of a nominal step in `tables`, else -1
    std::vector<std::uint8_t> tables;    // 1 where a category goes right, last those that are not known
    std::vector<Tree> trees;
    bool fits = true;

    Walk(const ForestView& f, index_t first, index_t last, index_t n_columns) : codes(f, first, last, n_columns) {
        fits = codes.most <= most_ranks && codes.columns.size() < 0x8000;
        const auto nodes = static_cast<std::size_t>(f.offsets[last] - f.offsets[first]);
        test.reserve(nodes);
        child.reserve(nodes);
        node.reserve(nodes);
        table.reserve(nodes);
        for (index_t t = first; t < last && fits; ++t) add(f, f.offsets[t]);
    }

    void new_step(std::int32_t of_node, index_t place) {
        node.push_back(of_node);
        test.push_back(missing_code);  // nothing is above this limit
        child.push_back(static_cast<std::uint32_t>(place));
        table.push_back(-1);
    }

    void add(const ForestView& f, std::int64_t root) {
        Tree tree;
        tree.begin = static_cast<index_t>(node.size());
        std::vector<index_t> level{0}, next;
        for (new_step(0, 0); !level.empty(); level.swap(next), next.clear()) {
            for (const index_t here : level) {
                const auto at = static_cast<std::size_t>(tree.begin + here);
                const std::int64_t i = root + node[at];
                if (f.feature[i] < 0) continue;
                const auto column = static_cast<std::uint32_t>(codes.place[static_cast<std::size_t>(f.feature[i])]);
                const std::uint32_t shift = f.missing_left[i] != 0 ? 1 : 0;
                if (f.categories[i] >= 0) {
                    tree.nominal = true;
                    table[at] = static_cast<std::int32_t>(tables.size());
                    add_table(f, i, tables);
                    test[at] = column << 16;
                } else {
                    test[at] = (static_cast<std::uint32_t>(codes.rank(f, i)) + shift) | column << 16 | shift << 31;
                }
                child[at] = static_cast<std::uint32_t>(static_cast<index_t>(node.size()) - tree.begin);
                for (const std::int32_t below : {f.left[i], f.right[i]}) {
                    next.push_back(static_cast<index_t>(node.size()) - tree.begin);
                    new_step(below, next.back());
                }
            }
            tree.depth += next.empty() ? 0 : 1;
        }
        trees.push_back(tree);
    }
};

// Some levels of a tree for `walked_together` rows; codes stand column after column, `rows_walked` apart.
ASSAY_INLINE void descend_body(const std::uint32_t* test, const std::uint32_t* child, const std::uint32_t* codes, index_t levels, std::uint32_t* at) {
    for (index_t level = 0; level < levels; ++level)
        for (std::uint32_t i = 0; i < walked_together; ++i) {
            const std::uint32_t own = test[at[i]];
            const std::uint32_t code = codes[(own >> 16 & 0x7FFFU) * rows_walked + i];
            at[i] = child[at[i]] + (((code + (own >> 31)) & 0xFFFFU) > (own & 0xFFFFU) ? 1U : 0U);
        }
}
ASSAY_DISPATCH(void, descend, descend_body,
               (const std::uint32_t* test, const std::uint32_t* child, const std::uint32_t* codes, index_t levels, std::uint32_t* at),
               (test, child, codes, levels, at))

// OUT leaf (m): nodes of the leaves that rows reach in one tree.
void walk_rows(const Walk& plan, const Walk::Tree& tree, const std::uint32_t* codes, index_t m, std::int32_t* leaf) {
    const std::uint32_t *test = plan.test.data() + tree.begin, *child = plan.child.data() + tree.begin;
    const std::int32_t *node = plan.node.data() + tree.begin, *table = plan.table.data() + tree.begin;
    for (index_t from = 0; from < m; from += walked_together) {
        alignas(64) std::uint32_t at[walked_together] = {};
        const index_t count = std::min(static_cast<index_t>(walked_together), m - from);
        for (index_t level = 0; level < tree.depth && !tree.nominal; level += levels_at_once) {
            descend(test, child, codes + from, std::min(tree.depth - level, levels_at_once), at);
            std::uint32_t open = 0;
            for (std::uint32_t i = 0; i < walked_together; ++i) open |= child[at[i]] ^ at[i];
            if (open == 0) break;
        }
        for (index_t i = 0; i < count && tree.nominal; ++i)
            for (std::uint32_t here = at[i]; true; here = at[i]) {
                const std::uint32_t own = test[here], code = codes[(own >> 16 & 0x7FFFU) * rows_walked + static_cast<std::uint32_t>(from + i)];
                const bool right = table[here] >= 0 ? plan.tables[static_cast<std::size_t>(table[here]) + code] != 0
                                                    : ((code + (own >> 31)) & 0xFFFFU) > (own & 0xFFFFU);
                at[i] = child[here] + (right && child[here] != here ? 1U : 0U);
                if (at[i] == here) break;
            }
        for (index_t i = 0; i < count; ++i) leaf[from + i] = node[at[i]];
    }
}

// The sets of up to `rows_per_block` rows, piece after piece, without the leaves that a tree's tests strike. m: a multiple of `rows_struck`.
ASSAY_INLINE void strike_body(const Strike* strikes, index_t count, const std::uint8_t* tables, const Code* codes, Code* sets, index_t m) {
    constexpr Code half = 0x8000;  // added to both sides, it makes the comparison one of signed numbers
    for (index_t s = 0; s < count; ++s) {
        const Strike strike = strikes[s];
        const Code* const own = codes + strike.test.column * rows_per_block;
        Code* __restrict const to = sets + strike.piece * rows_per_block;
        if (strike.test.nominal < 0) {
            const auto shift = static_cast<Code>(strike.test.shift + half);
            const auto limit = static_cast<std::int16_t>(static_cast<Code>(strike.test.limit + half));
            for (index_t i = 0; i < m; i += rows_struck)
                for (index_t k = i; k < i + rows_struck; ++k) {
                    const Code gone = static_cast<std::int16_t>(static_cast<Code>(own[k] + shift)) > limit ? strike.struck : Code{0};
                    to[k] = static_cast<Code>(to[k] & ~gone);
                }
        } else {
            const std::uint8_t* const table = tables + strike.test.nominal;
            for (index_t i = 0; i < m; ++i) to[i] = static_cast<Code>(to[i] & ~(table[own[i]] != 0 ? strike.struck : 0));
        }
    }
}
ASSAY_DISPATCH(void, strike, strike_body,
               (const Strike* strikes, index_t count, const std::uint8_t* tables, const Code* codes, Code* sets, index_t m),
               (strikes, count, tables, codes, sets, m))

// to[i] += values[the first leaf that is left in the set of row i], whose two pieces stand in `low` and `high`. The number of the lowest bit
// is the exponent of that bit as a float.
ASSAY_INLINE void add_values_body(const Code* low, const Code* high, const double* values, double* __restrict to, index_t m) {
    for (index_t i = 0; i < m; ++i) {
        const std::uint32_t set = std::uint32_t{low[i]} | std::uint32_t{high[i]} << 16;
        const auto bit = static_cast<float>(static_cast<std::int32_t>(set & (0U - set)));
        to[i] += values[(std::bit_cast<std::uint32_t>(bit) >> 23 & 0xFFU) - 127U];
    }
}
ASSAY_DISPATCH(void, add_values, add_values_body,
               (const Code* low, const Code* high, const double* values, double* to, index_t m), (low, high, values, to, m))

// The sets of leaves that are left to up to `rows_per_block` rows, piece after piece. Returns how many pieces there are.
index_t strike_tree(const Plan& plan, const Plan::Tree& tree, const Code* codes, index_t m, Code* sets) {
    static_assert(rows_per_block % rows_struck == 0);
    const index_t pieces = chunk_count(static_cast<index_t>(tree.leaves.size()), leaves_per_piece);
    std::fill_n(sets, pieces * rows_per_block, static_cast<Code>(~Code{0}));
    strike(plan.strikes.data() + tree.begin, tree.end - tree.begin, plan.tables.data(), codes, sets, chunk_count(m, rows_struck) * rows_struck);
    return pieces;
}

void find_leaves(const Plan::Tree& tree, const Code* sets, index_t pieces, index_t m, std::int32_t* leaf) {
    const std::int32_t* const leaves = tree.leaves.data();
    for (index_t i = 0; i < m; ++i) {
        std::uint64_t all = 0;
        for (index_t p = 0; p < pieces; ++p) all |= std::uint64_t{sets[p * rows_per_block + i]} << (p * leaves_per_piece);
        leaf[i] = leaves[std::countr_zero(all)];
    }
}

void walk_codes(const Plan& plan, const Plan::Tree& tree, const Code* codes, index_t m, std::int32_t* leaf) {
    const Step* steps = plan.steps.data() + tree.begin;
    for (index_t from = 0; from < m; from += side_by_side) {
        const index_t count = std::min(side_by_side, m - from);
        std::int32_t at[side_by_side] = {};
        for (index_t level = 0; level < tree.depth; ++level) {
            bool moved = false;
            for (index_t i = 0; i < count; ++i) {
                const Step& step = steps[at[i]];
                const Code code = codes[step.test.column * rows_per_block + from + i];
                const bool right = step.test.nominal < 0
                                       ? static_cast<Code>(code + step.test.shift) > step.test.limit
                                       : plan.tables[static_cast<std::size_t>(step.test.nominal) + code] != 0;
                const std::int32_t next = right ? step.right : step.left;
                moved |= next != at[i];
                at[i] = next;
            }
            if (!moved) break;
        }
        std::copy_n(at, count, leaf + from);
    }
}

}  // namespace

void ranks_among(const double* cuts, std::int32_t count, const double* x, std::int32_t m, std::int32_t* rank) {
    ranks(cuts, count, x, m, rank);
}

Forest forest_of(Tree&& tree) {
    Forest forest;
    forest.width = tree.width;
    forest.feature = std::move(tree.feature);
    forest.left = std::move(tree.left);
    forest.right = std::move(tree.right);
    forest.threshold = std::move(tree.threshold);
    forest.categories = std::move(tree.categories);
    forest.words = std::move(tree.words);
    forest.missing_left = std::move(tree.missing_left);
    forest.value = std::move(tree.value);
    forest.rows = std::move(tree.rows);
    forest.weight = std::move(tree.weight);
    forest.offsets.push_back(forest.n_nodes());
    return forest;
}

ForestView view_of(const Forest& f, const std::int32_t* n_categories) {
    return {{f.offsets.data(), static_cast<index_t>(f.offsets.size()), 1}, f.feature.data(), f.left.data(), f.right.data(),
            f.threshold.data(), f.categories.data(), {f.words.data(), static_cast<index_t>(f.words.size()), 1},
            f.missing_left.data(), f.value.data(), f.width, n_categories};
}

std::int32_t leaf_of(const ForestView& f, index_t tree, const double* row) { return walk(f, tree, row); }

void reserve(Forest& forest, std::size_t nodes) {
    for (auto* list : {&forest.feature, &forest.left, &forest.right}) list->reserve(nodes);
    for (auto* list : {&forest.threshold, &forest.rows, &forest.weight, &forest.gain}) list->reserve(nodes);
    forest.categories.reserve(nodes);
    forest.missing_left.reserve(nodes);
    forest.value.reserve(nodes * static_cast<std::size_t>(forest.width));
}

void append(Forest& forest, const Forest& tree) {
    const auto words = static_cast<std::int64_t>(forest.words.size());
    const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    add(forest.feature, tree.feature);
    add(forest.left, tree.left);
    add(forest.right, tree.right);
    add(forest.threshold, tree.threshold);
    for (const std::int64_t first : tree.categories) forest.categories.push_back(first < 0 ? -1 : first + words);
    add(forest.words, tree.words);
    add(forest.missing_left, tree.missing_left);
    add(forest.value, tree.value);
    add(forest.rows, tree.rows);
    add(forest.weight, tree.weight);
    add(forest.gain, tree.gain);
    forest.offsets.push_back(static_cast<std::int64_t>(forest.feature.size()));
}

void add_predictions(const ForestView& f, Matrix<const double> cells, const Gathering& what, Matrix<double> sums,
                     int threads) {
    const index_t n = cells.rows, trees = what.last - what.first;
    if (n == 0 || trees <= 0) return;
    const index_t groups = what.outputs / f.width;
    const auto add = [&](index_t tree, std::int32_t leaf, index_t row) {
        const double* value = f.value + (f.offsets[tree] + leaf) * f.width;
        double* to = sums.row(row) + (tree % groups) * f.width;
        for (index_t k = 0; k < f.width; ++k) to[k] += value[k];
    };
    const index_t nodes = static_cast<index_t>(f.offsets[what.last] - f.offsets[what.first]);
    // A plan takes as long for a node as it saves on a walk, and is made by one thread.
    const bool worth_a_plan = n * trees > nodes * std::clamp(threads, 1, 4), large = nodes > 2 * most_leaves * trees;
    if (n * (large ? tests_of_walk * trees : nodes) < few_tests) threads = 1;  // done before another thread has woken up
    const auto walk_each = [&] {
        parallel_chunks(n, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
            std::int32_t leaf[rows_per_block];
            for (index_t t = what.first; t < what.last; ++t) {
                walk_cells(f, t, cells, begin, end - begin, leaf);
                for (index_t i = begin; i < end; ++i) add(t, leaf[i - begin], i);
            }
        });
    };
    if (!worth_a_plan) return walk_each();
    if (large) {
        const Walk plan(f, what.first, what.last, cells.cols);
        if (!plan.fits) return walk_each();
        parallel_chunks(n, rows_walked, threads, [&](index_t, index_t begin, index_t end) {
            std::vector<std::uint32_t> codes(plan.codes.columns.size() * rows_walked + walked_together);
            std::vector<std::int32_t> leaf(static_cast<std::size_t>(end - begin));
            plan.codes.encode(cells, begin, end - begin, codes.data(), rows_walked);
            for (std::uint32_t& code : codes) code &= 0xFFFFU;  // missing cells: the largest code of two bytes
            for (index_t t = what.first; t < what.last; ++t) {
                walk_rows(plan, plan.trees[static_cast<std::size_t>(t - what.first)], codes.data(), end - begin, leaf.data());
                for (index_t i = begin; i < end; ++i) add(t, leaf[static_cast<std::size_t>(i - begin)], i);
            }
        });
        return;
    }
    const Plan plan(f, what.first, what.last, cells.cols);
    if (!plan.fits) return walk_each();
    parallel_chunks(n, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
        const index_t m = end - begin;
        std::vector<Code> codes(plan.codes.columns.size() * rows_per_block + 1);
        std::int32_t leaf[rows_per_block];
        alignas(64) Code sets[most_leaves / leaves_per_piece * rows_per_block];
        double values[2 * leaves_per_piece];
        // The sums of trees with one value a leaf, output after output.
        std::vector<double> held(static_cast<std::size_t>(f.width == 1 ? groups * rows_per_block : 0));
        const auto exchange = [&](auto&& move) {
            for (index_t k = 0; k < groups && f.width == 1; ++k)
                for (index_t i = 0; i < m; ++i) move(held[static_cast<std::size_t>(k * rows_per_block + i)], sums.row(begin + i)[k]);
        };
        exchange([](double& own, double& sum) { own = sum; });
        plan.codes.encode(cells, begin, m, codes.data(), rows_per_block);
        for (index_t t = 0; t < trees; ++t) {
            const Plan::Tree& tree = plan.trees[static_cast<std::size_t>(t)];
            const double* const value = f.value + f.offsets[what.first + t] * f.width;
            double* const to = held.data() + (what.first + t) % groups * rows_per_block;
            if (tree.walked) {
                walk_codes(plan, tree, codes.data(), m, leaf);
            } else {
                const index_t pieces = strike_tree(plan, tree, codes.data(), m, sets);
                if (f.width == 1 && pieces <= 2) {
                    for (std::size_t k = 0; k < tree.leaves.size(); ++k) values[k] = value[tree.leaves[k]];
                    add_values(sets, pieces == 2 ? sets + rows_per_block : sets, values, to, m);
                    continue;
                }
                find_leaves(tree, sets, pieces, m, leaf);
            }
            if (f.width > 1)
                for (index_t i = 0; i < m; ++i) add(what.first + t, leaf[i], begin + i);
            else
                for (index_t i = 0; i < m; ++i) to[i] += value[leaf[i]];
        }
        exchange([](double& own, double& sum) { sum = own; });
    });
}

void apply_forest(const ForestView& f, Matrix<const double> cells, Matrix<std::int32_t> leaves, int threads) {
    parallel_chunks(cells.rows, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i)
            for (index_t t = 0; t < f.n_trees(); ++t) leaves(i, t) = walk(f, t, cells.row(i));
    });
}

}  // namespace assay::trees
