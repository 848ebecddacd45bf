#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 171-score-jobs.sh - two runs of each shipped job, made small, ask for the same: M1 to M7 pass.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# JOB OPTION... Of few files that several threads read at once the order is chance:
# with 28 files in batches of 7, four loaders of unet3d have all of them in flight,
# and the order of two rounds differs by up to .8; with 112 by .1.
small='
	quickstart	--num_files=64 --sample_size=2k
	unet3d		--num_files=112 --sample_size=2k
	resnet50	--num_files=128 --samples_per_file=8 --sample_size=900 --batch_size=8
	cosmoflow	--num_files=64 --sample_size=2k
	bert		--num_files=4 --samples_per_file=100 --sample_size=900 --batch_size=8
	retinanet	--num_files=96 --sample_size=8k
	flux-jpeg	--num_files=256 --sample_size=8k
	dlrm		--num_files=4 --samples_per_file=64 --row_group_size=16 --batch_size=16
	dlrm-npz	--num_files=512 --batch_size=8
	dlrm-dlio	--samples_per_file=16 --sample_size=2k
	megatron	--samples_per_file=128
	dlio-default	--eval_time=1ms'

mkdir small
run()
{
	run_trace=$1
	shift
	"$MLGEN" "$@" --ioengine=psync --compute_time=1ms --epochs=2 \
		--invalidate=0 --ceiling=no --trace="$run_trace" \
		--directory="$T/small/${1%.job}" >run.out 2>&1 ||
		note "$(cat run.out)"
}

failing()
{
	for metric in m1 m2 m3 m4 m5 m6 m7; do
		json score.json "score.$metric" |
			awk -v m=$metric '$1 != "null" && $1 > 1 { print m, $1 }'
	done
}

while read -r job options; do
	[ -n "$job" ] || continue
	set -f
	# shellcheck disable=SC2086 # several options
	for n in 1 2 3; do
		run $n.mlt "$job.job" $options
	done
	set +f
	rm -f score.json
	"$MLTRACE" score 1.mlt 2.mlt 3.mlt --quiet --json=score.json \
		>score.out 2>&1
	like "$job.job: what is asked of storage is known" \
		"$(json score.json score.m1 score.m2 score.m3 score.m4)" \
		'^[0-9.]+ [0-9.]+ [0-9.]+ [0-9.]+$'
	is "$job.job is like itself" "$(failing)" ""
	rm -rf small
done <<-END
	$small
END

done_testing
