"""The command line: one JSON object or one clear line, and nothing else where a program would read
it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loops import for_each
from small_models import letters_tokenizer, save_model

import hsd
from hsd import HsdError
from hsd.cli import main
from hsd.cli.run import _report
from hsd.models.loading import fetch

ROOT = Path(__file__).parents[2]
SEEDS = (str(2**64 - 1), "-1", str(10**30))
FIELDS = {
    "text",
    "tokens",
    "rule",
    "gamma",
    "seed",
    "target_calls",
    "block_efficiency",
    "acceptance_rate",
    "tokens_per_second",
}


class Console:
    """Runs commands in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str], folders: tuple[str, str]) -> None:
        self._capture = capture
        self.models = ["--target", folders[0], "--draft", folders[1], "--device", "cpu"]

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        self._capture.readouterr()
        try:
            status = main(list(words))
        except SystemExit as end:  # argparse leaves this way
            status = int(end.code or 0)
        output = self._capture.readouterr()
        return status, output.out, output.err

    def run(self, prompt: str, *words: str) -> dict[str, Any]:
        """The one JSON object of a run that succeeds on the small pair."""
        status, out, _ = self(
            "run", *self.models, "--json", "--max-new-tokens", "12", *words, "--", prompt
        )
        assert status == 0
        assert out.count("\n") == 1
        return json.loads(out)

    def refused(self, *words: str) -> str:
        """The one line of a command that is refused."""
        status, out, err = self(*words)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1, err
        assert err.endswith("\n")
        assert "Traceback" not in err
        assert 10 < len(err) < 600
        return err


@pytest.fixture
def console(capsys: pytest.CaptureFixture[str], byte_folders: tuple[str, str]) -> Console:
    return Console(capsys, byte_folders)


# What works


@pytest.mark.parametrize("rule", hsd.RULES)
def test_run_prints_one_object_with_the_promised_fields(console: Console, rule: str):
    result = console.run("Once upon", "--rule", rule, "--gamma", "3", "--seed", "7")
    assert set(result) >= FIELDS
    assert (result["rule"], result["gamma"], result["seed"]) == (rule, 3, 7)
    assert len(result["tokens"]) == 12 or result["finish"] == "end"
    assert result["block_efficiency"] == len(result["tokens"]) / result["target_calls"]


def test_run_gives_what_the_package_gives(console: Console, byte_pair: hsd.Pair):
    options = {"gamma": 4, "temperature": 0.8, "top_k": 20, "top_p": 0.9, "seed": 3}
    words = [
        word
        for name, value in options.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    result = console.run("Once upon", *words)
    trace = hsd.run(byte_pair, "Once upon", max_new_tokens=12, **options)
    assert (result["text"], result["tokens"]) == (trace.text, trace.tokens)


def test_plain_decoding_has_one_token_a_call(console: Console):
    result = console.run("Once upon", "--system", "plain")
    assert result["block_efficiency"] == 1
    assert result["system"] == "plain"


def test_a_stack_and_early_exits_run_and_say_what_they_are():
    words = ["run", "Once upon a time", "--max-new-tokens", "8", "--json"]
    for more, expected in (
        (
            ["--system", "stack", "--thresholds", "2,3", "--level-rules", "tokenwise"],
            {"thresholds": [2, 3]},
        ),
        (
            ["--system", "stack", "--stack", "0,2", "--thresholds", "4"],
            {"stack": [0, 2], "level_rules": []},
        ),
        (["--system", "hispec", "--exits", "2,4"], {"exits": [2, 4], "thresholds": [2, 4]}),
    ):
        found = printed([*words, *more])
        assert found["notes"] == []
        assert {name: found[name] for name in expected} == expected
        assert found["calls_below"][0] >= len(found["calls_below"])


def printed(words: list[str]) -> dict[str, Any]:
    """What a command prints as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(words) == 0
    return json.loads(out.getvalue())


def test_a_pair_that_has_been_fetched_is_the_usual_one(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    """But where the levels of a system are asked for, which only the embedded pair has."""

    def load_pair(name: str | None, **how: Any) -> hsd.Pair:
        raise HsdError(f"asked for {name}")

    monkeypatch.setattr("hsd.models.loading.load_pair", load_pair)
    for here, named in ((None, "tiny"), (Path("there"), "smollm2")):
        monkeypatch.setattr(fetch, "fetched_file", lambda name, here=here: here)
        for command in (["run", "Once"], ["bench"]):
            assert console.refused(*command) == f"hsd: asked for {named}\n"
    assert "asked for qwen3-4b" in console.refused("run", "Once", "--pair", "qwen3-4b")
    assert "asked for None" in console.refused("run", "Once", "--target", "a", "--draft", "b")
    assert "asked for None" in console.refused("run", "Once", "--system", "stack")
    assert "asked for tiny" in console.refused("bench", "--systems", "speculative,stack")


def test_a_lossy_rule_says_so_and_can_be_calibrated(console: Console):
    result = console.run("Once upon", "--rule", "fuzzy", "--tolerance", "0.4", "--divergence", "js")
    assert (result["divergence"], result["tolerance"]) == ("js", 0.4)
    assert "not lossless" in result["notes"][0]
    calibrated = console.run("Once upon", "--rule", "fuzzy", "--quantile", "0.5")
    assert calibrated["tolerance"] > 0
    assert "--quantile is for --rule fuzzy" in console.refused(
        "run", "Once upon", "--quantile", "0.5"
    )


def test_run_without_json_is_for_people(console: Console):
    status, out, _ = console("run", *console.models, "--max-new-tokens", "5", "Once upon")
    assert status == 0
    assert out.startswith("Once upon")
    assert ", system speculative, rule hsd, gamma 5\n5 tokens, " in out
    assert "tokens per target call" in out
    status, out, _ = console(
        "run", *console.models, "--max-new-tokens", "5", "--system", "plain", "Once upon"
    )
    assert "system plain\n5 tokens, 5 target calls" in out
    assert "nothing drafted" in out


def test_help_says_which_rule_or_system_an_option_is_for(console: Console):
    told = " ".join(console("run", "--help")[1].split())
    assert "--tolerance TOLERANCE for --rule fuzzy, clipped or clipped-hsd: " in told
    assert "--exits EXITS for --system hispec: " in told


def test_a_command_that_is_not_complete_says_where_to_look(console: Console):
    assert console.refused() == "hsd: the following arguments are required: COMMAND: see --help\n"
    assert (
        console.refused("run")
        == "hsd run: the following arguments are required: prompt: see --help\n"
    )
    unquoted = console.refused("run", "Once", "upon", "a")
    assert (
        unquoted == "hsd: unrecognized arguments: upon a: put a text of several words in quotes\n"
    )


def test_an_answer_begins_on_a_line_of_its_own_and_a_continuation_does_not():
    asked = hsd.Trace.from_json((ROOT / "assets/traces/paris.json").read_text("utf-8"))
    assert not "".join(asked.prompt.pieces).endswith(asked.prompt.text)
    assert _report(asked).startswith(f"{asked.prompt.text}\n\n{asked.text}")
    pieces = [*asked.prompt.pieces, asked.prompt.text]
    went_on = asked.model_copy(
        update={"prompt": asked.prompt.model_copy(update={"pieces": pieces})}
    )
    assert _report(went_on).startswith(f"{asked.prompt.text}{asked.text}")


def test_a_saved_trace_can_be_read_and_replayed(console: Console, tmp_path: Path):
    file = tmp_path / "run.json"
    result = console.run("Once upon", "--trace", str(file))
    trace = hsd.Trace.from_json(file.read_text(encoding="utf-8"))
    assert trace.tokens == result["tokens"] == trace.replay()


def test_a_prompt_comes_from_standard_input(console: Console, monkeypatch: pytest.MonkeyPatch):
    typed = console.run("Once upon")
    monkeypatch.setattr("sys.stdin", io.StringIO("Once upon"))
    assert console.run("-")["tokens"] == typed["tokens"]


@pytest.mark.parametrize(
    "prompt",
    [
        "\x01\x02\x1b[31m\x7f",
        "🙂 👩‍👩‍👧 🏳️‍🌈",
        "שלום עולם مرحبا",
        "\u202eabc\u200f",
        "--help",
        "-5",
        "日本語",
        '"; rm -rf / #',
    ],
    ids=["control", "emoji", "right to left", "marks", "option", "number", "cjk", "shell"],
)
def test_any_text_is_a_prompt(console: Console, prompt: str):
    assert len(console.run(prompt)["tokens"]) >= 1


def test_audit_prints_the_law_of_every_rule(console: Console):
    status, out, err = console("audit", "--vocab", "2", "--gamma", "2", "--seed", "4", "--json")
    result = json.loads(out)
    assert (status, err) == (0, "")
    assert result["ideal"] > 0
    for name in hsd.RULES:
        assert {"expected_accepted", "total_variation", "lossless"} <= set(result["rules"][name])
    assert result["rules"]["hsd"]["total_variation"] < 1e-12
    assert result["rules"]["hsd-released"]["lossless"] is False


def test_audit_without_json_is_a_table(console: Console):
    status, out, _ = console("audit", "--vocab", "2", "--gamma", "2")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()][:3] == ["rule", "tokenwise", "blockwise"]


def test_schema_describes_every_trace(console: Console):
    status, out, _ = console("schema")
    schema = json.loads(out)
    assert status == 0
    assert {"trace_version", "setup", "prompt", "steps", "result"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_version_and_help(console: Console):
    assert console("--version")[:2] == (0, f"{hsd.__version__}\n")
    for words in (["--help"], ["run", "--help"], ["audit", "--help"]):
        status, out, err = console(*words)
        assert (status, err) == (0, "")
        assert "usage" in out


def test_the_module_can_be_run_and_keeps_its_output_clean():
    """A process of its own: only the object on standard output."""
    words = [sys.executable, "-m", "hsd", "audit", "--vocab", "2", "--gamma", "1", "--json"]
    good = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert good.returncode == 0
    assert json.loads(good.stdout)["rules"]["tokenwise"]["lossless"] is True


# Bad input


@for_each(
    ("words", "names"),
    [
        (["--gamma", "0"], "gamma 0"),
        (["--gamma", "33"], "gamma 33"),
        (["--gamma", "-1"], "gamma"),
        (["--gamma", "abc"], "abc"),
        (["--gamma", "2.5"], "2.5"),
        (["--temperature", "-1"], "temperature"),
        (["--temperature", "nan"], "--temperature: value nan"),
        (["--temperature", "inf"], "--temperature: value inf"),
        (["--temperature", "hot"], "hot"),
        (["--top-p", "0"], "top"),
        (["--top-p", "2"], "top"),
        (["--top-p", "nan"], "top"),
        (["--top-k", "-1"], "top"),
        (["--rule", "best"], "unknown rule 'best'"),
        (["--system", "magic"], "unknown system 'magic'"),
        (["--max-new-tokens", "0"], "max_new_tokens 0"),
        (["--max-new-tokens", "1000000"], "max_new_tokens 1000000"),
        (["--max-new-tokens", "many"], "many"),
        (["--seed", "x"], "--seed: value x: choose a whole number"),
        (["--device", "abacus"], "abacus"),
        (["--dtype", "float7"], "float7"),
        (["--pair", "huge"], ""),
        (["--colour", "red"], "--colour"),
        (["--gamma", "most"], "--gamma: value most: choose a whole number from 1 to 32 or auto"),
        (["--trace", "/no/such/folder/run.json"], "/no/such/folder"),
        (["--trace", "/"], "cannot write"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_a_bad_option_is_one_line(console: Console, words: list[str], names: str):
    assert names in console.refused("run", *console.models, *words, "Once")


@pytest.mark.parametrize(
    "prompt",
    ["", "   ", "\n", "x" * 500, "x" * 100_000],
    ids=["empty", "blanks", "line", "long", "100 kB"],
)
def test_a_bad_prompt_is_one_line(console: Console, prompt: str):
    assert "prompt" in console.refused("run", *console.models, prompt)


def test_half_a_character_is_one_line(console: Console):
    """What Python makes of bytes on the command line that are not UTF-8."""
    assert "prompt" in console.refused("run", *console.models, "caf\udce9")


def test_bad_models_are_one_line(console: Console, byte_folders: tuple[str, str], tmp_path: Path):
    target, draft = byte_folders
    (tmp_path / "empty").mkdir()
    other = str(save_model(tmp_path / "other", letters_tokenizer()))
    assert "unknown pair 'huge'" in console.refused("run", "--pair", "huge", "Once")
    assert "no folder" in console.refused(
        "run", "--target", str(tmp_path / "none"), "--draft", draft, "Once"
    )
    assert "config.json" in console.refused(
        "run", "--target", str(tmp_path / "empty"), "--draft", draft, "Once"
    )
    assert "same tokenizer" in console.refused("run", "--target", target, "--draft", other, "Once")
    assert "both" in console.refused("run", "--target", target, "Once")
    assert "both" in console.refused("run", "--draft", draft, "Once")
    assert "nobody/nothing" in console.refused(
        "run", "--target", "nobody/nothing", "--draft", draft, "Once"
    )


@for_each(
    "words",
    [
        [],
        ["dance"],
        ["run"],
        ["audit", "--vocab", "0"],
        ["audit", "--vocab", "50", "--gamma", "9"],
        ["audit", "--vocab", "2", "--gamma", "2", "--drafts", "1000000"],
        ["audit", "--vocab", "2", "--gamma", "1000000000"],
        ["audit", "--gamma", "abc"],
        ["audit", "3"],
        ["watch", "http://127.0.0.1:9", "--text", "--requests", "-1"],
        ["watch", "http://127.0.0.1:9", "--text", "--save", "/nowhere"],
        ["app", "--allowed-host", "b ad"],
        ["app", "--allowed-host", "<b>"],
        ["space", "publish", "nothing"],
        ["space", "publish", "two words/x", "--dry-run"],
        ["space", "export", "--static", "/proc/x"],
        ["space"],
        ["train"],
    ],
    ids=" ".join,
)
def test_a_bad_command_is_one_line(console: Console, words: list[str]):
    console.refused(*words)


def test_a_seed_of_any_size_names_a_random_pair(console: Console):
    """torch takes 64 bits."""
    found = [
        printed(["audit", "--vocab", "2", "--gamma", "1", "--json", "--seed", seed])
        for seed in SEEDS
    ]
    assert found[0]["ideal"] == found[1]["ideal"] != found[2]["ideal"]
    for seed in SEEDS:
        words = [
            str(ROOT / "examples/conform/tokenwise.py"),
            "--vocab",
            "2",
            "--gamma",
            "1",
            "--quick",
        ]
        assert console("conform", *words, "--seed", seed)[0] == 0


def test_a_port_that_is_no_number_is_refused_and_0_is_any(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("gradio")
    asked: dict[str, Any] = {}

    def launched(_: Any, **how: Any) -> None:
        asked.update(how)
        raise OSError

    monkeypatch.setattr("gradio.Blocks.launch", launched)
    from hsd.app import trust

    monkeypatch.setattr(trust, "current", trust.current)  # so that it is put back
    assert "was taken just now" in console.refused("app", "--port", "0", "--no-download")
    assert asked["server_port"] > 0
    monkeypatch.setenv("GRADIO_SERVER_PORT", "x")
    assert "GRADIO_SERVER_PORT is not a number: set it to a port" in console.refused(
        "app", "--no-download"
    )


def test_a_file_that_never_ends_is_no_trace(console: Console):
    assert "a trace of over 32 MB cannot be opened" in console.refused("explain", "/dev/zero")


@pytest.mark.parametrize("values", ["", ","])
def test_an_empty_list_is_named_as_empty(console: Console, values: str):
    assert "--gamma: value is empty" in console.refused("bench", "--gamma", values)


@pytest.mark.parametrize(
    "content", ["", "no JSON", "{}", '{"trace_version": 3}', "[" * 100_000], ids=lambda c: c[:20]
)
def test_a_trace_that_cannot_be_shown_is_one_line(
    console: Console, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("gradio")

    def served(*_: Any, **__: Any) -> None:
        raise AssertionError("the app was started with a trace that cannot be shown")

    monkeypatch.setattr("gradio.Blocks.launch", served)
    file = tmp_path / "trace.json"
    file.write_text(content)
    console.refused("app", "--trace", str(file))
    console.refused("app", "--trace", str(tmp_path / "missing.json"))
    console.refused("app", "--trace", str(tmp_path))


@pytest.mark.parametrize("host", ["203.0.113.9", "no.such.host.invalid", "a..b"])
def test_an_address_of_another_machine_is_refused_before_anything_starts(
    console: Console, host: str, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("gradio")
    monkeypatch.setattr(
        "hsd.app.device.prepare_environment", lambda _: pytest.fail("the app was started")
    )
    why = console.refused("app", "--host", host)
    assert f"--host '{host}' is no address of this machine: choose 127.0.0.1" in why
    monkeypatch.setenv("GRADIO_SERVER_NAME", host)
    assert why == console.refused("app")


def test_what_was_decoded_before_the_memory_ran_out_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import torch

    from hsd.decoding.rounds import Rounds

    verify = Rounds.verify
    rounds = []

    def fails_at_the_third(self: Rounds, *arguments: object) -> object:
        rounds.append(1)
        if len(rounds) == 3:
            raise torch.OutOfMemoryError("no memory")
        return verify(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Rounds, "verify", fails_at_the_third)
    out = tmp_path / "t.json"
    assert main(["run", "Once upon a time", "--trace", str(out), "--json"]) == 2
    told = capsys.readouterr()
    kept = json.loads(told.out)
    assert kept["target_calls"] == 2
    assert len(hsd.Trace.from_json(out.read_text()).steps) == 2
    assert (
        f"out of memory after {kept['new_tokens']} new tokens: choose a smaller gamma" in told.err
    )


def test_audit_of_several_drafts_prints_what_the_best_rule_would_keep(console: Console):
    pytest.importorskip("scipy")
    status, out, err = console(
        "audit", "--vocab", "2", "--gamma", "1", "--drafts", "2", "--seed", "0"
    )
    kept = dict(line.rsplit(maxsplit=1) for line in out.splitlines() if line.startswith("optimum"))
    assert (status, err) == (0, "")
    # both tokens are drafted
    assert float(kept["optimum, full, distinct"]) == pytest.approx(1, abs=1e-4)
    assert float(kept["optimum, paths"]) < 1


def test_audit_of_several_drafts_works_without_scipy(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(importlib.import_module("hsd.audit.optimum"), "solvable", lambda: False)
    status, out, err = console("audit", "--vocab", "2", "--gamma", "1", "--drafts", "2")
    assert status == 0
    assert "traversal, paths" in out
    assert "optimum" not in out
    assert err == "the optimum needs scipy: pip install scipy\n"
