#include "assay/linear/elastic_net.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"

namespace assay {
namespace elastic_net {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr index_t exact_limit = 1000;    // active columns up to which the final step is exact
constexpr double optimal_within = 1e-9;  // relative excess of |g_j| over l1 v_j that `refine` still removes
constexpr double expected_margin = 0.97; // of l1 v_j, above which a column is expected to become active
constexpr double inner_share = 0.7;      // of the tolerance, for the columns of the working set alone
constexpr double single_limit = 1e-6;    // tolerance down to which sweeps may read Q in single precision
constexpr index_t least_for_copy = 8;    // penalties from which a copy of the columns in single precision pays
constexpr index_t least_by_residual = 400;  // working columns from which a sweep over cells may be cheaper than one over Q
constexpr index_t cells_per_entry = 8;      // entries of Q that cost as much as one cell
constexpr index_t sweeps_per_check = 5;     // by residual: between two looks at the gap, which cost a sweep each

// Whether blocks of Q, and passes whose rounding is bounded, may be in single precision.
bool allows_single(const ElasticNetTask& task) {
    return task.tolerance >= single_limit && !task.refine && !task.trace;
}

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

struct Penalty {
    double l1 = 0, l2 = 0;
    bool positive = false;

    // How far g exceeds nothing: the part of g that the l1 penalty has to hold.
    double pull(double g) const { return positive ? std::max(g, 0.0) : std::abs(g); }
    double soft(double value, double threshold) const {
        if (value > threshold) return value - threshold;
        return !positive && value < -threshold ? value + threshold : 0.0;
    }
};

// Sums that both dual points need.
struct GapSums {
    double y_squares, residual_squares;
    double fitted = 0;      // c'b
    double absolute = 0;    // sum v |b|
    double squares = 0;     // sum v b^2
    double excess = 0;      // largest pull(g - l2 v b) / v
    double conjugate = 0;   // sum (pull(g) - l1 v)_+^2 / v

    void add(const Penalty& penalty, double v, double b, double g, double c, double slack = 0) {
        fitted += c * b;
        absolute += v * std::abs(b);
        squares += v * b * b;
        const double most = penalty.pull(g) + slack;
        excess = std::max(excess, slack > 0 ? most / v : penalty.pull(g - penalty.l2 * v * b) / v);
        const double over = std::max(0.0, most - penalty.l1 * v);
        conjugate += over * over / v;
    }
    double objective(const Penalty& penalty) const {
        return 0.5 * residual_squares + penalty.l1 * absolute + 0.5 * penalty.l2 * squares;
    }
    double gap(const Penalty& penalty) const {
        const double along = y_squares - fitted, length = residual_squares + penalty.l2 * squares;
        double dual = 0;
        if (length > 0 && penalty.l1 > 0) {
            const double most = excess > penalty.l1 ? penalty.l1 / excess : 1.0;
            const double scale = std::clamp(along / length, -most, most);
            dual = scale * along - 0.5 * scale * scale * length;
        }
        if (penalty.l2 > 0) dual = std::max(dual, along - 0.5 * residual_squares - 0.5 * conjugate / penalty.l2);
        return std::max(0.0, objective(penalty) - dual);
    }
};

// Cholesky factor (lower, row by row) in place; false if the matrix is not safely positive definite.
bool factorise(std::vector<double>& a, index_t m) {
    for (index_t j = 0; j < m; ++j) {
        double* row = a.data() + j * m;
        const double diagonal = row[j];
        for (index_t k = 0; k <= j; ++k) {
            const double* other = a.data() + k * m;
            const double rest = row[k] - dot(row, other, k);
            if (k < j) row[k] = rest / other[k];
            else if (!(rest > 1e-11 * diagonal)) return false;
            else row[j] = std::sqrt(rest);
        }
    }
    return true;
}

void solve_factored(const std::vector<double>& a, index_t m, std::vector<double>& x) {
    for (index_t i = 0; i < m; ++i) x[at(i)] = (x[at(i)] - dot(a.data() + i * m, x.data(), i)) / a[at(i * m + i)];
    for (index_t i = m - 1; i >= 0; --i) {
        x[at(i)] /= a[at(i * m + i)];
        add_multiple(-x[at(i)], a.data() + i * m, x.data(), i);
    }
}

// The last few sweeps, for extrapolation.
struct History {
    static constexpr std::size_t depth = 5;
    std::vector<std::vector<double>> b, g;

    void keep(const std::vector<double>& new_b, const std::vector<double>& new_g) {
        b.push_back(new_b);
        g.push_back(new_g);
    }
    bool full() const { return b.size() == depth + 1; }
    void clear() {
        b.clear();
        g.clear();
    }

    // Weights (summing to one) of the last `depth` iterates that make the combined step shortest; false if singular.
    bool combine(std::vector<double>& weights) const {
        std::vector<double> products(depth * depth), difference[depth];
        const auto m = static_cast<index_t>(b[0].size());
        double trace = 0;
        for (std::size_t i = 0; i < depth; ++i) {
            difference[i] = b[i + 1];
            add_multiple(-1.0, b[i].data(), difference[i].data(), m);
            for (std::size_t j = 0; j <= i; ++j)
                products[i * depth + j] = dot(difference[i].data(), difference[j].data(), m);
            trace += products[i * depth + i];
        }
        for (std::size_t i = 0; i < depth; ++i) products[i * depth + i] += 1e-10 * trace;
        if (!(trace > 0) || !factorise(products, depth)) return false;
        weights.assign(depth, 1.0);
        solve_factored(products, depth, weights);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (double& w : weights) w /= sum;
        return std::isfinite(sum) && sum > 0;
    }
};

// One problem: its working set with the block of Q, and coordinate descent on it.
class Problem {
public:
    Problem(const Design& design, index_t number, const ElasticNetTask& task)
        : design_(design), task_(task), number_(number), place(at(design.p), -1),
          q_(allows_single(task)) {
        gradient.value.assign(design.cross(number), design.cross(number) + design.p);
        gradient.slack.assign(at(design.p), 0.0);
        gradient.residual_squares = y_squares = design.y_squares(number);
    }

    std::vector<index_t> columns;  // the working set
    std::vector<double> b;         // coefficients by place
    Gradient gradient;             // over all columns
    double y_squares;
    index_t sweeps = 0;            // at the current penalty
    std::vector<double> objective;

private:
    const Design& design_;
    const ElasticNetTask& task_;
    index_t number_;

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

    // The gradient expected at the next penalty: between kinks the path is linear in alpha, so it goes on by `share` of
    // its last change. Keeps where the path is now, for the next call.
    void foresee(double share) {
        expected_ = gradient.value;
        if (share > 0)
            for (std::size_t j = 0; j < expected_.size(); ++j)
                expected_[j] += share * (gradient.value[j] - last_gradient_[j]);
        last_gradient_ = gradient.value;
        ahead_.assign(at(design_.p), 0.0);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const std::size_t j = at(columns[k]);
            const double next = share > 0 ? b[k] + share * (b[k] - last_b_[j]) : b[k];
            ahead_[j] = b[k] * next > 0 ? next : b[k];
        }
        last_b_.assign(at(design_.p), 0.0);
        for (std::size_t k = 0; k < columns.size(); ++k) last_b_[at(columns[k])] = b[k];
    }
    void expect_no_change() { expected_ = gradient.value; }

    // Goes where the path was expected to lead, if that is downhill.
    void leap(const Penalty& penalty) {
        load_gradient();
        const double before = measure(penalty).objective(penalty);
        const std::vector<double> old_b = b, old_g = g_;
        for (std::size_t k = 0; k < columns.size(); ++k) b[k] = ahead_[at(columns[k])];
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
        const auto pull = [&](index_t j) { return penalty.pull(expected_[at(j)]) / task_.penalty_weights[j]; };
        for (index_t j = 0; j < design_.p; ++j)
            if (place[at(j)] < 0 && pull(j) > threshold) found.push_back(j);
        const auto most = static_cast<std::size_t>(std::max<index_t>(64, 2 * active()));
        if (found.size() > most) {
            const auto stronger = [&](index_t i, index_t j) {
                const double left = pull(i), right = pull(j);
                return left > right || (left == right && i < j);
            };
            std::nth_element(found.begin(), found.begin() + static_cast<index_t>(most), found.end(), stronger);
            found.resize(most);
            std::sort(found.begin(), found.end());
        }
        admit(found);
        return static_cast<index_t>(found.size());
    }

    // Lets go of idle columns when they outnumber the active ones, so that updates stay short.
    void shed(const Penalty& penalty) {
        if (static_cast<index_t>(columns.size()) <= 2 * active() + 100) return;
        std::vector<index_t> kept;
        for (std::size_t k = 0; k < columns.size(); ++k)
            if (b[k] != 0 || strength(penalty, columns[k]) > 0.8 * penalty.l1) kept.push_back(static_cast<index_t>(k));
        const auto m = static_cast<index_t>(kept.size());
        for (index_t a = 0; a < m; ++a) {
            if (by_residual_) square_[at(a)] = square_[at(kept[at(a)])];
            for (index_t c = 0; c < m && !by_residual_; ++c) q_.set(a, c, q_.cell(kept[at(a)], kept[at(c)]));
        }
        for (index_t j : columns) place[at(j)] = -1;
        for (index_t a = 0; a < m; ++a) {
            columns[at(a)] = columns[at(kept[at(a)])];
            b[at(a)] = b[at(kept[at(a)])];
            place[at(columns[at(a)])] = a;
        }
        columns.resize(at(m));
        b.resize(at(m));
        if (by_residual_) square_.resize(at(m));
        gather();
    }

    // Coordinate descent until the gap of the working set is below `target`.
    void solve(const Penalty& penalty, double target, bool trace) {
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
            if (++waited >= std::max<index_t>(5, active() / 4)) {
                waited = 0;
                for (int steps = 0; steps < 10 && !exact_step(penalty); ++steps) {}
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
        if (by_residual_ && active() <= exact_limit) leave_residual(penalty);
        for (int round = 0; round < 100 && active() <= exact_limit && !interrupted(); ++round) {
            const bool whole = exact_step(penalty);
            if (trace) objective.push_back(measure(penalty).objective(penalty));
            bool optimal = true;
            for (std::size_t k = 0; k < columns.size() && optimal; ++k)
                optimal = b[k] != 0 || penalty.pull(g_[k]) <= penalty.l1 * v_[k] * (1 + optimal_within);
            if (whole && optimal) return;
            sweep(penalty);
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

    void write(double* coefficients) const {
        std::fill(coefficients, coefficients + design_.p, 0.0);
        for (std::size_t k = 0; k < columns.size(); ++k) coefficients[columns[k]] = b[k];
    }

private:
    Block q_;
    std::vector<double> c_, g_, v_, diagonal_;
    std::vector<double> expected_, last_gradient_, last_b_, ahead_;  // over all columns
    bool by_residual_ = false;                                       // no Q: sweeps update the residual
    std::vector<double> e_, square_;                                 // residual, and Q_jj by place
    double level_ = 0;

    double strength(const Penalty& penalty, index_t j) const {
        return penalty.pull(gradient.value[at(j)]) / task_.penalty_weights[j];
    }
    index_t active() const { return static_cast<index_t>(std::count_if(b.begin(), b.end(), [](double x) { return x != 0; })); }

    void gather() {
        const std::size_t m = columns.size();
        c_.resize(m);
        v_.resize(m);
        g_.resize(m);
        diagonal_.resize(m);
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
        if (!by_residual_ && prefers_residual(fresh)) {
            by_residual_ = true;
            square_.resize(columns.size());
            for (std::size_t k = 0; k < columns.size(); ++k) square_[k] = design_.square(number_, columns[k]);
            q_.release();
        }
        if (by_residual_) {
            for (index_t j : fresh) {
                place[at(j)] = static_cast<index_t>(columns.size());
                columns.push_back(j);
                square_.push_back(design_.square(number_, j));
            }
            b.resize(columns.size(), 0.0);
            return gather();
        }
        const auto before = static_cast<index_t>(columns.size()), m = before + static_cast<index_t>(fresh.size());
        if (m > q_.capacity) q_.grow(std::min(design_.p, m + m / 2 + 16), before);
        for (index_t j : fresh) {
            place[at(j)] = static_cast<index_t>(columns.size());
            columns.push_back(j);
        }
        b.resize(at(m), 0.0);
        design_.block(number_, columns, before, q_);
        gather();
    }

    // Whether the working set with these columns has so few cells that updating the residual is cheaper.
    bool prefers_residual(const std::vector<index_t>& fresh) const {
        const auto m = static_cast<index_t>(columns.size() + fresh.size());
        if (m < least_by_residual || design_.cells(columns.empty() ? fresh[0] : columns[0]) == 0) return false;
        index_t cells = 0;
        for (index_t j : columns) cells += design_.cells(j);
        for (index_t j : fresh) cells += design_.cells(j);
        return m * m > cells_per_entry * cells;
    }

    // Back to Q, of the columns that matter, for the exact steps.
    void leave_residual(const Penalty& penalty) {
        std::vector<index_t> kept;
        std::vector<double> values;
        for (std::size_t k = 0; k < columns.size(); ++k) {
            place[at(columns[k])] = -1;
            if (b[k] == 0 && !(penalty.pull(g_[k]) > 0.9 * penalty.l1 * v_[k])) continue;
            kept.push_back(columns[k]);
            values.push_back(b[k]);
        }
        const auto m = static_cast<index_t>(kept.size());
        by_residual_ = false;
        e_ = {};
        columns = kept;
        b = values;
        for (index_t k = 0; k < m; ++k) place[at(columns[at(k)])] = k;
        q_.grow(std::min(design_.p, m + 16), 0);
        design_.block(number_, columns, 0, q_);
        gather();
        rebuild_gradient();
    }

    // As `solve`, with sweeps that cost the cells of the working set.
    void solve_by_residual(const Penalty& penalty, double target, bool trace) {
        rebuild_gradient();
        History history;
        history.keep(b, g_);
        while (sweeps < task_.max_sweeps && !interrupted()) {
            for (index_t s = 0; s < sweeps_per_check && sweeps < task_.max_sweeps; ++s, ++sweeps) {
                sweep_by_residual(penalty);
                history.keep(b, g_);
            }
            rebuild_gradient();
            const GapSums sums = measure(penalty);
            if (trace) objective.push_back(sums.objective(penalty));
            if (sums.gap(penalty) <= target) break;
            std::vector<double> weights;
            if (history.full() && history.combine(weights)) {
                const std::vector<double> old_b = b, old_g = g_, old_e = e_;
                const double old_level = level_;
                std::fill(b.begin(), b.end(), 0.0);
                for (std::size_t i = 0; i < weights.size(); ++i)
                    add_multiple(weights[i], history.b[i + 1].data(), b.data(), static_cast<index_t>(b.size()));
                const bool allowed =
                    !penalty.positive || std::all_of(b.begin(), b.end(), [](double x) { return x >= 0; });
                if (allowed) rebuild_gradient();
                if (!allowed || !(measure(penalty).objective(penalty) < sums.objective(penalty))) {
                    b = old_b;
                    g_ = old_g;
                    e_ = old_e;
                    level_ = old_level;
                } else {
                    if (trace) objective.push_back(measure(penalty).objective(penalty));
                    if (measure(penalty).gap(penalty) <= target) break;
                }
            }
            history.clear();
            history.keep(b, g_);
        }
    }

    void sweep_by_residual(const Penalty& penalty) {
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const double old = b[k], curvature = square_[k] + penalty.l2 * v_[k];
            if (!(curvature > 0)) continue;
            const double slope = design_.slope(number_, columns[k], e_, level_);
            const double value = penalty.soft(slope + square_[k] * old, penalty.l1 * v_[k]) / curvature;
            if (value == old) continue;
            b[k] = value;
            level_ += design_.move(number_, columns[k], value - old, e_);
        }
    }

    void sweep(const Penalty& penalty) {
        if (by_residual_) return sweep_by_residual(penalty);
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
            const std::vector<double> old_b = b, old_g = g_;
            const auto m = static_cast<index_t>(b.size());
            std::fill(b.begin(), b.end(), 0.0);
            std::fill(g_.begin(), g_.end(), 0.0);
            for (std::size_t i = 0; i < weights.size(); ++i) {
                add_multiple(weights[i], history.b[i + 1].data(), b.data(), m);
                add_multiple(weights[i], history.g[i + 1].data(), g_.data(), m);
            }
            const bool allowed = !penalty.positive || std::all_of(b.begin(), b.end(), [](double x) { return x >= 0; });
            if (!allowed || !(measure(penalty).objective(penalty) < reached)) {
                b = old_b;
                g_ = old_g;
            }
        }
        history.clear();
    }

    // To the minimum of the quadratic for the signs as they are, or as far as they stay so. True if all the way.
    bool exact_step(const Penalty& penalty) {
        if (by_residual_) return false;
        std::vector<index_t> support;
        for (std::size_t k = 0; k < columns.size(); ++k)
            if (b[k] != 0) support.push_back(static_cast<index_t>(k));
        const auto m = static_cast<index_t>(support.size());
        if (m == 0) return true;
        std::vector<double> matrix(at(m * m)), step(at(m));
        // Dependent columns: a trace of ridge keeps the step downhill, and it then ends where one of them leaves.
        bool dependent = false;
        for (double ridge : {0.0, 1e-9}) {
            dependent = ridge > 0;
            for (index_t i = 0; i < m; ++i) {
                const index_t k = support[at(i)];
                for (index_t j = 0; j <= i; ++j) matrix[at(i * m + j)] = q_.cell(k, support[at(j)]);
                matrix[at(i * m + i)] += ridge * diagonal_[at(k)] + penalty.l2 * v_[at(k)];
            }
            if (factorise(matrix, m)) break;
            if (dependent) return false;
        }
        for (index_t i = 0; i < m; ++i) {
            const std::size_t k = at(support[at(i)]);
            step[at(i)] = g_[k] - v_[k] * (penalty.l2 * b[k] + std::copysign(penalty.l1, b[k]));
        }
        solve_factored(matrix, m, step);
        double share = 1;
        index_t crossing = -1;
        for (index_t i = 0; i < m; ++i) {
            const double old = b[at(support[at(i)])];
            if (old * step[at(i)] < 0 && -old / step[at(i)] < share) {
                share = -old / step[at(i)];
                crossing = i;
            }
        }
        for (index_t i = 0; i < m; ++i) {
            double& value = b[at(support[at(i)])];
            value = i == crossing ? 0.0 : value + share * step[at(i)];
        }
        rebuild_gradient();
        return crossing < 0 && !dependent;
    }

    // From the moments afresh: sweeps only ever add to g, and rounding adds up.
    void rebuild_gradient() {
        if (by_residual_) {
            level_ = design_.residual(number_, {columns, b}, e_);
            for (std::size_t k = 0; k < columns.size(); ++k) g_[k] = design_.slope(number_, columns[k], e_, level_);
            return;
        }
        std::copy(c_.begin(), c_.end(), g_.begin());
        follow_changes({});
    }
};

ElasticNetSolution follow_path(Design& design, const double* start, const ElasticNetTask& task, int threads) {
    std::vector<Problem> all;
    for (index_t f = 0; f < design.problems; ++f) all.emplace_back(design, f, task);
    ElasticNetSolution solution;
    const std::size_t points = at(design.problems * task.n_alphas);
    solution.coefficients.resize(points * at(design.p));
    solution.gaps.resize(points);
    solution.sweeps.resize(points);

    const auto refresh = [&](const std::vector<index_t>& which, double l1) {
        std::vector<Request> requests;
        for (index_t f : which) requests.push_back(all[at(f)].request(l1));
        design.refresh(requests, task.penalty_weights, threads);
    };
    std::vector<index_t> everyone(at(design.problems));
    std::iota(everyone.begin(), everyone.end(), index_t{0});
    if (start != nullptr) {
        for (index_t f : everyone) all[at(f)].start(start + f * design.p);
        refresh(everyone, 0.0);
    }
    std::vector<double> last_l1(at(design.problems), infinity);
    for (index_t a = 0; a < task.n_alphas && !interrupted(); ++a) {
        const Penalty penalty{task.alphas[a] * task.l1_ratio, task.alphas[a] * (1 - task.l1_ratio), task.positive};
        double share = 0;
        if (a >= 2) {
            share = (task.alphas[a] - task.alphas[a - 1]) / (task.alphas[a - 1] - task.alphas[a - 2]);
            if (!(share > 0 && share < 4)) share = 0;
        }
        for (index_t f : everyone) {
            all[at(f)].sweeps = 0;
            if (a == 0) last_l1[at(f)] = all[at(f)].largest_pull(penalty);
        }
        std::vector<index_t> pending = everyone;
        for (index_t round = 0; !pending.empty() && !interrupted(); ++round) {
            std::vector<index_t> entered(at(design.problems));
            parallel_chunks(static_cast<index_t>(pending.size()), 1, threads, [&](index_t k, index_t, index_t) {
                const index_t f = pending[at(k)];
                Problem& problem = all[at(f)];
                const bool trace = task.trace && f == 0;
                if (round == 0) {
                    problem.shed(penalty);
                    problem.foresee(share);
                    const double strong = std::min(penalty.l1, std::max(0.0, 2 * penalty.l1 - last_l1[at(f)]));
                    entered[at(f)] = problem.grow(penalty, share > 0 ? expected_margin * penalty.l1 : strong);
                    problem.leap(penalty);
                } else {
                    problem.expect_no_change();
                    entered[at(f)] = problem.grow(penalty, penalty.l1);
                    problem.load_gradient();
                }
                const double target = (entered[at(f)] > 0 || round == 0 ? 1.0 : std::pow(0.1, round)) * inner_share *
                                      task.tolerance * problem.y_squares;
                problem.solve(penalty, target, trace);
                if (task.refine) problem.refine(penalty, trace);
            });
            refresh(pending, penalty.l1);
            std::vector<index_t> still;
            for (index_t f : pending) {
                Problem& problem = all[at(f)];
                const std::size_t point = at(f * task.n_alphas + a);
                const double gap = problem.full_gap(penalty);
                bool finished = gap <= task.tolerance * problem.y_squares;
                if (finished && task.refine && round < 30) finished = !problem.breaks_optimality_outside(penalty);
                // Nothing entered and the gap is still open: rounding, or the limit of sweeps.
                if (problem.sweeps >= task.max_sweeps || (round > 8 && entered[at(f)] == 0)) finished = true;
                if (!finished) {
                    still.push_back(f);
                    continue;
                }
                problem.write(solution.coefficients.data() + point * at(design.p));
                solution.gaps[point] = gap;
                solution.sweeps[point] = static_cast<std::int32_t>(problem.sweeps);
            }
            pending.swap(still);
        }
        std::fill(last_l1.begin(), last_l1.end(), penalty.l1);
        if (task.trace) {
            solution.objective.insert(solution.objective.end(), all[0].objective.begin(), all[0].objective.end());
            solution.traced.resize(solution.objective.size(), static_cast<std::int32_t>(a));
            all[0].objective.clear();
        }
    }
    return solution;
}

}  // namespace
}  // namespace elastic_net

ElasticNetSolution elastic_net_from_moments(const std::vector<ElasticNetMoments>& problems, index_t p,
                                            const double* start, const ElasticNetTask& task, int threads) {
    // Nothing is shared between problems here, so each goes its way alone.
    const auto count = static_cast<index_t>(problems.size());
    std::vector<ElasticNetSolution> found(problems.size());
    parallel_chunks(count, 1, threads, [&](index_t f, index_t, index_t) {
        const std::vector<ElasticNetMoments> one{problems[static_cast<std::size_t>(f)]};
        elastic_net::MomentDesign design(one, p);
        ElasticNetTask own = task;
        own.trace = task.trace && f == 0;
        found[static_cast<std::size_t>(f)] =
            elastic_net::follow_path(design, start == nullptr ? nullptr : start + f * p, own, 1);
    });
    ElasticNetSolution all = std::move(found[0]);
    for (std::size_t f = 1; f < found.size(); ++f) {
        const ElasticNetSolution& next = found[f];
        all.coefficients.insert(all.coefficients.end(), next.coefficients.begin(), next.coefficients.end());
        all.gaps.insert(all.gaps.end(), next.gaps.begin(), next.gaps.end());
        all.sweeps.insert(all.sweeps.end(), next.sweeps.begin(), next.sweeps.end());
    }
    return all;
}

namespace {

template <class Columns>
ElasticNetSolution follow_columns(Columns& design, const double* start, const ElasticNetTask& task, int threads) {
    if (design.finite()) return elastic_net::follow_path(design, start, task, threads);
    ElasticNetSolution nothing;
    nothing.finite = false;
    const std::size_t points = static_cast<std::size_t>(design.problems * task.n_alphas);
    nothing.coefficients.assign(points * static_cast<std::size_t>(design.p), 0.0);
    nothing.gaps.assign(points, 0.0);
    nothing.sweeps.assign(points, 0);
    return nothing;
}

}  // namespace

ElasticNetSolution elastic_net_from_columns(const ColumnTable& table, const double* weights, index_t problems,
                                            bool intercept, const double* start, const ElasticNetTask& task,
                                            double* x_mean, double* y_mean, int threads) {
    const bool keep_low = task.n_alphas >= elastic_net::least_for_copy && elastic_net::allows_single(task);
    elastic_net::ColumnDesign design(table, weights, problems, intercept, x_mean, y_mean, keep_low, threads);
    return follow_columns(design, start, task, threads);
}

ElasticNetSolution elastic_net_from_sparse_columns(const SparseColumnTable& table, const double* weights,
                                                   index_t problems, bool intercept, const double* start,
                                                   const ElasticNetTask& task, double* x_mean, double* y_mean,
                                                   int threads) {
    elastic_net::SparseColumnDesign design(table, weights, problems, intercept, x_mean, y_mean, threads);
    return follow_columns(design, start, task, threads);
}

}  // namespace assay
