#!/usr/bin/env python3
"""Fails if structure is written anywhere but in Structure and HostCall: a log of the edits of
sessions sees what Structure applies, so a second way to write would go unseen.

The functions that write are those of the classes below that are not const, as their headers declare
them. ALLOWED says which files may call which of them.

`writes.py ROOT` checks a tree; `writes.py --self-test` tests this check.
"""
import re

from source_tree import cpp_files, found_in, read, run_check, self_tested, without_comments

# Headers of the classes that hold or write structure.
CLASSES = {
    "Storage": "registry/storage/storage.h", "Hierarchy": "registry/storage/hierarchy.h", "Names": "registry/storage/names.h",
    "TextTable": "registry/storage/text_table.h", "TemplateTable": "registry/apply/template.h",
    "BulkRows": "registry/storage/bulk_rows.h", "TreeRows": "registry/apply/tree_rows.h"}
ALL = None
# {beginning of a path: the functions that files there may call}. Everything else may call none.
ALLOWED = {
    # These are the write path.
    "registry/apply/create_run.cc": ALL, "registry/apply/steps.cc": ALL, "registry/apply/structure.cc": ALL, "registry/apply/structure.h": ALL, "registry/apply/template_spawn.cc": ALL,
    "registry/apply/tree_rows.cc": ALL, "registry/storage/": ALL,
    # The host's own calls.
    "registry/delivery/host_call.h": ALL, "registry/apply/row_sites.cc": ALL,
    "registry/direct_rows.h": {"expect_rows", "undraw"},
    # Ids are issued for an input, or taken back with it. Archetypes are dropped after it.
    "registry/delivery/inputs.cc": {"reserve", "undraw", "drop_idle_archetypes"},
    "registry/delivery/inputs.h": {"archetypes_came"},
    "registry/templates/template_registry.cc": {"reserve", "undraw"},
    "registry/apply/outbox.cc": {"reserve", "intern"},
    # A load fills a separate state, which is then swapped in.
    "registry/state/": ALL, "registry/apply/registry_state.cc": {"swap"},
    # A return to a moment restores what was written.
    "registry/moments/": ALL,
    # Handlers write values of components.
    "registry/handlers/": {"touch"}, "registry/delivery/parallel_pass.cc": {"touch"},
    # Readers of the past, and of what was destroyed.
    "registry/host.h": {"begin_version", "add_preserver", "remove_preserver"},
    "registry/apply/managers.cc": {"log_destroyed"},
}
FOLDERS = ("registry/", "server/", "client/", "include/", "examples/")


def balanced(text, at, pair):
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == pair[0]) - (text[i] == pair[1])
        if depth == 0:
            return i + 1
    raise LookupError(f"{pair[0]} is not closed")


def declarations(body):
    """(access, text) of each declaration in the body of a class, without bodies of functions."""
    access, begin, at = "private", 0, 0
    while at < len(body):
        if label := re.compile(r"\s*(public|protected|private)\s*:").match(body, begin):
            access, begin, at = label.group(1), label.end(), max(at, label.end())
            continue
        if body[at] == "(":
            at = balanced(body, at, "()")
        elif body[at] == "{":
            end = balanced(body, at, "{}")
            yield access, body[begin:at]
            begin = at = end
            # A nested type, or a member with a value.
            if end_of_type := re.compile(r"[^;{}()]*;").match(body, end):
                if not re.search(r"\w\s*\(", body[end:end_of_type.end()]) and not re.match(r"\s*[\w\[:]", body[end:end_of_type.end()]):
                    begin = at = end_of_type.end()
        elif body[at] == ";":
            yield access, body[begin:at]
            begin = at = at + 1
        else:
            at += 1


def writers(header, name):
    """The functions of a class that are not const, private or static, nor have a const overload."""
    text = without_comments(header)
    found = re.search(rf"\b(?:class|struct)\s+{name}\b[^;{{]*\{{", text)
    if not found:
        raise LookupError(f"class {name} is not declared")
    body = text[found.end():balanced(text, found.end() - 1, "{}") - 1]
    changing, reading = set(), set()
    for access, declared in declarations(body):
        declared = re.sub(r"\[\[.*?\]\]", "", declared).strip()
        declared = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", declared, flags=re.DOTALL)
        function = re.search(r"(?:^|[\s&*])([A-Za-z_]\w*)\s*\((?!\s*\*)", declared)
        if not function or re.match(r"(using|friend|static|class|struct|enum|explicit|~)", declared) or "operator" in declared:
            continue
        if function.group(1) == name or "= delete" in declared:
            continue
        after = declared[balanced(declared, function.end() - 1, "()"):]
        if re.match(r"\s*const\b", after):
            reading.add(function.group(1))
        elif access != "private":
            changing.add(function.group(1))
    return changing - reading


def names_of(code, kind):
    """Variables and members of the class that a file declares, and functions that return one."""
    found = set(re.findall(rf"\b{kind}\s*[&*]?\s+[&*]?(\w+)\s*(?=[;,){{(=])", code)) | set(re.findall(rf"\b{kind}\s*[&*]\s*(\w+)\s*(?=[;,){{(=:])", code))
    return found - {"const"}


def receivers(code, known):
    """Names in a file that stand for objects of a class: known ones, and references to these."""
    found = set(known)
    while True:
        any_of = "|".join(sorted(found))
        more = set(re.findall(rf"\bauto\s*[&*]+\s*(\w+)\s*=\s*[^;]*?\b(?:{any_of})\b(?:\(\))?\s*;", code)) - found if found else set()
        if not more:
            return found
        found |= more


def violations(root, allowed=None):
    allowed = ALLOWED if allowed is None else allowed
    files = {path: without_comments(read(root, path)) for path in cpp_files(root) if path.startswith(FOLDERS)}
    used = set()
    for kind, header in CLASSES.items():
        if header not in files:
            continue
        changing = writers(read(root, header), kind)
        if not changing:
            yield f"{header}: {kind} has no function that writes; this check does not read it right"
            continue
        everywhere = set().union(*(names_of(code, kind) for path, code in files.items() if path.endswith(".h")))
        functions = set().union(*(re.findall(rf"\b{kind}\s*&\s*(\w+)\s*\(", code) for code in files.values()))
        for path, code in files.items():
            # Outside of registry/ its members are out of reach, and other things have their names.
            objects = receivers(code, (everywhere if path.startswith("registry/") else set()) | names_of(code, kind))
            any_of = "|".join([rf"\b(?P<object>{'|'.join(sorted(objects))})(?:\s*\(\s*\))?"] * bool(objects) +
                              [rf"\b(?:{'|'.join(sorted(functions))})\s*\(\s*\)"] * bool(functions) +
                              [rf"_cast\s*<\s*{kind}\s*[&*]\s*>\s*\([^;{{}}]*?\)"])
            call = re.compile(rf"(?:{any_of})\s*(?:\.|->)\s*(?:template\s+)?(?P<function>{'|'.join(sorted(changing))})\s*(?:<[^;()]*>)?\s*\(")
            for match in call.finditer(code):
                function, named = match["function"], match.groupdict().get("object")
                if named and other_type(code, named, kind):
                    continue
                places = [place for place in allowed if path.startswith(place)]
                good = [place for place in places if allowed[place] is ALL or function in allowed[place]]
                used |= {(place, function) for place in good}
                if not good:
                    yield (f"{path}:{code.count(chr(10), 0, match.start()) + 1}: {kind}::{function} is called here; structure is "
                           "written in registry/apply/structure.h alone, where edits of sessions are seen")
    for place, functions in allowed.items():
        if any(path.startswith(place) for path in files):
            for function in sorted(functions or []):
                if (place, function) not in used:
                    yield f"{place}: may call {function}, and does not; take it out of ALLOWED"


def other_type(code, name, kind):
    """True if the file declares the name itself, and only as something else."""
    declared = re.findall(rf"([\w:]+(?:<[^;()]*?>)?)\s*[&*]*\s+[&*]?\b{name}\s*(?=[;{{=(])", code)
    declared = [found for found in declared if found not in ("return", "auto", "const", "co_return")]
    return bool(declared) and not any(re.search(rf"\b{kind}\b", found) for found in declared)


STORAGE = """
class Storage : private Contents {
 public:
  explicit Storage(int types);
  Storage(const Storage&) = delete;
  using Contents::Ids;
  bool alive(Entity e) const noexcept { return ids_.at(e) != 0; }
  /// touch_all() in a comment.
  void touch(Chunk& chunk, std::uint32_t slot) { if (slot) { first_touch(chunk, slot); } }
  class ExpectedRows { public: void forget(); };
  static int of(int a);
  Row find(Entity e) const; Row find(Entity e);
  void (*on_layout)(void* context) = nullptr;
 protected:
  [[gnu::always_inline]] Row create(Entity e, Archetype& archetype) {
    return append(e, archetype);
  }
  template <class Copy>
  std::uint32_t move_plain(Entity e, Copy copy);
  void destroy(Entity e, bool park = false) { destroy(find(e), park); }
 private:
  void take_row(Row row);
};
"""
STATE = "struct RegistryState {\n  Storage storage;\n};\n"
GOOD = {
    "registry/storage/storage.h": STORAGE,
    "registry/apply/registry_state.h": STATE,
    "registry/apply/structure.cc": "void f(Storage& s) { s.create(e, a); s.destroy(e); state_.storage.move_plain<X>(e, c); }\n",
    "registry/handlers/words.h": "void f() { context.storage.touch(chunk, slot); }\n",
    "registry/delivery/d.cc": "void f() { x.storage.alive(e); x.storage.find(e); } // x.storage.destroy(e)\n",
    "registry/state/a.cc": "void f(Cache& storage) { Cache storage; storage.destroy(e); }\n",
    "server/a.cc": "void f() { page_.storage.destroy(e); }\n",
    "tests/a.cc": "void f() { state.storage.destroy(e); }\n",
}
# (file, text, the function that is found)
BAD = [
    ("registry/delivery/d.cc", "void f() { core_.state.storage.destroy(e); }", "Storage::destroy"),
    ("registry/delivery/d.cc", "void f() { core_->state\n.storage\n .create(e, a); }", "Storage::create"),
    ("registry/delivery/d.cc", "void f(Storage& rows) { rows.create(e, a); }", "Storage::create"),
    ("registry/delivery/d.cc", "void f(Storage *rows) { rows->create(e, a); }", "Storage::create"),
    ("registry/delivery/d.cc", "void f() { auto& rows = core_.state.storage; auto* more = &rows; more->move_plain<X>(e, c); }", "Storage::move_plain"),
    ("server/desk/d.cc", "void f() { const_cast<T&>(registry).storage().touch(c, 1); }\nStorage& storage();", "Storage::touch"),
    ("registry/handlers/words.h", "void f() { context.storage.touch(c, s); context.storage.destroy(e); }", "Storage::destroy"),
    ("registry/delivery/d.cc", "void f(const R& r) { const_cast<Storage&>(r.rows(1)).touch(c, 1); }", "Storage::touch"),
    ("registry/handlers/words.h", "", "may call touch, and does not"),
    ("registry/storage/storage.h", STORAGE.replace("  bool alive", "  void park(Entity e);\n  bool alive") + "void f(Storage& s);", None),
]
SELF_ALLOWED = {"registry/apply/structure.cc": ALL, "registry/storage/": ALL, "registry/handlers/": {"touch"}}


def self_test():
    find = lambda root: violations(root, SELF_ALLOWED)
    failures = [f"a tree without violations: {found}" for found in found_in(find, GOOD)]
    if (found := writers(STORAGE, "Storage")) != {"touch", "create", "move_plain", "destroy"}:
        failures.append(f"the functions that write: {sorted(found)}")
    for path, text, function in BAD:
        tree = GOOD | {path: text}
        if function is None:  # a new function is known at once
            tree |= {"registry/delivery/d.cc": "void f() { x.storage.park(e); }"}
            function = "Storage::park"
        found = found_in(find, tree)
        if len(found) != 1 or function not in found[0]:
            failures.append(f"{path} with {text!r}: expected one violation that says {function!r}, found {found}")
    return self_tested(len(BAD) + 2, failures)


if __name__ == "__main__":
    run_check(violations, self_test)
