"""What Java spells: (Arrow type, value, text), printed by Java 25. Every rendering of a key is held to this table."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf, nan

import pyarrow as pa

CASES = [
    (pa.bool_(), True, "true"),
    (pa.bool_(), False, "false"),
    (pa.int8(), -128, "-128"),
    (pa.int16(), 7, "7"),
    (pa.int32(), -(2**31), "-2147483648"),
    (pa.int64(), 2**63 - 1, "9223372036854775807"),
    (pa.string(), "", ""),
    (pa.string(), "a b/ü", "a b/ü"),
    (pa.large_string(), "large", "large"),
    (pa.binary(), b"bytes", "bytes"),
    (pa.date32(), date(1970, 1, 1), "1970-01-01"),
    (pa.date32(), date(9, 12, 31), "0009-12-31"),
    (pa.date32(), date(2024, 2, 29), "2024-02-29"),
    (pa.timestamp("us", "UTC"), datetime(2024, 1, 2, 3, 4, 5, 123456, UTC), "1704164645123456"),
    (pa.timestamp("us", "UTC"), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), "-1"),
    (pa.timestamp("us"), datetime(1970, 1, 1, 0, 0, 1), "1000000"),
    (pa.timestamp("ms", "UTC"), datetime(2024, 1, 2, 3, 4, 5, 123000, UTC), "1704164645123"),
    (pa.time64("us"), time(0, 0, 1), "1000000"),
    (pa.time32("ms"), time(0, 0, 1), "1000"),
    (pa.decimal128(10, 2), Decimal("123.40"), "123.40"),
    (pa.decimal128(10, 2), Decimal(0), "0.00"),
    (pa.decimal128(5, 0), Decimal(-7), "-7"),
    (pa.decimal128(9, 6), Decimal("0.000001"), "0.000001"),
    (pa.decimal128(9, 6), Decimal(0), "0.000000"),
    (pa.decimal128(9, 7), Decimal(0), "0E-7"),
    (pa.decimal128(9, 7), Decimal("0.0000001"), "1E-7"),
    (pa.decimal128(38, 18), Decimal(0), "0E-18"),
    (pa.decimal128(38, 18), Decimal("-0.0000001234"), "-1.23400000000E-7"),
    (pa.decimal128(38, 18), Decimal("12345678901234567890.5"), "12345678901234567890.500000000000000000"),
    (pa.float64(), 0.0, "0.0"),
    (pa.float64(), -0.0, "-0.0"),
    (pa.float64(), 100.0, "100.0"),
    (pa.float64(), 0.1, "0.1"),
    (pa.float64(), 0.1 + 0.2, "0.30000000000000004"),
    (pa.float64(), 0.001, "0.001"),
    (pa.float64(), 0.00099, "9.9E-4"),
    (pa.float64(), 1.5e-5, "1.5E-5"),
    (pa.float64(), 123456.5, "123456.5"),
    (pa.float64(), 9999999.0, "9999999.0"),
    (pa.float64(), 1e7, "1.0E7"),
    (pa.float64(), -1234567.891, "-1234567.891"),
    (pa.float64(), 123456789.125, "1.23456789125E8"),
    (pa.float64(), 1e10, "1.0E10"),
    (pa.float64(), 4.35e16, "4.35E16"),
    (pa.float64(), 1e22, "1.0E22"),
    (pa.float64(), 5e-324, "4.9E-324"),
    (pa.float64(), 2e-323, "2.0E-323"),
    (pa.float64(), 2.2250738585072014e-308, "2.2250738585072014E-308"),
    (pa.float64(), 1.7976931348623157e308, "1.7976931348623157E308"),
    (pa.float64(), nan, "NaN"),
    (pa.float64(), inf, "Infinity"),
    (pa.float64(), -inf, "-Infinity"),
    (pa.float32(), 0.1, "0.1"),
    (pa.float32(), 1e10, "1.0E10"),
    (pa.float32(), 16777216.0, "1.6777216E7"),
    (pa.float32(), 9.999e-4, "9.999E-4"),
    (pa.float32(), 3.4028234663852886e38, "3.4028235E38"),
    (pa.float32(), 1.401298464324817e-45, "1.4E-45"),
    (pa.float32(), nan, "NaN"),
]

NEWER_JAVA_CASES = [
    (pa.float64(), 1e23, "1.0E23"),
    (pa.float64(), 2e23, "2.0E23"),
    (pa.float64(), 8.41e21, "8.41E21"),
    (pa.float32(), 1.17549435e-38, "1.1754944E-38"),
    (pa.float32(), 3.363116314379561e-44, "3.4E-44"),
]
"""Java before 19 spells these with other digits (`9.999999999999999E22`)."""

CONSISTENT_TIMESTAMP_CASES = [
    (datetime(1970, 1, 1, tzinfo=UTC), "1970-01-01 00:00:00.0"),
    (datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), "1970-01-01 00:00:00.001"),
    (datetime(1969, 12, 31, 23, 59, 59, 998_999, UTC), "1969-12-31 23:59:59.999"),
    (datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), "1970-01-01 00:00:00.0"),
    (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02 03:04:05.0"),
    (datetime(2024, 1, 2, 3, 4, 5, 120_000, UTC), "2024-01-02 03:04:05.12"),
    (datetime(2024, 1, 2, 3, 4, 5, 123_456, UTC), "2024-01-02 03:04:05.123"),
]
"""Instants in microseconds, with consistent timestamps, in a JVM whose zone is UTC."""
