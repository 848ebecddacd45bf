#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 164-import-darshan.sh - the text of darshan-dxt-parser becomes a trace, and what it cannot say is told.

. "$(dirname "$0")/tap.sh"

# shellcheck disable=SC2034 # for imports.sh
kind=darshan
. "$(dirname "$0")/imports.sh"

cat >want <<END
$header
1490000867001900000,1400000,4,4,,write,/scratch/test file,262144,262144,262144,
1490000867002900000,300000,1,1,,write,/scratch/test file,0,262144,262144,
1490000867003200000,300000,1,1,,write,/scratch/test file,786432,524288,524288,
1490000868005800000,100000,1,1,,read,/scratch/test file,0,262144,262144,
1490000868005800000,200000,1,100000000,,read,/scratch/test file,262144,262144,262144,
1490000869000000000,50000000,2,2,,read,/scratch/by-mpi,4096,4096,4096,
1490000983500000000,0,1,1,,write,/home/u/log,0,80,80,
END
exits "a log of DXT is imported" 0 take "$logs/ior.txt"
like "with all that it has" "$(cat out)" '^x\.trace: 7 records and 0 markers with 3 names'
ok "in the order of time, ranks as processes" sh -c \
	"\"\$MLTRACE\" export --format=csv x.trace | sed 's/,[^,]*\$//' | cmp want -"
like "what the form does not have is said" "$(cat err)" \
	'^mltrace: note: Darshan.s DXT contains only reads and writes: no open, close, stat or sync'
like "and how fine its times are" "$(cat err)" 'have 4 decimals of a second$'
like "and that processes are ranks" "$(cat err)" '^mltrace: note: the pid of a process is its rank plus one'
like "rows of MPI-IO that repeat those of POSIX are left out" "$(cat err)" \
	'^mltrace: note: 1 row of X_MPIIO repeats rows of X_POSIX'
like "others are taken, as what they are" "$(cat err)" \
	'^mltrace: note: 1 row of X_MPIIO is of files without rows of X_POSIX'
exits "the job is told, too" 0 "$MLTRACE" describe x.trace
like "by its number" "$(cat out)" 'job 4478544$'

exits "logs of several processes are one trace" 0 \
	take "$logs/ior.txt" "$logs/worker.txt"
is "whose processes are numbered on" "$(rows | grep npz)" \
	"1490000868500000000,100000,5,5,,read,/data/a.npz,0,4096,4096,
1490000868500100000,300000,5,5,,read,/data/a.npz,4096,65536,65536,"
gzip -c "$logs/worker.txt" >w.gz
exits "a log that is compressed is no other" 0 take w.gz
is "so are its rows" "$(rows | wc -l | tr -d ' ')" 2
exits "one that is cut off is read up to there" 0 sh -c 'head -c -6 w.gz >cut.gz;
	"$MLTRACE" import --format=darshan cut.gz --output=x.trace'
like "with a warning of how far it goes" "$(cat err)" \
	'^mltrace: warning: cut\.gz: the gzip file is cut off at byte [0-9]+;'
is "and its whole lines" "$(rows | wc -l | tr -d ' ')" 2

# ---- what is no such text ----

# refused TITLE LINE REGEX: behind a block of a file.
head='# start_time: 100\n# DXT, file_id: 1, file_name: /a\n'
refused()
{
	printf '%b' "$head$2\n" >bad.txt
	exits "$1: refused" 2 take bad.txt
	like "$1: with its place" "$(cat err)" "^mltrace: bad\\.txt:$3"
}

refused "half a row" ' X_POSIX 0 write 0 5' \
	'3: 5 words, but a line needs 8: MODULE RANK read\|write'
refused "a rank below zero" ' X_POSIX -1 write 0 0 5 0.1 0.2' \
	"3: the rank '-1' is negative"
refused "neither read nor write" ' X_POSIX 0 wrote 0 0 5 0.1 0.2' \
	"3: the word 'wrote' is neither read nor write"
refused "an offset beyond all" ' X_POSIX 0 read 0 9223372036854775808 5 0.1 0.2' \
	"3: the offset '9223372036854775808' is too large"
refused "a length that is no number" ' X_POSIX 0 read 0 0 5k 0.1 0.2' \
	"3: the length '5k' is not a whole number"
refused "a time that is none" ' X_POSIX 0 read 0 0 5 0.1s 0.2' \
	"3: the start '0\\.1s' is not a number of seconds"
refused "an end before its begin" ' X_POSIX 0 read 0 0 5 0.2 0.1' \
	'3: ends before it begins'
refused "an open list" ' X_POSIX 0 read 0 0 5 0.1 0.2 [  3' \
	"3: the list '\\[  3' has no closing bracket"
refused "a word more" ' X_POSIX 0 read 0 0 5 0.1 0.2 77 8' \
	"3: the word '8' is superfluous"
refused "a row of something else" ' POSIX 0 read 0 0 5 0.1 0.2' \
	'3: is not a row of DXT'
head='# start_time: 100\n'
refused "a row of no file" ' X_POSIX 0 read 0 0 5 0.1 0.2' \
	"2: the file is unknown: there is no line '# DXT, file_id: ID, file_name: NAME' above"
exits "an empty file is refused" 2 take /dev/null
like "as one" "$(cat err)" "^mltrace: format=darshan: '/dev/null' is empty"

{
	printf '# nprocs: 1\n# DXT, file_id: 1, file_name: /a\n'
	printf '# DXT, write_count: 0, read_count: 3\n'
	printf ' X_POSIX 0 read 0 0 5 0.1 0.2\n X_POSIX 0 raed 1 0 5 0.2 0.3\n'
	printf ' X_OTHER 0 read 0 0 5 0.1 0.2\n'
	printf '# *WARNING*: the DXT_POSIX module contains incomplete data!\n'
} >some.txt
exits "what is partly readable is refused" 2 take some.txt
like "with the way out" "$(cat err)" \
	'1 of 3 lines could not be read, .*--lenient leaves them out'
exits "and taken by --lenient" 0 take some.txt --lenient
is "without what cannot be read, from the job's begin" "$(rows)" \
	"100000000,100000000,1,1,,read,/a,0,5,5,"
like "which is named with its place" "$(cat err)" \
	"^mltrace: warning: some\\.txt:5: the word 'raed'"
like "a module that is not known is counted" "$(cat err)" 'left out: X_OTHER 1$'
like "that the time of day is not known is said" "$(cat err)" \
	"^mltrace: note: some\\.txt: no line '# start_time:'"
printf '1490000867.5,train start\n1490000900,train end\n' >marks.csv
exits "marks by the time of day have no place in it then" 2 \
	take some.txt --lenient --markers=marks.csv
like "which is said" "$(cat err)" 'the log does not contain the start time of the job'
exits "but in a log that says it" 0 take "$logs/ior.txt" --markers=marks.csv
is "where they belong" "$(rows | grep stage)" \
	"1490000867500000000,32500000000,,,train,stage,train,,,-1,"
take some.txt --lenient >out 2>err
like "and that Darshan had no room for all" "$(cat err)" \
	'^mltrace: note: Darshan reports that its data are incomplete'

{
	printf '# start_time: 5\n# DXT, file_id: 1, file_name: /a\n'
	printf '# DXT, write_count: 0, read_count: 4\n'
	printf ' X_POSIX 0 read 0 0 5 0.123456789 0.2\n X_POSIX 0 read 1 0 5 1 2'
} >short.txt
exits "a text that is cut off" 0 take short.txt
like "is said to be" "$(cat err)" 'short\.txt: the last line is incomplete'
like "and rows that are counted and missing are told" "$(cat err)" \
	'^mltrace: note: 2 rows counted in the heads of the files are missing'
is "times have as many decimals as there are" "$(rows)" \
	"5123456789,76543211,1,1,,read,/a,0,5,5,
6000000000,1000000000,1,1,,read,/a,0,5,5,"
done_testing
