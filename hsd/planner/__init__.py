"""Which models to stack for speculative decoding, and with which thresholds.

Models M_0 (smallest) … M_K (the target). In a stack the first model drafts T tokens per request.
Each one above it asks the model below for a block, keeps a part of it and adds one token of its
own, again and again until it has at least its own threshold T of tokens, and hands all of them up;
the target commits what it keeps. Stacks of this kind: "Hierarchical speculative decoding" by
stacked models, arXiv:2510.19705. With one draft: Leviathan et al., 2211.17192.

Two latencies per token are computed, both in the unit of the costs, both as if model i kept every
drafted token of model j with probability a_ji, independently of all else:

- *exact*: the law of the number of tokens handed up is carried from level to level (a renewal
  process). It is what `plan` minimises, over all stacks and thresholds that a run allows, and
  returns.
- *fluid*: every block has its threshold's length; a shortest path with gains, one pass over the
  models. No stack has an exact latency below the fluid optimum: a level's cost is affine and its
  yield concave in the block's length, so lengths that vary never help (Jensen).

For a single draft and models that ignore the context the independence is true. In a deeper stack it
is not quite: how long a block is depends on which of its tokens were corrections, and corrections
are kept more or less often than other tokens. For random models that ignore the context, at their
best thresholds, it moves the latency by up to 2 %, by 0.1 % in the median. Real acceptance also
varies with the context, as in every formula of this kind.
"""

from hsd.planner.inputs import LONGEST, Models, read_acceptance, read_numbers
from hsd.planner.renewal import Level, latency, levels
from hsd.planner.search import Stack, StackPlan, as_json, best_of, mean_yield, plan, shortest_path

__all__ = [
    "LONGEST",
    "Level",
    "Models",
    "Stack",
    "StackPlan",
    "as_json",
    "best_of",
    "latency",
    "levels",
    "mean_yield",
    "plan",
    "read_acceptance",
    "read_numbers",
    "shortest_path",
]
