#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 50-srun.sh - srun starts a job of two tasks on one node: they are one job, of one host.
# Sleeps: a controller of Slurm and a node of it take some seconds to start.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

for tool in munged slurmctld slurmd srun scontrol; do
	command -v "$tool" >/dev/null ||
		skip_all "there is no $tool (slurm-wlm of Debian has it)"
done
hosts_up 1

# Slurm of our own: its files are in $T, its ports those of a namespace.
SLURM_CONF=$T/slurm.conf
export SLURM_CONF
cat >slurm.conf <<END
ClusterName=mlgen
SlurmctldHost=h1(10.99.7.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$T/munge.socket
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/spool
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd.pid
SlurmctldLogFile=$T/slurmctld.log
SlurmdLogFile=$T/slurmd.log
KillWait=2
NodeName=h1 NodeAddr=10.99.7.1 CPUs=$(nproc)
PartitionName=all Nodes=h1 Default=YES State=UP OverSubscribe=FORCE:4
END
mkdir state spool
(umask 077 && head -c 1024 /dev/urandom >munge.key)

slurm_down()
{
	for daemon in $daemons; do
		kill "$daemon" 2>/dev/null
	done
	for daemon in $daemons; do
		wait "$daemon" 2>/dev/null
	done
	rig_down
}
daemons=
trap slurm_down EXIT

# Not by ip netns, which hides the control groups that slurmd wants.
on_node()
{
	nsenter --net="/run/netns/mlh$$-1" unshare --uts sh -c 'hostname h1; exec "$@"' sh "$@"
}

# daemon COMMAND...: on the node, until the script ends.
daemon()
{
	on_node "$@" >"$1.out" 2>&1 </dev/null &
	daemons="$! $daemons"
}

node_is_idle()
{
	on_node scontrol show node h1 2>/dev/null | grep -q State=IDLE
}

daemon munged --foreground --force --key-file="$T/munge.key" --socket="$T/munge.socket" \
	--pid-file="$T/munge.pid" --log-file="$T/munge.log" --seed-file="$T/munge.seed"
poll test -S munge.socket || skip_all "munged does not start: $(cat munged.out)"
daemon slurmctld -D
daemon slurmd -D -N h1
poll node_is_idle ||
	skip_all "Slurm does not start: $(tail -n 2 slurmctld.log) $(tail -n 2 slurmd.log)"

cat >j.job <<'END'
[j]
format=raw
num_files=97
sample_size=6k
batch_size=2
compute_time=0
epochs=2
read_threads=1
accelerators=2
directory=data
END
"$MLGEN" j.job --accelerators=4 --json=one.json --quiet >one.out 2>&1 || cat one.out

figures()
{
	json "$1" jobs.0.ml.accelerators jobs.0.ml.samples jobs.0.ml.sample_bytes \
		jobs.0.ml.epochs_total jobs.0.ml.steps jobs.0.read.io_bytes jobs.0.read.total_ios
}

# through MPI PLUGIN: srun meets through it.
through()
{
	if ! [ -f "$BUILT/build/mlgen-mpi-$2.so" ] ||
		! on_node srun --mpi=list 2>&1 | grep -qw "$1"; then
		skip "srun --mpi=$1" "Slurm or mlgen was built without"
		return
	fi
	exits "srun --mpi=$1: two tasks end well" 0 \
		on_node srun -n 2 "--mpi=$1" "$MLGEN" j.job --json=all.json
	like "srun --mpi=$1: they are one job of one host" "$(cat out)" \
		' 2 processes, 4 accelerators'
	is "srun --mpi=$1: which did what one process does" \
		"$(figures all.json)" "$(figures one.json)"
	exits "srun --mpi=$1: one task is no several" 0 \
		on_node srun -n 1 "--mpi=$1" "$MLGEN" j.job
	unlike "srun --mpi=$1: of which nothing is said" "$(cat out)" ' processes, '
	exits "srun --mpi=$1: what is required and missed is status 3 for all" 3 \
		on_node srun -n 2 "--mpi=$1" "$MLGEN" j.job --require='samples_per_sec>=1e12' --quiet
}
through pmix openmpi
through pmi2 mpich
exits "srun without an MPI is refused" 2 on_node srun -n 2 --mpi=none "$MLGEN" j.job
like "and told what it takes" "$(cat err)" 'srun --mpi=pmix .* or srun --mpi=pmi2'
exits "with one task it needs none" 0 on_node srun -n 1 --mpi=none "$MLGEN" j.job --quiet

# A batch job whose launcher is mpirun: it starts one step for each node.
cat >b.sh <<END
#!/bin/sh
mpirun.openmpi --allow-run-as-root --bind-to none --oversubscribe -n 2 "$MLGEN" "$T/j.job" >"$T/batch.out" 2>&1
echo \$? >"$T/batch.status"
END
if command -v mpirun.openmpi >/dev/null && [ -f "$BUILT/build/mlgen-mpi-openmpi.so" ]; then
	on_node sbatch -n 2 --output=/dev/null b.sh >/dev/null 2>&1
	poll test -s batch.status
	is "mpirun in a batch job is what starts the processes" "$(cat batch.status)" 0
	like "of one job" "$(cat batch.out)" ' 2 processes, 4 accelerators'
fi

# The example, which sbatch takes as it is.
for mpi in pmix:openmpi pmi2:mpich; do
	[ -f "$BUILT/build/mlgen-mpi-${mpi#*:}.so" ] || continue
	rm -f slurm.out
	exits "examples/slurm.sh with ${mpi%:*} is a batch job" 0 on_node env MPI="${mpi%:*}" \
		MLGEN="$MLGEN" ACCELERATORS=3 sbatch --wait --nodes=1 --output="$T/slurm.out" \
		"$TOP/examples/slurm.sh" "$T/j.job" --directory="$T/data"
	like "with its report" "$(cat slurm.out)" ' 3 accelerators'
	ok "and its document" [ -s "$(echo mlgen-*.json)" ]
	rm -f mlgen-*.json
done
done_testing
