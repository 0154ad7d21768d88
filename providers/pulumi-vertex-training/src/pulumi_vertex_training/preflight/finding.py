"""The result of one check of a preflight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["error", "warning", "unknown", "ok"]
LEVELS: tuple[Level, ...] = get_args(Level)

CheckName = Literal[
    "credentials",
    "project",
    "services",
    "permissions",
    "replicas",
    "images",
    "buckets",
    "quota",
    "machines",
    "reservations",
    "network",
]
CHECKS: tuple[CheckName, ...] = get_args(CheckName)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of a check of one thing.

    `about` is the thing, such as "bucket my-data". An error is certain to stop a job; a warning may; an
    unknown result could not be looked up, and `message` says why. `remedy` is a command or a page. `resource`
    and `path` are the job's, "" for what all jobs share.
    """

    check: CheckName
    level: Level
    about: str
    message: str
    remedy: str = ""
    resource: str = ""
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A thing that a check looks at: the fields of its findings that are the same for every result."""

    check: CheckName
    about: str
    resource: str = ""
    path: str = ""

    def finding(self, level: Level, message: str, *, remedy: str = "") -> Finding:
        """Return a result of the check."""
        return Finding(**vars(self), level=level, message=message, remedy=remedy)
