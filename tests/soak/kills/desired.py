"""The desired state of a lane, its random changes, and the resources that it stands for. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "staging": (),
        "spare": (),
        "file": ("staging",),
        "package": ("staging",),
        "trainers": (),
        "image": ("trainers",),
        "short": (),
        "long": (),
        "imaged": ("trainers", "image"),
        "search": (),
        "pipeline": ("staging",),
        "model": ("staging", "file"),
        "gpus": (),
        "train": (),
    }
)
"""The slots in the order of their declaration, each with the slots that it uses."""

KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "staging": ("StagingBucket",),
        "spare": ("StagingBucket",),
        "file": ("StagedFile",),
        "package": ("StagedPackage",),
        "trainers": ("ImageRepository",),
        "image": ("TrainingImage",),
        "short": ("Run", "CustomJob"),
        "long": ("Run", "CustomJob"),
        "imaged": ("Run", "CustomJob"),
        "search": ("HyperparameterTuningRun", "HyperparameterTuningJob"),
        "pipeline": ("TrainingPipelineRun", "TrainingPipeline"),
        "model": ("Model",),
        "gpus": ("PersistentResource",),
        "train": ("StagingBucket", "ImageRepository", "TrainingImage", "Run", "CustomJob"),
    }
)
"""The resources that each slot adds to the state. All have the slot's name."""

_BUCKET = ("storage.buckets.insert", "storage.buckets.patch", "storage.buckets.delete")
_OBJECT = ("storage.objects.insert", "", "storage.objects.delete")
_JOB = ("CreateCustomJob", "", "DeleteCustomJob")
_CALLS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "staging": _BUCKET,
        "spare": _BUCKET,
        "file": _OBJECT,
        "package": _OBJECT,
        "trainers": ("CreateRepository", "UpdateRepository", "DeleteRepository"),
        "image": ("registry.manifests.put", "registry.manifests.put", "registry.manifests.delete"),
        "short": _JOB,
        "long": ("CreateCustomJob", "", "CancelCustomJob"),
        "imaged": _JOB,
        "search": (
            "CreateHyperparameterTuningJob",
            "",
            "DeleteHyperparameterTuningJob",
        ),
        "pipeline": ("CreateTrainingPipeline", "", "DeleteTrainingPipeline"),
        "model": ("UploadModel", "UpdateModel", "DeleteModel*"),
        "gpus": ("CreatePersistentResource", "UpdatePersistentResource", "DeletePersistentResource"),
        "train": ("CreateCustomJob", "storage.buckets.patch", "CancelCustomJob"),
    }
)
"""The service's methods that create, change and delete the resource of a slot."""

JOBS = ("short", "long", "imaged", "train")
"""The slots that are custom jobs."""


NAMED = ("staging", "file", "package", "trainers", "image", "model")
"""The slots whose resource has another name in the service after a change of `version`."""


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A declaration: a change of `version` replaces it, a change of `note` is made in place."""

    version: int
    note: int


@dataclass(frozen=True, kw_only=True)
class Desired:
    """The declared slots. `last` is the last version given; a later declaration never has an earlier one."""

    slots: Mapping[str, Slot] = field(default_factory=dict)
    last: int = 0

    def document(self) -> dict[str, Any]:
        """Return the JSON that the program reads, in the order of declaration."""
        return {
            slot: {
                "version": self.slots[slot].version,
                "note": self.slots[slot].note,
                "salt": self.salt(slot),
                "ends": slot == "short",
            }
            for slot in NEEDS
            if slot in self.slots
        }

    def salt(self, slot: str) -> str:
        """Return a text that changes with the slot's spec, and with the resources that it names."""
        versions = [self.slots[each].version for each in (slot, *NEEDS[slot])]
        return "-".join([slot, *map(str, versions)])

    def resources(self) -> Counter[tuple[str, str]]:
        """Return the type and name of each resource that the state must have."""
        return Counter((kind, slot) for slot in self.slots for kind in KINDS[slot])


@dataclass(frozen=True, kw_only=True)
class Change:
    """A slot is `added`, `removed`, `replaced` or `changed` in place."""

    slot: str
    what: str

    def __str__(self) -> str:
        return f"{self.slot} {self.what}"

    def calls(self) -> tuple[str, ...]:
        """Return the service's methods that carry it out, as far as they are known."""
        create, change, delete = _CALLS[self.slot]
        found = {"added": (create,), "removed": (delete,), "replaced": (create, delete), "changed": (change,)}
        return tuple(filter(None, found[self.what]))


def first(chance: random.Random) -> Desired:
    """Return a random desired state of about two thirds of the slots."""
    made = Desired()
    for slot in NEEDS:
        if chance.random() < 0.65:
            made = _with(made, slot)
    return made


def changed(
    desired: Desired, chance: random.Random, *, renamed: str = ""
) -> tuple[Desired, tuple[Change, ...]]:
    """Return the desired state after one to four random changes, and the changes.

    The first change replaces the slot `renamed`, if it is declared.
    """
    changes = []
    for number in range(chance.randrange(1, 5)):
        slot = chance.choice(list(NEEDS))
        if number == 0 and renamed in desired.slots:
            slot, what = renamed, "replaced"
        elif slot not in desired.slots:
            what = "added"
            desired = _with(desired, slot)
        else:
            what = chance.choices(("removed", "replaced", "changed"), (25, 45, 30))[0]
        now = desired.slots[slot]
        if what == "removed":
            gone = {slot, *_users(slot)}
            kept = {each: one for each, one in desired.slots.items() if each not in gone}
            desired = replace(desired, slots=kept)
        elif what == "replaced":
            new = replace(now, version=desired.last + 1)
            desired = Desired(slots={**desired.slots, slot: new}, last=desired.last + 1)
        elif what == "changed":
            desired = replace(desired, slots={**desired.slots, slot: replace(now, note=now.note + 1)})
        changes.append(Change(slot=slot, what=what))
    return desired, tuple(changes)


def _with(desired: Desired, slot: str) -> Desired:
    for each in (*NEEDS[slot], slot):
        if each not in desired.slots:
            new = Slot(version=desired.last + 1, note=1)
            desired = Desired(slots={**desired.slots, each: new}, last=desired.last + 1)
    return desired


def _users(slot: str) -> Iterator[str]:
    return (each for each, needs in NEEDS.items() if slot in needs)
