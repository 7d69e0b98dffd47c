"""Answers against an OpenAPI 3.0.3 document: as much of it as ours use, and stricter: a member that is not described is a fault."""
import datetime
import re


class Described:
    def __init__(self, document):
        self.document = document
        self.routes = [(re.compile("^" + re.sub(r"\{[^}]+\}", "[^/]+", path) + "$"), path) for path in document["paths"]]

    def resolve(self, part):
        while "$ref" in part:
            found = self.document
            for step in part["$ref"].split("/")[1:]:
                found = found[step]
            part = found
        return part

    def operation(self, path):
        """(template, operation) of a path, those without a variable first."""
        found = [route for pattern, route in sorted(self.routes, key=lambda one: "{" in one[1]) if pattern.match(path)]
        assert found, f"{path} is not described"
        return found[0], self.document["paths"][found[0]]["get"]

    def check(self, path, status, content_type, value):
        """Raises what is wrong. `value`: of JSON."""
        template, operation = self.operation(path)
        assert str(status) in operation["responses"], f"{template}: status {status} is not described: {value}"
        content = self.resolve(operation["responses"][str(status)]).get("content")
        if content is None:
            assert not value, f"{template}: {status} has a body: {value!r}"
            return
        kind = (content_type or "").split(";")[0].strip()
        assert kind in content, f"{template}: {status} with {content_type}, described are {sorted(content)}"
        if kind == "application/json":
            self.value(content[kind]["schema"], value, template)

    def value(self, schema, value, at):
        schema = self.resolve(schema)
        if value is None:
            assert schema.get("nullable"), f"{at} is null"
            return
        if "enum" in schema:
            assert value in schema["enum"], f"{at}: {value!r} is none of {schema['enum']}"
        getattr(self, "check_" + schema.get("type", "any"))(schema, value, at)

    def check_any(self, schema, value, at):
        pass

    def check_object(self, schema, value, at):
        assert isinstance(value, dict), f"{at} is {value!r}"
        for name in schema.get("required", ()):
            assert name in value, f"{at} lacks {name}"
        more = schema.get("additionalProperties", "properties" not in schema)
        for name, one in value.items():
            known = schema.get("properties", {}).get(name)
            assert known is not None or more, f"{at}.{name} is not described: {one!r}"
            if known is not None:
                self.value(known, one, f"{at}.{name}")
            elif isinstance(more, dict):
                self.value(more, one, f"{at}.{name}")

    def check_array(self, schema, value, at):
        assert isinstance(value, list), f"{at} is {value!r}"
        assert len(value) <= schema.get("maxItems", len(value)), f"{at} has {len(value)}"
        for i, one in enumerate(value):
            self.value(schema["items"], one, f"{at}[{i}]")

    def check_string(self, schema, value, at):
        assert isinstance(value, str), f"{at} is {value!r}"
        if schema.get("format") == "date-time":
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value), f"{at} is {value!r}"
            datetime.datetime.fromisoformat(value[:19])
        if "pattern" in schema:
            assert re.search(schema["pattern"], value), f"{at} is {value!r}"

    def check_integer(self, schema, value, at):
        assert isinstance(value, int) and not isinstance(value, bool), f"{at} is {value!r}"
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), f"{at} is {value}"

    def check_boolean(self, schema, value, at):
        assert isinstance(value, bool), f"{at} is {value!r}"
