#include "assay/trees/forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/forest_codes.hpp"

namespace assay::trees {
namespace {

using Code = std::uint16_t;
constexpr Code missing_code = 0xFFFF;
constexpr index_t rows_per_block = 256, most_ranks = 65000, small_leaves = 32, most_leaves = 64, side_by_side = 8;

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
template <class Set>
struct Strike {
    Test test;
    Set kept;  // leaves that stay if the row goes right
};

// The forest prepared for codes.
struct Plan {
    ForestCodes codes;
    std::vector<std::uint8_t> tables;
    std::vector<Strike<std::uint32_t>> small;
    std::vector<Strike<std::uint64_t>> large;
    std::vector<Step> steps;
    struct Tree {
        int kind = 0;  // 0: small set, 1: large set, 2: walked
        index_t begin = 0, end = 0, depth = 0;
        std::vector<std::int32_t> leaves;  // nodes of the leaves from left to right
    };
    std::vector<Tree> trees;
    bool fits = true;

    Plan(const ForestView& f, index_t first, index_t last, index_t n_columns) : codes(f, first, last, n_columns) {
        fits = codes.most <= most_ranks;
        for (index_t t = first; t < last && fits; ++t) add(f, t);
    }

    Test test_of(const ForestView& f, std::int64_t node) {
        const std::int32_t column = f.feature[node];
        Test test{codes.place[static_cast<std::size_t>(column)], 0, static_cast<Code>(f.missing_left[node] != 0), -1};
        if (f.categories[node] >= 0) {
            test.nominal = static_cast<std::int32_t>(tables.size());
            for (std::int64_t c = 0; c < f.n_categories[column]; ++c)
                tables.push_back(static_cast<std::uint8_t>(~(f.words[f.categories[node] + c / 64] >> (c % 64)) & 1));
            tables.push_back(f.missing_left[node] != 0 ? 0 : 1);
            return test;
        }
        test.limit = static_cast<Code>(codes.rank(f, node) + test.shift);
        return test;
    }

    void add(const ForestView& f, index_t t) {
        const std::int64_t first = f.offsets[t];
        const auto nodes = static_cast<index_t>(f.offsets[t + 1] - first);
        Tree tree;
        // Leaves from left to right, and for each inner node the leaves of its left side.
        std::vector<std::pair<index_t, index_t>> span(static_cast<std::size_t>(nodes));
        struct Visit {
            std::int32_t node;
            index_t depth;
            bool after_left;
        };
        std::vector<Visit> stack{{0, 0, false}};
        while (!stack.empty()) {
            const Visit at = stack.back();
            stack.pop_back();
            tree.depth = std::max(tree.depth, at.depth);
            auto& own = span[static_cast<std::size_t>(at.node)];
            if (at.after_left) {
                own.second = static_cast<index_t>(tree.leaves.size());
                continue;
            }
            if (f.feature[first + at.node] < 0) {
                tree.leaves.push_back(at.node);
                continue;
            }
            own.first = static_cast<index_t>(tree.leaves.size());
            stack.push_back({f.right[first + at.node], at.depth + 1, false});
            stack.push_back({at.node, at.depth, true});
            stack.push_back({f.left[first + at.node], at.depth + 1, false});
        }
        const auto leaves = static_cast<index_t>(tree.leaves.size());
        tree.kind = leaves <= small_leaves ? 0 : (leaves <= most_leaves ? 1 : 2);
        const auto bits = [](index_t count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; };
        if (tree.kind == 2) {
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
            tree.begin = static_cast<index_t>(tree.kind == 0 ? small.size() : large.size());
            for (index_t i = 0; i < nodes; ++i) {
                if (f.feature[first + i] < 0) continue;
                const auto [from, to] = span[static_cast<std::size_t>(i)];
                const std::uint64_t kept = ~(bits(to) & ~bits(from));
                if (tree.kind == 0)
                    small.push_back({test_of(f, first + i), static_cast<std::uint32_t>(kept)});
                else
                    large.push_back({test_of(f, first + i), kept});
            }
            tree.end = static_cast<index_t>(tree.kind == 0 ? small.size() : large.size());
        }
        trees.push_back(std::move(tree));
    }
};

// Large trees are walked on the cells themselves: ranks would cost more than they save.
struct CellStep {
    double threshold;
    std::int32_t column, left, right;  // a leaf points to itself
    std::int32_t words;                // nominal: first word of its set, else -1
    bool missing_left;
};

std::vector<CellStep> cell_steps(const ForestView& f, index_t first, index_t last) {
    std::vector<CellStep> steps;
    steps.reserve(static_cast<std::size_t>(f.offsets[last] - f.offsets[first]));
    for (index_t t = first; t < last; ++t)
        for (std::int64_t i = f.offsets[t]; i < f.offsets[t + 1]; ++i) {
            const auto self = static_cast<std::int32_t>(i - f.offsets[t]);
            const bool leaf = f.feature[i] < 0;
            steps.push_back({leaf ? std::numeric_limits<double>::max() : f.threshold[i], leaf ? 0 : f.feature[i],
                             leaf ? self : f.left[i], leaf ? self : f.right[i], static_cast<std::int32_t>(f.categories[i]),
                             f.missing_left[i] != 0});
        }
    return steps;
}

// Rows begin .. begin + m - 1 through one tree, some side by side so that their steps overlap.
void walk_cells(const ForestView& f, const CellStep* steps, Matrix<const double> cells, index_t begin, index_t m,
                std::int32_t* leaf) {
    for (index_t from = 0; from < m; from += side_by_side) {
        const index_t count = std::min(side_by_side, m - from);
        std::int32_t at[side_by_side] = {};
        bool moved = true;
        while (moved) {
            moved = false;
            for (index_t i = 0; i < count; ++i) {
                const CellStep& step = steps[at[i]];
                const double cell = cells.row(begin + from + i)[step.column];
                bool left = cell <= step.threshold;
                if (step.words >= 0) {
                    const bool known = cell >= 0 && cell < f.n_categories[step.column];
                    const auto c = static_cast<std::int64_t>(known ? cell : 0);
                    left = known ? (f.words[step.words + c / 64] >> (c % 64) & 1) != 0 : step.missing_left;
                } else if (cell != cell) {
                    left = step.missing_left;
                }
                const std::int32_t next = left ? step.left : step.right;
                moved |= next != at[i];
                at[i] = next;
            }
        }
        std::copy_n(at, count, leaf + from);
    }
}

template <class Set>
ASSAY_INLINE void strike_body(const Code* codes, Code limit, Code shift, Set kept, Set* sets, index_t m) {
    const Set all = static_cast<Set>(~Set{0});
    for (index_t i = 0; i < m; ++i) {
        const Set keep = static_cast<Code>(codes[i] + shift) > limit ? kept : all;
        sets[i] &= keep;
    }
}
ASSAY_DISPATCH(void, strike, strike_body,
               (const Code* codes, Code limit, Code shift, std::uint32_t kept, std::uint32_t* sets, index_t m),
               (codes, limit, shift, kept, sets, m))
ASSAY_DISPATCH(void, strike, strike_body,
               (const Code* codes, Code limit, Code shift, std::uint64_t kept, std::uint64_t* sets, index_t m),
               (codes, limit, shift, kept, sets, m))

template <class Set>
void find_leaves(const Plan& plan, const Plan::Tree& tree, const std::vector<Strike<Set>>& strikes, const Code* codes,
                 index_t m, std::int32_t* leaf) {
    alignas(64) Set sets[rows_per_block];
    std::fill_n(sets, m, static_cast<Set>(~Set{0}));
    for (index_t s = tree.begin; s < tree.end; ++s) {
        const auto& [test, kept] = strikes[static_cast<std::size_t>(s)];
        const Code* own = codes + test.column * rows_per_block;
        if (test.nominal < 0) {
            strike(own, test.limit, test.shift, kept, sets, m);
        } else {
            const std::uint8_t* table = plan.tables.data() + test.nominal;
            for (index_t i = 0; i < m; ++i) sets[i] &= table[own[i]] != 0 ? kept : static_cast<Set>(~Set{0});
        }
    }
    for (index_t i = 0; i < m; ++i) leaf[i] = tree.leaves[static_cast<std::size_t>(std::countr_zero(sets[i]))];
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
    if (nodes > 2 * most_leaves * trees) {
        const auto steps = cell_steps(f, what.first, what.last);
        parallel_chunks(n, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
            std::int32_t leaf[rows_per_block];
            for (index_t t = what.first; t < what.last; ++t) {
                walk_cells(f, steps.data() + (f.offsets[t] - f.offsets[what.first]), cells, begin, end - begin, leaf);
                for (index_t i = begin; i < end; ++i) add(t, leaf[i - begin], i);
            }
        });
        return;
    }
    const bool worth_a_plan = n * trees * 4 > nodes;
    const Plan plan(f, what.first, worth_a_plan ? what.last : what.first, cells.cols);
    if (!worth_a_plan || !plan.fits) {
        parallel_chunks(n, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i)
                for (index_t t = what.first; t < what.last; ++t) add(t, walk(f, t, cells.row(i)), i);
        });
        return;
    }
    parallel_chunks(n, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
        const index_t m = end - begin;
        std::vector<Code> codes(plan.codes.columns.size() * rows_per_block + 1);
        std::int32_t leaf[rows_per_block];
        plan.codes.encode(cells, begin, m, codes.data(), rows_per_block);
        for (index_t t = 0; t < trees; ++t) {
            const Plan::Tree& tree = plan.trees[static_cast<std::size_t>(t)];
            if (tree.kind == 0)
                find_leaves(plan, tree, plan.small, codes.data(), m, leaf);
            else if (tree.kind == 1)
                find_leaves(plan, tree, plan.large, codes.data(), m, leaf);
            else
                walk_codes(plan, tree, codes.data(), m, leaf);
            for (index_t i = 0; i < m; ++i) add(what.first + t, leaf[i], begin + i);
        }
    });
}

void apply_forest(const ForestView& f, Matrix<const double> cells, Matrix<std::int32_t> leaves, int threads) {
    parallel_chunks(cells.rows, rows_per_block, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i)
            for (index_t t = 0; t < f.n_trees(); ++t) leaves(i, t) = walk(f, t, cells.row(i));
    });
}

}  // namespace assay::trees
