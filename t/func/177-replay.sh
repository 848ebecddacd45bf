#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 177-replay.sh - a trace is replayed: the same operations, for each file and thread, in their order.
# On disk: a score wants storage, and files in memory have none.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# run TRACE OPTION...
run()
{
	run_trace=$1
	shift
	rm -f "$run_trace" run.json
	"$MLGEN" "$@" --invalidate=0 --ceiling=no --trace="$run_trace" \
		--output-format=json --output=run.json >run.out 2>&1 ||
		note "$(cat run.out)"
}

# replay TRACE OPTION... into again.mlt
replay()
{
	replay_trace=$1
	shift
	run again.mlt --name=again --replay_trace="$replay_trace" \
		--directory="$T/own" "$@"
}

# calls TRACE BY: its calls on files, by "thread", which is known by its first
# file, in the order of each, or sorted by "file". Of the paths what is below the directories of both runs.
calls()
{
	"$MLTRACE" export --format=csv "$1" | awk -F, -v by="$2" '
	NR == 1 || $6 !~ /^(open|close|stat|read|write|fsync|fdatasync|rename|unlink|mkdir|rmdir|allocate)$/ {
		next
	}
	{
		sub(/^.*\/data\//, "data/", $7)
		bytes = $6 == "open" ? "" : $9
		if (!($4 in first))
			first[$4] = $7
		line[++n] = (by == "thread" ? first[$4] : "") " " $6 " " \
			$7 " " $8 " " bytes
	}
	END { for (i = 1; i <= n; i++) print line[i] }' |
		if [ "$2" = thread ]; then sort -s -k1,1; else sort; fi
}

failing()
{
	rm -f score.json
	"$MLTRACE" score "$1" "$2" --quiet --json=score.json >score.out 2>&1
	for metric in m1 m2 m3 m4 m5 m6 m7; do
		json score.json "score.$metric" |
			awk -v m=$metric '$1 == "absent" || \
				($1 != "null" && $1 > 1) { print m, $1 }'
	done
}

# same WHAT TRACE: again.mlt asks for the same.
same()
{
	is "$1: the same operations on each file" \
		"$(calls again.mlt file | cksum)" "$(calls "$2" file | cksum)"
	is "$1: all were done, and none failed" \
		"$(json run.json jobs.0.io.replay.done_operations jobs.0.io.errors)" \
		"$(json run.json jobs.0.io.replay.asked_operations) 0"
}

# ---- a training ----

run train.mlt quickstart.job --num_files=24 --sample_size=64k --epochs=2 \
	--accelerators=2 --compute_time=2ms --ioengine=psync --directory="$T/data"
for time in asap think fixed; do
	replay train.mlt --replay_time=$time
	same "a training, $time" train.mlt
	is "$time: what is asked of storage is alike" "$(failing train.mlt again.mlt)" ""
done
is "each thread of the trace that touches files has one that replays it" \
	"$(json run.json jobs.0.io.replay.threads)" \
	"$("$MLTRACE" export --format=csv train.mlt |
		awk -F, '$6 == "read" { print $4 }' | sort -u | wc -l)"
for order in file global; do
	replay train.mlt --replay_time=asap --replay_order=$order
	same "in the order of $order" train.mlt
done

# ---- threads ----

cat >plain.job <<-END
	[plain]
	rw=randrw
	bs=4k
	size=512k
	numjobs=3
	directory=$T/data
	fsync=16
	ioengine=psync
END
run plain.mlt plain.job
replay plain.mlt --replay_time=asap
same "a plain job" plain.mlt
is "in the order of each thread" "$(calls again.mlt thread | cksum)" \
	"$(calls plain.mlt thread | cksum)"
replay plain.mlt --replay_time=asap --replay_threads=1
same "all by one thread" plain.mlt
is "which says so" \
	"$(json run.json jobs.0.io.replay.threads jobs.0.io.numjobs)" "3 1"

# ---- requests under way ----

for engine in io_uring libaio psync mmap; do
	run deep.mlt plain.job --numjobs=1 --fsync=0 --ioengine=io_uring --iodepth=8
	replay deep.mlt --replay_time=asap --ioengine=$engine
	same "eight at a time, by $engine" deep.mlt
done

# ---- checkpoints: made, written, synced, renamed, removed ----

run save.mlt --name=save --phase=checkpoint --checkpoint_size=1m --ranks=2 \
	--checkpoints=3 --checkpoint_keep=1 --checkpoint_layout=torch \
	--directory="$T/data"
for n in first second; do
	replay save.mlt --replay_time=asap --replay_order=file
	same "checkpoints, for the $n time" save.mlt
done

# ---- times ----

# Ten reads of 4 KiB, 20 ms apart, of which the last begins after 180 ms.
{
	echo "fio version 3 iolog"
	echo "0 data/f add"
	echo "0 data/f open"
	for n in 0 1 2 3 4 5 6 7 8 9; do
		echo "$((n * 20000)) data/f read $((n * 4096)) 4096"
	done
	echo "180001 data/f close"
} >ten.iolog
run again.mlt --name=ten --read_iolog=ten.iolog --directory="$T/own"
same "an iolog of fio's" again.mlt
like "its pauses are kept" "$(json run.json jobs.0.io.wall_seconds)" \
	'^0\.(1[89]|[2-9])|^[1-9]'
run again.mlt --name=ten --replay_trace=ten.iolog --replay_speed=4 \
	--directory="$T/own"
like "a fourth of them at four times the speed" \
	"$(json run.json jobs.0.io.replay.asked_seconds)" '^0\.04[56]'

# On storage that takes 50 ms for a call: 10 x (50 + 20) ms with think times, and
# with fixed ones the last of ten reads is late by 50 + 9 x 50 - 180 ms.
slow="--ioengine=fault --engine=psync --delay_every=1 --delay=50ms"
# shellcheck disable=SC2086 # several options
run again.mlt --name=ten --replay_trace=ten.iolog --directory="$T/own" $slow
like "slow storage makes think times last longer" \
	"$(json run.json jobs.0.io.wall_seconds)" '^0\.(6[89]|[789])|^[1-9]'
# shellcheck disable=SC2086 # several options
run again.mlt --name=ten --replay_trace=ten.iolog --directory="$T/own" \
	--replay_time=fixed $slow
like "and fixed times late, by what it took longer" \
	"$(json run.json jobs.0.read.slat_ns.max)" \
	'^(2[6-9]|[3-9][0-9])[0-9]{7}$|^[0-9]{10}'

# ---- fio does the same ----

if command -v fio >/dev/null && command -v jq >/dev/null; then
	"$MLTRACE" export --format=fio-iolog plain.mlt >plain.iolog 2>/dev/null
	replay plain.iolog --replay_time=asap
	ok "fio replays the same log" fio --name=f --read_iolog=plain.iolog \
		--ioengine=psync --replay_no_stall=1 --output-format=json \
		--output=fio.json
	is "and moves the same bytes" \
		"$(json run.json jobs.0.read.io_bytes jobs.0.write.io_bytes)" \
		"$(jq -r '.jobs[0] | "\(.read.io_bytes) \(.write.io_bytes)"' fio.json)"
else
	skip "fio replays the same log" "fio or jq is not here"
fi

# ---- files of the trace itself ----

find data -type f -exec cksum {} + | sort >before
run again.mlt --name=there --replay_trace=plain.mlt --replay_files=traced \
	--replay_time=asap --directory="$T/aside"
find data -type f -exec cksum {} + | sort >after
ok "what the trace names is never written" cmp before after
is "what would have been is counted" \
	"$(json run.json jobs.0.io.replay.redirected)" \
	"$(json run.json jobs.0.io.replay.asked_operations)"
run again.mlt --name=there --replay_trace=train.mlt --replay_files=traced \
	--replay_time=asap --directory="$T/aside2"
is "what is only read is read where it is" \
	"$(json run.json jobs.0.io.replay.redirected jobs.0.io.errors)" "0 0"
not_ok "and nothing is made" test -e aside2

# ---- appends that the trace has no offset of ----

printf '%s\n' start_ns,op,file,offset,bytes,result 0,open,/log,,577,3 \
	10,write,/log,,4096,4096 20,read,/log,0,4096,4096 >append.csv
"$MLTRACE" import --format=csv append.csv --output=append.mlt >out 2>&1
exits "a read of what was appended fails" 1 "$MLGEN" --name=a \
	--replay_trace=append.mlt --directory="$T/appended" --replay_time=asap
like "by what the replay left out, not by others" "$(cat out err)" \
	'read at 0: after the end of the file; writes without an offset in the trace'
done_testing
