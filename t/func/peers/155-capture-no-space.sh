#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 155-capture-no-space.sh - a recording whose filesystem fills up ends there, and the command goes on.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

mkdir small
# In a mount namespace of its own, which ends with it.
if [ -z "${MLGEN_TEST_MOUNTED-}" ]; then
	unshare -m true 2>/dev/null ||
		skip_all "may not mount a small filesystem here"
	MLGEN_TEST_MOUNTED=1
	export MLGEN_TEST_MOUNTED
	rmdir small
	exec unshare -m sh "$0"
fi
mount -t tmpfs -o size=60k,mode=755 none small ||
	skip_all "may not mount a small filesystem here"

# capture_small ARGUMENTS...
capture_small()
{
	"$MLTRACE" record --output=small/x.mlt --backend="$backend" \
		--eta=never --quiet "$@"
}

# Each byte costs two calls and about 17 bytes of the trace, which grows once a second.
# The bytes before the pause fit into it; those after the pause do not.
early=1500
count=6000
head -c $count /dev/zero >in
cat >work.sh <<END
dd if=in of=copy bs=1 count=$early
read -r _ <go
dd if=in of=copy bs=1 skip=$early seek=$early conv=notrunc
END
mkfifo go

# has_grown: the first part of the trace has been written.
has_grown()
{
	[ "$(stat -c %s small/x.mlt 2>/dev/null || echo 0)" -gt 10000 ]
}

for backend in $backends; do
	note "$backend"
	{ poll has_grown; timeout 60 sh -c 'echo >go'; } &
	exits "no room for the trace is status 1 of a command that succeeds" 1 \
		capture_small -- sh work.sh
	wait
	like "which is told, with the file" "$(cat err)" \
		'^mltrace: small/x\.mlt: .*No space left on device'
	is "once" "$(grep -c 'No space' err)" 1
	like "with what is missing" "$(cat err)" \
		'The trace is incomplete: [0-9]+ records were written, [0-9]+ were lost'
	is "the command went on to its end" "$(wc -c <copy)" $count
	ok "what is there can be read" sh -c '"$1" small/x.mlt >x.txt' - "$text"
	ok "and is a part of it" test "$(grep -c "^read .*/in " x.txt)" -gt 1000
	is "no event is damaged or invented" \
		"$(tail -n 1 x.txt | cut -d' ' -f4) $(awk -v n=$count '
			$1 == "read" && $2 ~ /\/in$/ && ($4 != 1 || $3 > n)' x.txt |
			wc -l)" "0 0"
	# Less room is full sooner.
	rm -f copy small/x.mlt
	head -c 40k /dev/zero >small/rest
	exits "a status of the command's own is kept" 4 capture_small -- \
		sh -c 'dd if=in of=copy bs=1 count=3000; exit 4'
	like "although its trace had no room either" "$(cat err)" \
		'No space left on device'
	rm small/rest

	# ---- no room for the first byte
	rm small/x.mlt
	dd if=/dev/zero of=small/full bs=4k 2>dd.err
	exits "nor any room at all: nothing is begun" 2 \
		capture_small -- touch begun
	like "it says why" "$(cat err)" 'small/x\.mlt: .*No space left on device'
	not_ok "the command did not run" test -e begun
	not_ok "no empty file is left" test -e small/x.mlt
	rm small/full
done

# ---- files that are there
printf 'notes\n' >notes
exits "a file that is no trace is refused" 2 "$MLTRACE" record --output=notes -- touch begun
like "and named" "$(cat err)" \
	'^mltrace: output=notes: exists and is not a trace; it is not overwritten'
is "it stays as it is" "$(cat notes)" notes
exits "so is a directory" 2 "$MLTRACE" record --output=small -- touch begun
exits "and what is no file" 2 "$MLTRACE" record --output=/dev/null -- touch begun
exits "and standard output" 2 sh -c '"$1" record -o o.mlt -- touch begun >o.mlt' - "$MLTRACE"
like "which is the command's" "$(cat err)" 'output=o.mlt: is also a standard file of the command'
not_ok "nothing of that ran" test -e begun
# The file is opened before a back end starts, so one back end is enough.
backend=${backends##* }
capture -- cat notes >/dev/null 2>err
ln -s t.mlt link.mlt
"$MLTRACE" record --output=link.mlt --backend="$backend" -- true 2>err
is "a trace is replaced, through a link too" "$? $(has "$PWD/notes" open)" "0 0"
done_testing
