# SPDX-License-Identifier: Apache-2.0
# figures.sh - what the benchmarks share: measuring a command, and figures beside their bounds.
# shellcheck shell=sh
#
#	measure FILE COMMAND...		run it; FILE gets a line of "wall_s cpu_s rss_mib
#					user_s system_s"
#	column N FILE			its Nth words, a line each
#	median, most			of the numbers on standard input
#	calc EXPRESSION			in floating point, as awk has it
#	figure NAME VALUE		for information only
#	at_least NAME VALUE BOUND	one line: name, value, bound, ok or MISSED
#	at_most NAME VALUE BOUND
#	verdict				last: status 1 if a bound was missed
#
# Bounds may end in a unit: `at_most x 0.3 "0.5 s"`. At hand: $MLGEN, $BENCH
# (programs of this folder), and $T, an empty folder that is removed afterwards.
# It is in TMPDIR or else in /var/tmp, which is on a disk, not in memory.
#
# Machines are noisy. A bound that is missed once is worth a second look; one
# that is missed on a quiet machine is a fault.

set -eu
LC_ALL=C
export LC_ALL

bench_top=$(cd "$(dirname "$0")/../.." && pwd)
MLGEN=${MLGEN:-$bench_top/mlgen}
MLTRACE=${MLTRACE:-$(dirname "$MLGEN")/mltrace}
BENCH=${BENCH:-$bench_top/build/t/bench}
. "$bench_top/t/func/runs.sh"	# json, ml

for bench_source in "$bench_top"/t/bench/*.c; do
	bench_program=$BENCH/$(basename "$bench_source" .c)
	[ -x "$bench_program" ] || {
		echo "$bench_program is missing; make bench builds it" >&2
		exit 1
	}
done

T=$(mktemp -d "${TMPDIR:-/var/tmp}/mlgen-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
bench_missed=0

# A figure of a command that failed would be worth nothing.
measure()
{
	measure_to=$1
	shift
	"$BENCH/measure" "$measure_to" "$@" >"$T/.out" 2>&1 </dev/null || {
		echo "failed: $*" | cut -c1-500 >&2
		tail -n 5 "$T/.out" | cut -c1-500 >&2
		exit 1
	}
}

column()
{
	awk -v n="$1" '{ print $n }' "$2"
}

median()
{
	sort -g | awk '{ v[NR] = $1 }
		END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

most()
{
	sort -g | sed -n '$p'
}

calc()
{
	awk "BEGIN { printf \"%.4g\\n\", $* }"
}

bench_line()
{
	printf '  %-67s %8s  %-9s  %s\n' "$@" | sed 's/ *$//'
}

figure()
{
	bench_line "$1" "$2" "" ""
}

# bench_bound NAME VALUE SIGN BOUND
bench_bound()
{
	if awk -v value="$2" -v bound="${4%% *}" \
		"BEGIN { exit !(value != \"\" && value + 0 $3 bound + 0) }"
	then
		bench_line "$1" "$2" "$3 $4" ok
	else
		bench_line "$1" "$2" "$3 $4" MISSED
		bench_missed=1
	fi
}

at_least()
{
	bench_bound "$1" "$2" '>=' "$3"
}

at_most()
{
	bench_bound "$1" "$2" '<=' "$3"
}

verdict()
{
	exit "$bench_missed"
}
