"""A job that exists is adopted when it is what is declared, and nobody else's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound, Unavailable
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, from_wire
from pulumi_vertex_training.kinds.custom_job.kind import KIND as SPEC
from pulumi_vertex_training.runs.adoption import AdoptionError, adopt, differences, sentence
from pulumi_vertex_training.runs.identity import RUN_LABEL, SPEC_LABEL
from support import properties  # noqa: F401
from support.ground import jobs
from support.ground.jobs import job, pool
from support.services.fake_gateway import FakeGateway
from vertex_training.fields.labels import KEY_LABEL
from vertex_training.job.custom_job import CustomJobSpec, to_wire
from vertex_training.topology.pools import EMPTY_POOL, DiskSpec

ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")
NUMBERED = "projects/42/locations/us-central1/customJobs/1"
OURS = {
    RUN_LABEL: "feed-3",
    SPEC_LABEL: "v1-0",
    KEY_LABEL: "5eed-0001",
    "pulumi-project": "digits",
    "pulumi-stack": "prod",
    "pulumi-resource": "train",
}


def live(spec: CustomJobSpec, *, labels: Mapping[str, str] | None = None, **facts: Any) -> dict[str, Any]:
    """Return the job as the service has it."""
    wire = to_wire(spec)
    return {
        "name": NUMBERED,
        "state": "JOB_STATE_RUNNING",
        **wire,
        "labels": {**wire.get("labels", {}), **(labels or {})},
        **facts,
    }


@dataclass
class Service:
    """One job, found by its name; `asked` are the names that were asked for."""

    wire: dict[str, Any]
    asked: list[str] = field(default_factory=list)
    fault: Exception | None = None

    def get(self, _: Endpoint, name: str) -> JobRecord:
        self.asked.append(name)
        if self.fault is not None:
            raise self.fault
        if name.rpartition("/")[2] != "1":
            raise NotFound("no such job")
        return from_wire(self.wire)

    def adopt(
        self,
        name: str = "1",
        declared: CustomJobSpec | None = None,
        *,
        key: str = "5eed-0002",
        **options: Any,
    ) -> JobRecord:
        kind = FakeGateway(get=self.get)
        record: JobRecord = adopt(kind, ENDPOINT, name, declared or job(), spec_kind=SPEC, key=key, **options)
        return record


@given(jobs.jobs)
def test_a_job_is_what_it_was_submitted_as(spec: CustomJobSpec) -> None:
    assert differences(SPEC, spec, live(spec, labels=OURS)) == ()


@given(jobs.jobs, jobs.jobs)
def test_every_difference_of_any_two_jobs_has_a_line(one: CustomJobSpec, other: CustomJobSpec) -> None:
    lines = differences(SPEC, one, live(other))
    assert len(set(lines)) == len(lines)
    assert all(": " in line and "\n" not in line for line in lines)


SSD = pool(disk_spec=DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100))


@pytest.mark.parametrize(
    ("found", "declared", "lines"),
    [
        pytest.param(
            job(pool(), pool(4)),
            job(pool(), pool(2)),
            ("worker_pool_specs[1].replica_count: 4 -> 2",),
            id="replicas",
        ),
        pytest.param(
            job(),
            replace(job(), display_name="other"),
            ("display_name: 'digits' -> 'other'",),
            id="display name",
        ),
        pytest.param(
            job(service_account="a@x"), job(), ("service_account: 'a@x' -> none",), id="not declared"
        ),
        pytest.param(job(labels={"team": "a"}), job(), ("labels.team: 'a' -> none",), id="a label too many"),
        pytest.param(
            job(), job(enable_web_access=True), ("enable_web_access: false -> true",), id="a switch"
        ),
        pytest.param(
            job(pool(env={"TOKEN": "s3cret"})),
            job(pool(env={"TOKEN": "other"})),
            ("worker_pool_specs[0].container_spec.env[TOKEN]: another value (hidden)",),
            id="a hidden value",
        ),
        pytest.param(
            job(pool(args=["a"])),
            job(pool(args=["a", "b'\n"])),
            ("worker_pool_specs[0].container_spec.args: 1 -> 2 words, others at 1 (hidden)",),
            id="arguments",
        ),
        pytest.param(
            job(base_output_directory="gs://b/1/"),
            job(base_output_directory="gs://b/2/"),
            ("base_output_directory: 'gs://b/1/' -> 'gs://b/2/'",),
            id="a declared directory",
        ),
        pytest.param(
            job(base_output_directory="gs://b/1/"), job(), (), id="a directory that is not declared"
        ),
        pytest.param(job(labels=OURS), job(), (), id="our own labels"),
        pytest.param(job(), job(labels={"pulumi-stack": "dev"}), (), id="our own labels, declared"),
        pytest.param(job(SSD), job(), (), id="the service's own disk"),
        pytest.param(
            job(replace(SSD, machine_spec=replace(SSD.machine_spec, machine_type="new-9"))),
            job(pool(machine="new-9")),
            (),
            id="the disk of a machine that no table has",
        ),
        pytest.param(job(pool()), job(pool(), EMPTY_POOL), (), id="an empty pool at the end"),
        pytest.param(
            job(network="projects/42/global/networks/n"),
            job(network="projects/p/global/networks/n"),
            (),
            id="the project's number",
        ),
    ],
)
def test_what_differs(found: CustomJobSpec, declared: CustomJobSpec, lines: tuple[str, ...]) -> None:
    assert differences(SPEC, declared, live(found)) == lines


@pytest.mark.parametrize(
    "name",
    ["1", NUMBERED, "projects/p/locations/us-central1/customJobs/1"],
    ids=["id", "name with the project's number", "name with the project's id"],
)
def test_a_job_is_named_by_its_id_or_name(name: str) -> None:
    service = Service(live(job()))
    assert service.adopt(name).name == NUMBERED
    assert service.asked == ["projects/p/locations/us-central1/customJobs/1"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("2", "there is no custom job 2 to adopt", id="absent"),
        pytest.param(
            "projects/p/locations/europe-west4/customJobs/1",
            "a job in europe-west4, but .* projects/p/locations/us-central1. Set location='europe-west4'",
            id="another location",
        ),
        pytest.param(
            "projects/q/locations/us-central1/customJobs/1",
            "a job of project q, but .* Set project='q'",
            id="another project",
        ),
        pytest.param(
            "projects/43/locations/us-central1/customJobs/1",
            "a job of project 43, but .* whose number is 42",
            id="another project by number",
        ),
        pytest.param(
            "projects/p/locations/us-central1/trainingPipelines/1", "its full name", id="another kind"
        ),
        pytest.param("digits", "adopt is 'digits'. Give a job's id or its full name", id="a display name"),
        pytest.param("", "adopt is ''", id="empty"),
    ],
)
def test_a_job_that_is_not_there(name: str, message: str) -> None:
    with pytest.raises(AdoptionError, match=message):
        Service(live(job())).adopt(name)


def test_no_answer_is_not_absence() -> None:
    with pytest.raises(Unavailable):
        Service(live(job()), fault=Unavailable("later")).adopt()


def test_all_differences_are_said_at_once_with_the_remedy() -> None:
    with pytest.raises(AdoptionError) as refused:
        Service(live(job(pool(4), service_account="a@x"))).adopt(declared=job(pool(2), network="n"))
    assert refused.value.differences == (
        "worker_pool_specs[0].replica_count: 4 -> 2",
        "service_account: 'a@x' -> none",
        "network: none -> 'n'",
    )
    assert all(line in str(refused.value) for line in refused.value.differences)
    assert "`vertex-training import 1` prints the whole declaration" in str(refused.value)


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"])
def test_a_job_is_adopted_in_any_state(state: str) -> None:
    assert Service(live(job(), state=f"JOB_STATE_{state}")).adopt().state.word == state


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        pytest.param({}, "adopted custom job 1: it is running", id="running"),
        pytest.param(
            {"state": "JOB_STATE_FAILED", "error": {"code": 3, "message": "exit code 1"}},
            "adopted custom job 1: it failed (exit code 1). Adopting runs nothing",
            id="failed",
        ),
        pytest.param(
            {"state": "JOB_STATE_SUCCEEDED"},
            "adopted custom job 1: it succeeded. Adopting runs nothing",
            id="succeeded",
        ),
    ],
)
def test_what_is_said(facts: dict[str, Any], said: str) -> None:
    assert sentence(FakeGateway(), Service(live(job(), **facts)).adopt()) == said


@pytest.mark.parametrize("run", ["feed-3", "feed-12"])
def test_a_job_of_the_same_resource_is_adopted(run: str) -> None:
    assert Service(live(job(), labels={**OURS, RUN_LABEL: run})).adopt(key="5eed-0001").name == NUMBERED


@pytest.mark.parametrize("key", ["5eed-0002", "beef-0001", "5eed", "feed-3", ""])
@pytest.mark.parametrize("labels", [OURS, {RUN_LABEL: "feed-3"}], ids=["with a key", "without one"])
def test_a_job_of_another_resource_is_refused(key: str, labels: dict[str, str]) -> None:
    with pytest.raises(AdoptionError, match="belongs to run feed-3"):
        Service(live(job(), labels=labels)).adopt(key=key)


def test_the_refusal_says_whose_job_it_is() -> None:
    with pytest.raises(
        AdoptionError,
        match=r"custom job 1 belongs to run feed-3 \(resource train, stack prod, project digits\), which may",
    ):
        Service(live(job(), labels=OURS)).adopt()


def test_a_run_that_is_given_up_is_taken_over_by_name() -> None:
    assert Service(live(job(), labels=OURS)).adopt(taking_over="feed-3").name == NUMBERED


@pytest.mark.parametrize("taking_over", ["feed-2", "feed", "*", ""])
def test_no_other_run_is_taken_over(taking_over: str) -> None:
    with pytest.raises(AdoptionError, match="belongs to run feed-3"):
        Service(live(job(), labels=OURS)).adopt(taking_over=taking_over)


def test_a_job_that_is_taken_over_must_still_be_what_is_declared() -> None:
    with pytest.raises(AdoptionError, match="differs from the declaration"):
        Service(live(job(), labels=OURS)).adopt(declared=job(pool(2)), taking_over="feed-3")
