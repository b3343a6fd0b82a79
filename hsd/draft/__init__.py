"""Who proposes tokens. A proposer keeps its own state in step with the text and can be rolled back."""

from hsd.draft.model import Draft, ModelProposer, NoProposer, Proposer, Visit
from hsd.draft.tree import LAYOUTS, Drafts, Layout, TreeProposer, numbers_needed

__all__ = [
    "LAYOUTS",
    "Draft",
    "Drafts",
    "Layout",
    "ModelProposer",
    "NoProposer",
    "Proposer",
    "TreeProposer",
    "Visit",
    "numbers_needed",
]
