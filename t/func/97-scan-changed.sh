#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-changed.sh - files that others change while dataset=scan reads them are told at the end.
# Sleeps: a run is under way while its files are changed.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

mkdir -p d/a new
for n in 1 2 3; do
	head -c $((n * 1000)) /dev/zero >d/a/$n
done
warning='files have changed or disappeared since they were listed'

# during COMMAND OPTION...: runs, and COMMAND while it reads.
during()
{
	change=$1
	shift
	rm -f log.csv
	background "$MLGEN" --name=x --directory=d --dataset=scan --format=raw \
		--compute_time=10ms --epochs=1000000 --runtime=1500ms \
		--log=log.csv --log_interval=100ms --json=run.json "$@"
	poll grep -qsE ',train,' log.csv
	eval "$change"
	finish
}

during true
is "a run of files that stay as they are" $status 0
unlike "says nothing" "$(cat err)" "$warning"
during 'touch d/a d/a/new; chmod 640 d/a/1; cat d/a/2 >/dev/null'
unlike "nor where others come, or are read" "$(cat err)" "$warning"
rm d/a/new
during 'head -c 2000 /dev/zero >new/2; mv new/2 d/a/2'
is "one is replaced by another of its size" $status 0
like "which is told" "$(cat err)" \
	"^mlgen: warning: x: $warning: 1 of 3 that were checked again, the first is d/a/2; "
during 'echo more >>d/a/1; echo more >>d/a/3'
like "two have grown" "$(cat err)" "$warning: 2 of 3 .* first is d/a/1; "
during 'echo more >>d/a/3' --num_files=2
unlike "one that the job does not read says nothing" "$(cat err)" "$warning"
mkdir -p d/train d/valid
mv d/a/* d/train
cp d/train/* d/valid
during 'echo more >>d/valid/2' --eval_files=3 --eval_every=5
like "one to evaluate with" "$(cat err)" "$warning: 1 of 3 .* first is d/valid/2; "

during "echo more >>d/train/2; kill -INT \$pid" --runtime=1h
unlike "who interrupts does not wait for it" "$(cat err)" "$warning"

done_testing
