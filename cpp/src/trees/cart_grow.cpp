#include <memory>

#include "assay/common/freed_memory.hpp"
#include "grower.hpp"

namespace assay::trees {
namespace {

constexpr index_t largest_task = 8192;  // at most 16,384: narrow entries

// A subtree handed to one thread: where it hangs in the list of the top, and its own nodes.
struct Task {
    Pending node;
    NodeList nodes;
};

template <class Policy>
class Cart {
public:
    Cart(const CodedColumns& columns, Wide* order, Vector<const std::int32_t> rows, const Samples& data,
         const CartOptions& options, index_t width)
        : growth_{columns, rows, options, width, 0, {}}, data_(data), n_(rows.size), order_(order) {
        for (index_t f = 0; f < columns.n_columns(); ++f) all_.push_back(static_cast<std::int32_t>(f));
    }

    Tree grow() {
        growth_.distinct.resize(all_.size());
        parallel_chunks(growth_.columns.n_columns(), 1, growth_.options.threads, [&](index_t f, index_t, index_t) {
            const Wide* column = order_ + f * n_;
            growth_.distinct[static_cast<std::size_t>(f)] = std::all_of(column, column + n_, is_fresh<Wide>);
        });
        {
            Grower<Policy, Wide> top(growth_, data_, n_, all_, nodes_, growth_.options.threads, order_);
            Pending root = top.root(all_);
            growth_.total_weight = root.summary.weight;
            if (growth_.options.max_leaf_nodes > 0) {
                grow_best_first(top, std::move(root));
            } else {
                grow_top(top, std::move(root));
            }
        }
        release(order_, static_cast<index_t>(all_.size()) * n_);
        std::vector<std::int32_t>().swap(local_);
        return gather();
    }

private:
    // Large nodes here, one after the other with columns in parallel; what is small enough becomes a task.
    void grow_top(Grower<Policy, Wide>& top, Pending root) {
        const index_t share = growth_.options.threads > 1 ? std::max<index_t>(256, n_ / 8) : n_, small = std::min(largest_task, share);
        std::vector<Pending> stack;
        stack.push_back(std::move(root));
        while (!stack.empty() && !interrupted()) {
            Pending node = std::move(stack.back());
            stack.pop_back();
            if (top.is_leaf(node)) continue;
            if (node.size() <= small) {
                tasks_.push_back(std::make_unique<Task>());
                tasks_.back()->node = std::move(node);
                continue;
            }
            const Split best = top.find(node);
            double decrease;
            if (!best.found() || !top.measure(node, best, decrease)) continue;
            auto [left, right] = top.split(node, best);
            stack.push_back(std::move(right));
            stack.push_back(std::move(left));
        }
        std::vector<index_t> order(tasks_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
            return tasks_[static_cast<std::size_t>(a)]->node.size() > tasks_[static_cast<std::size_t>(b)]->node.size();
        });
        local_.resize(static_cast<std::size_t>(n_));
        parallel_chunks(static_cast<index_t>(tasks_.size()), 1, growth_.options.threads, [&](index_t c, index_t, index_t) {
            run_task(top, *tasks_[static_cast<std::size_t>(order[static_cast<std::size_t>(c)])]);
        });
    }

    // Copies the rows of a task into narrow entries with numbers of their own and grows it to the end.
    void run_task(Grower<Policy, Wide>& top, Task& task) {
        Pending& from = task.node;
        const index_t m = from.size();
        std::vector<std::int32_t> rows(static_cast<std::size_t>(m));
        const Wide* first = top.column(from.active[0]) + from.begin;
        for (index_t i = 0; i < m; ++i) rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(row_of(first[i]));
        std::sort(rows.begin(), rows.end());
        for (index_t i = 0; i < m; ++i) local_[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])] = static_cast<std::int32_t>(i);

        std::vector<std::int32_t> label;
        std::vector<std::uint32_t> pair;
        std::vector<double> y, search, weight, repeat;
        Samples data = data_;
        const auto pick = [&](const auto* source, auto& target, index_t width) {
            if (source == nullptr) return;
            target.reserve(static_cast<std::size_t>(m * width));
            for (const std::int32_t row : rows) target.insert(target.end(), source + row * width, source + (row + 1) * width);
        };
        pick(data_.label, label, 1);
        pick(data_.pair, pair, 1);
        const index_t numbers = is_second_order<Policy> ? SecondOrder::per_row : data_.outputs;
        pick(data_.y, y, numbers);
        pick(data_.search, search, numbers);
        pick(data_.weight, weight, 1);
        if (data_.repeat != data_.weight) pick(data_.repeat, repeat, 1);
        data.label = label.empty() ? nullptr : label.data();
        data.y = y.empty() ? nullptr : y.data();
        data.search = search.empty() ? nullptr : search.data();
        data.weight = weight.empty() ? nullptr : weight.data();
        data.repeat = data_.repeat == data_.weight ? data.weight : repeat.empty() ? nullptr : repeat.data();
        data.pair = pair.empty() ? nullptr : pair.data();

        Grower<Policy, Narrow> grower(growth_, data, m, from.active, task.nodes, 1);
        for (const std::int32_t f : from.active) {
            const Wide* source = top.column(f) + from.begin;
            Narrow* target = grower.column(f);
            for (index_t i = 0; i < m; ++i)
                target[i] = static_cast<Narrow>((source[i] & (fresh_bit<Wide> | missing_bit<Wide>)) >> 16 |
                                                static_cast<Wide>(local_[static_cast<std::size_t>(row_of(source[i]))]));
        }
        for (const std::int32_t f : all_) release(top.column(f) + from.begin, m);
        grower.positions = rows;
        Pending node;
        node.end = m;
        node.depth = from.depth;
        node.path = from.path;
        node.summary = from.summary;
        node.active = from.active;
        const double* value = nodes_.value.data() + static_cast<index_t>(from.node) * growth_.width;
        node.node = task.nodes.add(from.summary, std::vector<double>(value, value + growth_.width), traced());
        grower.grow(std::move(node));
    }

    // Entries that are used up: their pages make room for the nodes that are still to come. Few are not worth the call.
    static void release(Wide* entries, index_t count) {
        if (count >= 4096) release_pages(entries, static_cast<std::size_t>(count) * sizeof(Wide));
    }

    // The node whose split decreases impurity most goes first, the older one at a tie.
    void grow_best_first(Grower<Policy, Wide>& top, Pending root) {
        struct Ready {
            Pending node;
            Split split;
            double decrease;
        };
        std::vector<Ready> ready;
        const auto later = [](const Ready& a, const Ready& b) {
            return a.decrease < b.decrease || (a.decrease == b.decrease && a.node.node > b.node.node);
        };
        const auto consider = [&](Pending&& node) {
            if (top.is_leaf(node)) return;
            Split best = top.find(node);
            double decrease;
            if (!best.found() || !top.measure(node, best, decrease)) return;
            ready.push_back({std::move(node), std::move(best), decrease});
            std::push_heap(ready.begin(), ready.end(), later);
        };
        consider(std::move(root));
        index_t leaves = 1;
        while (!ready.empty() && leaves < growth_.options.max_leaf_nodes && !interrupted()) {
            std::pop_heap(ready.begin(), ready.end(), later);
            Ready next = std::move(ready.back());
            ready.pop_back();
            top.measure(next.node, next.split, next.decrease);
            auto [left, right] = top.split(next.node, next.split);
            ++leaves;
            for (Pending* child : {&left, &right}) consider(std::move(*child));
        }
    }

    index_t traced() const { return growth_.options.trace ? growth_.columns.n_columns() : 0; }

    // All lists as one tree in preorder.
    Tree gather() {
        std::vector<const Task*> task_at(nodes_.feature.size(), nullptr);
        for (const auto& task : tasks_) task_at[static_cast<std::size_t>(task->node.node)] = task.get();
        Tree tree;
        tree.width = Policy::classifies ? data_.n_classes : data_.outputs;
        std::size_t count = nodes_.feature.size();
        for (const auto& task : tasks_) count += task->nodes.feature.size();
        for (auto* ids : {&tree.feature, &tree.left, &tree.right}) ids->reserve(count);
        for (auto* numbers : {&tree.threshold, &tree.impurity, &tree.rows, &tree.weight}) numbers->reserve(count);
        tree.categories.reserve(count);
        tree.missing_left.reserve(count);
        tree.value.reserve(count * static_cast<std::size_t>(tree.width));
        struct Visit {
            const NodeList* list;
            std::int32_t node, parent;
            bool is_right;
        };
        std::vector<Visit> stack{{&nodes_, 0, -1, false}};
        while (!stack.empty()) {
            Visit at = stack.back();
            stack.pop_back();
            if (at.list == &nodes_ && task_at[static_cast<std::size_t>(at.node)] != nullptr) {
                at.list = &task_at[static_cast<std::size_t>(at.node)]->nodes;
                at.node = 0;
                if (at.list->feature.empty()) continue;  // interrupted before the task ran
            }
            const auto id = static_cast<std::int32_t>(tree.feature.size());
            if (at.parent >= 0) (at.is_right ? tree.right : tree.left)[static_cast<std::size_t>(at.parent)] = id;
            append(tree, *at.list, static_cast<std::size_t>(at.node));
            const std::int32_t left = at.list->left[static_cast<std::size_t>(at.node)];
            if (left < 0) continue;
            stack.push_back({at.list, at.list->right[static_cast<std::size_t>(at.node)], id, true});
            stack.push_back({at.list, left, id, false});
        }
        return tree;
    }

    void append(Tree& tree, const NodeList& list, std::size_t i) const {
        tree.feature.push_back(list.feature[i]);
        tree.left.push_back(-1);
        tree.right.push_back(-1);
        tree.threshold.push_back(list.threshold[i]);
        tree.missing_left.push_back(list.missing_left[i]);
        tree.impurity.push_back(list.impurity[i]);
        tree.rows.push_back(list.rows[i]);
        tree.weight.push_back(list.weight[i]);
        const auto width = static_cast<std::size_t>(growth_.width), d = static_cast<std::size_t>(traced());
        const double* value = list.value.data() + i * width;
        if (!Policy::classifies && Policy::is_ratio) value += data_.outputs;
        for (index_t k = 0; k < tree.width; ++k)
            tree.value.push_back(Policy::classifies ? value[k] / list.weight[i] : value[k]);
        tree.gains.insert(tree.gains.end(), list.gains.begin() + static_cast<index_t>(i * d),
                          list.gains.begin() + static_cast<index_t>((i + 1) * d));
        if (growth_.options.oblique != nullptr) append_linear(tree, list, i);
        if (list.categories[i] < 0) {
            tree.categories.push_back(-1);
            return;
        }
        tree.categories.push_back(static_cast<std::int64_t>(tree.words.size()));
        const index_t words = (growth_.columns.n_categories[list.feature[i]] + 63) / 64;
        tree.words.insert(tree.words.end(), list.words.begin() + list.categories[i],
                          list.words.begin() + list.categories[i] + words);
    }

    void append_linear(Tree& tree, const NodeList& list, std::size_t i) const {
        const index_t p = growth_.options.oblique->n_columns, from = list.linear[i] * p;
        tree.linear.push_back(-1);
        if (traced() > 0) {
            tree.tried.insert(tree.tried.end(), list.tried[i].begin(), list.tried[i].end());
            tree.tried_node.resize(tree.tried.size() / static_cast<std::size_t>(p + 2),
                                   static_cast<std::int32_t>(tree.linear.size()) - 1);
        }
        if (list.linear[i] < 0) return;
        tree.linear.back() = static_cast<std::int32_t>(static_cast<index_t>(tree.linear_weight.size()) / p);
        const auto copy = [&](const std::vector<double>& source, std::vector<double>& target) {
            target.insert(target.end(), source.begin() + from, source.begin() + from + p);
        };
        copy(list.linear_weight, tree.linear_weight);
        copy(list.linear_fill, tree.linear_fill);
        copy(list.linear_share, tree.linear_share);
    }

    Growth growth_;
    const Samples data_;
    const index_t n_;
    Wide* order_;
    std::vector<std::int32_t> all_, local_;
    NodeList nodes_;
    std::vector<std::unique_ptr<Task>> tasks_;
};

// The target as the search for splits sees it. It is shifted where the spread is small beside the level, and rounded to
// a grid so fine that it keeps about 51 - log2 n bits: sums over any rows with whole weights are then exact, and
// splits into the same two parts have the same cost whichever column makes them.
std::vector<double> search_target(const CartTarget& target, index_t n) {
    std::vector<double> search(target.y, target.y + n * target.outputs);
    for (index_t o = 0; o < target.outputs; ++o) {
        double sum = 0, weight = 0, low = infinity, high = -infinity, size = 0;
        const auto weight_of = [&](index_t i) { return target.weights != nullptr ? target.weights[i] : 1.0; };
        for (index_t i = 0; i < n; ++i) {
            const double y = target.y[i * target.outputs + o];
            sum += weight_of(i) * y;
            weight += weight_of(i);
            low = std::min(low, y);
            high = std::max(high, y);
        }
        const double level = std::abs(sum / weight) > 16 * (high - low) ? low : 0.0;
        for (index_t i = 0; i < n; ++i) size += weight_of(i) * std::abs(target.y[i * target.outputs + o] - level);
        const double grid = size > 0 && size < infinity ? std::exp2(std::ceil(std::log2(size)) - 51) : 0.0;
        for (index_t i = 0; i < n; ++i) {
            double& y = search[static_cast<std::size_t>(i * target.outputs + o)];
            y = grid > 0 ? std::nearbyint((y - level) / grid) * grid : y - level;
        }
    }
    return search;
}

// The pairs of criteria.hpp; none where they cannot be.
std::vector<std::uint32_t> pairs_of(const Samples& data, index_t n) {
    std::vector<std::uint32_t> pairs;
    if (data.n_classes != 2) return pairs;
    pairs.resize(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) {
        const double w = data.weight_of(i);
        if (!(w <= most_in_pair) || w != std::floor(w)) return {};
        const auto whole = static_cast<std::uint32_t>(w);
        pairs[static_cast<std::size_t>(i)] = data.label[i] == 0 ? whole : whole | whole << second_class;
    }
    return pairs;
}

// Numbers rounded to a grid on which sums of up to n of them are exact, and what that left over on a finer one. The
// grids depend on the numbers only, not on their order.
struct Grid {
    double coarse = 0, fine = 0;
    static double round(double x, double grid) { return grid > 0 ? std::nearbyint(x / grid) * grid : 0.0; }
    static double of(double size) { return size > 0 ? std::exp2(std::ceil(std::log2(size)) - 51) : 0.0; }

    Grid(const double* x, index_t n, double extra) {
        double largest = extra;
        for (index_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
        const double count = static_cast<double>(n) + 1, first = of(count * largest);
        double size = round(extra, first);
        for (index_t i = 0; i < n; ++i) size += round(std::abs(x[i]), first);
        coarse = of(size + count * first);
        fine = of(count * coarse);
    }
};

// The search adds 2 l2 to the hessians of a node, so that their grid must hold that too.
Tree grow_second_order(const CodedColumns& columns, Wide* order, Vector<const std::int32_t> rows, const CartTarget& target,
                       const CartOptions& options) {
    const index_t n = rows.size;
    const Grid g(target.gradients, n, 0), h(target.hessians, n, 2 * options.l2);
    std::vector<double> search(static_cast<std::size_t>(2 * n)), rest(search.size());
    const auto place = [&](std::size_t at, double x, const Grid& grid) {
        search[at] = Grid::round(x, grid.coarse);
        rest[at] = Grid::round(x - search[at], grid.fine);
    };
    for (index_t i = 0; i < n; ++i) {
        place(static_cast<std::size_t>(2 * i), target.gradients[i], g);
        place(static_cast<std::size_t>(2 * i + 1), target.hessians[i], h);
    }
    Samples data;
    data.search = search.data();
    data.y = rest.data();
    data.repeat = target.repeats;
    data.l2 = Grid::round(options.l2, h.coarse);
    data.l1 = options.l1;
    return Cart<SecondOrder>(columns, order, rows, data, options, 2).grow();
}

}  // namespace

Tree grow_cart(const CodedColumns& columns, Wide* order, Vector<const std::int32_t> rows, const CartTarget& target,
               const CartOptions& options) {
    if (options.criterion == Criterion::second_order) return grow_second_order(columns, order, rows, target, options);
    const index_t n = rows.size;
    Samples data{.label = target.labels, .outputs = target.outputs, .weight = target.weights,
                 .repeat = target.repeats, .n_classes = target.n_classes};
    const bool classify = target.labels != nullptr;
    if (data.repeat != nullptr && data.weight != nullptr && std::equal(data.weight, data.weight + n, data.repeat)) data.repeat = data.weight;
    const std::vector<std::uint32_t> pairs = pairs_of(data, n);
    if (!pairs.empty()) data.pair = pairs.data();
    std::vector<std::int64_t> table;
    if (options.criterion == Criterion::entropy) {
        double total = 0;
        bool whole = true;
        for (index_t i = 0; i < n; ++i) {
            total += data.weight_of(i);
            whole = whole && data.weight_of(i) == std::floor(data.weight_of(i));
        }
        data.fixed_point = std::exp2(std::floor(60.0 - std::log2(total * std::log2(total + 2) + 1)));
        if (whole && total < 3e7) {
            table.resize(static_cast<std::size_t>(total) + 1);
            const Samples plain = data;
            for (std::size_t c = 0; c < table.size(); ++c) table[c] = xlogx(plain, static_cast<double>(c));
            data.xlogx = table.data();
        }
    }
    std::vector<double> search;
    if (!classify) {
        search = search_target(target, n);
        data.y = target.y;
        data.search = search.data();
    }
    const bool squared = options.criterion == Criterion::squared_error;
    const index_t width = classify ? target.n_classes : (squared ? 2 : 1) * target.outputs;
    switch (options.criterion) {
        case Criterion::entropy: return Cart<Entropy>(columns, order, rows, data, options, width).grow();
        case Criterion::misclassification: return Cart<Misclassification>(columns, order, rows, data, options, width).grow();
        case Criterion::squared_error: return Cart<SquaredError>(columns, order, rows, data, options, width).grow();
        case Criterion::absolute_error: return Cart<AbsoluteError>(columns, order, rows, data, options, width).grow();
        case Criterion::worst_case: return Cart<WorstCase>(columns, order, rows, data, options, width).grow();
        default: return Cart<Gini>(columns, order, rows, data, options, width).grow();
    }
}

}  // namespace assay::trees
