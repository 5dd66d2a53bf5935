"""The command of a comparison on some tables: its options, the fits that are missing, the report, the section."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.learning.peers.catalogue import ENTRIES
from benchmarks.learning.peers.definitions import FASTERRISK, PEERS
from benchmarks.learning.peers.environment import DEFAULT, environments
from benchmarks.learning.peers.pages import FOLDER, run_with
from benchmarks.learning.peers.results import Results
from benchmarks.learning.peers.runner import Limits, Servers, Task, Wanted, machine, run
from benchmarks.shared.sections import write_section


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared: the tables, the entries by name, and which of them `--only ours` does anew.

    section: of the page; results: the file of finished fits, in the folder build; limit: CPU seconds of a fit; tasks:
    the tables with their splits, of names and the folder of the data; report: the section as lines; places: the
    environments of the peers.
    """

    description: str
    section: str
    tables: Sequence[str]
    names: Sequence[str]
    ours: Sequence[str]
    results: str
    limit: float
    tasks: Callable[[Sequence[str], Path], Iterator[Task]]
    report: Callable[[Results], Sequence[str]]
    places: tuple[str, ...] = (PEERS, FASTERRISK)

    def main(self) -> None:
        """Measure, print, and write the section of the page."""
        arguments = self._parser().parse_args()
        results = Results(arguments.results)
        if not arguments.report_only:
            results.retry()
        if arguments.only:
            arguments.peers = list(self.ours)
            results.forget(lambda row: row["peer"] in arguments.peers and row["table"] in arguments.tables)
        wanted = [Wanted.of(ENTRIES[name]) for name in arguments.peers]
        print(f"{machine()}; a fit may take {arguments.limit:g} CPU seconds, one thread", flush=True)
        with Servers(environments(arguments.environment, self.places)) as servers:
            if not arguments.report_only:
                work = self.tasks(arguments.tables, arguments.data)
                run(work, wanted, results, servers, Limits(arguments.limit))
            servers.greet()
            lines = [*run_with(servers.versions, arguments.limit), *self.report(results)]
        print("\n".join(lines))
        if arguments.write or arguments.page != FOLDER:
            write_section(arguments.page, self.section, lines)

    def _parser(self) -> argparse.ArgumentParser:
        form = argparse.RawDescriptionHelpFormatter
        parser = argparse.ArgumentParser(description=self.description, formatter_class=form)
        parser.add_argument("tables", nargs="*", default=list(self.tables), help="of " + ", ".join(self.tables))
        parser.add_argument("--data", type=Path, default=Path("../shared/data"))
        parser.add_argument("--environment", type=Path, default=DEFAULT, help="where the peers are, made if absent")
        parser.add_argument("--results", type=Path, default=Path("build") / self.results)
        parser.add_argument("--limit", type=float, default=self.limit, help="CPU seconds for a fit")
        names = ", ".join(self.names)
        parser.add_argument("--peers", nargs="*", default=list(self.names), help=f"only these: {names}")
        parser.add_argument("--only", choices=["ours"], help="do ours and HistGB anew, keep the others")
        parser.add_argument("--report-only", action="store_true", help="from the results so far, nothing is run")
        parser.add_argument("--write", action="store_true", help="replace the section of the page")
        parser.add_argument(
            "--page", type=Path, default=FOLDER, help="the page; another one than the default is written"
        )
        return parser
