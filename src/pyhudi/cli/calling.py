"""The command that calls a procedure, and the surface it runs on: tables by their paths. Start at `call`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pyhudi.cli.arguments import AsJson, StorageOption
from pyhudi.errors import InvalidInput

if TYPE_CHECKING:
    from pyhudi.statements.api import Entry
    from pyhudi.statements.model import TableName

__all__ = ["COMMANDS", "PathRunner", "call"]


@dataclass(frozen=True, slots=True)
class PathRunner:
    """A surface without a catalog: a table's name is its path."""

    storage_options: Mapping[str, str]

    @property
    def catalog(self) -> "PathRunner":
        """Return itself: it finds tables."""
        return self

    def find(self, name: "TableName") -> "Entry":
        """Return a table whose name is its path."""
        from pyhudi.statements.api import Entry

        return Entry(name=name, location=str(name))

    def open(self, location: str) -> Any:  # noqa: ANN401 - a Table; named lazily by pyhudi
        """Open the table at a path."""
        import pyhudi

        return pyhudi.open_table(location, storage_options=self.storage_options)

    def options(self) -> dict[str, str]:
        """Return no options: the table's own hold."""
        return {}

    def value(self, expression: str, place: int) -> NoReturn:
        """Refuse: arguments are texts here, and no expressions."""
        raise InvalidInput("pyhudi call takes values, and no expressions", expression=expression)


def call(
    procedure: Annotated[
        str, typer.Argument(metavar="PROCEDURE", help="Its name; help lists them.", show_default=False)
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Arguments, such as table=PATH limit=5; help cmd=NAME shows which there are."
        ),
    ] = None,
    *,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Call a procedure, as CALL does in SQL; tables are named by their paths."""
    import sys

    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import storage_options
    from pyhudi.engine.progress import printable
    from pyhudi.statements.procedures import from_text, procedure_named, run_procedure

    named = procedure_named(procedure)
    found = run_procedure(
        PathRunner(storage_options(storage_option)), named.name, (), from_text(named, _pairs(arguments))
    )
    if named.name == "help" and not json:
        for line in found.column("result")[0].as_py().splitlines():
            sys.stdout.write("  ".join(map(printable, line.rstrip().split("\t"))).rstrip() + "\n")
        return
    print_table(found, 0, as_json=json)


def _pairs(arguments: Sequence[str] | None) -> list[tuple[str, str]]:
    """Read `key=value` texts.   Raises: InvalidInput for a text without `=`."""
    pairs = [one.partition("=") for one in arguments or ()]
    for key, equals, _ in pairs:
        if not equals or not key:
            raise InvalidInput("an argument of a procedure is written key=value", argument=key)
    return [(key.strip(), value) for key, _, value in pairs]


COMMANDS = (call,)
"""In the order in which `--help` lists them."""
