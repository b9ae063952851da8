"""What a workbook declares is known before its decoder runs: how far its cells reach, and which hold errors."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from assay.base import DataError
from assay.data import read_table
from assay.data.read_workbook import sheet_facts

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")


def book(path, cells, formats=()):
    with xlsxwriter.Workbook(str(path)) as workbook:
        sheet = workbook.add_worksheet("Data")
        for place, value in cells.items():
            sheet.write(place, value)
        for place in formats:
            sheet.write_blank(place, None, workbook.add_format({"bold": True}))
    return path


SMALL = {"A1": "a", "B1": "b", "A2": 1, "B2": 2.5}


@pytest.mark.parametrize("far", ["XFD1048576", "ZZ1048576", "A1048576"])
def test_one_cell_far_out_is_refused_or_read_but_never_allocates_the_sheet(tmp_path, far):
    file = book(tmp_path / "t.xlsx", {**SMALL, far: 3})
    if far == "A1048576":
        assert read_table(file).n_rows == 2
        return
    with pytest.raises(DataError, match=f"reaches to cell {far}; its 5 filled cells would be spread over"):
        read_table(file)


def test_cells_that_only_carry_a_format_take_no_place(tmp_path):
    file = book(tmp_path / "t.xlsx", SMALL, formats=["XFD1048576"])
    assert sheet_facts(file, "Data", 1e9).last == (2, 2) and read_table(file).frame.rows() == [(1, 2.5)]


def test_errors_are_missing_and_said_to_be(tmp_path):
    with xlsxwriter.Workbook(str(tmp_path / "t.xlsx")) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_row(1, 0, [1, 2.5])
        sheet.write("A3", 2)
        sheet.write_formula("B3", "=1/0", None, "#DIV/0!")
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame["b"].to_list() == [2.5, None]
    assert any(n.what == "cells with errors" and "#DIV/0! in B3" in n.reason for n in table.read_notes)


def test_cells_without_places_are_counted_in_turn(tmp_path):
    """The place of a cell is optional in the format; then it follows the one before."""
    file = book(tmp_path / "t.xlsx", SMALL)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    for place in ("A1", "B1", "A2", "B2"):
        parts[name] = parts[name].replace(f' r="{place}"'.encode(), b"")
    with zipfile.ZipFile(file, "w") as archive:
        for part, text in parts.items():
            archive.writestr(part, text)
    facts = sheet_facts(file, "Data", 1e9)
    assert (facts.cells, facts.first, facts.last) == (4, (1, 1), (2, 2))


def test_a_bomb_of_zeros_is_refused_before_it_is_unpacked(tmp_path):
    file = book(tmp_path / "t.xlsx", SMALL)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/media/a.bin", "w") as part:
        for _ in range(200):
            part.write(bytes(1 << 20))
    from assay import config

    with config.use(max_bytes=1e8), pytest.raises(DataError, match="more memory than the limit"):
        read_table(file)
    assert read_table(file).n_rows == 1


def open_document(path, cells):
    """An OpenDocument sheet of the form that LibreOffice writes; None is an error, a pair a cell that repeats."""
    shown = {
        None: '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" '
        'calcext:value-type="error"><text:p>#DIV/0!</text:p></table:table-cell>'
    }
    rows = ""
    for row in cells:
        rows += "<table:table-row>"
        for cell in row:
            kind = "string" if isinstance(cell, str) else f'float" office:value="{cell}'
            value = f'<table:table-cell office:value-type="{kind}"><text:p>{cell}</text:p>'
            rows += shown.get(cell, value + "</table:table-cell>")
        rows += "</table:table-row>"
    spaces = "".join(
        f' xmlns:{name}="urn:{urn}:1.0"'
        for name, urn in {
            "office": "oasis:names:tc:opendocument:xmlns:office",
            "table": "oasis:names:tc:opendocument:xmlns:table",
            "text": "oasis:names:tc:opendocument:xmlns:text",
            "calcext": "org:documentfoundation:names:experimental:calc:xmlns:calcext",
        }.items()
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content{spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="Other"><table:table-row>{shown[None]}</table:table-row></table:table>'
            f'<table:table table:name="A &amp; B">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )


def test_errors_of_an_open_document_are_noted(tmp_path):
    cells = [["a", "b"], *([i, 2 * i] for i in range(12))]
    cells[6][1] = cells[8][1] = None
    open_document(tmp_path / "book.ods", cells)
    table = read_table(tmp_path / "book.ods", sheet="A & B")
    assert table.frame["b"].null_count() == 2 and table.frame["a"].to_list() == list(range(12))
    (decision,) = [one for one in table.read_notes if one.what == "cells with errors"]
    assert decision.value == "2 read as missing" and decision.reason == "#DIV/0! in B7, #DIV/0! in B9"


def test_errors_of_an_old_workbook_are_noted():
    # Written with xlwt 1.3.0: a = 0..11, b = 2a, with set_cell_error(1, "#DIV/0!") in the fifth row of numbers.
    table = read_table(Path(__file__).parents[2] / "data" / "errors.xls")
    assert table.frame["b"].to_list()[3:6] == [6, None, 10]
    (decision,) = [one for one in table.read_notes if one.what == "cells with errors"]
    assert decision.value == "1 read as missing" and decision.reason == "#DIV/0! in B6"
