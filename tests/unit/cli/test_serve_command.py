"""What `assay serve` loads: nothing that it has no use for, and whoever needs it later still gets it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from assay.cli.serve import without_pandas
with without_pandas():
    from assay.deploy.server import Server
assert "sklearn" in sys.modules and "polars" in sys.modules
print(sorted({"pandas", "pyarrow"} & set(sys.modules)))
import pandas
from sklearn.preprocessing import StandardScaler
frame = pandas.DataFrame({"x": [1.0, 3.0]})
print(list(StandardScaler().set_output(transform="pandas").fit_transform(frame)["x"]))
with without_pandas():
    print(sys.modules["pandas"] is pandas)
"""


def test_a_server_loads_no_pandas_until_somebody_needs_it():
    pytest.importorskip("pandas")
    pytest.importorskip("starlette")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["[]", "[-1.0, 1.0]", "True"], done.stderr
