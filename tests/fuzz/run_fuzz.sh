#!/usr/bin/env bash
# run_fuzz.sh TARGET WRITE_SEEDS [SEED_FILE...]: fuzzes for 5 seconds (MUSTER_FUZZ_USUAL, where a target needs more), or for
# MUSTER_FUZZ_SECONDS, beginning with the seeds.
# An input that fails is kept in the working directory; its name is printed.
set -euo pipefail
target=$1 write_seeds=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$write_seeds" "$folder"
corpus=$folder/$(basename "$target")
mkdir -p "$corpus"
for seed in "$@"; do cp "$seed" "$corpus"; done
"$target" "$corpus" -max_total_time="${MUSTER_FUZZ_SECONDS:-${MUSTER_FUZZ_USUAL:-5}}" -max_len="${MUSTER_FUZZ_LENGTH:-8192}" -timeout=20 -rss_limit_mb=2048 \
  -print_final_stats=1 -artifact_prefix="$PWD/$(basename "$target")-"
