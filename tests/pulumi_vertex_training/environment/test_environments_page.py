"""The pages on environments list every role, output and setting."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pulumi_vertex_training.environment.options import SETTINGS
from pulumi_vertex_training.environment.roles import ENCRYPTION, FEDERATION, IMPERSONATION, ROLES
from pulumi_vertex_training.environment.values import OPTIONAL, REQUIRED

TEAMS = Path(__file__).parents[3] / "docs" / "guides" / "teams"
REFERENCE = TEAMS.parents[1] / "reference"
ROLES_PAGE = (TEAMS / "environment-roles.md").read_text()


def test_the_table_has_every_role_and_no_other() -> None:
    who: dict[str, list[str]] = {}
    for role in ROLES:
        needs = f"; only with `{role.needs}`" if role.needs else ""
        who.setdefault(f"`{role.role}` | {role.scope} | {role.why}{needs} |", []).append(role.who)
    wanted = [f"| {', '.join(names)} | {row}" for row, names in who.items()]
    people = ("deployer", "planner", "scheduler", "replicas")
    table = ROLES_PAGE.partition("## Roles of the accounts")[2]
    found = [line for line in table.splitlines() if line.startswith(tuple(f"| {name}" for name in people))]
    assert found == wanted
    for role in (ENCRYPTION, FEDERATION, IMPERSONATION):
        assert f"| `{role}` |" in ROLES_PAGE


def test_the_reference_has_every_output() -> None:
    outputs = (REFERENCE / "resources" / "TrainingEnvironment.md").read_text().partition("## Outputs\n")[2]
    for name in (*REQUIRED, *OPTIONAL):
        assert f"* `{name}`: " in outputs


def test_the_reference_has_every_setting_of_every_part() -> None:
    page = (REFERENCE / "functions.md").read_text()
    for settings in SETTINGS.values():
        entries = page.partition(f"\n### {settings.__name__}\n")[2].partition("\n#")[0]
        for field in dataclasses.fields(settings):
            assert f"* `{field.name}`: " in entries
