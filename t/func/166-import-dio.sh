#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 166-import-dio.sh - events of DIO become a trace, as its tracer writes them and as Elasticsearch has them.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# shellcheck disable=SC2034 # for imports.sh
kind=dio
. "$(dirname "$0")/imports.sh"

exits "events are imported" 0 take "$logs/events.json"
is "with names and positions of what is open" "$(rows)" \
	"5000000000,9000,500,500,,open,/data/a.npz,,524288,0,
5000010000,1000,500,500,,stat,/data/a.npz,,,0,
5000020000,10000,500,500,,read,/data/a.npz,0,4096,4096,
5000040000,10000,500,500,,read,/data/a.npz,4096,4096,904,
5000045000,10000,500,501,,read,/data/a.npz,22,100,100,
5000070000,900,500,500,,read,/data/a.npz,4000,1000,1000,
5000080000,900,500,500,,close,/data/a.npz,,0,0,
5000090000,1000,500,500,,open,/data/none,,0,-2,
5000094000,1000,500,500,,read,file 66305 1234,,7,7,
5000098000,1000,500,500,,rename,/out/.a\\x00/out/a,,0,0,
5000100000,1000,500,500,,rmdir,/out/old,,0,0,"
like "calls that are not known are counted by name" "$(cat err)" 'left out: fsetxattr 1$'
like "so are those on what has no name" "$(cat err)" \
	'without a name in the log, such as pipes, are left out: write 1$'
like "a file whose name nobody saw has its tag" "$(cat err)" \
	'^mltrace: note: 1 descriptor of files that were opened before'
like "positions are told to be inferred" "$(cat err)" '^mltrace: note: 3 offsets'
like "and what DIO does not see" "$(cat err)" 'note: DIO sees neither page faults on mapped files'
"$MLTRACE" describe x.trace --output-format=json >x.json
is "a process has its name" "$(json x.json trace.processes.0.command)" python3

exits "what Elasticsearch stores is the same" 0 take "$logs/bulk.json"
is "with times of day" "$(rows)" \
	"1652184000000000001,1000,7,8,,open,/db/LOG,,1025,0,
1652184000000002000,500,7,8,,write,/db/LOG,,64,64,
1652184000000003000,1500,7,8,,fdatasync,/db/LOG,,0,0,"
exits "so is an array" 0 take "$logs/array.json"
is "over many lines" "$(rows)" \
	'1000,1000,9,9,,mkdir,/out/[a] {b},,0,0,
3000,1000,9,9,,rmdir,"/out/""q"" é",,0,-39,'
tr -d '\n' <"$logs/array.json" | gzip -c >line.json.gz
exits "or on one, compressed" 0 take line.json.gz
is "with both of its events" "$(rows | wc -l | tr -d ' ')" 2
exits "several files are one trace" 0 take "$logs"/*.json
is "of all of them" "$(rows | wc -l | tr -d ' ')" 16

# event NAME ARGS...: of process 1.
event()
{
	printf '{"syscall":"%s","pid":%d,"tid":%d,"call_timestamp":%d,"return_timestamp":%d,"return_value":%d,"args":{%s}}\n' "$@"
}

{ event openat 1 1 0 1 3 '"filename":"/a"'; event read 1 1 2 3 10 '"fd":3,"count":10'
	event dup 1 1 4 5 4 '"fd":3'; event read 1 1 6 7 10 '"fd":4,"count":10'
	event fork 1 1 8 9 2 ''; event read 2 2 10 20 10 '"fd":3,"count":10'
	event read 1 1 15 25 10 '"fd":3,"count":10'; event close 1 1 30 31 0 '"fd":3'
	event read 1 1 32 33 10 '"fd":4,"count":10'; event read 1 1 34 35 10 '"fd":3,"count":10'; } >shared.json
exits "descriptors are copied and inherited" 0 take shared.json
is "with their positions" "$(rows | sed -n '/,read,/s/.*,read,//p')" \
	"/a,0,10,10,
/a,10,10,10,
/a,20,10,10,
/a,30,10,10,
/a,40,10,10,"
like "which may be wrong where two use one at a time" "$(cat err)" \
	'^mltrace: note: 5 offsets .* 1 of them may be wrong'

# ---- what is no such log ----

refused()
{
	printf '%b' "$2" >bad.json
	exits "$1: refused" 2 take bad.json
	like "$1: with its place" "$(cat err)" "^mltrace: bad\\.json:$3"
}

refused "a text" 'syscall,pid\n' '1: is not a JSON object'
refused "no call" '\n{"pid":1}\n' '2: an event without the name of its system call'
refused "no time" '{"syscall":"read","pid":1}\n' '1: an event without the start time of the call'
refused "a time that is none" '{"syscall":"read","call_timestamp":"yesterday"}\n' \
	'1: an event without the start time of the call'
refused "an end before its begin" \
	'{"syscall":"read","call_timestamp":5,"return_timestamp":4}\n' \
	'1: an event that ends before it begins'
refused "a name that is no UTF-8" '{"syscall":"open","path":"\\0377"}\n' '1: is not JSON: '
exits "an empty file is refused" 2 take /dev/null
{ event mkdir 1 1 0 1 0 '"pathname":"/a"'; echo '{"syscall":"mk'
	event rmdir 1 1 2 3 0 '"pathname":"/a"'; } >torn.json
exits "a torn line is refused" 2 take torn.json
like "with its place" "$(cat err)" '^mltrace: torn\.json:2: is not a complete JSON object\. 1 of 3 lines'
exits "and left out by --lenient" 0 take torn.json --lenient
is "with what is around it" "$(rows | cut -d, -f6 | paste -sd, -)" "mkdir,rmdir"
head -c 1100000 /dev/zero | tr '\0' ' ' >space
{ printf '{"syscall":"'; cat space; printf '"}\n'; } >long.json
exits "an event of more than a megabyte is refused" 2 take long.json
like "as that" "$(cat err)" '^mltrace: long\.json:1: an object of more than 1 MiB'
done_testing
