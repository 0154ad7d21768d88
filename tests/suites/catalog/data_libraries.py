"""Suites of data libraries and tools on gs://: pinned versions, and what does not pass, with reasons."""

from __future__ import annotations

from suites.suite import Edit, Flows, GoTests, Reason, RustTests, Suite

_PYTEST = ("pytest==8.4.2", "pytest-timeout==2.4.0", "pytest-xdist==3.8.0")
_RCLONE = ("github.com/rclone/rclone", "v1.74.3")
_REMOTE = "TestGoogleCloudStorage"
_OF_REMOTE = f"RCLONE_CONFIG_{_REMOTE.upper()}"
_RCLONE_VARIABLES = (
    (f"{_OF_REMOTE}_TYPE", "google cloud storage"),
    (f"{_OF_REMOTE}_ENV_AUTH", "true"),
    (f"{_OF_REMOTE}_PROJECT_NUMBER", "local"),
    (f"{_OF_REMOTE}_BUCKET_POLICY_ONLY", "false"),
)


def _rclone(name: str, package: str, *arguments: str) -> GoTests:
    linked = ("googlecloudstorage", "local", "memory", "onedrive")
    imports = "".join(f'import _ "{_RCLONE[0]}/backend/{each}"\n' for each in linked)
    return GoTests(
        name=f"rclone-{name}",
        module=_RCLONE[0],
        version=_RCLONE[1],
        package=package,
        arguments=("-remote", f"{_REMOTE}:", "-test.timeout=20m", *arguments),
        # To build all of rclone's 70 services takes too long. The tests need these; OneDrive has a hash.
        edits=(Edit(path="backend/all/all.go", new=f"package all\n\n{imports}"),),
        setting="proxy",
        variables=_RCLONE_VARIABLES,
    )


_LIBRARIES = (
    *_PYTEST,
    *("polars==2.1.0", "deltalake==1.6.6", "obstore==0.12.1", "pylance==14.0.2", "pyarrow==26.0.1"),
    *("duckdb==1.5.5", "duckdb-extension-httpfs==1.5.5", "fsspec==2026.9.0"),
)
"""One environment for all flows: most of it is pyarrow."""


def _flows(
    name: str, package: str, smoke: str, requirements: tuple[str, ...] = _LIBRARIES, *, seconds: int = 120
) -> Flows:
    return Flows(
        name=name,
        package=package,
        smoke=smoke,
        requirements=requirements,
        tests=(f"flow_{name.replace('-', '_')}.py",),
        buckets=(f"of-{name}",),
        setting="proxy",
        workers=0,
        seconds=seconds,
    )


SUITES: tuple[Suite, ...] = (
    _rclone("backend", "./backend/googlecloudstorage"),
    _rclone("operations", "./fs/operations"),
    _rclone("sync", "./fs/sync"),
    RustTests(
        name="object-store",
        crate="object_store",
        version="0.14.2",
        features=("gcp", "integration"),
        path="gcp::",
        buckets=("of-object-store",),
        versioning=True,
        not_passed=(
            Reason(
                tests="gcs_test$",
                why="its part 16 of 17 expects the length of text that it stores as `gzip`; 1 to 15 pass",
            ),
        ),
        variables=(("TEST_INTEGRATION", "1"), ("GOOGLE_BUCKET", "of-object-store")),
        setting="proxy",
    ),
    _flows("polars", "polars", "test_parquet"),
    _flows("delta-rs", "deltalake", "test_append_and_overwrite"),
    _flows("obstore", "obstore", "test_put_get_and_head"),
    _flows("lance", "pylance", "test_append_and_overwrite"),
    _flows("duckdb", "duckdb", "test_parquet"),
    _flows("pyarrow", "pyarrow", "test_files"),
    _flows(
        "gsutil",
        "gsutil",
        "test_what_is_missing_or_refused",
        (*_PYTEST, "gsutil==5.38"),
        seconds=600,
    ),
)
"""The suites of this topic."""

NOT_RUN = (
    (
        "gsutil's own tests (`gsutil test`)",
        "they create their buckets with the XML API, whose operations on buckets are refused by name",
    ),
    (
        "the own tests of Polars, delta-rs, obstore, Lance and DuckDB",
        "their wheels have no tests: `tests/suites/flows` has tests of our own",
    ),
)
"""Suites of this topic that are left out whole, with the reason."""
