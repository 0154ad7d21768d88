"""Documents of AI Platform: a job, its gcloud command, or the command with its config file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.documents.document import key_name
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import gcloud_flags
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    PREFIX,
    ReplicaConfig,
    TrainingInput,
)
from pulumi_vertex_training.kinds.custom_job.forms.gcloud import KEY, words_of
from vertex_training.fields.schema import Origins, as_written, camel_case
from vertex_training.findings.problems import Problem


@dataclass(frozen=True, kw_only=True)
class JobDocument:
    """A job as plain values, with the flags of its command merged in.

    `job` is None if the command is unusable and there is no `training_input`. `origins` maps the fields of
    the job to the flags that set them. `unread` holds the fields that may be in a --config file, which is
    not read.
    """

    job: Mapping[Any, object] | None
    origins: Origins
    problems: tuple[Problem, ...] = ()
    unread: frozenset[str] = frozenset()

    def as_written(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the findings with flags in place of the fields that they set, in paths and messages."""
        found = as_written(problems, self.origins)
        flags = _flags(self.origins)
        if not flags:
            return found
        names = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, flags))})(?!\w|\.\w)")
        return tuple(
            replace(problem, message=names.sub(lambda match: flags[match.group()], problem.message))
            for problem in found
        )


def read_job_document(value: Mapping[Any, object]) -> JobDocument:
    """Read the job of a document with `training_input`, `gcloud` or both. Never raises.

    With both, `training_input` has the content of the command's --config file, and flags override it.
    """
    job = {key: item for key, item in value.items() if key_name(key) != KEY}
    command = next((item for key, item in value.items() if key_name(key) == KEY), None)
    if command is None:
        return JobDocument(job=job, origins={})
    words, problems = words_of(command)
    submission = gcloud_flags.submission_of(words)
    problems += submission.problems
    key = next((key for key in job if key_name(key) == PREFIX), PREFIX)
    config = job.get(key)
    if submission.is_another or (problems and not words):
        return JobDocument(job=None if config is None else job, origins={}, problems=problems)
    unread: frozenset[str] = frozenset()
    if config is None and submission.has_config:
        unread = _fields_without(submission.training_input)
        problems += (
            gcloud_flags.CONFIG_FILE.broken(
                "gcloud.--config",
                "no other file is read; put its trainingInput into this document, next to gcloud",
            ),
        )
    if config is None or isinstance(config, Mapping):
        job[key] = _merged(config or {}, submission.training_input)
    for name, item in (("job_id", submission.job_id), ("labels", submission.labels)):
        if item is not None:
            job = {other: kept for other, kept in job.items() if key_name(other) != name} | {name: item}
    origins = submission.origins if config else {**gcloud_flags.ORIGINS, **submission.origins}
    return JobDocument(job=job, origins=origins, problems=problems, unread=unread)


def _fields_without(flags: Mapping[str, Any]) -> frozenset[str]:
    """Return every field of a training input that the flags do not set."""
    fields = {field.name for field in dataclasses.fields(TrainingInput)}
    configs = {name for name in flags if name.endswith("_config") and name != "encryption_config"}
    inner = {
        f"{config}.{field.name}"
        for config in configs
        for field in dataclasses.fields(ReplicaConfig)
        if field.name not in flags[config]
    }
    return frozenset(f"{PREFIX}.{name}" for name in (fields - set(flags)) | inner)


def _flags(origins: Origins) -> dict[str, str]:
    """Map fields, as messages spell them, to their flags, the longest first.

    A field of one lowercase word is left out: "network" may be any word of the sentence.
    """
    start, flag = f"{PREFIX}.", f"{KEY}.--"
    named = {
        camel_case(path[len(start) :]): at[len(flag) - 2 :]
        for path, at in origins.items()
        if path.startswith(start) and at.startswith(flag) and at != flag
    }
    return {name: named[name] for name in sorted(named, key=len, reverse=True) if not name.islower()}


def _merged(config: Mapping[Any, object], flags: Mapping[str, Any]) -> dict[Any, object]:
    merged: dict[Any, object] = {key_name(key) or key: item for key, item in config.items()}
    for name, item in flags.items():
        below = merged.get(name)
        both = isinstance(item, Mapping) and isinstance(below, Mapping)
        merged[name] = _merged(below, item) if both else item  # type: ignore[arg-type]
    return merged
