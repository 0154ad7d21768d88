"""The policies that a stack names: where they are read from, obstacles for the engine, and the plan."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.teams.plan import checks
from pulumi_vertex_training.cli.teams.plan.checks import CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.plan.plan import read as read_plan
from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.cli.teams.policy import of_plan
from pulumi_vertex_training.cli.teams.policy.stack_policies import (
    PACK,
    SETTINGS,
    StackPolicies,
    policies_of,
    read,
    require_usable,
)
from pulumi_vertex_training.pulumi_command import ENGINES_PACK, ENGINES_SETTINGS
from vertex_training.command_line.errors import InputError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: train\nruntime: python\n")
    return tmp_path


@pytest.fixture
def pack(project: Path) -> Path:
    """Return a folder as `cp -r policies` makes it."""
    folder = project / "policies"
    (folder / "any-host").mkdir(parents=True)
    for place in (folder, folder / "any-host"):
        (place / "PulumiPolicy.yaml").write_text("name: vertex-training\nruntime: python\n")
    (folder / "any-host" / "pulumi-analyzer-policy-vtpolicy").touch()
    return folder


def install(pack: Path) -> None:
    (pack / "venv" / "bin").mkdir(parents=True)
    (pack / "venv" / "installed").touch()
    (pack / "venv" / "bin" / "python").symlink_to(sys.executable)


def planned(project: Path, settings: str, inputs: dict[str, object], name: str = "train") -> CheckResult:
    """Return the result of the check for a custom job with these inputs."""
    (project / "settings.json").write_text(settings)
    step = {
        "op": "create",
        "urn": f"urn:pulumi:dev::train::pulumi-python:dynamic/customJob:CustomJob::{name}",
        "newState": {"type": "pulumi-python:dynamic/customJob:CustomJob", "inputs": inputs},
    }
    previewed = Preview(plan=read_plan({}), configuration={SETTINGS: "settings.json"}, steps=(step,))
    result = of_plan.check(PlanContext(previewed=previewed, folder=project))
    assert result is not None
    return result


def test_what_the_configuration_does_not_name_comes_from_the_variables_of_the_engine(project: Path) -> None:
    below = project / "below"
    variables = {ENGINES_PACK: "theirs", ENGINES_SETTINGS: "theirs.json"}
    assert policies_of({}, below, environ={}) is None
    assert policies_of({PACK: "ours"}, below, environ=variables) == StackPolicies(
        pack=project / "ours", settings=below / "theirs.json"
    )
    assert policies_of({}, below, environ={ENGINES_PACK: "a,b"}) is None
    only_settings = StackPolicies(settings=project / "missing.json")
    assert only_settings.environment == {}
    require_usable(only_settings)


def test_the_engine_gets_the_variant_of_the_pack_that_starts_with_any_host(pack: Path) -> None:
    found = StackPolicies(pack=pack)
    assert found.arguments == ["--policy-pack", str(pack / "any-host")]
    assert found.environment["PATH"].split(os.pathsep)[0] == str(pack / "any-host")
    assert found.environment[ENGINES_PACK] == ""
    assert StackPolicies(pack=pack / "any-host").arguments == found.arguments


def test_a_pack_of_another_origin_is_left_to_the_engine(pack: Path) -> None:
    theirs = pack.parent / "theirs"
    theirs.mkdir()
    (theirs / "PulumiPolicy.yaml").write_text("name: theirs\nruntime: nodejs\n")
    found = StackPolicies(pack=theirs, settings=theirs / "missing.json")
    assert found.arguments == ["--policy-pack", str(theirs), "--policy-pack-config", str(found.settings)]
    assert "PATH" not in found.environment
    require_usable(found)
    previewed = Preview(plan=read_plan({}), configuration={PACK: str(theirs), SETTINGS: "missing.json"})
    result = of_plan.check(PlanContext(previewed=previewed, folder=pack.parent))
    assert result == CheckResult(
        name="policy", summary=f"The policies of {theirs} are applied in the deployment"
    )


def test_what_the_engine_could_not_use_is_refused_with_the_remedy(pack: Path) -> None:
    with pytest.raises(InputError, match="missing is not a policy pack: it has no PulumiPolicy"):
        require_usable(StackPolicies(pack=pack.parent / "missing"))
    with pytest.raises(InputError, match=rf"is missing. Run `python {pack}/install.py`"):
        require_usable(StackPolicies(pack=pack))
    install(pack)
    require_usable(StackPolicies(pack=pack))
    python = pack / "venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(pack / "moved")
    with pytest.raises(InputError, match=rf"is missing. Run `python {pack}/install.py`"):
        require_usable(StackPolicies(pack=pack))
    python.unlink()
    python.symlink_to(sys.executable)
    settings = pack / "settings.json"
    settings.write_text('{"machine-type": "mandatory"}')
    with pytest.raises(InputError, match="machine-type: is not the name of a policy; did you mean"):
        require_usable(StackPolicies(pack=pack, settings=settings))


@pytest.mark.parametrize(("named", "meant"), [("polices", "policies"), ("elsewhere", "FOLDER")])
def test_a_missing_pack_fails_the_plan_with_the_pack_that_is_meant(
    pack: Path, named: str, meant: str
) -> None:
    previewed = Preview(plan=read_plan({}), configuration={PACK: named})
    context = PlanContext(previewed=previewed, folder=pack.parent, stack="dev")
    (result,) = checks.run(context, [of_plan.check])
    assert checks.exit_code([result]) == 16
    assert result.summary == "The policy pack is missing"
    assert [one.sentence for one in result.findings] == [
        f"{pack.parent / named} is not a policy pack: it has no PulumiPolicy.yaml. "
        f"Run `pulumi config set {PACK} {meant} --stack dev`."
    ]


def test_a_plan_names_once_what_several_policies_wait_for(project: Path) -> None:
    settings = {
        "machine-types": {"allowed": ["g2-*"]},
        "replicas": {"most": 0},
        "labels": {"values": {"a": []}},
    }
    result = planned(
        project,
        json.dumps(settings),
        {
            "worker_pool_specs": "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
            "labels": {"a": "[secret]"},
        },
    )
    assert [str(one.sentence) for one in result.findings if one.severity == "unknown"] == [
        "CustomJob train: worker_pool_specs is not known yet, so the policies machine-types, accelerators, "
        "replicas and images are decided in the deployment.",
        "CustomJob train: labels.a is a secret, which a plan does not have, so the policy labels is decided "
        "in the deployment.",
    ]


def test_wrong_settings_are_the_summary_of_a_plan_without_violations(project: Path) -> None:
    result = planned(project, "[]", {})
    assert result.failed
    assert result.summary == "The settings of the policies are wrong"
    (finding,) = result.findings
    assert finding.sentence.endswith(
        "expected an object with a key for each policy. See docs/guides/cost/policies.md."
    )


@pytest.mark.parametrize("key", [PACK, SETTINGS])
def test_a_path_that_is_a_secret_of_the_stack_is_an_error_with_the_remedy(project: Path, key: str) -> None:
    previewed = Preview(plan=read_plan({}), configuration={key: "[secret]"}, steps=())
    result = of_plan.check(PlanContext(previewed=previewed, folder=project))
    assert result is not None
    assert result.failed
    (finding,) = result.findings
    assert finding.message.startswith(f"{key} is a secret, so its path is not known.")
    assert f"`pulumi config set {key} PATH`" in finding.message


def test_no_name_of_a_resource_hides_it_from_a_plan(project: Path) -> None:
    settings = json.dumps({"labels": {"required": ["team"]}})
    result = planned(project, settings, {"labels": {}}, name="vision::train")
    assert "CustomJob vision::train: labels.team: is missing." in " ".join(
        one.sentence for one in result.findings
    )


@pytest.mark.parametrize("name", ["vertex-training", '"vertex-training"', "'vertex-training'  # ours"])
def test_the_pack_is_known_by_its_name_in_any_notation(pack: Path, name: str) -> None:
    (pack / "PulumiPolicy.yaml").write_text(f"runtime: python\nname: {name}\n")
    assert not StackPolicies(pack=pack).is_foreign


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('// ours\n{"all": "mandatory"}', "is not JSON, which has no comments. Remove the one in line 1."),
        ('{\n  "all": "mandatory"  # ours\n}', "which has no comments. Remove the one in line 2."),
        ("{\n/* ours */}", "which has no comments. Remove the one in line 2."),
        ("\ufeff{}", "begins with a byte order mark. Save it as UTF-8 without one."),
        ('{"hourly-cost": {"most": NaN}}', "is not JSON: NaN is not a JSON number."),
        ('{"all": "mandatory"', "is not JSON: Expecting ',' delimiter: line 1"),
    ],
)
def test_a_plan_says_what_the_engine_could_not_read(project: Path, text: str, problem: str) -> None:
    result = planned(project, text, {})
    assert result.failed
    assert problem in result.findings[0].sentence


def test_a_pipe_is_no_file_of_settings(project: Path) -> None:
    os.mkfifo(project / "pipe")
    with pytest.raises(InputError, match="pipe is not a regular file"):
        read(project / "pipe")


def test_the_summary_counts_the_policies_that_are_not_disabled(project: Path) -> None:
    assert planned(project, '{"all": "disabled"}', {}).summary == "All policies are disabled"
    one = json.dumps({"all": "disabled", "labels": "mandatory"})
    assert planned(project, one, {}).summary == "No violation of 1 policy"
    assert planned(project, '{"all": "disabled", "label": {}}', {}).summary == (
        "The settings of the policies are wrong"
    )
