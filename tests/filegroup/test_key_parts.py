import pyarrow as pa
from tests.filegroup.slices import Change, History

from pyhudi.filegroup.key_parts import carries_keys, parts_with_keys
from pyhudi.formats.parquet import read_footer


def test_row_groups_whose_bounds_leave_all_keys_out_are_not_named():
    history = History()
    history.write_base(*(Change(f"k{number:03}", 1) for number in range(70)))
    with history.storage.open_input(history.base.path) as source:
        footer = read_footer(source)
        assert carries_keys(footer)
        for keys, groups in ((["k010", "k011", "new"], [1]), (["a"], []), (["k000", "k069"], [0, 9])):
            assert [part.group for part in parts_with_keys(source, footer, pa.array(keys))] == groups
        assert parts_with_keys(source, footer, pa.array([], pa.string())) is None
        many = pa.array([f"k030{number:04}" for number in range(2000)])
        assert [part.group for part in parts_with_keys(source, footer, many)] == [4]
