"""Where an emulator has the resources of Vertex AI, and what a reset leaves of them."""

from __future__ import annotations

import sqlite3

from support.emulated.job_emulator import PARENT
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

PLACE = f"projects/{project_number('local')}/locations/us-central1"


KINDS = {
    "hyperparameterTuningJobs": 1,
    "trainingPipelines": 1,
    "models": 1,
    "datasets": 2,
    "persistentResources": 1,
    "logEntries": 2,
}
VIEWS = {
    "tuning jobs": f"{PARENT}/hyperparameterTuningJobs",
    "pipelines": f"{PARENT}/trainingPipelines",
    "models": f"{PARENT}/models",
    "versions": f"{PARENT}/models/digits:listVersions",
    "an alias": f"{PARENT}/models/digits@golden",
    "datasets": f"{PARENT}/datasets",
    "persistent resources": f"{PARENT}/persistentResources",
    "logs": "/v2/projects/local/logs",
}


def rows_left(daemon: Daemon) -> dict[str, int]:
    """Return the tables that have rows, except for the emulator's own settings."""
    with sqlite3.connect(daemon.folder.database) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {each: database.execute(f"SELECT COUNT(*) FROM {each}").fetchone()[0] for each in tables}
    database.close()
    return {name: count for name, count in counts.items() if count and name not in SETTINGS}


SETTINGS = ("settings", "schema_versions", "sqlite_sequence")
