#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 112-null-model.sh - ioengine=null with a latency and a bandwidth is storage of which arithmetic knows all.
# In virtual time, where arithmetic holds whatever else the machine does.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

virtual_time

# One accelerator asks for 4 MiB each 50 ms: 80 MiB/s.
training="--name=x --phase=train --ioengine=null --directory=$T/none
	--format=raw --sample_size=1m --batch_size=4 --compute_time=50ms
	--loader=plain --read_threads=2"

# run FILE OPTION...: a training, and no word about it on stderr.
run()
{
	run_file=$1
	shift
	# shellcheck disable=SC2086 # options are words
	"$MLGEN" $training --json="$run_file" --quiet "$@" >out 2>err ||
		echo "status $?"
	cat err
}

# within TITLE LOW VALUE HIGH
within()
{
	ok "$1 ($3)" awk -v v="$3" -v low="$2" -v high="$4" \
		'BEGIN { exit !(v != "absent" && v + 0 == v && v >= low && v <= high) }'
}

# ---- its options
exits "its help is printed" 0 "$MLGEN" --enghelp=null
like "latency is a distribution" "$(cat out)" '^ +latency=TIME\|DIST '
like "and bandwidth a size" "$(cat out)" '^ +bandwidth=SIZE '
like "and readahead, 128k whatever this host has" "$(cat out)" \
	'^ +readahead=SIZE +\(default 128k, '
refused()
{
	# shellcheck disable=SC2086
	exits "$1: refused" 2 "$MLGEN" $training "--$1"
	like "$1: and why" "$(cat err)" "^mlgen: $2"
}
refused latency=normal:1ms "latency: 'normal:1ms': incomplete distribution"
refused latency=pareto:1:2 "latency: .* is not a distribution"
refused latency=2h 'latency: 2h is above the maximum'
refused bandwidth=fast 'bandwidth: '
refused bandwidth=50 'bandwidth: 50 bytes per second is below the minimum 1k; for MiB per second write 50m'
refused readahead=64k 'readahead: needs latency= or bandwidth='
refused readahead=2g 'readahead: 2g is above the maximum 1g'
refused bandwith=1m 'bandwith: unknown option; did you mean .bandwidth.'
exits "another engine goes without them" 0 "$MLGEN" --name=x --phase=train \
	--directory="$T/none" --bandwidth=1m --ioengine=psync --dry-run
like "and says whose they are" "$(cat err)" \
	'^mlgen: note: bandwidth: an option of ioengine=null'
# shellcheck disable=SC2086
"$MLGEN" $training --latency=gamma:4:250us --bandwidth=40m --showjob >out 2>err
like "the job shows the latency as it was written" "$(cat out)" \
	'^latency=gamma:4:250us'
like "and the bandwidth" "$(cat out)" '^bandwidth=40m'

# ---- utilisation is bandwidth over demand
for point in 20m:20:30 40m:42:58 60m:65:83 320m:85:100; do
	bandwidth=${point%%:*}
	bounds=${point#*:}
	is "bandwidth=$bandwidth runs" \
		"$(run "$bandwidth.json" --num_files=48 --bandwidth="$bandwidth")" ""
	within "$bandwidth of 80m: what is left of the accelerator" \
		"${bounds%:*}" "$(ml "$bandwidth.json" au_percent)" "${bounds#*:}"
	within "$bandwidth: never faster than that" 1 \
		"$(ml "$bandwidth.json" sample_bytes_per_sec)" \
		$((${bandwidth%m} * 1048576 * 101 / 100))
done

# ---- all workers share it
is "two accelerators run" \
	"$(run two.json --num_files=48 --accelerators=2 --bandwidth=80m)" ""
within "and have half of it each" 40 "$(ml two.json au_percent)" 60
is "more threads run" \
	"$(run more.json --num_files=48 --read_threads=8 --bandwidth=40m)" ""
within "and get no more out of it" 1 \
	"$(ml more.json sample_bytes_per_sec)" $((40 * 1048576 * 101 / 100))

# ---- a job each
cat >mix.job <<-END
	[global]
	phase=train
	directory=$T/none
	ioengine=null
	format=raw
	num_files=32
	sample_size=1m
	batch_size=4
	compute_time=50ms
	loader=plain
	read_threads=2
	[fast]
	bandwidth=60m
	[slow]
	bandwidth=40m
	[free]
	[late]
	read_threads=1
	latency=8ms
END
exits "jobs with a model each run" 0 "$MLGEN" mix.job --json=mix.json --quiet
au()
{
	json mix.json "jobs.$1.ml.au_percent"
}
within "one has its own bandwidth" 63 "$(au 0)" 86
within "another one its own" 40 "$(au 1)" 60
within "a third one none" 85 "$(au 2)" 100
# open, read, close: 24 ms a sample, 96 ms a step
within "and one its own latency, which late threads add to" 15 "$(au 3)" 62

# ---- read-ahead: a window of 128 KiB in a latency is 8 of 1 MiB, and with two
# under way 4 are waited for; opening and closing are two more.
ahead()
{
	ahead_file=$1
	shift
	run "$ahead_file" --num_files=6 --batch_size=1 --read_threads=1 \
		--compute_time=0 --bs=64k --latency=5ms "$@"
}
is "reads in a row run" "$(ahead ahead.json)" ""
within "and wait for half of their windows" 30000000 \
	"$(ml ahead.json sample_ns.mean)" 48000000
is "without a window" "$(ahead none.json --readahead=0)" ""
within "each waits" 90000000 "$(ml none.json sample_ns.mean)" 130000000
is "read directly" "$(ahead direct.json --direct=1)" ""
within "each waits, too" 90000000 "$(ml direct.json sample_ns.mean)" 130000000
"$MLGEN" --name=x --ioengine=null --latency=5ms --rw=read --bs=64k \
	--size=1m --json=rows.json --quiet >out 2>err
within "a plain job reads ahead, too" 20000000 \
	"$(json rows.json jobs.0.read.runtime | awk '{ print $1 * 1e6 }')" 60000000

# ---- nothing but a model
not_ok "it touches no file" test -e "$T/none"
"$MLGEN" --name=x --ioengine=null --bandwidth=4m --rw=randrw --bs=64k \
	--size=1m --numjobs=4 --group_reporting --json=plain.json --quiet \
	>out 2>err
is "plain jobs run on it" "$(cat err)" ""
within "reads and writes together no faster than that" 1 \
	"$(json plain.json jobs.0.read.bw_bytes jobs.0.write.bw_bytes |
		awk '{ print $1 + $2 }')" $((4 * 1048576 * 101 / 100))
is "of all their requests" "$(json plain.json jobs.0.read.total_ios \
	jobs.0.write.total_ios | awk '{ print $1 + $2 }')" 64
# ---- it has read nothing that could be slow
exits "a run of it" 0 "$MLGEN" --name=x --ioengine=null --latency=5ms \
	--format=raw --num_files=8 --sample_size=1k --compute_time=0 \
	--json=run.json --quiet
is "names no file that was never read" \
	"$(json run.json jobs.0.ml.storage.slowest_file)" null

done_testing
