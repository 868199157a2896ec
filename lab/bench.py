"""Speed as figures beside a baseline from the same run: measurements, not tests.

python -m lab.bench [conversations] [loop] [search] [page] [--books 1000000] [--json]
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

CLOSE_TO_A_SCAN = ("misspelled", "commonest words", "two letters")
"""Queries that may take as long as the scan; the others may take a twentieth of it."""


@dataclass(frozen=True)
class Figure:
    """One measurement: ours and the baseline in ``unit``; the target is the most that ``of`` may be."""

    name: str
    unit: str
    ours: float
    baseline: float | None = None
    target: float | None = None
    of: str = "ratio"

    @property
    def ratio(self) -> float | None:
        return self.ours / self.baseline if self.baseline else None

    @property
    def met(self) -> bool | None:
        value = self.ratio if self.of == "ratio" else self.ours
        return None if self.target is None or value is None else value <= self.target

    def cells(self) -> tuple[str, ...]:
        unit = "x" if self.of == "ratio" else f" {self.unit}"
        target = "–" if self.target is None else f"≤ {self.target:g}{unit}"
        met = {True: "yes", False: "no", None: "–"}[self.met]
        return self.name, self.unit, _number(self.ours), _number(self.baseline), _number(self.ratio), target, met


HEAD = ("what", "unit", "ours", "baseline", "ratio", "target", "met")


def loop_figures(_books: int) -> Iterator[Figure]:
    """Our loop beside a bare one; all but counts in milliseconds a step."""
    from lab.bench_loop import measure

    for (steps, found), target in zip(measure().items(), (2.5, 2.0), strict=True):
        bare, ours, unguarded = found["bare"], found["ours"], found["unguarded"]
        job = f"loop, {steps} steps"
        yield Figure(f"{job}: all but the server, against a bare loop", "ms", ours["own"], bare["own"], target)
        yield Figure(f"{job}: processor, against a bare loop", "ms", ours["cpu"], bare["cpu"], target)
        yield Figure(f"{job}: with the server, against a bare loop", "ms", ours["wall"], bare["wall"])
        yield Figure(f"{job}: guards on, against guards off", "ms", ours["cpu"], unguarded["cpu"], 1.1)
        yield Figure(f"{job}: transactions a step", "", found["transactions"])
        yield Figure(f"{job}: statements a step", "", found["statements"])
        for place in ("first", "last"):
            name = f"{job}: between the {place} two requests"
            yield Figure(name, "ms", ours[f"{place} share"], bare[f"{place} share"])


def search_figures(books: int) -> Iterator[Figure]:
    """Our search beside scans with LIKE, 95th percentile in milliseconds."""
    from lab.bench_search import measure

    for kind, found in measure(books).items():
        target = 1.0 if kind in CLOSE_TO_A_SCAN else 0.05
        for scan in (name for name in found if name != "search" and not name.startswith("ratio")):
            yield Figure(f"search, {kind}: against a scan, {scan}", "ms", found["search"], found[scan], target)


def page_figures(_books: int) -> Iterator[Figure]:
    """The page beside the same page with Streamlit's own collection after each run; processor milliseconds."""
    from lab.bench_page import measure

    for what, found in measure().items():
        target = 10.0 if what.startswith("tick") else None
        name = f"page, {what}: against collecting after each run"
        yield Figure(name, "ms", found["ours"], found["collecting"], target, of="ours")


def conversation_figures(_books: int) -> Iterator[Figure]:
    """Many long conversations beside a bare read of the same rows; processor milliseconds."""
    from lab.bench_conversations import measure

    for what, found in measure().items():
        yield Figure(
            f"conversations, {what}: against a bare read", "ms", found["ours"], found["bare"], 100.0, "ours"
        )


PARTS: dict[str, Callable[[int], Iterator[Figure]]] = {
    "conversations": conversation_figures,
    "loop": loop_figures,
    "page": page_figures,
    "search": search_figures,
}


def table(figures: list[Figure]) -> str:
    """The figures in aligned columns."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = []
    for row in rows:
        words = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join(words + numbers).rstrip())
    return "\n".join(lines)


def main() -> None:
    """Measure and print; the exit status is 0 whether the targets are met or not."""
    parser = argparse.ArgumentParser(prog="python -m lab.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="all of them if none is named")
    parser.add_argument("--books", type=int, default=1_000_000, help="how many books to search in")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    _warn_if_busy()
    figures: list[Figure] = []
    for part in chosen.parts or PARTS:
        patience = f" ({chosen.books:,} books, some minutes)" if part == "search" else ""
        sys.stderr.write(f"Measuring the {part}{patience} ...\n")
        figures += PARTS[part](chosen.books)
    if chosen.json:
        found = [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures]
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write(table(figures) + "\n")


def _warn_if_busy() -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        sys.stderr.write(
            f"The machine is busy (load {load:.1f} on {cores} cores): trust the processor rows most.\n"
        )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


if __name__ == "__main__":
    main()
