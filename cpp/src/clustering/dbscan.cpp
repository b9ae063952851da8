#include "assay/clustering/dbscan.hpp"

#include <mutex>

#include "assay/neighbours/distance_reduce.hpp"
#include "point_boxes.hpp"

namespace assay::clustering {
namespace {

constexpr index_t grain = 64;

// Numbers the sets of core rows by their first row: label(row) for every core row, -1 for the others.
template <class IsCore, class SetOf>
std::vector<std::int32_t> number_cores(index_t n, IsCore is_core, SetOf set_of) {
    std::vector<std::int32_t> of_set(static_cast<std::size_t>(n), -1), label(static_cast<std::size_t>(n), -1);
    std::int32_t next = 0;
    for (index_t i = 0; i < n; ++i) {
        if (!is_core(i)) continue;
        std::int32_t& own = of_set[static_cast<std::size_t>(set_of(i))];
        if (own < 0) own = next++;
        label[static_cast<std::size_t>(i)] = own;
    }
    return label;
}

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

    // With `may_end` false is returned, and nothing written, where pairs of rows are the shorter way.
    bool run(std::int32_t* labels, std::uint8_t* core, bool may_end) {
        const index_t n = tree_.n;
        const auto weighing = [&](index_t p) {
            double sum = 0.0;
            index_t leaves = 0;
            weigh(0, tree_.point(p), sum, leaves);
            return leaves;
        };
        if (may_end && pairs_are_shorter(weighing)) return false;
        parallel_chunks(n, grain, threads_, [&](index_t, index_t begin, index_t end) {
            for (index_t p = begin; p < end; ++p) {
                double sum = 0.0;
                index_t leaves = 0;
                weigh(0, tree_.point(p), sum, leaves);
                core_[at(p)] = sum >= least_;
            }
        });
        join_close(0);
        refresh();
        const auto linking = [&](index_t p) {
            Seen seen;
            std::vector<Pair> pairs;
            return core_[at(p)] ? touch(0, p, set_[at(p)], seen, pairs) : 0;
        };
        if (may_end && pairs_are_shorter(linking)) return false;
        link();
        number(labels);
        for (index_t p = 0; p < n; ++p) core[tree_.tree.order[at(p)]] = core_[at(p)];
        return true;
    }

private:
    template <class I>
    static std::size_t at(I i) {
        return static_cast<std::size_t>(i);
    }

    // Whether the walks of some points, which tell how many leaves they measure, take longer than a look at every pair
    // would: in cycles, as measured.
    template <class Walk>
    bool pairs_are_shorter(Walk walk) const {
        constexpr index_t asked = 16;
        const double columns = static_cast<double>(tree_.d);
        double walked = 0.0, paired = 0.0;
        for (index_t i = 0; i < asked; ++i) {
            const index_t p = tree_.n * i / asked;
            walked += (100.0 + 25.0 * columns) * static_cast<double>(walk(p));
            paired += (0.3 + 0.02 * columns) * static_cast<double>(tree_.n) + 30.0 * static_cast<double>(rows_near(p));
        }
        return walked > paired;
    }
    index_t rows_near(index_t p) const {
        index_t near = 0;
        alignas(64) double found[neighbours::leaf_rows];
        for (std::size_t v = 0; v < tree_.nodes.size(); ++v) {
            if (!tree_.leaf(v)) continue;
            tree_.leaf_distances(measure_, tree_.point(p), v, found);
            for (index_t i = 0; i < tree_.nodes[v].end - tree_.nodes[v].begin; ++i) near += found[i] <= reach_;
        }
        return near;
    }

    // Adds the weight within reach of a node that may have some until it is enough; true when it is. Counts leaves.
    bool weigh(std::size_t v, const double* q, double& sum, index_t& leaves) const {
        if (tree_.template largest<Terms>(q, v) <= reach_) return (sum += node_weight_[v]) >= least_;
        const Node& node = tree_.nodes[v];
        if (node.left >= 0) {
            std::size_t near = at(node.left), far = at(node.right);
            double nearer = tree_.template least<Terms>(q, near), farther = tree_.template least<Terms>(q, far);
            if (farther < nearer) {
                std::swap(near, far);
                std::swap(nearer, farther);
            }
            if (!(nearer <= reach_)) return false;
            return weigh(near, q, sum, leaves) || (farther <= reach_ && weigh(far, q, sum, leaves));
        }
        ++leaves;
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

    // Returns how many leaves it measured.
    index_t touch(std::size_t v, index_t p, std::int32_t own, Seen& seen, std::vector<Pair>& pairs) const {
        const Node& node = tree_.nodes[v];
        const std::int32_t set = set_of_node_[v];
        if (node.end <= p || cores_[v] == 0 || set == own) return 0;
        if (set >= 0 && seen.has(own, set)) return 0;
        const double* const q = tree_.point(p);
        if (!(tree_.template least<Terms>(q, v) <= reach_)) return 0;
        const auto link_to = [&](std::int32_t other) {
            if (seen.has(own, other)) return;
            seen.slot(own, other) = {own, other};
            pairs.push_back({own, other});
        };
        if (set >= 0 && tree_.template largest<Terms>(q, v) <= reach_) {
            link_to(set);
            return 0;
        }
        if (node.left >= 0) {
            const index_t left = touch(at(node.left), p, own, seen, pairs);
            return left + touch(at(node.right), p, own, seen, pairs);
        }
        alignas(64) double found[neighbours::leaf_rows];
        tree_.leaf_distances(measure_, q, v, found);
        for (index_t r = node.begin; r < node.end; ++r)
            if (core_[at(r)] && set_[at(r)] != own && found[r - node.begin] <= reach_) link_to(set_[at(r)]);
        return 1;
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
        std::vector<std::int32_t> place(at(n)), label(at(n));
        for (index_t p = 0; p < n; ++p) place[at(tree_.tree.order[at(p)])] = static_cast<std::int32_t>(p);
        const auto by_row = number_cores(
            n, [&](index_t i) { return core_[at(place[at(i)])] != 0; }, [&](index_t i) { return sets_.find(place[at(i)]); });
        for (index_t p = 0; p < n; ++p) label[at(p)] = by_row[at(tree_.tree.order[at(p)])];
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

// The float32 side of the rows (distance_reduce.hpp) with its arrays.
struct OwnScreen {
    OwnScreen(Matrix<const double> rows, int threads)
        : panels_(static_cast<std::size_t>(neighbours::screen_panel_count(rows.rows) * neighbours::screen_points * rows.cols)),
          half_norms_(static_cast<std::size_t>(neighbours::screen_panel_count(rows.rows) * neighbours::screen_points)),
          centre_(static_cast<std::size_t>(rows.cols)) {
        const auto built = neighbours::build_screen(rows, panels_.data(), half_norms_.data(), centre_.data(), threads);
        usable = built.usable;
        screen = {panels_.data(), half_norms_.data(), centre_.data(), built.scale, built.largest_norm};
    }
    bool usable;
    neighbours::Screen screen;

private:
    std::vector<float> panels_, half_norms_;
    std::vector<double> centre_;
};

// The same by pairs of rows, for rows that count one each. A list is used when it is found and let go, but for that of a
// row that is not core, which is short.
void label_by_lists(Matrix<const double> rows, const neighbours::Screen& screen, double reach, double least,
                    std::int32_t* labels, std::uint8_t* core, int threads) {
    struct Border {
        std::int32_t row;
        std::size_t begin, end;  // in `near`
    };
    const index_t n = rows.rows;
    DisjointSets sets(n);
    std::vector<std::int32_t> near;
    std::vector<Border> borders;
    std::mutex one_at_a_time;
    std::fill_n(core, n, std::uint8_t{0});
    neighbours::rows_within_euclidean(rows, screen, rows, reach, threads, [&](index_t i, const std::vector<std::int32_t>& found) {
        const auto row = static_cast<std::int32_t>(i);
        const std::lock_guard lock(one_at_a_time);
        core[i] = static_cast<double>(found.size()) >= least;
        if (core[i] == 0) {
            if (found.size() < 2) return;  // itself alone
            const std::size_t begin = near.size();
            near.insert(near.end(), found.begin(), found.end());
            borders.push_back({row, begin, near.size()});
        } else {
            // Of two core rows the later one joins them.
            for (const std::int32_t other : found)
                if (core[other]) sets.join(row, other);
        }
    });
    const auto label = number_cores(
        n, [&](index_t i) { return core[i] != 0; }, [&](index_t i) { return sets.find(static_cast<std::int32_t>(i)); });
    std::copy(label.begin(), label.end(), labels);
    for (const Border& border : borders) {
        std::int32_t best = -1;
        for (std::size_t c = border.begin; c < border.end; ++c) {
            const std::int32_t other = label[static_cast<std::size_t>(near[c])];
            if (other >= 0 && (best < 0 || other < best)) best = other;
        }
        labels[border.row] = best;
    }
}

void dbscan_euclidean(Matrix<const double> rows, const double* weights, double reach, double least, std::int32_t* labels,
                      std::uint8_t* core, int threads) {
    // Lists of rows that are not core have fewer than `least` entries of four bytes: at most the table again.
    const bool may_end = weights == nullptr && rows.rows >= 256 && least <= 2.0 * static_cast<double>(rows.cols);
    const auto scan = [&](bool ends) {
        return Scan<SquareTerms>(rows, weights, reach, least, threads).run(labels, core, ends);
    };
    if (scan(may_end)) return;
    const OwnScreen own(rows, threads);
    if (own.usable)
        label_by_lists(rows, own.screen, reach, least, labels, core, threads);
    else
        scan(false);
}

}  // namespace

void dbscan(Matrix<const double> rows, const double* weights, neighbours::Metric metric, double reach, double min_weight,
            std::int32_t* labels, std::uint8_t* core, int threads) {
    switch (metric) {
        case neighbours::Metric::manhattan:
            Scan<AbsoluteTerms>(rows, weights, reach, min_weight, threads).run(labels, core, false);
            return;
        case neighbours::Metric::chebyshev:
            Scan<LargestTerm>(rows, weights, reach, min_weight, threads).run(labels, core, false);
            return;
        default: return dbscan_euclidean(rows, weights, reach, min_weight, labels, core, threads);
    }
}

}  // namespace assay::clustering
