"""The cost of a declaration on a terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.costs import words
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.markdown_output import MarkdownOutput
from pulumi_vertex_training.views.output import Code, Output
from vertex_training.cost.cost import Cost
from vertex_training.cost.words import usd

_HEADINGS = ("PART", "AN HOUR", "PRICE OF")
_NO_REGION = "No region is given; `--location` chooses one."
_REMEDY = "`vertex-training prices refresh` reads Google's current prices."


def show_all(explained: Explanation, output: Output) -> None:
    """Print the cost of a job that has replicas, and of the persistent resource."""
    location, is_default = explained.sample.location, not explained.document.location
    if explained.cost is not None and explained.has_replicas:
        _show(explained.cost, location, output, of_machines=False, is_default=is_default)
    if explained.machines_cost is not None:
        _show(explained.machines_cost, location, output, of_machines=True, is_default=is_default)


def _show(cost: Cost, location: str, output: Output, *, of_machines: bool, is_default: bool) -> None:
    """Print a section with the sums, each part, and where the prices are from.

    With `of_machines` it is the cost of a persistent resource, not of a run. With `is_default` nobody chose
    the location.
    """
    output.section(_title(location, of_machines))
    output.paragraph(f"{_sentence(cost, of_machines)}.", indent=2)
    if is_default and (cost.items or cost.unknown):
        output.paragraph(_NO_REGION, indent=2)
    if cost.items:
        output.gap()
        parts = [(one.what, usd(one.hourly), _date(one.derived, one.date)) for one in cost.items]
        if isinstance(output, MarkdownOutput):
            rows = [(*part, Code(item.path)) for part, item in zip(parts, cost.items, strict=True)]
            output.table((*_HEADINGS, "FIELD"), rows)
        else:
            positions = [(_pool(item.path), *part) for part, item in zip(parts, cost.items, strict=True)]
            output.table(("#", *_HEADINGS), positions, indent=2)
    for gap in _gaps(cost):
        output.paragraph(f"Not known: {gap}", indent=2, style="yellow")
    if any(gap.may_be_in_catalog for gap in cost.unknown):
        output.paragraph(_REMEDY, indent=2)
    for source in words.sources(cost):
        output.paragraph(f"Source: {source}", indent=2, style="dim")


def _title(location: str, of_machines: bool) -> str:
    return f"Cost of the persistent resource in {location}" if of_machines else f"Cost in {location}"


def _sentence(cost: Cost, of_machines: bool) -> str:
    said = words.of_machines(cost) if of_machines else words.sentence(cost)
    return said[:1].upper() + said[1:]


def _gaps(cost: Cost) -> Iterator[str]:
    """Yield what is not known and why, once for each reason: pools of the same machine have the same gaps."""
    for why in dict.fromkeys(gap.why for gap in cost.unknown):
        alike = [gap for gap in cost.unknown if gap.why == why]
        yield f"{words.gaps(alike, most=len(alike))}: {why}"


def _pool(path: str) -> str:
    """Return the position of the pool that a path is in."""
    position = re.search(r"\[(\d+)\]", path)
    return position[1] if position else ""


def _date(derived: bool, date: str) -> str:
    return f"{date}, derived" if derived else date
