"""`docs/parity.md` agrees with the tests. To write the page: `python -m pytest tests/parity --record`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.cloud.aiplatform_v1 import types as api

from support.parity.page import PAGE, Row, Section, fields_without_row, missing_tests, page
from support.parity.sections import SECTIONS

EACH = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
HERE = "tests/parity/test_parity_page.py"
ROW = Row(
    feature="f",
    google="g",
    likeness="same",
    here="h",
    source="API reference",
    tests=(f"{HERE}::test_the_page_is_what_the_tests_say",),
)


def test_the_page_is_what_the_tests_say(request: pytest.FixtureRequest) -> None:
    made = page(SECTIONS)
    if request.config.getoption("--record"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made


@EACH
def test_every_test_that_a_row_names_is_there(section: Section) -> None:
    assert list(missing_tests(section)) == []


@EACH
def test_every_row_names_a_test(section: Section) -> None:
    assert [row.feature for row in section.rows if not row.tests] == []


@EACH
def test_every_field_of_the_installed_api_has_a_row(section: Section) -> None:
    assert list(fields_without_row(section)) == []


@EACH
def test_a_feature_has_one_row(section: Section) -> None:
    features = [row.feature for row in section.rows]
    assert sorted(set(features)) == sorted(features)


RUNS_CLIENTS = (
    "tests/clients/",
    "tests/pulumi_vertex_training/cloud/test_fidelity_",
    "tests/vertex_emulator/custom_jobs/test_descriptors.py",
)


@EACH
def test_what_is_the_same_is_not_our_own_word(section: Section) -> None:
    same = [row for row in section.rows if row.likeness == "same"]
    assert [row.feature for row in same if set(row.bases) == {"ours"}] == []


@EACH
def test_a_row_that_is_the_same_as_a_client_needs_it_names_a_test_of_that_client(section: Section) -> None:
    rows = [row for row in section.rows if "client" in row.bases and row.likeness == "same"]
    named = {row.feature: [test for test in row.tests if test.startswith(RUNS_CLIENTS)] for row in rows}
    assert [feature for feature, tests in named.items() if not tests] == []


def test_a_source_of_no_known_kind_is_refused() -> None:
    with pytest.raises(KeyError, match="hearsay"):
        page([Section(title="t", rows=(replace(ROW, source="hearsay"),))])


@EACH
def test_no_cell_breaks_the_table(section: Section) -> None:
    cells = [cell for row in section.rows for cell in (row.feature, row.google, row.here, row.source)]
    assert [cell for cell in cells if not cell or "|" in cell or "\n" in cell] == []


@pytest.mark.parametrize(
    "name",
    [f"{HERE}::test_that_is_not_there", "tests/parity/test_nothing.py::test_x", f"{HERE}::replace", HERE],
)
def test_a_test_that_is_not_there_is_found(name: str) -> None:
    section = Section(title="t", rows=(replace(ROW, tests=(name,)),))
    assert list(missing_tests(section)) == [name]


def test_a_test_that_is_there_is_found() -> None:
    assert list(missing_tests(Section(title="t", rows=(ROW,)))) == []


def test_a_field_without_a_row_is_found() -> None:
    section = Section(title="t", rows=(ROW,), message=api.GcsDestination)
    assert list(fields_without_row(section)) == ["output_uri_prefix"]


def test_a_field_with_a_row_is_not() -> None:
    row = replace(ROW, fields=("output_uri_prefix",))
    assert list(fields_without_row(Section(title="t", rows=(row,), message=api.GcsDestination))) == []
