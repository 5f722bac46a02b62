"""Tutorials of the site from the executed notebooks: text, code, and the outputs that are kept in them."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any


def write_tutorials(notebooks: Path, folder: Path) -> None:
    """One page for each notebook, and nothing left of earlier ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.md"), *folder.glob("*.png")]:
        old.unlink()
    for notebook in sorted(notebooks.glob("*.ipynb")):
        (folder / f"{notebook.stem}.md").write_text(page(notebook, folder))


def page(notebook: Path, folder: Path) -> str:
    """A notebook as Markdown; its pictures go beside it."""
    parts: list[str] = []
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [_output(one, f"{notebook.stem}-{number}", folder) for one in cell["outputs"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: dict[str, Any], name: str, folder: Path) -> str:
    if output["output_type"] == "stream":
        return _literal("".join(output["text"]))
    data = output.get("data", {})
    if "image/png" in data:
        (folder / f"{name}.png").write_bytes(base64.b64decode("".join(data["image/png"])))
        return f"![What the code above draws]({name}.png)"
    return _literal("".join(data.get("text/plain", [])))


def _literal(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


if __name__ == "__main__":
    write_tutorials(Path(sys.argv[1]), Path(sys.argv[2]))
