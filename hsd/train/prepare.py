"""First stage: read and generate text, learn the tokenizer, and write the encoded corpus."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hsd.train.corpus import DOMAINS, Source, read_generated, read_real
from hsd.train.mixture import build_mixture
from hsd.train.tokenizer import common_names, load_tokenizer, train_tokenizer

TOKENIZER_SAMPLE = 3_000_000  # characters of each source that the tokenizer learns from
GENERATED_CHARACTERS = {"stories": 14_000_000, "sums": 8_000_000, "functions": 8_000_000}


def collect(data: Path | None, generated: float, seed: int) -> list[Source]:
    """Real text of ``data``, if given, and ``generated`` times the usual amount of generated text."""
    sources = read_real(data) if data else []
    if generated > 0:
        sources += [read_generated(d, int(GENERATED_CHARACTERS[d] * generated), seed) for d in DOMAINS]
    return sources


def prepare(out: Path, data: Path | None, generated: float, seed: int, keep_tokenizer: bool = False) -> None:
    """Write ``tokenizer/``, ``names.json``, ``corpus.npz`` and ``held_out.json`` into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    sources = collect(data, generated, seed)
    if keep_tokenizer:
        tokenizer = load_tokenizer(out / "tokenizer")
    else:
        names = sorted({n for s in sources if s.domain == "stories" for n in common_names(s.train)})
        tokenizer = train_tokenizer([text for source in sources for text in _sample(source)], names)
        tokenizer.save_pretrained(out / "tokenizer")
        (out / "names.json").write_text(json.dumps(names), "utf-8")
    mixture = build_mixture(tokenizer, sources)
    mixture.save(out / "corpus.npz")
    held_out = {source.name: source.held_out[:400] for source in sources}
    (out / "held_out.json").write_text(json.dumps(held_out), "utf-8")
    for source in sources:
        size = len(mixture.train[source.name].tokens)
        print(f"{source.name}: {len(source.train):,} documents, {size:,} tokens", file=sys.stderr)


def _sample(source: Source) -> list[str]:
    """The first documents of ``source``, about ``TOKENIZER_SAMPLE`` characters."""
    taken, size = [], 0
    for document in source.train:
        if size > TOKENIZER_SAMPLE:
            break
        taken.append(document)
        size += len(document)
    return taken
