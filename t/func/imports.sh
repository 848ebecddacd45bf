# SPDX-License-Identifier: Apache-2.0
# imports.sh - what tests of importers share: a log becomes x.trace, and that rows of CSV.
# shellcheck shell=sh disable=SC2034 # for the caller
#
# Sourced after tap.sh, with $kind set.
#
#	$logs		the folder of the kind's fixtures
#	$header		of the rows
#	take FILE...	import them
#	rows		those of x.trace, without the last column, the flags, which
#			are looked at by themselves

logs=$TOP/t/imports/$kind
header=start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns

take()
{
	"$MLTRACE" import --format="$kind" "$@" --output=x.trace
}

rows()
{
	"$MLTRACE" export --format=csv x.trace | sed '1d; s/,[^,]*$//'
}
