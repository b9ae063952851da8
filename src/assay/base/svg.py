"""Drawing ground of the figures: one palette, text that fits, and SVG elements with everything escaped.

Every mark carries its light colour as an attribute (so a figure stands alone) and a class such as `f-accent`
(so the page can recolour it in dark mode). No figure uses a style attribute: the page forbids them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from .words import clean

# token: (light, dark). Text tokens keep a contrast of 4.5 on `paper`, marks one of 3, in both modes.
PALETTE: dict[str, tuple[str, str]] = {
    "page": ("#f6f5f1", "#121417"),
    "paper": ("#ffffff", "#1a1d21"),
    "ink": ("#1d2126", "#e9e7e2"),
    "muted": ("#59616e", "#a4abb6"),
    "line": ("#dedfd9", "#363b42"),
    "soft": ("#f0efea", "#262a30"),
    "edge": ("#c3c6be", "#535a64"),
    "accent": ("#0f6168", "#5fc4c7"),
    "warm": ("#a8580a", "#eba550"),
    "bad": ("#b3261e", "#f2938c"),
    "g0": ("#0f766e", "#4cc9be"),
    "g1": ("#b45309", "#f0a44b"),
    "g2": ("#6d4bb8", "#b79cf0"),
    "g3": ("#2563a8", "#74aef0"),
    "g4": ("#b0305f", "#f08aac"),
    "g5": ("#59616e", "#a4abb6"),
    "c0": ("#2f6f9f", "#6aaee0"),
    "c1": ("#c77a12", "#f0b04f"),
    "c2": ("#2f8a5f", "#5fc794"),
    "c3": ("#9554a0", "#cf95da"),
    "c4": ("#c04a36", "#f08a76"),
    "c5": ("#2b8ba6", "#6fcbe3"),
    "c6": ("#7d6d3f", "#c9b678"),
    "c7": ("#c25f86", "#f0a5c0"),
    "c8": ("#7d848e", "#8f96a1"),
}
GROUPS = 6
CLASSES = 8
FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'


def group_index(group: object) -> int:
    """The place of a group's (first) letter: a is 0; what is not a letter counts as last."""
    letter = str(group or "")[:1].lower()
    return min(ord(letter) - ord("a"), GROUPS - 1) if "a" <= letter <= "z" else GROUPS - 1


_VERDICTS = {"best": 0, "equivalent": 0, "better": 0, "baseline": 1, "undecided": 1, "worse": 2}


def standing(learner: Mapping[str, Any]) -> tuple[str, int]:
    """The letter or the verdict of a learner, and the place of its colour and shape.

    >>> standing({"group": "b"}), standing({"group": None, "verdict": "worse"})
    (('b', 1), ('worse', 2))
    """
    if learner.get("group"):
        return str(learner["group"])[:6], group_index(learner["group"])
    word = str(learner.get("verdict") or "")
    return (word, _VERDICTS[word]) if word in _VERDICTS else ("", GROUPS - 1)


def class_token(index: int) -> str:
    """The colour token of a class; classes after the eighth share one."""
    return f"c{min(index, CLASSES)}"


def num(value: float) -> str:
    """A coordinate with at most one decimal.

    >>> num(3.0), num(2.25)
    ('3', '2.2')
    """
    return f"{value:.1f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


def paint(fill: str | None = None, stroke: str | None = None) -> str:
    """Attributes that colour a mark by palette tokens."""
    names = [f"f-{fill}"] if fill else []
    names += [f"s-{stroke}"] if stroke else []
    colour = f' fill="{PALETTE[fill][0]}"' if fill else ' fill="none"' if stroke else ""
    colour += f' stroke="{PALETTE[stroke][0]}"' if stroke else ""
    return f'{colour} class="{" ".join(names)}"' if names else colour


def text(
    x: float,
    y: float,
    content: object,
    fill: str = "ink",
    size: float = 13,
    anchor: str = "",
    weight: int = 0,
    full: str = "",
) -> str:
    """One line of text; `full` becomes its tooltip."""
    extra = f' text-anchor="{anchor}"' if anchor else ""
    extra += f' font-weight="{weight}"' if weight else ""
    extra += f' font-size="{num(size)}"' if size != 13 else ""
    tip = f"<title>{escape(clean(full, 600))}</title>" if full else ""
    return f'<text x="{num(x)}" y="{num(y)}"{extra}{paint(fill)}>{escape(clean(content, 600))}{tip}</text>'


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str | None = None,
    stroke: str | None = None,
    radius: float = 0,
    opacity: float = 1,
    tip: str = "",
) -> str:
    """A rectangle; `tip` becomes its tooltip."""
    extra = f' rx="{num(radius)}"' if radius else ""
    extra += f' fill-opacity="{opacity:.2f}"' if opacity != 1 else ""
    size = f'width="{num(max(width, 0))}" height="{num(max(height, 0))}"'
    head = f'<rect x="{num(x)}" y="{num(y)}" {size}{extra}{paint(fill, stroke)}'
    return f"{head}><title>{escape(clean(tip, 600))}</title></rect>" if tip else f"{head}/>"


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = "line", width: float = 1, dash: str = "") -> str:
    """A straight line."""
    extra = f' stroke-width="{num(width)}"' if width != 1 else ""
    extra += f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}"{extra}{paint(stroke=stroke)}/>'


def figure(body: list[str], width: float, height: float, title: str, description: str) -> str:
    """The whole SVG element, with a title and a description for those who cannot see it."""
    return (
        f'<svg{NAMESPACE} viewBox="0 0 {num(width)} {num(height)}" width="{num(width)}" height="{num(height)}"'
        f' font-family="{FONT}" font-size="13" role="img"><title>{escape(clean(title, 300))}</title>'
        f"<desc>{escape(clean(description, 4000))}</desc>{''.join(body)}</svg>"
    )


def text_width(content: str, size: float = 13) -> float:
    """A safe estimate of how wide a text is drawn: the font of the reader is not known."""
    wide = sum(
        1.0 if ord(ch) > 0x2E7F or ch in "mwMW@%…" else 0.36 if ch in "iljftI.,:;'|! ()[]" else 0.61 for ch in content
    )
    return wide * size


def fit(content: object, room: float, size: float = 13) -> tuple[str, str]:
    """The text cut to the room it has, and its full form if something was cut.

    >>> fit("income", 100)
    ('income', '')
    """
    whole = clean(content, 600)
    if text_width(whole, size) <= room:
        return whole, ""
    end = len(whole)
    while end > 1 and text_width(whole[:end] + "…", size) > room:
        end -= 1
    return whole[:end].rstrip() + "…", whole


def wrap(content: object, room: float, size: float = 13, lines: int = 3) -> tuple[list[str], str]:
    """The text in at most `lines` lines that fit the room, and its full form if something was cut.

    >>> wrap("outlook in {sunny, rainy}", 110)
    (['outlook in', '{sunny, rainy}'], '')
    """
    whole = clean(content, 600)
    made: list[str] = []
    rest = whole.split(" ")
    while rest:
        if len(made) == lines - 1:
            last, cut = fit(" ".join(rest), room, size)
            return [*made, last], whole if cut else ""
        words = 1
        while words < len(rest) and text_width(" ".join(rest[: words + 1]), size) <= room:
            words += 1
        first = " ".join(rest[:words])
        if words == 1 and text_width(first, size) > room:
            end = len(first)
            while end > 1 and text_width(first[:end], size) > room:
                end -= 1
            made.append(first[:end])
            rest[0] = first[end:]
        else:
            made.append(first)
            rest = rest[words:]
    return made, ""


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round positions on an axis.

    >>> ticks(0.71, 0.93, 5)
    [0.75, 0.8, 0.85, 0.9]
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    raw = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]
