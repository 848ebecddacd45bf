#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 41-interrupted.sh - a preparation that was interrupted or killed is resumed, and ends the same.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

all=120
job="--name=x --format=npz --num_files=$all --sample_size=3k --subfolders=2
	--epochs=1 --steps=5 --directory=data"

sums()
{
	(cd data && find . -type f -exec cksum {} + | sort -k3)
}

files()
{
	find data/train -name 'img_*' 2>/dev/null | wc -l
}

# endless N OPTION...: a preparation that cannot end, since every Nth operation takes an
# hour. The other writers go on until each of them has met such an operation.
endless()
{
	n=$1
	shift
	# shellcheck disable=SC2086 # several options
	background "$MLGEN" $job --ioengine=fault --engine=psync --delay_every="$n" \
		--delay=1h "$@"
}

# has_begun FORMAT: there are ten files.
has_begun()
{
	set -- data/train/*/img_*."$1"
	[ $# -ge 10 ]
}

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare >out 2>err
sums >whole
rm -rf data

# ---- SIGINT
endless 50 --json=run.json
poll has_begun npz
kill -INT "$pid"
finish
is "SIGINT ends a preparation with status 130" "$status" 130
some=$(files)
ok "before it is done" test "$some" -lt $all
is_json "the JSON document is whole" run.json
is "and says how far it is" \
	"$(json run.json interrupted jobs.0.prepare.interrupted \
		jobs.0.prepare.files_written)" "true true $some"
like "as the text does" "$(cat out err)" "${some}[ /]"
like "and that the next run goes on" "$(cat out err)" 'continues'
is "nothing half-written is left, but of a thread that a call holds up" \
	"$(grep -q 'left behind' err ||
		find data -name '*part*' -o -name '*lock*' -o -name '*tmp*')" ""
like "the manifest knows that it is incomplete" "$(cat data/mlgen-dataset.json)" \
	'"complete": false'
# shellcheck disable=SC2086
exits "the next run goes on" 0 "$MLGEN" $job --json=run.json
is "with what was missing" \
	"$(json run.json jobs.0.prepare.files_written jobs.0.prepare.files_kept)" \
	"$((all - some)) $some"
is "and the dataset is as if nothing had been" "$(sums)" "$(cat whole)"
rm -rf data

# ---- kill -9
endless 50
poll has_begun npz
kill -9 "$pid"
finish
is "a killed one" "$status" 137
ok "leaves some files" test "$(files)" -lt $all
# shellcheck disable=SC2086
exits "a run with another size does not go on" 2 "$MLGEN" $job --sample_size=4k
# shellcheck disable=SC2086
exits "the next one of the same job does" 0 "$MLGEN" $job --phase=prepare
is "and leaves no trace" "$(sums)" "$(cat whole)"
rm -rf data

# ---- with another number of files, in the middle
endless 50 --phase=prepare
poll has_begun npz
kill -TERM "$pid"
finish
is "SIGTERM is an interruption too" "$status" 130
# shellcheck disable=SC2086
exits "a part of an incomplete dataset is completed" 0 \
	"$MLGEN" $job --num_files=100 --json=run.json
is "and only that" "$(json run.json jobs.0.dataset.files)" 100
like "so that the manifest stays incomplete" "$(cat data/mlgen-dataset.json)" \
	'"complete": false'
# shellcheck disable=SC2086
exits "until all are there" 0 "$MLGEN" $job --phase=prepare
is "and the same" "$(sums)" "$(cat whole)"

# ---- --replace, in the middle
# The first 240 operations remove the old files.
endless 300 --phase=prepare --replace --format=raw
poll has_begun raw
kill -9 "$pid"
finish
# shellcheck disable=SC2086
exits "a killed --replace is completed, too" 0 \
	"$MLGEN" $job --phase=prepare --replace --format=raw
is "with all of the new" "$(find data -name '*.raw' | wc -l)" $all
is "and none of the old" "$(find data -name '*.npz*' | wc -l)" 0

done_testing
