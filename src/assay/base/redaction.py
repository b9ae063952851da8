"""No secret in any text: one redaction for what is printed, stored or put on a page.

Addresses are the only way a password comes in, and a mistyped one is the likeliest to be shown. So addresses are taken
apart strictly (see `assay.data.read_sql`), what only looks like one is never repeated, and every sentence of an error,
every message and every source that is kept passes through `redact`.
"""

from __future__ import annotations

import re

HIDDEN = "***"
_SCHEMES = r"postgres(?:ql)?|pgsql|sqlite3?|duckdb|mysql|mariadb|mssql|oracle|mongodb|redis|jdbc|odbc"
_ADDRESS = re.compile(
    rf"^(?![a-z]:[/\\])[^\w.~]*(?:(?P<scheme>{_SCHEMES})(?:\+\w+)?\s*(?:[:;]|[/\\]{{2}})|.*:.*@|.*\bpass\w*\s*=)",
    re.IGNORECASE | re.DOTALL,
)
_IN_URL = re.compile(r"((?:[a-z][a-z0-9+.-]*:?|:)[/\\]{1,3}[^\s/\\@:'\"]*):[^\s'\"]*@", re.IGNORECASE)
_WITHOUT_SLASHES = re.compile(rf"\b((?:{_SCHEMES})\W{{1,4}}[^\s/\\@:'\"]*):[^\s'\"]*@", re.IGNORECASE)
_NAMED = re.compile(r"(\b(?:\w*pass(?:word|wd|phrase)?|pwd|secret|\w*token|api_?key)=)[^&\s'\";]+", re.IGNORECASE)


def redact(text: object) -> str:
    """The text without the passwords of addresses in it.

    >>> redact("cannot connect to postgresql://ann:hush@db.org/shop?sslpassword=hush")
    'cannot connect to postgresql://ann:***@db.org/shop?sslpassword=***'
    >>> redact("see https://example.org/@ann or write to ann@example.org")
    'see https://example.org/@ann or write to ann@example.org'
    """
    shown = str(text)
    if "@" in shown:
        shown = _WITHOUT_SLASHES.sub(rf"\1:{HIDDEN}@", _IN_URL.sub(rf"\1:{HIDDEN}@", shown))
    return _NAMED.sub(rf"\1{HIDDEN}", shown) if "=" in shown else shown


def like_an_address(text: str) -> str | None:
    """The scheme ("" if there is none) of a text that looks like the address of a database; None for other text.

    Such a text may hold a password anywhere, so nothing of it is to be shown.

    >>> [like_an_address(text) for text in ("postgresql:/ann:hush@db.org/shop", "ann:hush@db.org", "a/b.csv")]
    ['postgresql', '', None]
    """
    found = _ADDRESS.match(text)
    return None if found is None else (found["scheme"] or "").lower()
