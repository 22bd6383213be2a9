"""The report as a page in Markdown: a summary, then each part's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from figures import table
from outcome import FAILED, NOT_RUN
from tables import TABLES

_MARKS = {"passed": "passed", FAILED: "**FAILED**", NOT_RUN: "not run"}
_FAKE = ("**On the simulated driver of the tests: this shows that the parts run. No figure below is a measurement of a "
         "GPU.**")


def make_page(report: Mapping[str, Any]) -> str:
    """The page; every part that there is has a section, whatever became of it."""
    lines = ["# Stoker on a simulated GPU" if report["fake"] else "# Stoker on a GPU", ""]
    if report["fake"]:
        lines += [_FAKE, ""]
    lines += _about(report)
    for name, section in report["sections"].items():
        lines += ["", f"## {section['title']}" + (" (simulated)" if report["fake"] else ""), ""]
        if section["status"] == NOT_RUN:
            lines.append(f"Not run: {section['reason']}.")
            continue
        if section["status"] == FAILED:
            lines += [f"**FAILED**: {section['reason']}.", ""]
        if section["results"]:
            lines += _results(name, section["results"])
    return "\n".join(lines).rstrip() + "\n"


def _about(report: Mapping[str, Any]) -> list[str]:
    host, source = report["machine"], report["source"]
    gpus = [f"{gpu['name']}, {gpu['memory.total']}, PCIe {gpu['pcie.link.gen.max']} x{gpu['pcie.link.width.max']}"
            for gpu in report["driver"]["gpus"]] or [report["driver"].get("reason", "none")]
    commit = (source["commit"][:12] or "unknown") + (" with changes" if source["changed"] else "")
    lines = [
        f"- {report['date']}, {report['seconds']:.0f} s; commit {commit}"
        + ("; **the build was taken as it was and may be older**" if report["build_as_is"] else ""),
        f"- {host['cpu']}, {host['usable_cpus']} of {host['cpus']} CPUs, {host['memory_gb']} GB; {host['system']}, "
        f"Linux {host['kernel']}, Python {host['python']}",
        f"- driver: {report['driver']['name'] or 'none'}; GPUs: {'; '.join(gpus)}",
        "- figures are medians, with the interval that holds the median at 95 % (or all rounds where they are fewer "
        "than six)", ""]
    rows = [[name, _MARKS[section["status"]], f"{section['seconds']:.0f} s", section["reason"]]
            for name, section in report["sections"].items()]
    return lines + table(["part", "", "took", ""], rows, figures=False)


def _results(name: str, results: Mapping[str, Any]) -> list[str]:
    try:
        lines = TABLES[name](results)
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        # A part that failed half-way leaves half of its results.
        lines = [f"Its results are not complete ({type(error).__name__}: {error}): see the JSON."]
    checks = [f"- {words}: {'yes' if true else '**NO**'}" for words, true in results.get("checks", {}).items()]
    notes = [f"- {note}" for note in results.get("notes", [])]
    for more in (checks, notes):
        if more:
            lines = [*lines, "", *more]
    return lines
