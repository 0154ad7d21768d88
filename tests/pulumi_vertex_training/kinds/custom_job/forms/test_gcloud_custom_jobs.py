"""`gcloud ai custom-jobs create`, read as the job that it creates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import Document, read_document
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import read_creation
from support.tables import every_row
from vertex_training.job.custom_job import CustomJobSpec

IMAGE = "us-docker.pkg.dev/my-project/trainers/flowers:1"
REDUCTION = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
GPUS = "machine-type=n1-highmem-96,accelerator-type=NVIDIA_TESLA_V100,accelerator-count=8"
DOCUMENTED = f"""gcloud beta ai custom-jobs create \\
  --region=us-central1 \\
  --display-name=flowers \\
  --worker-pool-spec={GPUS},replica-count=1,container-image-uri={IMAGE} \\
  --worker-pool-spec={GPUS},replica-count=4,container-image-uri={IMAGE} \\
  --worker-pool-spec=machine-type=n1-highcpu-16,replica-count=16,container-image-uri={REDUCTION}
"""
"""The example of the documentation, "Distributed training", section "Reduction Server"."""

CREATE = "gcloud ai custom-jobs create --region=us-central1 --display-name=flowers"
POOL = f"--worker-pool-spec=machine-type=n1-standard-4,container-image-uri={IMAGE}"


def read(*words: str) -> Document[CustomJobSpec]:
    return read_document({"gcloud": " ".join(words)})


def spec(*words: str) -> CustomJobSpec:
    document = read(*words)
    assert [str(problem) for problem in document.problems] == []
    assert document.spec is not None
    return document.spec


def findings(*words: str) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in read(*words).problems]


def test_the_documents_example_is_its_three_pools() -> None:
    assert [pool.replica_count for pool in spec(DOCUMENTED).worker_pool_specs] == [1, 4, 16]


def test_the_documents_example_has_its_accelerators() -> None:
    machines = [pool.machine_spec for pool in spec(DOCUMENTED).worker_pool_specs]
    assert [machine.accelerator_count for machine in machines if machine] == [8, 8, 0]


def test_the_region_is_the_location() -> None:
    assert read(DOCUMENTED).location == "us-central1"


def test_it_is_the_same_job_as_its_worker_pools() -> None:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 2,
        "containerSpec": {"imageUri": IMAGE, "command": ["python3"], "args": ["-m", "trainer"]},
    }
    written = {
        "displayName": "flowers",
        "jobSpec": {"workerPoolSpecs": [{**pool, "replicaCount": 1}, {}, pool]},
    }
    command = (CREATE, POOL, "--worker-pool-spec=", f"{POOL},replica-count=2")
    assert spec(*command, "--command=python3", "--args=-m,trainer") == read_document(written).spec


def test_a_package_has_the_addresses_of_the_command() -> None:
    executor = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
    task = f"executor-image-uri={executor},python-module=trainer.task"
    pool = f"--worker-pool-spec=machine-type=n1-standard-4,{task}"
    (read_pool,) = spec(CREATE, pool, "--python-package-uris=gs://a/b.tar.gz,gs://a/c.whl").worker_pool_specs
    package = read_pool.python_package_spec
    assert package is not None
    assert package.package_uris == ("gs://a/b.tar.gz", "gs://a/c.whl")


@pytest.mark.parametrize(
    ("flag", "field", "expected"),
    [
        pytest.param("--labels=team=vision,run=7", "labels", {"team": "vision", "run": "7"}, id="labels"),
        pytest.param("--enable-web-access", "enable_web_access", True, id="a switch"),
        pytest.param("--no-enable-web-access", "enable_web_access", False, id="a switch that is off"),
        pytest.param("--service-account a@b.iam.gserviceaccount.com", "service_account",
                     "a@b.iam.gserviceaccount.com", id="a value as a word of its own"),
    ],
)  # fmt: skip
def test_a_flag_is_a_field(flag: str, field: str, expected: object) -> None:
    found = getattr(spec(CREATE, POOL, flag), field)
    assert (dict(found) if isinstance(expected, dict) else found) == expected


def test_a_list_may_have_another_delimiter() -> None:
    (pool,) = spec(CREATE, POOL, "'--args=^;^a,b;c'").worker_pool_specs
    assert pool.container_spec is not None
    assert pool.container_spec.args == ("a,b", "c")


def test_the_parts_of_a_key_are_its_name() -> None:
    parts = "--kms-key=k --kms-keyring=r --kms-location=us-central1 --kms-project=p"
    found = spec(CREATE, POOL, parts).encryption_spec
    assert found is not None
    assert found.kms_key_name == "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


def test_an_accelerator_without_a_count_is_one() -> None:
    gpu = "machine-type=n1-standard-4,accelerator-type=NVIDIA_TESLA_T4"
    (pool,) = spec(CREATE, f"--worker-pool-spec={gpu},container-image-uri={IMAGE}").worker_pool_specs
    assert pool.machine_spec is not None
    assert pool.machine_spec.accelerator_count == 1


@pytest.mark.parametrize(
    ("words", "path", "message"),
    [
        pytest.param("--dsplay-name=x", "gcloud", "did you mean --display-name", id="a misspelt flag"),
        pytest.param("again", "gcloud", "'again' is not a flag", id="a word too many"),
        pytest.param("--network", "gcloud.--network", "needs a value", id="a flag without its value"),
        pytest.param("--labels=team", "gcloud.--labels", "'team' has no =", id="a label without a value"),
        pytest.param("--network=$NET", "gcloud.--network", "$NET is a shell variable", id="a shell variable"),
        pytest.param("--config=a.yaml", "gcloud.--config", "no other file is read", id="a file"),
        pytest.param(f"{POOL},replica-cont=2", "gcloud.--worker-pool-spec[1]", "did you mean replica-count",
                     id="a misspelt field"),
        pytest.param(f"{POOL},replica-count=two", "gcloud.--worker-pool-spec[1].replica-count", "'two'",
                     id="an invalid count"),
        pytest.param(POOL.replace("standard-4", "standrd-4"), "gcloud.--worker-pool-spec[1].machine-type",
                     "did you mean n1-standard-4", id="an unknown machine"),
    ],
)  # fmt: skip
def test_a_finding_names_what_was_written(words: str, path: str, message: str) -> None:
    found = findings(CREATE, POOL, words)
    assert any(where == path and message in what for where, what in found), found


LOCAL = "--worker-pool-spec=machine-type=n1-standard-4,local-package-path=."
EXECUTOR = "executor-image-uri=us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
POOL_0, POOL_1 = "gcloud.--worker-pool-spec[0]", "gcloud.--worker-pool-spec[1]"


@every_row(
    "words, path, message",
    [
        ((f"{POOL},python-module=a.b",), f"{POOL_0}.python-module", "together with container-image-uri"),
        ((f"{POOL},{EXECUTOR}",), f"{POOL_0}.executor-image-uri", "together with container-image-uri"),
        ((f"{LOCAL},script=a.py",), f"{POOL_0}.executor-image-uri", "is missing"),
        ((f"{LOCAL},{EXECUTOR}",), f"{POOL_0}.local-package-path", "needs python-module or script"),
        ((f"{LOCAL},{EXECUTOR},script=a.py,python-module=a",), f"{POOL_0}.script", "keep one of them"),
        (
            (f"{LOCAL},{EXECUTOR},script=a.py,container-image-uri={IMAGE}",),
            f"{POOL_0}.container-image-uri",
            "together with local-package-path",
        ),
        ((POOL, f"{LOCAL},{EXECUTOR},script=a.py"), f"{POOL_1}.local-package-path", "allowed in the first"),
        ((f"{LOCAL},{EXECUTOR},script=a.py", POOL), f"{POOL_1}.container-image-uri", "all pools run the"),
        ((POOL, f"{POOL},python-module=a.b"), f"{POOL_1}.python-module", "together with container-image-uri"),
    ],
)
def test_keys_that_gcloud_refuses_together_are_errors(
    words: tuple[str, ...], path: str, message: str
) -> None:
    found = [one for one in read(CREATE, *words).problems if one.level == "error"]
    assert any(one.path == path and message in one.message for one in found), found


def test_all_pools_run_the_local_package_of_the_first() -> None:
    document = read(
        CREATE,
        f"{LOCAL},{EXECUTOR},script=a.py,output-image-uri={IMAGE}",
        "--worker-pool-spec=machine-type=n1-standard-4,replica-count=3",
    )
    assert [(one.level, one.path) for one in document.problems] == [("warning", POOL_0)]
    assert document.spec is not None
    assert [dict(pool.images) for pool in document.spec.worker_pool_specs] == [
        {"container_spec.image_uri": IMAGE}
    ] * 2


def test_a_missing_name_is_a_missing_flag() -> None:
    assert ("gcloud.--display-name", "is missing; it is required") in findings(
        "gcloud ai custom-jobs create", POOL
    )


def test_other_fields_with_a_command_are_rejected() -> None:
    document = read_document({"gcloud": f"{CREATE} {POOL}", "trainingInput": {}})
    assert [problem.path for problem in document.problems] == ["trainingInput"]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("gcloud ai custom-jobs list", id="another command of custom jobs"),
        pytest.param("gcloud ai-platform jobs submit training create", id="the command of AI Platform"),
        pytest.param(7, id="no command at all"),
    ],
)
def test_another_command_is_not_read_as_one(command: object) -> None:
    assert read_creation({"gcloud": command}) is None


WORDS = st.sampled_from([POOL, "--worker-pool-spec=", "--args=^", "--kms-key", "=", "--", "-q", "--labels=="])


@given(st.lists(WORDS | st.text(max_size=12)))
def test_no_command_raises(words: list[str]) -> None:
    document = read_document({"gcloud": ["gcloud", "ai", "custom-jobs", "create", *words]})
    assert document.problems
