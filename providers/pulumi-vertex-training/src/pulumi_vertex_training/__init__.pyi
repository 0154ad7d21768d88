"""Public names of the package, for type checkers and for `__init__.py`: one line each."""

from .environment.configuration import read_configuration as read_configuration
from .environment.configuration import setting as setting
from .environment.existing import ExistingEnvironment as ExistingEnvironment
from .environment.existing import get_training_environment as get_training_environment
from .environment.options import BudgetArgs as BudgetArgs
from .environment.options import EncryptionKeyArgs as EncryptionKeyArgs
from .environment.options import LogBucketArgs as LogBucketArgs
from .environment.options import NetworkArgs as NetworkArgs
from .environment.options import NotificationChannelsArgs as NotificationChannelsArgs
from .environment.options import WorkloadIdentityArgs as WorkloadIdentityArgs
from .environment.resource import TrainingEnvironment as TrainingEnvironment
from .kinds.custom_job.lookup import ExistingCustomJob as ExistingCustomJob
from .kinds.custom_job.parameters import from_training_input as from_training_input
from .kinds.custom_job.resource import CustomJob as CustomJob
from .kinds.distributed_training.resource import DistributedTraining as DistributedTraining
from .kinds.get_functions import get_custom_job as get_custom_job
from .kinds.get_functions import get_hyperparameter_tuning_job as get_hyperparameter_tuning_job
from .kinds.get_functions import get_image_repository as get_image_repository
from .kinds.get_functions import get_model as get_model
from .kinds.get_functions import get_persistent_resource as get_persistent_resource
from .kinds.get_functions import get_staging_bucket as get_staging_bucket
from .kinds.get_functions import get_training_pipeline as get_training_pipeline
from .kinds.hyperparameter_tuning_job.args import (
    CategoricalValueConditionArgs as CategoricalValueConditionArgs,
)
from .kinds.hyperparameter_tuning_job.args import CategoricalValueSpecArgs as CategoricalValueSpecArgs
from .kinds.hyperparameter_tuning_job.args import ConditionalParameterSpecArgs as ConditionalParameterSpecArgs
from .kinds.hyperparameter_tuning_job.args import (
    ConvexAutomatedStoppingSpecArgs as ConvexAutomatedStoppingSpecArgs,
)
from .kinds.hyperparameter_tuning_job.args import (
    DecayCurveAutomatedStoppingSpecArgs as DecayCurveAutomatedStoppingSpecArgs,
)
from .kinds.hyperparameter_tuning_job.args import DiscreteValueConditionArgs as DiscreteValueConditionArgs
from .kinds.hyperparameter_tuning_job.args import DiscreteValueSpecArgs as DiscreteValueSpecArgs
from .kinds.hyperparameter_tuning_job.args import DoubleValueSpecArgs as DoubleValueSpecArgs
from .kinds.hyperparameter_tuning_job.args import IntegerValueSpecArgs as IntegerValueSpecArgs
from .kinds.hyperparameter_tuning_job.args import IntValueConditionArgs as IntValueConditionArgs
from .kinds.hyperparameter_tuning_job.args import (
    MedianAutomatedStoppingSpecArgs as MedianAutomatedStoppingSpecArgs,
)
from .kinds.hyperparameter_tuning_job.args import MetricSpecArgs as MetricSpecArgs
from .kinds.hyperparameter_tuning_job.args import ParameterSpecArgs as ParameterSpecArgs
from .kinds.hyperparameter_tuning_job.args import SafetyMetricConfigArgs as SafetyMetricConfigArgs
from .kinds.hyperparameter_tuning_job.args import StudySpecArgs as StudySpecArgs
from .kinds.hyperparameter_tuning_job.args import StudyStoppingConfigArgs as StudyStoppingConfigArgs
from .kinds.hyperparameter_tuning_job.args import StudyTimeConstraintArgs as StudyTimeConstraintArgs
from .kinds.hyperparameter_tuning_job.args import TrialJobSpecArgs as TrialJobSpecArgs
from .kinds.hyperparameter_tuning_job.lookup import (
    ExistingHyperparameterTuningJob as ExistingHyperparameterTuningJob,
)
from .kinds.hyperparameter_tuning_job.parameters import categorical_parameter as categorical_parameter
from .kinds.hyperparameter_tuning_job.parameters import discrete_parameter as discrete_parameter
from .kinds.hyperparameter_tuning_job.parameters import double_parameter as double_parameter
from .kinds.hyperparameter_tuning_job.parameters import integer_parameter as integer_parameter
from .kinds.hyperparameter_tuning_job.parameters import maximize as maximize
from .kinds.hyperparameter_tuning_job.parameters import minimize as minimize
from .kinds.hyperparameter_tuning_job.parameters import when as when
from .kinds.hyperparameter_tuning_job.resource import HyperparameterTuningJob as HyperparameterTuningJob
from .kinds.hyperparameter_tuning_job.training_input import (
    tuning_from_training_input as tuning_from_training_input,
)
from .kinds.image_repository.lookup import ExistingImageRepository as ExistingImageRepository
from .kinds.image_repository.resource import ImageRepository as ImageRepository
from .kinds.model.args import FilterSplitArgs as FilterSplitArgs
from .kinds.model.args import FractionSplitArgs as FractionSplitArgs
from .kinds.model.args import InputDataConfigArgs as InputDataConfigArgs
from .kinds.model.args import ModelArgs as ModelArgs
from .kinds.model.args import ModelContainerSpecArgs as ModelContainerSpecArgs
from .kinds.model.args import PredefinedSplitArgs as PredefinedSplitArgs
from .kinds.model.args import PredictSchemataArgs as PredictSchemataArgs
from .kinds.model.args import StratifiedSplitArgs as StratifiedSplitArgs
from .kinds.model.args import TimestampSplitArgs as TimestampSplitArgs
from .kinds.model.lookup import ExistingModel as ExistingModel
from .kinds.model.resource import Model as Model
from .kinds.persistent_resource.args import AutoscalingSpecArgs as AutoscalingSpecArgs
from .kinds.persistent_resource.args import RayLogsSpecArgs as RayLogsSpecArgs
from .kinds.persistent_resource.args import RayMetricSpecArgs as RayMetricSpecArgs
from .kinds.persistent_resource.args import RaySpecArgs as RaySpecArgs
from .kinds.persistent_resource.args import ResourcePoolArgs as ResourcePoolArgs
from .kinds.persistent_resource.args import ResourceRuntimeSpecArgs as ResourceRuntimeSpecArgs
from .kinds.persistent_resource.args import ServiceAccountSpecArgs as ServiceAccountSpecArgs
from .kinds.persistent_resource.lookup import ExistingPersistentResource as ExistingPersistentResource
from .kinds.persistent_resource.resource import PersistentResource as PersistentResource
from .kinds.staged.resource import StagedFile as StagedFile
from .kinds.staged.resource import StagedPackage as StagedPackage
from .kinds.staged_folder.resource import StagedFolder as StagedFolder
from .kinds.staging_bucket.args import AutoclassArgs as AutoclassArgs
from .kinds.staging_bucket.args import BucketEncryptionArgs as BucketEncryptionArgs
from .kinds.staging_bucket.args import BucketLoggingArgs as BucketLoggingArgs
from .kinds.staging_bucket.args import BucketVersioningArgs as BucketVersioningArgs
from .kinds.staging_bucket.args import CorsRuleArgs as CorsRuleArgs
from .kinds.staging_bucket.args import CustomPlacementConfigArgs as CustomPlacementConfigArgs
from .kinds.staging_bucket.args import EncryptionEnforcementArgs as EncryptionEnforcementArgs
from .kinds.staging_bucket.args import IpFilterArgs as IpFilterArgs
from .kinds.staging_bucket.args import LifecycleActionArgs as LifecycleActionArgs
from .kinds.staging_bucket.args import LifecycleConditionArgs as LifecycleConditionArgs
from .kinds.staging_bucket.args import LifecycleRuleArgs as LifecycleRuleArgs
from .kinds.staging_bucket.args import PublicNetworkSourceArgs as PublicNetworkSourceArgs
from .kinds.staging_bucket.args import RetentionPolicyArgs as RetentionPolicyArgs
from .kinds.staging_bucket.args import SoftDeletePolicyArgs as SoftDeletePolicyArgs
from .kinds.staging_bucket.args import VpcNetworkSourceArgs as VpcNetworkSourceArgs
from .kinds.staging_bucket.args import WebsiteArgs as WebsiteArgs
from .kinds.staging_bucket.lookup import ExistingBucket as ExistingBucket
from .kinds.staging_bucket.resource import StagingBucket as StagingBucket
from .kinds.training_image.resource import TrainingImage as TrainingImage
from .kinds.training_pipeline.lookup import ExistingTrainingPipeline as ExistingTrainingPipeline
from .kinds.training_pipeline.resource import TrainingPipeline as TrainingPipeline
from .kinds.training_pipeline.training_tasks import task_from_image as task_from_image
from .kinds.training_pipeline.training_tasks import task_from_package as task_from_package
from .kinds.training_pipeline.training_tasks import task_from_script as task_from_script
from .kinds.training_schedule.args import RetryConfigArgs as RetryConfigArgs
from .kinds.training_schedule.resource import TrainingSchedule as TrainingSchedule
from .program.arguments.job_args import ContainerSpecArgs as ContainerSpecArgs
from .program.arguments.job_args import DiskSpecArgs as DiskSpecArgs
from .program.arguments.job_args import DnsPeeringConfigArgs as DnsPeeringConfigArgs
from .program.arguments.job_args import EncryptionSpecArgs as EncryptionSpecArgs
from .program.arguments.job_args import EnvVarArgs as EnvVarArgs
from .program.arguments.job_args import LustreMountArgs as LustreMountArgs
from .program.arguments.job_args import MachineSpecArgs as MachineSpecArgs
from .program.arguments.job_args import NfsMountArgs as NfsMountArgs
from .program.arguments.job_args import PscInterfaceConfigArgs as PscInterfaceConfigArgs
from .program.arguments.job_args import PythonPackageSpecArgs as PythonPackageSpecArgs
from .program.arguments.job_args import ReservationAffinityArgs as ReservationAffinityArgs
from .program.arguments.job_args import SchedulingArgs as SchedulingArgs
from .program.arguments.job_args import WorkerPoolSpecArgs as WorkerPoolSpecArgs
from .program.arguments.notification_args import NotificationArgs as NotificationArgs
from .program.arguments.worker_pools import chief_worker_pool as chief_worker_pool
from .program.arguments.worker_pools import topology as topology
from .program.resource import location as location
from .program.resource import on_google as on_google
from .program.resource import project as project
