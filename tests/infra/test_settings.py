"""The `config` sections of the two Pulumi.yaml files, and the dataclasses that read them, are the same."""

from __future__ import annotations

import dataclasses
import importlib.util
import typing
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from support.tables import every_row

ROOT = Path(__file__).parents[2]
PROGRAMS = {"infra": ("training_settings", "."), "environment": ("environment_settings", "environment")}
STACKS = ("local", "dev", "staging", "prod")


def settings_of(folder: str) -> type[Any]:
    name, _ = PROGRAMS[folder]
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, name, module)
        spec.loader.exec_module(module)
        found: type[Any] = module.Settings
        found.__hints__ = typing.get_type_hints(found)
    return found


def project_of(folder: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / PROGRAMS[folder][1] / "Pulumi.yaml").read_text())


def declared(hint: Any, default: Any) -> dict[str, Any]:
    """Return the entry of a setting in Pulumi.yaml, without its description.

    It has no type: Pulumi would compare it before the program does, in a message without value and remedy.
    """
    (kind, *rest) = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    if typing.get_origin(kind) is pulumi.Output:
        return {"secret": True, "default": ""}
    if typing.get_origin(kind) is tuple:
        return {"default": list(default)}
    return {"default": "" if rest and default is None else default}


@every_row("folder", PROGRAMS)
def test_defaults_are_the_same(folder: str) -> None:
    settings = settings_of(folder)
    wanted = {}
    for field in dataclasses.fields(settings):
        first, *words = field.name.split("_")
        key = first + "".join(word.capitalize() for word in words)
        wanted[key] = declared(settings.__hints__[field.name], field.default)
    found = {
        key: {name: value for name, value in entry.items() if name != "description"}
        for key, entry in project_of(folder)["config"].items()
    }
    assert found == wanted


@every_row("folder", PROGRAMS)
def test_every_setting_has_a_description(folder: str) -> None:
    descriptions = [entry["description"] for entry in project_of(folder)["config"].values()]
    assert all(len(text) > 20 for text in descriptions)
    assert len(set(descriptions)) == len(descriptions)


@every_row("folder", PROGRAMS)
def test_every_stack_sets_only_what_the_program_has(folder: str) -> None:
    project = project_of(folder)
    files = {path.name for path in (ROOT / PROGRAMS[folder][1]).glob("Pulumi.*.yaml")}
    assert files == {f"Pulumi.{stack}.yaml" for stack in STACKS}
    for stack in STACKS:
        text = (ROOT / PROGRAMS[folder][1] / f"Pulumi.{stack}.yaml").read_text()
        keys = [key.partition(":") for key in yaml.safe_load(text)["config"]]
        assert {key for space, _, key in keys if space == project["name"]} <= project["config"].keys()
        assert {space for space, _, _ in keys} <= {project["name"], "vertex-training", "gcp"}


def test_each_stage_trains_in_the_environment_of_its_name() -> None:
    name = project_of("environment")["name"]
    for stack in STACKS[1:]:
        config = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]
        assert config["digits:environment"] == f"organization/{name}/{stack}"


def test_only_the_environment_of_the_emulator_is_destroyed_with_its_contents() -> None:
    key = f"{project_of('environment')['name']}:forceDestroy"
    files = {stack: ROOT / PROGRAMS["environment"][1] / f"Pulumi.{stack}.yaml" for stack in STACKS}
    forced = [stack for stack, file in files.items() if key in yaml.safe_load(file.read_text())["config"]]
    assert forced == ["local"]
