"""The texts of the package's schema: docstrings with the names that other languages write."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import pulumi_vertex_training as vt
from pulumi_vertex_training.package.kinds import PACKAGE, kind_of
from pulumi_vertex_training.registry import RESOURCES
from vertex_training.fields.schema import camel_case, field_types

INSTEAD: Mapping[str, str] = {
    "JobSpec.service_account": (
        "Address of the service account that the job runs as. Default: Vertex AI's Custom Code Service Agent."
    ),
    "JobSpec.persistent_resource_id": (
        "Id of the persistent resource on whose machines the job runs. The job waits for the resource."
    ),
    "LifecycleCondition.is_live": "Only live objects, or with false only noncurrent versions.",
    "ModelSpec.artifact_uri": (
        "Directory of the model's files, gs://BUCKET/PREFIX. Default in a pipeline: the run's model "
        "directory."
    ),
    "PackageInputs.vertex_cluster": (
        "Add the package for training code, as it is installed beside the plugin, so that the program"
        " can import it on every replica."
    ),
    "RegisteredModelSpec.parent_model": "Id or full name of the model that gets a new version.",
    "TrainingPipelineSpec.parent_model": "Id or full name of the model that gets a new version.",
    "JobInputs.staging_bucket": (
        "Name of the bucket in which each run gets an output directory of its own if "
        "`base_output_directory` is left out. A rerun then never overwrites a good model."
    ),
    "TrainingImageSpec.repository": "Repository: HOST/PATH, such as the `url` of an `ImageRepository`.",
    "TrainingEnvironment.grant_roles": "Grant the accounts their roles, also if they exist already.",
    "project": (
        "Project of the resources that have none in the program. A change replaces them. Default: "
        "`local` on the emulator."
    ),
    "location": (
        "Location of the resources that have none in the program. A change replaces them. Default: "
        "`us-central1` on the emulator."
    ),
}
"""Texts of what a program in Python gives in another way, by CLASS.FIELD or the name of a setting."""

_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z`])")
_QUOTED = re.compile(r"`[^`]*`")
_PAGE = re.compile(r" \(docs/[^)]*\)|(?:See|see) docs/\S+\.md\.?")


def in_package(text: str, key: str = "") -> str:
    """Return a text without what only Python has, with the names of the wire."""
    sentences = [each for each in _SENTENCE.split(INSTEAD.get(key, text)) if not _names_python(each)]
    kept = _PAGE.sub("", " ".join(sentences)).replace("as a dictionary", "as an object").strip()
    kept = re.sub(r"(?<=[a-z] )(?:True|False)\b", lambda found: found[0].lower(), kept)
    kept = re.sub(r"\bNone\b", "empty", kept)
    return _QUOTED.sub(lambda found: _in_wire_names(found[0]), kept)


def with_default(text: str, default: object) -> str:
    """Return a text with the default, unless it names one, or there is nothing to name."""
    if (
        "efault" in text
        or isinstance(default, bool)
        or not isinstance(default, (str, int, float))
        or not default
    ):
        return text
    return (
        f"{text} Default: `{default:g}`." if isinstance(default, float) else f"{text} Default: `{default}`."
    )


def _names_python(sentence: str) -> bool:
    words = (word for quoted in _QUOTED.findall(sentence) for word in re.findall(r"\w+", quoted))
    return any(word in _of_python() for word in words)


def _in_wire_names(quoted: str) -> str:
    """Return code with the names of properties as on the wire, and the constants of JSON."""
    renamed = re.sub(r"[a-z]+(?:_[a-z0-9]+)+", lambda found: _wire_names().get(found[0], found[0]), quoted)
    return renamed.replace("True", "true").replace("False", "false")


@functools.cache
def _of_python() -> frozenset[str]:
    """Return the public names of the Python package that the plugin does not serve."""
    names: Sequence[str] = vt.__all__  # type: ignore[attr-defined]  # made by the lazy loader
    public = {name for name in names if "_" in name or name[0].isupper()}
    return frozenset(public - set(RESOURCES)) | {"topology", "completion", "pulumi_gcp", "RunError"}


@functools.cache
def _wire_names() -> Mapping[str, str]:
    """Return the names on the wire of all inputs and outputs."""
    classes: set[type] = set()
    outputs: set[str] = set()
    for kind in (kind_of(f"{PACKAGE}:index:{name}") for name in RESOURCES):
        outputs.update(kind.outputs)
        for cls in filter(None, (kind.inputs, kind.options)):
            classes |= {cls, *classes_below(cls)}
    names = outputs | {item.name for cls in classes for item in dataclasses.fields(cls)}
    return {name: camel_case(name) for name in names - {"vertex_cluster"}}


def classes_below(cls: type) -> Iterator[type]:
    """Yield the dataclasses in the fields of a class, each once, documented or not."""
    seen: set[type] = set()

    def below(hint: Any) -> Iterator[type]:
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if hint not in seen:
                seen.add(hint)
                yield hint
                for inner in field_types(hint).values():
                    yield from below(inner)
        else:
            for inner in get_args(hint):
                yield from below(inner)

    for hint in field_types(cls).values():
        yield from below(hint)
