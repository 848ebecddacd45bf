#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 100-distil.sh - trainings, traced and distilled: how alike the job is, beside one plain job of the same sizes, mix, depth and think time.

. "$(dirname "$0")/lib/figures.sh"

onejob=$(cd "$(dirname "$0")" && pwd)/lib/onejob.awk
strip=$bench_top/build/t/tools/striptrace
[ -x "$strip" ] || make -s -C "$bench_top" build/t/tools/striptrace

warm()
{
	find "$1" -type f -exec cat {} + >/dev/null
}

quietly()
{
	"$@" >"$T/.out" 2>&1 </dev/null || {
		tail -n 5 "$T/.out" | cut -c1-500 >&2
		return 1
	}
}

# parts JSON: the worst of each metric, in times its limit; - is not known.
parts()
{
	json "$1" score.m1 score.m2 score.m3 score.m4 score.m5 score.m6 \
		score.m7 score.m8 score.m9 score.m10 score.m11 | tr ' ' '\n' |
		awk '{ print /^n/ ? "-" : sprintf("%.1f", $1) }' | paste -s -d' ' -
}

# failed JSON: how many of M1 to M8 are beyond their limits.
failed()
{
	json "$1" score.m1 score.m2 score.m3 score.m4 score.m5 score.m6 \
		score.m7 score.m8 | tr ' ' '\n' |
		awk '$1 + 0 > 1 { n++ } END { print n + 0 }'
}

# scored NAME JOB: it runs in a folder whose files are made, and in the cache
scored()
{
	mkdir -p "$T/own"
	quietly "$MLGEN" "$T/$2.job" "$3" --directory="$T/own" --quiet ||
		return 1
	warm "$T/own"
	# Its status is 1 where they are not alike.
	"$MLTRACE" score "$T/real.mlt" "$T/$2.job" --directory="$T/own" \
		--invalidate=0 --json="$T/$2.json" >"$T/.out" 2>&1 || :
	rm -rf "$T/own"
	[ -s "$T/$2.json" ] || {
		tail -n 3 "$T/.out" >&2
		return 1
	}
	figure "$1: M1 to M11, times the limit" "$(parts "$T/$2.json")"
}

# beside NAME JOB OPTION...: a shipped training, traced; markers are taken out, so
# that nothing says what is what
beside()
{
	name=$1 job=$2
	shift 2
	rm -rf "$T/data" "$T"/*.mlt "$T"/*.json "$T"/*.job "$T"/job.*
	quietly "$MLGEN" "$bench_top/jobs/$job.job" --directory="$T/data" \
		--phase=prepare "$@" --quiet || return 1
	warm "$T/data"
	quietly "$MLGEN" "$bench_top/jobs/$job.job" --directory="$T/data" \
		--invalidate=0 --trace="$T/traced.mlt" "$@" --quiet || return 1
	"$strip" "$T/traced.mlt" "$T/real.mlt"
	# Files are there still, as where a training was captured.
	quietly "$MLTRACE" distil "$T/real.mlt" --output="$T/job.job" ||
		return 1
	rm -rf "$T/data"
	"$MLTRACE" export --format=csv "$T/real.mlt" | awk -f "$onejob" >"$T/one.job"
	scored "$name, distilled" job --phase=prepare || return 1
	scored "$name, one plain job" one --create_only=1 || return 1
	at_most "$name: M1 to M8 of the distilled job that fail" \
		"$(failed "$T/job.json")" 0
	at_least "$name: of the plain job" "$(failed "$T/one.json")" 1
}

beside "unet3d" unet3d --num_files=64 --sample_size=4m --accelerators=2 \
	--epochs=3 --batch_size=2 --compute_time=50ms
beside "resnet50" resnet50 --num_files=64 --samples_per_file=25 \
	--sample_size=100k --accelerators=1 --epochs=3 --batch_size=20 \
	--compute_time=50ms
beside "unet3d with checkpoints" unet3d --num_files=64 --sample_size=4m \
	--accelerators=2 --epochs=2 --batch_size=2 --compute_time=50ms \
	--checkpoint_every="8 steps" --checkpoint_size=16m
verdict
