"""Makes the clean table, the same table with planted faults, and the list of what was planted.

Run `python tests/data/make_tables.py`; it writes `clean.csv`, `dirty.csv` and `dirty.json` beside itself, always the
same bytes. `dirty.json` names, for each fault, the code that an audit must give, the columns concerned and, where the
fault sits in certain rows, those rows (counted from 0).
"""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ROWS = 1200
CITIES = ("Berlin", "Hamburg", "Munich", "New York", "Vienna", "Zürich")
EDUCATION = ("primary", "secondary", "bachelor", "master", "doctorate")
INSURANCE = ("public", "private", "employer")
COUNTRIES = ("Germany", "Austria", "Switzerland", "United States")
WORDS = (
    "patient", "arrived", "walking", "slowly", "after", "surgery", "reports", "mild", "pain", "sleeping", "well",
    "eating", "light", "meals", "again",
)  # fmt: skip
Table = dict[str, list[Any]]


def make_clean(seed: int = 7) -> Table:
    """Patients of a clinic, 1,200 rows of 30 columns, nothing wrong with them."""
    rng = np.random.default_rng(seed)
    n = ROWS
    age = rng.integers(18, 91, n)
    height = rng.normal(171, 9, n)
    weight = 22 * (height / 100) ** 2 + rng.normal(4, 9, n)
    weight = np.clip(weight, 42, 140)
    smoker = rng.random(n) < 0.3
    pressure = rng.normal(122, 12, n) + 0.2 * (age - 50)
    cholesterol = rng.normal(5.2, 0.9, n)
    ldl, hdl = rng.normal(3.1, 0.6, n).round(2), rng.normal(1.4, 0.25, n).round(2)
    recovered = rng.random(n) < 1 / (1 + np.exp(-(1.2 - 0.04 * (age - 50) - 0.8 * smoker)))
    ordered = [date(2023, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 700, n)]
    city = rng.choice(len(CITIES), n, p=[0.26, 0.2, 0.18, 0.14, 0.12, 0.1])
    return {
        "patient_id": [f"P{5000 + 7 * k}" for k in range(n)],
        "birth_date": [(date(2024, 6, 1) - timedelta(days=int(a * 365.25 + d))).isoformat()
                       for a, d in zip(age, rng.integers(0, 365, n))],
        "admitted": [(date(2024, 1, 1) + timedelta(days=int(d))).isoformat() for d in rng.integers(0, 300, n)],
        "ordered_on": [day.isoformat() for day in ordered],
        "reported_on": [(day + timedelta(days=int(k))).isoformat() for day, k in zip(ordered, rng.integers(1, 12, n))],
        "sex": rng.choice(["male", "female"], n).tolist(),
        "age": age.tolist(),
        "height_cm": height.round(1).tolist(),
        "weight_kg": weight.round(1).tolist(),
        "city": [CITIES[k] for k in city],
        "country": rng.choice(COUNTRIES, n, p=[0.4, 0.25, 0.2, 0.15]).tolist(),
        "education": rng.choice(EDUCATION, n, p=[0.15, 0.35, 0.25, 0.18, 0.07]).tolist(),
        "insurance": rng.choice(INSURANCE, n).tolist(),
        "smoker": ["yes" if s else "no" for s in smoker],
        "income": np.exp(rng.normal(10.4, 0.45, n)).round(0).astype(int).tolist(),
        "blood_pressure": pressure.round(0).astype(int).tolist(),
        "cholesterol": cholesterol.round(3).tolist(),
        "ldl": ldl.tolist(),
        "hdl": hdl.tolist(),
        "heart_rate": rng.normal(74, 9, n).round(1).tolist(),
        "room_humidity": rng.uniform(30, 60, n).round(1).tolist(),
        "latitude": rng.normal(50, 2, n).round(4).tolist(),
        "visits": rng.poisson(3, n).tolist(),
        "attendance_share": rng.beta(6, 2, n).round(3).tolist(),
        "dose": [f"{k} mg" for k in rng.choice([50, 75, 100, 125, 150, 200, 250], n)],
        "fee": [f"{v:.2f}" for v in np.exp(rng.normal(4.5, 0.5, n))],
        "ward_code": [f"{'ABCD'[a]}{'XYZ'[b]}-{c}" for a, b, c in zip(
            rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(100, 160, n))],
        "sensor": rng.normal(20, 1.5, n).round(2).tolist(),
        "note": [" ".join(rng.choice(WORDS, 9)) + f" case {k}" for k in range(n)],
        "outcome": ["recovered" if r else "ongoing" for r in recovered],
    }  # fmt: skip


class Planter:
    """Changes a table and writes down each fault."""

    def __init__(self, table: Table, seed: int = 11):
        self.table = {name: list(cells) for name, cells in table.items()}
        self.rng = np.random.default_rng(seed)
        self.key: list[dict[str, Any]] = []

    def note(self, code: str, fault: str, columns: list[str], rows: list[int] | None = None) -> None:
        entry: dict[str, Any] = {"code": code, "fault": fault, "columns": columns}
        if rows is not None:
            entry["rows"] = sorted(int(row) for row in rows)
        self.key.append(entry)

    def draw(self, how_many: int) -> list[int]:
        return sorted(int(k) for k in self.rng.choice(ROWS, how_many, replace=False))

    def put(self, code: str, fault: str, column: str, values: list[Any], rows: list[int] | None = None) -> list[int]:
        """Write values into rows of a column (rows drawn if not given)."""
        rows = self.draw(len(values)) if rows is None else rows
        for row, value in zip(rows, values):
            self.table[column][row] = value
        self.note(code, fault, [column], rows)
        return rows

    def change(self, code: str, fault: str, column: str, rows: list[int], how: Any) -> None:
        """Change cells in place."""
        for row in rows:
            self.table[column][row] = how(self.table[column][row])
        self.note(code, fault, [column], rows)


def where(table: Table, column: str, value: Any, how_many: int, rng: np.random.Generator) -> list[int]:
    rows = [k for k, cell in enumerate(table[column]) if cell == value]
    return sorted(int(k) for k in rng.choice(rows, how_many, replace=False))


def make_dirty(clean: Table) -> tuple[Table, list[dict[str, Any]]]:
    """The clean table with faults, and the key to them."""
    plant = Planter(clean)
    table, rng = plant.table, plant.rng
    _plant_gaps(plant)
    # values that stand for "missing"
    plant.put("A007", "-999 for a missing pressure", "blood_pressure", [-999] * 7)
    plant.put("A007", "the word unknown", "insurance", ["unknown"] * 9)
    plant.put("A007", "a date that means nothing", "birth_date", ["1900-01-01"] * 5)
    marked = plant.draw(8)
    for row in marked:
        table["visits"][row] = "?"
    plant.note("A007", "a question mark for missing", ["visits"], marked)
    plant.put(
        "A011",
        "words in a column of numbers",
        "visits",
        ["many", "few"],
        [k for k in plant.draw(12) if k not in marked][:2],
    )
    # labels
    upper = where(table, "city", "Berlin", 5, rng)
    plant.change("A015", "labels in capitals", "city", upper, str.upper)
    plant.change("A025", "a doubled space", "city", where(table, "city", "New York", 4, rng), lambda v: "New  York")
    plant.change(
        "A025",
        "a hyphen for a space",
        "country",
        where(table, "country", "United States", 3, rng),
        lambda v: "United-States",
    )
    plant.change("A022", "letters swapped", "city", where(table, "city", "Hamburg", 2, rng), lambda v: "Hambrug")
    plant.change("A022", "a letter too few", "city", where(table, "city", "Vienna", 1, rng), lambda v: "Viena")
    plant.change(
        "A022", "a letter too many", "education", where(table, "education", "bachelor", 2, rng), lambda v: "bachellor"
    )
    plant.change("A040", "the wrong encoding", "city", where(table, "city", "Zürich", 3, rng), lambda v: "ZÃ¼rich")
    plant.put("A021", "a country of two patients", "country", ["Iceland", "Iceland"])
    # formats and units
    plant.change(
        "A023",
        "dates with dots among dates with hyphens",
        "admitted",
        plant.draw(200),
        lambda v: f"{v[8:10]}.{v[5:7]}.{v[:4]}",
    )
    plant.change("A023", "decimal commas among decimal points", "fee", plant.draw(150), lambda v: v.replace(".", ","))
    plant.change("A023", "codes without their hyphen", "ward_code", plant.draw(6), lambda v: v.replace("-", ""))
    plant.change("A024", "grams among milligrams", "dose", plant.draw(40), lambda v: f"{int(v.split()[0]) / 1000:g} g")
    plant.change("A026", "grams among kilograms", "weight_kg", plant.draw(10), lambda v: round(v * 1000, 0))
    plant.change("A026", "per cents among shares", "attendance_share", plant.draw(25), lambda v: round(v * 100, 1))
    # values that cannot be, and values far from the others
    plant.put("A027", "ages below zero and above any life", "age", [-4, -31, 250])
    plant.put("A027", "a latitude beyond the pole", "latitude", [190.5, -117.25])
    plant.put("A027", "more than all of the humidity", "room_humidity", [130.0, 141.5])
    plant.put("A027", "birth dates to come", "birth_date", ["2190-02-03", "2180-11-30"], _free(plant, "birth_date", 2))
    plant.put("A028", "an income with zeros too many", "income", [91_000_000, 45_500_000], _free(plant, "income", 2))
    swapped = plant.draw(3)
    for row in swapped:
        table["ordered_on"][row], table["reported_on"][row] = table["reported_on"][row], table["ordered_on"][row]
    plant.note("A041", "reported before it was ordered", ["ordered_on", "reported_on"], swapped)
    # columns
    table["hospital"] = ["Clinic North"] * ROWS
    plant.note("A003", "the same in every row", ["hospital"])
    table["remark"] = [""] * ROWS
    plant.note("A002", "nothing in any row", ["remark"])
    table["heart_rate_2"] = list(table["heart_rate"])
    plant.note("A012", "a copy of another column", ["heart_rate_2"])
    table["lipids"] = [round(a + 2 * b, 2) for a, b in zip(table["ldl"], table["hdl"])]
    plant.note("A031", "a sum of two columns", ["lipids"])
    table["height_in"] = [round(h / 2.54 + float(e), 1) for h, e in zip(table["height_cm"], rng.normal(0, 0.3, ROWS))]
    plant.note("A030", "the height once more, in inches and rounded", ["height_cm"])
    table["street"] = [f"{name} street" for name in _streets(rng)]
    plant.note("A008", "hundreds of streets", ["street"])
    table["sensor"] = [round(v + 6 * k / ROWS, 2) for k, v in enumerate(table["sensor"])]
    plant.note("A034", "a sensor that drifts", ["sensor"])
    # the target
    table["closed_flag"] = [1 if v == "recovered" else 0 for v in table["outcome"]]
    plant.note("A006", "the target once more, coded", ["closed_flag"])
    wrong = set(plant.draw(1))
    table["days_until_recovery"] = [
        round(float(rng.uniform(1, 60) if (v == "recovered") != (k in wrong) else rng.uniform(200, 400)), 1)
        for k, v in enumerate(table["outcome"])
    ]
    plant.note("A032", "known only after recovery", ["days_until_recovery"])
    plant.put("A010", "a class of two rows", "outcome", ["transferred"] * 2, [40, 41])
    plant.put("A014", "no outcome", "outcome", [""] * 4, [300, 301, 302, 303])
    _plant_rows(plant)
    return table, plant.key


def _free(plant: Planter, column: str, how_many: int) -> list[int]:
    """Rows of a column that no other fault has touched and that are not empty."""
    taken = {row for entry in plant.key if column in entry["columns"] for row in entry.get("rows", [])}
    free = [row for row in range(ROWS) if row not in taken and plant.table[column][row] not in ("", None)]
    return sorted(int(k) for k in plant.rng.choice(free, how_many, replace=False))


def _streets(rng: np.random.Generator) -> list[str]:
    first = ["Oak", "Elm", "Mill", "Park", "Lake", "Hill", "Church", "Station", "Garden", "Castle"]
    second = ["brook", "field", "wood", "gate", "bridge", "ford", "stone", "water", "lane", "grove", "view", "side"]
    names = [a + b for a in first for b in second]
    return [names[k] for k in rng.integers(0, len(names), ROWS)]


def _plant_gaps(plant: Planter) -> None:
    table, rng = plant.table, plant.rng
    gone = [k for k in range(ROWS) if rng.random() < (0.45 if table["smoker"][k] == "yes" else 0.03)]
    plant.put("A017", "smokers do not tell their income", "income", [""] * len(gone), gone)
    gone = [k for k in range(ROWS) if table["cholesterol"][k] > 6.1]
    plant.put("A018", "high values were not recorded", "cholesterol", [""] * len(gone), gone)
    plant.put("A001", "gaps at random", "heart_rate", [""] * 90)


def _plant_rows(plant: Planter) -> None:
    """Rows that repeat others are appended, so the rows above keep their numbers."""
    table, rng = plant.table, plant.rng

    earlier = list(plant.key)

    def append(row: int, **changes: Any) -> int:
        for name, cells in table.items():
            cells.append(changes.get(name, cells[row]))
        new = len(table["age"]) - 1
        for entry in earlier:
            if row in entry.get("rows", []) and entry["columns"][0] not in changes:
                entry["rows"].append(new)
        return new

    fresh = iter(f"P{50_000 + k}" for k in range(100))
    copied = [append(row, patient_id=next(fresh)) for row in (17, 230, 411, 599, 702, 818)]
    plant.note("A004", "rows entered twice under a new number", [], copied)
    near = [append(row, patient_id=next(fresh), city=str(table["city"][row]).lower() + " ") for row in (25, 333, 640)]
    plant.note("A020", "rows entered twice, the city in lower case", ["city"], near)
    plant.note("A015", "the city in lower case", ["city"], near)
    other = {"recovered": "ongoing", "ongoing": "recovered"}
    pairs = []
    for row in (450,):
        pairs += [row, append(row, patient_id=next(fresh), outcome=other[table["outcome"][row]])]
    plant.note("A016", "the same patient with another outcome", ["outcome"], pairs)
    keys = []
    for row in (60, 61):
        mixed = {name: table[name][int(rng.integers(0, ROWS))] for name in ("age", "heart_rate_2", "ldl", "hdl")}
        mixed["lipids"] = round(mixed["ldl"] + 2 * mixed["hdl"], 2)
        mixed["heart_rate"] = mixed["heart_rate_2"]
        keys.append(append(row, **mixed))
    plant.note("A019", "one number for two patients", ["patient_id"], keys)


def write(table: Table, path: Path) -> None:
    """A table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values()))


def main() -> None:
    """Write the three files."""
    clean = make_clean()
    dirty, key = make_dirty(clean)
    write(clean, HERE / "clean.csv")
    write(dirty, HERE / "dirty.csv")
    listed = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in key)
    (HERE / "dirty.json").write_text(f'{{"table": "dirty.csv", "target": "outcome", "faults": [\n{listed}\n]}}\n')


if __name__ == "__main__":
    main()
