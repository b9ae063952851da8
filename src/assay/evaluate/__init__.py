"""Evaluation: designs, metrics, tests that are valid for the design, and the comparison of learners.

Names arrive lazily, so that importing the package costs nothing.

>>> from assay.evaluate import five_by_two_f, make_design
>>> make_design("5x2").kind
'5x2'
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .auc import delong as delong
    from .bayesian_tests import bayes_correlated_t as bayes_correlated_t
    from .bayesian_tests import bayes_signed_rank as bayes_signed_rank
    from .bootstrap import BootstrapInterval as BootstrapInterval
    from .bootstrap import bootstrap_interval as bootstrap_interval
    from .bootstrap import bootstrap_many as bootstrap_many
    from .cluster_choice import KChoice as KChoice
    from .cluster_choice import choose_k as choose_k
    from .clustering_metrics import ClusterCount as ClusterCount
    from .clustering_metrics import adjusted_mutual_information as adjusted_mutual_information
    from .clustering_metrics import adjusted_rand as adjusted_rand
    from .clustering_metrics import elbow as elbow
    from .clustering_metrics import gap_statistic as gap_statistic
    from .clustering_metrics import inertia as inertia
    from .clustering_metrics import mutual_information as mutual_information
    from .clustering_metrics import pair_f1 as pair_f1
    from .clustering_metrics import pair_precision as pair_precision
    from .clustering_metrics import pair_recall as pair_recall
    from .clustering_metrics import purity as purity
    from .clustering_metrics import rand_index as rand_index
    from .clustering_metrics import silhouette as silhouette
    from .clustering_metrics import silhouette_samples as silhouette_samples
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .comparison import compare_predictions as compare_predictions
    from .count_choice import CountChoice as CountChoice
    from .curves import ClassCurves as ClassCurves
    from .curves import GainCurve as GainCurve
    from .curves import PrecisionRecallCurve as PrecisionRecallCurve
    from .curves import RejectionCurve as RejectionCurve
    from .curves import RocCurve as RocCurve
    from .curves import gain_curve as gain_curve
    from .curves import precision_recall_curve as precision_recall_curve
    from .curves import rejection_curve as rejection_curve
    from .curves import roc_curve as roc_curve
    from .decomposition import BiasVariance as BiasVariance
    from .decomposition import bias_variance as bias_variance
    from .decomposition import decompose_predictions as decompose_predictions
    from .error_estimates import BootstrapError as BootstrapError
    from .error_estimates import bootstrap_error as bootstrap_error
    from .error_estimates import no_information_error as no_information_error
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
    from .learning import LearningCurve as LearningCurve
    from .learning import OverfittingGap as OverfittingGap
    from .learning import PowerLaw as PowerLaw
    from .learning import RowsNeeded as RowsNeeded
    from .learning import ValidationCurve as ValidationCurve
    from .learning import fit_power_law as fit_power_law
    from .learning import learning_curve as learning_curve
    from .learning import learning_curve_from_scores as learning_curve_from_scores
    from .learning import overfitting_gap as overfitting_gap
    from .learning import validation_curve as validation_curve
    from .member_diversity import Ambiguity as Ambiguity
    from .member_diversity import Diversity as Diversity
    from .member_diversity import MarginDistribution as MarginDistribution
    from .member_diversity import MembersCurve as MembersCurve
    from .member_diversity import ambiguity as ambiguity
    from .member_diversity import diversity as diversity
    from .member_diversity import error_by_members as error_by_members
    from .member_diversity import margin_distribution as margin_distribution
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
    from .partition_agreement import ClusterAgreement as ClusterAgreement
    from .partition_agreement import cluster_agreement as cluster_agreement
    from .percentage_error import mape as mape
    from .permutation_tests import permutation_test as permutation_test
    from .rank_tests import sign_test as sign_test
    from .rank_tests import wilcoxon as wilcoxon
    from .ranking_metrics import held_out_log_likelihood as held_out_log_likelihood
    from .ranking_metrics import mean_average_precision as mean_average_precision
    from .ranking_metrics import ndcg as ndcg
    from .ranking_metrics import pair_accuracy as pair_accuracy
    from .rates import normal_interval as normal_interval
    from .rates import sample_size_for_width as sample_size_for_width
    from .rates import t_interval as t_interval
    from .rates import wilson_interval as wilson_interval
    from .reliability import CalibrationCurve as CalibrationCurve
    from .reliability import calibration_curve as calibration_curve
    from .resampling import Design as Design
    from .resampling import DesignSplitter as DesignSplitter
    from .resampling import Split as Split
    from .resampling import make_design as make_design
    from .result import TestResult as TestResult
    from .sequence_choice import SequenceScores as SequenceScores
    from .sequence_choice import StatesChoice as StatesChoice
    from .sequence_choice import choose_states as choose_states
    from .sequence_choice import cross_validate_sequences as cross_validate_sequences
    from .shattering import Box as Box
    from .shattering import RectangleVersionSpace as RectangleVersionSpace
    from .shattering import Shattering as Shattering
    from .shattering import largest_shattered as largest_shattered
    from .shattering import shatters as shatters
    from .splitters import BootstrapSplitter as BootstrapSplitter
    from .splitters import LeavePOutSplitter as LeavePOutSplitter
    from .splitters import NestedSplitter as NestedSplitter
    from .splitters import SplitterDesign as SplitterDesign
    from .splitters import TimeSplitter as TimeSplitter
    from .theory import growth_bound as growth_bound
    from .theory import hoeffding_bound as hoeffding_bound
    from .theory import hoeffding_epsilon as hoeffding_epsilon
    from .theory import hoeffding_sample_size as hoeffding_sample_size
    from .theory import pac_delta as pac_delta
    from .theory import pac_epsilon as pac_epsilon
    from .theory import pac_sample_size as pac_sample_size
    from .theory import support_vector_bound as support_vector_bound
    from .theory import vc_dimension as vc_dimension
    from .thresholds import BestThreshold as BestThreshold
    from .thresholds import ThresholdCurve as ThresholdCurve
    from .thresholds import best_threshold as best_threshold
    from .thresholds import threshold_curve as threshold_curve

# No module may share its name with a function of it: importing the module would hide the function.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "auc": "delong",
        "batch_metrics": "",
        "bootstrap": "BootstrapInterval bootstrap_interval bootstrap_many",
        "cluster_choice": "KChoice choose_k",
        "count_choice": "CountChoice",
        "clustering_metrics": (
            "ClusterCount adjusted_mutual_information adjusted_rand elbow gap_statistic inertia mutual_information "
            "pair_f1 pair_precision pair_recall purity rand_index silhouette silhouette_samples"
        ),
        "curves": (
            "ClassCurves GainCurve PrecisionRecallCurve RejectionCurve RocCurve gain_curve "
            "precision_recall_curve rejection_curve roc_curve"
        ),
        "decomposition": "BiasVariance bias_variance decompose_predictions",
        "bayesian_tests": "bayes_correlated_t bayes_signed_rank",
        "comparison": "Comparison compare compare_predictions",
        "comparison_procedures": "",
        "distributions": "",
        "error_estimates": "BootstrapError bootstrap_error no_information_error",
        "fits": "",
        "group_tests": "anova cochran_q friedman kruskal_wallis nemenyi",
        "hypothesis_tests": (
            "approximate_normal_test binomial_test corrected_resampled_t five_by_two_f five_by_two_t mcnemar "
            "mcnemar_from_counts one_sample_t paired_t resampled_t"
        ),
        "intervals": "corrected_interval",
        "learning": (
            "LearningCurve OverfittingGap PowerLaw RowsNeeded ValidationCurve fit_power_law learning_curve "
            "learning_curve_from_scores overfitting_gap validation_curve"
        ),
        "member_diversity": (
            "Ambiguity Diversity MarginDistribution MembersCurve ambiguity diversity error_by_members "
            "margin_distribution"
        ),
        "metrics": "METRICS Evidence Metric confusion_matrix default_metrics get_metric score_many",
        "multiplicity": "bonferroni holm",
        "partition_agreement": "ClusterAgreement cluster_agreement",
        "percentage_error": "mape",
        "multivariate_tests": "hotelling_t2 manova",
        "numerics": "autocorrelation mean standard_deviation",
        "permutation_tests": "permutation_test",
        "rank_tests": "sign_test wilcoxon",
        "records": "",
        "reliability": "CalibrationCurve calibration_curve",
        "ranking_metrics": "held_out_log_likelihood mean_average_precision ndcg pair_accuracy",
        "rates": "normal_interval sample_size_for_width t_interval wilson_interval",
        "replicates": "",
        "resampling": "Design DesignSplitter Split make_design",
        "result": "TestResult",
        "sequence_choice": "SequenceScores StatesChoice choose_states cross_validate_sequences",
        "shattering": "Box RectangleVersionSpace Shattering largest_shattered shatters",
        "splitters": "BootstrapSplitter LeavePOutSplitter NestedSplitter SplitterDesign TimeSplitter",
        "theory": (
            "growth_bound hoeffding_bound hoeffding_epsilon hoeffding_sample_size pac_delta pac_epsilon "
            "pac_sample_size support_vector_bound vc_dimension"
        ),
        "thresholds": "BestThreshold ThresholdCurve best_threshold threshold_curve",
    },
)
