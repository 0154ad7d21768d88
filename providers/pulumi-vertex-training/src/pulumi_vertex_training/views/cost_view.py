"""The cost of a declaration on a terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.costs import words
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.markdown_output import MarkdownOutput
from pulumi_vertex_training.views.pools_view import role_in_words
from vertex_training.command_line.output import Code, Output
from vertex_training.cost.cost import Cost
from vertex_training.cost.words import usd
from vertex_training.job.custom_job import CustomJobSpec

_HEADINGS = ("PART", "AN HOUR", "PRICE OF")
_NO_REGION = "No region is given; `--location` chooses one."
_MORE = "Each part, and the sources of the prices: `--cost`."
_REMEDY = "`vertex-training prices refresh` reads Google's current prices."


def show_all(explained: Explanation, output: Output, *, in_parts: bool) -> None:
    """Print the cost of a job that has replicas, and of the persistent resource.

    With `in_parts`, also print each part of it, and the sources of the prices.
    """
    spec, location = explained.spec, explained.sample.location
    sections = [(explained.cost if explained.has_replicas else None, spec), (explained.machines_cost, None)]
    for cost, job in sections:
        if cost is None:
            continue
        output.section(_title(location, of_machines=job is None))
        output.paragraph(f"{_sentence(cost, of_machines=job is None)}.", indent=2)
        if not in_parts and (pools := _of_pools(cost, job)):
            output.paragraph(f"{pools[:1].upper()}{pools[1:]}.", indent=2)
        if not explained.document.location and (cost.items or cost.unknown):
            output.paragraph(_NO_REGION, indent=2)
        if in_parts:
            _show_parts(cost, output)
        for gap in _gaps(cost):
            output.paragraph(f"Not known: {gap}", indent=2, style="yellow")
        if any(gap.may_be_in_catalog for gap in cost.unknown):
            output.paragraph(_REMEDY, indent=2)
        if not in_parts and cost.items:
            output.paragraph(_MORE, indent=2, style="dim")
        for source in words.sources(cost) if in_parts else ():
            output.paragraph(f"Source: {source}", indent=2, style="dim")


def _of_pools(cost: Cost, job: CustomJobSpec | None) -> str:
    """Return the cost of an hour of each pool: "chief $1.27, workers $2.53"; "" for one pool."""
    sums: dict[str, float] = {}
    for item in cost.items:
        sums[_pool(item.path)] = sums.get(_pool(item.path), 0.0) + item.hourly
    pools = job.worker_pool_specs if job else ()
    named = {i: role_in_words(int(i), pools[int(i)]) if job else f"pool {i}" for i in sums if i}
    return ", ".join(f"{named[i]} {usd(sums[i])}" for i in named) if len(named) > 1 else ""


def _show_parts(cost: Cost, output: Output) -> None:
    if not cost.items:
        return
    output.gap()
    parts = [(one.what, usd(one.hourly), _date(one.derived, one.date)) for one in cost.items]
    if isinstance(output, MarkdownOutput):
        rows = [(*part, Code(item.path)) for part, item in zip(parts, cost.items, strict=True)]
        output.table((*_HEADINGS, "FIELD"), rows)
    else:
        positions = [(_pool(item.path), *part) for part, item in zip(parts, cost.items, strict=True)]
        output.table(("#", *_HEADINGS), positions, indent=2)


def _title(location: str, *, of_machines: bool) -> str:
    return f"Cost of the persistent resource in {location}" if of_machines else f"Cost in {location}"


def _sentence(cost: Cost, *, of_machines: bool) -> str:
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
