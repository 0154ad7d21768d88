"""The environment variables with their meanings. A test looks in the code for one that is missing here."""

from __future__ import annotations

from collections.abc import Mapping

CLIENT: Mapping[str, str] = {
    "VERTEX_TRAINING_DATA_DIR": "Data folder of the emulator. `vertex-training:dataDir` and `--data-dir` win "
    "over it.",
    "VERTEX_TRAINING_PREFLIGHT": "`off` turns the preflight of previews off "
    "(docs/guides/cost/preflight.md). `plan` sets it for its own preview, and does the preflight itself.",
    "VERTEX_TRAINING_COST_LIMITS": "`reported` lets a preview above a limit of cost pass. `plan` sets it for "
    "its own preview, and applies the limits itself.",
    "VERTEX_TRAINING_COMMAND": "Command that outputs and messages show instead of `vertex-training`.",
    "VERTEX_TRAINING_DEBUG": "Any value: the command prints a traceback for an unexpected error.",
    "VERTEX_EMULATOR_HOST": "URL of an emulator, such as `http://127.0.0.1:8433`. The command uses it if no "
    "emulator runs in the data folder.",
    "VERTEX_EMULATOR_TOKEN": "Token of the emulator of `VERTEX_EMULATOR_HOST`.",
    "STORAGE_EMULATOR_HOST": "Address of Cloud Storage of that emulator. Do not set it for Google Cloud.",
    "GOOGLE_CLOUD_PROJECT": "Project of commands for Google Cloud without `--project`.",
    "CLOUDSDK_CORE_PROJECT": "The same, if `GOOGLE_CLOUD_PROJECT` is not set.",
    "GOOGLE_APPLICATION_CREDENTIALS": "Key file of Google's libraries, which `doctor` checks.",
    "CLOUDSDK_CONFIG": "Folder of gcloud with the Application Default Credentials, which `doctor` checks.",
    "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": "File with the access token for `prices refresh`.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING": "Cloud Billing catalog for `prices refresh`.",
    "PULUMI_STACK": "Stack of `runs` and `gc` without `--stack`.",
    "PULUMI_BACKEND_URL": "Backend whose stacks `gc` reads, and whose files `doctor` checks.",
    "PULUMI_HOME": "Pulumi's folder, with the backend that you are logged in to.",
    "PULUMI_EXPERIMENTAL": "`true` as Pulumi reads it: needed to record the end of a run with some versions.",
    "PULUMI_OPTION_POLICY_PACK": "Policy pack of `plan` and `apply`, if the configuration names none.",
    "PULUMI_OPTION_POLICY_PACK_CONFIG": "The file with its settings, if the configuration names none.",
    "PULUMI_DEBUG_COMMANDS": "Set by `drift` for its own `pulumi`.",
    "PULUMI_SKIP_UPDATE_CHECK": "Set by commands for their own `pulumi`.",
    "DOCKER_HOST": "Address of the Docker daemon that builds a Dockerfile with a RUN.",
    "BUILDAH_ISOLATION": "Isolation of buildah's builds. Default: `chroot`.",
    "HOME": "Your folder, for `~` and the defaults of the next two.",
    "XDG_CACHE_HOME": "Folder of caches: prices, wheels, the Pulumi CLI. Default: `~/.cache`.",
    "XDG_DATA_HOME": "Folder that has the emulator's data folder. Default: `~/.local/share`.",
    "NO_COLOR": "Any value: no colours.",
    "TERM": "`dumb`: no colours, and no views that redraw.",
    "_ARGCOMPLETE": "Set by the shell that asks for completions.",
}
"""Variables that a program, its provider process and the command read."""

EMULATOR: Mapping[str, str] = {
    "VERTEX_TRAINING_EMULATOR_PYTHON": "Python in which the emulator runs, with this package in the same "
    "version. Default: that of the caller.",
    "VERTEX_TRAINING_UPSTREAM_PROXY": "Your own https_proxy, in a shell whose https_proxy is the emulator's.",
    "SSL_CERT_FILE": "Certificate authorities that the emulator's proxy trusts besides its own.",
    "PIP_INDEX_URL": "Package index for the replicas' pip.",
    "PIP_EXTRA_INDEX_URL": "Further package indexes for it.",
    "PIP_FIND_LINKS": "Folders or pages with packages for it.",
    "PIP_NO_INDEX": "Use no package index.",
    "PIP_TRUSTED_HOST": "Hosts of indexes without a valid certificate.",
    "PIP_CACHE_DIR": "Cache of pip.",
}
"""Variables that the emulator reads."""

SHELL: Mapping[str, str] = {
    "VERTEX_EMULATOR_SIGNING_KEY": "Key file with which a test signs URLs of Cloud Storage.",
    "VERTEX_EMULATOR_JAVA_OPTIONS": "With `--proxy`: options of Java that lead a program to the emulator.",
    "JAVA_TOOL_OPTIONS": "With `--java`: the same for every Java program.",
    "GCE_METADATA_HOST": "Metadata server for Application Default Credentials.",
    "GCE_METADATA_IP": "The same, for the check whether there is a metadata server.",
    "GCE_METADATA_ROOT": "The same, for gcloud.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM": "Address of Vertex AI for gcloud.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_ARTIFACTREGISTRY": "Address of Artifact Registry for gcloud.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE": "Address of Service Usage for gcloud.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": "Address of Cloud Storage for gcloud.",
    "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": "Address of Cloud Logging for gcloud.",
    "CLOUDSDK_AI_REGION": "Region of gcloud's commands for Vertex AI.",
    "FSSPEC_GCS_ENDPOINT_URL": "Address of Cloud Storage for gcsfs, with `--proxy`.",
    "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "`false`: gcsfs would ask for the kind of a bucket over gRPC.",
    "REGISTRY_AUTH_FILE": "Credentials of skopeo, buildah and podman for the registry.",
    "PYTHONPATH": "Extended by the folder that leads Google's SDK to the emulator.",
    "NO_PROXY": "Extended by the emulator's address; also `no_proxy`.",
    "https_proxy": "With `--proxy`: the emulator's proxy; also `HTTPS_PROXY`.",
    "CURL_CA_BUNDLE": "With `--proxy`: certificate authorities for curl and TensorFlow.",
    "REQUESTS_CA_BUNDLE": "With `--proxy`: the same for Google's Python clients, pip and gcloud.",
    "HTTPLIB2_CA_CERTS": "With `--proxy`: the same for google-api-python-client.",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": "With `--proxy`: the same for gRPC.",
    "NODE_EXTRA_CA_CERTS": "With `--proxy`: the same for Node.",
}
"""Further variables that `vertex-training emulator env` sets, and most of them in replicas."""

CHORES: Mapping[str, str] = {
    "PYTHON": "Python with which `make setup` creates `.venv`.",
    "CI": "Set by continuous integration: tests install what they need instead of being skipped.",
    "VERTEX_TRAINING_BACKEND_URL": "Pulumi backend of `make up`. Default: files in `.local`.",
    "VERTEX_TRAINING_PULUMI_RELEASES": "Address from which `make setup` downloads the Pulumi CLI.",
    "PULUMI_CONFIG_PASSPHRASE": "Passphrase of the stack's secrets. That of `local` is public.",
    "PULUMI_CONFIG_PASSPHRASE_FILE": "File with it.",
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
    "TF_CONFIG": "The cluster for TensorFlow: addresses by role, and the task of this replica. Not in a job "
    "of one replica, nor in reduction servers.",
    "HOSTNAME": "Host name of the replica.",
    "CLOUD_ML_PROJECT_ID": "Number of the project.",
    "CLOUD_ML_JOB_ID": "Id of the job.",
    "CLOUD_ML_REGION": "Region of the job.",
    "CLOUD_ML_TRIAL_ID": "Number of the trial, from 1. Only in tuning jobs.",
    "CLOUD_ML_HP_METRIC_FILE": "File in which the program reports its metric. Only in tuning jobs.",
    "CLOUD_ML_HP_METRIC_TAG": "Name under which it is reported without another one. Only in tuning jobs.",
    "AIP_MODEL_DIR": "Directory of the model, gs://. In a job with an output directory.",
    "AIP_CHECKPOINT_DIR": "Directory of checkpoints, gs://. In a job with an output directory.",
    "AIP_TENSORBOARD_LOG_DIR": "Directory of TensorBoard logs, gs://. In a job with an output directory.",
    "AIP_TENSORBOARD_RESOURCE_NAME": "Full name of the job's TensorBoard.",
    "AIP_TENSORBOARD_API_URI": "Host of the API of the job's TensorBoard.",
    "AIP_EXPERIMENT_NAME": "Experiment of the job.",
    "AIP_EXPERIMENT_RUN_NAME": "Experiment run of the job.",
    "AIP_DATA_FORMAT": "Format of the exported dataset: csv, jsonl or bigquery. Only in training pipelines.",
    "AIP_TRAINING_DATA_URI": "Files or table of the training set. Only in training pipelines.",
    "AIP_VALIDATION_DATA_URI": "Files or table of the validation set. Only in training pipelines.",
    "AIP_TEST_DATA_URI": "Files or table of the test set. Only in training pipelines.",
    "MASTER_ADDR": "Host of the chief. In the chief and workers of a job of several replicas.",
    "MASTER_PORT": "Port of the chief, for torch.distributed.",
    "RANK": "Rank of the replica: 0 for the chief, i + 1 for worker i.",
    "WORLD_SIZE": "Number of the chief and workers.",
}
"""Variables of every replica, as the service sets them."""

LOCAL_REPLICA: Mapping[str, str] = {
    "VERTEX_CLUSTER_LOCAL_DEVICES": "On the emulator: number of CPU devices that stand in for accelerators "
    "(`vertex_cluster.local_devices`).",
    "XLA_FLAGS": "On the emulator: extended by a flag with that number, which JAX reads.",
    "VERTEX_CLUSTER_LEGACY_ENVIRONMENT": "Facts about a job of legacy AI Platform "
    "(`vertex_cluster.use_legacy_environment`).",
    "LAUNCHER_PORT": "Port that a framework's launcher uses instead of that of CLUSTER_SPEC, if you set it.",
    "LOCAL_RANK": "Rank of a process on its machine, set by torchrun. `vertex_cluster.report` writes for 0.",
}
"""Variables of replicas beyond those of the service."""

ALL: Mapping[str, str] = {**CLIENT, **EMULATOR, **SHELL, **CHORES, **REPLICA, **LOCAL_REPLICA}
