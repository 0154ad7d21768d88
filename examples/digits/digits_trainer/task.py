"""The entry point of every replica: ``python -m digits_trainer.task --data gs://bucket/digits.csv.gz``.

The same program with the same arguments runs in all worker pools; CLUSTER_SPEC says which part is its own.
Exit codes: 0 done, 1 something failed while running, 2 wrong input, 143 stopped by SIGTERM (an evaluator: 0).
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import vertex_cluster
from vertex_cluster import Cluster
from vertex_cluster.checkpoints import CheckpointError

from . import evaluate, train
from .errors import InputError, OutputError, PeerError, Terminated
from .settings import Settings

log = logging.getLogger(__name__)

_RESUME_DIR = "VERTEX_CLUSTER_CHECKPOINT_DIR"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run this replica's part. Return the exit code."""
    role = ""
    try:
        # Without a handler a process that is the first of its container would ignore the signal.
        signal.signal(signal.SIGTERM, _terminate)
        _log_at_once()
        settings = parse(arguments, os.environ)
        cluster = vertex_cluster.from_environment(os.environ)
        role = cluster.role
        log.info("%s: %s", cluster.name, _described(cluster))
        if role == "parameter_server":
            raise InputError(
                "This program has no use for parameter servers, because its trainers add up their gradients "
                "themselves. Leave the third worker pool empty."
            )
        if role == "evaluator":
            evaluate.run(settings, cluster)
        else:
            train.run(settings, cluster)
        _ignore_sigterm()
    except (InputError, vertex_cluster.ClusterError) as error:
        return _failed(error, 2)
    except (PeerError, OutputError, CheckpointError, OSError) as error:
        return _failed(error, 1)
    except Terminated:
        log.info("stopped by SIGTERM")
        return 0 if role == "evaluator" else 143
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    return 0


def parse(arguments: Sequence[str] | None, environ: Mapping[str, str]) -> Settings:
    """Read arguments and environment. Raises InputError for an unreachable location.

    argparse ends the process for wrong usage.
    """
    parser = argparse.ArgumentParser(
        prog="python -m digits_trainer.task",
        description="Trains a network on handwritten digits, together with the other replicas of the job.",
        epilog="Places are gs://bucket/name, /gcs/bucket/name, or any local path.",
    )
    parser.add_argument("--data", required=True, help="the CSV file of the digits, plain or .gz")
    parser.add_argument(
        "--epochs", type=_positive(int), default=20, help="passes over the data (%(default)s)"
    )
    parser.add_argument(
        "--batch-size",
        type=_positive(int),
        default=30,
        help="examples per step, over all trainers (%(default)s)",
    )
    parser.add_argument("--learning-rate", type=_positive(float), default=0.2, help="(%(default)s)")
    parser.add_argument(
        "--hidden", type=_positive(int), default=64, help="units in the hidden layer (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=_positive(int), default=1, help="of the first weights and the order (%(default)s)"
    )
    parser.add_argument("--model-dir", help="where the chief saves the model (AIP_MODEL_DIR)")
    parser.add_argument("--checkpoint-dir", help="where it saves one file per epoch (AIP_CHECKPOINT_DIR)")
    parser.add_argument("--resume-dir", help=f"where it saves its state, and continues from ({_RESUME_DIR})")
    parser.add_argument(
        "--timeout",
        type=_positive(float),
        default=120.0,
        help="seconds to wait for another trainer (%(default)s)",
    )
    parser.add_argument(
        "--evaluator-wait",
        type=_positive(float),
        default=30.0,
        help="seconds that the chief waits at the end for the evaluator (%(default)s)",
    )
    options = parser.parse_args(arguments)
    return Settings(
        data=_place("--data", options.data),
        epochs=options.epochs,
        batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        hidden=options.hidden,
        seed=options.seed,
        timeout=options.timeout,
        evaluator_wait=options.evaluator_wait,
        model_dir=_optional_place("--model-dir", options.model_dir, environ, "AIP_MODEL_DIR"),
        checkpoint_dir=_optional_place(
            "--checkpoint-dir", options.checkpoint_dir, environ, "AIP_CHECKPOINT_DIR"
        ),
        resume_dir=_optional_place("--resume-dir", options.resume_dir, environ, _RESUME_DIR),
        job_id=environ.get("CLOUD_ML_JOB_ID", ""),
    )


def _place(option: str, value: str) -> Path:
    """Convert a gs:// URI to the path below /gcs where the bucket is mounted; keep other paths."""
    try:
        path = vertex_cluster.gcs_path(value)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None
    if path.startswith("/gcs/"):
        bucket = path.split("/")[2]
        if not Path("/gcs", bucket).is_dir():
            raise InputError(
                f"{option}: the bucket {bucket} is not mounted at /gcs/{bucket}. Check its name, and that "
                "the job's service account may read it. Outside a job, give a local path."
            )
    return Path(path)


def _optional_place(option: str, value: str | None, environ: Mapping[str, str], variable: str) -> Path | None:
    if value:
        return _place(option, value)
    inherited = environ.get(variable)
    return _place(variable, inherited) if inherited else None


def _positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Return a type for argparse: a number of this kind above 0."""

    def parsed(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    parsed.__name__ = kind.__name__  # argparse says "invalid int value"
    return parsed


def _described(cluster: Cluster) -> str:
    pools = zip(vertex_cluster.ROLES, cluster.pools, strict=True)
    sizes = ", ".join(f"{len(pool)} {role.replace('_', ' ')}" for role, pool in pools if pool)
    return f"{cluster.role.replace('_', ' ')} in a job of {sizes}"


def _log_at_once() -> None:
    """Write every log line at once; errors to stderr, which Cloud Logging shows as errors."""
    out, err = logging.StreamHandler(sys.stdout), logging.StreamHandler(sys.stderr)
    out.addFilter(lambda record: record.levelno < logging.ERROR)
    err.setLevel(logging.ERROR)
    logging.basicConfig(format="%(message)s", level=logging.INFO, handlers=[out, err])


def _failed(reason: object, code: int) -> int:
    _ignore_sigterm()
    log.error("error: %s", " ".join(str(reason).split()))
    return code


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    _ignore_sigterm()
    raise Terminated


def _ignore_sigterm() -> None:
    """Ignore SIGTERM, so that a late stop by the service does not change the exit code."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
