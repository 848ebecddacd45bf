#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 109-survey.sh - what it takes of utilisation that rank 0 asks the other processes of a job how far they are, each second and ten times as often.

. "$(dirname "$0")/lib/figures.sh"

rounds=${ROUNDS:-5}	# the first of which does not count
seconds=${SECONDS_EACH:-4}

if [ ! -f "$(dirname "$MLGEN")/build/mlgen-mpi-openmpi.so" ] ||
	! command -v mpirun.openmpi >/dev/null; then
	echo "no Open MPI here: skipped"
	exit 0
fi

# Four processes on one host, no storage, steps of 10 ms.
survey_run()	# ARM OPTION...
{
	survey_arm=$1
	shift
	mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 4 \
		"$MLGEN" --name=j --directory="$T/none" --ioengine=null --format=raw \
		--num_files=4000 --sample_size=100k --batch_size=1 --accelerators=1 \
		--read_threads=1 --time_based=1 --runtime="$seconds" \
		--compute_time=10ms --ceiling=no --quiet --json="$T/run.json" "$@" \
		>"$T/out" 2>&1 || {
		cat "$T/out" >&2
		exit 1
	}
	json "$T/run.json" jobs.0.ml.au_percent >>"$T/arm.$survey_arm"
}

for round in $(seq "$rounds"); do
	[ "$round" -ne 2 ] || rm -f "$T"/arm.*
	survey_run before
	survey_run log --log="$T/log.csv"
	survey_run often --log="$T/log.csv" --log_interval=100ms
	survey_run metrics --metrics-file="$T/metrics.prom"
	survey_run after
done

before=$(median <"$T/arm.before") after=$(median <"$T/arm.after")
figure "AU of four processes that nobody asks" "$before"
figure "points of AU that the same lose later: the noise" "$(calc "$before - $after")"
for arm in log metrics often; do
	case $arm in
	log)	what="with --log, each second" ;;
	metrics)	what="with --metrics-file, each second" ;;
	often)	what="with --log, each 100 ms" ;;
	esac
	with=$(median <"$T/arm.$arm")
	at_most "points of AU lost $what" \
		"$(calc "($before + $after) / 2 - $with")" 0.5
done
verdict
