"""Joda time patterns: the language in which Hudi's timestamp-based key generators are configured.

Pure, one value at a time; callers pass distinct values. Start at `joda_pattern`, then `format_time` and
`parse_text_time`.
"""

from pyhudi.kernels.joda.output import format_time
from pyhudi.kernels.joda.parsing import parse_text_time
from pyhudi.kernels.joda.pattern import JodaPattern, joda_pattern
from pyhudi.kernels.joda.zones import zone_named

__all__ = ["JodaPattern", "format_time", "joda_pattern", "parse_text_time", "zone_named"]
