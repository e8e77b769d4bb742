"""The robots that ship with the package, and the templates for new ones."""

from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from triskele.errors import UnknownName, did_you_mean


def _folder(name: str) -> Traversable:
    return files("triskele.description") / name


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Names of the shipped robots, in alphabetical order."""
    return tuple(
        sorted(
            entry.name.removesuffix(".toml")
            for entry in _folder("robots").iterdir()
            if entry.name.endswith(".toml")
        )
    )


def text(name: str) -> str:
    """The TOML file of the shipped robot `name`."""
    if name not in names():
        raise UnknownName(
            f"No robot is called '{name}'. {did_you_mean(name, names())} "
            "For a file of your own, give its path, ending in .toml."
        )
    return (_folder("robots") / f"{name}.toml").read_text(encoding="utf-8")


def template(kind: str) -> str:
    """A commented robot file of that `kind` (delta or 3prs), ready to be edited."""
    known = [entry.name.removesuffix(".toml") for entry in _folder("templates").iterdir()]
    if kind not in known:
        raise UnknownName(f"There is no template '{kind}'. {did_you_mean(kind, known)}")
    return (_folder("templates") / f"{kind}.toml").read_text(encoding="utf-8")
