"""`docs/reference/parity.md` agrees with the tests. To write it: `python -m pytest tests/parity --record`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.cloud.aiplatform_v1 import types as api

from suites.catalog import SUITES
from support.parity.page import PAGE, Likeness, Row, Section, fields_without_row, missing_tests, page
from support.parity.sections import SECTIONS

EACH = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
HERE = "tests/parity/test_parity_page.py"
ROW = Row(
    feature="f",
    google="g",
    likeness="same",
    here="h",
    source="API reference",
    tests=(f"{HERE}::test_the_page_agrees_with_the_rows",),
)


def test_the_page_agrees_with_the_rows(request: pytest.FixtureRequest) -> None:
    made = page(SECTIONS)
    if request.config.getoption("--record"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made


@EACH
def test_all_tests_named_in_rows_exist(section: Section) -> None:
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
    "tests/pulumi_vertex_training/cloud/fidelity/",
    "tests/vertex_emulator/custom_jobs/checks/test_descriptors.py",
)


@EACH
def test_no_row_claims_sameness_on_our_authority_alone(section: Section) -> None:
    same = [row for row in section.rows if row.likeness == "same"]
    assert [row.feature for row in same if set(row.bases) == {"ours"}] == []


@EACH
def test_sameness_known_from_a_client_has_a_test_with_that_client(section: Section) -> None:
    rows = [row for row in section.rows if "client" in row.bases and row.likeness == "same"]
    named = {row.feature: [test for test in row.tests if test.startswith(RUNS_CLIENTS)] for row in rows}
    assert [feature for feature, tests in named.items() if not tests] == []


@EACH
def test_rows_rest_on_suites_that_are_run(section: Section) -> None:
    named = {name for row in section.rows for name in row.suites}
    assert named <= {suite.name for suite in SUITES}


@pytest.mark.parametrize(
    ("likeness", "source", "word"),
    [
        ("same", "API reference", "as documented"),
        ("same", "API reference; suite: gcsfs", "the same"),
        ("same", "captured responses", "the same"),
        ("like", "API reference", "in its own way"),
    ],
)
def test_a_word_is_no_stronger_than_its_sources(likeness: Likeness, source: str, word: str) -> None:
    assert f"**{word}**: h" in page(
        [Section(title="t", rows=(replace(ROW, likeness=likeness, source=source),))]
    )


def test_an_unknown_source_is_rejected() -> None:
    with pytest.raises(KeyError, match="hearsay"):
        page([Section(title="t", rows=(replace(ROW, source="hearsay"),))])


@EACH
def test_no_cell_breaks_the_table(section: Section) -> None:
    cells = [cell for row in section.rows for cell in (row.feature, row.google, row.here, row.source)]
    assert [cell for cell in cells if not cell or "|" in cell or "\n" in cell] == []


@pytest.mark.parametrize(
    "name",
    [f"{HERE}::test_that_does_not_exist", "tests/parity/test_nothing.py::test_x", f"{HERE}::replace", HERE],
)
def test_a_missing_test_is_reported(name: str) -> None:
    section = Section(title="t", rows=(replace(ROW, tests=(name,)),))
    assert list(missing_tests(section)) == [name]


def test_an_existing_test_is_not_reported() -> None:
    assert list(missing_tests(Section(title="t", rows=(ROW,)))) == []


def test_a_field_without_a_row_is_reported() -> None:
    section = Section(title="t", rows=(ROW,), message=api.GcsDestination)
    assert list(fields_without_row(section)) == ["output_uri_prefix"]


def test_a_field_with_a_row_is_not_reported() -> None:
    row = replace(ROW, fields=("output_uri_prefix",))
    assert list(fields_without_row(Section(title="t", rows=(row,), message=api.GcsDestination))) == []
