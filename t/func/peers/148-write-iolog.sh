#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 148-write-iolog.sh - write_iolog writes what a job did as a log that fio replays, and overwrites nothing else.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

# run OPTION...: with a report as JSON
run()
{
	"$MLGEN" --quiet --ceiling=no --json=run.json "$@"
}

# moved LOG read|write: the bytes of these lines
moved()
{
	awk -v op="$2" '$3 == op { n += $5 } END { printf "%d", n }' "$1"
}

# lines LOG ACTION: how many
lines()
{
	awk -v op="$2" '$3 == op { n++ } END { print n + 0 }' "$1"
}

# replayed LOG: fio does what it says, and moves as much
replayed()
{
	if ! command -v fio >/dev/null || ! command -v jq >/dev/null; then
		skip "fio replays $1" "fio or jq is not here"
		return
	fi
	ok "fio replays $1" fio --name=replay --read_iolog="$1" \
		--ioengine=psync --output-format=json --output=fio.json
	is "reads as much of $1" "$(jq '.jobs[0].read.io_bytes' fio.json)" \
		"$(moved "$1" read)"
	is "and writes as much" "$(jq '.jobs[0].write.io_bytes' fio.json)" \
		"$(moved "$1" write)"
}

# ---- plain jobs ----

mkdir d
exits "a job of two workers that reads and writes has a log" 0 run --name=a \
	--directory=d --rw=randrw --size=1m --bs=16k --numjobs=2 --fsync=8 \
	--group_reporting --write_iolog=a.iolog
is "of version 3" "$(head -n 1 a.iolog)" 'fio version 3 iolog'
is "all that was read is in it" "$(moved a.iolog read)" \
	"$(json run.json jobs.0.read.io_bytes)"
is "and written" "$(moved a.iolog write)" \
	"$(json run.json jobs.0.write.io_bytes)"
is "by both of its workers, each in a file of its own" \
	"$(awk '$3 == "add" { print $2 }' a.iolog | sort | tr '\n' ' ')" \
	'd/a.0.0 d/a.1.0 '
is "which are open once" "$(lines a.iolog open) $(lines a.iolog close)" '2 2'
ok "with its syncs" test "$(lines a.iolog sync)" -gt 0
ok "by their times" sh -c 'tail -n +2 a.iolog | sort -s -n -c -k1,1'
is "nothing is in the report of it" "$(json_lacks run.json trace)" trace
is "and no file stays beside it" "$(find . -name '*.part')" ''
replayed a.iolog
exits "it is a trace" 0 "$MLTRACE" import --format=fio-iolog a.iolog --output=again.mlt
exits "and a log again" 0 "$MLTRACE" export --format=fio-iolog again.mlt
ok "the same" cmp a.iolog out

exits "with --trace there are both" 0 run --name=a --directory=d --rw=randread \
	--size=1m --bs=64k --numjobs=2 --write_iolog=a.iolog --trace=a.mlt
is "the old log is replaced" "$(lines a.iolog write)" 0
"$MLTRACE" export --format=fio-iolog a.mlt >want.iolog 2>want.err
ok "by what the trace is as a log" cmp want.iolog a.iolog
is "and as much is left out of it" \
	"$(sed -n 's/write_iolog=a.iolog: left/left/p' err)" "$(sed s/^mltrace/mlgen/ want.err)"

# ---- several jobs ----

cat >several.job <<'END'
[global]
directory=d
size=512k
bs=64k
[r]
rw=read
write_iolog=$jobname.iolog
[none]
rw=randread
[w]
stonewall
rw=write
numjobs=3
write_iolog=$jobname.iolog
END

# each WHICH: what the logs of several.job have
each()
{
	is "$1: a log has its own job's operations alone" \
		"$(awk '$3 == "add" { print $2 }' r.iolog)" d/r.0.0
	is "$1: all of them" "$(moved r.iolog read) $(moved r.iolog write)" \
		'524288 0'
	is "$1: and the other one its own" \
		"$(awk '$3 == "add" { print $2 }' w.iolog | sort | tr '\n' ' ')" \
		'd/w.0.0 d/w.1.0 d/w.2.0 '
	is "$1: all of these" "$(moved w.iolog read) $(moved w.iolog write)" \
		'0 1572864'
	not_ok "$1: a job without the option has none" test -e none.iolog
}

exits "two of three jobs have logs" 0 run several.job
each "without --trace"
rm ./*.iolog
exits "also out of a trace of all" 0 run several.job --trace=several.mlt
each "with --trace"
is "the trace has all three" "$("$MLTRACE" export --format=csv several.mlt |
	awk -F, '$6 == "open" { print $7 }' | sort -u | wc -l)" 5
exits "one file for two jobs is refused" 2 run several.job --write_iolog=x.iolog
like "with both and the way out" "$(cat err)" \
	'^mlgen: write_iolog=x\.iolog: is the file of two jobs, r and none; .*write_iolog=\$jobname\.iolog$'
exits "also under two names" 2 run --directory=d --size=64k \
	--name=r --rw=read --write_iolog=same.iolog \
	--name=s --rw=read --write_iolog=./d/../same.iolog
like "which are one" "$(cat err)" 'is the file of two jobs, r and s; '
not_ok "and nothing is made" test -e same.iolog

# ---- jobs of other kinds ----

cat >train.job <<'END'
[t]
directory=t
format=raw
num_files=8
sample_size=10k
compute_time=1ms
batch_size=2
read_threads=2
END
exits "a training has one, too" 0 run train.job --write_iolog=t.iolog
is "of what it read" "$(moved t.iolog read)" 81920
is "and nothing of its preparation" "$(moved t.iolog write)" 0
like "markers are said to be left out" "$(cat err)" \
	'^mlgen: note: write_iolog=t\.iolog: left out because an iolog cannot express them: [0-9]+ markers$'
replayed t.iolog
exits "and checkpoints" 0 run --name=c --phase=checkpoint --directory=c \
	--checkpoint_size=1m --checkpoints=1 --write_iolog=c.iolog
ok "of what is written" test "$(moved c.iolog write)" -ge 1048576

mkdir 'a b'
exits "names that fio cannot read" 0 run --name=n --rw=read --size=64k --bs=4k \
	--directory='a b' --write_iolog=n.iolog
like "are told with what is missing for it" "$(cat err)" \
	"^mlgen: warning: write_iolog=n\\.iolog: 1 file cannot be named in an iolog, with 18 operations; .* The first: 'a b/n\\.0\\.0'\$"
is "and the log has nothing" "$(cat n.iolog)" 'fio version 3 iolog'

# ---- a run that ends early ----

background "$MLGEN" --quiet --ceiling=no --name=l --rw=randread --size=1m \
	--directory=d --bs=4k --thinktime=1ms --time_based --runtime=60 \
	--write_iolog=l.iolog --status-interval=100ms
ok "a run has read something" poll grep -q '  l  r=[1-9]' err
kill -INT $pid
finish
is "and is interrupted" $status 130
ok "has a log of what it did" test "$(lines l.iolog read)" -gt 0

# ---- where it goes ----

one()
{
	run --name=o --rw=read --size=64k --bs=4k --directory=d "$@"
}

# refused TITLE REGEX OPTION...
refused()
{
	refused_title=$1 refused_regex=$2
	shift 2
	exits "$refused_title is refused" 2 one "$@"
	like "$refused_title: it says why" "$(cat err)" "$refused_regex"
}

printf 'notes\n' >notes
cp a.mlt b.mlt
refused "a file that is no log" \
	'^mlgen: write_iolog=notes: exists and is not a fio iolog; it is not overwritten' \
	--write_iolog=notes
is "and stays" "$(cat notes)" notes
printf 'fio version ' >begun
refused "what only begins as one" 'is not a fio iolog' --write_iolog=begun
refused "a trace" 'is not a fio iolog' --write_iolog=b.mlt
refused "the file of --trace" \
	'^mlgen: trace=b\.mlt: is also the file of write_iolog of o; rename one of them$' \
	--write_iolog=b.mlt --trace=b.mlt
refused "the report's" 'json=run\.json: is also the file of write_iolog of o' \
	--write_iolog=run.json
refused "a job's file" 'is a file that the job reads or writes' --write_iolog=d/o.0.0
refused "no folder" 'write_iolog=no/x: cannot be written: No such file' --write_iolog=no/x
refused "a folder" 'write_iolog=d: cannot be written: Is a directory' --write_iolog=d
refused "an address" '^mlgen: write_iolog: s3://b/x: is a URL' --write_iolog=s3://b/x
refused "a dash" 'write_iolog=-: name a file' --write_iolog=-
exits "no place for what it is made of is refused" 2 \
	env TMPDIR=/nowhere "$MLGEN" --quiet --ceiling=no --name=o --rw=read \
	--size=64k --directory=d --write_iolog=x.iolog
like "with the way out" "$(cat err)" \
	'^mlgen: temporary file of write_iolog \(TMPDIR=DIR sets its folder\): /nowhere: No such file'
exits "a dry run looks, too" 2 one --write_iolog=notes --dry-run
exits "but writes nothing" 0 one --write_iolog=x.iolog --dry-run
is "nor does what is refused" "$(find . -name 'x.iolog' -o -name '*.part')" ''
for run in 1 2; do
	one --write_iolog=run$run.iolog --json=run$run.json >merge.out 2>&1
done
exits "runs with logs of different names are of one workload" 0 \
	"$MLGEN" --merge run1.json run2.json
: >empty
exits "an empty file may be one" 0 one --write_iolog=empty
is "and is one now" "$(lines empty read)" 16
ln -s linked.iolog link
exits "a link leads to its file" 0 one --write_iolog=link
is "which is made" "$(lines linked.iolog read)" 16
exits "a pipe takes it" 0 sh -c '"$MLGEN" --quiet --ceiling=no --name=o --rw=read \
	--size=64k --bs=4k --directory=d --write_iolog=/dev/fd/5 5>&1 >o.out |
	cat >piped.iolog'
is "as it is" "$(lines piped.iolog read)" 16
exits "no room for it is an error of the run" 1 one --write_iolog=/dev/full
like "which is told" "$(cat err)" \
	'^mlgen: write_iolog=/dev/full: cannot be written: No space left on device$'
is "and what was measured is there" "$(json run.json jobs.0.read.total_ios)" 16
done_testing
