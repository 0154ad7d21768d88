"""The parity page's rows of Cloud Scheduler and Workflows."""

from __future__ import annotations

from support.parity.page import Row, Section

SCHEDULER = "tests/vertex_emulator/cloud_scheduler/test_cloud_scheduler.py"
WORKFLOWS = "tests/vertex_emulator/workflows/test_workflows.py"
API = "API reference"

SCHEDULES = Section(
    title="Schedules",
    rows=(
        Row(
            feature="jobs of Cloud Scheduler",
            google="create, get, list, patch, delete, pause, resume, run",
            likeness="like",
            here="the same methods, over gRPC and REST; the clock of the emulator decides when a job is due",
            source=API,
            tests=(
                f"{SCHEDULER}::test_a_job_calls_at_each_time_of_its_schedule",
                f"{SCHEDULER}::test_a_paused_job_calls_only_on_demand",
                f"{SCHEDULER}::test_an_update_replaces_the_fields_of_its_mask",
                f"{SCHEDULER}::test_jobs_are_listed_by_name_and_deleted",
                f"{SCHEDULER}::test_jobs_survive_the_emulator_and_make_up_for_nothing",
            ),
        ),
        Row(
            feature="cron expressions",
            google="five fields, or an English format; a change of daylight saving time may cause anomalies",
            likeness="like",
            here="five fields; a time in the gap is due after it, a time that occurs twice is due once",
            source=API,
            tests=(
                "tests/vertex_training/fields/test_cron.py::test_it_is_not_valid",
                "tests/vertex_training/fields/test_cron.py::test_the_next_times_are_in_the_time_zone",
                f"{SCHEDULER}::test_an_invalid_job_is_rejected",
            ),
        ),
        Row(
            feature="retries of Cloud Scheduler",
            google="repeats a failed call, with growing pauses",
            likeness="like",
            here="the same; max_retry_duration is not used, because there are at most five retries",
            source=API,
            tests=(f"{SCHEDULER}::test_a_failed_call_is_recorded_and_tried_again",),
        ),
        Row(
            feature="targets of Cloud Scheduler",
            google="HTTP, Pub/Sub, App Engine",
            likeness="not",
            here="only the APIs of Google that the emulator serves; no token is checked",
            source=API,
            tests=(f"{SCHEDULER}::test_another_target_is_not_implemented",),
        ),
        Row(
            feature="workflows and executions",
            google="deploys, revises and runs definitions in YAML or JSON",
            likeness="like",
            here="one workflow main with assign, call, switch, for, try, next, return, raise; http.get, "
            "http.post, sys.sleep and sys.log; a sleep by the clock, only in main itself",
            source=API,
            tests=(
                f"{WORKFLOWS}::test_steps_assign_decide_and_return",
                f"{WORKFLOWS}::test_a_call_reads_vertex_ai",
                f"{WORKFLOWS}::test_an_error_is_handled_or_ends_the_execution",
                f"{WORKFLOWS}::test_a_sleep_ends_by_the_clock",
                f"{WORKFLOWS}::test_executions_are_listed_newest_first_by_state_and_cancelled",
                f"{WORKFLOWS}::test_an_update_makes_a_revision_and_running_executions_keep_theirs",
                f"{WORKFLOWS}::test_a_sleeping_execution_survives_the_emulator",
            ),
        ),
        Row(
            feature="other steps and connectors of Workflows",
            google="subworkflows, parallel steps, callbacks, connectors",
            likeness="not",
            here="UNIMPLEMENTED, by name",
            source=API,
            tests=(
                f"{WORKFLOWS}::test_a_definition_that_cannot_run_is_rejected",
                f"{WORKFLOWS}::test_a_call_elsewhere_fails",
            ),
        ),
    ),
)
