"""The words of a gcloud command in a document, whichever command it is."""

from __future__ import annotations

import re
import shlex

from vertex_training.fields.values import describe, kind
from vertex_training.findings.problems import Problem

KEY = "gcloud"
"""The key of a document that holds such a command."""

VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
"""What a shell would put something else in for."""


def words_of(value: object) -> tuple[list[str], tuple[Problem, ...]]:
    """The words of a command, given as one text as in a shell, or as a list."""
    if isinstance(value, str):
        try:
            return shlex.split(value.replace("\\\r\n", " ").replace("\\\n", " ")), ()
        except ValueError as error:
            remedy = "close it" if "quotation" in str(error) else "complete it"
            reason = f"the command cannot be read as a shell does: {str(error).lower()}; {remedy}"
            return [], (Problem(path=KEY, message=reason),)
    if not isinstance(value, (list, tuple)):
        return [], (
            Problem(path=KEY, message=f"expected a command or the list of its words, got {kind(value)}"),
        )
    words, problems = [], []
    for i, word in enumerate(value):
        if isinstance(word, str) or (isinstance(word, int) and not isinstance(word, bool)):
            words.append(str(word) if abs(word if isinstance(word, int) else 0) < 10**20 else "")
        else:
            message = f"expected a word of the command, got {describe(word)}; write it in quotes"
            problems.append(Problem(path=f"{KEY}[{i}]", message=message))
    return words, tuple(problems)
