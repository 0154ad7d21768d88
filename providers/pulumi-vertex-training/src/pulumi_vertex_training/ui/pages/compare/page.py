"""The view that compares runs, and lets people choose them."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.curves.chart import Chart
from pulumi_vertex_training.ui.pages.job.charts import MOST_CHARTS, begin_of, series_of, short_key
from pulumi_vertex_training.ui.pages.page import MissingError, missing_if_refused
from pulumi_vertex_training.ui.pages.view import Query, View
from pulumi_vertex_training.ui.source import comparison
from pulumi_vertex_training.ui.source.comparison import Compared
from pulumi_vertex_training.ui.source.inventory import JobRow

PATH = "/compare"


@dataclass(frozen=True, kw_only=True)
class CompareView:
    """The chosen keys, their comparison if there are at least two, and the runs to choose from.

    `charts` have the curves of the compared runs, one chart for each metric.
    """

    chosen: tuple[str, ...]
    compared: Compared | None
    charts: tuple[Chart, ...]
    offered: tuple[JobRow, ...]


def is_key(text: str) -> bool:
    """Return whether a text is the key of a job, such as "customJobs/123"."""
    collection, _, job_id = text.partition("/")
    known = [entry.collection for entry in registry.RUNNABLE]
    return collection in known and job_id.isascii() and job_id.isdigit()


def _read(endpoint: Endpoint, query: Query) -> CompareView:
    chosen = tuple(dict.fromkeys(query.all("job")))
    if not all(is_key(one) for one in chosen):
        raise MissingError("This is not the address of a comparison. Choose the runs in the overview.")
    if len(chosen) > comparison.MOST:
        raise MissingError(f"At most {comparison.MOST} runs can be compared at once. Choose fewer.")
    with missing_if_refused():
        compared = comparison.read(endpoint, chosen) if len(chosen) > 1 else None
        rows = comparison.offered(endpoint, next(iter(chosen), ""))
    charts = _charts(compared) if compared else ()
    return CompareView(chosen=chosen, compared=compared, charts=charts, offered=rows)


def _charts(compared: Compared) -> tuple[Chart, ...]:
    """Return a chart for each metric of which a run has more than one value."""
    names = dict.fromkeys(name for curves in compared.curves for name in curves)
    charts = (
        Chart(
            key=f"metric/{short_key(name)}",
            title=name,
            series=tuple(
                series_of(curves[name], column.title, begin_of(curves.values()))
                for column, curves in zip(compared.columns, compared.curves, strict=True)
                if name in curves
            ),
        )
        for name in names
    )
    return tuple(one for one in charts if any(len(each.points) > 1 for each in one.series))[:MOST_CHARTS]


COMPARE = View(
    path=PATH,
    template="compare/page.html",
    title=lambda _model: "Compare runs",
    read=_read,
    label="Compare",
)
