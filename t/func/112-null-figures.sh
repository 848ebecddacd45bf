#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 112-null-figures.sh - every rate in every output is what arithmetic says of a storage of known bandwidth.
# In virtual time, where arithmetic holds whatever else the machine does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

virtual_time

# A sample is 256 KiB, a batch 1 MiB, which takes 62.5 ms at 16 MiB/s and is
# computed on for 25: 40 % AU. An epoch is 8 of these and the last computation,
# 525 ms; an evaluation of 8 samples 125 ms. Of columns a quarter is read, at a
# quarter of the bandwidth.
common="--phase=train --ioengine=null --directory=$T/none --batch_size=4
	--compute_time=25ms --epochs=2 --read_threads=1 --prefetch=2
	--log_interval=100ms"
raw="--format=raw --num_files=32 --sample_size=256k --bandwidth=16m"
columns="--format=parquet --num_files=1 --samples_per_file=32
	--row_group_size=4 --sample_size=256k --columns=a:int32[16384],b:int32[49152]
	--read_columns=a --access=framework --bandwidth=4m"

# start NAME OPTION...: a run for all outputs but one, and a run for that one.
start()
{
	start_name=$1
	shift
	# shellcheck disable=SC2086 # options are words
	{
		"$MLGEN" --name=x $common "$@" --json="$start_name.json" \
			--log="$start_name.csv" >"$start_name.txt" \
			2>"$start_name.err" &
		"$MLGEN" --name=x $common "$@" --output-format=dlio \
			--output="$start_name.dlio" >/dev/null 2>&1 &
	}
}

# off: of lines of NAME GOT WANT those that are further apart than sleepers of a
# busy host are late by.
off()
{
	awk 'NF != 3 { print; next }
		$2 + 0 != $2 || $2 < $3 * 0.92 || $2 > $3 * 1.08'
}

# second NAME: samples per second of the second epoch. tf.data reads on, so that
# its first batch is under way during the last computation of the first epoch;
# but an evaluation between them waits for that.
second()
{
	case $1 in
	tfdata-eval)	echo 60.95 ;;
	tfdata*)	echo 64.00 ;;
	*)		echo 60.95 ;;
	esac
}

# of_json FILE: lines of KEY WANT become KEY GOT WANT.
of_json()
{
	cat >wanted
	# shellcheck disable=SC2046 # a word for each key
	json "$1" $(cut -d' ' -f1 wanted) | tr ' ' '\n' | paste -d' ' wanted - |
		awk '{ print $1, $3, $2 }'
}

# rates NAME SIZE JOB: of the JSON. 32 samples of SIZE bytes in 525 ms.
rates()
{
	of_json "$1.json" <<-END | off
		jobs.$3.ml.au_percent 40
		jobs.$3.ml.wall_seconds 1.05
		jobs.$3.ml.samples_per_sec 60.95
		jobs.$3.ml.epochs.0.samples_per_sec 60.95
		jobs.$3.ml.epochs.1.samples_per_sec $(second "$1")
		jobs.$3.ml.epochs.0.au_percent 40
		jobs.$3.ml.epochs.1.au_percent 40
		jobs.$3.ml.step_ns.mean 62500000
		jobs.$3.ml.stall_ns.mean 37500000
	END
	bytes_rates "$1" "$2" "$3"
}

# What depends on how large a sample is.
bytes_rates()
{
	of_json "$1.json" <<-END | off
		jobs.$3.ml.sample_bytes $((64 * $2))
		jobs.$3.ml.sample_bytes_per_sec $(($2 * 6095 / 100))
		jobs.$3.ml.epochs.0.sample_bytes_per_sec $(($2 * 6095 / 100))
		jobs.$3.ml.epochs.1.sample_bytes_per_sec $(($2 * $(second "$1" | tr -d .) / 100))
		jobs.$3.ml.demand_bytes_per_sec $(($2 * 160))
	END
}

# What was moved: `bytes` a second all the time, of which 25 ms in 525 go to
# the last computation of an epoch.
moved()
{
	of_json "$1.json" <<-END | off
		jobs.$3.ml.io_bytes_per_sec $2
		jobs.$3.ml.demand_io_bytes_per_sec $(($2 * 2625 / 1000))
		jobs.$3.read.bw_bytes $2
		jobs.$3.read.bw $(($2 / 1024))
	END
}

# text NAME SIZE: the line on top, the verdict, and the table of epochs.
text()
{
	awk -v size="$2" -v second="$(second "$1")" '
	BEGIN { mib = size / 2 ^ 20; want[1] = want["all"] = 60.95; want[2] = second }
	/^x: / {
		print "AU", substr($2, 1, length($2) - 1), 40
		for (i = 3; i < NF; i++) {
			if ($(i + 1) ~ /^MiB/) print "rate", $i, mib * 60.95
			if ($(i + 1) ~ /^samples/) print "samples", $i, 60.95
		}
	}
	match($0, /asks for [0-9.]+/) {
		print "demand", substr($0, RSTART + 9, RLENGTH - 9), mib * 160
	}
	/^epoch / { table = 1; next }
	table && NF == 0 { exit }
	table && /^ *(1|2|all) / {
		print "samples/s-" $1, $4, want[$1]
		print "MiB/s-" $1, $5, mib * want[$1]
		print "AU-" $1, substr($6, 1, length($6) - 1), 40
		rows++
	}
	END { print "rows", rows, 3 }' "$1.txt" | off
}

# dlio NAME SIZE: its rate is of all steps but the first, less one step.
dlio()
{
	awk -v size="$2" '
	BEGIN {
		want["train_au_mean_percentage"] = 40
		want["train_throughput_mean_samples_per_second"] = 54.86
		want["train_io_mean_MB_per_second"] = 54.86 * size / 2 ^ 20
	}
	{ gsub(/[":,]/, "") }
	$1 in want { print $1, $2, want[$1]; found++ }
	END { print "found", found, 3 }' "$1.dlio" | off
}

# log NAME SIZE ALL MS: of the rows of training so much is delivered; of all
# rows ALL bytes are moved, in so many ms and what it takes to begin and end.
log()
{
	awk -F, -v size="$2" -v all="$3" -v ms="$4" '
	NR > 1 {
		samples += $7
		bytes += $8
		moved += $9
		last = $2
	}
	END {
		print "samples", samples, 64
		print "sample_bytes", bytes, 64 * size
		print "io_bytes", moved, all
		print "seconds", last, (ms + 60) / 1000
	}' "$1.csv" | off
}

# table NAME: what it prints against what the document has.
table()
{
	table_keys="samples_per_sec sample_bytes_per_sec io_bytes_per_sec
		au_percent demand_bytes_per_sec"
	# shellcheck disable=SC2086 # words
	{
		"$MLGEN" --output-format=csv "$1.json" \
			--table="$(echo $table_keys read.bw_bytes | tr ' ' ,)" |
			sed 1d | tr ',' ' '
		ml "$1.json" $table_keys
		json "$1.json" jobs.0.read.bw_bytes
	} | awk 'NR == 1 { n = split($0, row) ; next }
		{ for (i = 1; i <= NF; i++) print ++at, row[at] + 0, $i + 0 }
		END { print "columns", n, at; print "wanted", at, 6 }' |
		awk '$2 != $3'
}

start_jobs()
{
	"$MLGEN" jobs.job --json=jobs.json --log=jobs.csv --log_interval=100ms \
		>jobs.txt 2>jobs.err &
}

cat >jobs.job <<-END
	[global]
	phase=train
	ioengine=null
	directory=$T/none
	format=raw
	sample_size=256k
	num_files=32
	batch_size=4
	compute_time=25ms
	read_threads=1
	prefetch=2
	bandwidth=16m
	[short]
	epochs=2
	[long]
	epochs=4
END

# ---- all of them side by side: they mostly sleep
order=
for loader in plain pytorch tfdata; do
	[ $loader = tfdata ] && order=--shuffle=file
	# shellcheck disable=SC2086 # options are words
	{
		start $loader $raw --loader=$loader $order
		start $loader-eval $raw --loader=$loader $order --eval_files=8
		start $loader-columns $columns --loader=$loader $order
	}
done
# shellcheck disable=SC2086 # options are words
{
	start slow $raw --bandwidth=8m
	start again $raw
}
start_jobs
wait

# ---- a training
for loader in plain pytorch tfdata; do
	is "$loader: it runs without a word" "$(cat $loader.err)" ""
	is "$loader: the rates of the JSON" "$(rates $loader 262144 0)" ""
	is "$loader: and what was moved" "$(moved $loader 15978000 0)" ""
	is "$loader: the text" "$(text $loader 262144)" ""
	is "$loader: the summary of DLIO" "$(dlio $loader 262144)" ""
	is "$loader: the log" "$(log $loader 262144 16777216 1050)" ""
done

# ---- with evaluation, whose bytes and time are its own in rates of training
for loader in plain pytorch tfdata; do
	name=$loader-eval
	is "$name: the rates of the JSON" "$(rates $name 262144 0)" ""
	is "$name: of the evaluation" "$(of_json $name.json <<-END | off
		jobs.0.ml.eval.samples 16
		jobs.0.ml.eval.seconds 0.25
		jobs.0.ml.eval.samples_per_sec 64
		jobs.0.ml.eval.sample_bytes_per_sec 16777216
	END
	)" ""
	is "$name: the text" "$(text $name 262144)" ""
	is "$name: the summary of DLIO" "$(dlio $name 262144)" ""
	is "$name: the log" "$(log $name 262144 20971520 1300)" ""
done

# ---- with columns
for loader in plain pytorch tfdata; do
	name=$loader-columns
	is "$name: the times of the JSON" \
		"$(rates $name 65536 0 | grep -v bytes)" ""
	is "$name: and what was moved" "$(moved $name 3994000 0)" ""
done

# ---- several jobs, each with a storage of its own
is "jobs: the short one" "$(rates jobs 262144 0)" ""
is "jobs: the long one" "$(of_json jobs.json <<-END | off
	jobs.1.ml.au_percent 40
	jobs.1.ml.wall_seconds 2.1
	jobs.1.ml.samples_per_sec 60.95
	jobs.1.ml.sample_bytes_per_sec 15978000
	jobs.1.ml.epochs.3.samples_per_sec 60.95
END
)" ""
is "jobs: what the long one moved" "$(moved jobs 15978000 1)" ""
is "jobs: the rows of the short one in the log" \
	"$(grep ',short,' jobs.csv | awk -F, '{ s += $7; b += $8; m += $9 }
		END { print "all", s * 1e9 + b + m, 64e9 + 2 * 16777216 }' | off)" ""
is "jobs: and of the long one" \
	"$(grep ',long,' jobs.csv | awk -F, '{ s += $7; b += $8; m += $9 }
		END { print "all", s * 1e9 + b + m, 128e9 + 4 * 16777216 }' | off)" ""

# ---- documents read back
for name in plain pytorch-eval tfdata-columns; do
	is "$name: a table has what the document has" "$(table $name)" ""
done
"$MLGEN" --compare again.json slow.json >cmp.out 2>&1
# 1 MiB takes 125 ms: 20 % AU, and 32 samples 1.025 s.
is "half the bandwidth is half the rate when compared" \
	"$(awk '/^AU / { print "a", $2 + 0, 40; print "b", $3 + 0, 20 }
		/^samples\/s / { print "c", $2, 60.95; print "d", $3, 31.22 }
		/^MiB\/s / { print "e", $2, 15.24; print "f", $3, 7.805 }
		/^(AU|samples\/s|MiB\/s) / { rows++ }
		END { print "rows", rows, 3 }' cmp.out | off)" ""
like "in percent, too" "$(cat cmp.out)" '^MiB/s +1[45]\.[0-9]+ +7\.[0-9]+ +-4[6-9](\.[0-9])?% +worse'

# ---- rates of all bytes where evaluations are among them
for loader in plain pytorch tfdata; do
	is "$loader-eval: what was moved, and its rate" \
		"$(moved $loader-eval 16132000 0)" ""
done

# ---- of columns the ones that are read, as they are declared; to DLIO a sample
# is a whole row
for loader in plain pytorch tfdata; do
	name=$loader-columns
	is "$name: bytes of samples in the JSON" "$(bytes_rates $name 65536 0)" ""
	is "$name: the text" "$(text $name 65536)" ""
	is "$name: the summary of DLIO" "$(dlio $name 262144)" ""
	is "$name: the log" "$(log $name 65536 4194304 1050)" ""
done

# ---- who is done early has rates of his own time
is "jobs: what the short one moved" "$(moved jobs 15978000 0)" ""

done_testing
