#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 174-score-real.sh - a captured loader of NumPy is like itself, and what mlgen's job of its shape asks of storage is like it; controls are not.
# In memory: what is asked for is compared, not what answers it.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || skip_all "python3-numpy is not here"

files=96
shape="--num_files=$files --sample_size=200k"
# shellcheck disable=SC2086 # several options
"$MLGEN" --name=unet3d --phase=prepare --format=npz $shape --directory=data \
	--quiet >out 2>err || skip_all "no files to read: $(cat err)"

# score ARGUMENT...: what is done when (M8 to M12) is not asked for here.
score()
{
	rm -f score.json
	"$MLGEN" --score "$@" --json=score.json >score.txt 2>score.err
	status=$?
	[ $status = 0 ] || [ $status = 3 ] || note "$(cat score.err)"
}
# like_train OPTION...: the job that is shipped, as train.py is.
like_train()
{
	# shellcheck disable=SC2086
	score 1.mlt 2.mlt 3.mlt unet3d.job $shape --directory=data \
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

for backend in $backends; do
	note "$backend"
	for n in 1 2 3; do
		"$MLGEN" --capture=$n.mlt --capture-backend="$backend" \
			--eta=never -- $python "$TOP/examples/train.py" data \
			>train.out 2>&1 || note "$(cat train.out)"
	done
	score 1.mlt 2.mlt 3.mlt
	is "$backend: three runs of a real loader ask for the same" \
		"$(failing)" ""
	like "of which nothing that decides is unknown" \
		"$(json score.json score.m1 score.m2 score.m3 score.m4 score.m5 \
			score.m6 score.m7)" '^([0-9.e-]+ ){6}[0-9.e-]+$'
	like "and the noise floor is known: of the order of files" \
		"$(json score.json score.phases.0.figures.14.figure \
			score.phases.0.figures.14.floor)" '^order of two rounds [0-9]'
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
