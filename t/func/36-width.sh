#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 36-width.sh - reports fit 80 columns; --brief and --verbose are the shorter and the longer one.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

virtual_time

# wide FILE: its lines that no terminal of 80 columns holds.
wide()
{
	awk 'length > 80' "$1"
}

# ---- every shipped job: its plan, and a short run of a small part
for job in jobs/*.job; do
	name=$(basename "$job" .job)
	"$MLGEN" "$job" --dry-run >plan 2>&1
	is "$name: the plan fits" "$(wide plan)" ""
	case $(sed -n 's/^phase=//p' "$job" | head -n 1) in
	checkpoint*)	set -- --scale=0.01% ;;
	*)	set -- --scale=0.001% --steps=8 --epochs=2 ;;
	esac
	"$MLGEN" "$job" --ioengine=null --ceiling=no --check=mlperf-v2 "$@" \
		>report 2>err
	like "$name: there is a report" "$(sed -n 2p report)" \
		'^  ((read|write): IOPS=.*, BW=|part of it )'
	is "$name: which fits" "$(wide report)" ""
done

# ---- three lengths
run()
{
	"$MLGEN" --name=x --directory=data --format=raw --num_files=64 \
		--sample_size=16k --batch_size=4 --epochs=2 --ceiling=no \
		--compute_time=2ms "$@"
}
exits "a training" 0 run
cp out usual
like "has IOPS and bytes below its first line" "$(sed -n 2p usual)" \
	'^  read: IOPS=[0-9.k]+, BW=.*iB/s .*msec\)$'
like "its queue depth" "$(cat usual)" ' iodepth=1,'
like "what the disk did, and its queue" "$(tail -n 2 usual)" \
	'^disk      nvme0n1: .* busy, .* in its queue'
unlike "nothing of what is not here" "$(cat usual)" 'energy'
exits "--verbose" 0 run --verbose
like "says that, too" "$(cat out)" '^energy             unknown: no RAPL'
exits "--brief" 0 run --brief
like "is the first lines, the verdict, a latency, and what to try" \
	"$(cut -c1-15 out | paste -sd'|' -)" \
	'^x: [^|]*\|  read: IOPS=[^|]*\|  [A-Z-]+[^|]*\|  latency     *\|  try next     *(\|  .*)?$'
exits "of a plain job, too" 0 "$MLGEN" --name=p --rw=randread --bs=4k \
	--size=4m --brief
like "it has its latencies" "$(cat out)" '^  latency         read, mean .* max '
exits "--brief and --quiet" 2 run --brief --quiet
like "are refused together" "$(cat err)" 'quiet: only one length of the report is possible; leave out --brief'

# ---- several jobs, one host
cat >two.job <<'END'
[one]
rw=randread
size=1m
[two]
rw=randread
size=1m
END
exits "two jobs" 0 "$MLGEN" two.job --ioengine=psync
is "name their host once" "$(grep -c '^host      [^ ]' out)" 1
is "and their command" "$(grep -c '^command ' out)" 1
long=$(printf -- '--name=job%s --rw=read --size=4k ' 1 2 3 4 5 6 7 8 9)
# shellcheck disable=SC2086 # several arguments
exits "a command of many words" 0 "$MLGEN" $long
like "is whole" "$(tr -s ' \\\n' ' ' <out)" ' command .*--name=job9 --rw=read --size=4k '

done_testing
