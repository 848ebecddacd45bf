#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 35-dry-run.sh - a dry run of several processes says what all of them would do, and what any of them would be refused for.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=60000
sample_size=16k
batch_size=2
compute_time=2ms
epochs=2
accelerators=2
directory=data
eval_files=64
eval_every=1
END
cat >save.job <<'END'
[save]
phase=checkpoint
ranks=5
checkpoints=2
directory=ck
model_layers=2
model_hidden=96
model_ffn=301
model_heads=4
model_kv_heads=2
model_vocabulary=333
zero_stage=3
END

# planned FILE KEY...: of its first job.
planned()
{
	file=$1
	shift
	for key; do
		json "$file" "jobs.0.plan.$key"
	done
}

# Without the lines that are of a host or a process; the last one is the end of one that is broken.
lines_of_all()
{
	grep -v '^hosts \|^memory \|^files \|^not default\|free in\|mpirun\|memory of\|--dataset_ratio\|hosts* can keep\|^ *all$' "$@"
}

same()
{
	launch "$1" 4 j.job --dry-run --json=all.json
	is "$1: a dry run of four processes on two hosts" $? 0
	"$MLGEN" j.job --accelerators=8 --dry-run --json=one.json >one.out 2>&1
	is "$1: plans what one process with their accelerators would do" \
		"$(lines_of_all said)" "$(lines_of_all one.out)"
	like "$1: says how many they are" "$(cat said)" \
		'^hosts     2 hosts, 4 processes, 8 accelerators$'
	is "$1: so does the document" "$(planned all.json hosts processes accelerators | tr '\n' ' ')" \
		"2 4 8 "
	for key in steps_per_epoch left_over_samples total_steps read_bytes \
		least_seconds demand_bytes_per_sec reads_in_flight framework_bytes write_files; do
		is "$1: $key is that of one process" "$(planned all.json $key)" "$(planned one.json $key)"
	done
	is "$1: and so are its samples" "$(json all.json jobs.0.ml.samples)" \
		"$(json one.json jobs.0.ml.samples)"
	"$MLGEN" j.job --dry-run --json=one.json >one.out 2>&1
	is "$1: memory is that of a host with two of them" "$(planned all.json program_bytes)" \
		"$(($(planned one.json program_bytes) * 2))"
	is "$1: to be had on both" "$(planned all.json memory_bytes)" \
		"$(($(planned one.json memory_bytes) * 2))"
	launch "$1" 4 save.job --dry-run --json=all.json
	"$MLGEN" save.job --dry-run --json=one.json >one.out 2>&1
	for key in checkpoint.local_ranks checkpoint.local_bytes checkpoint.local_files \
		checkpoint.move_bytes checkpoint.in_flight; do
		is "$1: $key is that of one process" "$(planned all.json $key)" "$(planned one.json $key)"
	done
	ok "$1: which is some" test "$(planned one.json checkpoint.move_bytes)" -gt 0
	# Ranks 0 and 2 of the processes are on h1, with 3 of the 5 of the job.
	of_all=$(planned all.json checkpoint.program_bytes)
	launch "$1" 2 save.job --ranks=2 --dry-run --json=all.json
	is "$1: memory of checkpoints is that of a host's processes, too" \
		"$((of_all > 2 * $(planned all.json checkpoint.program_bytes)))" 1
}

# The files of a plain job are those of its options: all processes use the same.
plain()
{
	mkdir -p plain
	cat >io.job <<-'END'
	[io]
	rw=write
	size=64k
	numjobs=3
	directory=plain
	END
	launch "$1" 4 io.job --dry-run --json=all.json
	"$MLGEN" io.job --dry-run --json=one.json >one.out 2>&1
	is "$1: what several would make of files is that of one process" \
		"$(planned all.json write_files write_bytes)" "$(planned one.json write_files write_bytes)"
	like "$1: so does its page" "$(cat said)" '^data  *3 files in plain'
	is "$1: what they move is four times as much" "$(planned all.json move_bytes)" \
		"$(($(planned one.json move_bytes) * 4))"
	like "$1: and so are the requests, with whose workers they are" "$(cat said)" \
		'^in flight 12 requests \(3 workers in each process, one each\)'
	launch "$1" 4 io.job --quiet
	is "$1: a run has made these" "$(find plain -type f | wc -l)" 3
	rm -rf plain
}

refused()
{
	special 2 'ulimit -n 150; exec "$@"'
	launch "$1" 4 j.job --dry-run --read_threads=100 --json=all.json
	like "$1: what another host would refuse is a FAIL, with its name" \
		"$(tr -s ' \n' ' ' <said)" 'files .* FAIL host h2 \(rank 1\): [0-9]* files may be open at once'
	like "$1: and a blocker" "$(json all.json jobs.0.plan.blockers.0.text)" '^host h2'
	special 2
	launch "$1" 4 j.job --dry-run --readonly
	is "$1: what all would is told once" "$(grep -c 'readonly: ' said)" 1
	launch "$1" 4 j.job --dry-run --num_files=4
	is "$1: what cannot be planned is refused" $? 2
	is "$1: once" "$(grep -c 'accelerators: 8 ' said)" 1
}

# Listed by one: another would find more.
scanned()
{
	unshare -m true 2>/dev/null || { skip "$1: a scan" "no mounts here"; return; }
	mkdir -p there/zzz
	for i in 1 2 3 4 5 6 7 8; do
		head -c 5000 /dev/zero >there/$i
	done
	special 2 'exec unshare -m sh -c "mount -t tmpfs none there/zzz && \
		head -c 7 /dev/zero >there/zzz/more; exec \"\$@\"" sh "$@"'
	launch "$1" 2 j.job --eval_files=0 --dataset=scan --directory=there --dry-run
	is "$1: files that are there" $? 0
	like "$1: are listed by rank 0" "$(cat said)" '^dataset   8 raw files'
	special 2
}

for part in same plain refused scanned; do
	each_mpi "$part"
done
done_testing
