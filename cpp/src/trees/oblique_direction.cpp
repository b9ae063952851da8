#include "oblique_direction.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/log_loss.hpp"
#include "assay/statistics/gram.hpp"

namespace assay::trees {
namespace {

constexpr double tiny_weight = 1e-9;
constexpr index_t exact_rows = 512, bins = 1024;
constexpr index_t race_rows = 4096;
constexpr index_t blocked_rows = 256;  // from here on products of columns are made in blocks
constexpr index_t held_rows = 16384;   // up to here the standardised cells of a node are held; else made in tiles at each pass
constexpr index_t tile_rows = 4096;

// Solves the symmetric positive definite system a x = x in place (a: m x m, lower triangle); false if it is not definite.
bool solve(std::vector<double>& a, std::vector<double>& x, std::size_t m) {
    for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t i = j; i < m; ++i) {
            double sum = a[i * m + j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i * m + k] * a[j * m + k];
            if (i == j) {
                if (!(sum > 0) || !std::isfinite(sum)) return false;
                a[j * m + j] = std::sqrt(sum);
            } else {
                a[i * m + j] = sum / a[j * m + j];
            }
        }
    }
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t k = 0; k < i; ++k) x[i] -= a[i * m + k] * x[k];
        x[i] /= a[i * m + i];
    }
    for (std::size_t i = m; i-- > 0;) {
        for (std::size_t k = i + 1; k < m; ++k) x[i] -= a[k * m + i] * x[k];
        x[i] /= a[i * m + i];
    }
    return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

// gram += w z z' (lower triangle), m numbers.
ASSAY_INLINE void add_outer_body(double* gram, const double* z, double w, std::size_t m) {
    for (std::size_t i = 0; i < m; ++i) {
        const double scaled = w * z[i];
        double* row = gram + i * m;
        for (std::size_t k = 0; k <= i; ++k) row[k] += scaled * z[k];
    }
}
ASSAY_DISPATCH(void, add_outer, add_outer_body, (double* gram, const double* z, double w, std::size_t m),
               (gram, z, w, m))

// The search for directions of one node. z has p + 1 numbers per row; the last is 1, for the intercept. A large node reads it
// in tiles and, for the coordinate search, in columns that are made when asked for: nothing as large as the table is held.
class Search {
public:
    Search(ObliqueNode& node, index_t n_classes, int threads)
        : node_(node), n_(node.size()), m_(node.columns.size() + 1), threads_(threads),
          tile_(n_ <= held_rows ? n_ : tile_rows), z_(at(tile_) * m_) {
        standardise();
        if (tile_ == n_) lay_rows(0, n_);
        group(n_classes);
    }

    // The same search on every `step`-th row; `thin` holds those rows.
    Search(const Search& whole, ObliqueNode& thin, index_t step)
        : node_(thin), n_((whole.n_ + step - 1) / step), m_(whole.m_), threads_(1), tile_(n_), possible_(true) {
        thin.columns = whole.node_.columns;
        thin.mean = whole.node_.mean;
        thin.deviation = whole.node_.deviation;
        for (index_t i = 0; i < whole.n_; i += step) {
            thin.weight.push_back(whole.node_.weight[at(i)]);
            thin.label.push_back(whole.node_.label[at(i)]);
            side_.push_back(whole.side_[at(i)]);
            for (std::size_t j = 0; j + 1 < m_; ++j) z_.push_back(whole.standardised(i, j));
            z_.push_back(1);
            weight_ += thin.weight.back();
            group_[side_.back() > 0] += thin.weight.back();
        }
        transpose();
    }

    bool possible() const { return possible_; }
    bool held() const { return tile_ == n_; }
    index_t size() const { return n_; }

    std::vector<double> fisher() const {
        Equations equations(m_);
        tiles([&](index_t begin, index_t end, const double* z) { add_rows(equations, begin, end, z, nullptr); });
        return solution(std::move(equations), 1e-6);
    }

    std::vector<double> logistic() const {
        std::vector<double> b(m_, 0.0), trial, margin(at(n_)), next_margin(at(n_));
        double value = likelihood(b, margin);
        for (int step = 0; step < 30 && !interrupted(); ++step) {
            std::vector<double> gradient(m_, 0.0), gram(m_ * m_, 0.0), curvature(at(tile_));
            tiles([&](index_t begin, index_t end, const double* z) {
                for (index_t i = begin; i < end; ++i, z += m_) {
                    const double side = side_[at(i)], w = node_.weight[at(i)];
                    const losses::LossTerms terms = losses::LogLoss::at(margin[at(i)]);
                    curvature[at(i - begin)] = w * std::max(terms.hessian, 1e-10);
                    const double error = -w * side * terms.gradient;
                    for (std::size_t j = 0; j < m_; ++j) gradient[j] += error * z[j];
                }
                add_products(end - begin, curvature.data(), nullptr, gram);
            });
            const double ridge = penalty();
            for (std::size_t j = 0; j < m_; ++j) {
                gram[j * m_ + j] += ridge;
                gradient[j] -= ridge * b[j];
            }
            if (!solve(gram, gradient, m_)) break;
            double length = 1, next = value;
            for (int halving = 0; halving < 20; ++halving, length *= 0.5) {
                trial = b;
                for (std::size_t j = 0; j < m_; ++j) trial[j] += length * gradient[j];
                next = likelihood(trial, next_margin);
                if (next > value) break;
            }
            if (!(next > value)) break;
            const bool done = next - value < 1e-9 * weight_;
            b = trial;
            margin.swap(next_margin);
            value = next;
            if (done) break;
        }
        return b;
    }

    // Newton steps on the squared hinge from `b`; the step of least error counts. One pass finds the rows within the margin
    // and adds up their products.
    std::vector<double> refined(std::vector<double> b) const {
        std::vector<std::uint8_t> active(at(n_), 1), before;
        std::vector<double> best = b;
        double least = std::numeric_limits<double>::infinity();
        rescale(b);
        for (int step = 0; step < 25 && !interrupted(); ++step) {
            double wrong = 0;
            Equations equations(m_);
            tiles([&](index_t begin, index_t end, const double* z) {
                for (index_t i = begin; i < end; ++i) {
                    const double margin = side_[at(i)] * dot(b, z + at(i - begin) * m_);
                    active[at(i)] = margin < 1;
                    if (!(margin > 0)) wrong += node_.weight[at(i)];
                }
                add_rows(equations, begin, end, z, active.data());
            });
            if (wrong < least) {
                least = wrong;
                best = b;
            }
            if (wrong == 0 || active == before) break;
            before = active;
            std::vector<double> next = solution(std::move(equations), 1e-10);
            if (next.empty()) break;
            b = std::move(next);
        }
        return best;
    }

    void transpose() {
        by_column_.resize((m_ - 1) * at(n_));
        for (index_t i = 0; i < n_; ++i)
            for (std::size_t j = 0; j + 1 < m_; ++j) by_column_[j * at(n_) + at(i)] = z_[at(i) * m_ + j];
    }

    // The search from one start: coefficients in turn, then the threshold, until nothing improves.
    std::vector<double> climb(std::vector<double> b) const {
        std::vector<double> along(at(n_));
        Events events;
        double cost = std::numeric_limits<double>::infinity();
        set_threshold(b, along, events, cost);
        for (int pass = 0; pass < 10 && !interrupted(); ++pass) {
            const double before = cost;
            for (std::size_t j = 0; j + 1 < m_; ++j) {
                if (node_.deviation[j] > 0) set_coefficient(b, j, along, events, cost);
            }
            set_threshold(b, along, events, cost);
            if (!(cost < before - 1e-4 * weight_)) break;
        }
        return b;
    }

    std::vector<double> best_column() const {
        std::vector<double> b(m_, 0.0);
        std::vector<double> along(at(n_));
        Events events;
        double least = std::numeric_limits<double>::infinity();
        std::vector<double> best = b;
        for (std::size_t j = 0; j + 1 < m_; ++j) {
            if (node_.deviation[j] == 0) continue;
            std::fill(b.begin(), b.end(), 0.0);
            b[j] = 1;
            double cost = std::numeric_limits<double>::infinity();
            set_threshold(b, along, events, cost);
            if (cost < least) {
                least = cost;
                best = b;
            }
        }
        return best;
    }

    std::vector<double> random_direction(Random& random) const {
        std::vector<double> b(m_, 0.0);
        for (std::size_t j = 0; j + 1 < m_; ++j) {
            const double draw = random.normal();
            if (node_.deviation[j] > 0) b[j] = draw;
        }
        return b;
    }

    double gini(const std::vector<double>& b) const {
        double left[2] = {0, 0};
        tiles([&](index_t begin, index_t end, const double* z) {
            for (index_t i = begin; i < end; ++i, z += m_)
                if (dot(b, z) <= 0) left[side_[at(i)] > 0] += node_.weight[at(i)];
        });
        return cost_of(left[0], left[1]);
    }

private:
    struct Event {  // passing `value` upwards moves these weights into the left part
        double value, low, high;
    };
    struct Events {
        bool binned = false;
        double centre = 0, scale = 1;
        std::vector<Event> list;
        std::vector<double> bins;  // both weights of each bin
        std::vector<double> column;  // standardised cells, where columns are not held
    };
    struct Equations {  // of least squares: sums of w z z' and of w s z
        explicit Equations(std::size_t m) : gram(m * m, 0.0), right(m, 0.0) {}
        std::vector<double> gram, right;
    };

    static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
    double standardised(index_t i, std::size_t j) const {
        const double x = node_.cell(at(i), node_.columns[j]);
        return node_.deviation[j] > 0 && x == x ? (x - node_.mean[j]) / node_.deviation[j] : 0.0;
    }
    const double* column(std::size_t j, Events& events) const {
        if (!by_column_.empty()) return by_column_.data() + j * at(n_);
        events.column.resize(at(n_));
        for (index_t i = 0; i < n_; ++i) events.column[at(i)] = standardised(i, j);
        return events.column.data();
    }

    // The standardised cells of some rows, row after row with a 1 at the end.
    void lay_rows(index_t begin, index_t end) const {
        parallel_chunks(end - begin, 1024, threads_, [&](index_t, index_t first, index_t last) {
            for (index_t i = first; i < last; ++i) {
                double* z = z_.data() + at(i) * m_;
                for (std::size_t j = 0; j + 1 < m_; ++j) z[j] = standardised(begin + i, j);
                z[m_ - 1] = 1;
            }
        });
    }

    // Calls each(begin, end, z) for the tiles of the rows in turn.
    template <class Each>
    void tiles(Each&& each) const {
        for (index_t begin = 0; begin < n_; begin += tile_) {
            const index_t end = std::min(n_, begin + tile_);
            if (tile_ < n_) lay_rows(begin, end);
            each(begin, end, static_cast<const double*>(z_.data()));
        }
    }

    double dot(const std::vector<double>& b, const double* z) const {
        // Four sums at a time: one would wait for each addition.
        const double* w = b.data();
        double sum[4] = {0, 0, 0, 0};
        std::size_t j = 0;
        for (; j + 4 <= m_; j += 4)
            for (std::size_t k = 0; k < 4; ++k) sum[k] += w[j + k] * z[j + k];
        for (; j < m_; ++j) sum[0] += w[j] * z[j];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    double penalty() const { return 1e-6 * weight_; }

    void standardise() {
        const std::size_t p = m_ - 1;
        node_.mean.assign(p, 0.0);
        node_.deviation.assign(p, 0.0);
        for (std::size_t j = 0; j < p; ++j) {
            double sum = 0, present = 0, square = 0;
            const std::int32_t c = node_.columns[j];
            for (index_t i = 0; i < n_; ++i) {
                const double x = node_.cell(at(i), c);
                if (x != x) continue;
                sum += node_.weight[at(i)] * x;
                present += node_.weight[at(i)];
            }
            if (!(present > 0)) continue;
            const double mean = sum / present;
            for (index_t i = 0; i < n_; ++i) {
                const double x = node_.cell(at(i), c);
                if (x == x) square += node_.weight[at(i)] * (x - mean) * (x - mean);
            }
            const double deviation = std::sqrt(square / present);
            if (!std::isfinite(deviation) || !(deviation > 1e-13 * std::abs(mean))) continue;
            node_.mean[j] = mean;
            node_.deviation[j] = deviation;
        }
        weight_ = 0;
        for (index_t i = 0; i < n_; ++i) weight_ += node_.weight[at(i)];
    }

    // Two groups of the classes: the cut of the class means along their principal direction that leaves least spread.
    void group(index_t n_classes) {
        const std::size_t p = m_ - 1, k = at(n_classes);
        std::vector<double> total(k, 0.0), mean(k * p, 0.0);
        tiles([&](index_t begin, index_t end, const double* z) {
            for (index_t i = begin; i < end; ++i, z += m_) {
                const auto c = static_cast<std::size_t>(node_.label[at(i)]);
                total[c] += node_.weight[at(i)];
                for (std::size_t j = 0; j < p; ++j) mean[c * p + j] += node_.weight[at(i)] * z[j];
            }
        });
        std::vector<std::size_t> present;
        for (std::size_t c = 0; c < k; ++c) {
            if (!(total[c] > 0)) continue;
            present.push_back(c);
            for (std::size_t j = 0; j < p; ++j) mean[c * p + j] /= total[c];
        }
        if (present.size() < 2) return;
        std::vector<std::uint8_t> high(k, 0);
        if (present.size() == 2) {
            high[present[1]] = 1;
        } else if (!cut_classes(present, total, mean, high)) {
            return;
        }
        side_.resize(at(n_));
        for (index_t i = 0; i < n_; ++i) side_[at(i)] = high[static_cast<std::size_t>(node_.label[at(i)])] != 0 ? 1.0 : -1.0;
        for (index_t i = 0; i < n_; ++i) group_[side_[at(i)] > 0] += node_.weight[at(i)];
        possible_ = group_[0] > 0 && group_[1] > 0;
    }

    bool cut_classes(const std::vector<std::size_t>& present, const std::vector<double>& total,
                     const std::vector<double>& mean, std::vector<std::uint8_t>& high) const {
        const std::size_t p = m_ - 1;
        std::vector<double> direction(p, 0.0), next(p);
        double largest = 0;
        for (const std::size_t c : present) {
            double size = 0;
            for (std::size_t j = 0; j < p; ++j) size += total[c] * mean[c * p + j] * mean[c * p + j];
            if (size > largest) {
                largest = size;
                std::copy_n(mean.begin() + static_cast<index_t>(c * p), p, direction.begin());
            }
        }
        if (largest == 0) return false;
        for (int step = 0; step < 50; ++step) {
            std::fill(next.begin(), next.end(), 0.0);
            for (const std::size_t c : present) {
                double along = 0;
                for (std::size_t j = 0; j < p; ++j) along += direction[j] * mean[c * p + j];
                for (std::size_t j = 0; j < p; ++j) next[j] += total[c] * along * mean[c * p + j];
            }
            double size = 0;
            for (const double v : next) size += v * v;
            if (!(size > 0)) return false;
            for (std::size_t j = 0; j < p; ++j) direction[j] = next[j] / std::sqrt(size);
        }
        std::vector<std::pair<double, std::size_t>> order;
        for (const std::size_t c : present) {
            double along = 0;
            for (std::size_t j = 0; j < p; ++j) along += direction[j] * mean[c * p + j];
            order.emplace_back(along, c);
        }
        std::sort(order.begin(), order.end());
        double all = 0, sum = 0, w = 0, s = 0, most = -1;
        for (const auto& [along, c] : order) {
            all += total[c];
            sum += total[c] * along;
        }
        std::size_t cut = 1;
        for (std::size_t i = 0; i + 1 < order.size(); ++i) {
            w += total[order[i].second];
            s += total[order[i].second] * order[i].first;
            const double between = s * s / w + (sum - s) * (sum - s) / (all - w);
            if (between > most) {
                most = between;
                cut = i + 1;
            }
        }
        for (std::size_t i = cut; i < order.size(); ++i) high[order[i].second] = 1;
        return true;
    }

    // gram += sum of w z z' over all or the active of the first `count` rows of z_.
    void add_products(index_t count, const double* weights, const std::uint8_t* active, std::vector<double>& gram) const {
        if (count < blocked_rows) {
            for (index_t i = 0; i < count; ++i)
                if (active == nullptr || active[i] != 0) add_outer(gram.data(), z_.data() + at(i) * m_, weights[i], m_);
            return;
        }
        std::vector<std::int64_t> rows;
        if (active != nullptr)
            for (index_t i = 0; i < count; ++i)
                if (active[i] != 0) rows.push_back(i);
        if (active != nullptr && rows.empty()) return;
        const std::vector<double> no_shift(m_, 0.0);
        std::vector<double> sum(m_ * m_);
        const auto p = static_cast<index_t>(m_) - 1;
        weighted_gram({z_.data(), count, p, p + 1, 1}, {nullptr, count, 0, 0, 1},
                      {active == nullptr ? nullptr : rows.data(), active == nullptr ? count : static_cast<index_t>(rows.size()),
                       weights},
                      no_shift.data(), sum.data(), threads_);
        for (std::size_t k = 0; k < sum.size(); ++k) gram[k] += sum[k];
    }

    // Adds all or the active rows of a tile to the equations for the sides.
    void add_rows(Equations& equations, index_t begin, index_t end, const double* z, const std::uint8_t* active) const {
        add_products(end - begin, node_.weight.data() + begin, active == nullptr ? nullptr : active + begin, equations.gram);
        double* b = equations.right.data();
        for (index_t i = begin; i < end; ++i, z += m_) {
            if (active != nullptr && active[i] == 0) continue;
            const double w = node_.weight[at(i)];
            for (std::size_t j = 0; j < m_; ++j) b[j] += w * side_[at(i)] * z[j];
        }
    }

    // Least squares of the sides, with a ridge relative to the mean of the diagonal.
    std::vector<double> solution(Equations equations, double ridge) const {
        auto& [gram, b] = equations;
        double trace = 0;
        for (std::size_t j = 0; j < m_; ++j) trace += gram[j * m_ + j];
        if (!(trace > 0)) return {};
        for (std::size_t j = 0; j < m_; ++j) gram[j * m_ + j] += ridge * trace / static_cast<double>(m_);
        if (!solve(gram, b, m_)) return {};
        return std::move(b);
    }

    // OUT margin: s b'z of each row.
    double likelihood(const std::vector<double>& b, std::vector<double>& margin) const {
        double sum = 0;
        tiles([&](index_t begin, index_t end, const double* z) {
            for (index_t i = begin; i < end; ++i, z += m_) {
                margin[at(i)] = side_[at(i)] * dot(b, z);
                sum -= node_.weight[at(i)] * losses::LogLoss::at(margin[at(i)]).value;
            }
        });
        double square = 0;
        for (const double v : b) square += v * v;
        return sum - 0.5 * penalty() * square;
    }

    // Brings the mean of |b'z| to 1, so that the rows near the boundary are within the margin.
    void rescale(std::vector<double>& b) const {
        double size = 0;
        tiles([&](index_t begin, index_t end, const double* z) {
            for (index_t i = begin; i < end; ++i, z += m_) size += node_.weight[at(i)] * std::abs(dot(b, z));
        });
        if (size > 0)
            for (double& v : b) v *= weight_ / size;
    }

    double cost_of(double low, double high) const {
        const double left = low + high, right = weight_ - left, l = group_[0] - low, h = group_[1] - high;
        if (!(left > 0) || !(right > 0)) return std::numeric_limits<double>::infinity();
        return -(low * low + high * high) / left - (l * l + h * h) / right;
    }

    // Sweeps events in order from (low, high) in the left part; the value between two events of least cost. In large
    // nodes events are binned by a squashed distance from `centre`, so that no sort is needed.
    void clear(Events& events, double centre, double scale) const {
        events.list.clear();
        events.centre = centre;
        events.scale = scale;
        events.binned = n_ > exact_rows;
        if (events.binned) events.bins.assign(at(2 * bins), 0.0);
    }

    static void add(Events& events, double value, int group, double weight) {
        if (!events.binned) {
            events.list.push_back({value, group == 0 ? weight : 0.0, group == 1 ? weight : 0.0});
            return;
        }
        const double u = (value - events.centre) / events.scale, q = u / (1 + std::abs(u));
        const double place = (q + 1) * (0.5 * static_cast<double>(bins));
        const auto k = place >= 0 ? std::min(static_cast<index_t>(place), bins - 1) : 0;  // infinite: the last or first
        events.bins[at(2 * k + group)] += weight;
    }

    bool best_value(Events& events, double low, double high, double& value, double& cost) const {
        bool found = false;
        const auto look = [&](double here) {
            const double now = cost_of(low, high);
            if (!(now < cost - 1e-9 * weight_)) return;
            cost = now;
            value = here;
            found = true;
        };
        if (events.binned) {
            for (index_t k = 0; k + 1 < bins; ++k) {
                low += events.bins[at(2 * k)];
                high += events.bins[at(2 * k + 1)];
                const double q = 2 * static_cast<double>(k + 1) / static_cast<double>(bins) - 1;  // the upper edge
                look(events.centre + events.scale * q / (1 - std::abs(q)));
            }
            return found;
        }
        auto& list = events.list;
        std::sort(list.begin(), list.end(), [](const Event& a, const Event& b) { return a.value < b.value; });
        for (std::size_t i = 0; i + 1 < list.size(); ++i) {
            low += list[i].low;
            high += list[i].high;
            if (list[i].value < list[i + 1].value) look(0.5 * list[i].value + 0.5 * list[i + 1].value);
        }
        return found;
    }

    // A row is left if b'z <= 0 with the intercept inside. As the coefficient j rises past u = -(rest) / z_j, a row with
    // z_j > 0 leaves the left part and one with z_j < 0 enters it.
    void set_coefficient(std::vector<double>& b, std::size_t j, std::vector<double>& along, Events& events,
                         double& cost) const {
        double left[2] = {0, 0};  // the left part as the coefficient comes from minus infinity
        clear(events, b[j], std::max(0.1, std::abs(b[j])));
        const double *z = column(j, events), old = b[j];
        for (index_t i = 0; i < n_; ++i) {
            const double w = node_.weight[at(i)], rest = along[at(i)] - old * z[i];
            const int g = side_[at(i)] > 0;
            if (z[i] == 0) {
                if (rest <= 0) left[g] += w;
                continue;
            }
            if (z[i] > 0) left[g] += w;
            add(events, -rest / z[i], g, z[i] > 0 ? -w : w);
        }
        double value = old;
        if (!best_value(events, left[0], left[1], value, cost) || !std::isfinite(value)) return;
        for (index_t i = 0; i < n_; ++i) along[at(i)] += (value - old) * z[i];
        b[j] = value;
    }

    // The intercept of least cost; `along` becomes b'z with it, and b is brought to length 1.
    void set_threshold(std::vector<double>& b, std::vector<double>& along, Events& events, double& cost) const {
        double size = 0;
        for (std::size_t j = 0; j + 1 < m_; ++j) size += b[j] * b[j];
        if (size > 0)
            for (double& v : b) v /= std::sqrt(size);
        double value = -b[m_ - 1];
        std::fill(along.begin(), along.end(), 0.0);
        for (std::size_t j = 0; j + 1 < m_; ++j) {
            if (b[j] == 0) continue;
            const double *z = column(j, events), weight = b[j];
            for (index_t i = 0; i < n_; ++i) along[at(i)] += weight * z[i];
        }
        clear(events, value, 1.0);
        for (index_t i = 0; i < n_; ++i) add(events, along[at(i)], side_[at(i)] > 0, node_.weight[at(i)]);
        best_value(events, 0, 0, value, cost);
        b[m_ - 1] = -value;
        for (index_t i = 0; i < n_; ++i) along[at(i)] -= value;
    }

    ObliqueNode& node_;
    const index_t n_;
    const std::size_t m_;
    const int threads_;
    const index_t tile_;             // rows of z_: all, or those of one tile
    mutable std::vector<double> z_;  // in tiles: what the one thread that passes over the rows reads now
    std::vector<double> side_, by_column_;
    double weight_ = 0, group_[2] = {0, 0};
    bool possible_ = false;
};

}  // namespace

std::vector<std::vector<double>> oblique_directions(ObliqueNode& node, const ObliqueOptions& options, index_t n_classes,
                                                    std::uint64_t path, int threads) {
    // In a large node the starts of the coordinate search compete on part of its rows; the best goes on with all of them.
    const bool races = options.direction == Direction::coordinate && node.size() / race_rows > 1;
    Search search(node, n_classes, threads);
    if (!search.possible()) return {};
    std::vector<double> first;
    if (options.direction == Direction::lda) {
        first = search.fisher();
    } else if (options.direction == Direction::logistic) {
        first = search.logistic();
    } else {
        if (!races || search.held()) search.transpose();
        std::vector<std::vector<double>> found(static_cast<std::size_t>(options.restarts) + 1);
        ObliqueNode thin;
        const std::unique_ptr<Search> race =
            races ? std::make_unique<Search>(search, thin, search.size() / race_rows) : nullptr;
        const Search& among = race ? *race : search;
        parallel_chunks(options.restarts + 1, 1, threads, [&](index_t r, index_t, index_t) {
            Random random(options.key, path ^ (0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(r)));
            found[static_cast<std::size_t>(r)] = among.climb(r == 0 ? search.best_column() : among.random_direction(random));
        });
        double least = std::numeric_limits<double>::infinity();
        for (auto& one : found) {
            if (one.empty()) continue;  // interrupted
            const double cost = among.gini(one);
            if (cost < least) {
                least = cost;
                first = std::move(one);
            }
        }
        if (race && !first.empty()) first = search.climb(std::move(first));
    }
    if (first.empty()) return {};
    std::vector<double> second = search.refined(first);
    return {std::move(first), std::move(second)};
}

bool linear_test(const ObliqueNode& node, const std::vector<double>& direction, index_t n_columns, LinearTest& test) {
    const std::size_t p = node.columns.size();
    double largest = 0, total = 0;
    std::size_t lead = 0;
    for (std::size_t j = 0; j < p; ++j) {
        if (std::abs(direction[j]) > largest) {
            largest = std::abs(direction[j]);
            lead = j;
        }
    }
    if (!(largest > 0) || !std::isfinite(largest)) return false;
    const double unit = direction[lead] / node.deviation[lead];
    test.weight.assign(static_cast<std::size_t>(n_columns), 0.0);
    test.fill.assign(static_cast<std::size_t>(n_columns), 0.0);
    test.share.assign(static_cast<std::size_t>(n_columns), 0.0);
    index_t used = 0;
    for (std::size_t j = 0; j < p; ++j) {
        if (!(std::abs(direction[j]) > tiny_weight * largest) || !(node.deviation[j] > 0)) continue;
        const auto c = static_cast<std::size_t>(node.columns[j]);
        const double weight = j == lead ? 1.0 : direction[j] / node.deviation[j] / unit;
        if (!std::isfinite(weight) || weight == 0) continue;
        test.weight[c] = weight;
        test.fill[c] = node.mean[j];
        test.share[c] = std::abs(direction[j]);
        total += test.share[c];
        ++used;
    }
    for (double& share : test.share) share /= total;
    test.lead = node.columns[lead];
    return used >= 2;
}

}  // namespace assay::trees
