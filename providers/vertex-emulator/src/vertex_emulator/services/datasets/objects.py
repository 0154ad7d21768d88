"""Direct access to the objects of the emulator's buckets: find, read, write and copy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from vertex_emulator.services.datasets.contents import DataError, Source
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.errors import StorageError
from vertex_emulator.services.storage.names import after_prefix, check_object_name
from vertex_emulator.services.storage.objects import glob
from vertex_emulator.services.storage.uploads.incoming import Incoming

_ADDRESS = re.compile(r"gs://([^/*?\[{]+)/(.+)", re.DOTALL)
_WILD = frozenset("*?[{")
_BLOCK = 1 << 20
_TYPES = {".csv": "text/csv", ".jsonl": "application/jsonl"}


def directory(uri: str) -> str:
    """Return the address of a folder with a slash at the end."""
    return uri if uri.endswith("/") else f"{uri}/"


def split_uri(uri: str) -> tuple[str, str]:
    """Split `gs://BUCKET/NAME` into bucket and name. Raises `DataError`."""
    match = _ADDRESS.fullmatch(uri)
    if match is None:
        raise DataError(f"{uri!r} is not the address of objects. Write gs://BUCKET/NAME.")
    return match[1], match[2]


class BucketObjects:
    """The objects of all buckets. Errors of Cloud Storage are raised as `DataError`."""

    def __init__(self, object_store: ObjectStore) -> None:
        self.object_store = object_store

    def sources(self, uris: Sequence[str]) -> list[Source]:
        """Return the files of addresses, which may have wildcards, each once. Raises `DataError`."""
        found: dict[str, Source] = {}
        for uri in uris:
            bucket, pattern = split_uri(uri)
            is_wild = bool(_WILD & set(pattern))
            names = self._matching(bucket, pattern) if is_wild else self._one(bucket, pattern)
            if not names:
                raise DataError(
                    f"There is no object {uri}. Upload it or correct the address.", code="NOT_FOUND"
                )
            for name in names:
                address = f"gs://{bucket}/{name}"
                found[address] = Source(name=address, open=self._opener(bucket, name))
        return list(found.values())

    def below(self, uri: str) -> list[str]:
        """Return the addresses of all objects in a folder. Raises `DataError`."""
        bucket, _, prefix = directory(uri).removeprefix("gs://").partition("/")
        return [f"gs://{bucket}/{name}" for name in self._names(bucket, prefix)]

    def open(self, uri: str) -> BinaryIO:
        """Open the content of an object. Raises `DataError`."""
        return self._opener(*split_uri(uri))()

    def has_bucket(self, uri: str) -> bool:
        """Return whether the bucket of an address exists."""
        return self.object_store.store.find_bucket(uri.removeprefix("gs://").partition("/")[0]) is not None

    def write_all(self, files: Iterable[tuple[str, bytes]], *, first: dict[str, bytes]) -> None:
        """Write several objects at once from pairs of an address and the next bytes of its content.

        `first` has the first bytes of every address. No object is created before all content is complete.
        Raises `DataError`.
        """
        with ExitStack() as stack:
            open_files = {
                uri: stack.enter_context(Incoming(self.object_store.files.new_incoming())) for uri in first
            }
            pending = {uri: bytearray(start) for uri, start in first.items()}
            for uri, data in files:
                pending[uri] += data
                if len(pending[uri]) >= _BLOCK:
                    open_files[uri].write(bytes(pending[uri]))
                    pending[uri].clear()
            for uri, incoming in open_files.items():
                incoming.write(bytes(pending[uri]))
                self._put(uri, incoming)

    def copy(self, source: str, target: str) -> None:
        """Copy an object. Raises `DataError`."""
        with self.open(source) as file, Incoming(self.object_store.files.new_incoming()) as incoming:
            while block := file.read(_BLOCK):
                incoming.write(block)
            self._put(target, incoming)

    def _put(self, uri: str, incoming: Incoming) -> None:
        bucket, name = split_uri(uri)
        try:
            check_object_name(name)
        except StorageError as error:
            raise DataError(f"{uri!r}: {error.message}") from error
        content = Content(path=incoming.path, state=incoming.finish(), sums=incoming.sums)
        extension = f".{name.rpartition('.')[2]}"
        try:
            self.object_store.put(
                bucket,
                name,
                content,
                settings={"contentType": _TYPES.get(extension, "application/octet-stream")},
                preconditions=Preconditions(),
            )
        except StorageError as error:
            raise _as_data_error(uri, error) from error
        incoming.taken = True

    def _opener(self, bucket: str, name: str) -> _Opener:
        return _Opener(self.object_store, bucket, name)

    def _one(self, bucket: str, name: str) -> list[str]:
        self.object_store.hash_large_file(bucket, name)
        try:
            with self.object_store.store.locked(bucket):
                self.object_store.get(bucket, name)
        except StorageError as error:
            raise _as_data_error(f"gs://{bucket}/{name}", error) from error
        return [name]

    def _matching(self, bucket: str, pattern: str) -> list[str]:
        try:
            wanted = glob.compiled(pattern)
        except StorageError as error:
            raise _as_data_error(f"gs://{bucket}/{pattern}", error) from error
        return [name for name in self._names(bucket, glob.literal_prefix(pattern)) if wanted(name)]

    def _names(self, bucket: str, prefix: str) -> Iterator[str]:
        try:
            self.object_store.store.bucket(bucket)
            self.object_store.adopt_files(bucket, prefix)
        except StorageError as error:
            raise _as_data_error(f"gs://{bucket}", error) from error
        rows = self.object_store.store.rows(bucket, start=prefix, end=after_prefix(prefix))
        return (row.name for row in rows)


class _Opener:
    """Opens one object. Later changes of the object do not affect the opened file."""

    def __init__(self, object_store: ObjectStore, bucket: str, name: str) -> None:
        self._object_store, self._bucket, self._name = object_store, bucket, name

    def __call__(self) -> BinaryIO:
        try:
            with self._object_store.store.locked(self._bucket):
                return self._object_store.open(self._object_store.get(self._bucket, self._name))
        except StorageError as error:
            raise _as_data_error(f"gs://{self._bucket}/{self._name}", error) from error


def _as_data_error(uri: str, error: StorageError) -> DataError:
    code = {404: "NOT_FOUND", 400: "INVALID_ARGUMENT"}.get(error.status, "FAILED_PRECONDITION")
    return DataError(f"{uri}: {error.message}", code=code)
