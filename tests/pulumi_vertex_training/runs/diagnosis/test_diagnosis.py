"""From the words of the service and of programs to a cause: one row of the table a case, and the bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.runs.diagnosis.causes import CAUSES, WHAT
from pulumi_vertex_training.runs.diagnosis.diagnosis import (
    LINES,
    diagnose,
    exit_in_words,
    report,
    take_apart,
    without_log,
)
from support.tables import every_row

EXITED = (
    "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error. To find out "
    "more about why your job exited please check the logs: https://console.cloud.google.com/logs/viewer?project=7"
    "&resource=ml_job%2Fjob_id%2F5&advancedFilter=resource.type%3D%22ml_job%22"
)
LOCAL = (
    "The replica workerpool1-0 exited with a non-zero status of 139. Termination reason: Error. It was ended "
    "by the signal SIGSEGV.\nThe last lines of its log:\n    one\n        two\n\nTo find out more about why "
    "your job exited please check the logs: vertex-training logs 5"
)


@pytest.mark.parametrize(
    ("message", "kind", "says"),
    [
        pytest.param(
            "The replica workerpool0-0 ran out of memory and exited with a non-zero status of 137.",
            "out_of_memory",
            "out of memory",
            id="memory",
        ),
        pytest.param(
            "The following quota metrics exceed quota limits: "
            "aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus",
            "quota",
            "aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus",
            id="quota",
        ),
        pytest.param(
            "The Model projects/7/locations/us-central1/models/digits already exists.",
            "model_exists",
            "another pipeline created the model projects/7/locations/us-central1/models/digits",
            id="model",
        ),
        pytest.param(
            "Resources are insufficient in region: us-central1. Try a different region or use a different "
            "accelerator.",
            "no_resources",
            "us-central1",
            id="stockout",
        ),
        pytest.param(
            "Failed to read the container uri [gcr.io/p/i:1]. Please make sure that the image exists",
            "image",
            "gcr.io/p/i:1",
            id="image",
        ),
        pytest.param(
            "Agent Platform Service Agent service-1@gcp-sa-aiplatform-cc.iam.gserviceaccount.com does not "
            "have permission to access Artifact Registry repository projects/p/locations/r/repositories/nas",
            "image",
            "projects/p/locations/r/repositories/nas",
            id="image-permission",
        ),
        pytest.param(
            "The replica workerpool0-0 exited with a non-zero status of 128. Termination reason: StartError. "
            '\n Termination log message: failed to create containerd task: exec: "pythn": executable file '
            "not found in $PATH",
            "command",
            "pythn",
            id="start",
        ),
        pytest.param("Internal error occurred for the current attempt", "internal", "service", id="internal"),
        pytest.param(
            "The job ran longer than job_spec.scheduling.timeout, 3600s, and was stopped.",
            "timeout",
            "3600s",
            id="timeout",
        ),
        pytest.param(
            "gs://b/t-1.tar.gz is a source distribution, which setuptools builds, and its build requirements "
            "(setuptools>=61) are not available: pip got none from the package index.",
            "build_backend",
            "could not get setuptools, which builds",
            id="backend",
        ),
        pytest.param(
            "The packages gs://b/t.whl cannot be installed: the emulator's Python, /usr/bin/python3, has "
            "neither pip nor ensurepip.",
            "no_pip",
            "cannot install packages",
            id="pip",
        ),
        pytest.param(
            "Permission 'storage.objects.get' denied on resource",
            "permission",
            "storage.objects.get",
            id="iam",
        ),
    ],
)
def test_the_words_of_the_service(message: str, kind: str, says: str) -> None:
    diagnosis = diagnose(message)
    assert (diagnosis.kind, says in diagnosis.cause) == (kind, True), diagnosis


@every_row(
    ("line", "kind", "says"),
    [
        pytest.param("numpy._core._exceptions._ArrayMemoryError: Unable to", "out_of_memory", "", id="numpy"),
        pytest.param("terminate called after throwing 'std::bad_alloc'", "out_of_memory", "", id="c++"),
        pytest.param("torch.OutOfMemoryError: CUDA out of memory.", "accelerator_memory", "", id="cuda"),
        pytest.param(
            "tensorflow...ResourceExhaustedError: OOM when allocating tensor with shape[64]",
            "accelerator_memory",
            "",
            id="tensorflow",
        ),
        pytest.param("OSError: [Errno 98] Address already in use", "port_in_use", "a port", id="port"),
        pytest.param(
            "E server_chttp2.cc: Failed to bind [::]:2222: Address already in use",
            "port_in_use",
            "2222",
            id="grpc",
        ),
        pytest.param(
            "tensorflow...NotFoundError: Could not find gs://b/train/x.csv",
            "missing_data",
            "gs://b/train/x",
            id="gs",
        ),
        pytest.param(
            "FileNotFoundError: [Errno 2] No such file or directory: '/gcs/b/train/x.csv'",
            "missing_data",
            "/gcs/b/train/x.csv",
            id="gcs",
        ),
        pytest.param(
            "google.api_core.exceptions.NotFound: 404 GET https://storage.googleapis.com/storage/v1/b/flowers?x=1:",
            "missing_data",
            "flowers",
            id="client",
        ),
        pytest.param(
            "google.api_core.exceptions.Forbidden: 403 GET https://storage...: x@y does not have "
            "storage.objects.get access to the object",
            "permission",
            "storage.objects.get",
            id="forbidden",
        ),
        pytest.param(
            "PermissionError: [Errno 13] Permission denied: '/m'", "file_permission", "/m", id="file"
        ),
        pytest.param(
            "ImportError: libGL.so.1: cannot open shared object file", "missing_library", "libGL", id="so"
        ),
        pytest.param("OSError: [Errno 28] No space left on device", "disk_full", "", id="disk"),
        pytest.param("RuntimeError: No CUDA GPUs are available", "no_accelerator", "", id="gpu"),
        pytest.param("exec /app/start: exec format error", "architecture", "", id="arm"),
        pytest.param(
            "RuntimeError: DataLoader: insufficient shared memory (shm)", "shared_memory", "", id="shm"
        ),
        pytest.param("env: ‘python4’: No such file or directory", "command", "python4", id="env"),
        pytest.param(
            "ERROR: No matching distribution found for flowers==9",
            "package",
            "could not be installed",
            id="pip",
        ),
    ],
)
def test_the_words_of_a_program(line: str, kind: str, says: str) -> None:
    diagnosis = diagnose(EXITED, lines=["Traceback (most recent call last):", line])
    assert (diagnosis.kind, says in diagnosis.cause) == (kind, True), diagnosis
    assert WHAT not in diagnosis.cause


@pytest.mark.parametrize(
    "line",
    [
        "W Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open",
        "ValueError: could not convert string to float: 'rose'",
        "epoch 3: loss 0.137, 127 batches",
        "",
    ],
)
def test_other_words_are_no_cause(line: str) -> None:
    assert diagnose(EXITED, lines=[line]).kind == ""


TRACEBACK = "Traceback (most recent call last):"
FRAME = '  File "train.py", line 3, in <module>'


@pytest.mark.parametrize(
    ("lines", "exception"),
    [
        ([TRACEBACK, FRAME, "    main()", "ValueError: no data"], "ValueError: no data"),
        ([TRACEBACK, FRAME, "ValueError: no data", "second line", "saved"], "ValueError: no data"),
        (["    main()", FRAME, "KeyboardInterrupt"], "KeyboardInterrupt"),
        (["worker: " + TRACEBACK, "worker: " + FRAME, "worker: KeyError: 'x'"], "KeyError: 'x'"),
        ([TRACEBACK, FRAME, "a.b.exceptions.NotFound: 404 gone"], "a.b.exceptions.NotFound: 404 gone"),
        (
            [TRACEBACK, FRAME, "OSError: disk", TRACEBACK, FRAME, "torch.errors.ChildFailedError: failed"],
            "OSError: disk",
        ),
        (
            [TRACEBACK, FRAME, "subprocess.CalledProcessError: exit 2"],
            "subprocess.CalledProcessError: exit 2",
        ),
        (
            [TRACEBACK, FRAME, "OSError: survived", "going on", TRACEBACK, FRAME, "TypeError: x"],
            "TypeError: x",
        ),
        (["epoch 3: loss 0.137", "ValueError: a line of the log"], ""),
        ([], ""),
    ],
)
def test_the_exception_that_ended_the_program(lines: list[str], exception: str) -> None:
    assert diagnose(EXITED, lines=lines).exception == exception


def test_a_program_that_was_killed_had_no_chance_to_say_why() -> None:
    message = EXITED.replace("status of 1.", "status of 137.")
    assert diagnose(message, lines=["Connection refused, trying again"]).kind == "out_of_memory"
    assert diagnose(message, lines=["No space left on device"]).kind == "disk_full"
    assert diagnose(message.replace("137", "143"), lines=["MemoryError"]).kind == "stopped"


def test_the_first_of_several_errors_that_go_back_to_each_other_and_not_one_that_was_survived() -> None:
    first = ["Traceback (most recent call last):", "ModuleNotFoundError: No module named 'flowers'"]
    second = ["Traceback (most recent call last):", "RuntimeError: no training"]
    chain = "The above exception was the direct cause of the following exception:"
    assert diagnose(EXITED, lines=[*first, "", chain, "", *second]).kind == "missing_module"
    assert diagnose(EXITED, lines=[*first, "going on without", *second]).kind == ""


def test_a_package_that_is_run_as_a_module_is_not_a_missing_dependency() -> None:
    line = "/v/bin/python3: No module named a.b.__main__; 'a.b' is a package and cannot be directly executed"
    diagnosis = diagnose(EXITED, lines=[line])
    assert (diagnosis.kind, "python_module names a.b, a package" in diagnosis.cause) == (
        "package_as_module",
        True,
    )


@pytest.mark.parametrize(
    ("module", "kind"), [("hypertune", "missing_hypertune"), ("hypertuner", "missing_module")]
)
def test_the_module_that_reports_metrics_is_in_a_package_of_another_name(module: str, kind: str) -> None:
    said = diagnose(EXITED, lines=[f"ModuleNotFoundError: No module named '{module}'"])
    assert said.kind == kind
    assert ("cloudml-hypertune" in said.remedy) == (module == "hypertune")


def test_the_module_that_finds_the_cluster_is_on_no_package_index() -> None:
    said = diagnose(EXITED, lines=["ModuleNotFoundError: No module named 'vertex_cluster'"])
    assert said.kind == "missing_vertex_cluster"
    assert "vertex_cluster=True" in said.remedy


def test_an_error_of_google_is_taken_apart() -> None:
    failure = take_apart(EXITED)
    assert (failure.replica, failure.exit_code, failure.lines) == ("workerpool0-0", 1, ())
    assert failure.words == "The replica workerpool0-0 exited with a non-zero status of 1."


def test_an_error_of_the_emulator_is_taken_apart() -> None:
    failure = take_apart(LOCAL)
    assert (failure.replica, failure.exit_code, failure.lines) == ("workerpool1-0", 139, ("one", "    two"))
    assert failure.words.endswith("It was ended by the signal SIGSEGV.")
    assert "one" not in without_log(LOCAL)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, ""),
        (None, ""),
        (137, "SIGKILL"),
        (-9, "SIGKILL"),
        (139, "SIGSEGV"),
        (128, ""),
        (255, ""),
        (-300, ""),
    ],
)
def test_an_exit_code_in_words(code: int | None, words: str) -> None:
    assert words in exit_in_words(code)
    assert bool(exit_in_words(code)) == bool(words)


def test_the_report_is_one_message_without_a_line_twice() -> None:
    diagnosis = diagnose(EXITED.replace("status of 1.", "status of 134."), lines=["one", "two"])
    assert report(diagnosis, label="custom job 5", state="FAILED", logs="vertex-training logs 5").split(
        "\n"
    ) == [
        "custom job 5 FAILED: The replica workerpool0-0 exited with a non-zero status of 134. It was ended "
        "by the signal SIGABRT.",
        "The last lines of workerpool0-0:",
        "    one",
        "    two",
        "Likely cause: it aborted (SIGABRT): a library found an internal error. Look for incompatible "
        "versions of libraries (CUDA, NumPy, TensorFlow). `python -X faulthandler` prints where it crashed.",
        "All logs: vertex-training logs 5",
    ]


PIP = (
    "Requirements of the packages gs://b/t.whl could not be installed: flowers==9. This needs a reachable "
    "package index (pip's own settings apply).\nThe last lines of pip:\n    Looking in indexes: https://u:p@i/\n"
    "    ERROR: No matching distribution found for flowers==9"
)


def test_the_lines_of_pip_stay_lines_and_name_the_package() -> None:
    said = report(diagnose(PIP), label="custom job 5", state="FAILED", logs="vertex-training logs 5")
    assert said.split("\n")[1:5] == [
        "The last lines of pip:",
        "    Looking in indexes: https://u:p@i/",
        "    ERROR: No matching distribution found for flowers==9",
        "Likely cause: its Python package could not be installed: pip found no flowers==9. See pip's "
        "messages in the service's part of the log. The job must be able to read package_uris and the "
        "package's dependencies.",
    ]
    assert "pip:" not in without_log(PIP)


@given(st.text(), st.lists(st.text()), st.none() | st.integers(-400, 400))
def test_anything_is_diagnosed_in_bounded_printable_text(
    message: str, lines: list[str], code: int | None
) -> None:
    diagnosis = diagnose(message, exit_code=code, lines=lines)
    assert len(diagnosis.lines) <= LINES
    for text in (*diagnosis.lines, diagnosis.words, diagnosis.cause):
        assert text.isprintable()
        assert len(text) < 2000
    assert bool(diagnosis.kind) == bool(diagnosis.cause) == bool(diagnosis.remedy)


@every_row("cause", CAUSES, ids=lambda cause: cause.name)
def test_every_row_can_be_found_and_ends_in_a_sentence(cause: object) -> None:
    row = next(each for each in CAUSES if each is cause)
    assert row.service or row.log or row.exits
    assert row.remedy[0] in "`ABCDEFGHIJKLMNOPQRSTUVWXYZ" and row.remedy.endswith((".", '"'))
    named = [pattern for pattern in (*row.service, *row.log) if "what" in pattern.groupindex]
    assert bool(named) == (WHAT in row.says)
    unnamed = [pattern for pattern in (*row.service, *row.log) if "what" not in pattern.groupindex]
    assert not (WHAT in row.says and unnamed) or row.unnamed
