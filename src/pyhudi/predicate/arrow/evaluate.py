"""From a tree and rows to values, with SQL's three-valued logic.

Pure. What Spark would not compute for a row (behind a false `and`, in another branch of a `case`) is not computed here
either if it could fail, so that `b <> 0 and a / b > 1` never divides by zero. Start at `evaluate`; `mask` is for
filters.
"""

import datetime
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.arithmetic import arithmetic, negative
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.comparing import compare, is_among, is_in, matches_pattern
from pyhudi.predicate.arrow.functions import apply
from pyhudi.predicate.arrow.rows import Rows, back, fields_of
from pyhudi.predicate.arrow.values import Value, common_type, is_integer, plain
from pyhudi.predicate.model import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Logical,
    Negative,
    Not,
    Opaque,
    Operator,
    walk,
)
from pyhudi.predicate.temporal import date_of, timestamp_of

__all__ = ["as_literal_of", "check", "evaluate", "literals_of", "mask"]

_BOOL = pa.bool_()
_SAFE_CALLS = frozenset({"coalesce", "concat", "if", "length", "lower", "ltrim", "nullif", "rtrim", "trim", "upper"})

_WITH_CONSTANTS = frozenset(
    {"date_format", "from_unixtime", "ltrim", "regexp_extract", "regexp_replace", "round", "rtrim", "substring"}
    | {"to_date", "to_timestamp", "trim", "unix_timestamp"}
)
"""Functions whose arguments behind the first are the same for all rows."""


def evaluate(expression: Expression, rows: pa.Table | pa.RecordBatch) -> pa.Array | pa.ChunkedArray:
    """Compute an expression for every row.

    Shape:  n rows -> n values; chunked if a table is given. A bare column comes back as it is.
    Nulls:  as in SQL: unknown, unless the expression asks for nulls.
    Raises: ExpressionError for unknown columns, types that do not fit, overflow, division by zero, failing casts.
    Cost:   reads only the columns the expression names; what cannot fail is computed for all rows.
    """
    if isinstance(rows, pa.RecordBatch):
        return _top(expression, Rows(batch=rows, count=rows.num_rows))
    read = rows.select(fields_of(expression, rows.schema))
    if read.num_columns == 0:
        return pa.chunked_array([_top(expression, Rows(batch=_empty(read.schema), count=rows.num_rows))])
    batches = read.to_batches() or [_empty(read.schema)]
    return pa.chunked_array([_top(expression, Rows(batch=batch, count=batch.num_rows)) for batch in batches])


def mask(expression: Expression, rows: pa.RecordBatch | pa.Table) -> pa.BooleanArray:
    """Return for every row whether a condition is true; unknown is false.

    Raises: ExpressionError as `evaluate`, and if the expression is no condition.
    """
    values = evaluate(expression, rows)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return pc.fill_null(_condition(values), False)


def check(expression: Expression, schema: pa.Schema) -> pa.DataType:
    """Return the type of an expression's values.

    Raises: ExpressionError for columns that are not in the schema, naming the nearest, and types that do not fit.
    Cost:   that of the columns the expression names.
    """
    read = pa.schema([schema.field(name) for name in fields_of(expression, schema)])
    return _top(expression, Rows(batch=_empty(read), count=0)).type


def as_literal_of(node: Expression, value: Value, other: pa.DataType) -> Value:
    """Read a text literal beside a date or timestamp as one, and a whole number beside a decimal exactly.

    Raises: ExpressionError if the text is no date or timestamp.
    """
    if not isinstance(node, Literal) or node.value is None:
        return value
    if isinstance(node.value, str) and (pt.is_date32(other) or pt.is_timestamp(other)):
        constant = pa.scalar(_moment(node.value, other), other)
    elif is_integer(node.type) and pt.is_decimal128(other):
        constant = pa.scalar(node.value, pa.decimal128(len(str(abs(node.value))), 0))
    else:
        return value
    return constant if isinstance(value, pa.Scalar) else pa.repeat(constant, len(value))


def literals_of(options: Sequence[Expression], type: pa.DataType) -> pa.Array | None:
    """Return literals as one array of a type, where all are texts or all whole numbers as it is; else None.

    Thousands of keys come in this way. None says that each has to be read as an expression.
    """
    if not (is_integer(type) or pt.is_string(type)):
        return None
    values = [one.value for one in options if isinstance(one, Literal) and _is_within(one.type, type)]
    return pa.array(values, type) if len(values) == len(options) else None


def _is_within(narrow: pa.DataType, wide: pa.DataType) -> bool:
    is_narrower = is_integer(narrow) and is_integer(wide) and narrow.bit_width <= wide.bit_width
    return is_narrower or bool(narrow == wide)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _top(expression: Expression, rows: Rows) -> pa.Array:
    if isinstance(expression, Column):
        return rows.column(expression)
    return rows.spread(_value(expression, rows))


def _value(expression: Expression, rows: Rows) -> Value:
    match expression:
        case Column():
            return plain(rows.column(expression))
        case Literal():
            constant = pa.scalar(expression.value, expression.type)
            # For no rows nothing is computed, so that 1/0 in a branch that no row takes does not fail.
            return rows.spread(constant) if rows.count == 0 else constant
        case Not():
            return pc.invert(_condition(_value(expression.value, rows)))
        case Negative():
            return negative(_value(expression.value, rows))
        case Binary():
            return _binary(expression, rows)
        case Logical():
            return _logical(expression, rows)
        case Case():
            return _case(expression, rows)
        case Cast():
            return cast(_value(expression.value, rows), expression.type)
        case Call():
            return _call(expression, rows)
        case Opaque():
            return plain(_opaque(expression, rows))
        case _:
            found = _tested(expression, rows)
            return pc.invert(found) if expression.is_negated else found


def _tested(expression: IsNull | InList | Between | Like, rows: Rows) -> Value:
    value = _value(expression.value, rows)
    match expression:
        case IsNull():
            return pc.is_null(value)
        case Like():
            return matches_pattern(value, expression.pattern, expression.escape)
        case Between():
            return _between(expression, value, rows)
        case InList():
            return _in(expression, value, rows)


def _condition(value: Value) -> Value:
    if value.type != _BOOL and not pt.is_null(value.type):
        raise ExpressionError("give a condition, not a value", type=str(value.type))
    return cast(value, _BOOL)


def _binary(expression: Binary, rows: Rows) -> Value:
    left, right = _value(expression.left, rows), _value(expression.right, rows)
    left, right = (
        as_literal_of(expression.left, left, right.type),
        as_literal_of(expression.right, right, left.type),
    )
    if expression.operator.is_comparison:
        return compare(expression.operator, left, right)
    return arithmetic(expression.operator, left, right)


def _moment(text: str, type: pa.DataType) -> object:
    if pt.is_date32(type):
        return date_of(text)
    return timestamp_of(text, zone=None if type.tz is None else datetime.UTC)


def _between(expression: Between, value: Value, rows: Rows) -> Value:
    sides: list[Value] = []
    bounds = ((Operator.GREATER_EQUAL, expression.lower), (Operator.LESS_EQUAL, expression.upper))
    for operator, bound in bounds:
        side = as_literal_of(bound, _value(bound, rows), value.type)
        sides.append(compare(operator, as_literal_of(expression.value, value, side.type), side))
    return pc.and_kleene(*sides)


def _in(expression: InList, value: Value, rows: Rows) -> Value:
    if not expression.options:
        return pa.scalar(False)
    wanted = literals_of(expression.options, value.type)
    if wanted is not None and isinstance(value, pa.Array):
        return is_in(value, wanted)
    options = [as_literal_of(node, _value(node, rows), value.type) for node in expression.options]
    if all(isinstance(option, pa.Scalar) for option in options) and isinstance(value, pa.Array):
        return is_among(value, options)
    type_ = value.type
    for option in options:
        type_ = common_type(type_, option.type)
    found: Value = pa.scalar(False)
    for option in options:
        found = pc.or_kleene(found, compare(Operator.EQUAL, cast(value, type_), cast(option, type_)))
    return found


def _logical(expression: Logical, rows: Rows) -> Value:
    combine = pc.and_kleene if expression.is_and else pc.or_kleene
    found = _condition(_value(expression.terms[0], rows))
    for term in expression.terms[1:]:
        decided = pc.equal(found, pa.scalar(not expression.is_and))
        open_ = rows.spread(pc.invert(pc.fill_null(decided, False))) if _can_fail(term) else None
        right = _value(term, rows) if open_ is None else _where(term, rows, open_)
        found = combine(found, _condition(right))
    return found


def _case(expression: Case, rows: Rows) -> Value:
    """Choose a branch for each row: conditions and branches are computed for the rows that reach them."""
    undecided = rows.spread(pa.scalar(True))
    chosen: list[tuple[pa.Array, Value]] = []
    for condition, result in expression.whens:
        found = pc.fill_null(_condition(_where(condition, rows, undecided)), False)
        taken = pc.and_(undecided, rows.spread(found))
        chosen.append((taken, _where(result, rows, taken)))
        undecided = pc.and_not(undecided, taken)
    rest = expression.otherwise
    last: Value = pa.scalar(None) if rest is None else _where(rest, rows, undecided)
    type_ = last.type
    for _, value in chosen:
        type_ = common_type(type_, value.type)
    result = cast(last, type_)
    for taken, value in reversed(chosen):
        result = pc.if_else(taken, cast(value, type_), result)
    return result


def _where(expression: Expression, rows: Rows, wanted: pa.Array) -> Value:
    """Evaluate for the wanted rows only, if it could fail for others; those may then be null."""
    if not _can_fail(expression) or bool(pc.all(wanted, min_count=0).as_py()):
        return _value(expression, rows)
    some = rows.where(wanted)
    return back(some.spread(_value(expression, some)), wanted)


def _can_fail(expression: Expression) -> bool:
    for node in walk(expression):
        if isinstance(node, Cast | Negative | Opaque):
            return True
        if isinstance(node, Binary) and not node.operator.is_comparison:
            return True
        if isinstance(node, Call) and node.name not in _SAFE_CALLS:
            return True
    return False


def _call(expression: Call, rows: Rows) -> Value:
    nodes = expression.arguments
    match expression.name:
        case "if":
            return _case(Case(whens=((nodes[0], nodes[1]),), otherwise=nodes[2]), rows)
        case "nullif":
            same = Binary(operator=Operator.EQUAL, left=nodes[0], right=nodes[1])
            first = _value(nodes[0], rows)
            return pc.if_else(pc.fill_null(_value(same, rows), False), pa.scalar(None, first.type), first)
        case "coalesce":
            return _coalesce(nodes, rows)
        case name if name in _WITH_CONSTANTS:
            return apply(name, [_value(nodes[0], rows), *[_constant(node, name) for node in nodes[1:]]])
        case name:
            return apply(name, [_value(node, rows) for node in nodes])


def _constant(node: Expression, name: str) -> pa.Scalar:
    """Return an argument that must be one number for all rows, because it decides the type of the result."""
    if not isinstance(node, Literal):
        raise ExpressionError("write a number for this argument", function=name)
    return pa.scalar(node.value, node.type)


def _coalesce(nodes: Sequence[Expression], rows: Rows) -> Value:
    found = [_value(nodes[0], rows)]
    missing = rows.spread(pc.is_null(found[0]))
    for node in nodes[1:]:
        value = _where(node, rows, missing)
        found.append(value)
        missing = pc.and_(missing, rows.spread(pc.is_null(value)))
    type_ = found[0].type
    for value in found[1:]:
        type_ = common_type(type_, value.type)
    if pt.is_null(type_):
        return found[0]
    result = cast(found[0], type_)
    for value in found[1:]:
        result = pc.if_else(pc.is_null(result), cast(value, type_), result)
    return result


def _opaque(expression: Opaque, rows: Rows) -> pa.Array:
    from pyarrow import acero

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([rows.batch])))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression.expression], ["value"]))
    try:
        computed = acero.Declaration.from_sequence([source, project]).to_table(use_threads=False)
    except (pa.ArrowException, NotImplementedError) as error:
        raise ExpressionError("write a pyarrow expression that fits the columns", why=str(error)) from error
    return computed.column(0).combine_chunks()
