#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unet3d.sh - unet3d.job on 28 files of 16 MiB, through the page cache and past it.
# On disk: the test uses direct=1 or measures what storage does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

unset MLGEN_JOBS
[ "$(df -Pm . | awk 'END { print $4 }')" -gt 1500 ] ||
	skip_all "less than 1.5 GB of free space"

train()
{
	rm -f out.json
	"$MLGEN" unet3d.job --directory="$T/unet3d" --num_files=28 \
		--sample_size=16m --epochs=2 --compute_time=20ms \
		--json=out.json "$@"
}

# 2 epochs x 4 steps x batch 7
samples=$((2 * 4 * 7))
payload=$((samples * 16777216))

# counts TITLE BYTES: so many are read again of each file.
counts()
{
	is "$1: epochs x steps x batch samples" \
		"$(ml out.json steps samples sample_bytes)" "8 $samples $payload"
	is "$1: and the files are read whole" "$(ml out.json io_bytes)" \
		"$(($(find unet3d/train -type f -exec stat -c %s {} + |
			awk '{ sum += $1 } END { printf "%.0f", sum }') * 2 +
			samples * $2))"
	is "$1: each once an epoch" "$(ml out.json ops.open.total complete)" \
		"$samples true"
	is_json "$1: the JSON parses" out.json
	ok "$1: the report is a screen" test "$(wc -l <out)" -le 45
}

exits "buffered" 0 train
# NumPy takes the first block thrice, the second twice, and apart from the rest
# the end record, what lies before it, and the directory.
counts "buffered" $((3 * 4096 + 22 + 42 + 124))
if dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct 2>/dev/null &&
	! is_memory .; then
	exits "direct" 0 train --direct=1
	counts "direct" 0
else
	skip "direct" "no O_DIRECT in $T"
fi

background "$MLGEN" unet3d.job --directory="$T/unet3d" --num_files=28 \
	--sample_size=16m --epochs=1000 --compute_time=20ms --json=out.json \
	--log=log.csv --log_interval=100ms
poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
kill -INT "$pid"
finish
is "Ctrl-C in the middle: status 130" "$status" 130
is_json "Ctrl-C in the middle: a valid document" out.json
is "Ctrl-C in the middle: with what ran before" \
	"$(ml out.json sample_bytes)" "$(($(ml out.json samples) * 16777216))"

done_testing
