# SPDX-License-Identifier: Apache-2.0
# same.sh - is what several processes do that which one with as many accelerators does? Sourced after rig.sh and runs.sh.
# shellcheck shell=sh
#
# Of j.job, which has one reader for each accelerator, so that the order of reads
# is that of samples.

# same_job EPOCHS: one of samples that straddle batches, and its files.
same_job()
{
	cat >j.job <<END
[j]
format=raw
num_files=97
samples_per_file=3
sample_size=6k
batch_size=2
compute_time=0
epochs=$1
randseed=7
read_threads=1
directory=data
END
	"$MLGEN" j.job --epochs=1 --quiet >prepare.out 2>&1 || cat prepare.out
}

# orders TRACE...: which accelerator read which sample: each one's in order.
orders()
{
	for trace; do
		"$MLTRACE" export --format=csv "$trace"
	done | grep ',sample,' | sort -t, -s -k10,10n -k1,1n | cut -d, -f7,8,10
}

# figures FILE: what does not depend on time.
figures()
{
	json "$1" jobs.0.ml.accelerators jobs.0.ml.samples jobs.0.ml.sample_bytes \
		jobs.0.ml.epochs_total jobs.0.ml.steps jobs.0.ml.counted_steps \
		jobs.0.read.io_bytes jobs.0.read.total_ios \
		jobs.0.ml.ops.open.total jobs.0.ml.ops.read.total
}

# same MPI PROCESSES ACCELERATORS-OF-EACH OPTION...: as one process.
same()
{
	mpi=$1 n=$2 each=$3
	shift 3
	rm -f ./*.mlt ./*.json
	"$MLGEN" j.job --accelerators=$((n * each)) "$@" --quiet \
		--trace=one.mlt --json=one.json >one.out 2>&1 || cat one.out
	rm -rf data/checkpoints
	launch "$mpi" "$n" j.job --accelerators="$each" "$@" --quiet \
		--trace=all.mlt --json=all.json
	is "$mpi: $n processes with $each accelerators each end well ($*)" $? 0
	orders one.mlt >one.orders
	orders all.*.mlt >all.orders
	ok "$mpi: they read the samples of one process with $((n * each)), in its order" \
		cmp one.orders all.orders
	ok "$mpi: which are some" test "$(wc -l <one.orders)" -gt 100
	is "$mpi: and count what it counts" "$(figures all.json)" "$(figures one.json)"
	unlike "$mpi: all of which it has" "$(figures one.json)" absent
}
