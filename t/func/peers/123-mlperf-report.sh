#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 123-mlperf-report.sh - MLPerf Storage's own report program reads the summaries that mlgen writes.
#
# The program is not part of mlgen: MLPERF_REPORT=PATH names the report.py of its
# v1.0 (github.com/mlcommons/storage, v1.0-branch), which wants five runs, each a
# folder with DLIO's summary.json and the configs/overrides.yaml that Hydra writes
# there, for the line with the workload. Later versions start from metadata that
# only mlpstorage itself writes, so there is nothing to show of them.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

[ -f "${MLPERF_REPORT-}" ] ||
	skip_all "MLPERF_REPORT does not name report.py of MLPerf Storage v1.0"
/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
	skip_all "report.py needs numpy"

# It imports a parser of dates and does not use it.
mkdir -p python/dateutil
: >python/dateutil/__init__.py
: >python/dateutil/parser.py
report()
{
	PYTHONPATH=$T/python /usr/bin/python3 "$MLPERF_REPORT" -rd results
}

for i in 1 2 3 4 5; do
	mkdir -p results/run$i/configs
	echo "- workload=unet3d_h100" >results/run$i/configs/overrides.yaml
	"$MLGEN" unet3d.job --ioengine=null --accelerators=2 --num_files=70 \
		--compute_time=1ms --epochs=2 --target_au=1 --randseed=$i \
		--check=mlperf-v1 --output-format=dlio \
		>results/run$i/summary.json 2>err
done
is "five summaries were written" \
	"$(cat results/run?/summary.json | grep -c '"metric"')" 5
exits "report.py of v1.0 reads them" 0 report
/usr/bin/python3 -m json.tool --indent 2 mlperf_storage_report.json report.json
is "as the runs that they are" "$(json report.json \
	overall.model overall.accelerator overall.num_benchmark_runs \
	overall.train_num_accelerators overall.num_files_train \
	overall.num_samples_per_file)" "unet3d h100 5 2 70 1"
# mean KEY: of the five summaries, to six digits
mean()
{
	for summary in results/run?/summary.json; do
		json "$summary" "metric.$1"
	done | awk '{ sum += $1 } END { printf "%.6g\n", sum / NR }'
}
overall()
{
	json report.json "overall.$1" |
		awk '{ printf "%.6g\n", $1 }'
}
is "with their samples per second" \
	"$(overall train_throughput_mean_samples_per_second)" \
	"$(mean train_throughput_mean_samples_per_second)"
is "and MB per second" "$(overall train_throughput_mean_MB_per_second)" \
	"$(mean train_io_mean_MB_per_second)"

sed -i 's/"success"/"fail"/' results/run3/summary.json
exits "an AU that was missed is refused there, too" 1 report
like "by the run" "$(cat err)" "didn't pass the threshold in the run .*run3"
rm -r results/run5
exits "as are four runs" 1 report

done_testing
