"""The schema of the package: complete texts, valid examples, and no break of programs."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import pulumi_vertex_training as vt
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.package import adapter
from pulumi_vertex_training.package.kinds import PACKAGE, kind_of
from pulumi_vertex_training.package.wire.properties import Properties
from pulumi_vertex_training.registry import RESOURCES
from scripts.arguments import compatibility, package_examples, package_schema
from scripts.arguments.catalog import ROOT
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.schema import snake_case

SCHEMA: dict[str, Any] = json.loads(package_schema.FILE.read_text())


def texts(part: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each description, without examples."""
    if isinstance(part, Mapping):
        if isinstance(text := part.get("description"), str):
            yield path, text.split("\n\n{{% examples")[0]
        for key, value in part.items():
            yield from texts(value, f"{path}.{key}" if path else key)


def test_each_text_is_of_sentences_about_names_of_the_wire() -> None:
    known = {snake_case(name) for path, _ in texts(SCHEMA) for name in re.findall(r"[a-z]+[A-Z]\w*", path)}
    for path, text in texts(SCHEMA):
        assert text.endswith("."), path
        assert not re.search(r"docs/|dictionary|\bTrue\b|\bNone\b", text), path
        quoted = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", text))))
        assert not quoted & (known - {"vertex_cluster"}), path
    described = {path for path, _ in texts(SCHEMA)}
    for token, resource in SCHEMA["resources"].items():
        for key in ("inputProperties", "properties"):
            assert {f"resources.{token}.{key}.{name}" for name in resource[key]} <= described


def test_names_versions_enums_and_secrets() -> None:
    assert (
        f'\nversion = "{SCHEMA["version"]}"\n'
        in (ROOT / "providers/pulumi-vertex-training/pyproject.toml").read_text()
    )
    assert SCHEMA["language"]["python"]["packageName"] != vt.__name__
    types = {token.rpartition(":")[2]: found for token, found in SCHEMA["types"].items()}
    values = {name: [one["value"] for one in found.get("enum", ())] for name, found in types.items()}
    assert values["Wait"] == ["none", "running", "done"]
    assert values["OnInterrupt"] == ["leave", "cancel"]
    assert values["OnDelete"] == ["delete", "cancel"]
    assert values["Rerun"] == ["on_change", "on_failure", "always", "never"]
    assert values["SchedulingStrategy"] == ["STANDARD", "SPOT", "FLEX_START"]
    assert "NVIDIA_L4" in values["MachineSpecAcceleratorType"]
    # The service may have accelerators that this version does not know.
    accelerator = types["MachineSpec"]["properties"]["acceleratorType"]
    assert [one.get("type") for one in accelerator["oneOf"]] == ["string", None]
    count = types["WorkerPoolSpec"]["properties"]["replicaCount"]
    assert [one["type"] for one in count["oneOf"]] == ["integer", "string"]
    assert types["EnvVar"]["properties"]["value"]["secret"]


def with_unknown(value: Any) -> Any:
    """Return values of a program with those of resources that do not exist yet."""
    if isinstance(value, Mapping):
        return {key: with_unknown(one) for key, one in value.items()}
    if isinstance(value, list):
        return [with_unknown(one) for one in value]
    return UNKNOWN if isinstance(value, str) and value.startswith("${") else value


@pytest.mark.parametrize("resource", RESOURCES)
def test_the_example_of_a_resource_is_accepted(
    resource: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("trainer/__init__.py", "trainer/task.py", "data/digits.csv.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    shown = SCHEMA["resources"][f"{PACKAGE}:index:{resource}"]["description"]
    blocks = dict(re.findall(r"```(\w+)\n(.*?)\n```", shown, re.DOTALL))
    assert blocks.keys() >= {"yaml", "typescript", "python", "go"}
    declared = yaml.safe_load(blocks["yaml"])["resources"]
    assert resource in [one["type"].rpartition(":")[2] for one in declared.values()]
    OPERATION.begin()
    OPERATION.configure({"vertex-training:endpoint": "emulator"}.get, None)
    for name, one in declared.items():
        token = one["type"].replace(":", ":index:")
        request = adapter.Request(
            kind=kind_of(token),
            urn=f"urn:pulumi:dev::digits::{token}::{name}",
            inputs=Properties(values=with_unknown(one.get("properties", {}))),
        )
        _, reasons = adapter.check(request)
        assert not reasons
        assert one.get("properties", {}).keys() <= SCHEMA["resources"][token]["inputProperties"].keys()
    assert all(f'"{name}"' in blocks[language] for name in declared for language in ("typescript", "go"))


def test_translated_programs() -> None:
    resources = {
        "data": {"type": "vertex-training:StagingBucket", "properties": {"labels": {"my_team": "a"}}},
        "train": {
            "type": "vertex-training:CustomJob",
            "properties": {"stagingBucket": "${data.name}", "keepRuns": 2, "enableWebAccess": True},
        },
    }
    assert package_examples.typescript(resources) == (
        'import * as vertex_training from "pulumi-vertex-training";\n\n'
        'const data = new vertex_training.StagingBucket("data", {\n    labels: {\n'
        '        my_team: "a",\n    },\n});\nnew vertex_training.CustomJob("train", {\n'
        "    stagingBucket: data.name,\n    keepRuns: 2,\n"
        "    enableWebAccess: true,\n});"
    )
    assert 'Labels: pulumi.StringMap{\n\t\t\t\t"my_team": pulumi.String("a"),' in (
        package_examples.go(resources, SCHEMA)
    )


def test_no_program_of_the_last_release_breaks() -> None:
    assert compatibility.main() == 0


def test_each_break_is_a_sentence() -> None:
    old = compatibility.record(SCHEMA)
    schema = copy.deepcopy(SCHEMA)
    job = schema["resources"]["vertex-training:index:CustomJob"]
    del job["inputProperties"]["labels"], schema["resources"]["vertex-training:index:StagedFile"]
    job["requiredInputs"] += ["network", "more"]
    job["inputProperties"]["more"] = {"type": "string"}
    job["inputProperties"]["keepRuns"] = {"type": "string"}
    job["required"].remove("jobId")
    del schema["types"]["vertex-training:index:Wait"]["enum"][0]
    schema["types"]["vertex-training:index:EnvVar"]["required"] = []
    job["properties"]["extra"] = schema["types"]["vertex-training:index:MachineSpec"]["properties"][
        "more"
    ] = {"type": "string"}
    assert sorted(compatibility.breaks(old, compatibility.record(schema))) == [
        "enum Wait: none was removed.",
        "resource CustomJob, inputs: keepRuns was integer, and is string.",
        "resource CustomJob, inputs: labels was removed.",
        "resource CustomJob, inputs: more is new, and required.",
        "resource CustomJob, inputs: network is required now.",
        "resource CustomJob, outputs: jobId is not always there any more.",
        "resource StagedFile, inputs: was removed.",
        "resource StagedFile, outputs: was removed.",
        "type EnvVar: name is not always there any more.",
        "type EnvVar: value is not always there any more.",
    ]
