#include "assay/linear/l1_logistic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/own_pages.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/linear/logistic.hpp"
#include "assay/losses/log_loss.hpp"

namespace assay {
namespace {

constexpr int most_halvings = 20, most_sweeps = 1000;
constexpr std::size_t most_mixed = 6;
constexpr index_t least_shared = 500'000;  // cells from which threads share in laying out the columns

// Columns of the table, scaled and in single precision, laid out when they are first asked for.
class ScaledColumns {
public:
    ScaledColumns(const SparseMatrix& rows, const double* scales, int threads)
        : table_(rows),
          scales_(scales),
          threads_(rows.cells() < least_shared ? 1 : threads),
          grain_((rows.lines + threads_ - 1) / threads_),
          starts_(size(rows.places), -1),
          counts_(size(rows.places), 0),
          counts_by_part_(size(threads_ * rows.places), 0) {
        parallel_chunks(rows.lines, grain_, threads_, [&](index_t part, index_t begin, index_t end) {
            std::int32_t* const counts = counts_by_part_.data() + part * rows.places;
            for (index_t k = rows.begin(begin); k < rows.begin(end); ++k) ++counts[rows.indices[k]];
        });
        for (std::size_t at = 0; at < counts_by_part_.size(); ++at) counts_[at % counts_.size()] += counts_by_part_[at];
    }

    // Every thread writes the cells of its rows, at places that do not depend on how many threads there are.
    void lay_out(const std::vector<index_t>& columns) {
        std::vector<index_t> next;  // by part and column: where its next cell goes, if it is new
        for (const index_t j : columns) {
            if (starts_[size(j)] >= 0) continue;
            if (next.empty()) next.assign(counts_by_part_.size(), -1);
            starts_[size(j)] = used_;
            for (std::size_t at = size(j); at < next.size(); at += counts_.size()) {
                next[at] = used_;
                used_ += counts_by_part_[at];
            }
        }
        if (next.empty()) return;
        values_.resize(size(used_));
        rows_.resize(size(used_));
        parallel_chunks(table_.lines, grain_, threads_, [&](index_t part, index_t begin, index_t end) {
            index_t* const to = next.data() + part * table_.places;
            for (index_t i = begin; i < end; ++i)
                for (index_t k = table_.begin(i); k < table_.end(i); ++k) {
                    const std::int32_t j = table_.indices[k];
                    if (to[j] < 0) continue;
                    const std::size_t at = size(to[j]++);
                    values_[at] = static_cast<float>(scales_[j] * table_.values[k]);
                    rows_[at] = static_cast<std::int32_t>(i);
                }
        });
    }

    index_t count(index_t column) const { return counts_[size(column)]; }
    const float* values(index_t column) const { return values_.get() + starts_[size(column)]; }
    const std::int32_t* rows(index_t column) const { return rows_.get() + starts_[size(column)]; }

private:
    static std::size_t size(index_t n) { return static_cast<std::size_t>(n); }

    const SparseMatrix& table_;
    const double* scales_;
    int threads_;
    index_t grain_;                                    // rows of a part
    std::vector<index_t> starts_;                      // -1: not laid out
    std::vector<std::int32_t> counts_, counts_by_part_;
    index_t used_ = 0;
    OwnPages<float> values_;
    OwnPages<std::int32_t> rows_;
};

// sum of x[k] v[index[k]] in eight running sums.
ASSAY_INLINE double gather_dot_body(const float* x, const std::int32_t* index, index_t count, const double* v) {
    double part[8] = {};
    index_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (int lane = 0; lane < 8; ++lane) part[lane] += static_cast<double>(x[k + lane]) * v[index[k + lane]];
    for (int lane = 0; k + lane < count; ++lane) part[lane] += static_cast<double>(x[k + lane]) * v[index[k + lane]];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

// The quadratic model over the working columns.
struct Model {
    std::vector<index_t> columns;              // working columns
    index_t cells = 0;                         // stored in them
    std::vector<double> curvature, tilt;       // H_jj and h_j
    std::vector<double> gradient, step;        // G_j (with the ridge at g), d_j
    double weight = 0.0;                       // S
};

struct Sweep {
    const L1LogisticProblem& problem;
    const ScaledColumns& table;
    Model& model;
    const float* weights;        // D
    const double* point;         // g
    double* along;               // D X d, without the step of c
    double& shift;               // step of c
    const std::vector<index_t>& places;  // places of `model.columns` to visit
    std::vector<index_t>& live;          // OUT places that are not zero afterwards or moved
};

// One sweep; returns the largest violation met.
ASSAY_INLINE double sweep_body(const Sweep& s) {
    Model& model = s.model;
    double worst = 0.0;
    s.live.clear();
    for (const index_t at : s.places) {
        const auto place = static_cast<std::size_t>(at);
        const index_t j = model.columns[place], count = s.table.count(j);
        const float* const x = s.table.values(j);
        const std::int32_t* const index = s.table.rows(j);
        const double ridge = s.problem.ridge[j], l1 = s.problem.l1[j], before = s.point[j] + model.step[place];
        const double gradient = model.gradient[place] + ridge * model.step[place] + s.shift * model.tilt[place] +
                                gather_dot_body(x, index, count, s.along);
        const double tilt = model.tilt[place], bent = model.curvature[place];
        const double centred = model.weight > 0.0 ? bent - tilt * tilt / model.weight : bent;
        const double curvature = std::max(centred, 1e-8 * bent) + ridge;
        if (!(curvature > 0.0)) continue;
        const double target = curvature * before - gradient, size = std::abs(target) - l1;
        const double after = size > 0.0 ? std::copysign(size, target) / curvature : 0.0, move = after - before;
        worst = std::max(worst, curvature * std::abs(move));
        if (after != 0.0 || move != 0.0) s.live.push_back(at);
        if (move == 0.0) continue;
        model.step[place] += move;
        for (index_t k = 0; k < count; ++k)
            s.along[index[k]] += move * static_cast<double>(x[k]) * static_cast<double>(s.weights[index[k]]);
        if (model.weight > 0.0) s.shift -= move * tilt / model.weight;
    }
    return worst;
}
ASSAY_DISPATCH(double, sweep_once, sweep_body, (const Sweep& s), (s))

// Where a sweep ended, and how far it went: each move times the root of its curvature.
struct Swept {
    std::vector<double> step, along, moves;
    double shift;
};

class Solver {
public:
    Solver(const L1LogisticProblem& problem, int threads, double* coefficients)
        : problem_(problem),
          threads_(threads),
          n_(problem.rows.lines),
          p_(problem.rows.places),
          point_(coefficients),
          eta_(size(n_)),
          change_(size(n_)),
          residual_(size(n_)),
          curvature_(size(n_)),
          bend_(size(n_)),
          gradient_(size(p_)),
          slopes_(size(p_)),
          columns_(problem.rows, problem.inverse.data, threads) {
        total_ = problem.weights.empty()
                     ? static_cast<double>(n_)
                     : std::accumulate(problem.weights.data, problem.weights.data + n_, 0.0);
    }

    L1LogisticResult run(double tol, index_t max_iter) {
        L1LogisticResult result;
        product(point_, problem_.intercept ? point_[p_] : 0.0, eta_);
        LogisticSums sums = derivatives();
        double value = sums.loss + penalty(point_), last = 0.0;
        for (index_t iteration = 0;; ++iteration) {
            const double worst = gradient();
            result.separated = sums.not_right == 0.0;
            result.steps.push_back({value, worst / total_, 0.0});
            if (worst <= tol * total_) {
                // One step more, of which the optimum keeps about twice as many digits.
                result.status = L1LogisticStatus::converged;
                if (iteration < max_iter && worst > 0.0) line_search(value, solve(0.01 * worst), sums);
                break;
            }
            if (iteration == max_iter || interrupted()) break;
            // Sharper models as the steps do better (Eisenstat & Walker): superlinear convergence.
            const double share = iteration == 0 ? 0.1 : std::min(0.1, worst * worst / (last * last));
            last = worst;
            const double decrease = solve(std::max(share * worst, 0.01 * tol * total_));
            result.steps.back().longest = longest_;
            const double reached = line_search(value, decrease, sums);
            if (!(reached < value)) {
                result.status = worst <= std::sqrt(tol) * total_ ? L1LogisticStatus::converged : L1LogisticStatus::stalled;
                break;
            }
            value = reached;
        }
        return result;
    }

private:
    static std::size_t size(index_t n) { return static_cast<std::size_t>(n); }

    double penalty(const double* g) const {
        double total = 0.0;
        for (index_t j = 0; j < p_; ++j)
            total += problem_.l1[j] * std::abs(g[j]) + 0.5 * problem_.ridge[j] * g[j] * g[j];
        return total;
    }

    // out = X g + c
    void product(const double* g, double constant, std::vector<double>& out) {
        bool zero = true;
        for (index_t j = 0; j < p_; ++j) {
            slopes_[size(j)] = g[j] * problem_.inverse[j];
            zero = zero && slopes_[size(j)] == 0.0;
        }
        if (zero) std::fill(out.begin(), out.end(), 0.0);
        else
            sparse_product(problem_.rows, c_matrix<const double>(slopes_.data(), p_, 1), c_matrix(out.data(), n_, 1),
                           threads_);
        if (constant != 0.0)
            for (double& value : out) value += constant;
    }

    LogisticSums derivatives() {
        return logistic_rows(c_matrix<const double>(eta_.data(), n_, 1), problem_.codes, problem_.weights, 2,
                             c_matrix(residual_.data(), n_, 1), {curvature_.data(), n_}, {}, threads_);
    }

    double violation(double gradient, double g, double l1) const {
        return g == 0.0 ? std::max(std::abs(gradient) - l1, 0.0) : std::abs(gradient + std::copysign(l1, g));
    }

    // The gradient of loss and ridge at the point; returns the largest violation of optimality.
    double gradient() {
        level_ = problem_.intercept ? std::accumulate(residual_.begin(), residual_.end(), 0.0) : 0.0;
        sparse_transposed_product(problem_.rows, c_matrix<const double>(residual_.data(), n_, 1),
                                  c_matrix(gradient_.data(), p_, 1), threads_);
        for (index_t j = 0; j < p_; ++j)
            gradient_[size(j)] = problem_.inverse[j] * gradient_[size(j)] + problem_.ridge[j] * point_[j];
        double worst = std::abs(level_);
        for (index_t j = 0; j < p_; ++j)
            if (problem_.inverse[j] > 0.0)
                worst = std::max(worst, violation(gradient_[size(j)], point_[j], problem_.l1[j]));
        return worst;
    }

    void build(Model& model) {
        model.weight = 0.0;
        for (index_t i = 0; i < n_; ++i) {
            bend_[size(i)] = static_cast<float>(curvature_[size(i)]);
            if (problem_.intercept) model.weight += static_cast<double>(bend_[size(i)]);
        }
        model.columns.clear();
        model.cells = 0;
        for (index_t j = 0; j < p_; ++j) {
            if (!(problem_.inverse[j] > 0.0)) continue;
            if (point_[j] == 0.0 && !(std::abs(gradient_[size(j)]) > rest_ * problem_.l1[j])) continue;
            model.columns.push_back(j);
            model.cells += columns_.count(j);
        }
        columns_.lay_out(model.columns);
        const auto count = static_cast<index_t>(model.columns.size());
        for (auto* v : {&model.curvature, &model.tilt, &model.gradient}) v->resize(size(count));
        model.step.assign(size(count), 0.0);
        parallel_chunks(count, 256, threads_, [&](index_t, index_t begin, index_t end) {
            for (index_t at = begin; at < end; ++at) {
                const index_t j = model.columns[size(at)], cells = columns_.count(j);
                const float* const x = columns_.values(j);
                const std::int32_t* const index = columns_.rows(j);
                double square = 0.0, tilt = 0.0;
                for (index_t k = 0; k < cells; ++k) {
                    const double bent = static_cast<double>(x[k]) * static_cast<double>(bend_[size(index[k])]);
                    square += bent * static_cast<double>(x[k]);
                    tilt += bent;
                }
                model.curvature[size(at)] = square;
                model.tilt[size(at)] = problem_.intercept ? tilt : 0.0;
                model.gradient[size(at)] = gradient_[size(j)];
            }
        });
    }

    // The step, left in model_ and shift_; returns the predicted change of the objective to first order.
    double solve(double accuracy) {
        build(model_);
        std::vector<double>& along = change_;
        std::fill(along.begin(), along.end(), 0.0);
        shift_ = model_.weight > 0.0 ? -level_ / model_.weight : 0.0;
        std::vector<index_t> all(model_.columns.size()), places, live;
        std::vector<double> before;
        // A mixture reads the rows a dozen times, in order.
        const bool mixing = model_.cells > 4 * n_;
        ends_ = 0;
        std::iota(all.begin(), all.end(), 0);
        places = all;
        bool everything = true;
        for (int sweep = 0; sweep < most_sweeps && !interrupted(); ++sweep) {
            before = model_.step;
            const double worst =
                sweep_once({problem_, columns_, model_, bend_.data(), point_, along.data(), shift_, places, live});
            if (worst <= accuracy) {
                if (everything) break;
                places = all;
                everything = true;
            } else if (10 * live.size() < 9 * all.size()) {
                places = live;
                everything = false;
            } else {
                places = all;
                everything = true;
            }
            if (mixing) mix(before);
        }
        double decrease = level_ * shift_;
        longest_ = std::abs(shift_);
        for (std::size_t at = 0; at < model_.columns.size(); ++at) {
            const index_t j = model_.columns[at];
            const double d = model_.step[at];
            decrease += model_.gradient[at] * d + problem_.l1[j] * (std::abs(point_[j] + d) - std::abs(point_[j]));
            longest_ = std::max(longest_, std::abs(d));
        }
        return decrease;
    }

    // The model at the step, the step of c eliminated.
    double model_value() const {
        double value = 0.0, tilted = level_;
        for (index_t i = 0; i < n_; ++i)
            if (bend_[size(i)] > 0.0f)
                value += change_[size(i)] * change_[size(i)] / static_cast<double>(bend_[size(i)]);
        value *= 0.5;
        for (std::size_t at = 0; at < model_.columns.size(); ++at) {
            const index_t j = model_.columns[at];
            const double d = model_.step[at];
            value += model_.gradient[at] * d + 0.5 * problem_.ridge[j] * d * d +
                     problem_.l1[j] * std::abs(point_[j] + d);
            tilted += model_.tilt[at] * d;
        }
        return model_.weight > 0.0 ? value - 0.5 * tilted * tilted / model_.weight : value;
    }

    // Goes from where the last sweep ended to the mixture of the last ends whose moves by their sweeps cancel best
    // (Anderson's extrapolation), less the coefficients that would change sign, which become zero; stays if the model is
    // not lower there.
    void mix(const std::vector<double>& before) {
        if (swept_.size() < most_mixed) swept_.emplace_back();
        const std::size_t place = ends_ % most_mixed, count = std::min<std::size_t>(++ends_, most_mixed);
        Swept& end = swept_[place];
        end.step = model_.step;
        end.along = change_;
        end.shift = shift_;
        end.moves.resize(before.size());
        for (std::size_t at = 0; at < before.size(); ++at)
            end.moves[at] = std::sqrt(model_.curvature[at]) * (model_.step[at] - before[at]);
        for (std::size_t a = 0; a < count; ++a)
            products_[a][place] = products_[place][a] =
                std::inner_product(end.moves.begin(), end.moves.end(), swept_[a].moves.begin(), 0.0);
        double shares[most_mixed];
        if (count < 2 || !cancelling_shares(count, shares)) return;
        const double plain = model_value();
        const auto blend = [&](std::vector<double>& out, std::vector<double> Swept::*part) {
            for (std::size_t k = 0; k < out.size(); ++k) out[k] *= shares[place];
            for (std::size_t a = 0; a < count; ++a)
                if (a != place)
                    for (std::size_t k = 0; k < out.size(); ++k) out[k] += shares[a] * (swept_[a].*part)[k];
        };
        blend(model_.step, &Swept::step);
        blend(change_, &Swept::along);
        shift_ = 0.0;
        for (std::size_t a = 0; a < count; ++a) shift_ += shares[a] * swept_[a].shift;
        for (std::size_t at = 0; at < before.size(); ++at) {
            const double from = point_[model_.columns[at]], value = from + model_.step[at];
            if (value == 0.0 || value * (from + end.step[at]) > 0.0) continue;
            add_column(at, -value);
            model_.step[at] = -from;
        }
        if (model_value() < plain) return;
        model_.step = end.step;
        change_ = end.along;
        shift_ = end.shift;
        ends_ = 0;
    }

    // change_ += D times `move` times the column at a place of the model
    void add_column(std::size_t at, double move) {
        const index_t j = model_.columns[at], count = columns_.count(j);
        const float* const x = columns_.values(j);
        const std::int32_t* const index = columns_.rows(j);
        for (index_t k = 0; k < count; ++k)
            change_[size(index[k])] += move * static_cast<double>(x[k]) * static_cast<double>(bend_[size(index[k])]);
        if (model_.weight > 0.0) shift_ -= move * model_.tilt[at] / model_.weight;
    }

    // Shares that sum to one, in proportion to the solution of products * shares = 1; false if there are none.
    bool cancelling_shares(std::size_t count, double* shares) const {
        double left[most_mixed][most_mixed], trace = 0.0, sum = 0.0;
        for (std::size_t a = 0; a < count; ++a) {
            std::copy_n(products_[a], count, left[a]);
            trace += left[a][a];
            shares[a] = 1.0;
        }
        for (std::size_t a = 0; a < count; ++a) left[a][a] += 1e-12 * trace;
        for (std::size_t a = 0; a < count; ++a) {
            if (!(left[a][a] > 0.0)) return false;
            for (std::size_t b = a + 1; b < count; ++b) {
                const double factor = left[b][a] / left[a][a];
                for (std::size_t c = a; c < count; ++c) left[b][c] -= factor * left[a][c];
                shares[b] -= factor * shares[a];
            }
        }
        for (std::size_t a = count; a-- > 0;) {
            for (std::size_t b = a + 1; b < count; ++b) shares[a] -= left[a][b] * shares[b];
            shares[a] /= left[a][a];
            sum += shares[a];
        }
        if (!(std::abs(sum) > 0.0 && std::isfinite(sum))) return false;
        for (std::size_t a = 0; a < count; ++a) shares[a] /= sum;
        return true;
    }

    // Takes the longest of step, step / 2, ... that gains its share; returns the objective there.
    double line_search(double value, double decrease, LogisticSums& sums) {
        std::vector<double> step(size(p_), 0.0), from(point_, point_ + p_), start = eta_;
        for (std::size_t at = 0; at < model_.columns.size(); ++at) step[size(model_.columns[at])] = model_.step[at];
        const double level = problem_.intercept ? point_[p_] : 0.0;
        product(step.data(), shift_, change_);
        double length = 1.0;
        for (int halving = 0; halving < most_halvings; ++halving, length *= 0.5) {
            for (index_t i = 0; i < n_; ++i) eta_[size(i)] = start[size(i)] + length * change_[size(i)];
            for (index_t j = 0; j < p_; ++j) point_[j] = from[size(j)] + length * step[size(j)];
            sums = derivatives();
            const double reached = sums.loss + penalty(point_);
            if (reached <= value + 1e-4 * length * decrease) {
                if (problem_.intercept) point_[p_] = level + length * shift_;
                return reached;
            }
        }
        std::copy(from.begin(), from.end(), point_);
        eta_ = start;
        sums = derivatives();
        return value;
    }

    const L1LogisticProblem& problem_;
    int threads_;
    index_t n_, p_;
    double* point_;
    double total_ = 0.0, level_ = 0.0, shift_ = 0.0, longest_ = 0.0, rest_ = 0.9;
    std::vector<double> eta_, change_, residual_, curvature_;
    std::vector<float> bend_;  // D of the model
    std::vector<double> gradient_, slopes_;
    ScaledColumns columns_;
    Model model_;
    std::vector<Swept> swept_;  // a ring
    std::size_t ends_ = 0;      // put into it
    double products_[most_mixed][most_mixed] = {};
};

}  // namespace

L1LogisticResult l1_logistic(const L1LogisticProblem& problem, double tol, index_t max_iter, int threads,
                             double* coefficients) {
    return Solver(problem, threads, coefficients).run(tol, max_iter);
}

}  // namespace assay
