#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 50-shipped.sh - the jobs and examples that come with mlgen do what they say.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

unset MLGEN_JOBS
PATH=$(dirname "$MLGEN"):$PATH
export PATH

# ---- jobs
exits "the shipped jobs are listed" 0 "$MLGEN" --list-jobs
cp out list
for path in "$TOP"/jobs/*.job "$TOP"/examples/*.job; do
	[ -f "$path" ] || continue
	job=$(basename "$path")
	exits "$job: parses without a word" 0 "$MLGEN" --parse-only "$path"
	is "$job: at all" "$(cat out err)" ""
	exits "$job: dry run" 0 "$MLGEN" "$path" --dry-run --json=plan.json
	ok "$job: at most 90 columns" awk 'length > 90 { exit 1 }' out
	is_json "$job: its plan parses" plan.json
	like "$job: says how it is run" "$(cat "$path")" "^#   mlgen $job"
	case $path in
	*/jobs/*)
		like "$job: is listed" "$(cat list)" "^${job%.job} "
		exits "$job: is found by its name" 0 "$MLGEN" --parse-only "$job"
		;;
	esac
	for accelerator in $(sed -n 's/^\[accelerator=\(.*\)\]/\1/p' "$path"); do
		exits "$job: with $accelerator" 0 "$MLGEN" "$path" --dry-run \
			--accelerator="$accelerator"
		like "$job: demand of $accelerator" "$(cat out)" \
			"^demand +one $accelerator +[0-9.]+ +samples/s +[0-9.]+ .iB/s"
	done
done
not_ok "nothing was written by any" test -e mlgen-data -o -e data

# What the first lines of unet3d.job promise to a reader.
demand_of()
{
	"$MLGEN" unet3d.job --dry-run --accelerator="$1" |
		sed -n "s/^demand  *one $1 .*samples\/s *//p"
}
is "unet3d.job: one accelerator needs what it says" \
	"$(sed -n 's/^# One accelerator at 100% needs: *//p' "$TOP/jobs/unet3d.job" |
		tr -s ' ')" \
	"v100 $(demand_of v100 | sed 's/ GiB.*//;s/^411.* MiB.*/0.40/') a100 $(demand_of a100 |
		sed 's/ GiB.*//') h100 $(demand_of h100 | sed 's/ GiB.*//') b200 $(demand_of b200)"
exits "unet3d.job --scale=2%" 0 "$MLGEN" unet3d.job --scale=2% --dry-run
like "is 28 files, as it says" "$(cat out)" '^dataset   28 npz files'

exits "quickstart.job runs, made small" 0 "$MLGEN" quickstart.job \
	--sample_size=2k --compute_time=1ms --num_files=32 --epochs=2 \
	--json=run.json
is "into MLGEN_DIR" "$(find "$MLGEN_DIR/quickstart/train" -type f | wc -l)" 32
is "with its two accelerators" \
	"$(ml run.json accelerators steps samples)" "2 4 64"
exits "unet3d.job too" 0 "$MLGEN" unet3d.job --sample_size=2k \
	--compute_time=1ms --num_files=28 --epochs=2 --json=run.json
is "four steps an epoch" "$(ml run.json steps samples sample_bytes)" \
	"8 56 114688"
like "as an h100" "$(cat out)" '^job       .*h100, batch 7'

# ---- examples
sweep="$TOP/examples/sweep.sh"
set -- "$T/swept" quickstart.job --num_files=32 --sample_size=1k \
	--compute_time=1ms --epochs=1
exits "sweep.sh runs" 0 env ACCELERATORS="1 2" READ_THREADS="1 3" \
	sh "$sweep" "$@"
is "with a line for each combination" \
	"$(sed 's/quickstart: .*samples.s.*/q/' out | tr -s ' ' | paste -sd, -)" \
	" 1 accelerators 1 read_threads q, 1 accelerators 3 read_threads q, 2 accelerators 1 read_threads q, 2 accelerators 3 read_threads q"
for n in 1 2; do
	for t in 1 3; do
		is "and a report of $n and $t" \
			"$(json quickstart-$n-$t.json jobs.0.options_resolved.accelerators \
				jobs.0.options_resolved.read_threads)" "$n $t"
	done
done
exits "sweep.sh goes on when a target is missed" 0 \
	env ACCELERATORS="1 2" READ_THREADS=1 sh "$sweep" "$@" --target_au=100
is "to its end" "$(wc -l <out)" 2
exits "and ends at the first run that fails" 2 \
	env ACCELERATORS="1 2" READ_THREADS=1 sh "$sweep" "$@" --num_files=64
not_ok "sweep.sh needs a directory" sh "$sweep"

# ---- about the program
exits "--version" 0 "$MLGEN" --version
like "is one line" "$(cat out)" '^mlgen [0-9]+\.[0-9]+\.[0-9]+'
is "really" "$(wc -l <out)" 1
exits "--enghelp" 0 "$MLGEN" --enghelp
cp out engines
for engine in psync null; do
	like "lists $engine" "$(cat engines)" "^$engine +[a-z]"
	exits "and explains it" 0 "$MLGEN" --enghelp=$engine
done
exits "but none that is not built in" 2 "$MLGEN" --enghelp=psink
like "with the nearest" "$(cat err)" 'psync'

done_testing
