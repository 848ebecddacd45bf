#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 32-figures.sh - what is said of each host, of the slow one, and of all: hosts=, MLPerf's windows, --json-each, groups.
# On disk: direct=1 is tried, or what a page cache and a disk do.
. "$(dirname "$0")/rig.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=400
sample_size=4k
batch_size=1
compute_time=5ms
accelerators=1
epochs=2
ioengine=null
END

# value FILE PATH: of a document, a path of keys and numbers.
value()
{
	python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."):
    v = v[int(k)] if k.isdigit() else v[k]
print(v)' "$1" "$2"
}

counted()
{
	launch "$1" 2 j.job --hosts=2 --check=mlperf-v2 --json=all.json --json-each=each --quiet
	is "$1: --hosts= of as many as there are" $? 0
	like "$1: which the rules count, with the accelerators of all" "$(cat said)" '2 hosts'
	# Of a process alone they are half of it.
	both=$(value all.json jobs.0.ml.mlperf.v2_0.train_throughput_mean_samples_per_second)
	is "$1: MLPerf's windows are of both hosts" \
		"$(echo "$both" | awk '{ print ($1 > 202 && $1 < 401) }')" 1
	is "$1: each process has left its document" "$(echo each/*)" "each/rank-0.json each/rank-1.json"
	is "$1: which is complete" "$(value each/rank-1.json jobs.0.ml.complete)" True
	is "$1: and its own" "$(figure each/rank-1.json accelerators) $(figure each/rank-1.json samples)" "1 400"
	exits "$1: --merge reads them" 0 "$MLGEN" --merge each/rank-0.json each/rank-1.json
	launch "$1" 2 j.job --hosts=3 --check=mlperf-v2
	is "$1: --hosts= of others is refused" $? 2
	like "$1: with what there is" "$(cat said)" 'hosts=3: the launcher started this job on 2'
	launch "$1" 2 j.job --hosts=1 --check=mlperf-v2
	is "$1: one is not two, either" $? 2
	launch "$1" 2 j.job --json-each=j.job/each
	is "$1: a directory that cannot be is refused" $? 2
	like "$1: and named" "$(cat said)" 'json-each=j.job/each: .*j.job is a regular file'
	launch "$1" 2 j.job --dry-run
	like "$1: a dry run counts the steps of all" "$(cat said)" '200 steps'
}
each_mpi counted

# The second host stands still for half of the time.
slowed()
{
	launch "$1" 2 j.job --epochs=1 --num_files=1600 --json=all.json --json-each=each &
	job=$!
	pid=
	for _ in $(seq 100); do
		pid=$(rank_pids | sed -n 's/^1 //p')
		[ -z "$pid" ] || [ "$(ls "/proc/$pid/task" | wc -l)" -lt 5 ] || break
		sleep 0.1
	done
	while kill -STOP "$pid" 2>/dev/null; do
		sleep 0.03
		kill -CONT "$pid" 2>/dev/null
		sleep 0.03
	done
	wait "$job"
	is "$1: with a slow host" $? 0
	like "$1: the verdict names it" "$(tr '\n' ' ' <said | tr -s ' ')" 'all wait for h2: '
	like "$1: so does the table" "$(cat said)" '^h2 .*slowest'
	like "$1: which says how long each waits for others" "$(cat said)" '^host .* host barrier'
	is "$1: and the document" "$(value all.json merged.runs.1.jobs.0.is_slowest)" True
}
each_mpi slowed

killed()
{
	rm -rf each
	launch "$1" 2 j.job --epochs=100 --num_files=100 --json-each=each &
	job=$!
	for _ in $(seq 100); do
		[ ! -e each/rank-1.json ] || [ ! -e each/rank-0.json ] || break
		sleep 0.1
	done
	for pid in $(rank_pids | sed 's/.* //'); do
		kill -9 "$pid"
	done
	wait "$job"
	is "$1: of all that are killed the last document stays" "$(echo each/*)" "each/rank-0.json each/rank-1.json"
	is "$1: marked as not complete" "$(value each/rank-0.json jobs.0.ml.complete)" False
	exits "$1: --report reads it" 0 "$MLGEN" --report each/rank-0.json
	is "$1: with its epochs" "$(figure each/rank-0.json epochs_total | awk '{ print ($1 > 0) }')" 1
}
each_mpi killed

cat >plain.job <<'END'
[global]
rw=read
bs=16k
size=1m
directory=files
time_based
runtime=1
rate=200k
group_reporting
[a]
[b]
END
plain()
{
	mkdir -p files
	launch "$1" 2 plain.job --output-format=fio-json --output=all.json
	is "$1: plain jobs of two hosts" $? 0
	is "$1: are one group" "$(value all.json jobs.0.jobname) $(value all.json fio\ version | grep -c .)" "a 1"
	is "$1: whose rate is the sum of what each host was asked for" \
		"$(value all.json jobs.0.read.bw_bytes | awk '{ print ($1 > 700000 && $1 < 900000) }')" 1
	is "$1: and so are its bytes" \
		"$(value all.json jobs.0.read.io_bytes | awk '{ print ($1 > 700000 && $1 < 900000) }')" 1
	launch "$1" 2 plain.job
	like "$1: text says of whom it is" "$(cat said)" '2 hosts'
}
each_mpi plain
done_testing
