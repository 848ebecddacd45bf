#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 174-score-real.sh - a captured loader of NumPy is like itself, and what mlgen's job of its shape asks of storage is like it; controls are not.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || skip_all "python3-numpy is not here"

files=48
shape="--num_files=$files --sample_size=60k"
# shellcheck disable=SC2086 # several options
"$MLGEN" --name=unet3d --phase=prepare --format=npz $shape --directory=data \
	--quiet >out 2>err || skip_all "no files to read: $(cat err)"

# score ARGUMENT...: what is done when (M8 to M12) is not asked for here.
score()
{
	rm -f score.json
	"$MLTRACE" score "$@" --json=score.json >score.txt 2>score.err
	status=$?
	[ $status = 0 ] || [ $status = 3 ] || note "$(cat score.err)"
}
# like_train OPTION...: score the shipped job, run in the shape of train.py, against
# the traces in $captured.
like_train()
{
	# shellcheck disable=SC2086
	score $captured unet3d.job $shape --directory=data \
		--batch_size=4 --read_threads=2 --prefetch=2 --epochs=3 \
		--compute_time=10ms "$@"
}
# Of M1 to M7, those that fail.
failing()
{
	for metric in m1 m2 m3 m4 m5 m6 m7; do
		json score.json "score.$metric" |
			awk -v m=$metric '$1 != "null" && !($1 <= 1) { print m }'
	done | paste -s -d' ' -
}

has_floor=
for backend in $backends; do
	note "$backend"
	# A noise floor of the order takes three runs. One back end shows that it is known.
	captured="1.mlt 2.mlt"
	[ -n "$has_floor" ] || captured="$captured 3.mlt"
	for trace in $captured; do
		"$MLTRACE" record --output="$trace" --backend="$backend" \
			--eta=never -- $python "$TOP/examples/train.py" data \
			>train.out 2>&1 || note "$(cat train.out)"
	done
	# shellcheck disable=SC2086 # several traces
	score $captured
	is "$backend: several runs of a real loader ask for the same" \
		"$(failing)" ""
	like "of which nothing that decides is unknown" \
		"$(json score.json score.m1 score.m2 score.m3 score.m4 score.m5 \
			score.m6 score.m7)" '^([0-9.e-]+ ){6}[0-9.e-]+$'
	[ -n "$has_floor" ] ||
		like "and the noise floor is known: of the order of files" \
			"$(json score.json score.phases.0.figures.14.figure \
				score.phases.0.figures.14.floor)" \
			'^order of two rounds [0-9]'
	has_floor=yes
	is "its data is where the captures say that it is" \
		"$(json score.json score.same_place)" true

	like_train
	is "mlgen's job of that shape asks for the same" "$(failing)" ""
	like "of as many files" "$(json score.json \
		score.phases.0.figures.7.figure \
		score.phases.0.figures.7.distance)" '^files 0\.0'
	is "on the same host and storage" "$(json score.json score.same_place)" \
		true
	is "with as many workers at once" "$(json score.json \
		score.phases.0.figures.25.figure \
		score.phases.0.figures.25.distance)" "threads 0.0"

	like_train --shuffle=none
	like "without shuffling M6 or M7 fails" "$status $(failing)" '^3 (m6|m7)'
	like_train --access=plain
	like "other calls: M1 and M3 fail" "$status $(failing)" '^3 m1 .*m3'
	like_train --distinct_files=$((files / 2))
	like "half of the files: M4 and M6 fail" "$status $(failing)" \
		'^3 .*m4 .*m6'
done
done_testing
