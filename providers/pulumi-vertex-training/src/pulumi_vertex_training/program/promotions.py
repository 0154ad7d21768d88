"""The entry of a resource in the stack's promotion, which its provider uses instead of the source."""

from __future__ import annotations

from typing import Any, cast

import pulumi
from pulumi.runtime import config

from pulumi_vertex_training.core.promotion import entries
from pulumi_vertex_training.core.promotion.entries import Entry
from pulumi_vertex_training.core.settings import SettingsError
from pulumi_vertex_training.program import messages


def promoted_input(kind: type[Entry], noun: str, resource_name: str) -> dict[str, Any]:
    """Return the input with the entry of a resource, {} if the stack makes the content itself.

    A stack that runs promoted content and makes other content warns. Raises `pulumi.RunError` for a
    promotion that cannot be read.
    """
    try:
        return entries.input_of(
            config.get_config(entries.KEY),
            kind,
            noun,
            resource_name,
            stack=pulumi.get_stack(),
            warn=lambda warning: messages.warn(warning, None),
        )
    except SettingsError as error:
        raise pulumi.RunError(messages.in_shell(str(error))) from None


def known_in_preview(resource: pulumi.CustomResource, expected: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the id of a resource; in a preview that does not know it, the id that the resource will have.

    What uses it still depends on the resource.
    """
    if not pulumi.runtime.is_dry_run():
        return resource.id

    async def either() -> pulumi.Output[str]:
        return resource.id if await resource.id.is_known() else expected

    async def value() -> str:
        return cast("str", await (await either()).future(with_unknowns=True))

    async def is_known() -> bool:
        return await (await either()).is_known()

    async def is_secret() -> bool:
        return await (await either()).is_secret()

    async def resources() -> set[pulumi.Resource]:
        return {*await expected.resources(), resource}

    return pulumi.Output(resources(), value(), is_known(), is_secret())
