// One problem of the lasso or elastic net: its working set with the block of Q, and the steps that lower its objective.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "assay/common/interrupt.hpp"
#include "elastic_net_design.hpp"
#include "elastic_net_factor.hpp"
#include "elastic_net_penalty.hpp"

namespace assay::elastic_net {

constexpr index_t exact_limit = 1000;    // active columns up to which the final step is exact
constexpr double optimal_within = 1e-9;  // relative excess of |g_j| over l1 v_j that `refine` still removes
constexpr double expected_margin = 0.97; // of l1 v_j, above which a column is expected to become active
constexpr double inner_share = 0.7;      // of the tolerance, for the columns of the working set alone
constexpr double single_limit = 1e-6;    // tolerance down to which sweeps may read Q in single precision
constexpr index_t least_for_copy = 8;    // penalties from which a copy of the columns in single precision pays
constexpr index_t least_by_residual = 400;  // working columns from which a sweep over cells may be cheaper than one over Q
constexpr index_t cells_per_entry = 8;      // entries of Q that cost as much as one cell
constexpr index_t sweeps_per_check = 5;     // by residual: between two looks at the gap, which cost a sweep each
constexpr index_t least_by_full_columns = 128;  // working columns from which sweeps over full columns may be cheaper than Q
constexpr index_t exact_by_full_columns = 200;  // active columns up to which Q is then computed for the final step
constexpr index_t rows_a_column = 4;        // by full columns: rows for each column that a first working set may have
constexpr index_t entries_a_sweep = 16;     // cells of a sweep over full columns that take as long as one entry of Q takes rows

// Whether blocks of Q, and passes whose rounding is bounded, may be in single precision.
inline bool allows_single(const ElasticNetTask& task) {
    return task.tolerance >= single_limit && !task.refine && !task.trace;
}

// The last few sweeps, for extrapolation. What depends on the coefficients is kept where it is mixed later: neither of
// the start, from which the first difference is taken, nor of the last end, which is where the problem stands then.
struct History {
    static constexpr std::size_t depth = 5;
    std::vector<std::vector<double>> b, g;

    void keep(const std::vector<double>& new_b, const std::vector<double>& new_g) {
        b.push_back(new_b);
        if (b.size() > 1 && !full()) g.push_back(new_g);
    }
    bool full() const { return b.size() == depth + 1; }
    void clear() {
        b.clear();
        g.clear();
    }

    // Weights (summing to one) of the last `depth` iterates that make the combined step shortest; false if singular.
    bool combine(std::vector<double>& weights) const {
        std::vector<double> products(at(row_start(depth))), left, right;
        const auto m = static_cast<index_t>(b[0].size());
        double trace = 0;
        const auto difference = [&](std::size_t i, std::vector<double>& out) {
            out = b[i + 1];
            add_multiple(-1.0, b[i].data(), out.data(), m);
        };
        for (std::size_t i = 0; i < depth; ++i) {
            difference(i, left);
            for (std::size_t j = 0; j <= i; ++j) {
                difference(j, right);
                products[at(row_start(static_cast<index_t>(i))) + j] = dot(left.data(), right.data(), m);
            }
            trace += products[at(row_start(static_cast<index_t>(i))) + i];
        }
        for (std::size_t i = 0; i < depth; ++i) products[at(row_start(static_cast<index_t>(i))) + i] += 1e-10 * trace;
        if (!(trace > 0) || !factorise(products.data(), depth, 1)) return false;
        weights.assign(depth, 1.0);
        solve_factored(products.data(), depth, weights);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (double& w : weights) w /= sum;
        return std::isfinite(sum) && sum > 0;
    }

    // Goes from the last end to the combination of coefficients, and of what depends on them linearly; false if one is
    // negative that must not be. The end is then found in the place of the first, for `return_to_end`.
    bool mix(const std::vector<double>& weights, std::vector<double>& new_b, std::vector<double>& new_g, bool positive) {
        const auto go = [&](std::vector<double>& values, std::vector<double>* kept) {
            const auto count = static_cast<index_t>(values.size());
            for (double& value : kept[0]) value *= weights[0];
            for (std::size_t i = 1; i + 1 < depth; ++i) add_multiple(weights[i], kept[i].data(), kept[0].data(), count);
            add_multiple(weights[depth - 1], values.data(), kept[0].data(), count);
            values.swap(kept[0]);
        };
        go(new_b, b.data() + 1);
        go(new_g, g.data());
        return !positive || std::all_of(new_b.begin(), new_b.end(), [](double x) { return x >= 0; });
    }
    void return_to_end(std::vector<double>& new_b, std::vector<double>& new_g) {
        new_b.swap(b[1]);
        new_g.swap(g[0]);
    }
};

// One problem: its working set with the block of Q, and coordinate descent on it.
class Problem {
public:
    // by_full_columns: without Q where the working set is large.
    Problem(Design& design, index_t number, const ElasticNetTask& task, bool by_full_columns, int threads)
        : design_(design), task_(task), number_(number), threads_(threads), by_full_columns_(by_full_columns),
          place(at(design.p), -1), q_(allows_single(task)) {
        gradient.value.assign(design.cross(number), design.cross(number) + design.p);
        gradient.slack.assign(at(design.p), 0.0);
        gradient.residual_squares = y_squares = design.y_squares(number);
    }

    std::vector<index_t> columns;  // the working set
    std::vector<double> b;         // coefficients by place
    Gradient gradient;             // over all columns
    double y_squares;
    index_t sweeps = 0;            // at the current penalty
    bool more_to_come = false;     // whether columns had to wait when the working set last grew
    bool abandoned = false;        // whether sweeps over full columns took longer than Q would have
    bool exact = false;            // whether the coefficients are the minimum over the working set, to rounding
    std::vector<double> objective;

private:
    Design& design_;
    const ElasticNetTask& task_;
    index_t number_;
    int threads_;
    bool by_full_columns_;

public:
    std::vector<index_t> place;

    Request request(double l1) { return {number_, {columns, b}, gradient, place, l1}; }

    // Coefficients to start from.
    void start(const double* values) {
        std::vector<index_t> chosen;
        for (index_t j = 0; j < design_.p; ++j)
            if (values[j] != 0 && std::isfinite(task_.penalty_weights[j])) chosen.push_back(j);
        admit(chosen);
        for (std::size_t k = 0; k < columns.size(); ++k) b[k] = values[columns[k]];
    }

    double largest_pull(const Penalty& penalty) const {
        double largest = 0;
        for (index_t j = 0; j < design_.p; ++j)
            largest = std::max(largest, penalty.pull(gradient.value[at(j)]) / task_.penalty_weights[j]);
        return largest;
    }

    // Says where the path is expected to lead at the next penalty: between kinks it is linear in alpha, so gradient and
    // coefficients go on by `share` of their last change. Keeps where they are now, for the next call.
    void foresee(double share) {
        share_ = share;
        keep_gradient_ = true;
        last_b_.resize(b.size(), 0.0);
        ahead_ = b;
        if (share > 0)
            for (std::size_t k = 0; k < b.size(); ++k) {
                const double next = b[k] + share * (b[k] - last_b_[k]);
                if (b[k] * next > 0) ahead_[k] = next;
            }
        last_b_ = b;
    }
    void expect_no_change() { share_ = 0; }

    // Goes where the path was expected to lead, if that is downhill.
    void leap(const Penalty& penalty) {
        load_gradient();
        const double before = measure(penalty).objective(penalty);
        const std::vector<double> old_b = b, old_g = g_;
        ahead_.resize(b.size(), 0.0);  // of columns that have entered since
        b = ahead_;
        if (by_residual_) rebuild_gradient();
        else follow_changes(old_b);
        if (!(measure(penalty).objective(penalty) < before)) {
            b = old_b;
            g_ = old_g;
        }
    }

    // Admits the columns outside the working set whose expected pull is above threshold v_j, the strongest first, at most
    // about twice as many as are active. Returns how many entered.
    index_t grow(const Penalty& penalty, double threshold) {
        std::vector<index_t> found;
        const auto pull = [&](index_t j) {
            double expected = gradient.value[at(j)];
            if (share_ > 0) expected += share_ * (gradient.value[at(j)] - last_gradient_[at(j)]);
            return penalty.pull(expected) / task_.penalty_weights[j];
        };
        for (index_t j = 0; j < design_.p; ++j)
            if (place[at(j)] < 0 && pull(j) > threshold) found.push_back(j);
        index_t room = std::max<index_t>(64, 2 * active());
        if (by_full_columns_) room = std::max(room, design_.rows() / rows_a_column);
        const auto most = static_cast<std::size_t>(room);
        more_to_come = found.size() > most;
        // Sweeps over full columns find out for themselves which of them matter: no rounds for a few more.
        if (by_full_columns_ && !more_to_come && 2 * static_cast<index_t>(columns.size() + found.size()) > design_.p) {
            found.clear();
            for (index_t j = 0; j < design_.p; ++j)
                if (place[at(j)] < 0 && std::isfinite(task_.penalty_weights[j])) found.push_back(j);
        }
        if (more_to_come) {
            const auto stronger = [&](index_t i, index_t j) {
                const double left = pull(i), right = pull(j);
                return left > right || (left == right && i < j);
            };
            std::nth_element(found.begin(), found.begin() + static_cast<index_t>(most), found.end(), stronger);
            found.resize(most);
            std::sort(found.begin(), found.end());
        }
        admit(found);
        if (keep_gradient_) last_gradient_ = gradient.value;
        keep_gradient_ = false;
        return static_cast<index_t>(found.size());
    }

    // Lets go of idle columns when they outnumber the active ones, so that updates stay short.
    void shed(const Penalty& penalty) {
        if (static_cast<index_t>(columns.size()) <= active() + active() / 4 + 100) return;
        std::vector<index_t> kept;
        for (std::size_t k = 0; k < columns.size(); ++k)
            if (b[k] != 0 || strength(penalty, columns[k]) > 0.8 * penalty.l1) kept.push_back(static_cast<index_t>(k));
        const auto m = static_cast<index_t>(kept.size());
        for (index_t a = 0; a < m; ++a) {
            for (index_t c = 0; c < m && !by_residual_; ++c) q_.set(a, c, q_.cell(kept[at(a)], kept[at(c)]));
        }
        for (index_t j : columns) place[at(j)] = -1;
        last_b_.resize(b.size(), 0.0);
        for (index_t a = 0; a < m; ++a) {
            last_b_[at(a)] = last_b_[at(kept[at(a)])];
            columns[at(a)] = columns[at(kept[at(a)])];
            b[at(a)] = b[at(kept[at(a)])];
            place[at(columns[at(a)])] = a;
        }
        columns.resize(at(m));
        b.resize(at(m));
        last_b_.resize(at(m));
        if (by_residual_) design_.extend(number_, columns, 0, state_, threads_);
        gather();
    }

    // Coordinate descent until the gap of the working set is below `target`.
    void solve(const Penalty& penalty, double target, bool trace) {
        exact = false;
        if (by_residual_ && by_full_columns_) return solve_by_full_columns(penalty, target, trace);
        if (by_residual_) return solve_by_residual(penalty, target, trace);
        index_t waited = 0;
        History history;
        while (sweeps < task_.max_sweeps && !interrupted()) {
            sweep(penalty);
            ++sweeps;
            const GapSums sums = measure(penalty);
            if (trace) objective.push_back(sums.objective(penalty));
            if (sums.gap(penalty) <= target) break;
            history.keep(b, g_);
            if (++waited >= sweeps_before_exact()) {
                waited = 0;
                for (int steps = 0; steps < 5 && !exact_step(penalty); ++steps) {}
                history.clear();
            } else if (history.full()) {
                extrapolate(penalty, history, sums.objective(penalty));
            } else {
                continue;
            }
            if (trace) objective.push_back(measure(penalty).objective(penalty));
            if (measure(penalty).gap(penalty) <= target) break;
        }
    }

    // Alternates exact steps and sweeps until no coefficient changes between zero and non-zero.
    void refine(const Penalty& penalty, bool trace) {
        if (by_residual_ && active() <= (by_full_columns_ ? exact_by_full_columns : exact_limit)) leave_residual(penalty);
        if (by_residual_) return;
        for (int round = 0; round < 100 && active() <= exact_limit && !interrupted(); ++round) {
            const bool whole = exact_step(penalty);
            if (trace) objective.push_back(measure(penalty).objective(penalty));
            bool optimal = true;
            for (std::size_t k = 0; k < columns.size() && optimal; ++k)
                optimal = b[k] != 0 || penalty.pull(g_[k]) <= penalty.l1 * v_[k] * (1 + optimal_within);
            exact = whole && optimal;
            if (exact || sweeps >= task_.max_sweeps) return;
            sweep(penalty);
            ++sweeps;
            if (trace) objective.push_back(measure(penalty).objective(penalty));
        }
    }

    void load_gradient() {
        for (std::size_t k = 0; k < columns.size(); ++k) g_[k] = gradient.value[at(columns[k])];
    }

    // Over all columns, from the refreshed gradient.
    double full_gap(const Penalty& penalty) const {
        GapSums sums{y_squares, gradient.residual_squares};
        const double* c = design_.cross(number_);
        for (index_t j = 0; j < design_.p; ++j) {
            const double v = task_.penalty_weights[j];
            if (!std::isfinite(v)) continue;
            const double value = place[at(j)] >= 0 ? b[at(place[at(j)])] : 0.0;
            sums.add(penalty, v, value, gradient.value[at(j)], c[j], gradient.slack[at(j)]);
        }
        return sums.gap(penalty);
    }

    bool breaks_optimality_outside(const Penalty& penalty) const {
        for (index_t j = 0; j < design_.p; ++j)
            if (place[at(j)] < 0 && strength(penalty, j) > penalty.l1 * (1 + optimal_within)) return true;
        return false;
    }

    void write(ElasticNetPoint& point) const {
        const std::size_t count = at(active());
        point.columns.reserve(count);
        point.values.reserve(count);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            if (b[k] == 0) continue;
            point.columns.push_back(columns[k]);
            point.values.push_back(b[k]);
        }
    }

private:
    Block q_;
    std::vector<double> c_, g_, v_, diagonal_;
    double share_ = 0;                     // of the last change, by which the gradient is expected to go on
    bool keep_gradient_ = false;           // whether it is the last one of the next penalty
    std::vector<double> last_gradient_;    // over all columns
    std::vector<double> last_b_, ahead_;   // by place, zero for columns that entered since
    bool by_residual_ = false;                                       // no Q: sweeps update the residual
    ResidualState state_;

    double strength(const Penalty& penalty, index_t j) const {
        return penalty.pull(gradient.value[at(j)]) / task_.penalty_weights[j];
    }
    index_t active() const { return static_cast<index_t>(std::count_if(b.begin(), b.end(), [](double x) { return x != 0; })); }

    void gather() {
        const std::size_t m = columns.size();
        c_.resize(m);
        v_.resize(m);
        g_.resize(m);
        diagonal_.resize(by_residual_ ? 0 : m);
        const double* cross = design_.cross(number_);
        for (std::size_t k = 0; k < m; ++k) {
            c_[k] = cross[columns[k]];
            v_[k] = task_.penalty_weights[columns[k]];
            if (!by_residual_) diagonal_[k] = q_.cell(static_cast<index_t>(k), static_cast<index_t>(k));
        }
    }

    // g after every coefficient has grown from `from` (zero if empty) to what it is now.
    void follow_changes(const std::vector<double>& from) {
        std::vector<double> change;
        std::vector<index_t> rows;
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const double less = (from.empty() ? 0.0 : from[k]) - b[k];
            if (less == 0) continue;
            change.push_back(less);
            rows.push_back(static_cast<index_t>(k));
        }
        q_.add_rows(change.data(), rows.data(), static_cast<index_t>(rows.size()), g_.data(),
                    static_cast<index_t>(columns.size()));
    }

    void admit(const std::vector<index_t>& fresh) {
        if (fresh.empty()) return;
        const auto before = static_cast<index_t>(columns.size()), m = before + static_cast<index_t>(fresh.size());
        const bool begins = !by_residual_ && prefers_residual(fresh);
        if (begins) {
            by_residual_ = true;
            q_.release();
        }
        if (!by_residual_ && m > q_.capacity) q_.grow(std::min(design_.p, m + m / 128 + 16), before);
        for (index_t j : fresh) {
            place[at(j)] = static_cast<index_t>(columns.size());
            columns.push_back(j);
        }
        b.resize(at(m), 0.0);
        if (by_residual_) design_.extend(number_, columns, begins ? 0 : before, state_, threads_);
        else design_.block(number_, columns, before, q_, threads_);
        gather();
    }

    // Whether the working set with these columns has so few cells that updating the residual is cheaper.
    bool prefers_residual(const std::vector<index_t>& fresh) const {
        const auto m = static_cast<index_t>(columns.size() + fresh.size());
        if (design_.rows() > 0) return by_full_columns_ && m >= least_by_full_columns;
        if (m < least_by_residual || design_.cells(columns.empty() ? fresh[0] : columns[0]) == 0) return false;
        index_t cells = 0;
        for (index_t j : columns) cells += design_.cells(j);
        for (index_t j : fresh) cells += design_.cells(j);
        return m * m > cells_per_entry * cells;
    }

    // Back to Q, of the columns that matter, for the exact steps.
    void leave_residual(const Penalty& penalty) {
        if (by_full_columns_) rebuild_gradient();
        by_full_columns_ = false;
        std::vector<index_t> kept;
        std::vector<double> values, before;
        last_b_.resize(b.size(), 0.0);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            place[at(columns[k])] = -1;
            if (b[k] == 0 && !(penalty.pull(g_[k]) > 0.9 * penalty.l1 * v_[k])) continue;
            kept.push_back(columns[k]);
            values.push_back(b[k]);
            before.push_back(last_b_[k]);
        }
        const auto m = static_cast<index_t>(kept.size());
        by_residual_ = false;
        state_ = {};
        columns = kept;
        b = values;
        last_b_ = before;
        for (index_t k = 0; k < m; ++k) place[at(columns[at(k)])] = k;
        q_.grow(std::min(design_.p, m + 16), 0);
        design_.block(number_, columns, 0, q_, threads_);
        gather();
        rebuild_gradient();
    }

    // As `solve`, with sweeps over full columns, up to about the cost of Q for the active ones. The gap after a sweep is
    // foreseen from the gradients met on the way; the check over all columns has the last word.
    void solve_by_full_columns(const Penalty& penalty, double target, bool trace) {
        design_.take_residual(number_, state_);
        abandoned = !design_.near(number_, columns, state_);
        if (abandoned) return;
        double before = std::numeric_limits<double>::infinity();
        History history;
        history.keep(b, state_.e);
        for (index_t spent = 1; sweeps < task_.max_sweeps && !interrupted(); ++spent) {
            const GapSums sums = design_.sweep(number_, columns, penalty, v_, b, state_);
            ++sweeps;
            const double gap = sums.gap(penalty), shrinks = spent > 1 && gap < before ? gap / before : 1.0;
            before = gap;
            const double reached = objective_with(penalty, sums.residual_squares);
            if (trace) objective.push_back(reached);
            if (gap * shrinks <= target) return;
            history.keep(b, state_.e);
            if (history.full() && extrapolate_residual(penalty, history, reached) && trace)
                objective.push_back(objective_with(penalty, design_.squares(number_, state_)));
            const double used = static_cast<double>(active()), all = static_cast<double>(columns.size());
            const double affordable = std::max(10.0, used * used / (entries_a_sweep * all));
            if (static_cast<double>(spent) < affordable) continue;
            abandoned = true;
            return;
        }
    }

    // From the squared residual to the objective.
    double objective_with(const Penalty& penalty, double residual_squares) const {
        double absolute = 0, squares = 0;
        for (std::size_t k = 0; k < columns.size(); ++k) {
            absolute += v_[k] * std::abs(b[k]);
            squares += v_[k] * b[k] * b[k];
        }
        return 0.5 * residual_squares + penalty.l1 * absolute + 0.5 * penalty.l2 * squares;
    }

    bool extrapolate_residual(const Penalty& penalty, History& history, double reached) {
        std::vector<double> weights;
        bool lower = false;
        if (history.combine(weights)) {
            lower = history.mix(weights, b, state_.e, penalty.positive) &&
                    objective_with(penalty, design_.squares(number_, state_)) < reached;
            if (!lower) history.return_to_end(b, state_.e);
        }
        history.clear();
        history.keep(b, state_.e);
        return lower;
    }

    // As `solve`, with sweeps that cost the cells of the working set.
    void solve_by_residual(const Penalty& penalty, double target, bool trace) {
        rebuild_gradient();
        History history;
        history.keep(b, g_);
        while (sweeps < task_.max_sweeps && !interrupted()) {
            for (index_t s = 0; s < sweeps_per_check && sweeps < task_.max_sweeps; ++s, ++sweeps) {
                design_.sweep(number_, columns, penalty, v_, b, state_);
                history.keep(b, g_);
            }
            rebuild_gradient();
            const GapSums sums = measure(penalty);
            if (trace) objective.push_back(sums.objective(penalty));
            if (sums.gap(penalty) <= target) break;
            std::vector<double> weights;
            if (history.full() && history.combine(weights)) {
                const std::vector<double> old_b = b, old_g = g_;
                const ResidualState old_state = state_;
                std::fill(b.begin(), b.end(), 0.0);
                for (std::size_t i = 0; i < weights.size(); ++i)
                    add_multiple(weights[i], history.b[i + 1].data(), b.data(), static_cast<index_t>(b.size()));
                const bool allowed =
                    !penalty.positive || std::all_of(b.begin(), b.end(), [](double x) { return x >= 0; });
                if (allowed) rebuild_gradient();
                if (!allowed || !(measure(penalty).objective(penalty) < sums.objective(penalty))) {
                    b = old_b;
                    g_ = old_g;
                    state_ = old_state;
                } else {
                    if (trace) objective.push_back(measure(penalty).objective(penalty));
                    if (measure(penalty).gap(penalty) <= target) break;
                }
            }
            history.clear();
            history.keep(b, g_);
        }
    }

    void sweep(const Penalty& penalty) {
        const auto m = static_cast<index_t>(columns.size());
        // Changes reach g in batches of rows; until then what they do to g_k is worked out for the one k at hand.
        double change[Block::batch];
        index_t row[Block::batch], waiting = 0;
        for (index_t k = 0; k < m; ++k) {
            const double old = b[at(k)], own = diagonal_[at(k)], curvature = own + penalty.l2 * v_[at(k)];
            if (!(curvature > 0)) continue;
            double g = g_[at(k)];
            for (index_t r = 0; r < waiting; ++r) g += change[r] * q_.cell(row[r], k);
            const double value = penalty.soft(g + own * old, penalty.l1 * v_[at(k)]) / curvature;
            if (value == old) continue;
            b[at(k)] = value;
            change[waiting] = old - value;
            row[waiting++] = k;
            if (waiting < Block::batch) continue;
            q_.add_rows(change, row, waiting, g_.data(), m);
            waiting = 0;
        }
        q_.add_rows(change, row, waiting, g_.data(), m);
    }

    GapSums measure(const Penalty& penalty) const {
        GapSums sums{y_squares, 0};
        double explained = 0;
        for (std::size_t k = 0; k < columns.size(); ++k) {
            sums.add(penalty, v_[k], b[k], g_[k], c_[k]);
            explained += b[k] * (c_[k] + g_[k]);
        }
        sums.residual_squares = std::max(0.0, y_squares - explained);
        return sums;
    }

    // Anderson extrapolation of the last sweeps, taken if it is downhill. Gradients combine like coefficients do.
    void extrapolate(const Penalty& penalty, History& history, double reached) {
        std::vector<double> weights;
        if (history.combine(weights)) {
            const bool allowed = history.mix(weights, b, g_, penalty.positive);
            if (!allowed || !(measure(penalty).objective(penalty) < reached)) history.return_to_end(b, g_);
        }
        history.clear();
    }

    // Sweeps that take about as long as the factor of an exact step.
    index_t sweeps_before_exact() const {
        const index_t m = active();
        return std::max<index_t>(5, std::min(m / 4, 16 + m / 64));
    }

    // x <- (Q + the squared penalty + ridge diag Q)^-1 x over the support, with a factor in the precision of a Cell; false if
    // that is not safe. From one in single precision the solution is refined once.
    template <class Cell>
    bool solve_over(const Penalty& penalty, const std::vector<index_t>& support, double ridge,
                    std::vector<double>& x) const {
        const auto m = static_cast<index_t>(support.size());
        const OwnPages<Cell> matrix(at(row_start(m)));  // not kept, as it may be as large as Q
        const auto added = [&](index_t k) { return ridge * diagonal_[at(k)] + penalty.l2 * v_[at(k)]; };
        for (index_t i = 0; i < m; ++i) {
            const index_t k = support[at(i)];
            Cell* const row = matrix.get() + row_start(i);
            for (index_t j = 0; j <= i; ++j) row[j] = static_cast<Cell>(q_.cell(k, support[at(j)]));
            row[i] += static_cast<Cell>(added(k));
        }
        if (!factorise(matrix.get(), m, threads_)) return false;
        std::vector<double> rest = x;
        solve_factored(matrix.get(), m, x);
        if constexpr (sizeof(Cell) == sizeof(double)) return true;
        std::vector<double> less(at(m)), product(columns.size(), 0.0);
        for (index_t i = 0; i < m; ++i) less[at(i)] = -x[at(i)];
        q_.add_rows(less.data(), support.data(), m, product.data(), static_cast<index_t>(columns.size()));
        for (index_t i = 0; i < m; ++i) {
            const index_t k = support[at(i)];
            rest[at(i)] += product[at(k)] + added(k) * less[at(i)];
        }
        solve_factored(matrix.get(), m, rest);
        for (index_t i = 0; i < m; ++i) x[at(i)] += rest[at(i)];
        return true;
    }

    // Towards the minimum of the quadratic for the signs as they are. Where some would change on the way: there with those
    // at zero, or to the lowest point on the way, whichever is lower. True if all the way, and the minimum is unique.
    bool exact_step(const Penalty& penalty) {
        std::vector<index_t> support;
        for (std::size_t k = 0; k < columns.size(); ++k)
            if (b[k] != 0) support.push_back(static_cast<index_t>(k));
        const auto m = static_cast<index_t>(support.size());
        if (m == 0) return true;
        std::vector<double> slope(at(m));
        for (index_t i = 0; i < m; ++i) {
            const std::size_t k = at(support[at(i)]);
            slope[at(i)] = g_[k] - v_[k] * (penalty.l2 * b[k] + std::copysign(penalty.l1, b[k]));
        }
        std::vector<double> step = slope;
        bool dependent = false;
        if (!(q_.single() && solve_over<float>(penalty, support, 0.0, step)) &&
            !solve_over<double>(penalty, support, 0.0, step)) {
            // Dependent columns: a trace of ridge keeps the step downhill, and it then ends where one of them leaves.
            dependent = true;
            if (!solve_over<double>(penalty, support, 1e-9, step)) return false;
        }

        std::vector<Crossing> crossings;
        for (index_t i = 0; i < m; ++i) {
            const double old = b[at(support[at(i)])];
            if (old * step[at(i)] < 0 && std::abs(step[at(i)]) >= std::abs(old)) crossings.push_back({-old / step[at(i)], i});
        }
        if (crossings.empty()) {
            for (index_t i = 0; i < m; ++i) b[at(support[at(i)])] += step[at(i)];
            rebuild_gradient();
            return !dependent;
        }
        const std::vector<double> old_b = b;
        go_along(penalty, support, slope, step, crossings);
        rebuild_gradient();
        double reached = measure(penalty).objective(penalty);
        // The way with coefficients held at zero from where they cross: in halves, as long as that gets lower.
        std::vector<double> best_b = b, best_g = g_;
        double worse = std::numeric_limits<double>::infinity();
        for (double share = 1; share > 1e-3; share /= 2) {
            b = old_b;
            for (index_t i = 0; i < m; ++i) b[at(support[at(i)])] += share * step[at(i)];
            for (const Crossing& crossing : crossings)
                if (crossing.share <= share) b[at(support[at(crossing.place)])] = 0;
            rebuild_gradient();
            const double value = measure(penalty).objective(penalty);
            if (value < reached) {
                reached = value;
                best_b = b;
                best_g = g_;
            } else if (value > worse) {
                break;
            }
            worse = value;
        }
        b = best_b;
        g_ = best_g;
        return false;
    }

    struct Crossing {
        double share;    // of the step, at which the coefficient is zero
        index_t place;   // in the support
    };

    // b += t step, with t <= 1 where the objective on that line is lowest. It is a quadratic between crossings, at each of
    // which its slope rises by twice the penalty of the coefficient; none may be crossed that must not be negative.
    void go_along(const Penalty& penalty, const std::vector<index_t>& support, const std::vector<double>& slope,
                  const std::vector<double>& step, std::vector<Crossing>& crossings) {
        std::sort(crossings.begin(), crossings.end(), [](const Crossing& left, const Crossing& right) {
            return left.share < right.share || (left.share == right.share && left.place < right.place);
        });
        const double decline = dot(slope.data(), step.data(), static_cast<index_t>(step.size()));
        double rise = 0, share = 1;  // the slope of the objective at t is decline (t - 1) + rise
        index_t stop = -1;
        for (const Crossing& crossing : crossings) {
            share = std::min(1.0, 1 - rise / decline);
            if (share <= crossing.share) break;
            const std::size_t k = at(support[at(crossing.place)]);
            rise += 2 * penalty.l1 * v_[k] * std::abs(step[at(crossing.place)]);
            share = std::min(1.0, 1 - rise / decline);
            if (!penalty.positive && share > crossing.share) continue;
            share = crossing.share;
            stop = crossing.place;
            break;
        }
        for (std::size_t i = 0; i < step.size(); ++i) {
            double& value = b[at(support[i])];
            value = static_cast<index_t>(i) == stop ? 0.0 : value + share * step[i];
        }
    }

    // From the moments afresh: sweeps only ever add to g, and rounding adds up.
    void rebuild_gradient() {
        if (by_residual_) {
            design_.residual(number_, {columns, b}, state_);
            for (std::size_t k = 0; k < columns.size(); ++k) g_[k] = design_.slope(number_, columns[k], state_);
            return;
        }
        std::copy(c_.begin(), c_.end(), g_.begin());
        follow_changes({});
    }
};

}  // namespace assay::elastic_net
