from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cli.teams.apply.staleness import has_secret, reasons
from pulumi_vertex_training.cli.teams.plan.saved_plan import PlannedChange, SavedPlan, _program, load
from support.tables import every_row
from vertex_training.command_line.errors import BAD_INPUT

URN = "urn:pulumi:prod::digits::pulumi-python:dynamic/customJob:CustomJob::train"
PARENTS = "urn:pulumi:prod::digits::vision:training:Team$pulumi-python:dynamic/customJob:CustomJob::train"
KEY = "urn:pulumi:prod::digits::pulumi-python:dynamic/stackKey:StackKey::vertex-training"
STACK = "urn:pulumi:prod::digits::pulumi:pulumi:Stack::digits-prod"
PROVIDER = "urn:pulumi:prod::digits::pulumi:providers:pulumi-python::default"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def resources(adds: dict[str, object], **goal: object) -> dict[str, object]:
    return {"goal": {"inputDiff": {"adds": adds}, **goal}, "steps": ["create"], "seed": "x"}


SAVED = SavedPlan(
    project="digits",
    stack="prod",
    changes={URN: PlannedChange(effect="replace")},
    recorded={URN: "one"},
    program={"infra/__main__.py": "one"},
    resources={URN: resources({"labels": {"team": "a"}})},
    configuration={"digits:team": "vision", "digits:key": {"secure": "one"}},
)


@every_row(
    "change, expected",
    (
        ({}, []),
        (
            {"configuration": {**SAVED.configuration, "digits:team": "speech"}},
            [("configuration", "", "digits:team: vision -> speech")],
        ),
        (
            {"configuration": {**SAVED.configuration, "digits:key": {"secure": "two"}}},
            [("configuration", "", "digits:key was set again; it is a secret")],
        ),
        (
            {"recorded": {URN: "two"}},
            [("state", "train", "it was deployed, replaced or refreshed after the plan was saved")],
        ),
        (
            {"recorded": {}},
            [("state", "train", "it was removed from the stack after the plan was saved")],
        ),
        (
            {"recorded": {URN: "two", STACK: "new", KEY: "new"}},
            [("state", "train", "it was deployed, replaced or refreshed after the plan was saved")],
        ),
        (
            {"recorded": {URN: "one", PARENTS: "new", STACK: "new"}},
            [("state", "train", "it was created after the plan was saved")],
        ),
        (
            {"recorded": {URN: "one", PROVIDER: "new"}},
            [("state", "default", "it was created after the plan was saved")],
        ),
        ({"changes": {}}, []),
        (
            {"resources": {URN: resources({"labels": {"team": "b"}})}},
            [("plan", "train", "another value than in the plan: labels")],
        ),
        (
            {"resources": {URN: resources({"labels": {"team": "a"}}, protect=True)}},
            [("plan", "train", "another value than in the plan: protect")],
        ),
        (
            {"resources": {}, "changes": {}},
            [("plan", "train", "planned: replace; now: no change")],
        ),
        (
            {
                "resources": {URN: resources({"labels": {"team": "b"}})},
                "changes": {URN: PlannedChange(effect="replace", words=("workers: 2 -> 8",))},
            },
            [
                (
                    "plan",
                    "train",
                    "another value than in the plan: labels; now: replace (workers: 2 -> 8)",
                )
            ],
        ),
        ({"program": {"infra/__main__.py": "two"}}, []),
    ),
)
def test_what_has_changed_is_named(change, expected):
    found = reasons(SAVED, replace(SAVED, **change))
    assert [(one.what, one.resource, one.message) for one in found] == expected


def test_the_order_of_dependencies_seeds_identities_and_ciphertexts_differ_from_run_to_run():
    def job(made: str, spec_hash: str) -> dict[str, object]:
        secret = {**SECRET, "ciphertext": made}
        return {"key": secret, "__run": {"identity": made, "spec_hash": spec_hash}}

    old = replace(
        SAVED,
        resources={URN: resources(job("one", "v1-1"), dependencies=["a", "b"])},
    )
    other = {**resources(job("two", "v1-1"), dependencies=["b", "a"]), "seed": "y"}
    assert reasons(old, replace(old, resources={URN: other})) == ()
    (reason,) = reasons(old, replace(old, resources={URN: resources(job("one", "v1-2"))}))
    assert reason.what == "plan"
    assert has_secret(old)
    assert not has_secret(SAVED)


def test_a_changed_program_matters_only_with_values_that_the_plan_does_not_know():
    changed = {"infra/__main__.py": "two"}
    own = replace(SAVED, resources={URN: resources({"__run": {"spec_hash": UNKNOWN}})})
    assert reasons(own, replace(own, program=changed)) == ()
    users = replace(SAVED, resources={URN: resources({"labels": {"job": UNKNOWN}})})
    (reason,) = reasons(users, replace(users, program=changed))
    assert reason.what == "program"
    assert reason.message == (
        "infra/__main__.py changed, and the plan does not know yet what it makes of train: labels"
    )


def test_the_program_is_its_source_files_and_its_project_file(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: digits\nruntime: python\nmain: infra # here\n")
    for name in (
        "infra/__main__.py",
        "infra/lib/a.py",
        "infra/index.ts",
        "infra/node_modules/e.js",
        "tests/b.py",
        "infra/.hidden/c.py",
        "infra/venv/d.py",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1\n")
    (tmp_path / "infra" / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "infra" / "data.csv").write_text("1\n")
    assert sorted(dict(_program(tmp_path / "infra"))) == [
        "Pulumi.yaml",
        "infra/__main__.py",
        "infra/index.ts",
        "infra/lib/a.py",
    ]
    (tmp_path / "Pulumi.yaml").write_text("name: digits\nruntime: nodejs\nmain: infra/index.ts\n")
    assert "infra/lib/a.py" in dict(_program(tmp_path))


@every_row(
    "content, message",
    (
        (None, "Could not read"),
        ("not JSON", "is not a plan that"),
        ("[]", "is not a plan that"),
        ('{"resourcePlans": {}, "manifest": {}}', "is not a plan that"),
        ('{"vertexTraining": {"version": 9}}', "was written by another version"),
        ('{"vertexTraining": {"version": 2, "project": "p"}}', "is damaged"),
    ),
)
def test_a_file_that_is_not_a_plan_is_bad_input(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "plan.json"
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_text(content)
    with pytest.raises(Exception, match=message):
        load(file)


def test_words_and_date_of_a_file_are_not_read(tmp_path: Path) -> None:
    own = {"version": 2, "project": "p", "stack": "s", "refresh": False, "recorded": {}, "program": {}}
    forged = {"created": "FORGED", "changes": {URN: {"effect": "none", "words": ["FORGED"]}}}
    steps = {"goal": None, "steps": ["create-replacement", "replace", "delete-replaced"]}
    document = {"vertexTraining": {**own, **forged}, "resourcePlans": {URN: steps}}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    saved = load(tmp_path / "plan.json")
    assert saved.changes == {URN: PlannedChange(effect="replace")}
    assert "FORGED" not in repr(saved)


def test_the_command_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--plan"
    assert main(["apply", "--plan", str(tmp_path / "plan.json"), "--cwd", str(tmp_path), "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--cwd"


def test_a_folder_that_does_not_exist_is_named_before_the_preview(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: digits\nruntime: python\n")
    file = tmp_path / "missing" / "plan.json"
    assert main(["plan", "--cwd", str(tmp_path), "--save-plan", str(file), "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--save-plan"
    assert str(file.parent) in error["message"]


def test_a_refusal_about_policies_names_the_stack_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check commands about a stack that is not the selected one: without --stack they change another."""
    config = {"vertex-training:policyPack": "polices"}
    (tmp_path / "Pulumi.yaml").write_text("name: digits\nruntime: python\n")
    pulumi = tmp_path / "bin" / "pulumi"
    pulumi.parent.mkdir()
    pulumi.write_text(f"#!/bin/sh\necho '{json.dumps({'config': config, 'steps': []})}'\n")
    pulumi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{pulumi.parent}:{os.environ['PATH']}")
    own = {"version": 2, "project": "digits", "stack": "prod", "refresh": False, "recorded": {}}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"vertexTraining": {**own, "program": {}}, "resourcePlans": {}}))
    for stack in ((), ("--stack", "prod")):
        assert main(["apply", "--plan", str(file), "--cwd", str(tmp_path), *stack]) == BAD_INPUT
        command = " ".join(("pulumi config set vertex-training:policyPack FOLDER", *stack))
        assert f"Run `{command}`." in capsys.readouterr().err
