#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 139-mltrace.sh - mltrace names its commands and options, refuses what it cannot do, and mlgen names mltrace.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# refused TITLE REGEX ARGUMENTS...: status 2, one line, and no file.
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title: refused" 2 "$MLTRACE" "$@"
	like "$title: in words" "$(cat err)" "^mltrace: $regex"
	is "$title: in one line" "$(wc -l <err)" 1
}

run_quiet()
{
	"$MLGEN" --name=x --directory=data --format=npz --num_files=8 --sample_size=4k \
		--compute_time=1ms --trace=x.mlt --quiet >run.out 2>&1 || note "$(cat run.out)"
}

# ---- commands and options
exits "--help names the commands" 0 "$MLTRACE" --help
is "all of them" "$(awk '/^  [a-z]/ { print $1 }' out | paste -sd' ' -)" \
	"record import export describe score distil"
for command in record import export describe score distil; do
	exits "mltrace $command --help" 0 "$MLTRACE" "$command" --help
	for option in output output-format quiet help; do
		ok "mltrace $command has --$option" grep -q "^  --$option" out
	done
done
exits "--version" 0 "$MLTRACE" --version
like "is that of mlgen" "$(cat out)" "^mltrace $("$MLGEN" --version | awk 'NR == 1 { print $2 }')"
exits "without a command" 2 "$MLTRACE"
refused "a command that is misspelt" "descrbe: no such command; did you mean 'describe'" descrbe x.mlt
refused "one that is nothing" 'x\.mlt: no such command; mltrace --help' x.mlt
refused "an option that is misspelt" "jsno: unknown option; did you mean 'json'" \
	describe x.mlt --jsno=x
refused "an option of another command" 'lenient: is an option of mltrace import' \
	describe x.mlt --lenient
refused "no format" 'import: --format=FORMAT is missing' import log -o x.mlt
refused "no file to write" 'import: needs a file for the trace; name it with -o FILE' import --format=csv log
refused "no file to read" 'describe: no file; name the files of a trace' describe
refused "one file to score" "score: only 'x.mlt' is given; name" score x.mlt

# ---- outputs
run_quiet
echo precious >notes
refused "an input as the output" 'output=x.mlt: is also an input file' describe x.mlt -o x.mlt
refused "a foreign file as JSON" 'json=notes: exists' describe x.mlt --json=notes
refused "a foreign file as a trace" 'output=notes: exists and is not a trace' \
	record -o notes -- true
refused "a device" 'output=/dev/zero: ' describe x.mlt --output=/dev/zero
refused "two outputs in one file" "output=y: is also the file of --json" \
	describe x.mlt --output=y --json=y
is "nothing of that was written" "$(cat notes)" precious
ok "or made" test ! -e y
exits "a value may follow its option" 0 "$MLTRACE" describe x.mlt --output y --quiet
is "and --quiet is one line" "$(wc -l <y)" 1

# ---- mlgen
for old in "--capture=t.mlt -- true" "--import=strace log --trace=t.mlt" "--export=csv t.mlt" \
	"--describe t.mlt" "--score a.mlt b.mlt" "--distil t.mlt --output=t.job"; do
	# shellcheck disable=SC2086 # a word each
	exits "mlgen $old has moved" 2 "$MLGEN" $old
	like "to a command of mltrace" "$(cat err)" '^mlgen: [a-z]*: is now a command of mltrace: mltrace '
done
ok "mlgen is not linked with libbpf" sh -c '! ldd "$1" | grep -q libbpf' - "$MLGEN"
done_testing
