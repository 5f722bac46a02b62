"""The command line. Each module registers its commands with `app`."""

from __future__ import annotations

import codecs
import json
import sys
from io import TextIOWrapper
from typing import NoReturn, cast

import typer
from rich.console import Console
from rich.text import Text

from duelwise.cli import (
    advise,
    answers,
    bench,
    demo,
    listing,
    reproduce,
    run,
    serve,
    streams,
    theory,
    whatif,
)
from duelwise.cli.app import app, fill_panels
from duelwise.cli.interrupting import STOPPED
from duelwise.errors import Conflict, DuelwiseError, InvalidInput, UnknownStream

__all__ = [
    "advise",
    "answers",
    "app",
    "bench",
    "demo",
    "listing",
    "main",
    "reproduce",
    "run",
    "serve",
    "streams",
    "theory",
    "whatif",
]

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for a wrong word; newer versions carry it in a package of their own."""

fill_panels()


def main() -> None:
    """Run a command; what goes wrong on purpose is one message and exit code 2, not a traceback."""
    _escape_what_cannot_be_shown()
    try:
        # Not `standalone`: a wrong word then comes here too, and is told as all else is.
        code = app(prog_name="duelwise", standalone_mode=False)
    except typer.Abort:
        sys.exit(STOPPED)
    except UsageError as error:
        _misused(cast(typer.BadParameter, error))
    except DuelwiseError as error:
        _refuse(type(error).__name__, f"{error}{_advice(error)}")
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away, as `head` does; nobody is left to tell
        sys.exit(141)
    except OSError as error:
        _refuse("File", _told(error))
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _escape_what_cannot_be_shown() -> None:
    """A letter that the terminal's encoding lacks is escaped as in JSON, which stays JSON by that."""
    codecs.register_error("as_json", _as_json)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="as_json")


def _as_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


ADVICE: dict[type[DuelwiseError], str] = {
    UnknownStream: "`duelwise streams` lists the streams of a store.",
    Conflict: "Nothing was changed.",
    InvalidInput: "Nothing was changed. Correct it and run the command again; --help lists what can be set.",
}
"""What to do, by the kind of error; other kinds say it in their own text."""


def _advice(error: DuelwiseError) -> str:
    return next((f" {said}" for kind, said in ADVICE.items() if isinstance(error, kind)), "")


def _misused(error: typer.BadParameter) -> NoReturn:
    """A word that is no command, option or value; nothing at all gets the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    path = error.ctx.command_path if error.ctx is not None else "duelwise"
    what = error.format_message().rstrip(".")
    said = f"{what}{'' if what.endswith('?') else '.'} You typed: {' '.join(['duelwise', *sys.argv[1:]])}."
    _refuse("Usage", f"{said} `{path} --help` lists what is expected.")


def _told(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return (
        f"{where}{error.strerror or error}. Expected a place that exists and may be read or written: "
        "check the path, its permissions and the space left, or name another."
    )


def _refuse(kind: str, message: str) -> NoReturn:
    # As plain text: brackets in a message, such as duelwise[lab], are no markup.
    Console(stderr=True).print(Text.assemble((f"{kind}: ", "bold red"), message), soft_wrap=True)
    sys.exit(2)
