"""Give lower-cased stories their capitals back, as learnt from stories that still have them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?]['\"]?\s+|\n\s*|(?:^|[\s(])\")$")
_NAMED = re.compile(r"\bnamed ([a-z]+)\b")


def starts_sentence(text: str, position: int) -> bool:
    """Does the word at ``position`` open the text, a sentence, a line or a quotation?"""
    return _SENTENCE_START.search(text[max(0, position - 6) : position]) is not None


@dataclass(frozen=True)
class Truecaser:
    """The usual spelling of a word inside a sentence, after a given word and in general."""

    after: Mapping[tuple[str, str], str]
    usual: Mapping[str, str]

    @classmethod
    def learn(cls, stories: Iterable[str]) -> Truecaser:
        """Count spellings inside sentences, where a capital means a name and not a beginning."""
        after: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        usual: dict[str, Counter[str]] = defaultdict(Counter)
        for story in stories:
            previous = ""
            for match in _WORD.finditer(story):
                word = match.group()
                if not starts_sentence(story, match.start()):
                    after[previous, word.lower()][word] += 1
                    usual[word.lower()][word] += 1
                previous = word.lower()
        frequent = {key: count for key, count in after.items() if sum(count.values()) >= 3}
        return cls(
            {k: c.most_common(1)[0][0] for k, c in frequent.items()},
            {k: c.most_common(1)[0][0] for k, c in usual.items()},
        )

    def apply(self, story: str) -> str:
        """``story`` (lower case) with capitals at sentence starts, for ``I`` and for names.

        A word after "named" counts as a name in the whole story even if it was never seen
        capitalised.
        """
        names = {name for name in _NAMED.findall(story) if self.usual.get(name, "") != name}
        previous = ""

        def spell(match: re.Match[str]) -> str:
            nonlocal previous
            word = match.group()
            stem = word.split("'")[0]
            best = self.after.get((previous, word)) or self.usual.get(word, word)
            if starts_sentence(story, match.start()) or stem in names or stem == "i":
                best = best[0].upper() + best[1:]
            elif best == word and "'" in word and self.usual.get(stem, stem) != stem:
                best = word[0].upper() + word[1:]  # "lily's" follows "Lily"
            previous = word
            return best

        return _WORD.sub(spell, story)
