// Support vector machines: sequential minimal optimisation on blocks of variables.
//
//     minimise over beta   1/2 sum_uv beta_u beta_v K(row_u, row_v) - sum_v target_v beta_v
//     subject to           low_v <= beta_v <= high_v,   sum_v beta_v as it was at the start
//
// is the dual of every machine here: classification has one variable a row with target y = +1 or -1 and beta = y alpha;
// regression two a row, with targets y - epsilon in [0, C] and y + epsilon in [-C, 0]; one class has target 0.
// With f = K beta (one number a row) and e_v = target_v - f(row_v), beta is optimal exactly if
//
//     max { e_v : beta_v < high_v } <= min { e_v : beta_v > low_v },
//
// and the violation is the difference of the two sides. A round takes a block of variables (half of the last one, and
// those that violate most), makes their kernel rows at once, solves the problem on the block by steps on pairs chosen by
// second-order gain (Fan, Chen & Lin, Working set selection using second order information, J. Machine Learning Research
// 6, 2005), and moves f for all rows by one product. Stops at a violation of `tol`; after that, up to `extra` more steps
// are made towards `fine`. Rows without a variable only have f: rows held out get their decision values on the way.
//
// Shrinking: once rows have been moved `patience` times each, and variables at a bound that no violating pair could
// free are many, the problem goes on without them, on kernel rows of the other rows alone; which may shrink again.
// Solved, it hands its beta back; f of the rows left out is made up for by what changed meanwhile, and the conditions
// are looked at for all variables, so the solution and its tolerance are those of the whole problem
// (Joachims, Making large-scale SVM learning practical, in Advances in Kernel Methods, MIT Press 1999).
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/kernel_machines/kernel_rows.hpp"

namespace assay::kernel_machines {

// Kernel rows by number; the pointers hold until the next call.
template <class T>
class RowSource {
public:
    virtual ~RowSource() = default;
    virtual index_t size() const = 0;
    virtual double diagonal(index_t row) const = 0;
    virtual void fetch(const std::int32_t* which, index_t count, const T** out, int threads) = 0;
    // Whether no row that was fetched is forgotten: pointers to them hold until the source is narrowed.
    virtual bool keeps_all() const { return true; }
    // The same kernel between some of the rows, in their order; uses this source as long as it lives.
    virtual std::unique_ptr<RowSource<T>> narrowed(const std::vector<std::int32_t>& rows) = 0;
    // f of the rows `to` grows by the sum over k of steps[k] k(which[k], row).
    virtual void spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                        const std::vector<std::int32_t>& to, double* f, int threads) = 0;
};

// Rows of a Gram matrix.
template <class T>
class GramRows final : public RowSource<T> {
public:
    explicit GramRows(Matrix<const T> gram) : gram_(gram) {}
    index_t size() const override { return gram_.cols; }
    double diagonal(index_t row) const override { return static_cast<double>(gram_(row, row)); }
    void fetch(const std::int32_t* which, index_t count, const T** out, int) override {
        for (index_t k = 0; k < count; ++k) out[k] = gram_.row(which[k]);
    }
    std::unique_ptr<RowSource<T>> narrowed(const std::vector<std::int32_t>& rows) override;
    void spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                const std::vector<std::int32_t>& to, double* f, int threads) override;

private:
    Matrix<const T> gram_;
};

// Some rows and columns of a Gram matrix, copied row by row when asked for.
template <class T>
class NarrowGramRows final : public RowSource<T> {
public:
    NarrowGramRows(Matrix<const T> gram, std::vector<std::int32_t> rows)
        : gram_(gram), rows_(std::move(rows)), copies_(rows_.size()) {}
    index_t size() const override { return static_cast<index_t>(rows_.size()); }
    double diagonal(index_t row) const override;
    void fetch(const std::int32_t* which, index_t count, const T** out, int threads) override;
    std::unique_ptr<RowSource<T>> narrowed(const std::vector<std::int32_t>& rows) override;
    void spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                const std::vector<std::int32_t>& to, double* f, int threads) override;

private:
    Matrix<const T> gram_;
    std::vector<std::int32_t> rows_;
    std::vector<std::unique_ptr<T[]>> copies_;
};

// Rows made when asked for, of which those used last are kept.
template <class T>
class CachedRows final : public RowSource<T> {
public:
    CachedRows(std::shared_ptr<const KernelPanels<T>> panels, double most_bytes);
    index_t size() const override { return panels_->size(); }
    double diagonal(index_t row) const override { return panels_->diagonal(row); }
    void fetch(const std::int32_t* which, index_t count, const T** out, int threads) override;
    std::unique_ptr<RowSource<T>> narrowed(const std::vector<std::int32_t>& rows) override;
    void spread(const std::vector<std::int32_t>& which, const std::vector<double>& steps,
                const std::vector<std::int32_t>& to, double* f, int threads) override;
    bool keeps_all() const override { return most_ >= size(); }
    index_t made() const { return made_; }

private:
    // A row that is kept, with the columns `columns`; nothing if neither this cache nor its parents have it.
    bool copy_kept(std::int32_t row, const std::vector<std::int32_t>& columns, T* to) const;
    // Forget the rows used longest ago, to hold at most so many.
    void keep_at_most(index_t rows);

    std::shared_ptr<const KernelPanels<T>> panels_;
    double most_bytes_;
    const CachedRows* parent_ = nullptr;    // of a narrowed one
    std::vector<std::int32_t> in_parent_;  // the numbers of its rows there
    index_t most_, made_ = 0, clock_ = 0;
    std::vector<std::unique_ptr<T[]>> slots_;
    std::vector<std::int32_t> slot_of_, row_of_;
    std::vector<index_t> used_at_;
};

struct DualProblem {
    index_t variables = 0;
    const std::int32_t* row = nullptr;
    const double* target = nullptr;
    const double* low = nullptr;
    const double* high = nullptr;
    double* beta = nullptr;  // IN a feasible start, OUT the solution
    double* f = nullptr;     // IN K beta at the start, OUT at the end; one number a row of the source
};

struct SmoOptions {
    double tol = 1e-3;
    double fine = 0.0;        // no further than tol if 0
    index_t extra = 0;        // steps that may be made from tol to fine
    index_t block = 512;      // variables in a block
    index_t max_steps = 0;    // steps on pairs in all
    double largest = 0.0;     // stop when some |beta| is beyond this (a hard margin that does not exist); 0 for never
    int threads = 1;
    bool shrinking = true;
};

struct SmoResult {
    double violation = 0.0;
    double offset = 0.0;     // b of the decision value f + b
    double objective = 0.0;  // of the minimum above
    index_t steps = 0;
    index_t rounds = 0;
    index_t shrunk = 0;  // how often variables were left out
    int status = 0;  // 0: out of steps, 1: converged, 2: some |beta| beyond `largest`
};

template <class T>
SmoResult solve(RowSource<T>& source, const DualProblem& problem, const SmoOptions& options);

}  // namespace assay::kernel_machines
