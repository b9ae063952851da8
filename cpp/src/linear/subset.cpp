#include "assay/linear/subset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

// Sum of variance inflations of removed columns after which a part is built anew.
constexpr double drift_limit = 1e5;
// Cells below which waking threads costs more than the work of a step.
constexpr index_t least_shared = 100000;
constexpr double not_possible = std::numeric_limits<double>::quiet_NaN();

ASSAY_INLINE void add_multiple_body(index_t n, double factor, const double* x, double* y) {
    for (index_t i = 0; i < n; ++i) y[i] += factor * x[i];
}
ASSAY_DISPATCH(void, add_multiple, add_multiple_body, (index_t n, double factor, const double* x, double* y),
               (n, factor, x, y))

ASSAY_INLINE double inner_body(index_t n, const double* x, const double* y) {
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) sums[k] += x[i + k] * y[i + k];
    double total = 0;
    for (; i < n; ++i) total += x[i] * y[i];
    for (double sum : sums) total += sum;
    return total;
}
ASSAY_DISPATCH(double, inner, inner_body, (index_t n, const double* x, const double* y), (n, x, y))

using Row = std::vector<double>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

class SubsetSweep::Part {
public:
    Part(index_t columns, SubsetPart data, double tolerance, bool removals)
        : p_(columns), width_(columns + 1), data_(data), tolerance_(tolerance), removals_(removals) {
        clear();
    }

    double error() const { return std::max(0.0, data_.test == nullptr ? d_y_[at(p_)] : t_y_[at(p_)]); }

    bool is_free(index_t j) const {
        const double own = data_.train[j * width_ + j];
        return own > 0 && d_[at(j)] > tolerance_ * own;
    }

    double after_adding(index_t j) const {
        if (!is_free(j)) return error();
        const double g = d_y_[at(j)] / d_[at(j)];
        if (data_.test == nullptr) return std::max(0.0, d_y_[at(p_)] - g * d_y_[at(j)]);
        return std::max(0.0, t_y_[at(p_)] - 2 * g * t_y_[at(j)] + g * g * t_[at(j)]);
    }

    double after_removing(index_t k) const {
        const index_t slot = slot_of(k);
        if (slot < 0) return error();
        const double inverse = 1.0 / inverse_[at(slot)][at(slot)];
        for (index_t j : dependent_) {
            const double share = slope_[at(slot)][at(j)];
            if (d_[at(j)] + share * share * inverse > tolerance_ * data_.train[j * width_ + j]) {
                Part without(*this);  // a dependent column takes the place of the removed one
                without.remove(k);
                return without.error();
            }
        }
        const double b = slope_[at(slot)][at(p_)], h = b * inverse;
        if (data_.test == nullptr) return std::max(0.0, d_y_[at(p_)] + h * b);
        return std::max(0.0, t_y_[at(p_)] + 2 * h * dual_y_[at(slot)] + h * h * dual_[at(slot)]);
    }

    void add(index_t k) {
        if (is_free(k))
            sweep_in(k);
        else
            dependent_.push_back(k);
    }

    void remove(index_t k) {
        const auto found = std::find(dependent_.begin(), dependent_.end(), k);
        if (found != dependent_.end()) {
            dependent_.erase(found);
            return;
        }
        const index_t slot = slot_of(k);
        drift_ += inverse_[at(slot)][at(slot)] * data_.train[k * width_ + k];
        if (drift_ > drift_limit) {
            std::vector<index_t> kept(active_);
            kept.erase(kept.begin() + slot);
            const std::vector<index_t> waiting(dependent_);
            clear();
            for (index_t j : kept) add(j);
            for (index_t j : waiting) add(j);
            return;
        }
        sweep_out(slot);
        const std::vector<index_t> waiting(dependent_);
        dependent_.clear();
        for (index_t j : waiting) add(j);
    }

    const std::vector<index_t>& dependent() const { return dependent_; }
    index_t cells() const { return width_ * (1 + static_cast<index_t>(active_.size())); }

private:
    const double* train_row(index_t j) const { return data_.train + j * width_; }
    const double* test_row(index_t j) const { return data_.test + j * width_; }

    index_t slot_of(index_t k) const {
        const auto found = std::find(active_.begin(), active_.end(), k);
        return found == active_.end() ? -1 : static_cast<index_t>(found - active_.begin());
    }

    void clear() {
        active_.clear();
        dependent_.clear();
        slope_.clear();
        inverse_.clear();
        dual_.clear();
        dual_y_.clear();
        drift_ = 0;
        d_.resize(at(width_));
        d_y_.assign(train_row(p_), train_row(p_) + width_);
        for (index_t j = 0; j < width_; ++j) d_[at(j)] = train_row(j)[j];
        if (data_.test == nullptr) return;
        t_.resize(at(width_));
        t_y_.assign(test_row(p_), test_row(p_) + width_);
        for (index_t j = 0; j < width_; ++j) t_[at(j)] = test_row(j)[j];
    }

    // row_k of u_j' M u_k for all j, given M u_k.
    void take_out_slopes(Row& row, const Row& at_active) const {
        for (std::size_t s = 0; s < active_.size(); ++s)
            add_multiple(width_, -at_active[s], slope_[s].data(), row.data());
    }

    void sweep_in(index_t k) {
        const std::size_t size = active_.size();
        Row share(size), along(train_row(k), train_row(k) + width_);  // B_k, and d_jk for all j
        for (std::size_t s = 0; s < size; ++s) {
            share[s] = slope_[s][at(k)];
            add_multiple(width_, -share[s], train_row(active_[s]), along.data());
        }
        const double gain = 1.0 / d_[at(k)], d_ky = d_y_[at(k)], target_step = d_ky * gain;
        Row test_at_active(size);
        double t_kk = 0, t_ky = 0;
        if (data_.test != nullptr) {
            Row image(test_row(k), test_row(k) + width_);  // T u_k, then t_jk for all j
            for (std::size_t s = 0; s < size; ++s) add_multiple(width_, -share[s], test_row(active_[s]), image.data());
            for (std::size_t s = 0; s < size; ++s) test_at_active[s] = image[at(active_[s])];
            take_out_slopes(image, test_at_active);
            t_kk = image[at(k)];
            t_ky = image[at(p_)];
            for (index_t j = 0; j < width_; ++j) {
                const double a = along[at(j)] * gain;
                t_y_[at(j)] += -a * t_ky - target_step * image[at(j)] + a * target_step * t_kk;
                t_[at(j)] += a * (a * t_kk - 2 * image[at(j)]);
            }
        }
        for (index_t j = 0; j < width_; ++j) {
            const double a = along[at(j)] * gain;
            d_y_[at(j)] -= a * d_ky;
            d_[at(j)] -= a * along[at(j)];
        }
        if (removals_) grow_inverse(share, test_at_active, gain, target_step, t_kk, t_ky);
        for (double& value : along) value *= gain;
        for (std::size_t s = 0; s < size; ++s) add_multiple(width_, -share[s], along.data(), slope_[s].data());
        slope_.push_back(std::move(along));
        active_.push_back(k);
    }

    void grow_inverse(const Row& share, const Row& test_at_active, double gain, double target_step, double t_kk,
                      double t_ky) {
        const std::size_t size = share.size();
        if (data_.test != nullptr) {
            for (std::size_t s = 0; s < size; ++s) {
                const double mixed = inner(static_cast<index_t>(size), inverse_[s].data(), test_at_active.data());
                const double f = share[s] * gain;
                dual_[s] += f * (f * t_kk - 2 * mixed);
                dual_y_[s] += -target_step * mixed - f * t_ky + f * target_step * t_kk;
            }
        }
        for (std::size_t s = 0; s < size; ++s) {
            add_multiple(static_cast<index_t>(size), share[s] * gain, share.data(), inverse_[s].data());
            inverse_[s].push_back(-share[s] * gain);
        }
        Row last(size + 1);
        for (std::size_t s = 0; s < size; ++s) last[s] = -share[s] * gain;
        last[size] = gain;
        inverse_.push_back(std::move(last));
        dual_.push_back(gain * gain * t_kk);
        dual_y_.push_back(gain * (t_ky - target_step * t_kk));
    }

    void sweep_out(index_t slot) {
        move_to_end(at(slot));
        const index_t k = active_.back();
        const std::size_t rest = active_.size() - 1;
        const Row dual_row = inverse_.back(), share = slope_.back();  // V_k, and B_jk for all j
        const double e = 1.0 / dual_row[rest], b = share[at(p_)], step = b * e;
        if (data_.test != nullptr) sweep_out_test(dual_row, share, e, step);
        for (index_t j = 0; j < width_; ++j) {
            d_[at(j)] += share[at(j)] * share[at(j)] * e;
            d_y_[at(j)] += share[at(j)] * step;
        }
        d_[at(k)] = e;
        d_y_[at(k)] = step;
        slope_.pop_back();
        active_.pop_back();
        inverse_.pop_back();
        dual_.pop_back();
        dual_y_.pop_back();
        for (std::size_t s = 0; s < rest; ++s) {
            add_multiple(width_, -dual_row[s] * e, share.data(), slope_[s].data());
            slope_[s][at(k)] = -dual_row[s] * e;
            inverse_[s].pop_back();
            add_multiple(static_cast<index_t>(rest), -dual_row[s] * e, dual_row.data(), inverse_[s].data());
        }
    }

    void sweep_out_test(const Row& dual_row, const Row& share, double e, double step) {
        const std::size_t size = active_.size(), rest = size - 1;
        const index_t k = active_.back();
        Row image(at(width_), 0.0), test_at_active(size);  // T v_k, then u_j' T v_k for all j
        for (std::size_t s = 0; s < size; ++s) add_multiple(width_, dual_row[s], test_row(active_[s]), image.data());
        for (std::size_t s = 0; s < size; ++s) test_at_active[s] = image[at(active_[s])];
        take_out_slopes(image, test_at_active);
        const double own = inner(static_cast<index_t>(size), dual_row.data(), test_at_active.data());
        const double with_target = image[at(p_)];
        for (index_t j = 0; j < width_; ++j) {
            const double a = share[at(j)] * e;
            t_y_[at(j)] += a * with_target + step * image[at(j)] + a * step * own;
            t_[at(j)] += a * (2 * image[at(j)] + a * own);
        }
        t_[at(k)] = e * e * own;
        t_y_[at(k)] = e * (with_target + step * own);
        for (std::size_t s = 0; s < rest; ++s) {
            const double mixed = inner(static_cast<index_t>(size), inverse_[s].data(), test_at_active.data());
            const double f = dual_row[s] * e;
            dual_[s] += f * (f * own - 2 * mixed);
            dual_y_[s] += step * mixed - f * with_target - f * step * own;
        }
    }

    void move_to_end(std::size_t slot) {
        const std::size_t last = active_.size() - 1;
        if (slot == last) return;
        std::swap(active_[slot], active_[last]);
        std::swap(slope_[slot], slope_[last]);
        std::swap(inverse_[slot], inverse_[last]);
        for (Row& row : inverse_) std::swap(row[slot], row[last]);
        std::swap(dual_[slot], dual_[last]);
        std::swap(dual_y_[slot], dual_y_[last]);
    }

    index_t p_, width_;
    SubsetPart data_;
    double tolerance_;
    bool removals_;
    std::vector<index_t> active_, dependent_;
    std::vector<Row> slope_;    // B_js, a row of p + 1 for each s
    Row d_, d_y_, t_, t_y_;     // p + 1 each; entries of columns in S have no meaning
    std::vector<Row> inverse_;  // V
    Row dual_, dual_y_;         // v_k' T v_k and v_k' T u_y
    double drift_ = 0;
};

SubsetSweep::SubsetSweep(index_t columns, const std::vector<SubsetPart>& parts, double tolerance, bool removals,
                         int threads)
    : columns_(columns), threads_(threads), chosen_(at(columns), 0) {
    for (const SubsetPart& part : parts) parts_.push_back(std::make_unique<Part>(columns, part, tolerance, removals));
}

SubsetSweep::~SubsetSweep() = default;

index_t SubsetSweep::parts() const { return static_cast<index_t>(parts_.size()); }

int SubsetSweep::team() const { return parts() * parts_[0]->cells() < least_shared ? 1 : threads_; }

void SubsetSweep::add(index_t column) {
    parallel_chunks(parts(), 1, team(), [&](index_t c, index_t, index_t) { parts_[at(c)]->add(column); });
    chosen_[at(column)] = 1;
}

void SubsetSweep::remove(index_t column) {
    parallel_chunks(parts(), 1, team(), [&](index_t c, index_t, index_t) { parts_[at(c)]->remove(column); });
    chosen_[at(column)] = 0;
}

void SubsetSweep::errors(double* out) const {
    for (index_t c = 0; c < parts(); ++c) out[c] = parts_[at(c)]->error();
}

void SubsetSweep::additions(Matrix<double> out) const {
    for (index_t c = 0; c < parts(); ++c)
        for (index_t j = 0; j < columns_; ++j) {
            const bool possible = !holds(j) && (c > 0 || parts_[0]->is_free(j));
            out(c, j) = possible ? parts_[at(c)]->after_adding(j) : not_possible;
        }
}

void SubsetSweep::removals(Matrix<double> out) const {
    parallel_chunks(parts(), 1, team(), [&](index_t c, index_t, index_t) {
        for (index_t j = 0; j < columns_; ++j)
            out(c, j) = holds(j) ? parts_[at(c)]->after_removing(j) : not_possible;
    });
}

std::vector<std::int64_t> SubsetSweep::redundant() const {
    return {parts_[0]->dependent().begin(), parts_[0]->dependent().end()};
}

}  // namespace assay
