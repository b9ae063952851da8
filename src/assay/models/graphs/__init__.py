"""The graphs family: building graphs of tables, their matrices and dynamics, communities and cuts."""

from .drawing import GraphDrawing
from .fiedler_bipartition import FiedlerBipartition
from .graph import Graph
from .louvain import Louvain
from .spectral import Spectral

__all__ = ["FiedlerBipartition", "Graph", "GraphDrawing", "Louvain", "Spectral"]
