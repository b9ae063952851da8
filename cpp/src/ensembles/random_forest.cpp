#include "assay/ensembles/random_forest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <utility>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "forest_nodes.hpp"
#include "forest_words.hpp"
#include "grown_trees.hpp"
#include "label_order.hpp"
#include "out_of_bag.hpp"
#include "small_nodes.hpp"
#include "tree_rows.hpp"

namespace assay::ensembles {
namespace {

constexpr index_t few_words = 64, oob_chunk = 1024;
constexpr double label_prior = 1, extra_prior = 3;  // rows of the mean that the mean of a label is drawn by: in a tree, in a node of extra trees

double part_score(const std::int64_t* sums, index_t k) {
    double total = 0;
    for (index_t c = 0; c < k; ++c) total += static_cast<double>(sums[c]) * static_cast<double>(sums[c]);
    return sums[k] > 0 ? total / static_cast<double>(sums[k]) : 0.0;
}

class TreeGrower : TreeRows {
public:
    TreeGrower(const RowsOfTrees& rows, const CutPlaces& places)
        : TreeRows(rows), places_(places), order_(static_cast<std::size_t>(rows.bins.d)), tools_(set_tools()) {
        std::iota(order_.begin(), order_.end(), 0);
        histogram_.resize(static_cast<std::size_t>(bin_stride * stride_));
        left_.resize(static_cast<std::size_t>(stride_));
        right_.resize(left_.size());
        missing_.resize(left_.size());
        labels_.resize(static_cast<std::size_t>(rows.bins.d));
    }

    // The tree of this number, in the room of an empty one.
    OneTree grow(index_t number, OneTree&& empty) {
        tree_ = std::move(empty);
        tree_.nodes.width = target_.width;
        random_ = ManyDraws(options_.key, 2 * static_cast<std::uint64_t>(number) + 1);
        draw(number);
        learn_labels();
        const auto drawn = static_cast<index_t>(rows_.size());
        std::vector<Open<Places>> stack{{{0, drawn}, 0, -1, false, lean_ ? std::accumulate(words_.begin(), words_.end(), Word{0}) : 0}};
        while (!stack.empty()) {
            const Open<Places> at = stack.back();
            stack.pop_back();
            const auto [begin, end] = at.rows;
            if (options_.extra && packed_ && end - begin <= set_rows) {
                grow_small(at);
                continue;
            }
            const auto id = link(at.parent, at.is_right);
            const double count = add_node(at.rows, at.sum);
            if (end - begin < 2 || stays_leaf(at.rows, at.depth, count)) continue;
            Split split = find(count, [&](const std::int32_t* columns, index_t together, Split& best) {
                index_t varied = 0;
                for (index_t c = 0; c < together; ++c) varied += try_column(columns[c], begin, end, best);
                return varied;
            });
            if (!split.found()) continue;
            const index_t middle = lean_ ? partition_words(begin, end, split) : partition(begin, end, split);
            if (!split.nominal && !options_.extra) centre(split);
            if (middle == begin || middle == end) continue;
            const double left_count = lean_ ? weight(left_sum_) : count_of(Places{begin, middle});
            if (std::min(left_count, count - left_count) < options_.min_leaf) continue;
            place_absent(split);
            keep(id, split, left_count >= count - left_count);
            stack.push_back({{middle, end}, at.depth + 1, static_cast<std::int32_t>(id), true, at.sum - left_sum_});
            stack.push_back({{begin, middle}, at.depth + 1, static_cast<std::int32_t>(id), false, left_sum_});
        }
        tree_.nodes.offsets.push_back(static_cast<std::int64_t>(tree_.nodes.feature.size()));
        return std::move(tree_);
    }

private:
    // Where labels stand in the sample of the tree.
    void learn_labels() {
        for (index_t j = 0; j < bins_.d; ++j) {
            if (bins_.n_categories[static_cast<std::size_t>(j)] == 0) continue;
            const std::uint8_t* code = codes(j);
            std::fill(histogram_.begin(), histogram_.end(), 0);
            for (std::size_t i = 0; i < rows_.size(); ++i)
                add_row(static_cast<index_t>(i), histogram_.data() + code[rows_[i]] * stride_);
            labels_[static_cast<std::size_t>(j)].learn(histogram_.data(), bins_.n_bins[static_cast<std::size_t>(j)], channels_,
                                                      label_prior * weight_scale());
        }
    }

    template <class Rows>
    bool stays_leaf(const Rows& rows, index_t depth, double count) const {
        return count < options_.min_split || count < 2 * options_.min_leaf || (options_.max_depth >= 0 && depth >= options_.max_depth) ||
               pure(rows);
    }

    // The nodes from one of few rows on, as sets of its rows.
    void grow_small(const Open<Places>& top) {
        const index_t base = top.rows.begin, m = top.rows.end - base;
        small_ = top.rows;
        ++round_;
        std::copy_n(words_.begin() + base, m, set_words_.begin());
        auto& stack = small_stack_;
        const RowSet whole = first_rows(m);
        stack[0] = {{base, whole}, top.depth, top.parent, top.is_right, tools_.sum(set_words_.data(), whole)};
        for (std::size_t open = 1; open > 0;) {
            const Open<PlacesOfSet> at = stack[--open];
            const RowSet set = at.rows.set;
            const auto id = link(at.parent, at.is_right);
            const double count = add_node(at.rows, at.sum);
            if ((set & (set - 1)) == 0 || stays_leaf(at.rows, at.depth, count)) continue;
            Split split = find(count, [&](const std::int32_t* columns, index_t together, Split& best) {
                return try_sets(columns, together, set, best);
            });
            if (!split.found()) continue;
            const RowSet left = left_set(split, set), right = set & ~left;
            if (left == 0 || right == 0) continue;
            const Word left_sum = tools_.sum(set_words_.data(), left);
            const double left_count = lean_ ? weight(left_sum) : count_of(PlacesOfSet{base, left});
            if (std::min(left_count, count - left_count) < options_.min_leaf) continue;
            place_absent(split);
            keep(id, split, left_count >= count - left_count);
            stack[open++] = {{base, right}, at.depth + 1, static_cast<std::int32_t>(id), true, at.sum - left_sum};
            stack[open++] = {{base, left}, at.depth + 1, static_cast<std::int32_t>(id), false, left_sum};
        }
    }

    // The codes of a column for the rows of `grow_small`, taken with those of its block when one of them is first asked for.
    const std::uint8_t* set_codes(std::int32_t column) {
        const index_t block = column / block_columns;
        std::uint8_t* own = set_codes_.get() + block * block_columns * set_rows;
        if (std::exchange(taken_[static_cast<std::size_t>(block)], round_) != round_)
            turn_block(bins_.block(block), rows_.data() + small_.begin, small_.end - small_.begin, own);
        return own + column % block_columns * set_rows;
    }

    RowSet left_set(const Split& split, RowSet set) {
        const std::uint8_t* own = set_codes(split.column);
        if (!split.nominal) {
            const index_t absent = bins_.n_bins[static_cast<std::size_t>(split.column)];
            const RowSet left = tools_.at_most(own, static_cast<std::uint8_t>(split.bin), set);
            if (!split.missing_left) return left;
            return left | (set & ~tools_.at_most(own, static_cast<std::uint8_t>(absent - 1), set));
        }
        RowSet left = 0;
        for (RowSet rest = set; rest != 0; rest &= rest - 1)
            if (goes_left(split, own[std::countr_zero(rest)])) left |= rest & -rest;
        return left;
    }

    // Extra trees on some columns: how many of them vary in the set. Steps are taken side by side, so that columns do not wait for each other.
    index_t try_sets(const std::int32_t* columns, index_t together, RowSet set, Split& best) {
        SetColumns side;
        for (index_t c = 0; c < together; ++c) side.codes[c] = set_codes(columns[c]);
        tools_.extremes(side, together, set);
        bool special = false;
        for (index_t c = 0; c < together; ++c) {
            const auto j = static_cast<std::size_t>(columns[c]);
            special |= side.high[c] == bins_.n_bins[j] || bins_.n_categories[j] > 0;
        }
        index_t varied = 0;
        if (special) {
            for (index_t c = 0; c < together; ++c) varied += try_set(columns[c], side.codes[c], side.low[c], side.high[c], set, best);
            return varied;
        }
        std::int32_t varying[columns_together];
        for (index_t c = 0; c < together; ++c) {
            if (side.low[c] == side.high[c]) continue;
            varying[varied] = columns[c];
            side.codes[varied] = side.codes[c];
            side.limit[varied++] = static_cast<std::uint8_t>(draw_bin(columns[c], side.low[c], side.high[c]));
        }
        Word left[columns_together];
        tools_.sums(side, varied, set, set_words_.data(), left);
        double top = best.score;
        index_t at = -1;
        for (index_t c = 0; c < varied; ++c) {
            const double score = word_score(left[c]);
            at = score > top ? c : at;
            top = score > top ? score : top;
        }
        if (at >= 0 && take(top, varying[at], false, false, false, best)) best.bin = side.limit[at];
        return varied;
    }

    // One column of labels, or with missing cells.
    bool try_set(std::int32_t column, const std::uint8_t* own, index_t low, index_t high, RowSet set, Split& best) {
        if (low == high) return false;
        const index_t absent = bins_.n_bins[static_cast<std::size_t>(column)];
        const bool some = high == absent;
        if (bins_.n_categories[static_cast<std::size_t>(column)] > 0) {
            sum_node();
            std::fill(histogram_.begin() + low * stride_, histogram_.begin() + (high + 1) * stride_, 0);
            for (RowSet rest = set; rest != 0; rest &= rest - 1) {
                const int i = std::countr_zero(rest);
                add_word(set_words_[static_cast<std::size_t>(i)], histogram_.data() + own[i] * stride_);
            }
            noise_ = noise_of(column, PlacesOfSet{small_.begin, set});
            scan_sides(column, low, high, some, best);
            return true;
        }
        const RowSet present = some ? tools_.at_most(own, static_cast<std::uint8_t>(absent - 1), set) : set;
        if (some) {
            high = low;
            for (RowSet rest = present; rest != 0; rest &= rest - 1) high = std::max<index_t>(high, own[std::countr_zero(rest)]);
        }
        const index_t bin = draw_bin(column, low, high);
        const Word* words = set_words_.data();
        const Word left = tools_.sum(words, tools_.at_most(own, static_cast<std::uint8_t>(bin), set));
        take_one(column, bin, left, some, some ? tools_.sum(words, set & ~present) : 0, best);
        return true;
    }

    // -- searching: total_ holds the sums of the node --------------------------------------------------------------
    template <class Try>
    Split find(double count, Try&& try_columns) {
        Split best;
        const double weight = packed_ ? this->weight(all_) : static_cast<double>(total_[static_cast<std::size_t>(channels_)]);
        least_ = (options_.min_leaf - 0.5) * weight / count;
        index_t tried = 0, j = 0;
        const bool draws = options_.columns_per_node < bins_.d;  // else all are tried, and the first of equals is taken
        const double most = largest_score(weight);
        drawn_places_.clear();
        while (j < bins_.d && !((tried >= options_.columns_per_node && best.found()) || best.score >= most)) {
            const index_t wanted = options_.extra ? std::clamp<index_t>(options_.columns_per_node - tried, 1, columns_together) : 1;
            const index_t begin = j, end = std::min(bins_.d, j + wanted);
            for (; j < end && draws; ++j) {
                const std::size_t from = static_cast<std::size_t>(j) + random_.below(static_cast<std::uint32_t>(bins_.d - j));
                std::swap(order_[static_cast<std::size_t>(j)], order_[from]);
                drawn_places_.push_back(static_cast<std::int32_t>(from));
            }
            j = end;
            tried += try_columns(order_.data() + begin, end - begin, best);
        }
        while (draws && j-- > 0)  // back to rising order
            std::swap(order_[static_cast<std::size_t>(j)], order_[static_cast<std::size_t>(drawn_places_[static_cast<std::size_t>(j)])]);
        const double squares = lanes_.classes > 0 ? lanes_.squares(all_) : gradient_of(all_) * gradient_of(all_);
        base_ = packed_ ? squares / weight : part_score(total_.data(), channels_);
        return best;
    }

    // No split has a larger score: that of one that parts the classes, after which no column need be tried.
    double largest_score(double weight) const {
        if (target_.labels == nullptr) return infinity;
        if (channels_ > 1) return weight;
        return packed_ ? gradient_of(all_) : static_cast<double>(total_[0]);
    }

    bool try_column(std::int32_t column, index_t begin, index_t end, Split& best) {
        const std::uint8_t* code = codes(column);
        const bool nominal = bins_.n_categories[static_cast<std::size_t>(column)] > 0;
        const index_t m = end - begin, missing_code = bins_.n_bins[static_cast<std::size_t>(column)];
        if (packed_ && !nominal && !options_.extra)
            return m <= few_words ? scan_few_words(column, code, begin, m, best) : scan_words_of(column, code, begin, end, best);
        if (!nominal && !options_.extra && m <= few_rows) return scan_few(column, code, begin, m, best);
        codes_.resize(std::max(codes_.size(), static_cast<std::size_t>(m)));
        std::uint8_t low = 255, high = 0;
        const std::int32_t* rows = rows_.data() + begin;
        std::uint8_t* own = codes_.data();
        if (m == bins_.n) {  // all rows, in their order
            std::copy_n(code, m, own);
            extreme_codes(own, m, low, high);
        } else if (m < 2 * few_words) {
            for (index_t i = 0; i < m; ++i) {
                const std::uint8_t c = code[rows[i]];
                own[i] = c;
                low = std::min(low, c);
                high = std::max(high, c);
            }
        } else {
            for (index_t i = 0; i < m; ++i) own[i] = code[rows[i]];
            extreme_codes(own, m, low, high);
        }
        if (low == high) return false;
        if (options_.extra && !nominal) return try_one(column, begin, end, low, high, best);
        sum_node();
        const index_t from = low, to = high;
        std::fill(histogram_.begin() + from * stride_, histogram_.begin() + (to + 1) * stride_, 0);
        for (index_t i = begin; i < end; ++i)
            add_row(i, histogram_.data() + code[rows_[static_cast<std::size_t>(i)]] * stride_);
        if (nominal) noise_ = noise_of(column, Places{begin, end});
        scan_sides(column, from, to, to == missing_code, best);
        return true;
    }

    // The variance of the target of the node's rows along the direction by which a column's labels are sorted.
    template <class Rows>
    double noise_of(std::int32_t column, const Rows& rows) const {
        const LabelOrder& labels = labels_[static_cast<std::size_t>(column)];
        if (target_.labels != nullptr) return labels.spread_of_classes(total_.data());
        const double mean = labels.along(total_.data()) / static_cast<double>(total_[static_cast<std::size_t>(channels_)]);
        double squares = 0;
        std::vector<double> y(static_cast<std::size_t>(channels_));
        rows.all([&](index_t i) {
            for (index_t k = 0; k < channels_; ++k) y[static_cast<std::size_t>(k)] = static_cast<double>(rounded(rows_[static_cast<std::size_t>(i)], k));
            const double off = labels.along(y.data()) - mean;
            squares += static_cast<double>(weights_[static_cast<std::size_t>(i)]) * off * off;
            return true;
        });
        return squares / static_cast<double>(total_[static_cast<std::size_t>(channels_)]);
    }

    // The splits of a histogram, from its lowest code to its highest, which stands for missing cells if there are `some`.
    void scan_sides(std::int32_t column, index_t from, index_t to, bool some, Split& best) {
        if (some) std::copy_n(histogram_.begin() + to * stride_, stride_, missing_.begin());
        const index_t last = some ? to - 1 : to;  // the highest code that is present
        for (int side = 0; side < (some ? 2 : 1); ++side) {
            if (bins_.n_categories[static_cast<std::size_t>(column)] > 0)
                scan_categories(column, from, last, some, side == 1, best);
            else
                scan_bins(column, from, last, some, side == 1, best);
        }
    }

    // The sums of a node whose word says them.
    void sum_node() {
        if (!packed_) return;
        std::fill(total_.begin(), total_.end(), 0);
        add_word(all_, total_.data());
    }

    void start(bool some, bool missing_left) {
        if (some && missing_left)
            left_ = missing_;
        else
            std::fill(left_.begin(), left_.end(), 0);
    }
    void move(const std::int64_t* sums) {
        for (index_t k = 0; k < stride_; ++k) left_[static_cast<std::size_t>(k)] += sums[k];
    }
    // The score of left_ against the rest, or minus infinity if a side is too small.
    double score() {
        for (index_t k = 0; k < stride_; ++k)
            right_[static_cast<std::size_t>(k)] = total_[static_cast<std::size_t>(k)] - left_[static_cast<std::size_t>(k)];
        const auto h = static_cast<std::size_t>(channels_);
        if (left_[h] <= 0 || right_[h] <= 0 || static_cast<double>(left_[h]) < least_ || static_cast<double>(right_[h]) < least_)
            return -infinity;
        return part_score(left_.data(), channels_) + part_score(right_.data(), channels_);
    }
    bool take(double value, std::int32_t column, bool nominal, bool some, bool missing_left, Split& best) const {
        if (!(value > best.score)) return false;
        best.score = value;
        best.column = column;
        best.nominal = nominal;
        best.luck = 0;
        best.missing_seen = some;
        best.missing_left = missing_left;
        return true;
    }

    void scan_bins(std::int32_t column, index_t from, index_t last, bool some, bool missing_left, Split& best) {
        start(some, missing_left);
        // After the last bin only the missing cells are on the right.
        for (index_t b = from; b < last + (some && !missing_left ? 1 : 0); ++b) {
            const std::int64_t* own = histogram_.data() + b * stride_;
            if (own[channels_] == 0) continue;
            move(own);
            if (take(score(), column, false, some, missing_left, best)) best.bin = b;
        }
    }

    // Labels in the order of their means in the node. Sorted, even noise makes a score: what is expected of it is taken off.
    void scan_categories(std::int32_t column, index_t from, index_t last, bool some, bool missing_left, Split& best) {
        std::array<std::pair<double, std::uint8_t>, bin_stride> present;
        std::size_t count = 0;
        const LabelOrder& labels = labels_[static_cast<std::size_t>(column)];
        double weight = 0, sum = 0, expected = 0, roots = 0;
        for (index_t b = from; b <= last; ++b) {
            const std::int64_t* own = histogram_.data() + b * stride_;
            const auto h = static_cast<double>(own[channels_]);
            if (h == 0) continue;
            weight += h;
            roots += std::sqrt(h);
            sum += labels.along(own);
            expected += h * labels.standing(b);
            present[count++].second = static_cast<std::uint8_t>(b);
        }
        const double shift = (sum - expected) / std::max(weight, 1.0);  // of the node against the tree
        const double prior = options_.extra ? extra_prior * weight_scale() : 0.0;
        for (std::size_t r = 0; r < count; ++r) {
            const index_t b = present[r].second;
            const std::int64_t* own = histogram_.data() + b * stride_;
            present[r].first = (labels.along(own) + prior * (labels.standing(b) + shift)) / (static_cast<double>(own[channels_]) + prior);
        }
        std::sort(present.begin(), present.begin() + static_cast<index_t>(count));
        const double alike = roots * roots / std::max(weight, 1.0);
        const double luck = weight_scale() * noise_ * 2 / std::numbers::pi * std::max(alike - 2, 0.0);
        // Extra trees: one cut, drawn between the extreme means as for numbers.
        const double cut = options_.extra && count > 0
                               ? present[0].first + random_.uniform() * (present[count - 1].first - present[0].first)
                               : infinity;
        start(some, missing_left);
        CodeSet set{};
        for (std::size_t r = 0; r + (some && !missing_left ? 0 : 1) < count; ++r) {
            put_in(set, present[r].second);
            move(histogram_.data() + present[r].second * stride_);
            if (options_.extra && r + 1 < count && present[r + 1].first <= cut) continue;
            if (take(score() - luck, column, true, some, missing_left, best)) {
                best.luck = luck;
                best.set = set;
                best.held = {};
                for (std::size_t k = 0; k < count; ++k) put_in(best.held, present[k].second);
                best.edge = (r + 1 < count ? 0.5 * (present[r].first + present[r + 1].first) : infinity) - shift;
            }
            if (options_.extra) return;
        }
    }

    // Labels that the node lacks go where those go that stand in the tree as they do.
    void place_absent(Split& split) const {
        if (!split.nominal) return;
        const LabelOrder& labels = labels_[static_cast<std::size_t>(split.column)];
        for (index_t b = 0; b < bins_.n_bins[static_cast<std::size_t>(split.column)]; ++b)
            if (!in_set(split.held, b) && labels.standing(b) <= split.edge) put_in(split.set, b);
    }

    // Few rows: their codes in order instead of a histogram.
    bool scan_few(std::int32_t column, const std::uint8_t* code, index_t begin, index_t m, Split& best) {
        const FewCodes codes(code, rows_.data() + begin, m);
        if (codes.at(0) == codes.at(m - 1)) return false;
        const index_t absent = bins_.n_bins[static_cast<std::size_t>(column)];
        index_t present = m;
        while (present > 0 && codes.at(present - 1) == absent) --present;
        const bool some = present < m;
        if (some) {
            std::fill(missing_.begin(), missing_.end(), 0);
            for (index_t i = present; i < m; ++i) add_row(begin + codes.place(i), missing_.data());
        }
        for (int side = 0; side < (some ? 2 : 1); ++side) {
            const bool missing_left = side == 1;
            start(some, missing_left);
            for (index_t i = 0; i < present; ++i) {
                add_row(begin + codes.place(i), left_.data());
                const bool boundary = i + 1 < present ? codes.at(i) != codes.at(i + 1) : some && !missing_left;
                if (boundary && take(score(), column, false, some, missing_left, best)) best.bin = codes.at(i);
            }
        }
        return true;
    }

    // The score of a part of the node against the rest, or minus infinity if a side is too small.
    double word_score(Word left) const {
        if (lanes_.classes == 3) return counts_score<3>(left, all_, least_);
        if (lanes_.classes == 4) return counts_score<4>(left, all_, least_);
        return sums_score(left, all_, least_);
    }

    // Few rows on words: only the bins that hold rows are met, by a mark for each.
    bool scan_few_words(std::int32_t column, const std::uint8_t* code, index_t begin, index_t m, Split& best) {
        const std::int32_t* rows = rows_.data() + begin;
        const Word* words = words_.data() + begin;
        std::array<Word, bin_stride / 64> marks{};
        Word* sums = few_histogram_.data();  // all 0 between calls
        for (index_t i = 0; i < m; ++i) {
            const std::size_t c = code[rows[i]];
            sums[c] += words[i];
            marks[c / 64] |= Word{1} << (c % 64);
        }
        const auto absent = static_cast<std::size_t>(bins_.n_bins[static_cast<std::size_t>(column)]);
        const bool some = (marks[absent / 64] >> (absent % 64) & 1) != 0;
        const Word missing = sums[absent];
        std::array<std::uint8_t, few_words> bins;
        std::array<Word, few_words> held;  // the sums of these bins
        index_t count = 0;
        for (std::size_t w = 0; w < marks.size(); ++w)
            for (Word left = marks[w]; left != 0; left &= left - 1) {
                const std::size_t c = w * 64 + static_cast<std::size_t>(std::countr_zero(left));
                bins[static_cast<std::size_t>(count)] = static_cast<std::uint8_t>(c);
                held[static_cast<std::size_t>(count++)] = std::exchange(sums[c], Word{0});
            }
        const index_t present = count - some;
        for (int side = 0; side < (some ? 2 : 1) && count > 1; ++side) {
            const bool missing_left = side == 1;
            index_t at = -1;
            const double top = scan_held(held.data(), some && !missing_left ? present : present - 1, missing_left ? missing : 0, best.score, at);
            if (at >= 0 && take(top, column, false, some, missing_left, best)) best.bin = bins[static_cast<std::size_t>(at)];
        }
        return count > 1;
    }

    // The largest score of the boundaries after bins 0..count-1, and the first that has it; none where it is surely not above `needed`.
    double scan_held(const Word* histogram, index_t count, Word start, double needed, index_t& at) const {
        if (count > 4) {
            const auto scan = lanes_.classes == 3 ? scan_three : lanes_.classes == 4 ? scan_four : scan_words;
            return scan(histogram, count, start, all_, least_, needed < 1e37 ? static_cast<float>(std::max(needed, -1.0)) : -1.0F, at);
        }
        double top = -infinity;
        for (index_t b = 0; b < count; ++b) {
            const double score = word_score(start += histogram[b]);
            if (score > top) top = score, at = b;
        }
        return top;
    }

    bool scan_words_of(std::int32_t column, const std::uint8_t* code, index_t begin, index_t end, Split& best) {
        const index_t count = bins_.n_bins[static_cast<std::size_t>(column)];
        Word* histogram = word_histogram_.data();
        std::fill_n(histogram, count + 1, Word{0});
        const std::int32_t* rows = rows_.data();
        const Word* words = words_.data();
        for (index_t i = begin; i < end; ++i) histogram[code[rows[i]]] += words[i];
        if (histogram[code[rows[begin]]] == all_) return false;
        const Word missing = histogram[count];
        const bool some = missing != 0;
        for (int side = 0; side < (some ? 2 : 1); ++side) {
            const bool missing_left = side == 1;
            index_t at = -1;
            const double top = scan_held(histogram, some && !missing_left ? count : count - 1, missing_left ? missing : 0, best.score, at);
            if (at >= 0 && take(top, column, false, some, missing_left, best)) best.bin = at;
        }
        return true;
    }

    // Extra trees: one threshold between the extreme values of the node, whose codes are codes_.
    bool try_one(std::int32_t column, index_t begin, index_t end, index_t low, index_t high, Split& best) {
        const index_t absent = bins_.n_bins[static_cast<std::size_t>(column)], m = end - begin;
        const bool some = high == absent;
        if (some) {
            high = 0;
            for (index_t i = 0; i < m; ++i) {
                const index_t c = codes_[static_cast<std::size_t>(i)];
                if (c != absent) high = std::max(high, c);
            }
        }
        const index_t at = draw_bin(column, low, high);
        if (packed_) {
            const Word* words = words_.data() + begin;
            const auto at_most = [&](index_t limit) { return words_at_most(codes_.data(), static_cast<std::uint8_t>(limit), words, m); };
            take_one(column, at, at_most(at), some, some ? all_ - at_most(absent - 1) : 0, best);
            return true;
        }
        std::fill(histogram_.begin(), histogram_.begin() + 2 * stride_, 0);
        std::fill(missing_.begin(), missing_.end(), 0);
        for (index_t i = begin; i < end; ++i) {
            const index_t c = codes_[static_cast<std::size_t>(i - begin)];
            add_row(i, c == absent ? missing_.data() : histogram_.data() + (c > at ? stride_ : 0));
        }
        for (int side = 0; side < (some ? 2 : 1); ++side) {
            start(some, side == 1);
            move(histogram_.data());
            if (take(score(), column, false, some, side == 1, best)) best.bin = at;
        }
        return true;
    }

    // The bin that ends at a threshold drawn between the extreme values of the node, whose bins are `low` and `high`.
    index_t draw_bin(std::int32_t column, index_t low, index_t high) {
        if (low >= high) return low;
        const std::vector<double>& cuts = bins_.cuts[static_cast<std::size_t>(column)];
        const auto edge = [&](index_t b) { return cuts[static_cast<std::size_t>(b)]; };
        // Values stand in the middle of their bins; those of the first and last bin at their only cut.
        const index_t last = bins_.n_bins[static_cast<std::size_t>(column)] - 1;
        const double bottom = low == 0 ? edge(0) : 0.5 * (edge(low - 1) + edge(low));
        const double top = high == last ? edge(high - 1) : 0.5 * (edge(high - 1) + edge(high));
        const double cut = bottom + random_.uniform() * (top - bottom);
        return places_.above(static_cast<std::size_t>(column), cut, low, high);
    }

    // That threshold by the words of its left side, with missing cells on either.
    void take_one(std::int32_t column, index_t bin, Word left, bool some, Word missing, Split& best) const {
        if (take(word_score(left), column, false, some, false, best)) best.bin = bin;
        if (some && take(word_score(left + missing), column, false, true, true, best)) best.bin = bin;
    }

    const CutPlaces& places_;
    std::vector<LabelOrder> labels_;  // by column
    double least_ = 0, noise_ = 0;
    ManyDraws random_{0, 0};
    std::vector<std::int32_t> order_, drawn_places_;
    const SetTools tools_;
    std::array<Word, set_rows> set_words_{};
    std::unique_ptr<std::uint8_t[]> set_codes_{new std::uint8_t[static_cast<std::size_t>(bins_.blocks * block_columns * set_rows)]};
    std::vector<std::int32_t> taken_ = std::vector<std::int32_t>(static_cast<std::size_t>(bins_.blocks), 0);  // when a block was
    std::int32_t round_ = 0;
    Places small_{0, 0};  // the rows of `grow_small`
    std::array<Open<PlacesOfSet>, set_rows + 1> small_stack_{};
    std::vector<std::int64_t> histogram_;
    std::vector<Word> word_histogram_ = std::vector<Word>(bin_stride), few_histogram_ = std::vector<Word>(bin_stride);
    std::vector<std::uint8_t> codes_;
    Sums left_, right_, missing_;
};

}  // namespace

std::vector<std::int32_t> bootstrap_counts(index_t n, const double* whole_weights, std::uint64_t key, index_t tree) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(n), 0);
    Random random(key, 2 * static_cast<std::uint64_t>(tree));
    if (whole_weights == nullptr) {
        for (index_t i = 0; i < n; ++i) ++counts[random.below(static_cast<std::uint32_t>(n))];
        return counts;
    }
    std::vector<std::int32_t> row_of_unit;
    for (index_t i = 0; i < n; ++i) row_of_unit.insert(row_of_unit.end(), static_cast<std::size_t>(whole_weights[i]), static_cast<std::int32_t>(i));
    for (std::size_t u = 0; u < row_of_unit.size(); ++u)
        ++counts[static_cast<std::size_t>(row_of_unit[random.below(static_cast<std::uint32_t>(row_of_unit.size()))])];
    return counts;
}

LargeVector<std::uint8_t> codes_by_column(const Bins& bins, int threads) {
    const index_t n = bins.n;
    LargeVector<std::uint8_t> columns(static_cast<std::size_t>(n * bins.d));
    parallel_chunks(bins.d, 1, threads, [&](index_t j, index_t, index_t) {
        const std::uint8_t* from = bins.block(j / block_columns) + j % block_columns;
        for (index_t i = 0; i < n; ++i) columns[static_cast<std::size_t>(j * n + i)] = from[i * block_columns];
    });
    return columns;
}

GrownForest grow_forest(const Bins& bins, const ForestTarget& target, const ForestOptions& options, const AskedRows& asked) {
    GrownForest grown;
    grown.forest.width = target.width;
    const index_t n = bins.n, k = target.width;
    // The largest |y| times the total weight stays below 2^52: sums and their products with weights are whole numbers in a double.
    double largest = 0, total = 0, heaviest = 1;
    for (index_t i = 0; i < n; ++i) {
        total += target.weights != nullptr ? target.weights[i] : 1.0;
        if (target.weights != nullptr && !target.whole) heaviest = std::max(heaviest, target.weights[i]);
        if (target.y != nullptr)
            for (index_t c = 0; c < k; ++c) largest = std::max(largest, std::abs(target.y[i * k + c]));
    }
    const double units = target.whole ? total : static_cast<double>(n) * 1024;
    const bool one_sum = target.labels != nullptr ? k == 2 : k == 1;
    const bool in_lanes = target.labels != nullptr && target.whole && k > 2 && k <= most_lanes && units < std::exp2(64 / k);
    // A bootstrap of rows of unequal weight may weigh more than they all do: units bound it.
    const bool packed = (one_sum && units < word_limit) || in_lanes;
    const double bits = packed && target.labels == nullptr ? 30 : 50;
    const double scale = largest > 0 ? std::exp2(std::floor(bits - std::log2(largest * units + 1e-300))) : 1.0;
    const CutPlaces places(bins, options.extra);
    const LargeVector<std::uint8_t> made = options.columns == nullptr ? codes_by_column(bins, options.threads) : LargeVector<std::uint8_t>{};
    const LargeVector<std::uint8_t>& columns = options.columns == nullptr ? made : *options.columns;
    const Answers answers(asked, k, options.threads);
    std::vector<OneTree> trees(static_cast<std::size_t>(options.trees));
    grown.oob_loss.assign(trees.size(), std::numeric_limits<double>::quiet_NaN());
    if (options.permute) grown.permuted_loss.assign(trees.size() * static_cast<std::size_t>(bins.d), 0.0);
    const auto measure = [&](index_t t, const OneTree& tree) {
        OutOfBag out(bins, target, tree);
        if (out.size() == 0) return;
        double* permuted = options.permute ? grown.permuted_loss.data() + t * bins.d : nullptr;
        const auto stream = static_cast<std::uint64_t>(options.first_tree + t);
        grown.oob_loss[static_cast<std::size_t>(t)] = out.losses(options.key ^ 0xA24BAED4963EE407ULL, stream, permuted);
    };
    const RowsOfTrees rows{bins, columns, target, options, scale, 1024 / heaviest, packed, in_lanes ? k : 0};
    Pool<TreeGrower> growers;
    Joining joining(grown.forest, trees, options.bootstrap && options.out_of_bag, answers, grown.asked_sum);
    parallel_chunks(options.trees, 1, options.threads, [&](index_t t, index_t, index_t) {
        OneTree& tree = trees[static_cast<std::size_t>(t)];
        {
            auto grower = growers.take([&] { return std::make_unique<TreeGrower>(rows, places); });
            tree = grower->grow(options.first_tree + t, joining.empty());
            growers.give_back(std::move(grower));
        }
        if (options.bootstrap && (options.out_of_bag || options.permute)) measure(t, tree);
        if (asked.rows != nullptr) answers.find(tree);
        joining.finish(t);
    });
    if (options.bootstrap && options.out_of_bag) {
        grown.oob_sum.assign(static_cast<std::size_t>(n * k), 0.0);
        grown.oob_trees.assign(static_cast<std::size_t>(n), 0);
        parallel_chunks(n, oob_chunk, options.threads, [&](index_t, index_t begin, index_t end) {
            for (index_t t = 0; t < grown.forest.n_trees(); ++t) {
                const OneTree& tree = trees[static_cast<std::size_t>(t)];
                const auto first = static_cast<std::size_t>(grown.forest.offsets[static_cast<std::size_t>(t)]);
                for (index_t i = begin; i < end; ++i) {
                    if (tree.drawn[static_cast<std::size_t>(i)]) continue;
                    const double* value = values_of(tree, grown.forest, first, bins, i);
                    for (index_t c = 0; c < k; ++c) grown.oob_sum[static_cast<std::size_t>(i * k + c)] += value[c];
                    ++grown.oob_trees[static_cast<std::size_t>(i)];
                }
            }
        });
    }
    return grown;
}

}  // namespace assay::ensembles
