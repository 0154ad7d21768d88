"""Programs for the engine in the test's process: the inputs that each resource class registers.

`tests/engine/stand_ins/test_in_process_engine.py` compares them with what the classes register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pulumi_vertex_training.kinds.custom_job.provider import CustomJobProvider
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.provider import HyperparameterTuningJobProvider
from pulumi_vertex_training.kinds.model.provider import ModelProvider
from pulumi_vertex_training.kinds.persistent_resource.provider import PersistentResourceProvider
from pulumi_vertex_training.kinds.staging_bucket.provider import StagingBucketProvider
from pulumi_vertex_training.plugin.running.hidden_input import HIDDEN_INPUT, KEY_INPUT
from pulumi_vertex_training.plugin.running.provider import JobProvider
from pulumi_vertex_training.plugin.running.run import RunProvider
from pulumi_vertex_training.plugin.stack_key import StackKeyProvider
from support.in_process.small_engine import Declared, Outputs

TARGET = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
TRAINING = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
POLICIES = {"rerun": "on_change", "protect_running": False}
"""The policies in the records of a job and its run; the latter also has the limit of reruns."""
OF_JOB = {"on_replace": "delete", "keep_runs": 10}
"""The policies in a job's record only. The invariants of these tests count records, so none is kept."""


STACK_KEY = Declared(name="vertex-training", provider=StackKeyProvider(), inputs={})


def keyed(name: str, inputs: Mapping[str, Any]) -> Callable[[Outputs], Mapping[str, Any]]:
    """Return the inputs with the key of a resource, which a program makes of the stack's key."""
    return lambda known: {**inputs, KEY_INPUT: f"{known[STACK_KEY.name]['key']}-{name}"}


def marks(name: str) -> dict[str, str]:
    return {"project": "engine-test", "stack": "test", "resource": name}


def bucket(name: str) -> Declared:
    inputs = {"name": name, "force_destroy": True, **TARGET}
    return Declared(name="bucket", provider=StagingBucketProvider(), inputs=keyed("bucket", inputs))


def runnable(
    provider: JobProvider,
    name: str,
    spec: Mapping[str, Any],
    *,
    run_token: str | None = None,
    rerun_limit: int = 1,
    **policies: Any,
) -> list[Declared]:
    """Return a job and its run. Policies that are not given have their defaults."""
    collection = provider.declared.gateway.collection
    of_both = {**POLICIES, **policies}
    of_job = {**OF_JOB, **of_both}
    of_run = {**of_both, "rerun_limit": rerun_limit, "run_token": run_token, **TARGET}
    declaration = {**spec, **TARGET}

    def run(_: Outputs) -> Mapping[str, Any]:
        kind = None if collection == "customJobs" else collection
        hidden = {"job": name, "spec": declaration, **({"collection": kind} if kind else {})}
        return {HIDDEN_INPUT: hidden, **of_run}

    def job(outputs: Outputs) -> Mapping[str, Any]:
        return {
            **declaration,
            **of_job,
            HIDDEN_INPUT: {"key": outputs[f"run of {name}"]["key"]},
            "marks": marks(name),
        }

    return [
        Declared(name=f"run of {name}", provider=RunProvider(), inputs=run),
        Declared(name=name, provider=provider, inputs=job, delete_before_replace=True),
    ]


def pool(spec: str, command: Sequence[str], image: str = TRAINING) -> dict[str, Any]:
    container = {"image_uri": image, "command": command, "env": [{"name": "SPEC", "value": spec}]}
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": container,
    }


def custom_job(
    name: str, spec: str, command: Sequence[str] = ("sleep", "600"), **options: Any
) -> list[Declared]:
    fields_of_job = ("staging_bucket", "staging_bucket_location")
    more = {key: options.pop(key) for key in fields_of_job if key in options}
    fields = {"worker_pool_specs": [pool(spec, command)], **more}
    return runnable(CustomJobProvider(), name, fields, **options)


def tuning_job(
    name: str, spec: str, command: Sequence[str] = ("sleep", "600"), **options: Any
) -> list[Declared]:
    study = {
        "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [1, 2, 3]}}],
        "algorithm": "GRID_SEARCH",
    }
    fields = {
        "study_spec": study,
        "max_trial_count": 3,
        "parallel_trial_count": 2,
        "trial_job_spec": {"worker_pool_specs": [pool(spec, command)]},
    }
    return runnable(HyperparameterTuningJobProvider(), name, fields, **options)


def model(name: str, spec: str, note: str) -> Declared:
    inputs = {
        "display_name": note,
        "model_id": name,
        "container_spec": {"image_uri": SERVING, "env": [{"name": "SPEC", "value": spec}]},
        "description": note,
        "version_description": note,
        "version_aliases": [note],
        "labels": {"note": note},
        "on_delete": "delete",
        "marks": marks(name),
        **TARGET,
    }
    return Declared(name=name, provider=ModelProvider(), inputs=keyed(name, inputs))


def persistent_resource(name: str, spec: str, note: str) -> Declared:
    """Return a persistent resource; the note is its display name, and its length the replica count."""
    one = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": len(note), "id": spec.lower()}
    inputs = {
        "persistent_resource_id": name,
        "resource_pools": [one],
        "display_name": note,
        "reboot_token": note if note.startswith("reboot") else None,
        "marks": marks(name),
        **TARGET,
    }
    return Declared(
        name=name,
        provider=PersistentResourceProvider(),
        inputs=keyed(name, inputs),
        delete_before_replace=True,
    )
