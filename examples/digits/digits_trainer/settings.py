"""The settings of a run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Settings:
    data: Path
    epochs: int
    batch_size: int
    """Examples in a step over all trainers together."""
    learning_rate: float
    hidden: int
    seed: int
    timeout: float
    """Seconds that another trainer may take to arrive, or to answer."""
    evaluator_wait: float
    """Seconds that the chief gives an evaluator to score the last checkpoint."""
    model_dir: Path | None
    checkpoint_dir: Path | None
    resume_dir: Path | None
    """Folder from which the trainers continue, of this job and those before it."""
    job_id: str
    """Number of the job on Vertex AI; empty outside one."""

    def digest(self) -> bytes:
        """Return a SHA-256 digest of the settings that must be equal on all trainers."""
        shared = [self.epochs, self.batch_size, self.learning_rate, self.hidden, self.seed]
        return hashlib.sha256(repr(shared).encode()).digest()
