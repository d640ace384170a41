#!/bin/sh
# run.sh PROGRAM CORPUS TARGET SECONDS: fuzzes from the seeds; what it finds stays in a folder beside the program.
set -eu
program=$1 seeds=$2/$3 found=$1.found seconds=$4
mkdir -p "$found"
# What libFuzzer ends with after a finding, 77, is what meson takes for a skipped test.
"$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 \
	-artifact_prefix="$found/" "$found" "$seeds" || exit 1
