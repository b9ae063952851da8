#include "assay/ensembles/random_forest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "forest_words.hpp"
#include "grown_trees.hpp"
#include "out_of_bag.hpp"

namespace assay::ensembles {
namespace {

constexpr index_t few_words = 64, oob_chunk = 1024;

struct Split {
    double score = -infinity;
    std::int32_t column = -1;
    index_t bin = 0;
    bool nominal = false, missing_left = false, missing_seen = false;
    CodeSet set{};
    bool found() const { return column >= 0; }
};

// Sums of one part: G_0 .. G_{K-1}, H.
using Sums = std::vector<std::int64_t>;

double part_score(const std::int64_t* sums, index_t k) {
    double total = 0;
    for (index_t c = 0; c < k; ++c) total += static_cast<double>(sums[c]) * static_cast<double>(sums[c]);
    return sums[k] > 0 ? total / static_cast<double>(sums[k]) : 0.0;
}

class TreeGrower {
public:
    TreeGrower(const Bins& bins, const ForestTarget& target, const ForestOptions& options, const CutPlaces& places, double scale,
               bool packed, index_t lanes)
        : bins_(bins), target_(target), options_(options), places_(places), scale_(scale), packed_(packed), lanes_(lanes),
          // Then a word says all of a row: its weight is how often it counts.
          lean_(packed && target.labels != nullptr && target.whole),
          // Two classes need one sum: the weight of the second; the first is the rest, and the scores differ by a constant.
          channels_(target.labels != nullptr && target.width == 2 ? 1 : target.width), stride_(channels_ + 1),
          order_(static_cast<std::size_t>(bins.d)) {
        histogram_.resize(static_cast<std::size_t>(bin_stride * stride_));
        left_.resize(static_cast<std::size_t>(stride_));
        right_.resize(left_.size());
        total_.resize(left_.size());
        missing_.resize(left_.size());
    }

    OneTree grow(index_t number) {
        tree_ = OneTree{};
        tree_.nodes.width = target_.width;
        random_ = Random(options_.key, 2 * static_cast<std::uint64_t>(number) + 1);
        draw(number);
        struct Open {
            index_t begin, end, depth;
            std::int32_t parent;
            bool is_right;
            Word sum;  // of the words, where they say all of a row
        };
        const auto drawn = static_cast<index_t>(rows_.size());
        std::vector<Open> stack{{0, drawn, 0, -1, false, lean_ ? std::accumulate(words_.begin(), words_.end(), Word{0}) : 0}};
        while (!stack.empty()) {
            const Open at = stack.back();
            stack.pop_back();
            const auto id = static_cast<std::int32_t>(tree_.nodes.feature.size());
            if (at.parent >= 0) (at.is_right ? tree_.nodes.right : tree_.nodes.left)[static_cast<std::size_t>(at.parent)] = id;
            const double count = add_node(at.begin, at.end, at.sum);
            if (count < options_.min_split || count < 2 * options_.min_leaf || at.end - at.begin < 2 ||
                (options_.max_depth >= 0 && at.depth >= options_.max_depth) || pure(at.begin, at.end))
                continue;
            Split split = find(at.begin, at.end, count);
            if (!split.found()) continue;
            const index_t middle = lean_ ? partition_words(at.begin, at.end, split) : partition(at.begin, at.end, split);
            if (!split.nominal && !options_.extra) centre(split);
            if (middle == at.begin || middle == at.end) continue;
            const double left_count = lean_ ? weight(left_sum_) : count_of(at.begin, middle);
            if (std::min(left_count, count - left_count) < options_.min_leaf) continue;
            keep(static_cast<std::size_t>(id), split, left_count >= count - left_count);
            stack.push_back({middle, at.end, at.depth + 1, id, true, at.sum - left_sum_});
            stack.push_back({at.begin, middle, at.depth + 1, id, false, left_sum_});
        }
        tree_.nodes.offsets.push_back(static_cast<std::int64_t>(tree_.nodes.feature.size()));
        return std::move(tree_);
    }

private:
    const std::uint8_t* codes(index_t column) const { return bins_.block(column / block_columns) + column % block_columns; }

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

public:
    double scale_weights_ = 1;

private:
    double count_of(index_t begin, index_t end) const {
        double total = 0;
        for (index_t i = begin; i < end; ++i) total += counts_[static_cast<std::size_t>(i)];
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
    double add_node(index_t begin, index_t end, Word sum) {
        trees::Forest& f = tree_.nodes;
        const index_t k = target_.width;
        std::vector<double>& value = value_;
        value.assign(static_cast<std::size_t>(k), 0.0);
        double weight = 0;
        std::fill(total_.begin(), total_.end(), 0);
        if (packed_) {
            all_ = sum;
            for (index_t i = begin; i < end && !lean_; ++i) all_ += words_[static_cast<std::size_t>(i)];
            weight = this->weight(all_);
            if (lanes_.classes > 0) {
                for (index_t c = 0; c < k; ++c) value[static_cast<std::size_t>(c)] = static_cast<double>(lanes_.of(all_, c));
            } else if (target_.labels != nullptr) {
                value[1] = gradient_of(all_);
                value[0] = weight - value[1];
            } else {
                for (index_t i = begin; i < end; ++i)
                    value[0] += static_cast<double>(weights_[static_cast<std::size_t>(i)]) * target_.y[rows_[static_cast<std::size_t>(i)]];
            }
        }
        for (index_t i = begin; i < end && !packed_; ++i) {
            const auto w = static_cast<double>(weights_[static_cast<std::size_t>(i)]);
            const std::int32_t row = rows_[static_cast<std::size_t>(i)];
            weight += w;
            if (target_.labels != nullptr)
                value[static_cast<std::size_t>(target_.labels[row])] += w;
            else
                for (index_t c = 0; c < k; ++c) value[static_cast<std::size_t>(c)] += w * target_.y[row * k + c];
            add_row(i, total_.data());
        }
        for (double& v : value) v /= weight;
        const double count = lean_ ? weight : count_of(begin, end);
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

    bool pure(index_t begin, index_t end) const {
        if (lanes_.classes > 0) return lanes_.pure(all_);
        if (packed_ && target_.labels != nullptr) return gradient_of(all_) == 0 || gradient_of(all_) == weight_of(all_);
        const std::int32_t first = rows_[static_cast<std::size_t>(begin)];
        for (index_t i = begin + 1; i < end; ++i) {
            const std::int32_t row = rows_[static_cast<std::size_t>(i)];
            if (target_.labels != nullptr) {
                if (target_.labels[row] != target_.labels[first]) return false;
            } else {
                for (index_t k = 0; k < target_.width; ++k)
                    if (target_.y[row * target_.width + k] != target_.y[first * target_.width + k]) return false;
            }
        }
        return true;
    }

    // -- searching: total_ holds the sums of the node --------------------------------------------------------------
    Split find(index_t begin, index_t end, double count) {
        Split best;
        const double weight = packed_ ? this->weight(all_) : static_cast<double>(total_[static_cast<std::size_t>(channels_)]);
        least_ = (options_.min_leaf - 0.5) * weight / count;
        std::iota(order_.begin(), order_.end(), 0);
        index_t tried = 0;
        const double most = largest_score(weight);
        for (index_t j = 0; j < bins_.d; ++j) {
            if ((tried >= options_.columns_per_node && best.found()) || best.score >= most) break;
            if (options_.columns_per_node < bins_.d)  // else all are tried, and the first of equals is taken
                std::swap(order_[static_cast<std::size_t>(j)],
                          order_[static_cast<std::size_t>(j + random_.below(static_cast<std::uint32_t>(bins_.d - j)))]);
            tried += try_column(order_[static_cast<std::size_t>(j)], begin, end, best);
        }
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
        if (m < 2 * few_words) {
            for (index_t i = 0; i < m; ++i) {
                const std::uint8_t c = code[static_cast<index_t>(rows[i]) * block_columns];
                own[i] = c;
                low = std::min(low, c);
                high = std::max(high, c);
            }
        } else {
            for (index_t i = 0; i < m; ++i) own[i] = code[static_cast<index_t>(rows[i]) * block_columns];
            extreme_codes(own, m, low, high);
        }
        if (low == high) return false;
        if (options_.extra && !nominal) return try_one(column, begin, end, low, high, best);
        sum_node();
        const index_t from = low, to = high;
        std::fill(histogram_.begin() + from * stride_, histogram_.begin() + (to + 1) * stride_, 0);
        for (index_t i = begin; i < end; ++i)
            add_row(i, histogram_.data() + code[static_cast<index_t>(rows_[static_cast<std::size_t>(i)]) * block_columns] * stride_);
        const bool some = to == missing_code;
        if (some) std::copy_n(histogram_.begin() + to * stride_, stride_, missing_.begin());
        const index_t last = some ? to - 1 : to;  // the highest code that is present
        for (int side = 0; side < (some ? 2 : 1); ++side) {
            if (nominal)
                scan_categories(column, from, last, some, side == 1, best);
            else
                scan_bins(column, from, last, some, side == 1, best);
        }
        return true;
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

    void scan_categories(std::int32_t column, index_t from, index_t last, bool some, bool missing_left, Split& best) {
        std::array<std::pair<double, std::uint8_t>, bin_stride> present;
        std::size_t count = 0;
        index_t first = 0;  // the class whose share orders the categories
        for (index_t k = 1; k < channels_ && target_.labels != nullptr; ++k)
            if (total_[static_cast<std::size_t>(k)] > total_[static_cast<std::size_t>(first)]) first = k;
        for (index_t b = from; b <= last; ++b) {
            const std::int64_t* own = histogram_.data() + b * stride_;
            if (own[channels_] == 0) continue;
            present[count++] = {static_cast<double>(own[first]) / static_cast<double>(own[channels_]), static_cast<std::uint8_t>(b)};
        }
        std::sort(present.begin(), present.begin() + static_cast<index_t>(count));
        if (options_.extra) {
            CodeSet set{};
            start(some, missing_left);
            for (std::size_t r = 0; r < count; ++r) {
                if (random_.below(2) == 0) continue;
                put_in(set, present[r].second);
                move(histogram_.data() + present[r].second * stride_);
            }
            if (take(score(), column, true, some, missing_left, best)) best.set = set;
            return;
        }
        start(some, missing_left);
        CodeSet set{};
        for (std::size_t r = 0; r + (some && !missing_left ? 0 : 1) < count; ++r) {
            put_in(set, present[r].second);
            move(histogram_.data() + present[r].second * stride_);
            if (take(score(), column, true, some, missing_left, best)) best.set = set;
        }
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
            const std::size_t c = code[static_cast<index_t>(rows[i]) * block_columns];
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
        for (index_t i = begin; i < end; ++i) histogram[code[static_cast<index_t>(rows[i]) * block_columns]] += words[i];
        if (histogram[code[static_cast<index_t>(rows[begin]) * block_columns]] == all_) return false;
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

    // Extra trees: one threshold between the extreme values of the node.
    bool try_one(std::int32_t column, index_t begin, index_t end, index_t low, index_t high, Split& best) {
        const index_t absent = bins_.n_bins[static_cast<std::size_t>(column)];
        const bool some = high == absent;
        if (some) {
            high = 0;
            for (index_t i = 0; i < end - begin; ++i) {
                const index_t c = codes_[static_cast<std::size_t>(i)];
                if (c != absent) high = std::max(high, c);
            }
        }
        index_t at = low;
        if (low < high) {
            const auto& cuts = bins_.cuts[static_cast<std::size_t>(column)];
            const auto edge = [&](index_t b) { return cuts[static_cast<std::size_t>(b)]; };
            // Values stand in the middle of their bins; those of the first and last bin at their only cut.
            const double bottom = low == 0 ? edge(0) : 0.5 * (edge(low - 1) + edge(low));
            const double top = high == absent - 1 ? edge(high - 1) : 0.5 * (edge(high - 1) + edge(high));
            const double cut = bottom + random_.uniform() * (top - bottom);
            at = std::clamp(places_.guess(static_cast<std::size_t>(column), cut), low, high - 1);
            while (at > low && edge(at - 1) > cut) --at;
            while (at < high - 1 && edge(at) <= cut) ++at;  // the first of these cuts above the drawn one
        }
        if (packed_ && !some) {
            const auto limit = static_cast<std::uint8_t>(at);
            const Word* words = words_.data() + begin;
            const Word left = end - begin < 12 ? words_at_most_body(codes_.data(), limit, words, end - begin)
                                                     : words_at_most(codes_.data(), limit, words, end - begin);
            if (take(word_score(left), column, false, false, false, best)) best.bin = at;
            return true;
        }
        sum_node();
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

    // -- splitting -------------------------------------------------------------------------------------------------
    bool goes_left(const Split& split, index_t code) const {
        if (code == bins_.n_bins[static_cast<std::size_t>(split.column)]) return split.missing_left;
        return split.nominal ? in_set(split.set, code) : code <= split.bin;
    }

    index_t partition(index_t begin, index_t end, const Split& split) {
        const std::uint8_t* code = codes(split.column);
        sides_.resize(static_cast<std::size_t>(end - begin));
        index_t next = bin_stride;
        const auto code_of = [&](index_t i) { return code[static_cast<index_t>(rows_[static_cast<std::size_t>(i)]) * block_columns]; };
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
        spare_rows_.resize(std::max(spare_rows_.size(), static_cast<std::size_t>(m) + 1));
        spare_words_.resize(spare_rows_.size());
        std::int32_t *rows = rows_.data() + begin, *left = rows, *right = spare_rows_.data();
        Word *words = words_.data() + begin, *left_words = words, *right_words = spare_words_.data(), sum = 0;
        const auto divide = [&](auto goes_left) {
            for (index_t i = 0; i < m; ++i) {
                const std::int32_t row = rows[i];
                const Word word = words[i];
                const index_t goes = goes_left(code[static_cast<index_t>(row) * block_columns]);
                *left = *right = row;
                *left_words = *right_words = word;
                sum += word & (Word{0} - static_cast<Word>(goes));
                left += goes;
                left_words += goes;
                right += 1 - goes;
                right_words += 1 - goes;
            }
        };
        index_t next = bin_stride;
        if (split.nominal) {
            divide([&](index_t c) { return goes_left(split, c) ? 1 : 0; });
        } else {
            const index_t absent = bins_.n_bins[static_cast<std::size_t>(split.column)], bin = split.bin;
            const index_t missing_goes = split.missing_left ? absent : -1;
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
        f.gain[node] = std::max(0.0, split.score - base_) / (weight_scale() * scale_ * scale_);
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
    const ForestTarget& target_;
    const ForestOptions& options_;
    const CutPlaces& places_;
    const double scale_;
    const bool packed_;
    const Lanes lanes_;  // no classes: a word holds a sum and a weight
    const bool lean_;
    const index_t channels_, stride_;
    double least_ = 0, base_ = 0;
    index_t next_ = 0;  // the first bin of the rows that the last partition sent to the right
    Random random_{0};
    OneTree tree_;
    std::vector<std::int32_t> rows_, counts_, spare_rows_, order_;
    std::vector<std::int64_t> weights_, spare_weights_, histogram_;
    std::vector<Word> words_, spare_words_, word_histogram_ = std::vector<Word>(bin_stride), few_histogram_ = std::vector<Word>(bin_stride);
    Word all_ = 0, left_sum_ = 0;
    std::vector<std::uint8_t> codes_, sides_;
    std::vector<double> value_;
    Sums left_, right_, total_, missing_;
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

GrownForest grow_forest(const Bins& bins, const ForestTarget& target, const ForestOptions& options) {
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
    Joining joining(grown.forest, trees, options.bootstrap && options.out_of_bag);
    parallel_chunks(options.trees, 1, options.threads, [&](index_t t, index_t, index_t) {
        TreeGrower grower(bins, target, options, places, scale, packed, in_lanes ? k : 0);
        grower.scale_weights_ = 1024 / heaviest;
        OneTree& tree = trees[static_cast<std::size_t>(t)];
        tree = grower.grow(options.first_tree + t);
        if (options.bootstrap && (options.out_of_bag || options.permute)) measure(t, tree);
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
