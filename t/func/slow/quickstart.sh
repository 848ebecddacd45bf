#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh - what the README's second command runs, as it is.
# On disk: the test uses direct=1 or measures what storage does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

unset MLGEN_JOBS
[ "$(df -Pm . | awk 'END { print $4 }')" -gt 1500 ] ||
	skip_all "less than 1.5 GB of free space"

exits "quickstart.job runs" 0 "$MLGEN" quickstart.job --json=out.json
like "the dataset is announced" "$(cat err)" \
	'^quickstart: writing 256 raw files, 512(\.0)? MiB to '
like "and the result is" "$(head -n 1 out)" \
	'^quickstart: [0-9.]+% AU, [0-9.]+ MiB/s, [0-9.]+ samples/s'
ok "on one screen" test "$(wc -l <out)" -le 45
ok "of 80 columns" awk 'length > 80 { exit 1 }' out
is "all samples of five epochs" "$(ml out.json steps samples sample_bytes)" \
	"80 1280 $((1280 * 2097152))"
is "are counted long enough" "$(ml out.json too_short)" false
if [ "$(ml out.json storage.source)" = "device counters" ]; then
	ok "and came from storage" awk -v \
		percent="$(ml out.json storage.memory_percent)" \
		'BEGIN { exit !(percent < 10) }'
else
	skip "and came from storage" "nothing here can tell"
fi
exits "a second run needs no preparation" 0 "$MLGEN" quickstart.job --epochs=1
is "and says nothing of one" "$(cat err)" ""

done_testing
