"""The generic provider with a kind whose worker pools are inside another message, as in a tuning job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud.jobs import from_wire as record_of
from pulumi_vertex_training.core.running.declaration import JobInputs, JobResourceType
from pulumi_vertex_training.core.running.job_diff import completed
from pulumi_vertex_training.core.running.provider import facts
from pulumi_vertex_training.runs.gateway import gateway_in
from support.client.hashes import hash_of
from support.ground.specs.job_parts import problems_of_parts
from vertex_training.fields import wire
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.effects import field_table, replaces
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import JobSpec, Named, map_parts, normalise


@dataclass(frozen=True, kw_only=True)
class Study(Named):
    trial_job_spec: JobSpec
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StudyInputs(JobInputs, Study):
    pass


STUDY = JobResourceType(
    gateway=gateway_in("hyperparameterTuningJobs"),
    spec=JobKind(
        noun="tuning job",
        it="the study",
        spec=Study,
        effects={
            "display_name": replaces("a study"),
            **field_table(JobSpec, "trial_job_spec.", noun="a study"),
        },
        normalise=lambda spec: map_parts(spec, lambda _, part: normalise(part)),
        validate=lambda spec, **options: list(problems_of_parts(spec, **options)),
        to_wire=wire.to_json,
        from_wire=lambda document: wire.from_json(Study, document),
        at=("trial_job_spec",),
    ),
    inputs=StudyInputs,
    outputs=lambda record: {"trials": record.wire.get("trials", [])},
)

POOL = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
OWN = "gs://bucket/study/beef-1/"


def props(**job_spec: Any) -> dict[str, Any]:
    return {
        "display_name": "study",
        "trial_job_spec": {
            "worker_pool_specs": [{**POOL, "container_spec": {"image_uri": "python:3.11"}}],
            **job_spec,
        },
        "endpoint": "google",
        "project": "my-project",
        "location": "us-central1",
        "staging_bucket": "bucket",
        "marks": {"resource": "study", "stack": "s", "project": "p"},
    }


def inputs(**job_spec: Any) -> StudyInputs:
    decoded = STUDY.decode_inputs(props(**job_spec))
    assert decoded.spec is not None, decoded.problems
    return decoded.spec


def test_a_run_has_a_directory_of_its_own_where_none_is_declared() -> None:
    assert STUDY.wire(STUDY.of_run(inputs(), "beef-1"))["trialJobSpec"]["baseOutputDirectory"] == {
        "outputUriPrefix": OWN
    }


def test_a_declared_directory_stays() -> None:
    declared = inputs(base_output_directory="gs://bucket/study/")
    assert STUDY.of_run(declared, "beef-1") == declared


def test_the_inputs_know_nothing_of_the_runs_directory() -> None:
    assert completed(STUDY, inputs(), frozenset())["trial_job_spec"].get("base_output_directory") is None


def test_a_declared_directory_is_in_the_hash() -> None:
    declared = props(base_output_directory="gs://bucket/other/")
    assert hash_of(STUDY, declared) != hash_of(STUDY, props())


def test_a_hash_is_not_known_while_the_spec_is_not() -> None:
    assert hash_of(STUDY, props(base_output_directory=UNKNOWN)) is UNKNOWN


def test_the_disk_of_a_machine_that_is_not_known_yet_is_not_known() -> None:
    path = "trial_job_spec.worker_pool_specs[0]"
    draft = STUDY.read_inputs(props()).draft
    assert draft is not None
    checked = completed(STUDY, _without_disk(draft), frozenset({f"{path}.machine_spec.machine_type"}))
    assert checked["trial_job_spec"]["worker_pool_specs"][0]["disk_spec"] is UNKNOWN


def _without_disk(spec: Any) -> Any:
    return map_parts(
        spec,
        lambda _, part: replace(
            part, worker_pool_specs=tuple(replace(pool, disk_spec=None) for pool in part.worker_pool_specs)
        ),
    )


def test_what_a_kind_has_of_its_own_is_an_output() -> None:
    record = record_of({"name": "projects/1/locations/l/hyperparameterTuningJobs/2", "trials": [{"id": "1"}]})
    assert facts(STUDY, record)["trials"] == [{"id": "1"}]


def test_the_state_is_in_the_services_own_word() -> None:
    record = record_of({"name": "n/1", "state": "PIPELINE_STATE_RUNNING"})
    assert facts(STUDY, record)["state"] == "PIPELINE_STATE_RUNNING"


@pytest.mark.parametrize(
    ("job_spec", "path"),
    [
        ({"service_account": "me"}, "trial_job_spec.service_account"),
        ({"tensorboard": "t"}, "trial_job_spec.tensorboard"),
    ],
)
def test_findings_have_the_path_of_the_message(job_spec: dict[str, Any], path: str) -> None:
    assert path in [problem.path for problem in STUDY.decode_inputs(props(**job_spec)).problems]


def test_the_request_has_the_marks_as_labels() -> None:
    assert STUDY.wire(inputs())["labels"]["pulumi-resource"] == "study"
