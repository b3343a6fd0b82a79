"""Measuring: prompt sets, cases run in turn, intervals over prompts, and the limit a speed is compared with."""

from hsd.bench.measure import Case, Measurement, machine, measure
from hsd.bench.prompts import read_folder, shipped

__all__ = ["Case", "Measurement", "machine", "measure", "read_folder", "shipped"]
