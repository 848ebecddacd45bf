#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 38-printable.sh - names from users, folders and documents are shown, and no terminal obeys them.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

esc=$(printf '\033') override=$(printf '\342\200\256') c1=$(printf '\302\233')
bell=$(printf '\007') letters=$(printf 'gr\303\274n-\327\251')

# Bytes that a terminal obeys, or that turn text around, in FILE... .
acts()
{
	cat "$@" | LC_ALL=C grep -c \
		"[$(printf '\001')-$(printf '\010')$(printf '\013')-$(printf '\037')$(printf '\177')]\|$override\|$c1"
}
harmless()	# TITLE
{
	is "$1: nothing in it acts" "$(acts out err)" 0
}
run()
{
	"$MLGEN" --format=raw --num_files=4 --sample_size=1k --ceiling=no "$@"
}

evil="e${esc}c${override}x${c1}y"
shown='e\\x1bc\\u202ex\\u009by'
# ---- its own names and values
exits "a job may be named anything" 0 run --name="$evil" --directory="$T/data" \
	--eta=always --json=evil.json --log=log.csv
harmless "its report"
like "which names it" "$(cat out)" "^$shown: "
is "nor in its log" "$(acts log.csv)" 0
is_json "the document is JSON" evil.json
exits "letters stay what they are" 0 run --name="$letters" \
	--directory="$T/$letters" --json=letters.json
like "in the report" "$(cat out)" "^$letters: "
like "and on stderr" "$(cat err)" "to $T/$letters "
exits "a value is told" 2 run --name=x --directory="$T/$evil" --showjob
harmless "--showjob"
like "and readable" "$(cat err)" "directory=.*/$shown: has "
exits "a plan is, too" 0 run --name="$evil" --directory="$T/$evil" --dry-run
harmless "--dry-run"
like "with the name" "$(cat out)" "^$shown: dry run"
exits "a fault quotes it" 2 run --name=x --directory="$T" --"$evil=1"
harmless "the message"
like "where it can be read" "$(cat err)" "^mlgen: .*$shown: unknown option"
exits "so does one of the system" 2 run --name=x --directory="$T/data2" \
	--filename="$T/$evil/none" --rw=read --size=4k --json="$T/$evil/none"
harmless "the system's"
like "which shows it" "$(cat err)" "^mlgen: json=.*/$shown/none: cannot be written"
printf '[%s]\ndirectory=%s\nbogus=1\n' "j$override" "$T" >"job$bell.job"
exits "the file of a fault is named" 2 "$MLGEN" "job$bell.job" --parse-only
harmless "the name of a job file"
like "with its line" "$(cat err)" '^job\\x07\.job:3: bogus: unknown option'

# ---- folders
mkdir jobs
printf '# What storage sees: %s here. More.\n[a]\nnum_files=2\n' "$evil" \
	>"jobs/z$esc.job"
cp "jobs/z$esc.job" jobs/plain.job
MLGEN_JOBS=$PWD/jobs exits "--list-jobs lists it" 0 "$MLGEN" --list-jobs
harmless "the list"
like "by a name that can be read" "$(cat out)" '^z\\x1b +e\\x1b'
# The column behind the names begins at one place in all rows.
is "and in its column" "$(awk '/^(plain|z.x1b) /{ print index($0, "MiB") }' out |
	uniq | wc -l)" 1

# ---- documents of other runs
sed 's/"jobname": "[^"]*"/"jobname": "a\\u001b[2J\\u202e\\nforged: row"/
	s/"hostname": "[^"]*"/"hostname": "h\\u009b\\u0007"/' letters.json \
	>"doc$esc.json"
cp letters.json other.json
exits "--table prints such a document" 0 "$MLGEN" \
	--table=file,jobname,samples_per_sec "doc$esc.json" letters.json
harmless "the table"
is "it has a row for each" "$(wc -l <out)" 3
is "all of one width" "$(LC_ALL=C tr -d '\200-\277' <out |
	awk '{ print length }' | sort -u | wc -l)" 1
exits "as CSV, too" 0 "$MLGEN" --output-format=csv \
	--table=file,jobname "doc$esc.json"
harmless "CSV"
for question in --merge --check=mlperf-v2 "--table=hostname,samples"; do
	"$MLGEN" $question "doc$esc.json" >out 2>err
	harmless "$question"
done
sed 's/"jobname": "[^"]*"/"jobname": "a\\u001b[2J"/' letters.json >one.json
sed 's/"seed": [0-9]*/&/' one.json >"two$esc.json"
"$MLGEN" --compare one.json "two$esc.json" >out 2>err
harmless "--compare"
done_testing
