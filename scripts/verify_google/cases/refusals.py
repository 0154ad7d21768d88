"""Requests that Vertex AI refuses: statuses, messages and details. They cost nothing."""

from __future__ import annotations

from functools import partial

from scripts.verify_google.cases.case import SHOW, Builder, Case, Json, custom_job, pool, spec
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import Names, Recorder

_SHORT = "60s"
_DETAILS = Allowed(
    step="*", path="error.details*", reason="the details of errors have more parts on Google Cloud"
)


def _two_chiefs(names: Names) -> Json:
    return custom_job(names, pool(replicas=2), suffix="-two-chiefs", timeout=_SHORT)


def _five_pools(names: Names) -> Json:
    return custom_job(names, pool(), {}, {}, {}, pool(), suffix="-five-pools", timeout=_SHORT)


def _empty_first_pool(names: Names) -> Json:
    return custom_job(names, {}, pool(), suffix="-empty-first", timeout=_SHORT)


def _without_task(names: Names) -> Json:
    task = pool()
    del task["containerSpec"]
    return custom_job(names, task, suffix="-no-task", timeout=_SHORT)


def _accelerator_without_count(names: Names) -> Json:
    task = pool()
    task["machineSpec"]["acceleratorType"] = "NVIDIA_TESLA_T4"
    return custom_job(names, task, suffix="-no-count", timeout=_SHORT)


def _small_disk(names: Names) -> Json:
    task = {**pool(), "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 10}}
    return custom_job(names, task, suffix="-small-disk", timeout=_SHORT)


def _small_machine(names: Names) -> Json:
    return custom_job(names, pool(machine="n1-standard-2"), suffix="-small-machine", timeout=_SHORT)


def _bad_labels(names: Names) -> Json:
    return {**custom_job(names, pool(), timeout=_SHORT), "labels": {**names.labels, "UPPER": "case"}}


def _without_name(names: Names) -> Json:
    return {**custom_job(names, pool(), timeout=_SHORT), "displayName": ""}


def _double_variable(names: Names) -> Json:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    return custom_job(names, pool(env=env), suffix="-double", timeout=_SHORT)


def _many_faults(names: Names) -> Json:
    return {**_small_disk(names), "displayName": "", "labels": {**names.labels, "UPPER": "case"}}


def _maximum_wait(names: Names) -> Json:
    body = custom_job(names, pool(), suffix="-wait", timeout=_SHORT)
    body["jobSpec"]["scheduling"]["maxWaitDuration"] = "60s"
    return body


_POOLS: dict[str, Builder] = {
    "two chiefs": _two_chiefs,
    "five pools": _five_pools,
    "empty first pool": _empty_first_pool,
    "no task": _without_task,
    "accelerator without count": _accelerator_without_count,
    "small disk": _small_disk,
    "small machine": _small_machine,
}
_FIELDS: dict[str, Builder] = {
    "labels": _bad_labels,
    "no display name": _without_name,
    "double variable": _double_variable,
    "many faults": _many_faults,
    "maximum wait": _maximum_wait,
}


def _refuse(at: Recorder, kind: str, builders: dict[str, Builder]) -> None:
    for step, build in builders.items():
        at.refused(kind, build(at.names), step=step)


def _study(**fields: object) -> Json:
    return {
        "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameterId": "x", "discreteValueSpec": {"values": [1, 2]}}],
        **fields,
    }


def _tuning(names: Names, study: Json, *, suffix: str, parallel: int = 1) -> Json:
    return {
        "displayName": names.display_name + suffix,
        "labels": names.labels,
        "studySpec": study,
        "maxTrialCount": 1,
        "parallelTrialCount": parallel,
        "trialJobSpec": spec(pool(SHOW), timeout=_SHORT),
    }


def _no_metric(names: Names) -> Json:
    return _tuning(names, _study(metrics=[]), suffix="-no-metric")


def _decreasing(names: Names) -> Json:
    parameter = {"parameterId": "x", "discreteValueSpec": {"values": [2, 1]}}
    return _tuning(names, _study(parameters=[parameter]), suffix="-decreasing")


def _grid_of_doubles(names: Names) -> Json:
    parameter = {"parameterId": "x", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}
    study = _study(parameters=[parameter], algorithm="GRID_SEARCH")
    return _tuning(names, study, suffix="-grid")


def _no_parallel(names: Names) -> Json:
    return _tuning(names, _study(), suffix="-no-parallel", parallel=0)


_STUDIES: dict[str, Builder] = {
    "no metric": _no_metric,
    "decreasing values": _decreasing,
    "grid of doubles": _grid_of_doubles,
    "no parallel trials": _no_parallel,
}


def _reads(at: Recorder) -> None:
    """Ask for what does not exist, and for lists that are wrong."""
    for kind in (
        "customJobs",
        "hyperparameterTuningJobs",
        "trainingPipelines",
        "models",
        "persistentResources",
    ):
        missing = "missing" if kind == "persistentResources" else "1"
        at.call("GET", at.vertex(f"{kind}/{missing}"), step=f"get {kind}")
        at.call("DELETE", at.vertex(f"{kind}/{missing}"), step=f"delete {kind}")
    at.call("POST", at.vertex("customJobs/1:cancel"), {}, step="cancel customJobs")
    at.call("GET", at.vertex("customJobs"), step="bad filter", query={"filter": "nonsense ="})
    at.call("GET", at.vertex("customJobs"), step="unknown field", query={"filter": 'colour="red"'})
    at.call("GET", at.vertex("customJobs"), step="bad page token", query={"pageToken": "nonsense"})
    at.call("GET", at.vertex("customJobs"), step="negative page", query={"pageSize": "-1"})
    at.call("GET", at.vertex("operations/1"), step="get operations")


CASES = (
    Case(
        name="missing",
        about="resources that do not exist, and lists with wrong filters and pages",
        rows=("Custom jobs: lists", "The interface: operations"),
        steps=_reads,
        allowed=(_DETAILS,),
    ),
    Case(
        name="refused-pools",
        about="worker pools that Vertex AI refuses, with its words",
        rows=("Custom jobs: refusals", "Custom jobs: machine types"),
        steps=partial(_refuse, kind="customJobs", builders=_POOLS),
        refused=tuple(_POOLS.values()),
        allowed=(_DETAILS,),
    ),
    Case(
        name="refused-fields",
        about="other fields that Vertex AI refuses, alone and together",
        rows=("Custom jobs: refusals", "Custom jobs: maximum wait"),
        steps=partial(_refuse, kind="customJobs", builders=_FIELDS),
        refused=tuple(_FIELDS.values()),
        allowed=(_DETAILS,),
    ),
    Case(
        name="refused-studies",
        about="studies that Vertex AI refuses",
        rows=("Tuning jobs: create, get, list, cancel, delete",),
        steps=partial(_refuse, kind="hyperparameterTuningJobs", builders=_STUDIES),
        refused=tuple(_STUDIES.values()),
        allowed=(_DETAILS,),
    ),
)
