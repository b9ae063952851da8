#include "assay/agents/temporal_difference.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/threads.hpp"

namespace assay::agents {
namespace {

constexpr double least_trace = 1e-10;
constexpr index_t known_powers = 4096;  // rates of pairs that were visited less often are looked up
constexpr index_t grain = 64;           // walks of a chunk when a policy is followed

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The place that a uniform number falls into; `upto` rises to 1.
index_t drawn(const double* upto, index_t count, Random& random) {
    if (count == 1) return 0;
    const double u = random.uniform();
    index_t k = 0;
    while (k + 1 < count && u >= upto[k]) ++k;
    return k;
}

struct Event {
    index_t next;
    double reward;
    bool ends;
};

class Walk {
public:
    Walk(const Outcomes& world, std::uint64_t key, std::uint64_t stream) : world_(world), random_(key, stream) {}

    index_t begin() { return state_ = world_.first[drawn(world_.first_upto, world_.first_states, random_)]; }
    Event step(index_t action) {
        const index_t row = state_ * world_.actions + action;
        const index_t from = world_.starts[row];
        const index_t p = from + drawn(world_.upto + from, world_.starts[row + 1] - from, random_);
        double reward = world_.rewards[p];
        if (world_.noise[p] > 0.0) reward += world_.noise[p] * random_.normal();
        state_ = world_.next[p];
        return {state_, reward, world_.ends[p] != 0};
    }

private:
    const Outcomes& world_;
    Random random_;
    index_t state_ = 0;
};

bool stop_at(index_t step) { return (step & 0xFFFF) == 0xFFFF && interrupted(); }

}  // namespace

Agent::Agent(index_t states, index_t actions, const Rule& rule, double initial, std::uint64_t key, std::uint64_t stream)
    : states_(states), actions_(actions), rule_(rule), q_(at(states * actions), initial), random_(key, stream) {
    if (rule.power > 0.0) {
        visits_.assign(q_.size(), 0);
        powers_.resize(at(known_powers));
        for (index_t n = 0; n < known_powers; ++n) powers_[at(n)] = std::pow(static_cast<double>(std::max<index_t>(n, 1)), -rule.power);
    }
    if (rule.lambda > 0.0) place_.assign(q_.size(), -1);
    if (rule.softmax) shares_.resize(at(actions));
}

double Agent::best(index_t state) const {
    const double* const row = q_.data() + state * actions_;
    double found = row[0];
    for (index_t a = 1; a < actions_; ++a) found = std::max(found, row[a]);
    return found;
}

Agent::Choice Agent::choose(index_t state) {
    if (rule_.softmax) return choose_softmax(state);
    const double* const row = q_.data() + state * actions_;
    const double most = best(state);
    if (explore_ > 0.0 && static_cast<double>(random_.bits32()) < explore_ * 0x1.0p32) {
        const auto action = static_cast<index_t>(random_.below(static_cast<std::uint32_t>(actions_)));
        return {action, row[action] == most};
    }
    index_t found = -1, equals = 0;
    for (index_t a = 0; a < actions_; ++a) {
        if (row[a] != most) continue;
        if (found < 0) found = a;
        ++equals;
    }
    if (equals > 1) {
        auto skip = static_cast<index_t>(random_.below(static_cast<std::uint32_t>(equals)));
        for (index_t a = found; a < actions_; ++a) {
            if (row[a] != most) continue;
            found = a;
            if (skip-- == 0) break;
        }
    }
    return {std::max<index_t>(found, 0), true};
}

Agent::Choice Agent::choose_softmax(index_t state) {
    const double* const row = q_.data() + state * actions_;
    const double most = best(state);
    double sum = 0.0;
    for (index_t a = 0; a < actions_; ++a) sum += shares_[at(a)] = std::exp((row[a] - most) / explore_);
    double left = random_.uniform() * sum;
    index_t action = 0;
    while (action + 1 < actions_ && left >= shares_[at(action)]) left -= shares_[at(action++)];
    return {action, row[action] == most};
}

index_t Agent::begin(index_t state, double explore, double rate) {
    explore_ = explore;
    rate_ = rate;
    for (const Eligible& one : eligible_) place_[at(one.pair)] = -1;
    eligible_.clear();
    state_ = state;
    return action_ = choose(state).action;
}

double Agent::rate_of(index_t pair) {
    if (visits_.empty()) return rate_;
    const auto n = static_cast<index_t>(visits_[at(pair)]);
    return rate_ * (n < known_powers ? powers_[at(n)] : std::pow(static_cast<double>(n), -rule_.power));
}

void Agent::visit(index_t pair) {
    if (!visits_.empty() && visits_[at(pair)] != 0xFFFFFFFFU) ++visits_[at(pair)];
    if (place_.empty()) return;
    index_t& place = place_[at(pair)];
    if (place < 0) {
        place = static_cast<index_t>(eligible_.size());
        eligible_.push_back({pair, 1.0});
    } else {
        double& trace = eligible_[at(place)].trace;
        trace = rule_.accumulate ? trace + 1.0 : 1.0;
    }
}

void Agent::learn(double error) {
    const double fade = rule_.discount * rule_.lambda;
    for (index_t k = 0; k < static_cast<index_t>(eligible_.size());) {
        Eligible& one = eligible_[at(k)];
        q_[at(one.pair)] += rate_of(one.pair) * error * one.trace;
        one.trace *= fade;
        if (one.trace >= least_trace) {
            ++k;
            continue;
        }
        place_[at(one.pair)] = -1;
        if (k + 1 < static_cast<index_t>(eligible_.size())) {
            one = eligible_.back();
            place_[at(one.pair)] = k;
        }
        eligible_.pop_back();
    }
}

index_t Agent::step(double reward, index_t next, bool ends) {
    const index_t pair = state_ * actions_ + action_;
    Choice following{-1, true};
    double target = reward;
    if (!ends && rule_.on_policy) {
        following = choose(next);
        target += rule_.discount * q_[at(next * actions_ + following.action)];
    } else if (!ends) {
        target += rule_.discount * best(next);
    }
    error_ = target - q_[at(pair)];
    visit(pair);
    if (place_.empty())
        q_[at(pair)] += rate_of(pair) * error_;
    else
        learn(error_);
    if (ends) return -1;
    if (!rule_.on_policy) following = choose(next);
    if (!rule_.on_policy && rule_.cut && !following.best) {
        for (const Eligible& one : eligible_) place_[at(one.pair)] = -1;
        eligible_.clear();
    }
    state_ = next;
    return action_ = following.action;
}

void learn_values(const Outcomes& world, const Rule& rule, const Lessons& lessons, double initial, std::uint64_t key,
                  double* values, double* returns, std::int64_t* lengths, std::vector<Update>& updates, int threads) {
    parallel_chunks(lessons.replicates, 1, threads, [&](index_t replicate, index_t, index_t) {
        const auto stream = static_cast<std::uint64_t>(2 * replicate);
        Agent agent(world.states, world.actions, rule, initial, key, stream);
        Walk walk(world, key, stream + 1);
        const bool told = replicate == 0 && lessons.most_updates > 0;
        for (index_t e = 0; e < lessons.episodes && !interrupted(); ++e) {
            index_t state = walk.begin(), steps = 0;
            index_t action = agent.begin(state, lessons.explore[e], lessons.rate[e]);
            double sum = 0.0;
            while (steps < lessons.most_steps && !stop_at(steps)) {
                const Event event = walk.step(action);
                const index_t following = agent.step(event.reward, event.next, event.ends);
                if (told && static_cast<index_t>(updates.size()) < lessons.most_updates)
                    updates.push_back({e, state, action, event.next, event.reward, agent.error()});
                sum += event.reward;
                ++steps;
                state = event.next;
                action = following;
                if (event.ends) break;
            }
            returns[replicate * lessons.episodes + e] = sum;
            lengths[replicate * lessons.episodes + e] = steps;
        }
        std::copy(agent.values().begin(), agent.values().end(), values + replicate * world.states * world.actions);
    });
}

void follow_policy(const Outcomes& world, const std::int64_t* policy, index_t episodes, index_t most_steps, double discount,
                   std::uint64_t key, double* returns, std::int64_t* lengths, int threads) {
    parallel_chunks(episodes, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        Walk walk(world, key, static_cast<std::uint64_t>(chunk));
        for (index_t e = begin; e < end; ++e) {
            index_t state = walk.begin(), steps = 0;
            double sum = 0.0, weight = 1.0;
            while (steps < most_steps && !stop_at(steps)) {
                const Event event = walk.step(policy[state]);
                sum += weight * event.reward;
                weight *= discount;
                ++steps;
                state = event.next;
                if (event.ends) break;
            }
            returns[e] = sum;
            lengths[e] = steps;
        }
    });
}

}  // namespace assay::agents
