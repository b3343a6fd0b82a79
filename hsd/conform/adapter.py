"""Somebody else's verifier as a black box: how it is loaded, called and held to what it promised.

An adapter is a Python file with

    def verify(p, q, tokens, uniforms, noise): ...   # returns the committed tokens, a list of int

p: (γ+1, V) and q: (γ, V), rows sum to 1; tokens: (γ,) int64, the draft; uniforms: (γ,) numbers in
[0, 1), its coins; noise: () one more, which draws the token after the kept ones. What comes back is
a prefix of the draft and one more token. Equal numbers must give equal tokens. These names in the
file change that:

NOISE = "exponential-race": noise is (V,), positive; the token with the largest weight / noise wins
    (default "inverse-cdf": the number is compared with cumulative sums, of the tokens in any order.
    With an alias table a token has several intervals, of which some are missed: a right one seems
    off by some 1e-3. Use SAMPLED there).
BATCHED = True: every argument has one dimension more in front, and a list of lists comes back.
DTYPE = "float32": rows and numbers come in single precision (default "float64"), and so does the
    tolerance.
CANDIDATES = 40: the draft model proposes only its likeliest 40, and q is a pair (ids, weights),
    both (γ, 40), the likeliest first, weights summing to 1.
SHARED = True: verify(p, q, tokens, noise); noise (γ+1,), or (γ+1, V) exponential, is the one number
    of each position, with which the draft was picked from q as well; see `hsd.conform.shared`.
SAMPLED = True: verify(p, q, tokens), with randomness of its own; see `hsd.conform.sampled`.

Where drafts cannot be put in either, the file has in place of verify

    def generate(p, q, gamma, length, seeds): ...   # returns a list of int for each seed: a text

p and q: (V, V), the rows of target and draft after each last token; a text goes on after token 0,
for `length` tokens.
"""

import contextlib
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch
from torch import Tensor

from hsd.audit import TableModels
from hsd.conform.boxes import Outcome, Point
from hsd.errors import HsdError

NOISES = ("inverse-cdf", "exponential-race")
WIDTHS = {"float64": 1e-12, "float32": 2.0**-22}  # how closely thresholds are bracketed
LARGEST = 512  # drafts of a batch
LOADS = itertools.count()
# what a lossless verifier may be off by, in total variation
TOLERANCES = {"float64": 1e-9, "float32": 1e-5}


@dataclass(frozen=True)
class Adapter:
    """A verifier, with the settings that its file declares, in lower case (see the module)."""

    name: str
    verify: Callable[..., Any]
    noise: str = "inverse-cdf"
    batched: bool = False
    dtype: str = "float64"
    sampled: bool = False
    text: bool = False
    candidates: int = 0
    shared: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.candidates, int) or self.candidates < 0:
            raise HsdError(
                f"{self.name}: CANDIDATES {self.candidates!r}: give a number of tokens, such as 40"
            )
        for field, names in (("noise", NOISES), ("dtype", tuple(WIDTHS))):
            if getattr(self, field) not in names:
                unknown = f"{field.upper()} {getattr(self, field)!r}"
                raise HsdError(f"{self.name}: unknown {unknown}: use {' or '.join(names)}")

    @property
    def exponential(self) -> bool:
        return self.noise == "exponential-race"

    @property
    def width(self) -> float:
        return WIDTHS[self.dtype]

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.dtype]


def load_adapter(file: str | Path) -> Adapter:
    """Return the adapter in a file.

    Raises HsdError if it is missing, fails to import or has neither function.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise HsdError(f"no file {str(file)!r}: give a Python file with a function verify")
    module = _load_module(path)
    text = not hasattr(module, "verify") and hasattr(module, "generate")
    verify = getattr(module, "generate" if text else "verify", None)
    if not callable(verify):
        raise HsdError(
            f"{path.name} has no function verify: write def verify(p, q, tokens, uniforms, noise)"
        )
    fields = ("noise", "batched", "dtype", "sampled", "candidates", "shared")
    settings = {x: getattr(module, x.upper()) for x in fields if hasattr(module, x.upper())}
    return Adapter(path.name, verify, **settings, text=text)


class _AsWritten(SourceFileLoader):
    """Compiles a file whenever it is loaded, and keeps nothing beside it.

    Kept bytecode is told from that of another text by its length and by whole seconds, so a file
    that is edited and loaded again at once could be judged as it was before.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _load_module(path: Path) -> ModuleType:
    """Load a Python file as a module, which may import the files beside it.

    Each load has its own name in `sys.modules`, where dataclasses and pickle look a module up. Its
    package is the file's folder, for relative imports. Raises HsdError if the file fails to import.
    """
    folder = str(path.resolve().parent)
    package = ModuleType(f"hsd_adapter_{next(LOADS)}")
    package.__path__ = [folder]
    name = f"{package.__name__}.{path.stem.replace('.', '_')}"
    loader = _AsWritten(name, str(path))
    spec = spec_from_loader(name, loader)
    if spec is None or path.suffix != ".py":
        raise HsdError(f"{path.name!r} is no Python file: its name must end in .py")
    module = module_from_spec(spec)
    sys.modules.update({package.__name__: package, name: module})
    sys.path.insert(0, folder)
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        for loaded in [x for x in sys.modules if x.split(".")[0] == package.__name__]:
            del sys.modules[loaded]
        raise HsdError(f"{path.name} cannot be imported: {in_a_line(error)}") from error
    finally:
        with contextlib.suppress(ValueError):  # the file may have removed it
            sys.path.remove(folder)
    if folder not in sys.path:  # for imports inside functions, behind what is installed
        sys.path.append(folder)
    return module


def texts(
    adapter: Adapter, p: Tensor, q: Tensor, gamma: int, length: int, seeds: list[int]
) -> list[Outcome]:
    """Return the texts of `length` tokens by `generate`, one per seed.

    Raises HsdError if it fails or gives others.
    """
    try:
        answer = adapter.verify(p.clone(), q.clone(), gamma, length, [*seeds])
        outcomes = [tuple(map(int, one)) for one in answer]
    except (Exception, SystemExit) as error:
        what = f"raises {in_a_line(error)}"
    else:
        known = all(0 <= x < len(p) for one in outcomes for x in one)
        if known and [len(one) for one in outcomes] == [length] * len(seeds):
            return outcomes
        wanted = f"return a list of {length} tokens below {len(p)} for each seed"
        what = f"returns {_short(answer)}: {wanted}"
    sent = f"p and q {tuple(p.shape)}, gamma {gamma}, length {length}, {len(seeds)} seeds"
    raise HsdError(f"{adapter.name}: generate {what}; sent {sent}")


def limit_candidates(adapter: Adapter, models: TableModels) -> TableModels:
    """Return the pair, its draft model limited to the adapter's candidates if there is a limit."""
    if not adapter.candidates:
        return models

    def limited(row: Tensor) -> Tensor:
        weights, ids = row.topk(min(adapter.candidates, len(row)))
        kept = torch.zeros_like(row).scatter(0, ids, weights)
        return kept / kept.sum()

    return replace(models, draft={text: limited(row) for text, row in models.draft.items()})


class BlackBox:
    """A verifier with its inputs p, q and tokens fixed by `models` and a list of drafts.

    Each draft has γ tokens. Counts its calls. Raises HsdError, with the arguments in the message,
    if it fails, changes them or returns an invalid text.
    """

    def __init__(self, adapter: Adapter, models: TableModels, drafts: Sequence[Outcome]) -> None:
        self.adapter = adapter
        self.calls = 0
        # p: (B, γ+1, V)
        p = torch.stack([models.rows(models.target, x, models.gamma + 1) for x in drafts])
        q = torch.stack([models.rows(models.draft, x, models.gamma) for x in drafts])
        dtype = getattr(torch, adapter.dtype)
        self._rows = [
            p.to(dtype),
            q.to(dtype),
            torch.tensor(drafts, dtype=torch.int64, device="cpu"),
        ]
        if adapter.candidates:
            weights, ids = q.topk(min(adapter.candidates, models.vocab))
            self._rows[1:2] = [ids, weights.to(dtype)]
        self._drafts = [list(x) for x in drafts]
        self.gamma = models.gamma
        self.vocab = models.vocab

    def ask(self, drafts: Sequence[int], points: Sequence[Point]) -> list[Outcome]:
        """Return the committed tokens for each of `drafts` (indices) at its point.

        A point is γ coins, then the noise.
        """
        if self.adapter.batched and len(drafts) > LARGEST:
            cut = drafts[LARGEST:], points[LARGEST:]
            return [*self.ask(drafts[:LARGEST], points[:LARGEST]), *self.ask(*cut)]
        gamma = self.gamma
        numbers = torch.tensor(points, dtype=self._rows[0].dtype, device="cpu").reshape(
            len(points), -1
        )
        given = [rows[torch.tensor(drafts, dtype=torch.int64, device="cpu")] for rows in self._rows]
        if self.adapter.shared:
            shape = (gamma + 1, self.vocab) if self.adapter.exponential else (gamma + 1,)
            given.append(numbers.reshape(len(points), *shape))
        elif not self.adapter.sampled:
            noise = numbers[:, gamma:] if self.adapter.exponential else numbers[:, gamma]
            given += [numbers[:, :gamma].clone(), noise.clone()]
        copies = [part.clone() for part in given]
        if self.adapter.batched:
            answers = self._call(given, drafts[0], points[0])
            if not isinstance(answers, list | tuple) or len(answers) != len(drafts):
                batch = f"a batch of {len(drafts)}"
                what = f"returns {_short(answers)} for {batch}: return a list of lists"
                raise self._wrong(what, drafts[0], points[0])
        else:
            answers = [
                self._call([part[i] for part in given], x, points[i]) for i, x in enumerate(drafts)
            ]
        for i, draft in enumerate(drafts) if not all(map(torch.equal, given, copies)) else ():
            both = zip(given, copies, strict=True)
            if not all(torch.equal(part[i], copy[i]) for part, copy in both):
                raise self._wrong("changes its arguments: work on copies", draft, points[i])
        return [
            self._checked(one, draft, point)
            for one, draft, point in zip(answers, drafts, points, strict=True)
        ]

    def random_points(
        self, drafts: list[int], generator: torch.Generator
    ) -> tuple[list[int], list[Point]]:
        """Return `drafts` (indices), and a random point for each, as `ask` takes them."""
        width = self.gamma + (self.vocab if self.adapter.exponential else 1)
        numbers = torch.rand(
            len(drafts), width, generator=generator, dtype=torch.float64, device="cpu"
        )
        if self.adapter.exponential:
            numbers[:, self.gamma :] = -torch.log1p(-numbers[:, self.gamma :])
        return drafts, [tuple(point) for point in numbers.tolist()]

    def _call(self, given: list[Tensor], draft: int, point: Point) -> Any:
        self.calls += 1
        try:
            if self.adapter.candidates:
                p, ids, weights, *rest = given
                return self.adapter.verify(p, (ids, weights), *rest)
            return self.adapter.verify(*given)
        except (Exception, SystemExit) as error:
            raise self._wrong(f"raises {in_a_line(error)}", draft, point) from error

    def _checked(self, answer: Any, draft: int, point: Point) -> Outcome:
        drafted = self._drafts[draft]
        if what := fault(answer, drafted, self.vocab):
            raise self._wrong(what, draft, point)
        return tuple(answer.tolist() if isinstance(answer, Tensor) else answer)

    def _wrong(self, what: str, draft: int, point: Point) -> HsdError:
        return HsdError(f"{self.adapter.name}: verify {what}; sent {self.args(draft, point)}")

    def args(self, draft: int, point: Point) -> str:
        """Return the arguments of one call as text, for messages."""
        gamma = len(self._drafts[draft])
        p, q = (tuple(rows.shape[1:]) for rows in self._rows[:2])
        numbers = [float(f"{x:.6g}") for x in point]
        given: dict[str, Any] = {"p": p, "q": q, "tokens": self._drafts[draft]}
        if self.adapter.shared:
            given["noise"] = numbers
        elif not self.adapter.sampled:
            given["uniforms"] = numbers[:gamma]
            given["noise"] = numbers[gamma:] if self.adapter.exponential else numbers[gamma]
        return ", ".join(f"{name} {value}" for name, value in given.items())


def fault(answer: Any, drafted: list[int], vocab: int) -> str:
    """Return what is wrong with an answer of `verify`, in words that follow its name, or "".

    drafted: the tokens that it judged. vocab: how many tokens there are.
    """
    tokens = answer.tolist() if isinstance(answer, Tensor) else answer
    if not isinstance(tokens, list | tuple) or any(
        isinstance(t, bool) or not isinstance(t, int) for t in tokens
    ):
        return f"returns {_short(answer)}: return a list of int"
    if not 1 <= len(tokens) <= len(drafted) + 1:
        wanted = f"return 1 to {len(drafted) + 1}, the kept ones and one more"
        return f"returns {len(tokens)} tokens: {wanted}"
    if list(tokens[:-1]) != drafted[: len(tokens) - 1]:
        return f"returns {list(tokens)}, whose tokens before the last are not the draft's first"
    if not 0 <= tokens[-1] < vocab:
        return f"returns token {tokens[-1]}, and there are {vocab}: 0 to {vocab - 1}"
    return ""


def in_a_line(error: BaseException) -> str:
    """Return class and message of an error that a verifier raised, at most 200 characters."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:200] if words else type(error).__name__


def _short(value: Any) -> str:
    words = " ".join(repr(value).split())
    return words if len(words) <= 60 else f"{words[:57]}..."
