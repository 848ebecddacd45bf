#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 187-tier.sh - what a cache tier keeps of shuffled epochs is what arithmetic says, whoever reads.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# run OPTION...: three epochs of 4,000 samples, of which the tier is cold in the first
run()
{
	"$MLGEN" --name=j --directory=none --ioengine=null --format=raw \
		--num_files=4000 --sample_size=1k --epochs=3 --batch_size=10 \
		--accelerators=2 --read_threads=2 --shuffle=sample \
		--cache_latency=1us --json=run.json --quiet "$@" \
		>"$T/out" 2>&1 || note "$(cat "$T/out")"
}

# reads: of storage.
reads()
{
	json run.json jobs.0.read.total_ios
}

# hits: of the epochs after the first one, which reads everything.
hits()
{
	awk -v n="$(reads)" 'BEGIN { printf "%.3f\n", (12000 - n) / 8000 }'
}

# near TITLE WANT: within .01.
near()
{
	ok "$1: $(hits), and $2 by arithmetic" awk -v a="$(hits)" -v b="$2" \
		'BEGIN { d = a - b; exit !(d < .01 && d > -.01) }'
}

run --cache=minio --cache_size=25%
is "a cache that nothing leaves has what it holds of each later epoch" \
	"$(hits)" 0.250
run --cache=hot --cache_size=25%
is "... and a static one the same" "$(hits)" 0.250
# The unit suite `cache` compares five sizes of each policy with the same arithmetic.
run --cache=lru --cache_size=75%
near "least recently used, .75 of the data set" .4034
run --cache=random --cache_size=50%
near "random, .50 of the data set" .2814
run --cache=fifo --cache_size=50%
near "first in first out, .50 of the data set" .193
run --cache=lru --cache_size=50% --shuffle=none
is "in one order again and again, a part that is recent is no use" \
	"$(reads)" 12000

# Of epochs that have every sample once, more than it holds nobody hits.
run --cache=belady --cache_size=50%
is "who knows the future has no more, where all come once" "$(hits)" 0.500
run --cache=belady --cache_size=50% --shuffle=none
is "... nor in one order again and again" "$(hits)" 0.500

run --cache=minio --cache_size=50% --cache_warm=100%
is "what is warm is hit in the first epoch, too" "$(reads)" 6000
run --cache=minio --cache_size=50% --cache_warm=50%
is "... as far as it is warm" "$(reads)" 7000
run --cache=belady --cache_size=50% --cache_warm=100%
is "... whatever the policy" "$(reads)" 6000

# What is there first: nothing goes before it was hit.
for policy in lru fifo clock minio; do
	run --cache=$policy --cache_size=25% --cache_hits_first=1
	near "hits first: $policy has what it holds" .25
done
run --cache=lru --cache_size=25% --cache_hits_first=1 --shuffle=replacement
is "... and each sample of an epoch that has it twice, twice" \
	"$(awk -v h="$(hits)" 'BEGIN { print (h > .45 && h < .70) }')" 1
run --cache=lru --cache_size=10% --cache_hits_first=1 --cache_scope=rank
is "... of the accelerator's own tier" "$(json run.json \
	jobs.0.cache.hit_ratio | awk '{ print ($1 > .09 && $1 < .11) }')" 1

# Ahead of their batch: hits, if storage is as fast as they are asked for.
fetch()
{
	run --num_files=1000 --cache_prefetch=64 --latency=1ms "$@"
	json run.json jobs.0.cache.hits jobs.0.cache.prefetches
}
is "what is known to come is there when it does, the first epoch, too" \
	"$(fetch --cache=lru --cache_size=20%)" "3000 $(
	json run.json jobs.0.cache.prefetches)"
ok "... each one brought once" test \
	"$(json run.json jobs.0.cache.prefetches)" -gt 2700
is "minio has room for what it keeps, and what it has not is missed" \
	"$(fetch --cache=minio --cache_size=20%)" "600 200"
is "belady keeps what comes next, too" \
	"$(fetch --cache=belady --cache_size=20% | cut -d' ' -f1)" 3000
is "... also of a real tier: decisions are those of the plan" \
	"$(fetch --cache=lru --cache_size=20% --cache_latency=0)" \
	"$(fetch --cache=lru --cache_size=20%)"

# Another one in its place: storage is read until the tier is full, and no more.
for pair in "minio any" "lru any" "random any" "minio group" "belady any"; do
	policy=${pair% *} what=${pair#* }
	run --cache="$policy" --cache_size=20% --cache_substitute="$what" \
		--num_files=100 --samples_per_file=40
	want=800
	[ "$policy" != belady ] || want="$(json run.json jobs.0.cache.misses)"
	is "$policy, $what: what is missed of a full tier is another one that it has" \
		"$(reads) $(json run.json jobs.0.cache.hits \
			jobs.0.cache.substitutions |
			awk '{ print 12000 - $1 - $2 }')" "$want $want"
done
is "... and each accelerator's are told" "$(json run.json \
	jobs.0.cache.ranks.0.substitutions jobs.0.cache.ranks.1.substitutions \
	jobs.0.cache.substitutions | awk '{ print $1 + $2 - $3, ($1 > 0) }')" "0 1"
run --cache=minio --cache_size=20% --cache_substitute=any
is "a substitution is no hit" "$(json run.json jobs.0.cache.hit_ratio |
	awk '{ printf "%.3f", $1 }')" 0.200
run --cache=importance --cache_size=20% --cache_substitute=any \
	--shuffle=importance
is "of an order by losses, what weighs more than all that is there is read" \
	"$(json run.json jobs.0.cache.misses jobs.0.cache.substitutions |
		awk '{ print ($1 >= 800), ($2 > 400) }')" "1 1"
is "... as often as it is counted" "$(reads)" \
	"$(json run.json jobs.0.cache.misses)"
exits "of single files there is no other one of a file" 2 "$MLGEN" --name=j \
	--directory=none --ioengine=null --num_files=10 --sample_size=1k \
	--cache=lru --cache_size=50% --cache_latency=1us --cache_substitute=group
like "... saying so" "$(cat "$T/err")" "use cache_substitute=any"

# Decisions are those of the plan.
run --cache=lru --cache_size=50%
want=$(reads)
for how in --read_threads=1 --read_threads=7 --read_threads=0 \
	"--loader=plain --read_threads=5" "--prefetch=9"; do
	# shellcheck disable=SC2086
	run --cache=lru --cache_size=50% $how
	is "$how: the same hits" "$(reads)" "$want"
done
run --cache=lru --cache_size=2000samples
is "a size in samples is one in bytes" "$(reads)" "$want"
run --cache=lru --cache_size=50% --barrier=none
is "... where accelerators drift apart, too" "$(reads)" "$want"
run --cache=minio --cache_size=50% --cache_scope=rank --shuffle=none
is "each rank may have its own, and reads the same samples again" \
	"$(reads)" 4000
run --cache=minio --cache_size=50% --cache_unit=file --samples_per_file=4 \
	--num_files=1000 --bs=4k
is "files as units: one sample of four misses, in the first epoch" \
	"$(awk -v n="$(reads)" 'BEGIN { print (n < 8000 && n > 6000) }')" 1

# 25 neighbours of 1,000 bytes are a page.
run --cache=minio --cache_size=50% --cache_unit=page:25000 --num_files=100 \
	--samples_per_file=100 --shuffle=none --bs=100k --sample_size=1000
is "pages as units: one read brings 25 neighbours in a row" \
	"$(reads) $(json run.json jobs.0.cache.hits jobs.0.cache.units)" \
	"15200 14800 200"
run --cache=minio --cache_size=50% --cache_unit=page:25000 --num_files=100 \
	--samples_per_file=100 --sample_size=1000
is "... and half of them half of the later epochs" "$(json run.json \
	jobs.0.cache.hit_ratio | awk '{ printf "%.2f", $1 }')" 0.50

# A hit takes its time.
virtual_time
run --num_files=100 --batch_size=1 --read_threads=1 --accelerators=1 \
	--cache=minio --cache_size=100% --cache_latency=2ms
is "200 hits of 2 ms take 0.4 s" \
	"$(ml run.json wall_seconds |
		awk '{ printf "%.1f", $1 }')" 0.4
run --num_files=100 --batch_size=1 --read_threads=2 --accelerators=1 \
	--cache=minio --cache_size=100% --cache_bandwidth=100k --cache_latency=0
is "200 KiB at 100 KiB a second, whoever reads, take 2 s" \
	"$(ml run.json wall_seconds |
		awk '{ printf "%.1f", $1 }')" 2.0

run --num_files=100 --batch_size=1 --read_threads=1 --accelerators=1 \
	--cache=minio --cache_size=100% --cache_bandwidth=100k \
	--cache_latency=0 --cache_stage=decoded --cache_decoded_factor=2 \
	--preprocess_time=10ms
is "decoded samples are twice as many bytes, half of them fit, and hits need no decoding" \
	"$(json run.json jobs.0.read.total_ios) $(ml run.json wall_seconds |
		awk '{ printf "%.1f", $1 }')" "200 4.0"

# What cannot be.
exits "less than one sample is refused" 2 "$MLGEN" --name=j --directory=none \
	--ioengine=null --num_files=10 --sample_size=1k --cache=lru \
	--cache_size=10 --cache_latency=1us
like "... saying so" "$(cat "$T/err")" "less than one sample"
done_testing
