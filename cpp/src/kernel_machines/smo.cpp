#include "assay/kernel_machines/smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::kernel_machines {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_curvature = 1e-12;
constexpr index_t width = 8;  // lanes of the loops below

using Lanes = double __attribute__((vector_size(64), aligned(8), may_alias));
using Whole = std::int64_t __attribute__((vector_size(64), aligned(8), may_alias));
using Singles = float __attribute__((vector_size(32), aligned(4), may_alias));

ASSAY_INLINE void read(const double* from, Lanes& to) { to = *reinterpret_cast<const Lanes*>(from); }
ASSAY_INLINE void read(const float* from, Lanes& to) {
    to = __builtin_convertvector(*reinterpret_cast<const Singles*>(from), Lanes);
}

struct Found {
    double value;
    index_t place;
};

// The largest over the lanes; the first of equal ones.
ASSAY_INLINE Found largest_of(const Lanes& best, const Whole& place) {
    Found found{best[0], static_cast<index_t>(place[0])};
    for (index_t v = 1; v < width; ++v) {
        const auto at = static_cast<index_t>(place[v]);
        if (best[v] > found.value || (best[v] == found.value && at < found.place)) found = {best[v], at};
    }
    return found;
}

// e -= step (K_i - K_j), and the largest e + up after it; `up` is 0 or minus infinity.
template <class T>
ASSAY_INLINE Found move_body(double* e, const double* up, const T* ki, const T* kj, double step, index_t n) {
    Lanes best = Lanes{} - infinity;
    Whole place{}, here = {0, 1, 2, 3, 4, 5, 6, 7};
    for (index_t i = 0; i < n; i += width) {
        Lanes value, of_i, of_j, open;
        read(e + i, value);
        read(ki + i, of_i);
        read(kj + i, of_j);
        read(up + i, open);
        value -= step * (of_i - of_j);
        *reinterpret_cast<Lanes*>(e + i) = value;
        open += value;
        const Whole larger = open > best;
        place = larger ? here : place;
        best = larger ? open : best;
        here += width;
    }
    return largest_of(best, place);
}
ASSAY_DISPATCH(Found, move_float, move_body<float>,
               (double* e, const double* up, const float* ki, const float* kj, double step, index_t n),
               (e, up, ki, kj, step, n))
ASSAY_DISPATCH(Found, move_double, move_body<double>,
               (double* e, const double* up, const double* ki, const double* kj, double step, index_t n),
               (e, up, ki, kj, step, n))
Found move(double* e, const double* up, const float* ki, const float* kj, double step, index_t n) {
    return move_float(e, up, ki, kj, step, n);
}
Found move(double* e, const double* up, const double* ki, const double* kj, double step, index_t n) {
    return move_double(e, up, ki, kj, step, n);
}

// The partner of i: the largest gain (e_i - e_j)^2 / (K_ii + K_jj - 2 K_ij) among those that may fall; and the least e
// among these, for the violation.
template <class T>
ASSAY_INLINE Found partner_body(const double* e, const double* down, const double* diagonal, const T* ki, double ei,
                                double kii, index_t n, double* least) {
    Lanes best = Lanes{} - 1.0, lowest = Lanes{} + infinity;
    Whole place{}, here = {0, 1, 2, 3, 4, 5, 6, 7};
    for (index_t i = 0; i < n; i += width) {
        Lanes value, closed, own, of_i;
        read(e + i, value);
        read(down + i, closed);
        read(diagonal + i, own);
        read(ki + i, of_i);
        value += closed;
        lowest = value < lowest ? value : lowest;
        const Lanes gap = ei - value;
        Lanes curve = (kii + own) - 2.0 * of_i;
        curve = curve > least_curvature ? curve : Lanes{} + least_curvature;
        const Lanes gain = gap > 0.0 ? gap * gap / curve : Lanes{} - 1.0;
        const Whole larger = gain > best;
        place = larger ? here : place;
        best = larger ? gain : best;
        here += width;
    }
    *least = lowest[0];
    for (index_t v = 1; v < width; ++v) *least = lowest[v] < *least ? lowest[v] : *least;
    return largest_of(best, place);
}
ASSAY_DISPATCH(Found, partner_float, partner_body<float>,
               (const double* e, const double* down, const double* diagonal, const float* ki, double ei, double kii,
                index_t n, double* least),
               (e, down, diagonal, ki, ei, kii, n, least))
ASSAY_DISPATCH(Found, partner_double, partner_body<double>,
               (const double* e, const double* down, const double* diagonal, const double* ki, double ei, double kii,
                index_t n, double* least),
               (e, down, diagonal, ki, ei, kii, n, least))
Found partner(const double* e, const double* down, const double* diagonal, const float* ki, double ei, double kii,
              index_t n, double* least) {
    return partner_float(e, down, diagonal, ki, ei, kii, n, least);
}
Found partner(const double* e, const double* down, const double* diagonal, const double* ki, double ei, double kii,
              index_t n, double* least) {
    return partner_double(e, down, diagonal, ki, ei, kii, n, least);
}

// f += step k over a stretch.
template <class T>
ASSAY_INLINE void add_body(double* f, const T* k, double step, index_t n) {
    for (index_t i = 0; i < n; ++i) f[i] += step * static_cast<double>(k[i]);
}
// Four rows at once, so that f is read and written once for them.
template <class T>
ASSAY_INLINE void add_four_body(double* f, const T* const* k, const double* step, index_t begin, index_t end) {
    const T *a = k[0], *b = k[1], *c = k[2], *d = k[3];
    for (index_t i = begin; i < end; ++i)
        f[i] += (step[0] * static_cast<double>(a[i]) + step[1] * static_cast<double>(b[i])) +
                (step[2] * static_cast<double>(c[i]) + step[3] * static_cast<double>(d[i]));
}
ASSAY_DISPATCH(void, add_float, add_body<float>, (double* f, const float* k, double step, index_t n), (f, k, step, n))
ASSAY_DISPATCH(void, add_double, add_body<double>, (double* f, const double* k, double step, index_t n), (f, k, step, n))
ASSAY_DISPATCH(void, add_four_float, add_four_body<float>,
               (double* f, const float* const* k, const double* step, index_t begin, index_t end), (f, k, step, begin, end))
ASSAY_DISPATCH(void, add_four_double, add_four_body<double>,
               (double* f, const double* const* k, const double* step, index_t begin, index_t end), (f, k, step, begin, end))
void add(double* f, const float* k, double step, index_t n) { add_float(f, k, step, n); }
void add(double* f, const double* k, double step, index_t n) { add_double(f, k, step, n); }
void add_four(double* f, const float* const* k, const double* step, index_t begin, index_t end) {
    add_four_float(f, k, step, begin, end);
}
void add_four(double* f, const double* const* k, const double* step, index_t begin, index_t end) {
    add_four_double(f, k, step, begin, end);
}

template <class T>
void move_all(std::vector<const T*>& rows, std::vector<double>& steps, double* f, index_t n, int threads) {
    const auto count = static_cast<index_t>(rows.size());
    parallel_chunks(n, 2048, threads, [&](index_t, index_t begin, index_t end) {
        index_t k = 0;
        for (; k + 4 <= count; k += 4) add_four(f, rows.data() + k, steps.data() + k, begin, end);
        for (; k < count; ++k)
            add(f + begin, rows[static_cast<std::size_t>(k)] + begin, steps[static_cast<std::size_t>(k)], end - begin);
    });
}

// The problem on the variables of one block, with its part of the kernel matrix.
template <class T>
class Block {
public:
    void fill(const std::vector<std::int32_t>& chosen, const DualProblem& problem, const std::vector<const T*>& rows,
              const RowSource<T>& source) {
        m_ = static_cast<index_t>(chosen.size());
        padded_ = (m_ + width - 1) / width * width;
        const auto size = static_cast<std::size_t>(padded_);
        e.assign(size, 0.0);
        beta.assign(size, 0.0);
        low.assign(size, 0.0);
        high.assign(size, 0.0);
        up.assign(size, -infinity);
        down.assign(size, infinity);
        diagonal.assign(size, 1.0);
        kernel.assign(size * size, T{});
        for (index_t a = 0; a < m_; ++a) {
            const auto v = chosen[static_cast<std::size_t>(a)];
            const auto at = static_cast<std::size_t>(a);
            e[at] = problem.target[v] - problem.f[problem.row[v]];
            beta[at] = problem.beta[v];
            low[at] = problem.low[v];
            high[at] = problem.high[v];
            diagonal[at] = source.diagonal(problem.row[v]);
            open(at);
            T* const to = kernel.data() + a * padded_;
            const T* const from = rows[at];
            for (index_t b = 0; b < m_; ++b) to[b] = from[problem.row[chosen[static_cast<std::size_t>(b)]]];
            to[a] = static_cast<T>(diagonal[at]);
        }
    }

    // Steps until the violation within the block is `tol`, or `most` were made; `violation` is what is left.
    index_t solve(double tol, index_t most) {
        const std::size_t none = 0;
        Found first = move(e.data(), up.data(), kernel.data() + none, kernel.data() + none, 0.0, padded_);
        index_t steps = 0;
        while (steps < most) {
            const auto i = static_cast<std::size_t>(first.place);
            const T* const ki = kernel.data() + first.place * padded_;
            double least = infinity;
            const Found second = partner(e.data(), down.data(), diagonal.data(), ki, first.value, diagonal[i], padded_, &least);
            if (!(first.value - least > tol) || second.value < 0.0) break;
            const auto j = static_cast<std::size_t>(second.place);
            const double curve = diagonal[i] + diagonal[j] - 2.0 * static_cast<double>(ki[second.place]);
            double step = (first.value - e[j]) / std::max(curve, least_curvature);
            const double room_up = high[i] - beta[i], room_down = beta[j] - low[j];
            const double room = std::min(room_up, room_down);
            const bool full = step >= room;
            step = full ? room : step;
            beta[i] = full && room_up <= room_down ? high[i] : beta[i] + step;
            beta[j] = full && room_down <= room_up ? low[j] : beta[j] - step;
            open(i);
            open(j);
            first = move(e.data(), up.data(), ki, kernel.data() + second.place * padded_, step, padded_);
            ++steps;
            if ((steps & 1023) == 0 && interrupted()) break;
        }
        return steps;
    }

    std::vector<double> beta;

private:
    void open(std::size_t a) {
        up[a] = beta[a] < high[a] ? 0.0 : -infinity;
        down[a] = beta[a] > low[a] ? 0.0 : infinity;
    }

    index_t m_ = 0, padded_ = 0;
    std::vector<double> e, low, high, up, down, diagonal;
    std::vector<T> kernel;
};

struct Violation {
    double most_up = -infinity, least_down = infinity;
    double size() const { return most_up - least_down; }
};

Violation violation_of(const DualProblem& p, const std::vector<std::int32_t>& active) {
    Violation found;
    for (const auto v : active) {
        const double e = p.target[v] - p.f[p.row[v]];
        if (p.beta[v] < p.high[v] && e > found.most_up) found.most_up = e;
        if (p.beta[v] > p.low[v] && e < found.least_down) found.least_down = e;
    }
    return found;
}

// The variables of the next block: half of the last one, and those that violate most on either side.
class Chooser {
public:
    explicit Chooser(index_t variables) : marked_(static_cast<std::size_t>(variables), 0) {}

    void choose(const DualProblem& p, const std::vector<std::int32_t>& active, const Violation& now, index_t size,
                std::vector<std::int32_t>& chosen) {
        std::vector<std::int32_t> last(std::move(chosen));
        chosen.clear();
        ups_.clear();
        downs_.clear();
        const auto kept = std::min<std::size_t>(last.size(), size < 8 ? 0 : static_cast<std::size_t>(size / 2));
        chosen.assign(last.end() - static_cast<std::ptrdiff_t>(kept), last.end());
        for (const auto v : chosen) marked_[static_cast<std::size_t>(v)] = 1;
        for (const auto v : active) {
            if (marked_[static_cast<std::size_t>(v)]) continue;
            const double e = p.target[v] - p.f[p.row[v]];
            if (p.beta[v] < p.high[v] && e > now.least_down) ups_.push_back({-e, v});
            if (p.beta[v] > p.low[v] && e < now.most_up) downs_.push_back({e, v});
        }
        const auto room = static_cast<std::size_t>(size) - chosen.size();
        std::size_t taken = take(ups_, room / 2, chosen);
        taken += take(downs_, room - taken, chosen);
        if (taken < room) take(ups_, room - taken, chosen);
        // Nothing new: older ones are as good as any.
        for (std::size_t k = last.size() - kept; taken < room && k-- > 0;) {
            auto& mark = marked_[static_cast<std::size_t>(last[k])];
            if (mark) continue;
            mark = 1;
            chosen.push_back(last[k]);
            ++taken;
        }
        for (const auto v : chosen) marked_[static_cast<std::size_t>(v)] = 0;
    }

private:
    struct Candidate {
        double key;
        std::int32_t variable;
        bool operator<(const Candidate& other) const {
            return key < other.key || (key == other.key && variable < other.variable);
        }
    };

    std::size_t take(std::vector<Candidate>& from, std::size_t most, std::vector<std::int32_t>& chosen) {
        // Some may have been taken on the other side.
        const std::size_t looked = std::min(from.size(), 2 * most + 8);
        if (looked < from.size())
            std::nth_element(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(looked), from.end());
        std::sort(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(looked));
        std::size_t taken = 0;
        for (std::size_t k = 0; k < looked && taken < most; ++k) {
            auto& mark = marked_[static_cast<std::size_t>(from[k].variable)];
            if (mark) continue;
            mark = 1;
            chosen.push_back(from[k].variable);
            ++taken;
        }
        return taken;
    }

    std::vector<std::uint8_t> marked_;
    std::vector<Candidate> ups_, downs_;
};

double offset_of(const DualProblem& p, const std::vector<std::int32_t>& all) {
    double sum = 0.0;
    index_t count = 0;
    for (const auto v : all)
        if (p.beta[v] > p.low[v] && p.beta[v] < p.high[v]) {
            sum += p.target[v] - p.f[p.row[v]];
            ++count;
        }
    if (count > 0) return sum / static_cast<double>(count);
    const Violation ends = violation_of(p, all);
    if (ends.most_up == -infinity) return ends.least_down;
    if (ends.least_down == infinity) return ends.most_up;
    return 0.5 * (ends.most_up + ends.least_down);
}

}  // namespace

CachedRows::CachedRows(std::shared_ptr<const KernelPanels> panels, double most_bytes)
    : panels_(std::move(panels)), slot_of_(static_cast<std::size_t>(panels_->size()), -1) {
    const double row = 4.0 * static_cast<double>(panels_->size());
    most_ = std::clamp<index_t>(static_cast<index_t>(most_bytes / row), 1, panels_->size());
}

void CachedRows::fetch(const std::int32_t* which, index_t count, const float** out, int threads) {
    ++clock_;
    std::vector<std::int32_t> missing;
    for (index_t k = 0; k < count; ++k) {
        const auto slot = slot_of_[static_cast<std::size_t>(which[k])];
        if (slot >= 0)
            used_at_[static_cast<std::size_t>(slot)] = clock_;
        else
            missing.push_back(which[k]);
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    const auto needed = missing.size();
    std::vector<std::int32_t> free;
    // What is needed at once is held, however small the limit.
    const auto held = slots_.size();
    const auto room = static_cast<std::size_t>(most_) > held ? static_cast<std::size_t>(most_) - held : 0;
    for (std::size_t k = 0; k < std::min(room, needed); ++k) {
        slots_.push_back(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(size())));
        row_of_.push_back(-1);
        used_at_.push_back(0);
        free.push_back(static_cast<std::int32_t>(slots_.size() - 1));
    }
    if (free.size() < needed) {
        std::vector<std::int32_t> old;
        for (std::size_t s = 0; s < held; ++s)
            if (used_at_[s] < clock_) old.push_back(static_cast<std::int32_t>(s));
        const auto wanted = std::min(old.size(), needed - free.size());
        const auto older = [&](std::int32_t a, std::int32_t b) {
            const auto at = used_at_[static_cast<std::size_t>(a)], bt = used_at_[static_cast<std::size_t>(b)];
            return at < bt || (at == bt && a < b);
        };
        std::nth_element(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(wanted), old.end(), older);
        free.insert(free.end(), old.begin(), old.begin() + static_cast<std::ptrdiff_t>(wanted));
        while (free.size() < needed) {
            slots_.push_back(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(size())));
            row_of_.push_back(-1);
            used_at_.push_back(0);
            free.push_back(static_cast<std::int32_t>(slots_.size() - 1));
        }
    }
    std::vector<float*> to(needed);
    for (std::size_t k = 0; k < needed; ++k) {
        const auto slot = static_cast<std::size_t>(free[k]);
        if (row_of_[slot] >= 0) slot_of_[static_cast<std::size_t>(row_of_[slot])] = -1;
        row_of_[slot] = missing[k];
        slot_of_[static_cast<std::size_t>(missing[k])] = static_cast<std::int32_t>(slot);
        used_at_[slot] = clock_;
        to[k] = slots_[slot].get();
    }
    if (needed > 0) panels_->rows(missing.data(), static_cast<index_t>(needed), to.data(), threads);
    made_ += static_cast<index_t>(needed);
    for (index_t k = 0; k < count; ++k)
        out[k] = slots_[static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(which[k])])].get();
}

template <class T>
SmoResult solve(RowSource<T>& source, const DualProblem& problem, const SmoOptions& options) {
    SmoResult result;
    const index_t size = std::min(options.block, problem.variables);
    std::vector<std::int32_t> active(static_cast<std::size_t>(problem.variables));
    std::iota(active.begin(), active.end(), 0);
    Chooser chooser(problem.variables);
    Block<T> block;
    std::vector<std::int32_t> chosen, rows;
    std::vector<const T*> pointers, moved;
    std::vector<double> steps, of_row(static_cast<std::size_t>(source.size()), 0.0);
    double goal = options.tol;
    index_t most = options.max_steps;
    while (!interrupted()) {
        const Violation now = violation_of(problem, active);
        result.violation = std::max(0.0, now.size());
        if (result.violation <= options.tol) result.status = 1;
        if (result.violation <= goal || result.steps >= most) {
            if (result.status != 1 || goal <= options.fine || options.fine <= 0.0 || result.steps >= most) break;
            goal = options.fine;
            most = std::min(most, result.steps + options.extra);
            continue;
        }
        if (size == problem.variables)
            chosen = active;
        else
            chooser.choose(problem, active, now, size, chosen);
        rows.clear();
        for (const auto v : chosen) rows.push_back(problem.row[v]);
        pointers.resize(rows.size());
        source.fetch(rows.data(), static_cast<index_t>(rows.size()), pointers.data(), options.threads);
        block.fill(chosen, problem, pointers, source);
        const double inner = size == problem.variables ? goal * 0.5 : std::max(0.5 * goal, 0.1 * result.violation);
        const index_t allowed = std::min<index_t>(most - result.steps, size == problem.variables ? most : 20 * size + 1000);
        const index_t made = block.solve(inner, allowed);
        result.steps += made;
        ++result.rounds;
        moved.clear();
        steps.clear();
        double largest = 0.0;
        for (std::size_t a = 0; a < chosen.size(); ++a) {
            const auto v = chosen[a];
            of_row[static_cast<std::size_t>(rows[a])] += block.beta[a] - problem.beta[v];
            problem.beta[v] = block.beta[a];
            largest = std::max(largest, std::abs(block.beta[a]));
        }
        for (std::size_t a = 0; a < chosen.size(); ++a) {
            double& step = of_row[static_cast<std::size_t>(rows[a])];
            if (step == 0.0) continue;
            moved.push_back(pointers[a]);
            steps.push_back(step);
            step = 0.0;
        }
        move_all(moved, steps, problem.f, source.size(), options.threads);
        if (options.largest > 0.0 && largest > options.largest) {
            result.status = 2;
            break;
        }
        if (made == 0) break;  // rounding leaves nothing to gain
    }
    result.offset = offset_of(problem, active);
    for (index_t v = 0; v < problem.variables; ++v)
        result.objective += problem.beta[v] * (0.5 * problem.f[problem.row[v]] - problem.target[v]);
    return result;
}

template SmoResult solve(RowSource<float>&, const DualProblem&, const SmoOptions&);
template SmoResult solve(RowSource<double>&, const DualProblem&, const SmoOptions&);

}  // namespace assay::kernel_machines
