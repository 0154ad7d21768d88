"""Tuning jobs in the text of programs."""

from __future__ import annotations

REPORT = "import hypertune as h; h.HyperTune().report_hyperparameter_tuning_metric('loss', 1, 1)"
"""The code of a trial that reports a loss."""


def one_trial(job: str) -> str:
    """Return a tuning job of one trial, named search, whose trial is the job in `job`, as code."""
    return f"""vt.HyperparameterTuningJob(
    "search",
    study_spec={{
        "metrics": [{{"metric_id": "loss", "goal": "MINIMIZE"}}],
        "parameters": [{{"parameter_id": "x", "discrete_value_spec": {{"values": [1]}}}}],
        "algorithm": "GRID_SEARCH",
    }},
    max_trial_count=1,
    parallel_trial_count=1,
    trial_job_spec={job},
    wait="done",
)"""
