# SPDX-License-Identifier: Apache-2.0
# tap.sh - what every functional test starts with: TAP points from shell commands.
# shellcheck shell=sh
#
#	#!/bin/sh
#	. "$(dirname "$0")/tap.sh"
#	ok "the version is printed" "$MLGEN" --version
#	exits "an unknown option is a usage error" 2 "$MLGEN" --blocksise=4k
#	like "and the nearest one is named" "$(cat "$T/err")" "did you mean"
#	done_testing
#
# At hand: $MLGEN the program, $TOP the top of the source tree, $BUILT the folder
# of the configuration under test (config.h, build/; as a rule $TOP), $T an empty
# folder that is removed afterwards (the current one too), $SANITIZE the
# sanitizers built in, or empty. Titles are sentences about behaviour and come
# first, always:
#
#	ok TITLE COMMAND...		COMMAND succeeds
#	not_ok TITLE COMMAND...		COMMAND fails
#	exits TITLE STATUS COMMAND...	COMMAND exits with STATUS; its output is
#					left in $T/out and $T/err, without the
#					lines that name the devices
#	drop_devices FILE		take such lines out of what was printed
#	is TITLE GOT WANT		the two texts are equal
#	like TITLE TEXT REGEX		a line of TEXT matches (grep -E)
#	unlike TITLE TEXT REGEX		no line of TEXT does
#	skip TITLE REASON		one point that cannot be tried here
#	skip_all REASON			the whole script; exits with 77
#	plan N				first or last: the number of points
#	done_testing			last: the plan is what was counted
#	note TEXT			a comment in the output
#
# A script that dies before its plan counts as failed.

tap_count=0

# This leaves the folder that a relative name begins in.
case $0 in
/*)	;;
*)	exec sh "$PWD/$0" "$@" ;;
esac
if [ -z "${T:-}" ]; then	# run by hand, without t/func/run
	TOP=$(cd "$(dirname "$0")" && while [ ! -f configure ]; do cd ..; done; pwd)
	BUILT=${BUILT:-$TOP}
	MLGEN=${MLGEN:-$BUILT/mlgen}
	T=$(mktemp -d "${TMPDIR:-/tmp}/mlgen-test.XXXXXX") || exit 1
	TAP_OWNER=$$
	export TOP BUILT MLGEN T TAP_OWNER
fi
# A script that began again with mounts of its own (own_mounts) is the same process.
if [ "${TAP_OWNER-}" = $$ ]; then
	trap 'umount -l "$T"/* 2>/dev/null; rm -rf "$T"' EXIT
	trap 'exit 130' INT TERM
fi
cd "$T" || exit 1

note()
{
	[ -z "$*" ] || printf '%s\n' "$*" | sed 's/^/# /'
}

tap_pass()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$1"
}

# tap_fail TITLE DIAGNOSTIC...
tap_fail()
{
	tap_count=$((tap_count + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
	shift
	note "$@"
}

drop_devices()
{
	tap_lines='^[^:]*: (files|checkpoints) on '
	! grep -Eq "$tap_lines" "$1" || sed -Ei "/$tap_lines/d" "$1"
}

ok()
{
	tap_title=$1
	shift
	if "$@" >"$T/.ok" 2>&1 </dev/null; then
		tap_pass "$tap_title"
	else
		tap_fail "$tap_title" "status $? from: $*"
		note "$(head -n 40 "$T/.ok")"
	fi
}

not_ok()
{
	tap_title=$1
	shift
	if "$@" >"$T/.ok" 2>&1 </dev/null; then
		tap_fail "$tap_title" "expected to fail: $*"
		note "$(head -n 40 "$T/.ok")"
	else
		tap_pass "$tap_title"
	fi
}

exits()
{
	tap_title=$1
	tap_want=$2
	shift 2
	"$@" >"$T/out" 2>"$T/err" </dev/null
	tap_got=$?
	drop_devices "$T/err"
	if [ "$tap_got" -eq "$tap_want" ]; then
		tap_pass "$tap_title"
	else
		tap_fail "$tap_title" "status $tap_got, not $tap_want, from: $*"
		note "$(head -n 40 "$T/err")"
	fi
}

is()
{
	if [ "$2" = "$3" ]; then
		tap_pass "$1"
	else
		tap_fail "$1" "got:  $2"
		note "want: $3"
	fi
}

# tap_matches TEXT REGEX: without grep where that is as plain as most are.
tap_matches()
{
	case $2 in
	*[!a-zA-Z0-9\ _=:,/%-]*)
		grep -Eq -e "$2" <<-END
		$1
		END
		;;
	*)	case $1 in *"$2"*) ;; *) return 1 ;; esac ;;
	esac
}

like()
{
	if tap_matches "$2" "$3"; then
		tap_pass "$1"
	else
		tap_fail "$1" "no line matches: $3"
		note "$2"
	fi
}

unlike()
{
	if tap_matches "$2" "$3"; then
		tap_fail "$1" "a line matches: $3"
		note "$2"
	else
		tap_pass "$1"
	fi
}

skip()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all()
{
	printf '1..0 # SKIP %s\n' "$*"
	exit 77
}

plan()
{
	printf '1..%d\n' "$1"
}

done_testing()
{
	plan "$tap_count"
}
