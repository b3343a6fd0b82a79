"""Who proposes tokens. A proposer keeps its own state in step with the text and can be rolled back."""

from hsd.draft.model import Draft, ModelProposer, NoProposer, Proposer

__all__ = ["Draft", "ModelProposer", "NoProposer", "Proposer"]
