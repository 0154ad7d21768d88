"""Mistakes that a program finds by itself: all at once, each in one line, before anything is registered.

`tests/engine/program/test_mistakes.py` has those that it finds together with the check of a provider.
"""

from __future__ import annotations

import pytest

from support.mocked_program import ROOT, run

HEAD = "import pulumi\nimport pulumi_vertex_training as vt\n"
CONFIG = {"vertex-training:endpoint": "emulator"}
WRONG_CALLS = """
def tune():
    deeper = [vt.when("x", vt.double_parameter("m", 0, 1))]
    vt.HyperparameterTuningJob(
        "tune",
        max_trial_count="many",
        parallel_trial_count=0,
        study_spec=vt.StudySpecArgs(
            metrics=[{"metric_id": "loss", "goal": "MIN"}],
            parameters=[
                vt.double_parameter("rate", 1, 0.1, scale="log10"),
                vt.integer_parameter("layers", 1, 3, conditions=deeper),
            ],
        ),
        trial_job_spec={"worker_pool_specs": []},
        wait="don",
    )


for call in (
    tune,
    lambda: vt.topology(chef={}),
    lambda: vt.topology({}),
    lambda: vt.double_parameter("rate", 1, scal="log"),
    lambda: vt.get_model("digits", locatoin="us-east1"),
    lambda: vt.MachineSpecArgs("n1-standard-4"),
    lambda: vt.MachineSpecArgs(machine_tpye="n1-standard-4"),
    lambda: vt.StagingBucket(),
    lambda: vt.TrainingSchedule("nightly", job=vt.StagingBucket("data"), schedule="0 3 * * *"),
    lambda: vt.CustomJob(3, worker_pool_specs=[]),
    lambda: vt.DistributedTraining("train", cheif={}, wait="done"),
):
    try:
        call()
    except pulumi.RunError as error:
        pulumi.log.info(str(error))
vt.CustomJob("", worker_pool_specs=[])
"""
MISSING_FILES = """
vt.StagedPackage("p", bucket="b-1", source="no.py", extra_files={"x": "no-x", "y": "__main__.py"})
vt.StagedFile("f", bucket="b-1", source="no.csv")
vt.TrainingImage("i", repository="us-docker.pkg.dev/p/r", source="no-folder", requirements="no.txt")
vt.StagedFile("good", bucket="b-1", source="__main__.py")
"""
TRAINING = """
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
vt.DistributedTraining(
    "train",
    chief={"machine_spec": machine},
    evaluator={"machine_spec": machine, "python_package_spec": {"args": ["score"]}},
    bucket={"forse_destroy": True},
    image={"sorce": "trainer"},
    wiat="done",
)
"""


@pytest.fixture(scope="module")
def output() -> str:
    """Return what the wrong calls print, and the last one raises."""
    done = run("dev", CONFIG, program=HEAD + WRONG_CALLS)
    return f"{done.printed}\n{done.error}"


def test_all_faults_of_a_study_come_with_those_of_the_program(output: str) -> None:
    for words in (
        "wait is 'don'",
        "max_trial_count: expected a whole number, got the string 'many'",
        "parallel_trial_count: 0",
        "study_spec.metrics[0].goal: 'MIN' is not one of MAXIMIZE, MINIMIZE; write MINIMIZE",
        "study_spec.parameters[0].double_value_spec.min_value: 1 is more than max_value 0.1",
        "study_spec.parameters[0].scale_type: 'log10' is not one of",
        "study_spec.parameters[1].conditional_parameter_specs[0].parent_int_values.values: expected a list",
        "trial_job_spec.worker_pool_specs: there is no worker pool",
    ):
        assert words in output
    assert "display_name" not in output


def test_a_wrong_call_is_one_line_without_a_traceback(output: str) -> None:
    for words in (
        "topology: chef: unknown argument; did you mean chief?",
        "topology: chief is missing",
        "topology: give arguments by name, such as chief=...",
        "double_parameter: scal: unknown argument; did you mean scale?",
        "double_parameter: max_value is missing",
        "get_model: locatoin: unknown argument; did you mean location?",
        "MachineSpecArgs: give arguments by name, such as machine_type=...",
        "MachineSpecArgs: 'machine_tpye' is not an argument; did you mean machine_type?",
        "StagingBucket: the name of the resource is missing; give it first",
        "StagingBucket is not a job of this program",
        "CustomJob: the name of the resource is 3; give it first",
        "train: cheif: unknown argument; did you mean chief?",
        "train: chief is missing",
        "CustomJob: the name of the resource is empty; give it first",
    ):
        assert words in output
    assert "wait: unknown" not in output
    assert "Traceback" not in output


def test_all_missing_files_of_a_program_are_named_at_once() -> None:
    done = run("dev", CONFIG, program=HEAD + MISSING_FILES, folder="infra")
    missing = [
        "p: source: no.py",
        "p: extra_files['x']: no-x",
        "f: source: no.csv",
        "i: source: no-folder",
        "i: requirements: no.txt",
    ]
    wanted = [f"{each} does not exist in {ROOT / 'infra'}. Correct the path." for each in missing]
    assert done.error.splitlines() == wanted


def test_missing_and_unknown_arguments_of_a_training_are_reported_at_once() -> None:
    error = run("dev", CONFIG, program=HEAD + TRAINING).error
    assert "train: image.sorce: unknown argument; did you mean source?" in error
    assert "train: bucket.forse_destroy: unknown argument; did you mean force_destroy?" in error
    assert "train: wiat: unknown argument; did you mean wait" in error
    assert "train: evaluator.python_package_spec.package_uris is missing, and no package is given" in error
