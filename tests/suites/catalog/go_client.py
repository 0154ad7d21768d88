"""Suites of Google's client of Cloud Storage for Go, and the reasons for what does not pass."""

from __future__ import annotations

from suites.suite import Edit, GoTests, Reason, Suite

_EDITS = (
    # Its tests begin with a zonal bucket, which the emulator refuses, and would end there.
    Edit(
        path="integration_test.go",
        old='log.Fatalf("creating zonal bucket',
        new='log.Printf("creating zonal bucket',
    ),
    Edit(
        path="integration_test.go",
        old="\t\t\tif reason := ctx.Value(skipTransportTestKey(transport)); reason != nil {\n",
        new='\t\t\tif transport == "grpc" || transport == "zonalBucket" {\n'
        '\t\t\t\tt.Skip("left out: Cloud Storage over gRPC")\n'
        "\t\t\t}\n"
        "\t\t\tif reason := ctx.Value(skipTransportTestKey(transport)); reason != nil {\n",
    ),
)

SUITES: tuple[Suite, ...] = (
    GoTests(
        name="go-storage",
        module="cloud.google.com/go/storage",
        version="v1.70.0",
        package=".",
        arguments=("-test.run=^TestIntegration_", "-test.timeout=25m"),
        edits=_EDITS,
        setting="proxy",
        variables=(
            ("GCLOUD_TESTS_GOLANG_PROJECT_ID", "local"),
            ("GCLOUD_TESTS_GOLANG_KEY", "$GOOGLE_APPLICATION_CREDENTIALS"),
            ("GCLOUD_TESTS_GOLANG_KEYRING", "projects/local/locations/us/keyRings/ring"),
        ),
        left_out=(
            Reason(
                tests="MetricsEnablement$",
                why="measures gRPC, and look-ups of Google's names, which a proxy makes needless",
            ),
            Reason(tests="_RequesterPays", why="needs a second project, with an account of its own"),
            Reason(tests="_Notifications", why="notifications need Pub/Sub"),
            Reason(tests="_HMACKey", why="HMAC keys: sign with the emulator's own key"),
        ),
        not_passed=(
            Reason(
                tests="_HierarchicalNamespace|_ObjectIterationManagedFolder|_ObjectMove",
                why="hierarchical namespaces and managed folders are refused by name",
            ),
            Reason(tests="_DeleteSourceObjects", why="`deleteSourceObjects` is refused by name"),
            Reason(
                tests="_ObjectCompose/|_Copy/|CustomContexts/",
                why="begins with object contexts, which are refused by name",
            ),
            Reason(
                tests="_Encryption/|_WithEncryptionKeys|_KMS/",
                why="customer-supplied encryption keys are refused by name",
            ),
            Reason(tests="_PublicBucket/|_ReadCRC/", why="reads a public bucket of Google's"),
            Reason(tests="_Scopes/", why="expects that tokens have scopes; here all may do everything"),
            Reason(tests="_ClientTracing/gRPC", why="Cloud Storage over gRPC"),
        ),
    ),
)
"""The suites of this topic."""

NOT_RUN = (
    (
        "`TestRetryConformance` of Google's client of Cloud Storage for Go",
        "drops the path of the testbench's address, in which the emulator's secret is",
    ),
)
"""Suites of this topic that are left out whole, with the reason."""
