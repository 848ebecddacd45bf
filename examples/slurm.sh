#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# slurm.sh - a batch job of Slurm: one process a node, how many accelerators they keep busy together.
#
#   sbatch --nodes=4 examples/slurm.sh unet3d.job --directory=/mnt/array/unet3d
#   sbatch --nodes=4 examples/slurm.sh unet3d.job --directory=/mnt/array/unet3d \
#       --find-max=accelerators --require='au>=90'
#
# accelerators= is of a process: with 8 of them on 4 nodes the job has 32. The
# report is in slurm-JOBID.out, the document beside it. srun --mpi=list says which
# interfaces this Slurm has: pmix wants mlgen's plugin of Open MPI, pmi2 that of
# MPICH. Other:  MPI=pmi2 ACCELERATORS=16 sbatch ... (see mlgen-hosts(7))
#SBATCH --job-name=mlgen
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive

[ $# -ge 1 ] || { echo "usage: sbatch --nodes=N slurm.sh JOB [mlgen options ...]" >&2; exit 2; }
# A task has all CPUs of its node: its readers want them.
exec srun --mpi="${MPI:-pmix}" --cpus-per-task="${SLURM_CPUS_ON_NODE:-1}" \
	"${MLGEN:-mlgen}" "$@" --accelerators="${ACCELERATORS:-8}" \
	--json="mlgen-${SLURM_JOB_ID:-0}.json"
