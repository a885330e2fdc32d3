import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["pyhudi.table", "pyhudi.predicate.arrow.casting"])
def test_the_table_is_there_without_loading_pandas_or_clients_of_stores(module):
    code = f"import sys, {module}; print(sorted({{'pandas', 'pyspark', 'obstore'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
