#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 157-capture-loader.sh - a loader with two worker processes, as README records it.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || skip_all "python3-numpy is not here"

here=$(pwd -P)
files=24 epochs=2
"$MLGEN" --name=d --phase=prepare --format=npz --num_files=$files \
	--sample_size=300k --directory=data --quiet >out 2>err ||
	skip_all "no files to read: $(cat err)"

for backend in $backends; do
	note "$backend"
	exits "the loader is recorded" 0 capture -- \
		$python "$TOP/examples/train.py" data $epochs
	like "and does its work" "$(cat out)" '^epoch 1: 6 steps'
	recorded >$backend.txt
	awk -v here="$here/data/" '
	$2 !~ "^" here ".*[.]npz$" && index($2, "data/") != 1 { next }
	$1 == "open" && $5 >= 0 { open[$2]++ }
	$1 == "read" && $5 > 0 { bytes[$2] += $5; tid[$7] = 1 }
	END {
		for (f in open)
			print f, open[f], bytes[f]
		for (t in tid)
			n++
		print "tasks", n
	}' $backend.txt | sort >$backend.calls
	is "each file is opened once an epoch" \
		"$(awk -v n=$epochs '$2 == n' $backend.calls | grep -c npz)" $files
	is "and read whole" "$(awk '$1 ~ /npz$/ { print $1 }' $backend.calls |
		while read -r f; do
			awk -v f="$f" -v n=$(($(stat -c %s "$f") * epochs)) '
			$1 == f && $3 < n' $backend.calls
		done)" ""
	is "by two processes an epoch" "$(grep '^tasks' $backend.calls)" \
		"tasks $((2 * epochs))"
	exits "it can be described" 0 "$MLTRACE" describe t.mlt
	like "with its directory" "$(cat out)" "$here/data"
done
if [ -e bpf.calls ] && [ -e strace.calls ]; then
	is "BPF and strace have the same" "$(cat bpf.calls)" "$(cat strace.calls)"
else
	skip "BPF and strace have the same" "only one of them works here"
fi
done_testing
