#include "assay/trees/multiway.hpp"

#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "assay/common/threads.hpp"
#include "entries.hpp"
#include "multiway_criteria.hpp"

namespace assay::trees {
namespace {

using tables::CodedColumns;

constexpr index_t largest_task = 8192;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int32_t everywhere = -1;

struct Node {
    std::int32_t feature = -1;
    double threshold = 0, rows = 0, weight = 0, impurity = 0;
    bool multiway = false, has_empty = false;  // the last child takes the categories that did not reach the node
    std::vector<double> value, table;          // class weights; the split table of the trace
    std::vector<std::int32_t> categories;      // of the children of a multiway test
    std::vector<Node*> children;
};
using Arena = std::deque<Node>;

// The items of a node and, for each active column, its entries with known cells in order of value. An item is a row or, where
// a tested cell was missing, a part of one.
struct Store {
    Node* node = nullptr;
    index_t depth = 0;
    bool whole = true;  // all weights are whole numbers
    std::vector<std::int32_t> label, row;
    std::vector<double> weight;
    std::vector<std::int32_t> active;
    std::vector<index_t> known;
    std::unique_ptr<Wide[]> own;
    Wide* entries = nullptr;

    index_t size() const { return static_cast<index_t>(label.size()); }
    Wide* column(std::size_t slot) const { return entries + static_cast<index_t>(slot) * size(); }
    index_t row_at(std::size_t slot, index_t i) const { return row[static_cast<std::size_t>(row_of(column(slot)[i]))]; }
};

// What the whole growth shares.
struct Shared {
    const CodedColumns& columns;
    const MultiwayOptions& options;
    index_t n_classes = 0;
    double total = 0, grid = 0;
    const std::int64_t* table = nullptr;  // phi of whole numbers
    double table_scale = 1;

    bool nominal(std::int32_t f) const { return columns.nominal(f); }
    double snapped(double w) const { return grid > 0 ? std::nearbyint(w / grid) * grid : w; }
};

// A node whose split is decided, on the way to its children: groups of children are built one after the other.
struct Splitting {
    Store store;
    std::size_t slot = 0;
    index_t n_children = 0;
    std::vector<std::int32_t> child, place;  // by item: its child or `everywhere`, and its number there
    std::vector<std::int32_t> order, absent;  // items by child; items that go everywhere
    std::vector<index_t> first;               // of each child in `order`
    std::vector<double> share;
    index_t next = 0;
};

template <class Policy>
class Growing {
public:
    Growing(const Shared& shared, Arena& arena, int threads)
        : shared_(shared), arena_(arena), threads_(threads), scratch_(static_cast<std::size_t>(threads)) {}

    // Fills a new node from its items; true if it can be split.
    bool describe(Store& store) {
        Node& node = *store.node;
        node.value.assign(static_cast<std::size_t>(shared_.n_classes), 0.0);
        for (std::size_t i = 0; i < store.label.size(); ++i) {
            node.value[static_cast<std::size_t>(store.label[i])] += store.weight[i];
            node.weight += store.weight[i];
        }
        node.rows = static_cast<double>(store.size());
        index_t present = 0;
        for (const double w : node.value) present += w > 0;
        node.impurity = present <= 1 ? 0.0 : Policy::impurity(node.value.data(), shared_.n_classes, node.weight);
        if (shared_.options.trace)
            node.table.assign(static_cast<std::size_t>(shared_.columns.n_columns()) * 4, not_a_number);
        const MultiwayOptions& o = shared_.options;
        return present > 1 && (o.max_depth < 0 || store.depth < o.max_depth) && node.weight > o.min_split - slack &&
               node.weight > 2 * o.min_leaf - slack;
    }

    // Grows from a store to the end; what is at most `small` goes to `batch` instead.
    template <class Batch>
    void grow(Store&& first, index_t small, Batch&& batch) {
        std::vector<std::unique_ptr<Splitting>> stack;
        consider(std::move(first), stack);
        std::vector<Store> group;
        while (!stack.empty() && !interrupted()) {
            group.clear();
            next_group(*stack.back(), group);
            if (stack.back()->next == stack.back()->n_children) stack.pop_back();
            for (Store& store : group) {
                if (store.size() <= small) {
                    batch(std::move(store));
                } else {
                    consider(std::move(store), stack);
                }
            }
        }
    }

private:
    // -- the search ----------------------------------------------------------------------------------------------
    void consider(Store&& store, std::vector<std::unique_ptr<Splitting>>& stack) {
        std::vector<MultiwayCandidate> found(store.active.size());
        const auto scan = [&](std::size_t s, Scratch& scratch) {
            const bool nominal = shared_.nominal(store.active[s]);
            const Items items{store.label.data(), store.weight.data(), store.size(), store.node->value.data(),
                              store.node->weight, shared_.n_classes};
            Phi phi = Phi::of<Policy>(store.node->weight);
            if (store.whole && shared_.table != nullptr) phi = {shared_.table, shared_.table_scale};
            found[s] = nominal ? scan_nominal<Policy>(items, store.column(s), store.known[s], phi, shared_.options, scratch)
                               : scan_numeric<Policy>(items, store.column(s), store.known[s], phi, shared_.options, scratch);
        };
        over_columns(store, store.active.size(), scan);
        if (shared_.options.trace) record(store, found);
        const index_t best = choose(store, found);
        if (best < 0) return;
        const auto slot = static_cast<std::size_t>(best);
        const double decrease = store.node->weight / shared_.total * found[slot].gain;
        if (decrease + std::numeric_limits<double>::epsilon() < shared_.options.min_decrease) return;
        stack.push_back(split(std::move(store), slot, found));
    }

    index_t choose(const Store& store, const std::vector<MultiwayCandidate>& found) const {
        double sum = 0, counted = 0, sum_all = 0, all = 0;
        for (std::size_t s = 0; s < found.size(); ++s) {
            if (!found[s].counted) continue;
            ++all;
            sum_all += found[s].gain;
            if (shared_.columns.n_categories[store.active[s]] >= 0.3 * shared_.total) continue;
            ++counted;
            sum += found[s].gain;
        }
        const double average = counted > 0 ? sum / counted : sum_all / std::max(all, 1.0);
        index_t best = -1;
        double most = 0;
        for (std::size_t s = 0; s < found.size(); ++s) {
            const MultiwayCandidate& one = found[s];
            if (!one.valid || (shared_.options.by_ratio && one.gain < average - 1e-3)) continue;
            const double score = shared_.options.by_ratio ? one.ratio : one.gain;
            if (best >= 0 && score <= most + tolerance) continue;
            best = static_cast<index_t>(s);
            most = score;
        }
        return best;
    }

    void record(const Store& store, const std::vector<MultiwayCandidate>& found) const {
        for (std::size_t s = 0; s < found.size(); ++s) {
            const MultiwayCandidate& one = found[s];
            if (!one.counted) continue;
            const std::int32_t f = store.active[s];
            double* row = store.node->table.data() + static_cast<index_t>(f) * 4;
            row[0] = one.gain;
            row[1] = one.split_info;
            row[2] = one.ratio;
            if (!shared_.nominal(f)) row[3] = threshold(store, s, one);
        }
    }

    double threshold(const Store& store, std::size_t slot, const MultiwayCandidate& one) const {
        const auto value = [&](index_t i) { return shared_.columns.value(store.row_at(slot, i), store.active[slot]); };
        const double below = value(one.position - 1), above = value(one.position);
        const double middle = 0.5 * below + 0.5 * above;
        return middle < above && middle >= below ? middle : below;
    }

    // -- the split -------------------------------------------------------------------------------------------------
    std::unique_ptr<Splitting> split(Store&& store, std::size_t slot, const std::vector<MultiwayCandidate>& found) {
        auto made = std::make_unique<Splitting>();
        const auto m = static_cast<std::size_t>(store.size());
        const std::int32_t f = store.active[slot];
        const bool nominal = shared_.nominal(f);
        Node& node = *store.node;
        node.feature = f;
        node.multiway = nominal;
        if (!nominal) node.threshold = threshold(store, slot, found[slot]);
        made->child.assign(m, everywhere);
        const Wide* e = store.column(slot);
        std::int32_t c = 0;
        double known = 0;
        for (index_t i = 0; i < store.known[slot]; ++i) {
            if (i > 0 && (nominal ? is_fresh(e[i]) : i == found[slot].position)) ++c;
            if (nominal && static_cast<std::size_t>(c) == node.categories.size())
                node.categories.push_back(shared_.columns.category(store.row_at(slot, i), f));
            const auto item = static_cast<std::size_t>(row_of(e[i]));
            made->child[item] = c;
            made->share.resize(static_cast<std::size_t>(c) + 1, 0.0);
            made->share[static_cast<std::size_t>(c)] += store.weight[item];
            known += store.weight[item];
        }
        made->n_children = c + 1;
        for (double& share : made->share) share /= known;
        made->first.assign(static_cast<std::size_t>(c) + 2, 0);
        for (std::size_t i = 0; i < m; ++i)
            if (made->child[i] != everywhere) ++made->first[static_cast<std::size_t>(made->child[i]) + 1];
        std::partial_sum(made->first.begin(), made->first.end(), made->first.begin());
        std::vector<index_t> at = made->first;
        made->order.resize(static_cast<std::size_t>(store.known[slot]));
        made->place.resize(m);
        for (std::size_t i = 0; i < m; ++i) {
            if (made->child[i] == everywhere) {
                made->place[i] = static_cast<std::int32_t>(made->absent.size());
                made->absent.push_back(static_cast<std::int32_t>(i));
                continue;
            }
            const auto b = static_cast<std::size_t>(made->child[i]);
            made->place[i] = static_cast<std::int32_t>(at[b] - made->first[b]);
            made->order[static_cast<std::size_t>(at[b]++)] = static_cast<std::int32_t>(i);
        }
        // A column whose known cells agree here can split nothing below.
        std::size_t kept = 0;
        for (std::size_t s = 0; s < store.active.size(); ++s) {
            if (!found[s].varies || (s == slot && nominal)) continue;
            if (kept != s) std::copy_n(store.column(s), store.known[s], store.column(kept));
            store.active[kept] = store.active[s];
            store.known[kept++] = store.known[s];
        }
        store.active.resize(kept);
        store.known.resize(kept);
        made->store = std::move(store);
        return made;
    }

    // The stores of the next children that together hold at most as many items as the node, at least one child.
    void next_group(Splitting& from, std::vector<Store>& group) {
        const Store& parent = from.store;
        const index_t begin = from.next;
        const auto absent = static_cast<index_t>(from.absent.size());
        index_t held = 0;
        std::vector<Store> made;
        std::vector<std::int32_t> splittable;
        while (from.next < from.n_children) {
            const auto b = static_cast<std::size_t>(from.next);
            const index_t own = from.first[b + 1] - from.first[b];
            if (held > 0 && held + own + absent > parent.size()) break;
            held += own + absent;
            ++from.next;
            made.push_back(items_of(from, b));
            splittable.push_back(describe(made.back()) && !parent.active.empty());
        }
        if (from.next == from.n_children) add_empty_leaf(*parent.node);
        for (std::size_t g = 0; g < made.size(); ++g) {
            if (splittable[g] == 0) continue;
            made[g].active = parent.active;
            made[g].known.assign(parent.active.size(), 0);
            made[g].own = std::make_unique_for_overwrite<Wide[]>(parent.active.size() * made[g].label.size());
            made[g].entries = made[g].own.get();
        }
        over_columns(parent, parent.active.size(), [&](std::size_t s, Scratch&) {
            const Wide* e = parent.column(s);
            // The number of the value among those of the parent, and the last one that each child has.
            index_t value = 0;
            std::vector<index_t> last(made.size(), -1);
            const auto put = [&](std::size_t g, index_t item) {
                made[g].column(s)[made[g].known[s]++] = static_cast<Wide>(item) | (last[g] != value ? fresh_bit<Wide> : 0);
                last[g] = value;
            };
            for (index_t i = 0; i < parent.known[s]; ++i) {
                value += is_fresh(e[i]);
                const auto item = static_cast<std::size_t>(row_of(e[i]));
                const std::int32_t b = from.child[item];
                if (b == everywhere) {
                    for (std::size_t g = 0; g < made.size(); ++g)
                        if (splittable[g] != 0) put(g, made[g].size() - absent + from.place[item]);
                    continue;
                }
                const index_t g = b - begin;
                if (g < 0 || g >= static_cast<index_t>(made.size()) || splittable[static_cast<std::size_t>(g)] == 0)
                    continue;
                put(static_cast<std::size_t>(g), from.place[item]);
            }
        });
        for (std::size_t g = 0; g < made.size(); ++g)
            if (splittable[g] != 0) group.push_back(std::move(made[g]));
    }

    // A child without columns: its own items, then the parts of those that go everywhere.
    Store items_of(const Splitting& from, std::size_t b) {
        Store to;
        to.node = &arena_.emplace_back();
        from.store.node->children.push_back(to.node);
        to.depth = from.store.depth + 1;
        to.whole = from.store.whole && from.absent.empty();
        const auto own = static_cast<std::size_t>(from.first[b + 1] - from.first[b]);
        to.label.reserve(own + from.absent.size());
        to.row.reserve(own + from.absent.size());
        to.weight.reserve(own + from.absent.size());
        for (index_t i = from.first[b]; i < from.first[b + 1]; ++i) {
            const auto item = static_cast<std::size_t>(from.order[static_cast<std::size_t>(i)]);
            to.label.push_back(from.store.label[item]);
            to.row.push_back(from.store.row[item]);
            to.weight.push_back(from.store.weight[item]);
        }
        for (const std::int32_t item : from.absent) {
            to.label.push_back(from.store.label[static_cast<std::size_t>(item)]);
            to.row.push_back(from.store.row[static_cast<std::size_t>(item)]);
            to.weight.push_back(shared_.snapped(from.store.weight[static_cast<std::size_t>(item)] * from.share[b]));
        }
        return to;
    }

    void add_empty_leaf(Node& node) {
        if (!node.multiway || static_cast<std::int32_t>(node.categories.size()) == shared_.columns.n_categories[node.feature])
            return;
        Node& empty = arena_.emplace_back();
        empty.impurity = node.impurity;
        empty.value = node.value;
        if (shared_.options.trace) empty.table.assign(node.table.size(), not_a_number);
        node.has_empty = true;
        node.children.push_back(&empty);
    }

    template <class Work>
    void over_columns(const Store& store, std::size_t n_columns, Work&& work) {
        if (threads_ <= 1 || store.size() < 2048) {
            for (std::size_t s = 0; s < n_columns; ++s) work(s, scratch_[0]);
            return;
        }
        parallel_chunks(static_cast<index_t>(n_columns), 1, threads_, [&](index_t s, index_t, index_t) {
            work(static_cast<std::size_t>(s), scratch_[static_cast<std::size_t>(thread_number())]);
        });
    }

    const Shared& shared_;
    Arena& arena_;
    const int threads_;
    std::vector<Scratch> scratch_;
};

Store root_store(const Shared& shared, Wide* order, Vector<const std::int32_t> rows, const CartTarget& target, bool whole) {
    Store root;
    const index_t n = rows.size;
    root.whole = whole;
    root.label.assign(target.labels, target.labels + n);
    root.row.resize(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) root.row[static_cast<std::size_t>(i)] = rows[i];
    root.weight.resize(static_cast<std::size_t>(n), 1.0);
    if (target.weights != nullptr)
        for (index_t i = 0; i < n; ++i) root.weight[static_cast<std::size_t>(i)] = shared.snapped(target.weights[i]);
    root.active.resize(static_cast<std::size_t>(shared.columns.n_columns()));
    std::iota(root.active.begin(), root.active.end(), 0);
    root.entries = order;
    for (std::size_t f = 0; f < root.active.size(); ++f) root.known.push_back(n - count_missing(root.column(f), n));
    return root;
}

// The nodes below the root in preorder.
MultiwayTree gather(const Shared& shared, const Node& root) {
    MultiwayTree tree;
    struct Visit {
        const Node* node;
        std::int32_t parent;
        index_t number;
    };
    std::vector<Visit> stack{{&root, -1, 0}};
    std::vector<const Node*> at;
    while (!stack.empty()) {
        const auto [node, parent, number] = stack.back();
        stack.pop_back();
        const auto id = static_cast<std::int32_t>(tree.feature.size());
        const bool inner = !node->children.empty();
        if (parent >= 0) {
            const auto p = static_cast<std::size_t>(parent);
            const Node& above = *at[p];
            if (!above.multiway) {
                (number == 0 ? tree.left : tree.right)[p] = id;
            } else {
                std::int32_t* branches = tree.branches.data() + tree.branch[p];
                const index_t known = shared.columns.n_categories[above.feature];
                if (above.has_empty && number + 1 == static_cast<index_t>(above.children.size())) {
                    for (index_t c = 0; c < known; ++c)
                        if (branches[c] < 0) branches[c] = id;
                } else {
                    branches[above.categories[static_cast<std::size_t>(number)]] = id;
                    if (branches[known] < 0 || node->weight > tree.weight[static_cast<std::size_t>(branches[known])] + tolerance)
                        branches[known] = id;
                }
            }
        }
        at.push_back(node);
        tree.feature.push_back(inner ? node->feature : -1);
        tree.left.push_back(-1);
        tree.right.push_back(-1);
        tree.threshold.push_back(inner ? node->threshold : 0.0);
        tree.branch.push_back(inner && node->multiway ? static_cast<std::int64_t>(tree.branches.size()) : -1);
        if (inner && node->multiway)
            tree.branches.resize(tree.branches.size() + static_cast<std::size_t>(shared.columns.n_categories[node->feature]) + 1, -1);
        tree.missing_left.push_back(inner && !node->multiway && node->children.size() == 2 &&
                                    node->children[0]->weight + tolerance >= node->children[1]->weight);
        tree.impurity.push_back(node->impurity);
        tree.rows.push_back(node->rows);
        tree.weight.push_back(node->weight);
        const double sum = std::accumulate(node->value.begin(), node->value.end(), 0.0);
        for (const double w : node->value) tree.value.push_back(w / sum);
        tree.table.insert(tree.table.end(), node->table.begin(), node->table.end());
        for (index_t c = static_cast<index_t>(node->children.size()) - 1; c >= 0; --c)
            stack.push_back({node->children[static_cast<std::size_t>(c)], id, c});
    }
    return tree;
}

template <class Policy>
MultiwayTree grow_with(Shared& shared, Wide* order, Vector<const std::int32_t> rows, const CartTarget& target, bool whole) {
    std::vector<std::int64_t> table;
    if (whole && Policy::tabled && shared.total < 3e7) {
        const Phi phi = Phi::of<Policy>(shared.total);
        for (double c = 0; c <= shared.total; ++c) table.push_back(phi.at<Policy>(c));
        shared.table = table.data();
        shared.table_scale = phi.scale;
    }
    const int threads = std::max(1, shared.options.threads);
    const index_t n = rows.size, small = std::min(largest_task, std::max<index_t>(256, n / 8));
    Arena arena;
    std::deque<Arena> of_tasks;
    Growing<Policy> top(shared, arena, threads);
    Store root = root_store(shared, order, rows, target, whole);
    Node& first = arena.emplace_back();
    root.node = &first;
    if (!top.describe(root)) return gather(shared, first);
    std::vector<Store> batch;
    index_t held = 0;
    const auto run_batch = [&] {
        const std::size_t before = of_tasks.size();
        of_tasks.resize(before + batch.size());
        std::stable_sort(batch.begin(), batch.end(), [](const Store& a, const Store& b) { return a.size() > b.size(); });
        parallel_chunks(static_cast<index_t>(batch.size()), 1, threads, [&](index_t t, index_t, index_t) {
            Growing<Policy> task(shared, of_tasks[before + static_cast<std::size_t>(t)], 1);
            task.grow(std::move(batch[static_cast<std::size_t>(t)]), 0, [](Store&&) {});
        });
        batch.clear();
        held = 0;
    };
    top.grow(std::move(root), small, [&](Store&& store) {
        held += store.size();
        batch.push_back(std::move(store));
        if (held >= n) run_batch();
    });
    run_batch();
    return gather(shared, first);
}

}  // namespace

MultiwayTree grow_multiway(const CodedColumns& columns, Wide* order, Vector<const std::int32_t> rows,
                           const CartTarget& target, const MultiwayOptions& options) {
    Shared shared{columns, options, target.n_classes, static_cast<double>(rows.size), 0, nullptr, 1};
    bool whole = true;
    if (target.weights != nullptr) {
        shared.total = 0;
        for (index_t i = 0; i < rows.size; ++i) {
            shared.total += target.weights[i];
            whole = whole && target.weights[i] == std::floor(target.weights[i]);
        }
    }
    shared.grid = std::exp2(std::ceil(std::log2(shared.total)) - 51);
    return options.gini ? grow_with<MultiwayGini>(shared, order, rows, target, whole)
                        : grow_with<MultiwayEntropy>(shared, order, rows, target, whole);
}

}  // namespace assay::trees
