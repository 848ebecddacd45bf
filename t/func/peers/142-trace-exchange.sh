#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 142-trace-exchange.sh - a trace becomes CSV or fio's iolog and comes back as it was; what is no such text is refused with its line.

. "$(dirname "$0")/../tap.sh"

header=start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns,flags

take()
{
	"$MLTRACE" import --format=csv "$@"
}

export_csv()
{
	"$MLTRACE" export --format=csv "$@"
}

# ---- there and back ----

# Already as an export has it: by start, markers first, phases of the markers.
cat >all.csv <<END
$header
50,,,,,text,the job begins,,,-1,,begins
100,900,7,7,epoch 0,epoch,,0,,-1,,
200,400,7,7,train,stage,train,0,,0,,
200,10,7,8,train,open,/data/a,,524288,0,10,
210,5,7,8,train,stat,/data/a,,1048576,0,,
220,20,7,8,train,read,/data/a,4096,65536,65536,0,off_inferred|async
250,100,7,7,save,checkpoint,save,0,100,-1,,
260,9,7,9,save,write,/ckpt/.0.part,0,100,100,5,
270,2,7,9,save,fsync,/ckpt/.0.part,,0,0,,
280,1,7,9,save,rename,/ckpt/.0.part\\x00/ckpt/0,,0,0,,
290,3,7,8,save,read,/data/a,69632,65536,-5,,off_inexact|off_inferred|chained|writes|read_ahead|async|begins
400,10,7,7,train,step,,0,8,0,,
400,10,7,8,train,sample,,3,65536,0,,
600,1,7,8,epoch 0,close,/data/a,,0,0,,
700,,7,8,epoch 0,read,/data/a,,,0,,32768
1000,1,,,,exit,,,,139,18446744073709551614,async|128
1000,18446744073709551614,4294967295,1,,200,,18446744073709551614,0,-9223372036854775808,1,
END
exits "a trace is made of CSV" 0 take all.csv --output=all.trace
like "and what is in it is said" "$(cat out)" \
	'^all\.trace: 11 records and 6 markers with 6 names; processes, mounts and host are unknown$'
is "without a word on standard error" "$(cat err)" ''
exits "it is exported" 0 export_csv all.trace
ok "as the very same text" cmp all.csv out
exits "and to a file" 0 export_csv all.trace --output=again.csv
is "with nothing printed" "$(cat out)" ''
ok "the same" cmp all.csv again.csv

# As it was before flags had a column: at the end, so that the others stay.
cut -d, -f1-11 all.csv >old.csv
exits "a text without flags is taken, too" 0 take old.csv --output=old.trace
like "as much of it" "$(cat out)" '^old\.trace: 11 records and 6 markers '
is "without a word on standard error" "$(cat err)" ''
export_csv old.trace >old.out
cut -d, -f1-11 old.out >old.want
ok "and comes back" cmp old.csv old.want
is "with no flag but what an open end says" \
	"$(tail -n +2 old.out | cut -d, -f12 | sort -u | tr '\n' ' ')" ' begins '

# Names that a text cannot have as they are.
cat >names.csv <<'END'
start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns,flags
1,,,,,stat,/data/a b,,,0,,
2,,,,,stat,"/data/a,b",,,0,,
3,,,,,stat,"/data/say ""x""",,,0,,
4,,,,,stat,/data/line\x0Aend\x0D\x09,,,0,,
5,,,,,stat,/data/\xFF\xC3(,,,0,,
6,,,,,stat,/data/back\\slash\\x41,,,0,,
7,,,,,stat,/data/größe 試料,,,0,,
8,,,,,stat,\x7F\xC2\x85,,,0,,
9,,,,,text,"epoch 1, step ""2""\x0A",,,-1,,begins
END
exits "names of any bytes are taken" 0 take names.csv --output=names.trace
exits "and exported" 0 export_csv names.trace
ok "exactly" cmp names.csv out

# The same rows in another form of CSV.
awk 'BEGIN { printf "\357\273\277" }
	{ gsub(/\\x0Aend\\x0D\\x09/, "\nend\r\t"); gsub(/\\x7F/, "\177") }
	/line/ { sub(/\/data\/line\nend\r\t/, "\"&\"") }
	{ printf "%s\r\n", $0 }' names.csv >dos.csv
exits "a byte order mark, returns and newlines in quotes are taken" 0 \
	take dos.csv --output=dos.trace
export_csv dos.trace >dos.out
ok "as what they stand for" cmp names.csv dos.out

ok "standard input is a file, too" sh -c \
	'cat all.csv | "$MLTRACE" import --format=csv - --output=pipe.trace'
exits "what came through the pipe is exported" 0 export_csv pipe.trace
ok "and is all of it" cmp all.csv out
mkfifo fifo
cat all.csv >fifo &
exits "so is a fifo" 0 take fifo --output=pipe.trace
wait
exits "which replaces a trace" 0 export_csv pipe.trace
ok "with the same" cmp all.csv out

# ---- other orders ----

# More than is sorted in memory at once (trace_sort.h). Each start is there twice,
# and of these the first comes first.
rows=600000
awk -v rows=$rows 'BEGIN {
	print "op,bytes,host,start_ns,offset,color"
	for (i = 0; i < rows; i++)
		printf "read,%d,n1,%d,%d,red\n", i, i * 7919 % (rows / 2), i
}' >mixed.csv
exits "columns and rows come in any order" 0 take mixed.csv --output=mixed.trace
like "columns that nobody knows are named" "$(cat err)" \
	'^mltrace: warning: mixed\.csv: unknown columns are left out: host,color$'
like "all rows are there" "$(cat out)" "^mixed\\.trace: $rows records and 0 markers"
export_csv mixed.trace >mixed.out
{
	echo $header
	tail -n +2 mixed.csv | LC_ALL=C sort -s -t, -k4,4n |
		awk -F, '{ print $4 ",,,,,read,," $5 "," $2 "," $2 ",," }'
} >mixed.want
ok "and in the order of time" cmp mixed.want mixed.out
exits "where they cannot be sorted it is said" 2 \
	env TMPDIR="$T/nowhere" "$MLTRACE" import --format=csv mixed.csv --output=no.trace
like "with the way out" "$(cat err)" "^mltrace: $T/nowhere: .*TMPDIR="
is "and nothing is left" "$(find . -name "*no.trace*")" ''

printf 'op,start_ns,phase\nread,1,train\n' >phases.csv
exits "phases without markers" 0 take phases.csv --output=phases.trace
like "are said not to be kept" "$(cat err)" '^mltrace: note: phases\.csv: the column phase is left out'

printf 'op,start_ns\nread,1' >cut.csv
exits "a last line without an end" 0 take cut.csv --output=cut.trace
like "is taken with a warning" "$(cat err)" \
	'^mltrace: warning: cut\.csv: the last line is incomplete'

# ---- what is no such CSV ----

cp all.trace before.trace

# refused TITLE TEXT REGEX
refused()
{
	printf "$2" >bad.csv
	exits "$1: refused" 2 take bad.csv --output=before.trace
	like "$1: with its place" "$(cat err)" "^mltrace: bad\\.csv:$3"
}

o='start_ns,op'
refused "an empty file" '' '1: is empty; the first line must name the columns'
refused "no column of times" 'op,file\nread,a\n' '1: the header has no column start_ns'
refused "no column of operations" 'start_ns\n1\n' '1: the header has no column op'
refused "a column twice" 'op,start_ns,op\n' '1: the header contains op twice'
printf "$o,file\\n1,read,a\\n2,rea" >half.csv
exits "half a line is what a cut left" 0 take half.csv --output=half.trace
like "which is said" "$(cat err)" 'half\.csv: the last line is incomplete'
refused "half a line in between" "$o,file\\n1,read,a\\n2,rea\\n" \
	'3: 2 cells, but the header has 3; put a cell that contains a comma'
refused "one cell more" "$o\\n1,read,a\\n" '2: 3 cells, but the header has 2'
refused "a negative number" "$o,bytes\\n1,read,-4096\\n" \
	"2: bytes: '-4096' is negative; it is a number from 0"
refused "a number beyond 64 bits" "$o,offset\\n1,read,18446744073709551616\\n" \
	"2: offset: '18446744073709551616' is too large"
refused "the number that means unknown" "$o,offset\\n1,read,18446744073709551615\\n" \
	"2: offset: '18446744073709551615' is too large"
refused "a thread beyond 32 bits" "$o,tid\\n1,read,4294967296\\n" \
	"2: tid: '4294967296' is too large; it is a 32-bit number"
refused "a result beyond 63 bits" "$o,result\\n1,read,9223372036854775808\\n" \
	"2: result: '9223372036854775808' is too large"
refused "a time with a fraction" "$o\\n1.5,read\\n" \
	"2: start_ns: '1\\.5' is not a whole number"
refused "no time" "$o\\n\\n,read\\n" '3: start_ns: is empty'
refused "no operation" "$o\\n1,\\n" "2: op: '' is not an operation"
refused "an unknown operation" "$o\\n1,raed\\n" "2: op: 'raed' is not an operation"
refused "an unknown flag" "$o,flags\\n1,read,async|fast\\n" "2: flags: 'fast' is not a flag"
refused "a flag without a name" "$o,flags\\n1,read,|async\\n" "2: flags: '' is not a flag"
refused "flags beyond 16 bits" "$o,flags\\n1,read,65536\\n" "2: flags: '65536' is not a flag"
refused "a byte of zero" "$o\\n1,read\\n2,re\\000ad\\n" '3: a NUL byte'
refused "an open quote" "$o,file\\n1,read,\"a\\n2,read,b\\n" \
	'2: the quote opened here is not closed'
refused "what is no escape" "$o,file\\n1,read,a\\\\\\\\b\\\\n\\n" "2: file: '.n' is not an escape"
refused "a zero in a name" "$o,file\\n1,read,a\\\\x00b\\n" '2: file: contains a NUL byte'
ok "and what was there stays" cmp all.trace before.trace
is "with nothing beside it" "$(find . -name "*.part")" ''

# ---- the file that is made ----

exits "without --trace there is no place for it" 2 take all.csv
like "which is said" "$(cat err)" '^mltrace: import: needs a file for the trace; name it with -o FILE$'
cp all.csv text
exits "a file that is no trace stays" 2 take all.csv --output=text
like "and is named" "$(cat err)" '^mltrace: output=text: exists and is not a trace; it is not overwritten: name another file, or add --force$'
ok "with all that is in it" cmp all.csv text
: >empty
exits "an empty one may be one" 0 take all.csv --output=empty
exits "the input is no place for it" 2 take all.trace --output=all.trace
like "and is named" "$(cat err)" '^mltrace: output=all\.trace: is also an input file'
exits "two files are one too many" 2 take all.csv names.csv --output=two.trace
exits "one that is not there is named" 2 take none.csv --output=none.trace
like "with why" "$(cat err)" '^mltrace: none\.csv: cannot be read: No such file'
exits "so is a folder" 2 take / --output=none.trace
exits "a trial run writes nothing" 2 take all.csv --output=dry.trace --dry-run
exits "a device is no place" 2 take all.csv --output=/dev/full
like "as what it is" "$(cat err)" '/dev/full: is not a regular file, which a trace requires'
exits "a pipe is no place for a trace" 2 sh -c \
	'{ "$MLTRACE" import --format=csv all.csv --output=/dev/fd/5 5>&1; echo $? >status; } |
		cat; exit "$(cat status)"'
like "and named as one" "$(cat err)" '^mltrace: output=/dev/fd/5: is not a regular file'
exits "a descriptor that was handed over is written" 0 sh -c \
	'"$MLTRACE" import --format=csv all.csv --output=/dev/fd/5 5>fd.trace'
exits "and has a trace" 0 export_csv fd.trace
ok "which is whole" cmp all.csv out
exits "but not behind other bytes" 2 sh -c \
	'"$MLTRACE" import --format=csv all.csv --output=/dev/fd/5 5>>text'
ok "which stay" cmp all.csv text
exits "a trace is not replaced by its own export" 2 \
	export_csv all.trace --output=all.trace
like "and that is said" "$(cat err)" 'is also an input file'
exits "a place that others are writing to is theirs" 2 flock all.trace \
	"$MLTRACE" import --format=csv all.csv --output=all.trace
exits "what is no trace is not exported" 2 export_csv all.csv
exits "what no place has room for is told" 1 sh -c \
	'"$MLTRACE" export --format=csv mixed.trace >/dev/full'
like "as that" "$(cat err)" 'No space left on device'
ok "a reader that has seen enough is no fault" sh -c \
	'"$MLTRACE" export --format=csv mixed.trace 2>err.head | head -n 1 >/dev/null; test ! -s err.head'
exits "no document has the form of a trace" 2 export_csv all.trace --output-format=json

# Whoever opens the other end goes on when mlgen has opened this one.
"$MLTRACE" import --format=csv fifo --output=signal.trace >signal.out 2>&1 &
importer=$!
exec 5>fifo
cat all.csv >&5
kill -INT $importer
wait $importer
is "an import can be interrupted" $? 130
exec 5>&-
is "and leaves nothing" "$(find . -name '*signal.trace*')" ''

# Of one that is cut off there is what is in it.
head -c $(($(wc -c <mixed.trace) - 20)) mixed.trace >short.trace
exits "a trace without its end is exported" 1 export_csv short.trace
like "and that is said" "$(cat err)" '^mltrace: warning: 1 file of the trace ended early'
ok "with all that is in it" cmp mixed.want out

# ---- fio's iolog ----

cat >moves.csv <<'END'
start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_ns
1000000,900,7,7,epoch 0,epoch,,0,,-1,
1005000,1,7,8,,open,data/a,,524288,0,
1006000,1,7,9,,open,data/a,,524288,0,
1010000,1,7,8,,read,data/a,0,65536,65536,
1011000,1,7,9,,read,data/a,65536,65536,1000,
1012000,1,7,9,,read,data/a,131072,65536,0,
1013000,1,7,8,,close,data/a,,0,0,
1014000,1,7,9,,close,data/a,,0,0,
1020000,1,7,8,,stat,data/b,,0,0,
1020000,1,7,8,,read,data/b,4096,4096,4096,
1021000,1,7,8,,read,,4096,4096,4096,
1022000,1,7,8,,read,data/a b,4096,4096,4096,
1023000,1,7,8,,read,data/a\x0Ab,4096,4096,4096,
1030000,1,7,8,,open,data/c,,577,0,
1031000,1,7,8,,write,data/c,0,8192,8192,
1032000,1,7,8,,fdatasync,data/c,,0,0,
1033000,1,7,8,,fsync,data/c,,0,0,
1034000,1,7,8,,close,data/c,,0,0,
END
cat >want.iolog <<'END'
fio version 3 iolog
0 data/a add
0 data/a open
5 data/a read 0 65536
6 data/a read 65536 1000
9 data/a close
15 data/b add
15 data/b open
15 data/b read 4096 4096
25 data/c add
25 data/c open
26 data/c write 0 8192
27 data/c datasync 0 0
28 data/c sync 0 0
29 data/c close
END
take moves.csv --output=moves.trace >moves.out 2>&1
exits "a trace becomes an iolog" 0 "$MLTRACE" export --format=fio-iolog moves.trace
ok "of the lines that fio has" cmp want.iolog out
like "names that it cannot have are told" "$(cat err)" \
	"^mltrace: warning: 2 files cannot be named in an iolog, with 2 operations; .* The first: 'data/a b'\$"
for what in '1 operations with an unknown file or offset' '1 operations that failed or moved no byte' \
	'2 opens of files that are already open' '1 operations other than open' '1 markers'; do
	like "what is left out is counted: $what" "$(cat err)" \
		"^mltrace: note: left out because an iolog cannot express them: $what"
done
exits "an iolog becomes a trace" 0 "$MLTRACE" import --format=fio-iolog want.iolog --output=iolog.trace
like "with what is in it" "$(cat out)" '^iolog\.trace: 11 records and 0 markers with 3 names'
exits "and that an iolog" 0 "$MLTRACE" export --format=fio-iolog iolog.trace
ok "which is the same" cmp want.iolog out

printf 'start_ns,op,file,offset,bytes\n0,read,a,0,1099511627777\n' >vast.csv
take vast.csv --output=vast.trace >vast.out
exits "one of more than a tebibyte does not become as many lines" 0 \
	"$MLTRACE" export --format=fio-iolog vast.trace
like "and is told" "$(cat err)" 'of more than 1 TiB'
printf 'start_ns,op,file,offset,bytes\n0,read,a,0,6442450944\n' >long.csv
take long.csv --output=long.trace >long.out
is "a length beyond 32 bits is several" "$("$MLTRACE" export --format=fio-iolog long.trace)" \
	"fio version 3 iolog
0 a add
0 a open
0 a read 0 1073741824
0 a read 1073741824 1073741824
0 a read 2147483648 1073741824
0 a read 3221225472 1073741824
0 a read 4294967296 1073741824
0 a read 5368709120 1073741824"

cat >v2.iolog <<'END'
fio version 2 iolog
a add
a open
a read 0 4096
a wait 5 0
a read 4096 4096
a trim 0 4096
a wait 3 0
a close
END
exits "version 2 is read" 0 "$MLTRACE" import --format=fio-iolog v2.iolog --output=v2.trace
like "and how its waits are taken is said" "$(cat err)" 'milliseconds since the beginning'
like "and that trims are left out" "$(cat err)" '^mltrace: note: v2\.iolog: 1 trim left out'
is "a wait is until a time" "$(export_csv v2.trace | tail -n +2)" \
	"0,,,,,open,a,,,0,,
0,,,,,read,a,0,4096,4096,,
5000000,,,,,read,a,4096,4096,4096,,
5000000,,,,,close,a,,0,0,,"

refused_log()
{
	printf "$2" >bad.log
	exits "an iolog of $1: refused" 2 "$MLTRACE" import --format=fio-iolog bad.log --output=bad.trace
	like "an iolog of $1: with its place" "$(cat err)" "^mltrace: bad\\.log:$3"
	not_ok "an iolog of $1: no trace is made" test -e bad.trace
}

v='fio version 3 iolog\n'
refused_log "nothing" '' "1: is not a known fio iolog"
refused_log "version 1" 'fio version 1 iolog\n' "1: is not a known fio iolog"
refused_log "half a line" "${v}0 a read 0 1\\n5 a\\n" '3: half a line; a line of version 3'
refused_log "a read without a length" "${v}0 a read 0\\n" '2: 4 words; a .read. line'
refused_log "an unknown action" "${v}0 a raed 0 1\\n" "2: 'raed' is not an action"
refused_log "more than a tebibyte" "${v}0 a write 0 1099511627777\\n" \
	"2: the length '1099511627777' is too large"
refused_log "a negative offset" "${v}0 a read -5 1\\n" "2: the offset '-5' is negative"
refused_log "a time beyond 64 bits" "${v}99999999999999999999 a add\\n" "2: the time '9*' is too large"
refused_log "a wait in version 3" "${v}0 a wait 5 0\\n" '2: version 3 has a time in each line'
refused_log "a byte of zero" "${v}0 a re\\000ad 0 1\\n" '2: a NUL byte'

# ---- fio itself ----

if command -v fio >/dev/null && command -v jq >/dev/null; then
	mkdir data
	head -c 200000 /dev/zero >data/a
	head -c 20000 /dev/zero >data/b
	: >data/c
	ok "fio replays what is exported" fio --name=replay --read_iolog=want.iolog \
		--ioengine=psync --output-format=json --output=fio.json
	is "and reads the same bytes" "$(jq '.jobs[0].read.io_bytes' fio.json)" 70632
	is "in as many reads" "$(jq '.jobs[0].read.total_ios' fio.json)" 3
	is "and writes them" "$(jq '.jobs[0].write.io_bytes' fio.json)" 8192
	is "where the trace does" "$(wc -c <data/c)" 8192

	ok "what fio logs" fio --name=w --filename=w.dat --size=1m --bs=64k \
		--rw=randrw --ioengine=psync --write_iolog=w.iolog --output=w.out
	exits "is a trace" 0 "$MLTRACE" import --format=fio-iolog w.iolog --output=w.trace
	is "of all that it did" "$(export_csv w.trace |
		awk -F, '$6 == "read" || $6 == "write" { n += $10 } END { print n }')" 1048576
else
	skip "fio replays what is exported" "fio or jq is not here"
fi
done_testing
