# SPDX-License-Identifier: Apache-2.0
# calls.sh - what a program asks of its files, as strace sees it: opens, stats, reads with their places, closes.
# shellcheck shell=sh
#
# Sourced after tap.sh and runs.sh.
#
#	trace COMMAND...	run it; its calls go to the file "trace", thread
#				after thread, so that no call is cut in two
#	trace_only CALLS BYTES COMMAND...
#				the same of those calls, of iovecs so many parts
#	calls FILE [each]	those of the last time that FILE was opened, or of
#				each time
#	calls_of FILE...	the same of several, each behind its name
#	no_python_calls PYTHON	why calls of this Python, here, cannot be compared
#				with those of the plans; nothing: they can
#
# A read is "read LENGTH @OFFSET = GOT", wherever the offset comes from: pread,
# or the place where seeks and reads before have left the file. A copy of a
# descriptor is the descriptor. Seeks, copies and terminal probes move no data
# and are left out.

# Plans play CPython 3.11, whose buffers are of a block of the filesystem.
no_python_calls()
{
	if ! can_trace; then
		echo "strace is not here or not allowed"
	elif ! "$1" -c 'import sys; sys.exit(sys.version_info >= (3, 14))'; then
		echo "this Python has buffers of another size"
	elif [ "$(stat -c %o .)" -ne 4096 ]; then
		echo "this filesystem has blocks of $(stat -c %o .) bytes"
	fi
}

# The leak checker cannot work under a tracer. The threads come in the order of
# their first calls: their numbers start again from below at pid_max.
trace_only()
{
	trace_calls=$1 trace_parts=$2
	shift 2
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
		strace -ff --seccomp-bpf -ttt -qq -s "$trace_parts" -o trace \
		-e trace="$trace_calls" "$@"
	trace_status=$?
	for trace_thread in trace.*; do
		read -r trace_at _ <"$trace_thread" &&
			echo "$trace_at $trace_thread"
	done | sort -n | while read -r trace_at trace_thread; do
		sed 's/^[0-9.]* //' "$trace_thread"
	done >trace
	rm -f trace.*
	return $trace_status
}

trace()
{
	trace_only openat,fstat,newfstatat,?lstat,read,pread64,preadv,lseek,fcntl,close \
		64 "$@"
}

calls()
{
	awk -v file="$1" -v each="${2:-}" '
	function argument(n,	i, rest) {
		rest = $0
		sub(/^[a-z0-9]*\(/, "", rest)
		for (i = 1; i < n; i++)
			sub(/^[^,]*, /, "", rest)
		sub(/[,)].*/, "", rest)
		return rest
	}
	function result(	text) {
		text = $0
		sub(/.*\) += /, "", text)
		sub(/ .*/, "", text)
		return text
	}
	# What is read may look like anything: from the end.
	function last_argument(n,	rest, parts, count) {
		rest = $0
		sub(/\) += [^)]*$/, "", rest)
		count = split(rest, parts, ", ")
		return parts[count - n]
	}
	function read(length_bytes, off) {
		seen = seen "read " length_bytes " @" off " = " result() "\n"
	}
	/^openat\(/ {
		if (index($0, "\"" file "\"") && result() >= 0) {
			if (each != "")
				printf "%s", seen
			fd = result()
			copy = ""
			seen = "open" (/O_DIRECT/ ? " direct" : "") "\n"
			at = 0
		}
		next
	}
	# libhdf5 looks whether what it has open is a symbolic link.
	fd != "" && /^(lstat|newfstatat)\(/ && /AT_SYMLINK_NOFOLLOW|^lstat/ &&
	index($0, "\"" file "\"") {
		seen = seen "stat\n"
		next
	}
	fd == "" || (argument(1) != fd && argument(1) != copy) { next }
	/^close\(/ {
		if (argument(1) == fd) {
			seen = seen "close\n"
			fd = ""
		}
		copy = ""
	}
	/^(fstat|newfstatat)\(/ { seen = seen "stat\n" }
	/^fcntl\(/ && /F_DUPFD/ { copy = result() }
	/^lseek\(/ { at = result() }
	/^read\(/ {
		read(last_argument(0), at)
		at += result()
	}
	/^pread64\(/ { read(last_argument(1), last_argument(0)) }
	/^preadv\(/ {
		off = last_argument(0)
		bytes = 0
		rest = $0
		while (match(rest, /iov_len=[0-9]+/)) {
			bytes += substr(rest, RSTART + 8, RLENGTH - 8)
			rest = substr(rest, RSTART + RLENGTH)
		}
		read(bytes, off)
	}
	END { printf "%s", seen }' trace
}

calls_of()
{
	for calls_file; do
		echo "$calls_file"
		calls "$calls_file"
	done
}
