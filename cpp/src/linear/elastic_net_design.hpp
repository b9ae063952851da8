// Where the gradient and the blocks of Q come from: Gram matrices, or the columns of the table.
#pragma once

#include <memory>
#include <vector>

#include "assay/common/own_pages.hpp"
#include "assay/linear/elastic_net.hpp"
#include "elastic_net_penalty.hpp"

namespace assay::elastic_net {

inline std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Threads for a piece of work: one where waking others takes longer, most of all on a busy machine.
inline int threads_for(double multiply_adds, int threads) { return multiply_adds < 4e6 ? 1 : threads; }

// What is known of one problem at its current coefficients.
struct Gradient {
    std::vector<double> value;     // g_j when it was last computed
    std::vector<double> slack;     // |x_j| times the way the residual has gone since: |g_j| <= |value| + slack
    double residual_squares = 0;   // r'Wr / W
};

// Columns whose coefficient may be non-zero.
struct Support {
    const std::vector<index_t>& columns;
    const std::vector<double>& values;  // by position in `columns`
};

struct Request {
    index_t problem;
    Support support;
    Gradient& gradient;
    const std::vector<index_t>& place;  // by column: its place in the working set, or -1
    double l1;
};

// The block of Q between the columns of a working set; in single precision it takes half the bytes to sweep over, and the
// check over all columns, in double, decides whether that was enough.
class Block {
public:
    explicit Block(bool single) : single_(single) {}
    index_t capacity = 0;  // columns there is room for

    double cell(index_t a, index_t b) const {
        const auto place = static_cast<std::size_t>(a * capacity + b);
        return single_ ? static_cast<double>(low_[place]) : high_[place];
    }
    void set(index_t a, index_t b, double value) {
        const auto place = static_cast<std::size_t>(a * capacity + b);
        if (single_) low_[place] = static_cast<float>(value);
        else high_[place] = value;
    }
    bool single() const { return single_; }
    // y += sum of factors[r] times the first `count` cells of rows[r]; `batch` rows at a time share a pass over y.
    static constexpr index_t batch = 8;
    void add_rows(const double* factors, const index_t* rows, index_t row_count, double* y, index_t count) const;
    // Makes room for `columns`, keeping the cells of the first `kept`; rows move within the memory, so that the old block
    // and the new one are never held together.
    void grow(index_t columns, index_t kept);
    void release() {
        high_.release();
        low_.release();
        capacity = 0;
    }

private:
    bool single_;
    OwnPages<double> high_;  // not cleared: room that is never used costs nothing
    OwnPages<float> low_;
};

// Where sweeps that update the residual stand: e = w r / W but for the means, which `level` makes good.
struct ResidualState {
    std::vector<double> e;
    double level = 0;
    std::vector<double> own;  // of the working set: Q_jj, or by full columns the blocks of Q along its diagonal
};

class Design {
public:
    virtual ~Design() = default;
    index_t p = 0, problems = 0;

    virtual double y_squares(index_t problem) const = 0;
    virtual const double* cross(index_t problem) const = 0;
    // Cells of Q between columns a and b of the list, for every pair with a or b >= first.
    virtual void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
                       int threads) const = 0;
    // Gradients at the given coefficients; entries that are certain to stay below l1 v_j may be left with slack, and where
    // they are only to lead the way (`rough`) all may.
    virtual void refresh(std::vector<Request>& requests, const double* penalty_weights, bool rough, int threads) = 0;

    // Designs by column also offer updates of the residual in place of those of the gradient.
    virtual index_t rows() const { return 0; }          // of full columns
    virtual index_t cells(index_t) const { return 0; }  // stored in a column; 0: not offered
    // The columns from place `first` on are new.
    virtual void extend(index_t, const std::vector<index_t>&, index_t, ResidualState&, int) const {}
    virtual void residual(index_t, const Support&, ResidualState&) const {}
    virtual void take_residual(index_t, ResidualState&) {}  // as `refresh` left it; until the next one it is not kept
    virtual double slope(index_t, index_t, const ResidualState&) const { return 0; }
    virtual double squares(index_t, const ResidualState&) const { return 0; }  // r'Wr / W
    // Whether the means of the columns are so near zero for their spread that sweeps keep the residual's sum at zero.
    virtual bool near(index_t, const std::vector<index_t>&, const ResidualState&) const { return true; }
    // One sweep of coordinate descent over the columns, whose coefficients and penalty weights are b and v. Returns the
    // sums of the gap as each column was found when its turn came.
    virtual GapSums sweep(index_t, const std::vector<index_t>&, const Penalty&, const std::vector<double>&,
                          std::vector<double>&, ResidualState&) const {
        return {};
    }
};

class MomentDesign final : public Design {
public:
    MomentDesign(const std::vector<ElasticNetMoments>& moments, index_t columns);
    double y_squares(index_t problem) const override;
    const double* cross(index_t problem) const override;
    void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
               int threads) const override;
    void refresh(std::vector<Request>& requests, const double* penalty_weights, bool rough, int threads) override;

private:
    const std::vector<ElasticNetMoments>& moments_;
};

struct RowRange {
    index_t begin, end;
};

// Cells of some columns in a range of rows: where they lie by column, or gathered from the rows of the table.
class CellsOf {
public:
    explicit CellsOf(const ColumnTable& table) : table_(table) {}
    // to[u]: cell `begin` of column columns[u], and those after it up to `end`, until the next call.
    void read(const index_t* columns, index_t count, index_t begin, index_t end, const double** to);

private:
    const ColumnTable& table_;
    std::unique_ptr<double[]> room_;
    index_t size_ = 0;
};

// The target of one problem under its row weights: around its mean (with an intercept), and as the residual at zero.
struct WeightedTarget {
    const double* weights;
    double weight = 0, y_mean = 0, y_squares = 0, norm_factor = 0;
    double residual_sum = 0;                // sum of w r / W: zero but for rounding with an intercept
    std::vector<double> cross;              // one place per column
    std::vector<double> residual;           // of the training rows, zero elsewhere
    std::vector<double> weighted_residual;  // w r / W

    void start(const double* target, const double* of_rows, index_t n_rows, index_t n_columns, bool intercept);
    // After the residual has changed from `before`: weighs it, sums it, and lets the slack of the columns, whose norms are
    // given, grow by the way it has gone.
    void settle(const std::vector<double>& before, const std::vector<double>& norms, Gradient& gradient);
};

// A design that keeps a target for each problem.
template <class Part>
class TargetDesign : public Design {
public:
    double y_squares(index_t problem) const override { return parts_[at(problem)].y_squares; }
    const double* cross(index_t problem) const override { return parts_[at(problem)].cross.data(); }

protected:
    explicit TargetDesign(index_t n_problems) : parts_(at(n_problems)) {}
    std::vector<Part> parts_;
};

struct ColumnPart : WeightedTarget {
    std::vector<RowRange> ranges;  // of the rows with weight
};

class ColumnDesign final : public TargetDesign<ColumnPart> {
public:
    // keep_low: with a copy in single precision, for the passes whose rounding can be bounded.
    ColumnDesign(const ColumnTable& table, const double* weights, index_t n_problems, bool intercept, double* x_mean,
                 double* y_mean, bool keep_low, int threads);
    void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
               int threads) const override;
    void refresh(std::vector<Request>& requests, const double* penalty_weights, bool rough, int threads) override;
    bool finite() const;  // whether the squares of all columns are
    index_t rows() const override { return table_.stride; }
    index_t cells(index_t) const override { return table_.stride; }
    void extend(index_t problem, const std::vector<index_t>& columns, index_t first, ResidualState& state,
                int threads) const override;
    void residual(index_t problem, const Support& support, ResidualState& state) const override;
    void take_residual(index_t problem, ResidualState& state) override {
        state.e.swap(parts_[at(problem)].weighted_residual);
    }
    double slope(index_t problem, index_t column, const ResidualState& state) const override;
    double squares(index_t problem, const ResidualState& state) const override;
    bool near(index_t problem, const std::vector<index_t>& columns, const ResidualState& state) const override;
    GapSums sweep(index_t problem, const std::vector<index_t>& columns, const Penalty& penalty,
                  const std::vector<double>& v, std::vector<double>& b, ResidualState& state) const override;

private:
    using Part = ColumnPart;
    const float* low_column(index_t j) const { return low_.get() + j * low_stride_; }
    template <class Cell>
    void fill(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block, int threads) const;
    void residuals(const std::vector<Request>& requests, bool low, int threads);
    // Gradients of the wanted columns, in double or in single precision with slack, for the requests that need them.
    template <class Needs>
    void gradients(std::vector<Request>& requests, const std::vector<index_t>& wanted, const Needs& needs, int threads);
    template <class Needs>
    void low_gradients(std::vector<Request>& requests, const std::vector<index_t>& wanted, const Needs& needs,
                       int threads);

    // What a residual whose sum is off zero adds to the product with a column.
    double level(index_t problem, index_t column) const {
        return x_mean_[problem * p + column] * parts_[at(problem)].residual_sum;
    }

    const ColumnTable table_;
    const double* x_mean_;
    std::vector<double> norms_;  // |x_j| over all rows
    OwnPages<float> low_;  // column j over scales_[j], a power of two >= |x_j|, or null
    index_t low_stride_ = 0;        // a multiple of 16
    std::vector<double> scales_;
};

// The columns of a sparse table: only stored cells are read, and the means are taken out of sums, never out of cells.
class SparseColumnDesign final : public TargetDesign<WeightedTarget> {
public:
    SparseColumnDesign(const SparseColumnTable& table, const double* weights, index_t n_problems, bool intercept,
                       double* x_mean, double* y_mean, int threads);
    void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
               int threads) const override;
    void refresh(std::vector<Request>& requests, const double* penalty_weights, bool rough, int threads) override;
    bool finite() const;
    index_t cells(index_t column) const override { return table_.columns.end(column) - table_.columns.begin(column); }
    void extend(index_t problem, const std::vector<index_t>& columns, index_t first, ResidualState& state,
                int threads) const override;
    void residual(index_t problem, const Support& support, ResidualState& state) const override;
    double slope(index_t problem, index_t column, const ResidualState& state) const override;
    GapSums sweep(index_t problem, const std::vector<index_t>& columns, const Penalty& penalty,
                  const std::vector<double>& v, std::vector<double>& b, ResidualState& state) const override;

private:
    // b_j has changed by `by`.
    void move(index_t problem, index_t column, double by, ResidualState& state) const;

    using Part = WeightedTarget;
    const SparseColumnTable table_;
    const double* x_mean_;
    std::vector<double> norms_;
};

// out[a * tile_width + b] = left_a . right_b over `count` cells (a multiple of 8, of floats 16), for at most 4 left and
// tile_width right ones; a value does not depend on which others it is computed with.
constexpr index_t tile_width = 6;
void tile_products(const double* const* left, index_t a_count, const double* const* right, index_t b_count,
                   index_t count, double* out);

void tile_products(const float* const* left, index_t a_count, const float* const* right, index_t b_count, index_t count,
                   double* out);

// Inner product and y += a x over `count` elements.
double dot(const double* x, const double* y, index_t count);
void add_multiple(double a, const double* x, double* y, index_t count);
void add_multiple(double a, const float* x, double* y, index_t count);

}  // namespace assay::elastic_net
