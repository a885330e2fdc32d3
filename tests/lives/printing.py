"""Show what a life has found: what to paste into Python to see it again, and what a user would type.

Start at `snippet`.
"""

from tests.lives.life import Found


def snippet(found: Found) -> str:
    """Return Python that plays a life again; behind each step the call that it stands for."""
    life = found.life
    lines = [
        f"# {found.says}",
        f"# seed {life.seed}; table = {life.setting.call()}",
        f"# options = {life.setting.options}",
        "from tests.lives.everything import *",
        "life = Life(",
        f"    {life.seed},",
        f"    {life.setting!r},",
        "    (",
    ]
    for step in life.steps:
        lines += [f"        # {step.call()}", f"        {step!r},"]
    return "\n".join([*lines, "    ),", ")", "print(play(life, is_whole=True).says)"])
