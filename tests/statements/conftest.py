from tests.statements.running import session

__all__ = ["session"]
