"""The result of a comparison in words: tables for a terminal, or Markdown."""

from __future__ import annotations

from typing import Any

import summary

__all__ = ["markdown", "plain"]

Result = dict[str, Any]


def plain(result: Result) -> str:
    loaders = list(result["loaders"])
    parts = [f"{_job(result)}\n{_machine(result)}\n$ {result['command']}",
             summary.table(result["runs"], loaders),
             "* the worker count that suits it best. Memory: of all its processes, less what importing torch and "
             "torchvision took in the same process.",
             "\n".join([*(f"{loader}: {_about(about)}" for loader, about in result["loaders"].items()),
                        *(f"{loader}: {reason}" for loader, reason in result["left_out"].items())])]
    if result["ratios"]:
        parts.append(summary.ratio_table(result["ratios"], loaders[0]))
    return "\n\n".join(parts)


def markdown(result: Result) -> str:
    subject = next(iter(result["loaders"]))
    one_worker = any(run["workers"] == 1 for run in result["runs"])
    rows = [["loader", *(["images/s, 1 worker"] if one_worker else []), "images/s", f"{subject} / it", "first batch, s",
             "memory, MB", "CPU s per 1,000", "workers", "off Pillow's pixels by"]]
    for loader, about in result["loaders"].items():
        best, ratio = about["best_workers"], result["ratios"].get(loader, {}).get("images_per_second")
        spreads = summary.spreads(result["runs"], loader, best)
        alone = summary.spreads(result["runs"], loader, 1)
        rows.append([f"{loader} ({about['versions'].partition(',')[0]})",
                     *([_middle(alone, "images_per_second")] if one_worker else []),
                     summary.words(spreads["images_per_second"]), summary.words(ratio) if ratio else "-",
                     *(_middle(spreads, figure) for figure in ("first_batch_s", "memory_mb", "cpu_s_per_1000")),
                     str(best), _parity_cell(about["parity"])])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    lines += ["", f"{_job(result)}, each loader at the worker count that suits it best. {_machine(result)}. "
              f"{result['date']}, `{result['command']}`", ""]
    lines += [f"- {loader}: {_about(about)}" for loader, about in result["loaders"].items()]
    lines += [f"- {loader}: {reason}" for loader, reason in result["left_out"].items()]
    return "\n".join(lines)


def _job(result: Result) -> str:
    job, rounds = result["job"], max(run["round"] for run in result["runs"])
    return (f"{job['pictures']} pictures, batches of {job['batch_size']}, float32 NCHW, "
            f"{'cold' if job['cold'] else 'warm'} page cache, {rounds} round{'s' if rounds > 1 else ''}: "
            "median (lowest to highest)")


def _machine(result: Result) -> str:
    host = result["machine"]
    return (f"{len(result['job']['cores'])} of {host['cpus']} CPUs, {host['cpu']}, {host['memory_gb']} GB, "
            f"Linux {host['kernel']}, Python {host['python']}")


def _about(about: dict[str, Any]) -> str:
    parity, prepared = about["parity"], about["prepared"]
    pixels = (f"parity with Pillow not compared: {parity['none']}" if "none" in parity else
              f"parity with Pillow over {parity['pictures']} pictures: mean {parity['mean']:.3f}, "
              f"largest {parity['max']:.1f} of 255")
    converted = "" if prepared is None else (
        f"; converted before, not timed: {prepared['files_mb']:.0f} MB of files to {prepared['mb']:.0f} MB "
        + (f"in {prepared['seconds']:.1f} s" if prepared["seconds"] else "(it was there)"))
    return f"{about['versions']}; {about['promise']}{converted}; {pixels}"


def _parity_cell(parity: dict[str, Any]) -> str:
    return parity["none"] if "none" in parity else f"mean {parity['mean']:.2f}, largest {parity['max']:.0f}"


def _middle(spreads: dict[str, summary.Spread], figure: str) -> str:
    return summary.number(spreads[figure]["median"]) if figure in spreads else "-"
