#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-list.sh - file_list= names the files of dataset=scan.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

mkdir -p d/a d/b
for n in 1 2 3; do
	head -c $((n * 1000)) /dev/zero >d/a/$n
	head -c $((n * 1000)) /dev/zero >d/b/$n
done

# run OPTION...: its report is in run.json; standard input is in.
run()
{
	rm -f run.json
	"$MLGEN" --name=x --dataset=scan --format=raw --json=run.json "$@" \
		>out 2>err <in
}
: >in

# reads TITLE "SAMPLES BYTES DIRECTORY" OPTION...
reads()
{
	title=$1 want=$2
	shift 2
	ok "$title" run "$@"
	is "$title: these files" "$(ml run.json samples sample_bytes) \
$(json run.json jobs.0.dataset.directory)" "$want"
}

# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title" 2 run --json=/dev/null "$@"
	like "$title: in words" "$(cat err)" "$regex"
}

printf 'a/3\na/1\nb/2\n' >d/list
reads "paths are relative to the list's folder" "3 6000 d" --file_list=d/list
reads "or to directory" "3 6000 d" --file_list=d/list --directory=d
cp d/list list
refused "which may be another" \
	'^mlgen: list: file_list names 3 missing files; ' \
	--file_list=list
like "each is told by its line" "$(cat err)" \
	'^mlgen: note: list:2: a/1: No such file or directory$'
reads "with directory they are there" "3 6000 d" --file_list=list --directory=d
printf 'd/a/1\r\n\r\n%s/d/a/3\r\n\nd/b/2' "$T" >list
reads "CRLF, empty lines, no last newline, absolute paths" \
	"3 6000 $T/d" --file_list=list
printf '\357\273\277d/a/1\nd/a/3\n' >list
reads "a byte order mark is no part of the first path" "2 4000 d/a" \
	--file_list=list
printf 'd/a/1\nd/a/1\nd//a/1\nd/a/2\n' >list
reads "a file is taken once" "2 3000 d/a" --file_list=list
like "which is said" "$(cat err)" 'list: left out: 2 paths found before$'
if can_trace; then
	printf 'd/b/1\nd/a/2\nd/a/1\n' >list
	traced trace openat "$MLGEN" --name=x --dataset=scan --format=raw \
		--file_list=list --shuffle=none --read_threads=1 >out 2>err
	is "they are read in byte order" "$(sed -n \
		's#.*openat(AT_FDCWD, "d/\([ab]/.\)", O_RDONLY|O_NONBLOCK|O_CLOEXEC[) ].*#\1#p' \
		trace | tr '\n' ' ')" "a/1 a/2 b/1 "
else
	skip "they are read in byte order" "strace is not here"
fi

# ---- standard input
printf 'd/a/1\nd/b/2\n' >in
reads "a file as standard input" "2 3000 d" --file_list=-
ok "a pipe as standard input" sh -c "cat in | '$MLGEN' --name=x \
	--dataset=scan --format=raw --file_list=- --json=run.json"
is "is read as well" "$(ml run.json samples sample_bytes)" "2 3000"
ok "its probes read it again" sh -c "cat in | '$MLGEN' --name=x \
	--dataset=scan --format=raw --file_list=- --json=run.json \
	--find-max=accelerators --compute_time=1ms --runtime=1s \
	>out 2>err || { cat err; ! grep -q 'file_list\|stdin' err; }"
unlike "from beginning to end" "$(cat err)" 'names no file'
rm -f leftover
TMPDIR=$T/tmp
mkdir tmp
export TMPDIR
ok "through a file" sh -c "cat in | '$MLGEN' --name=x --dataset=scan \
	--format=raw --file_list=- --json=run.json"
is "that leaves nothing" "$(ls tmp)" ""
: >in
refused "nothing comes" '^mlgen: file_list: stdin names no existing file' \
	--file_list=-

# ---- what is wrong with it
refused "no list" '^mlgen: file_list: none: No such file or directory' \
	--file_list=none
refused "a folder" '^mlgen: file_list: d: not a regular file' --file_list=d
mkfifo pipe
refused "a pipe" '^mlgen: file_list: pipe: not a regular file, .* file_list=-' \
	--file_list=pipe
printf 'd/a/1\nd/a\npipe\nd/none\n' >list
refused "what is in it is told" \
	'^mlgen: list: file_list names 1 missing file, 1 folder, 1 socket, pipe or device; --scan_errors=skip skips them$' \
	--file_list=list
like "by its line: a folder" "$(cat err)" \
	'^mlgen: note: list:2: d/a: a folder, but a file is needed$'
like "a pipe in it" "$(cat err)" '^mlgen: note: list:3: pipe: a socket, pipe'
reads "or left out" "1 1000 d/a" --file_list=list --scan_errors=skip
printf 'd/a/1\nd/a/\0002\n' >list
refused "a zero byte" '^mlgen: list:2: a zero byte; ' --file_list=list
printf 'd/a/1\tx\n' >list
refused "a TAB in a name" '^mlgen: list:1: one column after the path, ' \
	--file_list=list
head -c 100000 /dev/zero | tr '\0' x >list
refused "a line without end" '^mlgen: list:1: the line is longer than a path' \
	--file_list=list
printf '\n\r\n\n' >list
refused "nothing in it" '^mlgen: file_list: list names no existing file' --file_list=list
: >d/empty
printf 'd/empty\n' >list
refused "files that hold nothing" 'list: contains no file that mlgen can read' \
	--file_list=list
printf 'd/a/1\n' >list
refused "nothing to evaluate with" '^mlgen: eval_files: file_list names' \
	--file_list=list --eval_files=1
ok "a list is nothing to files that are made" run --dataset=made \
	--directory=m --num_files=1 --sample_size=1k --file_list=list \
	--phase=prepare
like "which is said" "$(cat err)" 'file_list: has an effect only with dataset=scan'

done_testing
