#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 175-score-plain.sh - the trace of a plain job has the job as its phase, and is compared by that.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

cat >two.job <<'EOF'
[global]
directory=.
bs=4k
size=1m
numjobs=2
ioengine=psync
[reads]
rw=randread
[writes]
stonewall
rw=write
EOF

# traced FILE ARGUMENTS...
traced()
{
	traced_file=$1
	shift
	"$MLGEN" "$@" --trace="$traced_file" --ceiling=no >out 2>&1 ||
		note "$(cat out)"
}

# stages FILE: their names, in order.
stages()
{
	"$MLTRACE" describe "$1" --output-format=json >described.json
	sed -n '/^    "stages": \[/,/^    \]/s/^        "name": "\(.*\)",$/\1/p' \
		described.json
}

# phases REAL CANDIDATE: the names of those that are compared.
phases()
{
	rm -f score.json
	"$MLTRACE" score "$@" --json=score.json >score.out 2>&1
	sed -n '/"phases": \[/,$s/^        "phase": "\(.*\)",$/\1/p' score.json
}

traced 1.mlt two.job
traced 2.mlt two.job
is "each section is a stage of the trace" "$(stages 1.mlt | paste -sd' ')" \
	"reads writes"
"$MLTRACE" export --format=csv 1.mlt >1.csv
is "of each of its workers" "$(grep -c ',stage,reads,' 1.csv)" 2
is "in which all of its reads are" "$(awk -F, '
$6 == "stage" && $7 == "reads" { begin = $1; if ($1 + $2 > end) end = $1 + $2 }
$6 == "read" && ($1 < begin || $1 + $2 > end)' 1.csv)" ""
phases 1.mlt 2.mlt >found
is "section is compared with section" "$(grep -v between found | paste -sd' ')" \
	"reads writes"
is "as they ask for the same" "$(json score.json score.m1 score.m2 score.m3)" \
	"0.0 0.0 0.0"

# As it was before there were such markers.
grep -v ',stage,' 1.csv >old.csv
"$MLTRACE" import --format=csv --output=old.mlt old.csv >out 2>&1 ||
	note "$(cat out)"
is "a trace without them is compared as a whole" \
	"$(phases old.mlt 2.mlt) $(json score.json score.whole)" "all true"
like "which is said" "$(cat score.out)" 'no marked phase in common'

sed -i '/^stonewall/d' two.job
traced together.mlt two.job
is "of jobs that run at the same time none has it for itself" \
	"$(stages together.mlt)" ""
done_testing
