#include "oblique_direction.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "assay/common/cholesky.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/log_loss.hpp"
#include "assay/optimise/newton_ascent.hpp"
#include "assay/statistics/gram.hpp"
#include "coordinate_search.hpp"

namespace assay::trees {
namespace {

constexpr double tiny_weight = 1e-9;
constexpr index_t race_rows = 4096, last_rows = 8192;  // rows that tell starts apart, and those that the best goes on with
constexpr index_t blocked_rows = 256;  // from here on products of columns are made in blocks
constexpr index_t tile_rows = 4096;    // up to here the standardised cells of a node are held; else made in tiles at each pass

// Solves the symmetric positive definite system a x = x in place (a: m x m, lower triangle); false if it is not definite.
bool solve(std::vector<double>& a, std::vector<double>& x, std::size_t m) {
    const auto size = static_cast<index_t>(m);
    if (!cholesky(a.data(), size)) return false;
    solve_lower(a.data(), size, x.data());
    solve_upper(a.data(), size, x.data());
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
// in tiles: nothing as large as the table is held.
class Search {
public:
    Search(ObliqueNode& node, index_t n_classes, int threads)
        : node_(node), n_(node.size()), m_(node.columns.size() + 1), threads_(threads),
          tile_(std::min(n_, tile_rows)) {
        standardise();
        hold();
        group(n_classes);
    }

    // Lets go of the standardised cells while another search needs the room, and holds them again.
    void let_go() { std::vector<double>().swap(z_); }
    void hold() {
        z_.resize(at(tile_) * m_);
        if (tile_ == n_) lay_rows(0, n_);
    }

    bool possible() const { return possible_; }
    const std::vector<std::uint8_t>& high() const { return high_; }

    std::vector<double> fisher() const {
        Equations equations(m_);
        tiles([&](index_t begin, index_t end, const double* z) { add_rows(equations, begin, end, z, nullptr); });
        return solution(std::move(equations), 1e-6);
    }

    std::vector<double> logistic() const {
        std::vector<double> b(m_, 0.0), margin(at(n_)), hessian(at(tile_));
        const auto newton_step = [&](const std::vector<double>& place, std::vector<double>& gradient) {
            std::vector<double> gram(m_ * m_, 0.0);
            std::fill(gradient.begin(), gradient.end(), 0.0);
            tiles([&](index_t begin, index_t end, const double* z) {
                for (index_t i = begin; i < end; ++i, z += m_) {
                    const double s = side(i), w = node_.weight[at(i)];
                    const losses::LossTerms terms = losses::LogLoss::at(margin[at(i)]);
                    hessian[at(i - begin)] = w * std::max(terms.hessian, 1e-10);
                    const double error = -w * s * terms.gradient;
                    for (std::size_t j = 0; j < m_; ++j) gradient[j] += error * z[j];
                }
                add_products(end - begin, hessian.data(), nullptr, gram);
            });
            const double ridge = penalty();
            for (std::size_t j = 0; j < m_; ++j) {
                gram[j * m_ + j] += ridge;
                gradient[j] -= ridge * place[j];
            }
            return solve(gram, gradient, m_);
        };
        newton_ascent(b, {}, newton_step, [&](const std::vector<double>& place) { return likelihood(place, margin); },
                      [&](double gain) { return gain < 1e-9 * weight_; });
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
                    const double margin = side(i) * dot(b, z + at(i - begin) * m_);
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

private:
    struct Equations {  // of least squares: sums of w z z' and of w s z
        explicit Equations(std::size_t m) : gram(m * m, 0.0), right(m, 0.0) {}
        std::vector<double> gram, right;
    };

    static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
    // The standardised cells of some rows, row after row with a 1 at the end.
    void lay_rows(index_t begin, index_t end) const {
        parallel_chunks(end - begin, 1024, threads_, [&](index_t, index_t first, index_t last) {
            for (index_t i = first; i < last; ++i) {
                double* z = z_.data() + at(i) * m_;
                for (std::size_t j = 0; j + 1 < m_; ++j) z[j] = node_.standardised(at(begin + i), j);
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
    double side(index_t i) const { return high_[at(i)] != 0 ? 1.0 : -1.0; }
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
        high_.resize(at(n_));
        double group[2] = {0, 0};
        for (index_t i = 0; i < n_; ++i) {
            high_[at(i)] = high[static_cast<std::size_t>(node_.label[at(i)])];
            group[high_[at(i)]] += node_.weight[at(i)];
        }
        possible_ = group[0] > 0 && group[1] > 0;
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
            for (std::size_t j = 0; j < m_; ++j) b[j] += w * side(i) * z[j];
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
                margin[at(i)] = side(i) * dot(b, z);
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

    ObliqueNode& node_;
    const index_t n_;
    const std::size_t m_;
    const int threads_;
    const index_t tile_;             // rows of z_: all, or those of one tile
    mutable std::vector<double> z_;  // in tiles: what the one thread that passes over the rows reads now
    std::vector<std::uint8_t> high_;  // which rows are in the second group
    double weight_ = 0;
    bool possible_ = false;
};

// In a large node the starts compete on part of its rows; the best goes on with more of them.
std::vector<double> by_coordinates(const ObliqueNode& node, const std::vector<std::uint8_t>& high, const ObliqueOptions& options,
                                   std::uint64_t path, int threads) {
    const index_t n = node.size(), step = std::max<index_t>(1, n / race_rows), last_step = std::max<index_t>(1, n / last_rows);
    CoordinateSearch::Found best;
    {
        const CoordinateSearch search(node, high, step);
        std::vector<CoordinateSearch::Found> found(static_cast<std::size_t>(options.restarts) + 1);
        parallel_chunks(options.restarts + 1, 1, threads, [&](index_t r, index_t, index_t) {
            Random random(options.key, path ^ (0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(r)));
            found[static_cast<std::size_t>(r)] = search.climb(r == 0 ? search.best_column() : search.random_direction(random));
        });
        for (auto& one : found)
            if (one.gain > best.gain) best = std::move(one);
    }
    if (last_step < step && !best.b.empty()) return CoordinateSearch(node, high, last_step).climb(std::move(best.b)).b;
    return std::move(best.b);
}

}  // namespace

std::vector<std::vector<double>> oblique_directions(ObliqueNode& node, const ObliqueOptions& options, index_t n_classes,
                                                    std::uint64_t path, int threads) {
    Search search(node, n_classes, threads);
    if (!search.possible()) return {};
    std::vector<double> first;
    if (options.direction == Direction::lda) {
        first = search.fisher();
    } else if (options.direction == Direction::logistic) {
        first = search.logistic();
    } else {
        search.let_go();
        first = by_coordinates(node, search.high(), options, path, threads);
        search.hold();
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
