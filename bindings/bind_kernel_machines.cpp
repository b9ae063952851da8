// Kernel machines: kernel rows, and sequential minimal optimisation on them or on a Gram matrix.
#include <memory>
#include <mutex>
#include <numeric>
#include <variant>

#include "assay/kernel_machines/kernel_perceptron.hpp"
#include "assay/kernel_machines/kernel_rows.hpp"
#include "assay/kernel_machines/smo.hpp"
#include "bindings.hpp"
#include <nanobind/stl/unique_ptr.h>

namespace assay::bindings {
namespace {

namespace km = kernel_machines;

km::KernelSpec spec_of(int function, double gamma, double coef0, int degree) {
    require(function >= 0 && function < km::function_count, "kernel_rows", "unknown kernel function");
    require(degree >= 0, "kernel_rows", "degree must not be negative");
    return {static_cast<km::Function>(function), gamma, coef0, degree};
}

// Panels of rows, and the kernel rows that solvers on them keep; one solver at a time.
template <class T>
struct Made {
    std::shared_ptr<const km::KernelPanels<T>> panels;
    std::unique_ptr<km::CachedRows<T>> cache;

    explicit Made(std::shared_ptr<const km::KernelPanels<T>> given) : panels(std::move(given)) {}
};

struct KernelRows {
    std::variant<Made<float>, Made<double>> made;
    std::mutex solving;

    template <class T>
    explicit KernelRows(std::shared_ptr<const km::KernelPanels<T>> panels) : made(Made<T>(std::move(panels))) {}

    index_t size() const {
        return std::visit([](const auto& of) { return of.panels->size(); }, made);
    }
    double largest() const {
        return std::visit([](const auto& of) { return of.panels->largest_diagonal(); }, made);
    }
    Result2<float> gram(int threads) const {
        const auto* single = std::get_if<Made<float>>(&made);
        require(single != nullptr, "kernel_rows", "a matrix is made of rows in float32 only");
        const auto n = static_cast<std::size_t>(size());
        std::vector<float> values(n * n);
        without_gil([&] { single->panels->gram(values.data(), threads); });
        return own(std::move(values), n, n);
    }
    Result2<double> sums(const Array2<const double>& queries, const Array2<const double>& coefficients, int threads) const {
        const auto q = view(queries), c = view(coefficients);
        return std::visit(
            [&](const auto& of) {
                require(q.cols == of.panels->columns(), "kernel_rows", "queries must have the columns of the rows");
                require(c.rows == of.panels->size(), "kernel_rows", "coefficients must have one row for each row");
                std::vector<double> values(static_cast<std::size_t>(q.rows * c.cols));
                without_gil([&] { of.panels->sums(q, c, values.data(), threads); });
                return own(std::move(values), static_cast<std::size_t>(q.rows), static_cast<std::size_t>(c.cols));
            },
            made);
    }
    Result1<double> times(const Array1<const double>& coefficients, int threads) const {
        require(static_cast<index_t>(coefficients.shape(0)) == size(), "kernel_rows", "coefficients must be one for each row");
        return std::visit(
            [&]<class T>(const Made<T>& of) {
                std::vector<double> values(coefficients.shape(0), 0.0);
                without_gil([&] {
                    std::vector<std::int32_t> used, all(values.size());
                    std::vector<double> sizes;
                    std::iota(all.begin(), all.end(), 0);
                    for (const auto row : all)
                        if (coefficients.data()[row] != 0.0) {
                            used.push_back(row);
                            sizes.push_back(coefficients.data()[row]);
                        }
                    if (!used.empty())
                        km::KernelPanels<T>(*of.panels, used).add_sums(*of.panels, all, sizes.data(), values.data(), threads);
                });
                return own(std::move(values));
            },
            made);
    }
    std::unique_ptr<KernelRows> in_single() const {
        const auto* exact = std::get_if<Made<double>>(&made);
        require(exact != nullptr, "kernel_rows", "the rows are in float32 already");
        const auto& from = *exact->panels;
        return std::make_unique<KernelRows>(without_gil([&] {
            const auto rows = c_matrix(from.cells().data(), from.size(), from.columns());
            return std::make_shared<const km::KernelPanels<float>>(rows, from.spec());
        }));
    }
};

void make_rows(KernelRows* place, const Array2<const double>& rows, int function, double gamma, double coef0,
               int degree, bool single) {
    const auto x = view(rows);
    require(x.rows > 0 && x.rows < (index_t{1} << 31), "kernel_rows", "rows must not be empty nor beyond 2^31");
    const auto spec = spec_of(function, gamma, coef0, degree);
    if (single)
        new (place) KernelRows(without_gil([&] { return std::make_shared<const km::KernelPanels<float>>(x, spec); }));
    else
        new (place) KernelRows(without_gil([&] { return std::make_shared<const km::KernelPanels<double>>(x, spec); }));
}

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
    return std::visit(
        [&]<class T>(Made<T>& of) {
            std::unique_ptr<km::CachedRows<T>> own_cache;
            auto& cache = lock.owns_lock() ? of.cache : own_cache;
            if (cache == nullptr) cache = std::make_unique<km::CachedRows<T>>(of.panels, cache_bytes);
            return solved(*cache, row, target, low, high, beta, f, tol, fine, extra, block, max_steps, largest, threads,
                          shrinking);
        },
        rows.made);
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
    return std::visit(
        [&]<class T>(const Made<T>& of) {
            km::CachedRows<T> source(of.panels, cache_bytes);
            return perceptron(source, codes, classes, max_epochs, patience, shuffle, key, threads);
        },
        rows.made);
}

}  // namespace

void bind_kernel_machines(nb::module_& m) {
    nb::class_<KernelRows>(m, "KernelRows", "Kernel functions of pairs of rows, in float32 if `single`, else in float64.")
        .def("__init__", &make_rows, "rows"_a.noconvert(), "function"_a, "gamma"_a, "coef0"_a, "degree"_a, "single"_a)
        .def_prop_ro("size", &KernelRows::size, "How many rows.")
        .def_prop_ro("single", [](const KernelRows& rows) { return std::holds_alternative<Made<float>>(rows.made); },
                     "Whether in float32.")
        .def_prop_ro("largest", &KernelRows::largest, "The largest |k(row, row)|.")
        .def("gram", &KernelRows::gram, "threads"_a, "Every pair of rows, in float32.")
        .def("sums", &KernelRows::sums, "queries"_a.noconvert(), "coefficients"_a.noconvert(), "threads"_a,
             "Sums over rows of k(query, row) times coefficients.")
        .def("times", &KernelRows::times, "coefficients"_a, "threads"_a, "The same for the rows themselves.")
        .def("in_single", &KernelRows::in_single, "The same rows in float32.");
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
