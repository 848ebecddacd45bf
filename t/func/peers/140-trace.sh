#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 140-trace.sh - --trace has what strace sees of the same run, file by file and call by call.
# On disk: the opens of what drops files from the page cache are told from a job's by its calls.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

text=$BUILT/build/t/tools/trace_text
[ -x "$text" ] || skip_all "build/t/tools/trace_text is not here; make check builds it"
can_trace || skip_all "strace is not here or not allowed"

here=$(pwd -P)

# seen JOB...: run it with a trace, below strace; the calls of those threads
# that are in the trace go to "theirs", what the trace has of them to "ours".
seen()
{
	rm -rf st st.* x.trace run.json
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
		strace -ff -qq -y -s 32 -o st \
		-e trace=openat,close,pread64,preadv,preadv2,pwrite64,pwritev,pwritev2,fsync,fdatasync,renameat,renameat2,unlinkat,mkdirat \
		"$MLGEN" --trace=x.trace --json=run.json --ceiling=no "$@" \
		>out 2>err || return 1
	"$text" x.trace >x.txt || return 1
	for tid in $(awk '$1 == "entry" && $2 == "thread" { print $3 }' x.txt); do
		cat "st.$tid"
	done | strace_calls | sort >theirs
	awk -v here="$here/" '
	function whole(name) {
		sub(/^\.\//, "", name)
		return name ~ /^\// ? name : here name
	}
	/^(read|write) / { print $1, whole($2), $3, $4, $5 }
	/^(fsync|fdatasync|close|unlink|rmdir|mkdir) / {
		print $1, whole($2), $5
	}
	/^open / && $5 >= 0 { print $1, whole($2) }
	/^rename / { print $1, whole($2), whole($10), $5 }
	' x.txt | sort >ours
}

# READ FILE OFF LEN RESULT and so on, of lines of strace -y.
strace_calls()
{
	awk -v here="$here/" '
	function result(	text) {
		text = $0
		sub(/.*\) += /, "", text)
		sub(/[ <].*/, "", text)
		return text
	}
	# The path behind the first, or Nth, descriptor.
	function path(	rest) {
		rest = $0
		sub(/^[^<]*</, "", rest)
		sub(/>.*/, "", rest)
		sub(/\(deleted\)$/, "", rest)
		return rest
	}
	# What is read may look like anything: from the end.
	function last(n,	rest, parts, count) {
		rest = $0
		sub(/\) += [^)]*$/, "", rest)
		count = split(rest, parts, ", ")
		return parts[count - n]
	}
	function bytes(	rest, n) {
		rest = $0
		while (match(rest, /iov_len=[0-9]+/)) {
			n += substr(rest, RSTART + 8, RLENGTH - 8)
			rest = substr(rest, RSTART + RLENGTH)
		}
		return n
	}
	# DIR<path>, "name": as one path.
	function named(text,	dir, name) {
		dir = name = text
		sub(/^[^<]*</, "", dir)
		sub(/>.*/, "", dir)
		sub(/^[^"]*"/, "", name)
		sub(/".*/, "", name)
		return name ~ /^\// ? name : dir "/" name
	}
	{ gsub(/AT_FDCWD,/, "AT_FDCWD<" substr(here, 1, length(here) - 1) ">,") }
	/^openat/ && result() >= 0 {
		text = $0
		sub(/.*\) += [0-9]+</, "", text)
		sub(/>$/, "", text)
		print "open", text
	}
	/^close/ { print "close", path(), result() }
	/^p(read|write)64/ {
		print substr($0, 2, $0 ~ /^pread/ ? 4 : 5), path(), last(0), \
			last(1), result()
	}
	/^p(read|write)v\(/ {
		print substr($0, 2, $0 ~ /^pread/ ? 4 : 5), path(), last(0), \
			bytes(), result()
	}
	/^p(read|write)v2\(/ {
		print substr($0, 2, $0 ~ /^pread/ ? 4 : 5), path(), last(1), \
			bytes(), result()
	}
	/^fsync/ { print "fsync", path(), result() }
	/^fdatasync/ { print "fdatasync", path(), result() }
	/^unlinkat/ {
		print $0 ~ /AT_REMOVEDIR/ ? "rmdir" : "unlink", named($0), \
			result()
	}
	# Of two loaders that make a folder one finds it there.
	/^mkdirat/ { print "mkdir", named($0), / EEXIST /? -17 : result() }
	/^renameat/ {
		split($0, half, "\", ")
		print "rename", named(half[1] "\""), named(half[2] "\""), result()
	}'
}

# same TITLE FILES: of files of these names below the current folder. What is no
# data (folders, manifests) is no operation of the io layer.
same()
{
	grep -E "^(mkdir $here/|[a-z]+ $here/[^ ]*$2)" theirs >theirs.here
	if cmp -s theirs.here ours && [ -s ours ]; then
		tap_pass "$1"
	else
		tap_fail "$1" "< strace, > the trace:" \
			"$(diff theirs.here ours | head -20)"
	fi
}

# sizes NAME: of each file of the trace that is there, "SIZE of FILE".
sizes()
{
	awk -v name="$1" '$2 == "file" && $4 != "-" && $9 ~ name {
		print $4, $9
	}' x.txt | sort -k 2
}

true_sizes()
{
	sizes "$1" | while read -r _ file; do
		echo "$(wc -c <"$file") $file"
	done
}

ok "a training runs below strace" seen --name=t --directory=d --format=npz \
	--num_files=12 --sample_size=300k --accelerators=2 --read_threads=2 \
	--batch_size=2 --epochs=2 --access=framework --direct=0 \
	--eval_files=4 --eval_every=1
same "its trace has the opens, reads and closes of its loaders" npz
is "which all have their size" "$(sizes npz | wc -l) $(sizes npz)" \
	"16 $(true_sizes npz)"
"$MLTRACE" describe x.trace --output-format=json >described.json
is "and are described with it" \
	"$(json described.json trace.files.0.size_bytes)" \
	"$(wc -c <"$(json described.json trace.files.0.path)")"
is "each sample is marked, in training and evaluation" \
	"$(grep -c '^sample ' x.txt)" 32
is "each step of each rank, too" "$(grep -c '^step ' x.txt)" 16
is "and each epoch and evaluation" \
	"$(grep -c '^epoch ' x.txt) $(grep '^stage ' x.txt | cut -d' ' -f2 |
		sort | uniq -c | awk '{ printf "%s %s ", $1, $2 }')" \
	"4 4 eval 4 train "
is "loaders and ranks are named" \
	"$(sed -n 's/^entry thread [0-9]* [0-9]* - - - - //p' x.txt | sort |
		paste -sd, -)" \
	"loader 0 of rank 0,loader 0 of rank 1,loader 1 of rank 0,loader 1 of rank 1,rank 0,rank 1"

ok "so does one whose accelerators read themselves" seen --name=t \
	--directory=d --format=npz --num_files=12 --sample_size=300k \
	--read_threads=0 --batch_size=2 --bs=64k --invalidate=0
same "its trace has the calls of its accelerator" npz
is "which is one thread" "$(grep -c '^entry thread .* rank 0$' x.txt)" 1

ok "and a plain job that reads, writes and flushes" seen --name=p \
	--directory=. --rw=randrw --size=256k --bs=4k --fsync=5 --numjobs=2 \
	--end_fsync=1 --ioengine=psync
same "its trace has the calls of its workers" 'p\.[01]\.0'
is "and the sizes of its files" "$(sizes 'p[.][01][.]0')" \
	"262144 ./p.0.0
262144 ./p.1.0"
ok "and one with fdatasync and requests of several sizes" seen --name=q \
	--directory=. --rw=randwrite --size=300k --bssplit=1k/50:16k/50 --fdatasync=7 \
	--ioengine=psync
same "its trace has them, too" 'q\.0\.0'

model='--model_layers=2 --model_hidden=64 --model_ffn=128 --model_heads=4
	--model_kv_heads=4 --model_vocabulary=1000 --ranks=2'
# shellcheck disable=SC2086
ok "and checkpoints" seen --name=c --phase=checkpoint --directory=c \
	$model --checkpoints=3 --checkpoint_keep=1
same "their trace has the calls of the savers" 'pt'
is "and a mark for each" "$(grep -c '^checkpoint save ' x.txt)" \
	"$((3 * $(grep -c '^entry thread .* saver' x.txt)))"
is "with the bytes of all" \
	"$(awk '/^checkpoint save / { n += $4 } END { print n }' x.txt)" \
	"$(json run.json jobs.0.ml.saves.bytes)"
# shellcheck disable=SC2086
ok "and a restore" seen --name=c --phase=restore --directory=c $model
same "its trace has its calls" 'pt'
like "and its mark" "$(cat x.txt)" '^checkpoint restore 0 '

ok "and a preparation" seen --name=d --phase=prepare --directory=new \
	--format=raw --num_files=20 --sample_size=70k
same "whose calls are the trace, when it is the job" 'raw[^ ]*'

done_testing
