#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 147-trace-agrees.sh - the report of a run and the description of its trace have the same figures.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# value FILE KEY: in ten digits; a mean of the same numbers in another order has
# others behind them.
value()
{
	json "$1" "$2" | awk '{ printf "%.10g\n", $1 }'
}

# agree RUN TRACE OPERATION...: every value of the histogram, where there is one.
agree()
{
	run=$1
	trace=$2
	shift 2
	for op; do
		like "$op: there are some" \
			"$(json "$run" "$ops.$op.lat_ns.N")" '^[1-9]'
		for key in N min max mean stddev; do
			is "$op: $key" "$(value "$trace" \
				"trace.operations.$op.lat_ns.$key")" \
				"$(value "$run" "$ops.$op.lat_ns.$key")"
		done
	done
}

run()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=data --ceiling=no \
		--json=run.json --trace=run.trace "$@" >run.out 2>&1 ||
		note "$(cat run.out)"
	"$MLTRACE" describe run.trace --json=trace.json >trace.out 2>&1 ||
		note "$(cat trace.out)"
}

# ---- a training
ops=jobs.0.ml.ops
for engine in psync io_uring libaio; do
	run --ioengine=$engine --compute_time=1ms --format=npz --num_files=64 --sample_size=100k \
		--batch_size=4 --epochs=2 --accelerators=2 --access=framework
	case $engine in
	psync)	agree run.json trace.json open stat read close ;;
	*)	agree run.json trace.json stat read ;;
	esac
	is "$engine: bytes" "$(json trace.json trace.read_bytes)" \
		"$(json run.json jobs.0.read.io_bytes)"
	is "$engine: epochs, samples, steps" "$(json trace.json trace.samples \
		trace.epochs.0.samples trace.epochs.1.samples \
		trace.operations.step.count)" "128 64 64 32"
done

# ---- checkpoints
ops=jobs.0
rm -rf data
run --format=raw --num_files=16 --sample_size=64k --batch_size=4 --epochs=2 \
	--compute_time=1ms --accelerators=1 --checkpoint_size=4m \
	--checkpoint_every="1 epochs" --checkpoint_directory=saved
agree run.json trace.json write
is "written bytes" "$(json trace.json trace.written_bytes)" \
	"$(json run.json jobs.0.write.io_bytes)"

# ---- a plain job
rm -rf data
mkdir data
run --rw=randread --bs=4k --size=1m --ioengine=libaio --iodepth=8
agree run.json trace.json read

# ---- another form of it: what it has of the run is the run's
"$MLTRACE" export --format=fio-iolog run.trace >run.iolog 2>err || note "$(cat err)"
"$MLTRACE" import --format=fio-iolog run.iolog --output=log.trace >out 2>&1 ||
	note "$(cat out)"
"$MLTRACE" describe log.trace --json=log.json >out 2>&1
is "bytes and reads of an imported log are the run's" \
	"$(json log.json trace.read_bytes trace.operations.read.count)" \
	"$(json run.json jobs.0.read.io_bytes jobs.0.read.total_ios)"
is "how long they took is not known" "$(json log.json \
	trace.unknown_durations trace.io_percent \
	trace.operations.read.lat_ns.N)" \
	"$(json log.json trace.records) null 0"
like "which is said" "$(cat out)" 'records with unknown duration'

done_testing
