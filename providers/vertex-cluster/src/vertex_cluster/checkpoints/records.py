"""The starts of a training: one new small file for each, the only count of attempts on Google Cloud.

``starts/000003-JOB.json`` is the third start. ``starts/000003-JOB.loaded.json`` says that its processes have
loaded the checkpoint: a start without it was killed, or has failed, while it did.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from .folder import entries_of, saved_at

__all__ = ["Start", "starts"]

FOLDER = "starts"
_NAME = re.compile(r"([0-9]{6,9})-([A-Za-z0-9_]{1,63})(\.loaded)?\.json")
_LARGEST = 2**16


@dataclass(frozen=True)
class Start:
    """One start of a training."""

    start: int
    """Its number, counted from 1 over all jobs of the folder."""
    job: str
    """The job."""
    attempt: int
    """Its number among the starts of this job: the service restarts a job in place."""
    step: int
    """The step from which it resumed; 0 if it began a new training."""
    checkpoint: Optional[str]
    """Name of the checkpoint, or None."""
    time: str
    """When it began, in UTC."""
    world_size: int
    """The number of processes that train."""
    loaded: bool = False
    """True if all processes have loaded the checkpoint."""
    saved: str = ""
    """When the checkpoint was saved, in UTC; "" if it is not known."""


def starts(folder: Union[str, Path]) -> List[Start]:
    """Return the starts of a folder of checkpoints, the oldest first. Raises OSError.

    Of a start that was killed while it wrote its file, only the number, the job and the attempt are known.
    """
    at = Path(folder) / FOLDER
    return of_files([entry.name for entry in entries_of(at)], lambda name: _read(at / name))


def of_files(names: Iterable[str], read: Callable[[str], Mapping[str, Any]]) -> List[Start]:
    """Return the starts that files of these names describe; `read` returns the document of a file."""
    files: Dict[int, str] = {}
    loaded = set()
    for each in names:
        match = _NAME.fullmatch(each)
        if match and match[3]:
            loaded.add(int(match[1]))
        elif match:
            files[int(match[1])] = match[2]
    attempts: Dict[str, int] = {}
    found = []
    for number, job in sorted(files.items()):
        attempts[job] = attempts.get(job, 0) + 1
        known = read(_file(number, job))
        found.append(
            Start(
                start=number,
                job=job,
                attempt=attempts[job],
                step=_known(known, "step", int, 0),
                checkpoint=_known(known, "checkpoint", str, None),
                time=_known(known, "time", str, ""),
                world_size=_known(known, "world_size", int, 0),
                loaded=number in loaded,
                saved=_known(known, "saved", str, ""),
            )
        )
    return found


def failed_loads(found: Iterable[Start]) -> Dict[str, int]:
    """Return, by the name of a checkpoint, how many starts in a row have ended while they loaded it."""
    ended: Dict[str, int] = {}
    for each in found:
        if each.checkpoint is not None:
            ended[each.checkpoint] = 0 if each.loaded else ended.get(each.checkpoint, 0) + 1
    return ended


def record(folder: Path, earlier: List[Start], *, job: str, checkpoint: Any, world_size: int) -> Start:
    """Write the file of a new start. Raises OSError."""
    start = Start(
        start=earlier[-1].start + 1 if earlier else 1,
        job=job,
        attempt=1 + sum(each.job == job for each in earlier),
        step=0 if checkpoint is None else checkpoint.step,
        checkpoint=None if checkpoint is None else checkpoint.name,
        time=_now(),
        world_size=world_size,
        saved="" if checkpoint is None else saved_at(checkpoint),
    )
    known = asdict(start)
    del known["loaded"]
    _write(folder / FOLDER / _file(start.start, job), known)
    return start


def record_loaded(folder: Path, start: Start) -> None:
    """Write that all processes of a start have loaded its checkpoint. Raises OSError."""
    _write(folder / FOLDER / _file(start.start, start.job, loaded=True), {"time": _now()})


def _file(number: int, job: str, *, loaded: bool = False) -> str:
    return f"{number:06d}-{job}{'.loaded' if loaded else ''}.json"


def _write(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="ascii") as file:  # never a name that exists
        file.write(json.dumps(document))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            known = json.loads(file.read(_LARGEST))
    except (FileNotFoundError, IsADirectoryError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _known(known: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = known.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else default


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
