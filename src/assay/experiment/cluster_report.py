"""Clusters of a table in one call: preparation, several methods side by side, how many, how stable, what tells them
apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..base import DataError, ParameterError, Stream
from ..base.record import Grid, TableRecord
from ..base.words import clean, number, percent
from ..data import Table, audit
from ..data.table import no_use
from ..evaluate import ClusterAgreement, KChoice, adjusted_rand, choose_k, cluster_agreement, silhouette_samples
from ..models.clustering import DBSCAN, HDBSCAN, Hierarchical, KMeans
from ..models.mixtures import GaussianMixture
from ..numeric.moments import along_principal_axes
from ..prepare import auto_prepare

METHODS = ("k-means", "gaussian-mixture", "hierarchical", "dbscan", "hdbscan")
MOST_ROWS = 20_000
_FINDINGS = 12
_EVIDENCE_ROWS = 1000
_REFERENCES = 19  # the largest of so many is passed by chance once in twenty
STYLE = (
    "body{font-family:system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2126;"
    "background:#f6f5f1}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .7rem;text-align:right;"
    "border-bottom:1px solid #dedfd9}th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto}"
)

# In standard deviations (or on the arcsine scale of shares): what is smaller sets no cluster apart.
_LEAST_EFFECT = 0.1


@dataclass(frozen=True)
class ClusterReport(TableRecord):
    """Several clusterings of one table: their numbers, how far they agree, and profiles of the first one's clusters."""

    name: str
    n_rows: int
    columns: list[str]
    k: int
    choice: KChoice | None
    methods: list[dict[str, Any]]
    agreement: dict[str, dict[str, float]]
    profiles: list[dict[str, Any]]
    labels: list[int]
    notes: list[str]
    findings: list[dict[str, Any]]
    against: str | None
    external: dict[str, ClusterAgreement]
    evidence: dict[str, Any]
    """Adjusted Rand of k-means with `k` clusters with itself on halves of the rows (`stability`), and on tables without
    groups (`without_groups`); empty where no criterion asks for more than one."""
    sentence: str

    def grid(self) -> Grid:
        """A row for each method."""
        rows = [
            [
                m["method"],
                str(m["clusters"]),
                percent(m["noise"], 1),
                f"{number(m['silhouette'])} ({number(m['silhouette_low'])} to {number(m['silhouette_high'])})",
                f"{number(m['stability'])} ({number(m['stability_low'])} to {number(m['stability_high'])})",
            ]
            for m in self.methods
        ]
        return Grid(
            ["method", "clusters", "noise", "silhouette", "stability"], rows, notes=(self.sentence, *self.notes)
        )

    def finding_grid(self) -> Grid:
        """What the audit finds wrong with the table, most severe first."""
        return Grid(
            ["severity", "finding", "evidence"],
            [[f["severity"], f["kind"], clean(f["evidence"], 200)] for f in self.findings[:_FINDINGS]],
            notes=(f"and {len(self.findings) - _FINDINGS} more: assay audit",)
            if len(self.findings) > _FINDINGS
            else (),
            left=3,
        )

    def external_grid(self) -> Grid:
        """Agreement of each method with the labels that are known."""
        rows = [
            [
                name,
                f"{number(one.adjusted_rand)} ({number(one.interval[0])} to {number(one.interval[1])})",
                *map(number, (one.adjusted_mutual_information, one.purity, one.pair_f1)),
            ]
            for name, one in self.external.items()
        ]
        return Grid(["method", "adjusted Rand", "adjusted information", "purity", "pair F1"], rows)

    def profile_grid(self) -> Grid:
        """What tells the clusters apart, in words."""
        return Grid(
            ["cluster", "rows", "what it is"], [[str(p["cluster"]), str(p["rows"]), p["words"]] for p in self.profiles]
        )

    def agreement_grid(self) -> Grid:
        """Adjusted Rand index of each two methods."""
        names = list(self.agreement)
        return Grid(["", *names], [[a, *(number(self.agreement[a][b]) for b in names)] for a in names])

    def to_page(self) -> str:
        """One file of HTML with its own style and no script."""
        parts = [f"<h1>Clusters of {escape(clean(self.name, 80))}</h1>", f"<p>{escape(self.sentence)}</p>"]
        if self.findings:
            parts += ["<h2>What the audit found</h2>", self.finding_grid().to_html()]
        if self.choice is not None:
            parts += ["<h2>How many clusters</h2>", self.choice.to_html()]
        parts += ["<h2>Methods side by side</h2>", self.grid().to_html()]
        parts += ["<h2>What tells the clusters apart</h2>", self.profile_grid().to_html()]
        parts += ["<h2>Agreement of the methods (adjusted Rand)</h2>", self.agreement_grid().to_html()]
        if self.against is not None:
            title = f"Against {escape(clean(self.against, 40))}"
            parts += [f"<h2>{title}</h2>", self.external_grid().to_html()]
            parts += [f"<h3>{escape(n)}</h3>{one.grid().to_html()}" for n, one in self.external.items()]
        head = f'<meta charset="utf-8"><title>Clusters of {escape(clean(self.name, 80))}</title><style>{STYLE}</style>'
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def cluster_table(
    table: Table,
    k: int | None = None,
    *,
    methods: Iterable[str] = METHODS,
    drop: Iterable[str] = (),
    against: str | None = None,
    n_resamples: int = 10,
    random_state: Any = 0,
) -> ClusterReport:
    """Cluster the rows of a table by several methods.

    Columns are prepared as k-means needs them (indicators, imputation, standard deviations of 1). `k` is asked of four
    criteria if None. Stability is the mean adjusted Rand index of a method's labels with those it gives to
    `n_resamples` halves of the rows, with its 5th and 95th percentile. Whether there are groups at all is asked of the
    gap statistic and of stability: k-means must find its clusters again on halves of the rows better than on 19 tables
    of the same spread without groups; the sentence says where it does not, and where the criteria disagree. The
    interval of the mean silhouette takes the
    clusters as given and the rows for a sample. Profiles are those of the first method's clusters. `against` names a
    column of known labels, which stays out of the clustering and is compared with each method's.

    >>> from assay.data import load_dataset
    >>> report = cluster_table(load_dataset("iris"), k=3, methods=["k-means"], drop=["species"], n_resamples=2)
    >>> report.k, [p["rows"] for p in report.profiles] != []
    (3, True)
    """
    wanted = list(methods)
    unknown = [name for name in wanted if name not in METHODS]
    if unknown or not wanted:
        rule = f"must name some of {', '.join(METHODS)}"
        raise ParameterError("cluster_table", "parameter 'methods'", rule, f"got {unknown or wanted}")
    stream = Stream.of(random_state)
    notes: list[str] = []
    if against is not None and against not in table.columns:
        raise ParameterError(
            "cluster_table", "parameter 'against'", "must name a column of the table", f"got '{clean(against, 80)}'"
        )
    frame, names = _usable(table, set(drop) | ({against} if against is not None else set()), notes)
    roles = {name: table.roles[name] for name in names}
    prepared = auto_prepare(roles, "k-means").fit_transform(frame)
    matrix = np.ascontiguousarray(np.asarray(prepared, dtype=np.float64))
    kept = np.arange(matrix.shape[0])
    if matrix.shape[0] > MOST_ROWS:
        kept = np.sort(stream.child(1).generator().choice(matrix.shape[0], MOST_ROWS, replace=False))
        notes.append(f"{MOST_ROWS:,} of {matrix.shape[0]:,} rows were drawn.")
    rows = matrix[kept]
    if k is not None and not 1 <= k <= len(rows):
        raise ParameterError("cluster_table", "parameter 'k'", f"must lie between 1 and {len(rows)}", f"got {k}")
    choice = None
    if k is None:
        choice = choose_k(rows, most_rows=3000, n_references=5, random_state=stream.child(2).generator())
        k = choice.chosen
    labels: dict[str, np.ndarray] = {}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, name in enumerate(wanted):
            labels[name] = _labels(name, rows, k)
            stability = _stability(name, rows, labels[name], k, stream.child(10 + place), n_resamples)
            found.append(_told(name, rows, labels[name], stability))
    first = wanted[0]
    agreement = {a: {b: adjusted_rand(labels[a], labels[b]) for b in wanted} for a in wanted}
    profiles = _profiles(frame, kept, labels[first]) if len(np.unique(labels[first])) > 1 else []
    notes.append(
        "Profiles give effects and no p-values: clusters are made to differ in these columns, so a test would."
    )
    external = {}
    if against is not None:
        known = np.array(["" if cell is None else str(cell) for cell in table.frame[against].to_list()])[kept]
        external = {name: cluster_agreement(labels[name], known) for name in wanted}
    # One cluster, or noise alone, is found again in any half of the rows.
    stable = max(found, key=lambda one: (one["clusters"] > 1, one["stability"]))
    best = f"{stable['method']} (adjusted Rand {number(stable['stability'])} on halves)"
    tried = k if k > 1 or choice is None else choice.runner_up()
    evidence = _evidence(rows, tried, stream.child(3)) if tried > 1 else {}
    return ClusterReport(
        name=table.name,
        n_rows=table.n_rows,
        columns=names,
        k=k,
        choice=choice,
        methods=found,
        agreement=agreement,
        profiles=profiles,
        labels=labels[first].tolist(),
        notes=notes,
        findings=[f for f in audit(table).to_dict()["findings"] if f["severity"] != "low"],
        against=against,
        external=external,
        evidence=evidence,
        sentence=_verdict(k, choice, evidence, best),
    )


def _usable(table: Table, drop: set[str], notes: list[str]) -> tuple[Any, list[str]]:
    """The columns that say something of rows: neither dropped, nor keys, constant or empty."""
    unknown = sorted(drop - set(table.columns))
    if unknown:
        raise ParameterError(
            "cluster_table", "parameter 'drop'", "must name columns of the table", f"got '{unknown[0]}'"
        )
    useless = [c for c in table.columns if c not in drop and no_use(table.frame[c], table.roles[c])]
    odd = [c for c in table.columns if c not in drop and c not in useless and _near_key(table, c)]
    names = [c for c in table.columns if c not in drop and c not in useless and c not in odd]
    if not names:
        raise DataError("cluster_table", f"table '{clean(table.name, 80)}'", "has no column that varies")
    if odd:
        notes.append(
            "Left out, since they are dates, or texts of which few are equal, which would make clusters of cells: "
            f"{', '.join(clean(c, 40) for c in odd)}."
        )
    if useless:
        notes.append(f"Left out, since they are keys, constant or empty: {', '.join(clean(c, 40) for c in useless)}.")
    return table.frame.select(names), names


def _near_key(table: Table, name: str) -> bool:
    """Whether a column holds dates or texts, or labels of which more than half of the rows have one of their own."""
    role, cells = table.roles[name].role, table.frame[name].drop_nulls()
    if role in ("datetime", "text"):
        return True
    return role == "nominal" and cells.len() > 20 and cells.n_unique() > cells.len() // 2


def _labels(name: str, rows: np.ndarray, k: int) -> np.ndarray:
    if name == "k-means":
        return KMeans(k, n_init=10, random_state=0).fit(rows).labels_
    if name == "gaussian-mixture":
        return GaussianMixture(k, n_init=5, random_state=0, reg_covar=1e-3).fit(rows).labels_
    if name == "hierarchical":
        return Hierarchical(k).fit(rows).labels_
    if name == "dbscan":
        return DBSCAN(eps="auto", min_samples=max(5, min(2 * rows.shape[1], 20))).fit(rows).labels_
    return HDBSCAN(max(5, len(rows) // 50)).fit(rows).labels_


def _stability(name: str, rows: np.ndarray, labels: np.ndarray, k: int, stream: Stream, resamples: int) -> np.ndarray:
    """Adjusted Rand index of the labels with those of halves of the rows."""
    values = []
    for b in range(resamples):
        half = np.sort(
            stream.child(b).generator().choice(len(rows), max(len(rows) // 2, min(k, len(rows))), replace=False)
        )
        values.append(adjusted_rand(labels[half], _labels(name, rows[half], k)))
    return np.array(values)


def _evidence(rows: np.ndarray, k: int, stream: Stream) -> dict[str, Any]:
    """How well k-means finds its k clusters again on halves: of the rows, and of tables of the same spread without
    groups, uniform in the box of the principal axes or normal by turns."""
    if len(rows) > _EVIDENCE_ROWS:
        rows = rows[np.sort(stream.child(-1).generator().choice(len(rows), _EVIDENCE_ROWS, replace=False))]
    *_, places = along_principal_axes(rows)

    def stability(table: np.ndarray, own: Stream) -> float:
        return float(_stability("k-means", table, _labels("k-means", table, k), k, own, 3).mean())

    chance = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for b in range(_REFERENCES):
            draw = stream.child(b).generator()
            if b % 2:
                drawn = draw.uniform(places.min(axis=0), places.max(axis=0), size=places.shape)
            else:
                drawn = places.std(axis=0) * draw.normal(size=places.shape)
            chance.append(stability(drawn, stream.child(b).child(1)))
        return {"k": k, "stability": stability(rows, stream.child(_REFERENCES)), "without_groups": chance}


def _verdict(k: int, choice: KChoice | None, evidence: dict[str, Any], best: str) -> str:
    """How many clusters, in words, and what speaks against them."""
    votes = {} if choice is None else choice.best
    said = ", ".join(f"{name} says {found}" for name, found in votes.items())
    disagree = len(set(votes.values())) > 1
    if not evidence:
        return "One cluster: the rows do not fall into groups that the criteria would tell apart; --k asks for more."
    tried, held, most = evidence["k"], evidence["stability"], max(evidence["without_groups"])
    better = "better" if held > most else "no better"
    chance = (
        f"k-means finds {tried} clusters again on halves {better} (adjusted Rand {number(held)}) than on tables "
        f"without groups (up to {number(most)})"
    )
    if k == 1 and not held > most and votes.get("gap", 1) == 1:
        return f"One cluster: no evidence for more. {chance[0].upper()}{chance[1:]}, and the criteria say: {said}."
    if k == 1:
        return f"One cluster by a split vote: the criteria disagree ({said}), and {chance}; look at --k {tried}, too."
    if not held > most and (choice is None or votes.get("gap") == 1):
        reasons = chance if choice is None else f"the gap statistic says 1, and {chance}"
        shown = f" The criteria disagree ({said}); {k} clusters are shown." if disagree else ""
        return f"No evidence for more than one cluster: {reasons}.{shown}"
    words = f"{k} clusters; the most stable method is {best}."
    if not held > most:
        words += f" Take them with care: {chance}."
    if disagree:
        words += f" The criteria disagree on the number: {said}."
    elif votes:
        words += f" All criteria say {k}."
    return words


def _told(name: str, rows: np.ndarray, labels: np.ndarray, stability: np.ndarray) -> dict[str, Any]:
    inside = labels >= 0
    several = len(np.unique(labels[inside])) > 1
    each = silhouette_samples(rows[inside], labels[inside]) if several else np.zeros(1)
    half = 1.96 * float(each.std()) / np.sqrt(each.size)
    low, high = np.quantile(stability, [0.05, 0.95]) if stability.size else (np.nan, np.nan)
    return {
        "method": name,
        "clusters": int(labels.max(initial=-1)) + 1,
        "noise": float((~inside).mean()),
        "silhouette": float(each.mean()),
        "silhouette_low": float(each.mean()) - half,
        "silhouette_high": float(each.mean()) + half,
        "stability": float(stability.mean()) if stability.size else 0.0,
        "stability_low": float(low),
        "stability_high": float(high),
    }


def _profiles(frame: Any, kept: np.ndarray, labels: np.ndarray) -> list[dict[str, Any]]:
    """For each cluster the three columns that set it apart most, in standard deviations or shares."""
    told = []
    columns = {name: frame[name].to_list() for name in frame.columns}
    for c in range(int(labels.max(initial=-1)) + 1):
        own = labels == c
        marks: list[tuple[float, str]] = []
        for name, cells in columns.items():
            values = [cells[i] for i in kept]
            numeric = all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values)
            if numeric:
                numbers = np.array([np.nan if v is None else float(v) for v in values])
                spread = float(np.nanstd(numbers)) or 1.0
                here = float(np.nanmean(numbers[own])) if np.isfinite(numbers[own]).any() else np.nan
                gap = (here - float(np.nanmean(numbers))) / spread
                if abs(gap) >= _LEAST_EFFECT:
                    side = "high" if gap > 0 else "low"
                    marks.append((abs(gap), f"{side} {clean(name, 40)} (mean {number(here)}, {gap:+.1f} sd)"))
            else:
                texts = np.array(["missing" if v is None else str(v) for v in values])
                kinds, counts = np.unique(texts[own], return_counts=True)
                top = kinds[np.argmax(counts)]
                share, overall = counts.max() / own.sum(), float((texts == top).mean())
                effect = float(2 * np.arcsin(np.sqrt(share)) - 2 * np.arcsin(np.sqrt(overall)))
                said = f"{clean(name, 40)} is {clean(top, 40)} in {percent(share, 0)} ({percent(overall, 0)} of all)"
                if abs(effect) >= _LEAST_EFFECT:
                    marks.append((abs(effect), said))
        marks.sort(key=lambda mark: -mark[0])
        words = "; ".join(said for _, said in marks[:3]) or "near the average in all columns"
        told.append({"cluster": c, "rows": int(own.sum()), "words": words})
    return told
