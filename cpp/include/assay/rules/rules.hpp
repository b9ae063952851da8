// Rules for classes by separate and conquer, on rank codes (see tables/coded_columns.hpp).
//
// A rule is a conjunction of tests, each on one column: code <= c, c < code < missing, code = c (nominal columns), code
// missing. Rows covered by a rule are a bitset over all rows; the cover of a rule set is an OR, its errors two ANDs and
// popcounts, so that description lengths and pruning cost n / 64 words per test.
//
// Search for the best next test, exact. For a column with at most 32 codes, weights of both classes per code come from
// AND + popcount with one bit-vector per code; for other nominal columns from one pass over the covered rows. A numeric
// column is looked at twice: weights of both classes in some 250 bins of neighbouring values give the quality of cuts between bins
// and, since every quality here rises with p and falls with n, a bound on the cuts inside each; only bins whose
// bound reaches the best quality known over all columns are opened, through the order of their rows by value. A search
// costs O(covered rows x columns), one byte read per cell.
//
// Qualities, for a test that keeps weight p of the class and n of others, of P and N before it:
//   foil       p (log2 p/(p+n) - log2 P/(P+N))         (must be > 0)
//   laplace    (p + 1) / (p + n + 2)
//   precision  p / (p + n)
//   wracc      (p - (p + n) P/(P + N)) / (P + N)
//
// ripper: classes by increasing weight, the last one is the default. For each class against the classes that
// follow: grow on part of the rows by foil, prune final tests by (p + 1) / (p + n + 2) on the rest, add the rule, remove what
// it covers; stop when the description length of the set exceeds the least so far by more than 64 bits or when a rule errs
// on half its rows; delete rules whose absence shortens the description. Then `optimisations` passes: each rule competes
// against a replacement (grown anew) and a revision (grown on), both pruned for the error of the whole set; the
// variant of least description length stays; positives left uncovered get rules as before.
// Description length of a rule with k of m possible tests: half of log2* k + log2-likelihood of k in m; of the
// exceptions: log2(cover + uncover + 1) plus the cost of naming false positives and false negatives, of which the
// share of the class is expected to be false positives (Quinlan 1995).
//
// sequential_covering: per class, the rule of best quality found by beam search, until none is accepted.
//
// One row in `folds` prunes: units of weight are taken three (`folds`) at a time in the order given, within positives and
// negatives, and one unit of each block is drawn with the stream of `key`. With rows in canonical order (below) the
// result depends neither on row order nor on whether a row is repeated or weighted.
// IN   codes by column, labels (n), weights (n, or null for 1 each). OUT rules in the order in which they were learned.
// The result is the same for every number of threads: columns are searched apart and compared in order.
// References: Cohen, Fast effective rule induction, ICML 1995; Quinlan & Cameron-Jones, FOIL, ECML 1993; Clark &
// Boswell, Rule induction with CN2, EWSL 1991; Quinlan, MDL and categorical theories, ICML 1995.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/tables/coded_columns.hpp"

namespace assay::rules {

enum class Test : std::uint8_t { at_most = 0, above = 1, equal = 2, missing = 3 };
enum class Quality : int { foil = 0, laplace = 1, precision = 2, wracc = 3 };

struct Columns {
    tables::CodesView codes;
    const std::int32_t* n_categories;  // 0 for a numeric column
};

struct Target {
    const std::int32_t* labels;
    int n_classes;
    const double* weights;  // null: every row weighs 1
    const std::int32_t* order;  // classes in the order in which rules are sought
};

struct RipperOptions {
    int folds;
    double min_positive;  // weight of its class that a rule must cover while it grows
    int optimisations;
    int max_conditions;  // 0 for no limit
    bool prune, check_error;
    std::uint64_t key;
    int threads;
};

struct CoverOptions {
    Quality quality;
    int beam_width;
    bool ordered, prune;
    int folds;
    double min_positive;
    int max_conditions, max_rules;  // 0 for no limit
    double significance;            // least likelihood ratio statistic of a rule
    std::uint64_t key;
    int threads;
};

// Rules one after the other; those of rule r are tests first[r] .. first[r + 1].
struct RuleList {
    std::vector<std::int32_t> rule_class;
    std::vector<std::int64_t> first{0};
    std::vector<std::int32_t> column;
    std::vector<std::uint8_t> test;
    std::vector<std::uint32_t> code;
    // What happened: class, event (0 added, 1 stopped, 2 deleted, 3 replaced, 4 revised), tests, description length or quality.
    std::vector<std::int32_t> event_class, event, event_tests;
    std::vector<double> event_value;
};

RuleList ripper(const Columns& columns, const Target& target, const RipperOptions& options);
RuleList sequential_covering(const Columns& columns, const Target& target, const CoverOptions& options);

// Canonical order: rows with equal codes and label become one. `first` names one row of each group, in an order that depends
// on the contents alone; `group` is the group of each row.
struct CanonicalRows {
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> group;
};
CanonicalRows canonical_rows(const tables::CodedColumns& columns, const tables::Entry* order, const std::int32_t* labels);

}  // namespace assay::rules
