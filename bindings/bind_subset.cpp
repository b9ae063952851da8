// Subset selection for least squares: sweeps over folds, and the best subset of each size.
#include <memory>
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/linear/subset.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Square = Array2<const double>;
using Squares = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Holds the matrices that the sweep reads.
class SweepHandle {
public:
    SweepHandle(Square whole, std::optional<Squares> train, std::optional<Squares> test, double tolerance,
                bool removals, int threads)
        : whole_(whole), train_(train), test_(test) {
        const char* name = "SubsetSweep";
        const std::size_t side = whole.shape(0);
        require(side >= 2 && whole.shape(1) == side, name, "whole must be a square of at least one column and y");
        require(train.has_value() == test.has_value(), name, "train and test must come together");
        std::vector<SubsetPart> parts{{whole.data(), nullptr}};
        if (train) {
            for (const Squares* part : {&*train, &*test})
                require(part->shape(0) == train->shape(0) && part->shape(1) == side && part->shape(2) == side, name,
                        "train and test must be folds x side x side");
            for (std::size_t f = 0; f < train->shape(0); ++f)
                parts.push_back({train->data() + f * side * side, test->data() + f * side * side});
        }
        sweep_ = std::make_unique<SubsetSweep>(static_cast<index_t>(side) - 1, parts, tolerance, removals, threads);
        removals_ = removals;
    }

    void add(std::int64_t column) {
        check(column, false);
        without_gil([&] { sweep_->add(static_cast<index_t>(column)); });
    }
    void remove(std::int64_t column) {
        require(removals_, "SubsetSweep", "must be made with removals to remove columns");
        check(column, true);
        without_gil([&] { sweep_->remove(static_cast<index_t>(column)); });
    }
    Result1<double> errors() const {
        std::vector<double> out(static_cast<std::size_t>(sweep_->parts()));
        sweep_->errors(out.data());
        return own(std::move(out));
    }
    Result2<double> additions() const {
        return table([&](Matrix<double> out) { sweep_->additions(out); });
    }
    Result2<double> removals() const {
        require(removals_, "SubsetSweep", "must be made with removals to score them");
        return table([&](Matrix<double> out) { sweep_->removals(out); });
    }
    Result1<std::int64_t> redundant() const { return own(sweep_->redundant()); }

private:
    void check(std::int64_t column, bool inside) const {
        require(column >= 0 && column < sweep_->columns(), "SubsetSweep", "column must be a column number");
        require(sweep_->holds(static_cast<index_t>(column)) == inside, "SubsetSweep",
                inside ? "only a column of the subset can be removed" : "only a column outside the subset can be added");
    }
    template <class Fill>
    Result2<double> table(Fill&& fill) const {
        const auto rows = static_cast<std::size_t>(sweep_->parts()), cols = static_cast<std::size_t>(sweep_->columns());
        std::vector<double> out(rows * cols);
        without_gil([&] { fill(c_matrix(out.data(), sweep_->parts(), sweep_->columns())); });
        return own(std::move(out), rows, cols);
    }

    Square whole_;
    std::optional<Squares> train_, test_;
    std::unique_ptr<SubsetSweep> sweep_;
    bool removals_ = false;
};

nb::dict leaps(Square gram, int fixed, int smallest, int largest, int keep) {
    const char* name = "best_subsets";
    const auto columns = static_cast<index_t>(gram.shape(0)) - 1;
    require(columns >= 1 && columns <= 63 && gram.shape(1) == gram.shape(0), name,
            "gram must be a square of 1 to 63 columns and y");
    require(fixed >= 0 && fixed <= columns && smallest >= 1 && smallest >= fixed && smallest <= largest &&
                largest <= columns && keep >= 1,
            name, "needs max(fixed, 1) <= smallest <= largest <= columns and keep >= 1");
    BestSubsets found = without_gil([&] { return best_subsets(gram.data(), columns, fixed, smallest, largest, keep); });
    const auto rows = static_cast<std::size_t>(largest - smallest + 1), cols = static_cast<std::size_t>(keep);
    nb::dict out;
    out["members"] = own(std::move(found.members), rows, cols);
    out["error"] = own(std::move(found.error), rows, cols);
    out["nodes"] = found.nodes;
    out["singular"] = found.singular;
    return out;
}

}  // namespace

void bind_subset(nb::module_& m) {
    nb::class_<SweepHandle>(m, "SubsetSweep", "A growing and shrinking subset of columns, its errors in every fold.")
        .def(nb::init<Square, std::optional<Squares>, std::optional<Squares>, double, bool, int>(),
             "whole"_a.noconvert(), "train"_a.noconvert().none(), "test"_a.noconvert().none(), "tolerance"_a,
             "removals"_a, "threads"_a)
        .def("add", &SweepHandle::add, "column"_a, "Take a column into the subset.")
        .def("remove", &SweepHandle::remove, "column"_a, "Take a column out of the subset.")
        .def("errors", &SweepHandle::errors, "Squared error of all rows, then of the test rows of each fold.")
        .def("additions", &SweepHandle::additions, "The errors (parts x columns) after adding each column.")
        .def("removals", &SweepHandle::removals, "The errors (parts x columns) after removing each column.")
        .def("redundant", &SweepHandle::redundant, "Columns of the subset that depend on the others.");
    m.def("best_subsets", &leaps, "gram"_a.noconvert(), "fixed"_a, "smallest"_a, "largest"_a, "keep"_a,
          "Subsets of least squared error for each size, by leaps and bounds.");
}

}  // namespace assay::bindings
