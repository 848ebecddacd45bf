#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 34-log.sh - the CSV log and the status line while jobs run.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --directory=$T/data --format=raw --num_files=40 --sample_size=2k
	--accelerators=2 --batch_size=2 --compute_time=10ms --quiet"

train()
{
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job "$@"
}

# column NAME [FILE]: of the rows in training.
column()
{
	awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		$4 == "train" { print $at }' "${2:-log.csv}"
}

# Of all rows: what the last step took may stand in the one that says done.
sum()
{
	sed 's/,done,/,train,/' log.csv >all.csv
	column "$1" all.csv | awk '{ sum += $1 } END { print sum + 0 }'
}

exits "--log writes a table" 0 \
	train --epochs=3 --log=log.csv --log_interval=50ms
is "with a name for each column" "$(head -n 1 log.csv)" \
	"time,seconds,job,phase,epoch,step,samples,sample_bytes,io_bytes,au_percent,stall_percent,cpu_percent,resident_bytes,page_cache_bytes,read_ios,write_ios,read_bytes,write_bytes,checkpoint,checkpoint_bytes,errors,hit_percent,read_p50_ns,read_p99_ns,read_max_ns,write_p50_ns,write_p99_ns,write_max_ns,sample_p50_ns,sample_p99_ns,sample_max_ns,stall_p50_ns,stall_p99_ns,stall_max_ns,switches_per_sec,received_bytes_per_sec,sent_bytes_per_sec"
is "and as many values in each row" "$(awk -F, '{ print NF }' log.csv | uniq)" 37
ok "a row for each interval" test "$(column time | wc -l)" -ge 4
not_ok "in UTC" grep -qvE '^(time|20[0-9-]{8}T[0-9:]{8}\.[0-9]{3}Z),' log.csv
is "time does not go back" \
	"$(column seconds)" "$(column seconds | sort -n)"
is "nor do epochs" "$(column epoch)" "$(column epoch | sort -n)"
is "all samples of the run are in one row or another" "$(sum samples)" 120
is "and their bytes" "$(sum sample_bytes) $(sum io_bytes)" "245760 245760"
# Loaders are ahead of accelerators: an interval may have read nothing.
ok "where samples were read, they have latencies" awk -F, '
	NR > 1 && $15 > 0 { n++; if (!($29 > 0 && $29 <= $31)) bad = 1 }
	END { exit bad || !n }' log.csv
is "its reads are counted" "$(sum read_bytes)" 245760
not_ok "AU and stall are percentages" \
	awk -F, '$4 == "train" && ($10 > 100 || $11 > 100 || $10 + $11 > 100.1) \
		{ bad = 1 } END { exit !bad }' log.csv
ok "memory is not nothing" test "$(column resident_bytes | head -n 1)" -gt 9999
ok "nor is the page cache" test "$(column page_cache_bytes | head -n 1)" -gt 0

exits "what ramp_time leaves out of a result is in the log" 0 \
	train --epochs=20 --ramp_time=200ms --log=log.csv --log_interval=50ms \
	--json=run.json --trace=run.trace
"$MLTRACE" export --format=csv run.trace | awk -F, '
	$6 == "read" { n++; bytes += $10 }
	END { print n, bytes }' >moved
is "its rows are all that was read" "$(sum read_ios) $(sum read_bytes)" "$(cat moved)"
ok "which is more than the result has" test \
	"$(json run.json jobs.0.read.total_ios)" -lt "$(cut -d' ' -f1 moved)"
exits "a training of less than an interval" 0 train --epochs=1 --log=log.csv \
	--log_interval=1m
is "has a row with all that it did" "$(sum samples) $(sum sample_bytes) $(sum read_ios)" \
	"40 81920 40"
exits "as have checkpoints" 0 "$MLGEN" --name=save --phase=checkpoint \
	--directory=saves --checkpoint_size=64k --checkpoints=2 --log=log.csv \
	--log_interval=1m --quiet
is "... with what they wrote" "$(awk -F, 'END { print $4, ($18 >= 131072) }' log.csv)" \
	"done 1"

rm -rf data
exits "a preparation is logged too" 0 \
	train --phase=prepare --num_files=200 --log=log.csv --log_interval=10ms \
	--ioengine=fault --engine=psync --delay_every=1 --delay=1ms
like "as such" "$(cut -d, -f4 log.csv | uniq | paste -sd' ' -)" \
	'^phase (wait )?prepare done$'
is "with the bytes that it wrote" \
	"$(awk -F, '$4 == "prepare" || $4 == "done" { sum += $9 }
		END { print sum }' log.csv)" 409600
rm -rf data
exits "a comma in a name is quoted" 0 "$MLGEN" --name='a,"b' --steps=1 \
	--directory="$T/data" --num_files=4 --sample_size=1k --log=log.csv
like "as CSV wants it" "$(tail -n 1 log.csv)" '^[^,]*,[^,]*,"a,""b",'
rm -rf data

# ---- plain jobs
plain()
{
	"$MLGEN" --name=p --directory=. --size=2m --bs=4k "$@"
}
exits "a plain job is logged" 0 \
	plain --rw=randrw --log=log.csv --log_interval=10ms --quiet
is "with all its operations and bytes in one row or another" \
	"$(awk -F, '$4 == "io" || $4 == "done" {
			n += $15 + $16; bytes += $17 + $18 }
		END { print n, bytes }' log.csv)" "512 2097152"
is "latencies of an interval are in order, where it had operations" \
	"$(awk -F, '($4 == "io" || $4 == "done") && $15 {
			n++; bad += !($23 > 0 && $23 <= $24 && $24 <= $25) }
		END { print (n > 0), bad + 0 }' log.csv)" "1 0"
# What is laid out in the interval that the job ends in is a figure of that.
is "and no figure of a training" \
	"$(awk -F, '$4 == "io" || ($4 == "done" && before == "io") {
			print $5 $6 $7 $8 $9 $10 $11 }
		{ before = $4 }' log.csv | sort -u)" ""
rm -f p.*
exits "its layout is logged" 0 plain --rw=read --create_only=1 \
	--ioengine=fault --engine=psync --delay_every=1 --delay=50ms \
	--log=log.csv --log_interval=10ms --quiet
is "... as a preparation" \
	"$(awk -F, '$4 == "prepare" { sum += $9 } END { print sum + 0 }' \
		log.csv)" 2097152

background "$MLGEN" --name=p --directory=. --size=2m --bs=4k --rw=randread \
	--time_based --runtime=600s --rate_iops=2000 --status-interval=1s
ok "its status line is printed" poll sh -c 'test "$(grep -c "r=" err)" -ge 2'
kill -USR1 "$pid"
kill -INT "$pid"
finish
is "until it is interrupted" "$status" 130
like "with operations, throughput and time" "$(grep 'r=' err | tail -n 1)" \
	'^[0-9:]{8}  p  r=[0-9.]+[kM]? IOPS [0-9.]+ .iB/s  [0-9]+%  left '
like "and the interruption is called so" "$(cat err)" \
	'note: interrupted: no new operations are started, and the report follows'
rm -f p.*

# ---- the status line
train >out 2>err
is "without a terminal there is no status line" \
	"$(grep -Evc 'writing|files on' err)" 0
train --eta=never --epochs=2 >out 2>err
drop_devices err
is "nor with --eta=never" "$(cat err)" ""
# shellcheck disable=SC2086 # several options
background "$MLGEN" $job --status-interval=1s --epochs=9999
ok "--status-interval prints lines that stay" \
	poll sh -c 'test "$(grep -c " epoch " err)" -ge 2'
kill -INT "$pid"
finish
sed -i '/note: interrupted/d' err
not_ok "each with a time and where the job is" grep -qvE \
	'^[0-9]{2}:[0-9]{2}:[0-9]{2}  x +epoch [0-9]+/9999 ' err
not_ok "without anything that moves a cursor" grep -q "$(printf '\033\|\r')" err
like "and throughput, AU and what is left" "$(tail -n 1 err)" \
	' [0-9.]+ .iB/s +AU [0-9.]+% +stall .* ms +left '

# shellcheck disable=SC2086
background "$MLGEN" $job --eta=always --epochs=9999
ok "--eta=always draws one" poll sh -c "tr '\\r' '\\n' <err |
	grep -qE 'x  epoch [0-9]+/9999  step [0-9]+/10 '"
kill -INT "$pid"
finish
not_ok "of at most 80 columns" awk 'BEGIN { RS = "\r" } !/note: interrupted/ && \
	length > 84 { bad = 1 } END { exit !bad }' err
like "and erases it before anything else is printed" "$(cat err)" \
	"$(printf '\r\033')\\[Kmlgen: note: interrupted"
is "so that stdout has the report only" "$(wc -l <out)" 1

rm -f log.csv
# shellcheck disable=SC2086
background "$MLGEN" $job --epochs=9999 --log=log.csv --log_interval=10ms
poll grep -qsE ',train,[1-9]' log.csv
kill -USR1 "$pid"
ok "SIGUSR1 prints a status line" poll grep -q ' epoch ' err
kill -USR1 "$pid"
ok "each time" poll sh -c 'test "$(grep -c " epoch " err)" -ge 2'
kill -INT "$pid"
finish
like "of the job" "$(head -n 1 err)" \
	'^[0-9]{2}:[0-9]{2}:[0-9]{2}  x +epoch [0-9]+/9999( |$)'

done_testing
