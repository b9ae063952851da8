// Kernel machines: kernel rows in float32, and sequential minimal optimisation on them or on a Gram matrix.
#include <memory>
#include <mutex>
#include <optional>

#include "assay/kernel_machines/kernel_perceptron.hpp"
#include "assay/kernel_machines/kernel_rows.hpp"
#include "assay/kernel_machines/smo.hpp"
#include "bindings.hpp"
#include <nanobind/stl/optional.h>

namespace assay::bindings {
namespace {

namespace km = kernel_machines;

km::KernelSpec spec_of(int function, double gamma, double coef0, int degree) {
    require(function >= 0 && function < km::function_count, "kernel_rows", "unknown kernel function");
    require(degree >= 0, "kernel_rows", "degree must not be negative");
    return {static_cast<km::Function>(function), gamma, coef0, degree};
}

// Panels of rows, and the kernel rows that solvers on them keep; one solver at a time.
struct KernelRows {
    std::shared_ptr<const km::KernelPanels> panels;
    std::unique_ptr<km::CachedRows> cache;
    std::mutex solving;

    KernelRows(const Array2<const double>& rows, int function, double gamma, double coef0, int degree, int threads) {
        const auto x = view(rows);
        require(x.rows > 0 && x.rows < (index_t{1} << 31), "kernel_rows", "rows must not be empty nor beyond 2^31");
        const auto spec = spec_of(function, gamma, coef0, degree);
        panels = without_gil([&] { return std::make_shared<const km::KernelPanels>(x, spec, threads); });
    }
    Result2<float> gram(int threads) const {
        const auto n = static_cast<std::size_t>(panels->size());
        std::vector<float> values(n * n);
        without_gil([&] { panels->gram(values.data(), threads); });
        return own(std::move(values), n, n);
    }
    Result2<double> sums(const Array2<const double>& queries, const Array2<const double>& coefficients, int threads) const {
        const auto q = view(queries), c = view(coefficients);
        require(q.cols == panels->columns(), "kernel_rows", "queries must have the columns of the rows");
        require(c.rows == panels->size(), "kernel_rows", "coefficients must have one row for each row");
        std::vector<double> values(static_cast<std::size_t>(q.rows * c.cols));
        without_gil([&] { panels->sums(q, c, values.data(), threads); });
        return own(std::move(values), static_cast<std::size_t>(q.rows), static_cast<std::size_t>(c.cols));
    }
};

using Numbers = Array1<const double>;
using Places = Array1<const std::int32_t>;

template <class T>
nb::tuple solved(km::RowSource<T>& source, const Places& row, const Numbers& target, const Numbers& low,
                 const Numbers& high, const Numbers& beta, const Numbers& f, double tol, double fine, index_t extra,
                 index_t block, index_t max_steps, double largest, int threads, bool shrinking) {
    const char* who = "smo";
    const auto count = static_cast<index_t>(row.shape(0));
    for (const auto* given : {&target, &low, &high, &beta})
        require(static_cast<index_t>(given->shape(0)) == count, who, "every variable must have its numbers");
    require(static_cast<index_t>(f.shape(0)) == source.size(), who, "f must have one number per row");
    require(count > 0 && block > 1, who, "there must be variables and a block of two");
    for (index_t v = 0; v < count; ++v) {
        require(row.data()[v] >= 0 && row.data()[v] < source.size(), who, "rows of variables must lie inside");
        require(low.data()[v] <= beta.data()[v] && beta.data()[v] <= high.data()[v], who, "the start must be feasible");
    }
    std::vector<double> solution(beta.data(), beta.data() + count), values(f.data(), f.data() + source.size());
    const km::DualProblem problem{count,      row.data(),      target.data(), low.data(),
                                  high.data(), solution.data(), values.data()};
    km::SmoOptions options{tol, fine, extra, block, max_steps, largest, threads, shrinking};
    const auto result = without_gil([&] { return km::solve(source, problem, options); });
    return nb::make_tuple(own(std::move(solution)), own(std::move(values)), result.offset, result.objective,
                          result.violation, result.steps, result.rounds, result.shrunk, result.status);
}

template <class T>
nb::tuple smo_gram(const Array2<const T>& gram, const Places& row, const Numbers& target, const Numbers& low,
                   const Numbers& high, const Numbers& beta, const Numbers& f, double tol, double fine, index_t extra,
                   index_t block, index_t max_steps, double largest, int threads, bool shrinking) {
    const auto k = view(gram);
    require(k.rows == k.cols, "smo", "the Gram matrix must be square");
    km::GramRows<T> source(k);
    return solved(source, row, target, low, high, beta, f, tol, fine, extra, block, max_steps, largest, threads, shrinking);
}

nb::tuple smo_rows(KernelRows& rows, double cache_bytes, const Places& row, const Numbers& target,
                   const Numbers& low, const Numbers& high, const Numbers& beta, const Numbers& f, double tol,
                   double fine, index_t extra, index_t block, index_t max_steps, double largest, int threads, bool shrinking) {
    std::unique_lock<std::mutex> lock(rows.solving, std::try_to_lock);
    if (!lock.owns_lock()) {
        km::CachedRows source(rows.panels, cache_bytes);
        return solved(source, row, target, low, high, beta, f, tol, fine, extra, block, max_steps, largest, threads, shrinking);
    }
    if (rows.cache == nullptr) rows.cache = std::make_unique<km::CachedRows>(rows.panels, cache_bytes);
    return solved(*rows.cache, row, target, low, high, beta, f, tol, fine, extra, block, max_steps, largest, threads, shrinking);
}

template <class T>
nb::tuple perceptron(km::RowSource<T>& source, const Places& codes, index_t classes, index_t max_epochs,
                     index_t patience, bool shuffle, std::uint64_t key, int threads) {
    const char* who = "kernel_perceptron";
    require(static_cast<index_t>(codes.shape(0)) == source.size() && classes > 1, who, "every row must have a class");
    for (std::size_t i = 0; i < codes.shape(0); ++i)
        require(codes.data()[i] >= 0 && codes.data()[i] < classes, who, "classes must be counted from 0");
    const km::PerceptronOptions options{max_epochs, patience, shuffle, key, threads};
    auto state = without_gil([&] { return km::kernel_perceptron(source, codes.data(), classes, options); });
    const auto outputs = state.offset.size(), rows = codes.shape(0);
    return nb::make_tuple(own(std::move(state.beta), rows, outputs), own(std::move(state.drift), rows, outputs),
                          own(std::move(state.offset)), own(std::move(state.offset_drift)), state.seen, state.mistakes);
}

template <class T>
nb::tuple perceptron_gram(const Array2<const T>& gram, const Places& codes, index_t classes, index_t max_epochs,
                          index_t patience, bool shuffle, std::uint64_t key, int threads) {
    const auto k = view(gram);
    require(k.rows == k.cols, "kernel_perceptron", "the Gram matrix must be square");
    km::GramRows<T> source(k);
    return perceptron(source, codes, classes, max_epochs, patience, shuffle, key, threads);
}

nb::tuple perceptron_rows(const KernelRows& rows, double cache_bytes, const Places& codes, index_t classes,
                          index_t max_epochs, index_t patience, bool shuffle, std::uint64_t key, int threads) {
    km::CachedRows source(rows.panels, cache_bytes);
    return perceptron(source, codes, classes, max_epochs, patience, shuffle, key, threads);
}

}  // namespace

void bind_kernel_machines(nb::module_& m) {
    nb::class_<KernelRows>(m, "KernelRows", "Kernel functions of pairs of rows in float32.")
        .def(nb::init<const Array2<const double>&, int, double, double, int, int>(), "rows"_a.noconvert(), "function"_a,
             "gamma"_a, "coef0"_a, "degree"_a, "threads"_a)
        .def_prop_ro("size", [](const KernelRows& rows) { return rows.panels->size(); }, "How many rows.")
        .def("gram", &KernelRows::gram, "threads"_a, "Every pair of rows.")
        .def("sums", &KernelRows::sums, "queries"_a.noconvert(), "coefficients"_a.noconvert(), "threads"_a,
             "Sums over rows of k(query, row) times coefficients.");
    const char* doc =
        "Minimise the dual of a support vector machine; gives (beta, f, offset, objective, violation, steps, rounds, "
        "times shrunk, status).";
    m.def("smo_gram", &smo_gram<float>, "gram"_a.noconvert(), "row"_a, "target"_a, "low"_a, "high"_a, "beta"_a, "f"_a,
          "tol"_a, "fine"_a, "extra"_a, "block"_a, "max_steps"_a, "largest"_a, "threads"_a, "shrinking"_a, doc);
    m.def("smo_gram", &smo_gram<double>, "gram"_a.noconvert(), "row"_a, "target"_a, "low"_a, "high"_a, "beta"_a, "f"_a,
          "tol"_a, "fine"_a, "extra"_a, "block"_a, "max_steps"_a, "largest"_a, "threads"_a, "shrinking"_a, doc);
    m.def("smo_rows", &smo_rows, "rows"_a, "cache_bytes"_a, "row"_a, "target"_a, "low"_a, "high"_a, "beta"_a, "f"_a,
          "tol"_a, "fine"_a, "extra"_a, "block"_a, "max_steps"_a, "largest"_a, "threads"_a, "shrinking"_a, doc);
    const char* learned =
        "Epochs of the perceptron; gives (beta, drift, offset, drift of the offset, rows seen, mistakes of each epoch).";
    m.def("kernel_perceptron_gram", &perceptron_gram<double>, "gram"_a.noconvert(), "codes"_a, "classes"_a,
          "max_epochs"_a, "patience"_a, "shuffle"_a, "key"_a, "threads"_a, learned);
    m.def("kernel_perceptron_rows", &perceptron_rows, "rows"_a, "cache_bytes"_a, "codes"_a, "classes"_a, "max_epochs"_a,
          "patience"_a, "shuffle"_a, "key"_a, "threads"_a, learned);
}

}  // namespace assay::bindings
