"""`explain` of a tuning job: its study, its trials, and what each trial runs."""

from __future__ import annotations

from typing import Any, cast

from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import spec as hyperparameter_tuning_job
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.views import pools_view, study_view
from pulumi_vertex_training.views.explained import Explanation, Sample
from pulumi_vertex_training.views.explained_kind import ExplainedKind, Titles
from pulumi_vertex_training.views.output import Output
from pulumi_vertex_training.views.wire_text import as_it_is_read
from vertex_training.fields.decode import encode
from vertex_training.study.words import goals

OF_TRIALS = Titles(
    pools="Each trial runs", fields="The job of each trial", replicas="What the replicas of a trial see"
)

_SHOWN = frozenset(
    {
        "study_spec",
        "max_trial_count",
        "parallel_trial_count",
        "max_failed_trial_count",
        "trial_job_spec",
    }
)


def heading(explained: Explanation) -> str:
    """ "A tuning job of 6 trials, 2 at a time, to maximize accuracy over 3 parameters. Each trial is ..." """
    spec = _spec(explained.document)
    trials = study_view.trials_in_words(spec, _gaps(explained.document))
    of = f" of {trials}{',' if ',' in trials else ''}" if trials else ""
    words = pools_view.in_words(explained.spec)
    each = f"Each trial is {words[0].lower()}{words[1:]}." if words else "Its trials have no replicas."
    bare = pools_view.bare_in_words(explained.spec) if words and explained.spec else ""
    return f"A tuning job{of} to {goals(spec.study_spec.metrics)}. {each}{bare}"


def show(explained: Explanation, output: Output) -> None:
    """The study, the trials, and what else the tuning job has."""
    spec = _spec(explained.document)
    study_view.show_study(spec.study_spec, output)
    study_view.show_trials(spec, explained, output, _gaps(explained.document))
    fields = {key: value for key, value in encode(spec).items() if key not in _SHOWN}
    pools_view.show_fields(fields, output, title="The tuning job")


def document(explained: Explanation) -> dict[str, Any]:
    """The keys of `--json`."""
    spec, gaps = _spec(explained.document), _gaps(explained.document)
    return {
        "tuningJob": as_it_is_read(hyperparameter_tuning_job.to_wire(spec), explained.document),
        "study": study_view.study_document(spec.study_spec),
        "trials": study_view.trials_document(spec, explained, gaps),
    }


def sample(whole: Document[Any], given: Sample) -> Sample:
    """What a trial finds besides."""
    return study_view.sample_of_trial(_spec(whole), given, _gaps(whole))


def _gaps(whole: Document[Any]) -> frozenset[str]:
    return whole.unsaid | whole.damaged


def _spec(whole: Document[Any]) -> HyperparameterTuningJobSpec:
    return cast(HyperparameterTuningJobSpec, whole.spec)


VIEW = ExplainedKind(heading=heading, titles=lambda _: OF_TRIALS, show=show, document=document, sample=sample)
