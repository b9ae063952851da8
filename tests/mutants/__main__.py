"""`make mutants`: change one operator or number at a time in the chosen files, run their tests, name the survivors.

Python files are changed through their syntax tree, kernels by their text. A mutant lives in a copy of the tree below
`build/mutants`, never in the sources. It is killed when a test fails, an import fails, a kernel does not compile or the
tests hang. Which mutants are tried is settled by `--seed`, so that a run can be repeated and spread over days. Tests
run in forks of this process, which has imported the other libraries but nothing of the package.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "mutants"
BUILD = WORK / "build" / "dev"

TESTS: dict[str, tuple[str, ...]] = {
    "src/assay/evaluate/auc.py": ("tests/unit/evaluate/test_auc.py", "tests/worked_examples/test_intervals.py"),
    "src/assay/evaluate/batch_metrics.py": ("tests/unit/evaluate/test_batch_metrics.py",),
    "src/assay/evaluate/bayesian_tests.py": ("tests/unit/evaluate/test_bayesian_tests.py",),
    "src/assay/evaluate/bootstrap.py": ("tests/unit/evaluate/test_bootstrap.py",),
    "src/assay/evaluate/cluster_choice.py": ("tests/unit/evaluate/test_cluster_choice.py",),
    "src/assay/evaluate/clustering_metrics.py": ("tests/unit/evaluate/test_clustering_metrics.py",),
    "src/assay/evaluate/comparison.py": (
        "tests/unit/evaluate/test_comparison.py",
        "tests/unit/evaluate/test_comparison_differences.py",
        "tests/unit/evaluate/test_comparison_procedures.py",
        "tests/unit/evaluate/test_row_procedures.py",
    ),
    "src/assay/evaluate/comparison_procedures.py": (
        "tests/unit/evaluate/test_comparison_procedures.py",
        "tests/unit/evaluate/test_comparison.py",
        "tests/unit/evaluate/test_comparison_differences.py",
    ),
    "src/assay/evaluate/conformal.py": ("tests/unit/evaluate/test_conformal.py",),
    "src/assay/evaluate/count_choice.py": (
        "tests/unit/evaluate/test_count_choice.py",
        "tests/unit/evaluate/test_cluster_choice.py",
        "tests/unit/evaluate/test_sequence_choice.py",
    ),
    "src/assay/evaluate/curves.py": ("tests/unit/evaluate/test_curves.py",),
    "src/assay/evaluate/decomposition.py": ("tests/unit/evaluate/test_decomposition.py",),
    "src/assay/evaluate/distributions.py": ("tests/unit/evaluate/test_distributions.py",),
    "src/assay/evaluate/error_estimates.py": ("tests/unit/evaluate/test_error_estimates.py",),
    "src/assay/evaluate/fits.py": ("tests/unit/evaluate/test_fits.py",),
    "src/assay/evaluate/group_tests.py": ("tests/unit/evaluate/test_group_tests.py",),
    "src/assay/evaluate/hypothesis_tests.py": ("tests/unit/evaluate/test_hypothesis_tests.py",),
    "src/assay/evaluate/intervals.py": (
        "tests/unit/evaluate/test_intervals.py",
        "tests/worked_examples/test_intervals.py",
    ),
    "src/assay/evaluate/learning.py": ("tests/unit/evaluate/test_learning.py",),
    "src/assay/evaluate/max_t.py": ("tests/unit/evaluate/test_max_t.py",),
    "src/assay/evaluate/member_diversity.py": ("tests/unit/evaluate/test_member_diversity.py",),
    "src/assay/evaluate/metrics.py": ("tests/unit/evaluate/test_metrics.py",),
    "src/assay/evaluate/multiplicity.py": ("tests/unit/evaluate/test_multiplicity.py",),
    "src/assay/evaluate/multivariate_tests.py": ("tests/unit/evaluate/test_multivariate_tests.py",),
    "src/assay/evaluate/numerics.py": ("tests/unit/evaluate/test_numerics.py",),
    "src/assay/evaluate/partition_agreement.py": ("tests/unit/evaluate/test_partition_agreement.py",),
    "src/assay/evaluate/percentage_error.py": ("tests/unit/evaluate/test_percentage_error.py",),
    "src/assay/evaluate/permutation_tests.py": ("tests/unit/evaluate/test_permutation_tests.py",),
    "src/assay/evaluate/rank_tests.py": ("tests/unit/evaluate/test_rank_tests.py",),
    "src/assay/evaluate/ranking_metrics.py": ("tests/unit/evaluate/test_ranking_metrics.py",),
    "src/assay/evaluate/rates.py": ("tests/unit/evaluate/test_rates.py",),
    "src/assay/evaluate/reliability.py": ("tests/unit/evaluate/test_reliability.py",),
    "src/assay/evaluate/replicates.py": ("tests/unit/evaluate/test_replicates.py",),
    "src/assay/evaluate/resampling.py": ("tests/unit/evaluate/test_resampling.py",),
    "src/assay/evaluate/row_procedures.py": ("tests/unit/evaluate/test_row_procedures.py",),
    "src/assay/evaluate/row_values.py": ("tests/unit/evaluate/test_row_values.py",),
    "src/assay/evaluate/sequence_choice.py": ("tests/unit/evaluate/test_sequence_choice.py",),
    "src/assay/evaluate/shattering.py": ("tests/unit/evaluate/test_shattering.py",),
    "src/assay/evaluate/splitters.py": ("tests/unit/evaluate/test_splitters.py",),
    "src/assay/evaluate/theory.py": ("tests/unit/evaluate/test_theory.py",),
    "src/assay/evaluate/thresholds.py": ("tests/unit/evaluate/test_thresholds.py",),
    "cpp/src/prepare/chained_equations.cpp": ("tests/unit/prepare/test_impute_multiple.py",),
    "cpp/src/prepare/conditionals.cpp": ("tests/unit/prepare/test_impute_multiple.py",),
    "cpp/src/rules/ripper.cpp": ("tests/unit/models/rules/test_ripper.py", "tests/reference/weka/test_weka_rules.py"),
    "cpp/src/linear/elastic_net_problem.hpp": ("tests/unit/models/linear/test_elastic_net.py",),
    "cpp/src/statistics/fold_sums.cpp": (
        "tests/unit/numeric/test_fold_sums.py",
        "tests/unit/prepare/test_shared.py",
        "tests/unit/models/bayes/test_shared_folds.py",
        "tests/unit/models/linear/test_ridge.py",
    ),
    "cpp/src/trees/cart_grow.cpp": (
        "tests/unit/models/trees/test_cart.py",
        "tests/unit/models/trees/test_second_order.py",
        "tests/unit/models/trees/test_oblique.py",
    ),
    "cpp/src/losses/losses.cpp": ("tests/unit/numeric/test_losses.py",),
    **dict.fromkeys(
        (f"cpp/include/assay/losses/{path.name}" for path in sorted((ROOT / "cpp/include/assay/losses").glob("*.hpp"))),
        (
            "tests/unit/numeric/test_losses.py",
            "tests/unit/numeric/test_softmax.py",
            "tests/unit/models/linear/test_glm.py",
        ),
    ),
    "cpp/src/statistics/gram.cpp": ("tests/unit/models/linear/test_gram.py",),
    "cpp/src/statistics/class_moments.cpp": ("tests/unit/numeric/test_moments.py", "tests/unit/models/bayes"),
}

COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
# Lines of a kernel whose numbers change no result: sizes of blocks and of shares of the work, requests ahead, how many
# threads work; and casts, whose brackets look like comparisons.
NO_EFFECT = (
    *("static_cast<", "constexpr index_t", "__builtin_prefetch", "vector_size", "threads = ", "1 : threads"),
    *("grain", "most_chunks", "second_level", "narrow_limit", "index_t lot = "),
)
BLOCKS = re.compile(r"\bfor \(.*; \w+ \+= \w")  # one more block has no rows, or is read beyond the end: for sanitizers
TOLERANCE = re.compile(r"\b1e-\d+ $")  # what scales a tolerance
# Changes of Python that leave the same program: the part of a line that holds the change, the change and the reason.
SAME = {
    (
        "initial=0) < 2**15 and codes.min(initial=0) >= 0",
        "0 -> 1",
    ): "narrower keys only sort faster, into the same order",
    ("/ np.where(variance > 0, variance, 1)", "1 -> 2"): "a divisor whose quotient is not taken",
    ("else np.zeros(1)", "1 -> 2"): "the sum of no values, of however many zeros",
    (" + int(generator.integers(n_rows))) * held_out", "Add -> Sub"): "a random start, subtracted, is a random start",
    ("_CHUNK = 2_000_000", "2000000 -> 2000001"): "how much is drawn at once",
    ("_CHUNK = 4_000_000", "4000000 -> 4000001"): "how much is drawn at once",
    ("np.linspace(0, n, _KEPT + 1)", "1 -> 2"): "how many ranks are kept; the claim of the thinning is a bound",
    ("not 0 < area < 1", "Lt -> LtE"): "an area of 0 has no error and is answered above",
    ("if t2 > 0 else (0.0, 0.0)", "Gt -> GtE"): "a distance of 0 has a non-centrality of 0 by the other way too",
    ("if t2 > 0 else 1.0", "Gt -> GtE"): "a distance of 0 has a p-value of 1 by the other way too",
    (
        "np.where(labels, 1.0, -1.0)[:, None] * lifted",
        "1.0 -> 1.6",
    ): "only the sign counts: a longer row has the same side",
    ("min(sizes, default=0) < 2", "0 -> 1"): "of no learners at all",
    ("else -1, 1) for j in range(d)] + [(None, 1)]", "1 -> 2"): "a wider box for directions",
    ("_KEPT = 20_000", "20000 -> 20001"): "how many ranks are kept; the claim of the thinning is a bound",
    ("_DRAWS = 20_000", "20000 -> 20001"): "one draw more of the same distribution",
    ("_SEED = 20_031_207", "20031207 -> 20031208"): "another seed of the same draws",
    ("stream.child(-2).generator()", "2 -> 3"): "another seed of the same draws",
    ("stream.child(-3 - one).generator()", "Sub -> Add"): "another seed of the same starts",
    ("points.shape[0] > most_rows", "Gt -> GtE"): "a draw of all rows, put in order, is all rows",
    ("_DRAWS, _JACKKNIFE = 0, 1", "0 -> 1"): "another stream of the same draws",
    ("_DRAWS, _JACKKNIFE = 0, 1", "1 -> 2"): "another stream of the same draws",
    ("step = max(1, _CHUNK //", "FloorDiv -> Mult"): "how much is drawn at once",
    ("step = max(1, _CHUNK //", "1 -> 2"): "how much is drawn at once",
    ("n_train=1.0, n_test=0.0", "1.0 -> 1.6"): "no test rows to any number of training rows",
    ("self.order[1], 0.05,", "0.05 -> 0.17500000000000002"): "the effect of a test does not depend on its level",
    ("sign = 1.0 if greater_is_better else -1.0", "1.0 -> 1.6"): "only its sign counts",
    ("sign = 1.0 if metric.greater_is_better else -1.0", "1.0 -> 1.6"): "only its sign counts",
    ("1.0 if callable(metric) or get_metric(metric).greater_is_better else -1.0", "1.0 -> 1.6"): "only its sign counts",
    ("value = 1.0 if greater_is_better else -1.0", "1.0 -> 1.6"): "only its sign counts",
    ("self.sign = -1.0 if self.by_rank", "1.0 -> 1.6"): "only its sign counts",
    ('name, metric, sign = "McNemar test", "accuracy", 1.0', "1.0 -> 1.6"): "only its sign counts",
    ('"paired t test of the rows\' losses", -1.0', "1.0 -> 1.6"): "only its sign counts",
    ("if sign * lead >= 0 else", "GtE -> Gt"): "a pair of which none leads is not told apart",
    ("np.where(sign * b > 0, b", "Mult -> Div"): "only the sign of the product counts",
    ("np.where(sign * tied > 0", "Mult -> Div"): "only the sign of the product counts",
    ("searchsorted(efficiency, 0.5 * (1 - 1e-12)", "Mult -> Div"): "a tolerance",
    ("placed[(flags & POSITIVE) == 1].sum()", "Eq -> NotEq"): "placements of either class add up to the area",
    ("(self.n_rows // 8 if self.counts else 0)", "0 -> 1"): "how much is held at once",
    ("(self.n_rows // 8 if self.counts else 0)", "8 -> 9"): "how much is held at once",
    ("sum(self.sizes) + len(self.terms) + len(self.orders) +", "Add -> Sub"): "how much is held at once",
    ("(self.n_rows // 8 if self.counts else 0)", "FloorDiv -> Mult"): "how much is held at once",
    ("np.ptp(replicates) <= tolerance", "LtE -> Lt"): "a tolerance",
    ("_STEPS = 8", "8 -> 9"): "one step more of the same steps",
    ("for points in (33, 9, 9, 9, 9, 9):", "33 -> 34"): "how finely exponents are searched",
    ("for points in (33, 9, 9, 9, 9, 9):", "9 -> 10"): "how finely exponents are searched",
    ("n_bootstrap // 50", "50 -> 51"): "how many draws are fitted at once",
    ("max(1, n_bootstrap // 50)", "1 -> 2"): "how many draws are fitted at once",
    ("n_bootstrap // 50", "FloorDiv -> Mult"): "how many draws are fitted at once",
    ("_JACKKNIFE_GROUPS = 400", "400 -> 401"): "one group more that is left out",
    ("_MOST_CLASSES = 200", "200 -> 201"): "where a slower way to the same numbers begins",
    ("shape[0] <= _MOST_CLASSES:", "LtE -> Lt"): "where a slower way to the same numbers begins",
    ("streams = [root.child(2).child(j)", "2 -> 3"): "another seed of the same draws",
    ("random_state=root.child(3),", "3 -> 4"): "another seed of the same draws",
    ("random_state=root.child(0))", "0 -> 1"): "another seed of the same draws",
    ("splitter(who, design, root.child(0)", "0 -> 1"): "another seed of the same draws",
    ("codes = codes * sides[side].size ** 2", "2 -> 3"): "a wider stride keeps the same cells apart",
    ("(1, sizes.pop() if sizes else 0)", "0 -> 1"): "of no learners at all",
    ("    size = 1", "1 -> 2"): "a first step that is always taken",
    ("size = inner.size + 1", "1 -> 2"): "a length that only pads",
    ("difference = 0.0", "0.0 -> 0.1"): "where steps begin that end at the same point",
    ("for _ in range(100):", "100 -> 101"): "one step more from where steps end",
    ("min(1.0, max(single, min(drawn", "1.0 -> 1.6"): "neither is above 1",
    ("discount = 1 / np.log2(", "1 -> 2"): "the gain and the greatest gain are scaled alike",
    ("_BLOCK = 4_000_000", "4000000 -> 4000001"): "how much is held at once",
    ("block = max(1, _BLOCK //", "FloorDiv -> Mult"): "how much is held at once",
    ("_BLOCK // self.size**2", "2 -> 3"): "how much is held at once",
    ("*(route.size**2 for route in routes)", "2 -> 3"): "how much is held at once",
    ("block = max(1, _BLOCK //", "1 -> 2"): "how much is held at once",
    ("return max(1, _BLOCK //", "FloorDiv -> Mult"): "how much is held at once",
    ("return max(1, _BLOCK // max(1, wide))", "1 -> 2"): "how much is held at once",
    ("left_out = np.full(self.size**2", "2 -> 3"): "cells beyond the table are not read",
    ("n_splits(0 if X is None", "0 -> 1"): "a design that asks for the rows is refused before",
    ("for i in range(0, n, 2)))", "0 -> 1"): "the order in which all labellings are tried",
    ("sum(1 << i for i in range(0, n, 2)))", "1 -> 2"): "the order in which all labellings are tried",
    ("for i in range(0, n, 2)))", "2 -> 3"): "the order in which all labellings are tried",
    ("] == 1).all()", "1 -> 2"): "a faster way to the answer of the program below",
    ("if n <= dimension:", "LtE -> Lt"): "the sum of all binomial coefficients is 2^n",
    ("root.child(1).child(", "1 -> 2"): "another seed of the same draws",
    ("root.child(2).child(k)", "2 -> 3"): "another seed of the same starts",
    ("self._part(self.outer, root.child(0))", "0 -> 1"): "another seed of the same draws",
    ("self._outer(Stream.of(0))", "0 -> 1"): "splits are counted without any draw",
    ("range(1000), None, np.arange(1000)", "1000 -> 1001"): "a table of many rows, to be counted by",
    ("width, height = 330, 270", "330 -> 331"): "how large a small picture is",
    ("width, height = 330, 270", "270 -> 271"): "how large a small picture is",
    ("stream.child(-1).generator().choice(points", "1 -> 2"): "another seed of the same draw",
    ("height}\"', 1)", "1 -> 2"): "a chart holds one <svg",
    ("self.size = self.covariance.shape[0]", "0 -> 1"): "the other side of a square",
    ("self.pairs < 2", "2 -> 3"): "no number of estimates has two pairs",
    ("self.pairs < 2", "Lt -> LtE"): "no number of estimates has two pairs",
    ("or single >= 1.0", "GtE -> Gt"): "a p-value of one pair of 1 is the largest below as well",
    ("or single >= 1.0", "1.0 -> 1.6"): "a p-value of one pair of 1 is the largest below as well",
    ("route.jackknife(Stream.of(0))", "0 -> 1"): "one row at a time is left out without any draw",
    ("below > 0 and p * q > 2", "2 -> 3"): "of 3 = 1 x 3 the root is 1 by both rules",
    ("below > 0 and p * q > 2", "Gt -> GtE"): "of 2 = 1 x 2 the term below is 0",
    ("shares <= _BOUND**2", "2 -> 3"): "a tolerance",
    ("shares <= _BOUND**2", "LtE -> Lt"): "a tolerance",
    ("_MOST_ROWS = 2**40", "40 -> 41"): "where the search for more rows gives up, beyond any table",
    ("_MOST_ROWS = 2**40", "2 -> 3"): "where the search for more rows gives up, beyond any table",
    ("np.where(chance < 1.0 - 1e-15", "Lt -> LtE"): "a tolerance",
    ("while high - low > 1e-15 * high", "Gt -> GtE"): "halving ends at neighbouring floats by the other condition",
}
# The same of kernels.
SAME_KERNEL = {
    ("if (chosen > 0) bits -= chosen", "> -> >="): "of nothing chosen no bits are taken",
    ("const double root = 1.0 + c * x;", "+ -> -"): "a normal number is drawn as often as its negative",
    ("result.sums.resize(n + 1);", "1 -> 2"): "one slot more that nobody reads",
    (", count * p, 0.0);", "* -> /"): "what the binding gives is zeros already",
    ("if (f >= 0.0) {", ">= -> >"): "at 0 both pieces have the same value and derivatives",
    ("if (node.size() <= small)", "<= -> <"): "where a task begins; the tree is the same",
    ("if (left < 0) continue;", "< -> <="): "the first node is nobody's child",
    ("tree.linear.push_back(-1)", "1 -> 2"): "any number below 0 says that there is no direction",
    ("m >= least_by_full_columns", ">= -> >"): "where another way to the same coefficients begins",
    ("> 16 * (high - low) ? low : 0.0", "> -> >="): "where a shift begins; both are exact to the grid",
    ("deviation > 1e-14 * std::abs(mean) &&", "> -> >="): "equal only at a deviation of 0, for which 1 stands too",
    ("parallel_chunks(growth_.columns.n_columns(), 1,", "1 -> 2"): "a column is searched as if values were repeated",
    ("threads > 1 ? std::max<index_t>(256, n_ / 8) : n_", "> -> >="): "where a task begins; the tree is the same",
    ("threads > 1 ? std::max<index_t>(256, n_ / 8) : n_", "/ -> *"): "where a task begins; the tree is the same",
    ("threads > 1 ? std::max<index_t>(256, n_ / 8) : n_", "1 -> 2"): "where a task begins; the tree is the same",
    ("from.active, task.nodes, 1)", "1 -> 2"): "how many threads work",
    ("a.node.node > b.node.node", "> -> >="): "no two nodes have one number",
    ("{{&nodes_, 0, -1, false}}", "1 -> 2"): "any number below 0 is no parent",
    ("sum += weight_of(i) * y", "+= -> -="): "only the size of the mean counts",
    ("weight += weight_of(i)", "+= -> -="): "only the size of the mean counts",
    ("std::abs(sum / weight) > 16", "/ -> *"): "where a shift begins; both are exact to the grid",
    ("size > 0 && size < infinity", "> -> >="): "of nothing the grid is 0 either way",
    ("return size > 0 ? std::exp2", "> -> >="): "of nothing the grid is 0 either way",
    ("w <= most_in_pair", "<= -> <"): "counts that do not fit into a word are added another way",
    ("of(size + count * first)", "+ -> -"): "the last bit of a bound",
    ("n, 2 * options.l2)", "2 -> 3"): "the last bit of a bound",
    ("data, options, 2).grow()", "2 -> 3"): "a place more that nobody reads",
    ("(squared ? 2 : 1) *", "1 -> 2"): "a place more that nobody reads",
    ("(squared ? 2 : 1) *", "2 -> 3"): "a place more that nobody reads",
    ("i < n; ++i) largest = std::max", "< -> <="): "reads one place beyond the end: for sanitizers",
    ("i < n; ++i) size += round(", "< -> <="): "reads one place beyond the end: for sanitizers",
    ("std::equal(data.weight, data.weight + n", "+ -> -"): "weights and equal repeats are added side by side",
    ("std::log2(total + 2)", "2 -> 3"): "where a fixed point stands",
    ("+ 1)));", "1 -> 2"): "where a fixed point stands",
    ("+ 1)));", "+ -> -"): "where a fixed point stands",
    ("whole && total < 3e7", "< -> <="): "where another way to the same numbers begins",
    ("task.tolerance >= single_limit", ">= -> >"): "where another way to the same numbers begins",
    ("place(at(design.p), -1)", "1 -> 2"): "any number below 0 says that a column waits outside",
    ("place[at(j)] = -1;", "1 -> 2"): "any number below 0 says that a column waits outside",
    ("place[at(columns[k])] = -1;", "1 -> 2"): "any number below 0 says that a column waits outside",
    ("index_t stop = -1", "1 -> 2"): "any number below 0 is no place",
    ("rise = 0, share = 1;", "1 -> 2"): "written before it is read",
    ("pull(j) > threshold", "> -> >="): "a column at the threshold stays at 0",
    ("m + m / 128", "+ -> -"): "how far a matrix grows",
    ("m + m / 128", "/ -> *"): "how far a matrix grows",
    ("m > q_.capacity", "> -> >="): "how far a matrix grows",
    ("if (!(curvature > 0))", "> -> >="): "a column without spread pulls nothing and does not enter",
    ("place[at(j)] < 0 && strength(", "< -> <="): "an active column pulls with the penalty itself",
    ("old * step[at(i)] < 0", "< -> <="): "only its sign counts, and neither is 0",
    ("old * step[at(i)] < 0", "* -> /"): "only its sign counts, and neither is 0",
    ("std::abs(step[at(i)]) >= std::abs(old)", ">= -> >"): "a step that ends at 0 ends there either way",
    ("left.place < right.place", "< -> <="): "no two crossings have one place",
    ("absent[j] > present", "> -> >="): "where another way to the same numbers begins",
    ("listed[j] = n_categories[j] > 0", "> -> >="): "rows listed that nobody asks for",
    ("std::int32_t most = 1", "1 -> 2"): "a place more that nobody reads",
    ("scratch_.resize(2 * most)", "2 -> 3"): "a place more that nobody reads",
    ("scratch(2 * std::max(most, 1))", "2 -> 3"): "a place more that nobody reads",
    ("scratch(2 * std::max(most, 1))", "1 -> 2"): "a place more that nobody reads",
    ("gram_.resize((p_ + 1) * (p_ + 1))", "1 -> 2"): "a place more that nobody reads",
    ("sum(p_ + 1)", "1 -> 2"): "a place more that nobody reads",
    ("sums.data(), count + 1", "+ -> -"): "a length that nobody reads",
    ("sums.data(), count + 1", "1 -> 2"): "a length that nobody reads",
    ("0, 0, 1}", "1 -> 2"): "how far apart no columns are",
    ("&design_.n_categories[j], 1, 1}", "1 -> 2"): "one column has no next",
    ("+ j * n_, 1);", "1 -> 2"): "how many threads work",
    ("m == 1 ? options.threads : 1)", "== -> !="): "how many threads work",
    ("m == 1 ? options.threads : 1)", "1 -> 2"): "how many threads work",
    ("return_freed_memory(m * n * v * options.sweeps)", "* -> /"): "when memory goes back to the system",
    ("holes.size() == 1 ? 1 :", "1 -> 2"): "the only hole of a row is drawn again from the same conditional",
    ("if (penalty[s] < 0)", "< -> <="): "the ridge is above 0",
    ("if (shape < 1.0)", "< -> <="): "either way to a draw of shape 1 is exact",
    ("if (root <= 0) continue", "<= -> <"): "0 is refused by its logarithm, too",
    ("std::log(u) < 0.5", "< -> <="): "a draw exactly on the boundary",
    ("if (outputs <= 0)", "<= -> <"): "of one label there is nothing to fit or to draw",
    ("predictions[end - 1] <= result.predictions[end]", "<= -> <"): "a run in order is sorted once more",
    ("a.first < b.first", "< -> <="): "donors of one prediction in another order",
    ("bits > least + surplus_bits", "> -> >="): "a description longer by exactly 64 bits",
    ("lists, 2 * x.cols, threads", "* -> /"): "how the work is shared",
    ("lists, 2 * x.cols, threads", "2 -> 3"): "how the work is shared",
    ("x.cols * x.cols / 2, threads", "* -> /"): "how the work is shared",
    ("x.cols * x.cols / 2, threads", "/ -> *"): "how the work is shared",
    ("x.cols * x.cols / 2, threads", "2 -> 3"): "how the work is shared",
    ("if (i + ahead < n)", "< -> <="): "requests ahead",
    ("if (i + ahead < n)", "+ -> -"): "requests ahead",
    ("i + ahead < selection.count", "< -> <="): "requests ahead",
    ("i + ahead < selection.count", "+ -> -"): "requests ahead",
    ("selection.row(i + ahead)", "+ -> -"): "requests ahead",
    ("W < 8 && squares ? 1 : 2, four = W < 4", "< -> <="): "how many columns are added at a time",
    ("W < 8 && squares ? 1 : 2", "1 -> 2"): "how many columns are added at a time",
    ("W < 8 && squares ? 1 : 2", "2 -> 3"): "how many columns are added at a time",
    ("columns.template operator()<W, 1>", "1 -> 2"): "how many columns are added at a time",
    ("columns.template operator()<four, 1>", "1 -> 2"): "how many columns are added at a time",
    ("one.count >= other.count", ">= -> >"): "of two lists of one length either is the longer",
    ("width < 256 ? 4096 : 1024", "< -> <="): "how the work is shared",
    ("index_t{4} * std::max(threads, 1), wave_bytes / (cells * 8)", "* -> /"): "how many matrices are held",
    ("index_t{4} * std::max(threads, 1), wave_bytes / (cells * 8)", "/ -> *"): "how many matrices are held",
    ("std::max(threads, 1)", "1 -> 2"): "how many matrices are held",
    ("y.cols > 0 ? y.row(row)", "> -> >="): "a row of no cells is not read",
    ("index_t full = -1", "1 -> 2"): "any number below 0 says that no block is full",
    ("8 * classes * (3 * x.cols + categories + 1)", "1 -> 2"): "how the work is shared",
    ("panels = (d + panel - 1) / panel", "- -> +"): "a panel more, of zeros",
    ("min(begin + k, end - 1)", "- -> +"): "rows beyond the end, whose form nobody takes: for sanitizers",
    ("p > 0 ? std::log2(p)", "> -> >="): "an impossible choice outweighs all others either way",
    ("if (!(total > 0))", "> -> >="): "of nothing there are no bits",
    ("if (total > chosen)", "> -> >="): "of nothing left there are no bits",
    ("if (nominal.count > 0)", "> -> >="): "of no columns nothing is counted",
}
# Guesses of the elastic net, of which a wrong one costs sweeps: a step is taken only if it is downhill, and the gap or
# the optimality conditions over all columns certify what is found. The part of a line, and the changes.
GUESSES = (
    ("b.size() == depth + 1", ("1 -> 2",)),  # after how many sweeps it is extrapolated
    ("pull(gradient.value[at(j)]) / task_.penalty_weights[j]);", ("/ -> *",)),  # which columns enter first
    ("expected += share_ * (gradient.value[at(j)] - last_gradient_[at(j)])", ("- -> +", "* -> /", "+= -> -=")),
    ("std::max<index_t>(64, 2 * active())", ("* -> /", "2 -> 3")),
    ("design_.rows() / rows_a_column", ("/ -> *",)),
    ("found.size() > most", ("> -> >=",)),
    ("left > right || (left == right && i < j)", ("< -> <=", "> -> >=", "== -> !=")),
    ("objective(penalty) < before", ("< -> <=",)),  # of two equal points either
    ("objective(penalty) < sums.objective", ("< -> <=",)),
    ("objective(penalty) < reached", ("< -> <=",)),
    ("design_.squares(number_, state_)) < reached", ("< -> <=",)),
    ("if (value < reached)", ("< -> <=",)),
    ("measure(penalty).gap(penalty) <= target", ("<= -> <",)),
    (">= sweeps_before_exact()", (">= -> >",)),  # when exact steps are tried, and how many
    ("steps < 5 && !exact_step", ("< -> <=",)),
    ("active() <= (by_full_columns_", ("<= -> <",)),
    ("round < 100 && active() <= exact_limit", ("< -> <=", "<= -> <")),
    (" * (1 + optimal_within)", ("* -> /", "+ -> -")),  # a tolerance
    ("strength(penalty, j) > penalty.l1", ("> -> >=",)),
    ("b[k] == 0 && !(penalty.pull(g_[k]) > 0.9 * penalty.l1 * v_[k])", ("> -> >=", "* -> /", "== -> !=")),
    ("spent = 1;", ("1 -> 2",)),  # when sweeps over full columns end
    ("spent > 1 && gap < before ? gap / before : 1.0", ("< -> <=", "> -> >=", "/ -> *", "1 -> 2")),
    ("gap * shrinks <= target", ("* -> /",)),
    ("used * used / (entries_a_sweep * all)", ("* -> /", "/ -> *")),
    ("ridge * diagonal_", ("* -> /",)),  # a trace of ridge, and points on the way of a step
    ("share = 1; share > 1e-3; share /= 2", ("1 -> 2", "> -> >=", "2 -> 3")),
    ("+= share * step[at(i)]", ("+= -> -=", "* -> /")),
    ("if (crossing.share <= share)", ("<= -> <",)),
    ("value > worse", ("> -> >=",)),
    ("if (share <= crossing.share) break", ("<= -> <",)),  # a crossing exactly where the line is lowest
)
SAME_KERNEL |= {(part, change): "a guess" for part, changes in GUESSES for change in changes}
# Functions of which that is all that is to be said.
GUESSING = ("bool combine(", "void foresee(", "bool prefers_residual(", "index_t sweeps_before_exact(")
SWAPS = (
    (r"(?<= )<(?= )", "<="),
    (r"<=(?= )", "<"),
    (r"(?<= )>(?= )", ">="),
    (r">=(?= )", ">"),
    (r"==(?= )", "!="),
    (r"(?<= )\+(?= )", "-"),
    (r"(?<= )-(?= )", "+"),
    (r"(?<= )\*(?= )", "/"),
    (r"(?<= )/(?= )", "*"),
    (r"\+=", "-="),
    (r"(?<![\w.])1(?![\w.])", "2"),
    (r"(?<![\w.])2(?![\w.])", "3"),
    (r"(?<![\w.])0\.5(?![\w.])", "0.6"),
)


@dataclass(frozen=True)
class Mutant:
    """One changed file; its text is made when asked for, since few of all mutants are tried."""

    path: str
    line: int
    what: str
    text: Callable[[], str]


# -- making mutants --------------------------------------------------------------------------------------------------
def python_mutants(path: str, text: str) -> Iterator[Mutant]:
    """One mutant for each comparison, arithmetic operator, number and condition outside docstrings and messages."""
    tree, lines = ast.parse(text), text.splitlines()
    words = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.arguments)) or _says(node)
        for part in ast.walk(node)
    }
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in words:
            continue
        for what, change in _changes(node):
            line, column = _place(node)
            if any(what == other and _within(part, lines[line - 1], column) for part, other in SAME):
                continue
            yield Mutant(path, node.lineno, what, partial(_changed_tree, text, index, change))  # type: ignore[attr-defined]


def _place(node: Any) -> tuple[int, int]:
    """Line and column of what is changed: of a number, or of where the left side of an operator ends."""
    if isinstance(node, ast.Constant):
        return node.lineno, node.col_offset
    left = node.values[0] if isinstance(node, ast.BoolOp) else node.target if hasattr(node, "target") else node.left
    return left.end_lineno, left.end_col_offset


def _within(part: str, line: str, column: int) -> bool:
    """Whether a part of a line covers a column of it."""
    return any(begin.start() <= column < begin.start() + len(part) for begin in re.finditer(re.escape(part), line))


def _changed_tree(text: str, index: int, change: Callable[[ast.AST], object]) -> str:
    """The program with the change at one node of its tree."""
    tree = ast.parse(text)
    change(next(node for k, node in enumerate(ast.walk(tree)) if k == index))
    return ast.unparse(tree)


def _says(node: ast.AST) -> bool:
    """Whether a call only makes a sentence or lays out a table, or a product scales a tolerance."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return any(map(_tolerance, (node.left, node.right)))
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name.endswith(("Error", "Warning", "_words", "plain", "number", "percent", "Grid")) or name == "warn"


def _tolerance(side: ast.AST) -> bool:
    if isinstance(side, ast.Constant):
        return isinstance(side.value, float) and 0 < side.value < 1e-6
    return isinstance(side, ast.Name) and side.id.endswith(("TOLERANCE", "ROUNDING"))


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], object]]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        new = COMPARE[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} -> {new.__name__}", lambda n: n.ops.__setitem__(0, new())
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        other = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} -> {other.__name__}", lambda n: setattr(n, "op", other())
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and hasattr(node, "lineno"):
        if abs(node.value) < 1e-6 and node.value != 0:
            return  # a tolerance
        value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.1
        yield f"{node.value!r} -> {value!r}", lambda n: setattr(n, "value", value)
    elif isinstance(node, ast.BoolOp):
        joined = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {joined.__name__}", lambda n: setattr(n, "op", joined())


def kernel_mutants(path: str, text: str) -> Iterator[Mutant]:
    """One mutant for each operator and small number outside comments, preprocessor lines and template brackets."""
    lines = text.splitlines(keepends=True)
    guessing = ""
    for number, line in enumerate(lines):
        code = line.split("//")[0]
        if any(name in code for name in GUESSING) and code.rstrip().endswith("{"):
            guessing = code[: -len(code.lstrip())] + "}"
        if guessing:
            guessing = "" if code.rstrip() == guessing else guessing
            continue
        if code.lstrip().startswith(("#", "template", "using", "namespace")) or any(word in code for word in NO_EFFECT):
            continue
        for pattern, new in SWAPS:
            for match in re.finditer(pattern, code):
                if TOLERANCE.search(code[: match.start()]) or (new == "<=" and BLOCKS.search(code)):
                    continue
                what = f"{match.group()} -> {new}"
                if any(what == other and _within(part, code, match.start()) for part, other in SAME_KERNEL):
                    continue
                changed = line[: match.start()] + new + line[match.end() :]
                shown = f"{what}: {code.strip()[:60]}"
                yield Mutant(path, number + 1, shown, partial(_changed_line, lines, number, changed))


def _changed_line(lines: list[str], number: int, changed: str) -> str:
    return "".join([*lines[:number], changed, *lines[number + 1 :]])


def mutants_of(path: str) -> list[Mutant]:
    """Every mutant of a file."""
    text = (ROOT / path).read_text()
    return list((python_mutants if path.endswith(".py") else kernel_mutants)(path, text))


# -- running them ----------------------------------------------------------------------------------------------------
def prepare(kernels: bool) -> None:
    """A copy of the sources; with a built extension of its own for mutants of kernels, or where there is none."""
    files = [ROOT / "CMakeLists.txt"]
    files += [file for part in ("src", "cpp", "bindings") for file in (ROOT / part).rglob("*") if file.is_file()]
    for file in files:
        target = WORK / file.relative_to(ROOT)
        extension = file.suffix in (".so", ".pyd")
        if file.parent.name == "__pycache__" or (extension and kernels):
            continue
        # Only what differs: the time of a file tells what must be built again.
        copy = _watched(file.relative_to(ROOT).as_posix(), file.read_bytes())
        if not target.exists() or target.read_bytes() != copy:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_bytes(copy)
    if kernels or not list((WORK / "src/assay").glob("_kernels*.so")):
        tools = Path(sys.executable).parent
        command = [tools / "cmake", "-S", WORK, "-B", BUILD, "-G", "Ninja", "-DASSAY_INPLACE=ON"]
        command += [f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        if not build():
            raise SystemExit("mutants: the kernels do not compile without any mutant.")


def _watched(path: str, text: bytes) -> bytes:
    """What stands in the copy: a kernel whose lines are changed ends where it leaves one of its vectors."""
    headers = (Path(name).name for name in TESTS if name.startswith("cpp/src/") and name.endswith(".hpp"))
    changed = path in TESTS or any(f'#include "{name}"'.encode() in text for name in headers)
    return b"#define _GLIBCXX_ASSERTIONS\n" + text if changed and path.endswith(".cpp") else text


def build() -> bool:
    """Build the extension of the copy; False if it does not compile."""
    tools = Path(sys.executable).parent
    return subprocess.run([str(tools / "cmake"), "--build", str(BUILD)], capture_output=True).returncode == 0


def _run(tests: tuple[str, ...], modules: Connection) -> None:
    """In a fork: run the tests against the copy, quietly, and tell which modules they brought in."""
    import pytest

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.chdir(ROOT)
    sys.path[:0] = [str(WORK / "src"), str(ROOT)]
    os.environ["PYTHONPATH"] = str(WORK / "src")
    code = pytest.main(["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *tests])
    found = sys.modules.get("assay")
    if found is not None and not str(found.__file__).startswith(str(WORK)):
        code = 99
    modules.send([name for name in sys.modules if name.partition(".")[0] not in ("assay", "tests", "conftest")])
    os._exit(int(code))


def run_tests(path: str, limit: float) -> tuple[int | None, list[str]]:
    """How the tests of a file end on the copy within a limit of seconds (0: they pass), and the modules they use."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_run, args=(TESTS[path], there))
    child.start()
    there.close()
    names: list[str] = []
    with contextlib.suppress(EOFError):
        if here.poll(limit):
            names = here.recv()
    child.join(5)
    if child.exitcode is None:
        child.kill()
        child.join()
    return child.exitcode, names


def survives(mutant: Mutant, limit: float) -> bool:
    """Whether no test notices the mutant; leaves it in the copy."""
    target = WORK / mutant.path
    target.write_bytes(_watched(mutant.path, mutant.text().encode()))
    if target.suffix == ".py":
        for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
            compiled.unlink()
    elif not build():
        return False
    return run_tests(mutant.path, limit)[0] == 0


def try_file(path: str, each: int, seed: int) -> tuple[int, int]:
    """How many mutants of a file were killed, and tried."""
    begin = time.monotonic()
    code, names = run_tests(path, 900)
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if code != 0:
        raise SystemExit(f"mutants: the tests of {path} end with {code} without any mutant.")
    limit = 20 + 5 * (time.monotonic() - begin)
    found = mutants_of(path)
    chosen = random.Random(f"{seed}:{path}").sample(found, min(each, len(found)))
    killed = 0
    try:
        for mutant in sorted(chosen, key=lambda m: m.line):
            if survives(mutant, limit):
                print(f"survived  {mutant.path}:{mutant.line}  {mutant.what}", flush=True)
            else:
                killed += 1
    finally:
        (WORK / path).write_bytes(_watched(path, (ROOT / path).read_bytes()))
        for compiled in (WORK / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
            compiled.unlink()
        if not path.endswith(".py"):
            build()
    if run_tests(path, 900)[0] != 0:
        raise SystemExit(f"mutants: the tests of {path} no longer pass without a mutant: something else has changed.")
    return killed, len(chosen)


def main() -> int:
    """Try a sample of the mutants of each file; exit 1 if fewer are killed than asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="files to change (default: all of the list)")
    parser.add_argument("--each", type=int, default=12, help="mutants per file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed")
    options = parser.parse_args()
    paths = options.files or list(TESTS)
    prepare(any(not path.endswith(".py") for path in paths))
    found = []
    for path in paths:
        killed, tried = try_file(path, options.each, options.seed)
        found.append((killed, tried))
        print(f"{path}: {killed} of {tried} killed", flush=True)
    killed, tried = (sum(column) for column in zip(*found, strict=True))
    print(f"{killed} of {tried} mutants killed ({killed / max(tried, 1):.0%}).")
    return 0 if killed >= options.least * tried else 1


if __name__ == "__main__":
    sys.exit(main())
