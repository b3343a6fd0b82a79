"""Speculative decoding in one file: a draft, one pass of the target, vanilla and HSD, a commit.

    python examples/minimal.py    # the toy pair, offline
    python examples/minimal.py Qwen/Qwen2.5-7B-Instruct Qwen/Qwen2.5-0.5B-Instruct    # another pair

The models of a pair share a vocabulary. Read it from top to bottom; it needs torch and transformers
only. Shapes: n positions, γ drafted tokens, V tokens of the vocabulary. Sources: vanilla, arXiv
2211.17192; HSD (hierarchical speculative decoding), arXiv 2601.05724, algorithm 2.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

TOYS = Path(__file__).parents[1] / "assets" / "tiny"


class Reader:
    """A model and the cache of the text it has read."""

    def __init__(self, model, temperature):
        self.model = model
        self.temperature = temperature
        self.cache = DynamicCache(config=model.config)

    def read(self, text):
        """Return rows (n, V) of probabilities after the n tokens of `text` that it has not read."""
        unread = text[self.cache.get_seq_length() :]
        new = torch.tensor([unread], device=self.model.device)  # (1, n)
        logits = self.model(new, past_key_values=self.cache).logits[0]  # (n, V)
        return (logits.float() / self.temperature).softmax(-1)

    def forget(self, length):
        """Drop the cache from position `length` on, where the draft was rejected."""
        if (rejected := self.cache.get_seq_length() - length) > 0:
            self.cache.crop(-rejected)


class Numbers:
    """A seed's random numbers in [0, 1), in three streams, so that all rules get the same ones."""

    def __init__(self, seed):
        streams = [torch.Generator().manual_seed(3 * seed + i) for i in range(3)]
        self.draft, self.coins, self.after = (
            lambda n, stream=stream: torch.rand(n, generator=stream, dtype=torch.float64)
            for stream in streams
        )


def draw(row, number):
    """Return the token that a number in [0, 1) picks from a row (V,), by its cumulative sum."""
    cumulative = row.double().cumsum(-1)
    token = torch.searchsorted(cumulative, number * cumulative[-1:], right=True)
    return min(int(token), len(row) - 1)


def vanilla(p, q, tokens, coins):
    """Return how many of the γ tokens are kept, and the row (V,) for the next one.

    p: (γ+1, V), q: (γ, V), coins: (γ,).
    """
    for t, x in enumerate(tokens):
        if coins[t] >= p[t, x] / q[t, x]:  # the first failure ends the draft
            # the correction makes up for what the draft gives too rarely
            return t, (p[t] - q[t]).clamp_min(0)
    return len(tokens), p[-1]  # a bonus: the target has read one row further


def hsd(p, q, tokens, coins):
    """Return the same by whole prefixes, the longest first.

    A token that is too likely makes up for one that is not likely enough.
    """
    r = 1.0
    peak = 1.0
    share = [1.0]
    thresholds = []
    for t, x in enumerate(tokens):
        r = r * float(p[t, x] / q[t, x])  # how many times as likely the prefix is for the target
        whole = min(1.0, r / peak)  # counted from its best point so far
        peak = max(peak, r)
        share.append(r / peak)  # of the drafts that begin so, how many are due
        if t + 1 < len(tokens):
            gap = share[-1] * p[t + 1] - q[t + 1]  # over all tokens that may follow
            deficient = float(gap.clamp_min(0).sum())
            excess = float(-gap.clamp_max(0).sum())
            thresholds.append(min(1.0, deficient / excess) if excess else 1.0)
        else:
            thresholds.append(whole)
    for t in range(len(tokens), 0, -1):
        if coins[t - 1] < thresholds[t - 1]:
            break  # keep t tokens; else step back one
    else:
        t = 0
    return t, p[t] if t == len(tokens) else (share[t] * p[t] - q[t]).clamp_min(0)


@torch.inference_mode()
def decode(
    target, draft, text, rule, numbers, gamma=4, temperature=0.7, new_tokens=48, ends=(), show=print
):
    """Return the tokens after `text` (ids). rule: vanilla or hsd. show: called on every step."""
    text = list(text)
    start = len(text)
    target = Reader(target, temperature)
    draft = Reader(draft, temperature)
    while len(text) - start < new_tokens and not (len(text) > start and text[-1] in ends):
        draws = numbers.draft(gamma)
        coins = numbers.coins(gamma)
        after = numbers.after(1)
        tokens = []
        q = []
        while len(tokens) < gamma and not (tokens and tokens[-1] in ends):  # γ small passes
            q.append(draft.read(text + tokens)[-1])
            tokens.append(draw(q[-1], draws[len(tokens)]))
        # one large pass over all of them: (γ+1, V)
        p = target.read(text + tokens)[-len(tokens) - 1 :]
        q = torch.stack(q)
        verdicts = {judge.__name__: judge(p, q, tokens, coins) for judge in (vanilla, hsd)}
        kept, row = verdicts[rule.__name__]
        follows = [] if kept and tokens[kept - 1] in ends else [draw(row, after)]
        show(tokens, {name: count for name, (count, _) in verdicts.items()}, follows)
        text += tokens[:kept] + follows
        for reader in (target, draft):
            reader.forget(len(text) - 1)  # the last token is read with the next step
    return text[start:]


def main(target=TOYS / "target", draft=TOYS / "middle"):
    tokenizer = AutoTokenizer.from_pretrained(target)
    load = AutoModelForCausalLM.from_pretrained
    models = [load(name, dtype="auto").eval() for name in (target, draft)]

    def show(tokens, kept, follows):
        words = " ".join(repr(tokenizer.decode(token)) for token in tokens)
        counts = f"vanilla keeps {kept['vanilla']}, HSD {kept['hsd']}"
        print(f"{words:60} {counts}, then {tokenizer.decode(follows)!r}")

    text = tokenizer("Once upon a time").input_ids
    written = decode(*models, text, hsd, Numbers(0), ends={tokenizer.eos_token_id}, show=show)
    print(tokenizer.decode(text + written))


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # for consoles that lack a character
    main(*sys.argv[1:])
