#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 12-golden-reports.sh - whatever else has a golden file is printed, byte for byte, as that holds it.

. "$(dirname "$0")/tap.sh"

[ -x "$BUILT/build/golden/mlgen" ] ||
	skip_all "build/golden/mlgen is not there: make check makes it"
cd "$TOP/t/golden" || exit 1
# shellcheck disable=SC2046 # a word for each file
TMPDIR=$T "$TOP/t/golden/run" $(find . -name '*.golden' | sed 's,^\./,,' | sort |
	grep -Ev '^(job|fio)-')
