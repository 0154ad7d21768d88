from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan import comment as comments
from pulumi_vertex_training.cli.teams.plan.comment import comment, comment_of_failure, marker
from pulumi_vertex_training.cli.teams.plan.live import LiveJob
from pulumi_vertex_training.cli.teams.plan.plan import Plan, read
from pulumi_vertex_training.cli.teams.plan.view import starts_of
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from pulumi_vertex_training.runs.monitoring.progress import Report
from support import mermaid
from support.tables import every_row
from vertex_training.cost.runs import Spent

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=timezone.utc)
SECRET = "[secret]"
HEAD = "<!-- vertex-training plan digits/prod -->\n### Plan of digits, stack prod\n"


def urn(resource: str, name: str) -> str:
    return f"urn:pulumi:prod::digits::{registry.type_token(resource)}::{name}"


def pool(count: int, machine: str = "n1-standard-4") -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": machine},
        "replica_count": count,
        "container_spec": {"image_uri": "repo/a:1", "env": [{"name": "KEY", "value": "hunter2"}]},
    }


def inputs(*counts: int) -> dict[str, Any]:
    return {"display_name": "digits", "worker_pool_specs": [pool(count) for count in counts]}


def step(
    op: str, name: str, old: dict[str, Any] | None, new: dict[str, Any] | None, **more: Any
) -> dict[str, Any]:
    sides = {"oldState": old, "newState": new}
    resource = more.pop("resource", "CustomJob")
    return {
        "op": op,
        "urn": urn(resource, name),
        **{key: {"inputs": side, "id": "x"} for key, side in sides.items() if side is not None},
    }


def plan(*steps: dict[str, Any], messages: tuple[tuple[str, str], ...] = ()) -> Plan:
    diagnostics = [{"severity": severity, "message": message} for severity, message in messages]
    return read({"steps": steps, "diagnostics": diagnostics})


def live(name: str, **more: Any) -> dict[str, LiveJob]:
    since = "2026-11-23T09:50:00Z"
    return {
        urn("CustomJob", name): LiveJob(
            job="x", state="RUNNING", replicas=3, since=since, runs_again=True, now=NOW, **more
        )
    }


def pictures(text: str) -> list[mermaid.Chart]:
    return [mermaid.read(one) for one in re.findall(r"```mermaid\n(.*?)\n```", text, re.DOTALL)]


def test_a_comment_begins_with_its_marker_and_names_live_jobs_first():
    found = plan(
        step("replace", "train", inputs(1, 2), inputs(1, 4)), messages=(("warning", "train: too much"),)
    )
    report = Report(step=45, total=100, metrics={"loss": 0.25})
    spent = Spent(total=1.236, known=1.236, replica_hours=6.5)
    text = comment(found, live("train", report=report, spent=spent), NOW)
    assert text.startswith(f"{HEAD}\n1 to replace.\n")
    warning = (
        "`train` is RUNNING (3 replicas, 2 h 10 min, &#36;1.24 so far, 45%, loss 0.25): "
        "up will cancel it and run it again, without its checkpoints."
    )
    assert f"> [!WARNING]\n> - {warning}\n" in text
    assert "| replace | `train` | CustomJob | workers: 2 -&gt; 4 x n1-standard-4; chief unchanged |" in text
    assert "- **warning**: train: too much" in text
    assert text.endswith("<sub>Made at 2026-11-23 12:00 UTC.</sub>")
    order = [text.index(part) for part in ("WARNING", "| replace", "**warning**", "```mermaid", "<details>")]
    assert order == sorted(order)


def test_a_comment_names_the_checkpoints_from_which_the_next_job_continues():
    found = plan(step("replace", "train", inputs(1, 2), inputs(1, 4)))
    text = comment(found, live("train", continues_from="gs://b/all/"), NOW)
    assert "up will cancel it and run it again, from the checkpoints in `gs://b/all/`." in text


def test_a_comment_says_that_a_protected_job_is_not_cancelled():
    found = plan(step("delete", "train", inputs(1, 2), None))
    text = comment(found, live("train", is_protected=True), NOW)
    assert "2 h 10 min): protect\\_running is set, so up will refuse to cancel it." in text


def test_the_command_that_would_tell_the_state_of_a_job_can_be_copied():
    found = plan(step("replace", "train", inputs(1, 2), inputs(1, 4)))
    text = comment(
        found, live("train", trouble="It does not run. Start it with `vertex-training emulator start`."), NOW
    )
    assert (
        "is not known (3 replicas): It does not run. Start it with `vertex-training emulator start`.\n"
        in text
    )


def test_a_job_whose_topology_stays_has_no_picture():
    old, new = inputs(1, 2), {**inputs(1, 2), "labels": {"team": "vision"}}
    assert not pictures(comment(plan(step("update", "train", old, new)), {}, NOW))
    other_task = inputs(1, 2)
    other_task["worker_pool_specs"][1]["container_spec"]["args"] = ["--rate=2"]
    assert not pictures(comment(plan(step("replace", "train", old, other_task)), {}, NOW))


def test_a_picture_has_only_the_pools_that_change():
    text = comment(plan(step("replace", "train", inputs(1, 2), inputs(1, 200))), {}, NOW)
    (chart,) = pictures(text)
    assert "\n`train`, workers:\n" in text
    assert list(chart.nodes.values()) == ["workers 2 -> 200 x n1-standard-4 (resized)"]
    both = comment(plan(step("replace", "train", inputs(1, 2), inputs(2, 200))), {}, NOW)
    assert "\n`train`:\n" in both
    assert len(pictures(both)[0].nodes) == 2


def test_a_job_with_a_secret_in_its_pools_has_the_words_of_the_provider_and_no_value():
    hidden = {"display_name": "digits", "worker_pool_specs": SECRET}
    said = "train: workers: 2 -> 4 x n1-standard-4; the job is replaced, because worker pools cannot change"
    for old, new in ((inputs(1, 2), hidden), (hidden, inputs(1, 4)), (hidden, hidden)):
        found = plan(step("replace", "train", old, new), messages=(("info", said),))
        text = comment(found, {}, NOW)
        assert "| CustomJob | workers: 2 -&gt; 4 x n1-standard-4 |" in text
        assert "hunter2" not in text
        assert not pictures(text)


@every_row(
    "op, old, new, why",
    (
        ("replace", {"spec_hash": "a"}, {"spec_hash": "b"}, "its spec changed"),
        ("replace", {"spec_hash": "a"}, {"spec_hash": "a", "run_token": "1"}, "its run_token changed"),
        (
            "replace",
            {"spec_hash": "a"},
            {"spec_hash": ENGINES_UNKNOWN},
            "its spec depends on something that this deployment changes",
        ),
        ("replace", {"spec_hash": "a"}, {"spec_hash": "a"}, ""),
        ("replace", SECRET, SECRET, "its spec changed"),
        ("update", {"spec_hash": "a"}, {"spec_hash": "b"}, ""),
    ),
)
def test_a_replaced_job_has_the_reason_for_its_run(op, old, new, why):
    def job(hidden):
        token = {"run_token": hidden["run_token"]} if "run_token" in hidden else {}
        return {**inputs(1), "__run": hidden, **token}

    row = {
        **step(op, "train", job(old), job(new)),
        "replaceReasons": ["worker_pool_specs"] if old == SECRET else ["state"],
    }
    (change,) = plan(row).changes
    assert change.reason == why


def test_a_plan_says_which_jobs_it_runs():
    bucket = step("update", "data", {"labels": {}}, {"labels": {"a": "b"}}, resource="StagingBucket")
    assert starts_of(plan(bucket)) == "It runs no job."
    assert starts_of(plan()) == ""
    hidden = {"display_name": "digits", "worker_pool_specs": SECRET}
    jobs = (step("replace", "old", inputs(1), inputs(1, 4)), step("create", "new", None, hidden))
    gone = step("delete", "gone", inputs(1), None)
    assert starts_of(plan(bucket, gone, *jobs)) == "It runs old (5 replicas), new."
    assert starts_of(plan(*jobs, messages=(("error", "wrong"),))) == ""


def test_a_new_and_a_removed_job_with_secret_pools_say_so():
    hidden = {"display_name": "digits", "worker_pool_specs": SECRET}
    text = comment(plan(step("create", "new", None, hidden), step("delete", "old", hidden, None)), {}, NOW)
    assert "| create | `new` | CustomJob | its worker pools are a secret |" in text
    assert "| delete | `old` | CustomJob | its worker pools are a secret |" in text


def test_a_secret_that_changes_alone_is_said():
    old = {"labels": SECRET}
    found = plan(step("update", "data", old, old, resource="StagingBucket"))
    assert found.changes[0].changes == ("a secret value changes",)
    details = {"detailedDiff": {"labels.team": {"kind": "update", "inputDiff": False}}}
    found = plan({**step("update", "data", old, old, resource="StagingBucket"), **details})
    assert found.changes[0].changes == ("labels.team: a secret value changes",)


def test_a_step_that_reads_the_real_state_is_no_resource_of_its_own():
    found = plan(step("refresh", "train", inputs(1), inputs(1)), step("same", "train", inputs(1), inputs(1)))
    assert found.counts == {"none": 1}


def test_a_long_comment_is_shortened_and_says_so():
    names = [f"job-{number:03}" for number in range(400)]
    steps = [step("replace", name, inputs(1, 2), inputs(1, 200)) for name in names]
    everything = {key: job for name in names for key, job in live(name).items()}
    messages = tuple(("warning", f"{name}: {'long ' * 300}") for name in names)
    text = comment(plan(*steps, messages=messages), everything, NOW)
    assert len(text) <= len(text.encode()) <= comments.LIMIT
    assert text.startswith(HEAD)
    assert text.endswith("UTC.</sub>")
    assert text.count("> - `job-") == 400
    assert re.search(
        r"\*\*Shortened\*\* to fit into a comment: \d+ changes, 400 warnings, \d+ pictures and 400 tables "
        r"of fields are left out\. To see everything, run `vertex-training plan --stack prod`\.",
        text,
    ), text[:400]


def test_a_comment_keeps_what_matters_most_at_any_length():
    steps = [step("replace", f"job-{number}", inputs(1, 2), inputs(1, 4)) for number in range(30)]
    found, jobs = plan(*steps), live("job-7")
    whole = comment(found, jobs, NOW, limit=10**9)
    assert len(pictures(whole)) == 10, "a browser draws each picture on its own"
    assert "20 pictures are left out" in whole
    for limit in range(2_000, len(whole.encode()), 997):
        text = comment(found, jobs, NOW, limit=limit)
        assert len(text.encode()) <= limit
        assert "`job-7` is RUNNING" in text
        assert "**Shortened**" in text
        assert text.count("<details>") == text.count("</details>")
        pictures(text)  # none is cut in two


def test_errors_are_in_the_comment():
    found = plan(
        messages=(
            ("error", "train: machine_type is wrong"),
            ("error", "an unhandled error occurred: program exited with non-zero exit code: 1"),
        )
    )
    assert [one.message for one in found.errors] == ["train: machine_type is wrong"]
    text = comment(found, {}, NOW)
    assert "\n\nIt cannot be deployed: 1 error.\n" in text
    assert "- **error**: train: machine\\_type is wrong" in text


def test_a_failure_is_a_comment_with_the_same_marker():
    text = comment_of_failure("digits", "prod", "no stack named 'prod' found", NOW)
    assert text.startswith(HEAD)
    assert "- **error**: no stack named 'prod' found" in text


def test_a_marker_is_one_comment_of_html():
    assert marker("a--b", "x-->\ny") == "<!-- vertex-training plan a- -b/x- -??y -->"
    assert marker("", "prod") == "<!-- vertex-training plan prod -->"
