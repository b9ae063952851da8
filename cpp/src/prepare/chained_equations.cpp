#include "assay/prepare/chained_equations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "assay/common/freed_memory.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/statistics/gram.hpp"
#include "assay/tables/coded_columns.hpp"
#include "assay/trees/cart.hpp"

namespace assay::prepare {
namespace {

constexpr int most_rounds = 10;     // of fits that choose a ridge
constexpr double settled = 0.01;    // the change of a ridge that ends them

// What all chains share: which cells are missing, how columns become a design, where they start.
struct Problem {
    Matrix<const double> cells;
    Vector<const std::int32_t> method, order;
    const ChainOptions& options;
    Design design{};
    std::vector<double> start{};
    std::vector<std::vector<std::int64_t>> missing{}, observed{};  // no `observed` where nothing asks for it
    bool linear = false, trees = false;

    Conditional kind(index_t j) const { return static_cast<Conditional>(method[j]); }

    void describe(Vector<const std::int32_t> n_categories) {
        const index_t v = cells.cols;
        design.n_categories.assign(n_categories.data, n_categories.data + v);
        design.first.assign(1, 0);
        missing.resize(v);
        observed.resize(v);
        std::vector<std::size_t> absent(static_cast<std::size_t>(v), 0);
        for (index_t i = 0; i < cells.rows; ++i)
            for (index_t j = 0; j < v; ++j) absent[j] += std::isnan(cells(i, j)) ? 1 : 0;
        std::vector<std::uint8_t> listed(static_cast<std::size_t>(v), 0);
        for (index_t j = 0; j < v; ++j) {
            const std::size_t present = static_cast<std::size_t>(cells.rows) - absent[j];
            // The normal equations of a column of few missing cells are those of all rows less those of these.
            listed[j] = n_categories[j] > 0 || kind(j) != Conditional::normal || absent[j] > present || options.start_with_draws;
            missing[j].reserve(absent[j]);
            if (listed[j] != 0) observed[j].reserve(present);
        }
        for (index_t i = 0; i < cells.rows; ++i)
            for (index_t j = 0; j < v; ++j) {
                if (std::isnan(cells(i, j))) missing[j].push_back(i);
                else if (listed[j] != 0) observed[j].push_back(i);
            }
        for (index_t j = 0; j < v; ++j) {
            const std::int32_t categories = n_categories[j];
            design.first.push_back(design.first.back() + (categories == 0 ? 1 : categories - 1));
            linear = linear || kind(j) == Conditional::normal || kind(j) == Conditional::matching;
            trees = trees || kind(j) == Conditional::tree;
            if (categories == 0) describe_number(j);
            else describe_labels(j, categories);
        }
    }

    void describe_number(index_t j) {
        const double count = static_cast<double>(cells.rows - static_cast<index_t>(missing[j].size()));
        index_t at = 0;
        while (std::isnan(cells(at, j))) ++at;
        const double first = cells(at, j);
        double sum = 0, squares = 0;
        for (index_t i = 0; i < cells.rows; ++i)
            if (!std::isnan(cells(i, j))) sum += cells(i, j) - first;
        const double mean = first + sum / count;
        for (index_t i = 0; i < cells.rows; ++i)
            if (!std::isnan(cells(i, j))) squares += (cells(i, j) - mean) * (cells(i, j) - mean);
        const double deviation = std::sqrt(squares / count);
        design.centre.push_back(mean);
        design.scale.push_back(deviation > 1e-14 * std::abs(mean) && deviation > 0 ? deviation : 1.0);
        start.push_back(mean);
    }

    void describe_labels(index_t j, std::int32_t categories) {
        std::vector<std::int64_t> counts(categories, 0);
        for (const std::int64_t i : observed[j]) ++counts[static_cast<index_t>(cells(i, j))];
        design.centre.push_back(0.0);
        design.scale.push_back(1.0);
        start.push_back(static_cast<double>(std::max_element(counts.begin(), counts.end()) - counts.begin()));
    }
};

ASSAY_INLINE void add_scaled_body(const double* row, index_t p, double delta, double* sum) {
    for (index_t t = 0; t < p; ++t) sum[t] += delta * row[t];
    sum[p] += delta;
}
ASSAY_DISPATCH(void, add_scaled, add_scaled_body, (const double* row, index_t p, double delta, double* sum),
               (row, p, delta, sum))

// Where a chain writes its donors, at most kept_donors for each column that is matched: those of all chains have their
// places before the first chain runs, so that they are held once.
struct DonorPlaces {
    const std::int64_t* offsets;  // v + 1, of this chain
    double *predictions, *values;
};

// The number in the order of prediction of the k-th donor that is kept.
index_t kept_donor(index_t k, index_t most, index_t count) {
    const index_t end = most / 6;
    if (most == count || k < end) return k;
    if (k >= most - end) return count - most + k;
    return end + (k - end) * (count - 2 * end - 1) / (most - 2 * end - 1);
}

void place_donors(const std::vector<std::vector<std::int64_t>>& observed, Vector<const std::int32_t> method, index_t chains,
                  FittedChains& to) {
    std::int64_t total = 0;
    to.donor_offsets.assign(1, 0);
    for (index_t c = 0; c < chains; ++c)
        for (index_t j = 0; j < method.size; ++j) {
            const bool matched = static_cast<Conditional>(method[j]) == Conditional::matching;
            total += matched ? std::min(static_cast<index_t>(observed[j].size()), kept_donors) : 0;
            to.donor_offsets.push_back(total);
        }
    to.donor_predictions.resize(total);
    to.donor_values.resize(total);
}

class Chain {
public:
    Chain(const Problem& problem, const DonorPlaces& places, std::uint64_t key, int threads)
        : problem_(problem), places_(places), options_(problem.options), design_(problem.design), random_(key),
          threads_(threads),
          n_(problem.cells.rows), v_(problem.cells.cols), p_(problem.design.width()),
          z_(n_ * p_, 0.0), coefficient_(p_ * (p_ + 1), 0.0), drawn_(p_ * (p_ + 1), 0.0), deviation_(v_, 0.0),
          filled_(v_), kept_(v_), shift_(p_, 0.0), ridge_(v_, problem.options.ridge) {
        for (index_t j = 0; j < v_ && options_.choose_ridge; ++j)
            ridge_[j] = static_cast<double>(p_ - 1) / static_cast<double>(n_ - static_cast<index_t>(problem.missing[j].size()));
        std::int32_t most = 1;
        for (const std::int32_t categories : design_.n_categories) most = std::max(most, categories);
        scratch_.resize(2 * most);
        if (problem.trees) cells_.assign(problem.cells.data, problem.cells.data + n_ * v_);
        for (index_t j = 0; j < v_ && !problem.trees; ++j) filled_[j].resize(problem.missing[j].size());
    }

    // OUT mean, spread: sweeps x v.
    void run(double* mean, double* spread) {
        fill_start();
        if (problem_.trees) order_all();
        for (index_t sweep = 0; sweep < options_.sweeps; ++sweep) {
            if (problem_.linear && sweep % refresh == 0) whole_gram();
            const bool last = sweep + 1 == options_.sweeps;
            for (index_t k = 0; k < problem_.order.size; ++k) {
                if (interrupted()) return;
                const index_t j = problem_.order[k];
                fit_column(j);
                impute_column(j, mean + sweep * v_ + j, spread + sweep * v_ + j);
                if (last) keep(j);
            }
        }
        for (index_t j = 0; j < v_; ++j) {
            if (interrupted()) return;
            if (!problem_.missing[j].empty()) continue;
            fit_complete(j);
            keep(j);
        }
    }

    // Frees what is not needed once the chain has ended; the conditionals stay.
    void release() {
        for (auto* held : {&cells_, &z_, &gram_, &part_}) std::vector<double>().swap(*held);  // assigning {} would keep their room
        std::vector<std::vector<double>>().swap(filled_);
        std::vector<tables::Entry>().swap(column_order_);
        donors_ = {};
        tree_ = {};
    }

    // The cell that is missing in column j for the k-th time.
    double& missing(index_t j, std::size_t k) {
        return problem_.trees ? cells_[problem_.missing[j][k] * v_ + j] : filled_[j][k];
    }
    const std::vector<double>& coefficient() const { return coefficient_; }
    const std::vector<double>& drawn() const { return drawn_; }
    const std::vector<double>& deviation() const { return deviation_; }
    std::vector<DonorForest>& kept() { return kept_; }

private:
    Random* draws() { return options_.draw ? &random_ : nullptr; }

    void fill_start() {
        for (index_t k = 0; k < problem_.order.size; ++k) {
            const index_t j = problem_.order[k];
            const auto& rows = problem_.observed[j];
            for (std::size_t at = 0; at < problem_.missing[j].size(); ++at)
                missing(j, at) = options_.start_with_draws
                                     ? problem_.cells(rows[random_.below(static_cast<std::uint32_t>(rows.size()))], j)
                                     : problem_.start[j];
        }
        std::vector<std::size_t> next(v_, 0);
        for (index_t i = 0; i < n_; ++i)
            for (index_t j = 0; j < v_; ++j) {
                const double cell = problem_.cells(i, j);
                design_.code(j, std::isnan(cell) ? missing(j, next[j]++) : cell, z_.data() + i * p_);
            }
    }

    void whole_gram() {
        gram_.resize((p_ + 1) * (p_ + 1));
        gram_of(nullptr, n_, gram_.data());
    }

    void gram_of(const std::int64_t* rows, index_t count, double* gram) {
        weighted_gram(c_matrix<const double>(z_.data(), n_, p_), {nullptr, n_, 0, 0, 1}, {rows, count, nullptr},
                      shift_.data(), gram, threads_);
    }

    // A column that no sweep comes back to.
    void fit_complete(index_t j) {
        const bool chooses = options_.choose_ridge && (problem_.kind(j) == Conditional::normal || problem_.kind(j) == Conditional::matching);
        for (int round = 0; round < (chooses ? most_rounds : 1); ++round) {
            const double before = ridge_[j];
            fit_column(j);
            if (std::abs(ridge_[j] - before) <= settled * before) return;
        }
    }

    void fit_column(index_t j) {
        const auto& rows = problem_.observed[j];
        double* coefficient = coefficient_.data() + design_.first[j] * (p_ + 1);
        double* drawn = drawn_.data() + design_.first[j] * (p_ + 1);
        switch (problem_.kind(j)) {
            case Conditional::normal:
            case Conditional::matching: {
                const auto& absent = problem_.missing[j];
                const double* gram = gram_.data();
                if (!absent.empty()) {
                    part_.resize(gram_.size());
                    if (2 * absent.size() > static_cast<std::size_t>(n_)) {
                        gram_of(rows.data(), static_cast<index_t>(rows.size()), part_.data());
                    } else {
                        gram_of(absent.data(), static_cast<index_t>(absent.size()), part_.data());
                        for (std::size_t k = 0; k < part_.size(); ++k) part_[k] = gram_[k] - part_[k];
                    }
                    gram = part_.data();
                }
                deviation_[j] = normal_conditional(gram, p_, design_.first[j], ridge_[j], draws(), coefficient, drawn,
                                                   options_.choose_ridge ? &ridge_[j] : nullptr);
                ridge_[j] = std::max(ridge_[j], options_.ridge);
                if (problem_.kind(j) == Conditional::matching) fit_donors(j, coefficient);
                return;
            }
            case Conditional::logistic:
                logistic_conditional(design_, c_matrix<const double>(z_.data(), n_, p_), problem_.cells, j, rows, draws(),
                                     coefficient, drawn, threads_);
                return;
            default: fit_tree(j);
        }
    }

    void fit_donors(index_t j, const double* coefficient) {
        const auto& rows = problem_.observed[j];
        std::vector<double> predictions(rows.size()), values(rows.size());
        linear_scores(z_.data(), p_, rows.data(), static_cast<index_t>(rows.size()), coefficient, predictions.data());
        for (std::size_t i = 0; i < rows.size(); ++i) values[i] = problem_.cells(rows[i], j);
        donors_ = sort_donors(std::move(predictions), std::move(values));
    }

    // -- trees -----------------------------------------------------------------------------------------------------
    void order_all() {
        column_order_.resize(n_ * v_);
        for (index_t j = 0; j < v_; ++j) order_column(j);
    }

    void order_column(index_t j) {
        tables::sort_columns({cells_.data() + j, n_, 1, v_, 1}, {&design_.n_categories[j], 1, 1}, column_order_.data() + j * n_, 1);
    }

    void fit_tree(index_t j) {
        const auto& rows = problem_.observed[j];
        std::vector<double> repeats(rows.size(), options_.draw ? 0.0 : 1.0);
        if (options_.draw)
            for (std::size_t i = 0; i < rows.size(); ++i) repeats[random_.below(static_cast<std::uint32_t>(rows.size()))] += 1;
        std::vector<std::int32_t> sampled, labels;
        std::vector<double> y, weights;
        const std::int32_t categories = design_.n_categories[j];
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (repeats[i] == 0) continue;
            sampled.push_back(static_cast<std::int32_t>(rows[i]));
            weights.push_back(repeats[i]);
            y.push_back(problem_.cells(rows[i], j));
            labels.push_back(static_cast<std::int32_t>(y.back()));
        }
        // The target stays among the columns as a constant, so that column numbers are those of the table.
        const auto m = static_cast<index_t>(sampled.size());
        std::vector<tables::Entry> entries(sampled.size() * static_cast<std::size_t>(v_));
        tables::choose_rows(column_order_.data(), n_, v_, {sampled.data(), m, 1}, entries.data(), threads_);
        std::iota(entries.begin() + j * m, entries.begin() + (j + 1) * m, tables::Entry{0});
        std::vector<std::int32_t> n_categories = design_.n_categories;
        n_categories[j] = 0;
        const tables::CodedColumns columns{c_matrix<const double>(cells_.data(), n_, v_), n_categories.data()};
        trees::CartTarget target;
        target.labels = categories > 0 ? labels.data() : nullptr;
        target.n_classes = categories;
        target.y = categories > 0 ? nullptr : y.data();
        target.weights = target.repeats = weights.data();
        trees::CartOptions grow;
        grow.criterion = categories > 0 ? trees::Criterion::gini : trees::Criterion::squared_error;
        grow.min_leaf = static_cast<double>(options_.donors);
        grow.threads = threads_;
        tree_.trees = trees::forest_of(trees::grow_cart(columns, entries.data(), {sampled.data(), m, 1}, target, grow));
        hang_donors(j, rows, repeats);
    }

    // Puts the sampled values into the leaves that their rows reach.
    void hang_donors(index_t j, const std::vector<std::int64_t>& rows, const std::vector<double>& repeats) {
        std::vector<std::int32_t> leaf(n_);
        trees::apply_forest(trees::view_of(tree_.trees, design_.n_categories.data()), c_matrix<const double>(cells_.data(), n_, v_),
                            c_matrix(leaf.data(), n_, 1), threads_);
        const std::size_t nodes = tree_.trees.feature.size();
        tree_.offsets.assign(nodes + 1, 0);
        for (std::size_t i = 0; i < rows.size(); ++i)
            tree_.offsets[leaf[rows[i]] + 1] += static_cast<std::int64_t>(repeats[i]);
        for (std::size_t t = 0; t < nodes; ++t) tree_.offsets[t + 1] += tree_.offsets[t];
        tree_.values.resize(tree_.offsets.back());
        std::vector<std::int64_t> next(tree_.offsets.begin(), tree_.offsets.end() - 1);
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (auto r = static_cast<std::int64_t>(repeats[i]); r > 0; --r)
                tree_.values[next[leaf[rows[i]]]++] = problem_.cells(rows[i], j);
    }

    // -- missing cells ---------------------------------------------------------------------------------------------
    void impute_column(index_t j, double* mean, double* spread) {
        ConditionalView model;
        model.kind = problem_.kind(j);
        model.column = j;
        model.coefficient = coefficient_.data() + design_.first[j] * (p_ + 1);
        model.drawn = drawn_.data() + design_.first[j] * (p_ + 1);
        model.deviation = deviation_[j];
        const auto count = static_cast<index_t>(donors_.values.size());
        model.donor_predictions = {donors_.predictions.data(), count, 1};
        model.donor_values = {donors_.values.data(), count, 1};
        model.donor_sums = {donors_.sums.data(), count + 1, 1};
        if (model.kind == Conditional::tree) {
            model.trees = trees::view_of(tree_.trees, design_.n_categories.data());
            model.leaf_offsets = tree_.offsets.data();
            model.leaf_values = tree_.values.data();
        }
        const auto& rows = problem_.missing[j];
        double sum = 0, squares = 0;
        const double around = problem_.start[j];
        for (std::size_t at = 0; at < rows.size(); ++at) {
            const std::int64_t i = rows[at];
            double& cell = missing(j, at);
            cell = impute_cell(model, design_, z_.data() + i * p_, problem_.trees ? cells_.data() + i * v_ : nullptr,
                               options_.donors, draws(), scratch_.data());
            sum += cell - around;
            squares += (cell - around) * (cell - around);
        }
        const double many = static_cast<double>(rows.size());
        *mean = around + sum / many;
        *spread = std::sqrt(std::max(0.0, squares / many - (sum / many) * (sum / many)));
        change_design(j);
        if (problem_.trees) order_column(j);
    }

    // Brings the design, and the Gram matrix with it, up to the new cells of column j.
    void change_design(index_t j) {
        const auto& rows = problem_.missing[j];
        std::vector<double> fresh(p_), sum(p_ + 1);
        for (index_t t = design_.first[j]; t < design_.first[j + 1]; ++t) {
            std::fill(sum.begin(), sum.end(), 0.0);
            double squares = 0;
            for (std::size_t at = 0; at < rows.size(); ++at) {
                double* row = z_.data() + rows[at] * p_;
                design_.code(j, missing(j, at), fresh.data());
                const double delta = fresh[t] - row[t];
                if (delta == 0) continue;
                if (problem_.linear) add_scaled(row, p_, delta, sum.data());
                squares += delta * delta;
                row[t] = fresh[t];
            }
            if (!problem_.linear) continue;
            for (index_t k = 0; k <= p_; ++k) {
                if (k == t) continue;
                gram_[k * (p_ + 1) + t] += sum[k];
                gram_[t * (p_ + 1) + k] = gram_[k * (p_ + 1) + t];
            }
            gram_[t * (p_ + 1) + t] += 2 * sum[t] + squares;
        }
    }

    void keep(index_t j) {
        if (problem_.kind(j) == Conditional::matching) {
            const auto count = static_cast<index_t>(donors_.values.size()), most = std::min(count, kept_donors);
            for (index_t k = 0; k < most; ++k) {
                const index_t from = kept_donor(k, most, count);
                places_.predictions[places_.offsets[j] + k] = donors_.predictions[from];
                places_.values[places_.offsets[j] + k] = donors_.values[from];
            }
        } else if (problem_.kind(j) == Conditional::tree) {
            DonorForest& to = kept_[j];
            for (std::size_t t = 0; t + 1 < tree_.offsets.size(); ++t) {
                const index_t begin = tree_.offsets[t], count = tree_.offsets[t + 1] - begin;
                const index_t most = std::min(count, kept_leaf_donors);
                for (index_t k = 0; k < most; ++k) to.values.push_back(tree_.values[begin + k * count / most]);
                to.offsets.push_back(static_cast<std::int64_t>(to.values.size()));
            }
            to.trees = std::move(tree_.trees);
        }
    }

    const Problem& problem_;
    DonorPlaces places_;
    const ChainOptions& options_;
    const Design& design_;
    Random random_;
    int threads_;
    index_t n_, v_, p_;
    std::vector<double> cells_;  // all of them, for trees alone
    std::vector<double> z_, gram_, part_, coefficient_, drawn_, deviation_;
    std::vector<std::vector<double>> filled_;  // without trees: the missing cells of each column
    std::vector<DonorForest> kept_;
    std::vector<double> shift_, ridge_, scratch_;
    Donors donors_;
    DonorForest tree_;
    std::vector<tables::Entry> column_order_;
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

// One chain's models onto the end of the flat arrays; its donors are there.
void gather(Chain& chain, FittedChains& to) {
    append(to.coefficient, chain.coefficient());
    append(to.drawn, chain.drawn());
    append(to.deviation, chain.deviation());
    for (const DonorForest& tree : chain.kept()) {
        trees::append(to.leaves.trees, tree.trees);
        const auto before = static_cast<std::int64_t>(to.leaves.values.size());
        for (std::size_t t = 1; t < tree.offsets.size(); ++t) to.leaves.offsets.push_back(before + tree.offsets[t]);
        append(to.leaves.values, tree.values);
    }
}

ConditionalView conditional_of(const FittedChains& fitted, index_t chain, index_t j, const std::vector<double>& sums) {
    const index_t v = fitted.design.columns(), p = fitted.design.width(), number = chain * v + j;
    ConditionalView model;
    model.kind = static_cast<Conditional>(fitted.method[j]);
    model.column = j;
    const index_t at = (chain * p + fitted.design.first[j]) * (p + 1);
    model.coefficient = fitted.coefficient.data() + at;
    model.drawn = fitted.drawn.data() + at;
    model.deviation = fitted.deviation[number];
    const index_t donors = fitted.donor_offsets[number], count = fitted.donor_offsets[number + 1] - donors;
    model.donor_predictions = {fitted.donor_predictions.data() + donors, count, 1};
    model.donor_values = {fitted.donor_values.data() + donors, count, 1};
    model.donor_sums = {sums.data(), count + 1, 1};
    model.trees = trees::view_of(fitted.leaves.trees, fitted.design.n_categories.data());
    model.tree = number;
    model.leaf_offsets = fitted.leaves.offsets.data();
    model.leaf_values = fitted.leaves.values.data();
    return model;
}

}  // namespace

Chains run_chains(Matrix<const double> cells, Vector<const std::int32_t> n_categories, Vector<const std::int32_t> method,
                  Vector<const std::int32_t> order, Vector<const std::uint64_t> keys, const ChainOptions& options) {
    Problem problem{cells, method, order, options};
    problem.describe(n_categories);
    const index_t m = keys.size, n = cells.rows, v = cells.cols;
    index_t holes = 0;
    for (const auto& rows : problem.missing) holes += static_cast<index_t>(rows.size());
    Chains result;
    result.imputed.resize(m * holes);
    result.mean.assign(m * options.sweeps * v, std::numeric_limits<double>::quiet_NaN());
    result.spread = result.mean;
    FittedChains& fitted = result.fitted;
    place_donors(problem.observed, method, m, fitted);
    std::vector<std::unique_ptr<Chain>> chains(m);
    parallel_chunks(m, 1, options.threads, [&](index_t c, index_t, index_t) {
        const DonorPlaces places{fitted.donor_offsets.data() + c * v, fitted.donor_predictions.data(),
                                 fitted.donor_values.data()};
        auto chain = std::make_unique<Chain>(problem, places, keys[c], m == 1 ? options.threads : 1);
        chain->run(result.mean.data() + c * options.sweeps * v, result.spread.data() + c * options.sweeps * v);
        double* out = result.imputed.data() + c * holes;
        std::vector<std::size_t> next(v, 0);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < v; ++j)
                if (std::isnan(cells(i, j))) *out++ = chain->missing(j, next[j]++);
        chain->release();
        chains[c] = std::move(chain);
    });
    if (!interrupted())
        for (auto& chain : chains) {
            gather(*chain, fitted);
            chain.reset();
        }
    for (auto* lists : {&problem.missing, &problem.observed}) std::vector<std::vector<std::int64_t>>().swap(*lists);
    return_freed_memory(m * n * v * options.sweeps);  // what the chains took, and the lists
    fitted.method.assign(method.data, method.data + v);
    fitted.start = std::move(problem.start);
    fitted.design = std::move(problem.design);
    return result;
}

void complete_rows(const FittedChains& fitted, Matrix<const double> cells, Vector<const std::uint64_t> keys,
                   const ChainOptions& options, double* values) {
    const index_t m = keys.size, n = cells.rows, v = cells.cols, p = fitted.design.width();
    std::vector<index_t> before(n + 1, 0);  // missing cells in the rows above
    for (index_t i = 0; i < n; ++i) {
        before[i + 1] = before[i];
        for (index_t j = 0; j < v; ++j) before[i + 1] += std::isnan(cells(i, j)) ? 1 : 0;
    }
    const std::int32_t most = *std::max_element(fitted.design.n_categories.begin(), fitted.design.n_categories.end());
    for (index_t c = 0; c < m; ++c) {
        std::vector<std::vector<double>> sums(v);
        std::vector<ConditionalView> models;
        for (index_t j = 0; j < v; ++j) {
            sums[j].assign(1, 0.0);
            for (index_t k = fitted.donor_offsets[c * v + j]; k < fitted.donor_offsets[c * v + j + 1]; ++k)
                sums[j].push_back(sums[j].back() + fitted.donor_values[k]);
            models.push_back(conditional_of(fitted, c, j, sums[j]));
        }
        parallel_chunks(n, 256, options.threads, [&](index_t, index_t begin, index_t end) {
            std::vector<double> row(v), z(p), scratch(2 * std::max(most, 1));
            std::vector<index_t> holes;
            for (index_t i = begin; i < end; ++i) {
                holes.clear();
                for (index_t j = 0; j < v; ++j) {
                    row[j] = cells(i, j);
                    if (std::isnan(row[j])) {
                        row[j] = fitted.start[j];
                        holes.push_back(j);
                    }
                    fitted.design.code(j, row[j], z.data());
                }
                if (holes.empty()) continue;
                Random random(keys[c], static_cast<std::uint64_t>(i));
                const index_t sweeps = holes.size() == 1 ? 1 : std::max<index_t>(options.sweeps, 1);
                for (index_t sweep = 0; sweep < sweeps; ++sweep)
                    for (const index_t j : holes) {
                        row[j] = impute_cell(models[j], fitted.design, z.data(), row.data(), options.donors,
                                             options.draw ? &random : nullptr, scratch.data());
                        fitted.design.code(j, row[j], z.data());
                    }
                double* out = values + c * before[n] + before[i];
                for (const index_t j : holes) *out++ = row[j];
            }
        });
        if (interrupted()) return;
    }
}

}  // namespace assay::prepare
