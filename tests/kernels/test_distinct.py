import pyarrow as pa

from pyhudi.kernels.distinct import over_distinct, over_distinct_texts, texts_of


def test_a_function_sees_every_value_once_and_no_null():
    seen = []
    column = pa.chunked_array([["a", None], [], ["b", "a"]])
    made = over_distinct_texts(column, lambda text: seen.append(text) or text.upper())
    assert made.to_pylist() == ["A", None, "B", "A"]
    assert sorted(seen) == ["a", "b"]


def test_a_column_without_chunks_keeps_the_result_type():
    made = over_distinct(pa.chunked_array([], pa.string()), lambda distinct: pa.array([], pa.int8()))
    assert (made.type, len(made)) == (pa.int8(), 0)


def test_texts_are_python_strings():
    assert texts_of(pa.array(["a", "b"])) == ["a", "b"]
