#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 124-packages.sh - make install puts all there is in place, make uninstall takes it away, make dist holds what is committed.

. "$(dirname "$0")/../tap.sh"

unset MLGEN_JOBS MFLAGS MAKELEVEL DESTDIR
# The variables that make check was given, so that nothing is built anew; but its
# jobs are not ours.
MAKEFLAGS=$(printf '%s\n' "${MAKEFLAGS:-}" |
	sed -E 's/ *(-j[0-9]*|--jobserver-[a-z]*=[^ ]*)//g')
export MAKEFLAGS
[ "$MLGEN" = "$TOP/mlgen" ] || skip_all "what is installed is $TOP/mlgen, and $MLGEN is tested"

# in_tree TARGET...: make it in the source tree; the values of config.mk are those
# of the build under test.
in_tree()
{
	make -C "$TOP" --no-print-directory "$@"
}

value()
{
	sed -n "s/^$1 = //p" "$BUILT/config.mk"
}

version=$(value VERSION)
like "the program has the version of configure" "$("$MLGEN" --version)" \
	"^mlgen $(echo "$version" | sed 's/\./\\./g')"
is "and so has the Debian package" \
	"$(sed -n '1s/^mlgen (\(.*\)) .*/\1/p' "$TOP/debian/changelog")" "$version"

# ---- install
ok "make install works" in_tree install DESTDIR="$T/root"
examples=$T/root$(value docdir)/examples
is "all examples are installed" "$(cd "$examples" && find . -type f | sort)" \
	"$(cd "$TOP/examples" && find . -type f | sort)"
is "those that are scripts can be called" \
	"$(cd "$examples" && find . -type f -perm -u+x | sort)" \
	"$(cd "$TOP/examples" && find . -type f -perm -u+x | sort)"
for job in "$examples"/*.job; do
	ok "$(basename "$job") is valid where it is installed" \
		"$T/root$(value bindir)/mlgen" "$job" --parse-only
done
is "all jobs are installed" "$(ls "$T/root$(value datadir)/mlgen/jobs")" \
	"$(ls "$TOP/jobs")"
is "and all man pages" "$(find "$T/root$(value mandir)" -type f | sed 's|.*/||' | sort)" \
	"$(cd "$TOP/man" && ls -- *.[1-8])"
is "bash finds the completion" \
	"$(ls "$T/root$(value datadir)/bash-completion/completions" | paste -sd' ' -)" \
	"mlgen mltrace"
is "and zsh" "$(ls "$T/root$(value datadir)/zsh/site-functions" | paste -sd' ' -)" \
	"_mlgen _mltrace"

ok "make uninstall works" in_tree uninstall DESTDIR="$T/root"
is "it leaves no file" "$(find "$T/root" -type f)" ""
is "and no folder of its own" "$(find "$T/root" -name '*mlgen*' -o -name 'examples')" ""

# ---- dist
if ! git -C "$TOP" rev-parse HEAD >/dev/null 2>&1; then
	skip "make dist holds what is committed" "this is no git work tree"
else
	ok "make dist works" in_tree dist DISTDIR="$T"
	is "it holds what is committed, below the version's name" \
		"$(tar tzf "mlgen-$version.tar.gz" | grep -v '/$' | sort)" \
		"$(git -C "$TOP" ls-tree -r --name-only HEAD | sed "s|^|mlgen-$version/|" | sort)"
fi
done_testing
