#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 186-miss-curve.sh - what caches would hit of a job is told without a run, as arithmetic and a run's costs have it.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

command -v jq >/dev/null || skip_all "jq is not here"

# curve OPTION...: its document is in curve.json, its text in curve.out.
curve()
{
	"$MLGEN" --miss-curve --name=t --directory=nowhere --format=raw \
		--num_files=10000 --sample_size=1000 --batch_size=10 \
		--accelerators=2 --epochs=6 --ioengine=null \
		--json=curve.json "$@" >curve.out 2>curve.err
	status=$?
}

# ratios POLICY: its ten, in one line.
ratios()
{
	jq -r --arg p "$1" '[.miss_curves[0].points[] | select(.policy == $p)
		| .hit_ratio * 10000 | round] | join(" ")' curve.json
}

# ---- a new order each epoch
curve
is "it is answered without a dataset" "$status $(ls)" \
	"0 curve.err
curve.json
curve.out"
is "ten sizes of seven policies" \
	"$(jq '.miss_curves[0].points | length' curve.json)" 70
is "minio hits what it holds" "$(ratios minio)" \
	"1000 2000 3000 4000 5000 6000 7000 8000 9000 10000"
is "of permutations belady can hit no more" "$(ratios belady)" "$(ratios minio)"
is "lru hits c + (1 - c) ln(1 - c), within .01" \
	"$(jq '[.miss_curves[0].points[] | select(.policy == "lru")
		| (.size_percent / 100) as $c
		| (if $c == 1 then 1 else $c + (1 - $c) * ((1 - $c) | log) end)
			- .hit_ratio | fabs < .01] | all' curve.json)" true
is "no policy hits more than belady" \
	"$(jq '.miss_curves[0].points
		| (map(select(.policy == "belady"))
			| map({key: "\(.size_percent)", value: .hits})
			| from_entries) as $b
		| map(.hits <= $b["\(.size_percent)"]) | all' curve.json)" true
is "the text has a row for each size, and the same figures" \
	"$(awk '$1 == "50" { print $5, $10 }' curve.out)" \
	"$(jq -r '[.miss_curves[0].points[] | select(.size_percent == 50)
		| select(.policy == "lru" or .policy == "minio") | .hit_ratio]
		| map(. * 10000 | round / 10000) | "\(.[0]) 0.5000"' curve.json)"
is "there is no AU without costs" \
	"$(jq '[.miss_curves[0].points[].au_percent] | unique' -c curve.json)" \
	"[null]"

# ---- the same order each epoch
curve --shuffle=none
is "of one order for all epochs lru hits all or nothing" \
	"$(ratios lru)" "0 0 0 0 0 0 0 0 0 10000"
is "and minio what it holds" "$(ratios minio)" \
	"1000 2000 3000 4000 5000 6000 7000 8000 9000 10000"

# ---- what a run does besides
is "of a plain cache nothing is left out" \
	"$(grep -c 'counted without' curve.out) $(
		jq -c .miss_curves[0].left_out curve.json)" '0 null'
curve --cache=lru --cache_size=10% --cache_substitute=any --cache_prefetch=8
like "what is left out is said" "$(cat curve.out)" \
	"counted without cache_substitute, cache_prefetch, which the job sets"
is "... in the document, too" "$(jq -r .miss_curves[0].left_out curve.json)" \
	"cache_substitute, cache_prefetch"

# ---- steps cut it
curve --steps=1000
is "what steps leave out is not accessed" \
	"$(jq .miss_curves[0].accesses curve.json)" 10000

# ---- costs of a run
"$MLGEN" --name=t --directory=data --format=raw --num_files=100 \
	--sample_size=1000 --batch_size=10 --epochs=2 --ioengine=null \
	--compute_time=1ms --ceiling=no --json=r.json >run.out 2>&1 ||
	note "$(cat run.out)"
curve r.json
is "what a miss takes is the run's" \
	"$status $(jq .miss_curves[0].miss_ns curve.json)" \
	"0 $("$MLGEN" --table=sample_ns.p50 r.json --output-format=json |
		jq '."sample_ns.p50"')"
like "a run without a cache says nothing of hits" \
	"$(cat curve.out)" "no AU: the time of a hit is unknown"
sed 's/"jobname": "t"/"jobname": "u"/' r.json >u.json
curve u.json
is "a result of another job is none of this" "$status $(cat curve.err)" \
	"2 mlgen: u.json: contains no training 't'; name a document that a run of this job wrote"
echo '{}' >none.json
curve none.json
is "what is no result of a run is refused" "$status" 2

# ---- bad input
curve --epochs=1
is "one epoch has nothing to hit: $(cat curve.err)" "$status" 2
"$MLGEN" --miss-curve --name=p --rw=read --size=1m --directory=nowhere \
	>curve.out 2>curve.err
is "a plain job has no samples" "$? $(cat curve.err)" \
	"2 mlgen: miss-curve: 'p' has phase=io and reads no samples in epochs; name a training, such as unet3d.job"
"$MLGEN" --miss-curve r.json >curve.out 2>curve.err
is "documents alone are no job" "$? $(cat curve.err)" \
	"2 mlgen: miss-curve: no job; name a job in addition to the documents, such as unet3d.job"
done_testing
