"""The provider of every kind of job: a job is found again by its run's key, and replaced on purpose.

What it does at each call is in the package `running`: `plan` (check, diff), `submission` (create, update),
`reading` (read) and `removal` (delete).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from pulumi_vertex_training.plugin.provider import Provider, clean
from pulumi_vertex_training.plugin.running import plan, reading, removal, submission
from pulumi_vertex_training.plugin.running.declaration import JobResourceType


class JobProvider(Provider):
    """Inputs: those of `declared.inputs`. Outputs besides: what the service says of the job.

    A kind's provider is a subclass at an import path that never changes, with nothing but `declared`.
    """

    declared: ClassVar[JobResourceType]

    @clean
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        return plan.check(self.declared, _olds, news)

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        return plan.diff(self.declared, _id, _olds, _news)

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        return submission.create(self.declared, props)

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        return submission.update(self.declared, _olds, _news)

    @clean
    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        return reading.read(self.declared, id_, props)

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        removal.delete(self.declared, _id, _props)
