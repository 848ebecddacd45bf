#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 170-score.sh - two runs of one job score as alike, and a run of which one thing was changed does not.
#
# What depends on time (M8 to M11) is in t/golden/score.golden, in virtual time:
# here only M1 to M7 are asked for, and of the others what no delay can hide.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

run()
{
	run_trace=$1
	shift
	"$MLGEN" --name=x --directory=data --ceiling=no --format=npz \
		--num_files=64 --sample_size=100k --batch_size=4 --epochs=3 \
		--read_threads=2 --compute_time=2ms --access=framework \
		--trace="$run_trace" "$@" >run.out 2>&1 || note "$(cat run.out)"
}

# score TRACE...: its document is in score.json, its status in $status.
score()
{
	"$MLTRACE" score "$@" --quiet --json=score.json >score.out 2>&1
	status=$?
	[ $status = 0 ] || [ $status = 3 ] || note "$(cat score.out)"
}

# worst M...: of these metrics, `ok` where it is within its limits, or unknown.
worst()
{
	for metric; do
		worst_of=$(json score.json "score.$metric")
		case $worst_of in
		null)	echo "$metric=unknown" ;;
		*)	awk -v m="$metric" -v x="$worst_of" \
				'BEGIN { print m "=" (x + 0 <= 1 ? "pass" : "FAIL") }' ;;
		esac
	done | paste -s -d' ' -
}

no_metric_fails()
{
	case $(worst m1 m2 m3 m4 m5 m6 m7) in
	*FAIL*)	worst m1 m2 m3 m4 m5 m6 m7 ;;
	esac
}

# fails TITLE METRIC...: each of these.
fails()
{
	title=$1
	shift
	is "$title" "$status $(worst "$@")" \
		"3 $(printf '%s=FAIL ' "$@" | sed 's/ $//')"
}

# ---- one job three times
for n in 1 2 3; do
	run $n.mlt
done
score 1.mlt 1.mlt
is "a trace is like itself" "$status $(json score.json score.verdict score.m1 \
	score.m6 score.m9 score.m10)" "0 pass 0.0 0.0 0.0 0.0"
score 1.mlt 2.mlt
is "two runs of one job are alike in M1 to M7" \
	"$(worst m1 m2 m3 m4 m5 m6 m7)" \
	"m1=pass m2=pass m3=pass m4=pass m5=pass m6=pass m7=pass"
is "host and storage are the same, so that times are judged, too" \
	"$(json score.json score.same_place score.unlike)" "true null"
score 1.mlt 2.mlt 3.mlt
is "two real ones are a noise floor" \
	"$(json score.json score.phases.0.figures.0.floor)" "0.0"
is "with which the third is alike" "$(no_metric_fails)" ""
is "what was not recorded is unknown, and fails nothing" \
	"$(json score.json score.m12 score.phases.0.figures.30.verdict)" \
	"null unknown"

# ---- controls, which have to fail
run shuffle.mlt --shuffle=none
score 1.mlt 2.mlt shuffle.mlt
fails "shuffle off: M6" m6
run compute.mlt --compute_time=0
score 1.mlt compute.mlt
fails "compute_time=0: M8 and M9" m8 m9
run access.mlt --access=plain
score 1.mlt access.mlt
fails "access=plain in place of framework: M1 and M3" m1 m3
run workers.mlt --read_threads=3
score 1.mlt workers.mlt
fails "one worker more: M10" m10
is "one worker more asks for the same" "$(no_metric_fails)" ""
rm -r data
run sizes.mlt --sample_size=50k
score 1.mlt 2.mlt sizes.mlt
fails "other sizes: M2 and M4" m2 m4
rm -r data
run files.mlt --num_files=32
score 1.mlt 2.mlt files.mlt
fails "half of the files: M4 and M6" m4 m6

# ---- the same epochs, one of them more than once: other bytes, nothing else
rm -r data
run long.mlt --epochs=6
score 1.mlt long.mlt
is "twice as many epochs are twice the bytes, and the same in all else" \
	"$(worst m1 m2 m3 m4 m5 m6)" \
	"m1=pass m2=FAIL m3=pass m4=pass m5=pass m6=pass"

# ---- io_uring, and checkpoints
"$MLGEN" --enghelp=io_uring >/dev/null 2>&1 && run uring.mlt --ioengine=io_uring
if [ -s uring.mlt ]; then
	score long.mlt uring.mlt
	is "a read of io_uring is a read" "$(worst m4 m6)" "m4=pass m6=pass"
else
	skip "a read of io_uring is a read" "io_uring is not to be had here"
fi
rm -r data
for n in save again; do
	run $n.mlt --checkpoint_size=4m --checkpoint_every='1 epochs' \
		--checkpoint_directory=saved
	rm -r saved
done
score save.mlt again.mlt
is "a run that saves is like itself" "$(no_metric_fails)" ""
like "and saving is a phase" \
	"$(json score.json score.phases.0.phase score.phases.1.phase \
		score.phases.2.phase)" "save"

done_testing
