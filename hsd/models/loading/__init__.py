"""Pairs of models by name, folder or Hub id: the registry, the Hub, the package index, memory."""

from hsd.models.loading.pair import load_pair

__all__ = ["load_pair"]
