#!/usr/bin/env python3
"""Builds the game in `game/` as a stranger does: away from the tree, by CMake and by Meson and by make, against an installation that was
moved after it was made and against the sources. It has headers called world.h, schema/table.h and so on of its own, and
prints the hash of its world, which is one and the same.

`run.py MESON SOURCE BUILD FOLDER WAY...`: FOLDER is where all is made; what is compiled from the sources stays there for the next time.
The last line is `N passed, N failed`.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

HERE = pathlib.Path(__file__).resolve().parent
GAME = HERE / "game"


class Failure(Exception):
    pass


def run(*command, environment=None, folder=None):
    # A cold cache has the registry compiled twice.
    ran = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                         timeout=1500, cwd=folder, env=os.environ | (environment or {}))
    if ran.returncode:
        raise Failure(f"{shlex.join(map(str, command))}: exit code {ran.returncode}\n{ran.stdout[-6000:]}")
    return ran.stdout.strip()


def quiet(*command, **options):
    """Runs a build, which must print no warning: nobody who builds a game can mend Muster's."""
    said = run(*command, **options)
    if warned := [line for line in said.splitlines() if "warning:" in line]:
        raise Failure("\n".join([f"{shlex.join(map(str, command))}: {len(warned)} warnings", *warned[:10]]))


def readme(source, language):
    """The only block of this language in README.md."""
    blocks = re.findall(f"```{language}\n(.*?)```", (source / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    if len(blocks) != 1:
        raise Failure(f"README.md has {len(blocks)} blocks in {language}, not one")
    return blocks[0]


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class Outside:
    """Each way gives what its game prints. Some build it and do not run it."""

    def __init__(self, meson, source, build, folder):
        self.meson, self.source, self.build, self.folder = shlex.split(meson), source, build, folder
        compiler = shlex.split(os.environ["CXX"]) if "CXX" in os.environ else ["c++"]
        self.launcher, self.compiler = compiler[:-1], compiler[-1]
        # One cache serves builds in several places.
        os.environ.update(CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")
        self.installed = None
        second = shutil.which("clang++-19" if "g++" in pathlib.Path(self.compiler).name.replace("clang++", "") else "g++-12")
        self.compilers = [self.compiler, *([second] if second else [])]

    def install(self):
        """Installs into a folder and moves what was installed to another."""
        first = empty(self.folder / "destination")
        run(*self.meson, "install", "-C", self.build, "--no-rebuild", "--tags", "devel", "--destdir", first)
        config = next(first.rglob("muster-config.cmake"))
        schemac = next(first.rglob("schemac"))
        prefix = schemac.parent.parent
        self.installed = self.folder / "moved"
        shutil.rmtree(self.installed, ignore_errors=True)
        prefix.rename(self.installed)
        shutil.rmtree(first)
        self.libraries = self.installed / config.parent.parent.parent.relative_to(prefix)
        self.pkgconfig = {"PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        return "moved"

    def project(self, name, build_file, called):
        """The game with this build file, away from the tree."""
        source = empty(self.folder / name / "src")
        for part in ("src", "schemas"):
            (source / part).symlink_to(GAME / part)
        shutil.copyfile(GAME / build_file, source / called)
        return source, self.folder / name / "b"

    def configure(self, source, folder, *options):
        launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.launcher[0]}"] if self.launcher else []
        run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.compiler}", "-DCMAKE_BUILD_TYPE=Debug",
            *launcher, *options)

    def cmake(self, source, folder, *options):
        self.configure(source, folder, *options)
        quiet("cmake", "--build", folder, "--target", "game")

    def readme(self, name, language, called):
        """README's hello with README's build file of this language, beside Muster, and nothing else."""
        folder = self.folder / name
        source = empty(folder / "game")
        for file, block in (("main.cc", "cpp"), ("game.fbs", "fbs"), (called, language)):
            (source / file).write_text(readme(self.source, block), encoding="utf-8")
        if not (folder / "muster").exists():
            (folder / "muster").symlink_to(self.source)
        return source, folder / "b"

    def readme_cmake(self):
        """Configures alone: CMake compiles all of the server first, for minutes."""
        source, folder = self.readme("readme_cmake", "cmake", "CMakeLists.txt")
        self.configure(source, empty(folder))
        return "configured"

    def readme_found(self):
        """With find_package, which README names in place of FetchContent."""
        source, folder = self.readme("readme_found", "cmake", "CMakeLists.txt")
        text, replaced = re.subn(r"include\(FetchContent\)\n.*\n.*\n", "find_package(muster REQUIRED)\n", readme(self.source, "cmake"))
        if replaced != 1:
            raise Failure("README.md has no three lines about FetchContent")
        (source / "CMakeLists.txt").write_text(text, encoding="utf-8")
        self.cmake(source, empty(folder), f"-DCMAKE_PREFIX_PATH={self.installed}")
        return "linked"

    def found_meson(self):
        """With the installation: the same lines take the sources in `subproject`."""
        source, folder = self.project("found_meson", "subproject.meson", "meson.build")
        place = self.pkgconfig | {"PATH": f"{self.installed / 'bin'}:{os.environ['PATH']}"}
        run(*self.meson, "setup", empty(folder), source, "--buildtype=debug", environment=place)
        quiet(*self.meson, "compile", "-C", folder, environment=place)
        return run(folder / "game")

    def readme_meson(self):
        """With the installation: the same lines take the sources in subprojects/muster."""
        source, folder = self.readme("readme_meson", "meson", "meson.build")
        place = self.pkgconfig | {"PATH": f"{self.installed / 'bin'}:{os.environ['PATH']}"}
        run(*self.meson, "setup", empty(folder), source, "--buildtype=debug", environment=place)
        quiet(*self.meson, "compile", "-C", folder, environment=place)
        return "linked"

    def server_unlinked(self):
        """Includes the server's header without its target: the error says what to link. After `fetched`."""
        said = {"server": "link muster::server", "plugin": "link muster::plugin"}
        for header, expected in said.items():
            file = empty(self.folder / "unlinked") / "main.cc"
            file.write_text(f"#include <muster/{header}.h>\n", encoding="utf-8")
            for compiler in self.compilers:
                ran = subprocess.run([compiler, "-std=c++23", "-fsyntax-only", f"-I{self.folder / 'fetched/b/_deps/muster-build/include'}",
                                      file], capture_output=True, text=True, check=False, timeout=300)
                errors = re.findall("error: .*", ran.stderr)
                if len(errors) != 1 or expected not in errors[0]:
                    raise Failure(f"{compiler} says of {file.read_text(encoding='utf-8')}{ran.stderr}")
        return "refused"

    def fetched(self):
        source, folder = self.project("fetched", "fetched.cmake", "CMakeLists.txt")
        (source / "muster").symlink_to(self.source)
        # Fewer and larger units: the registry is compiled in a fifth of the time.
        self.cmake(source, folder, "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0")
        return run(folder / "game")

    def found(self):
        source, folder = self.project("found", "found.cmake", "CMakeLists.txt")
        self.cmake(source, empty(folder), f"-DCMAKE_PREFIX_PATH={self.installed}")
        return run(folder / "game")

    def pkgconfig_make(self):
        folder = empty(self.folder / "made")
        for package in ("muster", "muster-world", "muster-server", "muster-client", "muster-plugin"):
            flags = shlex.split(run("pkg-config", "--cflags", package, environment=self.pkgconfig))
            folders = [flag for flag in flags if flag.startswith(("-I", "-isystem"))]
            if [os.path.realpath(flag.removeprefix("-I")) for flag in folders] != [os.path.realpath(self.installed / "include")]:
                raise Failure(f"pkg-config --cflags {package} names {folders}, not {self.installed}/include alone")
        for name in ("Makefile", "src"):
            (folder / name).symlink_to(GAME / name)
        run("make", "-C", folder, f"CXX={shlex.join([*self.launcher, self.compiler])}", f"SCHEMAS={GAME / 'schemas'}",
            environment=self.pkgconfig)
        return run(folder / "game")

    def headers(self):
        """All installed headers at once, upside down, and code that uses them: no compiler warns.
        tests/checks/headers.py looks at each header alone, where they are written."""
        names = [str(file.relative_to(self.installed / "include")) for file in (self.installed / "include").rglob("*.h")]
        needed = ["muster/registry/apply/timers.h", "muster/registry/delivery/pushed_sink.h", "muster/schema/session.h"]
        if missing := [name for name in needed if name not in names]:
            raise Failure(f"not installed: {missing}")
        file = empty(self.folder / "headers") / "all.cc"
        file.write_text("".join(f"#include <{name}>\n" for name in sorted(names, reverse=True)), encoding="utf-8")
        for compiler in self.compilers:
            run(compiler, "-std=c++23", *WARNINGS, "-fsyntax-only", f"-I{self.installed / 'include'}", file)
            # Some warnings come only when code is made and optimised.
            for source in ("rules.cc", "shapes.cc"):
                run(compiler, "-std=c++23", *WARNINGS, "-O2", "-c", "-o", os.devnull, f"-I{self.installed / 'include'}",
                    f"-I{self.schemas()}", GAME / "src" / source)
        return f"{len(names)} headers"

    def schemas(self):
        folder = self.folder / "headers"
        for name in ("game", "parts"):
            run(self.installed / "bin/schemac", GAME / f"schemas/{name}.fbs", "-o", folder / f"{name}.h")
        return folder

    def subproject(self):
        source, folder = self.project("subproject", "subproject.meson", "meson.build")
        (source / "subprojects").mkdir()
        (source / "subprojects/muster").symlink_to(self.source)
        again = ["--reconfigure"] if (folder / "build.ninja").exists() else []
        run(*self.meson, "setup", *again, folder, source, "--buildtype=debug", "-Doptimization=0", "-Ddebug=false",
            "--wrap-mode=forcefallback")
        quiet(*self.meson, "compile", "-C", folder, "game")
        return run(folder / "game")


def main(meson, source, build, folder, *ways):
    outside, hashes, failed = Outside(meson, pathlib.Path(source), build, pathlib.Path(folder)), {}, 0
    for way in ways:
        try:
            hashes[way] = getattr(outside, way)()
        except Failure as failure:
            failed += 1
            print(f"{way}: {failure}")
    print("\n".join(f"{way}: {said}" for way, said in hashes.items()))
    hashes = {way: said for way, said in hashes.items() if not way.startswith(("install", "headers", "readme", "server"))}
    if len(set(hashes.values())) != 1 or not all(re.fullmatch("hash [0-9a-f]{16}", said) for said in hashes.values()):
        failed += 1
        print("not one hash")
    print(f"{len(ways) + 1 - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
