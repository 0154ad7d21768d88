"""A project whose stack the engine in the test's process deploys, with methods of `support.client.engine`.

For steps of a test that differ in a provider's calls. Its output has the printed lines, the errors and the
counts of a command, and neither properties nor previews.
"""

from __future__ import annotations

import contextlib
import io
import os
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
from pulumi.dynamic import ResourceProvider

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.client.engine import Result
from support.client.in_process.small_engine import STACK_KEY, SmallEngine, urn_of
from vertex_emulator.client import launcher

_SIGNS = {"create": "created", "update": "updated", "delete": "deleted"}


@dataclass
class _Recorded(SmallEngine):
    """An engine that records the names and methods of calls, and the failures by name."""

    done: list[tuple[str, str]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def _call(self, name: str, provider: ResourceProvider, method: str, *args: Any) -> Any:
        try:
            found = super()._call(name, provider, method, *args)
        except Exception as error:
            self.failures[name] = str(error)
            raise
        if method == "check" and found.failures:
            self.failures[name] = "\n".join(each.reason for each in found.failures)
        self.done.append((name, method))
        return found


@dataclass
class Project:
    """A stack without resources at first; `folder` has the files that its program names."""

    folder: Path
    data_dir: Path

    def __post_init__(self) -> None:
        self.engine = _Recorded({"vertex-training:dataDir": str(self.data_dir)})
        (self.folder / "infra").mkdir(parents=True, exist_ok=True)
        self._program = ""

    def write(self, program: str) -> None:
        self._program = textwrap.dedent(program)

    def up(self, *arguments: str) -> Result:
        """Deploy, with `--refresh`, `--replace URN`, `--continue-on-error` and `--expect-no-changes`."""
        words = list(arguments)
        names = [words[at + 1].rpartition("::")[2] for at, word in enumerate(words) if word == "--replace"]

        def deploy() -> None:
            if "--refresh" in words:
                self.engine.refresh()
                self.engine.done.clear()
            self.engine.up(self._program, replace=names, goes_on="--continue-on-error" in words)

        return self._ran(deploy, expects_nothing="--expect-no-changes" in words)

    def refresh(self) -> Result:
        return self._ran(self.engine.refresh)

    def destroy(self, *, goes_on: bool = False) -> Result:
        return self._ran(lambda: self.engine.destroy(goes_on=goes_on))

    def state(self) -> list[dict[str, Any]]:
        """Return the resources of the state, without the stack's key."""
        return [
            {"id": one.id, "urn": urn_of(one.name), "inputs": one.inputs, "outputs": one.outs}
            for one in self.engine.entries
            if one.name != STACK_KEY
        ]

    def forget(self, *urns: str) -> None:
        """Remove resources from the state, as `pulumi state delete` does."""
        kept = [one for one in self.engine.entries if urn_of(one.name) not in urns]
        assert len(kept) < len(self.engine.entries)
        self.engine.entries[:] = kept

    def endpoint(self) -> Endpoint:
        running = launcher.ensure(self.data_dir)
        target = {"kind": "emulator", "project": "local", "location": "us-central1"}
        return Endpoint(**target, url=running.url, token=running.token, storage_url=running.storage_url)

    def _ran(self, operation: Callable[[], object], *, expects_nothing: bool = False) -> Result:
        """Run an operation in the program's folder. Return what it printed, and the counts at its end."""
        before = {one.name for one in self.engine.entries}
        self.engine.done.clear()
        self.engine.failures.clear()
        printed = io.StringIO()
        with (
            _in_folder(self.folder / "infra"),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            try:
                operation()
            except pulumi.RunError as error:
                self.engine.failures[""] = str(error)
            except Exception:
                if not self.engine.failures:
                    raise
        counts = self._counts(before)
        failed = self.engine.failures.items()
        errors = [f"\n  pulumi-python:dynamic ({one}):\n    error: {it}" for one, it in failed]
        total = "".join(f"    {count} {what}\n" for what, count in counts.items() if count)
        output = f"Diagnostics:\n{printed.getvalue()}{''.join(errors)}\nResources:\n{total}"
        wrong = bool(errors) or (expects_nothing and set(+counts) > {"unchanged"})
        return Result(int(wrong), output)

    def _counts(self, before: set[str]) -> Counter[str]:
        """Return how many resources were created, updated, replaced, deleted and left alone."""
        methods: dict[str, set[str]] = {}
        for name, method in self.engine.done:
            methods.setdefault(name, set()).add(method)
        counts: Counter[str] = Counter()
        gone = before - {one.name for one in self.engine.entries}
        counts["deleted"] = len([name for name in gone if "delete" not in methods.get(name, ())])
        for name, called in methods.items():
            signs = [sign for method, sign in _SIGNS.items() if method in called]
            if "created" in signs and name in before:
                signs = ["replaced"]
            counts[signs[0] if signs else "unchanged"] += 1
        return counts


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
