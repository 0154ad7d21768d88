"""Resume a training from its newest whole checkpoint, and save new ones."""

from __future__ import annotations

import logging
import operator
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional, Set, Tuple, Union

from ..frameworks import trainers
from ..paths import gcs_path
from ..reporting import note_start
from ..variables import from_environment
from . import folder as folders
from . import records
from .folder import Checkpoint, CheckpointError
from .records import Start

__all__ = ["VARIABLES", "Checkpoints"]

VARIABLES = ("VERTEX_CLUSTER_CHECKPOINT_DIR", "AIP_CHECKPOINT_DIR")
"""Variables that name the folder; the first one that is set counts.

The first is the folder of all runs of a training, the second is the folder of one job.
"""

_MOUNT = "/gcs/"
_log = logging.getLogger("vertex_cluster")


class Checkpoints:
    """The checkpoints of one training, over all of its starts.

    All processes that train make one. Rank 0 chooses the checkpoint and writes the markers.
    """

    def __init__(
        self,
        folder: Union[str, Path, None] = None,
        *,
        keep: int = 3,
        give_up_after: int = 3,
        barrier: Optional[Callable[[], Any]] = None,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        environ: Optional[Mapping[str, str]] = None,
    ) -> None:
        """`folder` is a path or a gs:// address; by default the first of `VARIABLES` that is set.

        Without any of them nothing is resumed or saved, with a warning. `keep` is the number of whole
        checkpoints to keep. A checkpoint during whose loading `give_up_after` starts have ended is given up.
        `barrier` waits until all processes have called it, such as ``torch.distributed.barrier``; it is
        needed if there are several. `rank` and `world_size` count them; by default they are RANK and
        WORLD_SIZE, or the replicas that train. `environ` defaults to ``os.environ``. Raises CheckpointError,
        ClusterError.
        """
        values: Mapping[str, str] = os.environ if environ is None else environ
        for name, value in (("keep", keep), ("give_up_after", give_up_after)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise CheckpointError(f"{name} is {value!r}, not a whole number of at least 1.")
        self._folder = _folder(folder, values)
        self._keep = keep
        self._give_up_after = give_up_after
        self._barrier = barrier
        own = _position(values) if rank is None or world_size is None else (0, 1)
        self._rank = own[0] if rank is None else rank
        self._world_size = own[1] if world_size is None else world_size
        self._job = folders.job_part(values.get("CLOUD_ML_JOB_ID", ""))
        self._start: Optional[Start] = None
        self._given_up: List[str] = []
        self._whole: Set[str] = set()  # names that are known to be whole
        self._step = 0  # of the last checkpoint that was resumed or begun
        if self._folder is None:
            _log.warning(
                "No checkpoint is saved: neither %s is set. Give the job a base_output_directory, or "
                "Checkpoints a folder.",
                " nor ".join(VARIABLES),
            )
        elif barrier is None and self._rank >= 0 and self._world_size > 1:
            raise CheckpointError(
                f"{self._world_size} processes train, and have to resume from the same checkpoint. Give "
                "Checkpoints a barrier, such as barrier=torch.distributed.barrier."
            )

    @property
    def folder(self) -> Optional[Path]:
        """The folder, or None if nothing is saved."""
        return self._folder

    @property
    def start(self) -> Optional[Start]:
        """This start of the training, after `resume`."""
        return self._start

    def resume(self, load: Callable[[Path], Any], *, allow_new: bool = False) -> int:
        """Call `load` with the folder of the newest whole checkpoint. Return its step, or 0 without one.

        All processes call it, once, before they train. If checkpoints exist but none of them can be used,
        because their files are damaged or loading them has ended too many starts, it raises CheckpointError;
        `allow_new` begins a new training instead. Raises OSError if the folder cannot be used, and what
        `load` raises.
        """
        if self._folder is None:
            return 0
        if self._rank < 0:
            raise CheckpointError("This replica does not train. Call newest() for the newest checkpoint.")
        if self._start is not None:
            raise CheckpointError("resume was called before in this process. Call it once.")
        if self._rank == 0:
            self._begin(self._folder, allow_new=allow_new)
        self._wait()  # the others read what rank 0 has chosen
        if self._start is None:
            self._start = self._chosen(self._folder)
        start = self._start
        self._step = start.step
        if start.checkpoint is not None:
            load(self._folder / start.checkpoint)
        self._wait()
        note_start(resumed_from=start.step, attempt=start.attempt)
        if self._rank == 0:
            records.record_loaded(self._folder, start)
            self._remove_old(self._folder)  # an earlier start may have been killed before it had done so
        return start.step

    def save(self, step: Any, write: Callable[[Path], Any], *, sharded: bool = False) -> bool:
        """Save a checkpoint after a step: call `write` with a new folder, then write the marker.

        `write` closes all its files, and writes none named ``COMPLETE.json``. Only rank 0 writes; with
        `sharded` all processes do, each to files of its own, and all of them call this function. Return
        whether a checkpoint was saved: not in other ranks, and not if this step was saved last. Steps grow.
        Raises CheckpointError, OSError, and what `write` raises.
        """
        number = operator.index(step)
        if self._folder is None:
            return False
        start = self._start
        if start is None:
            raise CheckpointError("save was called before resume, which chooses where a training continues.")
        if number == self._step:
            return False  # as at a SIGTERM just after a periodic save
        if number < self._step:
            raise CheckpointError(
                f"step {number} comes after step {self._step}. The newest checkpoint is the one of the "
                "highest step: let the steps grow, or train in another folder."
            )
        if self._rank != 0 and not sharded:
            return False
        self._step = number
        began = datetime.now(timezone.utc)
        checkpoint = folders.checkpoint_of(self._folder, step=number, job=start.job, start=start.start)
        checkpoint.path.mkdir(parents=True, exist_ok=sharded)
        write(checkpoint.path)
        if sharded:
            self._wait()
        if self._rank != 0:
            return False
        ended = datetime.now(timezone.utc)
        folders.complete(
            checkpoint,
            job=start.job,
            attempt=start.attempt,
            time=ended.isoformat(),
            seconds=(ended - began).total_seconds(),
            world_size=self._world_size,
        )
        self._whole.add(checkpoint.name)
        self._remove_old(self._folder)
        return True

    def newest(self) -> Optional[Checkpoint]:
        """Return the newest whole checkpoint, for processes that do not train, such as an evaluator."""
        return None if self._folder is None else folders.newest(self._folder)

    def _begin(self, folder: Path, *, allow_new: bool) -> None:
        """Choose the checkpoint of this start, and write the start's file."""
        _check_mount(folder)
        folder.mkdir(parents=True, exist_ok=True)
        earlier = records.starts(folder)
        ended = records.failed_loads(earlier)
        self._given_up = [name for name, times in ended.items() if times >= self._give_up_after]
        checkpoint = folders.newest(folder, without=self._given_up)
        for name in self._given_up:
            _log.warning("%s is given up: %d starts ended while they loaded it.", folder / name, ended[name])
        if checkpoint is not None:
            self._whole.add(checkpoint.name)
        elif not allow_new:
            _check_new(folder, earlier)
        self._start = records.record(
            folder, earlier, job=self._job, checkpoint=checkpoint, world_size=self._world_size
        )

    def _chosen(self, folder: Path) -> Start:
        """Return this start, whose file rank 0 has written before the barrier."""
        _check_mount(folder)
        found = records.starts(folder)
        if not found or found[-1].job != self._job or found[-1].loaded:
            raise CheckpointError(
                f"{folder} has no start of this job, {self._job}: the barrier did not wait for rank 0."
            )
        return found[-1]

    def _wait(self) -> None:
        if self._barrier is not None:
            self._barrier()

    def _remove_old(self, folder: Path) -> None:
        """Remove what is older than the checkpoints to keep, and what earlier starts did not complete.

        A failed removal is a warning.
        """
        kept = 0
        for checkpoint in folders.begun(folder):
            try:
                if kept >= self._keep or self._is_abandoned(checkpoint):
                    folders.remove(checkpoint)
                elif checkpoint.name not in self._given_up and self._is_whole(checkpoint):
                    kept += 1
            except OSError as error:
                _log.warning("the old checkpoint %s is not removed: %s", checkpoint.path, error)

    def _is_abandoned(self, checkpoint: Checkpoint) -> bool:
        """Return whether an earlier start, which has ended, did not complete a checkpoint."""
        if self._start is None or checkpoint.start >= self._start.start or checkpoint.name in self._whole:
            return False
        return not folders.has_marker(checkpoint)

    def _is_whole(self, checkpoint: Checkpoint) -> bool:
        """Return whether a checkpoint is whole. Each whole one is read once: a bucket is slow."""
        if checkpoint.name not in self._whole and folders.is_whole(checkpoint):
            self._whole.add(checkpoint.name)
        return checkpoint.name in self._whole


def _check_new(folder: Path, earlier: List[Start]) -> None:
    """Warn if a training begins at step 0 again. Raises CheckpointError if saved work would be lost."""
    marked = [each.name for each in folders.begun(folder) if folders.has_marker(each)]
    found = ""
    if marked:
        found = f"none can be used: {', '.join(marked)}. Files are damaged, or loading ended too often"
    elif any(each.step for each in earlier):
        resumed = max(earlier, key=lambda each: each.step)
        found = f"none is there now, but start {resumed.start} resumed from {resumed.checkpoint}"
    if found:
        raise CheckpointError(
            f"{folder} had checkpoints, and {found}. Restore one of them, or begin a new training with "
            "resume(..., allow_new=True)."
        )
    if earlier:
        _log.warning("start %d begins at step 0: no checkpoint is whole yet.", earlier[-1].start + 1)


def _folder(given: Union[str, Path, None], values: Mapping[str, str]) -> Optional[Path]:
    """Return the folder of the checkpoints, or None if none is given. Raises CheckpointError."""
    named = [("folder", os.fspath(given) if given is not None else "")]
    named += [(name, values.get(name, "").strip()) for name in VARIABLES]
    for name, location in named:
        if location:
            try:
                return Path(gcs_path(location))
            except ValueError as error:
                raise CheckpointError(f"{name}: {error}") from None
    return None


def _check_mount(folder: Path) -> None:
    """Raise CheckpointError if the folder is in a bucket and this machine does not show the bucket."""
    path = folder.as_posix()
    if not path.startswith(_MOUNT):
        return
    bucket = path[len(_MOUNT) :].split("/")[0]
    if Path(_MOUNT, bucket).is_dir():
        return
    missing = f"{_MOUNT}{bucket} is missing" if Path(_MOUNT).is_dir() else "/gcs is not mounted here"
    raise CheckpointError(
        f"{missing}, so checkpoints cannot be in gs://{path[len(_MOUNT) :]}. Check that the bucket exists "
        "and that the job's service account may use it. Some machines, such as a3-ultragpu-8g, had no mount: "
        "save to a local folder, Checkpoints('/tmp/checkpoints'), and copy it with Cloud Storage's library "
        "or gcloud, before resume and after each save."
    )


def _position(values: Mapping[str, str]) -> Tuple[int, int]:
    """Return the rank of this process among those that train, -1 if it does not, and their number.

    RANK and WORLD_SIZE count processes; they are set by Vertex AI and by torchrun. Otherwise there is one
    process for each replica.
    """
    rank, size = values.get("RANK", ""), values.get("WORLD_SIZE", "")
    if rank.isdigit() and size.isdigit():
        return int(rank), int(size)
    cluster = from_environment(values)
    ranks = trainers(cluster)
    return -1 if ranks.rank is None else ranks.rank, ranks.world_size
