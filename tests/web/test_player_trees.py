"""The player on draft trees, and both sides of a run: what it shows equals the trace, and can be
worked out by hand.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest
from loops import some
from player_page import Stage, step_where, word_trace

from hsd.decoding.record import Recorder
from hsd.decoding.rounds import Round

TREES = [
    {"rule": "hsd"},
    {"rule": "tokenwise", "shadow": "hsd"},
    {"rule": "blockwise", "tree": "comb"},
    {"rule": "hsd", "tree": "comb", "shadow": "traversal"},
    {"rule": "traversal", "shadow": "top-down"},
    {"rule": "traversal", "tree": "comb"},
    {"rule": "traversal", "tree": "distinct"},
    {"rule": "top-down", "tree": "distinct", "shadow": "traversal"},
    {"rule": "top-down", "tree": "comb", "shadow": "hsd"},
    {"rule": "one-hot"},
    {"rule": "one-hot", "tree": "top"},
    {"rule": "one-hot", "tree": "distinct"},
]


CHAINS = [
    {"rule": "hsd"},
    {"rule": "tokenwise", "shadow": "hsd"},
    {"rule": "blockwise", "shadow": "hsd-released"},
]


PATH = "{http://www.w3.org/2000/svg}path"
WORDS = """() => {
  const stage = document.getElementById("one").cloneNode(true);
  // where a tree is a chain, these lists are of every rule
  for (const list of stage.querySelectorAll(".hp-more-rules")) list.remove();
  return stage.textContent;
}"""
A_THIRD_AND_SLOWLY_ALL = some(TREES, 3)


def named(options: dict) -> str:
    return " ".join(str(value) for value in options.values())


def trie(**options: object) -> dict:
    return word_trace(**({"drafts": 4, "max_new_tokens": 36} | options))


def walk(stage: Stage, trace: dict) -> Iterator[tuple[int, dict]]:
    """Load a trace and stand at each of its steps in turn."""
    stage.load(trace)
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        yield i, step


FRACTIONS = """(list) => list.map((test) => {
  const copy = test.querySelector(".hp-numbers").cloneNode(true);
  for (const unseen of copy.querySelectorAll(".hp-unseen")) unseen.remove();
  const part = (f, i) => `(${f.children[i].textContent})`;
  for (const f of copy.querySelectorAll(".hp-frac")) f.replaceWith(`(${part(f, 0)}/${part(f, 1)})`);
  return [test.querySelector(".hp-formula").dataset.form, copy.textContent];
})"""
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def by_hand(shown: str) -> float:
    """What a reader gets who types the numbers of a formula into a calculator."""
    # ≈ where the digits do not give it
    worked = re.split(" [=≈] ", shown.strip().removeprefix("="))[0].strip()
    if worked.startswith("0/0"):
        return 1.0
    worked = re.sub("·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"e{m[1].translate(RAISED)}", worked)
    worked = worked.replace("−", "-").replace("·", "*")
    assert re.fullmatch(r"(?:min|[\d.e+\-*/(), ])+", worked), worked
    return eval(worked, {"__builtins__": {}, "min": lambda a, b: min(a, b)})


@pytest.mark.parametrize("options", A_THIRD_AND_SLOWLY_ALL, ids=named)
@pytest.mark.recorded
def test_a_reader_can_work_out_every_threshold_of_a_tree_by_hand(
    stage: Stage, options: dict
) -> None:
    worked = 0
    for _, step in walk(stage, trie(**options)):
        for selector, judged in ((".is-own", step["verdict"]), (".is-shadow", step["shadow"])):
            if not judged:
                continue
            if selector == ".is-shadow" and not stage.page.locator(".hp-panel.is-shadow").count():
                continue
            for more in stage.page.locator(f".hp-panel{selector} .hp-moretests button").all():
                more.click()
            formulas = stage.page.eval_on_selector_all(f".hp-panel{selector} .hp-test", FRACTIONS)
            assert len(formulas) == len(judged["decisions"])
            for (form, shown), test in zip(formulas, judged["decisions"], strict=True):
                assert form == test["grounds"]["form"]
                assert by_hand(shown) == pytest.approx(test["threshold"], rel=1e-3, abs=1e-12), (
                    shown,
                    test,
                )
                worked += 1
    assert worked > 20
    assert stage.page.locator(".hp-warn").count() == 0


@pytest.mark.core
@pytest.mark.recorded
def test_a_changed_p_is_marked_and_stands_in_the_change_before(stage: Stage) -> None:
    marked = 0
    for _, step in walk(
        stage, trie(rule="traversal", tree="comb", shadow="hsd", max_new_tokens=60)
    ):
        if not step["nodes"]:
            continue
        letters = stage.each(
            ".hp-panel.is-own .hp-test", "e.querySelector('.hp-letters').textContent"
        )
        for i, (shown, test) in enumerate(zip(letters, step["verdict"]["decisions"], strict=False)):
            node = step["nodes"][test["node"] - 1]
            grounds = test["grounds"]
            if len(step["verdict"]["decisions"]) > 24 or grounds["form"] != "capped":
                continue
            changed = abs(grounds["p"] - node["p"]) > 1e-6 * node["p"]
            assert ("p′" in shown) == changed, (shown, grounds, node)
            marked += changed
            before = [
                c
                for c in step["verdict"]["changes"]
                if c["node"] == node["parent"] and c["after"] <= i
            ]
            assert not changed or grounds["p"] in [
                pytest.approx(o["probability"])
                for c in before
                for o in c["top"]
                if o["token"] == node["token"]
            ]
    assert marked > 2


@pytest.mark.parametrize("options", A_THIRD_AND_SLOWLY_ALL, ids=named)
@pytest.mark.recorded
def test_every_change_is_told_between_its_tests(stage: Stage, options: dict) -> None:
    told = 0
    for _, step in walk(stage, trie(**options)):
        if len(step["verdict"]["decisions"]) > 24:
            continue
        order = stage.each(
            ".hp-panel.is-own .hp-tests > li",
            "e.matches('.hp-test') ? 'test' : [+e.dataset.after, +e.dataset.node]",
        )
        expected: list = []
        for i in range(len(step["verdict"]["decisions"])):
            expected.append("test")
            expected += [
                [c["after"], c["node"]] for c in step["verdict"]["changes"] if c["after"] == i + 1
            ]
        assert order == expected
        notes = stage.each(
            ".hp-panel.is-own .hp-change", "(e.querySelector('strong') || e).textContent"
        )
        for words, change in zip(notes, step["verdict"]["changes"], strict=True):
            told += 1
            if change["mass"] == 0:
                assert "no mass" in words
                continue
            strong = re.search(
                r"max\((?:([\d.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)·)?p′? − q′?, 0\) / ([\d.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", words
            )
            if options["rule"] == "one-hot":
                assert "is struck out of p" in words
            else:
                number = [
                    re.sub("·10(.+)", lambda m: f"e{m[1].translate(RAISED)}", x or "1")
                    for x in strong.groups()
                ]
                assert float(number[0]) == pytest.approx(change["weight"], rel=1e-3)
                assert float(number[1].rstrip(".")) == pytest.approx(change["mass"], rel=1e-3)
    assert told > 2


@pytest.mark.recorded
def test_outcomes_of_a_change_unfold(stage: Stage) -> None:
    trace = trie(rule="top-down", max_new_tokens=60)
    index = step_where(trace, lambda s: len(s["verdict"]["changes"]) > 1)
    stage.load(trace, index)
    details = stage.page.locator(".hp-panel.is-own .hp-change details").nth(1)
    details.locator("summary").click()
    details.locator("table").wait_for()
    change = trace["steps"][index]["verdict"]["changes"][1]
    assert details.locator("tbody tr").count() == len(change["top"])
    assert f"{len(change['top'])} of " in details.inner_text()
    assert stage.state()["node"] == trace["steps"][index]["verdict"]["residual"]["node"], (
        "unfolding selects nothing"
    )


@pytest.mark.recorded
def test_every_test_of_a_shared_token_is_in_the_tree_and_the_list(stage: Stage) -> None:
    trace = trie(temperature=0.45, shadow="top-down", max_new_tokens=60)
    shared = 0
    for _, step in walk(stage, trace):
        if not step["nodes"]:
            continue
        for judged, key in ((step["verdict"], "recursive-hsd"), (step["shadow"], "top-down")):
            at: dict[int, list[int]] = {}
            for order, test in enumerate(judged["decisions"], start=1):
                at.setdefault(test["node"], []).append(order)
            shared += sum(len(orders) > 1 for orders in at.values())
            shown = stage.each(
                f'.hp-badge[data-badge="{key}"][data-order]', "Number(e.dataset.order)"
            )
            wanted: list[int] = []
            for orders in at.values():
                wanted += orders if len(orders) <= 4 else orders[:3]
            assert sorted(shown) == sorted(wanted)
            panel = "is-own" if judged is step["verdict"] else "is-shadow"
            listed = stage.each(
                f".hp-panel.{panel} .hp-test",
                "[+e.dataset.node, e.querySelector('.hp-sides').title]",
            )
            if len(judged["decisions"]) > 24:
                continue
            assert [node for node, _ in listed] == [d["node"] for d in judged["decisions"]]
            assert [float(title.split()[1].rstrip(",")) for _, title in listed] == [
                d["coin"] for d in judged["decisions"]
            ]
    assert shared > 2


@pytest.mark.parametrize("options", A_THIRD_AND_SLOWLY_ALL, ids=named)
@pytest.mark.recorded
def test_trees_are_drawn_without_overlap(stage: Stage, options: dict) -> None:
    edges = "((b) => [b.left, b.top, b.right, b.bottom])(e.getBoundingClientRect())"
    for _, step in walk(stage, trie(max_new_tokens=24, **options)):
        if not step["nodes"]:
            continue
        assert stage.page.locator(".hp-node.is-draft").count() == min(len(step["nodes"]), 60)
        assert stage.page.locator(".hp-edge").count() == stage.page.locator(".hp-node").count() - 1
        assert stage.page.locator(".hp-node.is-draft.is-kept").count() == step["kept"]
        boxes = sorted(stage.each(".hp-node, .hp-badge", edges))
        for i, a in enumerate(boxes):
            for b in boxes[i + 1 :]:
                if b[0] >= a[2]:
                    break
                assert a[1] >= b[3] - 0.5 or b[1] >= a[3] - 0.5
        kept = stage.each(".hp-node:is(.is-kept, .is-correction, .is-bonus)", f"({edges})[1]")
        assert max(kept) - min(kept) < 1, "what the text gains stands on the top row"


def true_paths(
    monkeypatch: pytest.MonkeyPatch, **options: object
) -> tuple[dict, list[list[tuple[int, ...]]]]:
    """A run, and the drafts of each of its steps as the tree was drafted."""
    drafted: list[list[tuple[int, ...]]] = []
    details = Recorder.details

    def noted(self: Recorder, played: Round) -> dict:
        drafted.append([tuple(path.nodes) for path in played.draft.paths])
        return details(self, played)

    monkeypatch.setattr(Recorder, "details", noted)
    return trie(**options), drafted


@pytest.mark.parametrize("tree", ["paths", "comb", "distinct", "top"])
@pytest.mark.parametrize("temperature", [0.4, 1.0])
def test_rows_name_the_drafts_that_end_in_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tree: str, temperature: float
) -> None:
    rule = "one-hot" if tree == "top" else "top-down" if tree == "distinct" else "hsd"
    ends = frozenset({24})
    trace, drafted = true_paths(
        monkeypatch, tree=tree, rule=rule, temperature=temperature, ends=ends, gamma=4
    )
    names = stage.page.evaluate(
        """t => t.steps.map((_, i) => {
          const view = hsdPlayer.model.readStep(t, i);
          const {ends, through} = hsdPlayer.drafts;
          return ends(view).map((leaf) => [leaf, through(view, leaf)]);
        })""",
        trace,
    )
    assert sum(map(len, names)) > 10 or tree == "comb"
    for step, paths in zip(names, drafted, strict=True):
        assert {leaf for leaf, _ in step} == {path[-1] for path in paths if path}
        for leaf, name in step:
            here = [i for i, path in enumerate(paths, start=1) if leaf in path]
            if len(paths) > 8:  # "draft 13" would help nobody
                assert name == ""
            elif name.startswith("all"):
                assert len(here) == len(paths)
            elif name.endswith(" drafts"):
                assert name == f"{len(here)} drafts"
            else:
                assert [int(n) for n in re.findall(r"\d+", name)] == here


@pytest.mark.parametrize("options", A_THIRD_AND_SLOWLY_ALL, ids=named)
def test_vanilla_is_named_only_where_it_takes_part(stage: Stage, options: dict) -> None:
    trace = trie(max_new_tokens=24, **options)
    rules = {options["rule"], trace["steps"][0]["shadow"]["rule"]}
    part = rules & {"tokenwise", "recursive-tokenwise"}
    for _, step in walk(stage, trace):
        words = stage.page.evaluate(WORDS).lower()
        assert part or "vanilla" not in words
        assert part or "token-wise" not in words
        assert not re.search(r"undefined|\bnan\b|null|\[object", words)
        if step["nodes"]:
            deepest = max(len(path_to(step, node["id"])) for node in step["nodes"])
            assert stage.text(".hp-lead").startswith(f"Kept {step['kept']} of at most {deepest} (")
            assert f"{step['drafted']} token" in stage.text(".hp-lead")


def path_to(step: dict, node: int) -> list[int]:
    path = []
    while node:
        path.append(node)
        node = step["nodes"][node - 1]["parent"]
    return path[::-1]


@pytest.mark.recorded
def test_a_tree_tells_which_draft_was_kept_and_why(stage: Stage) -> None:
    seen = set()
    for _, step in walk(stage, trie(table_seed=1)):
        if not step["nodes"]:
            continue
        words = stage.text(".hp-detail")
        tests = step["verdict"]["decisions"]
        tried = len({d["draft"] for d in tests})
        one = tried == 1
        assert (
            "HSD takes the " if one else f"HSD takes {tried} drafts, each as a whole first; "
        ) in words
        passed = [d for d in tests if d["accepted"]]
        if not passed:
            assert ("nothing of it passes" if one else "nothing passes, and it keeps none") in words
        elif passed[-1]["test"] == "draft":
            which = f"draft {passed[-1]['draft'] + 1}"
            assert ("as a whole, which passes" if one else f"{which} passes as a whole") in words
        else:
            assert (
                "its first " if one else f"of draft {passed[-1]['draft'] + 1} the first "
            ) in words
        seen.add((bool(passed), passed[-1]["test"] if passed else ""))
    assert len(seen) == 3


@pytest.mark.recorded
def test_mass_bars_follow_the_path_through_the_selected_token(stage: Stage) -> None:
    trace = trie()
    index = step_where(trace, lambda s: len(s["nodes"]) > 15)
    stage.load(trace, index)
    step = trace["steps"][index]
    for node in step["nodes"]:
        stage.page.evaluate("node => player.select({node})", node["id"])
        branches = stage.each(".hp-masspair", "Number(e.dataset.branch)")
        inner = {b["node"] for b in step["branches"]}
        assert branches[: len(path_to(step, node["id"])) + 1][-1] in (node["id"], node["parent"])
        for above, below in itertools.pairwise(branches):
            assert step["nodes"][below - 1]["parent"] == above
        assert set(branches) <= inner
        assert stage.page.locator(".hp-masspair.is-active").count() == (node["id"] in inner)
        names = stage.each(".hp-masspair > small", "e.textContent")
        assert all(re.match(r"c [\d.<>]+, after ", name) for name in names)


@pytest.mark.recorded
def test_the_masses_after_a_token_stand_in_its_own_column_of_the_tree(stage: Stage) -> None:
    trace = trie()
    stage.load(trace, step_where(trace, lambda s: s["kept"] > 1))
    column = "getComputedStyle(e).gridColumnStart"
    cells = stage.each(
        ".hp-treecell:has([data-node])", f"[e.querySelector('[data-node]').dataset.node, {column}]"
    )
    masses = dict(
        stage.each(".hp-masspair:not([data-branch='0'])", f"[e.dataset.branch, {column}]")
    )
    assert masses
    assert masses.items() <= dict(cells).items()


@pytest.mark.recorded
def test_a_large_tree_says_what_it_leaves_out(stage: Stage) -> None:
    trace = word_trace(rule="traversal", drafts=24, gamma=6, max_new_tokens=20, temperature=1.3)
    index = step_where(trace, lambda s: len(s["nodes"]) > 80)
    stage.load(trace, index)
    step = trace["steps"][index]
    drawn = set(stage.each(".hp-node.is-draft", "Number(e.dataset.node)"))
    said = stage.text(".hp-left-out")
    assert f"{len(drawn)} of {len(step['nodes'])} drafted tokens are drawn" in said
    if step["kept"]:
        assert set(path_to(step, step["verdict"]["decisions"][-1]["node"])) <= drawn
    mass = 0.0
    for node in step["nodes"]:
        if node["id"] not in drawn and (node["parent"] == 0 or node["parent"] in drawn):
            product = 1.0
            for i in path_to(step, node["id"]):
                product *= step["nodes"][i - 1]["p"]
            mass += product
    shown = re.search(r"with probability ([\d.<]+) %", said)[1]
    assert float(shown.strip("<")) == pytest.approx(100 * mass, rel=0.06, abs=0.1)
    hidden = next(n["id"] for n in step["nodes"] if n["id"] not in drawn)
    stage.page.evaluate("node => player.select({node})", hidden)
    assert stage.page.locator(f'.hp-node[data-node="{hidden}"]').count() == 1, (
        "a selected token is always drawn"
    )
    rows = stage.page.locator(".hp-numbers-table tbody tr[data-node]")
    assert rows.count() <= 61
    stage.page.click(".hp-numbers-table .hp-more")
    assert rows.count() == len(step["nodes"])


@pytest.mark.recorded
def test_hidden_next_tokens_of_the_selected_branch_add_up(stage: Stage) -> None:
    trace = trie()
    for _, step in walk(stage, trace):
        said = re.search(
            r": (\d+) of (\d+) possible .* hold (.+?) % of p and (.+?) % of q",
            stage.text(".hp-left-out"),
        )
        branch = next((b for b in step["branches"] if b["node"] == stage.state()["node"]), None)
        if not said or not branch:
            continue
        keys = stage.each(".hp-node", "e.dataset.key")
        drafted = {n["token"] for n in step["nodes"] if n["parent"] == branch["node"]}
        shown = [
            t
            for t in branch["top"]
            if t["token"] in drafted or f"c{branch['node']}-{t['token']}" in keys
        ]
        if step["verdict"]["residual"]["node"] == branch["node"]:
            last = step["committed"][-1]["token"]
            shown += [t for t in branch["top"] if t["token"] == last and t not in shown]
        assert int(said[1]) == len(shown)
        assert float(said[3].strip("<")) == pytest.approx(
            100 * (1 - sum(t["p"] for t in shown)), abs=0.6
        )
        assert float(said[4].strip("<")) == pytest.approx(
            100 * (1 - sum(t["q"] for t in shown)), abs=0.6
        )


@pytest.mark.recorded
def test_the_ledger_names_the_tests_that_changed_its_target(stage: Stage) -> None:
    seen = 0
    for _, step in walk(stage, trie(rule="traversal", tree="comb")):
        for node in {c["node"] for c in step["verdict"]["changes"]}:
            stage.page.evaluate("node => player.select({node})", node)
            after = [c["after"] for c in step["verdict"]["changes"] if c["node"] == node]
            said = re.search(r"its target changed after ([^.]*)\.", stage.text(".hp-ledger"))
            assert said, "the tests themselves say what they changed"
            assert [int(n) for n in re.findall(r"\d+", said[1])] == after
            seen += 1
        if not step["verdict"]["changes"]:
            assert "changed after" not in stage.text(".hp-ledger")
    assert seen > 5


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.0},
        {"temperature": 0.0, "rule": "traversal"},
        {"temperature": 0.0, "rule": "traversal", "tree": "distinct"},
        {"temperature": 0.0, "rule": "one-hot", "tree": "top"},
        {"gamma": 1, "drafts": 2},
        {"ends": frozenset({24, 26}), "gamma": 6},
        {"ends": frozenset({24, 26}), "rule": "traversal", "tree": "comb"},
        {"max_new_tokens": 1},
        {"trace": False},
        {"drafts": 12, "rule": "one-hot", "tree": "top"},
    ],
    ids=named,
)
def test_unusual_trees_are_shown(stage: Stage, options: dict) -> None:
    trace = trie(**({"max_new_tokens": 30} | options))
    for i, step in walk(stage, trace):
        assert stage.state()["kept"] == step["kept"]
        assert stage.page.locator(".hp-node.is-draft.is-kept").count() == (
            step["kept"] if step["nodes"] else 0
        )
        for node in step["nodes"][:: max(1, len(step["nodes"]) // 4)]:
            stage.page.evaluate("([step, node]) => player.select({step, node})", [i, node["id"]])
        words = stage.page.evaluate("document.getElementById('one').textContent")
        assert not re.search(r"undefined|NaN|null|\[object", words)


@pytest.mark.parametrize("options", [TREES[0], TREES[5], TREES[10]], ids=named)
def test_trees_can_be_taken_along(stage: Stage, options: dict) -> None:
    trace = trie(**options)
    stage.load(trace, step_where(trace, lambda s: len(s["nodes"]) > 8))
    text = stage.page.evaluate("hsdPlayer.files.make('csv', player.trace(), {}, player)")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row, step in zip(rows, trace["steps"], strict=True):
        assert [int(n) for n in row["draft_parents"].split()] == [
            n["parent"] for n in step["nodes"]
        ]
        for name in ("decisions", "changes"):
            entries = row[name].count(";") + bool(row[name])
            assert entries == len(step["verdict"][name])
    picture = stage.page.evaluate("hsdPlayer.picture.svgText(document.querySelector('.hp-tree'))")
    assert picture.count("<path ") == stage.page.locator(".hp-edge").count(), "its lines are in it"
    assert not re.search(r"var\(|color\(|NaN|undefined|vector-effect|<svg[^<]*<svg", picture)
    points = [
        list(map(float, re.findall(r"[\d.]+", path.attrib["d"])))
        for path in ET.fromstring(picture).iter(PATH)
    ]
    assert all(max(numbers) > 40 and numbers[0] < numbers[-2] for numbers in points), (
        "in pixels, from left to right"
    )
    report = stage.page.evaluate("hsdPlayer.files.make('txt', player.trace(), {}, player)")
    assert report.count("\n- ") >= sum(len(s["verdict"]["decisions"]) for s in trace["steps"])
    assert "4 drafts" in report


@pytest.mark.parametrize("options", [TREES[0], TREES[5]], ids=named)
def test_a_tree_on_a_phone_scrolls_in_its_card(chromium, options: dict) -> None:
    stage = Stage(chromium, width=390)
    for _ in walk(stage, trie(max_new_tokens=30, **options)):
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= 390
    stage.go(0)
    assert stage.page.eval_on_selector(".hp-treebox", "e => e.scrollWidth > e.clientWidth")
    stage.close()


@pytest.mark.recorded
def test_a_naive_shadow_says_that_it_ends_with_its_first_correction(stage: Stage) -> None:
    trace = word_trace(shadow="naive-hsd")
    index = step_where(trace, lambda s: s["shadow"]["kept"] < s["drafted"])
    stage.load(trace, index)
    assert "Naive HSD would then draw the rest of the block anew" in stage.text(".hp-detail")
    assert "naive HSD would have kept" in stage.text(".hp-lead")
    assert stage.page.locator(".hp-warn").count() == 0


@pytest.mark.parametrize("rule", ["top-down", "traversal"])
@pytest.mark.recorded
def test_q_without_the_rejected_tokens_is_what_the_next_test_uses(stage: Stage, rule: str) -> None:
    followed = 0
    for _, step in walk(
        stage, trie(rule=rule, tree="distinct", gamma=1, max_new_tokens=40, table_seed=3)
    ):
        notes = stage.page.locator(".hp-panel.is-own .hp-change")
        for i, change in enumerate(step["verdict"]["changes"]):
            found = re.search(r"first q / \(1 − ([\d.]+)\)", notes.nth(i).text_content())
            later = [
                d
                for d in step["verdict"]["decisions"][change["after"] :]
                if d["grounds"]["form"] in ("token", "capped")
            ]
            parents = [step["nodes"][d["node"] - 1]["parent"] for d in later]
            beside = [
                d for d, parent in zip(later, parents, strict=True) if parent == change["node"]
            ]
            assert found or not beside
            for test in beside[:1]:
                expected = step["nodes"][test["node"] - 1]["q"] / (1 - float(found[1]))
                assert expected == pytest.approx(test["grounds"]["q"], rel=2e-3)
                followed += 1
    assert followed > 3
