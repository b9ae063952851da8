// The extension module: one register function per family, nothing else.
#include "bindings.hpp"

namespace assay::bindings {
void bind_common(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_statistics(nb::module_& m);
void bind_neighbours(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_multiway(nb::module_& m);
void bind_oblique(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_baselines(nb::module_& m);
void bind_least_squares(nb::module_& m);
void bind_evaluate(nb::module_& m);
void bind_subset(nb::module_& m);
void bind_glm(nb::module_& m);
void bind_elastic_net(nb::module_& m);
void bind_descent(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_chained_equations(nb::module_& m);
void bind_monomials(nb::module_& m);
void bind_ensembles(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_clustering(nb::module_& m);
void bind_mixtures(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_sequences(nb::module_& m);
void bind_baskets(nb::module_& m);
void bind_agents(nb::module_& m);
void bind_explain(nb::module_& m);
void bind_density(nb::module_& m);
void bind_learned_neighbours(nb::module_& m);
void bind_kernel_machines(nb::module_& m);
void bind_neural(nb::module_& m);
}  // namespace assay::bindings

NB_MODULE(_kernels, m) {
    m.doc() = "Assay's compiled kernels. Private: use the classes and functions of the package.";
    assay::bindings::bind_common(m);
    assay::bindings::bind_tables(m);
    assay::bindings::bind_statistics(m);
    assay::bindings::bind_neighbours(m);
    assay::bindings::bind_trees(m);
    assay::bindings::bind_multiway(m);
    assay::bindings::bind_oblique(m);
    assay::bindings::bind_rules(m);
    assay::bindings::bind_linear(m);
    assay::bindings::bind_baselines(m);
    assay::bindings::bind_least_squares(m);
    assay::bindings::bind_evaluate(m);
    assay::bindings::bind_subset(m);
    assay::bindings::bind_glm(m);
    assay::bindings::bind_elastic_net(m);
    assay::bindings::bind_sparse(m);
    assay::bindings::bind_descent(m);
    assay::bindings::bind_chained_equations(m);
    assay::bindings::bind_monomials(m);
    assay::bindings::bind_ensembles(m);
    assay::bindings::bind_losses(m);
    assay::bindings::bind_clustering(m);
    assay::bindings::bind_mixtures(m);
    assay::bindings::bind_graphs(m);
    assay::bindings::bind_sequences(m);
    assay::bindings::bind_baskets(m);
    assay::bindings::bind_agents(m);
    assay::bindings::bind_explain(m);
    assay::bindings::bind_density(m);
    assay::bindings::bind_learned_neighbours(m);
    assay::bindings::bind_kernel_machines(m);
    assay::bindings::bind_neural(m);
}
