"""The arguments that differ between jobs, and the label that names the secret ones."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs import secret_arguments
from pulumi_vertex_training.views.runs.argument_values import differing
from pulumi_vertex_training.views.runs.metric_rows import better_of


def record(*pools: Sequence[str], labels: dict[str, str] | None = None) -> JobRecord:
    return JobRecord(
        name="projects/1/locations/us-central1/customJobs/1",
        display_name="train",
        state=JobState.JOB_STATE_SUCCEEDED,
        labels=labels or {},
        wire={"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"args": list(args)}} for args in pools]}},
    )


def rows(*records: JobRecord) -> list[tuple[str, tuple[str, ...]]]:
    return [(row.name, row.cells) for row in differing(records)]


def test_one_row_for_the_same_values_in_all_pools() -> None:
    one, two = (["--rate", rate, "--epochs=3"] for rate in ("0.1", "0.2"))
    assert rows(record(one, one), record(two, two)) == [("--rate", ("0.1", "0.2"))]


def test_a_row_for_each_group_of_pools_that_differ() -> None:
    found = rows(record(["--n", "1"], ["--n", "1"]), record(["--n", "2"], ["--n", "3"]))
    assert found == [("chief --n", ("1", "2")), ("workers --n", ("1", "3"))]


def test_a_pool_that_one_run_lacks_adds_no_row() -> None:
    assert rows(record(["--n", "1"]), record(["--n", "2"], ["--n", "2"])) == [("--n", ("1", "2"))]


def test_absent_arguments_and_flags_without_a_value() -> None:
    assert rows(record(["--fast"]), record([])) == [("--fast", ("yes", "-"))]
    assert rows(record(["a"]), record(["b"])) == [("arguments", ("a", "b"))]


def test_a_script_of_several_lines_is_one_line() -> None:
    (row,) = differing([record(["-c", f"\nimport os\nprint({number})"]) for number in (1, 2)])
    assert row.cells == ("import os print(1)", "import os print(2)")


def test_a_secret_that_differs_is_named_without_its_value() -> None:
    labels = {secret_arguments.LABEL: "0-1_0-2"}
    one, two = (record(["--token", f"x{n}", f"--key=y{n}", "z"], labels=labels) for n in (1, 2))
    assert rows(one, two) == [("--token", ("[secret]",) * 2), ("--key", ("[secret] z",) * 2)]
    assert rows(one, one) == []


@pytest.mark.parametrize(("count", "label"), [(1, "0-0"), (30, "all")])
def test_the_label_has_the_places_or_says_all(count: int, label: str) -> None:
    wire = {"jobSpec": {"workerPoolSpecs": [{"pythonPackageSpec": {"args": ["secret"] * count}}]}}
    labels = secret_arguments.labelled(wire, lambda text: text == "secret")["labels"]
    assert labels == {secret_arguments.LABEL: label}
    assert secret_arguments.is_secret(labels, pool=0, number=0)
    assert secret_arguments.is_secret(labels, pool=0, number=count) is (label == "all")
    assert "labels" not in secret_arguments.labelled(wire, lambda _: False)


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("val_loss", "lower"),
        ("eval/Accuracy", "higher"),
        ("f1", "higher"),
        ("top5_err", "lower"),
        ("lr", None),
    ],
)
def test_the_name_of_a_metric_says_which_values_are_better(name: str, better: str | None) -> None:
    assert better_of(name) == better
