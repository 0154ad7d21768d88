"""Choosing a `pulumi` on PATH."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.pulumi_cli import building, download, installed
from scripts.pulumi_cli.installed import COMPANIONS, MINIMUM, parse_version


def program(folder: Path, name: str, prints: str = "") -> Path:
    """Make an executable that prints a line and counts its runs in a file."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\necho x >>'{folder}/asked'\necho '{prints}'\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def on_path(tmp_path: Path) -> Path:
    """Make a folder on PATH with a suitable CLI."""
    folder = tmp_path / "bin"
    program(folder, "pulumi", "v3.230.1")
    for name in COMPANIONS:
        program(folder, name)
    return folder


def environ(*folders: Path) -> dict[str, str]:
    return {"PATH": ":".join([*map(str, folders), "/usr/bin", "/bin"])}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.259.0\n", (3, 259, 0)),
        ("3.216.10", (3, 216, 10)),
        ("v3.260.0-alpha.1724+dirty", (3, 260, 0)),
        ("", None),
        ("dev", None),
        ("v3.259", None),
    ],
)
def test_versions_are_parsed(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == version


def test_a_recent_cli_with_its_language_host_is_used(layout: Layout, on_path: Path) -> None:
    cli, reason = installed.search(layout, environ(on_path))
    assert cli == installed.PulumiCli(folder=on_path, version="3.230.1", ours=False)
    assert reason == ""


def test_the_version_is_read_once(layout: Layout, on_path: Path) -> None:
    for _ in range(3):
        assert installed.find(layout, environ(on_path))
    assert (on_path / "asked").read_text() == "x\n"
    program(on_path, "pulumi", "v3.231.0 and later")
    cli = installed.find(layout, environ(on_path))
    assert cli
    assert cli.version == "3.231.0 and later"


def test_links_into_another_folder_are_followed(layout: Layout, on_path: Path, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    (links / "pulumi").symlink_to(on_path / "pulumi")
    cli = installed.find(layout, environ(links))
    assert cli
    assert cli.program == links / "pulumi"


@pytest.mark.parametrize(
    ("prints", "reason"),
    [
        ("v3.215.9", r"is version 3\.215\.9, older than 3\.216\.0"),
        ("v2.99.0", r"is version 2\.99\.0, older than 3\.216\.0"),
        ("", "does not print its version"),
    ],
)
def test_an_unsuitable_cli_is_not_used(layout: Layout, on_path: Path, prints: str, reason: str) -> None:
    program(on_path, "pulumi", prints)
    cli, problem = installed.search(layout, environ(on_path))
    assert cli is None
    assert re.search(reason, problem), problem


@pytest.mark.parametrize("missing", COMPANIONS)
def test_a_cli_without_its_language_host_is_not_used(layout: Layout, on_path: Path, missing: str) -> None:
    (on_path / missing).unlink()
    cli, problem = installed.search(layout, environ(on_path))
    assert cli is None
    assert f"lacks {missing}" in problem


def test_the_cli_in_the_cache_folder_is_ours_even_on_path(layout: Layout) -> None:
    folder = installed.folder_of(layout.cache, download.VERSION)
    folder.mkdir(parents=True)
    program(folder, "pulumi", "v1.0.0")
    expected = installed.PulumiCli(folder=folder, version=download.VERSION, ours=True)
    assert installed.search(layout, environ()) == (expected, "")
    assert installed.search(layout, environ(folder)) == (expected, "")


def test_the_go_modules_match_the_script(root: Path) -> None:
    cli = (root / "tools" / "pulumi-cli" / "go.mod").read_text()
    host = (root / "tools" / "pulumi-language-python" / "go.mod").read_text()
    for module in ("pkg", "sdk"):
        assert f"github.com/pulumi/pulumi/{module}/v3 v{download.VERSION} " in cli
    assert f"github.com/pulumi/pulumi/sdk/v3 v{building.LANGUAGE_HOST_VERSION} " in host
    yaml = (root / "tools" / "pulumi-language-yaml" / "go.mod").read_text()
    assert f"github.com/pulumi/pulumi-yaml v{building.YAML_HOST_VERSION} " in yaml
    assert f"github.com/pulumi/pulumi/pkg/v3 v{download.VERSION} " in yaml
    generator = (root / "tools" / "pulumi-sdk" / "go.mod").read_text()
    assert f"github.com/pulumi/pulumi/pkg/v3 v{download.VERSION}\n" in generator
    node = json.loads((root / "tools" / "pulumi-node" / "package.json").read_text())
    assert node["dependencies"]["@pulumi/pulumi"] == download.VERSION
    assert f"\ngo {building.GO_VERSION}\n" in cli
    assert (parse_version(download.VERSION) or ()) >= MINIMUM
    for module in ("pulumi-cli", "pulumi-language-python", "pulumi-language-yaml", "pulumi-sdk"):
        sums = (root / "tools" / module / "go.sum").read_text()
        assert re.fullmatch(r"(\S+ v\S+ h1:\S+=\n)+", sums)
