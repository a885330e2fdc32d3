"""The rows of a scan as a dataset of Arrow, whose readers choose columns and rows by themselves.

Start at `base_file_dataset`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from pyhudi.engine.api import Engine, ScanFile
from pyhudi.engine.scanning import naming_file
from pyhudi.formats.parquet import damage_as_corrupt_data, read_footer
from pyhudi.queries.snapshot import ReadPlan, naming_lost_files
from pyhudi.storage.api import Storage
from pyhudi.storage.arrow_files import arrow_file_system

__all__ = ["base_file_dataset", "is_stored_as_shown"]


class _Scanner:
    """A scanner of Arrow whose stream begins without the lock of Python's interpreter, and keeps what ends it.

    `to_reader` of pyarrow 26 holds that lock while it begins. A file that cannot be opened meanwhile is an exception of
    Python's: the thread that has it waits for that lock, and holds one that the beginning waits for, for ever.
    """

    def __init__(self, scanner: ds.Scanner, dataset: "_OfPlan") -> None:
        self._scanner, self._dataset = scanner, dataset

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever Arrow's has
        return getattr(self._scanner, name)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._scanner.projected_schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            with damage_as_corrupt_data(), naming_lost_files(self._dataset.plan):
                yield from self._scanner.to_batches()
        except GeneratorExit:
            raise
        except BaseException as error:
            self._dataset.failure = error
            raise


class _OfPlan:
    plan: ReadPlan
    failure: BaseException | None = None
    """What ended a stream last: a reader across C gets a text of it."""

    def scanner(self, *given: Any, **how: Any) -> _Scanner:  # noqa: ANN401 - whatever Arrow takes
        return _Scanner(super().scanner(*given, **how), self)  # type: ignore[misc]  # of the dataset that this is mixed into


class _BaseFiles(_OfPlan, ds.FileSystemDataset):  # type: ignore[misc]  # pyarrow has no types
    pass


class _BaseFilesAndRows(_OfPlan, ds.UnionDataset):  # type: ignore[misc]  # pyarrow has no types
    pass


def base_file_dataset(
    plan: ReadPlan, schema: pa.Schema, files: list[ScanFile], rows: pa.Table | None = None
) -> ds.Dataset:
    """Return a dataset over base files that have the columns as they are shown, and rows beside them.

    Nothing is read yet.
    """
    files_of_arrow, parquet = arrow_file_system(plan.storage), ds.ParquetFileFormat()
    fragments = [parquet.make_fragment(file.path, filesystem=files_of_arrow) for file in files]
    dataset = _BaseFiles(fragments, schema, parquet, files_of_arrow)
    if rows is not None:
        dataset = _BaseFilesAndRows(schema, [dataset, ds.dataset(rows)])
    dataset.plan = plan
    return dataset


def is_stored_as_shown(plan: ReadPlan, schema: pa.Schema, engine: Engine) -> list[bool]:
    """Return of each base file whether it has the columns in the types of a schema, or not at all.

    Cost: one footer a file.
    """
    return engine.run(partial(_has_types, storage=plan.storage, schema=schema), plan.files)


def _has_types(file: ScanFile, *, storage: Storage, schema: pa.Schema) -> bool:
    with naming_file(file.path), storage.open_input(file.path) as source:
        footer = read_footer(source)
    stored, is_new = footer.types, footer.old_calendar is None
    return is_new and all(stored[field.name] == field.type for field in schema if field.name in stored)
