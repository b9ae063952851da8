"""Data: read tables, know what their columns mean, find what is wrong with them, and datasets to learn on."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .association import correlation_ratio as correlation_ratio
    from .association import correlations as correlations
    from .association import cramer_v as cramer_v
    from .batches import BatchedTable as BatchedTable
    from .batches import Batches as Batches
    from .columns import UNSEEN as UNSEEN
    from .columns import ColumnSchema as ColumnSchema
    from .columns import MixedInput as MixedInput
    from .columns import fit_columns as fit_columns
    from .columns import read_columns as read_columns
    from .datasets import DATASETS as DATASETS
    from .datasets import Dataset as Dataset
    from .datasets import load_dataset as load_dataset
    from .datasets import make_customers as make_customers
    from .description import Description as Description
    from .description import describe as describe
    from .findings import Audit as Audit
    from .findings import Finding as Finding
    from .findings import audit as audit
    from .generators import Baskets as Baskets
    from .generators import CommunityGraph as CommunityGraph
    from .generators import GridWorld as GridWorld
    from .generators import HmmSequences as HmmSequences
    from .generators import RecoilTracks as RecoilTracks
    from .generators import baskets as baskets
    from .generators import circles as circles
    from .generators import community_graph as community_graph
    from .generators import gaussian_classes as gaussian_classes
    from .generators import grid_world as grid_world
    from .generators import hmm_sequences as hmm_sequences
    from .generators import moons as moons
    from .generators import polynomial_curve as polynomial_curve
    from .generators import recoil_tracks as recoil_tracks
    from .merging import MergeCheck as MergeCheck
    from .merging import merge_check as merge_check
    from .missingness import McarTest as McarTest
    from .missingness import little_mcar as little_mcar
    from .read import read_batches as read_batches
    from .read import read_table as read_table
    from .read import scan_table as scan_table
    from .read_notes import Decision as Decision
    from .read_scan import Scan as Scan
    from .roles import ROLES as ROLES
    from .roles import Role as Role
    from .roles import guess_order as guess_order
    from .roles import infer_roles as infer_roles
    from .table import Features as Features
    from .table import Table as Table
    from .table import Target as Target
    from .write import FrameWriter as FrameWriter

__getattr__, __dir__ = lazy(
    __name__,
    {
        "association": "correlation_ratio correlations cramer_v",
        "batches": "BatchedTable Batches",
        "columns": "UNSEEN ColumnSchema MixedInput fit_columns read_columns",
        "datasets": "DATASETS Dataset load_dataset make_customers",
        "description": "Description describe",
        "findings": "Audit Finding audit",
        "generators": "Baskets CommunityGraph GridWorld HmmSequences RecoilTracks baskets circles community_graph "
        "gaussian_classes grid_world hmm_sequences moons polynomial_curve recoil_tracks",
        "merging": "MergeCheck merge_check",
        "missingness": "McarTest little_mcar",
        "parse": "",
        "read": "read_batches read_table scan_table",
        "read_notes": "Decision",
        "read_scan": "Scan",
        "roles": "ROLES Role guess_order infer_roles",
        "table": "Features Table Target",
        "write": "FrameWriter",
    },
)
