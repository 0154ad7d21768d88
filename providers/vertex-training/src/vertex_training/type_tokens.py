"""The type tokens by which Pulumi names the resources of this project, in both forms.

A program in Python declares dynamic resources. Programs in other languages declare the package's resources.
"""

from __future__ import annotations

PACKAGE = "vertex-training"


def dynamic(resource: str) -> str:
    """Return the type token of a resource class as a dynamic resource.

    A terminal shows it without its middle part, because that is the name in lower camel case.
    """
    return f"pulumi-python:dynamic/{resource[0].lower()}{resource[1:]}:{resource}"


def package(resource: str) -> str:
    """Return the type token of a resource class in the package."""
    return f"{PACKAGE}:index:{resource}"


def resource_of(token: str) -> str:
    """Return the name of the resource class of a type token in either form, "" for any other token."""
    name = token.rpartition(":")[2]
    return name if name and token in (dynamic(name), package(name)) else ""
