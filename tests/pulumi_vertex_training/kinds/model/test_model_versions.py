"""Versions of models are taken away one by one, also when several go at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition, NotFound
from pulumi_vertex_training.kinds.model import versions as model_versions
from pulumi_vertex_training.kinds.model.gateway import ModelRecord

NAME = "projects/1/locations/us-central1/models/digits"
ENDPOINT = Endpoint(kind="google", project="p", location="us-central1")


@dataclass
class Registry:
    """The calls of `cloud.models` on one model, with the service's rules. `before_deletion` is what somebody
    else does, each once, right before a deletion arrives."""

    records: dict[str, ModelRecord]
    before_deletion: list[str] = field(default_factory=list)
    deployed: str = ""

    def versions(self, _: Endpoint, name: str) -> list[ModelRecord]:
        if not self.records:
            raise NotFound(f"there is no model {name}")
        return sorted(self.records.values(), key=lambda one: one.version, reverse=True)

    def merge_aliases(self, _: Endpoint, name: str, aliases: list[str]) -> None:
        for version, record in self.records.items():
            kept = tuple(alias for alias in record.aliases if alias not in aliases)
            self.records[version] = replace(record, aliases=kept)
        version = name.rpartition("@")[2]
        self.records[version] = replace(self.records[version], aliases=tuple(aliases))

    def delete_version(self, _: Endpoint, name: str) -> None:
        self._somebody_else()
        version = name.rpartition("@")[2]
        if version == self.deployed or len(self.records) == 1 or self.records[version].aliases:
            raise FailedPrecondition(f"{name} cannot be deleted")
        del self.records[version]

    def delete(self, _: Endpoint, name: str) -> None:
        self.records.clear()

    def _somebody_else(self) -> None:
        for version in self.before_deletion[:1]:
            self.before_deletion.remove(version)
            if version.startswith("default "):
                self.merge_aliases(ENDPOINT, f"{NAME}@{version.partition(' ')[2]}", ["default"])
            else:
                del self.records[version]


def registry(*numbers: str, before_deletion: list[str]) -> Registry:
    records = {
        number: ModelRecord(name=NAME, version=number, aliases=("default",) if number == "1" else ())
        for number in numbers
    }
    return Registry(records, before_deletion)


def remove(made: Registry, version: str) -> bool:
    return model_versions.delete(ENDPOINT, NAME, version, print_line=lambda _: None, registry=made)


@pytest.mark.parametrize(
    ("numbers", "before_deletion", "left"),
    [
        pytest.param(("1", "2"), [], ["1"], id="alone"),
        pytest.param(("1", "2"), ["1"], [], id="the other one goes"),
        pytest.param(("1", "2", "3"), ["default 2"], ["1", "3"], id="it becomes the default"),
        pytest.param(("1", "2", "3"), ["default 2", "3"], ["1"], id="both"),
    ],
)
def test_what_goes_at_the_same_time(
    numbers: tuple[str, ...], before_deletion: list[str], left: list[str]
) -> None:
    made = registry(*numbers, before_deletion=before_deletion)
    assert remove(made, "2")
    assert sorted(made.records) == left


def test_a_version_that_is_deployed_is_refused() -> None:
    made = registry("1", "2", before_deletion=[])
    made.deployed = "2"
    with pytest.raises(FailedPrecondition):
        remove(made, "2")
    assert sorted(made.records) == ["1", "2"]


def test_a_version_of_another_model_with_the_same_id_stays() -> None:
    made = registry("1", before_deletion=[])
    assert not model_versions.delete(
        ENDPOINT, NAME, "1", print_line=lambda _: None, is_ours=lambda _: False, registry=made
    )
    assert sorted(made.records) == ["1"]
