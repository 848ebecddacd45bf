#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 192-tier-files.sh - a cache tier in a directory: what is read and written by each engine, kept for the next run, and left after a kill.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

own_mounts || note "no mounts of its own"

tier=$T/tier
job="--name=j --directory=$T/data --format=npz --num_files=200
	--sample_size=20k --epochs=3 --batch_size=4 --accelerators=2
	--read_threads=2 --shuffle=sample --json=$T/run.json --quiet"

# run OPTION...: its reads and writes.
run()
{
	rm -f "$T/run.json"
	# shellcheck disable=SC2086
	"$MLGEN" $job "$@" >"$T/out" 2>"$T/err" || note "$(cat "$T/err")"
	drop_devices "$T/err"
	calls=$(json "$T/run.json" jobs.0.read.total_ios \
		jobs.0.write.total_ios)
}

# left: files in the tier.
left()
{
	find "$tier" -type f | wc -l
}

run
is "without a cache each sample is read each time" "$calls" "600 0"
for engine in psync io_uring libaio; do
	"$MLGEN" --enghelp=$engine >/dev/null 2>&1 || continue
	for how in "slab sync" "files sync" "slab async" "files async"; do
		run --ioengine=$engine --cache=minio --cache_size=30% \
			--cache_directory="$tier" --cache_verify=1 \
			--cache_layout="${how% *}" --cache_fill="${how#* }"
		is "$engine, $how: a hit is read from the tier, a miss is kept" \
			"$calls" "600 60"
		is "... and nothing is left" "$(left)" 0
	done
done
run --cache=minio --cache_size=100% --sample_size=normal:20000:8000 --directory="$T/sizes"
is "100% is all of a data set whose files have headers and sizes of their own" \
	"$(json "$T/run.json" jobs.0.cache.hits jobs.0.cache.hit_ratio)" "400 1.0"
run --cache=lru --cache_size=50% --cache_verify=1
memory=$calls
run --cache=lru --cache_size=50% --cache_latency=1us
is "in memory as played: the same misses" "$memory" "$calls"
# Bytes may be late where loaders race, decisions are not.
hits=$(json "$T/run.json" jobs.0.cache.hits)
run --cache=lru --cache_size=50% --cache_verify=1 --sample_size=20k \
	--mem=mmap --read_threads=5 --loader=plain
is "... whoever reads" "$(json "$T/run.json" jobs.0.cache.hits)" "$hits"

for how in "slab sync" "files async"; do
	run --cache=minio --cache_size=30% --cache_directory="$tier" \
		--cache_verify=1 --cache_warm=100% --cache_layout="${how% *}" \
		--cache_fill="${how#* }"
	is "$how: what is warm was filled before the run" "$calls" "600 0"
	run --cache=minio --cache_size=30% --cache_verify=1 \
		--cache_directory="$tier" --cache_stage=decoded \
		--cache_decoded_factor=3 --cache_layout="${how% *}"
	is "... decoded, a third of it fits" "${calls% *}" 600
done

run --cache=lru --cache_size=20% --cache_directory="$tier" --cache_verify=1 \
	--cache_substitute=any
is "what stands for another is read from the tier" "$calls" "600 40"
is "... and is what was kept of it" "$(json "$T/run.json" \
	jobs.0.cache.wrong jobs.0.cache.substitutions |
	awk '{ print $1, ($2 > 300) }')" "0 1"

for how in "slab sync" "files async"; do
	run --cache=lru --cache_size=30% --cache_directory="$tier" \
		--cache_verify=1 --cache_prefetch=16 --compute_time=1ms \
		--cache_layout="${how% *}" --cache_fill="${how#* }" \
		--trace="$T/run.trace"
	is "$how: what was fetched ahead is what was asked for" \
		"$(json "$T/run.json" jobs.0.cache.wrong jobs.0.cache.hits)" \
		"0 600"
	is "... and all that was moved is in the report, whoever moved it" \
		"$calls $(json_below jobs.0 "$T/run.json" read.io_bytes write.io_bytes)" \
		"$("$MLTRACE" export --format=csv "$T/run.trace" | awk -F, '
		{ n[$6]++; bytes[$6] += $10 }
		END { print n["read"] + 0, n["write"] + 0, bytes["read"] + 0,
			bytes["write"] + 0 }')"
	ok "... by threads of the tier" test \
		"$(json "$T/run.json" jobs.0.cache.prefetches)" -gt 500
	is "... and nothing is left" "$(left)" 0
done

for layout in slab files; do
	keep="--cache=minio --cache_size=30% --cache_directory=$tier
		--cache_layout=$layout --cache_verify=1"
	# shellcheck disable=SC2086
	run $keep --cache_persist=1
	is "$layout: kept, it is filled once" "$calls" "600 60"
	# shellcheck disable=SC2086
	run $keep --cache_persist=1
	is "... and the next run finds it" "$calls" "600 0"
	# shellcheck disable=SC2086
	exits "... but not one that does not keep it" 2 "$MLGEN" $job $keep
	like "... which says so" "$(cat "$T/err")" "cache_persist=1"
	# shellcheck disable=SC2086
	exits "... nor one of another size" 2 "$MLGEN" $job $keep \
		--cache_persist=1 --cache_size=20%
	like "... which names what differs" "$(cat "$T/err")" "slots 60"
	at=$(find "$tier" -type f -size +4k ! -name manifest | head -n 1)
	printf XXXXXXXX | dd of="$at" bs=1 seek=100 conv=notrunc 2>/dev/null
	# shellcheck disable=SC2086
	exits "... what was changed meanwhile is no sample" 1 \
		"$MLGEN" $job $keep --cache_persist=1
	like "... and its file is named" "$(cat "$T/err")" "$at"
	# shellcheck disable=SC2086
	run $keep --cache_persist=1
	like "... and read from storage from then on" "$calls" "^600 [1-9]"
	sed -i s/slots/slotz/ "$tier/mlgen-cache-j/manifest"
	# shellcheck disable=SC2086
	exits "... a damaged manifest is refused" 2 "$MLGEN" $job $keep \
		--cache_persist=1
	rm -rf "$tier"
done

# A run that is killed.
for layout in slab files; do
	# shellcheck disable=SC2086
	background "$MLGEN" $job --cache=random --cache_size=30% \
		--cache_directory="$tier" --cache_layout=$layout \
		--cache_persist=1 --time_based=1 --runtime=60 --compute_time=1ms
	# shellcheck disable=SC2329
	has_files()
	{
		[ "$(du -s "$tier" 2>/dev/null | cut -f 1 | grep . || echo 0)" -gt 400 ]
	}
	poll has_files
	kill -9 "$pid"
	finish
	run --cache=minio --cache_size=30% --cache_directory="$tier" \
		--cache_layout=$layout --cache_verify=1
	is "$layout: what a killed run has left is of no use to the next" \
		"$calls" "600 60"
	is "... and gone" "$(left)" 0

	# One that had what an earlier one has kept: since it began that is not
	# what the manifest said, which is there no longer.
	keep="--cache_size=30% --cache_directory=$tier --cache_layout=$layout
		--cache_persist=1 --cache_verify=1"
	# shellcheck disable=SC2086
	run $keep --cache=random
	# shellcheck disable=SC2086
	background "$MLGEN" $job $keep --cache=random --time_based=1 \
		--runtime=60 --compute_time=1ms
	# shellcheck disable=SC2329
	is_taken()
	{
		[ ! -e "$tier/mlgen-cache-j/manifest" ]
	}
	poll is_taken
	kill -9 "$pid"
	finish
	# shellcheck disable=SC2086
	run $keep --cache=minio
	is "$layout: one that is killed leaves nothing of what it had found" \
		"$calls $(json "$T/run.json" jobs.0.cache.wrong)" "600 60 0"
	rm -rf "$tier"
done

# Others' files.
mkdir -p "$tier/mlgen-cache-j"
echo mine >"$tier/mlgen-cache-j/mine"
echo mine >"$tier/mine"
# shellcheck disable=SC2086
exits "a folder of that name that is somebody else's is refused" 2 \
	"$MLGEN" $job --cache=lru --cache_size=30% --cache_directory="$tier"
is "... and left alone" "$(cat "$tier/mlgen-cache-j/mine")" mine
rm -r "$tier/mlgen-cache-j"
run --cache=lru --cache_size=30% --cache_directory="$tier"
is "what lies beside ours stays" "$(find "$tier" -type f)" "$tier/mine"
# shellcheck disable=SC2086
exits "an engine that moves nothing writes no cache" 2 "$MLGEN" $job \
	--ioengine=null --cache=lru --cache_size=30% --cache_directory="$tier"

# A disk that is full: room for the bytes of the samples, and not for their
# blocks.
for how in "slab sync" "files sync" "slab async" "files async"; do
	title="$how: a full disk"
	if ! mount_small "$T/small" 2200k 2>/dev/null; then
		skip "$title" "cannot mount here"
		continue
	fi
	# A queue that drops nothing, however late the thread behind it is.
	run --cache=lru --cache_size=50% --cache_directory="$T/small" \
		--cache_queue=600 --cache_verify=1 --cache_layout="${how% *}" \
		--cache_fill="${how#* }"
	like "$title: the cache stops growing" "$(cat "$T/err")" "stops growing"
	like "... and the run goes on" "$calls" "^600 "
	keep="--cache=minio --cache_size=50% --cache_directory=$T/small
		--cache_queue=600 --cache_verify=1 --cache_persist=1
		--cache_layout=${how% *} --cache_fill=${how#* }"
	# shellcheck disable=SC2086
	run $keep
	is "... and is kept as far as it came" \
		"$(grep -v '^mlgen: note: ' "$T/err")" ""
	# shellcheck disable=SC2086
	run $keep
	is "... where the next run finds what was read" "${calls% *} $(
		json "$T/run.json" jobs.0.cache.wrong \
			jobs.0.cache.kept_units |
			awk '{ print $1, ($2 > 50 && $2 < 100) }')" "600 0 1"
	umount "$T/small"
done
done_testing
