"""What is built: contents, metadata, links; and every extra does its job in a bare environment."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from bare import ROOT, Bare, build

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


def test_the_index_would_take_it(wheel: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, wheel.parent.iterdir())],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == 2


def test_the_source_archive_is_the_repository(wheel: Path) -> None:
    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    for needed in ("tests/conftest.py", "docs/index.md", "docs/images/regret.png", "CHANGELOG.md",
                   "constraints.txt", "examples/own_world.py", "tools/commands_page.py", "Makefile",
                   "CITATION.cff", "setup.py",
                   "notebooks/5-late-contexts.ipynb", "typings/numba/__init__.pyi", "LICENSE"):  # fmt: skip
        assert needed in names
    assert not [name for name in names if re.search(r"__pycache__|\.nb[ic]$|docs/_build|\.db$", name)]


def test_the_wheel_holds_the_package_and_its_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert all(re.match(r"duelwise(/|-[\d.]+\.dist-info/)", name) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("ATTRIBUTION.md") for name in names)
    assert "duelwise/py.typed" in names


def test_links_of_the_description_are_absolute(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        about = packed.read(next(name for name in packed.namelist() if name.endswith("METADATA"))).decode()
    links = re.findall(r"\]\(([^)\s]+)", about)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []
    base = re.search(r"^Project-URL: Source, (.*)$", about, flags=re.M)
    assert base is not None
    for link in links:
        if link.startswith(base[1]):
            assert (ROOT / re.sub(r"^.*?/(?:blob|raw)/main/", "", link)).exists(), link
    for name in ("Source", "Issues", "Documentation", "Changelog"):
        assert f"Project-URL: {name}, https://" in about
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in about


SKLEARN = """
import numpy as np
from sklearn.linear_model import Ridge
from duelwise.learning.post_serving import SklearnModel
model = SklearnModel(Ridge()).start(runs=(0,), context_dim=1, post_dim=1, seed=0)
print(model.predict(np.ones((1, 2, 1))).shape)
"""
JOBS = {
    "": ("duelwise list --json - | grep rcdp-ucb", "rcdp-ucb"),
    "lab": (
        "python -c 'import duelwise.lab.report.html, duelwise.lab.sweep.runner as r; print(r)'",
        "runner",
    ),
    "service": (
        "export DUELWISE_STORE=sqlite:///d.db; duelwise create meals --context-dim 2; duelwise streams; "
        "duelwise verify meals; duelwise keys add k --role read",
        "as it was recorded",
    ),
    "service,postgres": (
        "duelwise streams --store postgresql://nobody@127.0.0.1:9/none 2>&1 && exit 1 || echo refused $?",
        "could not be opened",
    ),
    "lab,cluster": ("python -c 'import distributed, joblib; print(distributed.__version__)'", "20"),
    "sklearn": (f"python - <<'EOF'\n{SKLEARN}\nEOF", "(1, 2, 1)"),
    "all": ("python -c 'import duelwise.service, duelwise.client, duelwise.lab.report.html as h; print(h)'",
            "html"),
}  # fmt: skip


@pytest.mark.parametrize("extra", JOBS)
def test_an_extra_does_its_job_in_a_bare_environment(extra: str, wheel: Path, tmp_path: Path) -> None:
    bare = Bare(tmp_path / "env", wheel, extra)
    (tmp_path / "work").mkdir()
    job, said = JOBS[extra]
    out = bare.run(f"duelwise --help\n{job}", tmp_path / "work")
    assert "Research" in out
    assert said in out


def test_without_extras_the_others_are_missing(wheel: Path, tmp_path: Path) -> None:
    bare = Bare(tmp_path / "env", wheel)
    out = bare.run("duelwise streams 2>&1 || true; duelwise report 2>&1 || true", tmp_path)
    assert "pip install 'duelwise[service]'" in out
    assert "pip install 'duelwise[lab]'" in out
    assert "Traceback" not in out
