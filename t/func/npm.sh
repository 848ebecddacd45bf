# SPDX-License-Identifier: Apache-2.0
# npm.sh - programs of others for node, which npm fetches.
# shellcheck shell=sh
#
# Sourced after tap.sh.
#
#	no_npm PACKAGE...	put them into $T/npm; why they are not there;
#				nothing: they are

no_npm()
{
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		echo "node and npm are not here"
	elif ! npm install --prefix "$T/npm" --no-audit --no-fund \
		--loglevel=error "$@" >"$T/npm.out" 2>&1; then
		echo "npm could not fetch $*"
	fi
}
