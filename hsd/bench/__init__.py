"""Measuring: prompt sets, cases run in turn, intervals over prompts, and the limit of a speed."""

from hsd.bench.measure import Case, Record, measure
from hsd.bench.prompts import PromptSet, prompt_set, shipped
from hsd.bench.summary import Measurement, measurements, rows
from hsd.models.machine import machine

__all__ = [
    "Case",
    "Measurement",
    "PromptSet",
    "Record",
    "machine",
    "measure",
    "measurements",
    "prompt_set",
    "rows",
    "shipped",
]
