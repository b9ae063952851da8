#include "assay/linear/l1_logistic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/linear/logistic.hpp"
#include "assay/losses/log_loss.hpp"

namespace assay {
namespace {

constexpr int most_halvings = 20, most_sweeps = 1000;

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
    std::vector<index_t> starts;               // of their cells in `cells`
    std::vector<float> cells;                  // scaled columns times sqrt(D)
    std::vector<double> curvature, tilt;       // H_jj and h_j
    std::vector<double> gradient, step;        // G_j (with the ridge at g), d_j
    double weight = 0.0;                       // S
};

struct Sweep {
    const L1LogisticProblem& problem;
    Model& model;
    const double* point;         // g
    double* along;               // sqrt(D) X d, without the step of c
    double& shift;               // step of c
    const std::vector<index_t>& places;  // places of `model.columns` to visit
    std::vector<index_t>& live;          // OUT places that are not zero afterwards or moved
};

// One sweep; returns the largest violation met.
ASSAY_INLINE double sweep_body(const Sweep& s) {
    const SparseMatrix& table = s.problem.columns;
    Model& model = s.model;
    double worst = 0.0;
    s.live.clear();
    for (const index_t at : s.places) {
        const auto place = static_cast<std::size_t>(at);
        const index_t j = model.columns[place], first = table.begin(j), count = table.end(j) - first;
        const float* const x = model.cells.data() + model.starts[place];
        const std::int32_t* const index = table.indices + first;
        const double ridge = s.problem.ridge[j], l1 = s.problem.l1[j], before = s.point[j] + model.step[place];
        const double gradient = model.gradient[place] + ridge * model.step[place] + s.shift * model.tilt[place] +
                                gather_dot_body(x, index, count, s.along);
        const double tilt = model.tilt[place], bent = model.curvature[place];
        const double centred = model.weight > 0.0 ? bent - tilt * tilt / model.weight : bent;
        const double curvature = std::max(centred, 1e-8 * bent) + ridge;
        if (!(curvature > 0.0)) continue;
        const double target = curvature * before - gradient, size = std::abs(target) - l1;
        const double after = size > 0.0 ? std::copysign(size, target) / curvature : 0.0, move = after - before;
        const double wrong = before == 0.0 ? std::max(std::abs(gradient) - l1, 0.0)
                                           : std::abs(gradient + std::copysign(l1, before));
        worst = std::max(worst, before != 0.0 && after == 0.0 ? curvature * std::abs(move) : wrong);
        if (after != 0.0 || move != 0.0) s.live.push_back(at);
        if (move == 0.0) continue;
        model.step[place] += move;
        for (index_t k = 0; k < count; ++k) s.along[index[k]] += move * static_cast<double>(x[k]);
        if (model.weight > 0.0) s.shift -= move * tilt / model.weight;
    }
    return worst;
}
ASSAY_DISPATCH(double, sweep_once, sweep_body, (const Sweep& s), (s))

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
          root_(size(n_)),
          gradient_(size(p_)),
          slopes_(size(p_)) {
        total_ = problem.weights.empty()
                     ? static_cast<double>(n_)
                     : std::accumulate(problem.weights.data, problem.weights.data + n_, 0.0);
    }

    L1LogisticResult run(double tol, index_t max_iter) {
        L1LogisticResult result;
        product(point_, problem_.intercept ? point_[p_] : 0.0, eta_);
        LogisticSums sums = derivatives();
        double value = sums.loss + penalty(point_);
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
            // Sharper models as the optimum comes near: superlinear convergence.
            const double share = std::min(0.1, std::sqrt(worst / total_));
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
        for (index_t j = 0; j < p_; ++j) slopes_[size(j)] = g[j] * problem_.inverse[j];
        sparse_product(problem_.rows, c_matrix<const double>(slopes_.data(), p_, 1), c_matrix(out.data(), n_, 1), threads_);
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
        parallel_chunks(p_, 256, threads_, [&](index_t, index_t begin, index_t end) {
            for (index_t j = begin; j < end; ++j) {
                double even = 0.0, odd = 0.0;
                index_t k = problem_.columns.begin(j);
                const index_t last = problem_.columns.end(j);
                for (; k + 2 <= last; k += 2) {
                    even += problem_.columns.values[k] * residual_[size(problem_.columns.indices[k])];
                    odd += problem_.columns.values[k + 1] * residual_[size(problem_.columns.indices[k + 1])];
                }
                if (k < last) even += problem_.columns.values[k] * residual_[size(problem_.columns.indices[k])];
                gradient_[size(j)] = problem_.inverse[j] * (even + odd) + problem_.ridge[j] * point_[j];
            }
        });
        double worst = std::abs(level_);
        for (index_t j = 0; j < p_; ++j)
            if (problem_.inverse[j] > 0.0)
                worst = std::max(worst, violation(gradient_[size(j)], point_[j], problem_.l1[j]));
        return worst;
    }

    void build(Model& model) {
        model.weight = problem_.intercept ? std::accumulate(curvature_.begin(), curvature_.end(), 0.0) : 0.0;
        for (index_t i = 0; i < n_; ++i) root_[size(i)] = std::sqrt(curvature_[size(i)]);
        model.columns.clear();
        model.starts.assign(1, 0);
        for (index_t j = 0; j < p_; ++j) {
            if (!(problem_.inverse[j] > 0.0)) continue;
            if (point_[j] == 0.0 && !(std::abs(gradient_[size(j)]) > rest_ * problem_.l1[j])) continue;
            model.columns.push_back(j);
            model.starts.push_back(model.starts.back() + problem_.columns.end(j) - problem_.columns.begin(j));
        }
        const auto count = static_cast<index_t>(model.columns.size());
        model.cells.resize(size(model.starts.back()));
        for (auto* v : {&model.curvature, &model.tilt, &model.gradient}) v->resize(size(count));
        model.step.assign(size(count), 0.0);
        parallel_chunks(count, 256, threads_, [&](index_t, index_t begin, index_t end) {
            for (index_t at = begin; at < end; ++at) {
                const index_t j = model.columns[size(at)], first = problem_.columns.begin(j);
                const index_t cells = problem_.columns.end(j) - first;
                float* const x = model.cells.data() + model.starts[size(at)];
                double square = 0.0, tilt = 0.0;
                for (index_t k = 0; k < cells; ++k) {
                    const double root = root_[size(problem_.columns.indices[first + k])];
                    const double value = problem_.inverse[j] * problem_.columns.values[first + k] * root;
                    x[k] = static_cast<float>(value);
                    square += value * value;
                    tilt += value * root;
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
        std::iota(all.begin(), all.end(), 0);
        places = all;
        bool everything = true;
        for (int sweep = 0; sweep < most_sweeps && !interrupted(); ++sweep) {
            const double worst = sweep_once({problem_, model_, point_, along.data(), shift_, places, live});
            ++sweeps_;
            if (worst <= accuracy) {
                if (everything) break;
                places = all;
                everything = true;
            } else {
                places = live;
                everything = false;
            }
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
    std::vector<double> eta_, change_, residual_, curvature_, root_, gradient_, slopes_;
    Model model_;
    index_t sweeps_ = 0;
};

}  // namespace

L1LogisticResult l1_logistic(const L1LogisticProblem& problem, double tol, index_t max_iter, int threads,
                             double* coefficients) {
    return Solver(problem, threads, coefficients).run(tol, max_iter);
}

}  // namespace assay
