#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 70-io-uring-refused.sh - where io_uring may not be used, the run says why and stops.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

refuse=$BUILT/build/t/tools/refuse
[ -x "$refuse" ] || skip_all "build/t/tools/refuse is not here; make check builds it"
"$MLGEN" --enghelp | grep -q '^io_uring ' || skip_all "built without io_uring"

job="--name=x --directory=data --format=raw --num_files=20 --sample_size=2k
	--ioengine=io_uring --json=run.json"

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --ioengine=psync --phase=prepare --quiet >out 2>&1
rm -f run.json
"$refuse" statx ENOSYS true || skip_all "no seccomp filters here"
# shellcheck disable=SC2086
"$MLGEN" $job --quiet >out 2>&1 || skip_all "io_uring is refused here anyway:
$(cat out)"

# refused TITLE ERROR REGEX
refused()
{
	rm -f run.json
	# shellcheck disable=SC2086
	exits "$1 ends the run before it begins" 2 \
		"$refuse" io_uring_setup "$2" "$MLGEN" $job
	like "$1: told in words" "$(cat err)" "^mlgen: ioengine=io_uring: $3"
	is "$1: in one line" "$(wc -l <err)" 1
	is "$1: no report of another engine" "$(cat out)" ""
	not_ok "$1: nor a JSON document" test -e run.json
	# shellcheck disable=SC2086
	exits "$1: nothing is prepared by another either" 2 \
		"$refuse" io_uring_setup "$2" "$MLGEN" $job --directory=fresh
	not_ok "$1: nothing is written" test -e fresh
}

disabled=/proc/sys/kernel/io_uring_disabled
refused "a seccomp profile" EPERM \
	'io_uring_setup: Operation not permitted; a seccomp profile, .* or use ioengine=libaio$'
refused "a kernel without it" ENOSYS \
	"io_uring_setup: Function not implemented; .*seccomp profile.*this is Linux $(uname -r)\).* use ioengine=libaio\$"
refused "a limit of locked memory" ENOMEM \
	'io_uring_setup: Cannot allocate memory; .*locked memory.*ulimit -l'

# ---- the sysctl, as a file laid over it in a mount namespace of its own
# as_sysctl VALUE COMMAND...
as_sysctl()
{
	echo "$1" >value
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -m sh -c 'mount --bind value "$1" && shift && exec "$@"' sh \
		$disabled "$@"
}
if [ -e $disabled ] && as_sysctl 0 true 2>/dev/null; then
	for value in 1 2; do
		# shellcheck disable=SC2086
		exits "io_uring_disabled=$value ends the run" 2 as_sysctl $value \
			"$refuse" io_uring_setup EPERM "$MLGEN" $job
		like "and is named" "$(cat err)" \
			"^mlgen: ioengine=io_uring: io_uring_setup: Operation not permitted; kernel\.io_uring_disabled is $value .*set it to 0 or use ioengine=libaio\$"
	done
else
	skip "io_uring_disabled is named" "no such sysctl, or none may be laid over it"
fi

# ---- what is refused beside it
# shellcheck disable=SC2086
exits "without io_uring_register the run goes on" 0 \
	"$refuse" io_uring_register EPERM "$MLGEN" $job
is "with all samples" "$(ml run.json samples)" 20
# shellcheck disable=SC2086
exits "without io_uring_enter it fails" 1 \
	"$refuse" io_uring_enter EPERM "$MLGEN" $job
like "naming the engine" "$(cat err)" \
	'^mlgen: ioengine=io_uring: cannot continue: Operation not permitted'
is_json "and is reported" run.json

done_testing
