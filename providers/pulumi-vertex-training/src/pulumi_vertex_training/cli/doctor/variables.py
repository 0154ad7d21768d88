"""The environment variables of this project by name, to find a mistyped one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from pulumi_vertex_training import configuration_keys

PREFIX = "VERTEX_TRAINING_"
KNOWN = frozenset(
    {
        "VERTEX_TRAINING_BACKEND_URL",
        "VERTEX_TRAINING_COMMAND",
        "VERTEX_TRAINING_COST_LIMITS",
        "VERTEX_TRAINING_DATA_DIR",
        "VERTEX_TRAINING_DEBUG",
        "VERTEX_TRAINING_EMULATOR_PYTHON",
        "VERTEX_TRAINING_PREFLIGHT",
        "VERTEX_TRAINING_PREVIEW_REPORTS",
        "VERTEX_TRAINING_PULUMI_COMMAND",
        "VERTEX_TRAINING_PULUMI_RELEASES",
        "VERTEX_TRAINING_TIMEOUT_SCALE",
        "VERTEX_TRAINING_UPSTREAM_PROXY",
    }
)
"""All variables that begin with the prefix, as on the page of the environment variables."""
_OF_NOTIFICATIONS = "VERTEX_TRAINING_RUN_"


def unknown(environment: Iterable[str]) -> Iterator[str]:
    """Yield the names that begin with the prefix and mean nothing, sorted."""
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in KNOWN and not name.startswith(_OF_NOTIFICATIONS):
            yield name


def similar(name: str) -> str:
    """Return the variable or the key of a stack's configuration that is most like `name`, "" if none is.

    The common prefix is left out, as it would make all names alike.
    """
    words = {_words(key.name.rpartition(":")[2]): key.name for key in configuration_keys.KEYS}
    words |= {known.removeprefix(PREFIX): known for known in KNOWN}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), words, n=1, cutoff=configuration_keys.ALIKE)
    return words[near[0]] if near else ""


def _words(key: str) -> str:
    return re.sub("([A-Z])", r"_\1", key).upper()
