"""Lines on the row of a resource, and the secrets of a program, which they mask.

Known are the secrets in the inputs of resources and in the stack's configuration. A text of eight or more
characters is masked wherever it occurs. One of four to seven characters is masked only as a whole word, and a
shorter one never: it would mask half of a log.
"""

from __future__ import annotations

import asyncio
import json
import re
import weakref
from collections.abc import Iterator, MutableMapping
from urllib.parse import quote, quote_plus

import pulumi
from pulumi.runtime import config

from pulumi_vertex_training.core.secret_masking import SHOWN, texts
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.printed_commands import own_command, runnable
from vertex_training.findings.words import visible_lines

SHORTEST = 4
"""The least length of a text that is masked at all."""

ANYWHERE = 8
"""The least length of a text that is masked inside of words, too."""


class ProgramSecrets:
    """The secret texts of a program."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def note(self, value: object) -> None:
        """Mask a value, or the values in a list or dictionary, from now on."""
        found = {form for text in texts(value) for form in _forms(text)} - self._texts
        if found:
            self._texts |= found
            longest_first = sorted(self._texts, key=lambda text: (-len(text), text))
            self._pattern = re.compile("|".join(map(_expression, longest_first)))

    def masked(self, text: str) -> str:
        """Return a text without the secrets in it."""
        return self._pattern.sub(SHOWN, text) if self._pattern else text


def _forms(text: str) -> Iterator[str]:
    """Yield the texts to mask for a secret: as it is, escaped, in a URL, and line by line."""
    forms = {text, json.dumps(text)[1:-1], repr(text)[1:-1], quote(text, safe=""), quote_plus(text)}
    yield from (form for form in forms if len(form.strip()) >= SHORTEST)
    lines = text.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= ANYWHERE)


def _expression(text: str) -> str:
    escaped = re.escape(text)
    return escaped if len(text) >= ANYWHERE else rf"(?<!\w){escaped}(?!\w)"


_SECRETS: MutableMapping[asyncio.AbstractEventLoop, ProgramSecrets] = weakref.WeakKeyDictionary()
"""The secrets of each program of this process. With the Automation API a process may run several at once."""


def program_secrets() -> ProgramSecrets:
    """Return the secrets of the running program."""
    loop = asyncio.get_running_loop()
    secrets = _SECRETS.get(loop)
    if secrets is None:
        secrets = _SECRETS[loop] = ProgramSecrets()
        for key, value in config.CONFIG.get().items():
            if config.is_config_secret(key):
                secrets.note(value)
                secrets.note(_structured(value))
    return secrets


def _structured(value: str) -> object:
    """Return the object or list of a value that `pulumi config set --path` made, else None."""
    try:
        return json.loads(value) if value.lstrip().startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return None


def note(value: object) -> None:
    """Mask a value in everything that the running program prints from now on."""
    program_secrets().note(value)


def masked(text: str) -> str:
    """Return a text without the secrets of the running program."""
    return program_secrets().masked(text)


def in_shell(text: str) -> str:
    """Return a text whose commands work in the user's shell, for the stack of the program."""
    if engine_address() is None:  # a unit test
        return text
    return runnable(text, stack=pulumi.get_stack(), own=own_command(pulumi.get_root_directory()))


def info(text: str, resource: pulumi.Resource | None, *, ephemeral: bool = False) -> None:
    """Show a line. An ephemeral one is replaced by the next and is not repeated at the end."""
    pulumi.log.info(visible_lines(in_shell(masked(text))), resource, ephemeral=ephemeral or None)


def log_line(text: str, resource: pulumi.Resource | None) -> None:
    """Show a line of a replica's log, which is not changed except for secrets."""
    pulumi.log.info(visible_lines(masked(text)), resource)


def warn(text: str, resource: pulumi.Resource | None) -> None:
    """Show a warning."""
    pulumi.log.warn(visible_lines(in_shell(masked(text))), resource)


def error(text: str, resource: pulumi.Resource | None) -> None:
    """Show an error. It fails the deployment only if the program also raises one."""
    pulumi.log.error(visible_lines(in_shell(masked(text))), resource)
