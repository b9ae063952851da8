// Rules between the two sides of frequent itemsets, and Fisher's exact test of each.
//
// A set S of at least two items gives a rule S \ C -> C for each part C of 1 .. `widest` goods (items with an id below
// `n_goods`; the others, attributes of the basket, stand on the left alone) that leaves something on the left. Every part of
// a frequent set is frequent, so that both sides are sets of the list as well: a rule is three numbers of sets.
//
// A rule A -> C is redundant if a shorter left side, a part of A that is not empty, has no less confidence. With
//     b(A, C) = max over a in A of max(conf(A \ a -> C), b(A \ a, C)),
// it is so if b >= conf(A -> C), up to 1e-12; rules of smaller sets are looked at first.
//
// The p-value of a rule with counts x, y of its sides and k of both among n baskets is P(K >= k), K hypergeometric: the terms
// from k on are summed by their ratios where k lies above the mode, those below k are taken from 1 otherwise.
//
// Shapes: starts, items and counts as `frequent_itemsets` gives them. OUT rules by set, and within a set by the size of C
// and then by its items: the numbers of the sets of both sides, of the left and of the right one; `redundant` if asked for.
// `complete` is false beyond `most` rules, and there are none then. Cost: a few look-ups per rule; a tail sums some standard
// deviations of terms.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::baskets {

struct Rules {
    std::vector<std::int64_t> both, left, right;
    std::vector<std::uint8_t> redundant;
    bool complete = true;
};

Rules candidate_rules(Vector<const std::int64_t> starts, Vector<const std::int32_t> items,
                      Vector<const std::int64_t> counts, index_t n_items, index_t n_goods, index_t widest,
                      std::int64_t most, bool with_redundancy);

// P(K >= both) for each rule; x, y and both have one number per rule.
std::vector<double> independence_tails(Vector<const std::int64_t> x, Vector<const std::int64_t> y,
                                       Vector<const std::int64_t> both, std::int64_t n, int threads);

}  // namespace assay::baskets
