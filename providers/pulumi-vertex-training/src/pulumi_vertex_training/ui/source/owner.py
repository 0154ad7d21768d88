"""The stack and the resource that declare something, as its labels name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The declaration of a job, bucket or other resource. All fields are "" without one."""

    project: str = ""
    stack: str = ""
    resource: str = ""

    @property
    def full_stack(self) -> str:
        """The stack with its project, such as "train/dev"."""
        return f"{self.project}/{self.stack}" if self.project and self.stack else self.stack

    @property
    def text(self) -> str:
        """Stack and resource in one text, such as "train/dev: digits"."""
        return ": ".join(filter(None, (self.full_stack, self.resource)))


def owner_of(labels: Mapping[str, str]) -> Owner:
    """Return the owner by the labels that this package adds."""
    return Owner(
        project=labels.get("pulumi-project", ""),
        stack=labels.get("pulumi-stack", ""),
        resource=labels.get("pulumi-resource", ""),
    )
