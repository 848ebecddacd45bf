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
# Tests include what all of them share from the top of t/unit.
COMPILE="${COMPILE:--std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -I.} -It/unit"
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

# The commit that lint compares with: BASE, the last release, or the last commit of which
# make lint-all has looked at everything. Nothing where the whole tree is to be looked at.
lint_base()
{
	[ -z "${LINT_ALL:-}" ] || return 0
	base=${BASE:-$(git describe --tags --abbrev=0 2>/dev/null || cat t/lint/base)}
	if git rev-parse -q --verify "$base^{commit}" 2>/dev/null; then
		return
	fi
	[ -z "${BASE:-}" ] || {
		echo "BASE=$BASE: is no commit of this repository" >&2
		exit 1
	}
	echo "lint: $base is not in this clone, so the whole tree is looked at" >&2
}

# Of the files named on standard input those that differ from the base, and those that
# include one of them, also through others: all that a change can have broken.
affected()
{
	base=$(lint_base) || exit 1
	[ -n "$base" ] || { cat; return; }
	{
		git diff --name-only "$base"
		git ls-files --others --exclude-standard
		echo '='
		grep -rEn '^[ 	]*#[ 	]*include[ 	]*["<]' src engines include t \
			--include='*.[ch]' |
			sed -E 's/^([^:]*):[0-9]+:[^"<]*["<]([^">]*)[">].*/\1 \2/'
	} | awk '
	/^=$/ { edges = 1; next }
	!edges { seen[$1]; queue[++last] = $1; next }
	{
		# An included file is named from src, from include, or from its own folder.
		folder = $1; sub(/[^\/]*$/, "", folder)
		users["src/" $2] = users["src/" $2] " " $1
		users["include/" $2] = users["include/" $2] " " $1
		users[$2] = users[$2] " " $1
		users[folder $2] = users[folder $2] " " $1
	}
	END {
		for (i = 1; i <= last; i++) {
			n = split(users[queue[i]], user, " ")
			for (k = 1; k <= n; k++)
				if (!(user[k] in seen)) {
					seen[user[k]]
					queue[++last] = user[k]
				}
		}
		for (i = 1; i <= last; i++)
			print queue[i]
	}' >"$faults.affected"
	grep -Fx -f "$faults.affected"
	rm -f "$faults.affected"
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
