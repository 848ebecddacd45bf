#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh - the commands of README.md and doc/ run as printed, and print what the pages show.
# On disk: the pages measure what storage does.
#
# A block of ```sh is a script that a reader pastes into a shell. The block of ```text
# after it is what the script prints, shortened by "..." lines: each line of it that
# begins with a word must have a line of the real output that begins with the same
# word. A comment in the line before ```sh says what is different about the block:
#
#	<!-- status 3 -->		its last command exits with 3
#	<!-- not run: REASON -->	it needs what a test cannot have
#
# The blocks of a page run one after the other in an empty folder, with the programs
# in PATH. A line NAME=value sets a variable for all blocks after it, as in the
# reader's shell. /mnt/array is a folder next to the page's, and sudo is left out. A
# block with ./configure runs in a copy of the source tree.
# PAGES="README.md doc/caches.md" runs these pages alone.

# shellcheck source=t/func/tap.sh
. "$(dirname "$0")/../tap.sh"

command -v python3 >/dev/null || skip_all "the pages use python3"
[ "$(id -u)" -eq 0 ] || skip_all "the pages install packages and record other programs"

# blocks PAGE: the N-th script in N.sh, what it prints in N.text, its remark in N.remark
blocks()
{
	awk '
	/^<!-- (status|not run)/ { remark = $0; next }
	/^```sh$/ {
		n++
		kind = "sh"
		print FNR >(n ".line")
		print remark >(n ".remark")
		remark = ""
		next
	}
	/^```text$/ { kind = n ? "text" : ""; next }
	/^```/ { kind = ""; next }
	kind { print >(n "." kind); next }
	NF { remark = "" }' "$1"
}

# shows SHOWN PRINTED: print the lines of SHOWN whose first word begins no line of PRINTED
shows()
{
	awk '
	{ match($0, /^ *[A-Za-z][A-Za-z_-]*/); word = RLENGTH < 0 ? "" : substr($0, 1, RLENGTH) }
	{ gsub(/ /, "", word) }
	NR == FNR { printed[word] = 1; next }
	word != "" && !(word in printed) { print }' "$2" "$1"
}

copy_tree()
{
	[ ! -d "$T/copy" ] || return 0
	mkdir "$T/copy"
	(cd "$TOP" && tar -cf - --exclude=./build --exclude=./.git --exclude=./mlgen \
		--exclude=./mltrace --exclude=./config.mk --exclude=./config.h .) |
		tar -xf - -C "$T/copy"
}

# run_block PAGE N: one script, in the page's folder $here
run_block()
{
	block="$1:$(cat "$2.line")"
	title="$block: $(sed -n '/^[^#]/ { p; q; }' "$2.sh")"
	case $(cat "$2.remark") in
	"<!-- not run: "*)
		skip "$title" "$(sed 's/^<!-- not run: //; s/ -->$//' "$2.remark")"
		return
		;;
	"<!-- status "*)
		want=$(sed 's/[^0-9]//g' "$2.remark")
		;;
	*)
		want=0
		;;
	esac
	sed -E "s:/mnt/array:$T/array:g; s:(^|[ (|])sudo :\1:g" "$2.sh" | cat variables - >script
	grep -E '^[A-Z_]+=[^ ]*( *#.*)?$' "$2.sh" >>variables
	folder=$here
	if grep -q '^\./configure' script; then
		copy_tree
		folder=$T/copy
	fi
	status=0
	(cd "$folder" && env -u MLGEN -u TOP -u BUILT -u MLGEN_DIR PATH="$BUILT:$TOP:$PATH" \
		sh -e "$T/blocks/script") >printed 2>&1 </dev/null || status=$?
	is "$title" "$status" "$want"
	if [ "$status" -ne "$want" ]; then
		note "$(tail -5 printed)"
	elif [ -e "$2.text" ]; then
		is "$block: it prints what the page shows" "$(shows "$2.text" printed)" ""
	fi
}

cd "$TOP" || exit 1
pages=${PAGES:-README.md $(echo doc/*.md)}
here=$T/here
mkdir "$T/blocks"
for page in $pages; do
	rm -rf "$T/array" "$here" "$T/blocks"
	mkdir "$T/array" "$here" "$T/blocks"
	ln -s "$TOP/examples" "$TOP/jobs" "$here/"
	cd "$T/blocks" || exit 1
	blocks "$TOP/$page"
	: >variables
	n=1
	while [ -e $n.sh ]; do
		run_block "$page" $n
		n=$((n + 1))
	done
	ok "$page has commands" [ "$n" -gt 1 ]
done

done_testing
