"""What a printed life needs, by `from tests.lives.everything import *`."""

from decimal import Decimal
from math import inf, nan

from tests.lives.life import Life, live, play
from tests.lives.rows import Where
from tests.lives.setting import Setting
from tests.lives.verbs import INDEXING, VERBS, Clause

__all__ = ["Clause", "Decimal", "Life", "Setting", "Where", "inf", "live", "nan", "play"]

globals().update({verb.__name__: verb for verb in VERBS | INDEXING})
__all__ += [verb.__name__ for verb in VERBS | INDEXING]
