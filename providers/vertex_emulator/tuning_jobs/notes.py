"""What the emulator keeps about tuning jobs beside what the API tells: tables of its own.

The id of a trial's custom job is noted before the job is created, so that after a crash it is found again and
nothing runs twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vertex_emulator.kernel.database import Database
from vertex_emulator.tuning_jobs.metric_file import Seen

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
    """Of one trial: the id of its custom job, the lines of its metric file that have been read, the names of
    metrics in it that the study does not have, and what stopped it: "job", with the job, "rule", early, or
    "predicted", early and its last measurement is a prediction.
    """

    custom_job: str
    seen: Seen = field(default_factory=Seen)
    names: tuple[str, ...] = ()
    stopped: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyNote:
    """Of one tuning job: the seed of its search, variables for its trials, and why the study has stopped."""

    seed: int
    variables: Mapping[str, str] = field(default_factory=dict)
    stopped: str = ""
    trials: Mapping[int, TrialNote] = field(default_factory=dict)

    def with_trial(self, number: int, note: TrialNote) -> StudyNote:
        """The same with a trial's note."""
        return replace(self, trials={**self.trials, number: note})


class Notes:
    """The notes of all tuning jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("tuning jobs", _SCHEMA)

    def read(self, job_id: str) -> StudyNote:
        """The note of a tuning job that there is."""
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
        """Keep a note; of the trials those that are not as `before`."""
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
        """Forget a tuning job."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM tuning_studies WHERE job = ?", (job_id,))
            connection.execute("DELETE FROM tuning_trials WHERE job = ?", (job_id,))

    def clear(self) -> None:
        """Forget all."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM tuning_studies")
            connection.execute("DELETE FROM tuning_trials")
