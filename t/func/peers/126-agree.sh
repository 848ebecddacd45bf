#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 126-agree.sh - trace, report, log, series and metrics of 200 random jobs have the same operations, bytes and samples.

. "$(dirname "$0")/../tap.sh"

[ -x /usr/bin/python3 ] || skip_all "python3 is not here"
# SEED=N draws other jobs.
if /usr/bin/python3 "$TOP/t/func/peers/agree.py" "$MLGEN" "${SEED:-1}" 200 >out 2>&1; then
	tap_pass "200 jobs agree with themselves"
else
	tap_fail "200 jobs agree with themselves" "$(cat out)"
fi
done_testing
