"""Evaluation: designs, metrics, tests that are valid for the design, and the comparison of learners.

Names arrive lazily, so that importing the package costs nothing.

>>> from assay.evaluate import five_by_two_f, make_design
>>> make_design("5x2").kind
'5x2'
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .bayesian_tests import bayes_correlated_t as bayes_correlated_t
    from .bayesian_tests import bayes_signed_rank as bayes_signed_rank
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .comparison import compare_predictions as compare_predictions
    from .group_tests import anova as anova
    from .group_tests import cochran_q as cochran_q
    from .group_tests import friedman as friedman
    from .group_tests import kruskal_wallis as kruskal_wallis
    from .group_tests import nemenyi as nemenyi
    from .hypothesis_tests import approximate_normal_test as approximate_normal_test
    from .hypothesis_tests import binomial_test as binomial_test
    from .hypothesis_tests import corrected_resampled_t as corrected_resampled_t
    from .hypothesis_tests import five_by_two_f as five_by_two_f
    from .hypothesis_tests import five_by_two_t as five_by_two_t
    from .hypothesis_tests import mcnemar as mcnemar
    from .hypothesis_tests import mcnemar_from_counts as mcnemar_from_counts
    from .hypothesis_tests import one_sample_t as one_sample_t
    from .hypothesis_tests import paired_t as paired_t
    from .hypothesis_tests import resampled_t as resampled_t
    from .intervals import corrected_interval as corrected_interval
    from .metrics import METRICS as METRICS
    from .metrics import Evidence as Evidence
    from .metrics import Metric as Metric
    from .metrics import confusion_matrix as confusion_matrix
    from .metrics import default_metrics as default_metrics
    from .metrics import get_metric as get_metric
    from .metrics import score_many as score_many
    from .multiplicity import bonferroni as bonferroni
    from .multiplicity import holm as holm
    from .multivariate_tests import hotelling_t2 as hotelling_t2
    from .multivariate_tests import manova as manova
    from .numerics import autocorrelation as autocorrelation
    from .numerics import mean as mean
    from .numerics import standard_deviation as standard_deviation
    from .permutation_tests import permutation_test as permutation_test
    from .rank_tests import sign_test as sign_test
    from .rank_tests import wilcoxon as wilcoxon
    from .resampling import Design as Design
    from .resampling import DesignSplitter as DesignSplitter
    from .resampling import Split as Split
    from .resampling import make_design as make_design
    from .result import TestResult as TestResult

# No module may share its name with a function of it: importing the module would hide the function.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "bayesian_tests": "bayes_correlated_t bayes_signed_rank",
        "comparison": "Comparison compare compare_predictions",
        "comparison_procedures": "",
        "distributions": "",
        "group_tests": "anova cochran_q friedman kruskal_wallis nemenyi",
        "hypothesis_tests": (
            "approximate_normal_test binomial_test corrected_resampled_t five_by_two_f five_by_two_t mcnemar "
            "mcnemar_from_counts one_sample_t paired_t resampled_t"
        ),
        "intervals": "corrected_interval",
        "metrics": "METRICS Evidence Metric confusion_matrix default_metrics get_metric score_many",
        "multiplicity": "bonferroni holm",
        "multivariate_tests": "hotelling_t2 manova",
        "numerics": "autocorrelation mean standard_deviation",
        "permutation_tests": "permutation_test",
        "rank_tests": "sign_test wilcoxon",
        "resampling": "Design DesignSplitter Split make_design",
        "result": "TestResult",
    },
)
