#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 101-distil-real.sh - real loaders, PyTorch's where it is there, captured and distilled: how alike the job is to three runs of the loader, and how long its steps are.

. "$(dirname "$0")/lib/figures.sh"

python=${PYTHON:-/usr/bin/python3}
train=$(cd "$(dirname "$0")" && pwd)/lib/train.py
runs=3
files=${FILES:-384}

has()
{
	$python -c "import $1" 2>/dev/null
}

# make FORMAT OPTION...: files of mlgen's, which the loader reads
make_data()
{
	rm -rf "$T/data"
	"$MLGEN" --name=data --phase=prepare --directory="$T/data" "$@" --quiet \
		>"$T/.out" 2>&1 || {
		cat "$T/.out" >&2
		exit 1
	}
}

# of FILE KEY: of what train.py printed
of()
{
	sed -n "s/.*\"$2\": \([0-9.]*\).*/\1/p" "$1"
}

warm()
{
	find "$1" -type f -exec cat {} + >/dev/null
}

# real NAME ARGUMENT...: of train.py; the loader captured, distilled, scored
real()
{
	name=$1
	shift
	reals=
	rm -rf "$T"/*.mlt "$T"/*.line "$T"/*.json "$T"/job.* "$T/own"
	for n in $(seq $runs); do
		warm "$T/data"
		# Its own output is the loader's.
		rm -rf "$T/saved"
		"$MLTRACE" record --output="$T/$n.mlt" --eta=never --quiet -- \
			"$python" "$train" "$@" >"$T/$n.line" 2>"$T/.out" || {
			figure "$name: captured" "no: $(tail -n 1 "$T/.out")"
			return
		}
		reals="$reals $T/$n.mlt"
	done
	"$MLTRACE" distil "$T/1.mlt" --output="$T/job.job" >"$T/.out" 2>&1 || {
		figure "$name: distilled" "no: $(tail -n 1 "$T/.out")"
		return
	}
	(cd "$T" && "$MLGEN" job.job --phase=prepare --directory="$T/own" \
		--quiet) >"$T/.out" 2>&1 || {
		figure "$name: the job's files" "no: $(tail -n 1 "$T/.out")"
		return
	}
	warm "$T/own"
	# shellcheck disable=SC2086 # files
	(cd "$T" && "$MLTRACE" score $reals job.job --directory="$T/own" \
		--invalidate=0 --json="$T/score.json") >"$T/score" 2>&1 || :
	figures=$(json "$T/score.json" score.m1 score.m2 score.m3 score.m4 \
		score.m5 score.m6 score.m7 score.m8 score.m9 score.m10 \
		score.m11 score.m12)
	figure "$name: worst of M1 to M12, by its limit" "$(echo "$figures" |
		tr ' ' '\n' | awk '{ print /^n/ ? "-" : sprintf("%.1f", $1) }' |
		paste -s -d' ' -)"
	at_most "$name: of these, beyond it" "$(echo "$figures" |
		tr ' ' '\n' | awk '$1 + 0 > 1 { n++ } END { print n + 0 }')" 0
	warm "$T/own"
	"$MLGEN" "$T/job.job" --directory="$T/own" --invalidate=0 --quiet \
		--json="$T/run.json" >"$T/.out" 2>&1 || :
	figure "$name: step p50 of the loader, ms" \
		"$(for n in $(seq $runs); do of "$T/$n.line" p50_ms; done | median)"
	figure "$name: step p50 of the job, ms" "$(ml "$T/run.json" \
		step_ns.percentile.50.000000 | awk '{ print $1 / 1e6 }')"
	figure "$name: seconds of the loader" \
		"$(for n in $(seq $runs); do of "$T/$n.line" seconds; done | median)"
	figure "$name: seconds of the job" "$(ml "$T/run.json" wall_seconds)"
	rm -rf "$T/own"
}

# wanted CASE: is it one of CASES, where these are given?
wanted()
{
	case " ${CASES:-$1} " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

has numpy || { figure "numpy" "is not here"; verdict; }
make_data --format=npz --num_files="$files" --sample_size=400k
! wanted npz || {
	real "npz, 2 workers, shuffled" npz "$T/data" --workers=2 --shuffle
	real "npz, 4 workers" npz "$T/data" --workers=4
}
if ! has torch; then
	figure "torch" "is not here"
elif wanted torch; then
	real "PyTorch, 2 workers, shuffled" npz "$T/data" --torch --workers=2 \
		--shuffle
	real "PyTorch, 2 workers" npz "$T/data" --torch --workers=2
	real "PyTorch, 4 workers, shuffled" npz "$T/data" --torch --workers=4 \
		--shuffle
	real "PyTorch, 4 workers" npz "$T/data" --torch --workers=4
	real "PyTorch and torch.save" npz "$T/data" --torch --workers=2 \
		--shuffle --save="$T/saved"
fi
if wanted memmap; then
	make_data --format=npy --num_files="$files" --sample_size=400k
	real "memmap, 2 workers, shuffled" memmap "$T/data" --workers=2 --shuffle
fi
if wanted hdf5 && has h5py; then
	make_data --format=hdf5 --num_files=$((files / 24)) \
		--samples_per_file=24 --sample_size=200k
	real "hdf5, 2 workers, shuffled" hdf5 "$T/data" --workers=2 --shuffle
fi
if wanted jpeg && has PIL; then
	make_data --format=jpeg --num_files="$files" --sample_size=60k
	real "jpeg, 4 workers, shuffled" jpeg "$T/data" --workers=4 --shuffle
fi
verdict
