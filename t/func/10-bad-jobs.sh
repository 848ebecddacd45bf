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
	args=$(tr -d '\000' <"$bad/$1.job" | sed -n '1s/^; args: //p')
	set -f
	# shellcheck disable=SC2086 # several arguments
	(cd "$bad" && exec "$MLGEN" --parse-only $args "$1.job")
	status=$?
	set +f
	return $status
}

for job in "$bad"/*.job; do
	name=$(basename "$job" .job)
	exits "$name is refused" 2 parse "$name"
	is "$name is explained" "$(cat "$T/err")" "$(cat "$bad/$name.err")"
done
for err in "$bad"/*.err; do
	ok "$(basename "$err") has its job" test -f "${err%.err}.job"
done

# ---- what is too large, too odd or too private for a golden file

head -c 10485760 /dev/urandom >"$T/noise.job"
exits "10 MB of noise are refused" 2 "$MLGEN" --parse-only noise.job
ok "in at most a hundred lines and one" \
	test "$(wc -l <"$T/err")" -le 101
{
	echo '[train]'
	yes 'bs=1 2 3' | head -c 3145728
} >"$T/dull.job"
exits "3 MB of the same fault are refused" 2 "$MLGEN" --parse-only dull.job
seq -f 'option_%.0f=1' 1 200000 | sed '1i[train]' >"$T/names.job"
exits "200,000 unknown options are refused" 2 "$MLGEN" --parse-only names.job
like "and all but a hundred are counted" "$(tail -n 1 "$T/err")" \
	'^mlgen: [0-9]+ more errors$'
seq -f '[job%.0f]' 1 5000 >"$T/sections.job"
exits "5,000 sections are refused" 2 "$MLGEN" --parse-only sections.job

{
	printf '[train]\ndirectory='
	head -c 1000000 /dev/zero | tr '\0' x
	printf '\nbs=1\n'
} >"$T/line.job"
exits "a line of 1 MB is refused" 2 "$MLGEN" --parse-only line.job
is "with its length, and what follows is read" "$(cat "$T/err")" \
	"line.job:2: line of 1000010 bytes; at most 198 are read
line.job:3: bs: 1 is below the minimum 512"

exits "an endless file is refused" 2 "$MLGEN" --parse-only /dev/zero
mkdir "$T/dir.job"
exits "a directory is refused" 2 "$MLGEN" --parse-only dir.job
is "and called one" "$(cat "$T/err")" "dir.job: a directory, not a job file"
exits "a missing file is refused" 2 "$MLGEN" --parse-only ./none.job
is "and called missing" "$(cat "$T/err")" "mlgen: ./none.job: no such job file"
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
	'^14.inc:1: include 15.inc: more than 16 files within each other$'

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

ok "nothing was written" test ! -e "$T/mlgen-data"
done_testing
