"""Failures end quickly, with one line that names the cause, and never with a hang."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import pytest

from digits.replicas import Job, NewJob, Replica
from support.waiting import TIMEOUT, eventually

MANY = "--epochs=100000"
"""More epochs than any test waits for."""


def failed(replica: Replica, *, code: int = 1) -> str:
    """Return the one line that a failed replica prints."""
    assert replica.wait() == code, (replica.name, replica.output(), replica.errors())
    lines = replica.errors().splitlines()
    assert len(lines) == 1, replica.errors()
    assert lines[0].startswith("error: ")
    return lines[0].removeprefix("error: ")


def connect(job: Job) -> socket.socket:
    """Return a connection to the chief's port, once it listens."""

    def connected() -> socket.socket | None:
        try:
            return socket.create_connection(("127.0.0.1", job.port(0)), timeout=TIMEOUT)
        except ConnectionRefusedError:
            return None

    connection = eventually(connected)
    assert connection is not None
    return connection


@pytest.mark.parametrize("victim", [1, 2], ids=["first worker", "last worker"])
def test_a_killed_worker_ends_all_replicas(new_job: NewJob, victim: int) -> None:
    job = new_job(workers=2)
    replicas = job.start_all(MANY)
    replicas[0].wait_for("epoch 1/")
    replicas[victim].process.kill()
    message = failed(replicas[0])
    assert message.startswith(
        f"workerpool1-{victim - 1} ({job.pools[1][victim - 1]}) closed the connection in step "
    )
    assert message.endswith("it failed or was stopped. Its own log says why.")
    assert failed(replicas[3 - victim]).startswith(f"workerpool0-0 ({job.pools[0][0]}) closed the connection")
    assert not job.model_dir.exists()


def test_a_killed_chief_ends_the_workers(new_job: NewJob) -> None:
    job = new_job(workers=2)
    chief, *workers = job.start_all(MANY)
    chief.wait_for("epoch 1/")
    chief.process.kill()
    for worker in workers:
        assert failed(worker).startswith(f"workerpool0-0 ({job.pools[0][0]}) closed the connection in step ")


def test_the_wait_for_a_silent_worker_ends(new_job: NewJob) -> None:
    job = new_job(workers=1)
    chief, worker = job.start_all(MANY, "--timeout=6")
    chief.wait_for("epoch 1/")
    worker.process.send_signal(signal.SIGSTOP)
    assert failed(chief).startswith(f"workerpool1-0 ({job.pools[1][0]}) was silent for 6 s in step ")


def test_missing_workers_are_named(new_job: NewJob) -> None:
    job = new_job(workers=3)
    chief, present = job.start(0, 0, "--timeout=6"), job.start(1, 1)
    message = failed(chief)
    assert message.startswith("Within 6 s these workers did not come: ")
    assert f"workerpool1-0 ({job.pools[1][0]}), workerpool1-2 ({job.pools[1][2]}). " in message
    assert failed(present).startswith(f"workerpool0-0 ({job.pools[0][0]}) closed the connection")


def test_a_missing_chief_is_named(new_job: NewJob) -> None:
    job = new_job(workers=1)
    message = failed(job.start(1, 0, "--timeout=1"))
    assert message.startswith(
        f"workerpool0-0 ({job.pools[0][0]}) did not answer within 1 s: Connection refused."
    )


def test_a_taken_port_is_named(new_job: NewJob) -> None:
    job = new_job(workers=1)
    with socket.create_server(("127.0.0.1", job.port(0))):
        message = failed(job.start(0))
    address = job.pools[0][0]
    assert message.startswith(f"The chief cannot listen at {address}: Address already in use. ")


def test_foreign_connections_are_closed(new_job: NewJob) -> None:
    from digits_trainer.wire import Kind, header

    job = new_job(workers=2)
    chief = job.start(0, 0, "--epochs=2")
    with connect(job) as garbage, connect(job) as silent, connect(job) as half, connect(job) as other_job:
        hello = header(Kind.HELLO, rank=1, step=0, length=64)
        garbage.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"x" * 100)
        half.sendall(hello)
        other_job.sendall(hello + bytes(64))
        for rejected in (garbage, other_job):
            with pytest.raises(ConnectionError):  # they never get an answer
                if rejected.recv(1) == b"":
                    raise ConnectionResetError
        workers = [job.start(1, index, "--epochs=2") for index in range(2)]
        for replica in (chief, *workers):
            assert replica.wait() == 0, (replica.output(), replica.errors())
        assert silent.recv(1) == b""
    assert chief.output().count("turned away a connection that does not belong to this job") == 2


def test_many_silent_foreign_connections_block_no_worker(new_job: NewJob) -> None:
    job = new_job(workers=1)
    chief = job.start(0, 0, "--epochs=1")
    crowd = [connect(job) for _ in range(100)]
    try:
        worker = job.start(1, 0, "--epochs=1")
        assert (chief.wait(), worker.wait()) == (0, 0), (chief.errors(), worker.errors())
    finally:
        for connection in crowd:
            connection.close()


def hello_of_the_first_worker(job: Job, *arguments: str) -> bytes:
    """Return the first message of the first worker, as if it were started with these arguments."""
    import vertex_cluster
    from digits_trainer.allreduce import job_digest
    from digits_trainer.rendezvous import Membership
    from digits_trainer.task import parse

    environment = job.environment(1, 0)
    cluster = vertex_cluster.from_environment(environment)
    settings = parse(["--data=x", *arguments], environment)
    member = Membership(
        rank=1,
        addresses=vertex_cluster.trainers(cluster).addresses,
        job=job_digest(cluster, settings.job_id),
        arguments=settings.digest(),
    )
    return member.hello(1)


def test_a_worker_that_disconnects_ends_the_job_at_once(new_job: NewJob) -> None:
    job = new_job(workers=2)  # the second never comes
    chief = job.start(0)
    with connect(job) as worker:
        worker.sendall(hello_of_the_first_worker(job))
        assert worker.recv(1) == b"D"  # the welcome begins
        assert chief.process.poll() is None
    assert failed(chief) == (
        f"workerpool1-0 ({job.pools[1][0]}) left before the training began. Its own log says why."
    )


def test_a_member_that_violates_the_protocol_ends_the_job(new_job: NewJob) -> None:
    job = new_job(workers=1)
    chief = job.start(0)
    with connect(job) as worker:
        worker.sendall(hello_of_the_first_worker(job))
        worker.sendall(b"\0" * 1000)
        message = failed(chief)
    assert message.startswith(f"workerpool1-0 ({job.pools[1][0]}) ")


def test_the_chief_stays_until_the_last_sum_is_read_and_compares_weights(new_job: NewJob) -> None:
    from digits_trainer.model import Network
    from digits_trainer.wire import Kind, Peer

    arguments = ["--hidden=4", "--batch-size=100000", "--epochs=1"]  # one step in all
    job = new_job(workers=1)
    chief = job.start(0, 0, *arguments)
    with connect(job) as connection:
        worker = Peer(connection, rank=0, name="chief")
        connection.sendall(hello_of_the_first_worker(job, *arguments))
        worker.receive(Kind.WELCOME, step=0, into=memoryview(bytearray(32)))
        worker.receive(Kind.READY, step=0, into=memoryview(b""))
        part = bytes(8 * (Network(hidden=4).size + 1))
        worker.send(Kind.PART, rank=1, step=1, body=part)
        chief.wait_for("epoch 1/1")
        time.sleep(0.5)
        assert chief.process.poll() is None
        assert not job.model_dir.exists()
        worker.receive(Kind.TOTAL, step=1, into=memoryview(bytearray(len(part))))
        worker.send(Kind.DONE, rank=1, step=1, body=bytes(32))
        message = failed(chief)
    assert message.startswith(f"workerpool1-0 ({job.pools[1][0]}) ended with other weights than the chief. ")
    assert not job.model_dir.exists()


def test_arguments_that_differ_from_the_chief(new_job: NewJob) -> None:
    job = new_job(workers=1)
    chief, worker = job.start(0, 0, "--batch-size=30"), job.start(1, 0, "--batch-size=60")
    assert failed(chief) == (
        f"workerpool1-0 ({job.pools[1][0]}) was started with other arguments than the chief. "
        "Give the first two worker pools the same arguments."
    )
    worker.process.kill()  # it would wait for a chief with the same arguments


def test_data_that_cannot_be_read(new_job: NewJob) -> None:
    reason = failed(new_job().start(0, data="gs://no-such-bucket/digits.csv"), code=2)
    assert reason.startswith("--data: the bucket no-such-bucket is not mounted at /gcs/no-such-bucket. ")
    reason = failed(new_job().start(0, data="/nowhere/digits.csv.gz"), code=2)
    assert reason == "/nowhere/digits.csv.gz does not exist. Give --data the digits' CSV file."


def test_data_that_is_no_file() -> None:
    from digits_trainer.data import load
    from digits_trainer.errors import InputError
    from digits_trainer.task import parse

    with pytest.raises(InputError, match=r"^/ cannot be read: \[Errno 21\] Is a directory: '/'\."):
        load(Path("/"))
    with pytest.raises(InputError, match=r"^--data: 's3://bucket/digits\.csv' is not a gs:// URI\. Give gs:"):
        parse(["--data=s3://bucket/digits.csv"], {})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "text.csv",
            b"a,b\n",
            "is not a table of numbers: could not convert string 'a' to float64 at row 0, column 1.",
        ),
        ("narrow.csv", b"1,2\n3,4\n", "has 2 columns; 64 pixels and a label were expected."),
        ("bright.csv", b",".join([b"17"] * 65) + b"\n", "has pixels outside 0 to 16."),
        ("letters.csv", b",".join([b"1"] * 64 + [b"1.5"]) + b"\n", "has labels that are not digits."),
        ("few.csv", b",".join([b"1"] * 65) + b"\n", "has 1 examples; at least 5 of each digit are needed."),
        ("plain.csv.gz", b"1,2\n", "cannot be read: Not a gzipped file (b'1,')."),
    ],
)
def test_invalid_data(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    from digits_trainer.data import load
    from digits_trainer.errors import InputError

    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        load(path)
    assert str(raised.value) == f"{path} {message}"


def test_wrong_usage(new_job: NewJob) -> None:
    job = new_job()
    replica = job.start(0, 0, "--epochs=0")
    assert replica.wait() == 2
    assert replica.errors().endswith("argument --epochs: 0 is not above 0\n")


def test_an_invalid_cluster(new_job: NewJob) -> None:
    message = failed(new_job().start(0, environment={"CLUSTER_SPEC": '{"cluster": {}}'}), code=2)
    assert message.startswith("CLUSTER_SPEC: cluster has 0 replicas in the first pool. ")


def test_a_parameter_server_is_rejected_and_trainers_succeed(new_job: NewJob) -> None:
    job = new_job(workers=1, parameter_servers=1)
    server = job.start(2)
    trainers = [job.start(pool, 0, "--epochs=1") for pool in (0, 1)]
    assert failed(server, code=2).startswith("This program has no use for parameter servers, ")
    assert [trainer.wait() for trainer in trainers] == [0, 0]


@pytest.mark.parametrize("variable", ["AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR"])
def test_a_folder_that_cannot_be_written(new_job: NewJob, variable: str) -> None:
    job = new_job()
    (job.folder / "file").touch()
    chief = job.start(0, 0, "--epochs=1", environment={variable: str(job.folder / "file" / "x")})
    message = failed(chief)
    assert message.startswith(f"{job.folder}/file/x/")
    assert message.endswith(" cannot be written: Not a directory.")


def test_too_high_a_learning_rate(new_job: NewJob) -> None:
    job = new_job(workers=1)
    for replica in job.start_all("--learning-rate=1e308"):
        assert (
            failed(replica, code=2) == "The loss is nan in epoch 1. Give a lower --learning-rate than 1e+308."
        )


def test_sigterm_stops_a_trainer(new_job: NewJob) -> None:
    job = new_job(workers=1)
    chief, worker = job.start_all(MANY)
    chief.wait_for("epoch 1/")
    worker.process.terminate()
    assert worker.wait() == 143
    assert worker.output().endswith("\nstopped by SIGTERM\n")
    assert worker.errors() == ""


def test_sigterm_stops_a_trainer_that_waits_for_others(new_job: NewJob) -> None:
    job = new_job(workers=2)
    chief, worker = job.start(0), job.start(1)
    for replica in (chief, worker):
        replica.wait_for("in a job of")
    time.sleep(0.5)
    worker.process.terminate()
    assert worker.wait() == 143
    chief.process.terminate()
    assert chief.wait() in (143, 1)  # 1 when it had already seen that the worker left


def test_a_model_dir_is_optional(new_job: NewJob) -> None:
    job = new_job()
    chief = job.start(0, 0, "--epochs=1", environment={"AIP_MODEL_DIR": "", "AIP_CHECKPOINT_DIR": ""})
    assert chief.wait() == 0
    assert chief.output().endswith("neither --model-dir nor AIP_MODEL_DIR is set: the model is not saved\n")
    assert not job.model_dir.exists()
    assert not job.checkpoint_dir.exists()
