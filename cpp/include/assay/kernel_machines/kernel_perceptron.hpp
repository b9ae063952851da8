// The perceptron in the space of a kernel: rows one by one, and a step only after a mistake.
//
// With f = K beta + b (rows x outputs): two classes have one output, and a row with s f <= 0 (s = +1 or -1) gets
// beta += s and b += s; three or more have one output each, and a row whose own output is not above all others gets +1 in
// its own and -1 in the largest other one (the first of equal ones). Each epoch looks at every row once, in the order of
// the rows or in a new one drawn from (key, epoch); ends after an epoch without a mistake, after `max_epochs`, or after
// `patience` epochs (0: any number) without fewer mistakes than the best. `drift` sums each step times the number of rows
// looked at before it, so that beta - drift / seen is the mean over all rows looked at.
// Cost: one kernel row and n additions a mistake. Reference: Freund & Schapire, Machine Learning 37, 1999.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/kernel_machines/smo.hpp"

namespace assay::kernel_machines {

struct PerceptronState {
    std::vector<double> beta, drift;           // rows x outputs
    std::vector<double> offset, offset_drift;  // outputs
    std::vector<index_t> mistakes;             // of each epoch
    double seen = 0.0;
};

struct PerceptronOptions {
    index_t max_epochs = 100;
    index_t patience = 0;
    bool shuffle = true;
    std::uint64_t key = 0;
    int threads = 1;
};

template <class T>
PerceptronState kernel_perceptron(RowSource<T>& source, const std::int32_t* codes, index_t classes,
                                  const PerceptronOptions& options);

}  // namespace assay::kernel_machines
