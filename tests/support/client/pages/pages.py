"""The code blocks of a page, in order: files to write, commands to run, and output that they print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.client import engine
from support.waiting import TIMEOUT

DOCS = Path(__file__).resolve().parents[4] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\S+\.\w+)\n")


@dataclass(frozen=True)
class Block:
    """A block of a page. `language` is what follows its three backticks."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """Return the file that the first line names in a comment."""
        found = _FILE.match(self.text)
        return found[1] if found else None

    @property
    def lines(self) -> list[str]:
        """Return the lines without those that are empty or only `...`."""
        return [line for line in self.text.splitlines() if line.strip() not in ("", "...")]


def blocks(page: Path) -> list[Block]:
    """Return the blocks that have a language."""
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def plain(text: str) -> str:
    """Return the text with one space between words, and 0 for each number or id, to compare outputs."""
    text = re.sub(r"[0-9a-f]{16}-\d+", "0", text)
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "0", text)).strip()


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of a page with its result, and the lines that the page shows below it."""

    command: str
    result: engine.Result
    shown: tuple[str, ...] = ()

    def check(self) -> None:
        """Assert that each line that the page shows was printed."""
        printed = plain(self.result.output)
        for line in self.shown:
            assert plain(line) in printed, f"{self.command} does not print {line}:\n{self.result.output}"


def follow(
    page: Path,
    folder: Path,
    variables: Mapping[str, str],
    *,
    runs: Callable[[str], bool] = lambda command: True,
) -> list[Step]:
    """Write the files of a page, and run its commands in `folder`, in the order of the page.

    A block whose first line is a comment with a path is a file. The lines of an `sh` block for which `runs`
    is true are commands. A `text` block is what the last command printed.
    """
    steps: list[Step] = []
    for block in blocks(page):
        if block.file:
            file = folder / block.file
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            commands = [line for line in block.lines if runs(line)]
            steps += [Step(command=one, result=execute(one, folder, variables)) for one in commands]
        elif block.language == "text":
            last = steps.pop()
            steps.append(Step(command=last.command, result=last.result, shown=(*last.shown, *block.lines)))
    return steps


def execute(command: str, folder: Path, variables: Mapping[str, str]) -> engine.Result:
    """Run a command of a page in bash. Return both outputs together."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * TIMEOUT,
    )
    return engine.Result(done.returncode, done.stdout)
