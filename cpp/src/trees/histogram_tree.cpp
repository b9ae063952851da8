#include "assay/trees/histogram_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>

#include "assay/common/large_pages.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/packed_sums.hpp"
#include "histogram_words.hpp"

namespace assay::trees {
namespace {

struct Split {
    double gain = 0;
    std::int32_t column = -1;
    index_t bin = -1;            // numeric: codes <= bin go left
    bool missing_left = false, missing_seen = false, nominal = false;
    Word left = 0;               // the sum of the left side
    CodeSet left_codes{}, held_codes{};  // nominal: that go left, that the node holds
    bool found() const { return column >= 0; }
    // Codes that the node does not hold follow its missing cells.
    bool goes_left(index_t code, index_t count) const {
        if (code >= count) return missing_left;
        if (!nominal) return code <= bin;
        return in_set(left_codes, code) || (missing_left && !in_set(held_codes, code));
    }
};

struct Node {
    std::int32_t column = -1, left = -1, right = -1;
    double gain = 0, rows = 0, weight = 0;
    Split split;
};

struct Leaf {
    index_t begin = 0, end = 0, depth = 0;
    std::int32_t node = 0;
    std::uint64_t path = 1;
    double rows = 0;
    Word sum = 0;
    double lower = -infinity, upper = infinity;
    std::unique_ptr<Word[]> histogram;
    std::vector<std::uint8_t> allowed;  // columns; empty: all of the tree
    std::vector<std::int32_t> used;     // columns tested on the path (kept with interaction groups only)
    Split split;
    index_t size() const { return end - begin; }
};

}  // namespace

struct HistogramGrower::State {
    const Bins& bins;
    HistogramOptions options;
    LargeVector<Word> words;
    std::vector<std::int32_t> scratch;
    std::vector<index_t> lefts;
    std::array<std::uint8_t, bin_stride> goes_left{};  // by code, at the node that is being split
    std::vector<std::unique_ptr<Word[]>> pool;
    std::vector<Node> nodes;
    double g_scale = 1, h_scale = 1;
    double noise = 0;  // variance of a sum of gradients per unit of its Hessian
    bool nominal = false;  // there are nominal columns

    explicit State(const Bins& b, const HistogramOptions& o) : bins(b), options(o) {
        nominal = std::any_of(b.n_categories.begin(), b.n_categories.end(), [](std::int32_t count) { return count > 0; });
        words.resize(static_cast<std::size_t>(b.n));
    }

    index_t histogram_size() const { return bins.blocks * block_columns * bin_stride; }
    std::unique_ptr<Word[]> take() {
        if (pool.empty()) return std::make_unique_for_overwrite<Word[]>(static_cast<std::size_t>(histogram_size()));
        auto buffer = std::move(pool.back());
        pool.pop_back();
        return buffer;
    }
    void give(std::unique_ptr<Word[]>&& buffer) {
        if (buffer) pool.push_back(std::move(buffer));
    }
    int threads_for(index_t rows) const { return rows * bins.d < parallel_cells ? 1 : options.threads; }

    // Whole numbers of g and h, and their sum; the largest |g| and h of a unit of weight times the total weight must fit.
    Word round_gradients(const std::vector<std::int32_t>& rows, const GradientRows& data) {
        const auto m = static_cast<index_t>(rows.size());
        const index_t chunks = chunk_count(m, partition_chunk);
        std::vector<std::array<double, 3>> parts(static_cast<std::size_t>(chunks));
        parallel_chunks(m, partition_chunk, options.threads, [&](index_t c, index_t begin, index_t end) {
            const Largest top = largest_of(rows.data() + begin, end - begin, data);
            parts[static_cast<std::size_t>(c)] = {top.g, top.h, top.weight};
        });
        double g = 0, h = 0, w = 0;
        for (const auto& part : parts) {
            g = std::max(g, part[0]);
            h = std::max(h, part[1]);
            w += part[2];
        }
        // Whole weights are multiplied after rounding, which needs room for their sum.
        const bool whole = data.whole && w < 1e9;
        // Powers of two, so that a factor of two in the loss changes nothing.
        const double slack = whole ? 0.0 : static_cast<double>(m);
        const auto scale_of = [&](double largest, double limit) {
            if (!(largest > 0)) return 1.0;
            double scale = std::exp2(std::min(std::floor(std::log2(limit) - std::log2(largest) - std::log2(w)), 1000.0));
            while (scale * largest * w + slack + (whole ? w : 0.0) >= limit) scale /= 2;
            return scale;
        };
        const double gs = scale_of(g, 2147483000.0), hs = scale_of(h, 4294967000.0);
        g_scale = 1 / gs;
        h_scale = 1 / hs;
        std::vector<RoundedSums> sums(static_cast<std::size_t>(chunks));
        const Rounding rounding{gs, hs, whole, nominal};
        parallel_chunks(m, partition_chunk, options.threads, [&](index_t c, index_t begin, index_t end) {
            round_rows(rows.data() + begin, end - begin, data, rounding, sums[static_cast<std::size_t>(c)]);
        });
        RoundedSums all;
        for (const RoundedSums& part : sums) {
            all.words += part.words;
            all.squares += part.squares;
        }
        const double hessians = hessian_of(all.words);
        noise = hessians > 0 ? g_scale * static_cast<double>(all.squares) / hessians * (g_scale / h_scale) : 0.0;
        return all.words;
    }

    // Where the rows stand one after the other they are read in place, others by way of a small room.
    void round_rows(const std::int32_t* rows, index_t m, const GradientRows& data, const Rounding& rounding, RoundedSums& sums) {
        if (rows[m - 1] - rows[0] == m - 1) {
            const index_t first = rows[0];
            const auto from = [&](const double* list) { return list == nullptr ? nullptr : list + first; };
            round_words(from(data.g), from(data.h), from(data.weights), m, rounding, words.data() + first, sums);
            return;
        }
        constexpr index_t room = 256;
        std::array<double, room> g, h, w;
        std::array<Word, room> to;
        for (index_t begin = 0; begin < m; begin += room) {
            const index_t some = std::min(room, m - begin);
            const auto taken = [&](const double* list, std::array<double, room>& own) {
                if (list == nullptr) return static_cast<const double*>(nullptr);
                for (index_t i = 0; i < some; ++i) own[static_cast<std::size_t>(i)] = list[rows[begin + i]];
                return static_cast<const double*>(own.data());
            };
            round_words(taken(data.g, g), taken(data.h, h), taken(data.weights, w), some, rounding, to.data(), sums);
            for (index_t i = 0; i < some; ++i) words[static_cast<std::size_t>(rows[begin + i])] = to[static_cast<std::size_t>(i)];
        }
    }

    // -- searching ---------------------------------------------------------------------------------------------------
    bool may_split(const Leaf& leaf) const {
        return leaf.size() >= 2 && leaf.rows >= 2 * options.min_rows &&
               (options.max_depth < 0 || leaf.depth < options.max_depth) &&
               h_scale * hessian_of(leaf.sum) >= 2 * options.min_hessian && hessian_of(leaf.sum) > 0;
    }

    // The columns that a leaf may test: those of the tree, of the groups of its path, and of its own draw.
    void choose_columns(Leaf& leaf) const {
        leaf.allowed.clear();
        const bool grouped = options.interactions != nullptr && !options.interactions->empty();
        const index_t wanted = options.columns_per_node;
        if (options.columns == nullptr && !grouped && wanted <= 0) return;
        const auto d = static_cast<std::size_t>(bins.d);
        leaf.allowed.assign(d, 1);
        if (options.columns != nullptr) leaf.allowed.assign(options.columns, options.columns + d);
        if (grouped) {
            std::vector<std::uint8_t> joined(d, 0);
            for (const auto& group : *options.interactions) {
                const bool holds_path = std::all_of(leaf.used.begin(), leaf.used.end(), [&](std::int32_t c) {
                    return std::find(group.begin(), group.end(), c) != group.end();
                });
                if (holds_path)
                    for (const std::int32_t c : group) joined[static_cast<std::size_t>(c)] = 1;
            }
            for (std::size_t j = 0; j < d; ++j) leaf.allowed[j] &= joined[j];
        }
        std::vector<std::size_t> open;
        for (std::size_t j = 0; j < d; ++j)
            if (leaf.allowed[j] != 0) open.push_back(j);
        if (wanted <= 0 || static_cast<std::size_t>(wanted) >= open.size()) return;
        Random random(options.key, leaf.path);
        leaf.allowed.assign(d, 0);
        for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i) {
            std::swap(open[i], open[i + random.below(static_cast<std::uint32_t>(open.size() - i))]);
            leaf.allowed[open[i]] = 1;
        }
    }

    Terms terms_of(const Leaf& leaf) const {
        Terms t;
        t.g_scale = g_scale;
        t.h_scale = h_scale;
        t.l2 = options.l2;
        t.l1 = options.l1;
        t.g = g_scale * gradient_of(leaf.sum);
        t.h = h_scale * hessian_of(leaf.sum);
        t.least = std::max(options.min_hessian, (options.min_rows - 0.5) * t.h / leaf.rows);
        t.lower = leaf.lower;
        t.upper = leaf.upper;
        t.all = leaf.sum;
        // The scale of Hessians is a power of two: least and l2 in its units are exact.
        const double least = std::ceil(t.least / h_scale), l2 = t.l2 / h_scale;
        t.least_units = static_cast<std::uint32_t>(std::clamp(least, t.l2 > 0 ? 0.0 : 1.0, 4294967295.0));
        t.l2_units = static_cast<float>(l2);
        t.rough = t.l1 == 0 && (l2 == 0 || (l2 > 0x1p-30 && l2 < 0x1p33));
        return t;
    }

    static double value_of(double g, double h, const Terms& t) {
        return std::clamp(-shrunk(g, t.l1) / (h + t.l2), t.lower, t.upper);
    }
    // -2 cost of a part whose value may be bounded.
    static double worth(double g, double h, double value, const Terms& t) {
        return -2 * (g * value + t.l1 * std::abs(value)) - (h + t.l2) * value * value;
    }
    double node_worth(const Terms& t) const {
        return options.monotone == nullptr ? shrunk(t.g, t.l1) * shrunk(t.g, t.l1) / (t.h + t.l2)
                                           : worth(t.g, t.h, value_of(t.g, t.h, t), t);
    }
    double split_worth(Word left, Word all, int sign, const Terms& t) const {
        const double gl = g_scale * gradient_of(left), hl = h_scale * hessian_of(left);
        const double gr = g_scale * gradient_of(all - left), hr = h_scale * hessian_of(all - left);
        if (hl < t.least || hr < t.least) return -infinity;
        if (options.monotone == nullptr) {
            const double a = shrunk(gl, t.l1), b = shrunk(gr, t.l1);
            return a * a / (hl + t.l2) + b * b / (hr + t.l2);
        }
        const double vl = value_of(gl, hl, t), vr = value_of(gr, hr, t);
        if (sign * (vr - vl) < 0) return -infinity;
        return worth(gl, hl, vl, t) + worth(gr, hr, vr, t);
    }

    // A score in units of the sums; minus one where it does not fit.
    float units_of(double score) const {
        const double units = score / g_scale * (h_scale / g_scale);
        return units >= 0 && units < 1e37 ? static_cast<float>(units) : -1.0F;
    }

    void consider(Split& best, double gain, std::int32_t column) const {
        best.gain = gain;
        best.column = column;
    }

    void scan_numeric(const Leaf& leaf, const Terms& t, std::int32_t column, const Word* histogram, Split& best) const {
        const index_t count = bins.n_bins[static_cast<std::size_t>(column)];
        const Word missing = histogram[count];
        const bool some = missing != 0;
        const int sign = options.monotone == nullptr ? 0 : options.monotone[column];
        const double base = node_worth(t);
        // Boundary count - 1 puts all that is present on the left, and is a split only against the missing cells.
        for (int side = 0; side < (some ? 2 : 1); ++side) {
            const bool missing_left = side == 1;
            const Word start = missing_left ? missing : 0;
            const index_t boundaries = some && !missing_left ? count : count - 1;
            index_t at = -1;
            double top = -infinity;
            if (options.monotone == nullptr) {
                top = scan(histogram, boundaries, start, t, units_of(base + 2 * best.gain), at);
            } else {
                Word left = start;
                for (index_t b = 0; b < boundaries; ++b) {
                    left += histogram[b];
                    const double score = split_worth(left, leaf.sum, sign, t);
                    if (score > top) {
                        top = score;
                        at = b;
                    }
                }
            }
            const double gain = 0.5 * (top - base);
            if (at < 0 || !(gain > best.gain)) continue;
            consider(best, gain, column);
            best.bin = at;
            best.nominal = false;
            best.missing_left = missing_left;
            best.missing_seen = some;
            best.left = start;
            for (index_t b = 0; b <= at; ++b) best.left += histogram[b];
        }
    }

    void scan_nominal(const Leaf& leaf, Terms t, std::int32_t column, const Word* histogram, Split& best) const {
        const index_t count = bins.n_bins[static_cast<std::size_t>(column)];
        const Word missing = histogram[count];
        const double base = node_worth(t);
        std::array<std::uint8_t, bin_stride> order;
        std::array<double, bin_stride> rank;
        index_t present = 0;
        bool rare = false;
        double roots = 0, held = 0;
        // Categories of few rows would be sorted by their own noise: they stay on the right.
        const double enough = options.min_category_rows * hessian_of(leaf.sum) / leaf.rows;
        for (index_t b = 0; b < count; ++b) {
            const double h = hessian_of(histogram[b]);
            if (h == 0) continue;
            if (h < enough) {
                rare = true;
                continue;
            }
            order[static_cast<std::size_t>(present++)] = static_cast<std::uint8_t>(b);
            roots += std::sqrt(h);
            held += h;
            rank[static_cast<std::size_t>(b)] = g_scale * gradient_of(histogram[b]) / (h_scale * h + options.smoothing);
        }
        std::stable_sort(order.begin(), order.begin() + present, [&](std::uint8_t a, std::uint8_t b) { return rank[a] < rank[b]; });
        t.l2 += options.smoothing;
        // What sorting by noise alone brings is not gained.
        const double alike = held > 0 ? roots * roots / held : 0.0, h = h_scale * held;
        const double luck = noise * 2 / std::numbers::pi * std::max(alike - 2, 0.0) * h / (h + 2 * t.l2);
        // Without rare categories and missing cells a set and the rest of it are one split.
        for (int way = 0; way < (rare || missing != 0 ? 2 : 1); ++way) {
            if (way == 1) std::reverse(order.begin(), order.begin() + present);
            for (int side = 0; side < (missing != 0 ? 2 : 1); ++side)
                scan_categories(leaf, t, column, histogram, order.data(), present, rare, side == 1, base + luck, best);
        }
    }

    // Prefixes of an order of categories go left; the others, and with them the rare ones, go right.
    void scan_categories(const Leaf& leaf, const Terms& t, std::int32_t column, const Word* histogram, const std::uint8_t* order,
                         index_t present, bool rare, bool missing_left, double base, Split& best) const {
        const index_t count = bins.n_bins[static_cast<std::size_t>(column)];
        const Word missing = histogram[count];
        Word left = missing_left ? missing : 0, top_left = 0;
        const index_t boundaries = rare || (missing != 0 && !missing_left) ? present : present - 1;
        index_t at = -1;
        double top = -infinity;
        for (index_t r = 0; r < boundaries; ++r) {
            left += histogram[order[r]];
            const double score = split_worth(left, leaf.sum, 0, t);
            if (score > top) {
                top = score;
                at = r;
                top_left = left;
            }
        }
        const double gain = 0.5 * (top - base);
        if (at < 0 || !(gain > best.gain)) return;
        consider(best, gain, column);
        best.nominal = true;
        best.missing_left = missing_left;
        best.missing_seen = missing != 0;
        best.left = top_left;
        best.left_codes = best.held_codes = {};
        for (index_t b = 0; b < count; ++b)
            if (histogram[b] != 0) put_in(best.held_codes, b);
        for (index_t r = 0; r <= at; ++r) put_in(best.left_codes, order[r]);
    }

    void scan_block(const Leaf& leaf, const Terms& t, index_t block, Split& best) const {
        const index_t first = block * block_columns;
        for (index_t c = 0; c < bins.block_width(block); ++c) {
            const auto column = static_cast<std::int32_t>(first + c);
            if (bins.n_bins[static_cast<std::size_t>(column)] < 1) continue;
            if (!leaf.allowed.empty() && leaf.allowed[static_cast<std::size_t>(column)] == 0) continue;
            const Word* histogram = leaf.histogram.get() + (first + c) * bin_stride;
            if (bins.n_categories[static_cast<std::size_t>(column)] > 0)
                scan_nominal(leaf, t, column, histogram, best);
            else
                scan_numeric(leaf, t, column, histogram, best);
        }
    }

    // Histograms of `made` from its rows, of `rest` (if given, it holds its parent's) by subtraction, and the splits of both.
    void search(std::vector<std::int32_t>& rows, Leaf& made, Leaf* rest, bool whole) {
        std::array<Leaf*, 2> leaves{&made, rest};
        std::array<Terms, 2> terms;
        for (int k = 0; k < 2; ++k) {
            if (leaves[k] == nullptr) continue;
            choose_columns(*leaves[k]);
            terms[k] = terms_of(*leaves[k]);
        }
        made.histogram = take();
        const auto work = [&](index_t b, const std::array<Split*, 2>& best) {
            Word* histogram = made.histogram.get() + b * block_columns * bin_stride;
            for (index_t c = 0; c < bins.block_width(b); ++c) std::fill_n(histogram + c * bin_stride, codes_of(b, c), Word{0});
            accumulate_block(bins.block_width(b), bins.block(b), rows.data() + made.begin, made.size(), words.data(), histogram);
            for (index_t c = 0; rest != nullptr && c < bins.block_width(b); ++c)
                subtract(rest->histogram.get() + (b * block_columns + c) * bin_stride, histogram + c * bin_stride, codes_of(b, c));
            for (std::size_t k = 0; k < 2; ++k)
                if (leaves[k] != nullptr && (k == 1 || whole) && may_split(*leaves[k])) scan_block(*leaves[k], terms[k], b, *best[k]);
        };
        std::array<Split, 2> best;
        const int team = threads_for(made.size() + 512);
        if (team == 1) {
            for (index_t b = 0; b < bins.blocks; ++b) work(b, {&best[0], &best[1]});
        } else {
            std::vector<std::array<Split, 2>> found(static_cast<std::size_t>(bins.blocks));
            parallel_chunks(bins.blocks, 1, team, [&](index_t b, index_t, index_t) {
                auto& own = found[static_cast<std::size_t>(b)];
                work(b, {&own[0], &own[1]});
            });
            for (const auto& own : found)
                for (std::size_t k = 0; k < 2; ++k)
                    if (own[k].found() && own[k].gain > best[k].gain) best[k] = own[k];
        }
        for (std::size_t k = 0; k < 2; ++k)
            if (leaves[k] != nullptr) leaves[k]->split = best[k].gain < options.min_gain ? Split{} : best[k];
    }

    // Codes of a column of a block, with that of missing cells.
    index_t codes_of(index_t b, index_t c) const { return bins.n_bins[static_cast<std::size_t>(b * block_columns + c)] + 1; }

    // The next best split of a leaf whose histogram is still there, without a column.
    void search_again(Leaf& leaf, std::int32_t without) {
        if (leaf.allowed.empty()) leaf.allowed.assign(static_cast<std::size_t>(bins.d), 1);
        leaf.allowed[static_cast<std::size_t>(without)] = 0;
        leaf.split = Split{};
        const Terms t = terms_of(leaf);
        for (index_t b = 0; b < bins.blocks; ++b) scan_block(leaf, t, b, leaf.split);
        if (leaf.split.found() && leaf.split.gain < options.min_gain) leaf.split = Split{};
    }

    // -- splitting ---------------------------------------------------------------------------------------------------
    // Stable: rows keep their order on both sides. Returns how many go left.
    index_t partition(std::vector<std::int32_t>& rows, const Leaf& leaf) {
        const index_t m = leaf.size(), column = leaf.split.column;
        const std::uint8_t* codes = bins.block(column / block_columns) + column % block_columns;
        const std::uint8_t* table = goes_left.data();
        for (index_t b = 0; b <= bins.n_bins[static_cast<std::size_t>(column)]; ++b)
            goes_left[static_cast<std::size_t>(b)] = leaf.split.goes_left(b, bins.n_bins[static_cast<std::size_t>(column)]);
        std::int32_t* from = rows.data() + leaf.begin;
        scratch.resize(std::max(scratch.size(), rows.size()));
        const index_t chunks = chunk_count(m, partition_chunk);
        lefts.assign(static_cast<std::size_t>(chunks) + 1, 0);
        const int threads = m < 2 * partition_chunk ? 1 : options.threads;
        // Each chunk: rows of the left wait at the front of its scratch, those of the right at the back, the last one first.
        parallel_chunks(m, partition_chunk, threads, [&](index_t c, index_t begin, index_t end) {
            std::int32_t* left = scratch.data() + begin;
            std::int32_t* right = scratch.data() + end - 1;
            for (index_t i = begin; i < end; ++i) {
                const std::int32_t row = from[i];
                const std::uint8_t goes = table[codes[static_cast<index_t>(row) * block_columns]];
                *left = row;
                *right = row;
                left += goes;
                right -= 1 - goes;
            }
            lefts[static_cast<std::size_t>(c) + 1] = left - (scratch.data() + begin);
        });
        std::partial_sum(lefts.begin(), lefts.end(), lefts.begin());
        const index_t total = lefts.back();
        parallel_chunks(m, partition_chunk, threads, [&](index_t c, index_t begin, index_t end) {
            const index_t before = lefts[static_cast<std::size_t>(c)], count = lefts[static_cast<std::size_t>(c) + 1] - before;
            std::memcpy(from + before, scratch.data() + begin, static_cast<std::size_t>(count) * sizeof(std::int32_t));
            std::reverse_copy(scratch.data() + begin + count, scratch.data() + end, from + total + begin - before);
        });
        return total;
    }

    double count_rows(const std::vector<std::int32_t>& rows, index_t begin, index_t end, const GradientRows& data) const {
        if (data.weights == nullptr || !data.whole) return static_cast<double>(end - begin);
        double count = 0;
        for (index_t i = begin; i < end; ++i) count += data.weights[rows[static_cast<std::size_t>(i)]];
        return count;
    }

    std::vector<GrownLeaf> grow(std::vector<std::int32_t>& rows, const GradientRows& data, Forest& forest) {
        nodes.clear();
        std::vector<Leaf> open, done;
        Leaf root;
        root.sum = round_gradients(rows, data);
        root.end = static_cast<index_t>(rows.size());
        root.rows = count_rows(rows, 0, root.end, data);
        add_node(root);
        if (may_split(root)) search(rows, root, nullptr, true);
        open.push_back(std::move(root));
        index_t leaves = 1;
        const auto first_goes_later = [&](const Leaf& a, const Leaf& b) {
            if (options.depth_wise && a.depth != b.depth) return a.depth > b.depth;
            return a.split.gain < b.split.gain || (a.split.gain == b.split.gain && a.node > b.node);
        };
        while (!open.empty() && !interrupted()) {
            const auto at = std::max_element(open.begin(), open.end(), first_goes_later);
            Leaf leaf = std::move(*at);
            *at = std::move(open.back());
            open.pop_back();
            if (options.max_leaves > 0 && leaves >= options.max_leaves) leaf.split = Split{};
            index_t middle = 0;
            double left_rows = 0, right_rows = 0;
            while (leaf.split.found()) {
                middle = leaf.begin + partition(rows, leaf);
                left_rows = count_rows(rows, leaf.begin, middle, data);
                right_rows = leaf.rows - left_rows;
                if (std::min(left_rows, right_rows) >= options.min_rows && middle > leaf.begin && middle < leaf.end) break;
                std::sort(rows.begin() + leaf.begin, rows.begin() + leaf.end);
                search_again(leaf, leaf.split.column);
            }
            if (!leaf.split.found()) {
                give(std::move(leaf.histogram));
                done.push_back(std::move(leaf));
                continue;
            }
            ++leaves;
            const bool last = options.max_leaves > 0 && leaves >= options.max_leaves;
            auto [left, right] = divide(std::move(leaf), middle, left_rows, right_rows);
            Leaf& small = left.size() <= right.size() ? left : right;
            Leaf& large = left.size() <= right.size() ? right : left;
            const bool split_small = !last && may_split(small), split_large = !last && may_split(large);
            if (split_large || (split_small && 2 * small.size() > large.size())) {
                search(rows, small, &large, split_small);
            } else if (split_small) {
                give(std::move(large.histogram));
                search(rows, small, nullptr, true);
            }
            for (Leaf* child : {&left, &right})
                if (!child->split.found()) give(std::move(child->histogram));
            open.push_back(std::move(left));
            open.push_back(std::move(right));
        }
        for (Leaf& leaf : open) done.push_back(std::move(leaf));
        for (Leaf& leaf : done) give(std::move(leaf.histogram));
        return append(done, rows, data, forest);
    }

    void add_node(Leaf& leaf) {
        leaf.node = static_cast<std::int32_t>(nodes.size());
        Node node;
        node.rows = leaf.rows;
        node.weight = h_scale * hessian_of(leaf.sum);
        nodes.push_back(node);
    }

    std::pair<Leaf, Leaf> divide(Leaf&& leaf, index_t middle, double left_rows, double right_rows) {
        if (!leaf.split.missing_seen) {
            // Cells that training did not see here go where more rows went.
            leaf.split.missing_left = left_rows >= right_rows;
        }
        Leaf left, right;
        left.begin = leaf.begin;
        left.end = right.begin = middle;
        right.end = leaf.end;
        left.depth = right.depth = leaf.depth + 1;
        left.path = leaf.path * 2;
        right.path = leaf.path * 2 + 1;
        left.rows = left_rows;
        right.rows = right_rows;
        left.sum = leaf.split.left;
        right.sum = leaf.sum - leaf.split.left;
        left.lower = right.lower = leaf.lower;
        left.upper = right.upper = leaf.upper;
        if (options.monotone != nullptr && options.monotone[leaf.split.column] != 0) {
            Terms t = terms_of(leaf);
            const double vl = value_of(g_scale * gradient_of(left.sum), h_scale * hessian_of(left.sum), t);
            const double vr = value_of(g_scale * gradient_of(right.sum), h_scale * hessian_of(right.sum), t);
            const double middle_value = 0.5 * (vl + vr);
            if (options.monotone[leaf.split.column] > 0)
                left.upper = right.lower = middle_value;
            else
                left.lower = right.upper = middle_value;
        }
        if (options.interactions != nullptr) {
            left.used = leaf.used;
            left.used.push_back(leaf.split.column);
            right.used = left.used;
        }
        const auto node = static_cast<std::size_t>(leaf.node);
        add_node(left);
        add_node(right);
        nodes[node].column = leaf.split.column;
        nodes[node].left = left.node;
        nodes[node].right = right.node;
        nodes[node].gain = leaf.split.gain;
        nodes[node].split = leaf.split;
        // The parent's histogram becomes that of the larger child.
        (left.size() <= right.size() ? right : left).histogram = std::move(leaf.histogram);
        return {std::move(left), std::move(right)};
    }

    // -- the finished tree -------------------------------------------------------------------------------------------
    std::vector<GrownLeaf> append(const std::vector<Leaf>& leaves, const std::vector<std::int32_t>& rows,
                                  const GradientRows& data, Forest& forest) {
        std::vector<const Leaf*> leaf_of(nodes.size(), nullptr);
        for (const Leaf& leaf : leaves) leaf_of[static_cast<std::size_t>(leaf.node)] = &leaf;
        std::vector<GrownLeaf> grown;
        const auto first = static_cast<std::int64_t>(forest.feature.size());
        struct Visit {
            std::int32_t node, parent;
            bool is_right;
        };
        std::vector<Visit> stack{{0, -1, false}};
        while (!stack.empty()) {
            const Visit at = stack.back();
            stack.pop_back();
            const Node& node = nodes[static_cast<std::size_t>(at.node)];
            const auto id = static_cast<std::int32_t>(static_cast<std::int64_t>(forest.feature.size()) - first);
            if (at.parent >= 0)
                (at.is_right ? forest.right : forest.left)[static_cast<std::size_t>(first + at.parent)] = id;
            append_node(forest, node);
            if (node.column < 0) {
                const Leaf& leaf = *leaf_of[static_cast<std::size_t>(at.node)];
                grown.push_back({id, leaf.begin, leaf.end, leaf.lower, leaf.upper});
                continue;
            }
            stack.push_back({node.right, id, true});
            stack.push_back({node.left, id, false});
        }
        forest.offsets.push_back(static_cast<std::int64_t>(forest.feature.size()));
        const std::vector<double> values =
            newton_values(grown, rows, data, options.l2, options.l1, threads_for(static_cast<index_t>(rows.size())));
        for (std::size_t l = 0; l < grown.size(); ++l) forest.value[static_cast<std::size_t>(first + grown[l].node)] = values[l];
        return grown;
    }

    void append_node(Forest& forest, const Node& node) const {
        forest.feature.push_back(node.column);
        forest.left.push_back(-1);
        forest.right.push_back(-1);
        forest.rows.push_back(node.rows);
        forest.weight.push_back(node.weight);
        forest.gain.push_back(node.gain);
        forest.value.resize(forest.value.size() + static_cast<std::size_t>(forest.width), 0.0);
        double threshold = 0;
        std::int64_t categories = -1;
        if (node.column >= 0) {
            const auto j = static_cast<std::size_t>(node.column);
            if (node.split.nominal) {
                categories = static_cast<std::int64_t>(forest.words.size());
                const index_t k = bins.n_categories[j];
                forest.words.resize(forest.words.size() + static_cast<std::size_t>((k + 63) / 64), 0);
                for (index_t c = 0; c < k; ++c)
                    if (node.split.goes_left(bins.bin_of_category[j][static_cast<std::size_t>(c)], bins.n_bins[j]))
                        forest.words[static_cast<std::size_t>(categories + c / 64)] |= std::uint64_t{1} << (c % 64);
            } else {
                const auto& cuts = bins.cuts[j];
                threshold = static_cast<std::size_t>(node.split.bin) < cuts.size() ? cuts[static_cast<std::size_t>(node.split.bin)]
                                                                                   : std::numeric_limits<double>::max();
            }
        }
        forest.threshold.push_back(threshold);
        forest.categories.push_back(categories);
        forest.missing_left.push_back(node.column >= 0 && node.split.missing_left);
    }
};

std::vector<double> newton_values(const std::vector<GrownLeaf>& leaves, const std::vector<std::int32_t>& rows, const GradientRows& data,
                                  double l2, double l1, int threads) {
    const LeafRows parts(leaves, rows, threads);
    std::vector<Largest> tops(parts.count());
    parts.each([&](std::size_t part, std::size_t, index_t begin, index_t end) {
        tops[part] = largest_of(rows.data() + begin, end - begin, data);
    });
    struct Sums {
        std::int64_t g = 0, h = 0;
    };
    std::vector<std::array<double, 2>> scales(leaves.size());
    for (std::size_t l = 0; l < leaves.size(); ++l) {
        Largest top;
        for (std::size_t part = l; part < tops.size(); part += leaves.size()) top.join(tops[part]);
        const auto scale_of = [&](double largest) {
            return largest > 0 ? std::exp2(std::min(std::floor(61 - std::log2(largest) - std::log2(std::max(top.weight, 1.0))), 1000.0)) : 1.0;
        };
        scales[l] = {scale_of(top.g), scale_of(top.h)};
    }
    std::vector<Sums> sums(parts.count());
    parts.each([&](std::size_t part, std::size_t l, index_t begin, index_t end) {
        const auto [gs, hs] = scales[l];
        Sums own;
        for (index_t i = begin; i < end; ++i) {
            const std::int32_t row = rows[static_cast<std::size_t>(i)];
            const double h = data.h == nullptr ? 1.0 : data.h[row];
            if (data.weights == nullptr) {
                own.g += std::llrint(data.g[row] * gs);
                own.h += std::llrint(h * hs);
            } else if (data.whole) {
                const auto times = static_cast<std::int64_t>(data.weights[row]);
                own.g += times * std::llrint(data.g[row] * gs);
                own.h += times * std::llrint(h * hs);
            } else {
                own.g += std::llrint(data.weights[row] * data.g[row] * gs);
                own.h += std::llrint(data.weights[row] * h * hs);
            }
        }
        sums[part] = own;
    });
    std::vector<double> values(leaves.size());
    for (std::size_t l = 0; l < leaves.size(); ++l) {
        Sums all;
        for (std::size_t part = l; part < sums.size(); part += leaves.size()) {
            all.g += sums[part].g;
            all.h += sums[part].h;
        }
        const double h = static_cast<double>(all.h) / scales[l][1];
        const double value = h + l2 > 0 ? -shrunk(static_cast<double>(all.g) / scales[l][0], l1) / (h + l2) : 0.0;
        values[l] = std::clamp(value, leaves[l].lower, leaves[l].upper);
    }
    return values;
}

HistogramGrower::HistogramGrower(const Bins& bins, const HistogramOptions& options) : state_(new State(bins, options)) {}
HistogramGrower::~HistogramGrower() { delete state_; }

std::vector<GrownLeaf> HistogramGrower::grow(std::vector<std::int32_t>& rows, const GradientRows& gradients,
                                             const HistogramOptions& options, Forest& forest) {
    state_->options = options;
    return state_->grow(rows, gradients, forest);
}

}  // namespace assay::trees
