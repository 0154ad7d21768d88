"""The project of a folder, by its Pulumi.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training import pulumi_command
from vertex_training.command_line.errors import InputError


def test_the_project_is_that_of_the_nearest_file(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").write_text("name: outer\nruntime: python\n")
    (tmp_path / "a" / "Pulumi.yaml").write_text("name: inner\nruntime: python\n")
    assert pulumi_command.project_here(tmp_path / "a" / "b") == "inner"
    assert pulumi_command.project_here(tmp_path) == "outer"


@pytest.mark.parametrize("text", ["", "runtime: python", "name: [", "name: 3"])
def test_a_project_without_a_name_has_to_be_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    with pytest.raises(InputError, match="--pulumi-project"):
        pulumi_command.project_here(tmp_path)
