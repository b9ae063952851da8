"""Text files as clean UTF-8, block by block, in bounded memory.

A `TextStream` unpacks gzip, finds the encoding, and yields blocks that end at line ends. It refuses, naming the line
and the column: a gzip file that is cut off, zero bytes, lines beyond `assay.config`'s limit, bytes that the encoding
does not have, and two encodings in one file. The encoding stays open while only ASCII has been seen; the first block
with other bytes decides it, and every later block must agree.
"""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator

import numpy as np

from ..base import config
from ..base.errors import DataError, ParameterError, plain
from .read_notes import WHO, Decision, refuse, succession
from .read_source import SourceFile, too_large

_CHUNK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_SEQUENCE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_HIGH_LINE = re.compile(rb"[^\n]*[\x80-\xff][^\n]*")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_NOT_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_LEAST_CONFIDENCE = 0.5
_OTHER_ARCHIVES = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"BZh", "a bzip2 file"),
)


class TextStream:
    """A text file as an iterator of UTF-8 blocks; `decision` holds the encoding once it is known."""

    def __init__(self, file: SourceFile, encoding: str | None = None):
        self.file = file
        self.shown = file.shown
        self.decision = Decision("encoding", "UTF-8", 1.0, "only ASCII, which most encodings share")
        self.name_column: Callable[[bytes], str] | None = None
        """Says in which column the text after these first bytes of a line stands."""
        self._given = encoding is not None
        self._codec: str | None = None
        self._first_utf8_line = 0
        self._lines = 0
        self._offset = 0
        if encoding is not None:
            try:
                self._codec = codecs.lookup(encoding).name
                "".encode(self._codec)
            except (LookupError, ValueError, TypeError):
                raise ParameterError(
                    WHO, "parameter 'encoding'", "must name an encoding", f"got {plain(encoding)!r}"
                ) from None
            self.decision = Decision("encoding", encoding, 1.0, "it was given")

    def head(self, size: int = 1 << 18) -> bytes:
        """The first bytes, for looking at only, cut at a line end where there is one."""
        parts, length, line_end = [], 0, False
        for chunk in self._raw():
            parts.append(chunk)
            length += len(chunk)
            line_end = line_end or b"\n" in chunk or b"\r" in chunk
            # The first line counts even where it is longer: it holds the names.
            if length > config.get().max_line_bytes or (length >= size and line_end):
                break
        first = b"".join(parts)
        first = first[: max(size, first.find(b"\n") + 1)]
        codec = self._codec if self._given else self._marked(first)[0]
        codec = codec or _likely_codec(first[: first.rfind(b"\n") + 1] or first)
        if codec != "utf-8":
            first = first.decode(codec, "replace").encode("utf-8", "replace")
        first = first.removeprefix(codecs.BOM_UTF8)
        if b"\n" not in first and b"\r" in first:
            first = first.replace(b"\r", b"\n")
        if len(first) >= size // 4:
            first = first[: first.rfind(b"\n") + 1] or first
        return first.replace(b"\0", b"")

    def blocks(self) -> Iterator[bytes]:
        """UTF-8 blocks of whole lines (the last may lack its line end), without a byte order mark."""
        self._lines = self._offset = 0
        if not self._given:
            self._codec = None
        raw = self._raw()
        first = next(raw, b"")
        codec, why = self._marked(first)
        chunks: Iterator[bytes] = itertools.chain([first], raw)
        if codec is not None and not self._given:
            self._codec = codec
            value = codec.upper().removesuffix("-LE").removesuffix("-BE")
            self.decision = Decision("encoding", value, 1.0 if "mark" in why else 0.9, why)
        recoded = self._codec is not None and self._codec != "utf-8"
        if recoded:
            chunks = self._recode(chunks)
        any_text = False
        for block in self._whole_lines(chunks):
            clean = block if recoded else self._checked(block)
            any_text = any_text or not clean[:4096].isspace() or not clean.isspace()
            yield clean
            # Much faster than bytes.count where lines are short.
            self._lines += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == 10))
            self._offset += len(block)
        if not any_text:
            raise refuse(self.shown, "is empty", "it holds only white space", "check that it was written completely")

    def all_bytes(self, factor: float) -> bytes:
        """The whole text, unless it times `factor` (the memory a byte of it takes) is over the memory limit."""
        limit, size = config.memory_limit(), 0
        # Grows in place and gives up its bytes without a copy, where joining a list of blocks would hold all twice.
        text = io.BytesIO()
        packed = self.file.path.stat().st_size
        for block in self.blocks():
            size += len(block)
            if size * factor > limit:
                why = f": it unpacks to over {size / packed:.0f} times its size" if self.file.zipped else ""
                raise too_large(self.shown, size * factor, why)
            text.write(block)
        return text.getvalue()

    def error_at(self, block: bytes, position: int, rule: str, came: str, way_out: str) -> DataError:
        """A refusal that names the line, the column and the byte of a position in the current block."""
        start = block.rfind(b"\n", 0, position) + 1
        line = self._lines + block.count(b"\n", 0, position) + 1
        column = self.name_column(block[start:position]) if self.name_column is not None and line > 1 else ""
        place = f"line {line}{column}, byte {self._offset + position}"
        return refuse(self.shown, rule, came.replace("{place}", place), way_out)

    def _chunk_bytes(self) -> int:
        return int(min(_CHUNK, max(config.get().max_line_bytes // 2, 256)))

    def _raw(self) -> Iterator[bytes]:
        """The bytes of the file, unpacked."""
        done = 0
        try:
            with open(self.file.path, "rb") as plain_stream:
                magic = plain_stream.read(4)
            zipped = self.file.zipped or magic[:2] == b"\x1f\x8b"
            for start, what in _OTHER_ARCHIVES:
                if magic.startswith(start):
                    raise refuse(self.shown, f"is {what}, not text", way_out="unpack it first, or pack it with gzip")
            with gzip.open(self.file.path, "rb") if zipped else open(self.file.path, "rb") as stream:
                while chunk := stream.read(self._chunk_bytes()):
                    done += len(chunk)
                    yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise refuse(
                self.shown,
                "is not a complete gzip file",
                f"{plain(error)} (after {done} bytes of text, line {self._lines + 1})",
                "get it again; it was cut off or changed",
            ) from None
        except OSError as error:
            raise refuse(self.shown, "cannot be read", plain(error.strerror or error)) from None

    @staticmethod
    def _marked(first: bytes) -> tuple[str | None, str]:
        """The encoding that a byte order mark, or the zero bytes of UTF-16 without one, give away."""
        for mark, codec in _MARKS:
            if first.startswith(mark):
                return codec, "a byte order mark stands at its start"
        sample = first[:4096]
        if len(sample) >= 8 and b"\0" in sample:
            pairs = len(sample) // 2
            low, high = sample[0::2].count(0), sample[1::2].count(0)
            if high >= 0.7 * pairs and low <= 0.05 * pairs:
                return "utf-16-le", "every second byte is zero, as in UTF-16"
            if low >= 0.7 * pairs and high <= 0.05 * pairs:
                return "utf-16-be", "every second byte is zero, as in UTF-16"
        return None, ""

    def _recode(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Chunks of another encoding as UTF-8."""
        assert self._codec is not None
        decoder = codecs.getincrementaldecoder(self._codec)()
        done, lines, first = 0, 1, True
        for chunk in itertools.chain(chunks, [b""]):
            try:
                text = decoder.decode(chunk, final=not chunk)
            except (UnicodeError, ValueError) as error:
                at = done + error.start if isinstance(error, UnicodeDecodeError) else done
                if isinstance(error, UnicodeDecodeError):
                    lines += bytes(error.object[: error.start]).count(b"\n")
                raise refuse(
                    self.shown,
                    f"is not {plain(self.decision.value)} text",
                    f"byte {at} (line {lines}) cannot be decoded",
                    "give the right encoding, or leave it out to have it found",
                ) from None
            done += len(chunk)
            lines += text.count("\n")
            if first and text:
                text, first = text.removeprefix("\ufeff"), False
            if text:
                yield text.encode("utf-8", "replace")

    def _whole_lines(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        limit = config.get().max_line_bytes
        parts: list[bytes] = []
        pending, old_mac = 0, None
        for number, chunk in enumerate(chunks):
            if number == 0:
                self._offset = len(codecs.BOM_UTF8) if chunk.startswith(codecs.BOM_UTF8) else 0
                chunk = chunk.removeprefix(codecs.BOM_UTF8)
                old_mac = b"\n" not in chunk and b"\r" in chunk[:-1]
            if old_mac:
                chunk = chunk.replace(b"\r", b"\n")
            first_end = chunk.find(b"\n")
            if pending + (len(chunk) if first_end < 0 else first_end) > limit:
                raise refuse(
                    self.shown,
                    f"has a line {self._lines + 1} of more than {limit / 1e6:g} million bytes without a line end",
                    way_out="check that it is a table, or raise the limit with assay.config.set(max_line_bytes=...)",
                )
            if b"\0" in chunk:
                block = b"".join([*parts, chunk])
                raise self.error_at(
                    block,
                    block.index(0),
                    "holds binary data, not text",
                    "a zero byte stands at {place}",
                    "check that it is the right file and was written completely",
                )
            if first_end < 0:
                parts.append(chunk)
                pending += len(chunk)
                continue
            end = chunk.rfind(b"\n") + 1
            yield b"".join([*parts, chunk[:end]])
            parts, pending = [chunk[end:]], len(chunk) - end
        if pending:
            yield b"".join(parts)

    def _checked(self, block: bytes) -> bytes:
        """A block of a file without a mark as UTF-8; decides the encoding at the first bytes beyond ASCII."""
        if block.isascii():
            return block
        if self._codec is None:
            self._decide(block)
        if self._codec == "utf-8":
            try:
                block.decode("utf-8")
            except UnicodeDecodeError as error:
                raise self._broken_utf8(block, error.start) from None
            if not self._first_utf8_line:
                start = next(_HIGH_RUN.finditer(block)).start()
                self._first_utf8_line = self._lines + block.count(b"\n", 0, start) + 1
            return block
        assert self._codec is not None
        if not self._given:
            for match in _HIGH_LINE.finditer(block):
                if _is_utf8(match.group()):
                    high = _HIGH_RUN.search(match.group())
                    assert high is not None
                    raise self.error_at(
                        block,
                        match.start() + high.start(),
                        "mixes two encodings",
                        f"earlier lines are {self._codec}, but at {{place}} stand letters of UTF-8",
                        f"write it in one encoding, or pass encoding='{self._codec}' to read all of it so",
                    )
        try:
            return block.decode(self._codec).encode()
        except UnicodeDecodeError as error:
            raise self.error_at(
                block,
                error.start,
                f"is not {self._codec} text throughout",
                f"byte 0x{block[error.start]:02x} at {{place}} has no meaning in it",
                "write it in one encoding, or pass encoding='latin-1'",
            ) from None

    def _broken_utf8(self, block: bytes, position: int) -> DataError:
        line_start = block.rfind(b"\n", 0, position) + 1
        line = block[line_start : max(block.find(b"\n", position), position + 1)]
        near = plain(line[max(position - line_start - 20, 0) :][:40].decode("latin-1"), 40).strip()
        came = f"byte 0x{block[position]:02x} at {{place}} (near '{near}') is not UTF-8"
        if self._given:
            return self.error_at(block, position, "is not UTF-8 text", came, "give the right encoding, or leave it out")
        elsewhere = self._first_utf8_line
        if not elsewhere:
            good = next((m for m in _HIGH_LINE.finditer(block) if _is_utf8(m.group())), None)
            elsewhere = self._lines + block.count(b"\n", 0, good.start()) + 1 if good else 0
        other = f", while line {elsewhere} holds letters of UTF-8" if elsewhere else ""
        return self.error_at(
            block,
            position,
            "mixes two encodings" if other else "is not UTF-8 text",
            came + other,
            "write it in one encoding, or pass encoding='cp1252' to read every byte so",
        )

    def _decide(self, block: bytes) -> None:
        self._codec = _likely_codec(block)
        if self._codec == "utf-8":
            if _is_utf8(block):  # otherwise the caller names the line that is not
                count = len(_SEQUENCE.findall(block))
                confidence, why = 0.99 if count > 2 else 0.95, f"all {count} letters beyond ASCII are well-formed UTF-8"
                self.decision = Decision("encoding", "UTF-8", confidence, why)
            return
        runs = [len(match.group()) for match in _HIGH_RUN.finditer(block)]
        odd = len(_NOT_IN_CP1252.findall(block))
        total = sum(runs)
        likely = max(sum(length for length in runs if length <= 2) - odd, 0)
        confidence = min(succession(likely, total), 0.95)
        if confidence < _LEAST_CONFIDENCE:
            start = next(_HIGH_RUN.finditer(block)).start()
            raise self.error_at(
                block,
                start,
                "has an encoding that cannot be told",
                f"it is not UTF-8 from {{place}} on, and only {likely} of {total} bytes beyond ASCII look like "
                f"{self._codec}",
                "pass encoding=..., for example 'cp1251', 'shift_jis' or 'gb18030', or check that it is text",
            )
        why = f"not UTF-8; {likely} of {total} bytes beyond ASCII stand alone or in pairs, as in western text"
        self.decision = Decision("encoding", self._codec, confidence, why)


def _likely_codec(lines: bytes) -> str:
    """The encoding of lines without a mark: UTF-8 if any line beyond ASCII is, or else the western one of all bytes."""
    if _is_utf8(lines) or any(_is_utf8(match.group()) for match in _HIGH_LINE.finditer(lines)):
        return "utf-8"
    return "latin-1" if _NOT_IN_CP1252.search(lines) else "cp1252"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
