"""Why training programs fail: the log lines and exit codes of each cause, and its remedy. Pure.

Patterns for the service's errors are from the Vertex AI documentation ("Understand the custom training
service", "Troubleshooting") and its public answers; those for programs were seen in the output of CPython,
TensorFlow, PyTorch, gRPC, Google's client libraries and shells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.runs.diagnosis import silence
from vertex_training.job import capacity

WHAT = "{what}"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One row of the table.

    `service` are patterns for the service's error, `log` for one line of the replica's log; the group `what`
    is the name of the faulty part. `exits` are exit codes that mean this cause if nothing else is known.
    `says` completes "Likely cause: "; a `{what}` in it is filled in, and `unnamed` replaces `says` if no
    pattern found a name. `remedy` is a sentence.
    """

    name: str
    says: str
    remedy: str
    unnamed: str = ""
    service: tuple[re.Pattern[str], ...] = ()
    log: tuple[re.Pattern[str], ...] = ()
    exits: Mapping[int, str] = field(default_factory=dict)
    """The text for each exit code, instead of `says`: less is known."""
    as_it_is: bool = False
    """True if the remedy is to run the job again, unchanged."""


def _any(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


_IN_BUCKET = r"(?P<what>(?:gs://|/gcs/)[^'\"\s;,)]+)"

STALLED = Cause(
    name="stalled",
    says="{what}",
    remedy="Read the stacks of its threads in its log, above its last line. If a step takes longer than the "
    "stall_timeout, set a longer one.",
    log=(silence.LINE,),
)
"""The cause of a job that the watchdog of `vertex_cluster.report` has ended."""

CAUSES: tuple[Cause, ...] = (
    STALLED,
    Cause(
        name="out_of_memory",
        says="it ran out of memory",
        remedy="Choose a machine_type with more memory, or use less memory: use a smaller batch or fewer "
        "data loading processes, or read the data in parts.",
        service=_any(r"ran out of memory", r"OOMKilled"),
        log=_any(
            r"^\s*(?:[\w.]+\.)?_?(?:Array)?MemoryError\b",
            r"std::bad_alloc",
            r"(?i)\bcannot allocate memory\b",
            r"(?i)\bout of memory: killed process",
        ),
        exits={137: "it was killed from outside (SIGKILL), most often because it ran out of memory"},
    ),
    Cause(
        name="accelerator_memory",
        says="the memory of its accelerator was used up",
        remedy="Use a smaller batch per replica, or an accelerator_type with more memory.",
        log=_any(
            r"CUDA out of memory",
            r"CUDA_ERROR_OUT_OF_MEMORY",
            r"OOM when allocating tensor",
            r"RESOURCE_EXHAUSTED: (?:Out of memory|Attempting to reserve)",
        ),
    ),
    Cause(
        name="quota",
        says="the project's quota {what} is used up",
        unnamed="a quota of the project is used up",
        remedy="Run the job again when others have ended. If it never fits, ask for more quota in this "
        "region, or use fewer or other machines.",
        as_it_is=True,
        service=(
            *capacity.patterns(capacity.Meaning.QUOTA),
            *_any(r"(?i)\bquota\b[^.]*\b(?:exceed|exhaust|limit)"),
        ),
    ),
    Cause(
        name="no_resources",
        says="Google had no free machines of this kind in {what}",
        unnamed="Google had no free machines of this kind",
        remedy="Run the job again later. If it never starts, declare another location or accelerator, or let "
        "it wait: set scheduling with max_wait_duration and strategy FLEX_START.",
        as_it_is=True,
        service=capacity.patterns(capacity.Meaning.MACHINES),
    ),
    Cause(
        name="not_scheduled",
        says="no machines were found for it within its max_wait_duration",
        remedy="Declare a longer scheduling.max_wait_duration, another location, or other machines.",
        service=_any(r"(?i)max_?wait_?duration|(?:not|never) (?:be )?scheduled|waiting for resources"),
    ),
    Cause(
        name="timeout",
        says="its work takes longer than {what}, or a replica waited for something in vain",
        unnamed="its work takes longer than scheduling.timeout, or a replica waited for something in vain",
        remedy="Declare a longer timeout or a higher max_cost, or check in the logs what the replicas waited "
        "for.",
        service=_any(
            r"scheduling\.timeout, (?P<what>[\w.]+)",
            r"(?i)\btimed out\b|\btimeout\b[^.]*\b(?:exceed|reach|over)",
        ),
    ),
    Cause(
        name="image",
        says="the image {what} cannot be read",
        unnamed="the container image cannot be read",
        remedy="Check that the image exists under this tag or digest, and give the Vertex AI Service Agent "
        "the role roles/artifactregistry.reader on its repository.",
        service=_any(
            r"container uri \[(?P<what>[^\]]+)\]",
            r"permission to access Artifact Registry repository (?P<what>[\w/.-]*\w)",
            r"ImagePullBackOff|ErrImagePull|pull access denied|manifest unknown",
        ),
    ),
    Cause(
        name="build_backend",
        says="the emulator could not get {what}, which builds the source distribution",
        remedy="Neither package_uris nor the program is at fault. Stage a wheel, which needs no build "
        "(StagedPackage makes one if format is left out), or let pip reach an index that has the backend.",
        service=_any(
            r"source distribution, which (?P<what>[\w.]+) builds, and its build requirements .* not available"
        ),
    ),
    Cause(
        name="no_pip",
        says="the Python that runs the emulator cannot install packages",
        remedy="Neither package_uris nor the program is at fault. `vertex-training doctor` says what to "
        "install.",
        service=_any(r"has neither pip nor ensurepip", r"ensurepip of \S+ failed"),
    ),
    Cause(
        name="package",
        says="its Python package could not be installed: pip found no {what}",
        unnamed="its Python package could not be installed",
        remedy="See pip's messages in the service's part of the log. The job must be able to read "
        "package_uris and the package's dependencies.",
        service=_any(
            r"packages? .* (?:could|can) ?not be installed", r"(?i)failed to install (?:the )?packages?"
        ),
        log=_any(r"ERROR: No matching distribution found for (?P<what>\S+)"),
    ),
    Cause(
        name="command",
        says="the command {what} is not in the image",
        unnamed="the command, or the program that it names, is not in the image",
        remedy="Check container_spec.command and the image's entrypoint. For shell syntax, use "
        'command=["sh", "-c", "..."].',
        service=_any(r'exec: \\?"(?P<what>[^"\\]+)\\?": (?:executable file not found|stat |no such file)'),
        log=_any(
            r'exec: "(?P<what>[^"]+)": (?:executable file not found|stat |no such file)',
            r"^\S*sh: (?:line )?\d+: (?P<what>[^\s:]+): (?:command )?not found$",
            r"^\S*env: ['‘]?(?P<what>[^'’\s:]+)['’]?: No such file or directory$",
        ),
        exits={
            127: "a command was not found",
            128: "the container could not be started: its command may not be in the image",
        },
    ),
    Cause(
        name="architecture",
        says="the program was built for another kind of processor",
        remedy="Build the image for linux/amd64: `docker build --platform linux/amd64`.",
        service=_any(r"(?i)exec format error"),
        log=_any(r"(?i)exec format error"),
    ),
    Cause(
        name="package_as_module",
        says="python_module names {what}, a package without a module __main__",
        remedy="Name one of its modules, such as PACKAGE.task, or add a file __main__.py to the package.",
        log=_any(r"^\S*python[\d.]*: No module named (?P<what>[\w.]+)\.__main__; "),
    ),
    Cause(
        name="missing_hypertune",
        says="the Python module hypertune is missing",
        remedy="Add the package cloudml-hypertune to the dependencies or to the image. On the emulator, "
        "Google's images have it if its Python does: `pip install cloudml-hypertune`.",
        log=_any(
            r"ModuleNotFoundError: No module named 'hypertune'",
            r"^\S*python[\d.]*: No module named hypertune\b",
        ),
    ),
    Cause(
        name="missing_vertex_cluster",
        says="the Python module vertex_cluster is missing",
        remedy="It is on no package index. Set vertex_cluster=True in the StagedPackage or TrainingImage.",
        log=_any(
            r"ModuleNotFoundError: No module named 'vertex_cluster'",
            r"^\S*python[\d.]*: No module named vertex_cluster\b",
        ),
    ),
    Cause(
        name="missing_module",
        says="the Python module {what} is missing",
        remedy="Add it to the package's dependencies or to the image. If it is a module of the program, "
        "check python_module and that the package contains it.",
        log=_any(
            r"ModuleNotFoundError: No module named '(?P<what>[^']+)'",
            r"^\S*python[\d.]*: No module named (?P<what>[\w.]+)",
        ),
    ),
    Cause(
        name="import_error",
        says="{what} cannot be imported",
        remedy="The installed library has another version than the program needs, or two modules import each "
        "other. Pin the version in the package or the image.",
        log=_any(r"ImportError: cannot import name '(?P<what>[^']+)'"),
    ),
    Cause(
        name="missing_library",
        says="the system library {what} is missing",
        remedy="In the image, install the system package that contains it, or use one of Google's prebuilt "
        "training images.",
        log=_any(
            r"(?:ImportError|OSError): (?P<what>lib\S+?): cannot open shared object file",
            r"error while loading shared libraries: (?P<what>[^\s:]+)",
        ),
    ),
    Cause(
        name="port_in_use",
        says="the port that it listens on, {what}, is in use",
        unnamed="a port that it listens on is in use",
        remedy="Listen only once on the port that CLUSTER_SPEC or TF_CONFIG has for this replica. For other "
        "servers use port 0, which chooses a free port.",
        log=_any(
            r"(?i)address already in use.*?(?::|port )(?P<what>\d{2,5})\b",
            r"(?i)(?::|port |', )(?P<what>\d{2,5})\b.*?(?:address already in use|EADDRINUSE)",
            r"(?i)address already in use|EADDRINUSE|No address added out of total",
        ),
    ),
    Cause(
        name="missing_data",
        says="{what} is not in the bucket",
        unnamed="data in a bucket is missing",
        remedy="Check the bucket and the path with `gcloud storage ls`, and check that the job that writes "
        "the data has ended.",
        log=_any(
            rf"(?:NotFoundError|FileNotFoundError|No such file|not found|does not exist).*?{_IN_BUCKET}",
            rf"{_IN_BUCKET}.*?(?:No such file or directory|not found|does not exist|[Nn]o files? match)",
            r"No such object: (?P<what>[^\s\"']+)",
            r"exceptions\.NotFound: 404 \w+ \S*?/b/(?P<what>[^\s?:]+)",
            r"exceptions\.NotFound: 404 .*(?:storage|bucket)|The specified (?:bucket|key) does not exist",
        ),
    ),
    Cause(
        name="missing_file",
        says="the file or directory {what} is missing",
        remedy="A replica only has the files of its image and package. Put the file there, or read it from a "
        "bucket (gs:// or /gcs/).",
        log=_any(
            r"(?:FileNotFoundError|NotADirectoryError): .*?: '(?P<what>[^']+)'",
            r"can't open file '(?P<what>[^']+)'",
            r"can't cd to (?P<what>\S+)$",
            r"NotFoundError: .*?(?P<what>/[^\s;:]+)[;:] No such file or directory",
            r"^(?:\S*sh: (?:line )?(?:\d+: )?|\w+: )?(?:can(?:not|'t) (?:open|access|stat) )?"
            r"['‘]?(?P<what>[\w./~-]*[/.][\w./~-]*)['’]?: No such file(?: or directory)?$",
        ),
    ),
    Cause(
        name="permission",
        says="it is not allowed to {what}",
        unnamed="the account that it runs as lacks a permission",
        remedy="Give the job's service_account a role with this permission, such as "
        "roles/storage.objectUser on the bucket.",
        service=_any(
            r"Permission '(?P<what>[^']+)' denied", r"do not have permission to act as service_account"
        ),
        log=_any(
            r"does not have (?P<what>[\w.]+\.[\w.]+) access",
            r"Permission '(?P<what>[^']+)' denied",
            r"exceptions\.(?:Forbidden|PermissionDenied): 403",
            r"(?:PermissionDeniedError|PERMISSION_DENIED): ",
        ),
    ),
    Cause(
        name="file_permission",
        says="it has no permission for the file or directory {what}",
        remedy="Write to /tmp or to the bucket (AIP_MODEL_DIR, /gcs/), or check the owner and mode of the "
        "file.",
        unnamed="it has no permission for a file, or the command is not executable",
        log=_any(
            r"PermissionError: .*?: '(?P<what>[^']+)'",
            r"(?P<what>/[^\s:]+): Permission denied$",
            r"OSError: \[Errno 30\] Read-only file system: '(?P<what>[^']+)'",
        ),
        exits={126: "its command is a file that is not executable"},
    ),
    Cause(
        name="disk_full",
        says="its disk is full",
        remedy="Declare a larger disk_spec.boot_disk_size_gb, or write to the bucket.",
        log=_any(r"No space left on device|Disk quota exceeded"),
    ),
    Cause(
        name="shared_memory",
        says="its shared memory (/dev/shm) is used up",
        remedy="Use fewer data loading processes (num_workers).",
        log=_any(
            r"(?i)insufficient shared memory|unable to (?:open|write to|allocate) (?:file|shared memory).*shm"
        ),
    ),
    Cause(
        name="no_accelerator",
        says="it found no usable accelerator",
        remedy="Declare accelerator_type and accelerator_count for its pool, and use an image whose "
        "libraries fit the driver. In the emulator, replicas only have the accelerators of this machine.",
        log=_any(
            r"No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device",
            r"Torch not compiled with CUDA enabled|CUDA driver version is insufficient",
        ),
    ),
    Cause(
        name="arguments",
        says="the program does not accept its arguments: {what}",
        remedy="Check args of the pool: each word must be its own element of the list.",
        log=_any(
            r"error: (?P<what>unrecognized arguments: .+)",
            r"error: (?P<what>the following arguments are required: .+)",
            r"error: (?P<what>argument \S+: .+)",
        ),
    ),
    Cause(
        name="environment",
        says="the variable {what} is not set",
        remedy="`vertex-training explain` shows the variables of each replica. AIP_MODEL_DIR and similar "
        "variables are only set with base_output_directory or staging_bucket, and TF_CONFIG only for "
        "several replicas.",
        log=_any(
            r"KeyError: '(?P<what>(?:AIP_|CLOUD_ML_|TF_CONFIG|CLUSTER_SPEC|MASTER_|RANK|WORLD_SIZE)\w*)'"
        ),
    ),
    Cause(
        name="syntax",
        says="the program is not valid Python: {what}",
        remedy="See the file and line in its log. The program may need a newer Python than the image has.",
        log=_any(r"^\s*(?P<what>(?:SyntaxError|IndentationError|TabError): .+)"),
    ),
    Cause(
        name="unreachable",
        says="it could not reach {what}",
        unnamed="it could not reach another replica or service",
        remedy="The other replica may have ended, or may not listen yet. Read its log.",
        log=_any(
            r"(?i)failed to connect to all addresses.*?(?P<what>[\w.-]+:\d{2,5})\b",
            r"(?i)(?:connection (?:refused|reset|timed out)|name or service not known"
            r"|temporary failure in name resolution|failed to connect to all addresses|heartbeat timeout)",
        ),
    ),
    Cause(
        name="model_exists",
        says="another pipeline created the model {what} while this one trained",
        unnamed="another pipeline created its model while this one trained",
        remedy="Its files are in its output directory. Run it again to create another version of the model. "
        "If pipelines run at the same time, only one of them can have model_id; give the others "
        "parent_model.",
        as_it_is=True,
        service=_any(r"(?i)\bmodel (?P<what>projects/[^\s]+/models/[\w-]+) already exists"),
    ),
    Cause(
        name="internal",
        says="the service itself failed",
        remedy="Run the job again: nothing in its declaration has to change.",
        as_it_is=True,
        service=_any(r"(?i)internal error occurred"),
    ),
    Cause(
        name="crash",
        says="its program crashed in native code",
        remedy="Look for incompatible versions of libraries (CUDA, NumPy, TensorFlow). `python -X "
        "faulthandler` prints where it crashed.",
        log=_any(r"^Fatal Python error: "),
        exits={
            134: "it aborted (SIGABRT): a library found an internal error",
            6: "it aborted (SIGABRT): a library found an internal error",
            139: "it crashed in native code (SIGSEGV)",
            11: "it crashed in native code (SIGSEGV)",
            132: "it used an instruction that this machine's processor does not have (SIGILL)",
        },
    ),
    Cause(
        name="stopped",
        says="it was stopped from outside",
        remedy="Its machine may have been reclaimed, as Spot VMs are. Write checkpoints, and let the service "
        "restart the job (scheduling).",
        exits={143: "it was stopped from outside (SIGTERM)"},
    ),
)
"""The first row with a matching pattern decides, for the service's error and for each line of a log."""

LOST_MACHINES = Cause(
    name="lost_machines",
    says="its machines were taken away, and Google had no others of this kind in {what}",
    unnamed="its machines were taken away, and Google had no others of this kind",
    remedy="Run the job again: a program that writes checkpoints continues from its last one. Spot VMs can "
    "be taken away at any time, machines with strategy STANDARD rarely are.",
    as_it_is=True,
    service=capacity.patterns(capacity.Meaning.MACHINES),
)
"""The cause instead of `no_resources` for a job that had started."""

AS_IT_IS = frozenset(cause.name for cause in (*CAUSES, LOST_MACHINES) if cause.as_it_is)
"""The names of the rows whose remedy is to run the job again, unchanged."""
