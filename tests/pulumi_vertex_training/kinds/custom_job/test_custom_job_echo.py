"""A declaration compared with the service's answer: no false difference, and no true one missed."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from google.cloud.aiplatform_v1.types import CustomJob
from google.protobuf import json_format
from hypothesis import assume, given
from hypothesis import strategies as st

from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from support.ground import jobs
from vertex_training.job.custom_job import CustomJobSpec, normalise, to_wire
from vertex_training.job.difference import SERVICE_TIMEOUT
from vertex_training.job.job_kind import FILLED_IN
from vertex_training.topology.normal import default_disk

PROTO = CustomJob.pb(CustomJob()).__class__
ACCOUNT = "service-1@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"


def echo(spec: CustomJobSpec) -> dict[str, Any]:
    """Return the service's answer for `spec`, as Google's own messages print it, with filled-in fields.

    An answer captured from the service is in test_custom_job_wire.py.
    """
    message = json_format.ParseDict(json.loads(json.dumps(to_wire(spec))), PROTO())
    answer: dict[str, Any] = json_format.MessageToDict(message)
    job = answer["jobSpec"]
    for pool in job.get("workerPoolSpecs", []):
        disk = default_disk(pool.get("machineSpec", {}).get("machineType", ""))
        if pool and disk is not None:
            pool.setdefault("diskSpec", {"bootDiskType": disk.boot_disk_type, "bootDiskSizeGb": 100})
    job.setdefault("scheduling", {}).setdefault("timeout", SERVICE_TIMEOUT)
    job.setdefault("serviceAccount", ACCOUNT)
    job.setdefault("baseOutputDirectory", {"outputUriPrefix": "gs://bucket/of-the-run/"})
    labels = {"goog-managed": "x", "vertex-training-run": "0-1", "pulumi-stack": "dev"}
    return {
        **answer,
        "name": "projects/1/locations/us-central1/customJobs/2",
        "state": "JOB_STATE_PENDING",
        "createTime": "2026-01-01T00:00:00Z",
        "labels": {**labels, **answer.get("labels", {})},
    }


@st.composite
def edits(draw: st.DrawFn) -> tuple[CustomJobSpec, CustomJobSpec]:
    """Draw two jobs that differ in one to three fields at any depth, mostly in one value."""
    old, other = draw(jobs.whole_jobs), draw(jobs.whole_jobs)
    new = old
    for _ in range(draw(st.integers(1, 3))):
        new = draw(edited(new, other))
    return old, new


@st.composite
def edited(draw: st.DrawFn, job: CustomJobSpec, other: CustomJobSpec) -> CustomJobSpec:
    """`job` with one thing of `other`'s."""
    name = draw(st.sampled_from([field.name for field in fields(CustomJobSpec)]))
    if name != "worker_pool_specs":
        return replace(job, **{name: getattr(other, name)})
    pools = list(job.worker_pool_specs)
    place = draw(st.integers(0, len(pools) - 1))
    donor = draw(st.sampled_from(other.worker_pool_specs))
    part = draw(st.sampled_from([field.name for field in fields(donor)] + ["drop", "add", "swap"]))
    if part == "drop":
        pools = pools[:place] + pools[place + 1 :] or pools
    elif part == "add":
        pools = [*pools[:place], donor, *pools[place:]][:4]
    elif part == "swap":
        pools[place], pools[0] = pools[0], pools[place]
    else:
        pools[place] = replace(pools[place], **{part: getattr(donor, part)})
    return replace(job, worker_pool_specs=tuple(pools))


@given(spec=jobs.whole_jobs)
def test_what_the_service_echoes_is_no_difference(spec: CustomJobSpec) -> None:
    assert CUSTOM_JOB.drift(spec, echo(spec)) == ()
    assert CUSTOM_JOB.as_live(spec, echo(spec)) is spec


def missed(old: CustomJobSpec, new: CustomJobSpec) -> CustomJobSpec:
    """`old` as it has to be reported from `new`: without what the service may have filled in itself."""
    absent = {name: None for name in FILLED_IN if getattr(normalise(new), name) is None}
    return replace(old, **absent)


@given(pair=edits())
def test_every_edit_is_a_difference_from_the_job_that_lives(
    pair: tuple[CustomJobSpec, CustomJobSpec],
) -> None:
    old, new = pair
    reported = {change.path for change in CUSTOM_JOB.drift(new, echo(old))}
    assert reported == set(CUSTOM_JOB.compare(missed(old, new), new).paths)
    assert bool(reported) is (normalise(missed(old, new)) != normalise(new))


@given(pair=edits())
def test_the_job_that_lives_is_what_the_projection_says(pair: tuple[CustomJobSpec, CustomJobSpec]) -> None:
    old, new = pair
    assume(CUSTOM_JOB.drift(new, echo(old)))
    lives = CUSTOM_JOB.as_live(new, echo(old))
    assert CUSTOM_JOB.drift(lives, echo(old)) == ()
    either = dict.fromkeys(FILLED_IN)
    assert CUSTOM_JOB.compare(replace(lives, **either), replace(old, **either)).paths == ()


@pytest.mark.parametrize("field", ["network", "tensorboard", "experiment", "persistent_resource_id"])
def test_a_field_that_nobody_declared_and_the_job_has_is_a_difference(field: str) -> None:
    live = jobs.job(**{field: "projects/1/x/y"})
    assert [change.path for change in CUSTOM_JOB.drift(jobs.job(), to_wire(live))] == [field]
    assert getattr(CUSTOM_JOB.as_live(jobs.job(), to_wire(live)), field) == "projects/1/x/y"


def test_a_label_that_somebody_else_gave_is_a_difference() -> None:
    live = to_wire(jobs.job(labels={"team": "vision"}))
    assert [change.path for change in CUSTOM_JOB.drift(jobs.job(), live)] == ["labels.team"]
