// Baselines: the rules of 1R.
#include "assay/baselines/one_r.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

// One (cuts, counts (branches x classes), prediction per branch, error) per column.
nb::list one_rules_list(const Array2<const double>& x, const Array1<const std::int32_t>& n_categories,
                        const Array1<const std::int32_t>& codes, const Array1<const double>& weights, int classes,
                        double min_bucket, int threads) {
    const auto table = view(x);
    const auto sizes = view(n_categories), labels = view(codes);
    require(sizes.size == table.cols, "one_rules", "n_categories must have one value per column of x");
    require(labels.size == table.rows, "one_rules", "codes must have one value per row of x");
    require(weights.shape(0) == 0 || weights.shape(0) == x.shape(0), "one_rules",
            "weights must be empty or have one value per row of x");
    require(table.rows <= INT32_MAX, "one_rules", "takes at most 2^31 - 1 rows");
    for (index_t i = 0; i < labels.size; ++i)
        require(labels[i] >= 0 && labels[i] < classes, "one_rules", "codes must lie in 0..classes-1");
    for (index_t j = 0; j < table.cols; ++j)
        for (index_t i = 0; sizes[j] > 0 && i < table.rows; ++i)
            require(!(table(i, j) < 0.0 || table(i, j) >= sizes[j]), "one_rules",
                    "category codes must lie in 0..n_categories-1");
    std::vector<OneRule> rules = without_gil(
        [&] { return one_rules(table, sizes, labels, view(weights), classes, min_bucket, threads); });
    nb::list out;
    for (OneRule& rule : rules) {
        const std::size_t branches = rule.prediction.size();
        out.append(nb::make_tuple(own(std::move(rule.cuts)),
                                  own(std::move(rule.counts), branches, static_cast<std::size_t>(classes)),
                                  own(std::move(rule.prediction)), rule.error));
    }
    return out;
}

}  // namespace

void bind_baselines(nb::module_& m) {
    m.def("one_rules", &one_rules_list, "x"_a.noconvert(), "n_categories"_a, "codes"_a, "weights"_a, "classes"_a,
          "min_bucket"_a, "threads"_a, "The 1R rule of every column: (cuts, counts, prediction, error).");
}

}  // namespace assay::bindings
