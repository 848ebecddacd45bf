# SPDX-License-Identifier: Apache-2.0
# bpf.sh - what the tests of capture by BPF share: record a command, and look at its trace.
# shellcheck shell=sh
#
# Sourced after tap.sh; skips all where it cannot work, with the program's words.
#
#	record [OPTION...] COMMAND...	its trace is x.mlt, as text x.txt; what the
#					recorder says, "said"; options are those
#					of t/tools/record_bpf.c
#	of OP FILE			offset, length and result of those records,
#					a line each, sorted
#	count OP...			how many there are of each
#	said records|lost|...		a figure of what it said

recorder=$BUILT/build/t/tools/record_bpf
text=$BUILT/build/t/tools/trace_text
[ -x "$recorder" ] && [ -x "$text" ] ||
	skip_all "build/t/tools is not here; make check builds it"
"$recorder" x.mlt true 2>said
[ $? -ne 77 ] || skip_all "$(sed 's/^record_bpf: //' said)"

record()
{
	record_options=
	while case $1 in -?) true ;; *) false ;; esac; do
		record_options="$record_options $1 $2"
		shift 2
	done
	rm -f x.mlt x.txt
	# shellcheck disable=SC2086 # words
	timeout 120 "$recorder" $record_options x.mlt "$@" >out 2>said
	record_status=$?
	"$text" x.mlt >x.txt || return 1
	return $record_status
}

of()
{
	awk -v op="$1" -v file="$2" \
		'$1 == op && $2 == file { print $3, $4, $5 }' x.txt | sort
}

count()
{
	for count_op; do
		grep -c "^$count_op " x.txt
	done | paste -s -d ' ' -
}

said()
{
	awk -v what="$1" '{ for (i = 1; i < NF; i++)
		if ($i == what) { print $(i + 1); exit } }' said
}
