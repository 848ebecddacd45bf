#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh - the journeys of README, by its own commands: they run, and print what it says.
# On disk: the test uses direct=1 or measures what storage does.
#
# The first screen, how many accelerators, a sweep. 5 GB and ten minutes.
# Directories of README are below this script's own; all else is word for word.

# shellcheck source=t/func/tap.sh
. "$(dirname "$0")/../tap.sh"
# shellcheck source=t/func/runs.sh
. "$(dirname "$0")/../runs.sh"

# command PATTERN: README's first command like it, on one line, its comment gone.
command_like()
{
	awk '
	going { line = line $0 }
	!going && /^    (\$ |\.?[^ ]*(mlgen|configure|sweep.sh)|[A-Z_]+=)/ {
		line = $0
		sub(/^ +(\$ )?/, "", line)
		going = 1
	}
	going && sub(/ *\\$/, " ", line) { next }
	going { print line; going = 0 }' "$TOP/README.md" |
		grep -E -m 1 -e "$1" | sed -E 's/ +# .*//; s/  +/ /g'
}

# journey NAME PATTERN: run it, as a shell at the top of the source tree would.
journey()
{
	typed=$(command_like "$2")
	note "$typed"
	typed=$(printf '%s\n' "$typed" | sed -E "s:/mnt/array:$T/array:g;
		s:(^| )(\./)?mlgen :\1$MLGEN :g; s:(^| )examples/:\1$TOP/examples/:")
	mkdir -p "$T/array" "$T/here"
	status=0
	(cd "$T/here" && env PATH="${MLGEN%/*}:$PATH" sh -c "$typed") \
		>"$1.out" 2>"$1.err" </dev/null || status=$?
	is "$1: README's command runs" "$typed: $status" "$typed: 0"
	[ "$status" -eq 0 ] || note "$(tail -5 "$1.err")"
}

# ---- what a job needs, and a taste of it
journey needs 'unet3d.job --dry-run'
like "it says what one accelerator asks for, as README's table does" \
	"$(cat needs.out)" '2\.96 GiB/s'
is "and touches nothing" "$(ls "$T/here" "$T/array")" "$(printf '%s:\n\n%s:' \
	"$T/array" "$T/here")"

journey taste 'unet3d.job .*--scale=2%'
like "README says what a taste takes" "$(grep 'scale=2%' "$TOP/README.md")" \
	'# a taste: 28 files, 4\.5 GB$'
like "and it is that" "$(cat taste.err)" 'writing 28 npz files, 4\.23 GiB to '
is "they are there" "$(find "$T/array/taste/train" -name '*.npz' | wc -l)" 28
like "its first line has the rate" "$(head -1 taste.out)" \
	'^unet3d: [0-9.]+% (AU|busy).*, [0-9.]+ [MG]iB/s'
like "then what fio prints" "$(sed -n 2p taste.out)" '^  read: IOPS=.*, BW='
like "and a verdict" "$(sed -n 3p taste.out)" '^  [A-Z][A-Z, -]+   '
like "with the reason" "$(sed -n 4,6p taste.out)" '^  because  '
like "and what to try next" "$(sed -n 4,10p taste.out)" '^  try next  '
for line in job threads dataset storage host command epoch 'latency, ms' \
	'accelerator time' 'read thread time' 'from memory' steady; do
	like "the report has: $line" "$(cat taste.out)" "^($line|  *$line) "
done
journey uring 'unet3d.job .*--scale=2% --ioengine=io_uring'
like "the same files are read through io_uring" \
	"$(tr -s ' \n' ' ' <uring.out)" 'ioengine=io_uring .*direct=1, iodepth=8 '
is "and none is written again" "$(grep -c 'writing' uring.err)" 0
journey page 'unet3d.job .*--html=unet3d.html'
like "there is a page to send" "$(head -c 100 "$T/here/unet3d.html")" \
	'^<!DOCTYPE html>'
rm -rf "$T/array/taste"
journey jobs '--list-jobs'
like "it has the jobs of README's table" "$(cat jobs.out)" '^unet3d  .* 2\.96 GiB/s'

# ---- how many accelerators?
journey quick 'quickstart.job .*/quick --find-max=accelerators'
like "512 MiB of files, as README says" "$(cat quick.err)" 'writing 256 raw files, 512 MiB'
like "are enough for an answer" "$(cat quick.out)" '^ANSWER  '
rm -rf "$T/array/quick"
# 40 MB/s is what README's disk gave; this one is as fast as it is.
journey many 'quickstart.job .*--compute_time=1s --find-max=accelerators'
is "the question" "$(head -1 many.out)" \
	"quickstart: most accelerators with au >= 90"
like "the probes" "$(sed -n 3p many.out)" \
	'^probe +accelerators +AU +[MG]iB/s +stall p99, ms +steps'
answer=$(sed -n 's/^ANSWER *\(at least \)\{0,1\}\([0-9]*\) accelerators.*/\2/p' many.out)
like "the answer is a number" "$answer" '^[1-9][0-9]*$'
like "that has passed" "$(cat many.out)" \
	" ${answer:-none} +(100\.0|9[0-9]\.[0-9])% .* pass"
for line in limit sure; do
	like "with: $line" "$(cat many.out)" "^$line  "
done
if grep -q '^limit  *not found' many.out; then
	skip "with: host" "no number of accelerators was too many here"
else
	like "with: host" "$(cat many.out)" "^host  "
fi
rm -rf "$T/array/test"

# ---- a sweep
journey sweep '^ACCELERATORS=.*examples/sweep.sh'
is "a line for each point" "$(grep -c ' read_threads  quickstart: .* AU' sweep.err)" 6
is "a row for each" "$(awk 'NR > 1 { print $1, $2 }' sweep.out | paste -sd, -)" \
	"1 1,1 4,2 1,2 4,4 1,4 4"
is "with the columns that README shows" "$(head -1 sweep.out | tr -s ' ')" \
	"$(grep -m 1 '^    accelerators  read_threads' "$TOP/README.md" |
		tr -s ' ' | sed 's/^ //')"
for n in 1 4; do
	printed=$(awk -v n=$n '/^    accelerators  read_threads/ { on = 1 }
		on && $1 == "1" && $2 == n { print $3; exit }' "$TOP/README.md")
	got=$(awk -v n=$n '$1 == "1" && $2 == n { print $3 }' sweep.out)
	ok "1 accelerator, $n threads: about as busy as README says ($printed, $got)" \
		awk -v a="$printed" -v b="$got" \
		'BEGIN { exit !(a > 0 && b > 0.8 * a && b < 1.2 * a) }'
done
journey compare '^mlgen --compare'
like "AU has gone up" "$(cat compare.out)" '^AU .* better'

# ---- two commands, in a copy without what was built
mkdir copy
(cd "$TOP" && tar -cf - --exclude=./build --exclude=./.git --exclude=./mlgen \
	--exclude=./config.mk --exclude=./config.h .) | tar -xf - -C copy
two()
{
	typed=$(command_like "$2")
	note "$typed"
	status=0
	(cd copy && env -u MLGEN -u TOP -u BUILT -u T -u MLGEN_DIR sh -c "$typed") \
		>"$1.out" 2>&1 </dev/null || status=$?
	is "$1: README's command runs" "$status" 0
	[ "$status" -eq 0 ] || note "$(tail -5 "$1.out")"
}
if [ "$(id -u)" -eq 0 ]; then
	two demo '^./configure --install-deps && make demo'
	like "512 MiB are written" "$(cat demo.out)" 'writing 256 raw files, 512 MiB'
	like "it trains, and reports" "$(cat demo.out)" \
		'^quickstart: [0-9.]+% AU.*, [0-9.]+ [MG]iB/s, [0-9.]+ samples/s'
	two check '^./configure --install-deps=check && make check'
	like "no test fails" "$(tail -1 check.out)" \
		'^[0-9]+ passed, 0 failed, [0-9]+ skipped'
else
	skip "two commands" "installing needs root"
fi

done_testing
