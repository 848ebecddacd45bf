#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 102-distil-slow.sh - a loader captured on a fast disk, and what its distilled job says of slower ones.

. "$(dirname "$0")/lib/throttle.sh"

python=${PYTHON:-/usr/bin/python3}
train=$(cd "$(dirname "$0")" && pwd)/lib/train.py
rounds=${ROUNDS:-5}
$python -c 'import numpy' 2>/dev/null || { figure "numpy" "is not here"; verdict; }

# What memory has of the files is given back, so that the disk has to answer.
cold()
{
	find "$1" -type f >"$T/files"
	$python - "$T/files" <<'END'
import os, sys
for name in open(sys.argv[1]):
    fd = os.open(name.rstrip("\n"), os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
END
}

of()
{
	sed -n "s/.*\"$2\": \([0-9.]*\).*/\1/p" "$1"
}

# 4 samples of 400 KiB in 40 ms are 40 MiB a second.
loader="npz $T/data --workers=4 --shuffle --epochs=2 --compute=0.04"
"$MLGEN" --name=data --phase=prepare --directory="$T/data" --format=npz \
	--num_files=256 --sample_size=400k --quiet >"$T/.out" 2>&1
cold "$T/data"
# shellcheck disable=SC2086 # words
"$MLTRACE" record --output="$T/1.mlt" --eta=never --quiet -- "$python" "$train" $loader \
	>"$T/line" 2>"$T/.out" || {
	figure "captured" "no: $(tail -n 1 "$T/.out")"
	verdict
}
figure "as it was captured: AU" "$(of "$T/line" au)"
"$MLTRACE" distil "$T/1.mlt" --output="$T/job.job" >"$T/.out" 2>&1
figure "compute_time of the job" \
	"$(sed -n 's/^compute_time=//p' "$T/job.job")"
"$MLGEN" "$T/job.job" --phase=prepare --directory="$T/own" --quiet >"$T/.out" 2>&1

compare()
{
	rm -f "$T/real" "$T/job" "$T/real_s" "$T/job_s"
	throttle read $(($1 << 20))
	for _ in $(seq "$rounds"); do
		cold "$T/data"
		# shellcheck disable=SC2086
		held "$python" "$train" $loader >"$T/line"
		of "$T/line" au >>"$T/real"
		of "$T/line" seconds >>"$T/real_s"
		cold "$T/own"
		held "$MLGEN" "$T/job.job" --directory="$T/own" --quiet \
			--json="$T/run.json" >"$T/.out" 2>&1
		ml "$T/run.json" au_percent >>"$T/job"
		ml "$T/run.json" wall_seconds >>"$T/job_s"
	done
	rmdir "$group"
	real=$(median <"$T/real")
	spread=$(sort -g "$T/real" | awk '{ v[NR] = $1 }
		END { print v[NR] - v[1] }')
	figure "$1 MiB/s: AU of the loader" "$real (spread $spread)"
	figure "$1 MiB/s: AU of the job" "$(median <"$T/job")"
	figure "$1 MiB/s: seconds of all epochs, job / loader" \
		"$(calc "$(median <"$T/job_s") / $(median <"$T/real_s")")"
	at_most "$1 MiB/s: points between them" \
		"$(calc "$(median <"$T/job") - $real" | tr -d -)" \
		"$(echo "$spread" | awk '{ print ($1 > 3 ? $1 : 3) }')"
}
for mib in ${BANDWIDTHS:-10 20 30}; do
	compare "$mib"
done
verdict
