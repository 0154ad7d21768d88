"""`jobs` on a scripted service that answers as Google does: a row for each owner, inner jobs on request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import from_wire
from pulumi_vertex_training.runs.monitoring.progress import Report
from pulumi_vertex_training.views.jobs.listing import Jobs, Listing
from support import json_schema
from support.scripted_service import Answer, Asked, Service, as_emulator
from vertex_training.command_line.output import Output

PARENT = "projects/7/locations/us-central1"
JSON = Callable[..., list[dict[str, Any]]]
Lines = Callable[..., list[str]]


def record(collection: str, number: int, name: str, state: str, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{PARENT}/{collection}/{number}",
        "displayName": name,
        "state": state,
        "createTime": f"2026-01-01T00:00:{number:02}Z",
        **more,
    }


def custom(number: int, name: str, state: str = "SUCCEEDED", **more: Any) -> dict[str, Any]:
    return record("customJobs", number, name, f"JOB_STATE_{state}", **more)


def trial(
    number: int, state: str, job: int | None, score: float | None = None, **more: Any
) -> dict[str, Any]:
    final = {"finalMeasurement": {"metrics": [{"metricId": "score", "value": score}]}} if score else {}
    named = {"customJob": f"{PARENT}/customJobs/{job}"} if job else {}
    return {"id": str(number), "state": state, **named, **final, **more}


TRIALS = [
    trial(1, "SUCCEEDED", 11, 0.5),
    trial(2, "SUCCEEDED", 12, 0.91),
    trial(3, "SUCCEEDED", 13, 0.1),
    trial(4, "INFEASIBLE", 14, infeasibleReason="It never reported 'score'."),
    trial(5, "ACTIVE", 15),
    trial(6, "REQUESTED", None),
]
STUDY = record(
    "hyperparameterTuningJobs",
    20,
    "study",
    "JOB_STATE_RUNNING",
    studySpec={"metrics": [{"metricId": "score", "goal": "MAXIMIZE"}], "parameters": []},
    maxTrialCount=20,
    parallelTrialCount=2,
    trials=TRIALS,
)
JOBS = [
    custom(11, "study-trial-1"),
    custom(12, "study-trial-2"),
    custom(13, "study-trial-3", "CANCELLED"),
    custom(14, "study-trial-4", "FAILED"),
    custom(15, "study-trial-5", "RUNNING"),
    custom(31, "piped-custom-job"),
    custom(40, "digits"),
]
PIPELINES = [
    record(
        "trainingPipelines",
        30,
        "piped",
        "PIPELINE_STATE_SUCCEEDED",
        trainingTaskMetadata={"backingCustomJob": f"{PARENT}/customJobs/31"},
    )
]


class Vertex:
    """Lists by collection; of filters, those by states."""

    def __init__(self, jobs: Any = JOBS, studies: Any = (STUDY,), pipelines: Any = PIPELINES) -> None:
        self.found: Mapping[str, Any] = {
            "customJobs": jobs,
            "hyperparameterTuningJobs": studies,
            "trainingPipelines": pipelines,
        }
        self.asked: list[tuple[str, str]] = []

    def __call__(self, asked: Asked) -> Answer:
        collection, _, number = asked.path.rpartition("/us-central1/")[2].partition("/")
        if number:
            (one,) = [one for one in self.found[collection] if one["name"].endswith(f"/{number}")]
            return Answer(document=one)
        (text,) = asked.query.get("filter", [""])
        self.asked.append((collection, text))
        wanted = re.findall(r'state="(\w+)"', text)
        unwanted = re.findall(r'state!="(\w+)"', text)
        found = [
            one
            for one in self.found[collection]
            if one["state"] not in unwanted and (not wanted or one["state"] in wanted)
        ]
        return Answer(document={collection: found})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    with as_emulator(monkeypatch, tmp_path) as made:
        made.script(Vertex())
        yield made


@pytest.fixture
def lines(service: Service, capsys: pytest.CaptureFixture[str]) -> Lines:
    def run(*options: str) -> list[str]:
        assert main(["jobs", *options]) == 0
        return capsys.readouterr().out.splitlines()[1:]

    return run


@pytest.fixture
def listed(service: Service, capsys: pytest.CaptureFixture[str]) -> JSON:
    def run(*options: str) -> list[dict[str, Any]]:
        assert main(["jobs", "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)["jobs"]

    return run


def ids(found: list[str]) -> list[str]:
    return [re.match(r" *[-\d]*", line)[0] for line in found]  # type: ignore[index]


def test_a_row_for_each_that_nothing_else_runs(lines: Lines) -> None:
    assert ids(lines()) == ["40", "30", "20"]


def test_the_trials_are_summed_up(lines: Lines) -> None:
    (row,) = [line for line in lines() if line.startswith("20")]
    assert row.endswith("4/20 trials, 2 running, 1 stopped early, 1 infeasible, best 0.91")


def test_a_pipeline_names_its_job(lines: Lines) -> None:
    (row,) = [line for line in lines() if line.startswith("30")]
    assert row.endswith("custom job 31")


def test_a_pipeline_that_tunes_has_the_sum_of_its_trials(service: Service, lines: Lines) -> None:
    task = {"backingHyperparameterTuningJob": STUDY["name"]}
    tuned = {**PIPELINES[0], "trainingTaskMetadata": task}
    service.script(Vertex(pipelines=[tuned]))
    (row,) = [line for line in lines() if line.startswith("30")]
    assert "tuning job 20: 4/20 trials" in row


@pytest.mark.parametrize("option", ["--all", "--trials"])
def test_inner_jobs_stand_below_their_owner(lines: Lines, option: str) -> None:
    trials = ["  11", "  12", "  13", "  14", "  15", "  -"]
    assert ids(lines(option)) == ["40", "30", "  31", "20", *trials]


def test_the_trials_of_a_pipeline_stand_below_its_tuning_job(service: Service, lines: Lines) -> None:
    task = {"backingHyperparameterTuningJob": STUDY["name"]}
    service.script(Vertex(pipelines=[{**PIPELINES[0], "trainingTaskMetadata": task}]))
    assert ids(lines("--all"))[2:5] == ["30", "  20", "    11"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        pytest.param(11, "SUCCEEDED", id="succeeded"),
        pytest.param(13, "SUCCEEDED (stopped early)", id="stopped early"),
        pytest.param(14, "INFEASIBLE", id="infeasible"),
        pytest.param(15, "ACTIVE", id="active"),
    ],
)
def test_the_state_of_a_trial(lines: Lines, job: int, said: str) -> None:
    (row,) = [line for line in lines("--all") if line.startswith(f"  {job}")]
    assert re.split("  +", row.strip())[3] == said


@pytest.mark.parametrize(
    ("job", "said"),
    [
        pytest.param(12, "score 0.91", id="its metric"),
        pytest.param(14, "It never reported 'score'.", id="why it has none"),
    ],
)
def test_what_came_of_a_trial(lines: Lines, job: int, said: str) -> None:
    (row,) = [line for line in lines("--all") if line.startswith(f"  {job}")]
    assert row.endswith(said)


def failure(last: str) -> str:
    return (
        "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error.\n"
        f"The last lines of its log:\n    Traceback (most recent call last):\n    {last}\n"
        "To find out more about why your job exited please check the logs: vertex-training logs 50"
    )


FAILURES = [
    pytest.param(
        failure("ModuleNotFoundError: No module named 'torch'"),
        "the Python module torch is missing (likely)",
        id="a cause that is known",
    ),
    pytest.param(
        failure("ValueError: the loss is nan"),
        "The replica workerpool0-0 exited with a non-zero status of 1. ValueError: the loss is nan",
        id="the last words of the program",
    ),
    pytest.param("Internal error.", "Internal error.", id="no log came with it"),
]


@pytest.mark.parametrize(("message", "said"), FAILURES)
def test_why_a_job_failed(service: Service, lines: Lines, message: str, said: str) -> None:
    service.script(Vertex(jobs=[custom(50, "digits", "FAILED", error={"code": 3, "message": message})]))
    (row,) = [line for line in lines() if line.startswith("50")]
    assert re.split("  +", row)[-1] == said


@pytest.mark.parametrize(("message", "said"), FAILURES)
def test_why_a_trial_and_its_tuning_job_failed(
    service: Service, lines: Lines, message: str, said: str
) -> None:
    bad = trial(1, "INFEASIBLE", 11, infeasibleReason=message)
    error = {"code": 3, "message": f"1 of 1 trials did not succeed. Trial 1: {message}"}
    study = {**STUDY, "state": "JOB_STATE_FAILED", "trials": [bad], "error": error}
    service.script(Vertex(jobs=[custom(11, "study-trial-1", "FAILED")], studies=[study]))
    rows = {line.split()[0]: re.split("  +", line)[-1] for line in lines("--all")}
    assert rows["11"] == said
    assert rows["20"].startswith("1/20 trials, 1 infeasible, ")
    assert rows["20"].endswith(said)


def test_a_pipeline_says_why_its_job_failed(service: Service, lines: Lines) -> None:
    error = {"code": 3, "message": failure("ModuleNotFoundError: No module named 'torch'")}
    failed = {**PIPELINES[0], "state": "PIPELINE_STATE_FAILED", "error": error}
    service.script(Vertex(pipelines=[failed]))
    (row,) = [line for line in lines() if line.startswith("30")]
    assert row.endswith("custom job 31: the Python module torch is missing (likely)")


def test_a_job_that_was_cancelled_needs_no_reason(service: Service, lines: Lines) -> None:
    error = {"code": 1, "message": "The job was cancelled."}
    service.script(Vertex(jobs=[custom(50, "digits", "CANCELLED", error=error)]))
    (row,) = [line for line in lines() if line.startswith("50")]
    assert "was cancelled" not in row


def test_a_trial_whose_job_the_list_does_not_have(service: Service, lines: Lines) -> None:
    service.script(Vertex(jobs=JOBS[1:]))
    assert ids(lines("--all"))[4] == "  11"


def test_jobs_of_others_are_counted_where_no_row_stands_for_them(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["jobs", "--kind", "custom-job"]) == 0
    assert "6 jobs of tuning jobs and pipelines are not shown; --all shows them." in capsys.readouterr().err


def test_custom_jobs_alone(lines: Lines) -> None:
    assert ids(lines("--kind", "custom-job")) == ["40"]


def test_all_custom_jobs_name_their_owner(lines: Lines) -> None:
    (row,) = [line for line in lines("--kind", "custom-job", "--all") if line.startswith("12")]
    assert row.endswith("of tuning job 20, score 0.91")


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        pytest.param(
            ["--kind", "tuning-job"],
            [
                ("hyperparameterTuningJobs", ""),
                ("trainingPipelines", ""),
                ("customJobs", 'state="JOB_STATE_CANCELLED" AND create_time>="2026-01-01T00:00:20Z"'),
            ],
            id="tuning jobs",
        ),
        pytest.param(["--kind", "training-pipeline"], [("trainingPipelines", "")], id="pipelines"),
    ],
)
def test_no_more_is_read_than_is_shown(
    service: Service, lines: Lines, options: list[str], asked: list[tuple[str, str]]
) -> None:
    vertex = Vertex()
    service.script(vertex)
    lines(*options)
    assert vertex.asked == asked


def test_live_ones_sum_up_trials_too(lines: Lines) -> None:
    (row,) = lines("--live")
    assert row.endswith("4/20 trials, 2 running, 1 stopped early, 1 infeasible, best 0.91")


def test_live_trials(lines: Lines) -> None:
    assert ids(lines("--live", "--all")) == ["20", "  15", "  -"]


def test_a_live_job_of_a_trial_that_has_ended(service: Service, lines: Lines) -> None:
    jobs = [custom(13, "study-trial-3", "CANCELLING") if one is JOBS[2] else one for one in JOBS]
    service.script(Vertex(jobs))
    assert ids(lines("--live", "--all")) == ["20", "  13", "  15", "  -"]


@pytest.mark.parametrize(
    ("number", "owner"),
    [
        pytest.param("12", f"{PARENT}/hyperparameterTuningJobs/20", id="of a tuning job"),
        pytest.param("31", f"{PARENT}/trainingPipelines/30", id="of a pipeline"),
        pytest.param("40", None, id="of nothing"),
        pytest.param("20", None, id="a tuning job"),
    ],
)
def test_json_has_every_job_and_its_owner(listed: JSON, number: str, owner: str | None) -> None:
    assert {one["id"]: one["owner"] for one in listed()}[number] == owner


def test_json_has_every_job_without_all(listed: JSON) -> None:
    assert len(listed()) == len(JOBS) + 2


def test_an_owner_is_reported_for_one_kind(listed: JSON) -> None:
    assert {one["owner"] for one in listed("--kind", "custom-job")} == {
        None,
        STUDY["name"],
        PIPELINES[0]["name"],
    }


def test_the_owner_is_found_whichever_way_the_project_is_written(service: Service, listed: JSON) -> None:
    jobs = [{**one, "name": one["name"].replace("projects/7", "projects/acme")} for one in JOBS]
    service.script(Vertex(jobs=jobs))
    assert {one["id"]: one["owner"] for one in listed()}["12"] == STUDY["name"]


@pytest.mark.parametrize(("number", "early"), [("11", False), ("13", True)])
def test_json_says_which_trial_was_stopped_early(listed: JSON, number: str, early: bool) -> None:
    assert {one["id"]: one for one in listed()}[number]["trial"]["stoppedEarly"] is early


def test_the_counts_of_trials(listed: JSON) -> None:
    (study,) = listed("--kind", "tuning-job")
    assert study["trialCounts"] == {
        "wanted": 20,
        "ended": 4,
        "running": 2,
        "stoppedEarly": 1,
        "infeasible": 1,
    }


def test_the_best_trial(listed: JSON) -> None:
    (study,) = listed("--kind", "tuning-job")
    assert (study["bestTrial"]["id"], study["bestTrial"]["metrics"]) == ("2", {"score": 0.91})


def test_a_study_of_a_later_version_is_listed(service: Service, lines: Lines) -> None:
    odd = {**STUDY, "studySpec": {"metrics": "all of them"}}
    service.script(Vertex(studies=[odd]))
    (row,) = lines("--kind", "tuning-job")
    assert row.endswith("4/20 trials, 2 running, 1 stopped early, 1 infeasible")


def test_status_says_which_trial_was_stopped_early(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", STUDY["name"]]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("3 ")]
    assert row.split()[1:4] == ["SUCCEEDED", "(stopped", "early)"]


def test_a_mistyped_job_is_not_answered_with_trials(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "digts"]) == 2
    _, *rows = capsys.readouterr().err.splitlines()
    assert [row.split() for row in rows] == [
        ["digits", "SUCCEEDED", "40"],
        ["piped", "SUCCEEDED", "30"],
        ["study", "RUNNING", "20"],
    ]


def test_the_page_has_every_key(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    failed = custom(41, "broken", "FAILED", error={"code": 3, "message": "It broke."}, labels={"a": "b"})
    service.script(Vertex(jobs=[*JOBS, failed]))
    assert main(["jobs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    json_schema.check("jobs", found)
    keys = set(found) | {f"endpoint.{name}" for name in found["endpoint"]}
    for one in found["jobs"]:
        keys |= {f"jobs[].{name}" for name in one}
        for name in ("error", "trial", "trialCounts"):
            keys |= {f"jobs[].{name}.{below}" for below in one.get(name) or ()}
    assert json_schema.keys("jobs") == keys


def test_a_terminal_shows_the_newest_twenty_in_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "nightly-evaluation-of-a-model-with-a-rather-long-name"
    records = tuple(from_wire(custom(number, f"{name}-{number}")) for number in range(50, 0, -1))
    listing = Listing(
        selected=records,
        records={f"customJobs/{one.job_id}": one for one in records},
        inner={},
        cancelled=frozenset(),
    )
    endpoint = Endpoint(
        kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:1", token="t"
    )
    shown = {}
    for most, terminal in ((None, True), (0, True), (3, True), (None, False)):
        Jobs(endpoint=endpoint, listing=listing, most=most).show(Output(as_json=False, terminal=terminal))
        shown[most, terminal] = capsys.readouterr()
    rows = shown[None, True].out.splitlines()
    assert len(rows) == 21 and max(map(len, rows)) <= 80 and rows[1].startswith("50 ")
    assert shown[None, True].err == "30 more; --last 0 lists all.\n"
    assert [len(shown[key].out.splitlines()) for key in ((0, True), (3, True), (None, False))] == [51, 4, 51]


@pytest.mark.parametrize(
    "columns, headings",
    [
        (80, "ID NAME STATE RAN FOR DETAILS"),
        (120, "ID NAME STACK STATE RAN FOR DETAILS"),
        (160, "ID KIND NAME STACK STATE CREATED RAN FOR DETAILS"),
    ],
)
def test_a_terminal_has_the_results_of_ended_jobs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int, headings: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    records = [
        from_wire(custom(number, f"run-{number}", "SUCCEEDED", labels={"pulumi-stack": f"stack-{number}"}))
        for number in (2, 1)
    ]
    listing = Listing(
        selected=tuple(records),
        records={f"customJobs/{one.job_id}": one for one in records},
        inner={},
        cancelled=frozenset(),
        results={records[0].name: Report(metrics={"loss": 0.25, "accuracy": 0.875})},
    )
    endpoint = Endpoint(
        kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:1", token="t"
    )
    Jobs(endpoint=endpoint, listing=listing).show(Output(as_json=False, terminal=True))
    head, first, second = capsys.readouterr().out.splitlines()
    assert " ".join(head.split()) == headings
    assert first.rstrip().endswith("loss 0.25, accuracy 0.875") and "loss" not in second


def test_a_live_job_ran_for_its_time_by_the_clock_of_the_emulator(service: Service, lines: Lines) -> None:
    """Check a clock that was advanced by a day before the job started."""
    real = datetime.now(timezone.utc)
    started = (real + timedelta(hours=24)).isoformat()
    clock = {"time": (real + timedelta(hours=26, seconds=5)).isoformat(), "realTime": real.isoformat()}
    jobs = Vertex(jobs=[custom(41, "late", "RUNNING", startTime=started)], studies=[], pipelines=[])
    service.script(lambda asked: Answer(document=clock) if "clock" in asked.path else jobs(asked))
    (row,) = lines()
    assert re.search(r"RUNNING +2026-01-01 \S+ +2h00m", row)
    assert "2h00m" in " ".join(lines("--live"))
