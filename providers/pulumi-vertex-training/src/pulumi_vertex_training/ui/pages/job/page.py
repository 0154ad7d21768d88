"""The page of one job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.ui.pages.curves.chart import curves
from pulumi_vertex_training.ui.pages.job import search
from pulumi_vertex_training.ui.pages.job.charts import metric_charts, usage_charts
from pulumi_vertex_training.ui.pages.job.strip import tiles
from pulumi_vertex_training.ui.pages.page import Fragment, MissingError, Page, Part, Rows, missing_if_refused
from pulumi_vertex_training.ui.source import actions
from pulumi_vertex_training.ui.source import job as jobs
from pulumi_vertex_training.ui.source.environment import environment_of
from pulumi_vertex_training.ui.source.job import Job
from pulumi_vertex_training.views.topology import drawing

PATH = "/jobs/{collection}/{job_id}"


def record_at(endpoint: Endpoint, parameters: Mapping[str, str]) -> JobRecord:
    """Return the job of an address. Raises MissingError and CloudError."""
    collection, job_id = parameters["collection"], parameters["job_id"]
    _check(collection, job_id)
    name = f"{endpoint.parent}/{collection}/{job_id}"
    with missing_if_refused():
        return gateway_of(name).get(endpoint, name)


def _read(endpoint: Endpoint, parameters: Mapping[str, str]) -> Job:
    collection, job_id = parameters["collection"], parameters["job_id"]
    _check(collection, job_id)
    with missing_if_refused():
        return jobs.read(endpoint, collection, job_id)


def _check(collection: str, job_id: str) -> None:
    known = [entry.collection for entry in registry.RUNNABLE]
    if collection not in known or not (job_id.isascii() and job_id.isdigit()):
        raise MissingError("This is not the address of a job. The overview lists the jobs.")


def _parts(model: Job) -> Mapping[str, Part]:
    return {
        "state": Fragment(template="job/state.html", values={"job": model}),
        "strip": Fragment(template="job/strip.html", values={"tiles": tiles(model)}),
        "facts": Fragment(template="job/facts.html", values={"job": model}),
        "summary": Fragment(template="job/summary.html", values={"job": model}),
        "actions": Fragment(
            template="actions/job.html", values={"job": model, "refusal": actions.why_not_again(model.record)}
        ),
        "topology": Fragment(template="job/topology.html", values=_topology(model)),
        "metric-values": Fragment(template="job/values.html", values={"values": model.metrics.values}),
        "metrics": curves(metric_charts(model.metrics)),
        "usage": curves(usage_charts(model.usage)),
        "last-event": Fragment(template="job/last_event.html", values={"events": model.events}),
        "events": Rows(
            template="job/event.html",
            items=[(f"event/{number}", event) for number, event in enumerate(model.events)],
        ),
        **(search.parts(model.tuning) if model.tuning else {}),
    }


def _topology(model: Job) -> Mapping[str, Any]:
    words = {"caption": drawing.CLUSTER, "apart": drawing.APART}
    return {"job": model, "normal": _normal(model), "group": drawing.GROUP, **words}


def _normal(model: Job) -> str:
    """Return the state of a replica that needs no word: the colour shows it."""
    if not model.row.started:
        return "pending"
    return "succeeded" if model.record.state.is_terminal else "running"


def _fixed(model: Job, parameters: Mapping[str, str]) -> Mapping[str, Any]:
    replica = parameters.get("replica", "")
    names = [one.name for pool in model.pools for one in pool.replicas]
    return {
        "job": model,
        "replica": replica,
        "environment": environment_of(model.record, replica) if replica in names else None,
        "tasks": [*names, "service"] if names else [],
    }


JOB = Page(
    name="job",
    path=PATH,
    template="job/page.html",
    title=lambda model: f"{model.row.name or model.record.job_id} - {model.row.state.lower()}",
    read=_read,
    parts=_parts,
    fixed=_fixed,
    log_of=lambda model: model.record,
    is_over=lambda model: model.record.state.is_terminal,
)
