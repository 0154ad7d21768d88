"""The rules of how a bucket is reached from outside: CORS, address filters, and the bucket of usage logs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown
from vertex_training.job.rules.bucket_names import bucket_name_faults

METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "*")
_NETWORK = re.compile(r"projects/[^/]+/global/networks/[^/]+")
_CORS = 'Cloud Storage documentation, "Cross-origin resource sharing"'

CORS = Rule(name="bucket-cors", says="a CORS rule names origins and methods", source=_CORS)
CORS_METHOD = Rule(
    name="bucket-cors-method", says="the methods of a CORS rule are HTTP's, or *", source=_CORS
)
CORS_AGE = Rule(name="bucket-cors-age", says="max_age_seconds of a CORS rule is 0 or more", source=_CORS)
ADDRESSES = Rule(
    name="bucket-addresses",
    says="an address filter names ranges such as 203.0.113.0/24, without bits beyond the mask",
    source='Cloud Storage documentation, "Bucket IP filtering"',
)
NETWORK = Rule(
    name="bucket-network",
    says="a network of an address filter is named in full",
    source='Cloud Storage documentation, "Bucket IP filtering"',
)
LOG_BUCKET = Rule(
    name="bucket-log-bucket",
    says="usage logs go to a bucket, named without gs://",
    source='Cloud Storage documentation, "Usage logs and storage logs"',
)


def access_problems(spec: BucketSpec) -> Iterator[Problem]:
    """Every finding about CORS, address filter and usage logs."""
    for i, rule in enumerate(spec.cors):
        path = f"cors[{i}]"
        for name in ("origin", "method"):
            if not getattr(rule, name):
                example = '"https://example.com"' if name == "origin" else '"GET"'
                yield CORS.broken(
                    f"{path}.{name}", f"is empty, so the rule allows nothing; give one, for example {example}"
                )
        for j, method in enumerate(rule.method):
            if method.upper() not in METHODS:
                guess = nearest(method, METHODS) or f"use {one_of(METHODS)}"
                yield CORS_METHOD.broken(f"{path}.method[{j}]", f"{shown(method)} is no method; {guess}")
        if rule.max_age_seconds is not None and rule.max_age_seconds < 0:
            yield CORS_AGE.broken(
                f"{path}.max_age_seconds", f"{rule.max_age_seconds}; give a whole number of 0 or more"
            )
    if spec.ip_filter:
        yield from _filter_problems(spec)
    if spec.logging:
        for fault in bucket_name_faults(spec.logging.log_bucket):
            yield LOG_BUCKET.broken("logging.log_bucket", f"{fault}; give the bucket's name alone")


def _filter_problems(spec: BucketSpec) -> Iterator[Problem]:
    assert spec.ip_filter is not None  # noqa: S101  asked by the caller
    if source := spec.ip_filter.public_network_source:
        yield from _range_problems(source.allowed_ip_cidr_ranges, "ip_filter.public_network_source")
    for i, network in enumerate(spec.ip_filter.vpc_network_sources):
        path = f"ip_filter.vpc_network_sources[{i}]"
        if not _NETWORK.fullmatch(network.network):
            yield NETWORK.broken(
                f"{path}.network",
                f"{shown(network.network)} is no network; write projects/PROJECT/global/networks/NETWORK",
            )
        yield from _range_problems(network.allowed_ip_cidr_ranges, path)


def _range_problems(ranges: tuple[str, ...], path: str) -> Iterator[Problem]:
    for i, text in enumerate(ranges):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            yield ADDRESSES.broken(
                f"{path}.allowed_ip_cidr_ranges[{i}]",
                f"{shown(text)} is no range of addresses; write one like 203.0.113.0/24",
            )
