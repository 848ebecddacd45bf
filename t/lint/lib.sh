# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the lint scripts share: which files there are, and how to say what is wrong.
# shellcheck shell=sh
#
# Every script of this folder checks one thing, prints a line per fault as
# `file:line: what is wrong` and exits with 1 if there was one. They run from
# the top of the tree and need CC and COMPILE as `make lint` sets them.

set -u
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/../.." || exit 1

CC=${CC:-cc}
COMPILE=${COMPILE:--std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -I.}
export COMPILE
faults=$(mktemp) || exit 1
trap 'rm -f "$faults"' EXIT

# need PROGRAM PACKAGE: without it, nothing was checked, and that is a failure.
need()
{
	command -v "$1" >/dev/null && return
	echo "$1 is not installed: install $2, or run ./configure --install-deps=all" >&2
	exit 1
}

# C files of the program, public headers and engines included.
product_files()
{
	find src engines include -name '*.[ch]' | sort
}

c_files()
{
	find src engines include t examples -name '*.[ch]' | sort
}

shell_files()
{
	{
		find . -name '*.sh' -not -path './build/*' -not -path './.git/*'
		find . -type f -perm -u+x -size -256k -not -path './build/*' \
			-not -path './.git/*' -not -name '*.sh' \
			-exec grep -lE '^#!/bin/(ba)?sh' {} +
	} | sed 's|^\./||' | sort -u
}

fault()
{
	printf '%s\n' "$*" >>"$faults"
}

# The last line of a script.
verdict()
{
	sort -u "$faults"
	[ ! -s "$faults" ]
}

# The code of C files, line by line, without comments and what is in strings; of
# several a line is file:line:code.
code()
{
	awk -v files=$# '
	FNR == 1 { comment = 0; quote = "" }
	{
		out = ""; n = length($0)
		for (i = 1; i <= n; i++) {
			c = substr($0, i, 1); two = substr($0, i, 2)
			if (comment) {
				if (two == "*/") { comment = 0; i++ }
			} else if (quote) {
				if (c == "\\") i++
				else if (c == quote) { quote = ""; out = out c }
			} else if (two == "/*") { comment = 1; i++ }
			else if (two == "//") break
			else { if (c == "\"" || c == "\047") quote = c; out = out c }
		}
		if (substr($0, n, 1) != "\\") quote = ""
		print (files > 1 ? FILENAME ":" FNR ":" : "") out
	}' "$@"
}
