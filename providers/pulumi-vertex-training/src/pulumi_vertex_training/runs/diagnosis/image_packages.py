"""The remedy for a module that an image of Google has, and the emulator's stand-in for it lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from vertex_training.catalog.image_packages import distribution_in_image

KINDS = ("missing_hypertune", "missing_module")
"""The causes of a missing module."""

NOTICE = "that the image has"
"""Words of the emulator's notice about a replica whose packages are the emulator's
(`vertex_emulator/jobs/custom/checks/image_rules.py`)."""

_IMAGE = re.compile(r"the image (\S+) is not run; this|Instead of its base image (\S+), it uses ")
_MODULE = re.compile(r"the Python module (\S+) is missing")


def missing_distribution(cause: str, notices: Iterable[str]) -> str | None:
    """Return the distribution that a stand-in lacks; None if the image of Google lacks it, too.

    `cause` says that a module is missing, `notices` are the emulator's, with `NOTICE`.
    """
    module = _MODULE.search(cause)
    for notice in notices:
        image = _IMAGE.search(notice)
        if module is not None and image is not None:
            return distribution_in_image(module[1], image[1] or image[2])
    return None


def remedy(distribution: str, python: str) -> str:
    """Return how a stand-in gets a distribution; `python` is the path of the emulator's Python."""
    return (
        "Google's image has it. The emulator takes it from its own Python: run "
        f"`{shlex.quote(python)} -m pip install {distribution}`. If the package or the image "
        "has dependencies of its own, add it to them."
    )
