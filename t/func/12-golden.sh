#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 12-golden.sh - everything that mlgen prints, byte for byte as the golden files have it.

. "$(dirname "$0")/tap.sh"

if [ ! -x "$TOP/build/golden/mlgen" ]; then
	skip_all "build/golden/mlgen is not there: make check makes it"
fi
"$TOP/t/golden/run"
