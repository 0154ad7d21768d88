"""Lines on the row of a resource, without the secrets of the program."""

from __future__ import annotations

import pulumi

from pulumi_vertex_training.program.program_secrets import masked
from vertex_training.findings.visible_text import visible_lines


def info(text: str, resource: pulumi.Resource | None, *, ephemeral: bool = False) -> None:
    """Show a line. An ephemeral one is replaced by the next and is not repeated at the end."""
    pulumi.log.info(visible_lines(masked(text)), resource, ephemeral=ephemeral or None)


def warn(text: str, resource: pulumi.Resource | None) -> None:
    """Show a warning."""
    pulumi.log.warn(visible_lines(masked(text)), resource)


def error(text: str, resource: pulumi.Resource | None) -> None:
    """Show an error. It fails the deployment only if the program also raises one."""
    pulumi.log.error(visible_lines(masked(text)), resource)
