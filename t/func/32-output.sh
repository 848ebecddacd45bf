#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 32-output.sh - where reports go: standard output, files, devices, closed and broken ones.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

train()
{
	"$MLGEN" --name=x --directory=data --format=raw --num_files=8 \
		--sample_size=1k --batch_size=2 "$@"
}

exits "--output-format=json" 0 train --output-format=json
is_json "is one document on standard output" out
like "progress goes to stderr" "$(cat err)" '^x: writing 8 raw files, 8 KiB to data'
exits "--output-format=json --quiet" 0 train --output-format=json --quiet
is_json "is one too" out
exits "--json leaves the text" 0 train --json=both.json
like "on standard output" "$(cat out)" '^x: '
is_json "and the document in the file" both.json
exits "--output takes the text away" 0 train --output=report
is "from standard output" "$(cat out)" ""
like "to the file" "$(cat report)" '^x: '
exits "and JSON" 0 train --output=report --output-format=json
is_json "in place of what was there" report
exits "both may be asked for" 0 train --output=report --json=both.json
like "each has its own" "$(cat report)" '^x: '
is_json "as always" both.json
is "no other file is left" "$(find . -name '.*.part')" ""

# ---- regular files are replaced at once, others are written to
echo "a longer line than any" >old
ln old hard
chmod 640 old
train --output=old >out 2>&1
is "a file is replaced, not overwritten" "$(cat hard)" \
	"a longer line than any"
is "and keeps its mode" "$(stat -c %a old)" 640
ln -s old link
train --output=link --quiet >out 2>&1
ok "a link stays one" test -L link
like "to the new report" "$(cat old)" '^x: '
mkfifo pipe
cat pipe >piped &
train --output=pipe --output-format=json >out 2>&1
wait $!
is_json "a pipe is written to" piped
ok "and stays one" test -p pipe
exits "/dev/null takes all of them" 0 train --output=/dev/null --json=/dev/null \
	--log=/dev/null
ok "and is still there" test -c /dev/null

# ---- no room
exits "no room for the report fails the run" 1 train --output=/dev/full
is "and says so" "$(cat err)" \
	"mlgen: /dev/full: cannot be written: No space left on device"
exits "nor for JSON" 1 train --json=/dev/full
like "where the text is printed all the same" "$(cat out)" '^x: '
exits "nor for the log" 1 train --log=/dev/full
like "which is named" "$(cat err)" '^mlgen: .*/dev/full: .*No space left on device$'
to_full()
{
	"$@" >/dev/full
}
exits "nor on standard output" 1 to_full train
is "is told" "$(cat err)" \
	"mlgen: standard output: cannot be written: No space left on device"
exits "in JSON neither" 1 to_full train --output-format=json
exits "a dry run fails too" 1 to_full train --dry-run
for request in --help --version --cmdhelp --enghelp --list-jobs \
	"--showjob --name=x"; do
	# shellcheck disable=SC2086 # two words
	exits "and $request" 1 to_full "$MLGEN" $request
done

# ---- nobody listens
# Reads nothing at all, so that writing meets a broken pipe.
deaf()
{
	{ "$@"; echo $? >deaf.status; } | true
	cat deaf.status
}
rm -f both.json*
deaf train --json=both.json >out 2>err
is_json "a reader that left costs no JSON file" both.json
is "and leaves no other behind" "$(ls both.json*)" both.json

# ---- closed descriptors are no places to write to
for closed in 0 1 2 "0 1 2" "1 2"; do
	rm -rf data both.json log.csv
	(
		for fd in $closed; do
			eval "exec $fd>&-"
		done
		train --json=both.json --log=log.csv
	) >out 2>err
	is_json "without descriptor $closed the JSON file is whole" both.json
	is "the log is a table" "$(sed '1d;/^20[^,]*,/d' log.csv)" ""
	is "and the dataset is a dataset" "$(cat data/train/* | wc -c)" 8192
done

# ---- a document of each process ----

each()
{
	"$MLGEN" --name=e --directory="$T/each-data" --format=raw --num_files=4 \
		--sample_size=4k --ceiling=no --quiet --json-each=each
}

mkdir each
exits "each process has a document" 0 each
cp each/rank-0.json each/rank-1.json
cp each/rank-0.json each/rank-12.json
cp each/rank-0.json each/rank-1.json.old
exits "in a directory that a larger run has used" 0 each
is "from which its other documents are gone" "$(ls each | paste -sd' ' -)" \
	"rank-0.json rank-1.json.old"
echo '{"rank": 3}' >each/rank-3.json
exits "what mlgen has not written is refused" 2 each
like "and named" "$(cat err)" \
	"^mlgen: json-each=each: rank-3\\.json is not a document of mlgen"
ok "and stays" test -f each/rank-3.json

done_testing
