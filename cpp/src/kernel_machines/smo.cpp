#include "assay/kernel_machines/smo.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pair_steps.hpp"

namespace assay::kernel_machines {
namespace {

// Rows are moved so often each, and a block problem takes so many steps a variable, before shrinking is thought of;
// it is done if no more than this share of the rows would be left.
constexpr index_t patience = 2;
constexpr double worth_it = 0.7;

// The problem on the variables of one block. Variables of one row have the same kernel and differ in their targets alone,
// so a place of the block holds one row with up to two of them: e is that of the first, and what the other's target has
// more is added to it where the other is the one to move. A kernel row is looked for when a step first wants it: among
// `rows`, or in the source if these are none. It is the source's if the block has all of its rows in their order; else the
// places' cells are copied.
template <class T>
class Block {
public:
    void fill(const std::vector<std::int32_t>& chosen, const DualProblem& problem, const std::vector<const T*>& rows,
              RowSource<T>& source) {
        const auto variables = chosen.size();
        source_ = &source;
        first_.clear();
        second_.clear();
        row_.clear();
        from_.clear();
        place_of_.assign(static_cast<std::size_t>(source.size()), -1);
        beta.resize(variables);
        low_.resize(variables);
        high_.resize(variables);
        more_.assign(variables, 0.0);
        for (std::size_t a = 0; a < variables; ++a) {
            const auto v = chosen[a];
            beta[a] = problem.beta[v];
            low_[a] = problem.low[v];
            high_[a] = problem.high[v];
            auto& place = place_of_[static_cast<std::size_t>(problem.row[v])];
            if (place >= 0 && second_[static_cast<std::size_t>(place)] < 0) {
                second_[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(a);
                more_[a] = problem.target[v] - problem.target[chosen[static_cast<std::size_t>(first_[static_cast<std::size_t>(place)])]];
                continue;
            }
            place = static_cast<std::int32_t>(first_.size());
            first_.push_back(static_cast<std::int32_t>(a));
            second_.push_back(-1);
            row_.push_back(problem.row[v]);
            from_.push_back(rows.empty() ? nullptr : rows[a]);
        }
        m_ = static_cast<index_t>(first_.size());
        const auto size = static_cast<std::size_t>((m_ + width - 1) / width * width);
        e_.assign(size, 0.0);
        up_.assign(size, -infinity);
        down_.assign(size, infinity);
        diagonal_.assign(size, 1.0);
        rises_.assign(size, 0);
        falls_.assign(size, 0);
        all_ = m_ == source.size();
        for (std::size_t k = 0; k < first_.size(); ++k) {
            e_[k] = problem.target[chosen[static_cast<std::size_t>(first_[k])]] - problem.f[row_[k]];
            diagonal_[k] = source.diagonal(row_[k]);
            all_ = all_ && row_[k] == static_cast<std::int32_t>(k);
            open(k);
        }
        kernel_.assign(first_.size(), nullptr);
        if (all_) return;
        const auto cells = first_.size() * first_.size();
        if (cells > held_) {
            held_ = cells;
            cells_ = std::make_unique_for_overwrite<T[]>(cells);
        }
    }

    // Steps until the violation within the block is `tol`, `most` were made, or, looked at now and then if `whole`, most
    // of its rows are idle.
    index_t solve(double tol, index_t most, bool whole) {
        idle_ = false;
        const T* const none = kernel(0);
        Found first = move(e_.data(), up_.data(), none, none, 0.0, m_);
        index_t steps = 0;
        while (steps < most) {
            const auto i = static_cast<std::size_t>(first.place);
            const T* const ki = kernel(i);
            double least = infinity;
            const Found second = partner(e_.data(), down_.data(), diagonal_.data(), ki, first.value, diagonal_[i], m_, &least);
            if (!(first.value - least > tol) || second.value <= 0.0) break;
            if (whole && steps > 0 && steps % (patience * m_) == 0 && mostly_idle(first.value, least)) {
                idle_ = true;
                break;
            }
            const auto j = static_cast<std::size_t>(second.place);
            const auto a = static_cast<std::size_t>(rises_[i]), b = static_cast<std::size_t>(falls_[j]);
            const double curve = diagonal_[i] + diagonal_[j] - 2.0 * static_cast<double>(ki[j]);
            double step = (first.value - (e_[j] + down_[j])) / std::max(curve, least_curvature);
            const double room_up = high_[a] - beta[a], room_down = beta[b] - low_[b];
            const double room = std::min(room_up, room_down);
            const bool full = step >= room;
            step = full ? room : step;
            beta[a] = full && room_up <= room_down ? high_[a] : beta[a] + step;
            beta[b] = full && room_down <= room_up ? low_[b] : beta[b] - step;
            open(i);
            open(j);
            first = move(e_.data(), up_.data(), ki, kernel(j), step, m_);
            ++steps;
            if ((steps & 1023) == 0 && interrupted()) break;
        }
        return steps;
    }

    bool idle() const { return idle_; }
    void clear() { idle_ = false; }

    std::vector<double> beta;

private:
    const T* kernel(std::size_t k) {
        const T*& known = kernel_[k];
        if (known == nullptr) {
            if (from_[k] == nullptr) source_->fetch(&row_[k], 1, &from_[k], 1);
            if (all_) return known = from_[k];
            T* const to = cells_.get() + static_cast<index_t>(k) * m_;
            const T* const from = from_[k];
            for (index_t b = 0; b < m_; ++b) to[b] = from[row_[static_cast<std::size_t>(b)]];
            to[k] = static_cast<T>(diagonal_[k]);
            known = to;
        }
        return known;
    }

    bool mostly_idle(double most_up, double least_down) const {
        index_t live = 0;
        for (std::size_t k = 0; k < first_.size(); ++k)
            live += e_[k] + up_[k] >= least_down || e_[k] + down_[k] <= most_up;
        return static_cast<double>(live) <= worth_it * static_cast<double>(m_);
    }

    // Of the variables that may rise the one with the largest e, of those that may fall the one with the least.
    void open(std::size_t k) {
        up_[k] = -infinity;
        down_[k] = infinity;
        for (const auto variable : {first_[k], second_[k]}) {
            if (variable < 0) continue;
            const auto a = static_cast<std::size_t>(variable);
            if (beta[a] < high_[a] && more_[a] > up_[k]) {
                up_[k] = more_[a];
                rises_[k] = variable;
            }
            if (beta[a] > low_[a] && more_[a] < down_[k]) {
                down_[k] = more_[a];
                falls_[k] = variable;
            }
        }
    }

    RowSource<T>* source_ = nullptr;
    index_t m_ = 0;
    bool idle_ = false, all_ = false;
    std::vector<double> low_, high_, more_;                             // of each variable
    std::vector<double> e_, up_, down_, diagonal_;                      // of each place
    std::vector<std::int32_t> first_, second_, rises_, falls_, row_;    // its variables, those to move, its row
    std::vector<std::int32_t> place_of_;                                // of each row of the source
    std::vector<const T*> from_, kernel_;
    std::unique_ptr<T[]> cells_;
    std::size_t held_ = 0;
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

template <class T>
CachedRows<T>::CachedRows(std::shared_ptr<const KernelPanels<T>> panels, double most_bytes)
    : panels_(std::move(panels)), most_bytes_(most_bytes), slot_of_(static_cast<std::size_t>(panels_->size()), -1) {
    const double row = static_cast<double>(sizeof(T)) * static_cast<double>(panels_->size());
    most_ = std::clamp<index_t>(static_cast<index_t>(most_bytes / row), 1, panels_->size());
}

template <class T>
void CachedRows<T>::fetch(const std::int32_t* which, index_t count, const T** out, int threads) {
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
        slots_.push_back(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size())));
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
            slots_.push_back(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size())));
            row_of_.push_back(-1);
            used_at_.push_back(0);
            free.push_back(static_cast<std::int32_t>(slots_.size() - 1));
        }
    }
    std::vector<T*> to(needed);
    for (std::size_t k = 0; k < needed; ++k) {
        const auto slot = static_cast<std::size_t>(free[k]);
        if (row_of_[slot] >= 0) slot_of_[static_cast<std::size_t>(row_of_[slot])] = -1;
        row_of_[slot] = missing[k];
        slot_of_[static_cast<std::size_t>(missing[k])] = static_cast<std::int32_t>(slot);
        used_at_[slot] = clock_;
        to[k] = slots_[slot].get();
    }
    if (parent_ != nullptr) {
        std::vector<std::uint8_t> known(needed, 0);
        parallel_chunks(static_cast<index_t>(needed), 16, threads, [&](index_t, index_t begin, index_t end) {
            for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
                known[k] = parent_->copy_kept(in_parent_[static_cast<std::size_t>(missing[k])], in_parent_, to[k]);
        });
        std::size_t left = 0;
        for (std::size_t k = 0; k < needed; ++k)
            if (!known[k]) {
                missing[left] = missing[k];
                to[left++] = to[k];
            }
        missing.resize(left);
    }
    if (!missing.empty()) panels_->rows(missing.data(), static_cast<index_t>(missing.size()), to.data(), threads);
    made_ += static_cast<index_t>(missing.size());
    for (index_t k = 0; k < count; ++k)
        out[k] = slots_[static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(which[k])])].get();
}

template <class T>
bool CachedRows<T>::copy_kept(std::int32_t row, const std::vector<std::int32_t>& columns, T* to) const {
    const auto slot = slot_of_[static_cast<std::size_t>(row)];
    if (slot < 0) return false;
    const T* const from = slots_[static_cast<std::size_t>(slot)].get();
    for (std::size_t k = 0; k < columns.size(); ++k) to[k] = from[columns[k]];
    return true;
}

template <class T>
void CachedRows<T>::keep_at_most(index_t rows) {
    const auto most = static_cast<std::size_t>(rows);
    if (slots_.size() <= most) return;
    std::vector<std::size_t> order(slots_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return used_at_[a] > used_at_[b] || (used_at_[a] == used_at_[b] && a < b);
    });
    std::vector<std::unique_ptr<T[]>> slots;
    std::vector<std::int32_t> row_of;
    std::vector<index_t> used_at;
    std::fill(slot_of_.begin(), slot_of_.end(), -1);
    for (std::size_t k = 0; k < most; ++k) {
        const auto old = order[k];
        if (row_of_[old] >= 0) slot_of_[static_cast<std::size_t>(row_of_[old])] = static_cast<std::int32_t>(slots.size());
        slots.push_back(std::move(slots_[old]));
        row_of.push_back(row_of_[old]);
        used_at.push_back(used_at_[old]);
    }
    slots_ = std::move(slots);
    row_of_ = std::move(row_of);
    used_at_ = std::move(used_at);
}

// The two caches share the memory.
template <class T>
std::unique_ptr<RowSource<T>> CachedRows<T>::narrowed(const std::vector<std::int32_t>& rows) {
    keep_at_most(std::max<index_t>(1, most_ / 2));
    const double left = most_bytes_ - static_cast<double>(sizeof(T)) * static_cast<double>(slots_.size()) * static_cast<double>(size());
    auto narrow = std::make_unique<CachedRows>(std::make_shared<const KernelPanels<T>>(*panels_, rows), std::max(left, 0.0));
    narrow->parent_ = this;
    narrow->in_parent_ = rows;
    return narrow;
}

template <class T>
void CachedRows<T>::spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                        const std::vector<std::int32_t>& to, double* f, int threads) {
    if (which.empty() || to.empty()) return;
    std::vector<double> sums(to.size(), 0.0);
    KernelPanels<T>(*panels_, which).add_sums(*panels_, to, steps.data(), sums.data(), threads);
    for (std::size_t k = 0; k < to.size(); ++k) f[to[k]] += sums[k];
}

template <class T>
std::unique_ptr<RowSource<T>> GramRows<T>::narrowed(const std::vector<std::int32_t>& rows) {
    return std::make_unique<NarrowGramRows<T>>(gram_, rows);
}

template <class T>
void GramRows<T>::spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                         const std::vector<std::int32_t>& to, double* f, int threads) {
    std::vector<const T*> rows(which.size());
    fetch(which.data(), static_cast<index_t>(which.size()), rows.data(), threads);
    std::vector<double> sums(static_cast<std::size_t>(size()), 0.0);
    move_all(rows, steps, sums.data(), size(), threads);
    for (const auto row : to) f[row] += sums[static_cast<std::size_t>(row)];
}

template <class T>
double NarrowGramRows<T>::diagonal(index_t row) const {
    const auto whole = rows_[static_cast<std::size_t>(row)];
    return static_cast<double>(gram_(whole, whole));
}

template <class T>
void NarrowGramRows<T>::fetch(const std::int32_t* which, index_t count, const T** out, int) {
    for (index_t k = 0; k < count; ++k) {
        auto& copy = copies_[static_cast<std::size_t>(which[k])];
        if (copy == nullptr) {
            copy = std::make_unique_for_overwrite<T[]>(rows_.size());
            const T* const from = gram_.row(rows_[static_cast<std::size_t>(which[k])]);
            for (std::size_t j = 0; j < rows_.size(); ++j) copy[j] = from[rows_[j]];
        }
        out[k] = copy.get();
    }
}

template <class T>
std::unique_ptr<RowSource<T>> NarrowGramRows<T>::narrowed(const std::vector<std::int32_t>& rows) {
    std::vector<std::int32_t> whole;
    for (const auto row : rows) whole.push_back(rows_[static_cast<std::size_t>(row)]);
    return std::make_unique<NarrowGramRows<T>>(gram_, std::move(whole));
}

template <class T>
void NarrowGramRows<T>::spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                               const std::vector<std::int32_t>& to, double* f, int threads) {
    std::vector<std::int32_t> rows, places;
    for (const auto row : which) rows.push_back(rows_[static_cast<std::size_t>(row)]);
    for (const auto row : to) places.push_back(rows_[static_cast<std::size_t>(row)]);
    std::vector<double> sums(static_cast<std::size_t>(gram_.cols), 0.0);
    GramRows<T>(gram_).spread(rows, steps, places, sums.data(), threads);
    for (std::size_t k = 0; k < to.size(); ++k) f[to[k]] += sums[static_cast<std::size_t>(places[k])];
}

namespace {

// Whether some pair that violates the conditions could move a variable.
ASSAY_INLINE bool is_live(const DualProblem& p, index_t v, const Violation& now) {
    const double e = p.target[v] - p.f[p.row[v]];
    return (p.beta[v] < p.high[v] && e >= now.least_down) || (p.beta[v] > p.low[v] && e <= now.most_up);
}

// The problem of the variables that are live, on the rows that have one.
template <class T>
class Narrow {
public:
    Narrow(RowSource<T>& source, const DualProblem& whole, const Violation& now) : outer_(source), whole_(whole) {
        std::vector<std::int32_t> place(static_cast<std::size_t>(source.size()), -1);
        for (index_t v = 0; v < whole.variables; ++v) {
            auto& own = place[static_cast<std::size_t>(whole.row[v])];
            if (is_live(whole, v, now)) {
                variables_.push_back(static_cast<std::int32_t>(v));
                own = 0;
            } else if (own < 0) {
                own = -2;
            }
        }
        with_variables_ = source.size() - std::count(place.begin(), place.end(), -1);
        for (std::size_t i = 0; i < place.size(); ++i) {
            auto& rows = place[i] < 0 ? left_out_ : rows_;
            if (place[i] == 0) place[i] = static_cast<std::int32_t>(rows_.size());
            rows.push_back(static_cast<std::int32_t>(i));
        }
        for (const auto v : variables_) {
            row_.push_back(place[static_cast<std::size_t>(whole.row[v])]);
            target_.push_back(whole.target[v]);
            low_.push_back(whole.low[v]);
            high_.push_back(whole.high[v]);
            beta_.push_back(whole.beta[v]);
        }
        for (const auto row : rows_) f_.push_back(whole.f[row]);
    }

    // A block of all variables becomes smaller with each of their rows, the kernel rows of others with each row.
    bool pays(bool whole) const {
        const auto left = static_cast<double>(rows_.size());
        const auto now = static_cast<double>(whole ? with_variables_ : outer_.size());
        return !variables_.empty() && left <= worth_it * now;
    }
    RowSource<T>& source() {
        if (inner_ == nullptr) inner_ = outer_.narrowed(rows_);
        return *inner_;
    }
    DualProblem problem() {
        return {static_cast<index_t>(variables_.size()), row_.data(), target_.data(), low_.data(), high_.data(),
                beta_.data(), f_.data()};
    }

    // beta as it now is, f of the rows that took part, and of the others by what changed.
    void give_back(int threads) {
        inner_.reset();
        std::vector<double> of_row(rows_.size(), 0.0), steps;
        std::vector<std::int32_t> changed;
        for (std::size_t a = 0; a < variables_.size(); ++a) {
            double& beta = whole_.beta[variables_[a]];
            of_row[static_cast<std::size_t>(row_[a])] += beta_[a] - beta;
            beta = beta_[a];
        }
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            whole_.f[rows_[i]] = f_[i];
            if (of_row[i] == 0.0) continue;
            changed.push_back(rows_[i]);
            steps.push_back(of_row[i]);
        }
        outer_.spread(changed, steps, left_out_, whole_.f, threads);
    }

private:
    RowSource<T>& outer_;
    const DualProblem& whole_;
    std::unique_ptr<RowSource<T>> inner_;
    index_t with_variables_ = 0;  // rows
    std::vector<std::int32_t> variables_, rows_, left_out_, row_;
    std::vector<double> target_, low_, high_, beta_, f_;
};

// What the whole problem and those it shrinks to have in common.
struct Progress {
    const SmoOptions& options;
    SmoResult& result;
    double goal;
    index_t most;
    bool stuck = false;  // rounding leaves nothing to gain, or some |beta| is too large
};

// Rounds until the violation is at the goal.
template <class T>
void descend(RowSource<T>& source, const DualProblem& problem, Progress& progress, bool outermost) {
    const SmoOptions& options = progress.options;
    SmoResult& result = progress.result;
    const index_t size = std::min(options.block, problem.variables);
    const bool whole = size == problem.variables, lazy = whole && source.keeps_all();
    std::vector<std::int32_t> all(static_cast<std::size_t>(problem.variables));
    std::iota(all.begin(), all.end(), 0);
    Chooser chooser(problem.variables);
    Block<T> block;
    std::vector<std::int32_t> chosen, rows, moved_rows;
    std::vector<const T*> pointers, moved;
    std::vector<double> steps, of_row(static_cast<std::size_t>(source.size()), 0.0);
    std::vector<std::uint8_t> touched(all.size(), 0);
    index_t moves = 0, distinct = 0;
    while (!interrupted()) {
        const Violation now = violation_of(problem, all);
        const double violation = std::max(0.0, now.size());
        if (outermost) {
            result.violation = violation;
            if (violation <= options.tol) result.status = 1;
        }
        if (violation <= progress.goal || result.steps >= progress.most) {
            if (!outermost || result.status != 1 || progress.goal <= options.fine || options.fine <= 0.0 ||
                result.steps >= progress.most)
                break;
            progress.goal = options.fine;
            progress.most = std::min(progress.most, result.steps + options.extra);
            continue;
        }
        if (progress.stuck) break;
        if (options.shrinking && (whole ? block.idle() : moves >= patience * distinct && distinct > 0)) {
            Narrow<T> narrow(source, problem, now);
            if (narrow.pays(whole)) {
                const index_t before = result.steps;
                const DualProblem inner = narrow.problem();
                descend(narrow.source(), inner, progress, false);
                narrow.give_back(options.threads);
                ++result.shrunk;
                moves = distinct = 0;
                std::fill(touched.begin(), touched.end(), 0);
                block.clear();
                if (result.status == 2) break;
                progress.stuck = progress.stuck && result.steps == before;
                continue;
            }
        }
        if (whole)
            chosen = all;
        else
            chooser.choose(problem, all, now, size, chosen);
        rows.clear();
        pointers.clear();
        for (const auto v : chosen) rows.push_back(problem.row[v]);
        // All variables at once: most rows of those that stay at a bound are never wanted.
        if (!lazy) {
            pointers.resize(rows.size());
            source.fetch(rows.data(), static_cast<index_t>(rows.size()), pointers.data(), options.threads);
        }
        block.fill(chosen, problem, pointers, source);
        const double inner = whole ? progress.goal * 0.5 : std::max(0.5 * progress.goal, 0.1 * violation);
        const index_t left = progress.most - result.steps;
        const index_t made =
            block.solve(inner, whole ? left : std::min<index_t>(left, 20 * size + 1000), whole && options.shrinking);
        result.steps += made;
        ++result.rounds;
        moved_rows.clear();
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
            moved_rows.push_back(rows[a]);
            steps.push_back(step);
            step = 0.0;
            auto& seen = touched[static_cast<std::size_t>(chosen[a])];
            distinct += !seen;
            seen = 1;
        }
        moves += static_cast<index_t>(moved_rows.size());
        moved.resize(moved_rows.size());
        source.fetch(moved_rows.data(), static_cast<index_t>(moved_rows.size()), moved.data(), options.threads);
        move_all(moved, steps, problem.f, source.size(), options.threads);
        if (options.largest > 0.0 && largest > options.largest) {
            result.status = 2;
            break;
        }
        progress.stuck = made == 0;
    }
}

}  // namespace

template <class T>
SmoResult solve(RowSource<T>& source, const DualProblem& problem, const SmoOptions& options) {
    SmoResult result;
    Progress progress{options, result, options.tol, options.max_steps};
    descend(source, problem, progress, true);
    std::vector<std::int32_t> all(static_cast<std::size_t>(problem.variables));
    std::iota(all.begin(), all.end(), 0);
    result.offset = offset_of(problem, all);
    for (index_t v = 0; v < problem.variables; ++v)
        result.objective += problem.beta[v] * (0.5 * problem.f[problem.row[v]] - problem.target[v]);
    return result;
}

template class GramRows<float>;
template class GramRows<double>;
template class NarrowGramRows<float>;
template class NarrowGramRows<double>;
template class CachedRows<float>;
template class CachedRows<double>;
template SmoResult solve(RowSource<float>&, const DualProblem&, const SmoOptions&);
template SmoResult solve(RowSource<double>&, const DualProblem&, const SmoOptions&);

}  // namespace assay::kernel_machines
