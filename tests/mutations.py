"""Whether the tests notice mistakes: python tests/mutations.py [NAME …]

Each mutation below is a mistake that someone could make, as an edit of one file. The script copies the repository,
makes one mistake at a time, runs the tests that should notice, and prints which test did. Exit status 1: one was not
noticed. `tests/exact/test_mutations.py` checks that every edit still fits its file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("hsd", "tests", "pyproject.toml", "app.py", "README.md", "Spacefile")
LINKED = ("assets", "examples")
LIMIT = 600  # seconds for the tests of one mutation

# Failing examples need not be made small: that takes longer than finding them.
PLUGIN = """
from hypothesis import Phase, settings
settings.register_profile("no-shrinking", phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("no-shrinking")
"""

LAWS = "tests/exact/test_laws.py"
AUDIT = "tests/exact/test_audit.py"
TREES = "tests/exact/test_tree_laws.py"
PROPERTIES = "tests/exact/test_properties.py"
DECODE = "tests/loop/test_decode.py"
ROUNDS = "tests/loop/test_tree_rounds.py"
TRACE = "tests/loop/test_trace.py"
SAMPLER = "tests/statistical/test_sampler.py"
JOINT = "tests/statistical/test_joint_law.py"
STACK = "tests/exact/test_stack.py"
LEVELS = "tests/loop/test_levels.py"
JOINT_TREES = f"{JOINT}::test_several_drafts_follow_the_target"
WRONG = "tests/exact/test_wrong_variants.py"
FUZZY = "tests/exact/test_fuzzy.py"


@dataclass(frozen=True)
class Mutation:
    """A mistake: in `file` below hsd/, `old` (which occurs once) becomes `new`. tests: who should notice."""

    name: str
    mistake: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def fits(self, root: Path) -> bool:
        """Whether the edit can be made: the old text is there, once."""
        return (root / "hsd" / self.file).read_text(encoding="utf-8").count(self.old) == 1

    def apply(self, root: Path) -> str:
        """Make the mistake in the copy at `root`; returns the sound text. Raises ValueError if it does not fit."""
        if not self.fits(root):
            raise ValueError(f"{self.name}: the text to replace is not in hsd/{self.file} exactly once, update it")
        file = root / "hsd" / self.file
        sound = file.read_text(encoding="utf-8")
        file.write_text(sound.replace(self.old, self.new), encoding="utf-8")
        return sound


MUTATIONS = [
    # one draft: the laws
    Mutation(
        "uncapped throughout",
        "min(1, r_t) stands wherever c_t belongs: a surplus that was cut off is paid back later.",
        "rules/law.py",
        "return cls(log, log - log.cummax(0).values)",
        "return cls(log, log.clamp_max(0))",
        (LAWS, AUDIT),
    ),
    Mutation(
        "nothing over nothing",
        "A branch with nothing to correct is given up in place of kept.",
        "rules/chain.py",
        "return torch.where(whole > 0, part / whole, 1.0).clamp(0, 1)",
        "return torch.where(whole > 0, part / whole, 0.0).clamp(0, 1)",
        (f"{PROPERTIES}::test_a_branch_with_nothing_to_correct_is_kept_for_certain",),
    ),
    Mutation(
        "gives up at the first failed coin",
        "A rule that tests backward stops at its first failure: all of the draft or nothing.",
        "rules/law.py",
        "return (success * torch.arange(1, self.gamma + 1, device=success.device)).max() if self.gamma",
        "return success[-1].long() * self.gamma if self.gamma",
        (LAWS,),
    ),
    Mutation(
        "counts passed coins",
        "The token-wise rule counts successes after its first failure too.",
        "rules/law.py",
        "return success.long().cumprod(0).sum()",
        "return success.long().sum()",
        (LAWS,),
    ),
    Mutation(
        "ties pass, one draft",
        "coin <= threshold: a coin of 0 keeps what the target excludes.",
        "rules/law.py",
        "return coins < self.threshold",
        "return coins <= self.threshold",
        (LAWS,),
    ),
    Mutation(
        "residual from target",
        "After a rejection the token comes from the target and not from what is left of it.",
        "rules/law.py",
        "return torch.where(mass > 0, residual / mass.clamp_min(torch.finfo(residual.dtype).tiny), p), mass",
        "return p, mass",
        (LAWS, AUDIT),
    ),
    Mutation(
        "bonus row off by one",
        "After a whole draft the target's row before the last token is used again.",
        "rules/law.py",
        "return self.p[t] if t == self.gamma else self.leftover(t)[0]",
        "return self.p[t - 1] if t == self.gamma else self.leftover(t)[0]",
        (LAWS,),
    ),
    Mutation(
        "correction row off by one",
        "The residual of the last kept position is used for the position after it.",
        "rules/law.py",
        "return self.p[t] if t == self.gamma else self.leftover(t)[0]",
        "return self.p[t] if t == self.gamma else self.leftover(max(t - 1, 0))[0]",
        (LAWS,),
    ),
    # several drafts, one after another
    Mutation(
        "joint ratio carried over",
        "The next draft begins with the capped ratio that the one before had reached, in place of 1.",
        "rules/rejection.py",
        "p = torch.stack([first, *(tree.target(i) for i in rest)])",
        "p = torch.stack([first * (changes[-1].weight if changes else 1.0), *(tree.target(i) for i in rest)])",
        (TREES,),
    ),
    Mutation(
        "later draft against p",
        "A later draft is verified against the target, not against what the first one left over.",
        "rules/rejection.py",
        "p = torch.stack([first, *(tree.target(i) for i in rest)])",
        "p = torch.stack([tree.target(node), *(tree.target(i) for i in rest)])",
        (TREES,),
    ),
    Mutation(
        "fork ignored",
        "A token that two drafts share is taken for a second, independent draw.",
        "rules/rejection.py",
        "if path.fork > len(text) or len(path.nodes) <= len(text):",
        "if len(path.nodes) <= len(text):",
        (TREES,),
    ),
    Mutation(
        "mismatch ignored",
        "A later draft is verified although it does not begin with what was kept.",
        "rules/rejection.py",
        "return all(tree.token(node) == token for node, token in zip(path.nodes, text, strict=False))",
        "return True",
        (TREES,),
    ),
    Mutation(
        "kept tokens forgotten",
        "After a draft that kept some tokens, later drafts are again compared from the root on.",
        "rules/rejection.py",
        "node, text = (rest[kept - 1] if kept else node), (*text, *tokens[:kept])",
        "node = rest[kept - 1] if kept else node",
        (TREES,),
    ),
    # top-down, and trees that were chosen
    Mutation(
        "top-down: distinct siblings taken as independent",
        "A sibling drawn without replacement is tested with the draft's probability before the others were drawn.",
        "rules/rejection.py",
        "q, changes = (q if tree.replacement else without(q, x)), (change,)",
        "q, changes = q, (change,)",
        (TREES,),
    ),
    Mutation(
        "top-down: independent siblings taken as distinct",
        "A rejected token is struck out of the draft although the next sibling could have drawn it again.",
        "rules/rejection.py",
        "q, changes = (q if tree.replacement else without(q, x)), (change,)",
        "q, changes = without(q, x), (change,)",
        (TREES,),
    ),
    Mutation(
        "top-down: residual kept below",
        "What rejected siblings left over is used for the children of the accepted one too.",
        "rules/rejection.py",
        "    while True:\n        p, q = tree.target(node), tree.draft(node) if tree.children(node) else None\n",
        "    p = fresh = tree.target(0)\n    while True:\n"
        "        if p is fresh:\n            p = fresh = tree.target(node)\n"
        "        q = tree.draft(node) if tree.children(node) else None\n",
        (TREES,),
    ),
    Mutation(
        "one-hot: no strike-out",
        "A rejected token of a chosen tree stays in the target.",
        "rules/rejection.py",
        "            p = without(p, x)\n",
        "",
        (TREES,),
    ),
    Mutation(
        "one-hot: softmax as q",
        "A token that was chosen for certain is accepted with p/q, as if the draft had drawn it.",
        "rules/rejection.py",
        "chance = float(p[x])",
        "chance = min(1.0, ratio(float(p[x]), float(tree.draft(node)[x])))",
        (TREES,),
    ),
    # traversal
    Mutation(
        "traversal: last leaf first",
        "Leaves are tested in the opposite of the order in which they were drawn.",
        "rules/traversal.py",
        "node = children[0]",
        "node = children[-1]",
        (TREES,),
    ),
    Mutation(
        "traversal: exhausted branch goes on",
        "A branch with nothing left to give still has its other leaves tested.",
        "rules/traversal.py",
        "if lost == 0 and before < 1:",
        "if False:",
        (TREES,),
    ),
    Mutation(
        "traversal: unscaled residual",
        "What a rejection leaves over is max(p - q, 0), without the rate.",
        "rules/traversal.py",
        "row, mass = leftover(p, q, p.new_tensor(before))",
        "row, mass = leftover(p, q, p.new_ones(()))",
        (TREES,),
    ),
    Mutation(
        "traversal: bonus where a residual belongs",
        "After a prefix was kept the next token comes from the target, although drafted tokens after it were rejected.",
        "rules/traversal.py",
        "return Ending(leaf, working.target(leaf))",
        "return Ending(leaf, tree.target(leaf))",
        (TREES,),
    ),
    Mutation(
        "traversal: distinct siblings taken as independent",
        "A rejected sibling stays in the draft's row although it cannot be drawn again.",
        "rules/traversal.py",
        "self.q[node] = q if self.tree.replacement else without(q, self.tree.token(leaf))",
        "self.q[node] = q",
        (TREES,),
    ),
    Mutation(
        "traversal: independent siblings taken as distinct",
        "A rejected token is struck out of the draft's row although the next sibling could have drawn it again.",
        "rules/traversal.py",
        "self.q[node] = q if self.tree.replacement else without(q, self.tree.token(leaf))",
        "self.q[node] = without(q, self.tree.token(leaf))",
        (TREES,),
    ),
    Mutation(
        "ties pass, trees",
        "coin <= threshold: a coin of 0 keeps what the target excludes.",
        "rules/tree.py",
        "made.append((test, coin, coin < test.threshold))",
        "made.append((test, coin, coin <= test.threshold))",
        (PROPERTIES,),
    ),
    # sampling and random numbers
    Mutation(
        "boundary on the wrong side",
        "A number that falls on a boundary picks the token below it, which may have no probability.",
        "sampling.py",
        "picked = torch.searchsorted(cumulative, number * total, right=True)",
        "picked = torch.searchsorted(cumulative, number * total)",
        (SAMPLER,),
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
        "return kept / kept.sum(-1, keepdim=True)",
        "return kept",
        (SAMPLER,),
    ),
    Mutation(
        "one stream",
        "The three streams of random numbers are one and the same.",
        "rng.py",
        'digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()',
        'digest = hashlib.blake2b(f"{seed}".encode(), digest_size=8).digest()',
        (SAMPLER, JOINT),
    ),
    Mutation(
        "the drawing number judges",
        "The number that drew a token is its coin too.",
        "decoding/rounds.py",
        "draws, coins, number = numbers.draft(needed), numbers.coins(needed), numbers.after(1)",
        "draws, number = numbers.draft(needed), numbers.after(1)\n        coins = draws",
        (JOINT, JOINT_TREES),
    ),
    Mutation(
        "the coin draws the correction",
        "The coin of the first position also draws the token after the kept ones.",
        "decoding/rounds.py",
        "draws, coins, number = numbers.draft(needed), numbers.coins(needed), numbers.after(1)",
        "draws, coins, number = numbers.draft(needed), numbers.coins(needed), numbers.after(1)\n"
        "        number = coins[:1] if needed else number",
        (JOINT,),
    ),
    # drafting
    Mutation(
        "top-k and top-p for the target only",
        "The draft model draws from its whole distribution, the target from its likeliest tokens.",
        "decoding/systems.py",
        "Reader(session, model.device, options.sampling, pair",
        "Reader(session, model.device, options.sampling if model is pair.target else "
        "type(options.sampling)(options.temperature), pair",
        (WRONG, DECODE),
    ),
    Mutation(
        "drawn from another row",
        "The draft's token is not drawn from the distribution that the rule is told.",
        "draft/model.py",
        "unread = draw(row.p[0], number).unsqueeze(0)",
        "unread = draw(row.p[0].sqrt() / row.p[0].sqrt().sum(), number).unsqueeze(0)",
        (JOINT,),
    ),
    Mutation(
        "draft goes on after the end",
        "A draft is not cut at its first end of text.",
        "draft/model.py",
        "return draft.until_end(self._end_ids)",
        "return draft",
        (DECODE,),
    ),
    Mutation(
        "bonus after the end of text",
        "A token is drawn although the kept draft ended the text.",
        "decoding/rounds.py",
        "if node and draft.ids[node - 1] in self.end_ids:",
        "if False:",
        (DECODE, ROUNDS),
    ),
    Mutation(
        "repeated first tokens",
        "Siblings that are told to be drawn without replacement are drawn independently, so that one may repeat.",
        "draft/tree.py",
        "row = row.index_fill(0, torch.tensor(taken, dtype=torch.int64, device=row.device), 0.0)",
        "pass",
        (DECODE,),
    ),
    # caches
    Mutation(
        "target's cache one too long",
        "After a rejection the target keeps one rejected token in its cache.",
        "decoding/rounds.py",
        "self.target.settle(length, path)\n        self._proposer.settle(length, path)",
        "self.target.settle(length + 1, path)\n        self._proposer.settle(length, path)",
        (DECODE,),
    ),
    Mutation(
        "draft's cache one too long",
        "After a rejection the draft model keeps one rejected token in its cache.",
        "decoding/rounds.py",
        "self.target.settle(length, path)\n        self._proposer.settle(length, path)",
        "self.target.settle(length, path)\n        self._proposer.settle(length + 1, path)",
        (DECODE,),
    ),
    Mutation(
        "target's cache not rolled back",
        "After a rejection the target goes on from the rejected tokens.",
        "decoding/rounds.py",
        "self.target.settle(length, path)\n        self._proposer.settle(length, path)",
        "self._proposer.settle(length, path)",
        (DECODE,),
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
        (LEVELS,),
    ),
    Mutation(
        "stack goes on after the end",
        "A level settles more tokens after the end of the text.",
        "decoding/stack.py",
        " and not (settled and settled[-1] in self._rounds.end_ids)",
        "",
        (LEVELS,),
    ),
    Mutation(
        "levels share their random numbers",
        "A level takes its coins from the target's streams.",
        "decoding/systems.py",
        "Streams(options.seed, level)",
        "Streams(options.seed)",
        (STACK, LEVELS),
    ),
    Mutation(
        "tree cache keeps the first columns",
        "After a round as many columns of the tree are kept as tokens were, but not those of the kept path.",
        "models/reading.py",
        "self._session.select([*range(min(self._base, self.length)), *read])",
        "self._session.select([*range(min(self._base, self.length) + len(read))])",
        (ROUNDS,),
    ),
    Mutation(
        "branches see each other",
        "A node attends to all nodes read before it, not to its own ancestors only.",
        "models/reading.py",
        "visible[row, [self._columns[i] for i in lineage]] = True",
        "visible[row, base : length + row + 1] = True",
        (ROUNDS,),
    ),
    Mutation(
        "positions off by one",
        "Nodes stand one position too far to the right.",
        "models/reading.py",
        "positions.append(base - 1 + len(lineage))",
        "positions.append(base + len(lineage))",
        (ROUNDS,),
    ),
    Mutation(
        "positions in the order of reading",
        "A node's position is its column and not its depth.",
        "models/reading.py",
        "positions.append(base - 1 + len(lineage))",
        "positions.append(length + row)",
        (ROUNDS,),
    ),
    # rounds with trees
    Mutation(
        "distinct drafts verified as independent",
        "The rule is told that siblings were drawn with replacement although they were not.",
        "decoding/judge.py",
        "tuple(paths), not draft.distinct)",
        "tuple(paths), True)",
        (JOINT_TREES,),
    ),
    Mutation(
        "kept node under a wrong name",
        "The rule's own number of the last kept node is taken for the number of the shared node.",
        "decoding/judge.py",
        "self.path = [origin[node] for node in",
        "self.path = [min(node, max(origin)) for node in",
        (DECODE, TRACE, JOINT),
    ),
    # naive HSD
    Mutation(
        "open positions from the target",
        "After a rejection naive HSD draws the block's other positions from the target, not from residuals.",
        "decoding/rounds.py",
        "row = residual_row(p_row, q_row, log_ratio.clamp_max(0).exp(), (-log_ratio).clamp_max(0).exp())",
        "row = p_row",
        (JOINT,),
    ),
    # the fuzzy rule
    Mutation(
        "KL the wrong way round",
        "KL(p‖q) stands for KL(q‖p): finite where the target excludes what the draft says, and no bound on the output.",
        "rules/fuzzy.py",
        '"kl": lambda p, q: relative_entropy(q, p),',
        '"kl": lambda p, q: relative_entropy(p, q),',
        (FUZZY,),
    ),
    Mutation(
        "JS without the half",
        "The two relative entropies to the middle are added and not averaged.",
        "rules/fuzzy.py",
        "return (both.sum(-1) / 2).clamp(0, math.log(2))",
        "return both.sum(-1).clamp(0, 2 * math.log(2))",
        (FUZZY,),
    ),
    Mutation(
        "a divergence equal to the tolerance fails",
        "The divergence must be below the tolerance: at 0 not even equal rows pass.",
        "rules/fuzzy.py",
        "near = divergence <= config.tolerance",
        "near = divergence < config.tolerance",
        (FUZZY,),
    ),
    Mutation(
        "divergence of the next position",
        "A token is judged by the row that comes after it, not by the one it was drafted from.",
        "rules/fuzzy.py",
        "divergence = DIVERGENCES[config.divergence](judged_p[: len(tokens)], judged_q).double()",
        "divergence = DIVERGENCES[config.divergence](judged_p[-len(tokens) :], judged_q).double()",
        (FUZZY,),
    ),
    Mutation(
        "drift of all drafted positions",
        "The drift of a step counts positions that were not kept.",
        "rules/fuzzy.py",
        "spent = law.divergence[:kept]",
        "spent = law.divergence",
        (FUZZY,),
    ),
]


def copy_repository(to: Path) -> None:
    """What the tests need, without what can be made again; large folders are linked."""
    skip = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=skip)
        elif (ROOT / name).is_file():
            shutil.copy(ROOT / name, to / name)
    for name in LINKED:
        (to / name).symlink_to(ROOT / name)
    (to / "no_shrinking.py").write_text(PLUGIN)


def failing_test(root: Path, tests: tuple[str, ...]) -> str | None:
    """The first of `tests` that fails in the copy at `root`; None if all pass."""
    command = [sys.executable, "-B", "-m", "pytest", *tests, "-x", "-q", "-m", "not slow and not browser"]
    plugins = ["-p", "no_shrinking", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        result = subprocess.run(
            [*command, *plugins], cwd=root, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"(none within {LIMIT} s: the tests hang)"
    if result.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", result.stdout, re.MULTILINE)
    if found is None or result.returncode != 1:
        raise RuntimeError(f"the tests did not run:\n{result.stdout[-3000:]}{result.stderr[-2000:]}")
    return found.group(1)


def chosen(names: list[str]) -> list[Mutation]:
    """All mutations, or those whose name contains one of `names`."""
    found = [m for m in MUTATIONS if not names or any(name in m.name for name in names)]
    if not found:
        raise SystemExit(f"no mutation is named like {' or '.join(names)}")
    return found


def main(names: list[str]) -> int:
    mutations, missed = chosen(names), 0
    with tempfile.TemporaryDirectory(prefix="hsd-mutations-") as folder:
        root = Path(folder)
        copy_repository(root)
        wanted = tuple(dict.fromkeys(test.split("::")[0] for mutation in mutations for test in mutation.tests))
        if broken := failing_test(root, wanted):
            print(f"{broken} fails without any mutation: repair that first")
            return 1
        print(f"{'mutation':52} {'seconds':>7}  caught by", flush=True)
        for mutation in mutations:
            begin = time.perf_counter()
            sound = mutation.apply(root)
            noticed = failing_test(root, mutation.tests)
            (root / "hsd" / mutation.file).write_text(sound, encoding="utf-8")
            missed += noticed is None
            seconds = time.perf_counter() - begin
            print(f"{mutation.name:52} {seconds:7.1f}  {noticed or 'NOT CAUGHT: ' + mutation.mistake}", flush=True)
    print(f"{len(mutations)} mutations, {len(mutations) - missed} caught, {missed} not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
