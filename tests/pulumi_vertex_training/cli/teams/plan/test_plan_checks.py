"""The checks of a plan: what they say in the text, the comment and the JSON, and the exit code."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from itertools import combinations
from pathlib import Path

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan import checks, limits
from pulumi_vertex_training.cli.teams.plan.answer import PlanAnswer
from pulumi_vertex_training.cli.teams.plan.checks import CheckFinding, CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.plan.comment import comment
from pulumi_vertex_training.cli.teams.plan.plan import Change, Plan, read
from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.cli.teams.preflight import of_plan
from vertex_training.command_line.output import Output

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=timezone.utc)
URN = "urn:pulumi:dev::digits::a:b:CustomJob::train"
PLAN = Plan(
    stack="dev",
    project="digits",
    changes=(Change(urn=URN, type="CustomJob", name="train", effect="create"),),
)
FAILED = CheckResult(
    name="cost",
    summary="running cost: $1.00 -> $2.00 an hour",
    findings=(
        CheckFinding(
            severity="error",
            resource="train",
            message="is too dear.",
            remedy="Run `pulumi up`.",
            figures=("a | b", "c"),
        ),
    ),
    by_resource={URN: "$2.00 an hour"},
    headings=("Resource", "After"),
    rows=(("train", "$2.00"),),
    document={"currency": "USD"},
)
UNKNOWN = CheckResult(
    name="preflight",
    findings=(CheckFinding(severity="unknown", message="the quota is not known."),),
)


def results(*names: str) -> list[CheckResult]:
    broken = CheckFinding(severity="error", message="no")
    return [CheckResult(name=name, findings=(broken,) if name in names else ()) for name in checks.EXIT_CODES]


def test_the_exit_code_says_which_checks_failed():
    names = list(checks.EXIT_CODES)
    chosen = [some for count in range(len(names) + 1) for some in combinations(names, count)]
    codes = {some: checks.exit_code(results(*some)) for some in chosen}
    assert len(set(codes.values())) == len(chosen)
    assert codes[()] == 0
    assert not {1, 2} & set(codes.values()), "1 and 2 have another meaning"


def test_a_check_that_does_not_apply_is_left_out():
    context = PlanContext(previewed=Preview(plan=PLAN), folder=Path())
    assert checks.run(context, [lambda _: None, lambda _: FAILED]) == (FAILED,)


def test_the_registered_checks_can_be_loaded():
    assert checks.run(PlanContext(previewed=Preview(plan=Plan()), folder=Path())) == ()


def test_only_errors_make_a_check_fail():
    assert checks.failed([FAILED, UNKNOWN]) == ("cost",)


def test_the_json_has_each_check_by_its_name():
    document = PlanAnswer(plan=PLAN, results=[FAILED, UNKNOWN]).document()
    assert document["failed"] == ["cost"]
    assert document["cost"]["currency"] == "USD"
    assert document["cost"]["findings"][0]["figures"] == ["a | b", "c"]
    assert document["preflight"]["findings"][0]["severity"] == "unknown"


def test_the_text_has_a_section_for_each_check(capsys: pytest.CaptureFixture[str]):
    PlanAnswer(plan=PLAN, results=[FAILED, UNKNOWN]).show(Output(as_json=False, terminal=False))
    text = capsys.readouterr().out
    assert "cost: $2.00 an hour" in text
    assert "\nCost failed\nrunning cost: $1.00 -> $2.00 an hour.\n" in text
    assert "error: train: is too dear. Run `pulumi up`.\n    a | b\n    c\n" in text
    assert "\nPreflight\nunknown: the quota is not known.\n" in text
    assert text.endswith("\nFailed: cost (exit code 4).\n")


def test_a_terminal_shows_the_same_in_colour(capsys: pytest.CaptureFixture[str]):
    PlanAnswer(plan=PLAN, results=[FAILED, UNKNOWN]).show(Output(as_json=False, terminal=True))
    text = capsys.readouterr().out
    assert "\x1b[31merror: train: is too dear. Run `pulumi up`.\x1b[0m\n" in text
    assert text.endswith("\x1b[31mFailed: cost (exit code 4).\x1b[0m\n")


def test_a_plan_without_a_failed_check_has_no_last_line_about_it(capsys: pytest.CaptureFixture[str]):
    PlanAnswer(plan=PLAN, results=[UNKNOWN]).show(Output(as_json=False, terminal=False))
    assert "Failed" not in capsys.readouterr().out


def test_the_comment_has_the_result_in_its_head_and_escapes_the_findings():
    text = comment(PLAN, {}, NOW, [FAILED, UNKNOWN])
    assert (
        "\n> [!CAUTION]\n> Failed: cost (exit code 4). A plan with a failed check is not saved, so it cannot "
        "be deployed.\n"
    ) in text
    assert "CAUTION" not in comment(PLAN, {}, NOW, [UNKNOWN])
    assert "\n**Cost failed**: running cost: &#36;1.00 -&gt; &#36;2.00 an hour.\n" in text
    assert "- **cost, error**: train: is too dear. Run `pulumi up`.<br>a \\| b<br>c" in text
    assert "- **preflight, unknown**: the quota is not known." in text
    assert "cost: &#36;2.00 an hour" in text
    assert (
        "<details><summary>Cost</summary>\n\n| Resource | After |\n| --- | --- |\n| train | &#36;2.00 |"
        in text
    )


def test_a_short_comment_keeps_the_result_and_leaves_the_table_out():
    text = comment(PLAN, {}, NOW, [FAILED], limit=1_900)
    assert "**Cost failed**" in text
    long = CheckResult(name="cost", summary="x", rows=(("a" * 700, "b"),) * 20, headings=("A", "B"))
    short = comment(PLAN, {}, NOW, [long], limit=3_000)
    assert "**Cost**: x." in short
    assert "1 table of a check is left out" in short
    assert len(short.encode()) <= 3_000


def test_a_preflight_without_an_emulator_says_that_nothing_was_checked(tmp_path: Path):
    token = registry.type_token("CustomJob")
    pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
    inputs = {
        "endpoint": "emulator", "project": "local", "location": "us-central1", "worker_pool_specs": [pool]
    }  # fmt: skip
    urn = f"urn:pulumi:dev::digits::{token}::train"
    step = {"op": "create", "urn": urn, "newState": {"type": token, "inputs": inputs}}
    previewed = Preview(
        plan=read({"steps": [step]}),
        configuration={"vertex-training:dataDir": str(tmp_path / "none")},
        steps=(step,),
    )
    result = of_plan.check(PlanContext(previewed=previewed, folder=tmp_path))
    assert result is not None
    assert not result.failed
    assert result.summary == "Nothing was checked"
    (finding,) = result.findings
    assert finding.severity == "unknown"
    assert f"none is not running. Start it with `vertex-emulator start --data-dir {tmp_path}" in (
        finding.message
    )


@pytest.mark.parametrize(
    ("before", "after", "summary"),
    [
        ({"maxHourlyCost": "10"}, {"maxHourlyCost": "100"}, "hourly cost 10 -> 100"),
        ({"maxRunCost": "5", "location": "a"}, {"location": "b"}, "cost of a run 5 -> none"),
        (
            {"policyConfig": "prod.json"},
            {"policyConfig": "dev.json", "allowUnknownPrices": "true"},
            "unknown prices allowed none -> true, settings of policies prod.json -> dev.json",
        ),
        ({"maxHourlyCost": "10", "location": "a"}, {"maxHourlyCost": "10", "location": "b"}, None),
        (None, {"maxHourlyCost": "10"}, None),
    ],
    ids=["raised", "removed", "other policies", "the same", "no deployment"],
)
def test_limits_that_a_change_sets_for_itself_are_shown_with_the_deployed_ones(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: dict[str, str] | None,
    after: dict[str, str],
    summary: str | None,
) -> None:
    config = {f"vertex-training:{key}": {"value": one} for key, one in (before or {}).items()}
    deployed = {"kind": "update", "startTime": "2026-11-20T10:00:00.000Z", "config": config}
    preview = {"kind": "refresh", "startTime": "2026-11-21T10:00:00.000Z", "config": {}}
    pulumi = tmp_path / "pulumi"
    listed = json.dumps([preview, deployed] if before is not None else [])
    pulumi.write_text(f"#!/bin/sh\ncase $* in *'--page 1 '*) echo '{listed}';; *) echo '[]';; esac\n")
    pulumi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    previewed = Preview(
        plan=PLAN, configuration={f"vertex-training:{key}": one for key, one in after.items()}
    )
    results = checks.run(PlanContext(previewed=previewed, folder=tmp_path), [limits.check])
    assert [one.summary for one in results] == ([summary] if summary else [])
    if summary:
        assert f"\n**Limits**: {summary.replace('-> ', '-&gt; ')}.\n" in comment(PLAN, {}, NOW, results)


def test_limits_of_a_last_deployment_that_cannot_be_read_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pulumi").write_text("#!/bin/sh\necho 'error: passphrase must be set' >&2\nexit 255\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (result,) = checks.run(PlanContext(previewed=Preview(plan=PLAN), folder=tmp_path), [limits.check])
    assert not result.failed
    assert "passphrase must be set" in result.findings[0].message
