#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 108-hosts.sh - several processes: how late a barrier wakes them, what waiting costs, and AU beside the same accelerators in one process.

. "$(dirname "$0")/lib/figures.sh"

rounds=${ROUNDS:-5}	# of jobs; the first of which does not count
barriers=${BARRIERS:-400}

# Each sleeps 5 ms before every barrier, one of them 10 ms, in turn.
for n in 2 4 8 16; do
	"$BENCH/hosts_barrier" "$n" "$barriers" 5000 >"$T/late.$n" || exit 1
	read -r _ p50 p99 cpu <"$T/late.$n"
	if [ "$n" -eq 4 ]; then
		at_most "$n processes: late at p50, us" "$p50" 100
		at_most "$n processes: CPU of each while it waits, %" "$cpu" 1
	else
		figure "$n processes: late at p50, us" "$p50"
		figure "$n processes: CPU of each while it waits, %" "$cpu"
	fi
	figure "$n processes: late at p99, us" "$p99"
done
cat "$T"/late.* >"$T/late"
# Least squares of late = a + b x processes.
awk '{ n++; x += $1; y += $2; xx += $1 * $1; xy += $1 * $2 }
	END { b = (n * xy - x * y) / (n * xx - x * x); print (y - b * x) / n, b }' \
	"$T/late" >"$T/model"
read -r base each <"$T/model"
figure "model: us at p50 = this" "$base"
figure "model: + processes x this" "$each"

run()	# NAME COMMAND...
{
	name=$1
	shift
	"$@" "$MLGEN" --name=j --directory="$T/none" --ioengine=null --format=raw \
		--num_files=4000 --sample_size=100k --batch_size=1 \
		--read_threads=1 --time_based=1 --runtime=3 \
		--accelerators="$accelerators" --compute_time="$compute" \
		--quiet --json="$T/run.json" >"$T/.out" 2>&1 || {
		cat "$T/.out" >&2
		exit 1
	}
	json "$T/run.json" jobs.0.ml.au_percent >>"$T/$name"
}

if [ -f "$(dirname "$MLGEN")/build/mlgen-mpi-openmpi.so" ] &&
	command -v mpirun.openmpi >/dev/null; then
	for step in "10ms 1.5" "3.5ms 3.5"; do
		compute=${step% *}
		for round in $(seq "$rounds"); do
			[ "$round" -ne 2 ] || rm -f "$T/one" "$T/four"
			accelerators=4
			run one env
			accelerators=1
			run four mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 4
		done
		one=$(median <"$T/one") four=$(median <"$T/four")
		figure "steps of $compute: AU of 4 accelerators in one process" "$one"
		at_most "steps of $compute: points of AU lost by 4 processes of one" \
			"$(calc "$one - $four")" "${step#* }"
		rm -f "$T/one" "$T/four"
	done
else
	echo "no Open MPI here: AU of several processes is skipped"
fi
verdict
