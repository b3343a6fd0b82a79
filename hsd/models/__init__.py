"""Models to decode with: the interface, tables, and models of `transformers` whose cache can be rolled back."""

from hsd.models.base import Codec, LanguageModel, Pair, Session, View
from hsd.models.table import table_pair

__all__ = ["Codec", "LanguageModel", "Pair", "Session", "View", "table_pair"]
