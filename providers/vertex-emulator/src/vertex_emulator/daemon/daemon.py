"""The emulator process: one data folder, one port, all services. It stops after a while without use."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from vertex_emulator.client.addresses import service_addresses
from vertex_emulator.daemon import unrecorded, vertex_ai
from vertex_emulator.daemon.admin import Admin, ClockControl
from vertex_emulator.daemon.archive.admin import StateAdmin
from vertex_emulator.daemon.faults.switchboard import Faults, fault_routes
from vertex_emulator.daemon.gateways import Gateways, Ports
from vertex_emulator.daemon.token_endpoint import Assertions, token_routes
from vertex_emulator.daemon.vertex_ai import VertexService, open_vertex
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock, now
from vertex_emulator.kernel.database import connect
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolderError, Record
from vertex_emulator.kernel.disk.locks import FileLock
from vertex_emulator.kernel.idle_watch import IdleWatch
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.replicas.images import folders as image_folders
from vertex_emulator.replicas.images.stand_ins import stand_in
from vertex_emulator.server.http.auth import Access, Authenticator, replaced_secrets, token_for
from vertex_emulator.server.http.deadlines import Limits
from vertex_emulator.server.http.deletions import with_reserve
from vertex_emulator.server.http.messages import HttpError, Route, Router
from vertex_emulator.server.http.request_log import RequestLog
from vertex_emulator.server.http.server import EmulatorServer
from vertex_emulator.server.metadata_server import metadata_routes
from vertex_emulator.server.permissions.denials import Denials
from vertex_emulator.server.proxy.allowed_hosts import AllowedHosts, refusal
from vertex_emulator.server.proxy.variables import proxy_url
from vertex_emulator.services.artifact_registry import service as artifact_registry
from vertex_emulator.services.artifact_registry.methods.settings import HOSTS as GOOGLE_HOSTS
from vertex_emulator.services.artifact_registry.service import ArtifactService, authority
from vertex_emulator.services.artifact_registry.store import Store
from vertex_emulator.services.container_registry.service import RegistryService, write_logins
from vertex_emulator.services.project_services import services as project_services
from vertex_emulator.services.storage.disk.files import StepHook
from vertex_emulator.services.storage.service import StorageService
from vertex_training import __version__

if TYPE_CHECKING:
    from vertex_emulator.server.grpc_server.server import GrpcServer
    from vertex_emulator.server.proxy.server import ProxyServer

log = logging.getLogger(__name__)

IDLE_MINUTES = 30.0

_RESERVE_SECONDS = 30.0
"""Interval between checks whether there is space for the reserve again."""

_CHECKPOINT_SECONDS = 10.0
"""Interval between copies of the write-ahead log into the database: a damaged log costs that much at most."""

_WATCH_SECONDS = 1.0
"""Interval between checks that the data folder is still this emulator's. Requests check it as well."""

_SIGNAL_SECONDS = 1.0
"""Longest time after which the main thread handles a signal."""

_REPORT_SECONDS = 0.05
"""Interval between looks at the reports of supervisors while somebody waits for changes."""

_SETTINGS = ("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);",)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of an emulator process.

    Without a `port`, it is the last one if that is free, or else any. With `lock_until_exit`, the folder
    stays locked until the process ends, so that a free lock means that it has ended. `code` is the result of
    `code_of_this_process`, or "" if the emulator is not replaced when the code changes, as in
    a process with other tasks. `step_hook` is called before each step of the object store; tests interrupt
    the emulator there. `monotonic` is the machine's clock of the idle watch, which tests advance.
    """

    data_dir: Path
    port: int | None = None
    idle_minutes: float = IDLE_MINUTES
    timeouts: DaemonTimeouts = DAEMON
    lock_until_exit: bool = False
    code: str = ""
    step_hook: StepHook | None = None
    monotonic: Callable[[], float] = machine_clock.monotonic


class Daemon:
    """One emulator in this process, the only one of its data folder."""

    def __init__(self, settings: Settings, *, open_jobs: Callable[..., VertexService] = open_vertex) -> None:
        """Open the data folder and the port.

        Raises `DataFolderError`, `DatabaseError`, `LockHeldError`, `PortError`.
        """
        self.folder = data_folder.prepare(settings.data_dir.absolute())
        self.instance = secrets.token_hex(16)
        self.started = now()
        self._code = settings.code
        self._timeouts = settings.timeouts
        self._is_stopping = False
        self._stops: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._undo: list[Callable[[], object]] = []
        try:
            self._lock = FileLock(self.folder.lock, timeout=settings.timeouts.folder)
            if not settings.lock_until_exit:
                self._undo.append(self._lock.release)
            self.lost = unrecorded.put_aside_unrecorded(self.folder)
            self._database = connect(self.folder.database, timeouts=self._timeouts)
            self._undo.append(self._database.close)
            self._database.migrate("emulator", _SETTINGS)
            self.clock = Clock(self.folder.clock)
            self.scheduler = Scheduler(self.clock, timeouts=self._timeouts)
            denials = Denials(self._database)
            self.storage = StorageService(
                self.folder,
                self._database,
                self.clock,
                self.scheduler,
                step_hook=settings.step_hook,
                grants=denials,
            )
            repositories = Store(self._database)
            self.registry = RegistryService(
                self.folder,
                self._database,
                self.clock,
                self.scheduler,
                authority=authority(repositories, lambda name: self.artifacts.create_for_push(name)),
                stand_in=stand_in,
                timeouts=self._timeouts,
            )
            self._undo.append(self._tidy)
            self.artifacts = ArtifactService(
                repositories,
                self.registry.registry,
                database=self._database,
                clock=self.clock,
                scheduler=self.scheduler,
                grants=denials,
            )
            self._jobs = open_jobs(
                self.folder,
                self._database,
                self.clock,
                self.scheduler,
                self.registry.registry,
                self.storage.object_store,
                self._timeouts,
            )
            self._undo.append(self.scheduler.close)
            self._projects = self._jobs.project_services(self._database, self.clock, denials)
            self._idle = IdleWatch(
                self.scheduler,
                minutes=settings.idle_minutes,
                busy=self._jobs.is_needed,
                leave=self._leave,
                monotonic=settings.monotonic,
            )
            services = [
                *self.storage.routes(),
                *self.artifacts.routes(),
                *self._projects.routes(),
                *self._jobs.routes(),
                *self.registry.routes(),
            ]
            self._allowed_hosts = AllowedHosts(self._database)
            self._faults = Faults()
            self._ports = Ports(self._database)
            listener = self._ports.open("port", settings.port)
            self._undo.append(listener.close)
            port = int(listener.getsockname()[1])
            self.token = token_for(self.folder, self._database, port=port, live_jobs=self._jobs.live_jobs())
            self._requests = RequestLog()
            self._assertions = Assertions(self.storage.key)
            self._authenticator = Authenticator(
                token=self.token,
                storage_secret=data_folder.storage_secret(self.token),
                service_token=data_folder.service_token(self.token),
                metadata_secret=data_folder.metadata_secret(self.token),
                tickets=self.storage.tickets,
                is_assertion=self._assertions.accept,
                host_refusal=refusal,
                replaced=replaced_secrets(self._database),
            )
            self._server = self._serve_at(listener, services)
            self._undo.append(self._server.stop)
            self._gateways = Gateways(self._ports)
            self._undo.append(self._gateways.stop)
            self._jobs.run_after(self._gateways.await_proxy)
            self._undo.append(self._faults.clear)
        except BaseException:
            self._close_parts()
            raise

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def grpc_address(self) -> str | None:
        """The address of the gRPC server, which this waits for; None if it could not be started."""
        return self._gateways.grpc_address

    @property
    def proxy_url(self) -> str | None:
        """The value of https_proxy, which has a secret; None if the proxy could not be started."""
        address = self._gateways.proxy_address
        return None if address is None else proxy_url(address, data_folder.proxy_secret(self.token))

    @property
    def storage_url(self) -> str:
        """The value of STORAGE_EMULATOR_HOST."""
        return f"{self.url}/s/{data_folder.storage_secret(self.token)}"

    def start(self) -> None:
        """Serve requests in threads, and write emulator.json."""
        self._gateways.start(grpc=self._new_grpc_server, proxy=self._new_proxy, moved=self._write_record)
        self._thread = threading.Thread(target=self._server.serve, name="listener", daemon=True)
        self._thread.start()
        write_logins(self.folder, address=urlsplit(self.url), token=self.token, google_hosts=GOOGLE_HOSTS)
        self._write_record(grpc=self._gateways.reserved_grpc)
        log.info("Emulator %s (process %d) listens at %s", __version__, os.getpid(), self.url)
        log.info("Emulator data is in %s", self.folder.root)
        self._jobs.serve_at(self.url, data_folder.service_token(self.token))
        self._jobs.start()
        self.scheduler.add("reserve of disk space", self._fill_reserve)
        self.scheduler.add("checkpoint of the database", self._checkpoint)
        self.scheduler.add("watch on the data folder", self._watch_folder)
        self.scheduler.start()

    def _write_record(self, grpc: str | None = None) -> None:
        """Write emulator.json. `grpc` is the address that gRPC will have, by default the one it has."""
        data_folder.write_record(
            self.folder,
            Record(
                url=self.url,
                pid=os.getpid(),
                started=self.started,
                version=__version__,
                instance=self.instance,
                code=self._code,
                grpc=grpc or self._gateways.grpc_address,
                proxy=self._gateways.reserved_proxy,
                timeout_scale=self._timeouts.scale,
            ),
        )

    def request_stop(self) -> None:
        """Make `wait` return.

        Safe in a signal handler, as a `threading.Event` is not: the handler would wait forever for the lock
        that the interrupted `wait` of the same thread holds.
        """
        self._is_stopping = True
        self._stops.put(None)

    def wait(self) -> None:
        """Wait for a request to stop.

        A signal that arrives just before the wait does not interrupt it. So it ends from time to time, and
        Python runs the handler of the signal.
        """
        while True:
            with suppress(Empty):
                self._stops.get(timeout=_SIGNAL_SECONDS)
                return

    def close(self) -> None:
        """Finish running requests, delete emulator.json, and release port and folder. Jobs keep running."""
        self._is_stopping = True
        self._gateways.stop()
        record = data_folder.read_record(self.folder)
        if record is not None and record.instance == self.instance:
            self.folder.record.unlink(missing_ok=True)
        self._close_parts()
        if self._thread is not None:
            self._thread.join(timeout=self._timeouts.threads_end)
        log.info("Emulator (process %d) has stopped", os.getpid())

    def _close_parts(self) -> None:
        while self._undo:
            try:
                self._undo.pop()()
            except Exception:
                log.exception("A part of the emulator could not be closed")

    def _fill_reserve(self) -> Next:
        self._database.reserve.fill()
        return Next(seconds=_RESERVE_SECONDS)

    def _checkpoint(self) -> Next:
        self._database.checkpoint()
        return Next(seconds=_CHECKPOINT_SECONDS)

    def _watch_folder(self) -> Next:
        """Leave if the folder was deleted or replaced: a new one belongs to another emulator."""
        if self._lock.is_seen():
            self._restore_record()
            return Next(seconds=_WATCH_SECONDS)
        log.error("The data folder %s was deleted or replaced: the emulator stops", self.folder.root)
        self.request_stop()
        return Next()

    def _restore_record(self) -> None:
        """Write emulator.json again if it was deleted or damaged: clients would not find this emulator."""
        if self._is_stopping:
            return
        with suppress(DataFolderError):
            record = data_folder.read_record(self.folder)
            if record is None or record.instance != self.instance:
                log.warning("%s was deleted or damaged, and is written again", self.folder.record)
                self._write_record()

    def _request_began(self) -> None:
        """Record a request, and reject it if the data folder is no longer this emulator's."""
        self._idle.touch()
        if not self._lock.is_seen():
            self.request_stop()
            raise HttpError(
                503,
                "",
                f"The data folder {self.folder.root} was deleted or replaced, so this emulator stops. "
                "Repeat the request with the emulator that starts next.",
            )

    def _tidy(self) -> None:
        """Delete what would stay until the next start: garbage of the registry, unpacked images."""
        if self._lock.is_seen():
            self.registry.collect()
            self._delete_unpacked_images()

    def _delete_unpacked_images(self) -> None:
        """Delete unpacked images that no job uses, if the registry has no images."""
        unpacked = self.folder.images
        if unpacked.is_dir() and not self.registry.registry.store.has_pushed():
            image_folders.clean(unpacked, keep_bytes=0, seconds=self._timeouts.tidy)

    def _leave(self) -> None:
        log.info("The emulator is idle and stops. The next use starts it again.")
        self.request_stop()

    @contextmanager
    def _clock_changing(self, jump: int) -> Iterator[None]:
        with self._jobs.clock_changing(jump), self.artifacts.clock_changing(jump):
            yield
        self.scheduler.clock_changed()
        self.storage.clock_changed()

    def _serve_at(self, listener: socket.socket, services: Sequence[Route]) -> EmulatorServer:
        reserve = self._database.reserve
        all_services = (*services, *self.storage.xml_routes(shared_with_services=True))
        router = Router([*self._controls(services), *with_reserve(reserve, all_services)])
        storage_router = Router(with_reserve(reserve, (*self.storage.routes(), *self.storage.xml_routes())))
        metadata_router = Router(metadata_routes(data_folder.service_token(self.token)))
        return EmulatorServer(
            listener,
            authenticator=self._authenticator,
            router=router,
            requests=self._requests,
            data_dir=self.folder.root,
            on_request=self._request_began,
            faults=self._faults,
            gate=self._projects.gate,
            storage_router=storage_router,
            metadata_router=metadata_router,
            limits=Limits(timeouts=self._timeouts),
        )

    def _controls(self, services: Sequence[Route]) -> Sequence[Route]:
        """Return the routes of the emulator's own calls."""
        requests, faults = self._requests, self._faults
        admin = Admin(
            version=__version__,
            instance=self.instance,
            prove=lambda nonce: data_folder.health_proof(self.token, instance=self.instance, nonce=nonce),
            info=self._info,
            changes=self._changes,
            requests=requests,
            shut_down=self.request_stop,
        )
        calls = frozenset(route.call for route in services if route.call)
        clock = ClockControl(self.clock, self.folder.clock, changing=self._clock_changing)

        def forget() -> None:
            faults.clear()
            clock.reset()
            requests.clear()
            self._projects.clear()
            self._allowed_hosts.clear()

        state = StateAdmin(
            self._database,
            self._jobs.all_jobs(),
            self.storage.object_store,
            self.registry.registry,
            self.artifacts.store.clear,
            self.clock,
            version=__version__,
            forget=forget,
        )
        return [
            *admin.routes(),
            *fault_routes(faults, calls),
            *clock.routes(),
            *state.routes(),
            *self.storage.controls(),
            *self._projects.controls(),
            *self._allowed_hosts.routes(),
            *token_routes(self._assertions, self.storage.key, data_folder.service_token(self.token)),
        ]

    def _new_grpc_server(self, port: int) -> GrpcServer:
        from vertex_emulator.server.grpc_server.calls import Surroundings
        from vertex_emulator.server.grpc_server.server import GrpcServer

        return GrpcServer(
            (*vertex_ai.GRPC_SERVICES, *artifact_registry.SERVICES, *project_services.SERVICES),
            {**self._jobs.grpc_bindings(), **self.artifacts.bindings(), **self._projects.bindings()},
            Surroundings(
                authenticator=self._authenticator,
                requests=self._requests,
                faults=self._faults,
                on_request=self._request_began,
                is_stopping=lambda: self._server.stopping,
                data_dir=self.folder.root,
                reserve=self._database.reserve,
                gate=self._projects.gate,
                host_of=self._gateways.host_of,
            ),
            port=port,
            timeouts=self._timeouts,
        )

    def _new_proxy(self, listener: socket.socket) -> ProxyServer:
        from vertex_emulator.server.proxy.authority import Authority
        from vertex_emulator.server.proxy.server import ProxyLimits, ProxyServer

        return ProxyServer(
            listener,
            secrets={
                data_folder.proxy_secret(self.token): Access.OWNER,
                data_folder.replica_proxy_secret(self.token): Access.SERVICES,
            },
            authority=Authority(self.folder.root),
            serve_http=self._server.serve_google_host,
            grpc_address=lambda: self._gateways.grpc_address,
            is_refused=self._allowed_hosts.is_refused,
            limits=ProxyLimits(timeouts=self._timeouts),
        )

    def _changes(self, after: int | None, seconds: float) -> Mapping[str, Any]:
        """Return what changed after a number; wait for the first change."""
        changes, until = self._database.change_log, machine_clock.monotonic() + seconds
        self._jobs.take_in_reports()
        while (
            after == changes.number
            and (left := until - machine_clock.monotonic()) > 0
            and not self._is_ending()
        ):
            changes.wait(after, min(left, _REPORT_SECONDS))
            self._jobs.take_in_reports()
        found = changes.after(after)
        names = None if found.names is None else list(found.names)
        return {"instance": self.instance, "number": found.number, "names": names}

    def _is_ending(self) -> bool:
        return self._is_stopping or self._server.stopping

    def _info(self) -> Mapping[str, Any]:
        return {
            "version": __version__,
            "instance": self.instance,
            "pid": os.getpid(),
            "url": self.url,
            "grpc": self._gateways.grpc_address,
            "proxy": self._gateways.proxy_address,
            "started": self.started,
            "dataDir": str(self.folder.root),
            "lost": self.lost,
            "python": sys.executable,
            "timeoutScale": self._timeouts.scale,
            "liveJobs": self._jobs.live_jobs(),
            "changes": self._database.changes,  # after the line before: it takes in reports of supervisors
            **self._jobs.info(),
            **self._projects.info(),
            "services": service_addresses(self.url),
        }
