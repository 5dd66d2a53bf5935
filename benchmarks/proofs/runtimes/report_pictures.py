"""The pictures of docs/report.md: a report in headless Chromium, light and dark, and by group.

    python -m benchmarks.proofs.runtimes.report_pictures

writes docs/pictures/report.png, report_dark.png and report_groups.png.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.proofs.runtimes.devtools import Page, devtools, file_url
from benchmarks.proofs.runtimes.environments import ROOT
from rulekit import export
from rulekit.tables.options import ReadingOptions
from rulekit.work.reporting import report
from rulekit.work.training import TrainingRequest, train

PICTURES = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1180, 1500


def report_of_loans(folder: Path) -> Path:
    """The report that the page of the docs makes."""
    model, held, output = folder / "audited.json", folder / "held.csv", folder / "report.html"
    roles = {"age": "audit", "homeowner": "audit"}
    reading = ReadingOptions(target="default", roles=roles)
    asked = TrainingRequest(
        ROOT / "samples" / "loans.csv",
        reading,
        parameters={"monotone": {"income": "decreasing"}},
        baselines=True,
        holdout=0.3,
        held_rows=held,
        output=model,
    )
    graph = train(asked).model
    export(graph, folder / "audited.onnx", to="onnx")
    report(
        model,
        held,
        outputs=(output,),
        title="Loans that default",
        purpose="Choose the applications that a person looks at first.",
        author="R. Roe",
        date="2025-03-01",
        artifacts=(folder / "audited.onnx",),
    )
    return output


def _from_the_top_of(page: Page, section: str, height: int) -> bytes:
    """A part of the page, from the top of a section on, with the width of the content."""
    found = page.value(
        f"(() => {{ const box = document.getElementById('{section}').getBoundingClientRect();"
        "return [box.left + scrollX - 24, box.top + scrollY, box.width + 48, box.height]; })()"
    )
    left, top, width, full = found
    return page.picture((left, top, width, min(full, height)))


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder, devtools() as page:
        address = file_url(report_of_loans(Path(folder)))
        page.window(WIDTH, HEIGHT)
        for scheme, name in (("light", "report"), ("dark", "report_dark")):
            page.media("", scheme)
            page.open(address)
            (PICTURES / f"{name}.png").write_bytes(page.picture())
        page.media()
        page.open(address)
        (PICTURES / "report_groups.png").write_bytes(_from_the_top_of(page, "groups", 1000))


if __name__ == "__main__":
    main()
