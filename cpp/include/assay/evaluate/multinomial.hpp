// Exact draws of binomial and multinomial counts from Philox streams.
//
// binomial(n, p): inversion of the distribution function where n p < 10 (expected n p steps), else Hormann's
// transformed rejection with squeeze BTRS (J. Statist. Comput. Simul. 46, 1993): about 1.2 pairs of uniforms, constant
// cost. p > 1/2 is mirrored.
//
// multinomial(n; counts): cell by cell, x_j ~ Binomial(n left, counts_j / counts left). O(cells), whatever n is.
//
// resample: how often each of n rows is drawn in n draws with replacement, Multinomial(n; 1/n, ..., 1/n). The rows are
// cut into runs of 256; the draws per run are multinomial by conditional binomials, and within a run a draw is one
// random byte: 16 draws per Philox block, and counters that stay in the first cache. Exact; a row is drawn 256 times
// with probability below 1e-500, so a byte holds its count.
//
// Replicate r of key k takes stream r below k and nothing else: it does not depend on thread, order or other replicates.
#pragma once

#include <cstdint>

#include "assay/common/random.hpp"
#include "assay/common/views.hpp"

namespace assay {

// IN n >= 0, 0 <= p <= 1. The number of successes in n trials.
std::int64_t binomial(Random& random, std::int64_t n, double p);

// IN counts (cells) >= 0. OUT drawn (cells), adding up to the sum of counts.
void multinomial(Random& random, Vector<const std::int64_t> counts, double* drawn);

// OUT counts (n): how often each row was drawn in replicate `replicate`.
void resample(std::uint64_t key, std::uint64_t replicate, index_t n, std::uint8_t* counts);

}  // namespace assay
