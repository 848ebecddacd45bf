#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 159-import-strace-own.sh - what strace saw of a run of mlgen, imported, is the trace that the run wrote itself.
# On disk: the opens of what drops files from the page cache are told from a job's by its calls.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
can_trace || skip_all "strace is not here or not allowed"
here=$(pwd -P)

# rows TRACE: what is done to files of data, without times and descriptors;
# what is in the trace of a run is of its workers.
rows()
{
	"$MLTRACE" export --format=csv "$1" 2>/dev/null | awk -F, -v here="$here/" '
	$6 ~ /^(open|close|read|write|fsync|fdatasync|rename|unlink)$/ &&
	index($7, here) == 1 && $7 ~ /(npz|raw|\.[01]\.0)$/ {
		result = $10
		if ($6 == "open")
			$9 = result = ""
		print $4, $6, $7, $8, $9, result
	}' | sort
}

# both TITLE JOB...: equal, and how many
both()
{
	both_title=$1
	shift
	rm -f own.mlt log theirs.mlt
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
		strace -f -ttt -T -yy -s 16 -o log \
		"$MLGEN" --trace=own.mlt --ceiling=no --quiet "$@" \
		>out 2>err || { tap_fail "$both_title" "$(cat err)"; return; }
	"$MLTRACE" import --format=strace log --output=theirs.mlt >out 2>err ||
		{ tap_fail "$both_title" "$(cat err)"; return; }
	rows own.mlt >own
	cut -d' ' -f1 own | sort -u >tids
	rows theirs.mlt | grep -F -w -f tids >theirs
	if [ -s own ] && cmp -s own theirs; then
		tap_pass "$both_title"
	else
		tap_fail "$both_title" "< its own, > imported:" \
			"$(diff own theirs | head -n 20)"
	fi
}

both "a training with loaders" --name=t --directory="$here/d" --format=npz \
	--num_files=12 --sample_size=300k --read_threads=2 --batch_size=2 \
	--epochs=2 --access=framework --direct=0
both "reads and writes at random, and flushes" --name=p --directory="$here" \
	--rw=randrw --size=256k --bs=4k --fsync=5 --end_fsync=1 \
	--ioengine=psync
if "$MLGEN" --enghelp 2>&1 | grep -q libaio; then
	both "the same by libaio, of which the calls are two" --name=p \
		--directory="$here" --rw=randread --size=256k --bs=4k \
		--ioengine=libaio --iodepth=4 --direct=0
	is "and take as long as submission and completion are apart" \
		"$("$MLTRACE" export --format=csv theirs.mlt 2>/dev/null |
		awk -F, '$6 == "read" && $7 ~ /p\.0\.0/ && $2 == ""' | wc -l |
		tr -d ' ')" 0
else
	skip "the same by libaio" "mlgen was built without it"
fi

done_testing
