#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 39-showjob.sh - what --showjob prints is a job file of the same jobs, or it says why none can be.

. "$(dirname "$0")/tap.sh"

unset MLGEN_JOBS MLGEN_DIR

# reads_back TITLE ARGUMENT...: shown, and shown again from that, without a
# warning of its own.
reads_back()
{
	title=$1
	shift
	"$MLGEN" --showjob "$@" >once.job 2>err &&
		"$MLGEN" --showjob - <once.job >twice.job 2>err
	is "$title: is shown twice" "$? $(grep -v 'note: ' err)" "0 "
	is "$title: reads back" "$(grep -v '^#' twice.job)" \
		"$(grep -v '^#' once.job)"
	like "$title: has options" "$(cat once.job)" '^randseed=[0-9]+$'
}

for path in "$TOP"/jobs/*.job "$TOP"/examples/*.job "$TOP"/t/jobs/fio/*.fio; do
	reads_back "$(basename "$path")" "$path"
done

# ---- the same plan, too
# plan_of ARGUMENT...: but for where options come from, and what this host has
# left at the moment: of files that are only played nothing is asked.
plan_of()
{
	"$MLGEN" --dry-run "$@" 2>&1 |
		sed '/^not default: /,$d; /memory/d; /free/d'
}
for job in unet3d dlrm llama3-8b-checkpoint quickstart; do
	"$MLGEN" --showjob "$TOP/jobs/$job.job" --ioengine=null >shown.job 2>err
	is "$job.job and what is shown of it have the same plan" \
		"$(plan_of shown.job)" \
		"$(plan_of "$TOP/jobs/$job.job" --ioengine=null)"
done

# changed ARGUMENT...: how many options a plan says are not default.
changed()
{
	"$MLGEN" --dry-run --directory=. "$@" 2>&1 |
		sed -n 's/^not default: \([0-9]* option\).*/\1/p'
}
for file in jobs/unet3d.job jobs/quickstart.job jobs/bert.job; do
	"$MLGEN" --showjob --directory=. "$TOP/$file" >shown.job 2>err
	is "$file: what is shown says all, and has as much that is not default" \
		"$(changed shown.job)" "$(changed "$TOP/$file")"
done

# ---- odd values
reads_back "a kb_base of 1000" --name=x --kb_base=1000 --bs=64k \
	--sample_size=normal:2m:1k
reads_back "blanks, colons, equal signs and dollars" --name='a b=c' \
	--directory='/a b:c=d$5 $'
reads_back "a long value" --name=x --directory="/$(head -c 5000 /dev/zero |
	tr '\0' d)"
reads_back "letters" --name='Größe' --directory='/дата'
reads_back "a pair, a list, a percentage" --name=x --rw=randrw --size=50% \
	--bs=4k,64k --bssplit=4k/60:8k,16k --percentile_list=5:99.99 \
	--rwmixread=30 --rate=1m,2m --thinktime=50
reads_back "no threads" --name=x --read_threads=0
printf '[x]\n' >'a
b=1.job'
reads_back "a file of an odd name" ./a*b=1.job
printf '[two]\nrw=read\nsize=1m\nfilename=x\n' >two.job
reads_back "two files" "$TOP/jobs/quickstart.job" two.job
"$MLGEN" --showjob "$TOP/jobs/quickstart.job" two.job >shown.job
is "of which the second waits for the first" \
	"$(grep '^stonewall' shown.job | paste -sd' ' -)" "stonewall=0 stonewall=1"

# ---- what no job file can hold
# refuses TITLE LINE ARGUMENT...
refuses()
{
	title=$1 line=$2
	shift 2
	exits "$title is refused" 2 "$MLGEN" --showjob "$@"
	is "$title: says why" "$(grep -v 'note: ' err)" "mlgen: $line"
	is "$title: nothing is shown" "$(cat out)" ""
}

why="which a job file cannot contain; use a variable in the job file, as in directory=\${NAME}"
refuses "a value with '#'" "showjob: directory=/a#b: has a '#', $why" \
	--name=x --directory='/a#b'
refuses "a value with ';'" "showjob: directory=/a ;b: has a ';', $why" \
	--name=x --directory='/a ;b'
refuses "a value of two lines" \
	"showjob: directory=/a\\nb: has a byte that is not text, $why" \
	--name=x --directory='/a
b'
refuses "a value that ends with a blank" \
	"showjob: directory=/a : has a space at its beginning or end, $why" \
	--name=x --directory='/a '
printf '[x]\ndirectory=/${MLGEN_TEST}\n' >variable.job
MLGEN_TEST='$$jobname'
export MLGEN_TEST
refuses "a word that would be replaced" \
	"showjob: directory=/\$x: has a '\$' that would be replaced, $why" \
	variable.job
cp two.job three.job
refuses "a name that is there twice" \
	"showjob: two jobs are named 'two', and a job file cannot contain both; show the files one by one" \
	two.job three.job

refuses "a letter that turns others round" \
	"showjob: directory=/a\\u202eb: has characters that are shown as escapes, $why" \
	--name=x --directory="$(printf '/a\342\200\256b')"

# ---- names that are good enough to run
name_why="which is invalid in a job file; use another name"
refuses "a name with '#'" "showjob: name=a#b: has a '#', $name_why" --name='a#b'
refuses "a name with ';'" "showjob: name=a;b: has a ';', $name_why" --name='a;b'
refuses "a name that begins with a blank" \
	"showjob: name= a: has a space at its beginning or end, $name_why" \
	--name=' a'
refuses "a name with a bell" \
	"showjob: name=a\\x07: has a byte that is not text, $name_why" \
	--name="$(printf 'a\007')"
long=$(head -c 129 /dev/zero | tr '\0' n)
refuses "a long name" "showjob: name=$long: has too many bytes, $name_why" \
	--name="$long"
for name in global accelerator=h100 'model = x'; do
	refuses "the name '$name'" \
		"showjob: name=$name: has another meaning in a job file; use another name" \
		--name="$name"
done
exits "a name of two lines is never one" 2 "$MLGEN" --parse-only --name='a
b'

done_testing
