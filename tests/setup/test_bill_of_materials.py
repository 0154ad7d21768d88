"""The bill of materials of a wheel: components, hashes, dependencies, and no address of an index."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.release import command as release
from scripts.release import sbom
from support.tables import every_row

ADDRESS = "https://user:password@index.test/simple"


def installed(name: str, *needs: str, **metadata: str) -> dict[str, Any]:
    """Return an entry of the report of pip."""
    return {
        "download_info": {
            "url": f"{ADDRESS}/{name}.whl",
            "archive_info": {"hashes": {"sha256": hashlib.sha256(name.encode()).hexdigest()}},
        },
        "metadata": {"name": name, "version": "1.0", "requires_dist": list(needs), **metadata},
    }


@pytest.fixture
def bill(tmp_path: Path) -> dict[str, Any]:
    report = tmp_path / "report.json"
    entries = [
        installed("our_package", "Base>=1", "extra-only; extra == 'ui'", license_expression="Apache-2.0"),
        installed("base", "leaf; python_version > '3'", "gone; python_version < '3'", license="MIT"),
        installed("leaf", license="text of a license " * 20),
        installed("extra-only"),
    ]
    report.write_text(json.dumps({"install": entries}))
    wheel = tmp_path / "our_package-1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    written = sbom.write(report, wheel)
    assert written == tmp_path / "our_package-1.0.cdx.json"
    assert ADDRESS not in written.read_text()
    assert "password" not in written.read_text()
    document: dict[str, Any] = json.loads(written.read_text())
    assert sbom.write(report, wheel).read_text().count(document["serialNumber"]) == 1
    return document


def test_the_bill_names_the_wheel_and_what_is_installed_with_it(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    own = bill["metadata"]["component"]
    assert (own["purl"], own["licenses"][0]["license"]["name"]) == ("pkg:pypi/our-package@1.0", "Apache-2.0")
    components = {one["name"]: one for one in bill["components"]}
    assert sorted(components) == ["base", "extra-only", "leaf"]
    assert components["base"]["hashes"] == [
        {"alg": "SHA-256", "content": hashlib.sha256(b"base").hexdigest()}
    ]
    assert "licenses" not in components["leaf"]


def test_the_bill_is_valid_by_the_official_schema(bill: dict[str, Any]) -> None:
    assert sbom.problems(json.dumps(bill)) == []


@every_row(
    ("change", "problem"),
    [
        pytest.param({"serialNumber": "7"}, "$.serialNumber: '7' does not match", id="a serial number"),
        pytest.param({"extra": 1}, "$: Additional properties are not allowed ('extra'", id="an unknown key"),
        pytest.param({"specVersion": None}, "$.specVersion: None is not of type 'string'", id="no version"),
        pytest.param(
            {"components": [{"type": "libary", "name": "leaf"}]},
            "$.components[0].type: 'libary' is not one of",
            id="a value that is not in the list",
        ),
        pytest.param(
            {"metadata": {"timestamp": "yesterday"}},
            "$.metadata.timestamp: 'yesterday' is not a 'date-time'",
            id="a time",
        ),
    ],
)
def test_a_bill_that_the_schema_refuses(bill: dict[str, Any], change: dict[str, Any], problem: str) -> None:
    (found,) = sbom.problems(json.dumps({**bill, **change}))
    assert found.startswith(problem)


def test_an_invalid_bill_is_not_written(tmp_path: Path) -> None:
    """Give a SHA-256 in pip's report that is not one: it becomes a hash in the bill."""
    report, wheel = tmp_path / "report.json", tmp_path / "leaf-1.0-py3-none-any.whl"
    entry = installed("leaf")
    entry["download_info"]["archive_info"]["hashes"]["sha256"] = "unknown"
    report.write_text(json.dumps({"install": [entry]}))
    wheel.write_bytes(b"wheel")
    command = [sys.executable, "-m", "scripts.release.sbom", report, wheel]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"leaf-1.0{sbom.ENDING} is not a CycloneDX 1.6 bill:\n")
    assert "hashes[0].content: 'unknown'" in refused.stderr
    assert not (tmp_path / f"leaf-1.0{sbom.ENDING}").exists()


def test_dependencies_are_those_of_this_environment(bill: dict[str, Any]) -> None:
    graph = {one["ref"]: one.get("dependsOn", []) for one in bill["dependencies"]}
    assert graph == {
        "our-package==1.0": ["base==1.0"],
        "base==1.0": ["leaf==1.0"],
        "leaf==1.0": [],
        "extra-only==1.0": [],
    }


def test_the_sums_are_checked_by_sha256sum(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    sums = release.write_sums([tmp_path / "b", tmp_path / "a"])
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}" for name in ("a", "b")]
    assert (sums.name, sums.read_text().splitlines()) == ("SHA256SUMS", lines)
