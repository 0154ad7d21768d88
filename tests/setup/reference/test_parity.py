"""The parity page: its rows, and the marks of tests that complete them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import types as api

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource
from scripts.reference.pages import parity
from suites.catalog import SUITES
from support.client.clients.recorded_requests import all_fields
from support.tables import every_row
from vertex_training.job.custom_job import CustomJobSpec

PAGE = """\
# Parity

| a table |
| --- |

Text.

## Jobs

* **timeout**: fails the job (or not) (documented)
"""
SAME = '@pytest.mark.parity("Jobs: timeout", same="by a clock")\n'


def written(folder: Path, tests: str, page: str = PAGE) -> str:
    """Return the page, with the marks of a file of tests."""
    file = folder / "tests" / "test_jobs.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(tests)
    return parity.written(page, parity.marks(folder))


def test_a_row_has_what_its_marks_say_and_the_tests_that_have_them(tmp_path: Path) -> None:
    tests = (
        '@pytest.mark.parity("Jobs: timeout")\ndef test_one_job(): ...\n'
        f"class TestSeveral:\n    {SAME}    def test_two_jobs(self): ...\n"
        "def test_nothing(): ...\n"
    )
    page = written(tmp_path, tests)
    assert page.split("\n\n")[1].split("\n")[2:] == ["| Jobs | 0 | 1 | 0 | 0 | 2 |"]
    assert page.split("\n")[-4:-1] == [
        "*As documented*",
        "",
        "* **timeout**: fails the job (or not) (documented) \N{RIGHTWARDS ARROW} by a clock "
        "([2](../../tests/test_jobs.py))",
    ]
    assert written(tmp_path, tests, page) == page
    assert page.split("\n\n")[2] == "Text."


@pytest.mark.parametrize(
    ("likeness", "sources", "word"),
    [
        ("same", "documented: a (b)", "As documented"),
        ("same", "documented; suite: gcsfs", "The same"),
        ("same", "seen", "The same"),
        ("own_way", "documented", "In its own way"),
        ("not_done", "ours: a", "Not done"),
    ],
)
def test_a_word_is_no_stronger_than_its_sources(
    tmp_path: Path, likeness: str, sources: str, word: str
) -> None:
    page = PAGE.replace("documented", sources)
    found = written(tmp_path, f"{SAME.replace('same', likeness)}def test_one(): ...", page)
    assert f"\n*{word}*\n\n* **timeout**: fails the job (or not) ({sources}) " in found


def test_rows_that_differ_are_the_first_of_their_section(tmp_path: Path) -> None:
    page = PAGE + "* **restart**: five times (seen)\n* **color**: blue (ours: a)\n* **size**: large (seen)\n"
    tests = "".join(
        f'@pytest.mark.parity("Jobs: {feature}", {likeness}="x")\ndef test_{feature}(): ...\n'
        for feature, likeness in (
            ("timeout", "same"),
            ("restart", "same"),
            ("color", "own_way"),
            ("size", "not_done"),
        )
    )
    lines = written(tmp_path, tests, page).split("## Jobs")[1].split("\n")
    parts = [line.partition(": ")[0].strip("* ") for line in lines if line]
    assert parts == [
        *("Not done", "size", "In its own way", "color"),
        *("As documented", "timeout", "The same", "restart"),
    ]


@every_row(
    ("marks", "source", "message"),
    [
        ("", "seen", "Jobs: timeout: 0 marks have a likeness"),
        ('@pytest.mark.parity("Jobs: timeout")\n', "seen", "0 marks have"),
        (SAME + SAME, "seen", "2 marks have.*\\n.*a test has two marks"),
        ('@pytest.mark.parity("Jobs: x")\n', "seen", "test_one: the page has no row 'Jobs: x'"),
        (f"@pytest.mark.skipif(x)\n{SAME}", "seen", "test_one: a skipped test verifies nothing"),
        (f"{SAME}def helper(): ...\n", "seen", "test_jobs.py:1: the parity mark is not at a test"),
        (SAME.replace("same", "equal"), "seen", "test_one: a parity mark takes a row, one of same"),
        (SAME.replace('"by a clock"', "CLOCK"), "seen", "a parity mark takes"),
        (SAME.replace("a clock", "a \N{RIGHTWARDS ARROW} clock"), "seen", "a parity mark takes"),
        (SAME, "ours: a", "without a source"),
        (SAME, "client", "one of its tests runs a client"),
        (SAME, "seen; hearsay: a", "a row is"),
        (SAME, "seen; suite", "a row is"),
        (SAME, "hearsay: a", "a row is"),
        (SAME, "a", "a row is"),
    ],
)
def test_what_does_not_fit_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, marks: str, source: str, message: str
) -> None:
    page = PAGE.replace("documented", source)
    with pytest.raises(parity.ParityError, match=message):
        written(tmp_path_factory.mktemp("clone"), f"{marks}def test_one(): ...\n", page)


@pytest.mark.parametrize(
    ("section", "message", "leave_out"),
    [
        ("Custom jobs", api.CustomJob, CustomJobSpec.SERVER_OWNED),
        ("Tuning jobs", api.HyperparameterTuningJob, HyperparameterTuningJobSpec.SERVER_OWNED),
        ("Persistent resources", api.PersistentResource, PersistentResource.SERVER_OWNED),
    ],
)
def test_rows_are_about_all_fields_of_the_installed_api(
    section: str, message: type[Any], leave_out: Collection[str]
) -> None:
    rows = [row for row in parity.current_rows() if row.section == section]
    named = {field for row in rows for mark in row.marks for field in mark.fields}
    fields = all_fields(message, leave_out=leave_out)
    found = {path: {each for each in named if f"{path}.".startswith(f"{each}.")} for path in fields}
    assert {path for path in fields if not found[path]} == set()
    assert named == set().union(*found.values())


def test_rows_rest_on_suites_that_are_run() -> None:
    sources = [source for row in parity.current_rows() for source in row.sources]
    assert {name for basis, name in sources if basis == "suite"} <= {suite.name for suite in SUITES}
