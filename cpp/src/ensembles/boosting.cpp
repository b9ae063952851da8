#include "assay/ensembles/boosting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/freed_memory.hpp"
#include "assay/common/random.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/softmax.hpp"
#include "loss_terms.hpp"

namespace assay::ensembles {
namespace {

constexpr index_t row_chunk = 2048;
constexpr int most_halvings = 8;
constexpr index_t least_losses_shared = 8192;
constexpr std::size_t least_rows_shared = 32768;  // of a pass that adds a number to each row

// One chunk of rows: gradients, Hessians (not for a null pointer) and the weighted sum of the loss in eight lanes.
template <class Terms>
ASSAY_INLINE double chunk_body(const double* y, const double* f, const double* w, index_t m, double parameter, double* g,
                               double* h) {
    double value[row_chunk];
    if (g != nullptr) {
        for (index_t i = 0; i < m; ++i) {
            const RowTerms terms = Terms::at(y[i], f[i], parameter);
            value[i] = terms.value;
            g[i] = terms.gradient;
            h[i] = terms.hessian;
        }
    } else {
        for (index_t i = 0; i < m; ++i) value[i] = Terms::at(y[i], f[i], parameter).value;
    }
    if (w != nullptr)
        for (index_t i = 0; i < m; ++i) value[i] *= w[i];
    double lanes[8] = {};
    index_t i = 0;
    for (; i + 8 <= m; i += 8)
        for (int k = 0; k < 8; ++k) lanes[k] += value[i + k];
    double rest = 0;
    for (; i < m; ++i) rest += value[i];
    for (int k = 0; k < 4; ++k) lanes[k] += lanes[k + 4];
    return ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + rest;
}

#define ASSAY_LOSS(name, terms)                                                                                       \
    ASSAY_DISPATCH(double, name, chunk_body<terms>,                                                                   \
                   (const double* y, const double* f, const double* w, index_t m, double parameter, double* g, double* h), \
                   (y, f, w, m, parameter, g, h))
ASSAY_LOSS(squared_chunk, SquaredTerms)
ASSAY_LOSS(absolute_chunk, AbsoluteTerms)
ASSAY_LOSS(huber_chunk, HuberTerms)
ASSAY_LOSS(quantile_chunk, QuantileTerms)
ASSAY_LOSS(poisson_chunk, PoissonTerms)
ASSAY_LOSS(gamma_chunk, GammaTerms)
ASSAY_LOSS(tweedie_chunk, TweedieTerms)
ASSAY_LOSS(logistic_chunk, LogisticTerms)
#undef ASSAY_LOSS

// Scores (m x k) of a chunk: g and h stand by class, `stride` apart; `p` has room for k columns of some rows.
ASSAY_INLINE double softmax_body(const double* y, const double* f, const double* w, index_t m, index_t k, double* g, double* h,
                                 index_t stride, double* p) {
    constexpr index_t rows = losses::softmax_rows;
    const double factor = static_cast<double>(k) / static_cast<double>(k - 1);
    alignas(64) double own[rows], loss[rows], missed[rows], weight[rows], total[rows] = {};
    for (index_t from = 0; from < m; from += rows) {
        const index_t count = std::min(rows, m - from);
        for (index_t i = 0; i < rows; ++i) {  // after the last row it stands again, with no weight
            const index_t row = from + std::min(i, count - 1);
            own[i] = y[row];
            weight[i] = i < count ? (w == nullptr ? 1.0 : w[row]) : 0.0;
            for (index_t c = 0; c < k; ++c) p[c * rows + i] = f[row * k + c];
        }
        losses::softmax_of_rows(p, k, own, loss, missed);
        for (index_t i = 0; i < rows; ++i) total[i] += weight[i] * loss[i];
        if (g == nullptr) continue;
        for (index_t c = 0; c < k; ++c) {
            double *to_g = g + c * stride + from, *to_h = h + c * stride + from;
            for (index_t i = 0; i < count; ++i) {
                const double share = p[c * rows + i];
                const bool here = own[i] == static_cast<double>(c);
                to_g[i] = here ? -missed[i] : share;
                to_h[i] = factor * share * (here ? missed[i] : 1.0 - share);
            }
        }
    }
    double sum = 0;
    for (index_t i = 0; i < rows; ++i) sum += total[i];
    return sum;
}
ASSAY_DISPATCH(double, softmax_chunk, softmax_body,
               (const double* y, const double* f, const double* w, index_t m, index_t k, double* g, double* h, index_t stride, double* p),
               (y, f, w, m, k, g, h, stride, p))

// The first draw of each of the streams `begin` on of a round.
constexpr index_t draws_together = 64;
ASSAY_INLINE void draw_body(std::uint64_t key, std::uint64_t round, index_t begin, std::uint32_t* draws) {
#pragma omp simd
    for (index_t i = 0; i < draws_together; ++i) draws[i] = philox(key, static_cast<std::uint64_t>(begin + i), round)[0];
}
ASSAY_DISPATCH(void, draw_each, draw_body, (std::uint64_t key, std::uint64_t round, index_t begin, std::uint32_t* draws),
               (key, round, begin, draws))

// The smallest value with at least `level` of the weight up to it; the mean with the next where it is exactly that much.
double weighted_quantile(std::vector<std::pair<double, double>>& items, double level) {
    std::sort(items.begin(), items.end());
    double total = 0;
    for (const auto& item : items) total += item.second;
    double sum = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        sum += items[i].second;
        if (sum < level * total) continue;
        return sum > level * total || i + 1 == items.size() ? items[i].first : 0.5 * (items[i].first + items[i + 1].first);
    }
    return items.back().first;
}

}  // namespace

Booster::Booster(const trees::Bins& bins, std::vector<double> y, std::vector<double> weights, std::vector<double> start,
                 index_t n_train, const BoostingOptions& options)
    : scores(std::move(start)), bins_(bins), options_(options), n_(bins.n), n_train_(n_train), y_(std::move(y)),
      weights_(std::move(weights)), grower_(bins, options.tree) {
    return_freed_memory(n_ * bins.d);
    g_.resize(static_cast<std::size_t>(n_ * options_.outputs));
    h_.resize(g_.size());
    for (index_t i = 0; i < n_; ++i) {
        const double w = weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(i)];
        (i < n_train_ ? train_weight_ : valid_weight_) += w;
        whole_ = whole_ && w == std::floor(w);
    }
    if (!options_.monotone.empty()) options_.tree.monotone = options_.monotone.data();
    if (!options_.interactions.empty()) options_.tree.interactions = &options_.interactions;
    if (options_.loss == Loss::given) return;
    train_loss.push_back(measure(0, n_train_, true) / train_weight_);
    if (n_train_ < n_) valid_loss.push_back(measure(n_train_, n_, false) / valid_weight_);
}

bool Booster::settles_leaves() const {
    return options_.loss == Loss::absolute || options_.loss == Loss::quantile ||
           (options_.loss == Loss::huber && options_.first_order);
}

double Booster::measure(index_t begin, index_t end, bool with_gradients) {
    const index_t m = end - begin, k = options_.outputs;
    std::vector<double> parts(static_cast<std::size_t>(chunk_count(m, row_chunk)), 0.0);
    const int team = m * k < least_losses_shared ? 1 : options_.tree.threads;
    parallel_chunks(m, row_chunk, team, [&](index_t c, index_t from, index_t to) {
        const index_t at = begin + from, count = to - from;
        const double* w = weights_.empty() ? nullptr : weights_.data() + at;
        const double *y = y_.data() + at, *f = scores.data() + at * k;
        double* g = with_gradients ? g_.data() + at : nullptr;
        double* h = with_gradients ? h_.data() + at : nullptr;
        double& sum = parts[static_cast<std::size_t>(c)];
        const double a = options_.parameter;
        switch (options_.loss) {
            case Loss::absolute: sum = absolute_chunk(y, f, w, count, a, g, h); break;
            case Loss::huber: sum = huber_chunk(y, f, w, count, a, g, h); break;
            case Loss::quantile: sum = quantile_chunk(y, f, w, count, a, g, h); break;
            case Loss::poisson: sum = poisson_chunk(y, f, w, count, a, g, h); break;
            case Loss::gamma: sum = gamma_chunk(y, f, w, count, a, g, h); break;
            case Loss::tweedie: sum = tweedie_chunk(y, f, w, count, a, g, h); break;
            case Loss::logistic: sum = logistic_chunk(y, f, w, count, a, g, h); break;
            case Loss::softmax: {
                std::vector<double> room(static_cast<std::size_t>(k * losses::softmax_rows));
                sum = softmax_chunk(y, f, w, count, k, g, h, n_, room.data());
                break;
            }
            default: sum = squared_chunk(y, f, w, count, a, g, h); break;
        }
    });
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

double Booster::leaf_constant(const trees::GrownLeaf& leaf, const std::vector<std::int32_t>& rows, index_t output) const {
    std::vector<std::pair<double, double>> rest;
    rest.reserve(static_cast<std::size_t>(leaf.end - leaf.begin));
    for (index_t i = leaf.begin; i < leaf.end; ++i) {
        const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(i)]);
        rest.emplace_back(y_[row] - scores[row * static_cast<std::size_t>(options_.outputs) + static_cast<std::size_t>(output)],
                          weights_.empty() ? 1.0 : weights_[row]);
    }
    if (options_.loss == Loss::quantile) return weighted_quantile(rest, options_.parameter);
    const double median = weighted_quantile(rest, 0.5);
    if (options_.loss == Loss::absolute) return median;
    double sum = 0, weight = 0;
    for (const auto& [r, w] : rest) {
        sum += w * std::clamp(r - median, -options_.parameter, options_.parameter);
        weight += w;
    }
    return median + sum / weight;
}

// Bounds of the leaves in the unit of the target, where their values are settled from residuals: at a split in a monotone column the
// two sides meet halfway between their own constants, or at that of both together where these stand in the wrong order.
void Booster::bound_leaves(Change& change, index_t tree, index_t output) const {
    const auto first = static_cast<std::size_t>(forest.offsets[static_cast<std::size_t>(tree)]);
    const std::size_t count = forest.feature.size() - first;
    std::vector<trees::GrownLeaf> parts(count);  // by node, in preorder; a node has the rows of its children
    for (const trees::GrownLeaf& leaf : change.leaves) parts[static_cast<std::size_t>(leaf.node)] = leaf;
    for (std::size_t v = count; v-- > 0;) {
        if (forest.feature[first + v] < 0) continue;
        parts[v].begin = parts[static_cast<std::size_t>(forest.left[first + v])].begin;
        parts[v].end = parts[static_cast<std::size_t>(forest.right[first + v])].end;
    }
    parts[0].lower = -std::numeric_limits<double>::infinity();
    parts[0].upper = std::numeric_limits<double>::infinity();
    const auto constant = [&](const trees::GrownLeaf& part) {
        return part.end > part.begin ? leaf_constant(part, change.rows, output) : 0.0;
    };
    for (std::size_t v = 0; v < count; ++v) {
        if (forest.feature[first + v] < 0) continue;
        const trees::GrownLeaf& part = parts[v];
        trees::GrownLeaf& left = parts[static_cast<std::size_t>(forest.left[first + v])];
        trees::GrownLeaf& right = parts[static_cast<std::size_t>(forest.right[first + v])];
        left.lower = right.lower = part.lower;
        left.upper = right.upper = part.upper;
        const int sign = options_.monotone[static_cast<std::size_t>(forest.feature[first + v])];
        if (sign == 0) continue;
        const double a = constant(left), b = constant(right);
        const double wanted = sign * (b - a) >= 0 ? 0.5 * (a + b) : constant(part);
        const double middle = std::clamp(wanted, part.lower, part.upper);
        (sign > 0 ? left.upper : left.lower) = middle;
        (sign > 0 ? right.lower : right.upper) = middle;
    }
    for (trees::GrownLeaf& leaf : change.leaves) leaf = parts[static_cast<std::size_t>(leaf.node)];
}

// The rows of a round: each by its own draw, so that they depend on the key, the round and the place of the row alone.
void Booster::draw_rows() {
    drawn_.resize(static_cast<std::size_t>(n_train_));
    others_.resize(static_cast<std::size_t>(options_.row_share < 1 ? n_ : n_ - n_train_));
    std::size_t in = 0, out = 0;
    std::array<std::uint32_t, draws_together> draws;
    for (index_t begin = 0; begin < n_train_ && options_.row_share < 1; begin += draws_together) {
        const index_t end = std::min(n_train_, begin + draws_together);
        draw_each(options_.key ^ 0x5851F42D4C957F2DULL, static_cast<std::uint64_t>(rounds()), begin, draws.data());
        for (index_t i = begin; i < end; ++i) {
            const bool drawn = static_cast<double>(draws[static_cast<std::size_t>(i - begin)]) * 0x1.0p-32 < options_.row_share;
            drawn_[in] = others_[out] = static_cast<std::int32_t>(i);
            in += drawn ? 1 : 0;
            out += drawn ? 0 : 1;
        }
    }
    if (options_.row_share < 1)
        drawn_.resize(in);
    else
        parallel_chunks(n_train_, static_cast<index_t>(least_rows_shared), options_.tree.threads, [&](index_t, index_t begin, index_t end) {
            std::iota(drawn_.begin() + begin, drawn_.begin() + end, static_cast<std::int32_t>(begin));
        });
    others_.resize(out + static_cast<std::size_t>(n_ - n_train_));
    std::iota(others_.begin() + static_cast<index_t>(out), others_.end(), static_cast<std::int32_t>(n_train_));
}

// A constant c of the tree that is not penalised: with values c + s_l and the penalty on s_l alone, the least penalised loss has
// s_l = -(G_l + c H_l) / (H_l + l2) and c = sum_l v_l / sum_l H_l / (H_l + l2), v_l the values without it.
void Booster::free_constant(const Change& change, std::size_t first) {
    double steps = 0, held = 0;
    const double l2 = options_.tree.l2;
    for (const trees::GrownLeaf& leaf : change.leaves) {
        const std::size_t at = first + static_cast<std::size_t>(leaf.node);
        steps += forest.value[at];
        held += forest.weight[at] / (forest.weight[at] + l2);
    }
    if (!(held > 0)) return;
    for (const trees::GrownLeaf& leaf : change.leaves) {
        const std::size_t at = first + static_cast<std::size_t>(leaf.node);
        forest.value[at] += steps / held * l2 / (forest.weight[at] + l2);
    }
}

Booster::Change Booster::grow_tree(index_t output) {
    const std::uint64_t tree = static_cast<std::uint64_t>(forest.n_trees());
    Change change;
    if (output + 1 == options_.outputs)
        change.rows = std::move(drawn_);
    else
        change.rows = drawn_;
    trees::HistogramOptions tree_options = options_.tree;
    tree_options.key = options_.key + 0x9E3779B97F4A7C15ULL * (tree + 1);
    std::vector<std::uint8_t> columns;
    const index_t wanted = options_.columns_per_tree;
    if (wanted > 0 && wanted < bins_.d) {
        columns.assign(static_cast<std::size_t>(bins_.d), 0);
        std::vector<index_t> open(static_cast<std::size_t>(bins_.d));
        std::iota(open.begin(), open.end(), 0);
        Random random(options_.key, tree);
        for (index_t i = 0; i < wanted; ++i) {
            std::swap(open[static_cast<std::size_t>(i)],
                      open[static_cast<std::size_t>(i + random.below(static_cast<std::uint32_t>(bins_.d - i)))]);
            columns[static_cast<std::size_t>(open[static_cast<std::size_t>(i)])] = 1;
        }
        tree_options.columns = columns.data();
    }
    trees::GradientRows data;
    data.g = g_.data() + output * n_;
    data.h = h_.data() + output * n_;
    data.weights = weights_.empty() ? nullptr : weights_.data();
    data.whole = whole_;
    trees::GradientRows growing = data;
    const bool flat = options_.loss == Loss::squared || options_.loss == Loss::absolute || options_.loss == Loss::quantile ||
                      options_.loss == Loss::huber;
    if (options_.first_order || flat) growing.h = nullptr;
    change.leaves = grower_.grow(change.rows, growing, tree_options, forest);
    const auto first = static_cast<std::size_t>(forest.offsets[static_cast<std::size_t>(tree)]);
    const bool settles = settles_leaves(), newton = options_.first_order && !flat;
    if (settles && options_.tree.monotone != nullptr) bound_leaves(change, static_cast<index_t>(tree), output);
    const int team = settles || newton ? threads_for(change) : 1;
    std::vector<double> values;
    if (newton) values = trees::newton_values(change.leaves, change.rows, data, options_.tree.l2, options_.tree.l1, team);
    parallel_chunks(static_cast<index_t>(change.leaves.size()), 1, settles ? team : 1, [&](index_t i, index_t, index_t) {
        const trees::GrownLeaf& leaf = change.leaves[static_cast<std::size_t>(i)];
        double& value = forest.value[first + static_cast<std::size_t>(leaf.node)];
        if (settles) value = std::clamp(leaf.end > leaf.begin ? leaf_constant(leaf, change.rows, output) : 0.0, leaf.lower, leaf.upper);
        if (newton) value = values[static_cast<std::size_t>(i)];
        value *= options_.learning_rate;
    });
    const bool bounded = options_.tree.l1 > 0 || options_.tree.monotone != nullptr;
    if (!settles && !newton && !bounded) free_constant(change, first);
    if (!others_.empty()) {
        const trees::CodedTree coded(forest, bins_, static_cast<index_t>(tree));
        change.leaf_of_other.resize(others_.size());
        parallel_chunks(static_cast<index_t>(others_.size()), 4096, options_.tree.threads,
                        [&](index_t, index_t begin, index_t end) {
                            for (index_t i = begin; i < end; ++i)
                                change.leaf_of_other[static_cast<std::size_t>(i)] =
                                    coded.leaf(others_[static_cast<std::size_t>(i)]);
                        });
    }
    return change;
}

// Threads for a pass over the leaves of a tree: one where waking others takes as long as the pass.
int Booster::threads_for(const Change& change) const {
    return change.rows.size() < least_rows_shared ? 1 : options_.tree.threads;
}

// Adds `factor` times the values of a tree to the scores.
void Booster::move(const Change& change, index_t tree, index_t output, double factor) {
    const double* value = forest.value.data() + forest.offsets[static_cast<std::size_t>(tree)];
    const index_t k = options_.outputs;
    const trees::LeafRows parts(change.leaves, change.rows, threads_for(change));
    parts.each([&](std::size_t, std::size_t l, index_t begin, index_t end) {
        const double step = factor * value[change.leaves[l].node];
        for (index_t i = begin; i < end; ++i)
            scores[static_cast<std::size_t>(change.rows[static_cast<std::size_t>(i)] * k + output)] += step;
    });
    for (std::size_t i = 0; i < others_.size(); ++i)
        scores[static_cast<std::size_t>(others_[i] * k + output)] += factor * value[change.leaf_of_other[i]];
}

void Booster::grow_round() {
    const index_t k = options_.outputs, first = forest.n_trees();
    if (!changes_.empty()) drawn_ = std::move(changes_.back().rows);  // memory for those of this round
    changes_.clear();
    draw_rows();
    for (index_t output = 0; output < k; ++output) changes_.push_back(grow_tree(output));
    for (index_t output = 0; output < k; ++output) move(changes_[static_cast<std::size_t>(output)], first + output, output, 1.0);
    if (options_.loss == Loss::given) return;
    double loss = measure(0, n_train_, true) / train_weight_;
    const double before = train_loss.back();
    const double slack = 1e-13 * std::max(1.0, std::abs(before));
    const auto take_back = [&](double share) {  // of what the round added
        for (index_t output = 0; output < k; ++output) {
            move(changes_[static_cast<std::size_t>(output)], first + output, output, -share);
            const auto begin = forest.offsets[static_cast<std::size_t>(first + output)];
            const auto end = forest.offsets[static_cast<std::size_t>(first + output) + 1];
            for (auto i = begin; i < end; ++i) forest.value[static_cast<std::size_t>(i)] *= 1 - share;
        }
        return measure(0, n_train_, true) / train_weight_;
    };
    for (int halving = 0; !(loss <= before + slack) && halving < most_halvings; ++halving) loss = take_back(0.5);
    const bool no_tree = std::all_of(changes_.begin(), changes_.end(), [](const Change& c) { return c.leaves.size() < 2; });
    const bool rose = !(loss <= before + slack);
    if (options_.row_share >= 1 && (rose || (no_tree && loss >= before))) {
        take_back(1);
        truncate(first / k);
        ended = true;
        return;
    }
    if (rose) loss = std::min(take_back(1), before);  // other rows are drawn for the next round
    train_loss.push_back(loss);
    if (n_train_ == n_) return;
    valid_loss.push_back(measure(n_train_, n_, false) / valid_weight_);
    if (valid_loss.back() < valid_loss[static_cast<std::size_t>(best_round)]) best_round = rounds();
    if (options_.patience > 0 && rounds() - best_round >= options_.patience) ended = true;
}

void run_together(const std::vector<Booster*>& boosters, index_t rounds, int threads) {
    parallel_chunks(static_cast<index_t>(boosters.size()), 1, threads,
                    [&](index_t i, index_t, index_t) { boosters[static_cast<std::size_t>(i)]->run(rounds); });
}

bool Booster::run(index_t wanted) {
    for (index_t r = 0; r < wanted && !ended && !interrupted(); ++r) grow_round();
    return !ended;
}

void Booster::step(const double* gradients, const double* hessians) {
    const index_t k = options_.outputs;
    for (index_t i = 0; i < n_; ++i)
        for (index_t c = 0; c < k; ++c) {
            g_[static_cast<std::size_t>(c * n_ + i)] = gradients[i * k + c];
            h_[static_cast<std::size_t>(c * n_ + i)] = hessians[i * k + c];
        }
    grow_round();
}

void Booster::truncate(index_t wanted) {
    const auto trees_kept = static_cast<std::size_t>(wanted * options_.outputs);
    if (trees_kept >= static_cast<std::size_t>(forest.n_trees())) return;
    const auto nodes = static_cast<std::size_t>(forest.offsets[trees_kept]);
    std::size_t words = forest.words.size();
    for (std::size_t i = nodes; i < forest.categories.size(); ++i)
        if (forest.categories[i] >= 0) {
            words = static_cast<std::size_t>(forest.categories[i]);
            break;
        }
    forest.offsets.resize(trees_kept + 1);
    for (auto* list : {&forest.feature, &forest.left, &forest.right}) list->resize(nodes);
    for (auto* list : {&forest.threshold, &forest.rows, &forest.weight, &forest.gain}) list->resize(nodes);
    forest.value.resize(nodes * static_cast<std::size_t>(forest.width));
    forest.categories.resize(nodes);
    forest.missing_left.resize(nodes);
    forest.words.resize(words);
    if (train_loss.size() > static_cast<std::size_t>(wanted) + 1) train_loss.resize(static_cast<std::size_t>(wanted) + 1);
    if (valid_loss.size() > static_cast<std::size_t>(wanted) + 1) valid_loss.resize(static_cast<std::size_t>(wanted) + 1);
}

}  // namespace assay::ensembles
