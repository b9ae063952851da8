#include "assay/graphs/communities.hpp"

#include <algorithm>
#include <numeric>

#include "assay/common/interrupt.hpp"
#include "assay/common/random.hpp"

namespace assay::graphs {
namespace {

template <class I>
std::size_t at(I i) {
    return static_cast<std::size_t>(i);
}

// A level: its own CSR arrays, except the first, which looks at the caller's.
struct Level {
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> to;
    std::vector<double> weight;
    Csr graph;
    std::vector<double> degree;

    void finish() {
        graph = {static_cast<index_t>(start.size()) - 1, start.data(), to.data(), weight.data()};
        weigh();
    }
    void weigh() {
        degree.assign(at(graph.n), 0.0);
        for (index_t i = 0; i < graph.n; ++i)
            for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e) degree[at(i)] += graph.weight[e];
    }
};

// Weights of a node to communities, in an array that is cleared by what was touched.
class Tally {
public:
    explicit Tally(index_t n) : sum_(at(n), -1.0) {}
    void add(std::int32_t c, double weight) {
        double& held = sum_[at(c)];
        if (held < 0.0) {
            touched_.push_back(c);
            held = 0.0;
        }
        held += weight;
    }
    double of(std::int32_t c) const { return sum_[at(c)] < 0.0 ? 0.0 : sum_[at(c)]; }
    const std::vector<std::int32_t>& touched() const { return touched_; }
    void clear() {
        for (const std::int32_t c : touched_) sum_[at(c)] = -1.0;
        touched_.clear();
    }

private:
    std::vector<double> sum_;
    std::vector<std::int32_t> touched_;
};

class Search {
public:
    Search(const Csr& graph, const CommunityOptions& options) : options_(options), random_(options.key) {
        first_.graph = graph;
        first_.weigh();
        total_ = std::accumulate(first_.degree.begin(), first_.degree.end(), 0.0);
    }

    std::vector<double> run(std::int32_t* labels) {
        std::vector<double> found;
        const index_t n = first_.graph.n;
        std::vector<std::int32_t> community(at(n));
        std::iota(community.begin(), community.end(), 0);
        double best = -1.0;
        for (index_t round = 0; round < options_.rounds && total_ > 0.0 && !interrupted(); ++round) {
            const bool moved = descend(community, found);
            const double now = quality(first_, community);
            if (!moved || (round > 0 && now <= best + 1e-12)) break;
            best = now;
        }
        number(community);
        std::copy(community.begin(), community.end(), labels);
        return found;
    }

private:
    double quality(const Level& level, const std::vector<std::int32_t>& community) const {
        return modularity(level.graph, community.data(), options_.resolution);
    }

    // Levels from this partition of the first graph up; community holds the result. True if some node moved.
    bool descend(std::vector<std::int32_t>& community, std::vector<double>& found) {
        Level held;
        const Level* level = &first_;
        std::vector<std::int32_t> own = community, node(at(first_.graph.n));
        std::iota(node.begin(), node.end(), 0);  // the level's node of each node of the first graph
        bool any = false;
        while (!interrupted()) {
            const bool moved = move_nodes(*level, own);
            any = any || moved;
            const std::int32_t count = number(own);
            for (std::size_t i = 0; i < node.size(); ++i) community[i] = own[at(node[i])];
            found.push_back(quality(*level, own));
            if (count == static_cast<std::int32_t>(level->graph.n)) break;
            std::vector<std::int32_t> parts = own;
            std::int32_t parts_count = count;
            if (options_.refine) {
                parts = refine(*level, own);
                parts_count = number(parts);
                if (parts_count == static_cast<std::int32_t>(level->graph.n)) break;
            } else if (!moved) {
                break;
            }
            std::vector<std::int32_t> next(at(parts_count));
            for (std::size_t i = 0; i < parts.size(); ++i) next[at(parts[i])] = options_.refine ? own[i] : parts[i];
            Level higher = aggregate(*level, parts, parts_count);
            for (std::int32_t& v : node) v = parts[at(v)];
            held = std::move(higher);
            held.finish();
            level = &held;
            own = std::move(next);
        }
        return any;
    }

    std::vector<std::int32_t> shuffled(index_t n) {
        std::vector<std::int32_t> order(at(n));
        std::iota(order.begin(), order.end(), 0);
        for (index_t i = n - 1; i > 0; --i)
            std::swap(order[at(i)], order[at(random_.below(static_cast<std::uint32_t>(i + 1)))]);
        return order;
    }

    bool move_nodes(const Level& level, std::vector<std::int32_t>& community) {
        const Csr& graph = level.graph;
        const index_t n = graph.n;
        std::vector<double> mass(at(n), 0.0);
        std::vector<std::int32_t> size(at(n), 0), empty;
        for (index_t i = 0; i < n; ++i) {
            mass[at(community[at(i)])] += level.degree[at(i)];
            ++size[at(community[at(i)])];
        }
        for (index_t c = n; c-- > 0;)
            if (size[at(c)] == 0) empty.push_back(static_cast<std::int32_t>(c));
        // A ring of waiting nodes.
        std::vector<std::int32_t> queue = shuffled(n);
        std::vector<std::uint8_t> waits(at(n), 1);
        std::size_t head = 0, waiting = at(n);
        Tally tally(n);
        const double scale = options_.resolution / total_;
        bool any = false;
        index_t looked = 0;
        while (waiting > 0) {
            if ((++looked & 4095) == 0 && interrupted()) return any;
            const std::int32_t i = queue[head];
            head = head + 1 == queue.size() ? 0 : head + 1;
            --waiting;
            waits[at(i)] = 0;
            const std::int32_t own = community[at(i)];
            for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e)
                if (graph.to[e] != i) tally.add(community[at(graph.to[e])], graph.weight[e]);
            const double degree = level.degree[at(i)];
            mass[at(own)] -= degree;
            std::int32_t best = own;
            double gain = tally.of(own) - scale * degree * mass[at(own)];
            for (const std::int32_t c : tally.touched()) {
                const double here = tally.of(c) - scale * degree * mass[at(c)];
                if (here > gain + 1e-12 * degree) {
                    gain = here;
                    best = c;
                }
            }
            tally.clear();
            if (gain < -1e-12 * degree && size[at(own)] > 1 && !empty.empty()) best = empty.back();  // better off alone
            mass[at(best)] += degree;
            if (best == own) continue;
            any = true;
            if (size[at(best)]++ == 0) empty.pop_back();
            if (--size[at(own)] == 0) empty.push_back(own);
            community[at(i)] = best;
            for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e) {
                const std::int32_t j = graph.to[e];
                if (waits[at(j)] || community[at(j)] == best || j == i) continue;
                waits[at(j)] = 1;
                queue[(head + waiting) % queue.size()] = j;
                ++waiting;
            }
        }
        return any;
    }

    std::vector<std::int32_t> refine(const Level& level, const std::vector<std::int32_t>& community) {
        const Csr& graph = level.graph;
        const index_t n = graph.n;
        std::vector<std::int32_t> part(at(n));
        std::iota(part.begin(), part.end(), 0);
        std::vector<double> whole(at(n), 0.0), mass = level.degree, outward(at(n), 0.0);
        std::vector<std::uint8_t> alone(at(n), 1);
        const double scale = options_.resolution / total_;
        for (index_t i = 0; i < n; ++i) whole[at(community[at(i)])] += level.degree[at(i)];
        // outward[p]: weight from part p to the rest of its community.
        for (index_t i = 0; i < n; ++i)
            for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e)
                if (graph.to[e] != i && community[at(graph.to[e])] == community[at(i)]) outward[at(i)] += graph.weight[e];
        Tally tally(n);
        for (const std::int32_t i : shuffled(n)) {
            if (!alone[at(i)]) continue;
            const std::int32_t c = community[at(i)];
            const double degree = level.degree[at(i)];
            if (outward[at(i)] < scale * degree * (whole[at(c)] - degree)) continue;
            double inner = 0.0;
            for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e) {
                const std::int32_t j = graph.to[e];
                if (j == i || community[at(j)] != c) continue;
                tally.add(part[at(j)], graph.weight[e]);
                inner += graph.weight[e];
            }
            std::int32_t best = -1;
            double gain = 0.0;
            for (const std::int32_t p : tally.touched()) {
                if (outward[at(p)] < scale * mass[at(p)] * (whole[at(c)] - mass[at(p)])) continue;
                const double here = tally.of(p) - scale * degree * mass[at(p)];
                if (here > gain) {
                    gain = here;
                    best = p;
                }
            }
            if (best >= 0 && best != part[at(i)]) {
                const double shared = tally.of(best);
                mass[at(best)] += degree;
                mass[at(part[at(i)])] -= degree;
                outward[at(best)] += inner - 2.0 * shared;
                part[at(i)] = best;
                alone[at(i)] = 0;
                alone[at(best)] = 0;
            }
            tally.clear();
        }
        return part;
    }

    Level aggregate(const Level& level, const std::vector<std::int32_t>& parts, std::int32_t count) const {
        const Csr& graph = level.graph;
        std::vector<std::int64_t> begin(at(count) + 1, 0);
        for (const std::int32_t p : parts) ++begin[at(p) + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        std::vector<std::int32_t> members(parts.size());
        std::vector<std::int64_t> place(begin.begin(), begin.end() - 1);
        for (std::size_t i = 0; i < parts.size(); ++i) members[at(place[at(parts[i])]++)] = static_cast<std::int32_t>(i);
        Level higher;
        higher.start.reserve(at(count) + 1);
        higher.start.push_back(0);
        Tally tally(count);
        for (std::int32_t p = 0; p < count; ++p) {
            for (std::int64_t m = begin[at(p)]; m < begin[at(p) + 1]; ++m) {
                const std::int32_t i = members[at(m)];
                for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e) tally.add(parts[at(graph.to[e])], graph.weight[e]);
            }
            for (const std::int32_t q : tally.touched()) {
                higher.to.push_back(q);
                higher.weight.push_back(tally.of(q));
            }
            tally.clear();
            higher.start.push_back(static_cast<std::int64_t>(higher.to.size()));
        }
        return higher;
    }

    // Labels 0, 1, ... in the order of their first nodes; how many there are.
    static std::int32_t number(std::vector<std::int32_t>& labels) {
        std::vector<std::int32_t> name(labels.size(), -1);
        std::int32_t next = 0;
        for (std::int32_t& label : labels) {
            if (name[at(label)] < 0) name[at(label)] = next++;
            label = name[at(label)];
        }
        return next;
    }

    CommunityOptions options_;
    Random random_;
    Level first_;
    double total_ = 0.0;
};

}  // namespace

std::vector<double> communities(const Csr& graph, const CommunityOptions& options, std::int32_t* labels) {
    return Search(graph, options).run(labels);
}

double modularity(const Csr& graph, const std::int32_t* labels, double resolution) {
    std::int32_t most = -1;
    for (index_t i = 0; i < graph.n; ++i) most = std::max(most, labels[i]);
    std::vector<double> inside(at(most + 1), 0.0), mass(at(most + 1), 0.0);
    double total = 0.0;
    for (index_t i = 0; i < graph.n; ++i)
        for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e) {
            total += graph.weight[e];
            mass[at(labels[i])] += graph.weight[e];
            if (labels[graph.to[e]] == labels[i]) inside[at(labels[i])] += graph.weight[e];
        }
    double sum = 0.0;
    if (total > 0.0)
        for (std::size_t c = 0; c < mass.size(); ++c)
            sum += inside[c] / total - resolution * (mass[c] / total) * (mass[c] / total);
    return sum;
}

}  // namespace assay::graphs
