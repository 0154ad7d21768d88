"""Name, project and location of an environment, and the services that its parts wait for."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pulumi


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Where the parts are made. `depends_on` are the services, and whatever else a part needs first."""

    name: str
    project: pulumi.Input[str]
    location: pulumi.Input[str]
    parent: pulumi.Resource
    depends_on: Sequence[pulumi.Resource] = field(default=())

    @property
    def opts(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self.parent, depends_on=list(self.depends_on))

    def after(self, resources: Collection[pulumi.Resource]) -> Scope:
        """Return the scope of parts that need other resources first."""
        return dataclasses.replace(self, depends_on=(*self.depends_on, *resources))

    def identifier(self, suffix: str = "", *, longest: int = 30) -> str:
        """Return an id of program, stack and suffix, for services that take one."""
        return identifier([pulumi.get_project(), pulumi.get_stack()], suffix, longest=longest)


def identifier(parts: Sequence[str], suffix: str, *, longest: int) -> str:
    """Return lower case letters, digits and hyphens, at most `longest`, beginning with a letter.

    A long id keeps its suffix and has six digits of a hash, so that two of them never collide.
    """
    whole = "-".join([*parts, *filter(None, [suffix])])
    text = re.sub(r"[^a-z0-9]+", "-", whole.lower()).strip("-")
    text = text if text[:1].isalpha() else f"e-{text}"
    if len(text) <= longest:
        return text
    end = "-".join([hashlib.sha256(whole.encode()).hexdigest()[:6], *filter(None, [suffix])])
    return f"{text[: longest - len(end) - 1].rstrip('-')}-{end}"


def project_number(scope: Scope) -> pulumi.Output[str]:
    """Return the number of the project, which some services take instead of its id."""
    from pulumi_gcp import organizations

    project = organizations.get_project_output(
        project_id=pulumi.Output.from_input(scope.project),
        opts=pulumi.InvokeOutputOptions(parent=scope.parent, depends_on=list(scope.depends_on)),
    )
    return project.number


def require_pulumi_gcp(name: str) -> None:
    """Raise `pulumi.RunError` if pulumi_gcp is not installed."""
    if importlib.util.find_spec("pulumi_gcp") is None:
        raise pulumi.RunError(
            f"{name}: an environment on Google Cloud is made with pulumi_gcp, which is not installed. Run "
            '`pip install "pulumi-gcp>=10,<11"` in the Python environment of the program.'
        )
