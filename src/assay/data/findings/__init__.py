"""The audit: what is wrong, or may be wrong, with a table, before any model sees it.

Each finding has a stable code:

====  ====================================  ========================================================================
A001  missing                               cells are missing, and as far as tests can tell, why
A002  all missing                           a column holds nothing
A003  constant                              a column holds one value
A004  duplicate rows                        rows repeat an earlier row
A005  identifier                            a column names rows and does not describe them
A006  copy of the target                    a column all but equals the target (a leak)
A007  disguised missing                     a value that looks like a code for "missing" (-999, "unknown")
A008  many categories                       a nominal column with very many labels
A009  imbalance                             one class holds nearly all rows
A010  rare class                            a class with very few rows
A011  unreadable cells                      cells of a number or date column could not be read, or are infinite
A012  copy of a column                      two columns hold the same
A013  free text                             a column of prose
A014  rows without target                   the target is missing
A015  labels that differ in case            "Yes" and "yes" in one column
A016  contradictory rows                    equal features, different classes
A017  missing depends on columns            the share of missing cells changes with other columns
A018  missing not at random                 suspected: the column breaks off at one end, or gaps go with the target
A019  duplicate keys                        an identifier that is otherwise unique repeats
A020  near-duplicate rows                   rows repeat an earlier row but for case, spaces or signs
A021  rare categories                       labels with hardly any rows
A022  likely typos                          rare labels one slip away from a frequent one
A023  mixed formats                         dates, numbers or codes written in several ways
A024  mixed units                           "12 kg" and "12000 g" in one column
A025  labels that differ in spaces, signs   "New York", "New  York" and "new-york" in one column
A026  scale drift                           a cluster of values 1000 times the others: another unit
A027  out of range                          values that cannot be, by a rule or by the column's name
A028  outliers                              single values far from the others
A029  outlying rows                         rows far from the others over all numeric columns together
A030  strong collinearity                   columns that go together (correlation or variance inflation)
A031  linear dependence                     a column that is an exact linear function of others
A032  near-perfect feature                  one column alone predicts the target almost perfectly
A033  rows in the order of the target       the row number or an identifier tells the target
A034  drift along the rows                  columns that change with the row number
A035  overlap of the tables                 rows or identifiers of the other table are in this one
A036  drift                                 a column's distribution differs between the tables
A037  different columns                     columns that only one table has, or of another type
A038  unseen categories                     labels that only the other table has
A039  tables that can be told apart         all columns together give away which table a row is from
A040  broken characters                     text that was read in the wrong encoding
A041  dates in the wrong order              an end before its beginning
A042  repeated units                        rows of one unit (patient, machine) that share the target
A043  rows in time                          a date for each row: later rows should be predicted from earlier ones
====  ====================================  ========================================================================

Row numbers count from 0; those of A035 and A038 count in the other table. Everything is exact and over all rows, except
A039, the intervals of A032 and Little's test in A001, which take 20,000 rows of larger tables. Codes that begin with M
come from `merge_check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..table import Table, Target
from .against import against_findings
from .finding import SEVERITIES as SEVERITIES
from .finding import Audit as Audit
from .finding import Finding as Finding
from .formats import format_findings, identifier_findings
from .labels import label_findings
from .missing import cut_of, disguised_findings, missing_findings
from .numbers import check_rules, outlier_findings, range_findings
from .relations import collinear_findings, copy_findings, reversed_dates, time_findings
from .rows import distance_findings, duplicate_findings, order_findings
from .survey import Column, Survey
from .targets import target_findings


# Cells near the end of what a double can hold overflow when squared; the checks then see infinity and keep quiet.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def audit(
    table: Table | Any,
    target: str | Target | None = None,
    *,
    against: Table | Any | None = None,
    rules: Mapping[str, Any] | None = None,
) -> Audit:
    """Look for what is wrong with a table (or a pandas or Polars frame).

    `target` adds the checks that need one, `against` compares with another table of the same kind (overlap and drift
    between training and test rows), and `rules` are yours, such as {"age": {"min": 0, "max": 120}, "sex": {"allowed":
    ["f", "m"]}}.

    >>> import polars as pl
    >>> from assay.data import Table
    >>> table = Table.from_frame(pl.DataFrame({"x": [1.5, 2.5, None], "k": [7, 7, 7]}))
    >>> print(audit(table))
    table: 3 rows, 2 columns, 2 findings
      A001  medium  missing   x  1 of 3 values are missing (33.3 %); impute them, or use a method that takes them
      A003  low     constant  k  every row holds '7'; leave it out
    >>> audit(table, rules={"x": {"max": 2}}).findings[0].evidence
    "1 value against the rule at most 2: '2.5'"
    """
    table = table if isinstance(table, Table) else Table.from_frame(table)
    chosen = table.target(target) if isinstance(target, str) else target
    name = chosen.name if chosen is not None else None
    given = check_rules(rules, table.frame)
    from ..description import summary  # builds on this package

    survey = Survey.of(table, wait=True)

    def look(column: Column) -> list[Finding]:
        """All that the sorted cells of one column are for."""
        survey.prepare(column)
        own = [*disguised_findings(survey, column), *range_findings(survey, column, given), *outlier_findings(column)]
        if column.missing < survey.n_rows:
            if not column.is_text:
                survey.summaries[column.name] = summary(column)
            if column.missing:
                cut_of(survey, column)
        return own

    found = [finding for own in survey.each(look) for finding in own]
    found += [
        *missing_findings(survey, name),
        *identifier_findings(survey, name),
        *format_findings(survey),
        *label_findings(survey, name),
        *duplicate_findings(survey, chosen),
        *distance_findings(survey, name),
        *copy_findings(survey, name),
        *collinear_findings(survey, name),
        *reversed_dates(survey),
        *time_findings(survey, chosen),
        *order_findings(survey, chosen),
    ]
    if chosen is not None:
        found += target_findings(survey, chosen)
    if against is not None:
        other = against if isinstance(against, Table) else Table.from_frame(against, name="the other table")
        found += against_findings(survey, Survey.of(other), name)
    found = _once(found)
    order = {column: position for position, column in enumerate(table.columns)}
    found.sort(key=lambda f: (SEVERITIES.index(f.severity), f.code, order.get(f.columns[0], -1) if f.columns else -1))
    survey.settle()
    return Audit(table.name, table.n_rows, len(table.columns), found, table, name, survey=survey)


def _once(found: list[Finding]) -> list[Finding]:
    """Findings without those that another one of the same column explains better."""
    explained: dict[tuple[str, str], set[int]] = {}
    for finding in found:
        if finding.columns:
            explained.setdefault((finding.columns[0], finding.code), set()).update(finding.rows["first"])

    def better(finding: Finding) -> bool:
        if finding.code == "A028":
            rows = set().union(*(explained.get((finding.columns[0], code), ()) for code in ("A007", "A027")))
            return set(finding.rows["first"]) <= rows
        if finding.code in ("A008", "A021", "A025"):
            return any((finding.columns[0], code) in explained for code in ("A023", "A024"))
        return False

    return [finding for finding in found if not better(finding)]
