"""One race of draft and target (Daliri, Musco and Suresh, arXiv 2408.07978): compare picks on equal
numbers.
"""

SHARED = True
NOISE = "exponential-race"


def verify(p, q, tokens, noise):
    # of the target, on the numbers that belong to each place of the text
    picks = (p / noise).argmax(-1).tolist()
    kept = next((t for t, token in enumerate(tokens.tolist()) if picks[t] != token), len(tokens))
    return picks[: kept + 1]
