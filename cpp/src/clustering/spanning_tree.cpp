#include "assay/clustering/spanning_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "../linear/tiles.hpp"
#include "point_boxes.hpp"

namespace assay::clustering {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Edge edge_of(double distance, std::int64_t a, std::int64_t b) {
    return {distance, static_cast<std::int32_t>(std::min(a, b)), static_cast<std::int32_t>(std::max(a, b))};
}

void sort_edges(Edges& edges) {
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a < b; });
}

constexpr index_t listed = 4;  // points that the first search keeps

// A point that looks for foreign ones. `shift` holds -x, -x, x, x of each column, as the pairs of boxes are laid out.
struct Query {
    const double* x;
    const double* shift;
    std::int32_t own;
    double core, bound;
};

// One foreign point, the nearest.
struct NearestQuery : Query {
    std::int32_t found = -1;

    void offer(double distance, std::int32_t p) {
        bound = distance;
        found = p;
    }
};

// The first few, in order.
struct FirstQuery : Query {
    double* distance;
    std::int32_t* found;

    void offer(double value, std::int32_t p) {
        index_t place = listed - 1;
        for (; place > 0 && value < distance[place - 1]; --place) {
            distance[place] = distance[place - 1];
            found[place] = found[place - 1];
        }
        distance[place] = value;
        found[place] = p;
        bound = distance[listed - 1];
    }
};

// What a walk through the boxes reads.
struct Forest {
    const BoxTree& tree;
    neighbours::PanelDistances measure;
    const std::int32_t *set, *set_of_node;
    const double *core, *least_core;  // null for plain distances
};

// Nearer boxes first; a box is left out if all its points are of the query's set, or none can be nearer than the bound.
template <class Asked>
ASSAY_INLINE void walk_body(const Forest& forest, Asked& query) {
    using vec = Lanes<4>::type;
    struct Later {
        std::int32_t node;
        double least;
    };
    Later later[64];
    index_t waiting = 0;
    const BoxTree& tree = forest.tree;
    const index_t d = tree.d;
    std::int32_t v = 0;
    double least = 0.0;
    for (;;) {
        if (least < query.bound && query.bound > query.core) {  // no foreign point is nearer than the core distance
            const Node& node = tree.nodes[static_cast<std::size_t>(v)];
            if (node.left >= 0) {
                const double* const box = tree.pairs.data() + 4 * v * d;
                vec sum = {};
                for (index_t t = 0; t < d; ++t) {
                    const vec gap = *reinterpret_cast<const vec*>(box + 4 * t) + *reinterpret_cast<const vec*>(query.shift + 4 * t);
                    const vec out = gap > 0.0 ? gap : vec{};
                    sum += out * out;
                }
                double left = (sum[0] + sum[2]) * (1.0 - 1e-12), right = (sum[1] + sum[3]) * (1.0 - 1e-12);
                if (forest.least_core) {
                    left = std::max(left, forest.least_core[node.left]);
                    right = std::max(right, forest.least_core[node.right]);
                }
                left = forest.set_of_node[node.left] == query.own ? infinity : left;
                right = forest.set_of_node[node.right] == query.own ? infinity : right;
                const bool left_first = left <= right;
                const double second = left_first ? right : left;
                later[waiting] = {left_first ? node.right : node.left, second};
                waiting += second < query.bound;
                v = left_first ? node.left : node.right;
                least = left_first ? left : right;
                continue;
            }
            alignas(64) double distances[neighbours::leaf_rows];
            tree.leaf_distances(forest.measure, query.x, static_cast<std::size_t>(v), distances);
            for (index_t p = node.begin; p < node.end; ++p) {
                double distance = distances[p - node.begin];
                if (!(distance < query.bound) || forest.set[p] == query.own) continue;
                if (forest.core) distance = std::max(distance, std::max(query.core, forest.core[p]));
                if (distance < query.bound) query.offer(distance, static_cast<std::int32_t>(p));
            }
        }
        if (waiting == 0) return;
        --waiting;
        v = later[waiting].node;
        least = later[waiting].least;
    }
}
ASSAY_DISPATCH(void, walk_nearest, walk_body<NearestQuery>, (const Forest& forest, NearestQuery& query), (forest, query))
ASSAY_DISPATCH(void, walk_first, walk_body<FirstQuery>, (const Forest& forest, FirstQuery& query), (forest, query))

class Boruvka {
public:
    Boruvka(Matrix<const double> rows, const double* core, int threads)
        : tree_(rows, threads), measure_(neighbours::panel_distances(neighbours::Metric::euclidean)), threads_(threads),
          n_(rows.rows), sets_(rows.rows), near_(at(n_ * listed), -1), far_(at(n_ * listed), infinity), next_(at(n_), 0),
          set_(at(n_)), best_(at(n_)), set_of_node_(tree_.nodes.size()), least_core_(core ? tree_.nodes.size() : 0) {
        tree_.keep_pairs();
        if (core) {
            core_.resize(at(n_));
            for (index_t p = 0; p < n_; ++p) {
                const double c = core[tree_.tree.order[at(p)]];
                core_[at(p)] = c * c;
            }
            for (std::size_t v = tree_.nodes.size(); v-- > 0;) {
                const Node& node = tree_.nodes[v];
                least_core_[v] = node.left < 0 ? *std::min_element(core_.begin() + node.begin, core_.begin() + node.end)
                                               : std::min(least_core_[at(node.left)], least_core_[at(node.right)]);
            }
        }
    }

    // The edges in the order in which they were found.
    Edges run() {
        Edges edges;
        edges.reserve(at(n_ - 1));
        index_t components = n_;
        while (components > 1 && !interrupted()) {
            refresh();
            if (components == n_) first_search();
            search();
            const index_t before = components;
            for (index_t c = 0; c < n_; ++c) {
                const std::int32_t from = best_[at(c)];
                if (set_[at(c)] != c || from < 0) continue;
                const std::int32_t to = near_[slot(from)];
                if (!sets_.join(from, to)) continue;
                edges.push_back(edge_of(std::sqrt(far_[slot(from)]), tree_.tree.order[at(from)], tree_.tree.order[at(to)]));
                --components;
            }
            if (components == before) break;
        }
        return edges;
    }

private:
    template <class I>
    static std::size_t at(I i) {
        return static_cast<std::size_t>(i);
    }
    // Where the last answer of a point stands: no foreign point is nearer than `far_` there. Once all that the first search
    // found are in the own set, later answers take the place of the last of them.
    std::size_t slot(index_t p) const { return at(p * listed + std::min<index_t>(next_[at(p)], listed - 1)); }

    void refresh() {
        for (index_t p = 0; p < n_; ++p) {
            set_[at(p)] = sets_.find(static_cast<std::int32_t>(p));
            best_[at(p)] = -1;
        }
        for (std::size_t v = tree_.nodes.size(); v-- > 0;) {
            const Node& node = tree_.nodes[v];
            std::int32_t same;
            if (node.left < 0) {
                same = set_[at(node.begin)];
                for (index_t p = node.begin + 1; p < node.end; ++p)
                    if (set_[at(p)] != same) same = -1;
            } else {
                same = set_of_node_[at(node.left)];
                if (same != set_of_node_[at(node.right)]) same = -1;
            }
            set_of_node_[v] = same;
        }
    }

    // Whether the answer of a point is the best that its component has so far.
    void take(index_t p) {
        std::int32_t& best = best_[at(set_[at(p)])];
        if (best < 0 || far_[slot(p)] < far_[slot(best)]) best = static_cast<std::int32_t>(p);
    }

    // Answers of earlier rounds that still hold.
    void reuse() {
        for (index_t p = 0; p < n_; ++p) {
            const std::int32_t own = set_[at(p)];
            std::uint8_t& next = next_[at(p)];
            while (next < listed && near_[at(p * listed + next)] >= 0 && set_[at(near_[at(p * listed + next)])] == own) ++next;
            if (next < listed && near_[at(p * listed + next)] < 0) next = listed;
            const std::int32_t q = near_[slot(p)];
            if (q >= 0 && set_[at(q)] != own) take(p);
        }
    }

    Forest forest() const {
        return {tree_, measure_, set_.data(), set_of_node_.data(), core_.empty() ? nullptr : core_.data(),
                core_.empty() ? nullptr : least_core_.data()};
    }
    double core_of(index_t p) const { return core_.empty() ? 0.0 : core_[at(p)]; }
    const double* shifted(index_t p, std::vector<double>& shift) const {
        const double* const x = tree_.point(p);
        for (index_t t = 0; t < tree_.d; ++t) {
            double* const to = shift.data() + 4 * t;
            to[0] = to[1] = -x[t];
            to[2] = to[3] = x[t];
        }
        return x;
    }

    // The nearest points of each, before any are joined.
    void first_search() {
        const Forest forest = this->forest();
        parallel_chunks(n_, 64, threads_, [&](index_t, index_t begin, index_t end) {
            std::vector<double> shift(at(4 * tree_.d));
            for (index_t p = begin; p < end; ++p) {
                FirstQuery query{{shifted(p, shift), shift.data(), static_cast<std::int32_t>(p), core_of(p), infinity},
                                 far_.data() + p * listed,
                                 near_.data() + p * listed};
                walk_first(forest, query);
            }
        });
    }

    void search() {
        reuse();
        constexpr index_t block = 4096, grain = 64;
        std::vector<std::uint8_t> found(at(block));
        const Forest forest = this->forest();
        for (index_t first = 0; first < n_ && !interrupted(); first += block) {
            const index_t size = std::min(block, n_ - first);
            parallel_chunks(size, grain, threads_, [&](index_t, index_t begin, index_t end) {
                std::int32_t last = -1;
                double bound = infinity;
                std::vector<double> shift(at(4 * tree_.d));
                for (index_t i = begin; i < end; ++i) {
                    const index_t p = first + i;
                    const std::size_t place = slot(p);
                    const std::int32_t own = set_[at(p)], q = near_[place];
                    found[at(i)] = 0;
                    if (q >= 0 && set_[at(q)] != own) continue;
                    if (own != last) bound = best_[at(own)] < 0 ? infinity : far_[slot(best_[at(own)])];
                    last = own;
                    const double core = core_of(p);
                    if (far_[place] >= bound || core >= bound) continue;
                    NearestQuery query{{shifted(p, shift), shift.data(), own, core, bound}};
                    if (set_of_node_[0] != own) walk_nearest(forest, query);
                    far_[place] = query.bound;
                    near_[place] = query.found;
                    if (query.found >= 0) {
                        found[at(i)] = 1;
                        bound = query.bound;
                    }
                }
            });
            for (index_t i = 0; i < size; ++i)
                if (found[at(i)] != 0) take(first + i);
        }
    }

    BoxTree tree_;
    neighbours::PanelDistances measure_;
    int threads_;
    index_t n_;
    DisjointSets sets_;
    std::vector<std::int32_t> near_;
    std::vector<double> far_;
    std::vector<std::uint8_t> next_;  // which of the nearest points was not yet seen in the own set
    std::vector<std::int32_t> set_;
    std::vector<std::int32_t> best_;  // of a component: the point with its best answer, -1 for none
    std::vector<std::int32_t> set_of_node_;
    std::vector<double> core_, least_core_;
};

}  // namespace

Edges boruvka_tree(Matrix<const double> rows, const double* core, int threads) {
    if (rows.rows < 2) return {};
    Edges edges = Boruvka(rows, core, threads).run();
    sort_edges(edges);
    return edges;
}

namespace {

// Rows outside of the tree become no farther from it: where `found`, the distances from the row `added`, are below `least`
// they take their place. OUT best: the least, and the first row that has it. Rows inside have a least of -1.
ASSAY_INLINE void nearer_rows_body(const double* found, index_t count, std::int64_t added, double* least, std::int64_t* from,
                                   std::pair<double, index_t>& best) {
    double value[8];
    std::int64_t at[8] = {};
    for (double& v : value) v = infinity;
    for (index_t i = 0; i < count; i += 8)
        for (int l = 0; l < 8; ++l) {
            const double before = least[i + l];
            const bool less = found[i + l] < before;
            const double now = less ? found[i + l] : before;
            least[i + l] = now;
            from[i + l] = less ? added : from[i + l];
            const double seen = now < 0.0 ? infinity : now;
            at[l] = seen < value[l] ? static_cast<std::int64_t>(i) : at[l];
            value[l] = seen < value[l] ? seen : value[l];
        }
    best = {value[0], at[0]};
    for (int l = 1; l < 8; ++l) best = std::min(best, {value[l], at[l] + l});
}
ASSAY_DISPATCH(void, nearer_rows, nearer_rows_body,
               (const double* found, index_t count, std::int64_t added, double* least, std::int64_t* from,
                std::pair<double, index_t>& best),
               (found, count, added, least, from, best))

// The rows that a growing tree has not reached, in panels, and how far each is from it; made anew, in order, when a quarter
// of them have been reached.
struct Outside {
    Matrix<const double> rows;
    const double* all_core;
    index_t count = 0;
    std::vector<std::int32_t> row;
    std::vector<std::int64_t> from;
    std::vector<double> least, core, panels;

    Outside(Matrix<const double> of, const double* with_core) : rows(of), all_core(with_core) {
        row.resize(static_cast<std::size_t>(of.rows));
        std::iota(row.begin(), row.end(), 0);
        from.assign(row.size(), 0);
        least.assign(row.size(), infinity);
    }

    void leave(index_t place) { least[static_cast<std::size_t>(place)] = -1.0; }

    index_t first() const { return std::find_if(least.begin(), least.end(), [](double l) { return l >= 0.0; }) - least.begin(); }

    void pack(index_t left, int threads) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (least[i] < 0.0) continue;
            row[kept] = row[i];
            from[kept] = from[i];
            least[kept++] = least[i];
        }
        count = left;
        row.resize(kept);
        const auto whole = static_cast<std::size_t>(neighbours::panel_count(left) * neighbours::panel_lanes);
        panels.resize(whole * static_cast<std::size_t>(rows.cols));
        Matrix<const double> these = rows;
        these.rows = left;
        neighbours::pack_panels(these, row.data(), panels.data(), threads);
        row.resize(whole, 0);
        from.resize(whole, 0);
        least.resize(whole);
        std::fill(least.begin() + static_cast<std::ptrdiff_t>(kept), least.end(), -1.0);
        if (!all_core) return;
        core.resize(whole);
        for (std::size_t i = 0; i < whole; ++i) core[i] = all_core[row[i]];
    }
};

}  // namespace

Edges prim_tree(Matrix<const double> rows, neighbours::Metric metric, double p, const double* core, int threads) {
    const index_t n = rows.rows, d = rows.cols;
    Edges edges;
    if (n < 2) return edges;
    edges.reserve(static_cast<std::size_t>(n - 1));
    const bool squares = metric == neighbours::Metric::euclidean;
    const auto finish = [&](double reduced) {
        if (squares) return std::sqrt(reduced);
        return metric == neighbours::Metric::minkowski ? std::pow(reduced, 1.0 / p) : reduced;
    };
    neighbours::MetricOptions options;
    options.p = p;
    const auto measure = neighbours::panel_distances(metric);
    Outside outside(rows, core);
    constexpr index_t grain = 2048;
    std::vector<std::pair<double, index_t>> nearest(static_cast<std::size_t>(chunk_count(n, grain)));
    index_t added = 0, place = 0;  // the row, and where it stood among those outside
    for (index_t step = 1; step < n && !interrupted(); ++step) {
        outside.leave(place);
        if (step == 1 || 4 * (n - step) <= 3 * outside.count) outside.pack(n - step, threads);
        const double own = core ? core[added] : 0.0;
        const auto count = static_cast<index_t>(outside.least.size());
        parallel_chunks(count, grain, count * d > 100000 ? threads : 1, [&](index_t c, index_t begin, index_t end) {
            alignas(64) double found[grain];
            measure(rows.row(added), outside.panels.data() + begin * d, (end - begin) / neighbours::panel_lanes, d, options, found);
            if (core)
                for (index_t i = begin; i < end; ++i)
                    found[i - begin] = std::max(finish(found[i - begin]), std::max(own, outside.core[static_cast<std::size_t>(i)]));
            auto& best = nearest[static_cast<std::size_t>(c)];
            nearer_rows(found, end - begin, added, outside.least.data() + begin, outside.from.data() + begin, best);
            best.second += begin;
        });
        place = nearest[0].second;
        double distance = nearest[0].first;
        for (index_t c = 1; c < chunk_count(count, grain); ++c)
            if (nearest[static_cast<std::size_t>(c)].first < distance)
                std::tie(distance, place) = nearest[static_cast<std::size_t>(c)];
        if (distance == infinity) place = outside.first();  // no row is at a distance that float64 holds
        added = outside.row[static_cast<std::size_t>(place)];
        edges.push_back(edge_of(core ? distance : finish(distance), outside.from[static_cast<std::size_t>(place)], added));
    }
    sort_edges(edges);
    return edges;
}

void hierarchy_of_tree(const Edges& edges, double* z) {
    const auto n = static_cast<index_t>(edges.size()) + 1;
    DisjointSets sets(n);
    std::vector<double> name(static_cast<std::size_t>(n)), size(static_cast<std::size_t>(n), 1.0);
    std::iota(name.begin(), name.end(), 0.0);
    for (index_t t = 0; t + 1 < n; ++t) {
        const Edge& edge = edges[static_cast<std::size_t>(t)];
        const auto a = static_cast<std::size_t>(sets.find(edge.first));
        const auto b = static_cast<std::size_t>(sets.find(edge.second));
        sets.join(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
        const auto root = static_cast<std::size_t>(sets.find(static_cast<std::int32_t>(a)));
        z[4 * t] = std::min(name[a], name[b]);
        z[4 * t + 1] = std::max(name[a], name[b]);
        z[4 * t + 2] = edge.distance;
        z[4 * t + 3] = size[a] + size[b];
        size[root] = size[a] + size[b];
        name[root] = static_cast<double>(n + t);
    }
}

namespace {

struct Fall {  // a row or a cluster leaves its parent at lambda
    std::int32_t parent, child;
    double lambda;
    index_t size;
};

// The condensed tree: clusters are numbered n, n + 1, ... from the root down, parts of one split by their first row.
std::vector<Fall> condense(const double* z, index_t n, index_t min_size, std::int32_t& clusters) {
    std::vector<Fall> falls;
    const auto total = static_cast<std::size_t>(2 * n - 1);
    std::vector<std::int32_t> cluster(total, -1);
    const auto size_of = [&](index_t node) { return node < n ? index_t{1} : static_cast<index_t>(z[4 * (node - n) + 3]); };
    const auto lambda_of = [&](index_t node) {
        const double height = z[4 * (node - n) + 2];
        return height > 1e-150 ? 1.0 / height : 1e150;
    };
    std::vector<index_t> first_row(total);
    std::iota(first_row.begin(), first_row.begin() + n, index_t{0});
    for (index_t t = 0; t + 1 < n; ++t)
        first_row[static_cast<std::size_t>(n + t)] = std::min(first_row[static_cast<std::size_t>(z[4 * t])],
                                                              first_row[static_cast<std::size_t>(z[4 * t + 1])]);
    std::vector<index_t> stack, parts, open{2 * n - 2};
    const auto drop = [&](index_t node, std::int32_t parent, double lambda) {
        stack.assign(1, node);
        while (!stack.empty()) {
            const index_t v = stack.back();
            stack.pop_back();
            if (v < n) {
                falls.push_back({parent, static_cast<std::int32_t>(v), lambda, 1});
            } else {
                stack.push_back(static_cast<index_t>(z[4 * (v - n) + 1]));
                stack.push_back(static_cast<index_t>(z[4 * (v - n)]));
            }
        }
    };
    clusters = static_cast<std::int32_t>(n) + 1;
    cluster[total - 1] = static_cast<std::int32_t>(n);
    for (std::size_t next = 0; next < open.size(); ++next) {
        const index_t node = open[next];
        const std::int32_t own = cluster[static_cast<std::size_t>(node)];
        const double lambda = lambda_of(node);
        // Merges of one height are one split, in whichever order the tree lists them.
        parts.clear();
        stack.assign(1, node);
        while (!stack.empty()) {
            const index_t v = stack.back();
            stack.pop_back();
            for (const index_t side : {index_t{0}, index_t{1}}) {
                const auto child = static_cast<index_t>(z[4 * (v - n) + side]);
                (child >= n && lambda_of(child) == lambda ? stack : parts).push_back(child);
            }
        }
        std::sort(parts.begin(), parts.end(), [&](index_t a, index_t b) {
            return first_row[static_cast<std::size_t>(a)] < first_row[static_cast<std::size_t>(b)];
        });
        const bool splits = std::count_if(parts.begin(), parts.end(), [&](index_t v) { return size_of(v) >= min_size; }) > 1;
        for (const index_t child : parts) {
            if (size_of(child) < min_size) {
                drop(child, own, lambda);
                continue;
            }
            std::int32_t& name = cluster[static_cast<std::size_t>(child)];
            name = own;
            if (splits) {
                name = clusters++;
                falls.push_back({own, name, lambda, size_of(child)});
            }
            if (child >= n)
                open.push_back(child);
            else if (!splits)
                falls.push_back({own, static_cast<std::int32_t>(child), lambda, 1});
        }
    }
    return falls;
}

}  // namespace

std::vector<double> hdbscan_labels(const double* z, index_t n, index_t min_size, bool leaves, bool allow_single,
                                   std::int32_t* labels, double* probabilities) {
    std::int32_t last = 0;
    const std::vector<Fall> falls = condense(z, n, min_size, last);
    const auto root = static_cast<std::int32_t>(n);
    const auto count = static_cast<std::size_t>(last - root);
    const auto at = [&](std::int32_t c) { return static_cast<std::size_t>(c - root); };
    std::vector<double> birth(count, 0.0), stability(count, 0.0), death(count, 0.0), below(count, 0.0);
    std::vector<std::int32_t> parent(count, -1);
    std::vector<std::uint8_t> has_children(count, 0), chosen(count, 0);
    for (const Fall& fall : falls)
        if (fall.child >= root) {
            birth[at(fall.child)] = fall.lambda;
            parent[at(fall.child)] = fall.parent;
            has_children[at(fall.parent)] = 1;
        }
    for (const Fall& fall : falls) {
        stability[at(fall.parent)] += (fall.lambda - birth[at(fall.parent)]) * static_cast<double>(fall.size);
        death[at(fall.parent)] = std::max(death[at(fall.parent)], fall.lambda);
    }
    const std::vector<double> own = stability;
    for (std::size_t c = count; c-- > (allow_single ? 0U : 1U);) {
        if (leaves) {
            chosen[c] = !has_children[c];
        } else {
            chosen[c] = !(has_children[c] && below[c] > stability[c]);
            if (!chosen[c]) stability[c] = below[c];
        }
        if (parent[c] >= 0) below[at(parent[c])] += stability[c];
    }
    if (leaves && allow_single && count == 1) chosen[0] = 1;
    // The topmost chosen cluster counts; numbers grow downwards, so parents come first.
    std::vector<std::int32_t> label(count, -1);
    std::vector<double> found;
    std::vector<std::size_t> top(count, 0);
    for (std::size_t c = 0; c < count; ++c) {
        if (parent[c] >= 0 && label[at(parent[c])] >= 0) {
            label[c] = label[at(parent[c])];
            top[c] = top[at(parent[c])];
        } else if (chosen[c]) {
            label[c] = static_cast<std::int32_t>(found.size());
            top[c] = c;
            found.push_back(own[c]);
        }
    }
    for (const Fall& fall : falls) {
        if (fall.child >= root) continue;
        const std::size_t c = at(fall.parent);
        labels[fall.child] = label[c];
        const double most = label[c] >= 0 ? death[top[c]] : 0.0;
        probabilities[fall.child] = label[c] < 0 ? 0.0 : most > 0.0 ? std::min(fall.lambda, most) / most : 1.0;
    }
    return found;
}

}  // namespace assay::clustering
