// Learning from experience in a world of finitely many states and actions, by temporal differences.
//
// In state s the agent does a, gets the reward r and comes to s'. With the error
//
//     d = r + g F(s') - Q(s, a),    F(s') = max_b Q(s', b)  (Q-learning: Watkins, 1989)
//                                   F(s') = Q(s', a')       (Sarsa: Rummery & Niranjan, 1994; a' is the action that follows)
//
// and F = 0 where the walk ends, every pair of state and action is moved by its eligibility e:
//
//     Q(x, b) += rate(x, b) d e(x, b);   e <- g l e after each step, and e(s, a) is set to 1 (replacing) or raised by 1
//     (accumulating) when a is done in s.  l = 0 is the one-step rule.
//
// Q(l) by Watkins sets every e to 0 after an action that was not the best; `cut` = false keeps them (naive Q(l)). A trace below
// 1e-10 is dropped. The rate of a pair is the rate of the episode over (visits of the pair)^power. Actions are chosen with
// chance `explore` at random and otherwise the best (ties at random), or by a softmax of Q / `explore`.
//
// Sarsa chooses a' before Q changes and does a'; Q-learning chooses after. An episode that is broken off after `most_steps` does
// not end the walk: the value of the state it stopped in counts.
//
// Each replicate has two streams below one key, one of the agent and one of the world: no result depends on threads. Cost of a
// step: the actions of two states, and the pairs whose traces live.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/views.hpp"

namespace assay::agents {

struct Rule {
    bool on_policy = false, accumulate = false, cut = true, softmax = false;
    double lambda = 0.0, discount = 0.95, power = 0.0;
};

// One agent: a table of values and what it needs to learn them. `begin` and `step` give the action that is to be done.
class Agent {
public:
    Agent(index_t states, index_t actions, const Rule& rule, double initial, std::uint64_t key, std::uint64_t stream);

    index_t begin(index_t state, double explore, double rate);
    // What the action brought; the next action, or -1 where the walk ended. `error()` is the last temporal difference.
    index_t step(double reward, index_t next, bool ends);

    index_t states() const { return states_; }
    index_t actions() const { return actions_; }
    double error() const { return error_; }
    const std::vector<double>& values() const { return q_; }

private:
    struct Eligible {
        index_t pair;
        double trace;
    };
    struct Choice {
        index_t action;
        bool best;
    };
    Choice choose(index_t state);
    Choice choose_softmax(index_t state);
    double best(index_t state) const;
    double rate_of(index_t pair);
    void visit(index_t pair);
    void learn(double error);

    index_t states_, actions_, state_ = 0, action_ = 0;
    Rule rule_;
    double explore_ = 0.0, rate_ = 0.0, error_ = 0.0;
    std::vector<double> q_, shares_, powers_;
    std::vector<std::uint32_t> visits_;
    std::vector<Eligible> eligible_;
    std::vector<index_t> place_;  // of a pair in `eligible_`, or -1; only with traces
    Random random_;
};

// A world as a table: row s * actions + a of `starts` delimits what may follow; `upto` are chances added up within a row (the
// last is 1), `noise` standard deviations of the rewards, `ends` whether the walk is over. Walks begin in `first` with chances
// `first_upto`.
struct Outcomes {
    index_t states = 0, actions = 0, entries = 0, first_states = 0;
    const std::int64_t* starts = nullptr;
    const std::int32_t* next = nullptr;
    const double* upto = nullptr;
    const double* rewards = nullptr;
    const double* noise = nullptr;
    const std::uint8_t* ends = nullptr;
    const std::int32_t* first = nullptr;
    const double* first_upto = nullptr;
};

// One step of a walk as the trace keeps it.
struct Update {
    std::int64_t episode, state, action, next;
    double reward, error;
};

struct Lessons {
    index_t replicates = 0, episodes = 0, most_steps = 0, most_updates = 0;
    const double* explore = nullptr;  // per episode
    const double* rate = nullptr;     // per episode
};

// values OUT replicates x states x actions; returns and lengths OUT replicates x episodes; updates OUT the first steps of
// replicate 0.
void learn_values(const Outcomes& world, const Rule& rule, const Lessons& lessons, double initial, std::uint64_t key,
                  double* values, double* returns, std::int64_t* lengths, std::vector<Update>& updates, int threads);

// The returns of walks under a policy that is held; returns and lengths OUT episodes.
void follow_policy(const Outcomes& world, const std::int64_t* policy, index_t episodes, index_t most_steps, double discount,
                   std::uint64_t key, double* returns, std::int64_t* lengths, int threads);

}  // namespace assay::agents
