"""The parity page's rows of tuning jobs."""

from __future__ import annotations

from google.cloud.aiplatform_v1 import types as api

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from support.parity.page import Row, Section

API = "API reference"
GUIDE = '"Create a hyperparameter tuning job"'

JOBS = "tests/vertex_emulator/tuning_jobs/test_tuning_jobs.py"
ENDS = "tests/vertex_emulator/tuning_jobs/test_ends_of_trials.py"
SEARCHES = "tests/vertex_emulator/tuning_jobs/test_searches.py"
STOPPING = "tests/vertex_emulator/tuning_jobs/test_early_stopping.py"
MEASUREMENTS = "tests/vertex_emulator/tuning_jobs/test_measurements.py"
METRICS = "tests/vertex_emulator/tuning_jobs/test_metric_files.py"
RULES = "tests/vertex_emulator/tuning_jobs/test_study_rules.py"
RECOVERY = "tests/vertex_emulator/tuning_jobs/test_tuning_recovery.py"
FIDELITY = "tests/pulumi_vertex_training/cloud/fidelity/test_fidelity_tuning_jobs.py"
SDK = "tests/clients/vertex/test_sdk_tuning_and_resources.py"
GCLOUD = "tests/clients/vertex/test_gcloud_other_kinds.py"

TUNING_JOBS = Section(
    title="Tuning jobs",
    message=api.HyperparameterTuningJob,
    leave_out=frozenset(HyperparameterTuningJobSpec.SERVER_OWNED),
    rows=(
        Row(
            feature="requests",
            google="accepts the requests of its own clients",
            likeness="same",
            here="our gateway sends what Google's generated client and the SDK send for the same job",
            source="requests recorded from those clients",
            tests=(
                f"{FIDELITY}::test_a_job_with_everything",
                f"{FIDELITY}::test_what_we_send_has_every_field_of_the_installed_api",
                f"{FIDELITY}::test_a_job",
            ),
        ),
        Row(
            feature="create, get, list, cancel, delete",
            google="returns a job as it was created, and refuses calls that its state does not allow",
            likeness="same",
            here="every field is returned; the trials' custom jobs are deleted with the job",
            source=API,
            tests=(
                f"{JOBS}::test_a_job_is_answered_as_it_was_created",
                f"{JOBS}::test_jobs_are_listed_by_filter",
                f"{JOBS}::test_a_cancelled_job_stops_its_trials",
                f"{JOBS}::test_deletion",
            ),
            fields=("display_name", "labels"),
        ),
        Row(
            feature="trials",
            google="runs each as a custom job, several at a time, with arguments and a directory of its own",
            likeness="same",
            here="each is a custom job of real processes, distributed ones too",
            source=GUIDE,
            tests=(
                f"{JOBS}::test_twenty_trials_four_at_a_time",
                f"{JOBS}::test_a_trial_is_a_custom_job",
                f"{JOBS}::test_the_environment_of_a_trial",
                f"{MEASUREMENTS}::test_an_argument",
            ),
            fields=("max_trial_count", "parallel_trial_count", "trial_job_spec", "study_spec.parameters"),
        ),
        Row(
            feature="metrics",
            google="reads the reports of cloudml-hypertune while the program runs",
            likeness="same",
            here="the chief's reports, in every kind of sandbox",
            source=GUIDE,
            tests=(
                f"{METRICS}::test_a_report_of_the_public_package_is_read",
                f"{JOBS}::test_trials_and_measurements_grow_as_they_run",
                f"{JOBS}::test_several_metrics",
                f"{ENDS}::test_a_metric_file_of_garbage_breaks_nothing",
            ),
            fields=("study_spec.metrics",),
        ),
        Row(
            feature="the measurement that counts",
            google="the last, or the best",
            likeness="same",
            here="the last by default, the best if the study requests it",
            source=API,
            tests=(
                f"{MEASUREMENTS}::test_the_measurement_that_counts",
                f"{JOBS}::test_the_best_measurement_counts_where_the_study_says_so",
            ),
            fields=("study_spec.measurement_selection_type",),
        ),
        Row(
            feature="grid search",
            google="tries every combination",
            likeness="same",
            here="in the order of the study; the job ends when the grid is used up",
            source=API,
            tests=(
                f"{SEARCHES}::test_a_grid_has_every_combination_in_the_order_of_the_study",
                f"{SEARCHES}::test_a_grid_has_conditional_parameters_only_where_they_are_active",
                f"{JOBS}::test_a_grid_that_is_used_up_ends_the_job",
            ),
            fields=("study_spec.algorithm",),
        ),
        Row(
            feature="random search",
            google="draws values by the scale of each parameter",
            likeness="like",
            here="seeded: the same seed gives the same trials",
            source=API,
            tests=(
                f"{SEARCHES}::test_half_of_the_random_values_lie_below_the_middle_of_the_scale",
                f"{SEARCHES}::test_the_same_seed_gives_the_same_trials",
            ),
        ),
        Row(
            feature="Bayesian search",
            google="Vizier's algorithm, the default",
            likeness="like",
            here="Optuna's algorithm, seeded; it beats random search in a test",
            source=API,
            tests=(
                f"{SEARCHES}::test_bayesian_search_beats_random_search",
                f"{SEARCHES}::test_bayesian_search_does_not_suggest_what_is_running",
                f"{SEARCHES}::test_a_safety_metric_keeps_the_search_on_the_safe_side",
            ),
        ),
        Row(
            feature="early stopping",
            google="stops unpromising trials, by one of three rules",
            likeness="like",
            here="all three rules with their documented fields; a real process is stopped",
            source=API,
            tests=(
                f"{STOPPING}::test_a_bad_trial_is_stopped",
                f"{STOPPING}::test_the_median_is_of_averages_up_to_the_same_step",
                f"{STOPPING}::test_a_decay_curve_is_given_up_once_it_is_known_well_enough",
                f"{ENDS}::test_early_stopping_stops_a_real_process",
            ),
            fields=(
                "study_spec.decay_curve_stopping_spec",
                "study_spec.median_automated_stopping_spec",
                "study_spec.convex_automated_stopping_spec",
            ),
        ),
        Row(
            feature="the end of a study",
            google="by trials, time or missing progress",
            likeness="same",
            here="by the emulator's clock",
            source=API,
            tests=(
                f"{ENDS}::test_a_study_stops_after_so_many_trials",
                f"{ENDS}::test_trials_end_after_the_duration_of_the_study",
                f"{ENDS}::test_a_study_without_progress_stops",
                f"{RULES}::test_a_study_of_three_trials_after_ten_minutes",
            ),
            fields=("study_spec.study_stopping_config",),
        ),
        Row(
            feature="failed trials",
            google="infeasible; the job fails after a number of them, by default if the first trial fails",
            likeness="like",
            here="the same; further thresholds of the default are ours",
            source=GUIDE,
            tests=(
                f"{ENDS}::test_a_trial_that_fails_is_infeasible_and_the_job_goes_on",
                f"{ENDS}::test_so_many_failed_trials_fail_the_job",
                f"{ENDS}::test_a_first_trial_that_fails_ends_the_job",
            ),
            fields=("max_failed_trial_count",),
        ),
        Row(
            feature="observation noise",
            google="Vizier uses it, tuning jobs do not",
            likeness="same",
            here="accepted and not used",
            source=API,
            tests=(f"{RULES}::test_what_only_vizier_uses_is_accepted",),
            fields=("study_spec.observation_noise",),
        ),
        Row(
            feature="encryption keys of tuning jobs",
            google="encrypts the trials' data on their machines",
            likeness="not",
            here="nothing is encrypted",
            source=API,
            tests=(f"{JOBS}::test_a_job_is_answered_as_it_was_created",),
            fields=("encryption_spec",),
        ),
        Row(
            feature="a killed emulator, with trials running",
            google="continues by itself",
            likeness="like",
            here="the next start continues; no trial runs twice and no measurement is lost",
            source="ours: a restart of the service is invisible",
            tests=(
                f"{RECOVERY}::test_an_emulator_that_is_killed_again_and_again",
                f"{RECOVERY}::test_a_kill_around_the_creation_of_a_custom_job",
            ),
        ),
        Row(
            feature="clients of tuning jobs",
            google="the SDK, gcloud ai hp-tuning-jobs",
            likeness="same",
            here="they work unchanged",
            source="the clients themselves",
            tests=(
                f"{SDK}::test_tuning_jobs",
                f"{GCLOUD}::test_hp_tuning_jobs_create",
                f"{GCLOUD}::test_hp_tuning_jobs_stream_logs",
            ),
        ),
    ),
)
