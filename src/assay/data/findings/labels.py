"""Labels: too many, too rare, mistyped, or the same written in several ways."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from ...base.words import count
from .finding import NO_ROWS, Finding, drop_columns, quoted, remedy, rows_of, share_text
from .survey import Column, Survey
from .typos import likely_typos

MANY_CATEGORIES = 50
MOST_LABELS = 50_000
_BROKEN = r"Ã[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œžŸ]|â€|Â[\u00a0-\u00bf]|\ufffd"


def label_findings(survey: Survey, target: str | None) -> Iterator[Finding]:
    """A008 many categories, A015 case, A021 rare, A022 typos, A025 spaces and signs, A040 broken characters."""

    def look(column: Column) -> list[Finding]:
        return list(_of_column(column, column.name == target))

    for found in survey.each(look, (c for c in survey.columns.values() if c.is_text and c.missing < survey.n_rows)):
        yield from found


def _of_column(column: Column, is_target: bool) -> Iterator[Finding]:
    yield from _broken_characters(column)
    if column.role.role in ("id", "text") or column.distinct < 2:
        return
    ways = _ways(column)
    yield from _same_in_case(column, ways)
    yield from _same_but_signs(column, ways)
    if column.distinct <= MOST_LABELS:
        yield from _typos_and_rare(column, ways, is_target)
    if not is_target and column.distinct > MANY_CATEGORIES:
        mean = column.present.len() / column.distinct
        yield Finding(
            "A008", "many categories", [column.name], "medium" if mean < 20 else "low", NO_ROWS,
            f"{column.distinct} labels, {mean:.1f} rows each in the mean",
            drop_columns("group the rare labels, or leave it out", [column.name]),
            {"distinct": column.distinct, "rows_per_label": mean},
        )  # fmt: skip


def normal_form(labels: pl.Series) -> pl.Series:
    """Labels without case, accents, spaces and signs (what is left is what they say)."""
    plainer = labels.str.normalize("NFKD").str.replace_all(r"\p{M}+", "").str.to_lowercase()
    bare = plainer.str.replace_all(r"[^\p{L}\p{N}+<>=]+", "")
    # "-5" and "5", "1.5" and "15" must stay apart, and labels of signs alone must not all become one.
    numeric = labels.str.contains(r"\d[.,\-/:]\d|^[-+]\d|^[<>=]")
    return pl.select(pl.when((bare == "") | numeric).then(plainer.str.strip_chars()).otherwise(bare)).to_series()


def _ways(column: Column) -> pl.DataFrame:
    """Each label with its count, its lower-case form and its normal form."""
    labels = column.counts["label"]
    return column.counts.with_columns(labels.str.to_lowercase().alias("lower"), normal_form(labels).alias("normal"))


def one_way(ways: pl.DataFrame, key: str) -> dict[str, str]:
    """For labels that share a key: every one but the most frequent, with the most frequent it should become."""
    best = ways.unique(key, keep="first", maintain_order=True).select(key, pl.col("label").alias("best"))
    joined = ways.join(best, on=key, how="left").filter(pl.col("label") != pl.col("best"))
    return dict(joined.select("label", "best").iter_rows())


def _written(column: Column, code: str, kind: str, mapping: dict[str, str], words: str) -> Finding:
    labels = sorted({*mapping, *mapping.values()})
    at = column.series.is_in(list(mapping)).fill_null(False)
    return Finding(
        code, kind, [column.name], "medium", rows_of(at), f"labels such as {quoted(labels, 4)}",
        remedy(words, "replace-values", [column.name], {"mapping": {column.name: mapping}}),
        {"labels": len(labels)},
    )  # fmt: skip


def _same_in_case(column: Column, ways: pl.DataFrame) -> Iterator[Finding]:
    if ways["lower"].n_unique() < ways.height:
        yield _written(column, "A015", "labels that differ in case", one_way(ways, "lower"), "write each label one way")


def _same_but_signs(column: Column, ways: pl.DataFrame) -> Iterator[Finding]:
    if ways["normal"].n_unique() == ways["lower"].n_unique():
        return
    mixed = ways.filter(pl.col("lower").n_unique().over("normal") > 1)
    yield _written(
        column, "A025", "labels that differ in spaces or signs", one_way(mixed, "normal"),
        "write each label one way, without stray spaces",
    )  # fmt: skip


def _typos_and_rare(column: Column, ways: pl.DataFrame, is_target: bool) -> Iterator[Finding]:
    merged = ways.group_by("normal", maintain_order=True).agg(pl.col("label").first(), pl.col("count").sum())
    merged = merged.sort(["count", "label"], descending=[True, False])
    labels, counts = merged["label"].to_list(), merged["count"].to_list()
    slips = dict(likely_typos(labels, counts))
    if slips:
        at = column.series.is_in(list(slips)).fill_null(False)
        shown = ", ".join(f"'{rare}' for '{meant}'" for rare, meant in list(slips.items())[:3])
        yield Finding(
            "A022", "likely typos", [column.name], "medium", rows_of(at), f"{count(len(slips), 'rare label')}: {shown}",
            remedy("correct them", "replace-values", [column.name], {"mapping": {column.name: slips}}),
            {"labels": len(slips)},
        )  # fmt: skip
    if is_target or column.distinct > MANY_CATEGORIES:
        return
    total = sum(counts)
    odd = {label for label, many in zip(labels, counts) if many < 5 and many < 0.005 * total} - set(slips)
    # Numbers as text and broken characters are told elsewhere.
    odd = {label for label in odd if not re.search(rf"^\d|{_BROKEN}", label)}
    # The label that holds what is left over is meant to be small.
    rest = next((label for label in labels if label.strip().lower() == "other"), "other")
    odd.discard(rest)
    if odd and total >= 200:
        listed = sorted(odd)
        at = column.series.is_in(listed).fill_null(False)
        rows = rows_of(at)
        yield Finding(
            "A021", "rare categories", [column.name], "low", rows,
            f"{count(len(listed), 'label')} with {count(rows['count'], 'row')} in all "
            f"({share_text(rows['count'], total)}): {quoted(listed)}",
            remedy(
                "join them in one label, so that folds do not meet labels they never saw", "replace-values",
                [column.name], {"mapping": {column.name: dict.fromkeys(listed, rest)}},
            ), {"labels": len(listed)},
        )  # fmt: skip


def _broken_characters(column: Column) -> Iterator[Finding]:
    bad = column.tally.filter(pl.col("label").str.contains(_BROKEN))
    broken = bad.sort(["count", "label"], descending=[True, False])["label"]
    if not broken.len():
        return
    mapping = {}
    for label in broken.head(1000).to_list():
        try:
            mapping[label] = label.encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
    at = column.series.is_in(broken.to_list()).fill_null(False)
    yield Finding(
        "A040", "broken characters", [column.name], "medium", rows_of(at),
        f"{count(broken.len(), 'label')} read in the wrong encoding: {quoted(broken.sort())}",
        remedy(
            "read the file in its own encoding, or correct the labels", "replace-values" if mapping else None,
            [column.name], {"mapping": {column.name: mapping}} if mapping else {},
        ), {"labels": broken.len()},
    )  # fmt: skip
