"""Compare JSON with a schema, by the words of JSON Schema that docs/audit.schema.json uses."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
LIMITS = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
}
SIZES = {"minItems": lambda value, limit: len(value) >= limit, "maxItems": lambda value, limit: len(value) <= limit}
KNOWN = {*LIMITS, *SIZES} | {
    "$schema", "$defs", "$ref", "title", "type", "const", "enum", "required", "properties", "additionalProperties",
    "items",
}  # fmt: skip


def is_of(value, kind):
    if kind in ("number", "integer"):
        return isinstance(value, int if kind == "integer" else int | float) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def problems(value, schema, root=None, path="$"):
    """Yield what is wrong with a value, as sentences."""
    root = schema if root is None else root
    assert schema.keys() <= KNOWN, f"{schema.keys() - KNOWN} is not known here"
    if "$ref" in schema:
        yield from problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path)
    if "const" in schema and value != schema["const"]:
        yield f"{path} is {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is {value!r}, none of {schema['enum']}"
    kinds = schema.get("type", [])
    if kinds and not any(is_of(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{path} is {value!r}, not {kinds}"
        return
    for words, of in ((LIMITS, int | float), (SIZES, list)):
        for word, holds in words.items():
            if word in schema and isinstance(value, of) and not holds(value, schema[word]):
                yield f"{path} is {value!r} against {word} {schema[word]}"
    if isinstance(value, dict):
        yield from (f"{path} lacks {name}" for name in schema.get("required", ()) if name not in value)
        for name, found in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            yield from problems(found, inner, root, f"{path}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, found in enumerate(value):
            yield from problems(found, schema["items"], root, f"{path}[{i}]")
