"""Packages that programs may expect of Google's training images."""

from __future__ import annotations

import re

from vertex_training.catalog.prebuilt_images import prebuilt_image

_ALL = (
    "cloudml-hypertune",
    "google-cloud-storage",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "setuptools",
)
"""Distributions of any of Google's training images."""

_FRAMEWORKS = {
    "tf": ("tensorflow", "tensorflow-cpu", "tensorboard", "keras", "tf-keras"),
    "pytorch": ("torch", "torchvision", "torchaudio", "torch-xla", "tensorboard"),
    "xgboost": ("xgboost", "xgboost-cpu"),
}
"""Further distributions by the framework in an image's name."""

_OF_MODULES = {
    "google": "google-cloud-storage",
    "google.cloud": "google-cloud-storage",
    "google.cloud.storage": "google-cloud-storage",
    "hypertune": "cloudml-hypertune",
    "pkg_resources": "setuptools",
    "sklearn": "scikit-learn",
}
"""The distributions of modules with another name."""

_DEEP_LEARNING = re.compile(r".*/deeplearning-platform-release/(?P<name>.+)")


def packages_of_image(image: str) -> tuple[str, ...]:
    """Return the distributions of an image of Google by its name.

    An image that is not Google's has none: a Python image brings the standard library and pip.
    """
    prebuilt = prebuilt_image(image)
    if prebuilt is not None:
        return (*_ALL, *_FRAMEWORKS.get(prebuilt.framework, ()))
    match = _DEEP_LEARNING.fullmatch(image)
    if match is None:
        return ()
    return (*_ALL, *(each for name, more in _FRAMEWORKS.items() if name in match["name"] for each in more))


def distribution_in_image(module: str, image: str) -> str | None:
    """Return the distribution of an image of Google that has a module; None for any other module or image."""
    name = _OF_MODULES.get(module, module.replace("_", "-"))
    return name if name in packages_of_image(image) else None
