#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 117-sweeps.sh - the scripts in examples/ that people copy for sweeps run, and print what they promise.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

unset MLGEN_JOBS ACCELERATORS READ_THREADS KEYS FORMAT RUNS
PATH=$(dirname "$MLGEN"):$PATH
export PATH

sweep=$TOP/examples/sweep.sh
noise=$TOP/examples/sweep-noise.sh
set -- "$T/swept" quickstart.job --num_files=32 --sample_size=1k \
	--compute_time=1ms --epochs=1

for script in "$sweep" "$noise"; do
	name=$(basename "$script")
	ok "$name can be called as it is" test -x "$script"
	is "$name names itself" "$(sed -n '3s/ - .*//p' "$script")" "# $name"
	not_ok "$name needs a directory" "$script"
done

# ---- from the source tree, where it is not installed
if [ "$MLGEN" = "$TOP/mlgen" ]; then
	exits "not installed, sweep.sh takes the mlgen beside it" 0 \
		env PATH=/usr/bin:/bin ACCELERATORS=1 READ_THREADS=1 "$sweep" "$@"
else
	skip "not installed, sweep.sh takes the mlgen beside it" "$MLGEN runs"
fi

# ---- accelerators against read threads
exits "sweep.sh runs" 0 env ACCELERATORS="1 2" READ_THREADS="1 3" \
	"$sweep" "$@"
is "with a line for each combination" \
	"$(sed 's/quickstart: .*/q/' err | grep 'accelerators .*threads' |
		tr -s ' ' | paste -sd, -)" \
	" 1 accelerators 1 read_threads q, 1 accelerators 3 read_threads q, 2 accelerators 1 read_threads q, 2 accelerators 3 read_threads q"
for n in 1 2; do
	for t in 1 3; do
		is "and a report of $n and $t" \
			"$(json quickstart-$n-$t.json jobs.0.options_resolved.accelerators \
				jobs.0.options_resolved.read_threads)" "$n $t"
	done
done
like "then a table" "$(head -n 1 out)" \
	'^accelerators  read_threads  au_percent +.iB/s +stall p99, ms$'
is "of all of them, in order, and no more" \
	"$(sed 1d out | awk '{ printf "%s-%s ", $1, $2 }')" "1-1 1-3 2-1 2-3 "
exits "its columns and its form can be chosen" 0 env ACCELERATORS="2 1" \
	READ_THREADS=2 KEYS=accelerators,steps,samples FORMAT=csv "$sweep" "$@"
is "for a spreadsheet" "$(paste -sd' ' out)" \
	"accelerators,steps,samples 2,2,32 1,4,32"
exits "sweep.sh goes on when a target is missed" 0 \
	env ACCELERATORS="1 2" READ_THREADS=1 "$sweep" "$@" --target_au=100
is "to its end" "$(wc -l <out)" 3
exits "and ends at the first run that fails" 2 \
	env ACCELERATORS="1 2" READ_THREADS=1 "$sweep" "$@" --num_files=64
is "without a table" "$(cat out)" ""
mkdir "a b"
exits "blanks in names do no harm" 0 env ACCELERATORS=1 READ_THREADS=1 \
	"$sweep" "$T/a b/data" quickstart.job --num_files=32 --sample_size=1k \
	--compute_time=1ms --epochs=1 --description="two words"

# ---- the same again
exits "sweep-noise.sh runs" 0 env RUNS=3 \
	KEYS=samples,au_percent,sample_bytes_per_sec "$noise" "$@"
is "so many times" "$(grep -c '^run  [123]  quickstart: ' err)" 3
for i in 1 2 3; do
	is "with a report of number $i" \
		"$(ml "quickstart-run$i.json" samples)" 32
done
is "a table of all" "$(sed -n '2,4s/^ *\([0-9]*\) .*/\1/p' out | paste -sd' ' -)" \
	"32 32 32"
like "and how far apart they are" "$(cat out)" \
	'^of 3 runs +mean +least +most +spread$'
is "which is nothing where nothing varies" \
	"$(awk 'NF == 5 && $1 == "samples" { print $2, $3, $4, $5 }' out)" "32 32 32 0.0%"
# By hand: (largest - smallest) / mean.
want=$(for i in 1 2 3; do
	ml "quickstart-run$i.json" sample_bytes_per_sec
done | sort -g | awk '{ v[NR] = $1; sum += $1 }
	END { printf "%.1f%%", 100 * (v[3] - v[1]) / (sum / 3) }')
is "and what it is where something does" \
	"$(awk '$1 == "sample_bytes_per_sec" { print $5 }' out)" "$want"
exits "the first run that fails ends it" 2 env RUNS=3 "$noise" "$@" \
	--num_files=64
is "without a table, too" "$(cat out)" ""
done_testing
