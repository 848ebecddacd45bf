#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 11-command-line - where a job comes from, and which of several values counts.

. "$(dirname "$0")/tap.sh"

unset MLGEN_JOBS

# value OPTION ARGUMENT...: the option's values as --showjob prints them, on
# one line; and its origins.
value()
{
	option=$1
	shift
	"$MLGEN" --showjob "$@" 2>&1 | sed -n "s/^$option=//p" | paste -sd' ' -
}

origin()
{
	option=$1
	shift
	"$MLGEN" --showjob "$@" 2>&1 | grep -B1 -E "^(# )?$option( is|=)" |
		sed -n '1s/^# //p'
}

cat >a.job <<'END'
[global]
epochs=2
prefetch=5
[one]
epochs=3
[global]
prefetch=6
batch_size=9
[accelerator=fast]
compute_time=1ms
[two]
accelerator=slow
[accelerator=slow]
compute_time=7ms
batch_size=4
END

# ---- precedence
is "a section overrides [global], a default stands elsewhere" \
	"$(value epochs a.job --accelerator=fast)" "3 2"
is "a second [global] adds to the first for the jobs below it" \
	"$(value prefetch a.job --accelerator=fast)" "5 6"
is "a selected section overrides [global]" \
	"$(value batch_size a.job)" "1 4"
is "one under [global] serves the jobs below it" \
	"$(value compute_time a.job --accelerator=fast)" "0 1ms"
is "the command line overrides all of them" \
	"$(value batch_size a.job --batch_size=8)" "8 8"
is "for one job with its name in front" \
	"$(value epochs a.job --two.epochs=7 --epochs=5)" "5 7"
is "an accelerator is found in capitals, and has its section's name" \
	"$(value compute_time a.job --accelerator=FAST) $(
		value accelerator a.job --accelerator=FAST)" "0 1ms FAST fast"
is "so is a word of an option, a yes and a no" \
	"$(value phase --name=x --phase=IO --rw=READ --time_based=No) $(
		value rw --name=x --phase=IO --rw=READ)" "io read"
is "dashes and underscores are alike" \
	"$(value batch_size a.job --batch-size=8 --two.batch-size=2)" "8 2"
is "the last of two values on the command line counts" \
	"$(value epochs a.job --epochs=5 --epochs=6)" "6 6"
is "an empty value unsets an option without default" \
	"$(value target_au --name=x --target_au=90 --target_au=)" ""

# ---- origins
is "an origin is a default" "$(origin bs a.job)" "default"
is "or a line of [global]" "$(origin prefetch a.job --section=one)" \
	"a.job:3 [global]"
is "or of the section" "$(origin epochs a.job --section=one)" \
	"a.job:5 [one]"
is "or of a selected section" "$(origin compute_time a.job --section=two)" \
	"a.job:14 [accelerator=slow]"
is "or the command line" "$(origin epochs a.job --epochs=1)" "command line"

# ---- the echo
"$MLGEN" --showjob a.job --kb_base=1000 --bs=64k --sample_size=normal:2m:1k \
	--percentile_list=5:99.99 --time_based --runtime=90m >echo.job
"$MLGEN" --showjob echo.job >echo2.job
is "a job that was shown parses to the same job" \
	"$(grep -v '^#' echo2.job)" "$(grep -v '^#' echo.job)"
is "sizes of kb_base=1000 too" "$(value bs echo.job)" "64000 64000"

# ---- plain jobs
cat >plain.job <<'END'
[global]
bs=,64k
size=20%
thread
accelerators=8
[log]
readwrite=write
kb_base=1000
rate=1m
thinktime=50
[mixed]
stonewall
rw=randrw
rwmixwrite=30
bssplit=4k/60:8k,16k
iodepth_batch=4
[train]
phase=train
END
is "rw= makes a plain job of a section" "$(value phase plain.job)" \
	"io io train"
is "and its origin says so" "$(origin phase plain.job --section=log)" \
	"from rw"
is "a plain job has fio's defaults" "$(value bs plain.job)" \
	"4kib,64000 4k,64k 1m,64k"
is "in its directory, too" "$(value directory plain.job)" \
	". . mlgen-data/train"
is "with their origin" "$(origin directory plain.job --section=log)" \
	"default of phase=io"
is "a bare thinktime is in microseconds" "$(value thinktime plain.job)" \
	"50us 0"
is "rwmixwrite says rwmixread" "$(value rwmixread plain.job)" "50% 70%"
is "only a training has accelerators" "$(value accelerators plain.job)" "8"
is "and each is shown its own options" \
	"$(value size plain.job) $(value epochs plain.job)" "20% 20% 1"
is "iodepth can be swept" \
	"$(value iodepth_batch_submit plain.job --iodepth=2)" "0 2"
"$MLGEN" --showjob plain.job >echo.job 2>err
like "what a job goes without is noted" "$(cat err)" \
	'^plain.job:5: note: accelerators: an option of phase=train; jobs of phase=io ignore it$'
"$MLGEN" --showjob echo.job >echo2.job 2>err
is "plain jobs that were shown parse to the same jobs" \
	"$(grep -v '^#' echo2.job)" "$(grep -v '^#' echo.job)"
is "without a word" "$(grep -v 'note: iodepth_batch_submit' err)" ""

# ---- jobs without a file
is "--name starts a job, with the options behind it" \
	"$(value epochs --epochs=4 --name=x --name=y --epochs=5)" "4 5"
is "its name goes into its directory" "$(value directory --name=x)" \
	"mlgen-data/x"
# shellcheck disable=SC2016 # mlgen replaces it
is "words are replaced" "$(value directory --name=x --directory='/d/$jobname-1')" \
	"/d/x-1"
is "a flag needs no value" "$(value stonewall --name=x --stonewall)" "1"
is "--section selects one" \
	"$(value epochs a.job --section=two)" "2"
is "given twice it selects both, in the order of the file" \
	"$(value epochs a.job --section=two --section=one)" \
	"$(value epochs a.job --section=one) 2"
exits "one of several that is not there is refused" 2 "$MLGEN" --parse-only \
	a.job --section=two --section=tow --section=one
like "and named" "$(cat err)" "^mlgen: section: no job 'tow'; the jobs are one two"

# ---- files
mkdir lib
printf '[only]\nepochs=11\n' >lib/only.job
printf '[lib]\nepochs=12\n' >lib/a.job
MLGEN_JOBS=$T/lib
export MLGEN_JOBS
is "a job file is found in MLGEN_JOBS" "$(value epochs only.job)" "11"
is "but one here comes first" "$(value epochs a.job --section=one)" "3"
is "a name with a slash is a path" "$(value epochs lib/a.job)" "12"
unset MLGEN_JOBS
exits "a job file without its suffix is not guessed" 2 "$MLGEN" --parse-only a
is "but asked back" "$(cat "$T/err")" \
	"mlgen: a: no such job file; did you mean a.job, which is in the current directory?"
exits "nor is one that comes with mlgen" 2 "$MLGEN" unet3d
is "which it says" "$(cat "$T/err")" \
	"mlgen: unet3d: no such job file; did you mean unet3d.job, which comes with mlgen?"
exits "nor one of MLGEN_JOBS" 2 env MLGEN_JOBS="$T/lib" "$MLGEN" only
is "which it says, too" "$(cat "$T/err")" \
	"mlgen: only: no such job file; did you mean only.job, which is in \$MLGEN_JOBS?"
exits "nor one by its path" 2 "$MLGEN" lib/only
is "which needs no more words" "$(cat "$T/err")" \
	"mlgen: lib/only: no such job file; did you mean lib/only.job?"
is "- is standard input" \
	"$(printf '\357\273\277[in]\r\n\t epochs = 9 \r\n' |
		"$MLGEN" --showjob - | grep '^epochs=')" "epochs=9"
like "and named so in a message" \
	"$(printf '[in]\nbs=1' | "$MLGEN" --parse-only - 2>&1)" \
	'^stdin:2: bs: 1 is below'
is "several files run one after the other" \
	"$(value epochs lib/a.job lib/only.job)" "12 11"
# shellcheck disable=SC2016 # mlgen replaces it
printf 'epochs=${EPOCHS:-8}\n' >lib/x.inc
printf '[inc]\ninclude x.inc\n' >lib/inc.job
is "include is relative to the file it stands in" \
	"$(value epochs lib/inc.job)" "8"
is "\${VAR} comes from the environment" \
	"$(EPOCHS=6; export EPOCHS; value epochs lib/inc.job)" "6"

# ---- refusals that are no golden files
exits "no job at all is a usage error" 2 "$MLGEN"
exits "an engine that is not there is refused" 2 \
	"$MLGEN" --parse-only --name=x --ioengine=psynk
like "with those that are, and the nearest" "$(cat "$T/err")" \
	"^mlgen: ioengine: 'psynk' is not built in; the engines are .*psync.*; did you mean 'psync'\\?$"
# nameless ARGUMENT WORDS: refused in one line.
nameless()
{
	exits "'$1' is refused" 2 "$MLGEN" --parse-only --name=x "$1"
	is "'$1' is told what is missing" "$(cat "$T/err")" "mlgen: $2"
}
nameless '=x' "=x: the option's name is missing; write --OPTION=VALUE"
nameless --=x "--=x: the option's name is missing; write --OPTION=VALUE, or --JOB.OPTION=VALUE for one job"
nameless --x.=1 "--x.=1: the option's name is missing; write --OPTION=VALUE, or --JOB.OPTION=VALUE for one job"
nameless --.bs=1k "--.bs=1k: the job's name is missing; write --OPTION=VALUE, or --JOB.OPTION=VALUE for one job"
nameless '' "an argument is empty; name a job file"
exits "an abbreviation is refused" 2 "$MLGEN" --name=x --ioengin=null
exits "general options may stand anywhere" 0 \
	"$MLGEN" a.job --parse-only --epochs=1
is "and a good file is passed in silence" "$(cat "$T/out" "$T/err")" ""
exits "a target without compute_time is allowed" 0 \
	"$MLGEN" --parse-only --name=x --target_au=90
like "and noted" "$(cat "$T/err")" '^mlgen: note: compute_time: 0 '

# ---- help
exits "--help succeeds" 0 "$MLGEN" --help
cp "$T/out" help
ok "it is a screen, 40 lines of 80" \
	awk 'length > 80 || NR > 40 { exit 1 }' help
exits "-h does, too" 0 "$MLGEN" -h
is "and is --help" "$(cat "$T/out")" "$(cat help)"
for topic in before-a-run Questions dataset I/O plain_io; do
	exits "--help=$topic has a topic" 0 "$MLGEN" --help=$topic
done
like "with its options" "$(cat "$T/out")" '^  --rwmixread='
unlike "and no others" "$(cat "$T/out")" '^  --iodepth='
exits "a topic that is none is refused" 2 "$MLGEN" --help=plan
like "with those that are" "$(cat "$T/err")" \
	'^mlgen: help=plan: is neither a topic nor an option; topics are help '
"$MLGEN" --help=all >help
ok "--help=all is at most 80 wide" awk 'length > 80 { exit 1 }' help
for option in $("$MLGEN" --cmdhelp | sed -n 's/^\([a-z_]*\)=.*/\1/p'); do
	like "--help=all has $option" "$(cat help)" "^  --$option="
done
exits "--cmdhelp explains one option" 0 "$MLGEN" --cmdhelp=read_threads
is "as the manual has it" "$(cat "$T/out")" \
"read_threads=INT   threads that read for one accelerator  default 4, 0 to 1024
                   With 0 the accelerator reads each batch itself, and this time
                   counts as stall.
                   PyTorch: num_workers. MLPerf Storage: reader.read_threads (up
                   to 32)."
exits "and the engines" 0 "$MLGEN" --enghelp
is "at most 80 wide" "$(awk 'length > 80' "$T/out")" ""
exits "and all" 0 "$MLGEN" --cmdhelp
is "at most 80 wide, too" "$(awk 'length > 80' "$T/out")" ""
like "with their values" "$(cat "$T/out")" '^ +contiguous  accelerator r of n'
if command -v script >/dev/null; then
	script -qec "stty cols 120; '$MLGEN' --cmdhelp" /dev/null >wide 2>&1 </dev/null
	ok "a wider terminal has longer lines" \
		awk '{ sub(/\r$/, "") } length > 120 { exit 1 } length > 100 { is = 1 }
			END { exit !is }' wide
else
	skip "a wider terminal has longer lines" "script is not here"
fi
exits "but not one that is misspelt" 2 "$MLGEN" --cmdhelp=read_thread
like "whose nearest it names" "$(cat "$T/err")" "did you mean 'read_threads'"
exits "an option of fio that changes nothing is explained" 0 \
	"$MLGEN" --cmdhelp=thread
is "with the reason" "$(cat "$T/out")" \
	"thread: fio option without effect in mlgen: workers are always threads"

ok "nothing was written" test ! -e "$T/mlgen-data"
done_testing
