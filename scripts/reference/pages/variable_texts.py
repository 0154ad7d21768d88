"""The environment variables with their meanings. A test looks in the code for one that is missing here."""

from __future__ import annotations

from collections.abc import Mapping

_GCLOUD = "Addresses of the emulator's services for gcloud."
_AUTHORITIES = (
    "With `--proxy`: certificate authorities for curl, Google's clients, pip, gcloud, gsutil, gRPC and Node."
)
_PIP = "Package indexes, certificates and cache of pip in replicas."
_METADATA = "Metadata server for Application Default Credentials, in the forms of several clients."
_SET = "Set by `vertex-training` for the `pulumi` that it runs."

CLIENT: Mapping[str, str] = {
    "VERTEX_TRAINING_DATA_DIR": "Data folder of the emulator. `vertex-training:dataDir` and `--data-dir` are "
    "used before it.",
    "VERTEX_TRAINING_TIMEOUT_SCALE": "Factor of all timeouts, from 1 to 100. See "
    "docs/guides/troubleshooting.md#a-slow-machine.",
    "VERTEX_TRAINING_PREFLIGHT": "`off` turns off the preflight of previews. See "
    "docs/guides/cost/preflight.md.",
    "VERTEX_TRAINING_COST_LIMITS": "`reported` accepts a preview above a limit of cost.",
    "VERTEX_TRAINING_PREVIEW_REPORTS": "Private folder for inputs without their secrets, set by "
    "`vertex-training plan` and `preflight` for their own preview.",
    "VERTEX_TRAINING_COMMAND": "Name of the command in outputs and messages, instead of `vertex-training`.",
    "VERTEX_TRAINING_PULUMI_COMMAND": "The same for `pulumi`. `make up` sets it to `scripts/pulumi`.",
    "VERTEX_TRAINING_DEBUG": "Any value: the command prints a traceback for an unexpected error.",
    "VERTEX_EMULATOR_HOST": "URL of an emulator, such as `http://127.0.0.1:8433`. The command uses it if no "
    "emulator runs in the data folder.",
    "VERTEX_EMULATOR_TOKEN": "Token of the emulator of `VERTEX_EMULATOR_HOST`.",
    "STORAGE_EMULATOR_HOST": "Address of the emulator's Cloud Storage. Do not set it for Google Cloud.",
    "GOOGLE_CLOUD_PROJECT": "Project of commands for Google Cloud, if you give no `--project`.",
    "CLOUDSDK_CORE_PROJECT": "The same, if `GOOGLE_CLOUD_PROJECT` is not set.",
    "GOOGLE_APPLICATION_CREDENTIALS": "Key file for Google's libraries; in a shell of "
    "`emulator env --proxy` the emulator's own.",
    "CLOUDSDK_CONFIG": "Folder of gcloud with the Application Default Credentials.",
    "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": "File with the access token for `vertex-training prices refresh`.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING": "Address of the Cloud Billing catalog for "
    "`vertex-training prices "
    "refresh`.",
    "PULUMI_STACK": "Selected stack: `vertex-training` looks for the job of a name in it, unless you give "
    "`--stack`.",
    "PULUMI_BACKEND_URL": "Pulumi backend. `vertex-training gc` reads its stacks, and `doctor` checks "
    "its files.",
    "PULUMI_HOME": "Pulumi's folder, with the backend that you are logged in to.",
    "PULUMI_EXPERIMENTAL": "`true` turns on features of Pulumi. Some versions need it to record the end "
    "of a run.",
    "PULUMI_OPTION_POLICY_PACK": "Policy pack of `vertex-training plan` and `apply` if the stack has none.",
    "PULUMI_OPTION_POLICY_PACK_CONFIG": "File with its settings, if the stack has none.",
    "PULUMI_DEBUG_COMMANDS": _SET,
    "PULUMI_SKIP_UPDATE_CHECK": _SET,
    "DOCKER_HOST": "Address of the Docker daemon. It builds a Dockerfile that has a RUN.",
    "BUILDAH_ISOLATION": "Isolation of buildah's builds. Default: `chroot`.",
    "HOME": "Your home folder: `~`, and the defaults of the next two variables.",
    "XDG_CACHE_HOME": "Folder of caches: prices, wheels, the Pulumi CLI. Default: `~/.cache`.",
    "XDG_DATA_HOME": "Folder that has the emulator's data folder. Default: `~/.local/share`.",
    "NO_COLOR": "Any value: no colours.",
    "TERM": "`dumb`: no colours, and no views that redraw.",
    "_ARGCOMPLETE": "Set by the shell for completions.",
    "COMP_LINE": "Set by the shell for completions.",
}
"""Variables that a program, its provider process and the command read."""

EMULATOR: Mapping[str, str] = {
    "VERTEX_TRAINING_EMULATOR_PYTHON": "Python that runs the emulator, with the same version of this "
    "package. Default: the one that starts it.",
    "VERTEX_TRAINING_UPSTREAM_PROXY": "Your own proxy, in a shell in which `https_proxy` is the emulator's.",
    "SSL_CERT_FILE": "Certificate authorities that the emulator's proxy trusts besides its own.",
    "PIP_INDEX_URL": _PIP,
    "PIP_EXTRA_INDEX_URL": _PIP,
    "PIP_FIND_LINKS": _PIP,
    "PIP_NO_INDEX": _PIP,
    "PIP_TRUSTED_HOST": _PIP,
    "PIP_CACHE_DIR": _PIP,
}
"""Variables that the emulator reads."""

SHELL: Mapping[str, str] = {
    "VERTEX_EMULATOR_SIGNING_KEY": "Key file to sign URLs of Cloud Storage with.",
    "VERTEX_EMULATOR_JAVA_OPTIONS": "With `--proxy`: options with which a Java program uses the emulator.",
    "JAVA_TOOL_OPTIONS": "With `--java`: the same for every Java program.",
    "GCE_METADATA_HOST": _METADATA,
    "GCE_METADATA_IP": _METADATA,
    "GCE_METADATA_ROOT": _METADATA,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM": _GCLOUD,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_ARTIFACTREGISTRY": _GCLOUD,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER": _GCLOUD,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM": _GCLOUD,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": _GCLOUD,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE": _GCLOUD,
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": _GCLOUD,
    "CLOUDSDK_AI_REGION": "Region of gcloud's commands for Vertex AI.",
    "FSSPEC_GCS_ENDPOINT_URL": "Address of Cloud Storage for gcsfs, with `--proxy`.",
    "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "`false`. Otherwise gcsfs asks for the kind of each bucket "
    "over gRPC.",
    "REGISTRY_AUTH_FILE": "Credentials of skopeo, buildah and podman for the registry.",
    "PYTHONPATH": "Extended by the folder whose `sitecustomize` leads Google's SDK to the emulator.",
    "NO_PROXY": "Extended by the emulator's address. So is `no_proxy`.",
    "https_proxy": "With `--proxy`: the emulator's proxy. `HTTPS_PROXY` has the same value.",
    "CURL_CA_BUNDLE": _AUTHORITIES,
    "REQUESTS_CA_BUNDLE": _AUTHORITIES,
    "HTTPLIB2_CA_CERTS": _AUTHORITIES,
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": _AUTHORITIES,
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": _AUTHORITIES,
    "NODE_EXTRA_CA_CERTS": _AUTHORITIES,
}
"""Further variables that `vertex-training emulator env` sets, and most of them in replicas."""

CHORES: Mapping[str, str] = {
    "PYTHON": "Python with which `make setup` creates `.venv`.",
    "CI": "`make test` installs all programs that tests run, and skips no test for a missing one.",
    "VERTEX_TESTS_RUN": "Set by `make test` for its processes: the folder of the run.",
    "VERTEX_TESTS_MEMORY": "Bytes above which one ends.",
    "VERTEX_TESTS_SHARED": "The folder that they share.",
    "VERTEX_TRAINING_BACKEND_URL": "Pulumi backend of `make up`. Default: files in `.local`.",
    "VERTEX_TRAINING_PULUMI_RELEASES": "Address of the Pulumi CLI's releases.",
    "PULUMI_CONFIG_PASSPHRASE": "Passphrase of the stack's secrets. The passphrase of `local` is public.",
    "PULUMI_CONFIG_PASSPHRASE_FILE": "File with that passphrase.",
    "PULUMI_OPTION_SKIP_CONFIG_VALIDATION": "Set by chores: programs check their configuration themselves.",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "Set by chores for the stack `local`.",
    "PULUMI_PYTHON_CMD": "Removed by chores: Pulumi uses `.venv`.",
    "PIP_CERT": "Certificate authorities for `make lock`.",
    "PATH": "Where chores look for `pulumi`, Go, Node and browsers.",
}
"""Variables that the chores of a clone read or set, besides those above."""

REPLICA: Mapping[str, str] = {
    "CLUSTER_SPEC": "The cluster as JSON: the addresses of all replicas by pool, the task of this replica, "
    "and the job.",
    "TF_CONFIG": "The cluster for TensorFlow: addresses by role, and the task of this replica. A job of one "
    "replica does not have it, nor do reduction servers.",
    "HOSTNAME": "Host name of the replica.",
    "CLOUD_ML_PROJECT_ID": "Number of the project.",
    "CLOUD_ML_JOB_ID": "Id of the job.",
    "CLOUD_ML_REGION": "Region of the job.",
    "CLOUD_ML_TRIAL_ID": "Number of the trial, from 1, in tuning jobs.",
    "CLOUD_ML_HP_METRIC_FILE": "File in which the program reports its metric, in tuning jobs.",
    "CLOUD_ML_HP_METRIC_TAG": "Name of the metric, if the program reports none, in tuning jobs.",
    "AIP_MODEL_DIR": "Directory for the model, in a job with an output directory.",
    "AIP_CHECKPOINT_DIR": "The same for checkpoints.",
    "AIP_TENSORBOARD_LOG_DIR": "The same for TensorBoard logs.",
    "AIP_TENSORBOARD_RESOURCE_NAME": "Full name of the job's TensorBoard.",
    "AIP_TENSORBOARD_API_URI": "Host of the API of the job's TensorBoard.",
    "AIP_EXPERIMENT_NAME": "Experiment of the job.",
    "AIP_EXPERIMENT_RUN_NAME": "Experiment run of the job.",
    "AIP_DATA_FORMAT": "Format of the exported dataset: csv, jsonl or bigquery, in training pipelines.",
    "AIP_TRAINING_DATA_URI": "Files or table of the training set, in training pipelines.",
    "AIP_VALIDATION_DATA_URI": "Files or table of the validation set, in training pipelines.",
    "AIP_TEST_DATA_URI": "Files or table of the test set, in training pipelines.",
    "MASTER_ADDR": "Host of the chief, in the chief and workers of a job of several replicas.",
    "MASTER_PORT": "Port of the chief, for torch.distributed.",
    "RANK": "Rank of the replica: 0 for the chief, i + 1 for worker i.",
    "WORLD_SIZE": "Number of replicas that train: the chief and the workers.",
}
"""Variables of every replica, as the service sets them."""

LOCAL_REPLICA: Mapping[str, str] = {
    "VERTEX_CLUSTER_LOCAL_DEVICES": "On the emulator: number of CPU devices that stand in for accelerators "
    "(`vertex_cluster.local_devices`).",
    "XLA_FLAGS": "On the emulator: extended by a flag with the same number. JAX reads it.",
    "VERTEX_CLUSTER_LEGACY_ENVIRONMENT": "The variables of AI Platform "
    "(`vertex_cluster.use_legacy_environment`).",
    "VERTEX_CLUSTER_CHECKPOINT_DIR": "The gs:// folder of `vertex_cluster.checkpoints`, in jobs with a "
    "staging bucket. See "
    "docs/guides/frameworks/checkpoints.md.",
    "VERTEX_CLUSTER_STALL_TIMEOUT": "The option `stall_timeout` of a job. See "
    "docs/guides/frameworks/hangs.md.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": "Address of Secret Manager for gcloud and "
    "`vertex_cluster.secret`, if it is not Google's. The emulator sets it.",
    "LAUNCHER_PORT": "If you set it: the port of a framework's launcher, instead of the port in "
    "CLUSTER_SPEC.",
    "LOCAL_RANK": "Rank of a process on its machine, set by torchrun. `vertex_cluster.report` writes "
    "only in the "
    "process with rank 0.",
}
"""Further variables of replicas, which the service does not set."""

ALL: Mapping[str, str] = {**CLIENT, **EMULATOR, **SHELL, **CHORES, **REPLICA, **LOCAL_REPLICA}
