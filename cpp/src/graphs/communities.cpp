#include "assay/graphs/communities.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/interrupt.hpp"
#include "assay/common/large_pages.hpp"
#include "assay/common/random.hpp"

namespace assay::graphs {
namespace {

template <class I>
std::size_t at(I i) {
    return static_cast<std::size_t>(i);
}

// Whole weights whose sum stays below 2^31 are added as int32, exactly; all others as double.
template <class Weight>
struct Edge {
    std::int32_t to;
    Weight weight;
};

template <class Weight>
struct Level {
    index_t n = 0;
    LargeVector<std::int64_t> start;
    LargeVector<Edge<Weight>> edges;
    LargeVector<double> degree;

    const Edge<Weight>* begin(std::int32_t i) const { return edges.data() + start[at(i)]; }
    const Edge<Weight>* end(std::int32_t i) const { return edges.data() + start[at(i) + 1]; }
    void weigh() {
        n = static_cast<index_t>(start.size()) - 1;
        degree.assign(at(n), 0.0);
        for (std::int32_t i = 0; i < n; ++i)
            for (const auto* e = begin(i); e != end(i); ++e) degree[at(i)] += e->weight;
    }
};

// Weights of a node to communities, in the order they were met; 0 is what was not met. No branches: what comes cannot be
// foreseen.
template <class Weight>
class Tally {
public:
    explicit Tally(index_t n) : sum_(at(n), Weight(0)), met_(at(n) + 1) {}
    void add(std::int32_t c, Weight weight) {
        Weight& held = sum_[at(c)];
        met_[at(count_)] = c;
        count_ += held == Weight(0);
        held += weight;
    }
    Weight of(std::int32_t c) const { return sum_[at(c)]; }
    template <class Use>
    void each(Use&& use) const {
        for (index_t m = 0; m < count_; ++m) use(met_[at(m)], sum_[at(met_[at(m)])]);
    }
    void clear() {
        for (index_t m = 0; m < count_; ++m) sum_[at(met_[at(m)])] = Weight(0);
        count_ = 0;
    }

private:
    LargeVector<Weight> sum_;
    LargeVector<std::int32_t> met_;
    index_t count_ = 0;
};

// Nodes come in an order that memory does not know: the edges of a node to come and the labels of a nearer one's neighbours are
// asked for ahead.
template <class Weight>
void expect(const Level<Weight>& level, std::int32_t far, std::int32_t near, const LargeVector<std::int32_t>& labels) {
    const auto* const first = level.begin(far);
    __builtin_prefetch(first);
    __builtin_prefetch(reinterpret_cast<const char*>(first) + 64);
    const auto* const stop = std::min(level.end(near), level.begin(near) + 32);
    for (const auto* e = level.begin(near); e != stop; ++e) __builtin_prefetch(labels.data() + e->to);
}

template <class Weight>
class Search {
public:
    Search(const Csr& graph, const CommunityOptions& options) : options_(options), random_(options.key) {
        first_.start.reserve(at(graph.n) + 1);
        first_.start.push_back(0);
        first_.edges.reserve(at(graph.start[graph.n]));
        for (index_t i = 0; i < graph.n; ++i) {
            for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e)
                if (graph.weight[e] != 0.0) first_.edges.push_back({graph.to[e], static_cast<Weight>(graph.weight[e])});
            first_.start.push_back(static_cast<std::int64_t>(first_.edges.size()));
        }
        first_.weigh();
        total_ = std::accumulate(first_.degree.begin(), first_.degree.end(), 0.0);
    }

    std::vector<double> run(std::int32_t* labels) {
        std::vector<double> found;
        const index_t n = first_.n;
        LargeVector<std::int32_t> community(at(n));
        std::iota(community.begin(), community.end(), 0);
        double now = 0.0;
        if (total_ > 0.0) now = start_quality();
        for (index_t round = 0; round < options_.rounds && total_ > 0.0 && !interrupted(); ++round) {
            const double before = now;
            descend(community, found, now);
            if (now <= before + 1e-12) break;
        }
        number(community);
        std::copy(community.begin(), community.end(), labels);
        return found;
    }

private:
    // Modularity of single nodes.
    double start_quality() const {
        double sum = 0.0;
        for (std::int32_t i = 0; i < first_.n; ++i) {
            const double share = first_.degree[at(i)] / total_;
            sum -= options_.resolution * share * share;
            for (const auto* e = first_.begin(i); e != first_.end(i); ++e)
                if (e->to == i) sum += e->weight / total_;
        }
        return sum;
    }

    // Levels from this partition of the first graph up; community holds the result, now its modularity.
    void descend(LargeVector<std::int32_t>& community, std::vector<double>& found, double& now) {
        Level<Weight> held;
        const Level<Weight>* level = &first_;
        LargeVector<std::int32_t> own = community, node(at(first_.n));
        std::iota(node.begin(), node.end(), 0);  // the level's node of each node of the first graph
        while (!interrupted()) {
            const double gain = move_nodes(*level, own);
            now += gain;
            const std::int32_t count = number(own);
            found.push_back(now);
            const bool last = count == static_cast<std::int32_t>(level->n) || (!options_.refine && gain <= 0.0);
            LargeVector<std::int32_t> parts;
            std::int32_t parts_count = count;
            if (!last && options_.refine) {
                parts = refine(*level, own);
                parts_count = number(parts);
            }
            if (last || parts_count == static_cast<std::int32_t>(level->n)) {
                for (std::size_t i = 0; i < node.size(); ++i) community[i] = own[at(node[i])];
                break;
            }
            if (!options_.refine) parts = own;
            LargeVector<std::int32_t> next(at(parts_count));
            for (std::size_t i = 0; i < parts.size(); ++i) next[at(parts[i])] = own[i];
            for (std::int32_t& v : node) v = parts[at(v)];
            Level<Weight> higher = aggregate(*level, parts, parts_count);
            held = std::move(higher);
            held.weigh();
            level = &held;
            own = std::move(next);
        }
    }

    LargeVector<std::int32_t> shuffled(index_t n) {
        LargeVector<std::int32_t> order(at(n));
        std::iota(order.begin(), order.end(), 0);
        for (index_t i = n - 1; i > 0; --i)
            std::swap(order[at(i)], order[at(random_.below(static_cast<std::uint32_t>(i + 1)))]);
        return order;
    }

    // Moves nodes until none gains; the gain in modularity.
    double move_nodes(const Level<Weight>& level, LargeVector<std::int32_t>& community) {
        const index_t n = level.n;
        LargeVector<double> mass(at(n), 0.0);
        LargeVector<std::int32_t> size(at(n), 0), empty;
        for (index_t i = 0; i < n; ++i) {
            mass[at(community[at(i)])] += level.degree[at(i)];
            ++size[at(community[at(i)])];
        }
        for (index_t c = n; c-- > 0;)
            if (size[at(c)] == 0) empty.push_back(static_cast<std::int32_t>(c));
        // A ring of waiting nodes.
        LargeVector<std::int32_t> queue = shuffled(n);
        LargeVector<std::uint8_t> waits(at(n), 1);
        std::size_t head = 0, waiting = at(n);
        Tally<Weight> tally(n);
        const double scale = options_.resolution / total_;
        double gained = 0.0;
        index_t looked = 0;
        while (waiting > 0) {
            if ((++looked & 4095) == 0 && interrupted()) break;
            const std::int32_t i = queue[head];
            if (head + far_ahead < queue.size()) expect(level, queue[head + far_ahead], queue[head + near_ahead], community);
            head = head + 1 == queue.size() ? 0 : head + 1;
            --waiting;
            waits[at(i)] = 0;
            const std::int32_t own = community[at(i)];
            const auto *const first = level.begin(i), *const last = level.end(i);
            for (const auto* e = first; e != last; ++e)
                if (e->to != i) tally.add(community[at(e->to)], e->weight);
            const double degree = level.degree[at(i)];
            mass[at(own)] -= degree;
            std::int32_t best = own;
            const double staying = tally.of(own) - scale * degree * mass[at(own)];
            double gain = staying;
            tally.each([&](std::int32_t c, Weight weight) {
                const double here = weight - scale * degree * mass[at(c)];
                if (here > gain + 1e-12 * degree) {
                    gain = here;
                    best = c;
                }
            });
            tally.clear();
            if (gain < -1e-12 * degree && size[at(own)] > 1 && !empty.empty()) {  // better off alone
                best = empty.back();
                gain = 0.0;
            }
            mass[at(best)] += degree;
            if (best == own) continue;
            gained += 2.0 * (gain - staying) / total_;
            if (size[at(best)]++ == 0) empty.pop_back();
            if (--size[at(own)] == 0) empty.push_back(own);
            community[at(i)] = best;
            // Neighbours elsewhere wait again; without branches.
            std::size_t tail = head + waiting;
            tail = tail >= queue.size() ? tail - queue.size() : tail;
            for (const auto* e = first; e != last; ++e) {
                const std::int32_t j = e->to;
                const bool joins = !waits[at(j)] & (community[at(j)] != best);
                queue[tail] = joins ? j : queue[tail];
                waits[at(j)] |= static_cast<std::uint8_t>(joins);
                waiting += joins;
                tail += joins;
                tail = tail == queue.size() ? 0 : tail;
            }
        }
        return gained;
    }

    LargeVector<std::int32_t> refine(const Level<Weight>& level, const LargeVector<std::int32_t>& community) {
        const index_t n = level.n;
        LargeVector<std::int32_t> part(at(n));
        std::iota(part.begin(), part.end(), 0);
        LargeVector<double> whole(at(n), 0.0), mass = level.degree, outward(at(n), 0.0);
        LargeVector<std::uint8_t> alone(at(n), 1);
        const double scale = options_.resolution / total_;
        for (index_t i = 0; i < n; ++i) whole[at(community[at(i)])] += level.degree[at(i)];
        // outward[p]: weight from part p to the rest of its community.
        for (std::int32_t i = 0; i < n; ++i) {
            const std::int32_t c = community[at(i)];
            Weight sum = 0;
            for (const auto *e = level.begin(i), *last = level.end(i); e != last; ++e)
                sum += e->to != i && community[at(e->to)] == c ? e->weight : Weight(0);
            outward[at(i)] = sum;
        }
        Tally<Weight> tally(n);
        const LargeVector<std::int32_t> order = shuffled(n);
        for (std::size_t turn = 0; turn < order.size(); ++turn) {
            const std::int32_t i = order[turn];
            if (turn + far_ahead < order.size()) expect(level, order[turn + far_ahead], order[turn + near_ahead], community);
            if (!alone[at(i)]) continue;
            const std::int32_t c = community[at(i)];
            const double degree = level.degree[at(i)];
            if (outward[at(i)] < scale * degree * (whole[at(c)] - degree)) continue;
            Weight inner = 0;
            const auto *const first = level.begin(i), *const last = level.end(i);
            for (const auto* e = first; e != last; ++e) {
                if (e->to == i || community[at(e->to)] != c) continue;
                tally.add(part[at(e->to)], e->weight);
                inner += e->weight;
            }
            std::int32_t best = -1;
            double gain = 0.0;
            Weight shared = 0;
            tally.each([&](std::int32_t p, Weight weight) {
                if (outward[at(p)] < scale * mass[at(p)] * (whole[at(c)] - mass[at(p)])) return;
                const double here = weight - scale * degree * mass[at(p)];
                if (here > gain) {
                    gain = here;
                    best = p;
                    shared = weight;
                }
            });
            if (best >= 0 && best != part[at(i)]) {
                mass[at(best)] += degree;
                mass[at(part[at(i)])] -= degree;
                outward[at(best)] += static_cast<double>(inner) - 2.0 * static_cast<double>(shared);
                part[at(i)] = best;
                alone[at(i)] = 0;
                alone[at(best)] = 0;
            }
            tally.clear();
        }
        return part;
    }

    Level<Weight> aggregate(const Level<Weight>& level, const LargeVector<std::int32_t>& parts, std::int32_t count) const {
        LargeVector<std::int64_t> begin(at(count) + 1, 0);
        for (const std::int32_t p : parts) ++begin[at(p) + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        LargeVector<std::int32_t> members(parts.size());
        LargeVector<std::int64_t> place(begin.begin(), begin.end() - 1);
        for (std::size_t i = 0; i < parts.size(); ++i) members[at(place[at(parts[i])]++)] = static_cast<std::int32_t>(i);
        Level<Weight> higher;
        higher.start.reserve(at(count) + 1);
        higher.start.push_back(0);
        higher.edges.reserve(level.edges.size());
        Tally<Weight> tally(count);
        for (std::int32_t p = 0; p < count; ++p) {
            for (std::int64_t m = begin[at(p)]; m < begin[at(p) + 1]; ++m) {
                const std::int32_t i = members[at(m)];
                if (at(m) + far_ahead < members.size())
                    expect(level, members[at(m) + far_ahead], members[at(m) + near_ahead], parts);
                for (const auto *e = level.begin(i), *last = level.end(i); e != last; ++e) tally.add(parts[at(e->to)], e->weight);
            }
            tally.each([&](std::int32_t q, Weight weight) { higher.edges.push_back({q, weight}); });
            tally.clear();
            higher.start.push_back(static_cast<std::int64_t>(higher.edges.size()));
        }
        return higher;
    }

    // Labels 0, 1, ... in the order of their first nodes; how many there are.
    static std::int32_t number(LargeVector<std::int32_t>& labels) {
        LargeVector<std::int32_t> name(labels.size(), -1);
        std::int32_t next = 0;
        for (std::int32_t& label : labels) {
            if (name[at(label)] < 0) name[at(label)] = next++;
            label = name[at(label)];
        }
        return next;
    }

    static constexpr std::size_t far_ahead = 8, near_ahead = 3;
    CommunityOptions options_;
    Random random_;
    Level<Weight> first_;
    double total_ = 0.0;
};

}  // namespace

std::vector<double> communities(const Csr& graph, const CommunityOptions& options, std::int32_t* labels) {
    double sum = 0.0;
    bool whole = true;
    for (std::int64_t e = 0; e < graph.start[graph.n] && whole; ++e) {
        sum += graph.weight[e];
        whole = graph.weight[e] == std::floor(graph.weight[e]) && graph.weight[e] >= 0.0 && sum < 2147483647.0;
    }
    return whole ? Search<std::int32_t>(graph, options).run(labels) : Search<double>(graph, options).run(labels);
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
