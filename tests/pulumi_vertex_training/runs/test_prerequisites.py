"""The needs of a job, and the conclusions from the answers about them."""

from __future__ import annotations

import dataclasses

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs import prerequisites
from pulumi_vertex_training.runs.lookups import Lookups
from pulumi_vertex_training.runs.prerequisites import (
    MISSING,
    Answer,
    Kind,
    Need,
    answers_of,
    is_looked_up,
    kind_in,
    names_in,
    needs_of,
    problems_of,
)
from pulumi_vertex_training.runs.resource_names import can_make
from support.ground.jobs import package_pool, pool
from support.tables import every_row
from support.waiting import TIMEOUT
from vertex_training.findings.problems import Problem
from vertex_training.job.custom_job import CustomJobSpec

OWN = "europe-west4-docker.pkg.dev/p/images/trainer:1"
SPEC = CustomJobSpec(
    display_name="train",
    worker_pool_specs=(pool(image=OWN), package_pool()),
    base_output_directory="gs://results/a/",
    persistent_resource_id="machines",
)
IMAGE, PACKAGE, BUCKET, MACHINES = needs_of(SPEC, staging_bucket=None, passed_over=())
ENDPOINT = Endpoint(kind="google", project="p", location="europe-west4")


def test_the_needs_of_a_job_have_the_paths_of_their_fields() -> None:
    assert [(need.kind, need.path) for need in (IMAGE, PACKAGE, BUCKET, MACHINES)] == [
        (Kind.IMAGE, "worker_pool_specs[0].container_spec.image_uri"),
        (Kind.OBJECT, "worker_pool_specs[1].python_package_spec.package_uris[0]"),
        (Kind.BUCKET, "base_output_directory"),
        (Kind.MACHINES, "persistent_resource_id"),
    ]


def test_a_staging_bucket_may_have_a_prefix() -> None:
    found = needs_of(
        SPEC, staging_bucket="staging/team", passed_over=("workerPoolSpecs", "base_output_directory")
    )
    assert [need.name for need in found] == ["machines", "staging"]


@pytest.mark.parametrize("path", ["worker_pool_specs", "workerPoolSpecs[0].containerSpec", IMAGE.path])
def test_a_value_that_is_not_known_is_passed_over(path: str) -> None:
    assert IMAGE not in needs_of(SPEC, staging_bucket=None, passed_over=(path,))


def test_everything_can_be_passed_over() -> None:
    assert needs_of(SPEC, staging_bucket="b", passed_over=("",)) == ()


@pytest.mark.parametrize(
    ("image", "looked_up"),
    [
        (OWN, True),
        ("us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest", False),
        ("us-docker.pkg.dev/deeplearning-platform-release/gcr.io/pytorch", False),
        ("gcr.io/p/trainer", False),
        ("python:3.11", False),
        ("europe-west4-docker.pkg.dev/p/images/Trainer:1", False),
    ],
)
def test_only_own_images_of_artifact_registry_are_looked_up(image: str, looked_up: bool) -> None:
    assert is_looked_up(image) is looked_up


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("base_output_directory", "gs://results/a", "results"),
        ("staging_bucket", "results/a", "results"),
        ("worker_pool_specs[0].python_package_spec.package_uris[0]", "gs://b/dir/a.tar.gz", "dir/a.tar.gz"),
        ("worker_pool_specs[0].container_spec.image_uri", OWN, "trainer"),
        ("worker_pool_specs[0].container_spec.image_uri", f"{OWN}@sha256:ab", OWN.rpartition(":")[0]),
        ("persistent_resource_id", "machines", "machines"),
    ],
)
def test_the_names_under_which_a_program_may_declare_a_need(path: str, text: str, name: str) -> None:
    assert name in names_in(path, text)


def problems(answers: dict[Need, Answer]) -> list[str]:
    found = problems_of(
        (IMAGE, PACKAGE, BUCKET, MACHINES),
        answers,
        project="p",
        location="europe-west4",
        on_machines=lambda wire: (
            [Problem(path="pools", message=str(wire["pools"]))] if "pools" in wire else []
        ),
    )
    return [str(problem) for problem in found]


def test_what_is_there_is_no_problem_and_what_is_not_known_is_passed_over() -> None:
    assert problems({IMAGE: Answer(exists=True), BUCKET: Answer(exists=True, location="EUROPE-WEST4")}) == []


def test_everything_missing_is_a_problem_with_its_remedy() -> None:
    found = problems(dict.fromkeys((IMAGE, PACKAGE, BUCKET, MACHINES), MISSING))
    assert len(found) == 4
    assert found[0].startswith(f"{IMAGE.path}: the image {OWN!r} does not exist. Push it first")
    assert "pass a StagingBucket" in found[2]
    assert "'machines' in project p, europe-west4" in found[3]


@pytest.mark.parity("Custom jobs: the region of buckets")
def test_a_bucket_has_to_be_in_the_region_of_the_job() -> None:
    (found,) = problems({BUCKET: Answer(exists=True, location="US")})
    assert found.startswith("base_output_directory: 'results' is in 'us', the job runs in 'europe-west4'")


def test_the_job_is_checked_against_the_machines() -> None:
    answer = Answer(exists=True, wire={"state": "ERROR", "pools": "too small"})
    in_error, small = problems({MACHINES: answer})
    assert "is in state ERROR and takes no jobs" in in_error
    assert small == "pools: too small"


def test_an_answer_is_for_every_path_of_its_need(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Need] = []

    def look_up(_: Endpoint, need: Need) -> Answer:
        asked.append(need)
        return MISSING

    monkeypatch.setattr(prerequisites, "look_up", look_up)
    needs = [BUCKET, dataclasses.replace(BUCKET, path="staging_bucket"), IMAGE]
    answers = answers_of(needs, Lookups(), "here", lambda: ENDPOINT, seconds=TIMEOUT)
    assert answers == dict.fromkeys(needs, MISSING)
    assert sorted(need.name for need in asked) == sorted([IMAGE.name, BUCKET.name])


JOB = "pulumi-python:dynamic/customJob:CustomJob"
BUCKET_TYPE = "pulumi-python:dynamic/stagingBucket:StagingBucket"
IMAGE_TYPE = "pulumi-python:dynamic/trainingImage:TrainingImage"


@every_row(
    "token, text, made",
    (
        (IMAGE_TYPE, OWN, True),
        ("gcp:artifactregistry/repository:Repository", OWN, True),
        ("docker-build:index:Image", OWN, True),
        ("command:local:Command", OWN, True),
        ("pulumi-python:dynamic:Resource", OWN, True),
        (BUCKET_TYPE, OWN, False),
        (JOB, OWN, False),
        ("gcp:storage/bucket:Bucket", OWN, False),
        ("gcp:compute/network:Network", OWN, False),
        (BUCKET_TYPE, "gs://trainer/a", True),
        ("gcp:storage/bucket:Bucket", "gs://trainer/a", True),
        (IMAGE_TYPE, "gs://trainer/a", False),
        (BUCKET_TYPE, "trainer@p.iam.gserviceaccount.com", False),
        ("gcp:serviceaccount/account:Account", "trainer@p.iam.gserviceaccount.com", True),
    ),
)
def test_a_name_stands_for_what_a_resource_of_its_type_makes(token: str, text: str, made: bool) -> None:
    assert can_make(token, kind_in("service_account" if "@" in text else "image_uri", text)) is made
