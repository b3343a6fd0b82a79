"""What a visitor may ask of a run: checked against the manifest, read from links and programs, and
said in a link.
"""

from __future__ import annotations

import pytest
from loops import for_each

from hsd import HsdError, space
from hsd.app import device, downloads
from hsd.app import runs as requests
from hsd.app.runs import RunRequest, query, read
from hsd.decoding.options import RunOptions
from hsd.models.loading import fetch

SPACE = space.load()


def request(**values: object) -> RunRequest:
    return read(SPACE, {"prompt": "Once upon a time", **values})


def test_every_option_of_a_run_can_be_asked_and_a_run_is_always_recorded():
    assert (
        request(**{name: option.default for name, option in RunOptions.options().items()}).options
        == RunOptions()
    )
    assert request(trace=False).options.trace


def test_a_link_says_where_drafts_come_from_only_if_it_is_not_a_model():
    assert "proposer" not in query(request())
    asked = request(proposer="ngram")
    assert query(asked)["proposer"] == "ngram"
    assert read(SPACE, query(asked)) == asked


def test_a_link_names_what_makes_a_tree_and_leaves_out_what_does_not():
    tree = request(rule="traversal", drafts=3, tree="distinct", shadow="top-down")
    assert read(SPACE, query(tree)).options == tree.options
    assert {"drafts": "3", "tree": "distinct", "shadow": "top-down"}.items() <= query(tree).items()
    assert not {"drafts", "tree", "shadow", "system"} & set(query(request()))


def test_links_of_earlier_versions_still_open():
    old = {
        "prompt": "a",
        "pair": "tiny",
        "length": "9",
        "rule": "hsd",
        "gamma": "3",
        "several": "2",
    }
    options = read(SPACE, old).options
    assert (options.max_new_tokens, options.gamma, options.drafts) == (9, 3, 2)
    assert "length" not in query(read(SPACE, old))


@for_each(
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
        ({"temperature": "nan"}, "temperature nan: choose a number from 0 to 100"),
        ({"temperature": "inf"}, "temperature inf: choose a number from 0 to 100"),
        ({"top_p": 0}, "top"),
        ({"top_p": "2"}, "top"),
        ({"top_k": "-1"}, "top"),
        ({"max_new_tokens": "0"}, "length 0"),
        ({"max_new_tokens": 1_000_000}, "length 1000000: choose a whole number from 1 to 256"),
        ({"seed": ""}, "seed is empty: choose a whole number of at most 64 bits"),
        ({"seed": "1e400"}, "seed 1e400: choose a whole number of at most 64 bits"),
        ({"rule": "nonsense"}, "unknown rule 'nonsense'"),
        ({"system": "nonsense"}, "unknown system 'nonsense'"),
        ({"proposer": "nonsense"}, "unknown proposer 'nonsense'"),
        (
            {"proposer": "ngram", "drafts": 2},
            "proposer ngram has one continuation to copy: choose drafts 1",
        ),
        ({"pair": "nonsense"}, "unknown pair 'nonsense': choose tiny"),
        ({"target": "somewhere"}, "both a target and a draft"),
        ({"thresholds": "3, many"}, "threshold many: choose a whole number from 1 to 32"),
        ({"thresholds": [3, ""]}, "threshold is empty: choose a whole number"),
        ({"thresholds": [3, True]}, "threshold True: choose a whole number"),
        ({"thresholds": {"a": 1}}, "thresholds \"{'a': 1}\": give numbers separated by commas"),
        ({"thresholds": "0"}, "threshold 0: choose a whole number from 1 to 32"),
        ({"thresholds": "3, 33"}, "threshold 33: choose a whole number from 1 to 32"),
        ({"thresholds": "1 " * 5_000}, "5000 thresholds: give fewer"),
        (
            {"seed": "1" * 30},
            "seed 111111111111111111111111111111: choose a whole number of at most 64 bits",
        ),
        ({"stack": "0, 1.5"}, "place 1.5: choose a whole number"),
        ({"stack": "0_0_2", "system": "stack"}, "model 0 is in the stack twice"),
        ({"exits": "1, 2, 3", "system": "hispec"}, "exits 1, 2, 3: give two"),
        ({"level_rules": "hsd, nonsense"}, "unknown rule 'nonsense'"),
        ({"level_rules": ["fuzzy"]}, "rule fuzzy cannot verify below the target"),
        ({"level_rules": [3]}, "level rules '[3]': give names"),
        ({"tolerance": "much"}, "tolerance much: choose a number"),
        ({"tolerance": "inf"}, "tolerance inf: choose a number"),
        ({"divergence": "x"}, "unknown divergence 'x'"),
        ({"fuzzy_mode": "x"}, "unknown fuzzy mode 'x'"),
        ({"divergence_on": "x"}, "unknown divergence on 'x'"),
    ],
)
def test_a_bad_request_is_refused_with_one_line(values, words):
    with pytest.raises(HsdError) as caught:
        request(**values)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_request_survives_the_way_through_its_link():
    asked = request(
        gamma=7,
        temperature=0.35,
        seed=-(10**18),
        top_k=4,
        rule="blockwise",
        system="plain",
        max_new_tokens=9,
    )
    assert read(SPACE, query(asked)) == asked


def test_where_no_pair_can_run_an_unknown_one_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(device, "offered", lambda space: [])
    with pytest.raises(HsdError, match="no pair can run here yet, so wait for a download"):
        request(pair="nonsense")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {
                "system": "stack",
                "stack": "0, 1 2",
                "thresholds": [3, "5"],
                "level_rules": "tokenwise",
            },
            {"system": "stack", "stack": "0_1_2", "thresholds": "3_5", "level_rules": "tokenwise"},
        ),
        ({"system": "hispec", "exits": "2,4"}, {"system": "hispec", "exits": "2_4"}),
        (
            {
                "rule": "fuzzy",
                "divergence": "js",
                "tolerance": "0.123456789",
                "divergence_on": "raw",
            },
            {"divergence": "js", "tolerance": "0.123456789", "divergence_on": "raw"},
        ),
        ({"rule": "fuzzy", "fuzzy_mode": "divergence-only"}, {"fuzzy_mode": "divergence-only"}),
        ({"stack": "", "exits": [], "thresholds": " , ", "level_rules": ()}, {}),
    ],
)
def test_a_link_names_what_makes_levels_and_a_fuzzy_rule_where_it_differs(values, said):
    asked = request(**values)
    plain = request()
    assert read(SPACE, query(asked)) == asked
    differs = {key: value for key, value in query(asked).items() if query(plain).get(key) != value}
    assert {key: value for key, value in differs.items() if key != "rule"} == said


def test_lists_are_read_from_texts_and_from_lists():
    options = request(
        system="stack", stack=[0, 1.0, "2"], thresholds="3_5", level_rules="hsd"
    ).options
    assert (options.stack, options.thresholds, options.level_rules) == ((0, 1, 2), (3, 5), ("hsd",))


def test_a_request_for_own_models_survives_the_way_through_its_link():
    asked = request(target="a/target", draft="a/draft")
    assert (asked.pair.target, asked.pair.draft) == ("a/target", "a/draft")
    assert read(SPACE, query(asked)) == asked


def test_gamma_is_the_pairs_own_where_it_is_left_out(monkeypatch):
    monkeypatch.setattr(requests, "draft_length", lambda pair: {"tiny": 2}.get(pair, 5))
    assert request().options.gamma == 2
    assert request(gamma="4").options.gamma == 4
    assert request(target="a/target", draft="a/draft").options.gamma == 5


def test_an_option_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(HsdError, match=r"unknown option 'colour': choose from .*rule, gamma"):
        request(colour="red")


def test_own_models_are_refused_on_a_space(monkeypatch):
    monkeypatch.setenv("SPACE_ID", "someone/somewhere")
    with pytest.raises(HsdError, match="own models cannot be loaded here"):
        request(target="a", draft="b")


def test_a_pair_that_needs_a_gpu_is_offered_only_where_there_is_one(monkeypatch):
    monkeypatch.setattr(device, "_gpu_memory_gb", lambda: 0.0)
    assert "qwen2.5-7b" not in [p.name for p in device.offered(SPACE)]
    with pytest.raises(HsdError, match="needs a larger GPU"):
        request(pair="qwen2.5-7b")
    monkeypatch.setattr(device, "_gpu_memory_gb", lambda: 80.0)
    assert request(pair="qwen2.5-7b").pair.target == "Qwen/Qwen2.5-7B-Instruct"


def test_a_link_to_a_pair_that_is_not_here_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(fetch, "fetched_file", lambda name: None)
    monkeypatch.setattr(downloads, "_news", {})
    with pytest.raises(
        HsdError, match="smollm2 is not on this machine: run python -m hsd fetch smollm2"
    ):
        request(pair="smollm2")
