"""Whether the tests notice mistakes: python tests/mutations.py [NAME …]

Each mutation below is a mistake that someone could make, as an edit of one file. The script makes one at a time, in the
memory of a process that runs the tests that should notice, and prints which test did; no file is written. Exit status
1: one was not noticed. `tests/test_mutations.py` checks that every edit still fits its file.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIMIT = 600  # seconds for the tests of one mutation
LIBRARIES = [
    "hypothesis",
    "pydantic",
    "pytest",
    "safetensors.torch",
    "tokenizers",
    "transformers.models.auto.modeling_auto",
]  # read once, for all children
CHILDREN = multiprocessing.get_context("forkserver")

LAWS = "tests/rules/test_laws.py"
PROPERTIES = "tests/rules/test_properties.py"
TREES = "tests/rules/test_tree_laws.py"
FUZZY = "tests/rules/test_fuzzy.py"
RELAXED = "tests/rules/test_relaxed.py"
COUPLED = "tests/rules/test_coupled.py"
DECODE = "tests/decoding/test_decode.py"
ROUNDS = "tests/decoding/test_tree_rounds.py"
LEVELS = "tests/decoding/test_levels.py"
SAMPLER = "tests/test_sampler.py"
CASES = f"{LAWS}::test_law_agrees_with_the_worked_case"
FOLLOWS = "tests/audit/test_audit.py::test_lossless_rules_follow_the_target_exactly"
FORMS = f"{TREES}::test_rules_agree_with_the_reference_on_trees_of_any_form"
DRAFTS = f"{TREES}::test_rules_agree_with_the_reference_on_drafts_of_any_form"
CACHED = f"{DECODE}::test_cached_logits_equal_a_fresh_forward_pass_at_every_call"
NODES = f"{ROUNDS}::test_every_node_is_read_as_if_its_path_were_the_text"
JOINT = "tests/decoding/test_joint_law.py::test_first_tokens_follow_the_target"
PUBLISHED = "tests/models/loading/test_published_heads.py::test_a_published_head_is_its_arithmetic"
THREE = "tests/rules/test_wrong_variants.py::test_statistics_find_nothing_wrong_with_three_streams"
STACK = "tests/decoding/test_stack.py::test_with_two_drafted_tokens_at_each_level_the_stack_is_lossless"


@dataclass(frozen=True)
class Mutation:
    """A mistake: in `file` below hsd/, `old` (which occurs once) becomes `new`. tests: who should notice."""

    name: str
    mistake: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def text(self, root: Path = ROOT) -> str:
        """The file with the mistake in it. Raises ValueError if the edit does not fit."""
        sound = (root / "hsd" / self.file).read_text(encoding="utf-8")
        if sound.count(self.old) != 1:
            raise ValueError(f"{self.name}: the text to replace is not in hsd/{self.file} exactly once, update it")
        return sound.replace(self.old, self.new)


MUTATIONS = [
    # one draft: the laws
    Mutation(
        "uncapped throughout",
        "min(1, r_t) stands wherever c_t belongs: a surplus that was cut off is paid back later.",
        "rules/law.py",
        "log - log.cummax(0).values",
        "log.clamp_max(0)",
        (CASES,),
    ),
    Mutation(
        "block verification: uncapped end",
        "The whole draft is tested with min(1, r) in place of the capped ratio.",
        "rules/chain.py",
        "_thresholds(inner, c, tokens)",
        "_thresholds(inner, PrefixRatios.of(p, q, tokens).log.clamp_max(0).exp(), tokens)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "block verification: unscaled residual",
        "The correction comes from max(p - q, 0), without the capped ratio.",
        "rules/chain.py",
        "a=c[:-1]",
        "a=torch.ones_like(c[:-1])",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "block verification: missing 1 - c",
        "The inner test divides by 1 - c_t alone.",
        "rules/chain.py",
        "deficient - torch.expm1",
        "-torch.expm1",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "HSD: uncapped end",
        "The whole draft is tested with min(1, r) in place of min(1, r*), as in the released code.",
        "rules/chain.py",
        "starred.clamp_max(0)",
        "log.clamp_max(0)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "HSD: uncapped branches",
        "A branch is weighed by min(1, r_t): a surplus that was cut off above it is paid back.",
        "rules/chain.py",
        "peak = log.cummax(0).values",
        "peak = log.clamp_min(0)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "HSD: masses swapped",
        "The inner test is D*(q,p) / D*(p,q).",
        "rules/chain.py",
        "_share(missing, excess)",
        "_share(excess, missing)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "HSD: missing 1 - r*",
        "The inner test divides by 1 - r*_t, not by what the draft has above the capped target.",
        "rules/chain.py",
        "_share(missing, excess)",
        "_share(missing, -torch.expm1(branch[:-1]))",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "HSD: unscaled residual",
        "The correction comes from max(p - q, 0), without the capped ratio.",
        "rules/chain.py",
        "a=branch[:-1].exp()",
        "a=torch.ones_like(missing)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "ensemble: the weights are exchanged",
        "The draft's weight is the target's, as in the option of transformers.",
        "rules/relaxed.py",
        "draft_weight + (1 - draft_weight) * token_tests",
        "(1 - draft_weight) + draft_weight * token_tests",
        (f"{RELAXED}::test_the_law_is_the_literal_one_at_every_number",),
    ),
    Mutation(
        "typical: the bar's root is missing",
        "The bar falls from ε and not from its root.",
        "rules/relaxed.py",
        "epsilon**0.5 *",
        "epsilon *",
        (f"{RELAXED}::test_the_bar_is_the_lower_of_epsilon_and_its_root_over_the_entropy",),
    ),
    Mutation(
        "coupled: the lead of bare rows",
        "Σ max(p - q, 0) in place of how far each token is ahead of the drafted one.",
        "rules/coupled.py",
        "return (qx * p.double() - px * q.double()).clamp_min_(0)",
        "return (p.double() - q.double()).clamp_min_(0)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "coupled: what is left is that of the next token",
        "The residual is taken at the ratio of another token than the one that was rejected.",
        "rules/coupled.py",
        "normalised(left(self.p[t], self.q[t], self.tokens[t]), self.p[t])",
        "normalised(left(self.p[t], self.q[t], self.tokens[t - 1]), self.p[t])",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "coupled: the winner's time is the coin",
        "The draft's time alone, which knows nothing of the target.",
        "rules/coupled.py",
        "torch.where(lead > 0, tau / (tau + lead * spare), 0.0)",
        "torch.exp(-tau)",
        (f"{COUPLED}::test_the_coin_of_a_drafted_token_is_uniform_and_says_whether_both_pick_the_same",),
    ),
    Mutation(
        "coupled: numbers of the step",
        "Every step races anew from its own first place.",
        "rng.py",
        'generator = _generator(self._seed, f"race/{place}")',
        'generator = _generator(self._seed, f"race/{place}/{len(self._times)}")',
        ("tests/decoding/test_coupled.py::test_a_seed_fixes_the_text_whatever_is_drafted",),
    ),
    Mutation(
        "coupled: the draft has numbers of its own",
        "Draft and target race apart, which is sample and compare.",
        "draft/model.py",
        "pick = draw if draws.ndim == 1 else wins",
        "pick = draw if draws.ndim == 1 else lambda row, times: wins(row, times.flip(-1))",
        ("tests/decoding/test_coupled.py::test_the_numbers_of_a_trace_are_uniform",),
    ),
    Mutation(
        "agreement: the draft's probability counts",
        "A token is accepted with min(1, p/q), as in the token-wise rule.",
        "rules/chain.py",
        "tokenwise_law(p, certain, tokens)",
        "tokenwise_law(p, q, tokens)",
        (CASES,),
    ),
    Mutation(
        "agreement: token-wise residual",
        "The correction comes from max(p - q, 0), although every token was accepted with p alone.",
        "rules/chain.py",
        "return tokenwise_law(p, certain, tokens)",
        "return replace(tokenwise_law(p, certain, tokens), q=q)",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "agreement: a rejected token again",
        "The correction comes from the whole target, so that it may be the token that was just rejected.",
        "rules/chain.py",
        "return tokenwise_law(p, certain, tokens)",
        "return replace(tokenwise_law(p, certain, tokens), b=torch.zeros(len(tokens)))",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "nothing over nothing",
        "A branch with nothing to correct is given up in place of kept.",
        "rules/chain.py",
        "part / whole, 1.0",
        "part / whole, 0.0",
        (f"{PROPERTIES}::test_a_branch_with_nothing_to_correct_is_kept_for_certain",),
    ),
    Mutation(
        "gives up at the first failed coin",
        "A rule that tests backward stops at its first failure: all of the draft or nothing.",
        "rules/law.py",
        "return (success * torch.arange(1, self.gamma + 1, device=success.device)).max() if self.gamma",
        "return success[-1].long() * self.gamma if self.gamma",
        (f"{LAWS}::test_the_rules_own_order_leads_to_what_it_keeps",),
    ),
    Mutation(
        "counts passed coins",
        "The token-wise rule counts successes after its first failure too.",
        "rules/law.py",
        "success.long().cumprod(0)",
        "success.long()",
        (f"{LAWS}::test_the_rules_own_order_leads_to_what_it_keeps",),
    ),
    Mutation(
        "ties pass, one draft",
        "coin <= threshold: a coin of 0 keeps what the target excludes.",
        "rules/law.py",
        "coins < self.threshold",
        "coins <= self.threshold",
        (f"{LAWS}::test_a_coin_equal_to_its_threshold_fails",),
    ),
    Mutation(
        "residual from target",
        "After a rejection the token comes from the target and not from what is left of it.",
        "rules/law.py",
        "return torch.where(mass > 0, residual / mass.clamp_min(torch.finfo(residual.dtype).tiny), p), mass",
        "return p, mass",
        (CASES,),
    ),
    Mutation(
        "bonus row off by one",
        "After a whole draft the target's row before the last token is used again.",
        "rules/law.py",
        "self.p[t] if",
        "self.p[t - 1] if",
        (CASES,),
    ),
    Mutation(
        "correction row off by one",
        "The residual of the last kept position is used for the position after it.",
        "rules/law.py",
        "else self.leftover(t)[0]",
        "else self.leftover(max(t - 1, 0))[0]",
        (CASES,),
    ),
    # several drafts, one after another
    Mutation(
        "joint ratio carried over",
        "The next draft begins with the capped ratio that the one before had reached, in place of 1.",
        "rules/rejection.py",
        "[first, *",
        "[first * (changes[-1].weight if changes else 1.0), *",
        (DRAFTS,),
    ),
    Mutation(
        "later draft against p",
        "A later draft is verified against the target, not against what the first one left over.",
        "rules/rejection.py",
        "[first, *",
        "[tree.target(node), *",
        (DRAFTS,),
    ),
    Mutation(
        "fork ignored",
        "A token that two drafts share is taken for a second, independent draw.",
        "rules/rejection.py",
        "path.fork > len(text) or ",
        "",
        (f"{TREES}::test_a_shared_prefix_is_no_second_draw",),
    ),
    Mutation(
        "mismatch ignored",
        "A later draft is verified although it does not begin with what was kept.",
        "rules/rejection.py",
        "return all(tree.token(node) == token for node, token in zip(path.nodes, text, strict=False))",
        "return True",
        (f"{TREES}::test_a_draft_that_misses_what_was_kept_is_passed_over",),
    ),
    Mutation(
        "kept tokens forgotten",
        "After a draft that kept some tokens, later drafts are again compared from the root on.",
        "rules/rejection.py",
        ", (*text, *tokens[:kept])",
        ", text",
        (DRAFTS,),
    ),
    # top-down, and trees that were chosen
    Mutation(
        "top-down: distinct siblings taken as independent",
        "A sibling drawn without replacement is tested with the draft's probability before the others were drawn.",
        "rules/rejection.py",
        "(q if tree.replacement else without(q, x))",
        "q",
        (FORMS,),
    ),
    Mutation(
        "top-down: independent siblings taken as distinct",
        "A rejected token is struck out of the draft although the next sibling could have drawn it again.",
        "rules/rejection.py",
        "(q if tree.replacement else without(q, x))",
        "without(q, x)",
        (FORMS,),
    ),
    Mutation(
        "top-down: residual kept below",
        "What rejected siblings left over is used for the children of the accepted one too.",
        "rules/rejection.py",
        "    while True:\n        p, q = tree.target(node), tree.draft(node) if tree.children(node) else None\n",
        "    p = fresh = tree.target(0)\n    while True:\n"
        "        if p is fresh:\n            p = fresh = tree.target(node)\n"
        "        q = tree.draft(node) if tree.children(node) else None\n",
        (FORMS,),
    ),
    Mutation(
        "one-hot: no strike-out",
        "A rejected token of a chosen tree stays in the target.",
        "rules/rejection.py",
        "            p = without(p, x)\n",
        "",
        (FORMS,),
    ),
    Mutation(
        "one-hot: softmax as q",
        "A token that was chosen for certain is accepted with p/q, as if the draft had drawn it.",
        "rules/rejection.py",
        "chance = float(p[x])",
        "chance = min(1.0, ratio(float(p[x]), float(tree.draft(node)[x])))",
        (FORMS,),
    ),
    # traversal
    Mutation(
        "traversal: last leaf first",
        "Leaves are tested in the opposite of the order in which they were drawn.",
        "rules/traversal.py",
        "node = children[0]",
        "node = children[-1]",
        (FORMS,),
    ),
    Mutation(
        "traversal: exhausted branch goes on",
        "A branch with nothing left to give still has its other leaves tested.",
        "rules/traversal.py",
        "if lost == 0 and before < 1:",
        "if False:",
        (f"{TREES}::test_traversal_gives_up_a_branch_from_which_nothing_can_be_reached",),
    ),
    Mutation(
        "traversal: unscaled residual",
        "What a rejection leaves over is max(p - q, 0), without the rate.",
        "rules/traversal.py",
        "p.new_tensor(before)",
        "p.new_ones(())",
        (FORMS,),
    ),
    Mutation(
        "traversal: rate kept",
        "A branch keeps its rate after one of its leaves was rejected.",
        "rules/traversal.py",
        "= grounds.threshold, grounds",
        "= before, grounds",
        (FORMS,),
    ),
    Mutation(
        "traversal: 1 - Q(x) below the line",
        "The new rate is S / (1 - Q(x)) with the rejected token x, in place of S / (S + 1 - a).",
        "rules/traversal.py",
        "= grounds.threshold, grounds",
        "= min(1.0, lost / max(1 - float(q[self.tree.token(leaf)]), 1e-9)), grounds",
        (FORMS,),
    ),
    Mutation(
        "traversal: root's rate changes",
        "After a rejection the root's rate becomes what was left over; it must stay 1.",
        "rules/traversal.py",
        "if node:",
        'if not node:\n            self.settled[node] = lost, Grounds("capped")\n        else:',
        (FORMS,),
    ),
    Mutation(
        "traversal: uncapped rate",
        "The rate of a node is not cut off at 1 on the way down.",
        "rules/traversal.py",
        "return grounds.threshold, grounds",
        "return before * grounds.p / max(grounds.q, 1e-300), grounds",
        (FORMS,),
    ),
    Mutation(
        "traversal: bonus where a residual belongs",
        "After a prefix was kept the next token comes from the target, although drafted tokens after it were rejected.",
        "rules/traversal.py",
        "Ending(leaf, working.target(leaf))",
        "Ending(leaf, tree.target(leaf))",
        (FORMS,),
    ),
    Mutation(
        "traversal: distinct siblings taken as independent",
        "A rejected sibling stays in the draft's row although it cannot be drawn again.",
        "rules/traversal.py",
        "q if self.tree.replacement else without(q, self.tree.token(leaf))",
        "q",
        (FORMS,),
    ),
    Mutation(
        "traversal: independent siblings taken as distinct",
        "A rejected token is struck out of the draft's row although the next sibling could have drawn it again.",
        "rules/traversal.py",
        "q if self.tree.replacement else without",
        "without",
        (FORMS,),
    ),
    Mutation(
        "ties pass, trees",
        "coin <= threshold: a coin of 0 keeps what the target excludes.",
        "rules/tree.py",
        "coin < test.threshold",
        "coin <= test.threshold",
        (f"{PROPERTIES}::test_no_coin_keeps_a_token_that_the_target_excludes",),
    ),
    # sampling and random numbers
    Mutation(
        "boundary on the wrong side",
        "A number that falls on a boundary picks the token below it, which may have no probability.",
        "sampling.py",
        "number * total, right=True",
        "number * total",
        (f"{SAMPLER}::test_a_token_without_probability_is_never_drawn",),
    ),
    Mutation(
        "last number falls off",
        "A number that was rounded up to 1 picks a token after the last one that has mass.",
        "sampling.py",
        "return torch.minimum(picked, torch.searchsorted(cumulative, total)).squeeze(-1)",
        "return picked.squeeze(-1)",
        (f"{PROPERTIES}::test_a_number_that_was_rounded_up_to_one_draws_the_last_token_with_mass",),
    ),
    Mutation(
        "top-p not normalised",
        "What top-p left is not made a distribution again.",
        "sampling.py",
        "kept / kept.sum(-1, keepdim=True)",
        "kept",
        (f"{SAMPLER}::test_top_p_keeps_the_fewest_that_reach_it",),
    ),
    Mutation(
        "top-p one too many",
        "Top-p keeps one more token where the mass is met exactly.",
        "sampling.py",
        "mass_before >=",
        "mass_before >",
        (f"{SAMPLER}::test_top_p_that_is_met_exactly_keeps_no_more",),
    ),
    Mutation(
        "one stream",
        "The three streams of random numbers are one and the same.",
        "rng.py",
        'f"{seed}/{name}"',
        'f"{seed}"',
        (f"{SAMPLER}::test_streams_are_uniform_reproducible_and_unlike_each_other",),
    ),
    Mutation(
        "the drawing number judges",
        "The number that drew a token is its coin too.",
        "decoding/rounds.py",
        "draws if times is None else times[:gamma], coins)",
        "draws if times is None else times[:gamma], draws)",
        (THREE,),
    ),
    Mutation(
        "the coin draws the correction",
        "The coin of the first position also draws the token after the kept ones.",
        "decoding/rounds.py",
        "following(draft, ruling, number, self.end_ids)",
        "following(draft, ruling, coins[:1] if needed else number, self.end_ids)",
        (THREE,),
    ),
    # drafting
    Mutation(
        "top-k and top-p for the target only",
        "The draft model draws from its whole distribution, the target from its likeliest tokens.",
        "decoding/systems.py",
        "Reader(session, model.device, options.sampling, pair",
        "Reader(session, model.device, options.sampling if model is pair.target else "
        "type(options.sampling)(options.temperature), pair",
        ("tests/rules/test_wrong_variants.py::test_a_draft_that_is_not_cut_like_the_target_is_caught",),
    ),
    Mutation(
        "drawn from another row",
        "The draft's token is not drawn from the distribution that the rule is told.",
        "draft/model.py",
        "pick(row.p[0], number)",
        "pick(row.p[0].sqrt() / row.p[0].sqrt().sum(), number)",
        (JOINT,),
    ),
    Mutation(
        "draft goes on after the end",
        "A draft is not cut at its first end of text.",
        "draft/model.py",
        "return draft.until_end(self._end_ids)",
        "return draft",
        (f"{DECODE}::test_a_draft_is_cut_after_its_first_end",),
    ),
    Mutation(
        "bonus after the end of text",
        "A token is drawn although the kept draft ended the text.",
        "decoding/rounds.py",
        "if node and draft.ids[node - 1] in end_ids:",
        "if False:",
        (
            f"{DECODE}::test_nothing_follows_the_end_of_a_text",
            f"{ROUNDS}::test_nothing_follows_the_end_of_a_text_that_was_drafted_in_a_tree",
        ),
    ),
    Mutation(
        "repeated first tokens",
        "Siblings that are told to be drawn without replacement are drawn independently, so that one may repeat.",
        "draft/tree.py",
        "row = row.index_fill(0, torch.tensor(taken, dtype=torch.int64, device=row.device), 0.0)",
        "pass",
        (f"{DECODE}::test_a_distinct_tree_has_different_first_tokens_and_a_top_tree_the_likeliest",),
    ),
    # caches
    Mutation(
        "target's cache one too long",
        "After a rejection the target keeps one rejected token in its cache.",
        "decoding/rounds.py",
        "self.target.settle(length, path)",
        "self.target.settle(length + 1, path)",
        (CACHED,),
    ),
    Mutation(
        "draft's cache one too long",
        "After a rejection the draft model keeps one rejected token in its cache.",
        "decoding/rounds.py",
        "self._proposer.settle(length, path)",
        "self._proposer.settle(length + 1, path)",
        (CACHED,),
    ),
    Mutation(
        "target's cache not rolled back",
        "After a rejection the target goes on from the rejected tokens.",
        "decoding/rounds.py",
        "self.target.settle(length, path)",
        "pass",
        (CACHED,),
    ),
    Mutation(
        "draft's cache not rolled back",
        "After a rejection the draft model goes on from the rejected tokens.",
        "decoding/rounds.py",
        "self._proposer.settle(length, path)",
        "pass",
        (CACHED,),
    ),
    Mutation(
        "rejected token committed",
        "The token that failed its test is committed besides the correction.",
        "decoding/rounds.py",
        "self.draft.along(self.ruling.path)",
        "self.draft.along(range(1, min(self.kept + 1, self.drafted) + 1))",
        (f"{DECODE}::test_greedy_output_equals_plain_decoding",),
    ),
    Mutation(
        "a correction is called a bonus",
        "The token after a rejection counts as one that the target gave besides a whole draft.",
        "decoding/rounds.py",
        "last(self.ruling) not in self.draft.parents",
        "self.token is not None",
        (f"{DECODE}::test_an_end_that_is_the_correction_ends_the_text",),
    ),
    Mutation(
        "bonus dropped",
        "After a draft that was kept whole no further token is drawn.",
        "decoding/rounds.py",
        "if node and draft.ids[node - 1] in end_ids:",
        "if node and (node not in draft.parents or draft.ids[node - 1] in end_ids):",
        (f"{DECODE}::test_equal_models_keep_every_drafted_token",),
    ),
    # levels of a stack
    Mutation(
        "stack hands up the rows that tokens were drawn from",
        "The level above verifies a correction against the residual it was drawn from, not against the level's model.",
        "decoding/stack.py",
        "torch.cat([played.rows.p[at] for played, at in zip(rounds, rows, strict=True)])",
        "torch.cat([torch.cat([played.rows.p[: played.kept], played.ruling.next[None]])[: len(played.committed)] "
        "for played in rounds])",
        (STACK,),
    ),
    Mutation(
        "stack hands up the draft's rows",
        "The level above verifies against the distributions that the level below drafted from.",
        "decoding/stack.py",
        "torch.cat([played.rows.p[at] for played, at in zip(rounds, rows, strict=True)])",
        "torch.cat([torch.cat([p.draft.q[: p.kept], p.rows.p[p.kept :][:1]])[: len(p.committed)] for p in rounds])",
        (STACK,),
    ),
    Mutation(
        "stack does not roll back the levels below",
        "A rejection at the target crops its own cache only.",
        "decoding/stack.py",
        "        self._rounds.settle(length)",
        "        self._rounds.target.settle(length)",
        (f"{LEVELS}::test_every_level_has_read_the_text_and_nothing_else",),
    ),
    Mutation(
        "stack goes on after the end",
        "A level settles more tokens after the end of the text.",
        "decoding/stack.py",
        " and not (settled and settled[-1] in self._rounds.end_ids)",
        "",
        (f"{LEVELS}::test_nothing_is_settled_after_the_end_of_a_text",),
    ),
    Mutation(
        "levels share their random numbers",
        "A level takes its coins from the target's streams.",
        "decoding/systems.py",
        "Streams(options.seed, level)",
        "Streams(options.seed)",
        (f"{LEVELS}::test_no_random_number_is_used_at_two_levels",),
    ),
    Mutation(
        "tree cache keeps the first columns",
        "After a round as many columns of the tree are kept as tokens were, but not those of the kept path.",
        "models/reading.py",
        "self._session.select([*range(min(self._base, self.length)), *read])",
        "self._session.select([*range(min(self._base, self.length) + len(read))])",
        (f"{ROUNDS}::test_after_a_commit_only_the_kept_path_is_part_of_the_text",),
    ),
    Mutation(
        "branches see each other",
        "A node attends to all nodes read before it, not to its own ancestors only.",
        "models/reading.py",
        "visible[row, [self._columns[i] for i in lineage]] = True",
        "visible[row, base : length + row + 1] = True",
        (NODES,),
    ),
    Mutation(
        "positions off by one",
        "Nodes stand one position too far to the right.",
        "models/reading.py",
        "positions.append(base - 1 + len(lineage))",
        "positions.append(base + len(lineage))",
        (NODES,),
    ),
    Mutation(
        "positions in the order of reading",
        "A node's position is its column and not its depth.",
        "models/reading.py",
        "positions.append(base - 1 + len(lineage))",
        "positions.append(length + row)",
        (NODES,),
    ),
    # heads in files
    Mutation(
        "one tap too deep",
        "A published head is given the target's states after one layer more than it was trained on.",
        "models/loading/heads.py",
        "[2, layers // 2, layers - 3]",
        "[2, layers // 2, layers - 2]",
        (PUBLISHED,),
    ),
    Mutation(
        "layers counted as states",
        "A list of the layers whose output a head reads is taken as a list of states, which are counted from one less.",
        "models/loading/heads.py",
        "[tap + 1 for tap in listed] if",
        "[tap for tap in listed] if",
        (PUBLISHED,),
    ),
    Mutation(
        "a column too many",
        "A published head also sees the first token, for which it was never trained.",
        "models/loading/heads.py",
        'first="target_layers" in config',
        "first=True",
        (PUBLISHED,),
    ),
    # rounds with trees
    Mutation(
        "distinct drafts verified as independent",
        "The rule is told that siblings were drawn with replacement although they were not.",
        "decoding/judge.py",
        "tuple(drawn), not draft.distinct)",
        "tuple(drawn), True)",
        ("tests/trace/test_trace.py::test_distinct_siblings_are_tested_with_what_the_draft_had_left",),
    ),
    Mutation(
        "kept node under a wrong name",
        "The rule's own number of the last kept node is taken for the number of the shared node.",
        "decoding/judge.py",
        "self.path = [origin[node] for node in",
        "self.path = [min(node, max(origin)) for node in",
        (f"{DECODE}::test_greedy_output_with_several_drafts_equals_plain_decoding",),
    ),
    # naive HSD
    Mutation(
        "naive order",
        "Naive HSD divides by its own missing mass only: every branch counts as one that lacks nothing.",
        "rules/chain.py",
        "torch.maximum(deficient, deficient + b - a[:-1])",
        "deficient",
        (CASES, FOLLOWS),
    ),
    Mutation(
        "open positions from the target",
        "After a rejection naive HSD draws the block's other positions from the target, not from residuals.",
        "decoding/rounds.py",
        "row = residual_row(p_row, q_row, log_ratio.clamp_max(0).exp(), (-log_ratio).clamp_max(0).exp())",
        "row = p_row",
        (f"{DECODE}::test_open_positions_of_naive_hsd_follow_the_residuals_of_what_precedes_them",),
    ),
    Mutation(
        "open positions go on after the end",
        "Naive HSD draws more positions of a block whose text has ended.",
        "decoding/rounds.py",
        "if token in self.end_ids:",
        "if False:",
        (f"{DECODE}::test_nothing_follows_the_end_of_a_text",),
    ),
    # the fuzzy rule
    Mutation(
        "KL the wrong way round",
        "KL(p‖q) stands for KL(q‖p): finite where the target excludes what the draft says, and no bound on the output.",
        "rules/fuzzy.py",
        '"kl": lambda p, q: relative_entropy(q, p),',
        '"kl": lambda p, q: relative_entropy(p, q),',
        (f"{FUZZY}::test_kl_goes_from_the_draft_to_the_target",),
    ),
    Mutation(
        "JS without the half",
        "The two relative entropies to the middle are added and not averaged.",
        "rules/fuzzy.py",
        "return (both.sum(-1) / 2).clamp(0, math.log(2))",
        "return both.sum(-1).clamp(0, 2 * math.log(2))",
        (f"{FUZZY}::test_kl_goes_from_the_draft_to_the_target",),
    ),
    Mutation(
        "a divergence equal to the tolerance fails",
        "The divergence must be below the tolerance: at 0 not even equal rows pass.",
        "rules/fuzzy.py",
        "near = divergence <= tolerance",
        "near = divergence < tolerance",
        (f"{FUZZY}::test_at_zero_and_below_the_output_is_the_targets",),
    ),
    Mutation(
        "divergence of the next position",
        "A token is judged by the row that comes after it, not by the one it was drafted from.",
        "rules/fuzzy.py",
        "judged_p[: len(tokens)]",
        "judged_p[-len(tokens) :]",
        (f"{FUZZY}::test_law_agrees_with_the_reference",),
    ),
    Mutation(
        "residual after a rejection by divergence",
        "The paper's form draws the next token from max(p - q, 0) although no token was tested against p/q.",
        "rules/fuzzy.py",
        "None if first else torch.zeros_like(ones)",
        "None",
        (f"{FUZZY}::test_the_output_is_the_draft_where_it_is_near_and_the_target_elsewhere",),
    ),
    Mutation(
        "what passed cuts what follows",
        "A token with p = 0 that passed by its divergence cuts off everything after it.",
        "rules/fuzzy.py",
        "torch.where(near, 1.0,",
        "torch.nn.functional.pad((token_tests(p, q, tokens) > 0).double(), (1, -1), value=1.0).cumprod(0) * "
        "torch.where(near, 1.0,",
        (f"{FUZZY}::test_what_the_target_never_says_passes_under_some_divergences_and_never_under_kl",),
    ),
    Mutation(
        "drift of all drafted positions",
        "The drift of a step counts positions that were not kept.",
        "rules/fuzzy.py",
        "law.divergence[:kept]",
        "law.divergence",
        (f"{FUZZY}::test_the_drift_of_a_step_adds_up_what_was_kept_and_near",),
    ),
    # conformance
    Mutation(
        "a number that comes again is new",
        "What an earlier step learned of a number is forgotten when the number is read again.",
        "conform/keying.py",
        "low, high = known.get(key, (0.0, 1.0))",
        "low, high = 0.0, 1.0",
        ("tests/conform/test_keying.py::test_numbers_of_the_page",),
    ),
    Mutation(
        "numbers of positions that have passed",
        "A number stays with its place in the step, although the text has grown.",
        "conform/keying.py",
        "((s, at - len(committed)), known[s, at])",
        "((s, at), known[s, at])",
        ("tests/conform/test_keying.py::test_rules_that_read_no_further_than_they_keep_may_use_positions",),
    ),
    Mutation(
        "noise taken for constant",
        "A box in which no coin changes anything is not asked whether the noise does.",
        "conform/boxes.py",
        "cut = cut or (yield from change(a, along_coins[1]))",
        "pass",
        ("tests/conform/test_conform.py::test_a_known_rule_is_found_as_it_is_known_from_inside",),
    ),
    Mutation(
        "recovered laws are believed",
        "Nothing checks whether thresholds foretell what a verifier does with other numbers.",
        "conform/recover.py",
        "if region is None or",
        "if True or",
        ("tests/cli/test_conform.py::test_what_cannot_be_judged_is_one_line",),
    ),
    Mutation(
        "evidence without its norm",
        "The sequential test compares with something that is no law, and calls every verifier wrong.",
        "conform/sampled.py",
        "math.lgamma(c) - math.lgamma(c + float(n.sum()))",
        "0.0",
        ("tests/conform/test_conform.py::test_sampling_keeps_its_error_rate_although_it_looks_all_the_time",),
    ),
]


class Mistaken(MetaPathFinder, SourceFileLoader):
    """Imports the module of a mutation with the mistake in it."""

    def __init__(self, mutation: Mutation) -> None:
        module = f"hsd.{mutation.file.removesuffix('.py').replace('/', '.')}"
        SourceFileLoader.__init__(self, module, str(ROOT / "hsd" / mutation.file))
        self.text = mutation.text()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname == self.name else None

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec", dont_inherit=True)


class Failures:
    """A plugin for pytest: which tests failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.names += [report.nodeid] * report.failed


def run_tests(answer: Connection, root: Path, tests: tuple[str, ...], mutation: Mutation | None) -> None:
    """In a child: run `tests`, and send the exit status, the failing tests, and what was printed."""
    import pytest
    from hypothesis import Phase, settings

    sys.path.insert(0, str(root))
    sys.dont_write_bytecode = True
    os.chdir(root)
    if mutation:
        sys.meta_path.insert(0, Mistaken(mutation))
    # Failing examples need not be made small: that takes longer than finding them.
    settings.register_profile("no-shrinking", phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("no-shrinking")
    failures = Failures()
    options = ["-x", "-q", "-m", "not slow and not browser", "--assert=plain", "-p", "no:cacheprovider"]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        status = int(pytest.main([*tests, *options], plugins=[failures]))
        sys.stdout.flush()
        printed.seek(0)
        answer.send((status, failures.names, printed.read()))


def failing_test(tests: tuple[str, ...], mutation: Mutation | None = None, root: Path = ROOT) -> str | None:
    """The first of `tests` that fails, in a process of its own that makes the mistake; None if all pass."""
    receiver, sender = CHILDREN.Pipe(duplex=False)
    child = CHILDREN.Process(target=run_tests, args=(sender, root, tests, mutation))
    child.start()
    sender.close()  # the child's is left: should it die, there is nothing to wait for
    try:
        if not receiver.poll(LIMIT):
            return f"(none within {LIMIT} s: the tests hang)"
        status, names, printed = receiver.recv()
    except EOFError:
        raise RuntimeError(f"the process that ran {' '.join(tests)} died") from None
    finally:
        child.join(5)
        child.kill()
    if status not in (0, 1) or (status == 1 and not names):
        raise RuntimeError(f"the tests did not run:\n{printed[-3000:]}")
    return names[0] if names else None


def chosen(names: list[str]) -> list[Mutation]:
    """All mutations, or those whose name contains one of `names`."""
    found = [m for m in MUTATIONS if not names or any(name in m.name for name in names)]
    if not found:
        raise SystemExit(f"no mutation is named like {' or '.join(names)}")
    return found


def main(names: list[str]) -> int:
    mutations, missed = chosen(names), 0
    os.environ["HF_HUB_OFFLINE"] = "1"  # the libraries read it, before tests/conftest.py can set it
    CHILDREN.set_forkserver_preload(LIBRARIES)
    if broken := failing_test(tuple(dict.fromkeys(test for mutation in mutations for test in mutation.tests))):
        print(f"{broken} fails without any mutation: repair that first")
        return 1
    print(f"{'mutation':52} {'seconds':>7}  caught by", flush=True)
    for mutation in mutations:
        begin = time.perf_counter()
        noticed = failing_test(mutation.tests, mutation)
        missed += noticed is None
        seconds = time.perf_counter() - begin
        print(f"{mutation.name:52} {seconds:7.1f}  {noticed or 'NOT CAUGHT: ' + mutation.mistake}", flush=True)
    print(f"{len(mutations)} mutations, {len(mutations) - missed} caught, {missed} not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
