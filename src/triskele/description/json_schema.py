"""The format of robot files as a JSON schema, with which editors complete and check them."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from triskele.description.mechanism import Mechanism
from triskele.description.schema import Robot

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """One schema for robots and mechanisms; `kind` decides which of them a file must fit.

    It checks names and forms. What numbers must obey (units, ranges, shapes) it only says in
    words: that is the work of `load`.

    >>> json_schema()["title"]
    'triskele robot file'
    """
    robots = TypeAdapter(Annotated[Robot | Mechanism, Field(discriminator="kind")])
    return {"$schema": _DIALECT, "title": "triskele robot file", **robots.json_schema()}
