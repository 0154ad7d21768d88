"""Names and types of resources in the steps of a preview, read from their URNs."""

from __future__ import annotations

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.plan.plan import name_of, read, type_of

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
    step = {"urn": f"urn:pulumi:dev::digits::{types}::{name}"}
    assert (type_of(step), name_of(step)) == (token, name)


def test_a_message_names_its_resource_in_full() -> None:
    message = {"message": "is wrong", "severity": "error", "urn": f"urn:pulumi:dev::digits::{JOB}::a::b"}
    plan = read({"diagnostics": [message, {"message": "of no resource"}]})
    assert [one.resource for one in plan.findings] == ["a::b", ""]
