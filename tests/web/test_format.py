"""Numbers as the page shows them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from engine import Engine


@pytest.fixture(scope="module")
def page() -> Iterator[Engine]:
    engine = Engine({"format": "kit/format.js", "statistics": "kit/statistics.js"})
    yield engine
    engine.stop()


def test_shares_that_add_up_to_one_are_shown_so(page: Engine):
    noise = random.Random(0)
    for _ in range(300):
        parts = [noise.random() ** noise.choice([1, 4, 12]) for _ in range(noise.randint(2, 4))]
        shares = [part / sum(parts) for part in parts]
        shown = [float(text) for text in page.call("format.adding", shares)]
        assert sum(shown) == pytest.approx(1, abs=1e-12)
        assert shown == pytest.approx(shares, abs=0.01)
    assert page.call("format.adding", [0.112, 0.591, 0.297]) == [".11", ".59", ".3"]
    assert page.call("format.adding", [1.0, 0.0]) == ["1", "0"]
    assert page.call("format.adding", [0.9996, 0.0004]) == [".9996", ".0004"]


def value(text: str) -> float:
    """A number as the page writes it."""
    return float(text.replace("·10", "e").translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")))


def holds(printed: str, computed: float) -> bool:
    """Whether what a reader works out is what is printed, to its last digit."""
    mantissa, _, power = printed.partition("·10")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (
        value(f"1·10{power}") and int(f"{value(f'1·10{power}'):e}".split("e")[1]) if power else 0
    )
    return abs(computed - value(printed)) <= (0.5 * 10.0**-places + 1e-9) * unit


@pytest.mark.parametrize("sign", ["*", "/", "+", "-"])
def test_what_a_formula_prints_is_what_a_reader_works_out(page: Engine, sign: str):
    noise = random.Random(sign)
    work = f"({{ a, b }}) => a {sign} b"
    call = f"""(a, b) => {{
      const shown = format.exact(({work})({{ a, b }}));
      return [format.shortest({{ a, b }}, (told) => format.exact(({work})(told)) === shown), shown];
    }}"""
    for _ in range(300):
        a, b = (
            noise.random() ** noise.choice([1, 0.01, 6]) * noise.choice([1, 1, 1.02, 4])
            for _ in range(2)
        )
        found, shown = page.call(call, a, b)  # type: ignore[misc]
        texts = found["texts"]
        assert found["holds"], (a, sign, b, texts, shown)
        one = value(texts["a"])
        other = value(texts["b"])
        computed = {"*": one * other, "/": one / other, "+": one + other, "-": one - other}[sign]
        assert holds(shown, computed), (texts, shown)


def test_what_no_digits_make_true_is_said_to_be_so(page: Engine):
    assert page.call("() => format.shortest({ a: 0.5 }, () => false, 2)") == {
        "texts": {"a": "0.5"},
        "holds": False,
    }


def test_a_number_that_is_not_1_never_looks_like_it(page: Engine):
    noise = random.Random(1)
    shown = """(x) => [
      format.exact(x),
      format.exact(x, 2),
      format.number(x),
      format.short(x),
      format.percent(x),
    ]"""
    for _ in range(200):
        x = 1 + noise.choice([-1, 1]) * 10 ** noise.uniform(-7, -2)
        told = page.call(shown, x)
        assert not {"1", "1.0", "100 %"} & set(told[: 4 + (x < 1)]), (x, told)  # type: ignore[index]
        assert value(told[0]) == pytest.approx(x, rel=0.005)  # type: ignore[index]
    assert page.call(shown, 1) == ["1", "1", "1", "1", "100 %"]
    assert page.call("() => [1.0031, 0.9996].map((x) => format.exact(x))") == ["1.003", "0.9996"]


def test_two_numbers_get_one_text_only_where_they_agree_in_it(page: Engine):
    noise = random.Random(2)
    for _ in range(300):
        a = noise.random() ** noise.choice([1, 8, 30]) * 5
        b = a * (1 + noise.choice([-1, 1]) * 10 ** noise.uniform(-9, 0))
        text = page.call("format.same", a, b)
        if text is None:
            assert len(set(page.call("format.pair", a, b))) == 2  # type: ignore[arg-type]
            assert abs(a - b) > 1e-6 * max(a, b)
        else:
            assert value(text) == pytest.approx(a, rel=1e-3) == pytest.approx(b, rel=1e-3)  # type: ignore[arg-type]
    assert page.call("format.same", 5.6e-7, 7.6e-4) is None
    assert page.call("format.same", 0, 1e-9) is None


@pytest.mark.parametrize("freedom", [1, 4, 8, 9, 15, 40, 1000])
def test_students_factor_is_that_of_scipy(page: Engine, freedom: int):
    stats = pytest.importorskip("scipy.stats")
    assert page.call("statistics.student", freedom) == pytest.approx(
        stats.t.ppf(0.975, freedom), rel=5e-5
    )


def test_bytes_stand_apart_by_plain_spaces_and_the_spaces_of_text_are_seen(page: Engine):
    assert page.call("format.visible", "F0 9F 8C") == "F0 9F 8C"
    assert page.call("format.visible", " the") == "␣the"
    assert page.call("format.visible", "AB and CD") == "AB␣and␣CD"
    assert page.call("format.visible", "12 45") == "12␣45"
