#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 156-capture-programs.sh - programs of all kinds are recorded, and none of them notices.
# Sleeps: a program that goes on in the background.
# On disk: what other programs do is measured and recorded there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../captures.sh"

here=$(pwd -P)
python=/usr/bin/python3

# read_of REGEX: bytes that were read of files of such a name.
read_of()
{
	recorded | awk -v name="$1" '
	$1 == "read" && $2 ~ name && $5 > 0 { n += $5 } END { print n + 0 }'
}

long=$here/long
while [ ${#long} -lt 3800 ]; do
	long=$long/$(printf '%0250d' 0)
done
long=$(printf '%s' "$long" | cut -c -4000)
mkdir -p "$(dirname "$long")" && printf '12345' >"$long" ||
	skip_all "no path of 4,000 bytes can be made here"
bad=$(printf 'not\377utf8')
printf '1234567' >"$bad"
printf '123456789' >"$(printf 'new\nline')"
printf 'x' >in
cat >many.sh <<'EOF'
i=0
while [ $i -lt 2000 ]; do
	( : <in )
	i=$((i + 1))
done
EOF

for backend in $backends; do
	note "$backend"

	# ---- many processes
	exits "a shell that forks 2,000 processes" 0 capture -- sh many.sh
	is "all that they opened is there" "$(has "$here/in" open)" 2000
	forks=$(recorded | grep -c '^fork ')
	ok "and their beginnings" test "$forks" -ge 2000
	ok "and ends" test "$(recorded | grep -c '^exit ')" -ge 2000
	like "nothing was lost" "$(recorded | tail -n 1)" '^end [0-9]+ 0 0 0$'

	# ---- names
	capture -- cat "$long" >out 2>err
	is "a path of 4,000 bytes is whole" "$(read_of "^$long\$") $(cat out)" \
		"5 12345"
	capture -- cat "$bad" >out 2>err
	is "a name that is no UTF-8 is, byte for byte" \
		"$(recorded | LC_ALL=C grep -ac "^open $here/$bad ")" 1
	capture -- cat "$(printf 'new\nline')" >out 2>err
	is "so is one with a newline in it" "$(recorded | LC_ALL=C awk '
		/^open .*\/new$/ { getline; if (/^line /) n++ } END { print n + 0 }')" 1

	# ---- files that go
	printf '123' >gone
	capture -- sh -c 'exec 3<gone; rm gone; cat <&3' >out 2>err
	is "what is read of a file that was deleted is there, by its name" \
		"$(read_of "^$here/gone\$") $(has "$here/gone" unlink)" "3 1"
	rm -f new
	printf '1234' >old
	capture -- sh -c 'exec 3<old; mv old new; cat <&3' >out 2>err
	is "of one that was renamed, by one of its names" \
		"$(read_of "^$here/(old|new)\$")" 4
	is "and so is the new one" "$(recorded | grep -c "^rename .*$here/new\$")" 1

	# ---- programs with habits
	if [ -x $python ]; then
		cat >closes.py <<'EOF'
import os
os.closerange(0, 4096)
fd = os.open("in", os.O_RDONLY)
os._exit(0 if fd == 0 and os.read(fd, 9) == b"x" else 1)
EOF
		exits "a program that closes all descriptors" 0 \
			capture -- $python -I -S closes.py
		is "is recorded" "$(read_of "^$here/in\$")" 1
	else
		skip "a program that closes all descriptors" "no $python"
	fi
	rm -f later
	begin=$(date +%s)
	exits "the end of a program that daemonises is the end" 3 capture -- \
		sh -c 'setsid sh -c "sleep 4; : >later" >/dev/null 2>&1 & exit 3'
	ok "nobody waits for what is left" \
		test $(($(date +%s) - begin)) -lt 4 -o ! -e later
	like "the trace is whole" "$(recorded | tail -n 1)" '^end [0-9]+ 0 0 0$'
	ok "what is left goes on" poll test -e later
	if [ "$(id -u)" -eq 0 ]; then
		cp "$(command -v id)" id && chown nobody id && chmod 4755 id
		is "a setuid program has its user" "$(capture -- ./id -u 2>err)" \
			"$(./id -u)"
	else
		skip "a setuid program has its user" "needs root"
	fi
	is "a program of many arguments" \
		"$(capture -- sh -c 'echo $#' $(seq 5000) 2>err)" 4999
done
done_testing
