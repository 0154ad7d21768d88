"""The parts of a tuning job's page: the best trial, two pictures, and a table of trials."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_vertex_training.ui.pages.page import Fragment, Part, Rows
from pulumi_vertex_training.ui.source import plots
from pulumi_vertex_training.ui.source.tuning import Tuning


def parts(tuning: Tuning) -> Mapping[str, Part]:
    """Return what changes while trials run."""
    rows = tuning.rows()
    best = next((row for row in rows if row.best), None)
    words = "best" if tuning.record.state.is_terminal else "best so far"
    common = {"best_words": words}
    return {
        "best": Fragment(template="job/best.html", values={"tuning": tuning, "best": best, **common}),
        "metric": Fragment(template="job/metric.html", values={"plot": plots.metric_plot(tuning), **common}),
        "parameters": Fragment(
            template="job/parameters.html", values={"plot": plots.parameter_plot(tuning), **common}
        ),
        "trials": Rows(template="job/trial.html", items=[(f"trial/{row.id}", row) for row in rows]),
    }
