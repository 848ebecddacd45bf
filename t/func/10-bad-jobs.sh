#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 10-bad-jobs - every fault of a job file is told in the words of its golden file.
#
# t/jobs/bad/NAME.job and NAME.err are a pair. A first line "; args: ..." holds
# further arguments, without blanks inside.

. "$(dirname "$0")/tap.sh"

unset MLGEN_NO_SUCH_VARIABLE MLGEN_JOBS
bad=$TOP/t/jobs/bad

# In the folder of the pairs, so that messages carry the bare name.
parse()
{
	args=
	IFS= read -r first <"$bad/$1.job"
	case $first in
	'; args: '*)	args=${first#; args: } ;;
	esac
	set -f
	# shellcheck disable=SC2086 # several arguments
	(cd "$bad" && exec "$MLGEN" --parse-only $args "$1.job")
	status=$?
	set +f
	return $status
}

for job in "$bad"/*.job; do
	name=${job##*/}
	name=${name%.job}
	exits "$name is refused" 2 parse "$name"
	is "$name is explained" "$(cat "$T/err")" "$(cat "$bad/$name.err")"
done
for err in "$bad"/*.err; do
	ok "${err##*/} has its job" test -f "${err%.err}.job"
done

# ---- what is too large, too odd or too private for a golden file

head -c 10485760 /dev/urandom >"$T/noise.job"
exits "10 MB of noise are refused" 2 "$MLGEN" --parse-only noise.job
is "in one line" "$(wc -l <"$T/err")" 1
for magic in '\211PNG\r\n\032\n' '\211HDF\r\n\032\n' 'PK\003\004[a]\n=\n' \
	'%%PDF-1.4\n=\n\000\n' '\037\213'; do
	# shellcheck disable=SC2059 # it is one
	printf "$magic" >"$T/magic.job"
	exits "binary input is refused" 2 "$MLGEN" --parse-only magic.job
	like "as such, in one line" "$(paste -sd'|' "$T/err")" \
		'^magic.job:[123]: byte 0x[01][0-9a-f] is not text; is this a job file\?$'
done
{
	echo '[train]'
	yes 'bs=1 2 3' | head -c 1048576
} >"$T/dull.job"
exits "1 MB of the same fault are refused" 2 "$MLGEN" --parse-only dull.job
seq -f 'option_%.0f=1' 1 20000 | sed '1i[train]' >"$T/names.job"
exits "20,000 unknown options are refused" 2 "$MLGEN" --parse-only names.job
is "twenty are told" "$(grep -c '^names.job:[0-9]*: ' "$T/err")" 20
is "and the rest is counted, of the 257 of a section" \
	"$(tail -n +21 "$T/err")" "names.job: 237 more errors"
seq -f '[job%.0f]
rw=read
size=1m' 1 10000 >"$T/sections.job"
exits "10,000 sections are refused" 2 "$MLGEN" --parse-only sections.job
is "in one line" "$(cat "$T/err")" \
	"sections.job:3001: more than 1000 sections; the rest of the file is ignored"

{
	printf '[train]\ndirectory='
	head -c 1000000 /dev/zero | tr '\0' x
	printf '\nbs=1\n'
} >"$T/line.job"
exits "a line of 1 MB is refused" 2 "$MLGEN" --parse-only line.job
is "with its length, and what follows is read" "$(cat "$T/err")" \
	"line.job:2: a line of 1000010 bytes; the limit is 65536
line.job:3: bs: 1 is below the minimum 512"

exits "an endless file is refused" 2 "$MLGEN" --parse-only /dev/zero
mkdir "$T/dir.job"
exits "a directory is refused" 2 "$MLGEN" --parse-only dir.job
is "and called one" "$(cat "$T/err")" "dir.job: a directory, not a job file"
exits "a missing file is refused" 2 "$MLGEN" --parse-only ./nowhere.job
is "and called missing" "$(cat "$T/err")" "mlgen: ./nowhere.job: no such job file"
exits "a name with a slip is refused" 2 "$MLGEN" --parse-only quikstart.job
is "and the name that comes closest is shown" "$(cat "$T/err")" \
	"mlgen: quikstart.job: no such job file; did you mean quickstart.job?"
exits "without the suffix, too" 2 "$MLGEN" --parse-only quikstart
is "which is shown with it" "$(cat "$T/err")" \
	"mlgen: quikstart: no such job file; did you mean quickstart.job?"
cp "$TOP/jobs/quickstart.job" "$T/here.job"
exits "in a folder that is named, that folder is searched" 2 \
	"$MLGEN" --parse-only "$T/heer.job"
is "for the path to write" "$(cat "$T/err")" \
	"mlgen: $T/heer.job: no such job file; did you mean $T/here.job?"
printf '[train]\n' >"$T/private.job"
chmod 0 "$T/private.job"
if [ -r "$T/private.job" ]; then
	skip "a file without permission is refused" "root may read all"
else
	exits "a file without permission is refused" 2 \
		"$MLGEN" --parse-only private.job
	is "and says why" "$(cat "$T/err")" "private.job: Permission denied"
fi

i=0
printf '[train]\ninclude 0.inc\n' >"$T/deep.job"
while [ $i -lt 20 ]; do
	echo "include $((i + 1)).inc" >"$T/$i.inc"
	i=$((i + 1))
done
exits "twenty files within each other are refused" 2 \
	"$MLGEN" --parse-only deep.job
like "at the line that is one too deep" "$(cat "$T/err")" \
	'^14.inc:1: include 15.inc: more than 16 nested files$'

# Every line doubles what follows: only a bound on the whole ends this.
i=0
printf '[train]\ninclude b0.inc\n' >"$T/bomb.job"
while [ $i -lt 13 ]; do
	printf 'include b%d.inc\ninclude b%d.inc\n' $((i + 1)) $((i + 1)) \
		>"$T/b$i.inc"
	i=$((i + 1))
done
head -c 4000 /dev/zero | tr '\0' '#' >"$T/b13.inc"
exits "a tree of includes that explodes is refused" 2 \
	"$MLGEN" --parse-only bomb.job
like "as too much text" "$(cat "$T/err")" 'more than 4 MiB; is this a job file'

# ---- what is no file: none of it may hang or take memory without end
at_once()	# TITLE STATUS REGEX COMMAND...
{
	at_once_title=$1 at_once_status=$2 at_once_regex=$3
	shift 3
	exits "$at_once_title" "$at_once_status" timeout 60 "$@"
	like "$at_once_title: it says so" "$(cat "$T/out" "$T/err")" \
		"$at_once_regex"
}
mkdir odd
ln -s /dev/zero odd/zero.job
mkfifo odd/fifo.job
truncate -s 5M odd/large.job
printf '[good]\nnum_files=2\n' >odd/good.job
at_once "a job file that is a device is refused" 2 \
	'^odd/zero.job: a device, not a job file$' \
	"$MLGEN" --parse-only odd/zero.job
at_once "one that is large is, too" 2 \
	'^odd/large.job: more than 4 MiB; is this a job file\?$' \
	"$MLGEN" --parse-only odd/large.job
printf '[a]\ninclude odd/fifo.job\n' >include.job
at_once "an include waits for nobody" 2 \
	'^include.job:2: odd/fifo.job: not a regular file; an included file must be a regular file$' \
	"$MLGEN" --parse-only include.job
export MLGEN_JOBS="$T/odd"
at_once "--list-jobs reads regular files only" 0 '^good ' "$MLGEN" --list-jobs
for reason in 'fifo .*fifo.job: is a fifo, not a regular file' \
	'zero .*zero.job: is a character device, not a regular file' \
	'large .*large.job: is too large for this kind of file'; do
	like "and lists the others: ${reason%% *}" "$(cat out)" \
		"^${reason%% *} +cannot be loaded: ${reason#* }\$"
done
unset MLGEN_JOBS
mkdir beside
echo 4096 >beside/tensors
printf '[c]\nphase=checkpoint\ntensor_sizes=tensors\n' >beside/c.job
exits "a list of tensors is looked for beside its job" 0 \
	"$MLGEN" --dry-run beside/c.job
printf '[c]\nphase=checkpoint\ntensor_sizes=%s\n' "$T/odd/fifo.job" >list.job
at_once "a list of tensors is a regular file" 2 \
	'tensor_sizes: .*/odd/fifo.job: is a fifo, not a regular file$' \
	"$MLGEN" --dry-run list.job
cat odd/good.job >odd/fifo.job &
exits "a FIFO is a job file" 0 timeout 60 "$MLGEN" --parse-only odd/fifo.job
wait $!
from_stdin()
{
	timeout 60 "$MLGEN" --parse-only "$@"
}
like "standard input is one" \
	"$(from_stdin - --showjob <odd/good.job)" '^\[good\]$'
like "by its name, too" \
	"$(from_stdin /dev/stdin --showjob <odd/good.job)" '^\[good\]$'
at_once_text=$(from_stdin - </dev/zero 2>&1)
like "but not one without an end" "$at_once_text" \
	'more than 4 MiB; is this a job file'

ok "nothing was written" test ! -e "$T/mlgen-data"
done_testing
