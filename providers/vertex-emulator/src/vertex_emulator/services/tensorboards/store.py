"""The tables of tensorboards, their experiments, runs and time series, and of the points of time series."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Collection, Record, Records

POINT = f"{V1}.TimeSeriesDataPoint"
_LEVELS = (
    ("Tensorboard", "tensorboards"),
    ("TensorboardExperiment", "tensorboard_experiments"),
    ("TensorboardRun", "tensorboard_runs"),
    ("TensorboardTimeSeries", "tensorboard_time_series"),
)
"""The kind and the table of each level."""


_POINTS = (
    """
    CREATE TABLE tensorboard_points (
        series BLOB NOT NULL,
        step INTEGER NOT NULL,
        point BLOB NOT NULL,
        PRIMARY KEY (series, step)
    ) WITHOUT ROWID;
    """,
)


class Points:
    """The points of all time series, one for each step."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._message = type(descriptors.message(POINT))
        database.migrate("tensorboard points", _POINTS)

    def write(self, series: Record, points: Iterable[DynamicMessage]) -> None:
        """Store points; a point replaces the one of the same step."""
        key = _key(series)
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO tensorboard_points (series, step, point) VALUES (?, ?, ?)",
                ((key, each.step, each.SerializeToString()) for each in points),
            )

    def read(
        self, series: Record, *, after: int | None = None, most: int | None = None
    ) -> list[DynamicMessage]:
        """Return the points in the order of their steps."""
        rows = self._database.own_rows(
            "SELECT point FROM tensorboard_points WHERE series = ? AND step > ? ORDER BY step LIMIT ?",
            (_key(series), -(2**63) if after is None else after, -1 if most is None else most),
        )
        return [self._message.FromString(row["point"]) for row in rows]

    def sample(self, series: Record, most: int) -> list[DynamicMessage]:
        """Return at most that many points, evenly spread, with the last and, if there are two, the first."""
        key = _key(series)
        counted = "SELECT COUNT(*) AS number FROM tensorboard_points WHERE series = ?"
        count = int(self._database.own_rows(counted, (key,))[0]["number"])
        if count <= most:
            return self.read(series)
        if most == 1:
            return self.read(series)[-1:]
        rows = self._database.own_rows(
            "SELECT point FROM (SELECT point, step, row_number() OVER (ORDER BY step) - 1 AS place "
            "FROM tensorboard_points WHERE series = ?) WHERE place = 0 OR place = ? "
            "OR place * ? / ? != (place - 1) * ? / ? ORDER BY step",
            (key, count - 1, most - 1, count - 1, most - 1, count - 1),
        )
        return [self._message.FromString(row["point"]) for row in rows]

    def size(self, all_series: Iterable[Record]) -> int:
        """Return the size of the points of several time series in bytes."""
        total = 0
        for each in all_series:
            row = self._database.row(
                "SELECT COALESCE(SUM(length(point)), 0) AS size FROM tensorboard_points WHERE series = ?",
                (_key(each),),
            )
            total += int(row["size"]) if row else 0
        return total

    def delete(self, all_series: Iterable[Record]) -> None:
        """Delete the points of several time series."""
        with self._database.transaction() as connection:
            connection.executemany(
                "DELETE FROM tensorboard_points WHERE series = ?", ((_key(each),) for each in all_series)
            )

    def clear(self) -> None:
        """Delete all points."""
        self._database.execute("DELETE FROM tensorboard_points")


class TensorboardStore:
    """All tensorboards of one emulator, with everything below them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.tensorboards, self.experiments, self.runs, self.time_series = (
            Records(database, clock, Collection.of(f"{V1}.{noun}"), table=table) for noun, table in _LEVELS
        )
        self.points = Points(database)

    @property
    def levels(self) -> Sequence[Records]:
        """The tables of all levels, from the top."""
        return self.tensorboards, self.experiments, self.runs, self.time_series

    def series_below(self, record: Record) -> list[Record]:
        """Return all time series below a resource."""
        return list(self.time_series.below(record))

    def remove(self, records: Records, record: Record) -> None:
        """Delete a resource with everything below it."""
        with records.transaction():
            self.points.delete([*self.series_below(record), record])
            for each in self.levels[self.levels.index(records) + 1 :]:
                for below in list(each.below(record)):
                    each.delete(below.id, place=below.place)
            records.delete(record.id, place=record.place)

    def clear(self) -> None:
        """Delete everything."""
        with self.tensorboards.transaction():
            self.points.clear()
            for each in self.levels:
                each.clear()


def _key(series: Record) -> bytes:
    return hashlib.sha256(series.name.encode()).digest()[:16]
