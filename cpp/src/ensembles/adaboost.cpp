#include "assay/ensembles/adaboost.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/random.hpp"
#include "assay/common/threads.hpp"
#include "assay/ensembles/random_forest.hpp"
#include "assay/trees/histogram_tree.hpp"

namespace assay::ensembles {
namespace {

constexpr index_t row_chunk = 8192;
constexpr int most_draws = 10;
constexpr double least_error = 1e-12, grown_units = 536870912.0;  // 2^29, which a tree's words can hold

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

class Rounds {
public:
    Rounds(const trees::Bins& bins, const std::int32_t* labels, index_t classes, const double* weights, bool whole,
           const AdaBoostOptions& options)
        : bins_(bins), labels_(labels), classes_(classes), options_(options), n_(bins.n), part_(at(n_), 1.0),
          repeats_(at(n_), 1.0), units_(at(n_)), grown_(at(n_)), missed_(at(n_)) {
        for (index_t i = 0; i < n_ && weights != nullptr; ++i) (whole ? repeats_ : part_)[at(i)] = weights[i];
        for (const double m : repeats_) all_repeats_ += m;
    }

    AdaBoosted run() {
        AdaBoosted result;
        result.forest.width = classes_ == 2 ? 1 : classes_;
        const double k = static_cast<double>(classes_);
        for (index_t round = 0; round < options_.rounds && !interrupted(); ++round) {
            weigh();
            trees::Forest tree;
            double error = 1;
            for (int draw = 0; draw < (options_.resample ? most_draws : 1) && !(error < 1 - 1 / k - least_error); ++draw) {
                prepare(round, draw);
                tree = grow();
                error = error_of(tree);
            }
            if (!(error < 1 - 1 / k - least_error)) break;
            const double counted = std::max(error, least_error);
            const double vote = options_.learning_rate * (std::log((1 - counted) / counted) + std::log(k - 1));
            keep(tree, vote, result.forest);
            result.errors.push_back(error);
            result.votes.push_back(vote);
            if (error <= least_error) break;
            const double factor = std::exp(vote);
            for (index_t i = 0; i < n_; ++i) part_[at(i)] *= missed_[at(i)] != 0 ? factor : 1.0;
        }
        return result;
    }

private:
    // Scales the weights by a power of two, and rounds them to whole numbers whose sum is below 2^62.
    void weigh() {
        const double largest = *std::max_element(part_.begin(), part_.end());
        const double down = std::exp2(-std::ceil(std::log2(largest)));
        for (double& u : part_) u *= down;
        const double fine = std::exp2(std::min(50.0, 61 - std::ceil(std::log2(all_repeats_))));
        total_ = 0;
        for (index_t i = 0; i < n_; ++i) {
            units_[at(i)] = static_cast<std::int64_t>(repeats_[at(i)]) * std::llrint(part_[at(i)] * fine);
            total_ += units_[at(i)];
        }
        sum_ = static_cast<double>(total_) / fine;
    }

    // How often each row counts for the tree.
    void prepare(index_t round, int draw) {
        if (!options_.resample) {
            const double scale = std::exp2(std::floor(std::log2(grown_units / sum_)));
            for (index_t i = 0; i < n_; ++i)
                grown_[at(i)] = repeats_[at(i)] * static_cast<double>(std::llrint(part_[at(i)] * scale));
            return;
        }
        std::vector<std::int64_t> sums(at(n_));
        std::int64_t sum = 0;
        for (index_t i = 0; i < n_; ++i) sums[at(i)] = sum += units_[at(i)];
        std::fill(grown_.begin(), grown_.end(), 0.0);
        Random random(options_.key, static_cast<std::uint64_t>(round * most_draws + draw));
        const auto draws = static_cast<index_t>(all_repeats_);
        for (index_t i = 0; i < draws; ++i) {
            const auto place = static_cast<std::int64_t>(random.uniform() * static_cast<double>(total_));
            const auto row = std::upper_bound(sums.begin(), sums.end() - 1, place) - sums.begin();
            grown_[at(row)] += 1;
        }
    }

    trees::Forest grow() const {
        ForestTarget target;
        target.labels = labels_;
        target.width = classes_;
        target.weights = grown_.data();
        ForestOptions options;
        options.trees = 1;
        options.columns_per_node = bins_.d;
        options.max_depth = options_.max_depth;
        options.bootstrap = false;
        options.threads = options_.threads;
        options.columns = &columns_;
        return grow_forest(bins_, target, options).forest;
    }

    index_t class_of(const trees::Forest& tree, std::int32_t node) const {
        const double* shares = tree.value.data() + static_cast<index_t>(node) * classes_;
        return std::max_element(shares, shares + classes_) - shares;
    }

    // The weight of the rows that the tree misses; its nodes get their rows and shares of the weight.
    double error_of(trees::Forest& tree) {
        const trees::CodedTree coded(tree, bins_, 0);
        tree.weight.resize(tree.feature.size());
        const auto nodes = tree.feature.size(), chunks = at(chunk_count(n_, row_chunk));
        std::vector<std::int64_t> missed(chunks, 0), rows(chunks * nodes, 0), weight(chunks * nodes, 0);
        parallel_chunks(n_, row_chunk, options_.threads, [&](index_t chunk, index_t begin, index_t end) {
            std::int64_t own = 0;
            for (index_t i = begin; i < end; ++i) {
                const std::int32_t leaf = coded.leaf(i);
                const bool miss = class_of(tree, leaf) != labels_[i];
                missed_[at(i)] = miss;
                own += miss ? units_[at(i)] : 0;
                rows[at(chunk) * nodes + at(leaf)] += static_cast<std::int64_t>(repeats_[at(i)]);
                weight[at(chunk) * nodes + at(leaf)] += units_[at(i)];
            }
            missed[at(chunk)] = own;
        });
        std::vector<std::int64_t> all_rows(nodes, 0), all_weight(nodes, 0);
        for (std::size_t node = nodes; node-- > 0;) {  // children come after their parents
            for (std::size_t c = 0; c < chunks; ++c) {
                all_rows[node] += rows[c * nodes + node];
                all_weight[node] += weight[c * nodes + node];
            }
            if (tree.feature[node] >= 0) {
                all_rows[node] = all_rows[at(tree.left[node])] + all_rows[at(tree.right[node])];
                all_weight[node] = all_weight[at(tree.left[node])] + all_weight[at(tree.right[node])];
            }
            tree.rows[node] = static_cast<double>(all_rows[node]);
            tree.weight[node] = static_cast<double>(all_weight[node]) / static_cast<double>(total_);
        }
        std::int64_t sum = 0;
        for (const std::int64_t part : missed) sum += part;
        return static_cast<double>(sum) / static_cast<double>(total_);
    }

    void keep(trees::Forest& tree, double vote, trees::Forest& forest) const {
        // Gains were summed in units of the weights given to the tree.
        double grown = 0;
        for (const double w : grown_) grown += w;
        for (double& gain : tree.gain) gain *= vote / grown;
        std::vector<double> values;
        for (std::size_t node = 0; node < tree.feature.size(); ++node) {
            const index_t own = class_of(tree, static_cast<std::int32_t>(node));
            if (classes_ == 2)
                values.push_back(own == 1 ? vote : -vote);
            else
                for (index_t c = 0; c < classes_; ++c) values.push_back(c == own ? vote : 0.0);
        }
        tree.value = std::move(values);
        trees::append(forest, tree);
    }

    const trees::Bins& bins_;
    const std::int32_t* labels_;
    const index_t classes_;
    const AdaBoostOptions& options_;
    const LargeVector<std::uint8_t> columns_ = codes_by_column(bins_, options_.threads);
    const index_t n_;
    std::vector<double> part_, repeats_;  // u_i, m_i
    std::vector<std::int64_t> units_;     // m_i u_i as whole numbers
    std::vector<double> grown_;           // whole weights for the tree
    std::vector<std::uint8_t> missed_;
    std::int64_t total_ = 0;
    double sum_ = 0, all_repeats_ = 0;
};

}  // namespace

AdaBoosted grow_adaboost(const trees::Bins& bins, const std::int32_t* labels, index_t classes, const double* weights, bool whole,
                         const AdaBoostOptions& options) {
    return Rounds(bins, labels, classes, weights, whole, options).run();
}

}  // namespace assay::ensembles
