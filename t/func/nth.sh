# SPDX-License-Identifier: Apache-2.0
# nth.sh - fail the first operation of a run, then the second, until a run passes.
# shellcheck shell=sh
#
# Sourced after tap.sh and runs.sh.
#
#	nth_fails TITLE LEAST ERROR TEXT OPTION...
#		one TAP point: with ioengine=fault, fail_errno=ERROR, each run
#		exits with 1 within 30 s, and its stderr is one line that names
#		path, operation and TEXT; its JSON report is there and says the
#		same; and the first run that passes has at least LEAST
#		operations and all samples of $nth_samples. A leak or a fault
#		under a sanitizer is another status and more lines.

nth_why=

# One run, in which operation $1 fails. 0: it failed as it should; 1: it
# passed; 2: neither, and $nth_why says what.
nth_run()
{
	nth_n=$1 nth_error=$2 nth_text=$3
	shift 3
	rm -f nth.json
	timeout 30 "$MLGEN" "$@" --ioengine=fault --fail_after="$nth_n" \
		--fail_errno="$nth_error" --json=nth.json --quiet \
		>nth.out 2>nth.err </dev/null
	nth_status=$?
	drop_devices nth.err
	nth_samples_run=$(ml nth.json samples)
	if [ $nth_status -eq 0 ] && [ "$nth_samples_run" = "$nth_samples" ] &&
		[ ! -s nth.err ]; then
		return 1
	elif [ $nth_status -ne 1 ]; then
		nth_why="status $nth_status, $nth_samples_run samples"
	elif [ "$(wc -l <nth.err)" -ne 1 ]; then
		nth_why="not one line"
	elif ! grep -Eq "^mlgen: [^ ]*(/img_[0-9]+_of_[0-9]+\.(raw|npz)|/train): (open|stat|read at [0-9]+|close|advise|fadvise): $nth_text \(epoch [0-9]+, step [0-9]+, accelerator [0-9]+\)" nth.err; then
		nth_why="no path, operation and error"
	elif [ "$(json nth.json jobs.0.error_text)" = absent ] ||
		! tail -n 1 nth.json | grep -qx '}'; then
		nth_why="no whole report"
	else
		return 0
	fi
	return 2
}

nth_fails()
{
	nth_title=$1 nth_least=$2
	shift 2
	nth=0 nth_rc=0
	while [ $nth_rc -eq 0 ]; do
		nth=$((nth + 1))
		nth_rc=0
		nth_run $nth "$@" || nth_rc=$?
	done
	if [ $nth_rc -eq 1 ] && [ $nth -gt "$nth_least" ]; then
		tap_pass "$nth_title: each of $((nth - 1)) operations"
		return
	fi
	[ $nth_rc -ne 1 ] ||
		nth_why="only $((nth - 1)) operations, not $nth_least"
	tap_fail "$nth_title" "operation $nth: $nth_why"
	note "$(cat nth.err)"
}
