"""The page "Verify" says what its script found, and the adapters are what they claim to be."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

import pytest
from example_script import code_tokens, example_script
from pages import blocks
from printed import differing, stands

from hsd.conform import conform, load_adapter
from hsd.paths import ROOT

ADAPTERS = sorted((ROOT / "examples" / "conform").glob("*.py"))
OPENVINO = ("openvino", "openvino_tokenizers", "openvino_genai")
ONNXRUNTIME = ("onnx", "onnxruntime", "onnxruntime_genai")
CALLS = r"[\d,]+ calls"  # a bisection ends where rounding says so


def skip_without(*needed: str) -> None:
    found = {name: importlib.util.find_spec(name) for name in needed}
    # a folder of tests
    if missing := [name for name, spec in found.items() if spec is None or spec.origin is None]:
        pytest.skip(
            f"{', '.join(missing)} not here: the command in examples/reproduce/verify_page.py "
            "installs it"
        )


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return example_script("reproduce/verify_page")


def test_every_adapter_is_short_and_has_its_row(script: ModuleType):
    assert {file.stem for file in ADAPTERS} == {*script.CLIENTS, *script.SPEAKERS}
    tokens = {file.stem: code_tokens(file) for file in ADAPTERS}
    assert max(tokens[name] for name in script.CLIENTS) <= 550
    assert max(tokens[name] for name in script.SPEAKERS) <= 800, "these build their models as well"


def test_the_page_says_what_was_found_of_each_client(script: ModuleType):
    found = json.loads(script.FILE.read_text(encoding="utf-8"))
    printed = blocks(script.PAGE)
    for name, made in script.judged(found).items():
        assert differing(made, printed[name], CALLS) == [], (
            "run: python examples/reproduce/verify_page.py"
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tokenwise", "block", "hsd", "wrong_block", "typical", "coupled"])
def test_verifiers_from_scratch_are_found_to_be_what_the_page_says(script: ModuleType, name: str):
    row = f"| {' | '.join(script.client_row(name, script.client(name)))} |"
    assert stands(row, blocks(script.PAGE)["clients"])


@pytest.mark.long
def test_sampling_of_transformers_is_token_wise_and_its_ensemble_is_not_lossless(
    script: ModuleType,
):
    pytest.importorskip("transformers")
    plain, ensemble = (
        conform(
            load_adapter(ROOT / "examples" / "conform" / f"transformers_{name}.py"),
            gamma=2,
            quick=True,
        )
        for name in ("sampling", "ensemble_9")
    )
    assert (plain["lossless"], plain["rule"]) == (True, "tokenwise")
    assert (ensemble["lossless"], ensemble["equals"]) == (False, ["ensemble (draft weight 0.1)"])


ENGINES = ["this_project", "this_project_captured", "this_project_generate"]


@pytest.mark.long
@pytest.mark.parametrize(
    "engine",  # the others decode as the first does, which tests of their own show
    [pytest.param(name, marks=[] if name == ENGINES[0] else pytest.mark.slow) for name in ENGINES],
)
def test_a_step_of_this_projects_own_loop_is_judged_from_outside(engine: str):
    found = conform(
        load_adapter(ROOT / "examples" / "conform" / f"{engine}.py"), vocab=2, gamma=2, quick=True
    )
    assert (found["lossless"], found["rule"]) == (True, "blockwise")


@pytest.mark.long
@pytest.mark.parametrize(("kernels", "rule"), [("rejection", "tokenwise"), ("block", "blockwise")])
def test_kernels_of_vllm_are_lossless(kernels: str, rule: str):
    skip_without(*{"rejection": ["vllm"], "block": ["vllm", "triton"]}[kernels])
    found = conform(
        load_adapter(ROOT / "examples" / "conform" / f"vllm_{kernels}.py"),
        vocab=2,
        gamma=2,
        quick=True,
    )
    assert (found["lossless"], found["rule"]) == (True, rule)


@pytest.mark.long
def test_openvino_samples_the_target_alone_and_its_draft_model_changes_what_it_says():
    skip_without(*OPENVINO)
    alone, draft = (
        conform(
            load_adapter(ROOT / "examples" / "conform" / f"openvino_{name}.py"),
            gamma=2,
            calls=3_000,
        )
        for name in ("alone", "draft")
    )
    assert (alone["lossless"], draft["lossless"]) == (None, False)


@pytest.mark.long
@pytest.mark.parametrize("name", ["alone", "draft"])
def test_onnxruntime_samples_the_target_with_a_draft_model_and_without(name: str):
    skip_without(*ONNXRUNTIME)
    found = conform(
        load_adapter(ROOT / "examples" / "conform" / f"onnxruntime_{name}.py"), gamma=2, calls=3_000
    )
    assert found["lossless"] is None


@pytest.mark.slow
def test_what_the_page_says_of_random_numbers_is_computed(script: ModuleType):
    printed = blocks(script.PAGE)
    for name, made in script.keyings().items():
        assert differing(made, printed[name]) == []
