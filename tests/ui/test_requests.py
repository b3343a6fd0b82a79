"""What a visitor may ask for, how runs wait, stream and end, and what is kept of them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import gradio as gr
import pytest

import hsd
from hsd import HsdError, space
from hsd.paths import ASSETS
from hsd.ui import form, jobs, machine, pairs, presets, runs
from hsd.ui.controls import MATCHING, NAMES, enabled, fit
from hsd.ui.jobs import Jobs
from hsd.ui.request import read
from hsd.ui.runs import Run, trace
from hsd.ui.watch import Watch

SPACE = space.load()
needs_pair = pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")


def request(**values: object):
    return read(SPACE, {"prompt": "Once upon a time", **values})


@pytest.mark.parametrize(
    ("changed", "before", "after"),
    [
        # rule, compared with, drafts, tree: what fits is left alone
        ("drafts", ("hsd", "", 4, "paths"), ("hsd", "", 4, "paths")),
        ("rule", ("naive-hsd", "hsd", 1, "paths"), ("naive-hsd", "hsd", 1, "paths")),
        # a rule for trees brings drafts, and a tree that it fits
        ("rule", ("traversal", "", 1, "paths"), ("traversal", "", 4, "paths")),
        ("rule", ("hsd", "", 4, "top"), ("hsd", "", 4, "paths")),
        # a rule for single drafts takes them away
        ("rule", ("naive-hsd", "traversal", 4, "comb"), ("naive-hsd", "", 1, "comb")),
        # a tree brings drafts, and a rule that fits it
        ("tree", ("hsd", "", 1, "top"), ("one-hot", "", 4, "top")),
        ("tree", ("naive-hsd", "top-down", 4, "distinct"), ("traversal", "top-down", 4, "distinct")),
        ("tree", ("one-hot", "traversal", 4, "top"), ("one-hot", "", 4, "top")),
        # one draft needs a rule for one
        ("drafts", ("traversal", "top-down", 1, "distinct"), ("hsd", "", 1, "distinct")),
        ("drafts", ("hsd-released", "hsd", 3, "paths"), ("hsd", "hsd", 3, "paths")),
    ],
)
def test_controls_that_do_not_fit_each_other_give_way_to_the_one_that_was_set(changed, before, after):
    assert fit(changed, *before, "model") == (*after, "model")
    request(**dict(zip(MATCHING, fit(changed, *before, "model"), strict=True)))


@pytest.mark.parametrize(
    ("changed", "before", "after"),
    [
        # the text has one continuation to copy, and a rule for trees has no place there
        ("proposer", ("hsd", "blockwise", 1, "paths", "ngram"), ("hsd", "blockwise", 1, "paths", "ngram")),
        ("proposer", ("hsd", "top-down", 4, "paths", "ngram"), ("hsd", "", 1, "paths", "ngram")),
        ("proposer", ("traversal", "", 4, "distinct", "ngram"), ("hsd", "", 1, "distinct", "ngram")),
        ("proposer", ("traversal", "", 4, "distinct", "model"), ("traversal", "", 4, "distinct", "model")),
        # what needs several drafts brings the draft model back
        ("rule", ("traversal", "", 1, "paths", "ngram"), ("traversal", "", 4, "paths", "model")),
        ("rule", ("naive-hsd", "", 1, "paths", "ngram"), ("naive-hsd", "", 1, "paths", "ngram")),
        ("drafts", ("hsd", "", 3, "paths", "ngram"), ("hsd", "", 3, "paths", "model")),
        ("tree", ("hsd", "", 1, "top", "ngram"), ("one-hot", "", 4, "top", "model")),
    ],
)
def test_n_grams_make_one_draft_and_what_needs_several_takes_the_draft_model(changed, before, after):
    assert fit(changed, *before) == after
    request(**dict(zip(MATCHING, after, strict=True)))


@pytest.mark.parametrize(
    ("system", "proposer", "off"),
    [
        ("speculative", "model", set()),
        ("speculative", "ngram", {"drafts", "tree"}),
        ("plain", "ngram", {"rule", "gamma", "shadow", "proposer", "drafts", "tree"}),
    ],
)
def test_controls_that_mean_nothing_are_off(system, proposer, off):
    assert {name for name, on in enabled(system, proposer).items() if not on} == off


def test_a_link_says_where_drafts_come_from_only_if_it_is_not_a_model():
    assert "proposer" not in request().query()
    asked = request(proposer="ngram")
    assert asked.query()["proposer"] == "ngram"
    assert read(SPACE, asked.query()) == asked


def test_a_link_names_what_makes_a_tree_and_leaves_out_what_does_not():
    tree = request(rule="traversal", drafts=3, tree="distinct", shadow="top-down")
    assert read(SPACE, tree.query()).options == tree.options
    assert {"drafts": "3", "tree": "distinct", "shadow": "top-down"}.items() <= tree.query().items()
    assert not {"drafts", "tree", "shadow", "system"} & set(request().query())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"drafts": "0"}, "drafts 0: choose a whole number from 1 to 16"),
        ({"drafts": "many"}, "drafts many: choose a whole number from 1 to 16"),
        ({"drafts": 2, "tree": "oak"}, "unknown tree 'oak'"),
        ({"shadow": "x"}, "unknown rule 'x'"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": None}, "the prompt is empty"),
        ({"prompt": "x" * 100_000}, "the prompt has 100,000 characters, at most 4,000"),
        ({"gamma": "0"}, "draft length γ 0: choose a whole number from 1 to 32"),
        ({"gamma": 33}, "draft length γ 33"),
        ({"gamma": "abc"}, "draft length γ abc: choose a whole number from 1 to 32"),
        ({"gamma": 2.5}, "draft length γ 2.5: choose a whole number"),
        ({"temperature": "-1"}, "temperature"),
        ({"temperature": "nan"}, "temperature nan: give a number"),
        ({"temperature": "inf"}, "temperature inf: give a number"),
        ({"top_p": 0}, "top"),
        ({"top_p": "2"}, "top"),
        ({"top_k": "-1"}, "top"),
        ({"length": "0"}, "length 0"),
        ({"length": 1_000_000}, "length 1000000: choose a whole number from 1 to 256"),
        ({"seed": None}, "seed is empty: give a whole number"),
        ({"seed": "1e400"}, "seed 1e400: give a whole number"),
        ({"rule": "nonsense"}, "unknown rule 'nonsense'"),
        ({"system": "nonsense"}, "unknown system 'nonsense'"),
        ({"proposer": "nonsense"}, "unknown proposer 'nonsense'"),
        ({"proposer": "ngram", "drafts": 2}, "proposer ngram has one continuation to copy: choose drafts 1"),
        ({"pair": "nonsense"}, "unknown pair 'nonsense': choose tiny"),
        ({"target": "somewhere"}, "both a target and a draft"),
        ({"thresholds": "3, many"}, "threshold many: choose a whole number from 1 to 32"),
        ({"thresholds": [3, ""]}, "threshold is empty: choose a whole number"),
        ({"thresholds": [3, True]}, "threshold True: choose a whole number"),
        ({"thresholds": {"a": 1}}, "thresholds \"{'a': 1}\": give numbers separated by commas, such as 3, 5"),
        ({"thresholds": "0"}, "threshold 0: choose a whole number from 1 to 32"),
        ({"thresholds": "3, 33"}, "threshold 33: choose a whole number from 1 to 32"),
        ({"thresholds": "1 2 3 4 5 6 7 8 9"}, "9 thresholds: give at most 8"),
        ({"stack": "0, 1.5"}, "place 1.5: choose a whole number"),
        ({"stack": "0_0_2", "system": "stack"}, "model 0 is in the stack twice"),
        ({"exits": "1, 2, 3", "system": "hispec"}, "exits 1, 2, 3: give two"),
        ({"level_rules": "hsd, nonsense"}, "unknown rule 'nonsense'"),
        ({"level_rules": ["fuzzy"]}, "rule fuzzy cannot verify below the target"),
        ({"level_rules": [3]}, "level rules '[3]': give names"),
        ({"tolerance": "much"}, "tolerance much: give a number, such as 0.3"),
        ({"tolerance": "inf"}, "tolerance inf: give a number"),
        ({"divergence": "x"}, "unknown divergence 'x'"),
        ({"fuzzy_mode": "x"}, "unknown fuzzy_mode 'x'"),
        ({"divergence_on": "x"}, "unknown divergence_on 'x'"),
    ],
)
def test_a_bad_request_is_refused_with_one_line(values, words):
    with pytest.raises(HsdError) as caught:
        request(**values)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_request_survives_the_way_through_its_link():
    asked = request(gamma=7, temperature=0.35, seed=-(10**18), top_k=4, rule="blockwise", system="plain", length=9)
    assert read(SPACE, asked.query()) == asked


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"system": "stack", "stack": "0, 1 2", "thresholds": [3, "5"], "level_rules": "tokenwise"},
            {"system": "stack", "stack": "0_1_2", "thresholds": "3_5", "level_rules": "tokenwise"},
        ),
        ({"system": "hispec", "exits": "2,4"}, {"system": "hispec", "exits": "2_4"}),
        (
            {"rule": "fuzzy", "divergence": "js", "tolerance": "0.123456789", "divergence_on": "raw"},
            {"divergence": "js", "tolerance": "0.123456789", "divergence_on": "raw"},
        ),
        ({"rule": "fuzzy", "fuzzy_mode": "divergence-only"}, {"fuzzy_mode": "divergence-only"}),
        ({"stack": "", "exits": [], "thresholds": " , ", "level_rules": ()}, {}),
    ],
)
def test_a_link_names_what_makes_levels_and_a_fuzzy_rule_where_it_differs(values, said):
    asked, plain = request(**values), request()
    assert read(SPACE, asked.query()) == asked
    differs = {key: value for key, value in asked.query().items() if plain.query().get(key) != value}
    assert {key: value for key, value in differs.items() if key != "rule"} == said


def test_lists_are_read_from_texts_and_from_lists():
    options = request(system="stack", stack=[0, 1.0, "2"], thresholds="3_5", level_rules="hsd").options
    assert (options.stack, options.thresholds, options.level_rules) == ((0, 1, 2), (3, 5), ("hsd",))


def test_a_request_for_own_models_survives_the_way_through_its_link():
    asked = request(target="a/target", draft="a/draft")
    assert (asked.pair.target, asked.pair.draft) == ("a/target", "a/draft")
    assert read(SPACE, asked.query()) == asked


def test_a_control_shows_the_default_where_a_link_has_no_number():
    fields = {field.name: field for field in form.RUN}
    assert fields["gamma"].from_link("abc", SPACE) == fields["gamma"].default == 5
    assert fields["gamma"].from_link("7", SPACE) == 7
    assert fields["prompt"].from_link("abc", SPACE) == "abc"
    assert fields["rule"].from_link("nobody", SPACE) == "hsd"


def test_gamma_is_the_pairs_own_where_it_is_left_out(monkeypatch):
    monkeypatch.setattr(form, "draft_length", lambda pair: {"tiny": 2}.get(pair, 5))
    assert request().options.gamma == 2
    assert request(gamma="4").options.gamma == 4
    assert request(target="a/target", draft="a/draft").options.gamma == 5


def left_alone(watch: Watch, **query: str) -> set[str]:
    """The controls that opening a link does not touch."""
    updates = watch.open_link(SimpleNamespace(query_params=query))
    return {name for name, update in zip(NAMES, updates, strict=False) if update == gr.skip()}


def test_opening_the_page_touches_only_what_differs_from_what_it_was_built_with(monkeypatch):
    """A visitor may have typed by then."""
    watch = Watch(SPACE, presets.definitions(), Jobs(SPACE.limits))
    assert left_alone(watch) == set(NAMES)
    assert {"prompt", "seed"} & left_alone(watch, preset="sum") == set()
    monkeypatch.setitem(vars(watch), "start", {**watch.start, "prompt": "as it was an hour ago"})
    assert left_alone(watch) == set(NAMES) - {"prompt"}
    monkeypatch.setitem(vars(watch), "start", {**watch.start, "pair": "another"})
    assert left_alone(watch) == set(), "another pair brings all of its values"


def test_models_that_a_link_to_measure_names_are_left_to_it(monkeypatch):
    watch = Watch(SPACE, presets.definitions(), Jobs(SPACE.limits))
    monkeypatch.setitem(vars(watch), "start", {})
    named = {"pair": "tiny", "target": "a", "draft": "b"}
    assert not set(named) & left_alone(watch, tab="measure")
    assert left_alone(watch, tab="measure", **named) == set(named)


def test_own_models_are_refused_on_a_space(monkeypatch):
    monkeypatch.setenv("SPACE_ID", "someone/somewhere")
    with pytest.raises(HsdError, match="own models cannot be loaded here"):
        request(target="a", draft="b")


def test_a_pair_that_needs_a_gpu_is_offered_only_where_there_is_one(monkeypatch):
    monkeypatch.setattr(machine, "_gpu_memory_gb", lambda: 0.0)
    assert "qwen2.5-7b" not in [p.name for p in machine.offered(SPACE)]
    with pytest.raises(HsdError, match="needs a larger GPU"):
        request(pair="qwen2.5-7b")
    monkeypatch.setattr(machine, "_gpu_memory_gb", lambda: 80.0)
    assert request(pair="qwen2.5-7b").pair.target == "Qwen/Qwen2.5-7B-Instruct"


def test_the_store_keeps_the_runs_that_were_looked_at_last():
    store = Jobs(SPACE.limits.model_copy(update={"stored_traces": 2}))
    first, second = store.submit(Run(request())), store.submit(Run(request()))
    store.get(first.key)
    third = store.submit(Run(request()))
    assert store.get(first.key) is first
    assert store.get(third.key) is third
    assert second.stop.is_set()
    with pytest.raises(HsdError, match="no longer kept"):
        store.get(second.key)
    assert len({r.key for r in (first, second, third)}) == 3
    assert min(len(r.key) for r in (first, second, third)) >= 20


@pytest.fixture
def letters(monkeypatch):
    """The model of every request becomes a small table."""
    monkeypatch.setattr(pairs, "load", lambda choice: hsd.table_pair(vocab=6, seed=1))


@pytest.mark.usefixtures("letters")
def test_a_run_arrives_piece_by_piece_and_equals_a_direct_one():
    asked = request(prompt="abc", length=20, seed=5)
    work = Jobs(SPACE.limits)
    run = work.submit(Run(asked))
    seen: list[dict] = []
    for _ in work.follow(run):
        piece = run.since(len(seen))
        assert json.loads(json.dumps(piece)) == piece, "plain data"
        assert piece["result"] is None, "a result ends the run"
        seen += piece["items"]
    last = run.since(len(seen))
    assert last["state"] == "done"
    assert last["result"]["finish"] == "length"
    direct = hsd.run(hsd.table_pair(vocab=6, seed=1), "abc", **asked.option_dict())
    assert trace(run).tokens == direct.tokens
    assert trace(run).replay() == direct.tokens
    assert last["telling"] == presets.telling_step(trace(run))


@pytest.mark.usefixtures("letters")
def test_updates_come_at_most_twenty_times_a_second():
    assert runs.UPDATE_SECONDS >= 1 / 20
    pieces = list(runs.decode({"name": "tiny"}, "abc", request(prompt="abc", length=60).option_dict()))
    assert "header" in pieces[0]
    assert "result" in pieces[-1]
    assert len(pieces) < 20, "60 tokens of a table take far less than a second"


@pytest.mark.usefixtures("letters")
def test_a_cancelled_run_keeps_what_it_had(monkeypatch):
    monkeypatch.setattr(runs, "UPDATE_SECONDS", 0.0)
    work = Jobs(SPACE.limits)
    run = work.submit(Run(request(prompt="abc", length=200)))
    following = work.follow(run)
    while len(run.items) < 3:
        next(following)
    work.cancel(run.key)
    assert list(following) == []
    assert run.since(0)["state"] == "cancelled"
    made = trace(run)
    assert 3 <= len(made.steps) < 100
    assert made.result.finish == "cancelled"
    assert made.text


@pytest.mark.usefixtures("letters")
def test_a_run_that_nobody_follows_any_more_is_over(monkeypatch):
    monkeypatch.setattr(runs, "UPDATE_SECONDS", 0.0)
    work = Jobs(SPACE.limits)
    run = work.submit(Run(request(prompt="abc", length=200)))
    following = work.follow(run)
    next(following)
    following.close()
    assert run.finished
    assert work.line.place(work.submit(Run(request())).key) == 0


def test_a_run_cancelled_while_it_waits_never_starts(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda choice: pytest.fail("it was started"))
    work = Jobs(SPACE.limits)
    run = work.submit(Run(request()))
    work.cancel(run.key)
    assert list(work.follow(run)) == []
    assert run.since(0)["state"] == "cancelled"


@pytest.mark.usefixtures("letters")
def test_a_run_that_takes_too_long_is_stopped_and_says_so(monkeypatch):
    monkeypatch.setattr(runs, "UPDATE_SECONDS", 0.0)
    monkeypatch.setattr(jobs.time, "monotonic", iter(range(0, 10**6, 50)).__next__)
    work = Jobs(SPACE.limits)
    run = work.submit(Run(request(prompt="abc", length=200)))
    list(work.follow(run))
    assert run.state == "cancelled"
    assert "stopped after 120 s" in run.message
    assert trace(run).text


def test_an_unexpected_failure_is_one_line_and_the_model_is_free_again(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda choice: 1 / 0)
    work = Jobs(SPACE.limits)
    run = work.submit(Run(request()))
    assert list(work.follow(run)) == []
    assert run.state == "failed"
    assert "ZeroDivisionError" in run.message
    assert "\n" not in run.message
    assert work.line.place(work.submit(Run(request())).key) == 0


def test_own_models_from_folders_run(byte_folders):
    target, draft = byte_folders
    job = Jobs(SPACE.limits).finish(Run(request(target=target, draft=draft, length=8)))
    assert len(trace(job).tokens) == 8


def test_on_zero_gpu_the_gpu_is_lent_for_the_decoding_only(monkeypatch):
    lent: list[int] = []

    def GPU(duration):
        def decorate(function):
            def lend(*arguments):
                lent.append(duration(*arguments))
                json.dumps(arguments)
                yield from function(*arguments)

            return lend

        return decorate

    monkeypatch.setattr(machine, "spaces", SimpleNamespace(GPU=GPU))
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setattr(runs, "decode_on_lent_gpu", machine.lent_gpu(runs.gpu_seconds)(runs.decode))
    monkeypatch.setattr(pairs, "load", lambda choice: hsd.table_pair(vocab=6, seed=1))
    monkeypatch.setattr(pairs, "bring", lambda choice: None)
    work = Jobs(SPACE.limits)
    assert len(trace(work.finish(Run(request(prompt="abc", length=8)))).tokens) == 8
    assert lent == [], "the embedded pair stays on the CPU"
    assert len(trace(work.finish(Run(request(prompt="abc", length=8, pair="qwen2.5-7b")))).tokens) == 8
    assert lent == [runs.LOAD_SECONDS + 1]


def test_without_the_package_for_zero_gpu_nothing_is_decorated(monkeypatch):
    monkeypatch.setattr(machine, "spaces", None)
    assert machine.lent_gpu(runs.gpu_seconds)(runs.decode) is runs.decode


@needs_pair
def test_the_embedded_pair_is_described():
    facts = pairs.describe(SPACE, "tiny")
    assert facts["target"] > facts["draft"] > 0
    assert facts["vocabulary"] > 0
    assert facts["device"]


# ---- presets


def test_every_preset_of_the_manifest_is_recorded_and_true():
    known = presets.definitions()
    for name in SPACE.presets:
        shown = presets.recorded(known[name])
        assert shown.replay() == shown.tokens
        assert shown.prompt.text == known[name].prompt
        asked, flat = dict(known[name].options), shown.setup.options.flat()
        assert {key: flat[key] for key in asked if key != "system"} == {
            key: value for key, value in asked.items() if key != "system"
        }


def test_the_first_preset_opens_at_a_step_where_the_rule_gains():
    shown = presets.recorded(presets.definitions()[SPACE.presets[0]])
    step = shown.steps[presets.telling_step(shown)]
    assert step.kept > step.shadow.kept
    assert step.kept - step.shadow.kept == max(s.kept - s.shadow.kept for s in shown.steps)


def test_a_preset_with_an_unknown_key_is_refused(tmp_path):
    file = tmp_path / "presets.yaml"
    file.write_text("a: {title: t, why: w, prompt: p, colour: red}")
    with pytest.raises(HsdError, match="colour"):
        presets.definitions(file)
