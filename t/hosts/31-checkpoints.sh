#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 31-checkpoints.sh - several hosts save one checkpoint together, in one directory with one manifest, and restore it.
# On disk: direct=1 is tried, or what a page cache and a disk do.
. "$(dirname "$0")/rig.sh"

hosts_up 2
cat >model <<'END'
model_layers=2
model_hidden=96
model_ffn=301
model_heads=4
model_kv_heads=2
model_vocabulary=333
zero_stage=3
END
{
	printf '[save]\nphase=checkpoint\nranks=5\ncheckpoints=2\nbs=16k\n'
	cat model
} >save.job
sed 's/^\[save\]/[load]/; s/phase=checkpoint/phase=restore/' save.job >load.job
{
	printf '[train]\nformat=raw\nnum_files=40\nsample_size=4k\nbatch_size=1\n'
	printf 'compute_time=5ms\naccelerators=2\nepochs=2\ndirectory=data\n'
	cat model
} >train.job

# What is in each file, but for who has written the manifest.
sums()
{
	(cd "$1" && find . -name '*.pt' -o -name '*.bin' | sort | xargs sha256sum)
}

saved()
{
	rm -rf ck one data ./*.json
	launch "$1" 2 save.job --directory=ck --json=all.json
	is "$1: two hosts save checkpoints" $? 0
	"$MLGEN" save.job --directory=one --json=one.json --quiet >one.out 2>&1
	ok "$1: which have files" test "$(sums one | wc -l)" -gt 0
	is "$1: of the names and bytes that one process writes" "$(sums ck)" "$(sums one)"
	is "$1: one manifest each" "$(find ck -name mlgen-checkpoint.json | wc -l)" 2
	is "$1: which is of all ranks" \
		"$(grep -o '"ranks": "[^"]*"' ck/global_epoch1_step1/mlgen-checkpoint.json)" \
		"$(grep -o '"ranks": "[^"]*"' one/global_epoch1_step1/mlgen-checkpoint.json)"
	for key in saves.count saves.completed saves.bytes saves.job_ranks saves.ranks; do
		is "$1: $key is that of one process" \
			"$(figure all.json $key)" "$(figure one.json $key)"
	done
	launch "$1" 2 load.job --directory=ck --verify=crc32c --json=all.json
	is "$1: they restore them" $? 0
	is "$1: all of it" "$(figure all.json restores.bytes)" "$(figure one.json saves.bytes)"
	cp -a ck cleaned
	exits "$1: mlgen --clean removes what all processes wrote" 0 "$MLGEN" --clean cleaned --yes \
		--replace
	is "$1: and nothing stays" "$(find cleaned -type f 2>/dev/null)" ""
	rm -rf cleaned
	exits "$1: and so does one process" 0 "$MLGEN" load.job --directory=ck --verify=crc32c
	launch "$1" 2 load.job --directory=one --verify=crc32c
	is "$1: they restore what one has saved" $? 0
	launch "$1" 2 save.job --directory=ck --checkpoint_keep=1 --rename_commit=1 --quiet
	is "$1: with rename_commit and checkpoint_keep" $? 0
	is "$1: one is left" "$(ls ck)" global_epoch1_step4
	launch "$1" 4 save.job --directory=ck --checkpoint_ranks=zero --checkpoints=1 --quiet
	is "$1: where most processes have no rank" $? 0
	launch "$1" 2 save.job --ioengine=null --quiet
	is "$1: without files" $? 0
	launch "$1" 2 save.job --directory=ck --runtime=1 --pause=50ms --checkpoints=100000 --checkpoint_keep=1 --quiet
	is "$1: until time is over for one of them" $? 0
	unlike "$1: which is no fault" "$(cat said)" "incomplete|given up|fail"
}
each_mpi saved

trained()
{
	rm -rf data
	for mode in sync async; do
		launch "$1" 2 train.job --checkpoint_every=1epoch --checkpoint_mode=$mode \
			--json=all.json
		is "$1: a training saves, $mode" $? 0
		is "$1: behind each epoch, for all accelerators" \
			"$(figure all.json saves.completed) $(figure all.json saves.ranks)" "2 4"
		rm -rf data/checkpoints
	done
	launch "$1" 2 train.job --checkpoint_every=50ms --epochs=8 --json=all.json
	is "$1: by time" $? 0
	ok "$1: which comes for all at once" test "$(figure all.json saves.completed)" -gt 0
	is "$1: none is in parts" "$(figure all.json saves.completed)" "$(figure all.json saves.count)"
	launch "$1" 2 train.job --checkpoint_every=50ms --barrier=epoch --epochs=8 --json=all.json
	is "$1: with a barrier for each epoch" $? 0
	ok "$1: too" test "$(figure all.json saves.completed)" -gt 0
	launch "$1" 2 train.job --checkpoint_every=50ms --barrier=none
	is "$1: without barriers a time is refused" $? 2
	like "$1: with the way out" "$(cat said)" 'use steps or epochs, or barrier=step'
	launch "$1" 2 train.job --checkpoint_every=10steps --barrier=none --quiet
	is "$1: steps are not" $? 0
}
each_mpi trained

# Two processes on each of two hosts, whose kernels say that so many kB are dirty.
dirty()
{
	sed "s/^Dirty:.*/Dirty: $2 kB/; s/^Writeback:.*/Writeback: 0 kB/; /^NFS_Unstable/d" \
		/proc/meminfo >meminfo
	mlgen=$MLGEN MLGEN=$T/dirty.sh
	launch "$1" 4 save.job --directory=ck --checkpoint_fsync=none --checkpoints=1 \
		--json=all.json --quiet
	dirty_status=$?
	MLGEN=$mlgen
	return $dirty_status
}

in_memory()
{
	rm -rf ck
	cat >dirty.sh <<END
#!/bin/sh
exec unshare -m sh -c 'mount --bind "$T/meminfo" /proc/meminfo && exec "\$@"' sh "$MLGEN" "\$@"
END
	chmod +x dirty.sh
	unshare -m true 2>/dev/null || { skip "$1: what is dirty" "no mounts here"; return; }
	dirty "$1" 8
	is "$1: two processes on each of two hosts save without fsync" $? 0
	is "$1: what is dirty on a host counts once" \
		"$(figure all.json saves.dirty_bytes) $(figure all.json saves.in_memory_bytes)" \
		"16384 16384"
	dirty "$1" 100000000
	is "$1: and no more than was written" \
		"$(figure all.json saves.in_memory_bytes)" "$(figure all.json saves.bytes)"
}
each_mpi in_memory

# A file where a shard of the second host's is to be.
failed()
{
	rm -rf ck
	launch "$1" 2 save.job --directory=ck --checkpoints=1 --quiet
	mkdir -p full
	cat >full.sh <<END
#!/bin/sh
# What the second host may write has an end.
[ "\$(hostname)" = h1 ] || ulimit -f 100
exec "$MLGEN" "\$@"
END
	chmod +x full.sh
	mlgen=$MLGEN MLGEN=$T/full.sh
	launch "$1" 2 save.job --directory=ck
	is "$1: what fails on one host fails the job" $? 1
	like "$1: and is told with the host" "$(cat said)" 'h2 \(rank 1\).*write'
	MLGEN=$mlgen
	is "$1: nothing of it is left" "$(ls ck)" global_epoch1_step1
	launch "$1" 2 load.job --directory=ck --checkpoints=2
	is "$1: more than there are is refused" $? 2
	is "$1: once" "$(grep -c 'can be restored' said)" 1
}
each_mpi failed

# Each of two jobs, one a host, keeps one: neither deletes what is the other's.
apart()
{
	rm -rf ck
	on_host 1 "$MLGEN" save.job --directory="$T/ck" --checkpoint_keep=1 --quiet >said 2>&1
	is "a job of host 1 keeps one checkpoint" "$(ls ck)" global_epoch1_step2
	# As if another machine had written it.
	sed -i 's/"boot_id": "./"boot_id": "x/; s/"machine_id": "./"machine_id": "x/; s/"host": "h1"/"host": "far"/' \
		ck/*/mlgen-checkpoint.json
	on_host 2 "$MLGEN" save.job --directory="$T/ck" --checkpoint_keep=1 --quiet >said 2>&1
	is "one of another host leaves it" "$(echo ck/*)" "ck/global_epoch1_step2 ck/global_epoch1_step4"
	like "and says why, and how it may go" "$(cat said)" 'on host far.*--replace treats them'
	on_host 2 "$MLGEN" save.job --directory="$T/ck" --checkpoint_keep=1 --replace --quiet >said 2>&1
	is "--replace takes all" "$(echo ck/*)" "ck/global_epoch1_step6"
}
apart

killed()
{
	rm -rf ck
	launch "$1" 2 save.job --directory=ck --checkpoints=1 --checkpoint_fsync=file \
		--scale=100 --model_hidden=1024 --model_layers=40 --ranks=4 --bs=4k &
	job=$!
	for _ in $(seq 100); do
		[ ! -e ck/global_epoch1_step1/mlgen-checkpoint.json ] || break
		sleep 0.05
	done
	kill -9 "$(rank_pids | sed -n 's/^1 //p')"
	wait "$job"
	like "$1: of a process that dies in one it stays incomplete" \
		"$(cat ck/*/mlgen-checkpoint.json)" '"complete": false'
	launch "$1" 2 save.job --directory=ck --checkpoint_keep=1 --quiet
	is "$1: and the next job deletes it" "$(ls ck)" global_epoch1_step3
}
each_mpi killed
done_testing
