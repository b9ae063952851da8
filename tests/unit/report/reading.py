"""Reads a page back: elements in order, balance of tags, texts."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """All elements with attributes, the texts under each, and every fault in the nesting of tags."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.faults: list[str] = []
        self.texts: list[str] = []
        self.texts_by_tag: list[tuple[str, str]] = []
        self.data: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append(f"attribute twice in <{tag}>")
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "data":
            self.data.append((dict(attrs)["value"], ""))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> does not close the last open element")

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)
            self.texts_by_tag.append((self.open[-1], data))
        if self.open and self.open[-1] == "data":
            value, text = self.data[-1]
            self.data[-1] = (value, text + data)

    @property
    def text(self) -> str:
        """Everything a reader can see, in order."""
        return " ".join(" ".join(self.texts).split())
