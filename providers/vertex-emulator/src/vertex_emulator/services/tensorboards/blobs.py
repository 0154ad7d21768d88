"""The bucket of a location's tensorboards, where clients upload pictures and graphs."""

from __future__ import annotations

import hashlib
import uuid

from vertex_emulator.kernel.projects import Place
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import Bucket
from vertex_emulator.services.storage.fields import bucket as bucket_fields


def bucket_name(place: Place) -> str:
    """Return the name of the bucket, in the form of the service's: cloud-ai-platform-UUID."""
    digest = hashlib.sha256(f"tensorboards of {place}".encode()).digest()
    return f"cloud-ai-platform-{uuid.UUID(bytes=digest[:16], version=4)}"


def blob_uri(place: Place, path: str, blob_id: str) -> str:
    """Return the address where Google's uploader puts a blob of the time series with that path."""
    tensorboard, experiment, run, series = path.split("/")[::2]
    return f"gs://{bucket_name(place)}/tensorboard-{tensorboard}/{experiment}/{run}/{series}/{blob_id}"


def ensure_bucket(object_store: ObjectStore, place: Place) -> str:
    """Create the bucket if it does not exist, and return its name."""
    name, store = bucket_name(place), object_store.store
    if store.find_bucket(name) is not None:
        return name
    moment = store.clock.now()
    settings = bucket_fields.created(
        {"name": name, "location": place.location}, moment=moment, object_retention=False
    )
    with store.locked(name):
        if store.find_bucket(name) is None:
            object_store.files.make_bucket(name)
            store.put_bucket(
                Bucket(
                    name=name,
                    project=place.project,
                    generation=store.next_generation(),
                    metageneration=1,
                    created=moment,
                    updated=moment,
                    settings=settings,
                    chose_soft_delete=False,
                )
            )
    return name
