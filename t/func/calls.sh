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
#	calls_of FILE...	those of the last time of several files, each after
#				the name of the file
#	last_calls N FILE...	the same of the last N times that each was opened
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

# calls_in LAST NAMED FILE...: the calls of the last LAST times (0: all times) that each
# FILE was opened, after its name if NAMED is "yes". One pass finds those of all files.
calls_in()
{
	calls_last=$1 calls_named=$2
	shift 2
	calls_files=$(printf '%s\n' "$@") awk -v last="$calls_last" \
		-v named="$calls_named" '
	BEGIN {
		count = split(ENVIRON["calls_files"], names, "\n")
		for (i = 1; i <= count; i++)
			opens[names[i]] = 0
	}
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
	# What is read may look like anything, so these count from the end.
	function last_argument(n,	rest, parts, count) {
		rest = $0
		sub(/\) += [^)]*$/, "", rest)
		count = split(rest, parts, ", ")
		return parts[count - n]
	}
	function say(file, text) {
		seen[file, opens[file]] = seen[file, opens[file]] text "\n"
	}
	function read(length_bytes, off) {
		say(file, "read " length_bytes " @" off " = " result())
	}
	/^openat\(/ {
		split($0, parts, "\"")
		fd = result()
		if (fd < 0)
			next
		delete file_of[fd]
		delete copied[fd]
		if (!(parts[2] in opens))
			next
		file_of[fd] = parts[2]
		fd_of[parts[2]] = fd
		at[fd] = 0
		opens[parts[2]]++
		say(parts[2], "open" (/O_DIRECT/ ? " direct" : ""))
		next
	}
	# libhdf5 looks whether what it has open is a symbolic link.
	/^(lstat|newfstatat)\(/ && /AT_SYMLINK_NOFOLLOW|^lstat/ {
		split($0, parts, "\"")
		if (parts[2] in fd_of) {
			say(parts[2], "stat")
			next
		}
	}
	{
		of = argument(1)
		fd = (of in copied) ? copied[of] : of
		if (!(fd in file_of))
			next
		file = file_of[fd]
	}
	/^close\(/ {
		if (of == fd) {
			say(file, "close")
			delete file_of[fd]
			delete fd_of[file]
		} else
			delete copied[of]
	}
	/^(fstat|newfstatat)\(/ { say(file, "stat") }
	/^fcntl\(/ && /F_DUPFD/ {
		delete file_of[result()]
		copied[result()] = fd
	}
	/^lseek\(/ { at[fd] = result() }
	/^read\(/ {
		read(last_argument(0), at[fd])
		at[fd] += result()
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
	END {
		for (i = 1; i <= count; i++) {
			if (named == "yes")
				print names[i]
			n = opens[names[i]]
			for (k = last && n > last ? n - last + 1 : 1; k <= n; k++)
				printf "%s", seen[names[i], k]
		}
	}' trace
}

calls()
{
	if [ -n "${2-}" ]; then
		calls_in 0 no "$1"
	else
		calls_in 1 no "$1"
	fi
}

calls_of()
{
	calls_in 1 yes "$@"
}

last_calls()
{
	last_count=$1
	shift
	calls_in "$last_count" yes "$@"
}
