"""The desired state of a lane, its random changes, and the resources that it stands for. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from support.client.kills.subjects import (
    BUCKET,
    CUSTOM_JOB,
    IMAGE,
    MODEL,
    PERSISTENT_RESOURCE,
    PIPELINE,
    REPOSITORY,
    SOURCE,
    STAGED_FILE,
    STAGED_PACKAGE,
    TUNING_JOB,
    Declaration,
    Subject,
)

TRAINING = Subject(
    noun="training",
    type="DistributedTraining",
    message="CustomJob",
    collection="customJobs",
    service="JobService",
    name="train",
    run=True,
    calls={"Update": "storage.buckets.patch"},
    text=f"""{SOURCE}
(source / "task.py").write_text(f"print({{spec!r}})")
env = [{{"name": "SPEC", "value": spec}}, {{"name": "OF", "value": name}}]
replica = {{"machine_spec": {{"machine_type": "n1-standard-4"}}}}
made = vt.DistributedTraining(
    name,
    chief={{**replica, "container_spec": {{"args": ["chief"], "env": env}}}},
    workers={{**replica, "replica_count": 1, "container_spec": {{"args": ["worker"], "env": env}}}},
    bucket={{"force_destroy": True, "labels": {{"note": note}}}},
    repository={{"force_destroy": True, "labels": {{"note": note}}}},
    image={{"source": str(source), "base_image": "python:3.11-slim", "entrypoint": command}},
    **options,
)
""",
)
_RUNS = 'rerun="on_failure", rerun_limit=1000'
"""A job whose supervisor was killed has failed: the next deployment runs it again."""
_FORCED = "force_destroy=True"
_STAGING, _TRAINERS = 'bucket = all_made["staging"]\n', 'repository = all_made["trainers"]\n'


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The declarations of a slot: a subject, the slots that it uses, and the lines that assign those.

    `others`: the types of the resources that it adds to the state, if it is not that of the subject alone.
    """

    subject: Subject
    options: str = ""
    needs: tuple[str, ...] = ()
    given: str = ""
    others: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The types of the resources that it adds to the state. All have the slot's name."""
        return self.others or (self.subject.type,)


DECLARED: Mapping[str, Declared] = MappingProxyType(
    {
        "staging": Declared(subject=BUCKET, options=_FORCED),
        "spare": Declared(subject=BUCKET, options=_FORCED),
        "file": Declared(subject=STAGED_FILE, needs=("staging",), given=_STAGING),
        "package": Declared(subject=STAGED_PACKAGE, needs=("staging",), given=_STAGING),
        "trainers": Declared(subject=REPOSITORY, options=_FORCED),
        "image": Declared(subject=IMAGE, needs=("trainers",), given=_TRAINERS),
        "short": Declared(subject=CUSTOM_JOB, options=f'{_RUNS}, on_replace="keep"'),
        "long": Declared(subject=CUSTOM_JOB, options=f'{_RUNS}, on_replace="keep"'),
        "imaged": Declared(
            subject=CUSTOM_JOB,
            options=_RUNS,
            needs=("trainers", "image"),
            given='image = all_made["image"].id\n',
        ),
        "search": Declared(subject=TUNING_JOB, options=_RUNS),
        "pipeline": Declared(subject=PIPELINE, options=_RUNS, needs=("staging",), given=_STAGING),
        "model": Declared(subject=MODEL),
        "gpus": Declared(subject=PERSISTENT_RESOURCE),
        "train": Declared(
            subject=TRAINING,
            options=f'{_RUNS}, wait="none"',
            others=("StagingBucket", "ImageRepository", "TrainingImage", "CustomJob"),
        ),
    }
)
"""The slots in the order of their declaration."""

JOBS = ("short", "long", "imaged", "train")
"""The slots that are custom jobs."""


NAMED = ("staging", "file", "package", "trainers", "model")
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

    def program(self) -> str:
        """Return the program, in the order of declaration."""
        slots = [slot for slot in DECLARED if slot in self.slots]
        return "all_made = {}\n" + "".join(self._declared(slot) for slot in slots)

    def _declared(self, slot: str) -> str:
        one = DECLARED[slot]
        text = one.subject.program(self.declaration(slot), slot, given=one.given)
        return f"{text}all_made[{slot!r}] = made\n"

    def declaration(self, slot: str) -> Declaration:
        """Return the values of a slot. Its spec changes with those of the resources that it uses."""
        one = self.slots[slot]
        return Declaration(
            spec=f"spec-{self._versions(slot)}",
            note=f"note-{1 + one.note % 5}",
            called=str(one.version) if slot in NAMED else "",
            command=("true",) if slot == "short" else ("sh", "-c", "exec sleep 86400", "soak"),
            options=DECLARED[slot].options,
        )

    def _versions(self, slot: str) -> str:
        return "-".join(str(self.slots[each].version) for each in (slot, *DECLARED[slot].needs))

    def salt(self, slot: str) -> str:
        """Return a text that changes with the slot's spec, and with the resources that it names."""
        return f"{slot}-{self._versions(slot)}"

    def resources(self) -> Counter[tuple[str, str]]:
        """Return the type and name of each resource that the state must have."""
        return Counter((kind, slot) for slot in self.slots for kind in DECLARED[slot].kinds)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A slot is `added`, `removed`, `replaced` or `changed` in place."""

    slot: str
    what: str

    def __str__(self) -> str:
        return f"{self.slot} {self.what}"

    def calls(self) -> tuple[str, ...]:
        """Return the service's methods that carry it out, as far as they are known."""
        subject = DECLARED[self.slot].subject
        create, change, delete = (
            subject.method("Create"),
            subject.calls.get("Update", ""),
            subject.method("Delete"),
        )
        if self.slot in ("long", "train"):
            delete = subject.method("Cancel")  # their records are kept
        found = {"added": (create,), "removed": (delete,), "replaced": (create, delete), "changed": (change,)}
        return tuple(filter(None, found[self.what]))


def first(chance: random.Random) -> Desired:
    """Return a random desired state of about two thirds of the slots."""
    made = Desired()
    for slot in DECLARED:
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
        slot = chance.choice(list(DECLARED))
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
    for each in (*DECLARED[slot].needs, slot):
        if each not in desired.slots:
            new = Slot(version=desired.last + 1, note=1)
            desired = Desired(slots={**desired.slots, each: new}, last=desired.last + 1)
    return desired


def _users(slot: str) -> Iterator[str]:
    return (each for each, one in DECLARED.items() if slot in one.needs)
