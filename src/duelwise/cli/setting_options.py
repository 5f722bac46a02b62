"""The settings of a stream as options of a command, made from their one definition."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, cast

import typer

from duelwise.errors import InvalidInput
from duelwise.stream_fields import SettingField, setting_fields
from duelwise.types import JSON

_WRITTEN: dict[type, str] = {tuple: "Separated by commas: ", Mapping: "JSON: "}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every setting; it is handed those given, as `settings`."""
    signature = inspect.signature(command, eval_str=True)
    own = {name: one for name, one in signature.parameters.items() if name != "settings"}
    made = {one.name: _option(one) for one in setting_fields()}

    @wraps(command)
    def called(**given: Any) -> None:
        settings = {
            one.name: _read(one, given.pop(one.name))
            for one in setting_fields()
            if given[one.name] is not None
        }
        command(**{name: value for name, value in given.items() if name in own}, settings=settings)

    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in [*own.values(), *made.values()]]
    called.__dict__["__signature__"] = signature.replace(parameters=parameters)
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _option(one: SettingField) -> inspect.Parameter:
    kind = one.type if one.type in (int, float, bool, str) else str
    words = _WRITTEN.get(one.type, "")
    default = "" if one.required or one.default in ((), {}) else f" By default {one.default}."
    option = typer.Option(help=f"{words}{one.help}{default}", show_default=False)
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[cast("Any", kind | None), option],
    )


def _read(one: SettingField, value: Any) -> JSON:
    if one.type is tuple:
        return [part for part in str(value).split(",") if part]
    if one.type is Mapping:
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"--{one.name} is no JSON: {error}.") from error
    return value
