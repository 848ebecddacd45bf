#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 112-null-examples.sh - a simulated storage gives the figures that arithmetic and mlgen(1) name.
# In virtual time, where arithmetic holds whatever else the machine does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

virtual_time

# examples FILE: the runs on ioengine=null, one a line, without the prompt.
examples()
{
	sed -e 's/\\e$/\\/' "$1" | awk '
	going { line = line $0 }
	!going && /^\$ / { line = $0; sub(/^\$ /, "", line); going = 1 }
	going && sub(/\\$/, "", line) { next }
	going {
		if (line ~ /ioengine=null/ && line !~ /find-max/)
			print line
		going = 0
	}'
}

# between TITLE LOW VALUE HIGH
between()
{
	ok "$1 ($3)" awk -v v="$3" -v low="$2" -v high="$4" \
		'BEGIN { exit !(v + 0 == v && v >= low && v <= high) }'
}

# quarter NAME COMMAND [OPTION]: a quarter of the accelerators with a quarter of
# the bandwidth are as busy, and take a quarter of the CPU time.
quarter()
{
	name=$1
	more=${3:-}
	# shellcheck disable=SC2086 # a command of the manual, word for word
	set -- ${2:-none}
	shift
	"$MLGEN" "$@" --accelerators=1 --bandwidth=1536m --ramp_time=3s --runtime=3s \
		${more:+"$more"} --json="$T/$name.json" --quiet >"$name.out" 2>"$name.err"
	echo $? >"$name.status"
}

examples "$TOP/man/mlgen.1" >manual
is "mlgen(1) has one" "$(wc -l <manual | tr -d ' ')" 1
like "that asks for as much" "$(cat manual)" \
	'unet3d.job --accelerators=4 .*--bandwidth=6g --latency=2ms --readahead=1m'

# ---- all side by side: they mostly sleep; the sweep on fewer files
sweep()
{
	ACCELERATORS=1 READ_THREADS="1 4" "$TOP/examples/sweep.sh" "$T/none" \
		quickstart.job --ioengine=null --bandwidth=500m --latency=20ms \
		--num_files=64 --epochs=2 >sweep.out 2>sweep.err
}
sweep &
quarter plain "mlgen unet3d.job --accelerators=4 --num_files=2000 --ioengine=null --bandwidth=6g --latency=200us" &
quarter manual "$(cat manual)" &
# so slow that a ramp may be all of it
quarter usual "$(sed 's/--readahead=1m//' manual)" --ramp_time=0 &
wait

# ---- bandwidth over demand: four h100 ask for 11.84 GiB/s, and get 6
is "four accelerators on 6 GiB/s run" "$(cat plain.status plain.err)" 0
between "AU is bandwidth over demand, 51%" 37 "$(ml plain.json au_percent)" 57
between "a quarter of them has a quarter of the rate" 1.2 \
	"$(ml plain.json sample_bytes_per_sec | awk '{ print $1 / 2 ^ 30 }')" 1.75
between "and of the demand" 2.9 \
	"$(ml plain.json demand_bytes_per_sec | awk '{ print $1 / 2 ^ 30 }')" 3.0

# ---- mlgen(1): with a window that hides the latency, and with the usual one
is "the example of mlgen(1) runs" "$(cat manual.status manual.err)" 0
between "as busy as it says, 40% to 50%" 32 "$(ml manual.json au_percent)" 56
like "mlgen(1) says what the usual window comes to" "$(cat "$TOP/man/mlgen.1")" \
	'^With 128k it is no more than 17%: each of 16 threads has two windows of'
is "with the usual window" "$(cat usual.status usual.err)" 0
between "a thread has two windows, which are two reads, in 2 ms" 0.8 \
	"$(ml usual.json ops.read.lat_ns.mean | awk '{ print $1 / 1e6 }')" 1.9

# ---- a sweep: 1 MiB in 20 ms is 50 MiB/s a thread
between "one thread feeds 19.4% of an accelerator" 15 \
	"$(ml quickstart-1-1.json au_percent)" 21
between "and with four, 72.8%" 55 "$(ml quickstart-1-4.json au_percent)" 85
like "and its table has a row for each" "$(cat sweep.out)" '^ +1 +4 '
done_testing
