#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 10-meet.sh - processes on several hosts are one job: each sample is read once, and what differs is refused.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=407
sample_size=4k
batch_size=3
compute_time=1ms
epochs=3
accelerators=2
ioengine=null
END

# Which samples: of an order in which a fault of numbering would read some twice.
one_job()
{
	launch "$1" 2 j.job --drop_last=0 --batch_size=1 --num_files=408
	is "$1: a job of two hosts ends well: each epoch's ids add up over both" $? 0
	unlike "$1: nobody complains" "$(cat said)" "lost or duplicated|was lost"
	launch "$1" 4 j.job --shuffle=file --shard=file --epochs=2
	is "$1: and so does one with two processes on each" $? 0
	launch "$1" 2 j.job --barrier=epoch
	is "$1: with a barrier for each epoch" $? 0
	launch "$1" 2 j.job --barrier=none
	is "$1: and with none" $? 0
	launch "$1" 2 j.job --runtime=300ms --time_based
	is "$1: time is up for both" $? 0
	launch "$1" 2 j.job --barrier_over=mpi
	is "$1: barrier_over=mpi does the same" $? 0
}
each_mpi one_job

refused()
{
	printf '[j]\nformat=raw\nnum_files=407\nioengine=null\nbatch_size=3\n' >two.job
	cat >differ <<END
#!/bin/sh
[ "\$(hostname)" = h1 ] && exec "$MLGEN" $T/two.job
exec "$MLGEN" $T/two.job --batch_size=4
END
	chmod +x differ
	MLGEN=$T/differ launch "$1" 2
	is "$1: another job on one host is refused" $? 2
	like "$1: and host and option are named" "$(cat said)" \
		"host h2 \(rank 1\): its job has batch_size=4, but the job of host h1 \(rank 0\) has batch_size=3"
	is "$1: once" "$(grep -c 'batch_size=4' said)" 1
	# Whoever cannot read its jobs meets the others all the same, which would
	# wait for it for ever under mpirun of MPICH.
	for who in 1 2; do
		special "$who" 'exec "$@" --accelerators=0'
		launch "$1" 2 j.job
		is "$1: a job that is wrong on h$who is refused" $? 2
		like "$1: in one line" "$(grep '^mlgen' said)" \
			'^mlgen: (host h2 \(rank 1\): )?accelerators: 0 is below the minimum 1$'
	done
	special 2
	launch "$1" 2 j.job --epochs=0
	is "$1: one that is wrong everywhere is told once" \
		"$? $(grep -c 'epochs: 0 is below' said)" "2 1"
	launch "$1" 2 j.job --peers_port=4711
	is "$1: a port can be chosen" $? 0
	ip netns exec "mlh$$-1" python3 -c '
import socket, time
s = socket.socket()
# The job before has left the port waiting.
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 4711))
s.listen(1)
open("taken", "w")
time.sleep(60)' &
	listener=$!
	for _ in $(seq 100); do
		[ ! -e taken ] || break
		sleep 0.1
	done
	rm taken
	launch "$1" 2 j.job --peers_port=4711
	like "$1: one that another uses is named" "$(cat said)" \
		"host h1 \(rank 0\): peers_port=4711: .*in use"
	kill "$listener"
	wait "$listener" 2>/dev/null
}
each_mpi refused

for_none()
{
	is "one process under $1 is no several: $2" "$(env $3 "$MLGEN" j.job --epochs=1 --dry-run | head -n 1)" \
		"$("$MLGEN" j.job --epochs=1 --dry-run | head -n 1)"
}
for_none mpirun openmpi "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0"
exits "a task of srun without an MPI is refused" 2 \
	env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "$MLGEN" j.job
like "and told what srun needs" "$(cat err)" "srun --mpi=pmix"
if [ -f "$BUILT/build/mlgen-mpi-mpich.so" ]; then
	exits "a launcher of which the library knows nothing is refused" 2 \
		env PMI_SIZE=2 PMI_RANK=0 "$MLGEN" j.job
	like "and both are named" "$(cat err)" \
		"mpirun of MPICH started 2 processes.*library of MPICH sees rank 0 of 1"
fi
mkdir elsewhere
cp "$MLGEN" elsewhere/mlgen
exits "a launcher whose plugin was not built is refused" 2 \
	env PMI_SIZE=2 PMI_RANK=0 elsewhere/mlgen j.job
like "and its package named" "$(cat err)" "libmpich-dev"
done_testing
