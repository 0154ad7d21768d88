"""Cloud Logging's query language, case by case."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_emulator.server.rpc import filters
from vertex_emulator.services.logging import query as logging_query

ENTRY: dict[str, Any] = {
    "insertId": "7",
    "logName": "projects/p/logs/train",
    "resource": {"type": "ml_job", "labels": {"job_id": "12", "task_name": "workerpool0-0"}},
    "timestamp": "2026-03-01T12:00:00.000000Z",
    "severity": "ERROR",
    "labels": {"a.b/c": "x", "run": "1"},
    "jsonPayload": {"message": "Out of Memory", "loss": 0.25, "ok": True, "tags": ["red", "blue"]},
}


def holds(text: str) -> bool:
    return filters.matches(logging_query.parse(text), logging_query.predicate_of(ENTRY))


@pytest.mark.parity(
    "The interface: Cloud Logging",
    same="for the logs of jobs, and for entries that programs write themselves, over gRPC and REST",
)
@every_row(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("-- all of it", id="a comment"),
        pytest.param('severity=ERROR -- and a comment\nlabels.run="1"', id="a comment at the end of a line"),
        pytest.param('"Out -- of" OR severity=ERROR', id="no comment within quotes"),
        pytest.param('resource.type="ml_job" resource.labels.job_id=12', id="AND may be left out"),
        pytest.param("severity>=WARNING", id="severities in their order"),
        pytest.param("severity=(ERROR OR CRITICAL)", id="several values"),
        pytest.param("severity=(NOT DEBUG)", id="NOT within parentheses"),
        pytest.param('jsonPayload.message:(out AND "memory")', id="several parts"),
        pytest.param('jsonPayload.message=~"^Out.*[Mm]emory$"', id="a pattern"),
        pytest.param('jsonPayload.message!~"disk"', id="a pattern that must not be there"),
        pytest.param("memory", id="a word alone"),
        pytest.param('"of memory"', id="words alone"),
        pytest.param("NOT disk", id="a word that must not be there"),
        pytest.param('-"disk"', id="the same by a dash"),
        pytest.param("jsonPayload.loss<0.5", id="a number"),
        pytest.param("jsonPayload.loss=0.250", id="a number written otherwise"),
        pytest.param("jsonPayload.ok=true", id="a truth value"),
        pytest.param("jsonPayload.tags:blue", id="one of a list"),
        pytest.param("jsonPayload.loss:*", id="a field that is there"),
        pytest.param("jsonPayload.loss", id="a field alone"),
        pytest.param('labels."a.b/c"=x', id="a name with dots in quotes"),
        pytest.param('timestamp>="2026-03-01T13:00:00+01:00"', id="a time with an offset"),
        pytest.param('timestamp>="2026-03-01" timestamp<"2026-03-02"', id="dates: midnight in UTC"),
        pytest.param("timestamp<2026-03-02T00:00:00Z", id="a time without quotes"),
        pytest.param("NOT textPayload:x", id="NOT of a field that is not there"),
        pytest.param("severity=ERROR OR nothing", id="OR"),
        pytest.param('jsonPayload.message="out of MEMORY"', id="whatever the case"),
        pytest.param('log_id("train")', id="a log by its id"),
        pytest.param('NOT log_id("rain")', id="a log whose id ends so"),
    ],
)
def test_what_it_finds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("severity<ERROR", id="a lower severity"),
        pytest.param("severity=(DEBUG OR INFO)", id="none of several values"),
        pytest.param("jsonPayload.message:(out AND disk)", id="not all of several parts"),
        pytest.param('jsonPayload.message=~"^memory"', id="a pattern"),
        pytest.param("disk", id="a word that no field has"),
        pytest.param("textPayload:x", id="a field that is not there"),
        pytest.param('textPayload!="x"', id="a field that is not there is not unequal either"),
        pytest.param("textPayload", id="a field alone that is not there"),
        pytest.param("jsonPayload.loss>1", id="a number"),
        pytest.param("jsonPayload.loss<many", id="not a number"),
        pytest.param("severity=ERROR AND memory AND disk", id="one of three"),
        pytest.param("insertId.more=7", id="a field within a text"),
        pytest.param('log_id("rain")', id="a log whose id ends otherwise"),
        pytest.param('jsonPayload.message=~"^out"', id="a pattern in another case"),
    ],
)
def test_what_it_does_not_find(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("nothing=1", "cannot be filtered by", id="no field of entries"),
        pytest.param("severity=LOUD", "not a severity", id="no severity"),
        pytest.param("timestamp>yesterday", "not a time", id="no time"),
        pytest.param('insertId=~"["', "not a regular expression", id="no pattern"),
        pytest.param('insertId=~"(?=a)b"', "invalid perl operator", id="a pattern of Python's, not of RE2"),
        pytest.param("severity=(ERROR", "not closed", id="an open parenthesis"),
        pytest.param("severity=", "a value is missing", id="no value"),
        pytest.param("severity=()", "a value is missing", id="no values"),
        pytest.param("(" * 100, "nested", id="too deep"),
        pytest.param('SEARCH("disk")', "the function SEARCH", id="a function"),
        pytest.param('log_id("a", "b")', "one argument", id="too many arguments"),
    ],
)
def test_what_it_refuses(text: str, words: str) -> None:
    with pytest.raises(filters.FilterError, match=words):
        logging_query.parse(text)


WORDS = [
    "severity",
    "=",
    "ERROR ",
    "severity>=INFO",
    " AND ",
    " OR ",
    "NOT ",
    "-disk ",
    "memory ",
    "(a b)",
    "(",
    ")",
    '"',
]


@given(st.lists(st.sampled_from(WORDS)).map("".join) | st.text('severity=<>!~:()-"ANDORT .*1', max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(filters.FilterError):
        expression = logging_query.parse(text)
        test = logging_query.predicate_of(ENTRY)
        found = filters.matches(expression, test)
        assert filters.matches(filters.Not(expression), test) is not found
        # The same in words, where `text` can stand in parentheses: what it leaves open, a comment hides.
        if text.strip() and "--" not in text:
            assert holds(f"NOT ({text})") is not found
