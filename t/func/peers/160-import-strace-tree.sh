#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 160-import-strace-tree.sh - hundreds of processes that come and go are told apart in a log of strace, and share positions as they did.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
can_trace || skip_all "strace is not here or not allowed"

# A line for each of so many children, that read it byte by byte from one open
# file, some at the same time.
children=200
seq 1000 $((999 + children)) >lines
cat >tree.sh <<'END'
exec 3<lines
i=0
while [ $i -lt "$1" ]; do
	(read -r line <&3; exit $((i % 3))) &
	[ $((i % 10)) -ne 9 ] || wait
	i=$((i + 1))
done
wait
END

# tree NAME OPTION...: a log as a trace, and as text
tree()
{
	tree_name=$1
	shift
	strace "$@" -o "$tree_name" sh tree.sh $children || return
	"$MLTRACE" import --format=strace "$tree_name" --output="$tree_name.mlt" >out \
		2>err || return
	"$MLTRACE" export --format=csv "$tree_name.mlt" 2>/dev/null >"$tree_name.csv"
}

# count NAME EXPRESSION: rows for which it holds
count()
{
	awk -F, "$2" "$1.csv" | wc -l | tr -d ' '
}

ok "a shell with many children becomes a trace" tree plain -f -ttt -T
is "with each that was forked" "$(count plain '$6 == "fork"')" $children
is "and each that ended" "$(count plain '$6 == "exit"')" $((children + 1))
is "as it did" "$(count plain '$6 == "exit" && $10 == 1')" \
	"$(((children + 1) / 3))"
is "no line of which was not understood" \
	"$(grep -c 'could not be read' err)" 0

# dash reads byte by byte; others may seek back.
if [ "$(count plain '$6 == "read" && $7 ~ /lines$/ && $9 != 1')" = 0 ]; then
	is "each byte of the file that they share was read once" \
		"$(awk -F, '$6 == "read" && $7 ~ /lines$/ && $10 == 1 {
			print $8 }' plain.csv | sort -n | uniq | wc -l |
			tr -d ' ')" "$(wc -c <lines | tr -d ' ')"
	is "and none twice" \
		"$(count plain '$6 == "read" && $7 ~ /lines$/ && $10 == 1')" \
		"$(wc -c <lines | tr -d ' ')"
else
	skip "each byte of the file that they share was read once" \
		"this shell does not read byte by byte"
fi

strace -ff -ttt -T -o split sh tree.sh $children
"$MLTRACE" import --format=strace split.[0-9]* --output=split.mlt >out 2>err
"$MLTRACE" export --format=csv split.mlt 2>/dev/null >split.csv
is "files of -ff, one for each, have as many forks" "$(count split '$6 == "fork"')" $children
is "and as many reads" \
	"$(count split '$6 == "read" && $7 ~ /lines$/ && $10 == 1')" \
	"$(wc -c <lines | tr -d ' ')"
"$MLTRACE" describe split.mlt --output-format=json >split.json 2>/dev/null
is_json "such a trace is described" split.json

ln -s "$(find . -name 'split.[0-9]*' | head -n 1)" one
# shellcheck disable=SC2046 # a word for each
exits "more files than can be open at a time are refused" 2 \
	"$MLTRACE" import --format=strace $(yes one | head -n 257) --output=no.mlt
like "with the program that merges them" "$(cat err)" 'strace-log-merge'

done_testing
