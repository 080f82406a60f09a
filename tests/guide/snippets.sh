#!/bin/sh
# Runs the guide's snippets; they stop at the first that does not hold.
if "$1"; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; exit 1; fi
