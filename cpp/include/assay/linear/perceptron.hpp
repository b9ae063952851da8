// The perceptron: rows one by one, a move only on a mistake.
//
// Two classes, y in {-1, +1}, theta over [x, 1]: a row with y theta.x <= 0 is a mistake, theta += y x. K > 2 classes:
// theta_k for each; a row is a mistake unless its class scores above all others; theta_own += x, theta_rival -= x with
// the highest other class (the first on a tie). Rows that a hyperplane through the origin of [x, 1] separates with
// margin g and |[x, 1]| <= R cost at most (R / g)^2 mistakes in all (Novikoff, 1962), so the epochs end: when one has
// no mistake, after max_epochs, or when `patience` epochs (0: any number) brought no fewer mistakes than the best.
// `drift` carries sum over mistakes of (rows seen before) * move, which gives the average over all rows seen:
// average = theta - drift / rows seen (Freund & Schapire, 1999; Daumé's form).
//
// With factors other than 1 a move has the length of the factor of the row's class.
//
// IN  x n x p C-ordered (or its shape alone and `sparse`, the table by row), codes n, factors one per class. IN/OUT theta,
// drift outputs x (p + 1), seen. OUT mistakes of each epoch.
// Cost of an epoch: n p K multiply-adds. One thread: each row needs the last.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/linear/sparse.hpp"

namespace assay {

struct PerceptronState {
    std::vector<double> theta, drift;
    std::int64_t seen = 0, epochs = 0;
};

std::vector<std::int64_t> perceptron_epochs(Matrix<const double> x, Vector<const std::int32_t> codes,
                                            const double* factors, index_t outputs, bool intercept,
                                            index_t max_epochs, index_t patience, bool shuffle, std::uint64_t key,
                                            PerceptronState& state, const SparseMatrix& sparse = {});

}  // namespace assay
