#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 149-capture-clock.sh - the time of day is set while strace records, and the trace's times go on.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

case $backends in
*strace*) ;;
*) skip_all "strace cannot record here" ;;
esac
real=$(command -v strace)
export real

# To strace alone: behind the file that the command opens it is an hour later, and
# then one earlier. Of half a call nobody could say what it was written by, since
# the host's clock stays as it is: it begins with a whole one.
mkdir bin
cat >bin/strace <<'EOF'
#!/bin/sh
for word; do
	case $word in
	/proc/self/fd/*) pipe=$word ;;
	esac
done
mkfifo lines
awk '!/unfinished|resumed/ { shift = next_shift }
{
	split($2, t, ".")
	$2 = sprintf("%d.%s", t[1] + shift, t[2])
	print
	fflush()
}
/openat.*set-on"/ { next_shift = 3600 }
/openat.*set-back"/ { next_shift = -3600; print "set" >"was-set" }' lines >"$pipe" &
n=$#
while [ $n -gt 0 ]; do
	word=$1
	shift
	[ "$word" != "$pipe" ] || word=lines
	set -- "$@" "$word"
	n=$((n - 1))
done
exec "$real" "$@"
EOF
chmod +x bin/strace

printf 'x' >in
cp in set-on
cp in set-back
# A read of a pipe lasts from before the first step until behind the last.
cat >reads.sh <<'EOF'
mkfifo pipe
cat pipe >/dev/null &
exec 3>pipe
for file in in set-on set-back; do
	cat "$file"
	for i in 1 2 3 4 5; do
		cat in
		sleep 0.02
	done
done
exec 3>&-
wait
EOF
PATH=$PWD/bin:$PATH "$MLTRACE" record --output=t.mlt --backend=strace --eta=never -- sh reads.sh >out 2>err
is "a command is recorded by strace over two steps" "$?" 0
ok "and two there were" test -s was-set
is "the command notices nothing" "$(cat out)" "xxxxxxxxxxxxxxxxxx"
is "nothing is lost" "$(recorded | tail -n 1 | cut -d' ' -f3-)" "0 0 0"
# One with a byte and one at its end, each.
is "what was read is there" "$(has "$PWD/in" read) $(has "$PWD/set-on" read) $(has "$PWD/set-back" read)" \
	"32 2 2"
"$MLTRACE" export --format=csv t.mlt | grep '^[0-9]' >t.csv
is "all is within a minute" "$(awk -F, '
NR == 1 { first = $1 }
$1 < first || $1 > first + 60e9 || $2 < 0 || $2 > 60e9' t.csv | head -n 3)" ""
unlike "nobody is told of clocks" "$(cat err)" 'clock|time of day'
done_testing
