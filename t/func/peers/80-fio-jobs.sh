#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 80-fio-jobs.sh - job files as storage people write them move the same under mlgen as under fio.
#
# Every t/jobs/fio/NAME.fio runs under both, in folders of their own; then each
# of its jobs is compared by its row of the table at the end:
#
#	NAME JOB same		bytes and requests, of reads and of writes
#	NAME JOB mix		bytes and requests of both together, and the share
#				of reads among the requests within 3 points
#	NAME JOB bytes		bytes alone: sizes are drawn
#	NAME JOB near BYTES SHARE	both together: the last request may overshoot
#				by BYTES; SHARE percent are reads, within 3
#	NAME JOB time		the runtime, within a fifth
#	NAME JOB least MS	the runtime is MS or more, under fio too
#	NAME JOB sync N		calls to sync. fio leaves out the one after the
#				last write, and in its report those of
#				fdatasync and end_fsync
#
# A job without a row is a fault.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

command -v fio >/dev/null || skip_all "fio is not here"
command -v jq >/dev/null || skip_all "jq is not here"
jobs=$TOP/t/jobs/fio

# Both may say something before the document.
document()
{
	sed -n '/^{/,$p' "$1"
}

# figures FILE: a line per record: job, read bytes, requests, write bytes,
# requests, syncs, ms.
figures()
{
	document "$1" | jq -r '.jobs[] | [ .jobname,
		.read.io_bytes, .read.total_ios,
		.write.io_bytes, .write.total_ios, .sync.total_ios,
		([.read.runtime, .write.runtime] | max) ] | @tsv'
}

# In a folder that is left empty but for the report.
run_fio()
{
	mkdir -p "$T/fio/$1" && cd "$T/fio/$1" || return 1
	fio "$jobs/$1.fio" --output-format=json >out 2>err </dev/null
	echo $? >status
	rm -f ./*.dat ./*.[0-9]
}

run_mlgen()
{
	mkdir -p "$T/mlgen/$1" && cd "$T/mlgen/$1" || return 1
	"$MLGEN" "$jobs/$1.fio" --output-format=json >out 2>err </dev/null
	echo $? >status
	rm -f ./*.dat ./*.[0-9]
	cd "$T" || exit 1
}

# why_not NAME: what this host lacks for it, or nothing.
why_not()
{
	engine=$(sed -n 's/^ioengine=//p' "$jobs/$1.fio")
	if ! "$MLGEN" --enghelp | grep -q "^$engine "; then
		echo "built without $engine"
	elif grep -q '^direct=1' "$jobs/$1.fio" && [ -z "$can_direct" ]; then
		echo "no O_DIRECT in $T"
	elif [ "$(cat "fio/$1/status")" != 0 ]; then
		echo "fio itself cannot: $(tail -n 1 "fio/$1/err")"
	fi
}

within()	# A B LIMIT: is |A - B| at most LIMIT?
{
	within_apart=$(($1 - $2))
	[ "${within_apart#-}" -le "$3" ]
}

# Requests that are reads, in percent of all, within 3 of $3.
share()
{
	within $(($1 * 1000)) $((($1 + $2) * $3 * 10)) $((($1 + $2) * 30))
}

# pick NAME PROGRAM JOB: its figures, all records of it one after the other.
pick()
{
	printf '%s\n' "$(cat "$2/$1/figures")" | grep "^$3	" | cut -f2-
}

# of_job NAME JOB RULE...: sets r, n of fio (fr fn fw fm fs ft), then of mlgen.
of_job()
{
	job_title="$1 [$2]"
	set -- "$1" "$2" "$(pick "$1" fio "$2")" "$(pick "$1" mlgen "$2")" \
		"$3" "${4-}" "${5-}"
	case $5 in
	same)
		is "$job_title: the same bytes and requests" \
			"$(printf '%s\n' "$4" | cut -f1-4)" \
			"$(printf '%s\n' "$3" | cut -f1-4)"
		return
		;;
	sync)
		is "$job_title: $6 calls to sync" \
			"$(printf '%s\n' "$4" | cut -f5)" "$6"
		return
		;;
	esac
	read -r fr fn fw fm _ ft <<-END
	$3
	END
	read -r mr mn mw mm _ mt <<-END
	$4
	END
	case $5 in
	mix)
		is "$job_title: as many bytes and requests together" \
			"$((mr + mw)) $((mn + mm))" "$((fr + fw)) $((fn + fm))"
		ok "$job_title: $mn are reads, as fio's $fn, within 3 %" \
			within "$mn" "$fn" $(((fn + fm) * 3 / 100))
		;;
	bytes)
		is "$job_title: the same bytes" "$mr $mw" "$fr $fw"
		;;
	near)
		ok "$job_title: the same bytes but for a request" \
			within $((mr + mw)) $((fr + fw)) "$6"
		ok "$job_title: $7 % of the requests read" share \
			"$mn" "$mm" "$7"
		;;
	least)
		ok "$job_title: takes $6 ms at least ($mt, fio $ft)" \
			test "$mt" -ge "$6" -a "$ft" -ge "$6"
		;;
	time)
		ok "$job_title: takes as long ($mt ms, fio $ft ms)" \
			within "$mt" "$ft" $((ft / 5))
		;;
	esac
}

can_direct=
dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct 2>/dev/null &&
	can_direct=yes
rm -f probe

# Most of fio's time is spent waiting for its own threads, so that several run
# side by side; the one that is compared by time runs alone.
timed="time-ramp"
for path in "$jobs"/*.fio; do
	name=$(basename "$path" .fio)
	case " $timed " in
	*" $name "*)	continue ;;
	esac
	run_fio "$name" &
	running=$((${running:-0} + 1))
	[ $((running % 7)) -ne 0 ] || wait
done
wait
for name in $timed; do
	(run_fio "$name")
done

usable=
for path in "$jobs"/*.fio; do
	name=$(basename "$path" .fio)
	why=$(why_not "$name")
	if [ -n "$why" ]; then
		skip "$name runs" "$why"
		continue
	fi
	run_mlgen "$name"
	is "$name runs" "$(cat "mlgen/$name/status")" 0
	if [ "$(cat "mlgen/$name/status")" != 0 ]; then
		note "$(cat "mlgen/$name/err")"
		continue
	fi
	is_json "$name: its report is JSON" "mlgen/$name/out"
	figures "fio/$name/out" >"fio/$name/figures"
	figures "mlgen/$name/out" >"mlgen/$name/figures"
	is "$name: as many records, of the same names" \
		"$(cut -f1 "mlgen/$name/figures" | tr '\n' ' ')" \
		"$(cut -f1 "fio/$name/figures" | tr '\n' ' ')"
	usable="$usable $name"
done

while read -r name job rule; do
	# shellcheck disable=SC2086 # a rule and its figures
	case " $usable " in
	*" $name "*)	of_job "$name" "$job" $rule ;;
	esac
	printf '%s %s\n' "$name" "$job" >>compared
done <<'END'
seq-read stream same
seq-write seq-write same
rand-read randread same
rand-write random-write same
mixed-70-30 oltp mix
mixed-70-30 oltp-no-map mix
bssplit fill bytes
bssplit serve bytes
rate bandwidth same
rate bandwidth least 490
rate requests same
rate requests least 505
time-ramp steady time
write-read write same
write-read read same
depth-sweep qd1 same
depth-sweep qd8 same
depth-sweep qd32 same
ring-sweep ring-qd1 same
ring-sweep ring-qd8 same
ring-sweep ring-qd32 same
log-fsync wal same
log-fsync wal sync 128
log-fsync group-commit same
log-fsync group-commit sync 65
log-fsync checkpoint same
log-fsync checkpoint sync 5
offset-loops scan same
offset-loops probe same
offset-loops more-than-size same
thinktime client same
thinktime client least 155
numjobs readers same
numjobs writers same
two-files both same
two-files both-random same
bs-pair mixed near 65536 60
bs-pair only-reads same
END

for name in $usable; do
	cut -f1 "mlgen/$name/figures" | sort -u | sed "s/^/$name /"
done | sort >ran
sort -u compared >named
is "every job is compared" "$(comm -23 ran named)" ""

# ---- readers of fio's JSON
# What the plotting tools take out of it, as they do; fails on what is missing.
cat >reader.jq <<'END'
def number: if type == "number" then . else error("no number") end;
def direction:
	(.io_bytes, .io_kbytes, .bw_bytes, .bw, .iops, .runtime, .total_ios,
	 .short_ios, .drop_ios, .bw_min, .bw_max, .bw_mean, .bw_dev,
	 .bw_samples, .iops_min, .iops_max, .iops_mean, .iops_stddev,
	 .iops_samples,
	 (.slat_ns, .clat_ns, .lat_ns
	  | (.min, .max, .mean, .stddev, .N))) | number;
def option($o; $name):
	.["job options"][$name] // $o[$name] // "1";
."global options" as $o
| if (.disk_util | type) != "array" then error("disk_util") else . end
| (.timestamp, .timestamp_ms | number),
  (.jobs[]
   | (.read, .write, .trim | direction),
     (.groupid, .error, .elapsed, .job_runtime, .usr_cpu, .sys_cpu, .ctx,
      .majf, .minf, .iodepth_level["1"], .latency_us["2"],
      .latency_ms["2"] | number),
     (option($o; "iodepth", "numjobs") | tonumber),
     (option($o; "rw", "bs") | length))
END
reads()
{
	document "$1" | jq -e -f reader.jq
}
ok "the reader itself reads what fio writes" reads fio/mixed-70-30/out
for name in $usable; do
	ok "$name: a reader of fio's JSON finds its keys" reads \
		"mlgen/$name/out"
done

# What the converter of histograms needs: counts by ns that sum to N; and keys of
# percentiles with six decimals.
cat >bins.jq <<'END'
[ .jobs[] | .read, .write | select(.total_ios > 0) | .clat_ns, .lat_ns
  | select(.N > 0)
  | (.N == ([.bins[]] | add))
    and ([.bins | keys[] | tonumber] | all)
    and (.percentile | has("99.000000") and has("99.900000"))
    and (.percentile["50.000000"] <= .percentile["99.000000"]) ]
| length > 0 and all
END
for name in $usable; do
	ok "$name: histograms hold every request" jq -e -f bins.jq \
		"mlgen/$name/out"
done

# ---- where a reader demands fio's own name
"$MLGEN" "$jobs/seq-read.fio" --output-format=fio-json >fio.json 2>err
is "fio-json has the key 'fio version'" \
	"$(jq 'has("fio version")' fio.json 2>&1)" true
rm -f ./*.dat

done_testing
