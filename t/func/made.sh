# SPDX-License-Identifier: Apache-2.0
# made.sh - what tests of written formats share: mlgen writes all data sets, then another program checks them in one go.
# shellcheck shell=sh
#
# Sourced after tap.sh.
#
#	makes TITLE WANT WORDS OPTION...
#			mlgen writes a data set into made/N. The checker gets
#			the line "made/N WORDS" for it, and has to print WANT
#	to_make TITLE WANT WORDS
#			the same for a data set that the caller writes into
#			the folder $made_directory
#	check_made HOW COMMAND...
#			run COMMAND, which reads a line for each data set on its
#			standard input and prints one (made.py). There is a point
#			"TITLE: HOW" for each; a line "SKIP REASON" skips that of
#			its data set, and leaves REASON in $made_skip. Removes
#			the data sets
#
# A checker in Python or node takes longer to start than to check a data set.

made_skip=
made_count=0
mkdir made

to_make()
{
	made_title=$1
	made_count=$((made_count + 1))
	made_directory=made/$made_count
	printf '%s\n' "$made_directory${3:+ $3}" >>made.lines
	printf '%s\n' "$2" >>made.wants
	printf '%s\n' "$1" >>made.titles
}

makes()
{
	to_make "$1" "$2" "$3"
	shift 3
	ok "$made_title: mlgen writes it" "$MLGEN" --name=m --phase=prepare \
		--directory="$made_directory" "$@"
}

check_made()
{
	made_how=$1
	shift
	"$@" <made.lines >made.got 2>made.err
	note "$(cat made.err)"
	while read -r made_title; do
		read -r made_want <&3
		read -r made_got <&4 || made_got="nothing was printed"
		case $made_got in
		SKIP*)	made_skip=${made_got#SKIP }
			skip "$made_title: $made_how" "$made_skip" ;;
		*)	is "$made_title: $made_how" "$made_got" "$made_want" ;;
		esac
	done <made.titles 3<made.wants 4<made.got
	rm -rf made made.lines made.wants made.titles made.got made.err
}
