"""Procedures: what CALL and `pyhudi call` can name, one file a family, all in one registry.

They answer from a table's timeline, files and metadata, or run one of its verbs; parameters, their order and defaults,
and the columns of results are those of Apache Hudi. Start at `run_procedure`.
"""

from pyhudi.statements.procedures.arguments import from_text, signature
from pyhudi.statements.procedures.model import Parameter, Procedure
from pyhudi.statements.procedures.registry import PROCEDURES, call_procedure, procedure_named, run_procedure

__all__ = [
    "PROCEDURES",
    "Parameter",
    "Procedure",
    "call_procedure",
    "from_text",
    "procedure_named",
    "run_procedure",
    "signature",
]
