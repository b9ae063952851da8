// Where the gradient and the blocks of Q come from: Gram matrices, or the columns of the table.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "assay/linear/elastic_net.hpp"

namespace assay::elastic_net {

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
    // Makes room for `columns`, keeping the cells of the first `kept`.
    void grow(index_t columns, index_t kept);
    void release() {
        high_.reset();
        low_.reset();
        capacity = 0;
    }

private:
    bool single_;
    std::unique_ptr<double[]> high_;  // not cleared: room that is never used costs nothing
    std::unique_ptr<float[]> low_;
};

class Design {
public:
    virtual ~Design() = default;
    index_t p = 0, problems = 0;

    virtual double y_squares(index_t problem) const = 0;
    virtual const double* cross(index_t problem) const = 0;
    // Cells of Q between columns a and b of the list, for every pair with a or b >= first.
    virtual void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block) const = 0;
    // Gradients at the given coefficients; entries that are certain to stay below l1 v_j may be left with slack.
    virtual void refresh(std::vector<Request>& requests, const double* penalty_weights, int threads) = 0;

    // A design of short columns also offers updates of the residual in place of those of the gradient: e = w r / W but for
    // the means, which `level` makes good.
    virtual index_t cells(index_t) const { return 0; }  // stored in a column; 0: not offered
    virtual double square(index_t, index_t) const { return 0; }
    virtual double residual(index_t, const Support&, std::vector<double>&) const { return 0; }  // returns the level
    virtual double slope(index_t, index_t, const std::vector<double>&, double) const { return 0; }
    // b_j has changed by `by`; returns the change of the level.
    virtual double move(index_t, index_t, double, std::vector<double>&) const { return 0; }
};

class MomentDesign final : public Design {
public:
    MomentDesign(const std::vector<ElasticNetMoments>& moments, index_t columns);
    double y_squares(index_t problem) const override;
    const double* cross(index_t problem) const override;
    void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block) const override;
    void refresh(std::vector<Request>& requests, const double* penalty_weights, int threads) override;

private:
    const std::vector<ElasticNetMoments>& moments_;
};

struct RowRange {
    index_t begin, end;
};

class ColumnDesign final : public Design {
public:
    // keep_low: with a copy in single precision, for the passes whose rounding can be bounded.
    ColumnDesign(const ColumnTable& table, const double* weights, index_t n_problems, bool intercept, double* x_mean,
                 double* y_mean, bool keep_low, int threads);
    double y_squares(index_t problem) const override { return parts_[static_cast<std::size_t>(problem)].y_squares; }
    const double* cross(index_t problem) const override {
        return parts_[static_cast<std::size_t>(problem)].cross.data();
    }
    void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block) const override;
    void refresh(std::vector<Request>& requests, const double* penalty_weights, int threads) override;
    bool finite() const;  // whether the squares of all columns are

private:
    struct Part {
        const double* weights;
        double weight = 0, y_mean = 0, y_squares = 0, norm_factor = 0;
        std::vector<RowRange> ranges;           // of the rows with weight
        std::vector<double> cross;
        std::vector<double> residual;           // of the training rows, zero elsewhere
        std::vector<double> weighted_residual;  // w r / W
    };
    template <class Cell>
    const Cell* column(index_t j) const {
        if constexpr (std::is_same_v<Cell, float>) return low_.get() + j * low_stride_;
        else return table_.columns + j * table_.stride;
    }
    template <class Cell>
    void fill(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block) const;
    void residuals(const std::vector<Request>& requests, int threads);
    // Gradients of the wanted columns, in double or in single precision with slack, for the requests that need them.
    template <class Needs>
    void gradients(std::vector<Request>& requests, const std::vector<index_t>& wanted, const Needs& needs, int threads);
    template <class Needs>
    void low_gradients(std::vector<Request>& requests, const std::vector<index_t>& wanted, const Needs& needs,
                       int threads);

    const ColumnTable table_;
    const double* x_mean_;
    std::vector<double> norms_;  // |x_j| over all rows
    std::unique_ptr<float[]> low_;  // column j over scales_[j], a power of two >= |x_j|, or null
    index_t low_stride_ = 0;        // a multiple of 16
    std::vector<double> scales_;
    std::vector<Part> parts_;
};

// The columns of a sparse table: only stored cells are read, and the means are taken out of sums, never out of cells.
class SparseColumnDesign final : public Design {
public:
    SparseColumnDesign(const SparseColumnTable& table, const double* weights, index_t n_problems, bool intercept,
                       double* x_mean, double* y_mean, int threads);
    double y_squares(index_t problem) const override { return parts_[static_cast<std::size_t>(problem)].y_squares; }
    const double* cross(index_t problem) const override {
        return parts_[static_cast<std::size_t>(problem)].cross.data();
    }
    void block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block) const override;
    void refresh(std::vector<Request>& requests, const double* penalty_weights, int threads) override;
    bool finite() const;
    index_t cells(index_t column) const override { return table_.columns.end(column) - table_.columns.begin(column); }
    double square(index_t problem, index_t column) const override;
    double residual(index_t problem, const Support& support, std::vector<double>& e) const override;
    double slope(index_t problem, index_t column, const std::vector<double>& e, double level) const override;
    double move(index_t problem, index_t column, double by, std::vector<double>& e) const override;

private:
    struct Part {
        const double* weights;
        double weight = 0, y_mean = 0, y_squares = 0, norm_factor = 0;
        double residual_sum = 0;                // sum of w r / W: zero but for rounding with an intercept
        std::vector<double> cross;
        std::vector<double> residual;           // of the training rows, zero elsewhere
        std::vector<double> weighted_residual;  // w r / W
    };

    const SparseColumnTable table_;
    const double* x_mean_;
    std::vector<double> norms_;
    std::vector<Part> parts_;
};

// Inner product and y += a x over `count` elements.
double dot(const double* x, const double* y, index_t count);
void add_multiple(double a, const double* x, double* y, index_t count);
void add_multiple(double a, const float* x, double* y, index_t count);

}  // namespace assay::elastic_net
