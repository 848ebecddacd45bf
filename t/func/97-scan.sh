#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan.sh - dataset=scan reads the files that are there, once listed, and changes nothing.
# On disk: files are dropped from the page cache.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# 20 files, 1 to 20 KiB, in folders, some names of bytes that few expect.
mkdir -p data/b data/b.d data/z/z/z data/none
n=0
for name in a a-b b/1 b/2 b.d/1 b0 "c d" "e'f" 'g"h' 'i\j' 'k*' '-l' '~m' \
	z/z/z/o z/p .q "$(printf 'r\ns')" "$(printf '\377')" \
	"$(printf 'x%.0s' $(seq 255))"; do
	n=$((n + 1))
	head -c $((n * 1024)) /dev/zero >"data/$name"
done
head -c 20480 /dev/zero >elsewhere
ln -s ../elsewhere data/link
total=$((210 * 1024))

scan="--name=x --directory=data --dataset=scan --format=raw --batch_size=2
	--json=run.json"

# looks: what of the tree a reader may not change.
looks()
{
	find data elsewhere -printf '%p %y %s %m %T@ %C@\n' | sort
}

# run OPTION...: its report is in run.json.
# shellcheck disable=SC2086 # several options
run()
{
	rm -f run.json
	"$MLGEN" $scan "$@" >out 2>err </dev/null
}

before=$(looks)
for engine in psync io_uring libaio mmap; do
	if ! "$MLGEN" --enghelp | grep -q "^ *$engine "; then
		skip "$engine reads all files" "$engine is not built in"
		continue
	fi
	ok "$engine reads all files" run --ioengine=$engine --epochs=2
	is "$engine: each of its own size" "$(ml run.json samples \
		sample_bytes io_bytes complete)" "40 $((2 * total)) $((2 * total)) true"
done
is "the files are counted" "$(json run.json jobs.0.dataset.files \
	jobs.0.dataset.bytes)" "20 $total"
ok "as JPEG they are read in the framework's way" run --format=jpeg \
	--access=framework
is "each once" "$(ml run.json samples sample_bytes)" "20 $total"
ok "without a shuffle" run --shuffle=none --read_threads=1
ok "--readonly changes nothing of that" run --readonly
is "no file and no folder is changed" "$(looks)" "$before"

if can_trace; then
	# shellcheck disable=SC2086
	traced trace openat "$MLGEN" $scan --shuffle=none --read_threads=1 \
		>out 2>err
	# With O_NOCTTY as well: the page cache is dropped file by file. What of the
	# machine is looked at is below /sys.
	grep 'O_DIRECTORY' trace | grep -v '"/sys/' >folders
	is "every folder is listed once" "$(grep -c . folders) \
$(sed 's/^[0-9]* *//' folders | sort | uniq -d)" \
		"$(find data -type d | wc -l) "
	sed -n 's/.*openat(AT_FDCWD, "data\/\([^"\]*[^/"\]\)", O_RDONLY|O_NONBLOCK|O_CLOEXEC[) ].*/\1/p' \
		trace >order
	LC_ALL=C sort order >sorted
	ok "files are read in the order of their paths" cmp order sorted
	ok "all of those with plain names" test "$(wc -l <order)" -ge 15
else
	skip "every folder is listed once" "strace is not here"
fi

# ---- by itself it is a job
ok "without a name it is called scan" "$MLGEN" --directory=data --dataset=scan \
	--format=raw --accelerators=2 --batch_size=2 --compute_time=1ms \
	--json=run.json --quiet
is "with all that is there" "$(json run.json jobs.0.jobname jobs.0.dataset.files)" \
	"scan 20"
ok "which can be searched" "$MLGEN" --directory=data --dataset=scan \
	--format=raw --batch_size=2 --compute_time=1ms --find-max=accelerators \
	--require='samples_per_sec>=1' --json=run.json

# ---- a part of it
ok "scale takes a part" run --scale=50
is "the first files" "$(json run.json jobs.0.dataset.files)" 10

# ---- the dry run
ok "a dry run lists them too" run --dry-run --compute_time=1ms
like "with their number" "$(cat out)" '^dataset +20 raw files x 1 sample'
is "and nothing to write" "$(grep -c 'present 20 files; to write 0 ' out)" 1
is "needs are those of the mean size" \
	"$(awk '/^demand/ { print $4, $6 }' out)" \
	"2000 $(awk "BEGIN { printf \"%.1f\", $total / 20 * 2000 / 1048576 }")"

# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	# shellcheck disable=SC2086
	exits "$title" 2 "$MLGEN" $scan "$@"
	like "$title: in words" "$(cat err)" "$regex"
}

refused "nothing is prepared" '^mlgen: dataset: scan reads existing files, so phase=prepare' \
	--phase=prepare
refused "files of another format are refused" \
	'^mlgen: data/.*: at byte [0-9]*: a Parquet file ' --format=parquet
refused "a number of files that is not theirs is refused" \
	'^mlgen: num_files: 21, but dataset=scan found 20 in data; leave it out' \
	--num_files=21
ok "theirs is not" run --num_files=20
refused "a ratio to memory is refused" '^mlgen: dataset_ratio: 5 x' \
	--dataset_ratio=5
refused "several samples a file are refused" '^mlgen: samples_per_file: ' \
	--samples_per_file=2
refused "a batch of more than all is refused" \
	'^mlgen: batch_size: 21 is more than the 20 samples' --batch_size=21
refused "a directory that is not there is refused" \
	'^mlgen: nowhere: No such file or directory; dataset=scan' \
	--directory=nowhere
ok "nor is it made" test ! -e nowhere

# ---- what is suggested is possible
ok "each file is a sample for a framework" run --format=jpeg --access=framework
ok "and without one" run --format=raw --access=plain
refused "no framework reads raw files" \
	'^mlgen: access: .*; use access=plain, or format=jpeg$' \
	--access=framework
refused "more accelerators than files" \
	'^mlgen: accelerators: .*; a directory with more files or fewer' \
	--accelerators=21
# tries OPTION...: a run whose files come from memory, and what it says to try. What others
# read from the device at that moment may hide it, so there are five attempts.
tries()
{
	for _ in 1 2 3 4 5; do
		run --epochs=4 --invalidate=0 "$@"
		! grep -q 'NOT A STORAGE RESULT' out || break
	done
	sed -n 's/^  try next *\(--[a-z_]*=[^ ]*\) : .*/\1/p' out
}
if is_memory .; then
	skip "the verdict about memory suggests no files" "files are in memory here"
else
	is "the verdict about memory suggests no files" "$(tries)" "--direct=1"
	ok "but what the job takes" run --direct=1
	is "and no O_DIRECT where nothing reads with it" \
		"$(tries --format=jpeg --access=framework)" "--invalidate=epoch"
fi
ok "a dry run" run --dry-run --format=jpeg --access=framework
like "does neither" "$(tr -s ' \n' ' ' <out)" \
	'asks for 5 x: a directory with more files, or invalidate=epoch'
unlike "in any line" "$(cat out)" 'dataset_ratio|--num_files'
refused "one without a file is refused" \
	'^mlgen: data/none: contains no file that mlgen can read' \
	--directory=data/none
ok "sample_size is not used" run --sample_size=1m
like "which is said" "$(cat err)" '^mlgen: note: sample_size: not used'
is "no file and no folder was changed by all this" "$(looks)" "$before"

# ---- what is no file
mkfifo data/pipe
ln -s circle data/circle
ln -s nowhere data/broken
ln -s .. data/z/up
: >data/empty
refused "what is no file is refused" \
	'^mlgen: data: dataset=scan found 1 socket, pipe or device, 3 broken or circular links; --scan_errors=skip'
is "each by name" "$(grep -c '^mlgen: note: data/' err)" 4
refused "by a dry run as well" '^mlgen: data: dataset=scan found' --dry-run
ok "or left out" run --scan_errors=skip
is "and the rest is read" "$(ml run.json samples sample_bytes)" "20 $total"
like "which is said with the counts" "$(cat err)" \
	'^mlgen: note: data: left out: 1 socket, pipe or device, 3 broken or circular links, 1 empty file$'
rm data/pipe data/circle data/broken data/z/up
ok "empty files alone are no reason to refuse" run
like "but told" "$(cat err)" '^mlgen: note: data: left out: 1 empty file$'
rm data/empty

# ---- what may not be read
mkdir data/closed
echo x >data/closed/f
chmod 000 data/closed data/a
chmod 755 "$T"
if as_nobody test -r data/b0 -a ! -r data/a &&
	as_nobody "$MLGEN" --version >out 2>&1; then
	# shellcheck disable=SC2086
	exits "what may not be read is refused" 2 as_nobody "$MLGEN" $scan \
		--json=/dev/null
	like "with its number" "$(cat err)" \
		'^mlgen: data: dataset=scan found 2 unreadable paths; '
	like "its name" "$(cat err)" '^mlgen: note: data/a: Permission denied$'
	# shellcheck disable=SC2086
	exits "or left out" 0 as_nobody "$MLGEN" $scan --scan_errors=skip \
		--json=/dev/null
	like "which leaves 19" "$(cat out)" '^dataset   19 raw files'
else
	skip "what may not be read is refused" "nobody can run this mlgen here"
fi
chmod 755 data/closed data/a
rm -r data/closed

# ---- a search that needs more of them
# shellcheck disable=SC2086
most()
{
	"$MLGEN" $scan --ioengine=null --compute_time=20ms \
		--find-max=accelerators --require='au>=10' "$@"
}
exits "a search needs two steps an epoch" 2 most --batch_size=16
like "which is files, and no num_files" "$(cat err)" \
	'at least 32 files are needed: a directory with more files$'
exits "a search ends at the files" 0 most
like "which is files, too" "$(tr -s ' \n' ' ' <out)" \
	'there are 20; a directory with more files sure'

# ---- where names are kept
TMPDIR=$T/none refused "names need a place" \
	"^mlgen: $T/none: dataset=scan keeps the names .*TMPDIR="

done_testing
