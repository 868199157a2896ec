"""Speed as figures beside a baseline from the same run: measurements, not tests.

python -m bench [conversations] [loop] [search] [page] [--books 1000000] [--json]
"""

import argparse
import os
import sys
from collections.abc import Iterable

from bench.report_table import Figure, results, table

PARTS = ("conversations", "loop", "page", "search")


def main() -> None:
    """Measure and print; the exit status is 0 whether the targets are met or not."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="all of them if none is named")
    parser.add_argument("--books", type=int, default=1_000_000, help="how many books to search in")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        busy = f"The machine is busy (load {load:.1f} on {cores} cores)"
        sys.stderr.write(f"{busy}: trust the processor rows most.\n")
    figures: list[Figure] = []
    for part in chosen.parts or PARTS:
        patience = f" ({chosen.books:,} books, some minutes)" if part == "search" else ""
        sys.stderr.write(f"Measuring the {part}{patience} ...\n")
        figures += measured(part, chosen.books)
    found = results(figures)
    sys.stdout.write((found.to_json(orient="records", indent=2) if chosen.json else table(found)) + "\n")


def measured(part: str, books: int) -> Iterable[Figure]:
    """Measure a part; what it takes is imported here, since processes that it starts import this module, too."""
    match part:
        case "conversations":
            from bench.conversation_speed import figures
        case "loop":
            from bench.loop_speed import figures
        case "page":
            from bench.page_speed import figures
        case _:
            from bench.search_speed import figures as search_figures

            return search_figures(books)
    return figures()


if __name__ == "__main__":
    main()
