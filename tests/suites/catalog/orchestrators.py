"""Suites of orchestrators that submit jobs: pinned versions, and what does not pass, with reasons."""

from __future__ import annotations

from suites.suite import Flows, Reason, Source, Suite

_PYTEST = ("pytest==8.4.2", "pytest-timeout==2.4.0", "pytest-xdist==3.8.0")

_AIRFLOW = Source(
    distribution="apache-airflow-providers-google",
    version="22.8.0",
    folder="tests/system/google/cloud/vertex_ai",
)

SUITES: tuple[Suite, ...] = (
    Flows(
        name="xmanager",
        package="xmanager",
        smoke="test_a_job",
        large=True,
        requirements=(
            *_PYTEST,
            # Without PySocks, google-api-python-client ignores the proxy.
            *("xmanager==0.8.5.post1", "google-cloud-aiplatform==2.7.0", "PySocks==1.7.1"),
        ),
        tests=("flow_xmanager.py",),
        workers=0,  # each test changes the project's policy, and two at once are refused
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
        smoke="test_custom_job",
        large=True,
        requirements=(
            *_PYTEST,
            *("google-cloud-pipeline-components==2.22.0", "google-cloud-aiplatform==1.165.1", "kfp==2.17.3"),
        ),
        tests=("flow_pipeline_components.py",),
        setting="proxy",
    ),
    Flows(
        name="airflow",
        package="apache-airflow-providers-google",
        smoke="test_custom_job",
        large=True,  # 2 GB
        requirements=(*_PYTEST, "apache-airflow==3.3.2", f"{_AIRFLOW.distribution}=={_AIRFLOW.version}"),
        tests=("flow_airflow.py",),
        examples=_AIRFLOW,
        buckets=("of-airflow", "airflow-system-tests-resources"),
        variables=(
            ("AIRFLOW_HOME", "$HOME/airflow"),
            ("AIRFLOW__CORE__LOAD_EXAMPLES", "False"),
            ("AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT", "google-cloud-platform://?project=local"),
            ("SYSTEM_TESTS_GCP_PROJECT", "local"),
            ("SYSTEM_TESTS_ENV_ID", "test"),
        ),
        wheels=("setuptools==80.9.0",),
        left_out=(
            Reason(tests="example_vertex_ai_(auto_ml|endpoint)", why="begins with AutoML"),
            Reason(tests="example_vertex_ai_batch_prediction", why="serving: batch predictions"),
            Reason(tests="example_vertex_ai_pipeline_job", why="Vertex AI Pipelines are refused by name"),
            Reason(
                tests=r"example_vertex_ai_(custom_job\]|model_service)",
                why="its job installs gcsfs 0.7.1, and suites reach no package index",
            ),
            Reason(tests="example_vertex_ai_ray", why="Ray clusters are refused by name"),
            Reason(tests="example_vertex_ai_(agent_engine|feature_store)", why="no part of the emulator"),
        ),
        not_passed=(
            Reason(
                tests="example_vertex_ai_(custom_container|hyperparameter_tuning_job)",
                why="its image is in a registry of Google's",
            ),
        ),
        setting="proxy",
        workers=0,
        seconds=300,
    ),
    Flows(
        name="prefect",
        package="prefect-gcp",
        smoke="test_a_run",
        large=True,  # 600 MB, and a server that starts for half a minute
        requirements=(
            *_PYTEST,
            *("prefect-gcp==0.6.22", "prefect==3.9.1", "google-cloud-aiplatform==2.7.0"),
        ),
        tests=("flow_prefect.py",),
        buckets=("of-prefect",),
        variables=(("PREFECT_SERVER_ANALYTICS_ENABLED", "false"), ("PREFECT_HOME", "$HOME/prefect")),
        setting="proxy",
        workers=0,
        seconds=600,
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
