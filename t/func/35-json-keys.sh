#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 35-json-keys.sh - a report has every key that its readers look for, with figures that agree.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

exits "a run with all that is reported" 0 "$MLGEN" --name=x --directory=data \
	--format=npz --num_files=48 --sample_size=5000 --accelerators=2 \
	--batch_size=3 --epochs=3 --compute_time=2ms --target_au=1 --bs=4k \
	--json=run.json

# has PLACE KEY...: each is there.
has()
{
	place=$1
	shift
	for key; do
		set -- "$@" "$place$key"
		shift
	done
	is "${place:-the top }has its keys" "$(json_lacks run.json "$@")" ""
}

empty="min max mean stddev N percentile"
latency="$empty bins"
figures="percentile.50.000000 percentile.90.000000 percentile.99.000000 percentile.99.900000"

# shellcheck disable=SC2086 # several keys
{
	has "" "mlgen version" schema_version timestamp timestamp_ms time \
		"global options" jobs disk_util machine.hostname machine.kernel \
		machine.cpus machine.memory_bytes
	has jobs.0. jobname groupid error elapsed job_runtime "job options" \
		options_resolved options_origin usr_cpu sys_cpu ctx majf minf \
		read write trim latency_us latency_ms iodepth_level
	for way in read write trim; do
		has jobs.0.$way. io_bytes io_kbytes bw_bytes bw iops runtime \
			total_ios short_ios drop_ios bw_min bw_max bw_mean \
			bw_dev bw_samples iops_min iops_max iops_mean \
			iops_stddev iops_samples
		for kind in slat clat lat; do
			has jobs.0.$way.${kind}_ns. $empty $figures
		done
	done
	has jobs.0.ml. accelerators steps samples sample_bytes samples_per_sec \
		sample_bytes_per_sec au_percent au_percent_per_accelerator.1 \
		demand_bytes_per_sec demand_io_bytes_per_sec \
		storage.memory_percent storage.device_read_bytes \
		storage.jobs_read_bytes storage.source storage.filesystem \
		window.from window.begin_seconds window.seconds \
		storage.mount_target storage.device storage.scheduler \
		host.cpu_percent host.oversleep_ns mlperf verdict.name \
		verdict.headline verdict.because
	has jobs.0.ml.time_percent. compute stall barrier checkpoint evaluation \
		oversleep other
	has jobs.0.ml.loader_percent. open stat read write fsync close cpu idle \
		other
	for epoch in 0 1 2; do
		has jobs.0.ml.epochs.$epoch. epoch samples sample_bytes seconds \
			samples_per_sec au_percent
	done
	has jobs.0.ml. samples_per_extent eval.io_bytes eval.io_bytes_per_sec
	has jobs.0.dataset. sample_bytes row_bytes
	for kind in sample step first_step stall; do
		has jobs.0.ml.${kind}_ns. $latency $figures
	done
	for op in open stat read write fsync close; do
		has jobs.0.ml.ops.$op. total
		has jobs.0.ml.ops.$op.lat_ns. $latency $figures
	done
}

# sum PLACE KEY...
sum()
{
	place=$1
	shift
	# shellcheck disable=SC2046 # one word each
	json run.json $(printf "$place%s\n" "$@") | tr ' ' '\n' |
		awk '{ sum += $1 } END { printf "%.3f\n", sum }'
}

is "accelerator time sums to 100" "$(sum jobs.0.ml.time_percent. compute stall \
	barrier checkpoint evaluation oversleep other)" 100.000
is "loader time sums to 100" "$(sum jobs.0.ml.loader_percent. open stat read \
	write fsync close reap cpu idle other)" 100.000
is "epochs sum to the whole" "$(sum jobs.0.ml.epochs. 0.samples 1.samples \
	2.samples) $(sum jobs.0.ml.epochs. 0.sample_bytes 1.sample_bytes \
	2.sample_bytes)" "144.000 720000.000"
is "counts of operations agree" \
	"$(ml run.json ops.open.total ops.open.lat_ns.N ops.read.total \
		ops.read.lat_ns.N ops.close.total sample_ns.N)" \
	"144 144 288 288 144 144"
is "steps are in one table or the other" \
	"$(ml run.json step_ns.N stall_ns.N first_step_ns.N counted_steps)" \
	"42 42 6 42"
is "the read object has the same" \
	"$(json run.json jobs.0.read.total_ios jobs.0.read.io_bytes)" \
	"288 $(ml run.json io_bytes)"
is "demand is batch by size by accelerators by rate of steps" \
	"$(ml run.json demand_bytes_per_sec)" 15000000.0
# bins KEY: of a latency of ml, their counts summed.
bins()
{
	awk -v key="\"$1\": {" '
		index($0, key) { inside = 1 }
		inside && /"bins": \{/ { counting = 1; next }
		counting && /\}/ { print sum + 0; exit }
		counting { sub(/.*: /, ""); sum += $0 }' run.json
}
is "bins hold what was counted" "$(bins sample_ns) $(bins step_ns)" "144 42"
is "options as written and as resolved" \
	"$(json run.json "jobs.0.job options.bs" jobs.0.options_resolved.bs \
		jobs.0.options_origin.bs jobs.0.options_origin.direct)" \
	"4k 4k command line default"
is "the time is now" "$(($(date +%s) - $(json run.json timestamp) < 100))" 1
is "the version is the program's" \
	"mlgen $(json run.json 'mlgen version')" "$("$MLGEN" --version | sed -n '1s/ (.*//;1p')"

# ---- a plain job
exits "a plain job" 0 "$MLGEN" --name=p --directory=. --rw=randrw --bs=4k \
	--size=1m --fsync=16 --rate=100m --json=run.json --quiet
# shellcheck disable=SC2086 # several keys
{
	has "" "mlgen version" jobs disk_util
	has jobs.0. jobname groupid error elapsed job_runtime "job options" \
		usr_cpu sys_cpu ctx majf minf read write trim sync latency_ns \
		latency_us latency_ms iodepth_level iodepth_submit \
		iodepth_complete latency_depth latency_target \
		latency_percentile latency_window io
	for way in read write trim; do
		has jobs.0.$way. io_bytes io_kbytes bw_bytes bw iops runtime \
			total_ios short_ios drop_ios bw_min bw_max bw_agg \
			bw_mean bw_dev bw_samples iops_min iops_max iops_mean \
			iops_stddev iops_samples
		for kind in slat clat lat; do
			has jobs.0.$way.${kind}_ns. $empty $figures
		done
	done
	has jobs.0.sync. total_ios lat_ns.N
	has jobs.0.io. numjobs jobnum iodepth_used iodepth_least wall_seconds \
		files \
		file_bytes laid_out_files laid_out_bytes in_use errors \
		rate_read.asked_bytes_per_sec rate_write.is_missed \
		storage.memory_percent storage.jobs_read_bytes window.from \
		host.cpu_percent worker_percent.read \
		ops.read.total complete
}
is "has nothing of a training" \
	"$(json run.json jobs.0.ml jobs.0.dataset jobs.0.prepare)" \
	"absent absent absent"
is "moves all its bytes" "$(sum jobs.0. read.io_bytes write.io_bytes)" \
	1048576.000
is "has every latency of a paced one" \
	"$(json run.json jobs.0.read.slat_ns.N jobs.0.read.clat_ns.N \
		jobs.0.read.lat_ns.N)" \
	"$(json run.json jobs.0.read.total_ios jobs.0.read.total_ios \
		jobs.0.read.total_ios)"
is "with bins where there are values" "$(json run.json \
	jobs.0.trim.clat_ns.bins jobs.0.read.clat_ns.bins jobs.0.io.ops.open.lat_ns.bins |
	sed 's/{}/empty/; s/{/some/')" "absent some empty"
if fio_jsonplus_clat2csv --help >/dev/null 2>&1; then
	ok "fio's converter of bins reads it" \
		fio_jsonplus_clat2csv run.json bins.csv
	ok "and finds them right" \
		fio_jsonplus_clat2csv --validate run.json bins.csv
else
	skip "fio's converter of bins reads it" "fio_jsonplus_clat2csv, or the Python it needs, is not here"
	skip "and finds them right" "fio_jsonplus_clat2csv, or the Python it needs, is not here"
fi
is "its flushes are counted" "$(json run.json jobs.0.sync.total_ios)" \
	"$(json run.json jobs.0.sync.lat_ns.N)"
is "depths sum to 100" "$(sum jobs.0.iodepth_level. 1 2 4 8 16 32 '>=64')" \
	100.000
is "and so does worker time" "$(sum jobs.0.io.worker_percent. open stat read \
	write fsync close reap cpu idle other)" 100.000
exits "without a pace" 0 "$MLGEN" --name=p --directory=. --rw=randread \
	--size=1m --json=run.json --quiet
is "there is no delay, and one latency" \
	"$(json run.json jobs.0.read.slat_ns.N jobs.0.read.clat_ns.N \
		jobs.0.read.lat_ns.N jobs.0.read.lat_ns.max)" \
	"0 256 256 $(json run.json jobs.0.read.clat_ns.max)"
is "which is said to be no pace" \
	"$(json run.json jobs.0.io.rate_read.asked_bytes_per_sec \
		jobs.0.io.rate_read.is_missed)" "null false"
exits "--output-format=fio-json" 0 "$MLGEN" --name=p --directory=. \
	--rw=randread --size=1m --output-format=fio-json
is_json "is a document" out
like "that begins as fio's does" "$(sed -n 2p out)" \
	'^  "fio version": "mlgen-[0-9.]+",$'
is "and no other does" "$(json run.json 'fio version')" absent
rm -f p.*

# ---- checkpoints
cat >saves.job <<'JOB'
[global]
directory=ckpt
ranks=2
checkpoint_size=300k
checkpoint_layout=torch
checkpoints=3
[save]
phase=checkpoint
checkpoint_keep=2
rename_commit=1
[restore]
stonewall
phase=restore
checkpoints=2
verify=none
[train]
stonewall
directory=data
ranks=1
num_files=48
sample_size=5000
batch_size=4
epochs=2
compute_time=1ms
checkpoint_every=4 steps
checkpoint_fsync=none
JOB
exits "a save, a restore and a training that saves" 0 "$MLGEN" saves.job \
	--json=run.json --quiet
# shellcheck disable=SC2086 # several keys
{
	for at in 0.ml.checkpoints.2 1.ml.restore.1 2.ml.checkpoints.0; do
		has jobs.$at. number epoch step name complete error seconds \
			bytes files ranks bytes_per_sec slowest_rank \
			slowest_rank_seconds slowest_rank_bytes_per_sec \
			commit_seconds deleted_checkpoints deleted_files \
			delete_seconds snapshot_seconds wait_seconds \
			stall_seconds
	done
	for at in 0.ml.saves 1.ml.restores 2.ml.saves; do
		has jobs.$at. directory count completed ranks threads \
			job_ranks bytes bytes_per_checkpoint seconds_mean \
			seconds_min seconds_max first_seconds later_seconds \
			bytes_per_sec slowest_rank_bytes_per_sec slowest_rank \
			slowest_checkpoint stall_seconds snapshot_seconds \
			wait_seconds deleted_checkpoints deleted_files \
			delete_seconds durable dirty_bytes in_memory_bytes \
			verified caches_dropped wall_seconds
		for kind in open write read fsync close rename unlink; do
			has jobs.$at.${kind}_ns. $latency
		done
		is "$at: rank time sums to 100" \
			"$(sum jobs.$at.rank_percent. data open write read \
				fsync close other)" 100.000
	done
	has jobs.0.ml. storage.filesystem host.cpu_percent verdict.name \
		interrupted complete errors iodepth_used in_use
}
is "what saves has no accelerators, what restores has not saved" \
	"$(json run.json jobs.0.ml.au_percent jobs.0.ml.epochs \
		jobs.0.ml.restores jobs.1.ml.saves jobs.2.ml.restores)" \
	"absent absent absent absent absent"
is "all were completed, two are kept" \
	"$(json run.json jobs.0.ml.saves.completed jobs.1.ml.restores.completed \
		jobs.0.ml.saves.deleted_checkpoints)" "3 2 1"
is "bytes of each add up" "$(sum jobs.0.ml.checkpoints. 0.bytes 1.bytes 2.bytes)" \
	"$(json run.json jobs.0.ml.saves.bytes).000"
is "fio's directions have them" \
	"$(json run.json jobs.0.write.io_bytes jobs.1.read.io_bytes \
		jobs.0.read.io_bytes jobs.2.write.io_bytes)" \
	"$(json run.json jobs.0.ml.saves.bytes jobs.1.ml.restores.bytes) 0 \
$(json run.json jobs.2.ml.saves.bytes)"
is "and its writes and flushes" \
	"$(json run.json jobs.0.write.total_ios jobs.0.sync.total_ios \
		jobs.2.write.total_ios jobs.2.sync.total_ios)" \
	"$(json run.json jobs.0.ml.saves.write_ns.N jobs.0.ml.saves.fsync_ns.N \
		jobs.2.ml.saves.write_ns.N) 0"
is "a flush per file makes it durable, without one it is not" \
	"$(json run.json jobs.0.ml.saves.durable jobs.0.ml.saves.fsync_ns.N \
		jobs.2.ml.saves.durable)" "true 6 false"
like "the first line of a training says so" "$(sed -n 3p out)" \
	'^train: .*NOT DURABLE(: .* in (this host.s )?memory|  +MEMORY)'
is "a line for each" "$(wc -l <out)" 3
# Each is asked what it has.
exits "--require on checkpoints" 3 "$MLGEN" saves.job --quiet \
	--require='saves.bytes_per_sec>=1,restores.seconds_max<=0'
like "only the restore misses" "$(cat err)" \
	'^mlgen: restore: restores.seconds_max is [0-9.]+, required <=0$'

# ---- jobs reported as one
cat >two.job <<'JOB'
[global]
ioengine=null
group_reporting
compute_time=1ms
num_files=12
sample_size=1k
[a]
[b]
[c]
stonewall
JOB
exits "group_reporting" 0 "$MLGEN" two.job --json=run.json --quiet
is "reports jobs that start together as one" \
	"$(json run.json jobs.0.members.0.jobname jobs.0.members.1.jobname \
		jobs.1.members.0.jobname jobs.2.jobname)" "a b c absent"
is "with the sum of their counts" \
	"$(json run.json jobs.0.ml.samples jobs.1.ml.samples)" "24 12"
is "on one line" "$(wc -l <out)" 2

done_testing
