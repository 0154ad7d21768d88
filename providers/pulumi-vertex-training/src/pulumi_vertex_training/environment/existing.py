"""`get_training_environment`: the environment that another stack has made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_vertex_training.environment.values import OPTIONAL, REQUIRED, EnvironmentValues
from pulumi_vertex_training.printed_commands import PULUMI_VARIABLE
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.resource import stack_settings

_NAME = re.compile(r"[^/\s]+/[^/\s]+/[^/\s]+")


@dataclass(frozen=True, kw_only=True)
class ExistingEnvironment(EnvironmentValues):
    """The environment of another stack."""

    endpoint: pulumi.Output[str]
    project: pulumi.Output[str]
    location: pulumi.Output[str]
    bucket: pulumi.Output[str]
    repository: pulumi.Output[str]
    replica_account: pulumi.Output[str | None]
    deployer_account: pulumi.Output[str | None]
    planner_account: pulumi.Output[str | None]
    scheduler_account: pulumi.Output[str | None]
    network: pulumi.Output[str | None]
    kms_key_name: pulumi.Output[str | None]
    persistent_resource_id: pulumi.Output[str | None]
    tensorboard: pulumi.Output[str | None]
    notification_channels: pulumi.Output[Any]
    workload_identity_provider: pulumi.Output[str | None]
    log_bucket: pulumi.Output[str | None]


@checked_call
def get_training_environment(
    stack: str, *, opts: pulumi.ResourceOptions | None = None
) -> ExistingEnvironment:
    """Return the environment of a stack whose program exports a `TrainingEnvironment`.

    Raises `pulumi.RunError` if the stack has no environment, or one on another endpoint than this stack. A
    different project or location is a warning.

    :param stack: Full name, ORGANIZATION/PROJECT/STACK. With states in a folder or bucket of your own, the
        organization is always `organization`.
    :param opts: Pulumi's options of the stack reference.
    """
    if not isinstance(stack, str) or not _NAME.fullmatch(stack):
        raise pulumi.RunError(
            f"the environment {stack!r} is not the full name of a stack; give ORGANIZATION/PROJECT/STACK, "
            f"such as organization/training-environment/{pulumi.get_stack()}"
        )
    _require_stack(stack)
    reference = pulumi.StackReference(stack, opts=opts)
    checked = reference.outputs.apply(lambda outputs: _checked(stack, outputs))

    def value(name: str) -> pulumi.Output[Any]:
        return checked.apply(lambda outputs: outputs.get(name))

    values = {name: value(name) for name in (*REQUIRED, *OPTIONAL)}
    values["notification_channels"] = values["notification_channels"].apply(lambda found: found or [])
    return ExistingEnvironment(**values)


def _require_stack(stack: str) -> None:
    """Raise `pulumi.RunError` if there is no such stack; the engine's own error has no remedy."""
    try:
        pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", {"name": stack})
    except Exception as error:
        if "unknown stack" not in str(error):
            return  # the stack reference fails in the same way
        raise pulumi.RunError(_not_deployed(stack)) from None


def _not_deployed(stack: str) -> str:
    """Return the message about a stack that does not exist, or has no outputs, with its command."""
    _organization, project, name = stack.split("/")
    command = f"`pulumi up --stack {name}` in the folder of the project {project}"
    if PULUMI_VARIABLE in os.environ:  # in a clone, whose environments are in a folder of their own
        command = f"`make up FOLDER=environment STACK={name}`"
    return f"the environment {stack} is not deployed. Deploy it first: run {command}"


def _checked(stack: str, outputs: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the outputs of the environment's stack. Raises `pulumi.RunError` if they do not fit."""
    values = outputs or {}
    if not values:
        export = "Its program must call TrainingEnvironment(...).export()"
        raise pulumi.RunError(f"{_not_deployed(stack)}. {export}")
    missing = [name for name in REQUIRED if not values.get(name)]
    if missing:
        raise pulumi.RunError(
            f"stack {stack} is no environment: it has no output {', '.join(missing)}. Let its program call "
            "TrainingEnvironment(...).export(), and run `pulumi up --stack "
            f"{stack.rpartition('/')[2]}` in its folder"
        )
    settings = stack_settings()
    if values["endpoint"] != settings.endpoint:
        words = (
            f"the environment {stack} is on {_in_words(values['endpoint'])}, but this stack deploys to "
            f"{_in_words(settings.endpoint)}. Run `pulumi config set vertex-training:endpoint "
            f"{values['endpoint']} --stack {pulumi.get_stack()}`, or name another environment"
        )
        raise pulumi.RunError(messages.in_shell(words))
    for name, own in (("project", settings.project), ("location", settings.location)):
        if values[name] != own:
            messages.warn(
                f"the environment {stack} has the {name} {values[name]!r}, and this stack {own!r}. If that "
                f"is not what you want, run `pulumi config set vertex-training:{name} {values[name]} "
                f"--stack {pulumi.get_stack()}`.",
                None,
            )
    return values


def _in_words(endpoint: str) -> str:
    return "the emulator" if endpoint == "emulator" else "Google Cloud"
