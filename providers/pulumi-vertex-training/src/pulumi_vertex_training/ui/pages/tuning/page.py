"""The page of a tuning job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.page import Fragment, MissingError, Page, Part, Rows, missing_if_refused
from pulumi_vertex_training.ui.source import plots, tuning
from pulumi_vertex_training.ui.source.tuning import Tuning

PATH = "/tuning/{job_id}"


def _read(endpoint: Endpoint, parameters: Mapping[str, str]) -> Tuning:
    job_id = parameters["job_id"]
    if not (job_id.isascii() and job_id.isdigit()):
        raise MissingError("This is not the address of a tuning job. The overview lists the jobs.")
    try:
        with missing_if_refused():
            return tuning.read(endpoint, job_id)
    except ValueError as error:
        raise MissingError(f"Tuning job {job_id} is of a newer version: {error}.") from error


def _parts(model: Tuning) -> Mapping[str, Part]:
    best = next((row for row in model.rows() if row.best), None)
    words = "best" if model.record.state.is_terminal else "best so far"
    return {
        "summary": Fragment(
            template="tuning/summary.html", values={"tuning": model, "best": best, "best_words": words}
        ),
        "metric": Fragment(
            template="tuning/metric.html", values={"plot": plots.metric_plot(model), "best_words": words}
        ),
        "parameters": Fragment(
            template="tuning/parameters.html",
            values={"plot": plots.parameter_plot(model), "best_words": words},
        ),
        "trials": Rows(
            template="tuning/trial.html", items=[(f"trial/{row.id}", row) for row in model.rows()]
        ),
    }


def _fixed(model: Tuning, _parameters: Mapping[str, str]) -> Mapping[str, Any]:
    return {
        "tuning": model,
        "names": [
            *(spec.parameter_id for spec in model.parameters),
            *(metric.metric_id for metric in model.study.metrics),
        ],
    }


TUNING = Page(
    name="tuning",
    path=PATH,
    template="tuning/page.html",
    title=lambda model: f"{model.row.name or model.record.job_id} - trials",
    read=_read,
    parts=_parts,
    fixed=_fixed,
    is_over=lambda model: model.record.state.is_terminal,
)
