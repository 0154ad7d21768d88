"""The choices of presets: given fields win, a second time changes nothing, and what is not chosen is said."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_training.catalog.prebuilt_images import PREBUILT_IMAGES
from vertex_training.fields.values import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.job.custom_job import CustomJobSpec, normalise
from vertex_training.job.framework_choices import choose, preset_of
from vertex_training.job.reading import decode_spec
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.presets.launchers import LAUNCHERS, command, launched_by
from vertex_training.topology.presets.tables import PRESETS
from vertex_training.topology.rules.frameworks import FRAMEWORKS, framework_problems

REDUCER = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
PROGRAM = ["python3", "-m", "trainer.task"]
GPUS = {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 2}
CPUS = {"machine_type": "n1-standard-8"}
TPU = {"machine_type": "cloud-tpu", "accelerator_type": "TPU_V2", "accelerator_count": 8}


def pool(machine: dict[str, Any] = CPUS, count: object = 1, **container: Any) -> dict[str, Any]:
    return {"machine_spec": machine, "replica_count": count, "container_spec": container}


def pools_of(declared: list[Any], framework: str, location: Any = "us-central1") -> list[Any]:
    chosen = choose({"worker_pool_specs": declared}, framework, location=location)
    filled: list[Any] = chosen.value["worker_pool_specs"]
    return filled


def test_every_framework_has_a_preset() -> None:
    assert {each.preset for each in FRAMEWORKS.values()} == set(PRESETS)
    assert preset_of("tf.distribute.MultiWorkerMirroredStrategy") is PRESETS["tensorflow"]
    assert preset_of("torch") is PRESETS["pytorch"]
    assert preset_of("pytroch") is None


def test_every_image_of_a_preset_exists() -> None:
    assert {name for each in PRESETS.values() for name in each.images.values()} <= set(PREBUILT_IMAGES)


def test_every_launcher_compiles_and_expands_nothing() -> None:
    for name, text in LAUNCHERS.items():
        compile(text, name, "exec")
        assert "$" not in text, "$(NAME) would be replaced by a variable"


def test_the_launcher_starts_the_program_in_args() -> None:
    [chief, workers, _, evaluator] = pools_of(
        [
            pool(GPUS, image_uri="mine", args=PROGRAM),
            pool(count=2, image_uri="mine", args=["task.py"]),
            pool(image_uri=REDUCER),
            pool(image_uri="mine", args=PROGRAM),
        ],
        "pytorch",
    )
    assert chief["container_spec"] == {
        "image_uri": "mine",
        "command": list(command("pytorch")),
        "args": PROGRAM,
        "env": [{"name": "PET_NPROC_PER_NODE", "value": "2"}],
    }
    assert workers["container_spec"]["command"] == list(command("pytorch"))
    assert "env" not in workers["container_spec"]
    assert evaluator["container_spec"] == {"image_uri": "mine", "args": PROGRAM}


@pytest.mark.parametrize(
    "container",
    [
        pytest.param({"command": ["torchrun"], "args": PROGRAM}, id="an own command"),
        pytest.param({"args": ["--epochs=3"]}, id="arguments of the ENTRYPOINT"),
        pytest.param({}, id="no arguments"),
        pytest.param({"args": "python3"}, id="arguments that are no list"),
    ],
)
def test_a_container_that_is_not_launched_stays_as_it_is(container: dict[str, Any]) -> None:
    declared = [pool(GPUS, image_uri="mine", **container)]
    if container.get("args") == "python3":
        declared = [pool(GPUS, image_uri="mine", args=7)]
    assert pools_of(declared, "pytorch") == declared


def test_an_image_that_a_preset_cannot_choose_is_asked_for() -> None:
    declared = {"display_name": "x", "worker_pool_specs": [pool(args=PROGRAM), pool(count=2, args=PROGRAM)]}
    messages = {}
    for framework in ("jax", "pytorch", None):
        decoded = decode_spec(
            CustomJobSpec, declared, normalise=normalise, check=lambda _: [], framework=framework
        )
        messages[framework] = [(problem.path, problem.message) for problem in decoded.problems]
    paths = [f"worker_pool_specs[{position}].container_spec.image_uri" for position in (0, 1)]
    assert [path for path, _ in messages["jax"]] == paths
    assert all("no prebuilt image for jax" in message for _, message in messages["jax"])
    assert messages["pytorch"] == []
    assert messages[None] == [(path, "is missing; it is required") for path in paths]


def test_an_empty_name_is_no_framework() -> None:
    pools = [WorkerPoolSpec(replica_count=1)]
    (problem,) = framework_problems(pools, "worker_pool_specs", CheckOptions(framework=""))
    assert (problem.path, problem.level) == ("framework", "error")
    assert problem.message.startswith("is empty; name one or leave it out. The frameworks are ")


def test_what_is_not_launched_is_said() -> None:
    package = {"executor_image_uri": "mine", "python_module": "trainer.task"}
    chosen = choose(
        {"workerPoolSpecs": [pool(image_uri="mine"), {"replicaCount": 1, "pythonPackageSpec": package}]},
        "jax",
    )
    assert chosen.sentences == (
        "framework jax starts no launcher in worker_pool_specs[0]: its args name no program, so the "
        "ENTRYPOINT of its image runs as it is.",
        "framework jax starts no launcher in worker_pool_specs[1]: a Python package is always started with "
        'python3 -m. Use a container, or call vertex_cluster.framework_settings(cluster, "jax") in the '
        "program.",
    )


@pytest.mark.parametrize(
    ("framework", "machine", "name"),
    [
        ("tensorflow", CPUS, "tf-cpu.2-17.py310"),
        ("tensorflow", GPUS, "tf-gpu.2-17.py310"),
        ("tensorflow", TPU, "tf-tpu.2-15.cp310"),
        ("pytorch", CPUS, "pytorch-gpu.2-4.py310"),
        ("pytorch", TPU, "pytorch-xla.2-4.py310"),
        ("xgboost", GPUS, "xgboost-gpu.2-1"),
    ],
)
def test_the_image_follows_the_machine(framework: str, machine: dict[str, Any], name: str) -> None:
    package = {"package_uris": ["gs://b/p.tar.gz"], "python_module": "trainer.task"}
    declared = [{"machine_spec": machine, "replica_count": 1, "python_package_spec": package}]
    [filled] = pools_of(declared, framework, location="europe-west4")
    image = f"europe-docker.pkg.dev/vertex-ai/training/{name}:latest"
    assert filled["python_package_spec"] == {**package, "executor_image_uri": image}


def test_values_that_are_not_known_yet_stay_unknown() -> None:
    [unknown_place] = pools_of([pool(args=PROGRAM)], "pytorch", location=UNKNOWN)
    assert unknown_place["container_spec"]["image_uri"] == UNKNOWN
    [unknown_words] = pools_of([pool(image_uri="mine", args=UNKNOWN)], "jax")
    assert unknown_words["container_spec"]["command"] == UNKNOWN
    [unknown_env] = pools_of([pool(GPUS, image_uri="mine", args=PROGRAM, env=UNKNOWN)], "pytorch")
    assert unknown_env["container_spec"]["env"] == UNKNOWN


def test_an_own_variable_wins() -> None:
    env = [{"name": "PET_NPROC_PER_NODE", "value": "1"}]
    [filled] = pools_of([pool(GPUS, image_uri="mine", args=PROGRAM, env=env)], "pytorch")
    assert filled["container_spec"]["env"] == env


CONTAINERS = st.fixed_dictionaries(
    {},
    optional={
        "image_uri": st.sampled_from(["mine", REDUCER, UNKNOWN, None]),
        "command": st.sampled_from([[], ["torchrun"], None, UNKNOWN, 7]),
        "args": st.sampled_from([PROGRAM, ["task.py"], ["--epochs=3"], [], [UNKNOWN], UNKNOWN, 7, [7]]),
        "env": st.sampled_from([[], [{"name": "A", "value": "b"}], UNKNOWN, 7, [7]]),
    },
)
POOLS = st.one_of(
    st.builds(pool, st.sampled_from([CPUS, GPUS, TPU, UNKNOWN, 7]), st.sampled_from([0, 1, "2", UNKNOWN])),
    st.builds(lambda container: {**pool(GPUS), "container_spec": container}, CONTAINERS),
    st.builds(lambda container: {"replicaCount": 1, "containerSpec": container}, CONTAINERS),
    st.sampled_from([{}, None, 7, UNKNOWN, {"python_package_spec": {"python_module": "m"}}]),
)


@given(st.lists(POOLS, max_size=6), st.sampled_from([*FRAMEWORKS, "nothing", None, UNKNOWN]))
def test_a_second_time_changes_nothing(declared: list[Any], framework: Any) -> None:
    value = {"worker_pool_specs": declared}
    once = choose(value, framework, location="us-central1")
    twice = choose(once.value, framework, location="us-central1")
    assert twice.value == once.value
    assert twice.choices == ()
    assert once.value != value or not once.choices


def test_a_launcher_is_known_by_its_command() -> None:
    assert [launched_by(list(command(name))) for name in LAUNCHERS] == list(LAUNCHERS)
    assert launched_by(["python3", "-c", "print()"]) is None
    assert launched_by(None) is None


def test_the_text_of_a_launcher_is_part_of_jobs_that_run() -> None:
    """Keep the texts: a new one reruns jobs. Write its digest here, and a line in CHANGELOG.md."""
    digests = {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in LAUNCHERS.items()}
    assert digests == DIGESTS


DIGESTS = {
    "pytorch": "355cab862e08",
    "jax": "56b094176816",
    "xgboost": "7930039d4cdc",
    "lightgbm": "d1ef144299b0",
    "mxnet": "4f0f659d84a6",
    "horovod": "ab9a37e15f91",
}


def test_the_page_has_every_preset_with_its_images() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "frameworks" / "choose.md").read_text(
        encoding="utf-8"
    )
    table = page.partition("## The table")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", table, re.MULTILINE))
    assert list(rows) == list(PRESETS)
    for name, preset in PRESETS.items():
        assert ("launcher" in rows[name]) == preset.has_launcher, name
        for image in preset.images.values():
            assert image.partition(".")[0] in rows[name], (name, image)
