"""Kernels that are still at work in a daemon thread when the interpreter ends."""

import subprocess
import sys

PROGRAM = """
import threading, time
import numpy as np
from assay.models.neighbours import KNNRegressor

X = np.random.default_rng(0).normal(size=(3000, 12))
model = KNNRegressor(n_neighbors=5, n_jobs=1).fit(X, X[:, 0])


def work():
    while True:
        model.predict(X)
        begun.set()


class Last:
    def __del__(self, sleep=time.sleep):
        sleep(1.5)  # the interpreter is about to end, and a kernel comes back


begun, last = threading.Event(), Last()
threading.Thread(target=work, daemon=True).start()
begun.wait()
print("end")
"""


def test_a_kernel_that_comes_back_while_the_interpreter_ends_does_not_abort_the_process():
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "end\n", "")
