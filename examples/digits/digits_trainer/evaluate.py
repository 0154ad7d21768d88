"""The evaluator: scores every checkpoint on the held-out digits while the others train.

Its results are lines of JSON in evaluation.jsonl, next to the checkpoints. The job ends with the chief, and
Vertex AI then stops all other replicas, so the chief waits a little for the last line.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vertex_cluster import Cluster

from .allreduce import job_digest
from .data import Digits, load, split
from .errors import InputError
from .model import Network
from .settings import Settings
from .storage import list_checkpoints, load_checkpoint, replacing

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Evaluation:
    """A line of the results."""

    epoch: int
    loss: float
    accuracy: float
    checkpoint: str
    """Name of the file."""
    job: str
    """Digest of the job that wrote the checkpoint, in hexadecimal."""


def results_path(folder: Path, evaluator: int) -> Path:
    """Return the file of the evaluator with this index: evaluation.jsonl, evaluation-1.jsonl, ..."""
    return folder / (f"evaluation-{evaluator}.jsonl" if evaluator else "evaluation.jsonl")


def run(settings: Settings, cluster: Cluster) -> None:
    """Score checkpoints as they appear, until the one of the last epoch is scored.

    There is no time limit: if training fails, the job fails, and the service stops this replica. Raises
    InputError, OutputError.
    """
    if settings.checkpoint_dir is None:
        raise InputError(
            "The evaluator has no checkpoints to read. Give --checkpoint-dir or AIP_CHECKPOINT_DIR."
        )
    _, held_out = split(load(settings.data))
    network = Network(hidden=settings.hidden)
    job = job_digest(cluster, settings.job_id).hex()
    log.info(
        "evaluating the checkpoints in %s on %d held-out examples", settings.checkpoint_dir, len(held_out)
    )
    results: dict[int, Evaluation] = {}
    read: set[tuple[Path, int]] = set()
    while settings.epochs not in results:
        versions = [(path, path.stat().st_mtime_ns) for path in list_checkpoints(settings.checkpoint_dir)]
        unread = [version for version in versions if version not in read]
        for path, _ in unread:
            result = evaluate(path, network, held_out)
            if result.job == job:  # otherwise an earlier run left it, and the chief will replace it
                results[result.epoch] = result
                log.info(
                    "checkpoint %d/%d held-out loss %.4f accuracy %.4f",
                    result.epoch,
                    settings.epochs,
                    result.loss,
                    result.accuracy,
                )
        if unread:
            write_results(results_path(settings.checkpoint_dir, cluster.index), list(results.values()))
        else:
            time.sleep(POLL_SECONDS)
        read.update(unread)
    log.info("done: all %d checkpoints are scored", len(results))


def evaluate(path: Path, network: Network, held_out: Digits) -> Evaluation:
    """Score one checkpoint. Raises InputError if it is not a checkpoint of such a network."""
    checkpoint = load_checkpoint(path)
    if len(checkpoint.weights) != network.size:
        raise InputError(f"{path} is of another network. Give all worker pools the same --hidden.")
    score = network.score(checkpoint.weights, held_out.images, held_out.labels)
    return Evaluation(
        epoch=checkpoint.epoch,
        loss=score.loss,
        accuracy=score.accuracy,
        checkpoint=path.name,
        job=checkpoint.job,
    )


def wait_for_last(settings: Settings, cluster: Cluster) -> None:
    """Wait, on the chief, until an evaluator has scored the last epoch, if there is an evaluator.

    Gives up after `settings.evaluator_wait` seconds; that is not a failure, since the model is saved.
    """
    if not cluster.pools[3] or settings.checkpoint_dir is None:
        return
    job = job_digest(cluster, settings.job_id).hex()
    deadline = time.monotonic() + settings.evaluator_wait
    while time.monotonic() < deadline:
        for result in read_results(results_path(settings.checkpoint_dir, 0)):
            if result.job == job and result.epoch == settings.epochs:
                log.info("the evaluator has scored the last checkpoint: accuracy %.4f", result.accuracy)
                return
        time.sleep(POLL_SECONDS)
    log.info("the evaluator has not scored the last checkpoint within %g s", settings.evaluator_wait)


def write_results(path: Path, results: Sequence[Evaluation]) -> None:
    """Write the results, a line of JSON each. Raises OutputError."""
    with replacing(path) as file:
        file.writelines(f"{json.dumps(asdict(result))}\n".encode() for result in results)


def read_results(path: Path) -> list[Evaluation]:
    """Return the results so far, none without a file or with another program's."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Evaluation(**json.loads(line)) for line in lines]
    except (FileNotFoundError, ValueError, TypeError):
        return []
