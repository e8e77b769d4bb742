"""The schema for editors: shipped robots fit it, misspelt keys do not."""

import json
import re
import tomllib

import pytest

from triskele.description import catalogue
from triskele.description.json_schema import json_schema

SCHEMA = json_schema()
TYPES = {
    "object": dict,
    "array": (list, tuple),
    "string": str,
    "number": (int, float),
    "integer": int,
    "null": type(None),
    "boolean": bool,
}
UNDERSTOOD = {
    *("$ref", "anyOf", "oneOf", "type", "const", "enum", "pattern", "properties", "required"),
    *("additionalProperties", "items", "default", "description", "title", "examples", "$defs"),
    *("discriminator", "$schema", "minProperties"),
}


def fits(value, schema):
    """Whether `value` fits `schema`, for the keywords that ours uses."""
    assert set(schema) <= UNDERSTOOD, set(schema) - UNDERSTOOD
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    if "anyOf" in schema and not any(fits(value, item) for item in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(fits(value, item) for item in schema["oneOf"]) != 1:
        return False
    if "type" in schema:
        wanted = TYPES[schema["type"]]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if isinstance(value, (list, tuple)):
        return all(fits(item, schema.get("items", {})) for item in value)
    return not isinstance(value, dict) or _members_fit(value, schema)


def _members_fit(value, schema):
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    if len(value) < schema.get("minProperties", 0):
        return False
    known = all(fits(value[key], item) for key, item in properties.items() if key in value)
    rest = [item for key, item in value.items() if key not in properties]
    allowed = not rest if others is False else all(fits(item, others) for item in rest)
    return known and allowed and set(schema.get("required", ())) <= set(value)


@pytest.mark.parametrize("name", catalogue.names())
def test_shipped_robots_fit(name):
    assert fits(tomllib.loads(catalogue.text(name)), SCHEMA)


@pytest.mark.parametrize("kind", catalogue.templates())
def test_templates_fit(kind):
    assert fits(tomllib.loads(catalogue.template(kind)), SCHEMA)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('kind    = "delta"', 'kind = "scara"'),
        ('kind    = "delta"', 'kind = "3prs"'),
        ("\narm_length ", "\narm_lenght "),
        ('"300 mm"', "300"),
        ('{ value = [120, 0, 0], unit = "mm" }', '{ value = [120, 0, 0], units = "mm" }'),
        ('"my_delta"', '"My Delta"'),
        ("[bodies.rod]", "[bodies.rods]"),
    ],
)
def test_common_mistakes_do_not_fit(right, wrong):
    text = catalogue.template("delta")
    assert right in text
    assert not fits(tomllib.loads(text.replace(right, wrong, 1)), SCHEMA)


def test_the_schema_is_plain_json_with_a_dialect_and_a_title():
    assert json.loads(json.dumps(SCHEMA))["title"] == "triskele robot file"
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(SCHEMA["discriminator"]["mapping"]) == {"delta", "3prs", "limbs", "mechanism"}


def test_fields_say_what_they_measure():
    geometry = SCHEMA["$defs"]["DeltaGeometry"]["properties"]
    assert geometry["arm_length"]["description"] == (
        "length [m]: one number, or three, one per limb"
    )
    margin = SCHEMA["$defs"]["Limits"]["properties"]["margin"]
    assert margin["description"] == "fraction [no unit]: one number"
    assert SCHEMA["$defs"]["Body"]["description"].startswith("Mass, centre and inertia of a body")
