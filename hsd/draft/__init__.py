"""Proposers of drafts. A proposer keeps its caches in step with the text and can be rolled back."""

from hsd.draft.draft import Draft, DraftPath, Proposer, Visit
from hsd.draft.grown import GrownProposer
from hsd.draft.model import ModelProposer
from hsd.draft.ngram import COPIERS, CopyProposer
from hsd.draft.stopping import Stopping
from hsd.draft.tree import LAYOUTS, Layout, TreeProposer

__all__ = [
    "COPIERS",
    "LAYOUTS",
    "CopyProposer",
    "Draft",
    "DraftPath",
    "GrownProposer",
    "Layout",
    "ModelProposer",
    "Proposer",
    "Stopping",
    "TreeProposer",
    "Visit",
]
