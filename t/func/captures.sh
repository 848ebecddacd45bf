# SPDX-License-Identifier: Apache-2.0
# captures.sh - what tests of mltrace record share: which back ends work here, and what they recorded.
# shellcheck shell=sh
#
# Sourced after tap.sh and runs.sh.
#
#	$backends		"bpf strace", or one of them; the script is
#				skipped where there is none
#	capture ARGUMENTS...	mltrace record with --output=t.mlt by $backend, without
#				a status line; as a command of exits and the like
#	recorded		t.mlt as trace_text prints it
#	has FILE OP...		how many records of these there are of FILE

text=$BUILT/build/t/tools/trace_text
[ -x "$text" ] || skip_all "build/t/tools/trace_text is not here; make check builds it"

backends=
for backend in bpf strace; do
	if "$MLTRACE" record --output=probe.mlt --backend=$backend --eta=never \
		-- true >/dev/null 2>probe.$backend; then
		backends="$backends $backend"
	else
		note "$backend: $(sed -n 's/^mltrace: //p' probe.$backend | head -n 1)"
	fi
done
rm -f probe.mlt
[ -n "$backends" ] || skip_all "neither BPF nor strace can record here"

capture()
{
	"$MLTRACE" record --output=t.mlt --backend="$backend" --eta=never "$@"
}

recorded()
{
	"$text" t.mlt
}

has()
{
	has_file=$1
	shift
	recorded | awk -v file="$has_file" -v ops=" $* " '
	index(ops, " " $1 " ") && $2 == file { n++ }
	END { print n + 0 }'
}
