"""`explain` of tuning jobs and training pipelines: pages, JSON, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from support.emulated.command import environment, run_on_terminal
from support.specs.explained_kinds import (
    CONFIG,
    DEFINITIONS,
    JOB,
    PIPELINE,
    POOL,
    STUDY,
    TUNING,
    Document,
    Run,
    changed,
    printed,
    snake,
)
from support.tables import every_row

TUNING_PIPELINE: Document = {
    "displayName": "digits",
    "trainingTaskDefinition": f"{DEFINITIONS}hyperparameter_tuning_task_1.0.0.yaml",
    "trainingTaskInputs": {**CONFIG, "maxTrialCount": 6, "parallelTrialCount": 2},
}


TUNING_PAGE = """\
A tuning job of 6 trials, 2 at a time, to maximize accuracy. Each trial is a distributed job of 3 replicas: \
chief 1 x n1-standard-4, workers 2 x n1-standard-4.

The study
  It is to maximize accuracy, by Bayesian optimization, which learns from the trials that have ended.
  The last measurement of each trial counts.
  No trial is stopped early.

  PARAMETER  TYPE         VALUES         SCALE        ONLY WHERE
  rate       double       0.0001 to 0.1  logarithmic
  model      categorical  linear, deep
    layers   integer      1 to 4                      model is deep

The trials
  in all          6
  at a time       2, 6 replicas together
  failures        the service decides how many end the job
  each gets       --rate=... --model=... [--layers=...], after the arguments of its task
  each writes to  gs://bucket/out/TRIAL/

The tuning job
  display_name  search

Each trial runs
#  ROLE     MACHINES                           BOOT DISK
0  chief    1 x n1-standard-4 (4 vCPU, 15 GB)  pd-ssd 100 GB
1  workers  2 x n1-standard-4 (4 vCPU, 15 GB)  pd-ssd 100 GB

Chief and workers run
  container  gcr.io/p/i:1

The job of each trial
  base_output_directory  gs://bucket/out/

Cost in us-central1
  $1.47 an hour, at most $741.73 for 6 trials, each until the default timeout of 7 d.
  Chief $0.49, workers $0.98.
  No region is given; `--location` chooses one.
"""
PIPELINE_PAGE = """\
A training pipeline that runs a distributed job of 3 replicas: chief 1 x n1-standard-4, workers \
2 x n1-standard-4.

The data
  dataset   123
  split     70 % training, 20 % validation and 10 % test, at random.
  written   To files in a new folder below gs://bucket/data/.
  format    CSV for a table, JSON Lines for other datasets; shown below as CSV
  found by  AIP_DATA_FORMAT, AIP_TRAINING_DATA_URI, AIP_VALIDATION_DATA_URI and AIP_TEST_DATA_URI of every \
replica; the service chooses the time in them, 2026-01-31T12:00:00.000Z is a sample

The model
  uploads    digits
  becomes    the model digits, or a new version of it if it exists
  files      gs://bucket/out/model/, the AIP_MODEL_DIR of its task
  served by  gcr.io/p/serve:1

The pipeline
  display_name  digits

Its task runs
"""


@pytest.mark.parametrize(
    ("document", "page"), [(TUNING, TUNING_PAGE), (PIPELINE, PIPELINE_PAGE)], ids=["tuning", "pipeline"]
)
def test_the_page_in_a_pipe(command: Run, document: Document, page: str) -> None:
    code, out, err = command("explain", document)
    assert (code, err) == (0, "")
    assert out[: len(page)] == page


SEEN: list[tuple[str, Document, str, str]] = [
    ("a trial's number", TUNING, "", "CLOUD_ML_TRIAL_ID 1"),
    ("another trial", TUNING, "--trial 5", "CLOUD_ML_TRIAL_ID 5"),
    ("a trial's metric", TUNING, "", "CLOUD_ML_HP_METRIC_TAG accuracy"),
    ("a trial's model", TUNING, "", "AIP_MODEL_DIR gs://bucket/out/1/model/"),
    ("a pipeline's data", PIPELINE, "", "AIP_DATA_FORMAT csv"),
    (
        "where the data are",
        PIPELINE,
        "",
        "AIP_TEST_DATA_URI gs://bucket/data/dataset-123-tabular-2026-01-31T12:00:00.000Z/test-*.csv",
    ),
    (
        "a replica alone",
        PIPELINE,
        "--replica workerpool1-0",
        "AIP_VALIDATION_DATA_URI='gs://bucket/data/dataset-123-tabular-2026-01-31T12:00:00.000Z/"
        "validation-*.csv'",
    ),
    ("a trial of a pipeline", TUNING_PIPELINE, "", "AIP_MODEL_DIR gs://bucket/out/1/model/"),
]


@pytest.mark.parametrize(
    ("document", "words", "line"), [each[1:] for each in SEEN], ids=[each[0] for each in SEEN]
)
def test_what_replicas_see(command: Run, document: Document, words: str, line: str) -> None:
    _, out, _ = command("explain", document, *words.split())
    assert line in [" ".join(each.split()) for each in out.splitlines()]


FACTS: list[tuple[str, Document, str, Any]] = [
    ("the form of a tuning job", TUNING, "form", "tuning_job"),
    ("the form of a pipeline", PIPELINE, "form", "training_pipeline"),
    ("snake case", snake(TUNING), "tuningJob.displayName", "search"),
    ("a pipeline in snake case", snake(PIPELINE), "trainingPipeline.modelId", "digits"),
    ("a program's names", {"display_name": "p", "custom_task": snake(JOB)}, "task", "custom"),
    ("the pools of a trial", TUNING, "workerPoolSpecs.1.replicaCount", "2"),
    ("no custom job", TUNING, "customJob", None),
    ("trials in all", TUNING, "trials.inAll", 6),
    ("trials that gcloud's flags give", CONFIG, "trials.inAll", None),
    ("which are not in the document", CONFIG, "tuningJob.maxTrialCount", None),
    ("nor its name", CONFIG, "tuningJob.displayName", None),
    ("no name is needed", CONFIG, "errors", []),
    ("a trial's replicas", TUNING, "trials.replicasOfEach", 3),
    ("a condition", TUNING, "study.parameters.2.onlyWhere", "model is deep"),
    ("an argument that only some get", TUNING, "study.parameters.2.argument", "[--layers=...]"),
    ("endless points", TUNING, "study.points", None),
    ("the task is tuning", TUNING_PIPELINE, "task", "tuning"),
    ("with a study", TUNING_PIPELINE, "study.metrics.0.id", "accuracy"),
    ("and without data", TUNING_PIPELINE, "data", None),
    ("nor model", TUNING_PIPELINE, "model", None),
    ("the model's fate", PIPELINE, "model.files", "gs://bucket/out/model/, the AIP_MODEL_DIR of its task"),
    ("the format is the dataset's", PIPELINE, "data.format", None),
    (
        "what the service sets is passed over",
        {**TUNING, "name": "projects/1/locations/europe-west4/hyperparameterTuningJobs/2", "trials": [{}]},
        "sample.location",
        "europe-west4",
    ),
    (
        "a model's too",
        changed(PIPELINE, "modelToUpload.name", "projects/1/locations/l/models/2"),
        "errors",
        [],
    ),
]


def dig(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value.get(key)
    return value


@every_row(("document", "path", "expected"), [each[1:] for each in FACTS], ids=[each[0] for each in FACTS])
def test_a_fact(command: Run, document: Document, path: str, expected: Any) -> None:
    assert dig(printed(command, "explain", document), path) == expected


WRONG: list[tuple[str, Document, str, str]] = [
    ("a goal", changed(TUNING, "studySpec.metrics.0.goal", "MAX"), "study_spec.metrics[0].goal", "MAXIMIZE"),
    (
        "a mistyped field",
        changed(TUNING, "studySpec.paramters", []),
        "study_spec.paramters",
        "did you mean parameters",
    ),
    (
        "a machine of a trial",
        changed(TUNING, "trialJobSpec.workerPoolSpecs.0.machineSpec.machineType", "n1-standard-5"),
        "trial_job_spec.worker_pool_specs[0].machine_spec.machine_type",
        "did you mean n1-standard-4",
    ),
    ("more at a time", changed(TUNING, "parallelTrialCount", 9), "parallel_trial_count", "give at most 6"),
    ("no number of trials", changed(TUNING, "maxTrialCount", None), "max_trial_count", "is required"),
    (
        "a machine of a pipeline, where it is written",
        changed(PIPELINE, "trainingTaskInputs.workerPoolSpecs.0.machineSpec.machineType", "n1-standard-5"),
        "training_task_inputs.worker_pool_specs[0].machine_spec.machine_type",
        "did you mean n1-standard-4",
    ),
    (
        "a mistyped task",
        changed(changed(PIPELINE, "trainingTaskInputs.workerPoolSpec", []), "modelId", "digits"),
        "training_task_inputs.worker_pool_spec",
        "did you mean worker_pool_specs",
    ),
    (
        "no definition",
        changed(PIPELINE, "trainingTaskDefinition", None),
        "training_task_definition",
        "custom",
    ),
    (
        "another task's definition",
        changed(PIPELINE, "trainingTaskDefinition", f"{DEFINITIONS}hyperparameter_tuning_task_1.0.0.yaml"),
        "training_task_definition",
        f"write {DEFINITIONS}custom_task_1.0.0.yaml",
    ),
    (
        "a task that is not read",
        changed(PIPELINE, "trainingTaskDefinition", f"{DEFINITIONS}automl_tabular_1.0.0.yaml"),
        "training_task_definition",
        "custom_task_1.0.0.yaml or hyperparameter_tuning_task_1.0.0.yaml, in",
    ),
    ("no task", changed(PIPELINE, "trainingTaskInputs", None), "training_task_inputs", "workerPoolSpecs"),
    ("a task beside", {**PIPELINE, "customTask": JOB}, "custom_task", "keep one"),
    ("fractions", changed(PIPELINE, "inputDataConfig.fractionSplit.testFraction", 0.5), "", ""),
    (
        "pools beside a study",
        {**CONFIG, "workerPoolSpecs": [POOL]},
        "",
        "put workerPoolSpecs under trialJobSpec",
    ),
    ("a job beside a study", {"studySpec": STUDY, "jobSpec": JOB}, "", "rename jobSpec"),
    ("no kind at all", {"displayName": "a", "steps": []}, "", "has displayName and steps"),
    ("no kind at all: which are read", {"steps": []}, "", "a tuning job as {"),
    ("a request around it", {"trainingPipeline": PIPELINE}, "", "pass the value of trainingPipeline"),
]


@every_row(("document", "path", "words"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_mistake(command: Run, document: Document, path: str, words: str) -> None:
    errors = printed(command, "explain", document)["errors"]
    assert any(words in error["message"] for error in errors if error["path"] == path or not words)
    code, out, _ = command("explain", document)
    assert code == 2
    assert all(error["message"] in out for error in errors)


def test_a_grid_without_bounds(command: Run) -> None:
    """Explain a study whose number of points has more digits than Python prints."""
    wide = {"integerValueSpec": {"minValue": 1, "maxValue": 10**9}}
    parameters = [{"parameterId": f"p{i}", **wide} for i in range(500)]
    study = {**STUDY, "parameters": parameters, "algorithm": "GRID_SEARCH"}
    found = printed(command, "explain", {**TUNING, "studySpec": study})
    assert found["study"]["points"] is None
    assert "by grid search over more than 10^15 points." in found["study"]["sentences"][0]
    assert [warning["rule"] for warning in found["warnings"]] == ["grid-size"]


def test_a_trial_that_there_is_not(command: Run) -> None:
    code, out, _ = command("explain", TUNING, "--trial", "7", "--json")
    assert code == 2
    assert json.loads(out)["errors"] == [
        {"message": "Trial 7 does not exist: the job has 6 trials.", "path": "--trial"}
    ]


@pytest.mark.parametrize(
    "document", [TUNING, CONFIG, PIPELINE, TUNING_PIPELINE], ids=["tuning", "config", "pipeline", "both"]
)
def test_what_is_printed_can_be_read_again(command: Run, document: Document) -> None:
    first = printed(command, "explain", document)
    assert printed(command, "explain", first) == first
    assert printed(command, "diff", document, first)["effect"] == "none"


def test_a_persistent_resource_that_is_too_small_for_a_trial(command: Run, tmp_path: Path) -> None:
    pools = [{"machineSpec": POOL["machineSpec"], "replicaCount": "2"}]
    (tmp_path / "resource.json").write_text(json.dumps({"resourcePools": pools}))
    words = ["--persistent-resource", str(tmp_path / "resource.json")]
    errors = printed(command, "explain", TUNING, *words)["errors"]
    assert [error["rule"] for error in errors] == ["resource-pool-size"]
    assert errors[0]["path"].startswith("trial_job_spec.worker_pool_specs")


GUIDES = Path(__file__).parents[4] / "docs" / "guides" / "jobs"
OTHERS = {
    "wider.yaml": (
        "search.yaml",
        {"maxValue: 0.1}": "maxValue: 0.5}", "maxTrialCount: 6": "maxTrialCount: 8"},
    ),
    "other-data.yaml": ("pipeline.yaml", {"1234567890": "1234567891"}),
}
"""The files of the pages that are others with something replaced."""


@pytest.mark.parametrize("page", ["tuning.md", "pipelines.md"])
def test_what_a_page_shows_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line; what is left out, "..." stands for."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(yaml|text)\n(.*?)^```$", (GUIDES / page).read_text(), re.DOTALL | re.MULTILINE)
    for language, text in blocks:
        if language == "yaml":
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text)
    for name, (source, replaced) in OTHERS.items():
        if Path(source).exists():
            text = Path(source).read_text()
            for old, new in replaced.items():
                text = text.replace(old, new)
            Path(name).write_text(text)
    shown = [text for language, text in blocks if language == "text"]
    assert [text.split()[2] for text in shown] == ["explain", "diff"]
    for text in shown:
        command, _, output = text.partition("\n")
        assert main(command.split()[2:]) == 0
        rest = capsys.readouterr().out
        first, *others = output.split("...\n")
        assert rest.startswith(first)
        for part in filter(None, others):
            _, found, rest = rest.partition(part)
            assert found == part


@pytest.mark.parametrize("columns", [80, 110])
def test_a_terminal_is_not_too_narrow(tmp_path: Path, columns: int) -> None:
    (tmp_path / "search.json").write_text(json.dumps(TUNING))
    env = environment(tmp_path)
    ended = run_on_terminal("explain", str(tmp_path / "search.json"), env=env, columns=columns)
    assert ended.code == 0
    lines = ended.plain.splitlines()
    assert max(len(line.rstrip()) for line in lines if "explain" not in line) <= columns
    (parameter,) = [line.split() for line in lines if line.strip().startswith("layers")]
    assert parameter == ["layers", "integer", "1", "to", "4", "model", "is", "deep"]
