"""What `assay serve` loads: nothing that it has no use for, and whoever needs it later still gets it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from assay.cli.serve import bound_socket

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


STATISTICS = """
import sys, threading
from assay.cli.serve import put_off, without_pandas
put_off("scipy.stats")
with without_pandas():
    from assay.deploy.server import Server
from assay.experiment import PreparedModel
from assay.models.linear import LogisticRegression
LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "a", "b"]).predict([[0.5]])
print(sorted({"scipy.stats._stats_py", "scipy.optimize", "sklearn.metrics"} & set(sys.modules)))
found = []
def use():
    import scipy.stats
    found.append(float(scipy.stats.norm.cdf(0.0)))
threads = [threading.Thread(target=use) for _ in range(4)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
from scipy.stats import rankdata
import scipy.stats.distributions
print(found, rankdata([3, 1]).tolist(), hasattr(sys.modules["scipy.stats"], "nothing"))
before = sys.modules["scipy.stats"]
put_off("scipy.stats")
print(sys.modules["scipy.stats"] is before is scipy.stats)
"""


def test_a_server_reads_no_statistics_until_somebody_needs_them():
    pytest.importorskip("starlette")
    done = subprocess.run([sys.executable, "-c", STATISTICS], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["[]", "[0.5, 0.5, 0.5, 0.5] [2.0, 1.0] False", "True"], done.stderr


def test_answers_do_not_wait_for_acknowledgements():
    """asyncio turns Nagle's algorithm off on connections of sockets that say they are TCP."""

    async def served() -> int:
        found = asyncio.get_running_loop().create_future()

        async def connected(_, writer):
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with bound_socket("127.0.0.1", 0) as listener:
            server = await asyncio.start_server(connected, sock=listener)
            _, writer = await asyncio.open_connection(*listener.getsockname())
            without_delay = await found
            writer.close()
            server.close()
        return without_delay

    assert asyncio.run(served()) != 0


def test_a_port_in_use_leaves_no_socket_open():
    with bound_socket("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(OSError):
            bound_socket("127.0.0.1", first.getsockname()[1])
