"""The format of robot files as a JSON schema, with which editors complete and check them."""

from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from triskele.description.kinds import known_kinds

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """One schema for robots and mechanisms; `kind` decides which of them a file must fit.

    It checks names and forms. What numbers must obey (units, ranges, shapes) it only says in
    words: that is the work of `load`.

    >>> json_schema()["title"]
    'triskele robot file'
    """
    formats: Any = reduce(or_, known_kinds().values())
    robots: TypeAdapter[Any] = TypeAdapter(Annotated[formats, Field(discriminator="kind")])  # pyright: ignore
    return {"$schema": _DIALECT, "title": "triskele robot file", **robots.json_schema()}
