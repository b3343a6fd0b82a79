"""Models that can be decoded: the interface, table models, and pairs of `transformers` models."""

from hsd.models.base import Codec, LanguageModel, Pair, Session, View
from hsd.models.pair import load_pair
from hsd.models.registry import EMBEDDED
from hsd.models.table import table_pair

__all__ = ["EMBEDDED", "Codec", "LanguageModel", "Pair", "Session", "View", "load_pair", "table_pair"]
