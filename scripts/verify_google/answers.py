"""The answers of one side: its resources as the service has them, outputs, and what replicas saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scripts.verify_google.rest import JOB_KINDS, Json, Rest
from scripts.verify_google.sanitising import Sanitiser
from scripts.verify_google.stacks import Program, Side

Answers = dict[str, Any]
"""Sanitised documents by step, such as "jobs: CustomJob distributed"."""

_READ = (
    *("StagingBucket", "ImageRepository", "StagedFile", "StagedPackage"),
    *("CustomJob", "HyperparameterTuningJob", "TrainingPipeline"),
)
"""Types whose resources the service is asked for. The image is there if the job with it has run."""

_LEFT_OUT = ("endpoint", "console", "logs")
"""Outputs that name the side, or the job, whose name has another id there."""


def answers_of(side: Side, program: Program) -> Answers:
    """Return what a deployed program has made. Raises CloudError and StackError."""
    clean = Sanitiser(project=side.endpoint.project, run=side.run)
    found = {f"{program.name}: {step}": value for step, value in _answers(side, program)}
    return {step: clean.document(value) for step, value in found.items()}


def _answers(side: Side, program: Program) -> Iterator[tuple[str, Any]]:
    rest = Rest(endpoint=side.endpoint)
    yield "a preview after a refresh has no changes", side.is_unchanged(program)
    for resource in side.resources(program):
        kind = resource["type"].rpartition(":")[2]
        name = resource["urn"].rpartition("::")[2]
        if kind == "Stack":
            outputs = resource.get("outputs", {})
            yield "outputs", {key: value for key, value in outputs.items() if key not in _LEFT_OUT}
        elif kind in _READ:
            yield from _read(rest, f"{kind} {name}", str(resource["id"]))
    if program.name == "jobs":
        yield from _seen(rest, side, program)


def _read(rest: Rest, step: str, name: str) -> Iterator[tuple[str, Json]]:
    """Yield a resource, and those that the service made for it."""
    is_job = any(f"/{kind}/" in name for kind in JOB_KINDS)
    document = rest.until(name) if is_job else rest.read(name)
    document.get("trials", []).sort(key=lambda trial: int(trial["id"]))
    yield step, document
    for number, below in enumerate(_made_by_service(document), 1):
        yield f"{step}, {below.split('/')[-2]} {number}", rest.read(below)


def _made_by_service(document: Json) -> Iterator[str]:
    """Yield the names of the jobs of trials, of the job of a pipeline, and of the model that it uploaded."""
    for trial in document.get("trials", []):
        if trial.get("customJob"):
            yield str(trial["customJob"])
    metadata = document.get("trainingTaskMetadata", {})
    if metadata.get("backingCustomJob"):
        yield str(metadata["backingCustomJob"])
    if model := document.get("modelToUpload", {}).get("name"):
        yield str(model)


def _seen(rest: Rest, side: Side, program: Program) -> Iterator[tuple[str, Json]]:
    """Yield the arguments and variables that the program jobs/seen.py wrote in each replica."""
    reference = next(each for each in side.resources(program) if each["type"].endswith(":StackReference"))
    bucket = reference["outputs"]["outputs"]["bucket"]
    for path, seen in rest.documents(bucket, "seen/"):
        yield f"seen/{path}", _without_addresses(seen)


def _without_addresses(seen: Json) -> Json:
    """Return what a replica saw with the JSON in its variables parsed, and words for addresses and ids."""
    variables = dict(seen["variables"])
    for name in ("CLUSTER_SPEC", "TF_CONFIG"):
        if name in variables:
            parsed = json.loads(variables[name])
            for pool, hosts in parsed.get("cluster", {}).items():
                parsed["cluster"][pool] = ["HOST:PORT" for _ in hosts]
            if "cloud" in parsed.get("task", {}):
                parsed["task"]["cloud"] = "ID"
            variables[name] = parsed
    for name, word in (("MASTER_ADDR", "HOST"), ("MASTER_PORT", "PORT")):
        if name in variables:
            variables[name] = word
    return {**seen, "variables": variables}
