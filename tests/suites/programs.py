"""Build the tests of Go packages and of Rust crates, and run them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.layout import layout
from suites import installing, results
from suites.left_out_plugin import PREFIX
from suites.results import Case
from suites.results.outputs import go_cases, rust_cases
from suites.suite import Edit, GoTests, Reason, RustTests


def run_go(
    suite: GoTests, program: Path, folder: Path, environment: Mapping[str, str], work: Path
) -> results.Results:
    """Run the test program of a Go package in the folder of its source, and return its results."""
    listed = subprocess.run(
        [program, "-test.list", "."], check=True, capture_output=True, text=True, cwd=folder, env=environment
    ).stdout.split()
    left_out = list(_left_out(listed, suite.left_out))
    skip = "|".join(f"^{re.escape(case.name)}$" for case in left_out)
    command: list[str | Path] = [program, "-test.v=test2json", *suite.arguments]
    printed = _output(command + ([f"-test.skip={skip}"] if skip else []), folder, environment, work)
    events = subprocess.run(
        [installing.tool("go"), "tool", "test2json"],
        input=printed,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return results.of_cases(suite, [*go_cases(events.splitlines()), *left_out])


def run_rust(suite: RustTests, program: Path, environment: Mapping[str, str], work: Path) -> results.Results:
    """Run the test program of a crate, and return its results."""
    found = _output([program, suite.path, "--list", "--format=terse"], work, environment, work)
    listed = [line.removesuffix(": test") for line in found.splitlines() if line.endswith(": test")]
    left_out = list(_left_out(listed, suite.left_out))
    skip = [argument for case in left_out for argument in ("--skip", case.name)]
    return results.of_cases(
        suite,
        [
            *rust_cases(_output([program, suite.path, "--include-ignored", *skip], work, environment, work)),
            *left_out,
        ],
    )


def _output(command: list[str | Path], folder: Path, environment: Mapping[str, str], work: Path) -> str:
    file = work / "output"
    with file.open("w", encoding="utf-8") as output:
        subprocess.run(
            command, check=False, cwd=folder, env=environment, stdout=output, stderr=sys.stderr, timeout=1800
        )
    return file.read_text(encoding="utf-8", errors="replace")


def _left_out(names: list[str], reasons: tuple[Reason, ...]) -> Iterator[Case]:
    for name in names:
        why = next((each.why for each in reasons if re.search(each.tests, name)), None)
        if why is not None:
            yield Case(name=name, outcome="skipped", why=PREFIX + why)


def go_program(suite: GoTests) -> tuple[Path, Path]:
    """Return the test program of a package, and the folder that it runs in. It is built once."""
    go = installing.tool("go")
    digest = hashlib.sha256(repr((suite.module, suite.package, suite.edits)).encode()).hexdigest()[:8]
    folder = layout().cache / f"suites-{suite.name}-{suite.version}-{digest}"
    program = folder / "tests"
    with installing.locked(layout().cache):
        folder.mkdir(exist_ok=True)
        source = installing.module(go, suite.module, suite.version, folder)
        if suite.edits:
            source = edited(source, folder / "source", suite.edits)
        if not program.exists():
            command = [go, "test", "-c", "-o", str(folder / "new"), suite.package]
            subprocess.run(command, check=True, cwd=source, stdout=sys.stderr)
            (folder / "new").rename(program)
    return program, source / suite.package


def edited(source: Path, copy: Path, edits: Sequence[Edit]) -> Path:
    """Return a copy of a module with these edits. Raises ValueError if a file lacks the text to edit."""
    if not copy.exists():
        new = copy.with_name("new-source")
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(source, new, copy_function=shutil.copyfile)
        for folder, *_ in os.walk(new):
            Path(folder).chmod(0o755)
        for edit in edits:
            file = new / edit.path
            text = file.read_text(encoding="utf-8")
            if edit.old and text.count(edit.old) != 1:
                raise ValueError(
                    f"{edit.path} of {source.name} has not exactly one {edit.old!r}. Change the edit."
                )
            file.write_text(text.replace(edit.old, edit.new) if edit.old else edit.new, encoding="utf-8")
        new.rename(copy)
    return copy


def rust_program(suite: RustTests) -> Path:
    """Return the test program of a crate. It is built once."""
    digest = hashlib.sha256(repr(suite.features).encode()).hexdigest()[:8]
    folder = layout().cache / f"suites-{suite.name}-{suite.version}-{digest}"
    program = folder / "tests"
    with installing.locked(layout().cache):
        if program.exists():
            return program
        cargo = installing.tool("cargo")
        with tempfile.TemporaryDirectory(dir=layout().cache) as new:
            shutil.copytree(_crate(suite, cargo, Path(new)), Path(new) / "source")
            built = subprocess.run(
                [
                    *(cargo, "test", "--no-run", "--locked", "--lib", "--message-format=json"),
                    *("--features", ",".join(suite.features), "--target-dir", Path(new) / "target"),
                ],
                check=True,
                cwd=Path(new) / "source",
                stdout=subprocess.PIPE,
                text=True,
            ).stdout
            found = [json.loads(line).get("executable") for line in built.splitlines()]
            folder.mkdir(exist_ok=True)
            shutil.move(next(filter(None, found)), program)
    return program


def _crate(suite: RustTests, cargo: str, folder: Path) -> Path:
    """Return the folder of a crate's source, which cargo fetches for a package that depends on it."""
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "suites"\nversion = "0.0.0"\nedition = "2021"\n'
        f'[dependencies]\n{suite.crate} = "={suite.version}"\n'
    )
    command = [cargo, "metadata", "--format-version=1"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    found = (each for each in json.loads(printed)["packages"] if each["name"] == suite.crate)
    return Path(next(found)["manifest_path"]).parent
