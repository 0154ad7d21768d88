"""The pages of experiments, which Google's SDK keeps in the metadata store."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.curves.chart import curves
from pulumi_vertex_training.ui.pages.job.charts import metric_charts
from pulumi_vertex_training.ui.pages.page import Fragment, MissingError, Page, Part, Rows, missing_if_refused
from pulumi_vertex_training.ui.source.experiments import experiments
from pulumi_vertex_training.ui.source.experiments.experiments import Experiments, OneExperiment
from pulumi_vertex_training.ui.source.experiments.time_series import MOST_RUNS
from pulumi_vertex_training.views.metrics.metrics import Metrics

PATH = "/experiments"

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


def _parts_of_list(model: Experiments) -> Mapping[str, Part]:
    return {
        "experiments": Rows(
            template="experiments/row.html", items=[(f"experiment/{row.id}", row) for row in model.rows]
        ),
        "experiments-note": Fragment(template="experiments/note.html", values={"found": model}),
    }


def _read(endpoint: Endpoint, parameters: Mapping[str, str]) -> OneExperiment:
    experiment_id = parameters["experiment_id"]
    if not _ID.fullmatch(experiment_id):
        raise MissingError("This is not the address of an experiment. The page Experiments lists them.")
    with missing_if_refused():
        found = experiments.read(endpoint, experiment_id)
    if found is None:
        raise MissingError(f"{experiment_id} is not an experiment. The page Experiments lists them.")
    return found


def _parts(model: OneExperiment) -> Mapping[str, Part]:
    return {
        "summary": Fragment(template="experiments/summary.html", values={"found": model}),
        "runs-head": Fragment(
            template="experiments/run_head.html", values={"columns": model.columns, "numbers": model.numbers}
        ),
        "runs-groups": Fragment(template="experiments/run_groups.html", values={"groups": model.groups}),
        "runs": Rows(template="experiments/run.html", items=[(f"run/{row.id}", row) for row in model.rows]),
        "runs-note": Fragment(template="experiments/runs_note.html", values={"found": model}),
        "curves": curves(metric_charts(Metrics(curves=model.curves), sources_are_runs=True)),
        "curves-note": Fragment(
            template="experiments/curves_note.html", values={"found": model, "most": MOST_RUNS}
        ),
    }


EXPERIMENTS = Page(
    name="experiments",
    path=PATH,
    template="experiments/list.html",
    title=lambda _model: "Experiments",
    read=lambda endpoint, _parameters: experiments.read_all(endpoint),
    parts=_parts_of_list,
    version=emulator_api.changes,
    label="Experiments",
)
EXPERIMENT = Page(
    name="experiment",
    path=f"{PATH}/{{experiment_id}}",
    template="experiments/page.html",
    title=lambda model: f"{model.experiment.name} - experiment",
    read=_read,
    parts=_parts,
    fixed=lambda model, _parameters: {"found": model},
    version=emulator_api.changes,
)
