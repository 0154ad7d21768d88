"""The Python of a job: run, it declares the same job; it is formatted; nothing in a job leaves its quotes."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pulumi_vertex_training as vt
from pulumi_vertex_training.cli.jobs.declaration_source import (
    WITH_CLASSES,
    Origin,
    declaration,
    declared_form,
    looks_secret,
    resource_name,
)
from pulumi_vertex_training.cli.jobs.python_source import quoted, remark, write
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from pulumi_vertex_training.kinds.custom_job.kind import decode_job
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from support import properties  # noqa: F401
from support.ground import jobs
from support.ground.jobs import job, package_pool, pool
from support.properties import examples
from support.tables import every_row
from vertex_training.job.custom_job import CustomJobSpec, to_wire
from vertex_training.job.job_spec import Scheduling
from vertex_training.topology.pools import EMPTY_POOL, DiskSpec

ORIGIN = Origin(job="projects/p/locations/us-central1/customJobs/1", project="p", location="us-central1")
OURS = {"vertex-training-run": "feed-3", "vertex-training-spec": "v1-0", "pulumi-stack": "prod"}
HOSTILE = "\"'\\\n\r\t{x}\x00\x1b[2J\u202e\u2028é漢'''\"\"\"#%s"


class Recorder:
    """Stands in for the package: a call gives its arguments back."""

    def __init__(self) -> None:
        self.declared: list[dict[str, Any]] = []

    def CustomJob(self, name: str, /, **fields: Any) -> None:  # noqa: N802
        self.declared.append({"display_name": name, **fields})

    def __getattr__(self, name: str) -> Any:
        arguments = set(getattr(vt, name).__signature__.parameters)

        def message(**fields: Any) -> dict[str, Any]:
            assert set(fields) <= arguments, (name, fields)
            return fields

        return message


def declared(python: str) -> dict[str, Any]:
    """Run a program with this source, and return what it declares."""
    recorder = Recorder()
    exec(compile(python, "program", "exec"), {"__builtins__": {}, "vt": recorder})
    assert len(recorder.declared) == 1
    return recorder.declared[0]


def read_back(python: str) -> CustomJobSpec:
    fields = declared(python)
    assert fields.pop("adopt") == ORIGIN.job
    assert (fields.pop("project"), fields.pop("location")) == ("p", "us-central1")
    decoded = decode_job(CustomJobSpec, fields, location=None, check=lambda _: ())
    assert decoded.spec is not None, decoded.problems
    return decoded.spec


def formatted(python: str, width: int) -> str:
    return subprocess.run(
        [
            Path(sys.executable).with_name("ruff"),
            *("format", "--isolated", "--line-length", str(width), "--stdin-filename", "a.py", "-"),
        ],
        input=python,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@given(jobs.whole_jobs)
def test_the_python_declares_the_same_job(spec: CustomJobSpec) -> None:
    again = read_back(declaration(CUSTOM_JOB, spec, ORIGIN))
    assert CUSTOM_JOB.compare(declared_form(CUSTOM_JOB, spec), again).paths == ()


@given(jobs.jobs)
def test_so_it_does_of_a_job_that_is_not_right(spec: CustomJobSpec) -> None:
    ast.parse(declaration(CUSTOM_JOB, spec, ORIGIN))


@settings(max_examples=examples(25))
@given(jobs.whole_jobs, st.sampled_from([88, 110]))
def test_the_python_is_formatted(spec: CustomJobSpec, width: int) -> None:
    python = declaration(CUSTOM_JOB, spec, ORIGIN)
    assert formatted(python, width) == python


PROGRAM = "import os\n\nprint('a long enough program', os.environ['HOME'])\n" * 3
KNOWN = {
    "small": job(),
    "several pools": job(pool(), EMPTY_POOL, pool(2), package_pool()),
    "a program as an argument": job(pool(args=["-c", PROGRAM, "x" * 130 + "\n"])),
    "a program with both quotes": job(
        pool(args=["-c", "print('a')\nprint(\"b\")\nprint('a', \"b\")\n# {x}\n" * 4])
    ),
    "a program of empty lines": job(pool(args=["-c", "\n" * 130])),
    "a secret of several lines": job(pool(env={"TLS_KEY": "-----BEGIN\n" + "A" * 120 + "\n-----END"})),
    "secret": job(pool(env={"API_KEY": "s", "EPOCHS": "3", "EMPTY_TOKEN": ""})),
    "hostile": job(pool(args=[HOSTILE], env={"A": HOSTILE}), labels={"a": HOSTILE}, network=HOSTILE),
    "a long list": job(pool(args=[f"--number={i}" for i in range(30)])),
    "wide characters": job(pool(args=["漢字" * 20, "é" * 40])),
}


@every_row("width", [88, 110])
@every_row("spec", KNOWN.values(), ids=KNOWN)
def test_the_python_of_a_known_job_is_formatted(spec: CustomJobSpec, width: int) -> None:
    python = declaration(CUSTOM_JOB, spec, replace(ORIGIN, run="feed-3\nimport os"))
    assert formatted(python, width) == python
    assert CUSTOM_JOB.compare(declared_form(CUSTOM_JOB, spec), read_back(python)).paths == ()


def test_a_whole_declaration() -> None:
    spec = job(pool(env={"API_KEY": "s3cret"}), pool(2), labels={**OURS, "team": "vision"})
    assert declaration(CUSTOM_JOB, spec, replace(ORIGIN, run="feed-3")) == (
        """\
# The job belongs to run feed-3 (stack prod).
# If that stack no longer exists, adopt the job with taking_over=<this run>.
vt.CustomJob(
    "digits",
    worker_pool_specs=[
        # chief
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            replica_count=1,
            container_spec=vt.ContainerSpecArgs(
                image_uri="repo/trainer:1",
                env=[
                    # Perhaps a secret. To keep it out of the program: pulumi.Config().require_secret(...).
                    vt.EnvVarArgs(name="API_KEY", value="s3cret"),
                ],
            ),
        ),
        # workers
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            replica_count=2,
            container_spec=vt.ContainerSpecArgs(image_uri="repo/trainer:1"),
        ),
    ],
    labels={"team": "vision"},
    project="p",
    location="us-central1",
    adopt="projects/p/locations/us-central1/customJobs/1",
)
"""
    )


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(
            job(pool(disk_spec=DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100))),
            "disk_spec",
            id="the service's disk",
        ),
        pytest.param(job(scheduling=Scheduling(timeout="604800s")), "scheduling", id="the service's timeout"),
        pytest.param(job(scheduling=Scheduling(strategy="STANDARD")), "scheduling", id="the usual strategy"),
        pytest.param(job(labels=OURS), "labels", id="our own labels"),
        pytest.param(job(network=""), "network", id="an empty text"),
        pytest.param(job(), "display_name", id="a display name that is the resource's"),
    ],
)
def test_what_need_not_be_said_is_left_out(spec: CustomJobSpec, field: str) -> None:
    assert field not in declaration(CUSTOM_JOB, spec, ORIGIN)


@pytest.mark.parametrize(
    ("disk", "field"),
    [
        pytest.param(DiskSpec(boot_disk_type="pd-standard"), "boot_disk_type='pd-standard'", id="type"),
        pytest.param(DiskSpec(boot_disk_size_gb=200), "boot_disk_size_gb=200", id="size"),
    ],
)
def test_another_disk_is_said(disk: DiskSpec, field: str) -> None:
    assert field in declaration(CUSTOM_JOB, job(pool(disk_spec=disk)), ORIGIN).replace('"', "'")


@pytest.mark.parametrize(
    ("directory", "run", "staging_bucket"),
    [
        pytest.param("gs://b/train/feed-3/", "feed-3", "b", id="the run's own"),
        pytest.param("gs://b/train/feed-3-0a1b/", "feed-3", "b", id="a second job's of the run"),
        pytest.param("gs://b/train/feed-31/", "feed-3", None, id="another run's"),
        pytest.param("gs://b/out/", "feed-3", None, id="declared"),
        pytest.param("gs://b/train/feed-3/", None, None, id="of no run"),
    ],
)
def test_a_directory_of_the_run_becomes_its_bucket(
    directory: str, run: str | None, staging_bucket: str | None
) -> None:
    fields = declared(declaration(CUSTOM_JOB, job(base_output_directory=directory), replace(ORIGIN, run=run)))
    assert fields.get("staging_bucket") == staging_bucket
    assert ("base_output_directory" in fields) == (staging_bucket is None)


@given(st.text())
def test_no_text_leaves_its_quotes(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text
    assert quoted(text).isprintable()


@given(st.text())
def test_no_text_leaves_a_comment(text: str) -> None:
    assert ast.parse(remark(text)).body == []
    assert remark(text).isprintable()


@pytest.mark.parametrize("text", ['a"b', "a'b", "a'\"b", "", "\\", 'a""b\''])
def test_quotes_are_those_of_the_formatter(text: str) -> None:
    python = f"{write([text])}\n"
    assert formatted(python, 88) == python


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("API_KEY", True),
        ("DB_PASSWORD", True),
        ("dbPassword", True),
        ("HF_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("PASSPHRASE", True),
        ("EPOCHS", False),
        ("TOKENIZER", False),
        ("KEYBOARD", False),
        ("MONKEY", False),
        ("BYPASS", False),
    ],
)
def test_names_that_sound_like_a_secret(name: str, secret: bool) -> None:
    assert looks_secret(name) is secret


@pytest.mark.parametrize(
    ("display_name", "labels", "name"),
    [
        pytest.param("digits", {}, "digits", id="display name"),
        pytest.param("a", {"pulumi-resource": "train"}, "train", id="the resource that made it"),
        pytest.param('Alice\'s "job"\n', {}, "Alice-s-job", id="hostile"),
        pytest.param("漢字", {}, "job", id="nothing plain"),
        pytest.param("x" * 200, {}, "x" * 60, id="long"),
    ],
)
def test_the_name_of_the_resource(display_name: str, labels: dict[str, str], name: str) -> None:
    assert resource_name(replace(job(labels=labels), display_name=display_name)) == name


def messages(cls: type, found: set[type]) -> set[type]:
    """Yield the messages that the fields of a message contain."""
    for item in dataclasses.fields(cls):
        text = str(item.type)
        for name, other in vars(sys.modules[cls.__module__]).items():
            if name in text and dataclasses.is_dataclass(other) and other not in found and other is not cls:
                found.add(other)
                messages(other, found)
    return found


KINDS = (CustomJobSpec, HyperparameterTuningJobSpec, TrainingPipelineSpec)
MESSAGES = sorted(set[type]().union(*(messages(kind, set()) for kind in KINDS)), key=lambda cls: cls.__name__)


@every_row("message", [one for one in MESSAGES if one.__name__ in WITH_CLASSES])
def test_a_class_of_arguments_has_the_fields_of_its_message(message: type) -> None:
    arguments = set(getattr(vt, f"{message.__name__}Args").__signature__.parameters)
    assert {item.name for item in dataclasses.fields(message)} == arguments


def test_the_messages_with_a_class_of_arguments_are_known() -> None:
    assert {one.__name__ for one in MESSAGES if hasattr(vt, f"{one.__name__}Args")} == WITH_CLASSES


def test_the_document_of_a_declared_form_is_the_same_job() -> None:
    spec = job(pool(), labels={**OURS, "team": "vision"})
    assert to_wire(declared_form(CUSTOM_JOB, spec))["labels"] == {"team": "vision"}
