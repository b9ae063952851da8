// Orders of players in which, of any three players, each stands between the other two about equally often.
//
// An order with its reverse gives the members of a joint effect of three players half of it each to the first and the
// last of them and nothing to the one between, where Shapley's value gives a third to each. Over several orders this is
// exact if each of the three is between the others in a third of the orders. The objective is the sum, over all triples
// and their members, of (orders in which the member is between)^2, which is least when they are equal.
//
// balanced_orders  random orders, improved by swaps of two players in one order that do not raise the objective, for a
//                  given number of tried swaps. IN count of orders, players (3 to 64), tried swaps, key of the random
//                  numbers. OUT ranks (count x players): the place of each player in each order.
//                  Cost: O(swaps players^2) time, 6 players^3 bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::explain {

inline constexpr index_t most_balanced = 64;

std::vector<std::int32_t> balanced_orders(index_t count, index_t players, index_t swaps, std::uint64_t key);

}  // namespace assay::explain
