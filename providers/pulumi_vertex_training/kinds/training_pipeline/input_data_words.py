"""The data of a pipeline in words: how they are split, and where they are written."""

from __future__ import annotations

from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import all_of, shown
from vertex_training.job.input_data import SPLITS, FractionSplit, InputDataConfig

_DEFAULT = "about 80 % training, 10 % validation and 10 % test"
_SETS = ("training", "validation", "test")


def split_of(config: InputDataConfig) -> str:
    """The name of the field that says how data are split; fractions where none does."""
    return next((name for name in SPLITS if getattr(config, name) is not None), "fraction_split")


def split_in_words(config: InputDataConfig) -> str:
    """One sentence, such as "70 % training, 20 % validation and 10 % test, at random."."""
    if config.filter_split is not None:
        filters = [f"{name} {shown(getattr(config.filter_split, f'{name}_filter'))}" for name in _SETS]
        return f"By filters, of which the first that fits an item has it: {all_of(filters)}."
    if config.predefined_split is not None:
        return f"By the column {_known(config.predefined_split.key)}, which has the set of each row."
    if config.timestamp_split is not None:
        by = f"in the order of the times in the column {_known(config.timestamp_split.key)}"
        return f"{_fractions(config.timestamp_split)}, {by}."
    if config.stratified_split is not None:
        by = f"each with the same shares of the values in the column {_known(config.stratified_split.key)}"
        return f"{_fractions(config.stratified_split)}, {by}."
    return f"{_fractions(config.fraction_split or FractionSplit())}, at random."


def _fractions(split: FractionSplit) -> str:
    shares = {name: getattr(split, f"{name}_fraction") for name in _SETS}
    if not any(shares.values()):
        return _DEFAULT[0].upper() + _DEFAULT[1:]
    text = all_of([f"{100 * share:.6g} % {name}" for name, share in shares.items()])
    rest = 1 - sum(shares.values())
    return text + (f"; the service assigns the other {100 * rest:.6g} %" if rest > 1e-9 else "")


def destination_in_words(config: InputDataConfig, output_directory: str | None) -> str:
    """Where the data are written, a sentence."""
    if config.bigquery_destination:
        return f"To tables in a new dataset of {_known(config.bigquery_destination)}."
    if config.gcs_destination:
        return f"To files in a new folder below {_known(config.gcs_destination)}."
    if output_directory:
        return f"To files in a new folder below {_known(output_directory)}, the output directory."
    return "Nowhere: there is no destination, and no output directory."


def _known(text: str) -> str:
    return "?" if text in ("", NOT_KNOWN) else text
