"""The parts of Pulumi's URNs."""

from __future__ import annotations

import pytest

from pulumi_vertex_training import registry, urns

JOB = registry.type_token("CustomJob")


@pytest.mark.parametrize(
    ("types", "token", "name"),
    [
        (JOB, JOB, "train"),
        (JOB, JOB, "vision::train"),
        (JOB, JOB, f"train::{JOB}::x$y:z:a::b"),
        (JOB, JOB, "two\nlines"),
        (f"acme:training:Team${JOB}", JOB, "vision::train"),
        (f"acme::Team${JOB}", JOB, "train"),
        (f"acme::Team$acme::Squad${JOB}", JOB, "a::b"),
        ("acme::Team", "acme::Team", "a::b"),
        ("Team", "Team", "train"),
    ],
)
def test_colons_in_names_and_types_do_not_change_the_kind_of_a_resource(
    types: str, token: str, name: str
) -> None:
    found = urns.parse(f"urn:pulumi:dev::digits::{types}::{name}")
    assert found == urns.Urn(stack="dev", project="digits", types=types, name=name)
    assert found.type == token


@pytest.mark.parametrize(
    "text", ["", "urn:pulumi:dev", "urn:pulumi:dev::digits", "urn:pulumi:dev::digits::Team"]
)
def test_missing_parts_are_empty(text: str) -> None:
    found = urns.parse(text)
    assert (found.stack, found.project, found.types, found.name) == (
        "dev" if text else "",
        "digits" if "digits" in text else "",
        "Team" if "Team" in text else "",
        "",
    )
