#include "assay/explain/tree_shap.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "assay/common/freed_memory.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/forest_codes.hpp"

namespace assay::explain {
namespace {

using trees::ForestCodes;
using trees::ForestView;
constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();
constexpr index_t row_chunk = 512, lanes = 64, sets_at_once = 256, table_budget = index_t{1} << 15;  // doubles in the tables of one batch
constexpr double least_share = 1e-14;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// All tests of one column on a path, as one test on codes.
struct Passage {
    std::int32_t place = 0;              // of the column among those in use
    std::uint32_t low = 0, high = no_rank;
    bool missing = true;                 // whether missing cells pass
    std::vector<std::uint8_t> nominal;   // whether each category passes, and unknown ones; empty for numeric columns
    double share = 1;                    // z
};

struct Leaf {
    std::int64_t node = 0;
    index_t output = 0;
    std::vector<Passage> path;
    double share = 1;
    bool tabulated = false;
    index_t table = 0;  // first double of its table in the batch
    std::vector<std::pair<std::uint64_t, double>> background;  // sets passed by background rows, with their shares
};

struct Quadrature {
    std::vector<double> nodes, weights;  // on [0, 1]
};

// Gauss-Legendre, by Newton's method on the Legendre polynomial.
Quadrature gauss_legendre(index_t count) {
    Quadrature q;
    const double n = static_cast<double>(count);
    for (index_t i = 0; i < count; ++i) {
        double x = std::cos(3.14159265358979323846 * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
        for (int step = 0; step < 100; ++step) {
            double before = 1, here = x;
            for (index_t k = 2; k <= count; ++k) {
                const double j = static_cast<double>(k);
                const double next = ((2 * j - 1) * x * here - (j - 1) * before) / j;
                before = here;
                here = next;
            }
            slope = n * (x * here - before) / (x * x - 1);
            const double move = here / slope;
            x -= move;
            if (std::abs(move) < 1e-16) break;
        }
        q.nodes.push_back(0.5 * (1 + x));
        q.weights.push_back(1 / ((1 - x * x) * slope * slope));
    }
    return q;
}

// One step over `lanes` sets: products and sums of the quadrature. passes[k][r] in {0, 1}.
ASSAY_INLINE void multiply_body(const std::uint8_t* passes, double fails, double holds, double* product) {
    for (index_t r = 0; r < lanes; ++r) product[r] *= passes[r] != 0 ? holds : fails;
}
ASSAY_DISPATCH(void, multiply, multiply_body, (const std::uint8_t* passes, double fails, double holds, double* product),
               (passes, fails, holds, product))

ASSAY_INLINE void add_ratio_body(const std::uint8_t* passes, double fails, double holds, const double* product, double* ratio, double* sum) {
    for (index_t r = 0; r < lanes; ++r) {
        ratio[r] = passes[r] != 0 ? holds : fails;
        sum[r] += product[r] * ratio[r];
    }
}
ASSAY_DISPATCH(void, add_ratio, add_ratio_body,
               (const std::uint8_t* passes, double fails, double holds, const double* product, double* ratio, double* sum),
               (passes, fails, holds, product, ratio, sum))

ASSAY_INLINE void add_pair_body(const double* product, const double* one, const double* other, double* sum) {
    for (index_t r = 0; r < lanes; ++r) sum[r] += product[r] * one[r] * other[r];
}
ASSAY_DISPATCH(void, add_pair, add_pair_body, (const double* product, const double* one, const double* other, double* sum),
               (product, one, other, sum))

// Codes of one, two or four bytes; the largest stands for a missing cell.
template <class Code>
ASSAY_INLINE void pass_body(const Code* codes, Code low, Code width, bool missing, std::uint8_t* passes, index_t m) {
    constexpr Code missing_code = std::numeric_limits<Code>::max();
    const std::uint8_t lost = missing ? 1 : 0;
    for (index_t r = 0; r < m; ++r)
        passes[r] = codes[r] == missing_code ? lost : static_cast<std::uint8_t>(static_cast<Code>(codes[r] - low) <= width);
}
#define ASSAY_PASS(Code)                                                                                                    \
    ASSAY_DISPATCH(void, pass, pass_body, (const Code* codes, Code low, Code width, bool missing, std::uint8_t* passes, index_t m), \
                   (codes, low, width, missing, passes, m))
ASSAY_PASS(std::uint8_t)
ASSAY_PASS(std::uint16_t)
ASSAY_PASS(std::uint32_t)
#undef ASSAY_PASS

ASSAY_INLINE void join_body(const std::uint8_t* passes, int bit, std::uint32_t* sets, index_t m) {
    for (index_t r = 0; r < m; ++r) sets[r] |= static_cast<std::uint32_t>(passes[r]) << bit;
}
ASSAY_DISPATCH(void, join, join_body, (const std::uint8_t* passes, int bit, std::uint32_t* sets, index_t m), (passes, bit, sets, m))

ASSAY_INLINE void look_up_body(const double* table, const std::uint32_t* sets, double value, double* to, index_t m) {
    for (index_t r = 0; r < m; ++r) to[r] += value * table[sets[r]];
}
ASSAY_DISPATCH(void, look_up, look_up_body, (const double* table, const std::uint32_t* sets, double value, double* to, index_t m),
               (table, sets, value, to, m))

// The codes of all rows, column after column, each in as few bytes as its thresholds or categories need.
class RowCodes {
public:
    RowCodes() = default;
    RowCodes(const ForestCodes& codes, Matrix<const double> cells, int threads) {
        std::size_t size = 0;
        for (std::size_t c = 0; c < codes.columns.size(); ++c) {
            const index_t highest = codes.highest(c);
            const std::size_t bytes = highest < std::numeric_limits<std::uint8_t>::max() ? 1 : highest < std::numeric_limits<std::uint16_t>::max() ? 2 : 4;
            columns_.push_back({size, bytes});
            size += (at(cells.rows) * bytes + 63) / 64 * 64;
        }
        held_.resize(size);
        parallel_chunks(cells.rows, row_chunk, threads, [&](index_t, index_t begin, index_t end) {
            for (std::size_t c = 0; c < columns_.size(); ++c)
                with_codes(held_.data(), columns_[c], [&](auto* own) { codes.encode_column(c, cells, begin, end - begin, own + begin); });
        });
    }

    // OUT passes (m): whether the rows from `begin` on pass the test.
    void passes(const Passage& test, index_t begin, index_t m, std::uint8_t* passes) const {
        with_codes(held_.data(), columns_[at(test.place)], [&](const auto* own) { passes_of(test, own + begin, m, passes); });
    }

private:
    struct Column {
        std::size_t first, bytes;  // in `held_`; of one code
    };

    // Calls use(codes of the column), in their own type.
    template <class Byte, class Use>
    static void with_codes(Byte* held, Column column, Use&& use) {
        const auto as = [&]<class Code>(Code) {
            use(reinterpret_cast<std::conditional_t<std::is_const_v<Byte>, const Code, Code>*>(held + column.first));
        };
        if (column.bytes == 1) as(std::uint8_t{});
        else if (column.bytes == 2) as(std::uint16_t{});
        else as(std::uint32_t{});
    }

    template <class Code>
    static void passes_of(const Passage& test, const Code* codes, index_t m, std::uint8_t* passes) {
        constexpr Code missing_code = std::numeric_limits<Code>::max();
        const auto high = static_cast<Code>(std::min(test.high, static_cast<std::uint32_t>(missing_code - 1)));
        if (!test.nominal.empty()) {
            for (index_t r = 0; r < m; ++r) passes[r] = test.nominal[codes[r]];
        } else if (test.low > test.high) {  // nothing known passes
            for (index_t r = 0; r < m; ++r) passes[r] = codes[r] == missing_code && test.missing ? 1 : 0;
        } else {
            const auto low = static_cast<Code>(test.low);
            pass(codes, low, static_cast<Code>(high - low), test.missing, passes, m);
        }
    }

    std::vector<Column> columns_;
    std::vector<std::uint8_t, Unwritten<std::uint8_t>> held_;
};

class Explainer {
public:
    Explainer(const ForestView& forest, const ShapTask& task)
        : f_(forest), task_(task), codes_(forest, 0, forest.n_trees(), task.cells.cols), n_(task.cells.rows), d_(task.cells.cols) {
        codes_.forget_met();
    }

    ShapValues run() {
        return_freed_memory(8 * n_ * d_);  // what reading the model took and left behind
        const auto outputs = at(task_.outputs);
        result_.base.assign(outputs, 0.0);
        result_.values.assign(outputs * at(d_ * n_), 0.0);
        if (task_.interactions) result_.interactions.assign(outputs * at(d_ * d_ * n_), 0.0);
        row_codes_ = RowCodes(codes_, task_.cells, task_.threads);
        if (task_.background != nullptr) background_codes_ = RowCodes(codes_, *task_.background, task_.threads);
        std::vector<Leaf> waiting;
        index_t size = 0;
        for (index_t t = 0; t < f_.n_trees() && !interrupted(); ++t) {
            for (Leaf& leaf : leaves_of(t)) {
                if (task_.background != nullptr && static_cast<index_t>(leaf.path.size()) > most_on_path) {
                    result_.too_long = true;
                    return std::move(result_);
                }
                const index_t own = table_size(leaf) + 64;
                if (!waiting.empty() && size + own > table_budget) {
                    settle(waiting);
                    waiting.clear();
                    size = 0;
                }
                size += own;
                waiting.push_back(std::move(leaf));
            }
        }
        settle(waiting);
        if (task_.interactions) fill_interactions();
        return std::move(result_);
    }

private:
    // -- leaves and their paths ------------------------------------------------------------------------------------
    std::vector<Leaf> leaves_of(index_t tree) {
        const std::int64_t first = f_.offsets[tree];
        const index_t groups = task_.outputs / f_.width;
        struct Visit {
            std::int32_t node;
            std::vector<Passage> path;
            double share;
        };
        std::vector<Leaf> leaves;
        std::vector<Visit> stack;
        stack.push_back({0, {}, 1.0});
        while (!stack.empty()) {
            Visit visit = std::move(stack.back());
            stack.pop_back();
            const std::int64_t node = first + visit.node;
            if (f_.feature[node] < 0) {
                Leaf leaf;
                leaf.node = node;
                leaf.output = (tree % groups) * f_.width;
                leaf.path = std::move(visit.path);
                leaf.share = visit.share;
                for (index_t c = 0; c < f_.width; ++c)
                    result_.base[at(leaf.output + c)] += leaf.share * f_.value[node * f_.width + c];
                leaves.push_back(std::move(leaf));
                continue;
            }
            for (const bool left : {false, true}) {
                const std::int32_t child = left ? f_.left[node] : f_.right[node];
                const double whole = task_.cover[node];
                const double share = whole > 0 ? task_.cover[first + child] / whole : 0.5;
                stack.push_back({child, with(visit.path, node, left, share), visit.share * share});
            }
        }
        return leaves;
    }

    std::vector<Passage> with(std::vector<Passage> path, std::int64_t node, bool left, double share) const {
        const std::int32_t column = f_.feature[node], place = codes_.place[at(column)];
        auto own = std::find_if(path.begin(), path.end(), [&](const Passage& p) { return p.place == place; });
        if (own == path.end()) {
            path.emplace_back();
            own = path.end() - 1;
            own->place = place;
        }
        own->share *= share;
        const bool missing_passes = (f_.missing_left[node] != 0) == left;
        if (f_.n_categories[column] > 0) {
            const index_t k = f_.n_categories[column];
            if (own->nominal.empty()) own->nominal.assign(at(k + 1), 1);
            for (index_t c = 0; c < k; ++c) {
                const bool goes_left = f_.categories[node] >= 0 ? (f_.words[f_.categories[node] + c / 64] >> (c % 64) & 1) != 0
                                                                : static_cast<double>(c) <= f_.threshold[node];
                if (goes_left != left) own->nominal[at(c)] = 0;
            }
            if (!missing_passes) own->nominal[at(k)] = 0;
            return path;
        }
        const auto rank = static_cast<std::uint32_t>(codes_.rank(f_, node));
        if (left)
            own->high = std::min(own->high, rank);
        else
            own->low = std::max(own->low, rank + 1);
        own->missing = own->missing && missing_passes;
        return path;
    }

    index_t table_size(const Leaf& leaf) const {
        const auto m = static_cast<index_t>(leaf.path.size());
        const index_t kinds = task_.interactions ? m + m * (m - 1) / 2 : m;
        const bool worth = m <= most_in_table && (index_t{1} << m) <= std::max(n_, index_t{8});
        return worth && m > 0 ? kinds << m : 0;
    }

    // -- what a leaf says of sets of passed columns ----------------------------------------------------------------
    const Quadrature& rule(index_t m) const { return rules_[at((m + 1) / 2)]; }

    // OUT sums (kinds x lanes) for lanes of sets: contributions of each column, then of each pair, of a leaf of value 1.
    void evaluate(const Leaf& leaf, const std::uint8_t* passes, double* sums) const {
        const auto m = static_cast<index_t>(leaf.path.size());
        const index_t kinds = task_.interactions ? m + m * (m - 1) / 2 : m;
        std::fill_n(sums, kinds * lanes, 0.0);
        const Quadrature& q = rule(m);
        std::vector<double> ratios(at(m * lanes));
        alignas(64) double product[lanes];
        for (std::size_t s = 0; s < q.nodes.size(); ++s) {
            const double t = q.nodes[s];
            std::fill_n(product, lanes, q.weights[s]);
            for (index_t k = 0; k < m; ++k) {
                const double z = std::max(leaf.path[at(k)].share, least_share);
                multiply(passes + k * lanes, (1 - t) * z, (1 - t) * z + t, product);
            }
            for (index_t k = 0; k < m; ++k) {
                const double z = std::max(leaf.path[at(k)].share, least_share);
                add_ratio(passes + k * lanes, -1 / (1 - t), (1 - z) / ((1 - t) * z + t), product, ratios.data() + k * lanes, sums + k * lanes);
            }
            if (!task_.interactions) continue;
            index_t pair = m;
            for (index_t i = 0; i < m; ++i)
                for (index_t j = i + 1; j < m; ++j, ++pair)
                    add_pair(product, ratios.data() + i * lanes, ratios.data() + j * lanes, sums + pair * lanes);
        }
        for (index_t r = m * lanes; r < kinds * lanes; ++r) sums[r] *= 0.5;
    }

    // The same against background rows, for one set; `to` is `stride` apart.
    void evaluate_background(const Leaf& leaf, std::uint64_t passed, double* to, index_t stride) const {
        const auto m = static_cast<index_t>(leaf.path.size());
        const std::uint64_t all = m == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << m) - 1, failed = all & ~passed;
        const index_t kinds = task_.interactions ? m + m * (m - 1) / 2 : m, b = std::popcount(failed);
        for (index_t k = 0; k < kinds; ++k) to[k * stride] = 0;
        for (const auto& [set, share] : leaf.background) {
            if ((failed & ~set) != 0) continue;
            const std::uint64_t gained = all & ~set;  // columns by which the row differs and passes
            const index_t a = std::popcount(gained);
            const auto in = [](std::uint64_t s, index_t k) { return (s >> k & 1) != 0; };
            for (index_t k = 0; k < m; ++k) {
                if (in(gained, k)) to[k * stride] += share * beta(a, b + 1);
                if (in(failed, k)) to[k * stride] -= share * beta(a + 1, b);
            }
            if (!task_.interactions) continue;
            index_t pair = m;
            for (index_t i = 0; i < m; ++i)
                for (index_t j = i + 1; j < m; ++j, ++pair) {
                    if (in(gained, i) && in(gained, j)) to[pair * stride] += 0.5 * share * beta(a - 1, b + 1);
                    if (in(failed, i) && in(failed, j)) to[pair * stride] += 0.5 * share * beta(a + 1, b - 1);
                    if ((in(gained, i) && in(failed, j)) || (in(failed, i) && in(gained, j)))
                        to[pair * stride] -= 0.5 * share * beta(a, b);
                }
        }
    }
    // Euler's beta function of whole numbers >= 1.
    double beta(index_t a, index_t b) const { return betas_[at(a * (most_on_path + 2) + b)]; }

    void tabulate_background(const Leaf& leaf, double* table) const {
        const auto m = static_cast<index_t>(leaf.path.size());
        const index_t sets = index_t{1} << m, kinds = task_.interactions ? m + m * (m - 1) / 2 : m;
        std::fill_n(table, kinds * sets, 0.0);
        const Quadrature& q = rule(m);
        std::vector<double> g(at(sets)), powers(at(m + 1));
        for (std::size_t s = 0; s < q.nodes.size(); ++s) {
            const double t = q.nodes[s], weight = q.weights[s];
            std::fill(g.begin(), g.end(), 0.0);
            for (const auto& [set, share] : leaf.background)
                g[set] = share * std::pow(t, static_cast<double>(m - std::popcount(set)));
            for (index_t k = 0; k < m; ++k)
                for (index_t u = 0; u < sets; ++u)
                    if ((u >> k & 1) == 0) g[at(u)] += g[at(u | index_t{1} << k)];
            for (index_t k = 0; k <= m; ++k) powers[at(k)] = std::pow(1 - t, static_cast<double>(k)) * weight;
            const auto in = [](index_t set, index_t k) { return (set >> k & 1) != 0; };
            for (index_t u = 0; u < sets; ++u) {  // columns that the row fails
                const index_t passed = sets - 1 - u, b = std::popcount(static_cast<std::uint64_t>(u));
                const auto more = [&](index_t k) { return g[at(u | index_t{1} << k)]; };
                for (index_t k = 0; k < m; ++k) {
                    double& to = table[k * sets + passed];
                    if (in(u, k))
                        to -= powers[at(b - 1)] * g[at(u)];
                    else
                        to += powers[at(b)] / t * (g[at(u)] - more(k));
                }
                if (!task_.interactions) continue;
                index_t pair = m;
                for (index_t i = 0; i < m; ++i)
                    for (index_t j = i + 1; j < m; ++j, ++pair) {
                        double& to = table[pair * sets + passed];
                        if (in(u, i) && in(u, j))
                            to += 0.5 * powers[at(b - 2)] * g[at(u)];
                        else if (!in(u, i) && !in(u, j))
                            to += 0.5 * powers[at(b)] / (t * t) * (g[at(u)] - more(i) - more(j) + g[at(u | index_t{1} << i | index_t{1} << j)]);
                        else
                            to -= 0.5 * powers[at(b - 1)] / t * (g[at(u)] - more(in(u, i) ? j : i));
                    }
            }
        }
    }

    // The table of a leaf for sets first .. last - 1.
    void tabulate(const Leaf& leaf, double* table, index_t first, index_t last) const {
        const auto m = static_cast<index_t>(leaf.path.size());
        const index_t sets = index_t{1} << m, kinds = task_.interactions ? m + m * (m - 1) / 2 : m;
        std::vector<std::uint8_t> passes(at(m * lanes));
        std::vector<double> sums(at(kinds * lanes));
        for (index_t begin = first; begin < last; begin += lanes) {
            for (index_t k = 0; k < m; ++k)
                for (index_t r = 0; r < lanes; ++r) passes[at(k * lanes + r)] = static_cast<std::uint8_t>((begin + r) >> k & 1);
            evaluate(leaf, passes.data(), sums.data());
            for (index_t k = 0; k < kinds; ++k)
                std::copy_n(sums.data() + k * lanes, std::min(lanes, last - begin), table + k * sets + begin);
        }
    }

    // Which columns the background rows pass: distinct sets with their shares of the rows.
    void count_background(Leaf& leaf) const {
        const index_t rows = task_.background->rows;
        const auto m = static_cast<index_t>(leaf.path.size());
        std::vector<std::uint64_t> sets(at(rows), 0);
        std::vector<std::uint8_t> passes(at(rows));
        for (index_t k = 0; k < m; ++k) {
            const Passage& test = leaf.path[at(k)];
            background_codes_.passes(test, 0, rows, passes.data());
            for (index_t r = 0; r < rows; ++r) sets[at(r)] |= static_cast<std::uint64_t>(passes[at(r)]) << k;
        }
        std::sort(sets.begin(), sets.end());
        for (std::size_t r = 0; r < sets.size();) {
            std::size_t end = r;
            while (end < sets.size() && sets[end] == sets[r]) ++end;
            leaf.background.emplace_back(sets[r], static_cast<double>(end - r) / static_cast<double>(rows));
            r = end;
        }
    }

    // -- rows ------------------------------------------------------------------------------------------------------
    double* values_of(index_t output, index_t place) {
        return result_.values.data() + (output * d_ + codes_.columns[at(place)]) * n_;
    }
    double* pairs_of(index_t output, index_t one, index_t other) {
        const index_t i = codes_.columns[at(one)], j = codes_.columns[at(other)];
        return result_.interactions.data() + ((output * d_ + std::min(i, j)) * d_ + std::max(i, j)) * n_;
    }

    // Calls to(kind, place of its values) for each column of the leaf, and each pair.
    template <class To>
    void each_kind(const Leaf& leaf, index_t output, To&& to) {
        const auto m = static_cast<index_t>(leaf.path.size());
        index_t kind = 0;
        for (; kind < m; ++kind) to(kind, values_of(output, leaf.path[at(kind)].place));
        if (!task_.interactions) return;
        for (index_t i = 0; i < m; ++i)
            for (index_t j = i + 1; j < m; ++j, ++kind)
                to(kind, pairs_of(output, leaf.path[at(i)].place, leaf.path[at(j)].place));
    }

    void settle(std::vector<Leaf>& leaves) {
        index_t size = 0, longest = 0;
        for (Leaf& leaf : leaves) {
            leaf.table = size;
            leaf.tabulated = table_size(leaf) > 0;
            size += table_size(leaf);
            longest = std::max(longest, static_cast<index_t>(leaf.path.size()));
        }
        for (auto count = static_cast<index_t>(rules_.size()); count <= (longest + 1) / 2; ++count)
            rules_.push_back(gauss_legendre(count));
        if (tables_.capacity() < at(size)) {  // what stood there is not copied
            tables_ = {};
            tables_.reserve(at(std::max(size, table_budget)));
        }
        tables_.resize(at(size));
        double* tables = tables_.data();
        if (task_.background != nullptr) {
            parallel_chunks(static_cast<index_t>(leaves.size()), 1, task_.threads, [&](index_t i, index_t, index_t) {
                Leaf& leaf = leaves[at(i)];
                count_background(leaf);
                if (leaf.tabulated) tabulate_background(leaf, tables + leaf.table);
            });
        } else {
            pieces_.clear();  // of tables: one of many sets takes as long as a hundred others
            for (std::size_t i = 0; i < leaves.size(); ++i)
                for (index_t begin = 0; leaves[i].tabulated && begin < index_t{1} << leaves[i].path.size(); begin += sets_at_once)
                    pieces_.emplace_back(static_cast<index_t>(i), begin);
            parallel_chunks(static_cast<index_t>(pieces_.size()), 4, task_.threads, [&](index_t, index_t first, index_t last) {
                for (index_t piece = first; piece < last; ++piece) {
                    const auto [i, begin] = pieces_[at(piece)];
                    const Leaf& leaf = leaves[at(i)];
                    tabulate(leaf, tables + leaf.table, begin, std::min(begin + sets_at_once, index_t{1} << leaf.path.size()));
                }
            });
        }
        parallel_chunks(n_, row_chunk, task_.threads, [&](index_t, index_t begin, index_t end) {
            for (const Leaf& leaf : leaves) {
                if (leaf.tabulated)
                    add_by_table(leaf, tables + leaf.table, begin, end - begin);
                else if (!leaf.path.empty())
                    add_by_row(leaf, begin, end - begin);
            }
        });
    }

    void add_by_table(const Leaf& leaf, const double* table, index_t begin, index_t m) {
        alignas(64) std::uint32_t sets[row_chunk];
        alignas(64) std::uint8_t passes[row_chunk];
        std::fill_n(sets, m, 0U);
        for (std::size_t k = 0; k < leaf.path.size(); ++k) {
            row_codes_.passes(leaf.path[k], begin, m, passes);
            join(passes, static_cast<int>(k), sets, m);
        }
        const index_t size = index_t{1} << leaf.path.size();
        for (index_t c = 0; c < f_.width; ++c) {
            const double value = f_.value[leaf.node * f_.width + c];
            if (value == 0) continue;
            each_kind(leaf, leaf.output + c, [&](index_t kind, double* to) { look_up(table + kind * size, sets, value, to + begin, m); });
        }
    }

    void add_by_row(const Leaf& leaf, index_t begin, index_t m) {
        const auto length = static_cast<index_t>(leaf.path.size());
        const index_t kinds = task_.interactions ? length + length * (length - 1) / 2 : length;
        std::vector<std::uint8_t> passes(at(length * lanes));
        std::vector<double> sums(at(kinds * lanes));
        for (index_t from = 0; from < m; from += lanes) {
            const index_t count = std::min(lanes, m - from);
            for (index_t k = 0; k < length; ++k)
                row_codes_.passes(leaf.path[at(k)], begin + from, count, passes.data() + k * lanes);
            if (task_.background == nullptr)
                evaluate(leaf, passes.data(), sums.data());
            else
                for (index_t r = 0; r < count; ++r) {
                    std::uint64_t set = 0;
                    for (index_t k = 0; k < length; ++k) set |= static_cast<std::uint64_t>(passes[at(k * lanes + r)]) << k;
                    evaluate_background(leaf, set, sums.data() + r, lanes);
                }
            for (index_t c = 0; c < f_.width; ++c) {
                const double value = f_.value[leaf.node * f_.width + c];
                each_kind(leaf, leaf.output + c, [&](index_t kind, double* to) {
                    for (index_t r = 0; r < count; ++r) to[begin + from + r] += value * sums[at(kind * lanes + r)];
                });
            }
        }
    }

    // The lower half, and on the diagonal what the pairs leave of a column's value.
    void fill_interactions() {
        parallel_chunks(task_.outputs * d_, 1, task_.threads, [&](index_t line, index_t, index_t) {
            const index_t output = line / d_, i = line % d_;
            double* own = result_.interactions.data() + output * d_ * d_ * n_;
            double* diagonal = own + (i * d_ + i) * n_;
            std::copy_n(result_.values.data() + (output * d_ + i) * n_, n_, diagonal);
            for (index_t j = 0; j < d_; ++j) {
                if (j == i) continue;
                const double* pair = own + (std::min(i, j) * d_ + std::max(i, j)) * n_;
                for (index_t r = 0; r < n_; ++r) diagonal[r] -= pair[r];
                if (j < i) std::copy_n(pair, n_, own + (i * d_ + j) * n_);
            }
        });
    }

    static std::vector<double> all_betas() {
        const index_t size = most_on_path + 2;
        std::vector<double> betas(at(size * size), 0.0);
        for (index_t b = 1; b < size; ++b) {
            betas[at(size + b)] = 1.0 / static_cast<double>(b);
            for (index_t a = 1; a + 1 < size; ++a)
                betas[at((a + 1) * size + b)] = betas[at(a * size + b)] * static_cast<double>(a) / static_cast<double>(a + b);
        }
        return betas;
    }

    const ForestView& f_;
    const ShapTask& task_;
    ForestCodes codes_;
    const index_t n_, d_;
    const std::vector<double> betas_ = all_betas();
    std::vector<Quadrature> rules_;
    RowCodes row_codes_, background_codes_;
    std::vector<double, Unwritten<double>> tables_;        // of the leaves of a batch
    std::vector<std::pair<index_t, index_t>> pieces_;      // leaf and first set
    ShapValues result_;
};

}  // namespace

ShapValues tree_shap(const trees::ForestView& forest, const ShapTask& task) { return Explainer(forest, task).run(); }

}  // namespace assay::explain
