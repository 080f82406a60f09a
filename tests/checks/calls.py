"""Checks that every public call of the registry is in the lists of two tests.

calls.py ROOT [--print]    --self-test

The calls are read from the declarations in the headers. calls_inside_test.cc lists which calls stop
the program inside a handler, and warm_calls_test.cc lists which calls ask for no memory. A call
that is missing in a list, and an entry without a call, is an error.
--print writes the calls.
"""

import re
import sys
from pathlib import Path

# header: classes
INSIDE = {
    "registry/entity_registry.h": ["EntityRegistry"],
    "registry/host.h": ["RegistryReader", "RegistryHost"],
    "registry/profile.h": ["RegistryFigures", "RegistryProfile"],
}
WARM = INSIDE | {"registry/apply/outbox.h": ["Outbox", "Spawner"]}
LISTS = {
    "tests/registry/delivery/calls_inside_test.cc": INSIDE,
    "tests/registry/warm_calls_test.cc": WARM,
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*$", "", text, flags=re.S | re.M)


def body_of(text, name):
    """Returns what is between the braces of a class."""
    found = re.search(r"\bclass (?:\[\[.*?\]\] )?" + name + r"\b[^;{]*\{", text, re.S)
    if not found:
        raise SystemExit(f"calls.py: there is no class {name}")
    return text[found.end() : closing(text, found.end() - 1)]


def closing(text, at):
    """Returns the position of the bracket that closes the one at `at`."""
    pairs = {"{": "}", "(": ")", "[": "]", "<": ">"}
    left, right, depth = text[at], pairs[text[at]], 0
    for i in range(at, len(text)):
        depth += (text[i] == left) - (text[i] == right)
        if depth == 0:
            return i
    raise SystemExit("calls.py: unbalanced " + left)


def statements(body):
    """Yields (access, declaration) for each member."""
    access, start, i = "private", 0, 0
    while i < len(body):
        label = re.compile(r"\s*(public|protected|private)\s*:(?!:)").match(body, start)
        if label and label.start() == start:
            access, start = label.group(1), label.end()
            i = start
            continue
        if body[i] in "([":
            i = closing(body, i)
        elif body[i] == "{":
            end = closing(body, i)
            declaration = body[start:i]
            # A body ends the declaration, but braces in a default member value do not.
            if "(" in declaration or re.match(r"\s*(class|struct|enum|union)\b", declaration):
                yield access, declaration
                start = end + 1
                if re.match(r"\s*;", body[start:]):
                    start += re.match(r"\s*;", body[start:]).end()
                i = start
                continue
            i = end
        elif body[i] == ";":
            yield access, body[start:i]
            start = i + 1
        i += 1


def call_of(declaration):
    """Returns "name<template parameters>(parameters) const", or None if it is not a call."""
    text = re.sub(r"\[\[.*?\]\]", " ", declaration, flags=re.S)
    text = " ".join(text.split())
    if re.match(r"(using|friend|class|struct|enum|union|static constexpr|explicit)\b", text) or "= delete" in text:
        return None
    template = ""
    if text.startswith("template <"):
        end = closing(text, text.index("<"))
        template = text[text.index("<") : end + 1]
        text = text[end + 1 :].strip()
    text = re.sub(r"^requires [\w:]+(<[^>]*>)?( && [\w:]+(<[^>]*>)?)* ", "", text)
    if "(" not in text:
        return None
    before = text[: text.index("(")]
    if re.search(r"\boperator\b|~", before) or " " not in before.strip():
        return None  # an operator, a constructor, or a destructor
    end = closing(text, text.index("("))
    name = re.search(r"(\w+)$", before.strip()).group(1)
    parameters = re.sub(r" = (\{\}|[\w:]+)(?=,|$)", "", text[text.index("(") + 1 : end])
    const = " const" if re.match(r" const\b", text[end + 1 :]) else ""
    return f"{name}{template}({parameters}){const}"


def calls_of(header_text, classes):
    text = without_comments(header_text)
    found = []
    for name in classes:
        for access, declaration in statements(body_of(text, name)):
            call = call_of(declaration) if access == "public" else None
            if call:
                found.append(f"{name}::{call}")
    return found


def listed(test_text, classes):
    joined = re.sub(r'"\s*\n\s*"', "", test_text)
    return re.findall(r'"((?:' + "|".join(classes) + r')::[^"]+)"', joined)


def differences(calls, entries):
    for call in calls:
        if call not in entries:
            yield f"{call} is not listed"
    for entry in entries:
        if entry not in calls:
            yield f"{entry} is no public call"
    for entry in sorted({entry for entry in entries if entries.count(entry) > calls.count(entry) > 0}):
        yield f"{entry} is listed more than once"


def check(root):
    wrong = []
    for test, headers in LISTS.items():
        calls = [call for header, classes in headers.items() for call in calls_of((root / header).read_text(), classes)]
        classes = [name for classes in headers.values() for name in classes]
        wrong += [f"{test}: {what}" for what in differences(calls, listed((root / test).read_text(), classes))]
    return wrong


def self_test():
    header = """
    // class Other { public: int no(); };
    class [[nodiscard("why")]] Thing : Base<int> {
     public:
      using Base::get;
      explicit Thing(int a = 1);
      ~Thing();
      Thing(const Thing&) = delete;
      bool operator==(const Thing&) const;
      /// Comment; with (brackets)
      template <class... Cs>
      [[gnu::always_inline]] int make(std::string_view name, const Cs&... cs) const noexcept {
        return 1;
      }
      template <Table M>
        requires Native<M>
      void post(Entity target = {}, const M& message = no_message);
      void post(Entity target);
      std::size_t size() const noexcept { return all_.size(); }
      struct Inner { void not_this(); };
     private:
      void hidden();
      int all_ = 0;
    };"""
    calls = calls_of(header, ["Thing"])
    expected = [
        "Thing::make<class... Cs>(std::string_view name, const Cs&... cs) const",
        "Thing::post<Table M>(Entity target, const M& message)",
        "Thing::post(Entity target)",
        "Thing::size() const",
    ]
    assert calls == expected, calls
    test = '{"Thing::post(Entity target)"}, {"Thing::make<class... Cs>"\n   "(std::string_view name, const Cs&... cs) const"}, {"Thing::old()"}'
    entries = listed(test, ["Thing"])
    assert list(differences(calls, entries)) == [
        "Thing::post<Table M>(Entity target, const M& message) is not listed",
        "Thing::size() const is not listed",
        "Thing::old() is no public call",
    ], list(differences(calls, entries))
    assert list(differences(["a"], ["a", "a"])) == ["a is listed more than once"]


def main(*args):
    if args == ("--self-test",):
        self_test()
        return 0
    root = Path(args[0])
    if "--print" in args:
        for header, classes in WARM.items():
            print("\n".join(calls_of((root / header).read_text(), classes)))
        return 0
    wrong = check(root)
    for what in wrong:
        print(what, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
