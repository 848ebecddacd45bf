#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 176-write-iolog-no-space.sh - a log for which there is no room, or not for what it is made of, leaves the run's result as it is.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

if ! own_mounts || ! mount_small small 1m; then
	skip_all "may not mount a small filesystem here"
fi

# run TMPDIR LOG: 65,536 reads of no storage, slowly enough to be recorded
run()
{
	TMPDIR=$1 "$MLGEN" --name=n --rw=randread --ioengine=null --size=256m \
		--bs=4k --rate_iops=200000 --ceiling=no --write_iolog="$2" \
		--json=run.json
}

mkdir large
printf 'fio version 3 iolog\n0 a add\n' >small/n.iolog
cp small/n.iolog old.iolog
exits "no room for the log is an error of the run" 1 run large small/n.iolog
like "which is told" "$(cat err)" \
	'^mlgen: write_iolog=small/n\.iolog: cannot be written: No space left on device$'
is "what was measured is there" "$(json run.json jobs.0.read.total_ios)" 65536
ok "as is the old log" cmp old.iolog small/n.iolog
is "and nothing beside it" "$(find small -name '*.part')" ''

dd if=/dev/zero of=small/full bs=900k count=1 2>dd.err
exits "nor room for what it is made of" 1 run small n.iolog
like "is told with where that was" "$(cat err)" \
	'^mlgen: temporary file of write_iolog \(TMPDIR=DIR sets its folder\): cannot write: No space left on device'
like "and whose log is not whole" "$(cat err)" \
	'^mlgen: warning: write_iolog=n\.iolog: is incomplete'
is "what was measured is there again" "$(json run.json jobs.0.read.total_ios)" 65536
ok "and of the log as much as there was room for" test "$(wc -l <n.iolog)" -lt 65536

dd if=/dev/zero of=small/fuller bs=4k 2>dd.err
cp old.iolog n.iolog
exits "nor any room for it" 1 run small n.iolog
like "is told for the log" "$(cat err)" \
	'^mlgen: write_iolog=n\.iolog: is not written: nothing was recorded of the job$'
ok "which stays" cmp old.iolog n.iolog
done_testing
