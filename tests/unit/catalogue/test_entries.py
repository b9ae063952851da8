"""The files of entries: each family is listed, each id stands once, and what a group says its methods inherit."""

from __future__ import annotations

import re
import tomllib

import pytest

from assay.catalogue.entry import Entry
from assay.catalogue.families import FAMILIES, HOME, by_id, read_family

FAMILY = """
[[group]]
package = "assay.models.baselines"
task = "classify"
native = ["numeric"]
weights = true
probabilities = true
simplicity = 1
fit_cost = "n"
predict_cost = "1"
section = "1"
references = ["Holte, 1993"]
explains = "a share"

[[group.method]]
id = "plain"
title = "Plain"
class = "Plain"
summary = "All as the group says."

[[group.method]]
id = "other"
title = "Other"
class = "Other"
weights = false
preset = { sizes = [1, 2] }
summary = "Says two things itself."
"""


def test_every_file_is_a_family_and_every_family_a_file():
    assert sorted(path.name for path in HOME.iterdir() if path.is_file()) == sorted(f"{name}.toml" for name in FAMILIES)


def test_no_id_stands_twice():
    written = [
        method["id"]
        for path in HOME.glob("*.toml")
        for group in tomllib.loads(path.read_text("utf-8"))["group"]
        for method in group["method"]
    ]
    assert sorted(written) == sorted(by_id())


def test_a_method_has_what_its_group_says_unless_it_says_it_itself():
    plain, other = read_family(FAMILY)
    assert (plain.class_path, plain.weights, plain.native, plain.preset) == (
        "assay.models.baselines.Plain", True, ("numeric",), ()
    )  # fmt: skip
    assert (other.class_path, other.weights, other.references) == (
        "assay.models.baselines.Other", False, ("Holte, 1993",)
    )  # fmt: skip
    assert other.preset == (("sizes", (1, 2)),)
    assert isinstance(other, Entry) and hash(other) != hash(plain)


def test_a_key_that_no_entry_has_and_one_that_is_missing_are_named():
    with pytest.raises(TypeError, match="wieghts"):
        read_family(FAMILY.replace("weights", "wieghts"))
    with pytest.raises(TypeError, match="summary"):
        read_family(FAMILY.replace("summary", "# summary"))


@pytest.mark.parametrize("entry", by_id().values(), ids=lambda entry: entry.id)
def test_every_reference_has_a_year(entry):
    assert entry.references and all(re.search(r"\b1[89]\d\d\b|\b20\d\d\b", text) for text in entry.references)
