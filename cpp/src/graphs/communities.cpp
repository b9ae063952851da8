#include "assay/graphs/communities.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/interrupt.hpp"
#include "assay/common/large_pages.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

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
    LargeVector<Weight> degree;

    const Edge<Weight>* begin(std::int32_t i) const { return edges.data() + start[at(i)]; }
    const Edge<Weight>* end(std::int32_t i) const { return edges.data() + start[at(i) + 1]; }
    void weigh() {
        n = static_cast<index_t>(start.size()) - 1;
        degree.assign(at(n), Weight(0));
        for (std::int32_t i = 0; i < n; ++i)
            for (const auto* e = begin(i); e != end(i); ++e) degree[at(i)] += e->weight;
    }
};

// Weights of a node to communities, in the order they were met, beside the degrees of each community: what is asked for
// together lies together. 0 is what was not met. No branches: what comes cannot be foreseen.
template <class Weight>
class Tally {
public:
    explicit Tally(index_t n) : slots_(at(n)), met_(at(n) + 1) {}
    void add(std::int32_t c, Weight weight) {
        Slot& slot = slots_[at(c)];
        met_[at(count_)] = c;
        count_ += slot.sum == Weight(0);
        slot.sum += weight;
    }
    Weight of(std::int32_t c) const { return slots_[at(c)].sum; }
    Weight& mass(std::int32_t c) { return slots_[at(c)].mass; }
    void expect(std::int32_t c) const { __builtin_prefetch(slots_.data() + c); }
    // Tells each community that was met with its sum and its mass, and forgets the sums.
    template <class Use>
    void take(Use&& use) {
        for (index_t m = 0; m < count_; ++m) {
            Slot& slot = slots_[at(met_[at(m)])];
            const Weight sum = slot.sum;
            slot.sum = Weight(0);
            use(met_[at(m)], sum, slot.mass);
        }
        count_ = 0;
    }

private:
    struct Slot {
        Weight sum = 0, mass = 0;
    };
    LargeVector<Slot> slots_;
    LargeVector<std::int32_t> met_;
    index_t count_ = 0;
};

constexpr std::size_t farther_ahead = 20, far_ahead = 8, near_ahead = 3;

// Nodes come in an order that memory does not know: where the edges of a node begin, the edges of a nearer one and the labels
// of a still nearer one's neighbours are asked for ahead. Always inlined: compilers leave out calls of functions that do nothing
// but this.
template <class Weight>
ASSAY_INLINE void expect(const Level<Weight>& level, const LargeVector<std::int32_t>& order, std::size_t turn,
            const LargeVector<std::int32_t>& labels) {
    if (turn + farther_ahead >= order.size()) return;
    __builtin_prefetch(level.start.data() + order[turn + farther_ahead]);
    const auto* const first = level.begin(order[turn + far_ahead]);
    __builtin_prefetch(first);
    __builtin_prefetch(reinterpret_cast<const char*>(first) + 64);
    const std::int32_t near = order[turn + near_ahead];
    __builtin_prefetch(level.degree.data() + near);
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
        for (int t = 0; t < team_size(options.threads); ++t) tallies_.emplace_back(graph.n);
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
                parts = refine(*level, own, count);
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
        Tally<Weight>& tally = tallies_[0];
        for (std::int32_t c = 0; c < n; ++c) tally.mass(c) = Weight(0);
        LargeVector<std::int32_t> size(at(n), 0), empty;
        for (index_t i = 0; i < n; ++i) {
            tally.mass(community[at(i)]) += level.degree[at(i)];
            ++size[at(community[at(i)])];
        }
        for (index_t c = n; c-- > 0;)
            if (size[at(c)] == 0) empty.push_back(static_cast<std::int32_t>(c));
        // A ring of waiting nodes.
        LargeVector<std::int32_t> queue = shuffled(n);
        // How much a node would lose by its best other move when it was last looked at, less what its neighbours' moves may have
        // taken since; below 0 it waits.
        LargeVector<float> slack(at(n), -1.0F);
        std::size_t head = 0, waiting = at(n);
        const double scale = options_.resolution / total_;
        double gained = 0.0;
        index_t looked = 0;
        while (waiting > 0) {
            if ((++looked & 4095) == 0 && interrupted()) break;
            const std::int32_t i = queue[head];
            expect(level, queue, head, community);
            if (head + 1 < queue.size()) {
                const std::int32_t next = queue[head + 1];
                const auto* const stop = std::min(level.end(next), level.begin(next) + 32);
                for (const auto* e = level.begin(next); e != stop; ++e) tally.expect(community[at(e->to)]);
            }
            head = head + 1 == queue.size() ? 0 : head + 1;
            --waiting;
            const std::int32_t own = community[at(i)];
            const auto *const first = level.begin(i), *const last = level.end(i);
            for (const auto* e = first; e != last; ++e)
                if (e->to != i) tally.add(community[at(e->to)], e->weight);
            const Weight whole = level.degree[at(i)];
            const double degree = static_cast<double>(whole), factor = scale * degree;
            tally.mass(own) -= whole;
            std::int32_t best = own;
            const double staying = static_cast<double>(tally.of(own)) - factor * static_cast<double>(tally.mass(own));
            double gain = staying, second = 0.0;
            const double margin = 1e-12 * degree;
            tally.take([&](std::int32_t c, Weight weight, Weight mass) {
                const double met = static_cast<double>(weight) - factor * static_cast<double>(mass);
                const double here = c == own ? -1e300 : met;
                const bool more = here > gain + margin;
                const double less = more ? gain : here;
                second = less > second ? less : second;
                gain = more ? here : gain;
                best = more ? c : best;
            });
            if (gain < -margin && size[at(own)] > 1 && !empty.empty()) {  // better off alone
                best = empty.back();
                gain = 0.0;
            }
            slack[at(i)] = std::max(0.0F, static_cast<float>(gain - second));
            tally.mass(best) += whole;
            if (best == own) continue;
            gained += 2.0 * (gain - staying) / total_;
            if (size[at(best)]++ == 0) empty.pop_back();
            if (--size[at(own)] == 0) empty.push_back(own);
            community[at(i)] = best;
            // Neighbours that may now gain by a move wait again; without branches.
            std::size_t tail = head + waiting;
            tail = tail >= queue.size() ? tail - queue.size() : tail;
            for (const auto* e = first; e != last; ++e) {
                const std::int32_t j = e->to;
                float& left = slack[at(j)];
                const float weight = j == i ? 0.0F : static_cast<float>(e->weight);
                const float after = left + (community[at(j)] == best ? weight : -weight);
                const bool joins = (left >= 0.0F) & (after < 0.0F);
                left = left >= 0.0F ? after : left;
                queue[tail] = joins ? j : queue[tail];
                waiting += joins;
                tail += joins;
                tail = tail == queue.size() ? 0 : tail;
            }
        }
        return gained;
    }

    // Members of each group in the order they come in `order`: group g owns places begin[g] to begin[g + 1].
    struct Groups {
        LargeVector<std::int64_t> begin;
        LargeVector<std::int32_t> members;

        template <class Order>
        Groups(const LargeVector<std::int32_t>& group, std::int32_t count, Order&& order)
            : begin(at(count) + 1, 0), members(group.size()) {
            for (const std::int32_t g : group) ++begin[at(g) + 1];
            std::partial_sum(begin.begin(), begin.end(), begin.begin());
            LargeVector<std::int64_t> place(begin.begin(), begin.end() - 1);
            for (std::size_t turn = 0; turn < group.size(); ++turn) {
                const std::int32_t i = order(turn);
                members[at(place[at(group[at(i)])]++)] = i;
            }
        }
        // The first group of each of so many parts of about equal size.
        std::vector<std::int32_t> parts(index_t count) const {
            std::vector<std::int32_t> first;
            const auto total = static_cast<std::int64_t>(members.size());
            for (index_t c = 0; c <= count; ++c)
                first.push_back(static_cast<std::int32_t>(
                    std::lower_bound(begin.begin(), begin.end() - 1, total * c / count) - begin.begin()));
            first.back() = static_cast<std::int32_t>(begin.size()) - 1;
            return first;
        }
    };

    // Each thread has a tally of its own, which is empty between communities.
    Tally<Weight>& own_tally() { return tallies_[tallies_.size() > 1 ? at(thread_number()) : 0]; }

    // Parts of a level that are worked on side by side; their number depends on the level alone.
    static index_t shares(const Level<Weight>& level) { return level.n < 8192 ? 1 : 8; }

    // Communities do not see each other here, so each is refined by itself, in the drawn order of its nodes.
    LargeVector<std::int32_t> refine(const Level<Weight>& level, const LargeVector<std::int32_t>& community,
                                     std::int32_t count) {
        const index_t n = level.n;
        LargeVector<std::int32_t> part(at(n));
        std::iota(part.begin(), part.end(), 0);
        LargeVector<double> outward(at(n), 0.0);  // weight from a part to the rest of its community
        LargeVector<std::uint8_t> alone(at(n), 1);
        const LargeVector<std::int32_t> order = shuffled(n);
        const Groups groups(community, count, [&](std::size_t turn) { return order[turn]; });
        const index_t chunks = shares(level);
        const auto first = groups.parts(chunks);
        parallel_chunks(chunks, 1, options_.threads, [&](index_t chunk, index_t, index_t) {
            Tally<Weight>& tally = own_tally();
            for (std::int32_t c = first[at(chunk)]; c < first[at(chunk) + 1]; ++c)
                refine_one(level, community, c, groups, tally, part, outward, alone);
        });
        return part;
    }

    void refine_one(const Level<Weight>& level, const LargeVector<std::int32_t>& community, std::int32_t c,
                    const Groups& groups, Tally<Weight>& tally, LargeVector<std::int32_t>& part,
                    LargeVector<double>& outward, LargeVector<std::uint8_t>& alone) const {
        const auto begin = at(groups.begin[at(c)]), end = at(groups.begin[at(c) + 1]);
        if (end - begin < 2) return;
        const double scale = options_.resolution / total_;
        double whole = 0.0;
        for (std::size_t turn = begin; turn < end; ++turn) {
            const std::int32_t i = groups.members[turn];
            expect(level, groups.members, turn, community);
            whole += static_cast<double>(level.degree[at(i)]);
            tally.mass(i) = level.degree[at(i)];
            Weight sum = 0;
            for (const auto *e = level.begin(i), *last = level.end(i); e != last; ++e)
                sum += e->to != i && community[at(e->to)] == c ? e->weight : Weight(0);
            outward[at(i)] = static_cast<double>(sum);
        }
        for (std::size_t turn = begin; turn < end; ++turn) {
            const std::int32_t i = groups.members[turn];
            if (!alone[at(i)]) continue;
            const double degree = static_cast<double>(level.degree[at(i)]);
            if (outward[at(i)] < scale * degree * (whole - degree)) continue;
            Weight inner = 0;
            for (const auto *e = level.begin(i), *last = level.end(i); e != last; ++e) {
                if (e->to == i || community[at(e->to)] != c) continue;
                tally.add(part[at(e->to)], e->weight);
                inner += e->weight;
            }
            std::int32_t best = -1;
            double gain = 0.0;
            Weight shared = 0;
            tally.take([&](std::int32_t p, Weight weight, Weight held) {
                const double mass = static_cast<double>(held);
                if (outward[at(p)] < scale * mass * (whole - mass)) return;
                const double here = static_cast<double>(weight) - scale * degree * mass;
                if (here > gain) {
                    gain = here;
                    best = p;
                    shared = weight;
                }
            });
            if (best < 0 || best == part[at(i)]) continue;
            tally.mass(best) += level.degree[at(i)];
            tally.mass(part[at(i)]) -= level.degree[at(i)];
            outward[at(best)] += static_cast<double>(inner) - 2.0 * static_cast<double>(shared);
            part[at(i)] = best;
            alone[at(i)] = 0;
            alone[at(best)] = 0;
        }
    }

    Level<Weight> aggregate(const Level<Weight>& level, const LargeVector<std::int32_t>& parts, std::int32_t count) {
        const Groups groups(parts, count, [](std::size_t turn) { return static_cast<std::int32_t>(turn); });
        const index_t chunks = shares(level);
        const auto first = groups.parts(chunks);
        Level<Weight> higher;
        higher.start.assign(at(count) + 1, 0);
        std::vector<LargeVector<Edge<Weight>>> found(at(chunks));
        parallel_chunks(chunks, 1, options_.threads, [&](index_t chunk, index_t, index_t) {
            Tally<Weight>& tally = own_tally();
            auto& edges = found[at(chunk)];
            std::size_t most = 0;
            for (auto m = at(groups.begin[at(first[at(chunk)])]); m < at(groups.begin[at(first[at(chunk) + 1])]); ++m)
                most += at(level.end(groups.members[m]) - level.begin(groups.members[m]));
            edges.reserve(most);
            for (std::int32_t p = first[at(chunk)]; p < first[at(chunk) + 1]; ++p) {
                const std::size_t before = edges.size();
                for (auto m = at(groups.begin[at(p)]); m < at(groups.begin[at(p) + 1]); ++m) {
                    const std::int32_t i = groups.members[m];
                    expect(level, groups.members, m, parts);
                    for (const auto *e = level.begin(i), *last = level.end(i); e != last; ++e)
                        tally.add(parts[at(e->to)], e->weight);
                }
                tally.take([&](std::int32_t q, Weight weight, Weight) { edges.push_back({q, weight}); });
                higher.start[at(p) + 1] = static_cast<std::int64_t>(edges.size() - before);
            }
        });
        std::partial_sum(higher.start.begin(), higher.start.end(), higher.start.begin());
        higher.edges.reserve(at(higher.start.back()));
        for (const auto& edges : found) higher.edges.insert(higher.edges.end(), edges.begin(), edges.end());
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

    CommunityOptions options_;
    Random random_;
    Level<Weight> first_;
    std::vector<Tally<Weight>> tallies_;
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

bool is_plain_graph(const Csr& graph) {
    double largest = 0.0;
    for (index_t i = 0; i < graph.n; ++i)
        for (std::int64_t e = graph.start[i]; e < graph.start[i + 1]; ++e) {
            const double weight = graph.weight[e];
            if (!(weight > 0.0) || !std::isfinite(weight) || graph.to[e] == i) return false;
            if (e > graph.start[i] && graph.to[e] <= graph.to[e - 1]) return false;
            largest = std::max(largest, weight);
        }
    LargeVector<std::int64_t> next(graph.start, graph.start + graph.n);
    constexpr std::int64_t ahead = 16;
    const std::int64_t edges = graph.start[graph.n];
    for (index_t i = 0; i < graph.n; ++i) {
        // Edges to smaller nodes have all been met by now.
        if (next[at(i)] < graph.start[i + 1] && graph.to[next[at(i)]] < i) return false;
        for (std::int64_t e = next[at(i)]; e < graph.start[i + 1]; ++e) {
            if (e + 2 * ahead < edges) {
                __builtin_prefetch(next.data() + graph.to[e + 2 * ahead]);
                const std::int64_t back = next[at(graph.to[e + ahead])];
                __builtin_prefetch(graph.to + back);
                __builtin_prefetch(graph.weight + back);
            }
            const std::int32_t j = graph.to[e];
            const std::int64_t back = next[at(j)]++;
            if (back >= graph.start[j + 1] || graph.to[back] != i ||
                std::abs(graph.weight[back] - graph.weight[e]) > 1e-12 * largest)
                return false;
        }
    }
    return true;
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
