#!/bin/sh
# Time and memory of each command on ten million events with 50 000 distinct stacks.
#   bench.sh MAKE_BIG MEMSTACKS
set -eu
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"$1" "$folder/big" 10000000 50000
for command in report unresolved 'export --folded' 'export --pprof' 'export --speedscope' 'export --dhat' \
	'export --html' "diff $folder/big"; do
	# shellcheck disable=SC2086 # options are words
	/usr/bin/time -f "$(printf '%-20s' "${command%% /*}") %e s  %M KiB" "$2" $command "$folder/big" >/dev/null
done
