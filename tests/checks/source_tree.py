"""What the checks and tools share: the files of the tree, C++ text without its comments, and what a file includes."""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Folders of C++ sources; the first part of a path that an #include in quotes may begin with.
STRANGERS = "tests/outside/game/"  # a game of its own, which names no file of the tree
FOLDERS = ("system", "schema", "messages", "registry", "server", "client", "include", "examples", "bench", "tests")


def tracked(root):
    """Paths of all files of the tree, relative to it: what git tracks or would track, or everything outside a checkout."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=False, timeout=60)
    if git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name]
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files]
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def cpp_files(root):
    return [name for name in tracked(root)
            if name.endswith((".h", ".cc")) and name.startswith(FOLDERS) and not name.startswith(STRANGERS)]


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)([<"])([^>"\n]+)[>"]', re.MULTILINE)


def without_comments(text):
    """Comments become spaces and newlines, so that line numbers stay; strings are left as they are."""
    def blank(match):
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found
    return _COMMENT_OR_STRING.sub(blank, text)


def includes(text):
    """(line, '<' or '"', path) of each #include outside comments."""
    code = without_comments(text)
    return [(code.count("\n", 0, match.start()) + 1, match.group(2), match.group(3)) for match in INCLUDE.finditer(code)]


def included_file(folders, file, quote, name):
    """(path from its folder, file) of what is included, None where it is not of the tree."""
    folders = [pathlib.Path(folder) for folder in folders]
    if quote == "<":
        here = [(name, folder / "include" / name) for folder in folders if name.startswith("muster/")]
    else:
        here = [(name, folder / name) for folder in folders]
        beside = file.parent / name  # as generated headers include one another
        here += [(str(beside.relative_to(folder)), beside) for folder in reversed(folders) if beside.is_relative_to(folder)]
    return next(((path, there) for path, there in here if there.is_file()), None)


def reached(folders, files):
    """{path from its folder: file} of everything of the tree that these files include, directly or not. Folders are where
    an include in quotes is looked for, the source and the build root; after them, beside the file that includes it. One
    that is nowhere raises LookupError."""
    found, waiting = {}, list(files)
    while waiting:
        file = pathlib.Path(waiting.pop())
        for line, quote, name in includes(file.read_text(encoding="utf-8", errors="replace")):
            there = included_file(folders, file, quote, name)
            if there and there[0] not in found:
                found[there[0]] = there[1]
                waiting.append(there[1])
            elif not there and quote == '"':
                raise LookupError(f"{file}:{line}: {name} is in none of {', '.join(map(str, folders))}")
    return dict(sorted(found.items()))


def fingerprint(folders, file, *more):
    """Changes whenever the file, or one of the tree that it includes, or one of the texts in `more` does."""
    hashed = hashlib.sha256("\0".join(more).encode())
    for path in [file, *reached(folders, [file]).values()]:
        hashed.update(str(path).encode() + b"\0" + pathlib.Path(path).read_bytes())
    return hashed.hexdigest()


def self_tested(cases, failures):
    """Prints how a check's own test went; the exit code."""
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{cases - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not cases else 0


own_root = str(pathlib.Path(__file__).resolve().parents[2])


def found_in(find, tree):
    """Returns what find(ROOT) gives for a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return list(find(root))


def run_check(find, self_test):
    """What `check.py [ROOT]` and `check.py --self-test` do: find(ROOT) gives the lines that say what is wrong. Without a root it
    is the tree that the check lies in."""
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    found = list(find(sys.argv[1] if len(sys.argv) > 1 else own_root))
    print("\n".join(found))
    sys.exit(bool(found))


def self_test():
    with tempfile.TemporaryDirectory() as path:
        root = pathlib.Path(path)
        tree = {"a/one.h": '#include "a/two.h"\n#include <muster/x.h>\n#include <vector>\n', "a/two.h": '#include "one.h"\n',
                "include/muster/x.h": '// #include "no.h"\n', "build/a/made.h": '#include "other.h"\n#include "a/one.h"\n',
                "build/a/other.h": "", "lost.h": '#include "nowhere.h"\n'}
        for name, text in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        folders, one = [root, root / "build"], {"a/one.h", "a/two.h", "muster/x.h"}
        failures = [f"{name}: {found}" for name, expected in (("a/one.h", one), ("build/a/made.h", one | {"a/other.h"}))
                    if (found := set(reached(folders, [root / name]))) != expected]
        try:
            failures.append(f"lost.h: {reached(folders, [root / 'lost.h'])}")
        except LookupError as error:
            failures += [] if "nowhere.h is in none of" in str(error) else [str(error)]
    return self_tested(3, failures)


if __name__ == "__main__":
    sys.exit(self_test())
