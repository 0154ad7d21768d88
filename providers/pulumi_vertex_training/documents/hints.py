"""Hints for documents that are recognized but not read: what to use instead, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pulumi_vertex_training.documents.document import document_kinds
from vertex_training.fields.schema import snake_case
from vertex_training.fields.values import kind as kind_of_value
from vertex_training.topology import roles

_KINDS_WITHOUT_DOCUMENTS: Mapping[str, str] = {
    "resource_pools": "this is a PersistentResource; pass a job, and this file as --persistent-resource",
    "artifact_uri": "this may be a Model; pass the job or the training pipeline that creates it",
}
"""Fields of kinds that documents cannot describe, each with its remedy.

`DocumentKind.hints` has those of the other kinds.
"""

_EXPLAINED = frozenset({"form", "worker_pool_specs", "custom_job", "replicas", "reduction_servers"})


def hint_about(value: Mapping[object, object], *, legacy: Collection[str]) -> str:
    """Return the remedy for a document in none of the forms; "" if it resembles nothing known.

    `legacy` are the fields of AI Platform's training input that no other form has.
    """
    names = {snake_case(key): key for key in value if isinstance(key, str)}
    for hints in (_KINDS_WITHOUT_DOCUMENTS, *(kind.hints for kind in document_kinds())):
        for name, remedy in hints.items():
            if name in names:
                return remedy
    found = [key for name, key in names.items() if name in legacy and value[key] is not None]
    if found:
        return f"{found[0]} is a field of AI Platform's training input; put it under trainingInput:"
    if "worker_pool_specs" in names:
        return f"{names['worker_pool_specs']} is null; write the list of worker pools"
    return ""


def hint_about_nesting(names: Collection[str]) -> str:
    """Return the remedy for a document with the keys of several kinds, if one belongs inside the other.

    Else return "". Names are in snake case.
    """
    if "study_spec" in names or "trial_job_spec" in names:
        if "worker_pool_specs" in names:
            return "put workerPoolSpecs under trialJobSpec, which is the job of each trial"
        if "job_spec" in names:
            return "the job of each trial is called trialJobSpec in a tuning job; rename jobSpec"
        if "input_data_config" in names or "model_to_upload" in names:
            return "put the fields of the tuning job under trainingTaskInputs"
    elif "input_data_config" in names or "model_to_upload" in names:
        return "put workerPoolSpecs, and the fields next to it, under trainingTaskInputs"
    return ""


def hint_about_scalar(value: object) -> str:
    """Return the remedy for a document that is not a mapping."""
    if isinstance(value, str) and value.split()[:1] == ["gcloud"] and "custom-jobs" in value.split():
        return "a command of Vertex AI is not supported; pass its --config file"
    if isinstance(value, str) and value.split()[:1] == ["gcloud"]:
        return 'put a command under the key gcloud: {"gcloud": "gcloud ai-platform jobs submit training ..."}'
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "expected a mapping, got a list; put a list of worker pools under workerPoolSpecs:"
    return f"expected a mapping, got {kind_of_value(value)}"


def explained(value: Mapping[object, object], printed: Collection[str]) -> dict[object, object] | None:
    """Return the job in the output of `vertex-training explain --json`; None for any other document.

    The output has the job's fields at its top level. `printed` are the keys of kinds other than custom jobs.
    """
    names = {snake_case(key): item for key, item in value.items() if isinstance(key, str)}
    if not names.keys() >= _EXPLAINED:
        return None
    other = next((names[key] for key in printed if isinstance(names.get(key), Mapping)), None)
    if isinstance(other, Mapping):
        return dict(other)
    job = names["custom_job"]
    if not isinstance(job, Mapping):
        return {"worker_pool_specs": names["worker_pool_specs"]}
    inner: object = next((item for key, item in job.items() if key in ("jobSpec", "job_spec")), {})
    outer = {key: item for key, item in job.items() if key not in ("jobSpec", "job_spec")}
    return {**outer, **inner} if isinstance(inner, Mapping) else dict(job)


def has_task(fields: Mapping[object, object]) -> bool:
    """Return whether any worker pool has a task, except reduction servers."""
    names = ("workerPoolSpecs", "worker_pool_specs")
    tasks = {"containerSpec", "container_spec", "pythonPackageSpec", "python_package_spec"}
    lists = [item for key, item in fields.items() if key in names and isinstance(item, (list, tuple))]
    return any(
        isinstance(pool, Mapping) and tasks & pool.keys() and not _reduces(pool)
        for pools in lists
        for pool in pools
    )


def _reduces(pool: Mapping[object, object]) -> bool:
    """Return whether the task is Google's reduction server, which roles without tasks have as well."""
    task = pool.get("containerSpec")
    image = task.get("imageUri") if isinstance(task, Mapping) else None
    return isinstance(image, str) and roles.is_reduction_server_image(image)
