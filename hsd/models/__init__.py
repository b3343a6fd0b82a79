"""Models to decode with: the interface, and models of `transformers` with caches to roll back."""

from hsd.models.base import Codec, LanguageModel, Pair, Session, View

__all__ = ["Codec", "LanguageModel", "Pair", "Session", "View"]
