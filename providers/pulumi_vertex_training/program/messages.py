"""Lines on the row of a resource, without the secrets of the program."""

from __future__ import annotations

import pulumi

from pulumi_vertex_training.program.program_secrets import masked


def info(text: str, resource: pulumi.Resource | None, *, ephemeral: bool = False) -> None:
    """Show a line. An ephemeral one is replaced by the next and is not repeated at the end."""
    pulumi.log.info(masked(text), resource, ephemeral=ephemeral or None)


def warn(text: str, resource: pulumi.Resource | None) -> None:
    """Show a warning."""
    pulumi.log.warn(masked(text), resource)


def error(text: str, resource: pulumi.Resource | None) -> None:
    """Show an error. It fails the deployment only if the program also raises one."""
    pulumi.log.error(masked(text), resource)
