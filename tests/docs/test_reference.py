"""The reference is made from the code, and leaves nothing public out; what pages show runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.page_pictures import PAGES, draw
from tools.tutorial_pages import write_tutorials

from duelwise.service import create_app
from duelwise.stream.events import KINDS
from tools import reference_pages

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_documented() -> None:
    assert reference_pages.undocumented() == []


def test_an_undocumented_name_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "silent.py").write_text('"""A module."""\n\ndef says_nothing(): ...\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(reference_pages.PAGES, "silent", ("silent",))
    assert reference_pages.undocumented() == ["silent.says_nothing"]
    with pytest.raises(reference_pages.Undocumented, match="says_nothing"):
        reference_pages.write_pages(tmp_path / "pages")


def test_the_pages_hold_python_http_and_events(tmp_path: Path) -> None:
    reference_pages.write_pages(tmp_path)
    assert "### `rcdp_ucb`" in (tmp_path / "python-learning.md").read_text()
    assert "### `DecisionStream`" in (tmp_path / "python-streams.md").read_text()
    events = (tmp_path / "event-log.md").read_text()
    assert [kind for kind in KINDS if f"## `{kind}`" not in events] == []
    http = (tmp_path / "http.md").read_text()
    for path in create_app(f"sqlite:///{tmp_path}/d.db").openapi()["paths"]:
        assert f" {path}`" in http


@pytest.mark.parametrize("page", ["past-votes.md", "own-parts.md"])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": page}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), flags=re.DOTALL):
        exec(compile(block, page, "exec"), known)


def created() -> dict[tuple[str, str], dict[str, str]]:
    """(store, stream) → page → settings, of every stream that a page has its reader create."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = page.read_text()
        served = re.search(r"duelwise serve --store (\S+)", text)
        store = served[1] if served else "sqlite:///duels.db"
        for body in re.findall(r"-d '(\{\"name\".*?\})'", text):
            name = re.search(r'"name": "([^"]+)"', body)
            assert name is not None
            found.setdefault((store, name[1]), {})[page.name] = body
        made = re.findall(r'DecisionStream\.create\("([^"]+)", "([^"]+)"', text)
        settings = re.findall(r"StreamSettings\(.*\)", text)
        for number, place in enumerate(made):
            found.setdefault(place, {})[page.name] = settings[number] if number < len(settings) else ""
    return found


def test_pages_that_are_followed_one_after_the_other_do_not_meet() -> None:
    """Two pages that create one stream must mean the same by it."""
    pages = created()
    assert len(pages) >= 4
    assert {place: said for place, said in pages.items() if len(set(said.values())) > 1} == {}


def test_readme_leads_to_examples_testing_and_the_start() -> None:
    readme = (ROOT / "README.md").read_text()
    for word in ("(examples)", "`duelwise.testing`", "docs/start/researcher.md", "docs/start/engineer.md"):
        assert word in readme
    shown = (ROOT / "docs" / "own-parts.md").read_text()
    assert [file.name for file in (ROOT / "examples").glob("*.py") if file.name not in shown] == []


def test_a_tutorial_is_its_notebook(tmp_path: Path) -> None:
    write_tutorials(ROOT / "notebooks", tmp_path)
    assert len(list(tmp_path.glob("*.md"))) == 5
    first = (tmp_path / "1-the-paper-in-15-minutes.md").read_text()
    assert first.startswith("# The paper in 15 minutes")
    assert "with y:" in first
    assert list(tmp_path.glob("1-*.png"))


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_the_pictures_of_a_page_are_made_by_its_code(page: str, tmp_path: Path) -> None:
    shown = draw(page, tmp_path)
    assert shown
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(shown)
    assert all((ROOT / "docs" / "images" / name).exists() for name in shown)


@pytest.mark.long
@pytest.mark.parametrize("source", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_is_kept(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code and texts as the one that is kept; pictures may differ in a pixel."""
    import nbformat
    from tools.run_notebooks import executed

    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}")
    fresh, kept = executed(source), nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    assert [cell.source for cell in fresh.cells] == [cell.source for cell in kept.cells]
    for new, old in zip(fresh.cells, kept.cells, strict=True):
        texts = ["".join(one.text for one in cell.get("outputs", ()) if "text" in one) for cell in (new, old)]
        assert texts[0] == texts[1]
