"""The page of the environment variables: those that are read, and those that a replica gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.reference.markdown import HEADER, REFERENCE, code, items, linked
from scripts.reference.pages import variable_texts as texts
from vertex_training.fields.decode import decode
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.notifications.ended_run import EndedRun, variables
from vertex_training.replica_environment.pipeline_data import variables as data_variables
from vertex_training.replica_environment.replica import job_environments
from vertex_training.topology.presets.tables import PRESETS

PAGE = REFERENCE / "environment-variables.md"

_POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "container_spec": {"image_uri": "europe-docker.pkg.dev/my-project/training/digits:1"},
}
_PARENT = "projects/my-project/locations/us-central1"
_EXAMPLE = decode(
    CustomJobSpec,
    {
        "display_name": "digits",
        "worker_pool_specs": [{**_POOL, "replica_count": 1}, {**_POOL, "replica_count": 2}],
        "base_output_directory": "gs://my-bucket/digits",
        "tensorboard": f"{_PARENT}/tensorboards/1",
        "experiment": "digits",
        "experiment_run": "first",
    },
)

_LONG = ("CLUSTER_SPEC", "TF_CONFIG")


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page."""
    yield PAGE, "\n\n".join(_parts()) + "\n"


def replica_variables() -> Mapping[str, str]:
    """Return the variables of the first of two workers, as a trial of a tuning job and with a dataset."""
    if _EXAMPLE.draft is None:
        raise ValueError(f"The example cannot be read: {_EXAMPLE.problems}")
    addresses = {name: f"gs://my-bucket/{name}-*.csv" for name in ("training", "validation", "test")}
    environments = job_environments(
        _EXAMPLE.draft,
        job_id="1234567890123456789",
        project_number="123456789012",
        location="us-central1",
        trial="1",
        data=data_variables("csv", addresses),
    )
    return environments[1].as_variables()


def _parts() -> Iterator[str]:
    yield f"{HEADER}# Environment variables"
    yield "## Of the client"
    yield "You can set these for a Pulumi program, its provider process and the command `vertex-training`."
    yield _listed(texts.CLIENT)
    yield "## Of the emulator"
    yield (
        "The emulator reads these when it starts. It also gets the `HOME`, `PATH`, language and proxy "
        "of your shell.\n"
        "It gets no other variable, so no secret of your shell stays in the emulator's process."
    )
    yield _listed(texts.EMULATOR)
    yield "## Of a shell for the emulator"
    yield (
        '`eval "$(vertex-training emulator env)"` sets these in a shell, besides `VERTEX_EMULATOR_HOST`,\n'
        "`VERTEX_EMULATOR_TOKEN`, `STORAGE_EMULATOR_HOST` and others of the first table."
    )
    yield _listed(texts.SHELL)
    yield "## Of a replica"
    yield (
        "Vertex AI and the emulator set these in each replica, here with the values of the first of two\n"
        "workers, in a trial of a tuning job with a dataset. To print them for your job, run\n"
        "`vertex-training explain`."
    )
    yield _replica()
    for name in _LONG:
        yield f"### {name}"
        yield code(json.dumps(json.loads(replica_variables()[name]), indent=2), "json")
    yield "Some replicas have these as well:"
    yield _listed(texts.LOCAL_REPLICA)
    yield "## Of frameworks"
    yield (
        "With the option [`framework`](resources/CustomJob.md#options), a launcher sets the variables of\n"
        "the framework before the program starts."
    )
    yield items(PAGE, _frameworks()).rstrip("\n")
    yield "## Of a command that is notified"
    yield linked(
        PAGE,
        "A local command of `notifications` gets these facts about the end of a run. "
        "See docs/guides/programs/notifications.md.",
    )
    yield code("\n".join(_notified()), "text")
    yield "## Of the chores of a clone"
    yield "`make` and `scripts/` read or set these."
    yield _listed(texts.CHORES)


def _listed(variables: Mapping[str, str]) -> str:
    named: dict[str, list[str]] = {}
    for name, meaning in variables.items():
        named.setdefault(meaning, []).append(f"`{name}`")
    return items(PAGE, [(", ".join(names), "", meaning) for meaning, names in named.items()]).rstrip("\n")


def _replica() -> str:
    values = replica_variables()
    shown = {name: f" `{value}`" for name, value in values.items() if name not in _LONG}
    return items(
        PAGE,
        [(f"`{name}`", "", f"{meaning}{shown.get(name, '')}") for name, meaning in texts.REPLICA.items()],
    ).rstrip("\n")


def _frameworks() -> Iterator[tuple[str, str, str]]:
    for preset in PRESETS.values():
        listed = [f"`{name}`, {meaning}" for name, meaning in preset.variables.items()]
        if listed:
            yield f"`{preset.name}`", "", "; ".join(listed)


def _notified() -> list[str]:
    ended = EndedRun(
        event="failed",
        state="JOB_STATE_FAILED",
        job=f"{_PARENT}/customJobs/1234567890123456789",
        kind="CustomJob",
        display_name="digits",
        project="my-project",
        location="us-central1",
        resource="train",
        stack="dev",
        program="digits",
        run="4f2a-1",
        error="The replica workerpool0-0 exited with a non-zero status of 1.",
        create_time="2026-03-01T03:00:00Z",
        start_time="2026-03-01T03:00:05Z",
        end_time="2026-03-01T03:10:00Z",
        output_directory="gs://my-bucket/digits/run-1",
    )
    return [f"{name}={value}" for name, value in variables(ended.facts(), delivery="1").items()]
