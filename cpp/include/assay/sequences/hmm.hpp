// Hidden Markov models: k states, start probabilities p, transitions A (row: from, column: to), and the log density
// log b_j(x_t) of every row under every state.
//
// Scaled recursions (Rabiner, Proc. IEEE 77, 1989, with the emissions scaled too): with m_t = max_j log b_j(x_t) over the
// states that can be reached and e_t(j) = exp(log b_j(x_t) - m_t),
//     u_t(j) = (sum_i f_{t-1}(i) A_ij) e_t(j),   c_t = sum_j u_t(j),   f_t = u_t / c_t     (filtered: P(z_t | x_1..t)),
//     g_t(i) = sum_j A_ij e_{t+1}(j) g_{t+1}(j) / c_{t+1},  g_T = 1,    P(z_t | x_1..T) = f_t g_t (smoothed),
//     log likelihood = sum_t (log c_t + m_t),    E[moves i -> j] = A_ij sum_t f_t(i) e_{t+1}(j) g_{t+1}(j) / c_{t+1}.
// No logarithm stands in the loops, and nothing underflows however long a sequence is. With a lag, row t is smoothed by the
// rows up to t + lag alone (g = 1 at the end of that window).
//
// Shapes: logs n x k, offsets S + 1 (sequence s holds rows offsets[s] .. offsets[s+1]), start k, transitions k x k, weights S
// or null; OUT log_likelihood S (minus infinity where no path can make a sequence), filtered and smoothed n x k (may be
// null), starts k and moves k x k (both or neither; weighted sums over sequences). States are padded to 4, 8 or 16.
// Eight sequences of like length run side by side, a lane for each; a sequence of which a step must be taken again, a very long
// one and one with a lag run alone. Groups are cut into fixed chunks whose sums are merged in order. Cost n k^2; memory of eight
// sequences: 2,048 k numbers and 8 for each row of the longest; of one that runs alone: 4 k for each of its rows.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay::sequences {

struct Chain {
    index_t k = 0;
    const double* start = nullptr;
    const double* transitions = nullptr;
};

struct PassResult {
    double* log_likelihood = nullptr;
    double* filtered = nullptr;
    double* smoothed = nullptr;
    double* starts = nullptr;
    double* moves = nullptr;
    double* counts = nullptr;   // of symbols, with starts and moves
    double* moments = nullptr;  // of rows of normal distributions, with starts and moves
};

// Where rows are symbols: their codes; `logs` then has a row for each of the `count` symbols instead of each row. A negative
// code is a missing symbol, for which the last row of `logs` stands.
struct Symbols {
    const std::int64_t* codes = nullptr;
    index_t count = 0;
    index_t row(index_t t) const { return codes[t] < 0 ? count - 1 : codes[t]; }
};

// k normal distributions of the rows of a table: constants k (terms of the log density without x), means k x d, whitening
// k x d x d lower triangular (k x d if diagonal).
struct Normals {
    Matrix<const double> rows;
    bool diagonal = false;
    const double* constants = nullptr;
    const double* means = nullptr;
    const double* whitening = nullptr;
};

// lag < 0: smoothed by the whole sequence. `smoothed` may be `logs`. With `normals`, log densities are found where they are used,
// `logs` is not read, and moments are those of gaussian_moments.
void hmm_pass(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Symbols& symbols, const Chain& chain,
              const double* weights, index_t lag, const PassResult& out, int threads, const Normals* normals = nullptr);

// Viterbi: the likeliest path of each sequence (the first state among equals) and its log probability with the rows.
void hmm_decode(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Chain& chain, std::int64_t* path,
                double* log_probability, int threads);

// log N(x; m_c, S_c) of every row for k components. OUT logs n x k.
void gaussian_logs(const Normals& normals, index_t k, double* logs, int threads);

// Moments about the means by shares n x k: OUT moments, per component the count, d first and d x d second (lower part; d if
// diagonal).
void gaussian_moments(const Normals& normals, Matrix<const double> shares, double* moments, int threads);

}  // namespace assay::sequences
