#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 113-report.sh - a document alone: the report of the run that wrote it, once more.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
virtual_time
# Sleepers wake late, so that shares have digits behind their point.
export SLEEPS_LATE_NS=37123

cat >kinds.job <<'JOB'
[train]
ioengine=null
num_files=240
sample_size=1m
batch_size=2
epochs=3
compute_time=1ms
[save]
stonewall
phase=checkpoint
directory=ckpt
ranks=2
checkpoint_size=300k
[plain]
stonewall
phase=io
rw=randrw
size=1m
directory=.
JOB
title='Array <b>X</b>, "firmware" 7.2 & \n'
note='Größe: 4 Shelves'
exits "a run of all kinds of jobs" 0 "$MLGEN" kinds.job --json=k.json \
	--title="$title" --note="NFS 4.1, RDMA" --note="$note"
mv out k.txt
is "its title and its notes stand once, before the first job's lines" \
	"$(grep -E '^(title|note|job) ' k.txt | head -n 4 | cut -c11- | sed '4s/ .*//')" \
	"$(printf '%s\n' "$title" "NFS 4.1, RDMA" "$note" 1)"
is "and no more" "$(grep -cE '^(title|note) ' k.txt)" 3
is "and in the document" "$(json k.json title notes.0 notes.1 notes.2)" \
	"$(printf '%s' "$title" | sed 's/[\\"]/\\&/g') NFS 4.1, RDMA $note absent"

# What a document has not: the sizes of requests.
words()
{
	grep -v '^read sizes ' "$1"
}
exits "its document alone" 0 "$MLGEN" k.json
is "prints its report" "$(words out)" "$(words k.txt)"
is "and nothing else" "$(cat err)" ""
exits "with another title" 0 "$MLGEN" k.json --title=other
is "it has that, and its notes" \
	"$(grep -E '^(title|note) ' out | cut -c11- | paste -sd'|' -)" \
	"other|NFS 4.1, RDMA|$note"
exits "as a table" 0 "$MLGEN" --table=title,notes k.json
like "too" "$(sed -n 2p out)" "NFS 4.1, RDMA; $note\$"
cp k.json other-name
exits "of another name with --report" 0 "$MLGEN" --report other-name
is "too" "$(words out)" "$(words k.txt)"
exits "from a pipe" 0 sh -c "cat k.json | $MLGEN --report -"
is "too" "$(words out)" "$(words k.txt)"
exits "--quiet" 0 "$MLGEN" k.json --quiet
is "has the first lines" "$(cat out)" "$(grep -E '^(train|save|plain): ' k.txt)"
exits "--output" 0 "$MLGEN" k.json --output=o.txt --quiet
is "says where" "$(wc -l <o.txt) $(cat out)" "3 "
exits "two documents" 0 "$MLGEN" k.json k.json
is "have their names above" "$(grep -c '^== k.json$' out)" 2
is "and each its jobs" "$(grep -c '^train: ' out)" 2

sed -e 's/"mlgen version": .*/"mlgen version": "0.0.7",/' \
	-e 's/"libaio": .*/"libaio": "libaio.so.9"/' k.json >older.json
exits "of another version" 0 "$MLGEN" older.json
like "it says which" "$(cat out)" ' mlgen 0\.0\.7, '

# ---- as a run prints it
exits "--output-format=csv" 0 "$MLGEN" k.json --output-format=csv
is "is a row for each job" \
	"$(cut -d, -f2 out | paste -sd' ' -)" "jobname train save plain"
is "with what the document has" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++)
	if ($i == "au_percent") at = i } NR == 2 { print $at }' out)" \
	"$(ml k.json au_percent)"
exits "of one job" 0 "$MLGEN" --name=x --ioengine=null --num_files=24 --quiet \
	--json=x.json
for format in json fio-json; do
	exits "--output-format=$format" 0 "$MLGEN" x.json --output-format=$format
	is_json "$format: is a document" out
	is "$format: with its figures" "$(ml out samples steps counted_steps)" \
		"$(ml x.json samples steps counted_steps)"
done
like "fio's has its version" "$(sed -n 2p out)" '"fio version": "mlgen-'
exits "what is required" 3 "$MLGEN" x.json --require='accelerators>1' --quiet
like "is missed as in a run" "$(cat err)" '^mlgen: x: accelerators is 1.*, required >1$'

exits "as a document it has them" 0 "$MLGEN" k.json --output-format=json
is "as the run's" "$(json out title notes.0 notes.1)" "$(json k.json title notes.0 notes.1)"

"$MLGEN" --merge x.json --json=m1.json --quiet >/dev/null
exits "a merged report" 0 "$MLGEN" m1.json
sed 's/"hostname": .*/"hostname": "other",/' x.json >y.json
"$MLGEN" --merge x.json y.json --json=m.json >m.txt 2>/dev/null
exits "of several" 0 "$MLGEN" m.json
like "says of whom it is" "$(cat out)" '^merged +2 runs on 2 hosts, '
is "and all else that --merge said" "$(cat out)" "$(cat m.txt)"
# As rank 0 of a job of two processes writes it: ranks, and the slower one is named.
awk '/^  "merged"/ { merged = 1 }
	merged { sub(/"turns": 2/, "\"turns\": 1"); sub(/"turn": 2/, "\"turn\": 1") }
	merged && /"rank": null/ { sub(/null/, n++) }
	merged && /"host_barrier_percent"/ { sub(/: [^,]*/, ": " (n > 1 ? 40 : 30) ".5") }
	merged && /"is_slowest"/ { sub(/: .*/, ": " (n > 1 ? "false" : "true")) } 1' m.json >ranks.json
exits "of a job of several processes" 0 "$MLGEN" ranks.json
like "has them in its first line" "$(sed -n 1,2p out)" '2 hosts'
like "and is called no merge" "$(cat out)" '^hosts +2 processes on 2 hosts, one job'
like "has the line of each host" "$(cat out)" '^x[.]json .* 30[.]5%.*  slowest$'
like "and of the other" "$(cat out)" '^y[.]json .* 40[.]5%[^a-z]*$'
like "and says for whom all wait" "$(tr -s ' \n' ' ' <out)" \
	'all wait for x[.]json: the wait takes 40[.]5% of accelerator time on y[.]json'
# Whatever is missing in it.
for key in file hostname rank turn jobs hosts turns runs jobname bytes_per_sec; do
	awk -v key="\"$key\"" '/^  "merged"/ { merged = 1 } !merged || $1 != key ":"' ranks.json |
		sed -E ':a; N; $!ba; s/,(\n *[]}])/\1/g' >less.json
	"$MLGEN" less.json >out 2>err
	like "without $key it is no crash" $? '^[02]$'
done
"$MLGEN" --name=f --rw=write --size=64k --ioengine=fault --fail_after=5 \
	--json=f.json >f.txt 2>/dev/null
exits "a run that failed" 1 "$MLGEN" f.json
is "is told as it was" "$(words out)" "$(words f.txt)"

# ---- refused
# refused TEXT ARGUMENT...: with status 2, and TEXT.
refused()
{
	text=$1
	shift
	exits "refused: $*" 2 "$MLGEN" "$@"
	like "because: $text" "$(cat err)" "^mlgen: .*$text"
	is "in one line" "$(wc -l <err)" 1
	is "and nothing is printed" "$(cat out)" ""
}
head -c 5000 k.json >cut.json
: >empty.json
sed 's/"schema_version": 2/"schema_version": 7/' k.json >newer.json
sed 's/^        "counted_steps": .*/        "counted_steps": "many",/' k.json >type.json
"$MLGEN" --name=x --ioengine=null --dry-run --output-format=json >dry.json
exits "a title of two lines is refused" 2 "$MLGEN" k.json --title='two
lines'
like "in words" "$(cat err)" '^mlgen: title: must be one line of UTF-8 text'
exits "a note of two is two" 0 "$MLGEN" k.json --note='two
lines'
is "each has its own" "$(grep -c '^note ' out)" 2
refused 'none.json: No such file' none.json
refused 'cut.json:[0-9]+:[0-9]+: not JSON: .*ends too early' cut.json
refused 'empty.json: is empty' empty.json
refused 'newer.json: has schema_version 7 ' newer.json
refused 'type.json: jobs\[0\].ml.counted_steps: must be a whole number' type.json
refused "dry.json: is from a dry run" dry.json
refused 'none.json: No such file' k.json none.json
refused 'a document lacks figures that dlio needs' k.json --output-format=dlio
refused 'only one document at a time is printed as JSON' k.json x.json --output-format=json
refused 'bs: is an option of a job, but --report works on existing files' k.json --bs=4k
refused 'k.json: is a JSON document of a run, not a job; mlgen k.json prints' kinds.job k.json
refused 'x.json: is a JSON document of a run, not a job' --find-max=epochs x.json

done_testing
