"""Likely typing mistakes among labels: a rare label one slip away from a frequent one.

The distance is Damerau's and Levenshtein's restricted one: insert, delete, replace or swap two neighbours, each at a
cost of one (Damerau 1964). Candidates come from an index of deletions: two words at distance k share a word that each
reaches by at most k deletions, so frequent labels are listed under their shortened forms and rare ones are looked up
there, without comparing every pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MOST_FREQUENT = 2000
MOST_RARE = 5000
LONGEST = 40
_OPPOSITES = (
    "un",
    "in",
    "im",
    "il",
    "ir",
    "non",
    "no ",
    "not ",
    "dis",
    "de",
    "re",
    "pre",
    "a",
    "fe",
    "sub",
    "bi",
    "ex",
)


def edit_distance(one: str, other: str, most: int = 2) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two texts; `most` + 1 if there are more.

    >>> edit_distance("berlin", "berlni"), edit_distance("paris", "pariss"), edit_distance("rome", "oslo")
    (1, 1, 3)
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        now = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        before, last = last, now
        if min(last) > most:
            return most + 1
    return min(last[-1], most + 1)


def allowed_distance(text: str) -> int:
    """How many slips a text of this length may have: none under four letters, one under eight, then two."""
    return 0 if len(text) < 4 else 1 if len(text) < 8 else 2


def is_slip(rare: str, frequent: str) -> bool:
    """Whether one label may be a mistyped other: near by letters, and no pair that language or numbering sets apart.

    >>> is_slip("femlae", "female"), is_slip("male", "female"), is_slip("A1", "A2"), is_slip("unlikely", "likely")
    (True, False, False, False)
    """
    one, other = rare.lower().strip(), frequent.lower().strip()
    if one == other or re.sub(r"\d+", "0", one) == re.sub(r"\d+", "0", other):
        return False
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    most = min(allowed_distance(one), allowed_distance(other))
    if most == 0:
        # Three letters that are the same three, two of them swapped.
        return len(one) == len(other) == 3 and sorted(one) == sorted(other) and edit_distance(one, other, 1) == 1
    short, long = sorted((one, other), key=len)
    if long.endswith(short) and long[: len(long) - len(short)] in _OPPOSITES:
        return False
    if " " in one and " " in other and _word_apart(one.split(), other.split()):
        return False
    return edit_distance(one, other, most) <= most


def _word_apart(one: Sequence[str], other: Sequence[str]) -> bool:
    """Labels of several words that differ in a short word: "class a" and "class b", "type ii" and "type iii"."""
    if len(one) != len(other):
        return False
    return any(a != b and min(len(a), len(b)) < 4 for a, b in zip(one, other))


def _shortened(text: str, most: int) -> set[str]:
    found = {text}
    edge = {text}
    for _ in range(most):
        edge = {word[:k] + word[k + 1 :] for word in edge for k in range(len(word))}
        found |= edge
    return found


def likely_typos(labels: Sequence[str], counts: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Pairs (rare label, the frequent label it is probably meant to be), for labels sorted by falling count.

    A rare label has at most a twentieth of the other's rows, and at most 1 % of all.

    >>> list(likely_typos(["Berlin", "Hamburg", "Berln"], [60, 55, 1]))
    [('Berln', 'Berlin')]
    """
    total = sum(counts)
    limit = max(2, 0.01 * total)
    frequent = [(label, count) for label, count in zip(labels, counts) if count >= 10 and len(label) <= LONGEST]
    rare = [(label, count) for label, count in zip(labels, counts) if count <= limit and len(label) <= LONGEST]
    frequent, rare = frequent[:MOST_FREQUENT], rare[:MOST_RARE]
    if not frequent or not rare:
        return
    # Labels that are all about as frequent have no pair to look at.
    most, fewest = max(count for _, count in frequent), min(count for _, count in rare)
    frequent = [(label, count) for label, count in frequent if count >= 20 * fewest]
    rare = [(label, count) for label, count in rare if most >= 20 * count]
    index: dict[str, list[tuple[str, int]]] = {}
    for label, count in frequent:
        for form in _shortened(label.lower(), max(allowed_distance(label), 1 if len(label) == 3 else 0)):
            index.setdefault(form, []).append((label, count))
    for label, count in rare:
        near: dict[str, int] = {}
        for form in _shortened(label.lower(), max(allowed_distance(label), 1 if len(label) == 3 else 0)):
            near.update({meant: times for meant, times in index.get(form, ()) if times >= 20 * count})
        found = [meant for meant in near if is_slip(label, meant)]
        if found:
            yield label, min(found, key=lambda meant: (edit_distance(label.lower(), meant.lower()), -near[meant]))
