#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 144-trace-file.sh - where --trace writes, what it refuses to overwrite, and what is left of a run that ends early.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

text=$BUILT/build/t/tools/trace_text
[ -x "$text" ] || skip_all "build/t/tools/trace_text is not here; make check builds it"

cat >x.job <<'END'
[x]
directory=d
format=raw
num_files=4
sample_size=10k
END

train()
{
	"$MLGEN" x.job --ceiling=no --quiet "$@"
}

# refused TITLE REGEX OPTION...: status 2, and the message
refused()
{
	refused_title=$1 refused_regex=$2
	shift 2
	exits "$refused_title is refused" 2 train "$@"
	like "$refused_title: it says why" "$(cat err)" "$refused_regex"
}

# whole FILE: a trace with its end
whole()
{
	"$text" "$1" >x.txt && tail -n 1 x.txt | grep -q ' 0 0 0$'
}

exits "a trace is written" 0 train --trace=x.trace
ok "and is whole" whole x.trace
cp x.trace first.trace
exits "the next run replaces it" 0 train --trace=x.trace
ok "it is whole again" whole x.trace
not_ok "and another one" cmp -s x.trace first.trace
: >empty
exits "an empty file becomes one" 0 train --trace=empty
ok "that is whole" whole empty
exits "so does what an empty link leads to" 0 sh -c 'ln -s target link &&
	"$MLGEN" x.job --ceiling=no --quiet --trace=link'
ok "whose link stays" test -h link
ok "and whose file is whole" whole target

# ---- what is not overwritten
echo "not a trace" >mine.txt
refused "a file that is no trace" \
	'^mlgen: trace=mine\.txt: exists and is not a trace; it is not overwritten: name another file, or add --force$' \
	--trace=mine.txt
is "it stays" "$(cat mine.txt)" "not a trace"
printf 'ML' >short
refused "one that is shorter than what would tell" 'is not a trace' --trace=short
refused "the job file" 'trace=x\.job: is a job file of this run' --trace=x.job
refused "a file of the dataset" 'trace=d/.*: is a file of a dataset' \
	--trace=d/train/img_0_of_4.raw
refused "standard output" '^mlgen: trace=-: name a file' --trace=-
refused "/dev/null" \
	'^mlgen: trace=/dev/null: is not a regular file, which a trace requires; name another file$' \
	--trace=/dev/null
refused "a folder" '^mlgen: trace=\.: cannot be written: Is a directory' --trace=.
refused "the file of --json" "is also the file of --trace|is also the file of --json" \
	--trace=x.trace --json=x.trace
ok "the trace that was there is whole all the while" whole x.trace

# ---- a descriptor
exits "a descriptor of a file is written" 0 sh -c '
	"$MLGEN" x.job --ceiling=no --quiet --trace=/dev/fd/3 3>third'
ok "and whole" whole third
exits "what is in it is kept" 2 sh -c '
	"$MLGEN" x.job --ceiling=no --quiet --trace=/dev/fd/3 3>>mine.txt'
like "where it is no trace" "$(cat err)" 'trace=/dev/fd/3: exists and is not a trace'
mkfifo pipe
refused "a pipe" 'trace=pipe: is not a regular file, which a trace requires' --trace=pipe \
	<>pipe

# ---- what is no run
cp x.trace before.trace
exits "a dry run checks the place" 2 train --dry-run --trace=mine.txt
exits "and writes nothing" 0 train --dry-run --trace=new.trace
not_ok "not even a file" test -e new.trace
exits "nor into one that is there" 0 train --dry-run --trace=x.trace
ok "which stays" cmp x.trace before.trace
refused "a search" '^mlgen: trace: is for a single run, which --find-max is not' \
	--find-max=accelerators '--require=au>=90' --trace=x.trace
train --json=r.json >out 2>&1
exits "documents are no run" 2 "$MLGEN" r.json --trace=x.trace
like "it says so" "$(cat err)" '^mlgen: trace: is for a run, but --[a-z]* reads files; leave out --trace'
exits "a run that is refused makes no trace" 2 train --trace=new.trace \
	--cpus_allowed=9999
not_ok "nor its file" test -e new.trace
exits "or leaves the one that is there" 2 train --trace=x.trace --bs=0
ok "as it was" cmp x.trace before.trace
exits "a run that makes its files and no more" 0 "$MLGEN" --name=e \
	--directory=. --rw=read --size=4k --create_only=1 --quiet --trace=none.trace
ok "has a trace without an operation" whole none.trace
is "which is empty" "$(tail -n 1 x.txt)" "end 0 0 0 0"

# ---- two at a time, and the end of one
long='--name=long --ioengine=null --num_files=8 --compute_time=5ms
	--runtime=60s --time_based --ceiling=no --quiet'
# shellcheck disable=SC2086
background "$MLGEN" $long --directory="$T/none" --trace=long.trace
poll test -s long.trace
for option in trace log json; do
	exits "--$option onto the trace of a run that runs is refused" 2 \
		train --$option=long.trace
	like "--$option: it says so" "$(cat err)" \
		"^mlgen: $option=long\.trace: another run is writing to it; wait"
done
kill -INT "$pid"
finish
is "an interrupted run has its status" "$status" 130
ok "and a whole trace" whole long.trace
like "with what ran before" "$(grep -c '^step ' x.txt)" '^[1-9]'
rm long.trace
# shellcheck disable=SC2086
background "$MLGEN" $long --directory="$T/none" --trace=long.trace
poll sh -c '[ "$(stat -c %s long.trace)" -gt 4000 ]'
kill -KILL "$pid"
finish
ok "what a run that was killed leaves can be read" "$text" long.trace
like "as far as it goes" "$("$text" long.trace | tail -n 1)" \
	'^end [1-9][0-9]* [0-9]+ [0-9]+ 1$'

# ---- the report
exits "a report" 0 "$MLGEN" x.job --ceiling=no --trace=x.trace --json=run.json
like "has a line for the trace" "$(cat out)" \
	'^trace     x\.trace: [0-9]+ records, .*; its writer used .* of CPU time$'
is "the document, too" \
	"$(json run.json trace.file trace.complete trace.bytes trace.lost)" \
	"x.trace true $(stat -c %s x.trace) 0"
is "with as many records as are in it" "$(json run.json trace.records)" \
	"$("$text" x.trace | tail -n 1 | cut -d' ' -f2)"
is "which can be tabulated" "$("$MLGEN" --table=trace.lost --output-format=csv \
	run.json | tail -n 1)" 0
train --json=run.json >out 2>&1
is "without a trace there is none of that" "$(json_lacks run.json trace.file)" \
	trace.file

done_testing
