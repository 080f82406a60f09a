# Sourced by the tools here: the repository as working directory, the default toolchain, and how a build is configured.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# use_clang | use_gcc: the compiler of the next `configure`. clang-19 with mold is the default; GCC 12 must pass as well.
use_clang() { export CC=clang-19 CXX=clang++-19 CC_LD=mold CXX_LD=mold; }
use_gcc() { export CC=gcc-12 CXX=g++-12 CC_LD=mold CXX_LD=mold; }
use_clang
# Build directories and checkouts share the compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# Options of `configure` that combine five files into one unit, so that headers are read less
# often, and that refuse a build without PostgreSQL.
combined=(-Dunity=on -Dunity_size=5 -Dpostgres=enabled)

# configure DIR OPTION...: makes the build directory, or gives an existing one these options and looks at the tree again;
# says nothing unless it fails. Meson does not look for ccache itself where CXX is set.
configure() {
  local dir=$1 log code=0
  local again=()
  shift
  log=$(mktemp)
  [ ! -f "$dir/build.ninja" ] || again=(--reconfigure)
  local cache=
  if command -v ccache >/dev/null; then cache="ccache "; fi
  CC=$cache$CC CXX=$cache$CXX meson setup "${again[@]}" "$dir" "$@" >"$log" 2>&1 || { code=$?; cat "$log"; }
  rm -f "$log"
  return $code
}
