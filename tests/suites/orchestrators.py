"""Suites of orchestrators that submit jobs: pinned versions, and what does not pass, with reasons."""

from __future__ import annotations

from suites.suite import Flows, Reason, Suite

_PYTEST = ("pytest==8.4.2", "pytest-timeout==2.4.0", "pytest-xdist==3.8.0")

SUITES: tuple[Suite, ...] = (
    Flows(
        name="xmanager",
        package="xmanager",
        requirements=(
            *_PYTEST,
            # Without PySocks, google-api-python-client ignores the proxy.
            *("xmanager==0.8.5.post1", "google-cloud-aiplatform==2.7.0", "PySocks==1.7.1"),
        ),
        tests=("flow_xmanager.py",),
        buckets=("of-xmanager",),
        variables=(("GOOGLE_CLOUD_BUCKET_NAME", "of-xmanager"),),
        setting="proxy",
        not_passed=(
            Reason(tests="H100", why="XManager asks for H100s on n1-standard-4, which cannot have them"),
        ),
    ),
    Flows(
        name="pipeline-components",
        package="google-cloud-pipeline-components",
        requirements=(
            *_PYTEST,
            *("google-cloud-pipeline-components==2.22.0", "google-cloud-aiplatform==1.165.1", "kfp==2.17.3"),
        ),
        tests=("flow_pipeline_components.py",),
        setting="proxy",
    ),
    Flows(
        name="prefect",
        package="prefect-gcp",
        requirements=(
            *_PYTEST,
            *("prefect-gcp[aiplatform,cloud_storage,secret_manager]==0.6.22", "prefect==3.9.1"),
            "google-cloud-aiplatform==2.7.0",
        ),
        tests=("flow_prefect.py",),
        buckets=("of-prefect",),
        variables=(("PREFECT_SERVER_ANALYTICS_ENABLED", "false"), ("PREFECT_HOME", "$HOME/prefect")),
        setting="proxy",
        workers=0,
    ),
)
"""The suites of this topic."""

NOT_RUN = (
    (
        "the own tests of google-cloud-pipeline-components",
        "its wheel has none: `tests/suites/flows` has tests of its launchers",
    ),
    ("XManager's own tests", "they mock Vertex AI: `tests/suites/flows` has tests of its client"),
    ("Vertex AI Pipelines (`PipelineJob`)", "refused by name"),
)
"""The suites that are left out whole, with the reason."""
