#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 173-score-candidate.sh - the candidate of a score may be a job, which is run for it; and documents of scores in tables.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

cat >x.job <<'END'
[x]
directory=data
format=npz
num_files=64
sample_size=100k
batch_size=4
epochs=2
read_threads=2
compute_time=2ms
access=framework
END
"$MLGEN" x.job --quiet --ceiling=no --trace=real.mlt >out 2>&1 ||
	note "$(cat out)"
"$MLGEN" x.job --quiet --ceiling=no --trace=again.mlt >out 2>&1
export TMPDIR="$T/tmp"
mkdir "$TMPDIR"

# score ARGUMENT...: what decides M8 to M12 is left to golden files.
score()
{
	"$MLTRACE" score "$@" --json=score.json >out 2>err
	status=$?
}
asked()
{
	for metric in m1 m2 m3 m4 m6 m7; do
		json score.json score.$metric |
			awk -v m=$metric '$1 == "null" || $1 > 1 { print m, $1 }'
	done
}

score real.mlt again.mlt x.job
is "a job is run, and asks for the same as it did" "$(asked)" ""
like "which is said" "$(cat err)" '^mltrace: x\.job: running the job to score its trace$'
is "its name is that of the candidate" "$(json score.json score.candidate \
	score.traces.2.file score.traces.2.is_complete)" "x.job x.job true"
unlike "as in what is printed" "$(cat out)" '/proc/'
like "with the others" "$(cat out)" '^candidate +x\.job: [0-9]+ records'
is "and nothing is left where its trace was" "$(ls "$TMPDIR")" ""
rm -f score.json
score real.mlt x.job --num_files=32
is "options on the command line are the job's" \
	"$status $(json score.json score.phases.0.figures.7.figure \
		score.phases.0.figures.7.distance)" "3 files 0.5"
score real.mlt x.job --x.access=plain
like "of one of its jobs, too" "$status $(cat out)" '^3 .*NOT ALIKE  M1'
cp "$(dirname "$(command -v "$MLGEN")")/jobs/quickstart.job" . 2>/dev/null ||
	cp "$TOP/jobs/quickstart.job" .
score real.mlt quickstart.job --directory=data2 --num_files=64 --epochs=2 \
	--sample_size=4k --compute_time=1ms
is "so may be another one, which prepares what it needs" \
	"$status $(json score.json score.verdict)" "3 fail"
exits "a dry run of it has no trace, and is refused" 2 \
	"$MLTRACE" score real.mlt x.job --dry-run
like "with the way out" "$(cat err)" 'x.job: is run only to trace it; .*mlgen x.job --dry-run'
exits "requirements are of the score" 2 \
	"$MLTRACE" score real.mlt x.job --require='au>=1'
like "in words" "$(cat err)" 'au is not a figure of a score'
unlike "before anything runs" "$(cat err)" 'running the job'

# ---- a job that comes to nothing

# An earlier document, which the next one may take the place of.
before=$(printf '{\n  "mlgen version": "old"\n}')
old()
{
	echo "$before" >score.json
	score "$@"
}
old real.mlt x.job --directory=/proc/none
is "a job that cannot run has no score, and the status of its run" \
	"$status $(cat out)" "2 "
like "with its own words" "$(cat err)" '^mltrace: /proc/none: '
is "what was there stays" "$(cat score.json)" "$before"
mkdir gone
"$MLGEN" x.job --directory=gone --phase=prepare --quiet >out 2>&1
rm gone/train/img_07_of_64.npz
old real.mlt x.job --directory=gone --continue_on_error=all
is "so has one that fails on the way" "$status" 1
like "which names the file" "$(cat err)" 'img_07_of_64'
is "what was there stays then, too" "$(cat out score.json)" "$before"
exits "a job that is not there is refused" 2 "$MLTRACE" score real.mlt none.job
like "as of a run of its own" "$(cat err)" '^mltrace: none\.job: no such job file'
exits "a trace that is not there, too" 2 "$MLTRACE" score real.mlt none.mlt
like "as a trace" "$(cat err)" '^mltrace: none\.mlt: .*No such file'
exits "of two jobs the first is no trace" 2 "$MLTRACE" score x.job x.job
like "which is said of it" "$(cat err)" '^mltrace: x\.job: is not a trace'
unlike "before the other runs" "$(cat err)" 'running the job'
printf '[x]\nnum_flies=3\n' >bad.job
exits "a fault in the job is one of its line" 2 "$MLTRACE" score real.mlt bad.job
like "with what was meant" "$(cat err)" '^bad\.job:2: num_flies: .*num_files'
# shellcheck disable=SC2016 # for the other shell
exits "a job on standard input would be read twice" 2 \
	sh -c '"$0" score real.mlt - <x.job' "$MLTRACE"
like "so name a file" "$(cat err)" 'standard input.*name a file'
TMPDIR=$T/none exits "there has to be room for its trace" 2 \
	"$MLTRACE" score real.mlt x.job
like "and where is said" "$(cat err)" '/none: .*TMPDIR='

# ---- a signal

echo "$before" >score.json
background "$MLTRACE" score real.mlt x.job --compute_time=100s \
	--json=score.json
poll grep -q 'running the job' "$T/err"
kill -INT "$pid"
finish
is "interrupted, it ends as a run does" "$status" 130
like "and says that there is no score" "$(cat "$T/err")" \
	'^mltrace: (x\.job: )?interrupted'
is "and leaves nothing" "$(ls "$TMPDIR"; cat "$T/out" score.json)" "$before"

# ---- tables of scores

score real.mlt again.mlt
cp score.json alike.json
score real.mlt x.job --num_files=32
exits "figures of scores are a table" 0 "$MLGEN" \
	--table=file,score.m2,score.m4,score.same_place,au,epochs \
	alike.json score.json --output-format=csv
is "a row for each" "$(cat out)" \
	"$(printf '%s\n' file,score.m2,score.m4,score.same_place,au,epochs \
		alike.json,0,0,true,, score.json,25,10,true,,)"
"$MLGEN" x.job --quiet --ceiling=no --json=run.json >out 2>&1
"$MLGEN" --table=file,epochs,score.m4 run.json alike.json >out 2>&1
is "beside runs, which have none" "$(awk '{ print $1, $2, $3 }' out)" \
	"$(printf 'file epochs score.m4\nrun.json 2 -\nalike.json - 0')"
exits "there are twelve" 2 "$MLGEN" --table=score.m13 alike.json
like "which are near" "$(cat err)" "did you mean 'score\.m1"
for question in --report --compare --merge; do
	exits "a score is no run: $question" 2 "$MLGEN" $question alike.json alike.json
	like "with what it is for" "$(cat err)" 'alike\.json: is a score.*--table='
done

done_testing
