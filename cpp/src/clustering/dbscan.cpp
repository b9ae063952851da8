#include "assay/clustering/dbscan.hpp"

#include <limits>

#include "point_boxes.hpp"

namespace assay::clustering {
namespace {

constexpr index_t grain = 64;

template <class Terms>
class Scan {
public:
    Scan(Matrix<const double> rows, const double* weights, double reach, double least, int threads)
        : tree_(rows, threads), measure_(neighbours::panel_distances(Terms::metric)), reach_(reach), least_(least),
          threads_(threads), sets_(rows.rows), core_(static_cast<std::size_t>(rows.rows)) {
        const std::size_t count = tree_.nodes.size();
        node_weight_.resize(count);
        cores_.assign(count, 0);
        set_of_node_.assign(count, -1);
        weight_.assign(static_cast<std::size_t>(rows.rows), 1.0);
        if (weights)
            for (index_t p = 0; p < rows.rows; ++p) weight_[at(p)] = weights[tree_.tree.order[at(p)]];
        for (std::size_t v = count; v-- > 0;) {
            const Node& node = tree_.nodes[v];
            if (node.left < 0)
                for (index_t p = node.begin; p < node.end; ++p) node_weight_[v] += weight_[at(p)];
            else
                node_weight_[v] = node_weight_[at(node.left)] + node_weight_[at(node.right)];
        }
    }

    void run(std::int32_t* labels, std::uint8_t* core) {
        const index_t n = tree_.n;
        parallel_chunks(n, grain, threads_, [&](index_t, index_t begin, index_t end) {
            for (index_t p = begin; p < end; ++p) {
                double sum = 0.0;
                weigh(0, tree_.point(p), sum);
                core_[at(p)] = sum >= least_;
            }
        });
        join_close(0);
        refresh();
        link();
        number(labels);
        for (index_t p = 0; p < n; ++p) core[tree_.tree.order[at(p)]] = core_[at(p)];
    }

private:
    template <class I>
    static std::size_t at(I i) {
        return static_cast<std::size_t>(i);
    }

    // Adds weight within reach until it is enough; true when it is.
    bool weigh(std::size_t v, const double* q, double& sum) const {
        if (!(tree_.template least<Terms>(q, v) <= reach_)) return false;
        if (tree_.template largest<Terms>(q, v) <= reach_) return (sum += node_weight_[v]) >= least_;
        const Node& node = tree_.nodes[v];
        if (node.left >= 0) {
            // The nearer child first.
            const bool left = tree_.template least<Terms>(q, at(node.left)) <= tree_.template least<Terms>(q, at(node.right));
            return weigh(at(left ? node.left : node.right), q, sum) || weigh(at(left ? node.right : node.left), q, sum);
        }
        alignas(64) double found[neighbours::leaf_rows];
        tree_.leaf_distances(measure_, q, v, found);
        for (index_t p = node.begin; p < node.end; ++p)
            if (found[p - node.begin] <= reach_) sum += weight_[at(p)];
        return sum >= least_;
    }

    // Core points of nodes that are no wider than the reach, and pairs in leaves.
    void join_close(std::size_t v) {
        const Node& node = tree_.nodes[v];
        if (tree_.template diameter<Terms>(v) <= reach_) {
            std::int32_t first = -1;
            for (index_t p = node.begin; p < node.end; ++p)
                if (core_[at(p)]) {
                    if (first < 0) first = static_cast<std::int32_t>(p);
                    sets_.join(first, static_cast<std::int32_t>(p));
                }
            return;
        }
        if (node.left >= 0) {
            join_close(at(node.left));
            join_close(at(node.right));
            return;
        }
        alignas(64) double found[neighbours::leaf_rows];
        for (index_t p = node.begin; p < node.end; ++p) {
            if (!core_[at(p)]) continue;
            tree_.leaf_distances(measure_, tree_.point(p), v, found);
            for (index_t q = p + 1; q < node.end; ++q)
                if (core_[at(q)] && found[q - node.begin] <= reach_)
                    sets_.join(static_cast<std::int32_t>(p), static_cast<std::int32_t>(q));
        }
    }

    // The set of each core point, and of each node whose core points are all in one.
    void refresh() {
        set_.assign(at(tree_.n), -1);
        for (index_t p = 0; p < tree_.n; ++p)
            if (core_[at(p)]) set_[at(p)] = sets_.find(static_cast<std::int32_t>(p));
        for (std::size_t v = tree_.nodes.size(); v-- > 0;) {
            const Node& node = tree_.nodes[v];
            std::int32_t same = -1;  // none yet
            bool mixed = false;
            index_t count = 0;
            const auto meet = [&](std::int32_t set, bool several) {
                mixed = mixed || several || (same >= 0 && set != same);
                same = set;
            };
            if (node.left < 0) {
                for (index_t p = node.begin; p < node.end; ++p)
                    if (core_[at(p)]) {
                        meet(set_[at(p)], false);
                        ++count;
                    }
            } else {
                for (const std::int32_t child : {node.left, node.right})
                    if (cores_[at(child)] > 0) {
                        meet(set_of_node_[at(child)], set_of_node_[at(child)] < 0);
                        count += cores_[at(child)];
                    }
            }
            cores_[v] = count;
            set_of_node_[v] = mixed ? -1 : same;
        }
    }

    struct Pair {
        std::int32_t a, b;
    };
    struct Seen {
        Pair recent[64];
        Seen() { std::fill(std::begin(recent), std::end(recent), Pair{-1, -1}); }
        Pair& slot(std::int32_t a, std::int32_t b) {
            return recent[(static_cast<std::uint32_t>(a) * 2654435761U ^ static_cast<std::uint32_t>(b) * 40503U) >> 26];
        }
        bool has(std::int32_t a, std::int32_t b) { return slot(a, b).a == a && slot(a, b).b == b; }
    };

    void touch(std::size_t v, index_t p, std::int32_t own, Seen& seen, std::vector<Pair>& pairs) const {
        const Node& node = tree_.nodes[v];
        const std::int32_t set = set_of_node_[v];
        if (node.end <= p || cores_[v] == 0 || set == own) return;
        if (set >= 0 && seen.has(own, set)) return;
        const double* const q = tree_.point(p);
        if (!(tree_.template least<Terms>(q, v) <= reach_)) return;
        const auto link_to = [&](std::int32_t other) {
            if (seen.has(own, other)) return;
            seen.slot(own, other) = {own, other};
            pairs.push_back({own, other});
        };
        if (set >= 0 && tree_.template largest<Terms>(q, v) <= reach_) return link_to(set);
        if (node.left >= 0) {
            touch(at(node.left), p, own, seen, pairs);
            touch(at(node.right), p, own, seen, pairs);
            return;
        }
        alignas(64) double found[neighbours::leaf_rows];
        tree_.leaf_distances(measure_, q, v, found);
        for (index_t r = node.begin; r < node.end; ++r)
            if (core_[at(r)] && set_[at(r)] != own && found[r - node.begin] <= reach_) link_to(set_[at(r)]);
    }

    void link() {
        std::vector<std::vector<Pair>> pairs(at(chunk_count(tree_.n, grain)));
        parallel_chunks(tree_.n, grain, threads_, [&](index_t chunk, index_t begin, index_t end) {
            Seen seen;
            for (index_t p = begin; p < end; ++p)
                if (core_[at(p)]) touch(0, p, set_[at(p)], seen, pairs[at(chunk)]);
        });
        for (const auto& some : pairs)
            for (const Pair& pair : some) sets_.join(pair.a, pair.b);
    }

    std::int32_t border(std::size_t v, const double* q, const std::vector<std::int32_t>& label, std::int32_t best) const {
        if (cores_[v] == 0 || !(tree_.template least<Terms>(q, v) <= reach_)) return best;
        const Node& node = tree_.nodes[v];
        if (node.left >= 0) return border(at(node.right), q, label, border(at(node.left), q, label, best));
        alignas(64) double found[neighbours::leaf_rows];
        tree_.leaf_distances(measure_, q, v, found);
        for (index_t r = node.begin; r < node.end; ++r)
            if (core_[at(r)] && found[r - node.begin] <= reach_ && (best < 0 || label[at(r)] < best)) best = label[at(r)];
        return best;
    }

    void number(std::int32_t* labels) {
        const index_t n = tree_.n;
        std::vector<std::int32_t> place(at(n)), of_set(at(n), -1), label(at(n), -1);
        for (index_t p = 0; p < n; ++p) place[at(tree_.tree.order[at(p)])] = static_cast<std::int32_t>(p);
        std::int32_t next = 0;
        for (index_t i = 0; i < n; ++i) {
            const std::int32_t p = place[at(i)];
            if (!core_[at(p)]) continue;
            std::int32_t& own = of_set[at(sets_.find(p))];
            if (own < 0) own = next++;
            label[at(p)] = own;
        }
        parallel_chunks(n, grain, threads_, [&](index_t, index_t begin, index_t end) {
            for (index_t p = begin; p < end; ++p)
                labels[tree_.tree.order[at(p)]] = core_[at(p)] ? label[at(p)] : border(0, tree_.point(p), label, -1);
        });
    }

    BoxTree tree_;
    neighbours::PanelDistances measure_;
    double reach_, least_;
    int threads_;
    DisjointSets sets_;
    std::vector<std::uint8_t> core_;
    std::vector<double> weight_, node_weight_;
    std::vector<index_t> cores_;
    std::vector<std::int32_t> set_, set_of_node_;
};

}  // namespace

void dbscan(Matrix<const double> rows, const double* weights, neighbours::Metric metric, double reach, double min_weight,
            std::int32_t* labels, std::uint8_t* core, int threads) {
    switch (metric) {
        case neighbours::Metric::manhattan:
            return Scan<AbsoluteTerms>(rows, weights, reach, min_weight, threads).run(labels, core);
        case neighbours::Metric::chebyshev:
            return Scan<LargestTerm>(rows, weights, reach, min_weight, threads).run(labels, core);
        default: return Scan<SquareTerms>(rows, weights, reach, min_weight, threads).run(labels, core);
    }
}

}  // namespace assay::clustering
