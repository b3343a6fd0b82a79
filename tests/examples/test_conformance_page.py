"""The pages about conformance say what their script computes, and the adapters in examples are what they claim."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from example_script import example_script
from printed import differing, stands

from hsd.conform import conform, load_adapter
from hsd.paths import ROOT

ADAPTERS = sorted((ROOT / "examples" / "conform").glob("*.py"))
OPENVINO = ("openvino", "openvino_tokenizers", "openvino_genai")
ONNXRUNTIME = ("onnx", "onnxruntime", "onnxruntime_genai")
PAGES = {name: (ROOT / "assets" / "docs" / f"{name}.md") for name in ("conformance", "random_numbers")}
CALLS = r"[\d,]+ calls"  # a bisection ends where rounding says so


def skip_without(*needed: str) -> None:
    found = {name: importlib.util.find_spec(name) for name in needed}
    if missing := [name for name, spec in found.items() if spec is None or spec.origin is None]:  # a folder of tests
        pytest.skip(f"{', '.join(missing)} not here: the command in examples/reproduce/conformance_page.py installs it")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return example_script("reproduce/conformance_page")


def test_every_adapter_is_short_and_has_its_row(script: ModuleType):
    assert {file.stem for file in ADAPTERS} == {*script.CLIENTS, *script.SPEAKERS}
    length = {file.stem: len(file.read_text(encoding="utf-8").splitlines()) for file in ADAPTERS}
    assert max(length[name] for name in script.CLIENTS) < 40
    assert max(length[name] for name in script.SPEAKERS) < 60, "these build their models as well"


def test_a_wrong_verifier_is_answered_as_the_page_says(script: ModuleType):
    assert stands(script.answer("wrong_block", "--quick"), PAGES["conformance"].read_text(encoding="utf-8"), CALLS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tokenwise", "block", "hsd", "wrong_block", "typical", "coupled"])
def test_verifiers_from_scratch_are_found_to_be_what_the_page_says(script: ModuleType, name: str):
    page = PAGES["conformance"].read_text(encoding="utf-8")
    row = script.clients_table({name: script.client(name)}).splitlines()[-1]
    assert stands(row, page)


@pytest.mark.slow
def test_the_answer_of_the_whole_battery_is_as_printed(script: ModuleType):
    page, answer = PAGES["conformance"].read_text(encoding="utf-8"), script.answer("tokenwise")
    assert [line for line in answer.splitlines() if not stands(line, page, CALLS)] == []


@pytest.mark.long
def test_sampling_of_transformers_is_token_wise_and_its_ensemble_is_not_lossless(script: ModuleType):
    pytest.importorskip("transformers")
    plain, ensemble = (
        conform(load_adapter(ROOT / "examples" / "conform" / f"transformers_{name}.py"), gamma=2, quick=True)
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
    found = conform(load_adapter(ROOT / "examples" / "conform" / f"{engine}.py"), vocab=2, gamma=2, quick=True)
    assert (found["lossless"], found["rule"]) == (True, "blockwise")


@pytest.mark.long
@pytest.mark.parametrize(("kernels", "rule"), [("rejection", "tokenwise"), ("block", "blockwise")])
def test_kernels_of_vllm_are_lossless(kernels: str, rule: str):
    skip_without(*{"rejection": ["vllm"], "block": ["vllm", "triton"]}[kernels])
    found = conform(load_adapter(ROOT / "examples" / "conform" / f"vllm_{kernels}.py"), vocab=2, gamma=2, quick=True)
    assert (found["lossless"], found["rule"]) == (True, rule)


@pytest.mark.long
def test_openvino_samples_the_target_alone_and_its_draft_model_changes_what_it_says():
    skip_without(*OPENVINO)
    alone, draft = (
        conform(load_adapter(ROOT / "examples" / "conform" / f"openvino_{name}.py"), gamma=2, calls=3_000)
        for name in ("alone", "draft")
    )
    assert (alone["lossless"], draft["lossless"]) == (None, False)


@pytest.mark.long
@pytest.mark.parametrize("name", ["alone", "draft"])
def test_onnxruntime_samples_the_target_with_a_draft_model_and_without(name: str):
    skip_without(*ONNXRUNTIME)
    found = conform(load_adapter(ROOT / "examples" / "conform" / f"onnxruntime_{name}.py"), gamma=2, calls=3_000)
    assert found["lossless"] is None


@pytest.mark.slow
def test_both_pages_are_what_the_script_writes(script: ModuleType):
    skip_without("vllm", "triton", *OPENVINO, *ONNXRUNTIME)
    for versions in (script.versions(*script.CLIENT_PACKAGES), script.versions(*script.SPEAKER_PACKAGES)):
        if versions not in PAGES["conformance"].read_text(encoding="utf-8"):
            pytest.skip(f"the page was written with other versions than {versions}")
    for name, facts in (("conformance", script.conformance()), ("random_numbers", script.keyings())):
        template = (ROOT / "examples" / "reproduce" / f"{name}_page.template.md").read_text(encoding="utf-8")
        assert differing(template.format_map(facts), PAGES[name].read_text(encoding="utf-8"), CALLS) == []
