"""The pages on environments, in docs/guides/teams/, list every role, output and setting."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pulumi_vertex_training.environment.options import SETTINGS
from pulumi_vertex_training.environment.roles import ENCRYPTION, FEDERATION, IMPERSONATION, ROLES
from pulumi_vertex_training.environment.values import OPTIONAL, REQUIRED

TEAMS = Path(__file__).parents[3] / "docs" / "guides" / "teams"
PAGE = (TEAMS / "environments.md").read_text()
ROLES_PAGE = (TEAMS / "environment-roles.md").read_text()


def test_the_table_has_every_role_and_no_other() -> None:
    wanted = [
        f"| {role.who} | `{role.role}` | {role.scope} | {role.why}"
        f"{f'; only with `{role.needs}`' if role.needs else ''} |"
        for role in ROLES
    ]
    people = ("deployer", "planner", "scheduler", "replicas")
    table = ROLES_PAGE.partition("## Roles of the accounts")[2]
    found = [line for line in table.splitlines() if line.startswith(tuple(f"| {who} | " for who in people))]
    assert found == wanted
    for role in (ENCRYPTION, FEDERATION, IMPERSONATION):
        assert f"| `{role}` |" in ROLES_PAGE


def test_the_table_has_every_output() -> None:
    table = PAGE.partition("| output | value |")[2].partition("\n\n")[0]
    for name in (*REQUIRED, *OPTIONAL):
        assert f"`{name}`" in table


def test_the_table_has_every_setting_of_every_part() -> None:
    for part, settings in SETTINGS.items():
        (row,) = [
            line for line in PAGE.splitlines() if line.startswith(f"| `{part}`: `{settings.__name__}` |")
        ]
        for field in dataclasses.fields(settings):
            assert f"`{field.name}`" in row
