"""The rows of a job below the table of resources: which are shown, when, and how wide they are."""

from __future__ import annotations

from pulumi_vertex_training import urns
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.core.running.output.rows_below import WIDEST, RowsBelow, row_urn, short
from pulumi_vertex_training.runs.monitoring.progress import Report
from support.tables import every_row

COUNTS = Counts("5/5")


class Clock:
    """A wait whose time passes as a test says, and the texts of its rows."""

    def __init__(self, jobs: set[str] | None = None, *, name: str = "train", cancels: bool = False) -> None:
        self.now = 0.0
        self.shown: list[str] = []
        self.rows = RowsBelow(
            f"urn:pulumi:dev::digits::acme:index:Job::{name}",
            lambda urn, _: self.shown.append(urns.parse(urn).types),
            cancels=cancels,
            jobs=set() if jobs is None else jobs,
            clock=lambda: self.now,
        )

    def look(self, *, seconds: float, percent: float | None = None) -> list[str]:
        """Let time pass, look at the job, and return the new rows."""
        self.now += seconds
        self.shown.clear()
        report = None if percent is None else Report(step=percent, total=100, metrics={"loss": 1.71})
        self.rows.note(COUNTS, report)
        return list(self.shown)


def test_a_job_that_is_what_is_waited_for_at_the_first_look_has_no_row() -> None:
    assert Clock().look(seconds=0) == []


def test_the_command_comes_first_then_the_effect_of_an_interruption() -> None:
    wait = Clock()
    wait.look(seconds=0)
    assert wait.look(seconds=0.1, percent=30) == ["vertex-training watch"]
    assert wait.look(seconds=4) == ["Ctrl-C leaves it running"]
    at_once = Clock(cancels=True)
    at_once.look(seconds=0)
    assert at_once.look(seconds=0.1) == ["vertex-training watch", "Ctrl-C cancels it"]


def test_each_quarter_has_a_row_and_the_end_has_none() -> None:
    wait = Clock()
    for _ in range(3):
        wait.look(seconds=2)
    looks = [wait.look(seconds=0.1, percent=percent) for percent in (20, 28, 30, 49, 76, 77, 100)]
    assert looks == [[], ["28% loss 1.71 5/5"], [], [], ["76% loss 1.71 5/5"], [], []]


def test_without_a_report_the_minutes_have_rows_that_become_fewer() -> None:
    wait = Clock()
    wait.look(seconds=0)
    rows = [wait.look(seconds=60) for _ in range(24 * 60)]
    minutes = [minute for minute, new in enumerate(rows, 1) if any(row.endswith(" 5/5") for row in new)]
    assert minutes == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def test_a_table_of_many_jobs_gets_the_rows_of_four() -> None:
    jobs: set[str] = set()
    waits = [Clock(jobs, name=f"job-{number}") for number in range(6)]
    for wait in waits:
        wait.look(seconds=0)
    assert [bool(wait.look(seconds=1)) for wait in waits] == [True] * 4 + [False] * 2


REPORT = Report(step=28, total=100, seconds_per_step=0.25, metrics={"loss": 1.71, "accuracy": 0.5})


@every_row(
    "counts, report, text",
    (
        (COUNTS, REPORT, "28% 18s left loss 1.71 5/5"),
        (COUNTS, Report(step=12, metrics={"loss": 1.71}), "2m05s step 12 loss 1.71 5/5"),
        (Counts(), None, "2m05s"),
        (COUNTS, Report(step=28, total=100, metrics={"a_metric_with_quite_a_long_name": 1.0}), "28% 5/5"),
    ),
)
def test_the_text_has_the_shortest_first_and_what_does_not_fit_is_left_out(counts, report, text):
    assert short(counts, report, 125) == text
    assert len(text) <= WIDEST


def test_a_row_has_the_stack_and_the_name_of_its_job() -> None:
    urn = "urn:pulumi:dev::digits::acme:index:Team$vertex-training:index:CustomJob::a::b"
    found = row_urn(urn, "28% a:b::c$d 5/5")
    assert found == "urn:pulumi:dev::digits::28% a b c d 5/5::a::b"
