"""Each message that the page on errors quotes is one that the code, the template or Pulumi can print."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.checks.messages import messages
from support.tables import not_empty

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "guides" / "troubleshooting.md"
OF_PULUMI = "Pulumi's state"
"""The heading above messages of the Pulumi CLI."""

_ROW = re.compile(r"^\| `(.+?)` \|", re.MULTILINE)
_VALUE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


def quoted() -> Iterator[tuple[str, str]]:
    """Yield each quoted message with the heading that it is below."""
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading = section.partition("\n")[0]
        for message in _ROW.findall(section):
            yield heading, message


def is_made_of(message: str, text: str) -> bool:
    """Return whether `text`, a message of the code, has the parts of `message` in their order."""
    position = 0
    for part in message.split("..."):
        found = text.find(part.strip(), position)
        if found < 0:
            return False
        position = found + len(part.strip())
    return True


@pytest.fixture(scope="module")
def known() -> list[str]:
    """Return all messages of the packages and of the template."""
    folders = [ROOT / "providers", ROOT / "templates"]
    return [_VALUE.sub("{}", each.text) for each in messages(folders)]


def test_the_page_has_messages_of_every_area() -> None:
    found = list(quoted())
    assert len(found) > 40
    assert len({heading for heading, _ in found}) == 8


@pytest.mark.parametrize(
    ("heading", "message"), [pytest.param(*each, id=re.sub(r"\W+", "-", each[1])) for each in quoted()]
)
def test_the_message_is_made(heading: str, message: str, known: list[str]) -> None:
    if heading == OF_PULUMI or message.startswith("It looks like the Pulumi SDK"):
        assert message.encode() in _pulumi()
    else:
        assert any(is_made_of(message, text) for text in known), f"no code makes: {message}"


def test_a_message_that_nothing_makes_is_noticed(known: list[str]) -> None:
    assert not any(is_made_of("The emulator ... went for a walk", text) for text in not_empty(known))


@functools.cache
def _pulumi() -> bytes:
    """Return the content of Pulumi's programs. Skips the test if they are not on PATH."""
    program = shutil.which("pulumi")
    if program is None:
        pytest.skip("needs the Pulumi CLI on PATH")
    files = (Path(program), Path(program).resolve().with_name("pulumi-language-python-exec"))
    return b"".join(file.read_bytes() for file in files if file.exists())
