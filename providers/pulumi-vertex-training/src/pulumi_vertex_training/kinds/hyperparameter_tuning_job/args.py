"""Typed arguments of a tuning job. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi import Input

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.program.arguments.arguments_class import arguments_class
from pulumi_vertex_training.program.arguments.job_args import PscInterfaceConfigArgs, SchedulingArgs
from pulumi_vertex_training.program.arguments.references import ServiceAccountLike
from pulumi_vertex_training.program.arguments.worker_pools import WorkerPool


@arguments_class
class SafetyMetricConfigArgs:
    """Marks a metric that a trial must keep within a threshold instead of improving it.

    :param safety_threshold: Limit between safe and unsafe values of the metric.
    :param desired_min_safe_trials_fraction: Fraction of trials that should be safe, 0 to 1. Default: no
        target.
    """

    safety_threshold: Input[float | None] = None
    """Limit between safe and unsafe values of the metric."""
    desired_min_safe_trials_fraction: Input[float | None] = None
    """Fraction of trials that should be safe, 0 to 1. Default: no target."""


@arguments_class
class MetricSpecArgs:
    """A number that trials report, to be maximized or minimized.

    :param metric_id: Id of the metric: the tag under which trials report it.
    :param goal: MAXIMIZE or MINIMIZE.
    :param safety_config: Limit that the metric must keep. The metric is then not optimized.
    """

    metric_id: Input[str]
    """Id of the metric: the tag under which trials report it."""
    goal: Input[str]
    """MAXIMIZE or MINIMIZE."""
    safety_config: Input[SafetyMetricConfigArgs | None] = None
    """Limit that the metric must keep. The metric is then not optimized."""


@arguments_class
class DoubleValueSpecArgs:
    """Any number between two bounds, both included.

    :param min_value: Smallest value, included.
    :param max_value: Largest value, included.
    :param default_value: Starting point of the search. Not supported in tuning jobs.
    """

    min_value: Input[float]
    """Smallest value, included."""
    max_value: Input[float]
    """Largest value, included."""
    default_value: Input[float | None] = None
    """Starting point of the search. Not supported in tuning jobs."""


@arguments_class
class IntegerValueSpecArgs:
    """Any whole number between two bounds, both included.

    :param min_value: Smallest value, included.
    :param max_value: Largest value, included.
    :param default_value: Starting point of the search. Not supported in tuning jobs.
    """

    min_value: Input[int]
    """Smallest value, included."""
    max_value: Input[int]
    """Largest value, included."""
    default_value: Input[int | None] = None
    """Starting point of the search. Not supported in tuning jobs."""


@arguments_class
class CategoricalValueSpecArgs:
    """One of a list of texts.

    :param values: Values to choose from.
    :param default_value: Starting point of the search. Not supported in tuning jobs.
    """

    values: Input[Sequence[Input[str]]]
    """Values to choose from."""
    default_value: Input[str | None] = None
    """Starting point of the search. Not supported in tuning jobs."""


@arguments_class
class DiscreteValueSpecArgs:
    """One of a list of increasing numbers.

    :param values: Values to choose from, in increasing order; 1,000 at most.
    :param default_value: Starting point of the search. Not supported in tuning jobs.
    """

    values: Input[Sequence[Input[float]]]
    """Values to choose from, in increasing order; 1,000 at most."""
    default_value: Input[float | None] = None
    """Starting point of the search. Not supported in tuning jobs."""


@arguments_class
class DiscreteValueConditionArgs:
    """Values of a parent with a list of numbers.

    :param values: Values of the parent with which the parameter is active.
    """

    values: Input[Sequence[Input[float]]]
    """Values of the parent with which the parameter is active."""


@arguments_class
class IntValueConditionArgs:
    """Values of a parent with whole numbers.

    :param values: Values of the parent with which the parameter is active.
    """

    values: Input[Sequence[Input[int]]]
    """Values of the parent with which the parameter is active."""


@arguments_class
class CategoricalValueConditionArgs:
    """Values of a parent with a list of texts.

    :param values: Values of the parent with which the parameter is active.
    """

    values: Input[Sequence[Input[str]]]
    """Values of the parent with which the parameter is active."""


@arguments_class
class ConditionalParameterSpecArgs:
    """A parameter that a trial has only if its parent has one of the condition's values.

    :param parameter_spec: Parameter that depends on its parent.
    :param parent_discrete_values: Condition on a parent with discrete values.
    :param parent_int_values: Condition on a parent with integer values.
    :param parent_categorical_values: Condition on a parent with categorical values.
    """

    parameter_spec: Input[ParameterSpecArgs]
    """Parameter that depends on its parent."""
    parent_discrete_values: Input[DiscreteValueConditionArgs | None] = None
    """Condition on a parent with discrete values."""
    parent_int_values: Input[IntValueConditionArgs | None] = None
    """Condition on a parent with integer values."""
    parent_categorical_values: Input[CategoricalValueConditionArgs | None] = None
    """Condition on a parent with categorical values."""


@arguments_class
class ParameterSpecArgs:
    """A value that each trial gets as the argument `--<parameter_id>`; it has exactly one value spec.

    :param parameter_id: Id of the parameter: trials get its value as the argument `--<parameter_id>`.
    :param double_value_spec: Range of a number.
    :param integer_value_spec: Range of a whole number.
    :param categorical_value_spec: List of texts.
    :param discrete_value_spec: List of numbers.
    :param scale_type: UNIT_LINEAR_SCALE, UNIT_LOG_SCALE or UNIT_REVERSE_LOG_SCALE. Leave it out for a
        categorical parameter.
    :param conditional_parameter_specs: Parameters that a trial has only with certain values of this one.
    """

    parameter_id: Input[str]
    """Id of the parameter: trials get its value as the argument `--<parameter_id>`."""
    double_value_spec: Input[DoubleValueSpecArgs | None] = None
    """Range of a number."""
    integer_value_spec: Input[IntegerValueSpecArgs | None] = None
    """Range of a whole number."""
    categorical_value_spec: Input[CategoricalValueSpecArgs | None] = None
    """List of texts."""
    discrete_value_spec: Input[DiscreteValueSpecArgs | None] = None
    """List of numbers."""
    scale_type: Input[str | None] = None
    """UNIT_LINEAR_SCALE, UNIT_LOG_SCALE or UNIT_REVERSE_LOG_SCALE. Leave it out for a categorical parameter.
    """
    conditional_parameter_specs: Input[Sequence[Input[ConditionalParameterSpecArgs]] | None] = None
    """Parameters that a trial has only with certain values of this one."""


@arguments_class
class DecayCurveAutomatedStoppingSpecArgs:
    """Stops a trial whose predicted result is unlikely to beat the best so far.

    :param use_elapsed_duration: Compare trials by elapsed time instead of steps.
    """

    use_elapsed_duration: Input[bool | None] = None
    """Compare trials by elapsed time instead of steps."""


@arguments_class
class MedianAutomatedStoppingSpecArgs:
    """Stops a trial that is worse than the median of the running averages of completed trials.

    :param use_elapsed_duration: Compare trials by elapsed time instead of steps.
    """

    use_elapsed_duration: Input[bool | None] = None
    """Compare trials by elapsed time instead of steps."""


@arguments_class
class ConvexAutomatedStoppingSpecArgs:
    """Stops a trial whose optimistic prediction is worse than the best result so far.

    :param max_step_count: Steps of a complete trial, for the prediction. Default: learned from completed
        trials.
    :param min_step_count: Steps before a trial may be stopped. The service's default is a tenth of
        `max_step_count`.
    :param min_measurement_count: Measurements before a trial may be stopped. The service's default is 5.
    :param learning_rate_parameter_name: Id of the parameter that is the learning rate, if there is one.
    :param use_elapsed_duration: Count elapsed seconds instead of steps.
    :param update_all_stopped_trials: Update the final measurement of all stopped trials, not only of those
        that are stopped next.
    """

    max_step_count: Input[int | None] = None
    """Steps of a complete trial, for the prediction. Default: learned from completed trials."""
    min_step_count: Input[int | None] = None
    """Steps before a trial may be stopped. The service's default is a tenth of `max_step_count`."""
    min_measurement_count: Input[int | None] = None
    """Measurements before a trial may be stopped. The service's default is 5."""
    learning_rate_parameter_name: Input[str | None] = None
    """Id of the parameter that is the learning rate, if there is one."""
    use_elapsed_duration: Input[bool | None] = None
    """Count elapsed seconds instead of steps."""
    update_all_stopped_trials: Input[bool | None] = None
    """Update the final measurement of all stopped trials, not only of those that are stopped next."""


@arguments_class
class StudyTimeConstraintArgs:
    """A duration since the start of the study, "3600s", or a time in RFC 3339; exactly one of them.

    :param max_duration: Time since the study began, such as "3600s".
    :param end_time: Moment in RFC 3339, such as "2030-01-31T12:00:00Z".
    """

    max_duration: Input[str | None] = None
    """Time since the study began, such as "3600s"."""
    end_time: Input[str | None] = None
    """Moment in RFC 3339, such as "2030-01-31T12:00:00Z"."""


@arguments_class
class StudyStoppingConfigArgs:
    """Conditions that end the study before its last trial.

    :param should_stop_asap: Also stop running trials when the study ends.
    :param minimum_runtime_constraint: Time before which no other condition ends the study.
    :param maximum_runtime_constraint: Time after which the study ends.
    :param min_num_trials: Number of completed trials before which no other condition ends the study.
    :param max_num_trials: Number of trials after which the study ends.
    :param max_num_trials_no_progress: Number of trials in a row without a better value after which the study
        ends. Only for a single objective.
    :param max_duration_no_progress: Time without a better value after which the study ends, such as "3600s".
        Only for a single objective.
    """

    should_stop_asap: Input[bool | None] = None
    """Also stop running trials when the study ends."""
    minimum_runtime_constraint: Input[StudyTimeConstraintArgs | None] = None
    """Time before which no other condition ends the study."""
    maximum_runtime_constraint: Input[StudyTimeConstraintArgs | None] = None
    """Time after which the study ends."""
    min_num_trials: Input[int | None] = None
    """Number of completed trials before which no other condition ends the study."""
    max_num_trials: Input[int | None] = None
    """Number of trials after which the study ends."""
    max_num_trials_no_progress: Input[int | None] = None
    """Number of trials in a row without a better value after which the study ends. Only for a single
    objective.
    """
    max_duration_no_progress: Input[str | None] = None
    """Time without a better value after which the study ends, such as "3600s". Only for a single objective.
    """


@arguments_class
class StudySpecArgs:
    """Metrics, parameters, and how the next values are chosen.

    :param metrics: Metrics to optimize.
    :param parameters: Parameters to search.
    :param algorithm: GRID_SEARCH or RANDOM_SEARCH. Default: Bayesian optimization.
    :param observation_noise: LOW or HIGH. Not supported in tuning jobs.
    :param measurement_selection_type: Measurement of a trial that counts: LAST_MEASUREMENT (the service's
        default) or BEST_MEASUREMENT.
    :param decay_curve_stopping_spec: Stop trials by the decay curve rule. At most one of the three stopping
        rules can be set.
    :param median_automated_stopping_spec: Stop trials by the median rule.
    :param convex_automated_stopping_spec: Stop trials by the convex rule.
    :param study_stopping_config: Conditions that end the study before its last trial.
    """

    metrics: Input[Sequence[Input[MetricSpecArgs]]]
    """Metrics to optimize."""
    parameters: Input[Sequence[Input[ParameterSpecArgs]]]
    """Parameters to search."""
    algorithm: Input[str | None] = None
    """GRID_SEARCH or RANDOM_SEARCH. Default: Bayesian optimization."""
    observation_noise: Input[str | None] = None
    """LOW or HIGH. Not supported in tuning jobs."""
    measurement_selection_type: Input[str | None] = None
    """Measurement of a trial that counts: LAST_MEASUREMENT (the service's default) or BEST_MEASUREMENT."""
    decay_curve_stopping_spec: Input[DecayCurveAutomatedStoppingSpecArgs | None] = None
    """Stop trials by the decay curve rule. At most one of the three stopping rules can be set."""
    median_automated_stopping_spec: Input[MedianAutomatedStoppingSpecArgs | None] = None
    """Stop trials by the median rule."""
    convex_automated_stopping_spec: Input[ConvexAutomatedStoppingSpecArgs | None] = None
    """Stop trials by the convex rule."""
    study_stopping_config: Input[StudyStoppingConfigArgs | None] = None
    """Conditions that end the study before its last trial."""


@arguments_class
class TrialJobSpecArgs:
    """Worker pools, and the settings that they share.

    :param worker_pool_specs: Worker pools by position: chief, workers, parameter or reduction servers,
        evaluator. `topology` builds this list from roles.
    :param scheduling: Timeout, restarts and scheduling strategy.
    :param service_account: Service account that the job runs as. Default: Vertex AI's Custom Code Service
        Agent.
    :param network: Full name of the VPC network to which the job is peered,
        projects/PROJECT_NUMBER/global/networks/NETWORK.
    :param reserved_ip_ranges: Names of reserved IP ranges of the network that the job may use. Default: any
        range.
    :param psc_interface_config: Private Service Connect interface, through which the job reaches a network.
    :param base_output_directory: The gs:// directory for the output of all runs. Default: each run has a
        directory of its own in `staging_bucket`.
    :param persistent_resource_id: `PersistentResource`, or the id of one, on whose machines the job runs. The
        job waits for the resource, and the preview checks the job against the resource's pools.
    :param protected_artifact_location_id: Region in which protected artifacts are stored, if it is not that
        of the job.
    :param tensorboard: TensorBoard for the job's logs, projects/PROJECT/locations/LOCATION/tensorboards/ID.
        It needs a `service_account`.
    :param enable_web_access: Allow interactive shells in the containers.
    :param enable_dashboard_access: Allow access to a dashboard in the chief's container.
    :param experiment: Experiment of the job,
        projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT.
    :param experiment_run: Experiment run of the job,
        projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT-RUN.
    :param models: Models whose artifact URIs the job gets, projects/PROJECT/locations/LOCATION/models/MODEL,
        also with @VERSION. Only for some jobs that Google provides.
    """

    worker_pool_specs: Input[Sequence[Input[WorkerPool]]]
    """Worker pools by position: chief, workers, parameter or reduction servers, evaluator. `topology` builds
    this list from roles.
    """
    scheduling: Input[SchedulingArgs | None] = None
    """Timeout, restarts and scheduling strategy."""
    service_account: ServiceAccountLike | None = None
    """Service account that the job runs as. Default: Vertex AI's Custom Code Service Agent."""
    network: Input[str | None] = None
    """Full name of the VPC network to which the job is peered,
    projects/PROJECT_NUMBER/global/networks/NETWORK.
    """
    reserved_ip_ranges: Input[Sequence[Input[str]] | None] = None
    """Names of reserved IP ranges of the network that the job may use. Default: any range."""
    psc_interface_config: Input[PscInterfaceConfigArgs | None] = None
    """Private Service Connect interface, through which the job reaches a network."""
    base_output_directory: Input[str | None] = None
    """The gs:// directory for the output of all runs. Default: each run has a directory of its own in
    `staging_bucket`.
    """
    persistent_resource_id: PersistentResource | Input[str] | None = None
    """`PersistentResource`, or the id of one, on whose machines the job runs. The job waits for the resource,
    and the preview checks the job against the resource's pools.
    """
    protected_artifact_location_id: Input[str | None] = None
    """Region in which protected artifacts are stored, if it is not that of the job."""
    tensorboard: Input[str | None] = None
    """TensorBoard for the job's logs, projects/PROJECT/locations/LOCATION/tensorboards/ID. It needs a
    `service_account`.
    """
    enable_web_access: Input[bool | None] = None
    """Allow interactive shells in the containers."""
    enable_dashboard_access: Input[bool | None] = None
    """Allow access to a dashboard in the chief's container."""
    experiment: Input[str | None] = None
    """Experiment of the job, projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT."""
    experiment_run: Input[str | None] = None
    """Experiment run of the job,
    projects/PROJECT/locations/LOCATION/metadataStores/STORE/contexts/EXPERIMENT-RUN.
    """
    models: Input[Sequence[Input[str]] | None] = None
    """Models whose artifact URIs the job gets, projects/PROJECT/locations/LOCATION/models/MODEL, also with
    @VERSION. Only for some jobs that Google provides.
    """
