# SPDX-License-Identifier: Apache-2.0
# npm.sh - programs of others for node, which npm fetches.
# shellcheck shell=sh
#
# Sourced after tap.sh.
#
#	no_npm PACKAGE...	make them available to programs in $T/npm; prints
#				the reason where that is not possible
#
# Fetching takes longer than most tests, so the packages are kept in the build folder
# until make clean.

no_npm()
{
	npm_kept=$BUILT/build/t/npm/$(echo "$@" | tr ' /' '++')
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		echo "node and npm are not here"
		return
	fi
	if [ ! -d "$npm_kept" ]; then
		npm install --prefix "$T/npm.new" --no-audit --no-fund \
			--loglevel=error "$@" >"$T/npm.out" 2>&1 || {
			echo "npm could not fetch $*"
			return
		}
		# Another script may be doing the same.
		mkdir -p "$npm_kept.$$" &&
			cp -R "$T/npm.new/node_modules" "$npm_kept.$$" &&
			mv -T "$npm_kept.$$" "$npm_kept" 2>/dev/null ||
			rm -rf "$npm_kept.$$"
	fi
	mkdir "$T/npm"
	ln -s "$npm_kept/node_modules" "$T/npm/node_modules"
}
