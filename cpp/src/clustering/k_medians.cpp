#include "assay/clustering/k_medians.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bounded_labels.hpp"

namespace assay::clustering {
namespace {

constexpr index_t columns_at_once = 8;  // cells of a row that share a line of memory
constexpr index_t sample_size = 256;
constexpr index_t ahead = 24;  // rows whose cells are asked for before they are read

template <class I>
std::size_t at(I i) {
    return static_cast<std::size_t>(i);
}

// Two values that enclosed the median of a column when it was last selected.
struct Bracket {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
};

// Brings the values within the bracket to `kept`; whether the value of rank `middle` is among them, whose rank it then is.
bool within(const double* values, index_t n, const Bracket& bracket, double* kept, index_t& count, index_t& middle) {
    index_t below = 0;
    count = 0;
    for (index_t i = 0; i < n; ++i) {
        const double value = values[i];
        below += value < bracket.low;
        kept[count] = value;
        count += (value >= bracket.low) & (value <= bracket.high);
    }
    if (below > middle || middle >= below + count) return false;
    middle -= below;
    return true;
}

// The value of rank `middle` (from 0) of n values; `room` is for n + 1 values.
double select(double* values, index_t n, index_t middle, Bracket& bracket, double* room) {
    if (n < 2 * sample_size) {
        std::nth_element(values, values + middle, values + n);
        return values[middle];
    }
    index_t count = n;
    if (!within(values, n, bracket, room, count, middle)) {
        // Four standard deviations of the rank of a sample's middle enclose it.
        constexpr index_t reach = 32, half = sample_size / 2;
        double sample[sample_size];
        for (index_t s = 0; s < sample_size; ++s) sample[s] = values[s * n / sample_size];
        std::nth_element(sample, sample + half - reach, sample + sample_size);
        std::nth_element(sample + half - reach, sample + half + reach, sample + sample_size);
        if (!within(values, n, {sample[half - reach], sample[half + reach]}, room, count, middle)) {
            std::copy(values, values + n, room);
            count = n;
        }
    }
    std::nth_element(room, room + middle, room + count);
    const double found = room[middle];
    // The next selection keeps a twentieth of the column.
    const index_t low = std::max<index_t>(0, middle - n / 40), high = std::min(count - 1, middle + n / 40);
    std::nth_element(room, room + low, room + middle);
    std::nth_element(room + middle, room + high, room + count);
    bracket = {room[low], room[high]};
    return found;
}

struct Weighed {
    double value, weight;
};

double select_by_weight(std::vector<Weighed>& cells) {
    double total = 0.0;
    for (const Weighed& cell : cells) total += cell.weight;
    const double half = 0.5 * total * (1 - 1e-12);
    const auto less = [](const Weighed& a, const Weighed& b) { return a.value < b.value; };
    auto first = cells.begin(), last = cells.end();
    double passed = 0.0;
    while (last - first > 16) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, less);
        double sum = passed;
        for (auto cell = first; cell != middle; ++cell) sum += cell->weight;
        if (sum >= half) {
            last = middle;
        } else {
            passed = sum;
            first = middle;
        }
    }
    std::sort(first, last, less);
    for (; first + 1 != last; ++first) {
        passed += first->weight;
        if (passed >= half) break;
    }
    return first->value;
}

// One start on its way.
class MedianDescent {
public:
    MedianDescent(Matrix<const double> rows, const double* weights, index_t k, double* centres, std::int32_t* labels,
                  const Frame& frame, int threads)
        : rows_(rows), weights_(weights), k_(k), d_(rows.cols), centres_(centres), labels_(labels), threads_(threads),
          assignment_(rows, k, centres, labels, frame, true), count_(at(k), 0), dirty_(at(k), 0), brackets_(at(k * rows.cols)) {}

    KMeansRun descend(index_t max_iter, bool record) {
        KMeansRun run;
        while (!run.converged && run.n_iter < max_iter && !interrupted()) {
            assignment_.begin_step();
            parallel_chunks(rows_.rows, grain, threads_, [&](index_t chunk, index_t begin, index_t end) {
                Panel panel(d_);
                assignment_.assign(chunk, begin, end, panel);
            });
            if (interrupted()) break;
            ++run.n_iter;
            if (record) run.inertias.push_back(sum());
            for (const auto& moves : assignment_.moves())
                for (const Move& move : moves) changed(move.row, move.from, labels_[move.row]);
            assignment_.relocate_empty(weights_, count_, threads_, [&](index_t row, std::int32_t from, std::int32_t to) {
                changed(row, from, to);
            });
            run.converged = std::none_of(dirty_.begin(), dirty_.end(), [](std::uint8_t d) { return d != 0; });
            if (!run.converged) update();
        }
        if (!interrupted()) {
            if (!run.converged) nearest_medians(rows_, view(), labels_, nullptr, threads_);
            run.inertia = sum();
        }
        return run;
    }

private:
    Matrix<const double> view() const { return c_matrix<const double>(centres_, k_, d_); }
    double sum() const { return sum_of_distances<Manhattan>(rows_, weights_, view(), labels_, threads_); }
    bool counts(index_t row) const { return !weights_ || weights_[row] > 0.0; }

    void changed(index_t row, std::int32_t from, std::int32_t to) {
        dirty_[at(to)] = 1;
        count_[at(to)] += counts(row);
        if (from < 0) return;
        dirty_[at(from)] = 1;
        count_[at(from)] -= counts(row);
    }

    // Medians of the clusters whose rows changed.
    void update() {
        std::vector<index_t> starts(at(k_) + 1, 0), tasks;
        for (index_t j = 0; j < k_; ++j) {
            const index_t own = dirty_[at(j)] ? static_cast<index_t>(count_[at(j)]) : 0;
            starts[at(j) + 1] = starts[at(j)] + own;
            assignment_.drifted(j, 0.0);
            if (own > 0) tasks.push_back(j);
        }
        members_.resize(at(starts.back()));
        std::vector<index_t> next(starts.begin(), starts.end() - 1);
        for (index_t i = 0; i < rows_.rows; ++i)
            if (dirty_[at(labels_[i])] && counts(i)) members_[at(next[at(labels_[i])]++)] = i;
        const index_t strips = (d_ + columns_at_once - 1) / columns_at_once;
        std::vector<double> moved(at(static_cast<index_t>(tasks.size()) * strips), 0.0);
        parallel_chunks(static_cast<index_t>(moved.size()), 1, threads_, [&](index_t task, index_t, index_t) {
            const index_t j = tasks[at(task / strips)], first = task % strips * columns_at_once;
            moved[at(task)] = move_strip(j, members_.data() + starts[at(j)], starts[at(j) + 1] - starts[at(j)], first,
                                         std::min(columns_at_once, d_ - first));
        });
        for (std::size_t t = 0; t < tasks.size(); ++t) {
            double length = 0.0;
            for (index_t s = 0; s < strips; ++s) length += moved[t * at(strips) + at(s)];
            assignment_.drifted(tasks[t], length);
        }
        std::fill(dirty_.begin(), dirty_.end(), 0);
    }

    // Medians of a few columns of one cluster, read together; how far the centre moved.
    double move_strip(index_t j, const index_t* members, index_t n, index_t first, index_t width) {
        const bool weighed =
            weights_ && std::any_of(members, members + n, [&](index_t i) { return weights_[i] != weights_[members[0]]; });
        std::vector<double> columns(at(n * width)), room(at(n + 1));
        std::vector<Weighed> cells(weighed ? at(n) : 0);
        for (index_t m = 0; m < n; ++m) {
            const double* const x = rows_.row(members[m]) + first;
            __builtin_prefetch(rows_.row(members[std::min(m + ahead, n - 1)]) + first);
            for (index_t t = 0; t < width; ++t) columns[at(t * n + m)] = x[t];
        }
        double moved = 0.0;
        for (index_t t = 0; t < width; ++t) {
            double* const column = columns.data() + t * n;
            double to;
            if (weighed) {
                for (index_t m = 0; m < n; ++m) cells[at(m)] = {column[m], weights_[members[m]]};
                to = select_by_weight(cells);
            } else {
                to = select(column, n, (n - 1) / 2, brackets_[at(j * d_ + first + t)], room.data());
            }
            double& centre = centres_[j * d_ + first + t];
            moved += std::abs(to - centre);
            centre = to;
        }
        return moved;
    }

    Matrix<const double> rows_;
    const double* weights_;
    index_t k_, d_;
    double* centres_;
    std::int32_t* labels_;
    int threads_;
    BoundedLabels<double, Manhattan> assignment_;
    std::vector<std::int64_t> count_;
    std::vector<std::uint8_t> dirty_;
    std::vector<index_t> members_;
    std::vector<Bracket> brackets_;
};

}  // namespace

void nearest_medians(Matrix<const double> rows, Matrix<const double> centres, std::int32_t* labels, double* distances,
                     int threads) {
    label_all<double, Manhattan>(rows, centres, labels, distances, threads);
}

std::vector<KMeansRun> k_medians(Matrix<const double> rows, const double* weights, index_t k, index_t restarts,
                                   double* centres, std::int32_t* labels, index_t max_iter, bool record, int threads) {
    const Frame frame = frame_of(rows, weights, threads);
    std::vector<KMeansRun> runs;
    for (index_t r = 0; r < restarts; ++r) {
        MedianDescent descent(rows, weights, k, centres + r * k * rows.cols, labels + r * rows.rows, frame, threads);
        runs.push_back(descent.descend(max_iter, record));
    }
    return runs;
}

}  // namespace assay::clustering
