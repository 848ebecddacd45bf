#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# metrics-trickle.sh - clients that send a byte a second keep nobody else from a page for longer than ten seconds.
# On disk: the test uses direct=1 or measures what storage does.
# Sleeps: that is what they do.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

python=/usr/bin/python3
$python -c '' 2>/dev/null || skip_all "python3 is not here"
"$MLGEN" --name=x --ioengine=null --rw=read --size=1m --dry-run --metrics=0 \
	>dry 2>&1 || skip_all "$(head -n 1 dry)"

background "$MLGEN" --name=x --ioengine=null --rw=read --size=1m --ceiling=no \
	--metrics=0 --metrics-linger=120s
poll grep -q 'metrics stay' err
waited=$($python "$TOP/t/func/metrics.py" trickle \
	"$(sed -n 's/.*metrics are at \(http:[^ ]*\)$/\1/p' err)")
note "waited $waited s"
ok "eight that trickle are ended, and a page can be had" test "$waited" -ge 5 -a "$waited" -le 20
finish
is "which was the last one" "$status" 0
done_testing
