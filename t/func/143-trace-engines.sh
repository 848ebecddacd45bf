#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 143-trace-engines.sh - whatever engine moves the bytes, --trace has what the report counts.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

text=$BUILT/build/t/tools/trace_text
[ -x "$text" ] || skip_all "build/t/tools/trace_text is not here; make check builds it"

# run OPTION...: with a trace, which goes to x.txt as text
run()
{
	rm -f run.json
	"$MLGEN" --trace=x.trace --json=run.json --ceiling=no --quiet "$@" \
		>out 2>err
	run_status=$?
	"$text" x.trace >x.txt
	return $run_status
}

# counts OP...: how many of each that did not fail the trace has
counts()
{
	for op; do
		awk -v op="$op" '$1 == op && $5 >= 0 { n++ }
			END { print n + 0 }' x.txt
	done | paste -sd' ' -
}

# sums OP: the bytes of those
sums()
{
	awk -v op="$1" '$1 == op && $5 > 0 { n += $5 } END { printf "%d\n", n }' \
		x.txt
}

# longest OP: of those, ns
longest()
{
	awk -v op="$1" '$1 == op && $9 > n { n = $9 } END { printf "%d\n", n }' \
		x.txt
}

has_engine()
{
	"$MLGEN" --enghelp | grep -q "^ *$1 " &&
		"$MLGEN" --name=e --rw=read --size=4k --filename=probe \
			--ioengine="$1" --ceiling=no --quiet >out 2>&1
}

alike()
{
	is "$1: operations are those of the report" \
		"$(counts open read close)" \
		"$(ml run.json ops.open.total ops.read.total ops.close.total)"
	is "$1: and their bytes" "$(sums read)" "$(json run.json jobs.0.read.io_bytes)"
	is "$1: nothing else is in it, and nothing is lost" \
		"$(tail -n 1 x.txt)" \
		"end $(json run.json trace.records) 0 0 0"
}

small='--name=t --directory=d --format=raw --num_files=60 --sample_size=20k
	--read_threads=2 --batch_size=4 --epochs=2'
for engine in psync io_uring libaio mmap null; do
	if ! has_engine "$engine"; then
		skip "$engine" "the engine is not built in, or not allowed here"
		continue
	fi
	# shellcheck disable=SC2086
	ok "$engine: a training of small files" run $small --ioengine=$engine \
		--iodepth=8
	alike "$engine"
	is "$engine: every sample is marked" "$(counts sample)" 120
done
ok "psync: with its longest read" run --name=t --directory=d --format=raw \
	--num_files=60 --sample_size=20k --batch_size=4
is "to the nanosecond, as the report has it" "$(longest read)" \
	"$(ml run.json ops.read.lat_ns.max)"


# near OP: is the median of the report within 1 % of what lies in the middle?
near()
{
	awk -v op="$1" '$1 == op { print $9 }' x.txt | sort -n |
		awk -v p50="$(json run.json \
			"jobs.0.$1.clat_ns.percentile.50.000000")" '
		{ v[NR] = $1 }
		END {
			exit !(p50 >= v[int(NR / 2) - 1] * 0.99 &&
			       p50 <= v[int(NR / 2) + 2] * 1.01)
		}'
}
ok "psync: a plain job of many reads" run --name=m --rw=randrw --size=8m \
	--bs=4k --directory=. --ioengine=psync
ok "psync: has the median read of the report, within a bucket" near read
ok "psync: and write" near write

if has_engine io_uring; then
	# shellcheck disable=SC2086
	run $small --ioengine=io_uring --iodepth=8
	is "io_uring: what went as a chain says so" "$(awk '
		$1 ~ /^(open|read|close)$/ && int($6 / 4) % 2 && int($6 / 32) % 2 {
			n++
		} END { print n + 0 }' x.txt)" 360
fi

# ---- plain jobs
for engine in psync io_uring libaio; do
	has_engine "$engine" || continue
	ok "$engine: a plain job" run --name=p --rw=randrw --size=1m --bs=4k \
		--directory=. --ioengine=$engine --iodepth=16 --numjobs=2 \
		--group_reporting=1 --fsync=10
	is "$engine: has its reads, writes and flushes" \
		"$(counts read write fsync)" \
		"$(json run.json jobs.0.read.total_ios \
			jobs.0.write.total_ios jobs.0.sync.total_ios)"
	is "$engine: and their bytes" "$(sums read) $(sums write)" \
		"$(json run.json jobs.0.read.io_bytes jobs.0.write.io_bytes)"
done

# ---- errors are operations, too
# shellcheck disable=SC2086
run $small
rm d/train/img_07_of_60.raw
# shellcheck disable=SC2086
ok "files that are missing" run $small --continue_on_error=all --max_errors=5
is "have an open that failed, each time" \
	"$(grep -c '^open d/train/img_07_of_60.raw - [0-9]* -2 ' x.txt)" 2
is "and no sample" "$(counts sample)" 118

# ---- faster than can be written
# The trace is long, so one pass over its text counts everything and keeps the entries.
"$MLGEN" --name=n --rw=randread --ioengine=null --size=1g --bs=4k --numjobs=4 \
	--group_reporting=1 --trace=x.trace --json=run.json --ceiling=no --quiet \
	>out 2>err
run_status=$?
"$text" x.trace | awk '
	$1 == "read" { reads += $5 >= 0 }
	$1 == "entry" { print >"entries" }
	$1 == "entry" && $2 == "lost" { lost[$3] += $4; all += $4 }
	END { print reads + lost[4], all + 0 }' >counted
is "what is in the trace and what was lost is all that was done" \
	"$(cut -d' ' -f1 counted)" "$(json run.json jobs.0.read.total_ios)"
is "the report has what is lost" "$(json run.json trace.lost)" \
	"$(cut -d' ' -f2 counted)"
if [ "$(json run.json trace.lost)" -gt 0 ]; then
	is "it is status 1" "$run_status" 1
	like "and is told" "$(cat err)" \
		'^mlgen: trace=x.trace: is not complete: [0-9]+ records came faster than they could be written; leave a CPU'
	is "in the report, too" "$(json run.json trace.complete)" false
else
	skip "it is status 1" "nothing was lost"
fi

# ---- what there is once
like "the trace knows the program" "$(cat entries)" \
	'^entry fact - - - - - - program=mlgen$'
like "and its job" "$(cat entries)" '^entry fact - - - - - - job=n$'
like "and its process" "$(cat entries)" '^entry process [0-9]+ [0-9]+ [0-9]+ '
one='--directory=e --format=raw --num_files=6 --sample_size=20k --read_threads=2'
# shellcheck disable=SC2086
ok "of two jobs" run --name=a $one --name=b $one
grep '^entry' x.txt >entries
like "it knows where their files lie" "$(cat entries)" \
	'^entry mount [0-9]+ - - - - - [^ ]+ /[^ ]* '
like "and each thread says whose it is" "$(cat entries)" \
	'^entry thread [0-9]+ [0-9]+ - - - - loader 1 of rank 0 of b$'


# in_chroot COMMAND...: in a system whose root is no mount point, so that the mount
# table there does not list it
in_chroot()
{
	# shellcheck disable=SC2016 # for the shell in there
	unshare -m sh -c '
		for dir in /usr /lib /lib64 /bin /proc /dev; do
			[ -d "$dir" ] || continue
			mkdir -p "$0$dir" && mount --rbind "$dir" "$0$dir" ||
				exit 77
		done
		exec chroot "$0" "$@"' "$T/root" "$@"
}
if in_chroot true 2>/dev/null; then
	cp "$MLGEN" root/mlgen
	# shellcheck disable=SC2086
	ok "in a chroot" in_chroot /mlgen --name=a $one --trace=x.trace \
		--ceiling=no --quiet
	"$text" root/x.trace >x.txt
	like "the mount is known, too" "$(grep '^entry mount' x.txt)" \
		'^entry mount [0-9]+ - - - - - [^ ]+ / none$'
else
	skip "in a chroot the mount is known, too" "may not make one"
fi

done_testing
