# SPDX-License-Identifier: Apache-2.0
# runs.sh - what tests that run jobs share: looking into a report, waiting, what the host has.
# shellcheck shell=sh
#
# Sourced after tap.sh.
#
#	json FILE KEY.0.KEY...	values of a JSON document, on one line; keys and
#				places in a list with dots between them
#	json_lacks FILE KEY...	those of the keys that are not there
#	json_below KEY FILE KEY...
#				values of what KEY holds
#	ml FILE KEY...		the same of jobs.0.ml
#	is_json TITLE FILE	a parser other than mlgen's reads FILE
#	background PROGRAM...	run it, its output in $T/out and $T/err; no shell
#				function, so that $pid is the program
#	finish			wait for that; its status is in $status
#	is_gone			it has ended, or is about to be waited for
#	stands_still		stop it by SIGSTOP, and wait until it is; SIGCONT
#				lets it go on
#	poll COMMAND...		until COMMAND succeeds; fails after half a minute
#	is_memory DIRECTORY	the filesystem there keeps files in memory
#	own_mounts		what is mounted from here on is the script's alone,
#				and goes with it: starts it again, so call it
#				first; fails where that is not allowed
#	mount_small FOLDER SIZE	after that: a filesystem in memory, of SIZE bytes
#	can_trace		strace is here and allowed
#	traced FILE CALLS COMMAND...
#				run it, its calls of these (as strace -e trace= has
#				them) go to FILE; others are not slowed by it
#	as_nobody COMMAND...	run it without root's powers
#	virtual_time		from here on $MLGEN is that of the golden files, in
#				virtual time (t/golden/sim.h): its rates are those
#				of arithmetic, however busy the host is. Paths of
#				jobs and results are relative ones

# Only what mlgen prints, with two blanks a level: jq may not be there.
json_prefix=
json()
{
	json_look '' "$@"
}

json_lacks()
{
	json_look yes "$@"
}

json_look()
{
	json_names=$1 json_file=$2
	shift 2
	# A report that was not written has none of them.
	[ -f "$json_file" ] || json_file=/dev/null
	awk -v names="$json_names" -v prefix="$json_prefix" '
	# A path is put together only for what a wanted one ends with.
	BEGIN {
		n = ARGC - 2
		for (i = 1; i <= n; i++) {
			wanted[i] = prefix ARGV[i]
			parts = split(wanted[i], part, ".")
			ends[part[parts]]
			ends[part[parts - 1] "." part[parts]]	# 99.900000
			ARGV[i] = ""
		}
	}
	{
		text = $0
		sub(/^ +/, "", text)
		depth = (length($0) - length(text)) / 2
		if (depth == 0 || text ~ /^[]}]/)
			next
		if (text ~ /^"/ && (at = index(text, "\": "))) {
			key = substr(text, 2, at - 2)
			text = substr(text, at + 3)
		} else
			key = item[depth] + 0
		item[depth]++
		item[depth + 1] = 0
		path[depth] = key
		if (!(key in ends))
			next
		whole = path[1]
		for (i = 2; i <= depth; i++)
			whole = whole "." path[i]
		sub(/,$/, "", text)
		gsub(/^"|"$/, "", text)
		value[whole] = text
	}
	END {
		if (names) {
			for (i = 1; i <= n; i++)
				if (!(wanted[i] in value))
					print wanted[i]
			exit
		}
		for (i = 1; i <= n; i++)
			printf "%s%s", (i == 1 ? "" : " "), \
				((wanted[i] in value) ? value[wanted[i]] : \
				 "absent")
		print ""
	}' "$@" "$json_file"
}

json_below()
{
	json_prefix=$1.
	shift
	json_look '' "$@"
	json_prefix=
}

ml()
{
	json_below jobs.0.ml "$@"
}

# Python starts in half of the time of jq, which compiles a library first.
is_json()
{
	if [ -x /usr/bin/python3 ]; then
		ok "$1" /usr/bin/python3 -I -S -c 'import json, sys
json.load(open(sys.argv[1], encoding="utf-8"), parse_constant=int)' "$2"
	elif command -v jq >/dev/null; then
		ok "$1" jq -es 'length == 1' "$2"
	else
		skip "$1" "neither python3 nor jq is here"
	fi
}

background()
{
	"$@" >"$T/out" 2>"$T/err" </dev/null &
	pid=$!
}

# shellcheck disable=SC2034 # for the caller
finish()
{
	wait "$pid"
	status=$?
	drop_devices "$T/err"
}

# The letter of the state in /proc/PID/stat goes to $state, without a program being
# started; 1: there is no such process.
read_state()
{
	{ read -r state <"/proc/$pid/stat"; } 2>/dev/null || return 1
	state=${state##*) }
	state=${state%% *}
}

is_gone()
{
	! read_state || [ "$state" = Z ]
}

# A thread on another CPU goes on for some microseconds after the signal.
stands_still()
{
	kill -STOP "$pid" 2>/dev/null || return 1
	until is_gone; do
		[ "$state" != T ] || return 0
	done
	return 1
}

poll()
{
	poll_count=0
	until "$@"; do
		poll_count=$((poll_count + 1))
		[ "$poll_count" -lt 700 ] || return 1
		# What takes longer is not missed by being looked at less often.
		if [ "$poll_count" -lt 30 ]; then
			sleep 0.01
		else
			sleep 0.05
		fi
	done
}

is_memory()
{
	case $(stat -f -c %T "$1") in
	tmpfs | ramfs)	return 0 ;;
	*)		return 1 ;;
	esac
}

own_mounts()
{
	[ -z "${MLGEN_TEST_MOUNTED-}" ] || return 0
	unshare -m true 2>/dev/null || return 1
	MLGEN_TEST_MOUNTED=1
	export MLGEN_TEST_MOUNTED
	exec unshare -m sh "$0"
}

mount_small()
{
	[ -n "${MLGEN_TEST_MOUNTED-}" ] && mkdir -p "$1" &&
		mount -t tmpfs -o "size=$2,mode=755" none "$1"
}

# The leak checker cannot work under a tracer.
can_trace()
{
	command -v strace >/dev/null && strace -qq -o /dev/null true 2>/dev/null
}

traced()
{
	traced_file=$1 traced_calls=$2
	shift 2
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
		strace -f -qq --seccomp-bpf -o "$traced_file" \
		-e trace="$traced_calls" "$@"
}

as_nobody()
{
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

virtual_time()
{
	MLGEN=$BUILT/build/golden/mlgen
	# shellcheck disable=SC2034 # of the scripts that source this
	MLTRACE=$BUILT/build/golden/mltrace
	[ -x "$MLGEN" ] || {
		echo "Bail out! $MLGEN is not there: make build/golden/mlgen"
		exit 1
	}
	. "$TOP/t/golden/machine.sh"
	make_machine "$T/machine" "$TOP/t/golden/machine.txt"
	enter_machine "$T/machine" "$T"
	cp -R "$TOP/jobs" "$T"
}
