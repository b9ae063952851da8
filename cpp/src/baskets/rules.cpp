#include "assay/baskets/rules.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/threads.hpp"
#include "set_index.hpp"

namespace assay::baskets {
namespace {

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Binomial coefficients up to those of sets that can be listed at all; larger ones stay at the bound.
class Binomials {
public:
    static constexpr std::int64_t bound = std::int64_t{1} << 40;
    explicit Binomials(index_t most) : width_(most + 1), table_(at(width_ * width_), 0) {
        for (index_t n = 0; n <= most; ++n) {
            table_[at(n * width_)] = 1;
            for (index_t k = 1; k <= n; ++k)
                table_[at(n * width_ + k)] = std::min(bound, (*this)(n - 1, k - 1) + (*this)(n - 1, k));
        }
    }
    std::int64_t operator()(index_t n, index_t k) const { return n < 0 || k > n ? 0 : table_[at(n * width_ + k)]; }

private:
    index_t width_;
    std::vector<std::int64_t> table_;
};

// Positions 0 .. size - 1 chosen `many` at a time, in order; `next` is false after the last.
class Choice {
public:
    Choice(index_t size, index_t many) : size_(size), places(at(many)) { std::iota(places.begin(), places.end(), 0); }
    bool next() {
        auto k = static_cast<index_t>(places.size()) - 1;
        while (k >= 0 && places[at(k)] == size_ - static_cast<index_t>(places.size()) + k) --k;
        if (k < 0) return false;
        ++places[at(k)];
        for (auto later = k + 1; later < static_cast<index_t>(places.size()); ++later)
            places[at(later)] = places[at(later - 1)] + 1;
        return true;
    }

private:
    index_t size_;

public:
    std::vector<index_t> places;
};

// How the rules of a set are numbered: by the size of the right side, then in the order of `Choice`.
class Numbering {
public:
    Numbering(index_t longest, index_t n_goods, index_t widest) : binomial_(longest), n_goods_(n_goods), widest_(widest) {}

    index_t goods(std::span<const std::int32_t> held) const {
        return std::lower_bound(held.begin(), held.end(), static_cast<std::int32_t>(n_goods_)) - held.begin();
    }
    index_t most_right(std::span<const std::int32_t> held) const {
        return std::min({widest_, static_cast<index_t>(held.size()) - 1, goods(held)});
    }
    std::int64_t rules(std::span<const std::int32_t> held) const {
        std::int64_t sum = 0;
        for (index_t size = 1; size <= most_right(held); ++size) sum += binomial_(goods(held), size);
        return sum;
    }
    // The number of the rule of `held` with the items `right` on the right.
    std::int64_t of(std::span<const std::int32_t> held, std::span<const std::int32_t> right) const {
        const index_t many = goods(held), size = static_cast<index_t>(right.size());
        std::int64_t number = 0;
        for (index_t less = 1; less < size; ++less) number += binomial_(many, less);
        for (index_t place = 0, k = 0; k < size; ++place) {
            if (held[at(place)] == right[at(k)]) ++k;
            else number += binomial_(many - place - 1, size - k - 1);  // choices that take this place for the k-th
        }
        return number;
    }

private:
    Binomials binomial_;
    index_t n_goods_, widest_;
};

void mark_redundant(const SetIndex& index, const Numbering& numbering, const std::vector<std::int64_t>& first,
                    Vector<const std::int64_t> counts, Rules& rules) {
    const auto n = static_cast<index_t>(rules.both.size());
    std::vector<std::int64_t> order(at(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return index.members(rules.both[at(a)]).size() < index.members(rules.both[at(b)]).size();
    });
    rules.redundant.assign(at(n), 0);
    std::vector<double> best(at(n), -1.0);  // the highest confidence of a shorter left side
    std::vector<std::int32_t> part;
    for (std::size_t r = 0; r < order.size() && !interrupted(); ++r) {
        const std::size_t rule = at(order[r]);
        const auto held = index.members(rules.both[rule]), left = index.members(rules.left[rule]),
                   right = index.members(rules.right[rule]);
        if (left.size() < 2) continue;
        for (const std::int32_t leaving : left) {
            part.clear();
            std::copy_if(held.begin(), held.end(), std::back_inserter(part), [&](std::int32_t one) { return one != leaving; });
            const index_t set = index.find(part);
            if (set < 0) continue;
            const std::size_t shorter = at(first[at(set)] + numbering.of(part, right));
            const double confidence = static_cast<double>(counts[rules.both[shorter]]) /
                                      static_cast<double>(counts[rules.left[shorter]]);
            best[rule] = std::max({best[rule], best[shorter], confidence});
        }
        const double own =
            static_cast<double>(counts[rules.both[rule]]) / static_cast<double>(counts[rules.left[rule]]);
        rules.redundant[rule] = best[rule] >= own - 1e-12;
    }
}

}  // namespace

Rules candidate_rules(Vector<const std::int64_t> starts, Vector<const std::int32_t> items,
                      Vector<const std::int64_t> counts, index_t n_items, index_t n_goods, index_t widest,
                      std::int64_t most, bool with_redundancy) {
    const index_t sets = starts.size - 1;
    const SetIndex index(starts, items, n_items);
    std::size_t longest = 1;
    for (index_t s = 0; s < sets; ++s) longest = std::max(longest, index.members(s).size());
    const Numbering numbering(static_cast<index_t>(longest), n_goods, widest);
    std::vector<std::int64_t> first(at(sets) + 1, 0);
    Rules rules;
    for (index_t s = 0; s < sets; ++s) {
        first[at(s) + 1] = first[at(s)] + numbering.rules(index.members(s));
        if (first[at(s) + 1] > most) {
            rules.complete = false;
            return rules;
        }
    }
    const auto n = at(first.back());
    rules.both.reserve(n);
    rules.left.reserve(n);
    rules.right.reserve(n);
    std::vector<std::int32_t> left, right;
    for (index_t s = 0; s < sets && !interrupted(); ++s) {
        const std::span<const std::int32_t> held = index.members(s);
        for (index_t size = 1; size <= numbering.most_right(held); ++size) {
            Choice choice(numbering.goods(held), size);
            do {
                left.clear();
                right.clear();
                for (std::size_t p = 0, k = 0; p < held.size(); ++p) {
                    const bool chosen = k < choice.places.size() && choice.places[k] == static_cast<index_t>(p);
                    (chosen ? right : left).push_back(held[p]);
                    k += chosen;
                }
                const index_t sides[2] = {index.find(left), index.find(right)};
                if (sides[0] < 0 || sides[1] < 0) continue;  // the list is not closed under parts
                rules.both.push_back(s);
                rules.left.push_back(sides[0]);
                rules.right.push_back(sides[1]);
            } while (choice.next());
        }
    }
    if (rules.both.size() != n) rules.complete = false;
    else if (with_redundancy) mark_redundant(index, numbering, first, counts, rules);
    return rules;
}

std::vector<double> independence_tails(Vector<const std::int64_t> x, Vector<const std::int64_t> y,
                                       Vector<const std::int64_t> both, std::int64_t n, int threads) {
    std::vector<double> factorial(at(n) + 1);  // logarithms
    long double sum = 0.0L;
    for (std::int64_t k = 1; k <= n; ++k) factorial[at(k)] = static_cast<double>(sum += std::log(static_cast<long double>(k)));
    const auto choose = [&](std::int64_t of, std::int64_t k) { return factorial[at(of)] - factorial[at(k)] - factorial[at(of - k)]; };
    std::vector<double> tails(at(both.size));
    parallel_chunks(both.size, 1024, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t r = begin; r < end; ++r) {
            const std::int64_t a = x[r], b = y[r], k = both[r];
            const std::int64_t low = std::max<std::int64_t>(0, a + b - n), high = std::min(a, b);
            if (k <= low || k > high) {
                tails[at(r)] = k <= low ? 1.0 : 0.0;
                continue;
            }
            const auto term_at = [&](std::int64_t j) { return std::exp(choose(a, j) + choose(n - a, b - j) - choose(n, b)); };
            const double mode = static_cast<double>(a + 1) * static_cast<double>(b + 1) / static_cast<double>(n + 2);
            double total = 0.0;
            if (static_cast<double>(k) >= mode) {
                double term = term_at(k);
                for (std::int64_t j = k;; ++j) {
                    total += term;
                    if (j == high || term <= 1e-18 * total) break;
                    term *= static_cast<double>(a - j) / static_cast<double>(j + 1) * static_cast<double>(b - j) /
                            static_cast<double>(n - a - b + j + 1);
                }
            } else {
                double term = term_at(k - 1);
                for (std::int64_t j = k - 1;; --j) {
                    total += term;
                    if (j == low || term <= 1e-18 * total) break;
                    term *= static_cast<double>(j) / static_cast<double>(a - j + 1) *
                            static_cast<double>(n - a - b + j) / static_cast<double>(b - j + 1);
                }
                total = 1.0 - total;
            }
            tails[at(r)] = std::clamp(total, 0.0, 1.0);
        }
    });
    return tails;
}

}  // namespace assay::baskets
