#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 96-import.sh - what ten million lines of strace take to become a trace.

. "$(dirname "$0")/lib/figures.sh"

# strace_log LINES: of four loaders that read files of a hundred thousand names,
# with two calls beside for each that a trace has nothing of.
strace_log()
{
	awk -v lines="$1" 'BEGIN {
		text = "\\223NUMPY\\1\\0v\\0{\47descr\47: \47<f4\47, \47fort"
		while (n < lines) {
			pid = 101 + file % 4
			path = sprintf("/data/train/part-%05d/sample-%07d.npz",
				file % 97, file % 100000)
			file++
			call("openat(AT_FDCWD</home/user/work>, \"" path "\", O_RDONLY|O_CLOEXEC) = 3<" path ">")
			call("newfstatat(3<" path ">, \"\", {st_mode=S_IFREG|0644, st_size=147456, ...}, AT_EMPTY_PATH) = 0")
			call("lseek(3<" path ">, 0, SEEK_CUR) = 0")
			for (i = 0; i < 4; i++)
				call("read(3<" path ">, \"" text "\"..., 131072) = 131072")
			call("pread64(3<" path ">, \"" text "\"..., 4096, 8192) = 4096")
			call("mmap(NULL, 262144, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000")
			call("close(3<" path ">) = 0")
		}
	}
	function call(what)
	{
		us += 37
		printf "%d %d.%06d %s <0.000021>\n", pid,
			1700000000 + us / 1000000, us % 1000000, what
		n++
	}'
}

strace_log 10000000 >"$T/log"
figure "size of the log, MiB" "$(calc "$(wc -c <"$T/log") / 1048576")"
TMPDIR=$T measure "$T/cost" "$MLTRACE" import --format=strace "$T/log" \
	--output="$T/trace"
figure "size of the trace, MiB" "$(calc "$(wc -c <"$T/trace") / 1048576")"
at_most "ten million lines of strace: s of CPU" "$(column 2 "$T/cost")" "60 s"
at_most "the same: MiB in memory" "$(column 3 "$T/cost")" "256 MiB"
verdict
