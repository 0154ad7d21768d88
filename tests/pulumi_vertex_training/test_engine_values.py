"""The texts of the engine are those that Pulumi's SDK has."""

from __future__ import annotations

from pulumi.runtime import rpc

from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN, SECRET, SIGNATURE


def test_the_texts_are_those_of_the_sdk() -> None:
    assert rpc.UNKNOWN == ENGINES_UNKNOWN
    assert (rpc._special_sig_key, rpc._special_secret_sig) == (SIGNATURE, SECRET)
