#!/usr/bin/env python3
"""Fails if a question is answered outside the table that schemac writes from schema/session.fbs, if
it does not have exactly one handler, or if the questions in docs/protocol.md differ from those of
the schema.

`questions.py ROOT [TABLE]` checks a tree; TABLE is the question_table.md written by schemac.
`questions.py ROOT TABLE --write`, or `ninja question_page`, writes the table into docs/protocol.md.
`questions.py --self-test` tests this check.
"""
import os
import re
import sys

from source_tree import cpp_files, found_in, own_root, read, self_tested, without_comments

SCHEMA_FILE = "schema/session.fbs"  # it includes the files of the other subjects
PAGE = "docs/protocol.md"
BEGIN, END = "<!-- The table of questions is written by `ninja question_page`. -->\n", "<!-- End of the table of questions. -->\n"

# (file, question): mentions that are not dispatches.
ALLOWED = {
    # If a handler of the game hangs, the door answers with an error. Otherwise GetInfo is answered
    # through the table.
    ("server/door/session_protocol.cc", "GetInfo"),
    # A Fault names the type that it concerns.
    ("server/questions/clock_questions.cc", "SetClock"),
    # Messages that only read, although they need a right to change things (the audit log).
    *(("server/door/door_audit.cc", name) for name in (
        "DryRun", "RequestGrant", "ReadTemplates", "GetActivity", "BeginTrace", "EndTrace", "ListTokens")),
    # The edit in a DryRun is judged like an edit.
    ("server/session/judge.cc", "DryRun"),
}

PART = re.compile(r'^include "(schema/\w+\.fbs)";', re.MULTILINE)
QUESTION = re.compile(r"^\s*(?:table|struct)\s+(\w+)\s*\(([^)]*\banswer\s*:[^)]*)\)", re.MULTILINE)
COST = re.compile(r'\bcost\s*:\s*"(\w+)"')
NAME = r"(?:muster\s*::\s*)?session\s*::\s*(\w+)"
# Patterns by which code finds out which question it has.
DISPATCHES = [re.compile(pattern) for pattern in (
    rf"\bTypeTraits\s*<\s*(?:const\s+)?{NAME}\s*>", rf"\b(?:read|is|decode)\s*<\s*{NAME}\s*>", r"\bsession\s*::\s*(\w+)View\b",
    r'"muster\.session\.(\w+)"', rf"\busing\s+\w+\s*=\s*{NAME}\s*;", r"\busing\s+(?:muster\s*::\s*)?session\s*::\s*(\w+)\s*;",
    rf"\btypedef\s+{NAME}\b")]
HANDLERS = {"once": "answer_once", "slices": "begin_slices", "seldom": "begin_seldom", "door": "answer_at_door"}


def questions(root):
    """{name: cost} of all questions."""
    found = {}
    for path in [SCHEMA_FILE, *PART.findall(read(root, SCHEMA_FILE))]:
        text = without_comments(read(root, path))
        found |= {name: (COST.search(attributes) or ["", "?"])[1] for name, attributes in QUESTION.findall(text)}
    return found


def definitions(code, function, name):
    """Lines on which `function` is defined for the question: a body follows its parameters."""
    pattern = re.compile(rf"\b{function}\s*\((?:const\s+Asked\s*&\s*\w*\s*,\s*)?(?:const\s+)?(?:muster\s*::\s*)?session\s*::\s*{name}\b[^;{{}}]*\)\s*\{{")
    return [code.count("\n", 0, match.start()) + 1 for match in pattern.finditer(code)]


def violations(root):
    known = questions(root)
    if not known:
        yield f"{SCHEMA_FILE}: no message has the attribute `answer`"
    defined = {name: [] for name in known}
    for path in cpp_files(root):
        if not path.startswith("server/"):
            continue
        code = without_comments(read(root, path))
        for pattern in DISPATCHES:
            for match in pattern.finditer(code):
                if match.group(1) in known and (path, match.group(1)) not in ALLOWED:
                    yield (f"{path}:{code.count(chr(10), 0, match.start()) + 1}: {match.group(0)!r}: a question is found by the table "
                           "that schemac writes, and comes to its handler as a parameter; see docs/building.md")
        for name, cost in known.items():
            defined[name] += [f"{path}:{line}" for line in definitions(code, HANDLERS.get(cost, "answer_once"), name)]
    for name, places in defined.items():
        if len(places) != 1:
            handler = HANDLERS.get(known[name], known[name])
            yield f"{name}: {handler} is defined {len(places)} times{': ' if places else ''}{', '.join(places)}; a question has one handler"


def written(page, table):
    """The page with the table in it."""
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < begin:
        raise LookupError(f"{PAGE}: the lines {BEGIN.strip()!r} and {END.strip()!r} are missing")
    return page[:begin + len(BEGIN)] + "\n" + table + "\n" + page[end:]


def table_violations(root, table):
    page = read(root, PAGE)
    if written(page, table) != page:
        yield f"{PAGE}: the table of questions is not that of the schema; `ninja question_page` in the build folder writes it"


SCHEMA = """
/// Lists. answer:"No" stands in a comment.
struct ListA (message, remote:"view", answer:"As", cost:"once") { reserved:ulong; }
table Find (message, remote:"view", answer:"[As]",
            cost:"slices") { name:string; }
struct Beat (message, remote:"view", answer:"Beat", cost:"door") { n:ulong; }
struct Credit (message, remote:"view") { through:ulong; }
"""
GOOD = {
    "schema/session.fbs": 'include "schema/part.fbs";\n' + SCHEMA,
    "schema/part.fbs": 'table Load (message, remote:"view", answer:"As", cost:"seldom") { n:ulong; }\n',
    "server/questions/part.cc": "std::unique_ptr<SeldomWork> begin_seldom(const Asked& asked, const session::Load&) {}\n",
    "server/questions/a.cc": "// TypeTraits<session::ListA>::id in a comment\n"
                             "void answer_once(const Asked& asked, const session::ListA&, Steps&) {}\n",
    "server/questions/find.cc": "std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::Find& what) {\n}\n",
    "server/door/protocol.h": "void answer_at_door(session::Beat beat, std::uint64_t request);\n",
    "server/door/protocol.cc": "void Protocol::answer_at_door(session::Beat beat, std::uint64_t request) {}\n"
                               "x = session::read<session::Credit>(batch);\n",
    "server/door/session_protocol.cc": "",
    "client/a.cc": "TypeTraits<session::ListA>::id\n",
}
# (file, text, what the message must say)
BAD = [
    ("server/desk/b.cc", "switch (t) { case TypeTraits<session::ListA>::id: return; }", "found by the table"),
    ("server/desk/b.cc", "if (batch.type() == muster::TypeTraits< muster::session::Find >::id) f();", "found by the table"),
    ("server/desk/b.cc", "auto q = session::read<session::Find>(batch);", "found by the table"),
    ("server/desk/b.cc", "if (received.is<session::ListA>()) f();", "found by the table"),
    ("server/desk/b.cc", "session::FindView::from(table)", "found by the table"),
    ("server/desk/b.cc", 'if (type.name == "muster.session.ListA") f();', "found by the table"),
    ("server/desk/b.cc", "using Asks = session::ListA;", "found by the table"),
    ("server/desk/b.cc", "using session::ListA;", "found by the table"),
    ("server/desk/b.cc", "void answer_once(const Asked& asked, const session::ListA& what, Steps& steps) {}", "defined 2 times"),
    ("server/questions/a.cc", "void answer_once(const Asked& asked, const session::ListA&, Steps&);", "defined 0 times"),
    ("server/questions/a.cc", "std::unique_ptr<Inquiry> begin_slices(const Asked& asked, const session::ListA&) {}", "defined 0 times"),
    ("server/door/protocol.cc", "", "defined 0 times"),
    ("server/questions/part.cc", "", "defined 0 times"),
    ("schema/session.fbs", "struct Credit (message) { through:ulong; }", "no message has"),
]


def self_test():
    failures = [f"a tree without violations: {found}" for found in found_in(violations, GOOD)]
    for path, text, message in BAD:
        found = found_in(violations, GOOD | {path: text})
        if len(found) != 1 or message not in found[0]:
            failures.append(f"{path} with {text!r}: expected one violation that says {message!r}, found {found}")
    page = f"before\n{BEGIN}\n| old |\n\n{END}after\n"
    new = written(page, "| new |\n")
    if new != page.replace("old", "new") or written(new, "| new |\n") != new:
        failures.append(f"the table in its page: {new!r}")
    return self_tested(len(BAD) + 2, failures)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = arguments[0] if arguments else own_root
    table = None
    if len(arguments) > 1:
        with open(arguments[1], encoding="utf-8") as file:
            table = file.read()
    if arguments[2:] == ["--write"]:
        text = written(read(root, PAGE), table)
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    found = [*violations(root), *(table_violations(root, table) if table is not None else [])]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
