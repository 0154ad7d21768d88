"""The endpoint of a command: from a job's full name, and the hint about an unknown location."""

from __future__ import annotations

import argparse

import pytest

from pulumi_vertex_training.timeouts import ORDINARY
from pulumi_vertex_training.views import target


def choice(job: str, **given: str | None) -> target.Choice:
    options = {
        "endpoint": None,
        "project": None,
        "location": None,
        "data_dir": None,
        "timeouts": ORDINARY,
        **given,
    }
    return target.of_options(argparse.Namespace(job=job, **options))


@pytest.mark.parametrize("collection", ["customJobs", "hyperparameterTuningJobs", "trainingPipelines"])
def test_the_full_name_of_each_kind_says_where_it_is(collection: str) -> None:
    found = choice(f"projects/7/locations/europe-west4/{collection}/12")
    assert (found.project, found.location) == ("7", "europe-west4")


def test_a_project_that_is_given_wins_over_that_of_the_name() -> None:
    assert choice("projects/7/locations/europe-west4/customJobs/12", project="mine").project == "mine"


def test_the_name_of_something_else_says_nothing() -> None:
    assert choice("projects/7/locations/europe-west4/models/12").location is None


def test_no_location_hint_a_region() -> None:
    assert target.location_hint("us-central1") == ""


@pytest.mark.parametrize(
    ("location", "remedy"),
    [
        pytest.param("us-centrl1", "did you mean us-central1, ", id="a misspelt one"),
        pytest.param("moon", "check its spelling.", id="one that is like none"),
    ],
)
def test_location_hint_a_location(location: str, remedy: str) -> None:
    said = f" {location!r} is not a known region; {remedy}"
    assert target.location_hint(location).startswith(said)
