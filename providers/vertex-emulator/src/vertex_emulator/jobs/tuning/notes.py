"""The emulator's internal data of tuning jobs, which the API does not return.

The ID of a trial's custom job is stored before the job is created. After a crash, the job is found by this
ID, so that no trial runs twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vertex_emulator.jobs.tuning.metric_file import Seen
from vertex_emulator.kernel.database import Database

_SCHEMA = (
    """
    CREATE TABLE tuning_studies (
        job TEXT PRIMARY KEY,
        seed TEXT NOT NULL,
        variables TEXT NOT NULL,
        stopped TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE tuning_trials (
        job TEXT NOT NULL,
        trial INTEGER NOT NULL,
        custom_job TEXT NOT NULL,
        seen TEXT NOT NULL,
        names TEXT NOT NULL,
        stopped TEXT NOT NULL,
        PRIMARY KEY (job, trial)
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class TrialNote:
    """Internal data of one trial.

    `custom_job` is the ID of its custom job, `seen` the lines of its metric file that were read, and `names`
    the metrics in it that the study does not have. `stopped` is "job" if it was stopped with the job, "rule"
    if it was stopped early, and "predicted" if its last measurement is then a prediction.
    """

    custom_job: str
    seen: Seen = field(default_factory=Seen)
    names: tuple[str, ...] = ()
    stopped: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyNote:
    """Internal data of one tuning job.

    `seed` is its search's, `variables` are for its trials, and `stopped` is the reason why the study
    stopped.
    """

    seed: int
    variables: Mapping[str, str] = field(default_factory=dict)
    stopped: str = ""
    trials: Mapping[int, TrialNote] = field(default_factory=dict)

    def with_trial(self, number: int, note: TrialNote) -> StudyNote:
        """Return a copy with a trial's note."""
        return replace(self, trials={**self.trials, number: note})


class Notes:
    """The notes of all tuning jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("tuning jobs", _SCHEMA)

    def read(self, job_id: str) -> StudyNote:
        """Return the note of a tuning job. Raises KeyError if there is no such job."""
        row = self._database.row("SELECT * FROM tuning_studies WHERE job = ?", (job_id,))
        if row is None:
            raise KeyError(job_id)
        trials = self._database.rows("SELECT * FROM tuning_trials WHERE job = ? ORDER BY trial", (job_id,))
        return StudyNote(
            seed=int(row["seed"]),
            variables=json.loads(row["variables"]),
            stopped=row["stopped"],
            trials={
                each["trial"]: TrialNote(
                    custom_job=each["custom_job"],
                    seen=Seen.from_json(each["seen"]),
                    names=tuple(json.loads(each["names"])),
                    stopped=each["stopped"],
                )
                for each in trials
            },
        )

    def write(self, job_id: str, note: StudyNote, before: StudyNote | None = None) -> None:
        """Store a note, and the notes of trials that differ from `before`."""
        known = before.trials if before is not None else {}
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO tuning_studies (job, seed, variables, stopped) VALUES (?, ?, ?, ?)",
                (job_id, str(note.seed), json.dumps(dict(note.variables)), note.stopped),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO tuning_trials (job, trial, custom_job, seen, names, stopped) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        job_id,
                        number,
                        each.custom_job,
                        each.seen.to_json(),
                        json.dumps(each.names),
                        each.stopped,
                    )
                    for number, each in note.trials.items()
                    if known.get(number) != each
                ],
            )

    def delete(self, job_id: str) -> None:
        """Delete the notes of a tuning job."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM tuning_studies WHERE job = ?", (job_id,))
            connection.execute("DELETE FROM tuning_trials WHERE job = ?", (job_id,))

    def clear(self) -> None:
        """Delete all notes."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM tuning_studies")
            connection.execute("DELETE FROM tuning_trials")
