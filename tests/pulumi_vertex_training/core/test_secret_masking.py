"""Values that a program marked as secret are never printed; path, rule and remedy stay."""

from __future__ import annotations

import asyncio
from typing import Any

import pulumi
import pytest

import pulumi_vertex_training as vt
from pulumi_vertex_training.core.call import Call, Created, Difference
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.provider import Failure, Provider, carry_out
from pulumi_vertex_training.core.secret_masking import KEY, SECRETS, Secrets
from pulumi_vertex_training.dynamic.adapter import DynamicProvider
from pulumi_vertex_training.program.secret_paths import secret_paths
from pulumi_vertex_training.providers import (
    CustomJobProvider,
    HyperparameterTuningJobProvider,
    ImageRepositoryProvider,
    ModelProvider,
    PersistentResourceProvider,
    StagedFileProvider,
    StagedPackageProvider,
    StagingBucketProvider,
    TrainingImageProvider,
    TrainingPipelineProvider,
)

MARKED = "[secret]"


@pytest.fixture(autouse=True)
def nothing_is_known() -> None:
    """Forget the secrets of a test after it."""
    SECRETS.forget()


def masked(message: str, **secrets: Any) -> str:
    known = Secrets()
    with known.of_call([{**secrets, KEY: list(secrets)}]):
        return known.masked(message)


@pytest.mark.parametrize(
    ("message", "secret", "shown"),
    [
        pytest.param("'n1-x' is no machine", "n1-x", f"{MARKED} is no machine", id="quoted"),
        pytest.param("image repo/a:1 is old", "repo/a:1", f"image {MARKED} is old", id="bare"),
        pytest.param("3 replicas; give 1", 3.0, f"{MARKED} replicas; give 1", id="a number"),
        pytest.param("env[3].name has 3", 3, f"env[3].name has {MARKED}", id="a place in a list stays"),
        pytest.param("n1-standard-3 has 3", 3, f"n1-standard-3 has {MARKED}", id="a number in a name stays"),
        pytest.param("0.25 is no share", 0.25, f"{MARKED} is no share", id="a fraction"),
        pytest.param("worker_pool_specs: worker", "worker", f"worker_pool_specs: {MARKED}", id="field names"),
        pytest.param(
            f"{'ab-' * 20!r}... is long", "ab-" * 40, f"{MARKED} is long", id="a long one that is cut"
        ),
        pytest.param('"it\'s!" is no id', "it's!", f"{MARKED} is no id", id="with a quote"),
        pytest.param("tf is no part", "gs://x/tf", "tf is no part", id="short parts stay"),
        pytest.param(
            "tf-cpu:9 is old", "us-docker.pkg.dev/a/tf-cpu:9", f"{MARKED} is old", id="the end of a name"
        ),
        pytest.param("in us-east9; use", "projects/p/us-east9/k", f"in {MARKED}; use", id="a part of a name"),
        pytest.param("for example gpu-pool", "GPU pool", f"for example {MARKED}", id="what is made of it"),
        pytest.param("team has x@y.z", {"team": "x@y.z"}, f"team has {MARKED}", id="a value in a map"),
        pytest.param("True is no name", True, "True is no name", id="a switch tells nothing"),
    ],
)
def test_a_value_is_taken_out(message: str, secret: Any, shown: str) -> None:
    assert masked(message, value=secret) == shown


def test_an_old_value_is_as_secret_as_the_new_one() -> None:
    known = Secrets()
    with known.of_call(
        [{"disk_spec": {"kind": "old-one"}}, {"diskSpec": {"kind": "new"}, KEY: ["diskSpec"]}]
    ):
        assert known.masked("old-one -> new") == f"{MARKED} -> {MARKED}"


def test_other_resources_keep_a_text_and_not_their_numbers() -> None:
    known = Secrets()
    with known.of_call([{"a": "password", "b": 3, KEY: ["a", "b"]}]):
        pass
    with known.of_call([{"c": "password"}]):
        assert known.masked("password 3") == f"{MARKED} 3"


PLACE = {"endpoint": "google", "project": "my-project", "location": "us-central1", "marks": {"resource": "r"}}
POOL = {"machine_spec": {"machine_type": "n1-hidden-4"}, "container_spec": {"image_uri": "a/b"}}
JOB = {"worker_pool_specs": [{**POOL, "replica_count": 1}]}
RUN = {**PLACE, "display_name": "r"}
TUNING = {"max_trial_count": 1, "parallel_trial_count": 1, "study_spec": {"metrics": [], "parameters": []}}
TYPE = "worker_pool_specs[0].machine_spec.machine_type"
CHECKS = [
    pytest.param(CustomJobProvider, {**RUN, **JOB}, TYPE, id="custom job"),
    pytest.param(
        HyperparameterTuningJobProvider,
        {**RUN, **TUNING, "trial_job_spec": JOB},
        f"trial_job_spec.{TYPE}",
        id="tuning job",
    ),
    pytest.param(TrainingPipelineProvider, {**RUN, "custom_task": JOB}, f"custom_task.{TYPE}", id="pipeline"),
    pytest.param(
        PersistentResourceProvider,
        {**PLACE, "persistent_resource_id": "r", "resource_pools": [{"machine_spec": POOL["machine_spec"]}]},
        "resource_pools[0].machine_spec.machine_type",
        id="persistent resource",
    ),
    pytest.param(
        ModelProvider, {**PLACE, "display_name": "r", "model_id": "Hidden Model"}, "model_id", id="model"
    ),
    pytest.param(
        ImageRepositoryProvider,
        {**PLACE, "repository_id": "Hidden Name", "format": "DOCKER"},
        "repository_id",
        id="repository",
    ),
    pytest.param(StagingBucketProvider, {**PLACE, "name": "Hidden_Name.."}, "name", id="bucket"),
    pytest.param(StagedFileProvider, {**PLACE, "bucket": "b", "source": "/hidden/away"}, "source", id="file"),
    pytest.param(
        StagedPackageProvider, {**PLACE, "bucket": "b", "source": "/hidden/away"}, "source", id="package"
    ),
    pytest.param(
        TrainingImageProvider,
        {**PLACE, "repository": "hidden-place", "name": "r", "source": "."},
        "repository",
        id="image",
    ),
]


@pytest.mark.parametrize(("provider", "props", "path"), CHECKS)
def test_a_check_names_the_field_and_not_its_secret(
    provider: type[DynamicProvider], props: dict[str, Any], path: str
) -> None:
    marks = {} if provider in (StagedFileProvider, StagedPackageProvider, StagingBucketProvider) else PLACE
    props = {name: value for name, value in props.items() if name != "marks" or marks}
    if provider is TrainingImageProvider:
        props.pop("marks")
    plain = {one.reason for one in provider().check({}, dict(props)).failures}
    hidden = {one.reason for one in provider().check({}, {**props, KEY: [path]}).failures}
    (shown,) = (reason for reason in plain if reason.startswith(f"{path}: "))
    (kept,) = (reason for reason in hidden if reason.startswith(f"{path}: "))
    assert "hidden" in shown.lower()
    assert "hidden" not in kept.lower()
    assert MARKED in kept


def test_where_secrets_are_is_in_no_state() -> None:
    props = {**PLACE, "repository_id": "trainers", "format": "DOCKER"}
    checked = ImageRepositoryProvider().check({}, {**props, KEY: ["repository_id"]})
    assert not checked.failures
    assert KEY not in checked.inputs


class Speaking(Provider):
    """A provider that shows what it gets."""

    def diff(self, call: Call) -> Difference:
        print_line(f"{call.outputs['value']} becomes {call.inputs['value']}")
        return Difference(changes=True)

    def create(self, call: Call) -> Created:
        raise Failure(f"{call.inputs['value']} is refused; give another")


def test_a_line_shows_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    carry_out(
        Speaking().diff, Call(outputs={"value": "old-secret"}, inputs={"value": "new-secret", KEY: ["value"]})
    )
    assert capsys.readouterr().out == f"{MARKED} becomes {MARKED}\n"


def test_an_error_shows_no_secret() -> None:
    with pytest.raises(Failure) as caught:
        carry_out(Speaking().create, Call(inputs={"value": "hunter2-hunter2", KEY: ["value"]}))
    assert str(caught.value) == f"{MARKED} is refused; give another"


def paths_of(make: Any) -> list[str] | None:
    async def found() -> Any:
        output = secret_paths(make(), lambda _: None)
        return None if output is None else await output.future()

    return asyncio.run(found())


secret = pulumi.Output.secret


@pytest.mark.parametrize(
    ("make", "paths"),
    [
        pytest.param(lambda: {"a": "b"}, None, id="nothing"),
        pytest.param(lambda: {"a": pulumi.Output.from_input("b")}, None, id="an output that is no secret"),
        pytest.param(lambda: {"a": secret("b")}, ["a"], id="a field"),
        pytest.param(lambda: {"a": {"b": [1, secret(2)]}}, ["a.b[1]"], id="in a list"),
        pytest.param(
            lambda: {"a": pulumi.Output.from_input({"b": secret(2)})}, ["a"], id="in another output"
        ),
        pytest.param(lambda: {"labels": {"a b": secret("c")}}, ['labels["a b"]'], id="a name to be quoted"),
        pytest.param(
            lambda: {"pools": [vt.MachineSpecArgs(machine_type=secret("m"))]},
            ["pools[0].machine_type"],
            id="typed arguments",
        ),
        pytest.param(lambda: {"a": secret(pulumi.UNKNOWN)}, ["a"], id="not known yet"),
    ],
)
def test_where_the_secrets_are(make: Any, paths: list[str] | None) -> None:
    assert paths_of(make) == paths
