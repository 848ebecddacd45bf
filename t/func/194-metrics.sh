#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 194-metrics.sh - --metrics serves what the report says, and bears any client; --metrics-file has the same.
# Sleeps: its server waits for clients that say nothing.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

has_small=
own_mounts && mount_small small 1m && has_small=yes

python=/usr/bin/python3
client=$TOP/t/func/metrics.py

# 2,000 operations each of no storage, 1,000 a second
cat >two.job <<'END'
[global]
ioengine=null
size=256m
bs=64k
rw=randread
rate_iops=1000
io_size=125m
[plain]
[od"d\name]
rw=randwrite
END

# value FILE SAMPLE: of the metric with these labels
value()
{
	grep -F "$2 " "$1" | sed 's/.* //'
}

# ---- the file

exits "figures go to a file" 0 "$MLGEN" two.job --ceiling=no \
	--metrics-file=m.prom --json=r.json
host=$(sed -n 's/^mlgen_build_info{host="\([^"]*\)".*/\1/p' m.prom)
like "which says of each job what the report says" "$(cat m.prom)" \
	"^mlgen_read_ios_total\{host=\"$host\",section=\"plain\"\} 2000$"
is "bytes, too" \
	"$(value m.prom "mlgen_read_bytes_total{host=\"$host\",section=\"plain\"}")" \
	"$(json r.json jobs.0.read.io_bytes)"
is "and every operation is in the histogram" \
	"$(value m.prom "mlgen_operation_latency_seconds_count{host=\"$host\",section=\"plain\",operation=\"read\"}")" \
	"$(json r.json jobs.0.read.clat_ns.N)"
is "as it is in its last bucket" \
	"$(value m.prom "mlgen_operation_latency_seconds_bucket{host=\"$host\",section=\"plain\",operation=\"read\",le=\"+Inf\"}")" 2000
like "of a name with quotes as well" "$(cat m.prom)" \
	"^mlgen_write_ios_total\{host=\"$host\",section=\"od\\\\\"d\\\\\\\\name\"\} 2000$"
like "they are done" "$(cat m.prom)" "^mlgen_phase\{host=\"$host\",section=\"plain\"\} 6$"
unlike "no label is one of Prometheus' own" "$(cat m.prom)" '[{,](job|instance)='
ok "a job has less than 400 series, whatever it does" \
	test "$(grep -c 'section="plain"' m.prom)" -lt 400
ok "and a histogram no more than 24 buckets" test "$(grep \
	-c 'section="plain",operation="read",le=' m.prom)" -le 24
is "nothing else is left beside it" "$(find . -name '*.part')" ''
like "a name that node_exporter does not read is told" \
	"$("$MLGEN" two.job --section=plain --io_size=64k --quiet \
		--metrics-file=m.txt 2>&1)" 'reads only names that end with \.prom'
if command -v promtool >/dev/null; then
	is "promtool has nothing to say" "$(promtool check metrics <m.prom 2>&1)" ''
else
	skip "promtool has nothing to say" "promtool is not here"
fi

# ---- bad input

exits "a file that cannot be made is refused" 2 \
	"$MLGEN" two.job --metrics-file=nowhere/m.prom --json=none.json
like "in words" "$(cat err)" '^mlgen: metrics-file=nowhere/m\.prom: .*[Nn]o such file'
ok "and nothing has run" test ! -e none.json
exits "a device is no file that can be replaced" 2 \
	"$MLGEN" two.job --metrics-file=/dev/null
like "which is said" "$(cat err)" 'metrics-file=/dev/null: .*not a regular file'
exits "nor may it be that of another output" 2 \
	"$MLGEN" two.job --metrics-file=x.prom --json=x.prom
like "which is told" "$(cat err)" "json=x\.prom: is also the file of --metrics-file"
exits "a question has no metrics" 2 "$MLGEN" two.job --metrics-file=x.prom \
	--section=plain --find-max=iodepth --require='read.iops>1'
like "as it is many runs" "$(cat err)" 'metrics-file: is for a single run, which --find-max'
exits "nothing lingers that is not served" 2 "$MLGEN" two.job --metrics-linger=1s
like "which is told, too" "$(cat err)" 'metrics-linger: needs --metrics'

if [ "$has_small" ]; then
	background "$MLGEN" two.job --ceiling=no --metrics-file=small/m.prom --json=full.json
	ok "a page is there from the beginning" poll test -s small/m.prom
	# The run waits until the disk is full, however long that takes.
	kill -STOP "$pid"
	dd if=/dev/zero of=small/full bs=4k 2>dd.err
	kill -CONT "$pid"
	finish
	is "a full disk is an error of the run" "$status" 1
	like "which is told" "$(cat err)" \
		'^mlgen: metrics-file=small/m\.prom: No space left on device$'
	is "what was measured is there" "$(json full.json jobs.0.read.total_ios)" 2000
	like "and the page before stays whole" "$(cat small/m.prom)" '^mlgen_build_info'
	is "with nothing beside it" "$(find small -name '*.part')" ''
else
	skip "a full disk is an error of the run" "may not mount a small filesystem"
fi

# ---- serving

"$MLGEN" two.job --dry-run --metrics=0 >dry 2>&1
if grep -q 'built without libmicrohttpd' dry; then
	like "without the library its package is named" "$(cat dry)" \
		'^mlgen: metrics: mlgen was built without libmicrohttpd \(Debian libmicrohttpd-dev.*'
	done_testing
	exit
fi
# Runs without --metrics do not load the library, which takes longer than mlgen's own start.
soname=$(sed -n 's/^#define MICROHTTPD_SONAME "\(.*\)"$/\1/p' "$BUILT/config.h")
mkdir no-library
echo "none" >"no-library/$soname"
exits "a job without --metrics runs where libmicrohttpd does not load" 0 \
	env LD_LIBRARY_PATH="$T/no-library" "$MLGEN" two.job --dry-run
exits "a job with it is refused" 2 \
	env LD_LIBRARY_PATH="$T/no-library" "$MLGEN" two.job --dry-run --metrics=0
like "and the missing library is named" "$(cat err)" \
	"metrics: libmicrohttpd cannot be loaded: .*$soname.*; install .* $soname"
exits "an address of others is refused" 2 "$MLGEN" two.job --metrics=192.0.2.1:0
like "in words" "$(cat err)" "metrics=192\.0\.2\.1:0: .*does not have this address"
exits "so is what is none" 2 "$MLGEN" two.job --metrics=here:http
like "with what would be one" "$(cat err)" 'use ADDRESS:PORT, such as 127\.0\.0\.1:9100'

if ! $python -c '' 2>/dev/null; then
	skip "a page is served" "python3 is not here"
	done_testing
	exit
fi

url()
{
	sed -n 's/.*metrics are at \(http:[^ ]*\)$/\1/p' err
}

# start PROGRAM...: as background, and what the one before said is gone
start()
{
	rm -f err
	background "$@"
}

# page FILE [ACCEPT]
page()
{
	$python "$client" get "$(url)" ${2:+"$2"} >"$1"
}

# Prepares first: what is served begins before it.
cat >train.job <<'END'
[t]
phase=train
directory=data
num_files=32
sample_size=4k
batch_size=4
compute_time=1ms
epochs=3
accelerators=2
END
start "$MLGEN" train.job --ceiling=no --metrics=0 --metrics-linger=120s --json=t.json
ok "port 0 is one that is free, and is told" poll grep -q 'metrics are at http://127\.0\.0\.1:[1-9]' err
is "a port that is in use is refused" "$("$MLGEN" two.job \
	--metrics="$(url | sed 's/.*:\([0-9]*\).*/\1/')" 2>&1; echo $?)" \
	"mlgen: metrics=$(url | sed 's/.*:\([0-9]*\).*/\1/'): Address already in use; another process uses this port; port 0 selects a free port
2"
is "what is no page is not found, and nothing can be sent to one" \
	"$($python "$client" status "$(url | sed 's/metrics$//')" GET "$(url)" POST |
		paste -sd' ' -)" '404 405'
ok "when the run is over it waits for one more scrape" poll grep -q 'metrics stay' err
is "and is served before anything is prepared" "$(grep -v 'files on' err | grep -nE 'metrics are at|writing' |
	sed 's/:.*//' | paste -sd' ' -)" '1 2'
page last.txt 'application/openmetrics-text;version=1.0.0'
finish
is "and ends behind it" "$status" 0
like "OpenMetrics is to be had" "$(head -n 1 last.txt)" \
	'^application/openmetrics-text; version=1\.0\.0; charset=utf-8$'
is "and ends as it should" "$(tail -n 1 last.txt)" '# EOF'
is "samples are those of the report" \
	"$(value last.txt "mlgen_samples_total{host=\"$host\",section=\"t\"}")" \
	"$(json t.json jobs.0.ml.samples)"
is "and so is what was read" \
	"$(value last.txt "mlgen_read_bytes_total{host=\"$host\",section=\"t\"}")" \
	"$(json t.json jobs.0.read.io_bytes)"

# All that a server has to bear, while a third job keeps the run from its end: the last
# of the requests that wait would end a run that only lingers.
cat two.job - >held.job <<'END'
[hold]
rate_iops=10
time_based
runtime=10m
END
# is_done JOB OPERATION: the page after.txt says that all of its operations were done
is_done()
{
	page after.txt && [ "$(value after.txt \
		"mlgen_$2_ios_total{host=\"$host\",section=\"$1\"}")" = 2000 ]
}
here=127.0.0.1
grep -qs '^0*1 ' /proc/net/if_inet6 && here='[::1]'
start "$MLGEN" held.job --ceiling=no --metrics="$here:0" --json=h.json
poll grep -q 'metrics are at' err
is "of forty that wait it holds eight, and answers when they are gone" \
	"$($python "$client" crowd "$(url)" "$pid")" '8 200'
ok "clients do what they can" $python "$client" hostile "$(url)"
ok "when they are gone a page can be had, and operations go on" poll is_done plain read
like "and the form is that of Prometheus" "$(head -n 1 after.txt)" \
	'^text/plain; version=0\.0\.4; charset=utf-8$'
ok "so do those of the other job" poll is_done 'od\"d\\name' write
kill -INT "$pid"
finish
is "a signal ends the run that is served" "$status" 130
is "and all operations are in the report" \
	"$(json h.json jobs.0.read.total_ios jobs.1.write.total_ios)" '2000 2000'

start "$MLGEN" two.job --section=plain --ceiling=no --io_size=640k --metrics=0 --metrics-linger=120s
poll grep -q 'metrics stay' err
kill -INT "$pid"
finish
is "a signal ends the waiting, and the result stays" "$status" 0
done_testing
