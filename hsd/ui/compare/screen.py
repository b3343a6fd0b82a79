"""The Compare screen's component, and the second run that its free mode asks for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr

from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui.fetch import Fetch, answer
from hsd.ui.pairs import choose
from hsd.ui.request import DEFAULTS, Request, read
from hsd.ui.runner import Runner
from hsd.verify import RULES, TREE_RULES

Values = dict[str, Any]
TEMPLATE = Path(__file__).parent / "compare.html"


@dataclass(frozen=True)
class Compare:
    """What the screen works with. Its component's value is a small message about the second run, as on Watch."""

    space: Space
    runner: Runner
    _serial: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def functions(self) -> list[Callable[[Any], Values]]:
        """The functions that the page's script can call, by these names, with one argument each."""
        fetch = Fetch(self.space, {}, self.runner, None)

        def begin(asked: Any) -> Values:
            return answer(lambda: {"key": self.runner.submit(second_run(self.space, asked)).key})

        def read_run(asked: Any) -> Values:
            return answer(fetch.run, asked)

        def cancel(key: Any) -> Values:
            return answer(lambda: self._cancel(str(key)))

        return [begin, read_run, cancel]

    def _cancel(self, key: str) -> Values:
        self.runner.cancel(key)
        return {}

    def follow(self, key: Any) -> Iterator[Values]:
        """Run what `begin` put into the line; the page is told how many steps there are, and fetches them."""
        try:
            run = self.runner.store.get(str(key))
            for count in self.runner.follow(run):
                yield self._message(key=run.key, count=count)
            yield self._message(key=run.key, count=len(run.steps))
        except HsdError as error:
            yield self._message(key=str(key), alert=str(error))

    def _message(self, **content: Any) -> Values:
        return {"serial": next(self._serial), **content}

    def build(self) -> gr.HTML:
        """The component in which the screen draws, in the current Gradio context, and its one event."""
        stage = gr.HTML(
            value={"serial": 0},
            html_template=TEMPLATE.read_text(encoding="utf-8"),
            js_on_load="window.hsdCompare.start(element, props, server, watch, () => trigger('submit'))",
            server_functions=self.functions(),
            apply_default_css=False,
            elem_id="hsd-compare",
            rules=rule_facts(),
        )
        stage.submit(
            self.follow,
            stage,
            stage,
            js="() => window.hsdCompare.ticket()",
            show_progress="hidden",
            api_visibility="private",
            concurrency_id="model",
            concurrency_limit=1,
        )
        return stage


def rule_facts() -> Values:
    """Title and lossless mark of every rule, by name, for the heads of the rows."""
    chains = {name: {"title": rule.title, "lossless": rule.lossless} for name, rule in RULES.items()}
    return chains | {name: {"title": rule.title, "lossless": rule.lossless} for name, rule in TREE_RULES.items()}


def second_run(space: Space, asked: Any) -> Request:
    """The run that the page asks for: values named as in a link. Raises HsdError, one line, for anything else."""
    if not isinstance(asked, dict):
        raise HsdError("the page asked for a run in a way that is not understood: reload it")
    values = {name: value for name, value in asked.items() if name in DEFAULTS}
    own = [str(values.get(name) or "") for name in ("target", "draft")]
    try:
        choose(space, str(values.get("pair") or space.pairs[0].name), *own)
    except HsdError as error:
        raise HsdError(f"Free needs a second run, which cannot be made here ({error}); Paired needs none") from None
    return read(space, values)
