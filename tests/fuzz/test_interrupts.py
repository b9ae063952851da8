"""Every method of the catalogue answers an interrupt within two seconds, whatever it is at."""

from __future__ import annotations

import pytest

from assay import catalogue

from .interrupts import run

# Seconds of processor time.
SOON = 2.0


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({entry.class_path.rpartition(".")[0] for entry in catalogue.entries()}))
def test_every_method_answers_an_interrupt_in_time(family):
    ids = [entry.id for entry in catalogue.entries() if entry.class_path.rpartition(".")[0] == family]
    told = run(ids)
    assert [line["id"] for line in told] == ids
    late = {line["id"]: line for line in told for part in line.values() if isinstance(part, list) and part[1] > SOON}
    assert not late
    assert not [line for line in told if "refused" in str(line)], "every method must take the table"


def test_an_interrupt_is_heard_in_the_middle_of_a_fit():
    (told,) = run(["linear-rank"])
    assert told["fit"][0] == "interrupted" and told["fit"][1] < SOON
