"""The values of the arguments that differ between runs, with secrets hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs import secret_arguments
from pulumi_vertex_training.views.jobs.hidden_values import SHOWN
from vertex_training.topology.difference import by_flag

_LONGEST = 60
"""Characters of a value in a table."""

_POOLS = ("chief", "workers", "servers", "evaluators")


@dataclass(frozen=True, kw_only=True)
class ArgumentRow:
    """An argument that differs. `flag` is "" for the arguments before the first flag.

    `pools` are the names of the pools that have these values, empty if they are the same in all pools.
    `values` has an entry for each run: None for a run without the argument, and `SHOWN` for a secret.
    """

    flag: str
    pools: tuple[str, ...]
    values: tuple[str | None, ...]

    @property
    def name(self) -> str:
        """The heading of the row, such as "--rate", or "workers --rate"."""
        flag = self.flag or "arguments"
        return f"{', '.join(self.pools)} {flag}" if self.pools else flag

    @property
    def cells(self) -> tuple[str, ...]:
        """The values as cells of a table: shortened, "-" for an absent one, "yes" for a flag alone."""
        return tuple("-" if value is None else _shortened(value) or "yes" for value in self.values)


def differing(records: Sequence[JobRecord]) -> tuple[ArgumentRow, ...]:
    """Return the arguments whose values differ between the jobs of these records.

    An argument with the same values in every pool has one row. Where a run lacks a pool, the chief's values
    count as the pool's.
    """
    runs = [_values(record) for record in records]
    flags = dict.fromkeys(flag for pools in runs for values in pools.values() for flag in values)
    pools = sorted({pool for each in runs for pool in each})
    rows: list[ArgumentRow] = []
    for flag in flags:
        groups: dict[tuple[_Value | None, ...], list[int]] = {}
        for pool in pools:
            values = tuple(each.get(pool, each.get(0, {})).get(flag) for each in runs)
            if any(value is not None for value in values):
                groups.setdefault(values, []).append(pool)
        rows += [
            ArgumentRow(
                flag=flag,
                pools=tuple(_POOLS[pool] for pool in same) if len(groups) > 1 else (),
                values=tuple(value.shown if value else None for value in values),
            )
            for values, same in groups.items()
            if len(set(values)) > 1
        ]
    return tuple(rows)


@dataclass(frozen=True, kw_only=True)
class _Value:
    """The value of an argument, and the same without secrets."""

    text: str
    shown: str


def _values(record: JobRecord) -> dict[int, Mapping[str, _Value]]:
    """Return the values of each flag of each pool that has a task."""
    found: dict[int, Mapping[str, _Value]] = {}
    for pool, wire in enumerate(secret_arguments.pools_of(record.wire)[: len(_POOLS)]):
        arguments = secret_arguments.arguments_of(secret_arguments.task_of(wire))
        shown = [
            _hidden(text) if secret_arguments.is_secret(record.labels, pool=pool, number=number) else text
            for number, text in enumerate(arguments)
        ]
        if shown:
            visible = by_flag(shown)
            found[pool] = {
                flag: _Value(text=" ".join(values), shown=" ".join(visible.get(flag, (SHOWN,))))
                for flag, values in by_flag(arguments).items()
            }
    return found


def _hidden(argument: str) -> str:
    """Return a secret argument without its value: "--token=x" keeps its flag."""
    flag, equals, _ = argument.partition("=")
    return f"{flag}={SHOWN}" if equals and flag.startswith("-") else SHOWN


def _shortened(text: str) -> str:
    text = " ".join(text.split()) if "\n" in text else text  # such as a script
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
