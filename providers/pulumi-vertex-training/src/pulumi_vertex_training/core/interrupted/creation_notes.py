"""Notes of creations that began on this machine: what an interrupted one made is found under any name.

A service is asked for what an interrupted deployment created only by the name that is declared. If the
program gives the resource another name, or takes the change back, before the next `up`, nobody would ask for
the first one. So a note is written before each creation call, into the folder `creations` of the stack's data
folder (`dataDir`). It is named by the key of the resource and a hash of the name, and has two states:

* `begun`: the engine has no answer, so no state has the resource.
* `made`: the engine has the answer. The next `diff` of the resource shows whether the state has it.

A note goes when a state is seen to have the resource. What remains belongs to no state: `create`, `update`
or `delete` of the resource removes it, or that of the stack's key. A resource that is not declared any more
gets none of these calls: the program itself removes what is left of it (`program.undeclared`). Only what
carries the key and nobody has touched is deleted. Notes are local files: no call is made where nothing was
interrupted.

One case is left to `vertex-training gc`: the engine is killed between the answer and its record, what is
replaced had been deleted first, and before the next `up` a refresh drops that from the state and the program
takes the change back. No `diff` shows then that the state has neither.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Difference
from pulumi_vertex_training.core.connection import connect
from pulumi_vertex_training.core.interrupted import notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import EndpointKind, Settings
from vertex_emulator import LauncherError
from vertex_training.fields.labels import KEY_LABEL

_BEGUN, _MADE = ".begun", ".made"
_DIGITS = 16


class _Recorded(dict[str, str]):
    """The ids that the state has, by the keys of their resources."""


class Remover(Protocol):
    """A provider whose creations are noted."""

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        """Delete what an interrupted creation of this id made; return False if somebody has used it since.

        Raises NotFound if nothing of this id carries the key.
        """


@dataclass(frozen=True, kw_only=True)
class Creation:
    """A creation that began.

    `provider` is the name of the provider's class, `id` is unique among what its resources create.
    `recorded_id` is the id that the state had for the resource at that time, or "".
    """

    provider: str
    id: str
    key: str
    title: str
    endpoint: EndpointKind
    project: str
    location: str
    recorded_id: str = ""

    @property
    def announcement(self) -> str:
        """The line for a preview of its removal."""
        return (
            f"{self.title}: an interrupted deployment of this stack began to create it, and it is "
            "not declared. If it exists and is unused, it is deleted"
        )


@contextlib.contextmanager
def noted(
    provider: Remover, props: Mapping[str, Any], id_: str, *, key: str, title: str, is_exclusive: bool = False
) -> Iterator[None]:
    """Note the creation inside the block. First delete what interrupted ones of this resource made.

    `is_exclusive`: only one resource of a program can have this id. What an interrupted creation of another
    one made under it, which then got another name in the program, is deleted as well.
    """
    if is_exclusive and key:
        _remove_former(id_, key)
    begin(provider, props, id_, key=key, title=title)
    yield
    answered(id_, key)


def begin(provider: Remover, props: Mapping[str, Any], id_: str, *, key: str, title: str) -> None:
    """Note that a creation begins, as `noted` does. A full disk does not stop it."""
    if not key:
        return
    remove_others(id_, key)
    creation = Creation(
        provider=type(provider).__name__,
        id=id_,
        key=key,
        title=title,
        recorded_id=OPERATION.part(_Recorded).get(key, ""),
        endpoint=props["endpoint"],
        project=str(props["project"]),
        location=str(props["location"]),
    )
    notes.write(_note(id_, key, _BEGUN), json.dumps(asdict(creation)))
    notes.remove(_note(id_, key, _MADE))


def answered(id_: str, key: str) -> None:
    """Note that the engine gets the answer of the creation, unless the engine was killed before."""
    note = _note(id_, key, _BEGUN)
    with contextlib.suppress(OSError):
        if key and note.exists() and engine.is_alive(OPERATION.engine, OPERATION.settings.timeouts):
            note.replace(note.with_suffix(_MADE))


def forget(id_: str, key: str) -> None:
    """Remove the notes of a creation: a state has what it made, or that was deleted."""
    for suffix in (_BEGUN, _MADE):
        notes.remove(_note(id_, key, suffix))


def forget_others(id_: str, key: str) -> None:
    """Remove the notes of the resource's other creations: whatever they made was looked up and removed."""
    for note in _notes(f"{key}.") if key else ():
        if note.stem != _stem(id_, key):
            notes.remove(note)


def with_removals(difference: Difference, id_: str, *, key: str, recorded_id: str = "") -> Difference:
    """Return the difference, or an update if interrupted creations of the resource have to be removed.

    `id_` is the id of the creation that the state has, `recorded_id` that of the resource if it is another
    one. A replacement removes them when it creates the resource.
    """
    if not key:
        return difference
    forget(id_, key)
    OPERATION.part(_Recorded)[key] = recorded_id or id_
    found = _others(id_, key)
    if not found or difference.replaces:
        return difference
    for note in found:
        if (creation := _read(note)) is not None:
            OPERATION.print_once(creation.announcement)
    return dataclasses.replace(difference, changes=True)


def remove_others(id_: str, key: str) -> None:
    """Delete what interrupted creations of the resource made, other than that of this id."""
    for note in _others(id_, key):
        _remove(note)


def remove_with(id_: str, *, recorded_id: str = "") -> None:
    """Forget the creation of a resource that is deleted, and delete what was to replace it.

    `recorded_id` is the id of the resource, if it is another one than that of the creation.
    """
    for note in _notes():
        if note.stem.endswith(f".{_digest(id_)}"):
            notes.remove(note)
        elif note.suffix == _BEGUN:
            creation = _read(note)
            if creation is not None and creation.recorded_id == (recorded_id or id_):
                _remove(note)


def remove_inside(place: str, labels: Callable[[], Mapping[str, str]]) -> None:
    """Delete what interrupted creations of the same stack made inside a resource that is deleted.

    `place` begins their ids, `labels` returns the labels of the resource. Raises NotFound as `labels` does.
    """
    found = [
        (note, creation)
        for note in _notes()
        if note.suffix == _BEGUN and (creation := _read(note)) is not None and creation.id.startswith(place)
    ]
    if not found:
        return
    stack = labels().get(KEY_LABEL, "").partition("-")[0]
    for note, creation in found:
        if creation.key.partition("-")[0] == stack:
            _remove(note)


def remove_of_stack(stack_key: str) -> None:
    """Delete what interrupted creations of a stack made and no state has: the stack's key is deleted."""
    for note in _notes(f"{stack_key}-"):
        if note.suffix == _BEGUN:
            _remove(note)


def is_left_over(labels: Mapping[str, str]) -> bool:
    """Return whether an interrupted creation of this stack made the resource with these labels."""
    return has_begun(labels.get(KEY_LABEL, ""))


def key_without_stack(urn: str) -> str:
    """Return the key for the notes of a resource that `--target` creates before the stack has a key."""
    return f"urn-{hashlib.sha256(urn.encode()).hexdigest()[:_DIGITS]}"


def has_begun(key: str) -> bool:
    """Return whether a creation of the resource began whose answer no engine has got."""
    return bool(key) and any(note.suffix == _BEGUN for note in _notes(f"{key}."))


def locations_begun(*keys: str) -> list[str]:
    """Return the locations of creations of the resource that no state is known to have."""
    found = (_read(note) for key in keys if key for note in _notes(f"{key}."))
    return list(dict.fromkeys(one.location for one in found if one is not None))


def begun(settings: Settings) -> list[Path]:
    """Return the notes of creations whose answer no engine has got."""
    return [note for note in _notes(settings=settings) if note.suffix == _BEGUN]


def undeclared(
    found: Collection[Path], stack_key: str, keys: Collection[str], ids: Collection[str]
) -> list[tuple[Path, Creation]]:
    """Return those notes of a stack whose resource is not declared, and forget those whose result is.

    `keys` are the keys of all declared resources, `ids` their ids: another one may have adopted what the
    interrupted creation made, such as an image of the same content.
    """
    kept = []
    for note in found:
        key = note.name.partition(".")[0]
        if key.partition("-")[0] != stack_key or key in keys or (creation := _read(note)) is None:
            continue
        if creation.id in ids:
            notes.remove(note)
        else:
            kept.append((note, creation))
    return kept


def remove(note: Path, settings: Settings, print_line: Callable[[str], None]) -> None:
    """Delete what the noted creation made, and the note. A service that refuses is asked again next time."""
    with _removing:
        _remove_noted(note, settings, print_line)


def _remove_former(id_: str, key: str) -> None:
    """Delete what an interrupted creation of another resource of the same stack made under this id."""
    for note in _notes(f"{key.partition('-')[0]}-"):
        other, digest = note.stem.split(".")
        if digest == _digest(id_) and other != key and note.suffix == _BEGUN:
            _remove(note)


def _others(id_: str, key: str) -> list[Path]:
    """Return the notes of the resource's other creations that no state has.

    One with the state `made` counts only if this operation has seen what the state has.
    """
    if not key:
        return []
    knows_state = key in OPERATION.part(_Recorded)
    return [
        note
        for note in _notes(f"{key}.")
        if note.stem != _stem(id_, key) and (note.suffix == _BEGUN or knows_state)
    ]


_removing = threading.Lock()
"""Held from the look at what exists to its deletion: nothing else of its name is created in between."""


def _remove(note: Path) -> None:
    remove(note, OPERATION.settings, engine.print_line)


def _remove_noted(note: Path, settings: Settings, print_line: Callable[[str], None]) -> None:
    creation = _read(note)
    removed: bool | None = None
    if creation is not None:
        try:
            endpoint = connect(creation.endpoint, creation.project, creation.location, settings)
            provider = getattr(
                importlib.import_module(registry.PROVIDERS[creation.provider]), creation.provider
            )()
            removed = provider.remove_interrupted(endpoint, creation.id, creation.key)
        except NotFound:
            pass
        except (CloudError, LauncherError) as error:
            print_line(
                f"warning: {creation.title}, which an interrupted deployment of this stack created, could "
                f"not be deleted: {error}"
            )
            return
        if removed is not None:
            outcome = "is deleted" if removed else "is used or was changed since, so it stays"
            print_line(
                f"{creation.title}: an interrupted deployment of this stack created it, and it is not "
                f"declared; it {outcome}"
            )
    notes.remove(note)


def _read(note: Path) -> Creation | None:
    """Return the creation of a note, or None for one that was not written to its end."""
    try:
        creation = Creation(**json.loads(notes.read(note)))
    except (ValueError, TypeError):
        return None
    return creation if creation.provider in registry.PROVIDERS else None


def _notes(beginning: str = "", *, settings: Settings | None = None) -> list[Path]:
    return list(notes.listed(notes.folder("creations", settings), beginning))


def _note(id_: str, key: str, suffix: str) -> Path:
    return notes.folder("creations") / f"{_stem(id_, key)}{suffix}"


def _stem(id_: str, key: str) -> str:
    return f"{key}.{_digest(id_)}"


def _digest(id_: str) -> str:
    return hashlib.sha256(id_.encode()).hexdigest()[:_DIGITS]
