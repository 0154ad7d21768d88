"""Whatever JSON or YAML is in a file: `explain` and `diff` end with 0 or 2, findings, and no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.cli.main import main
from support import properties  # noqa: F401
from support.properties import examples


def words_of(text: str) -> list[str]:
    return text.split()


KEYS = st.sampled_from(
    words_of("""
    workerPoolSpecs worker_pool_specs jobSpec displayName labels scheduling timeout chief worker server
    evaluator reduction_servers parameter_servers trainingInput training_input gcloud scaleTier masterType
    workerType workerCount parameterServerCount evaluatorCount masterConfig imageUri region args packageUris
    pythonModule runtimeVersion hyperparameters machineSpec machine_spec machineType machine_type
    acceleratorType accelerator_type acceleratorCount accelerator_count tpuTopology tpu_topology replicaCount
    replica_count containerSpec container_spec pythonPackageSpec env name value diskSpec bootDiskType
    boot_disk_type bootDiskSizeGb boot_disk_size_gb command baseOutputDirectory network serviceAccount
    reservationAffinity reservation_affinity_type nfsMounts jobId state cheif workerPoolSpec""")
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 4)
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(
        words_of("""auto 1 3600s n1-standard-4 n1-highmem-96 cloud-tpu ct5lp-hightpu-4t a4x-highgpu-4g 2x2 4x4
        NVIDIA_TESLA_V100 NVIDIA_TESLA_K80 TPU_V3 pd-ssd us-central1 gs://b/o gcr.io/p/i $(A)$(A) CUSTOM
        projects/p/locations/l/customJobs/1 BASIC_GPU SPECIFIC_RESERVATION STANDARD_1 PREMIUM_1
        us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest --worker-count=3""")
    )
)
POOLS = st.fixed_dictionaries(
    {},
    optional={
        "replicaCount": st.integers(-1, 5) | st.sampled_from(["auto", "2", 10**9, 10**30, None, [], 1.0]),
        "machineSpec": st.fixed_dictionaries(
            {},
            optional={
                "machineType": SCALARS,
                "acceleratorType": SCALARS,
                "acceleratorCount": SCALARS,
                "tpuTopology": SCALARS,
            },
        ),
        "containerSpec": st.fixed_dictionaries(
            {"imageUri": SCALARS},
            optional={
                "env": st.lists(
                    st.fixed_dictionaries(
                        {"name": st.sampled_from(["A", "B", "TF_CONFIG", "1"]), "value": SCALARS}
                    ),
                    max_size=4,
                ),
                "args": st.lists(SCALARS, max_size=3),
            },
        ),
        "diskSpec": st.dictionaries(KEYS, SCALARS, max_size=2),
    },
)
ANYTHING = st.recursive(
    SCALARS | POOLS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=15,
)
JOBS = st.fixed_dictionaries({"workerPoolSpecs": st.lists(POOLS, max_size=4) | ANYTHING})
PARAMETERS = st.deferred(
    lambda: st.fixed_dictionaries(
        {},
        optional={
            "parameterId": SCALARS,
            "doubleValueSpec": st.fixed_dictionaries({}, optional={"minValue": SCALARS, "maxValue": SCALARS}),
            "categoricalValueSpec": st.fixed_dictionaries({"values": st.lists(SCALARS, max_size=2)}),
            "conditionalParameterSpecs": st.lists(
                st.fixed_dictionaries(
                    {"parameterSpec": PARAMETERS},
                    optional={"parentIntValues": st.fixed_dictionaries({"values": st.lists(SCALARS)})},
                ),
                max_size=1,
            ),
            "scaleType": SCALARS,
        },
    )
)
TUNING = st.fixed_dictionaries(
    {
        "studySpec": st.fixed_dictionaries(
            {"parameters": st.lists(PARAMETERS, max_size=2)},
            optional={
                "metrics": st.lists(st.dictionaries(st.sampled_from(["metricId", "goal"]), SCALARS)),
                "studyStoppingConfig": ANYTHING,
                "algorithm": SCALARS,
            },
        )
        | ANYTHING,
        "trialJobSpec": JOBS | ANYTHING,
    },
    optional={"displayName": SCALARS, "maxTrialCount": SCALARS, "parallelTrialCount": SCALARS},
)
PIPELINES = st.fixed_dictionaries(
    {"trainingTaskInputs": JOBS | TUNING | ANYTHING},
    optional={
        "trainingTaskDefinition": SCALARS | st.sampled_from(["custom_task.yaml", "hyperparameter_tuning_"]),
        "inputDataConfig": st.fixed_dictionaries(
            {"datasetId": SCALARS}, optional={"fractionSplit": ANYTHING, "gcsDestination": ANYTHING}
        ),
        "modelToUpload": st.fixed_dictionaries(
            {}, optional={"displayName": SCALARS, "containerSpec": ANYTHING}
        ),
        "customTask": JOBS,
    },
)
DOCUMENTS = (
    ANYTHING
    | TUNING
    | PIPELINES
    | st.fixed_dictionaries({"workerPoolSpecs": st.lists(POOLS | st.just({}), max_size=5) | ANYTHING})
    | st.fixed_dictionaries(
        {
            "displayName": SCALARS,
            "jobSpec": st.fixed_dictionaries({"workerPoolSpecs": st.lists(POOLS, max_size=4)}),
        },
        optional={"labels": ANYTHING, "encryptionSpec": ANYTHING},
    )
    | st.dictionaries(
        st.sampled_from(["chief", "worker", "server", "evaluator", "reduction_servers", "labels"]),
        POOLS | st.dictionaries(KEYS, SCALARS, max_size=5) | SCALARS,
        max_size=4,
    )
    | st.fixed_dictionaries({"trainingInput": st.dictionaries(KEYS, ANYTHING, max_size=8)})
    | st.fixed_dictionaries({"gcloud": st.lists(SCALARS, max_size=6) | st.text()})
)


def run(*words: str, stdin: str = "") -> tuple[int, str, str]:
    """Run the command in this process; return exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with _stdin(stdin), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _stdin(text: str) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = SimpleNamespace(buffer=io.BytesIO(text.encode(errors="surrogatepass")))  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdin = before


def assert_decent(code: int, out: str, err: str) -> None:
    assert code in (0, 2), err
    assert "Traceback" not in out + err
    assert "\x1b" not in out + err


SWITCHES = st.lists(
    st.sampled_from(
        [
            ("--contract", "documented"),
            ("--trial", "3"),
            ("--framework", "mxnet"),
            ("--framework", "MultiWorkerMirroredStrategy"),
            ("--location", "europe-west4"),
            ("--location", "nowhere"),
            ("--allow-unknown-types",),
            ("--allow-legacy-types",),
        ]
    ),
    max_size=3,
).map(lambda switches: [word for switch in switches for word in switch])


@settings(max_examples=examples(250), suppress_health_check=[HealthCheck.too_slow])
@given(value=DOCUMENTS, switches=SWITCHES)
def test_explain_of_any_json(value: Any, switches: list[str]) -> None:
    text = json.dumps(value)
    code, out, err = run("explain", "-", "--json", *switches, stdin=text)
    assert_decent(code, "", err)
    document = json.loads(out)
    assert err == ""
    assert (code == 2) == bool(document["errors"])
    if [error.get("path") for error in document["errors"]] == ["--trial"]:
        return  # a number above that of the trials: nothing is explained
    assert {"workerPoolSpecs", "errors", "warnings", "replicas", "reductionServers"} <= set(document)
    assert all(finding["message"] for finding in document["errors"] + document["warnings"])
    assert_decent(*run("explain", "-", *switches, stdin=text))


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(value=DOCUMENTS)
def test_explain_reads_the_same_from_yaml(value: Any) -> None:
    written = json.dumps(value)
    assume("\\ud" not in written)  # YAML has no escapes for halves of characters
    as_yaml = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, default_style='"')
    from_json = run("explain", "-", "--json", stdin=written)
    from_yaml = run("explain", "-", "--json", stdin=as_yaml)
    assert from_yaml[0] == from_json[0]
    if '"form": null' not in from_json[1]:
        assert json.loads(from_yaml[1]) == json.loads(from_json[1])


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(old=DOCUMENTS, new=DOCUMENTS)
def test_diff_of_any_two(old: Any, new: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "old.json"
    file.write_text(json.dumps(old))
    code, out, err = run("diff", str(file), "-", "--json", stdin=json.dumps(new))
    assert_decent(code, "", err)
    document = json.loads(out)
    assert (code == 2) == bool(document.get("errors"))
    assert_decent(*run("diff", str(file), "-", stdin=json.dumps(new)))


WORDS = st.sampled_from(
    [
        *words_of('workerPoolSpecs replicaCount chief : [ ] { } , " &a *a ? | # .nan 1e999 ~ \x07 é'),
        *(": ", "\n", "  ", "- ", "<<: ", "!!python/object:os.system ", "---\n", "\t"),
    ]
)


@settings(max_examples=examples(200))
@given(words=st.lists(WORDS | st.text(max_size=3), max_size=25))
def test_any_text_whatever(words: list[str]) -> None:
    text = "".join(words)
    assert_decent(*run("explain", "-", stdin=text))
    code, out, err = run("explain", "-", "--json", stdin=text)
    assert_decent(code, "", err)
    assert (code == 2) == bool(json.loads(out)["errors"])
