#include "assay/linear/gradient_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "sparse_descent.hpp"

namespace assay {
namespace {

// Registers of four: wider vectors than a machine has are kept in memory by compilers, cell by cell.
constexpr index_t lane = 4;
typedef double lanes __attribute__((vector_size(lane * 8), aligned(8), may_alias));

// Rows come in random order: asked for this many steps ahead, they are there when their turn comes.
constexpr index_t rows_ahead = 8;
constexpr index_t most_ahead = 2048;  // bytes of a row

ASSAY_INLINE void fetch_row(const double* x, index_t p) {
    const char* const cells = reinterpret_cast<const char*>(x);
    const index_t bytes = std::min(p * static_cast<index_t>(sizeof(double)), most_ahead);
    for (index_t b = 0; b < bytes; b += 64) __builtin_prefetch(cells + b);
}

ASSAY_INLINE void add_products(lanes& sum, const double* a, const double* b) {
    sum += *reinterpret_cast<const lanes*>(a) * *reinterpret_cast<const lanes*>(b);
}

ASSAY_INLINE double dot(const double* a, const double* b, index_t n) {
    lanes sums[4] = {};
    index_t j = 0;
    for (; j + 4 * lane <= n; j += 4 * lane)
        for (index_t k = 0; k < 4; ++k) add_products(sums[k], a + j + k * lane, b + j + k * lane);
    if (j + 2 * lane <= n) {
        for (index_t k = 0; k < 2; ++k) add_products(sums[k], a + j + k * lane, b + j + k * lane);
        j += 2 * lane;
    }
    const lanes sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    double total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (; j < n; ++j) total += a[j] * b[j];
    return total;
}

struct Batch {
    const DescentData& data;
    const std::int64_t* rows;
    index_t begin, end;
    const double* theta;
    double* gradient;  // outputs x (p + 1) sums, added to; null: loss only
    double* scores;    // room for one value per output
};

// Sum of w loss over the rows of a batch; adds w slope [x, 1] to the gradient.
template <class Policy>
ASSAY_INLINE double accumulate_with(const Batch& b) {
    if (!b.data.sparse.empty()) return accumulate_sparse<Policy>(b);
    const index_t p = b.data.x.cols, width = p + 1, outputs = b.data.outputs;
    double loss = 0.0;
    for (index_t i = b.begin; i < b.end; ++i) {
        const index_t row = b.rows[i];
        const double* const x = b.data.x.row(row);
        if (i + rows_ahead < b.end && b.rows[i + rows_ahead] != row + rows_ahead)
            fetch_row(b.data.x.row(b.rows[i + rows_ahead]), p);
        const double weight = b.data.weights.empty() ? 1.0 : b.data.weights[row];
        for (index_t k = 0; k < outputs; ++k) b.scores[k] = dot(b.theta + k * width, x, p) + b.theta[k * width + p];
        loss += weight * Policy::row(b.scores, outputs, b.data.target[row], b.data.parameter, b.scores, nullptr);
        if (b.gradient == nullptr) continue;
        for (index_t k = 0; k < outputs; ++k) {
            const double slope = weight * b.scores[k];
            if (slope == 0.0) continue;
            double* const gradient = b.gradient + k * width;
            for (index_t j = 0; j < p; ++j) gradient[j] += slope * x[j];
            gradient[p] += slope;
        }
    }
    return loss;
}

struct Single {
    const DescentData& data;
    const std::int64_t* rows;
    index_t count;
    double* theta;
    double* scores;
    const DescentOptions& options;
    std::int64_t updates;  // before the first row
    double epochs;         // passes before the first row
    double eta, scale;     // current step; n / sum w
};

ASSAY_INLINE double shrink(double value, double by) {
    return value > by ? value - by : (value < -by ? value + by : 0.0);
}

// One epoch of single-row steps without momentum: score and update fused.
template <class Policy>
ASSAY_INLINE double single_epoch_with(const Single& s) {
    if (!s.data.sparse.empty()) return single_epoch_sparse<Policy>(s);
    const index_t p = s.data.x.cols, width = p + 1, outputs = s.data.outputs;
    double loss = 0.0;
    for (index_t i = 0; i < s.count; ++i) {
        const index_t row = s.rows[i];
        const double* const x = s.data.x.row(row);
        if (i + rows_ahead < s.count) fetch_row(s.data.x.row(s.rows[i + rows_ahead]), p);
        const double weight = (s.data.weights.empty() ? 1.0 : s.data.weights[row]);
        const double eta = s.options.steps.step(static_cast<double>(s.updates + i),
                                     s.epochs + static_cast<double>(i) / static_cast<double>(s.count), s.eta);
        for (index_t k = 0; k < outputs; ++k) s.scores[k] = dot(s.theta + k * width, x, p) + s.theta[k * width + p];
        loss += weight * Policy::row(s.scores, outputs, s.data.target[row], s.data.parameter, s.scores, nullptr);
        const double keep = 1.0 - eta * s.options.l2, cut = eta * s.options.l1;
        for (index_t k = 0; k < outputs; ++k) {
            double* const theta = s.theta + k * width;
            const double move = eta * s.scale * weight * s.scores[k];
            for (index_t j = 0; j < p; ++j) theta[j] = keep * theta[j] - move * x[j];
            if (cut > 0.0)
                for (index_t j = 0; j < p; ++j) theta[j] = shrink(theta[j], cut);
            if (s.data.intercept) theta[p] -= move;
        }
    }
    return loss;
}

#define ASSAY_CASE(name, ...) \
    case Loss::name: return ASSAY_FUNCTION<__VA_ARGS__>(argument);
ASSAY_INLINE double accumulate_body(const Batch& argument) {
    using namespace losses;
    switch (argument.data.loss) {
#define ASSAY_FUNCTION accumulate_with
        ASSAY_BOUNDED_LOSSES(ASSAY_CASE)
#undef ASSAY_FUNCTION
        default: return 0.0;
    }
}
ASSAY_INLINE double single_epoch_body(const Single& argument) {
    using namespace losses;
    switch (argument.data.loss) {
#define ASSAY_FUNCTION single_epoch_with
        ASSAY_BOUNDED_LOSSES(ASSAY_CASE)
#undef ASSAY_FUNCTION
        default: return 0.0;
    }
}
#undef ASSAY_CASE
ASSAY_DISPATCH(double, accumulate, accumulate_body, (const Batch& batch), (batch))
ASSAY_DISPATCH(double, single_epoch, single_epoch_body, (const Single& single), (single))

// At most 64 chunks, so that their gradients stay small beside the rows; the split depends on the count alone.
index_t grain_of(index_t count) { return std::max<index_t>(512, (count + 63) / 64); }

class Descent {
public:
    Descent(const DescentData& data, const DescentOptions& options, DescentState& state)
        : data_(data),
          options_(options),
          state_(state),
          width_(data.x.cols + 1),
          size_(static_cast<std::size_t>(data.outputs * width_)),
          gradient_(size_),
          at_(size_),
          scores_(static_cast<std::size_t>(data.outputs)),
          order_(data.rows.data, data.rows.data + data.rows.size) {
        total_ = weight_of(data.rows);
        validation_total_ = weight_of(data.validation);
    }

    DescentHistory run() {
        DescentHistory history;
        const index_t n = data_.rows.size;
        const index_t size = options_.batch_size <= 0 ? n : std::min(options_.batch_size, n);
        const bool full = size == n && options_.batch_size <= 0;
        double eta = options_.steps.eta0, best = std::numeric_limits<double>::infinity(), first = best, first_gradient = 0.0;
        index_t waited = 0;
        std::vector<double> best_theta;
        const bool keeps_best = options_.keep_best || data_.validation.size > 0;
        if (options_.keep_path) history.path = state_.theta;
        for (index_t epoch = 0; epoch < options_.max_epochs && !interrupted(); ++epoch) {
            std::vector<double> before = state_.theta;
            double largest = 0.0;
            const double objective = full ? full_epoch(eta, largest) : batched_epoch(size, eta, largest);
            ++state_.epochs;
            if (epoch == 0) first = objective, first_gradient = largest;
            if (!finite() || !(objective <= 1e8 * (1.0 + std::abs(first)))) {
                state_.theta = before;
                history.status = DescentStatus::diverged;
                return history;
            }
            history.objective.push_back(objective);
            history.step.push_back(last_step_);
            history.gradient.push_back(largest);
            double watched = objective;
            if (data_.validation.size > 0) {
                watched = sum_loss(data_.validation, state_.theta.data(), nullptr) / validation_total_;
                history.validation.push_back(watched);
            }
            if (options_.keep_path) history.path.insert(history.path.end(), state_.theta.begin(), state_.theta.end());
            const bool better = watched < best - std::max(options_.tol, 0.0) * std::abs(best) || epoch == 0;
            if (keeps_best && (watched < best || epoch == 0))
                best_theta = data_.validation.size > 0 ? state_.theta : before;
            best = std::min(best, watched);
            waited = better ? 0 : waited + 1;
            const bool adaptive = options_.steps.adaptive(), endless = options_.tol < 0.0;
            if (endless && !adaptive) continue;
            // Below the rounding of its own sum a gradient says nothing, and need not shrink any further.
            const bool rounding = eta * largest * largest <= least_gain_ * std::abs(objective);
            if (full && options_.by_gradient && (largest <= options_.tol * first_gradient || rounding)) {
                history.status = DescentStatus::converged;
                break;
            }
            if (waited < options_.patience || (options_.by_gradient && full && !adaptive && data_.validation.size == 0))
                continue;
            waited = 0;
            if (adaptive && eta / 5.0 > 1e-6 * options_.steps.eta0) {
                eta /= 5.0;
                continue;
            }
            if (endless) continue;
            history.status = DescentStatus::converged;
            break;
        }
        const bool rose = history.objective.size() > 1 && history.objective.back() > first + 1e-9 * std::abs(first);
        if (full && options_.by_gradient && options_.momentum == 0.0 && rose)
            history.status = DescentStatus::diverged;
        if (keeps_best && !best_theta.empty()) state_.theta = best_theta;
        return history;
    }

    double sum_loss(Vector<const std::int64_t> rows, const double* theta, double* gradient) {
        return sum_rows(rows.data, 0, rows.size, theta, gradient);
    }

    double total() const { return total_; }

private:
    double weight_of(Vector<const std::int64_t> rows) const {
        if (data_.weights.empty()) return static_cast<double>(rows.size);
        double total = 0.0;
        for (index_t i = 0; i < rows.size; ++i) total += data_.weights[rows[i]];
        return total;
    }

    bool finite() const {
        double sum = 0.0;
        for (double value : state_.theta) sum += std::abs(value);
        return sum < 1e100;
    }

    double penalty(const std::vector<double>& theta) const {
        double total = 0.0;
        for (index_t k = 0; k < data_.outputs; ++k)
            for (index_t j = 0; j + 1 < width_; ++j) {
                const double value = theta[static_cast<std::size_t>(k * width_ + j)];
                total += 0.5 * options_.l2 * value * value + options_.l1 * std::abs(value);
            }
        return total;
    }

    double sum_rows(const std::int64_t* rows, index_t begin, index_t end, const double* theta, double* gradient) {
        const index_t count = end - begin, grain = grain_of(count), chunks = chunk_count(count, grain);
        if (chunks <= 1) return accumulate({data_, rows, begin, end, theta, gradient, scores_.data()});
        const std::size_t room = gradient == nullptr ? 0 : size_;
        std::vector<double> losses(static_cast<std::size_t>(chunks)), parts(static_cast<std::size_t>(chunks) * room);
        std::vector<double> scores(static_cast<std::size_t>(chunks * data_.outputs));
        // Waking threads costs more than a small pass; the chunks, and so the bits, are the same.
        const int threads = count * width_ * data_.outputs < 200'000 ? 1 : options_.threads;
        parallel_chunks(count, grain, threads, [&](index_t c, index_t from, index_t to) {
            double* const part = gradient == nullptr ? nullptr : parts.data() + static_cast<std::size_t>(c) * room;
            losses[static_cast<std::size_t>(c)] = accumulate(
                {data_, rows, begin + from, begin + to, theta, part, scores.data() + c * data_.outputs});
        });
        for (std::size_t c = 0; gradient != nullptr && c < static_cast<std::size_t>(chunks); ++c)
            for (std::size_t j = 0; j < size_; ++j) gradient[j] += parts[c * room + j];
        return std::accumulate(losses.begin(), losses.end(), 0.0);
    }

    // One step on rows begin..end of `order_`; returns the sum of w loss at the point of the gradient.
    double take_step(index_t begin, index_t end, double eta, bool measure, double& largest) {
        const bool ahead = options_.nesterov && options_.momentum > 0.0;
        std::vector<double>& theta = state_.theta;
        if (ahead)
            for (std::size_t j = 0; j < size_; ++j) at_[j] = theta[j] + options_.momentum * state_.velocity[j];
        const double* const at = ahead ? at_.data() : theta.data();
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        const double loss = sum_rows(order_.data(), begin, end, at, gradient_.data());
        const double scale = static_cast<double>(order_.size()) / (static_cast<double>(end - begin) * total_);
        last_step_ = eta;
        for (index_t k = 0; k < data_.outputs; ++k)
            for (index_t j = 0; j < width_; ++j) {
                const auto c = static_cast<std::size_t>(k * width_ + j);
                const bool constant = j + 1 == width_;
                if (constant && !data_.intercept) continue;
                const double l2 = constant ? 0.0 : options_.l2, cut = constant ? 0.0 : eta * options_.l1;
                const double point = at[c], slope = scale * gradient_[c] + l2 * point;
                if (measure) largest = std::max(largest, std::abs(point - shrink(point - eta * slope, cut)) / eta);
                const double from = ahead ? point : point + options_.momentum * state_.velocity[c];
                const double next = shrink(from - eta * slope, cut);
                state_.velocity[c] = next - theta[c];
                theta[c] = next;
            }
        ++state_.updates;
        return loss;
    }

    double full_epoch(double eta, double& largest) {
        const double step = options_.steps.step(static_cast<double>(state_.updates), static_cast<double>(state_.epochs), eta);
        const bool ahead = options_.nesterov && options_.momentum > 0.0;
        double charge = ahead ? 0.0 : penalty(state_.theta);
        const double loss = take_step(0, data_.rows.size, step, true, largest);
        if (ahead) charge = penalty(at_);
        return loss / total_ + charge;
    }

    double batched_epoch(index_t size, double eta, double& largest) {
        const index_t n = data_.rows.size;
        if (options_.shuffle) {
            order_.assign(data_.rows.data, data_.rows.data + n);
            Random random(options_.key, static_cast<std::uint64_t>(state_.epochs));
            for (index_t i = n - 1; i > 0; --i)
                std::swap(order_[static_cast<std::size_t>(i)],
                          order_[random.below(static_cast<std::uint32_t>(i + 1))]);
        }
        const auto done = static_cast<double>(state_.epochs);
        double loss = 0.0;
        const std::vector<double> before = state_.theta;
        if (size == 1 && options_.momentum == 0.0) {
            loss = single_epoch({data_, order_.data(), n, state_.theta.data(), scores_.data(), options_, state_.updates,
                                 done, eta, static_cast<double>(n) / total_});
            state_.updates += n;
            last_step_ = options_.steps.step(static_cast<double>(state_.updates - 1), done + 1.0, eta);
        } else {
            for (index_t begin = 0; begin < n && !interrupted(); begin += size) {
                const double epochs = done + static_cast<double>(begin) / static_cast<double>(n);
                const double step = options_.steps.step(static_cast<double>(state_.updates), epochs, eta);
                loss += take_step(begin, std::min(n, begin + size), step, false, largest);
            }
        }
        for (std::size_t j = 0; j < size_; ++j) largest = std::max(largest, std::abs(state_.theta[j] - before[j]));
        return loss / total_ + penalty(state_.theta);
    }

    const DescentData& data_;
    const DescentOptions& options_;
    DescentState& state_;
    index_t width_;
    std::size_t size_;
    std::vector<double> gradient_, at_, scores_;
    std::vector<std::int64_t> order_;
    double total_ = 0.0, validation_total_ = 0.0, last_step_ = 0.0;
    static constexpr double least_gain_ = 1e-30;  // of the objective by one step: (4.5 eps)^2
};

}  // namespace

DescentHistory descend(const DescentData& data, const DescentOptions& options, DescentState& state) {
    return Descent(data, options, state).run();
}

namespace {

constexpr index_t most_exact = 64;  // unknowns up to which the matrix is written out
constexpr int least_passes = 30, most_passes = 60;

// An upper bound on the largest eigenvalue of a symmetric positive semidefinite matrix that exceeds it by less than 1 %:
// for M = A^(2^k), |M|_F >= lambda_max(A)^(2^k), and at most sqrt(d) times that. The powers are made by squaring.
double largest_eigenvalue_bound(std::vector<double> matrix, std::size_t d) {
    double log_bound = 0.0, power = 1.0;
    for (int squaring = 0;; ++squaring, power *= 2.0) {
        const double size = std::sqrt(std::inner_product(matrix.begin(), matrix.end(), matrix.begin(), 0.0));
        if (!(size > 0.0) || !std::isfinite(size)) return squaring == 0 ? size : std::exp(log_bound);
        log_bound += std::log(size) / power;
        if (squaring == 9) return std::exp(log_bound);
        for (double& value : matrix) value /= size;
        std::vector<double> square(matrix.size(), 0.0);
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t k = 0; k < d; ++k)
                for (std::size_t j = 0; j < d; ++j) square[i * d + j] += matrix[i * d + k] * matrix[k * d + j];
        matrix = std::move(square);
    }
}

}  // namespace

// With targets 0 the gradient of the squared error at v is the matrix times v.
Curvature score_curvature(const DescentData& given, int threads) {
    const index_t n = given.x.rows, p = given.x.cols;
    const std::vector<double> zeros(static_cast<std::size_t>(n));
    DescentData data = given;
    data.target = {zeros.data(), n};
    data.outputs = 1;
    data.loss = Loss::squared_error;
    DescentOptions options;
    options.threads = threads;
    DescentState state;
    Descent passes(data, options, state);
    const double constant = data.intercept ? 1.0 : 0.0;
    Curvature found;
    for (index_t i = 0; i < data.rows.size; ++i) {
        const index_t row = data.rows[i];
        double squares = constant;
        if (!data.sparse.empty()) {
            for (index_t k = data.sparse.begin(row); k < data.sparse.end(row); ++k)
                squares += data.sparse.values[k] * data.sparse.values[k];
        } else {
            for (index_t j = 0; j < p; ++j) squares += data.x(row, j) * data.x(row, j);
        }
        found.row = std::max(found.row, squares * (data.weights.empty() ? 1.0 : data.weights[row]));
    }
    found.row *= static_cast<double>(data.rows.size) / passes.total();
    const index_t width = p + 1;
    const auto product_with = [&](const std::vector<double>& v) {
        std::vector<double> product(static_cast<std::size_t>(width), 0.0);
        passes.sum_loss(data.rows, v.data(), product.data());
        if (!data.intercept) product.back() = 0.0;
        for (double& value : product) value /= passes.total();
        return product;
    };
    if (width <= most_exact) {
        std::vector<double> matrix, unit(static_cast<std::size_t>(width));
        for (index_t j = 0; j < width && !interrupted(); ++j) {
            std::fill(unit.begin(), unit.end(), 0.0);
            unit[static_cast<std::size_t>(j)] = data.intercept || j + 1 < width ? 1.0 : 0.0;
            const std::vector<double> row = product_with(unit);
            matrix.insert(matrix.end(), row.begin(), row.end());
        }
        found.mean = largest_eigenvalue_bound(std::move(matrix), static_cast<std::size_t>(width));
        return found;
    }
    std::vector<double> v(static_cast<std::size_t>(width));
    Random random(0x5eed);
    for (double& value : v) value = random.normal();
    if (!data.intercept) v.back() = 0.0;
    for (int pass = 0; pass < most_passes && !interrupted(); ++pass) {
        const double norm = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
        if (!(norm > 0.0)) break;
        for (double& value : v) value /= norm;
        std::vector<double> product = product_with(v);
        const double quotient = std::inner_product(v.begin(), v.end(), product.begin(), 0.0);
        const bool settled = pass >= least_passes && std::abs(quotient - found.mean) <= 1e-4 * quotient;
        found.mean = std::max(found.mean, quotient);
        v = std::move(product);
        if (settled) break;
    }
    return found;
}

}  // namespace assay
