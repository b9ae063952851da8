// The rows that one tree of a forest is grown on, the nodes that it gets, and how tests part the rows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/ensembles/random_forest.hpp"
#include "forest_nodes.hpp"
#include "forest_words.hpp"
#include "grown_trees.hpp"
#include "small_nodes.hpp"

namespace assay::ensembles {
namespace {

// Sums of one part: G_0 .. G_{K-1}, H.
using Sums = std::vector<std::int64_t>;

// What the trees of a forest have in common: targets times `scale` and weights times `scale_weights` are rounded, and where they are
// `packed` a word holds those of a row, in lanes for so many classes.
struct RowsOfTrees {
    const Bins& bins;
    const LargeVector<std::uint8_t>& columns;
    const ForestTarget& target;
    const ForestOptions& options;
    double scale, scale_weights;
    bool packed;
    index_t lanes;
};

class TreeRows {
public:
    explicit TreeRows(const RowsOfTrees& rows)
        : bins_(rows.bins), columns_(rows.columns), target_(rows.target), options_(rows.options), scale_(rows.scale),
          scale_weights_(rows.scale_weights), packed_(rows.packed), lanes_(rows.lanes),
          // Then a word says all of a row: its weight is how often it counts.
          lean_(packed_ && target_.labels != nullptr && target_.whole),
          // Two classes need one sum: the weight of the second; the first is the rest, and the scores differ by a constant.
          channels_(target_.labels != nullptr && target_.width == 2 ? 1 : target_.width), stride_(channels_ + 1),
          total_(static_cast<std::size_t>(stride_)) {}

protected:
    const std::uint8_t* codes(index_t column) const { return columns_.data() + column * bins_.n; }

    // The number of a new node, which its parent learns.
    std::size_t link(std::int32_t parent, bool is_right) {
        const std::size_t id = tree_.nodes.feature.size();
        if (parent >= 0) (is_right ? tree_.nodes.right : tree_.nodes.left)[static_cast<std::size_t>(parent)] = static_cast<std::int32_t>(id);
        return id;
    }
    // The sample: rows that were drawn, in rising order, with how often and with what weight.
    void draw(index_t number) {
        rows_.clear();
        counts_.clear();
        weights_.clear();
        words_.clear();
        std::vector<std::int32_t> counts;
        const double* whole = target_.whole ? target_.weights : nullptr;
        if (options_.bootstrap) counts = bootstrap_counts(bins_.n, whole, options_.key, number);
        for (index_t i = 0; i < bins_.n; ++i) {
            const std::int32_t count = options_.bootstrap ? counts[static_cast<std::size_t>(i)]
                                                          : (whole != nullptr ? static_cast<std::int32_t>(whole[i]) : 1);
            if (count == 0) continue;
            rows_.push_back(static_cast<std::int32_t>(i));
            if (lean_) {
                const auto own = static_cast<Word>(count);
                words_.push_back(lanes_.classes > 0 ? own << (lanes_.bits * target_.labels[i]) : (target_.labels[i] != 0 ? own << 32 : 0) + own);
                continue;
            }
            counts_.push_back(count);
            const double weight = target_.weights != nullptr && !target_.whole ? target_.weights[i] * weight_scale() : 1.0;
            weights_.push_back(count * std::llrint(weight));
            if (!packed_) continue;
            const std::int64_t own = weights_.back();
            const std::int64_t sum = target_.labels != nullptr ? (target_.labels[i] != 0 ? own : 0) : own * rounded(static_cast<std::int32_t>(i), 0);
            words_.push_back((static_cast<Word>(sum) << 32) + static_cast<Word>(own));
        }
        if (!options_.bootstrap || !(options_.out_of_bag || options_.permute)) return;
        tree_.drawn.assign(static_cast<std::size_t>(bins_.n), false);
        for (const std::int32_t row : rows_) tree_.drawn[static_cast<std::size_t>(row)] = true;
    }
    double weight_scale() const { return target_.whole ? 1.0 : scale_weights_; }

    template <class Rows>
    double count_of(const Rows& rows) const {
        double total = 0;
        rows.all([&](index_t i) {
            total += counts_[static_cast<std::size_t>(i)];
            return true;
        });
        return total;
    }

    double weight(Word sum) const { return lanes_.classes > 0 ? lanes_.weight(sum) : weight_of(sum); }
    void add_word(Word word, std::int64_t* sums) const {
        if (lanes_.classes == 0) {
            sums[0] += static_cast<std::int32_t>(word >> 32);
            sums[1] += static_cast<std::uint32_t>(word);
            return;
        }
        for (index_t k = 0; k < channels_; ++k) {
            sums[k] += static_cast<std::int64_t>(lanes_.of(word, k));
            sums[channels_] += static_cast<std::int64_t>(lanes_.of(word, k));
        }
    }

    // What row i of the sample adds to the sums of its part.
    void add_row(index_t i, std::int64_t* sums) const {
        if (packed_) return add_word(words_[static_cast<std::size_t>(i)], sums);
        const std::int32_t row = rows_[static_cast<std::size_t>(i)];
        const std::int64_t w = weights_[static_cast<std::size_t>(i)];
        sums[channels_] += w;
        if (target_.labels != nullptr) {
            if (channels_ == 1)
                sums[0] += target_.labels[row] != 0 ? w : 0;
            else
                sums[target_.labels[row]] += w;
            return;
        }
        for (index_t k = 0; k < channels_; ++k) sums[k] += w * rounded(row, k);
    }
    std::int64_t rounded(std::int32_t row, index_t k) const {
        return std::llrint(target_.y[row * target_.width + k] * scale_);
    }

    // Appends a leaf with its value; returns the rows it counts.
    template <class Rows>
    double add_node(const Rows& rows, Word sum) {
        trees::Forest& f = tree_.nodes;
        const index_t k = target_.width;
        std::vector<double>& value = value_;
        value.assign(static_cast<std::size_t>(k), 0.0);
        double weight = 0;
        std::fill(total_.begin(), total_.end(), 0);
        if (packed_) {
            all_ = lean_ ? sum : 0;
            if (!lean_)
                rows.all([&](index_t i) {
                    all_ += words_[static_cast<std::size_t>(i)];
                    return true;
                });
            weight = this->weight(all_);
            if (lanes_.classes > 0) {
                for (index_t c = 0; c < k; ++c) value[static_cast<std::size_t>(c)] = static_cast<double>(lanes_.of(all_, c));
            } else if (target_.labels != nullptr) {
                value[1] = gradient_of(all_);
                value[0] = weight - value[1];
            } else {
                rows.all([&](index_t i) {
                    value[0] += static_cast<double>(weights_[static_cast<std::size_t>(i)]) * target_.y[rows_[static_cast<std::size_t>(i)]];
                    return true;
                });
            }
        }
        const auto add_whole = [&](index_t i) {
            const auto w = static_cast<double>(weights_[static_cast<std::size_t>(i)]);
            const std::int32_t row = rows_[static_cast<std::size_t>(i)];
            weight += w;
            if (target_.labels != nullptr)
                value[static_cast<std::size_t>(target_.labels[row])] += w;
            else
                for (index_t c = 0; c < k; ++c) value[static_cast<std::size_t>(c)] += w * target_.y[row * k + c];
            add_row(i, total_.data());
            return true;
        };
        if (!packed_) rows.all(add_whole);
        for (double& v : value) v /= weight;
        const double count = lean_ ? weight : count_of(rows);
        f.feature.push_back(-1);
        f.left.push_back(-1);
        f.right.push_back(-1);
        f.threshold.push_back(0);
        f.categories.push_back(-1);
        f.missing_left.push_back(0);
        f.rows.push_back(count);
        if (!target_.whole) f.weight.push_back(weight / weight_scale());
        f.gain.push_back(0);
        f.value.insert(f.value.end(), value.begin(), value.end());
        tree_.bin.push_back(0);
        tree_.set.push_back(-1);
        return count;
    }

    template <class Rows>
    bool pure(const Rows& rows) const {
        if (lanes_.classes > 0) return lanes_.pure(all_);
        if (packed_ && target_.labels != nullptr) return gradient_of(all_) == 0 || gradient_of(all_) == weight_of(all_);
        std::int32_t first = -1;
        return rows.all([&](index_t i) {
            const std::int32_t row = rows_[static_cast<std::size_t>(i)];
            if (first < 0) first = row;
            if (target_.labels != nullptr) return target_.labels[row] == target_.labels[first];
            for (index_t k = 0; k < target_.width; ++k)
                if (target_.y[row * target_.width + k] != target_.y[first * target_.width + k]) return false;
            return true;
        });
    }

    bool goes_left(const Split& split, index_t code) const {
        if (code == bins_.n_bins[static_cast<std::size_t>(split.column)]) return split.missing_left;
        return split.nominal ? in_set(split.set, code) : code <= split.bin;
    }

    index_t partition(index_t begin, index_t end, const Split& split) {
        const std::uint8_t* code = codes(split.column);
        sides_.resize(static_cast<std::size_t>(end - begin));
        index_t next = bin_stride;
        const auto code_of = [&](index_t i) { return code[rows_[static_cast<std::size_t>(i)]]; };
        if (end - begin < bin_stride / 2) {
            for (index_t i = begin; i < end; ++i) {
                const std::uint8_t c = code_of(i);
                const bool left = goes_left(split, c);
                sides_[static_cast<std::size_t>(i - begin)] = left;
                next = std::min<index_t>(next, left ? bin_stride : c);
            }
        } else {
            std::array<std::uint8_t, bin_stride> table, seen{};
            for (index_t c = 0; c < bin_stride; ++c) table[static_cast<std::size_t>(c)] = goes_left(split, c);
            for (index_t i = begin; i < end; ++i) {
                const std::uint8_t c = code_of(i);
                sides_[static_cast<std::size_t>(i - begin)] = table[c];
                seen[c] = 1;
            }
            for (index_t c = bin_stride - 1; c >= 0; --c)
                if (seen[static_cast<std::size_t>(c)] && !table[static_cast<std::size_t>(c)]) next = c;
        }
        next_ = next;
        const index_t middle = divide(rows_, spare_rows_, begin, end);
        divide(counts_, spare_rows_, begin, end);
        divide(weights_, spare_weights_, begin, end);
        if (packed_) divide(words_, spare_words_, begin, end);
        return middle;
    }

    // The same where a word says all of a row, in one pass; `left_sum_` is the sum of the words that went left.
    index_t partition_words(index_t begin, index_t end, const Split& split) {
        const std::uint8_t* code = codes(split.column);
        const index_t m = end - begin;
        spare_rows_.resize(std::max(spare_rows_.size(), static_cast<std::size_t>(m) + 16));
        spare_words_.resize(spare_rows_.size());
        std::int32_t *rows = rows_.data() + begin, *left = rows, *right = spare_rows_.data();
        Word *words = words_.data() + begin, *left_words = words, *right_words = spare_words_.data(), sum = 0;
        index_t next = bin_stride, done = 0;
        const auto divide = [&](auto goes_left) {
            for (index_t i = done; i < m; ++i) {
                const std::int32_t row = rows[i];
                const Word word = words[i];
                const index_t goes = goes_left(code[row]);
                *left = *right = row;
                *left_words = *right_words = word;
                sum += word & (Word{0} - static_cast<Word>(goes));
                left += goes;
                left_words += goes;
                right += 1 - goes;
                right_words += 1 - goes;
            }
        };
        if (split.nominal) {
            divide([&](index_t c) { return goes_left(split, c) ? 1 : 0; });
        } else {
            const index_t absent = bins_.n_bins[static_cast<std::size_t>(split.column)], bin = split.bin;
            const index_t missing_goes = split.missing_left ? absent : -1;
            if (divide_ != nullptr && m >= set_rows) {
                done = m / set_rows * set_rows;
                const index_t went = divide_(code, rows, words, done, static_cast<std::uint8_t>(bin), missing_goes, right, right_words, sum, next);
                left += went;
                left_words += went;
                right += done - went;
                right_words += done - went;
            }
            if (options_.extra)
                divide([&](index_t c) { return static_cast<int>(c <= bin) | static_cast<int>(c == missing_goes); });
            else
                divide([&](index_t c) {
                    const int goes = static_cast<int>(c <= bin) | static_cast<int>(c == missing_goes);
                    next = std::min(next, goes != 0 ? bin_stride : c);
                    return goes;
                });
        }
        std::copy(spare_rows_.data(), right, left);
        std::copy(spare_words_.data(), right_words, left_words);
        next_ = next;
        left_sum_ = sum;
        return begin + (left - rows);
    }

    // Between the last bin to the left and the first of the node's rows to the right (`next_`) all cuts part these rows
    // alike; the one in the middle serves other rows best.
    void centre(Split& split) const {
        const auto j = static_cast<std::size_t>(split.column);
        const index_t next = next_;
        if (next >= bins_.n_bins[j] || next <= split.bin + 1) return;
        const auto first = bins_.cuts[j].begin() + split.bin, last = bins_.cuts[j].begin() + (next - 1);
        const double middle = *first + 0.5 * (*last - *first);
        auto at = std::lower_bound(first, last, middle);
        // Ties are ties in any unit of the column.
        if (at != first && middle - *(at - 1) <= *at - middle + 1e-9 * (*last - *first)) --at;
        split.bin = at - bins_.cuts[j].begin();
    }

    // Stable, by sides_, without branches.
    template <class T>
    index_t divide(std::vector<T>& values, std::vector<T>& spare, index_t begin, index_t end) {
        const index_t m = end - begin;
        spare.resize(std::max(spare.size(), static_cast<std::size_t>(m) + 1));
        T* from = values.data() + begin;
        T* left = from;
        T* right = spare.data();
        for (index_t i = 0; i < m; ++i) {
            const T value = from[i];
            const std::uint8_t goes = sides_[static_cast<std::size_t>(i)];
            *left = value;
            *right = value;
            left += goes;
            right += 1 - goes;
        }
        std::copy(spare.data(), right, left);
        return begin + (left - from);
    }

    void keep(std::size_t node, Split split, bool left_is_heavier) {
        trees::Forest& f = tree_.nodes;
        const auto j = static_cast<std::size_t>(split.column);
        if (!split.missing_seen) split.missing_left = left_is_heavier;
        f.feature[node] = split.column;
        f.missing_left[node] = split.missing_left;
        f.gain[node] = std::max(0.0, split.score + split.luck - base_) / (weight_scale() * scale_ * scale_);
        tree_.bin[node] = static_cast<std::uint8_t>(split.bin);
        if (!split.nominal) {
            const auto& cuts = bins_.cuts[j];
            f.threshold[node] = static_cast<std::size_t>(split.bin) < cuts.size() ? cuts[static_cast<std::size_t>(split.bin)]
                                                                                  : std::numeric_limits<double>::max();
            return;
        }
        tree_.set[node] = static_cast<std::int32_t>(tree_.sets.size());
        tree_.sets.push_back(split.set);
        f.categories[node] = static_cast<std::int64_t>(f.words.size());
        const index_t k = bins_.n_categories[j];
        f.words.resize(f.words.size() + static_cast<std::size_t>((k + 63) / 64), 0);
        for (index_t c = 0; c < k; ++c)
            if (in_set(split.set, bins_.bin_of_category[j][static_cast<std::size_t>(c)]))
                f.words[static_cast<std::size_t>(f.categories[node] + c / 64)] |= std::uint64_t{1} << (c % 64);
    }

    const Bins& bins_;
    const LargeVector<std::uint8_t>& columns_;  // the codes column after column
    const ForestTarget& target_;
    const ForestOptions& options_;
    const double scale_, scale_weights_;
    const bool packed_;
    const Lanes lanes_;  // no classes: a word holds a sum and a weight
    const bool lean_;
    const index_t channels_, stride_;
    double base_ = 0;   // the score of the node without a test
    index_t next_ = 0;  // the first bin of the rows that the last partition sent to the right
    OneTree tree_;
    std::vector<std::int32_t> rows_, counts_, spare_rows_;
    std::vector<std::int64_t> weights_, spare_weights_;
    std::vector<Word> words_, spare_words_;
    Word all_ = 0, left_sum_ = 0;
    std::vector<std::uint8_t> sides_;
    std::vector<double> value_;
    Sums total_;  // of the node
    const Divide divide_ = divide_tool<true>();
};

}  // namespace
}  // namespace assay::ensembles
