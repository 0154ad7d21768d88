"""Names of resources in the messages of a preview."""

from __future__ import annotations

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.plan import read

JOB = registry.type_token("CustomJob")


def test_a_message_names_its_resource_in_full() -> None:
    message = {"message": "is wrong", "severity": "error", "urn": f"urn:pulumi:dev::digits::{JOB}::a::b"}
    plan = read({"diagnostics": [message, {"message": "of no resource"}]})
    assert [one.resource for one in plan.findings] == ["a::b", ""]
    assert read({"diagnostics": [{**message, "severity": "debug"}]}).findings == ()
