#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-samples.sh - file_list= with OFFSET and LENGTH: samples anywhere in large files.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
. "$(dirname "$0")/calls.sh"

mkdir -p d/a d/b
head -c 100000 /dev/zero >d/a/1
head -c 5000 /dev/zero >d/b/2
head -c 70 /dev/zero >d/c
TAB=$(printf '\t')

# run OPTION...: its report is in run.json; standard input is in.
run()
{
	rm -f run.json
	"$MLGEN" --name=x --dataset=scan --json=run.json "$@" >out 2>err <in
}
: >in

# sums: of the report.
sums()
{
	json run.json jobs.0.dataset.files jobs.0.dataset.samples \
		jobs.0.dataset.sample_bytes jobs.0.ml.samples \
		jobs.0.ml.sample_bytes
}

# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title" 2 run --json=/dev/null --file_list=list "$@"
	like "$title: in words" "$(cat err)" "$regex"
}

# line TEXT REGEX: the second line of a list, and what is said of it.
line()
{
	printf 'd/a/1\t0\t10\n%b\n' "$1" >list
	refused "$1" "^mlgen: list:2: $2" --format=raw
}

# reads FILE...: its reads, as calls.sh has them.
reads()
{
	for reads_file; do
		calls "$reads_file" each | sed -n 's/^read //p'
	done | tr '\n' ','
}

# ---- what is read
printf 'd/b/2\t4k\t100\nd/a/1\t0\t1000\nd/a/1\t99000\t1000\r\nd/b/2\t0\t5000\n\nd/c\t10\t20\nd/a/1\t5000\t0.5k' >list
ok "a list of places in files is read" run --file_list=list
is "each line is a sample" "$(sums)" "3 6 7632 6 7632"
like "its files are raw" "$(cat out)" '^dataset   3 raw files of .* 6 samples,'
is "nothing was looked into" \
	"$(json run.json jobs.0.dataset.scan_read_bytes)" null
if can_trace; then
	trace "$MLGEN" --name=x --dataset=scan --file_list=list --shuffle=none \
		--read_threads=1 >out 2>err
	is "its bytes and no others are, in the order of the list" \
		"$(reads d/a/1 d/b/2 d/c)" \
		"1000 @0 = 1000,1000 @99000 = 1000,512 @5000 = 512,\
100 @4096 = 100,5000 @0 = 5000,20 @10 = 20,"
	is "file by file, in the order of their paths" \
		"$(sed -n 's#.*openat(AT_FDCWD, "d/\(.*\)", O_RDONLY|O_NONBLOCK|O_CLOEXEC[) ].*#\1#p' \
			trace | tr '\n' ' ')" "a/1 a/1 a/1 b/2 b/2 c "
	trace "$MLGEN" --name=x --dataset=scan --file_list=list --shuffle=none \
		--read_threads=1 --bs=600 >out 2>err
	is "in requests of bs" "$(reads d/a/1)" "600 @0 = 600,400 @600 = 400,\
600 @99000 = 600,400 @99600 = 400,512 @5000 = 512,"
	trace "$MLGEN" --name=x --dataset=scan --file_list=list --shuffle=none \
		--read_threads=1 --direct=1 >out 2>err
	if [ -s out ]; then
		is "with direct=1 the blocks that have them" \
			"$(reads d/a/1 | tr ',' '\n' | awk -v block=512 '
			NF {
				n = $1; sub(/@/, "", $2)
				print n % block, $2 % block,
					n < 3000, $2 <= want[NR]
			}
			BEGIN { want[1] = 0; want[2] = 99000; want[3] = 5000 }' |
			sort -u)" "0 0 1 1"
	else
		skip "with direct=1 the blocks that have them" "$(cat err)"
	fi
else
	skip "its bytes and no others are" "strace is not here"
fi
for engine in io_uring libaio mmap; do
	if run --file_list=list --ioengine=$engine; then
		is "$engine reads them, too" "$(sums)" "3 6 7632 6 7632"
	else
		skip "$engine reads them, too" "$(head -n 1 err)"
	fi
done
ok "paths are relative to directory" sh -c "sed 's#^d/##' list >rel
	'$MLGEN' --name=x --dataset=scan --file_list=rel --directory=d \
		--json=run.json"
is "of the same files" "$(sums)" "3 6 7632 6 7632"
ok "a pipe is a list" sh -c "cat list | '$MLGEN' --name=x --dataset=scan \
	--file_list=- --json=run.json"
is "of the same samples" "$(sums)" "3 6 7632 6 7632"
ok "its probes read it again" sh -c "cat list | '$MLGEN' \
	--name=x --dataset=scan --file_list=- --json=run.json --runtime=1s \
	--find-max=accelerators --compute_time=1ms \
	>out 2>err || { cat err; ! grep -q 'file_list\|stdin' err; }"
unlike "from beginning to end" "$(cat err)" 'names no file'
ok "a sample that stands twice is two" sh -c "cat list >twice; echo >>twice
	cat list >>twice; '$MLGEN' --name=x --dataset=scan --file_list=twice \
		--json=run.json"
is "of the same bytes" "$(sums)" "3 12 15264 12 15264"
printf 'd/a/1\t0\t10\n%s/d/a/1\t10\t10\nd//a/1\t20\t10\nd/c\t0\t70\n' "$T" >list
ok "a file by several ways to write its path" run --file_list=list
is "is one file" "$(sums)" "2 4 100 4 100"
printf 'd/a/1\t50\t10\n' >list
ok "one sample of one file" run --file_list=list --batch_size=1
is "is not the whole file" "$(sums)" "1 1 10 1 10"
printf 'd/a/1\t0\t10\nd/a/1\t10\t10\nd/b/2\t0\t5k\n' >list
refused "k is 1024" 'list:3: d/b/2: 5120 bytes at 0 reach'
printf 'd/a/1\t0\t10\nd/a/1\t10\t10\nd/b/2\t0\t30\n' >list
ok "samples_per_file yields to it" run --file_list=list --format=raw \
	--samples_per_file=7
is "as it does elsewhere" "$(sums)" "2 3 50 3 50"
like "which is said" "$(cat err)" 'samples_per_file: not used'
ok "num_files takes the first of the files" run --file_list=list --num_files=1
is "with their samples" "$(sums)" "1 2 20 2 20"
for option in --shuffle=file --shuffle=sample "--shard=file --shuffle=file" \
	"--loader=tfdata --shuffle=file" "--loader=plain --shard=contiguous"; do
	# shellcheck disable=SC2086 # two options
	ok "in every order: $option" run --file_list=list $option
	is "all of them: $option" "$(sums)" "2 3 50 3 50"
done

# ---- many of them
# many_of N: a list of N samples in the files.
many_of()
{
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
		printf "many/%d\t%d\t%d\n", i * 7919 % 200, i * 31 % 900, 1 + i % 100 }' >list
}
mkdir many
seq -f 'many/%.0f' 0 199 | xargs truncate -s 1000
many_of 10000
want=$(awk -F "$TAB" '{ n += $3 } END { print n }' list)
ok "files in turn" run --file_list=list --shuffle=sample --ceiling=no
is "have all of them" "$(sums)" "200 10000 $want 10000 $want"
if can_trace; then
	# A tracer is slow, so fewer are traced.
	many_of 1000
	trace "$MLGEN" --name=x --dataset=scan --file_list=list --bs=1m --ceiling=no \
		--shuffle=sample --read_threads=2 --directory=. >out 2>err
	awk '
	/^openat\(AT_FDCWD, ".*many\// && /O_RDONLY\|O_NONBLOCK\|O_/ && !/O_NOCTTY/ {
		split($0, part, "\""); sub(/^\.\//, "", part[2]); open[$NF] = part[2] }
	/^pread64\(/ {
		fd = $1; sub(/.*\(/, "", fd); sub(/,.*/, "", fd)
		n = split($0, part, ", "); sub(/\).*/, "", part[n])
		if (fd in open) print open[fd] "\t" part[n] "\t" part[n - 1] }
	/^close\(/ { fd = $1; sub(/.*\(/, "", fd); sub(/\).*/, "", fd); delete open[fd] }
	' trace | sort >got
	sort list | cmp - got >/dev/null
	is "and each is read as it stands in the list" $? 0
else
	skip "and each is read as it stands in the list" "strace is not here"
fi

# ---- advice counts the samples of these files
awk 'BEGIN { for (i = 0; i < 100; i++) printf "d/a/1\t%d\t10\n", i * 20 }' >list
run --file_list=list --dry-run
like "a dry run: 500 steps are 5 files of 100 samples" "$(cat out)" \
	'asks for 500 steps per epoch: 5 files$'
run --file_list=list --compute_time=1ms --check=mlperf-v1 --memory=16m
like "so does a check: 80 MiB are 83,887 such files" "$(cat out)" \
	'the rules ask for 500: 83887 files'
not_ok "a search" run --file_list=list --compute_time=1ms --batch_size=90 \
	--find-max=accelerators
like "and a search: two batches of 90 are 2 files" "$(cat err)" \
	'at least 2 files are needed: a directory with more files$'

# ---- what is wrong with it
line 'd/a/1' 'no OFFSET and LENGTH after the path, but line 1 has them;'
line 'd/a/1\t5' 'one column after the path, but two are needed: OFFSET and'
line 'd/a/1\t5\t' "LENGTH '': must be "
line 'd/a/1\t\t5' "OFFSET '': must be "
line 'd/a/1\t5\t6\t7' 'a third column after the path, but two are needed'
line 'd/a/1\tx\t7' "OFFSET 'x': must be "
line 'd/a/1\t0x10\t7' "OFFSET '0x10': must be "
line 'd/a/1\t-1\t7' "OFFSET '-1': must be .* not below 0"
line 'd/a/1\t5 \t7' "OFFSET '5 ': must be "
line 'd/a/1\t5\t7bytes' "LENGTH '7bytes': must be "
line 'd/a/1\t5\t1.0001' "LENGTH '1.0001': "
line 'd/a/1\t5\t0' 'LENGTH 0; a sample has at least one byte'
line 'd/a/1\t99999\t2' \
	'd/a/1: 2 bytes at 99999 reach beyond the end of the file at 100000'
line 'd/a/1\t100000\t1' 'd/a/1: 1 bytes at 100000 reach beyond the end'
line 'd/a/1\t18446744073709551615\t18446744073709551615' \
	'd/a/1: .* reach beyond the end'
line 'd/a/1\t18446744073709551616\t1' "OFFSET '18446744073709551616': is above"
line 'd/a/1\t16384p\t1' "OFFSET '16384p': is above"
line '\t0\t1' 'no path before the columns'
: >d/empty
line 'd/empty\t0\t1' 'd/empty: 1 bytes at 0 reach beyond the end'
printf 'd/a/1\n\nd/a/1\t0\t1\n' >list
refused "columns where there were none" \
	'^mlgen: list:3: OFFSET and LENGTH after the path, but not in line 1;' \
	--format=raw
printf 'd/a/1\t0\t10\nd/none\t0\t10\nd/b\t0\t1\nd/none\t10\t10\nd/a/1\t10\t10\n' >list
refused "files that are not there" \
	'^mlgen: list: file_list names 1 missing file, 1 folder; --scan_errors=skip skips them$'
like "by the line that names them first" "$(cat err)" \
	'^mlgen: note: list:2: d/none: No such file or directory$'
ok "or they are left out" run --file_list=list --scan_errors=skip
is "with their samples" "$(sums)" "1 2 20 2 20"
printf 'd/none\t0\t10\n' >list
refused "nothing is left" '^mlgen: file_list: list names no existing file' \
	--scan_errors=skip
printf 'd/a/1\t0\t10\n' >list
refused "a format that looks into files" \
	'^mlgen: format: list has OFFSET and LENGTH after each path, .*; use format=raw, or a list of paths only, .* npz files$' \
	--format=npz
refused "calls of a framework" '^mlgen: access: .* raw files, .* access=plain$' \
	--access=framework
echo d/a/1 >list
refused "samples_per_file of a list of paths alone" \
	'^mlgen: samples_per_file: with dataset=scan each file is one sample' \
	--format=raw --samples_per_file=2
printf 'd/a/1\t0\t10\n' >list
mkdir tmp
TMPDIR=$T/tmp
export TMPDIR
ok "what is kept of it" run --file_list=list
is "goes with the run" "$(ls tmp)" ""

done_testing
