#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 34-cache.sh - one cache of all processes: it decides as one process does, and its samples go from one to the other.
# On disk: the test uses direct=1 or measures what storage does.
# Sleeps: launchers take a second to start, and a job has to run before one of it is killed.
. "$(dirname "$0")/rig.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=120
sample_size=16k
batch_size=2
compute_time=1ms
epochs=3
read_threads=2
accelerators=1
directory=data
cache=lru
cache_size=50%
END
"$MLGEN" j.job --epochs=1 --quiet >make.out 2>&1

# differ: what is not the same in all.json as in one.json: all that the plan
# decides, in each epoch and in all.
cat >differ.py <<'END'
import json
def cache(name):
    return json.load(open(name))["jobs"][0]["cache"]
plan = ("accesses", "unique_samples", "hits", "misses", "substitutions", "evictions",
        "prefetches", "footprint_bytes", "is_cold")
a, b = cache("all.json"), cache("one.json")
wrong = [k for k in plan + ("units", "used_bytes", "caches", "warm_units")
         if k in a and a[k] != b[k]]
if len(a["epochs"]) != len(b["epochs"]) or not a["epochs"]:
    wrong.append("epochs")
for x, y in zip(a["epochs"], b["epochs"]):
    wrong += ["%s of epoch %d" % (k, x["epoch"]) for k in plan if x[k] != y[k]]
    for k in "sequential_ratio", "rank_correlation", "hit_ratio":
        if (x[k] is None) != (y[k] is None) or x[k] and abs(x[k] - y[k]) > 1e-9:
            wrong.append("%s of epoch %d" % (k, x["epoch"]))
# What one gets another one gives, and what is read is what was not there.
for got, given in ("peer_bytes", "served_bytes"), ("peer_hits", "served_samples"), \
        ("sent_bytes", "received_bytes"):
    if a[got] != a[given] and a["place"] != "played":
        wrong.append("%s %d, but %s %d" % (got, a[got], given, a[given]))
if a["hits"] + a["substitutions"] - a["late_hits"] != (a["cache_bytes"] + a["peer_bytes"]) // 16384:
    wrong.append("bytes of hits")
# How long these took stands apart.
if a["peer_ns"]["N"] != a["peer_hits"] or a["peer_hits"] and not a["peer_ns"]["mean"] > 0:
    wrong.append("latencies of peers")
print(" ".join(wrong))
END

# as_one TITLE MPI RANKS OPTION...: the same job by so many processes, with one
# cache of all of them, and by one with as many accelerators.
as_one()
{
	title=$1 mpi=$2 ranks=$3
	shift 3
	rm -f all.json one.json
	launch "$mpi" "$ranks" j.job --cache_scope=all --json=all.json "$@"
	is "$mpi, $ranks: $title" $? 0
	"$MLGEN" j.job --accelerators="$ranks" --json=one.json --quiet "$@" >one.out 2>&1
	is "$mpi, $ranks: it decides as one process with as many accelerators" \
		"$(python3 differ.py 2>&1)" ""
}

samples()
{
	echo $(($(figure all.json "$1") / 16384))
}

counts()
{
	as_one "a cache of all in memory" "$1" 2 --cache_verify=1
	is "$1: storage gave what is missed, or was late" "$(samples cache.storage_bytes)" \
		$(($(figure all.json cache.misses) + $(figure all.json cache.late_hits)))
	ok "$1: the other process gave some of it" [ "$(figure all.json cache.peer_hits)" -gt 0 ]
	ok "$1: all of it was looked at" [ "$(figure all.json cache.verified)" -eq \
		$(($(figure all.json cache.hits) - $(figure all.json cache.late_hits))) ]
	is "$1: and was what was read" "$(figure all.json cache.wrong)" 0
	like "$1: the report says among whom it is divided" "$(cat said)" \
		'divided among 2 processes'
	like "$1: and what they had of each other" "$(cat said)" \
		"^cache peers +[0-9]+ hits in the parts of other processes, of [0-9.]+ ms each"
	as_one "one that never evicts, of four" "$1" 4 --cache=minio --cache_size=40%
	as_one "one that is only played" "$1" 4 --cache_latency=10us
	ok "$1: hits of others' parts are told apart" [ "$(figure all.json cache.peer_hits)" -gt 0 ]
	as_one "one that knows what comes" "$1" 2 --cache=belady --cache_size='31 samples'
	as_one "one that is warm" "$1" 2 --cache=fifo --cache_warm=100%
	as_one "one that stands in" "$1" 2 --cache=minio --cache_substitute=any
	as_one "one that fetches ahead" "$1" 2 --cache_prefetch=8 --cache_size=60%
	# The tier is smaller than the processes are many.
	as_one "one with fewer places than processes" "$1" 4 --cache_size='3 samples'
}
each_mpi counts

# Samples of several, of which a page is kept whole.
pages()
{
	rm -rf paged
	for unit in page:64k file; do
		launch "$1" 2 j.job --directory=paged --num_files=12 --samples_per_file=16 \
			--cache_unit=$unit --cache_scope=all --cache_verify=1 --json=all.json
		is "$1: cache_unit=$unit is kept whole by one of them" $? 0
		ok "$1: and parts of it go to the other" [ "$(figure all.json cache.peer_hits)" -gt 0 ]
		launch "$1" 2 j.job --directory=paged --num_files=12 --samples_per_file=16 \
			--cache_unit=$unit --cache_scope=all --json=all.json
		is "$1: of cache_unit=$unit no more goes than is asked for" \
			"$(figure all.json cache.peer_bytes)" "$(figure all.json cache.served_bytes)"
	done
}
each_mpi pages

directory()
{
	for how in "sync slab" "async files"; do
		as_one "one in a directory, $how" "$1" 4 --cache_directory=tier \
			--cache_fill="${how% *}" --cache_layout="${how#* }" --cache_verify=1
		ok "$1: whose samples go to others" [ "$(figure all.json cache.peer_hits)" -gt 0 ]
		is "$1: nothing of it stays" "$(find tier -mindepth 1 2>/dev/null)" ""
	done
	launch "$1" 2 j.job --cache_scope=all --cache_directory=tier --direct=1 --json=all.json --quiet
	is "$1: with direct=1, too" $? 0
	launch "$1" 2 j.job --cache_scope=all --trace=t.mlt --quiet
	is "$1: and with a trace" $? 0
	is "$1: of each" "$(echo t.*.mlt)" "t.0.mlt t.1.mlt"
}
each_mpi directory

# Both processes of a host, whose file system is that of the other one here.
beside()
{
	rm -rf tier
	special 2 'mkdir -p tier2 tier && exec unshare -m sh -c "mount --bind tier2 tier && exec \"\$@\"" sh "$@"'
	for scope in host rank; do
		mkdir -p tier
		launch "$1" 4 j.job --cache_scope=$scope --cache_directory=tier --cache_persist=1 --quiet
		is "$1: processes of a host with cache_scope=$scope and a directory" $? 0
		is "$1: have a folder each" "$(find tier -mindepth 1 -maxdepth 1 | wc -l)" 2
		is "$1: on each host" "$(find tier2 -mindepth 1 -maxdepth 1 | wc -l)" 2
		launch "$1" 4 j.job --cache_scope=$scope --cache_directory=tier --cache_persist=1 --epochs=1 \
			--json=all.json
		ok "$1: which the next run finds again" [ "$(figure all.json cache.hits)" -gt 0 ]
		rm -rf tier tier2
	done
	special 2
	launch "$1" 2 j.job --cache_scope=host --cache_directory=tier --quiet
	is "$1: hosts in one directory are refused" $? 2
	like "$1: with what they are to have" "$(cat said)" \
		'cache_directory: tier/mlgen-cache-j is in use by another mlgen, or by another host of this job'
}
each_mpi beside

refused()
{
	while read -r options; do
		# shellcheck disable=SC2086 # several options
		launch "$1" 2 j.job --cache_scope=all $options
		is "$1: $options is refused" $? 2
		like "$1: with the way out" "$(cat said)" \
			'cache_scope: .*one cache of 2 processes.*use cache_scope=host'
	done <<-END
	--cache_directory=tier --cache_persist=1
	--shared=0
	--cache_prefetch=4 --cache_latency=1us
	--barrier_over=mpi
	END
	launch "$1" 2 j.job --cache_scope=all --dry-run
	like "$1: a dry run says who keeps what" "$(cat said)" \
		'shared by all 2 processes, each of which keeps 1/2'
	rm -f holder
	on_host 2 python3 -c 'import os, socket, time
s = socket.socket(socket.AF_INET6); s.bind(("::", 7101)); s.listen()
open("holder", "w").write(str(os.getpid())); time.sleep(60)' &
	while ! [ -s holder ]; do
		sleep 0.1
	done
	launch "$1" 2 j.job --cache_scope=all --peers_port=7100
	like "$1: a port that is taken is named, and where" "$(cat said)" \
		'cache_scope=all: host h2 \(rank 1\): peers_port=7101: Address already in use'
	kill "$(cat holder)"
	wait
	launch "$1" 2 j.job --cache_scope=all --peers_port=7100 --quiet
	is "$1: one that is free is taken" $? 0
}
each_mpi refused

# await MPI COUNT OPTION...: a long job of so many processes, which works.
begin()
{
	launch "$@" --cache_scope=all --epochs=100000 &
	job=$!
	for _ in $(seq 100); do
		[ "$(rank_pids | wc -l)" -eq "$2" ] && break
		sleep 0.1
	done
	sleep 2
}

ended()
{
	for _ in $(seq 150); do
		[ -n "$(rank_pids)" ] || break
		sleep 0.1
	done
	is "$1" "$(rank_pids)" ""
	wait "$job" 2>/dev/null
}

death()
{
	begin "$1" 4 j.job
	kill -9 "$(rank_pids | sed -n 's/^1 //p')"
	ended "$1: when one is killed all end"
	# hydra kills the others at once, and what they write may be lost.
	[ "$1" = mpich ] ||
		like "$1: and say who it was" "$(cat said)" 'host h2 \(rank 1\)'
	begin "$1" 2 j.job
	kill -INT "$(rank_pids | sed -n 's/^1 //p')"
	ended "$1: when one is interrupted all end"
	like "$1: and there is a report" "$(cat said)" 'hits in the parts of other processes'
	unlike "$1: in which nobody is lost" "$(cat said)" 'cannot be reached|was lost'
	[ "$1" = openmpi ] || return 0
	begin "$1" 2 j.job
	kill -STOP "$(rank_pids | sed -n 's/^1 //p')"
	sleep 14
	like "$1: one that stands still is missed" "$(cat said)" 'host h2 \(rank 1\)'
	for pid in $(rank_pids | sed 's/.* //'); do
		kill -9 "$pid"
	done
	wait "$job" 2>/dev/null
}
each_mpi death

done_testing
