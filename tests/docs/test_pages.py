"""The pages are true: what they name exists, what they leave out is nothing, what they show runs."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from duelwise.learning import estimation, radii, recipes, selection
from duelwise.learning.core import equations
from duelwise.learning.post_serving import POST_SERVING
from duelwise.theory import bounds

DOCS = Path(__file__).parents[2] / "docs"
NAME = re.compile(r"`((?:types|learning|lab|randomness|testing|stream|errors|theory)\.[A-Za-z_.]+)`")


def named(page: str) -> list[str]:
    return sorted(set(NAME.findall((DOCS / page).read_text())))


def exists(name: str) -> bool:
    """Whether a dotted name leads to a module, an attribute, a field, or what an instance is given."""
    parts, found = name.split("."), importlib.import_module("duelwise")
    for i, part in enumerate(parts):
        if inspect.ismodule(found) and not hasattr(found, part):
            path = "duelwise." + ".".join(parts[: i + 1])
            if not hasattr(found, "__path__") or importlib.util.find_spec(path) is None:
                return False
            found = importlib.import_module(path)
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            last = i == len(parts) - 1
            return last and (
                part in inspect.get_annotations(found) or f"self.{part}" in inspect.getsource(found)
            )
    return True


@pytest.mark.parametrize("page", ["notation.md", "departures.md", "how-to-choose.md"])
def test_what_a_page_names_exists(page: str) -> None:
    names = named(page)
    assert len(names) > 5
    assert [name for name in names if not exists(name)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "types.Duel.z",
        "learning.core.equations.third_arm",
        "learning.learner.DuelingLearner.alpha",
        "lab.no.x",
    ],
)
def test_a_wrong_name_would_be_noticed(wrong: str) -> None:
    assert not exists(wrong)


@pytest.mark.parametrize("module", [equations, radii, bounds])
def test_every_equation_is_in_the_notation(module: object) -> None:
    assert inspect.ismodule(module)
    short = module.__name__.removeprefix("duelwise.")
    public = {
        f"{short}.{name}"
        for name, part in vars(module).items()
        if not name.startswith("_") and getattr(part, "__module__", "") == module.__name__ and callable(part)
    }
    assert len(public) > 5
    assert public - set(named("notation.md")) == set()


SYMBOLS = """
t T K d_x d_y d x_{t,k} 𝒳_t y_{t,k} φ_* ε_{t,k} z_{t,k} z*_{t,k} Θ_* u_{t,k} g ġ l_t γ_t o_t τ_t Λ μ_τ σ C
k*_t r_t R_T φ̂ ŷ ẑ Θ_t H_t(Θ) Δz_s ω_s α Ṽ_t W̃_t λ κ a_t b_t c_t ℋ_t D_t β_t δ M L 𝒟 η_t ζ_t S_{t,1}
S_{t,2} S_{t,3} G_t(Θ) 𝒜_t ℰ ℬ_{t,1} ℬ_{t,2} ℬ_{t,3} A_T B_T I_1 I_2 C_0 a 𝒟' ℐ_1 ℐ_2 ℐ_3 σ_κ(x) Δ M̃_t
L_x L_ε σ_ε p β
"""
"""Every symbol that the paper gives a meaning to."""


def test_every_symbol_of_the_paper_has_its_row() -> None:
    lines = (DOCS / "notation.md").read_text().splitlines()
    cells = " ".join(" ".join(line.split("|")[1:3]) for line in lines if line.startswith("| "))
    words = set(re.findall(r"(?:\{[^}]*\}|[^\s,=≤{])+", cells))
    assert [symbol for symbol in re.split(r"\s+", SYMBOLS.strip()) if symbol not in words] == []


def test_every_setting_and_part_is_spoken_of() -> None:
    text = (DOCS / "departures.md").read_text() + (DOCS / "how-to-choose.md").read_text()
    choices = [*recipes.RECIPES, *estimation.ESTIMATORS, *POST_SERVING]
    settings = [*inspect.get_annotations(recipes.Settings)]
    rules = [
        name
        for name, part in vars(selection).items()
        if isinstance(part, type) and hasattr(part, "pairs") and name != "Selection"
    ]
    assert [word for word in [*choices, *settings, *rules] if word not in text] == []


def test_the_measurements_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The program behind the figures, with two short runs and without the networks."""
    page = (DOCS / "how-to-choose.md").read_text()
    program = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert program is not None
    short = program[1].replace("RUNS, HORIZON = 10, 1000", "RUNS, HORIZON = 2, 12")
    short = short.replace(', "mlp-replay", "mlp"', "")
    assert "HORIZON = 2, 12" in short
    exec(short, {})
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 19
    assert all("±" in line for line in shown)


def test_the_pages_are_about_the_project_alone() -> None:
    for page in DOCS.glob("*.md"):
        assert not re.search(r"/work|/tmp|RESEARCH|\bissue #?\d", page.read_text()), page.name
