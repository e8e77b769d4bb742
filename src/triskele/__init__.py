"""Parallel robots from one file: Delta robots and the compliant 3PRS.

>>> import triskele as tk
>>> robot = tk.load("abb_irb360_6_1600")
>>> delta = tk.build(robot)
>>> q = delta.inverse([0.2, -0.3, -1.0, 0.5]).checked()

Names are imported when they are first used: `import triskele` does not import JAX. They are
listed once, in `__init__.pyi`, for type checkers and for the code below alike.
"""

import ast
from importlib import import_module
from pathlib import Path


def _homes() -> dict[str, str]:
    """The module of each public name: the lines `from module import name as name`."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = (line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom))
    pairs = ((str(line.module), name) for line in imports for name in line.names)
    return {name.name: module for module, name in pairs if name.asname == name.name}


_RENAMED = {
    "robots": ("triskele.description.catalogue", "names"),
    "flexible_robot": ("triskele.flexible.robot", "flexible"),  # not `flexible`, a package
}
_PUBLIC = _RENAMED | {name: (home, name) for name, home in _homes().items()}
__all__ = list(_PUBLIC)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Import a public name from where it lives, once."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'triskele' has no attribute '{name}'")
    home, original = _PUBLIC[name]
    if home == __name__:  # a package of its own
        return import_module(f"{home}.{original}")
    value = getattr(import_module(home), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
