"""The cost of a declaration on a terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.costs import words
from pulumi_vertex_training.views import markdown
from pulumi_vertex_training.views.markdown import code, escaped
from pulumi_vertex_training.views.output import Output
from vertex_training.cost.cost import Cost
from vertex_training.cost.words import usd

_HEADINGS = ("#", "PART", "AN HOUR", "PRICE OF")
_NO_REGION = "No region is given; `--location` chooses one."
_REMEDY = "`vertex-training prices refresh` reads Google's current prices."


def show(
    cost: Cost, location: str, output: Output, *, of_machines: bool = False, is_default: bool = False
) -> None:
    """Print a section with the sums, each part, and where the prices are from.

    With `of_machines` it is the cost of a persistent resource, not of a run. With `is_default` nobody chose
    the location.
    """
    output.section(_title(location, of_machines))
    output.paragraph(f"{_sentence(cost, of_machines)}.", indent=2)
    if is_default and (cost.items or cost.unknown):
        output.paragraph(_NO_REGION, indent=2)
    if cost.items:
        output.line()
        rows = [
            [_pool(item.path), item.what, usd(item.hourly), _date(item.derived, item.date)]
            for item in cost.items
        ]
        output.table(_HEADINGS, rows, indent=2)
    for gap in _gaps(cost):
        output.paragraph(f"Not known: {gap}", indent=2, style="yellow")
    if any(gap.may_be_in_catalog for gap in cost.unknown):
        output.paragraph(_REMEDY, indent=2)
    for source in words.sources(cost):
        output.paragraph(f"Source: {source}", indent=2, style="dim")


def as_markdown(
    cost: Cost, location: str, *, of_machines: bool = False, is_default: bool = False
) -> Iterator[str]:
    """Yield the lines of the same section."""
    yield f"#### {escaped(_title(location, of_machines))}"
    yield ""
    yield f"{escaped(_sentence(cost, of_machines))}."
    if is_default and (cost.items or cost.unknown):
        yield _NO_REGION
    if cost.items:
        yield ""
        yield from markdown.table(
            ("Part", "An hour", "Price of", "Field"),
            (
                (
                    escaped(item.what),
                    escaped(usd(item.hourly)),
                    escaped(_date(item.derived, item.date)),
                    code(item.path),
                )
                for item in cost.items
            ),
        )
    if cost.unknown:
        yield ""
        yield from (f"- **not known**: {escaped(gap)}" for gap in _gaps(cost))
    for source in words.sources(cost):
        yield f"\n<sub>Source: {escaped(source)}</sub>"


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
