#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 40-cached.sh - samples of 8 MiB from the page cache, beside two threads that only pread.

. "$(dirname "$0")/lib/figures.sh"

files=80		# x 8 MiB = 640 MiB
passes=${PASSES:-24}	# over all of them: a second or so
rounds=${ROUNDS:-8}	# the first of which does not count

bare()
{
	# shellcheck disable=SC2086 # names without blanks
	measure "$1" "$BENCH/bare_pread" "$passes" $names
}

train()
{
	measure "$1" "$MLGEN" --name=x --directory="$T/$format" \
		--format="$format" --num_files="$files" --sample_size=8m \
		--accelerators=2 --read_threads=1 --batch_size=4 \
		--compute_time=0 --invalidate=0 --epochs="$passes" --quiet \
		--json="$T/run.json"
}

# Pages that nobody has read for half a minute may be gone.
warm()
{
	# shellcheck disable=SC2086
	"$BENCH/bare_pread" 2 $names >"$T/.bytes"
}

# Peer, mlgen, peer: what the machine does meanwhile, it does to both.
round()
{
	warm
	bare "$T/$1.before"
	warm
	train "$T/$1.mlgen"
	warm
	bare "$T/$1.after"
}

# middle N FILE...: the median of column N of all of them.
middle()
{
	middle_n=$1
	shift
	cat "$@" | column "$middle_n" - | median
}

compare()
{
	format=$1
	"$MLGEN" --name=x --phase=prepare --directory="$T/$format" \
		--format="$format" --num_files="$files" --sample_size=8m \
		--quiet >"$T/.out" 2>&1
	names=$(find "$T/$format" -type f -size +4096k | sort)
	round "$format.first"
	bytes=$(($(cat "$T/.bytes") / 2 * passes))
	[ "$(ml "$T/run.json" io_bytes)" = "$bytes" ] || {
		echo "mlgen and its peer do not read the same" >&2
		exit 1
	}
	gb=$(calc "$bytes / 1e9")
	for _ in $(seq 2 "$rounds"); do
		round "$format"
	done
	before=$T/$format.before mlgen=$T/$format.mlgen after=$T/$format.after
	bare_s=$(middle 1 "$before" "$after")
	bare_cpu=$(middle 2 "$before" "$after")
	mlgen_s=$(middle 1 "$mlgen")
	mlgen_cpu=$(middle 2 "$mlgen")

	figure "$format, two bare threads: GB/s" "$(calc "$gb / $bare_s")"
	figure "$format, two bare threads: CPU-s per GB" \
		"$(calc "$bare_cpu / $gb")"
	figure "$format, bare after / bare before (noise)" \
		"$(calc "$(middle 1 "$before") / $(middle 1 "$after")")"
	figure "$format, mlgen: GB/s" "$(calc "$gb / $mlgen_s")"
	figure "$format, mlgen: CPU-s per GB" "$(calc "$mlgen_cpu / $gb")"
	figure "$format, mlgen: CPU of one sample, ms" \
		"$(calc "1000 * $mlgen_cpu / $files / $passes")"
	at_least "$format, mlgen / bare, bytes per second" \
		"$(calc "$bare_s / $mlgen_s")" 0.85
	at_most "$format, mlgen / bare, CPU per byte" \
		"$(calc "$mlgen_cpu / $bare_cpu")" 1.2
	# What a real job is likely to be; it is no faster than its memory.
	measure "$T/$format.rss" "$MLGEN" --name=x --directory="$T/$format" \
		--format="$format" --num_files="$files" --sample_size=8m \
		--accelerators=4 --read_threads=4 --epochs=4 --invalidate=0 \
		--compute_time=20ms --quiet
	figure "$format, 4 accelerators x 4 threads: MiB resident" \
		"$(column 3 "$T/$format.rss")"
	rm -rf "${T:?}/$format"
}

compare raw
compare npz
verdict
