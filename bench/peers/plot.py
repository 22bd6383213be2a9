"""The best rates as bars, in an SVG that follows the reader's light or dark scheme."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import summary

__all__ = ["draw", "styled"]

# Drawn in these colours, each of which becomes a variable of the style sheet: name -> (drawn, light, dark).
_COLOURS = {
    "ink": ("#010101", "#1f2328", "#e6edf3"),
    "faint": ("#020202", "#d1d9e0", "#3d444d"),
    "subject": ("#030303", "#0a7d5a", "#3fb98c"),
    "other": ("#040404", "#8c96a3", "#7d8894"),
}
_INK, _FAINT, _SUBJECT, _OTHER = (drawn for drawn, _, _ in _COLOURS.values())


def draw(result: dict[str, Any], file: Path) -> None:
    """The first loader on top, the others by their rate; whiskers reach from the lowest round to the highest. Raises
    OSError."""
    file.write_text(styled(_drawn(result)), encoding="utf-8")


def _drawn(result: dict[str, Any]) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rates = {loader: summary.spreads(result["runs"], loader, about["best_workers"])["images_per_second"]
             for loader, about in result["loaders"].items()}
    subject, *others = rates
    names = [subject, *sorted(others, key=lambda loader: -rates[loader]["median"])]
    middles = [rates[name]["median"] for name in names]
    # Text stays text; a fixed salt keeps the file the same where the figures are.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "stoker", "font.family": "sans-serif", "font.size": 11}):
        figure = Figure(figsize=(8, 0.8 + 0.36 * len(names)), layout="constrained")
        axes = figure.add_subplot()
        whiskers = [[middle - rates[name]["min"] for name, middle in zip(names, middles)],
                    [rates[name]["max"] - middle for name, middle in zip(names, middles)]]
        colours = [_SUBJECT if name == subject or name.startswith(f"{subject}-") else _OTHER for name in names]
        axes.barh(names, middles, height=0.68, color=colours, xerr=whiskers,
                  error_kw={"ecolor": _INK, "elinewidth": 1, "capsize": 3})
        for at, name in enumerate(names):
            axes.annotate(f"{middles[at]:,.0f}", (rates[name]["max"], at), (6, 0), textcoords="offset points",
                          va="center", color=_INK)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.1 * max(rate["max"] for rate in rates.values()))
        axes.set_xlabel(f"images a second on {len(result['job']['cores'])} cores", color=_INK)
        # The page shows through.
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        axes.grid(axis="x", color=_FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.tick_params(colors=_INK, length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()


def styled(svg: str) -> str:
    light, dark = ("".join(f"--{name}:{colours[scheme]};" for name, colours in _COLOURS.items()) for scheme in (1, 2))
    for name, (drawn, _, _) in _COLOURS.items():
        svg = svg.replace(drawn, f"var(--{name})")
    style = f"<style>svg{{{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    head, root, rest = svg.partition("<svg ")
    attributes, end, body = rest.partition(">")
    return head + root + attributes + end + style + body
