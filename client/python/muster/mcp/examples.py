"""Examples in the descriptions of tools, made of the types that the world has."""
from ..schema import BOOL, SCALARS
from .answers import text_of

#: What a description contains in place of an example.
CONDITION, FIELD, EDITS = "{condition}", "{field}", "{edits}"


def examples_of(types):
    """Returns the texts that replace the words above."""
    number, word = _field(types, _is_number), _field(types, lambda field: field.enum is not None and not field.enum.bit_flags)
    conditions = [f"{number[0]}<10"] if number else []
    if word:
        conditions.append(f"{word[0]}={next(iter(word[1].enum.values))}")
    condition = " and ".join(conditions) or "Component.field<10"
    return {CONDITION: condition, FIELD: number[0] if number else "Component.field", EDITS: text_of(_edits(types, number))}


def _is_number(field):
    return field.base in SCALARS and field.base != BOOL and field.enum is None and not field.is_text


def _field(types, fits):
    """Returns the path and the description of a field of a component, of the game's own if there is
    one. Returns None if no component has one that fits."""
    names = sorted(types.components, key=lambda name: (name.startswith("scene."), name))
    for name in names:
        type_ = types.component(name)
        if name.startswith("muster.") or type_.right == "none":
            continue
        found = next((each for each in type_.fields if fits(each) and each.name != "reserved"), None)
        if found is not None:
            return f"{_said(types, type_)}.{found.name}", found
    return None


def _said(types, type_):
    """Returns the last part of a type's name if it is clear, and otherwise the full name."""
    return type_.short if type_.short in types and types.find(type_.short) is type_ else type_.name


def _edits(types, number):
    """Returns edits that would be accepted."""
    components = {}
    if all(f"scene.{name}" in types for name in ("Transform", "Shape", "Color")):
        components = {"Transform": {"position": {"y": 3}}, "Shape": {"size": {"x": 4}, "kind": "cylinder"},
                      "Color": {"value": {"g": 0, "b": 0}}}
    elif number:
        components = {number[0].rpartition(".")[0]: {}}
    components = {_said(types, types.find(f"scene.{name}")) if f"scene.{name}" in types else name: value
                  for name, value in components.items()}
    return [{"op": "create", "name": "gate", "as": "gate", "components": components},
            {"op": "create", "name": "post", "under": "$gate"}]
