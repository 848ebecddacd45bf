#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-files.sh - which files dataset=scan takes: depth, several places, patterns, braces.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# put SIZE FILE...
put()
{
	size=$1
	shift
	for file; do
		head -c "$size" /dev/zero >"$file"
	done
}

# run OPTION...: its report is in run.json.
run()
{
	rm -f run.json
	"$MLGEN" --name=x --dataset=scan --format=raw --json=run.json "$@" \
		>out 2>err </dev/null
}

# job FILE
job()
{
	"$MLGEN" "$1" --json=run.json >out 2>err </dev/null
}

# reads TITLE "SAMPLES BYTES DIRECTORY" OPTION...
reads()
{
	title=$1 want=$2
	shift 2
	ok "$title" run "$@"
	is "$title: these files" "$(ml run.json samples sample_bytes) \
$(json run.json jobs.0.dataset.directory)" "$want"
}

# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title" 2 "$MLGEN" --name=x --dataset=scan --format=raw \
		--json=/dev/null "$@"
	like "$title: in words" "$(cat err)" "$regex"
}

# looks: what of a tree a reader may not change.
looks()
{
	find . -mindepth 2 -printf '%p %y %s %m %T@\n' | sort
}

mkdir -p a/x/y b c:d 'e{1,2}'
put 100 a/0 a/1
put 10 a/x/2
put 1 a/x/y/3
put 1000 b/0 b/1
put 10000 c:d/0
put 7 'e{1,2}/0'
before=$(looks)

# ---- how deep
reads "all folders" "4 211 a" --directory=a
reads "the directory itself" "2 200 a" --directory=a --scan_depth=1
like "what lies deeper is told" "$(cat err)" \
	'^mlgen: note: a: left out: 1 folder deeper than scan_depth$'
reads "and its folders" "3 210 a" --directory=a --scan_depth=2
reads "deeper than there is" "4 211 a" --directory=a --scan_depth=9
ok "without dataset=scan it is nothing" run --dataset=made --directory=made \
	--num_files=1 --sample_size=1k --scan_depth=2 --phase=prepare
like "which is said" "$(cat err)" \
	'scan_depth: has an effect only with dataset=scan'
rm -r made

# ---- several
reads "two directories" "6 2211 ." --directory=a:b
reads "in any order" "6 2211 ." --directory=b:a
reads "one in the other is read once" "4 211 a" --directory=a:a/x
like "which is said" "$(cat err)" 'left out: 2 paths found before$'
reads "each to its depth" "4 2200 ." --directory=a:b --scan_depth=1
reads "a colon in a name" "1 10000 c:d" --directory=c:d
reads "with a backslash" "1 10000 c:d" '--directory=c\:d'
reads "among others" "3 12000 ." '--directory=c\:d:b'
reads "absolute and relative ones" "3 12000 $T" "--directory=$T/c\\:d:b"
reads "a pattern" "6 2211 ." '--directory=[ab]'
reads "a pattern of files" "2 200 a" '--directory=a/[0-9]'
reads "braces" "6 2211 ." '--directory={a,b}'
reads "a range, and braces within" "4 2200 ." '--directory={a,b}/{0..1}'
reads "a name with braces" "1 7 e{1,2}" '--directory=e{1,2}'
reads "one file" "1 100 a" --directory=a/0
refused "one that is not there" '^mlgen: no: No such file or directory; ' \
	--directory=a:no
refused "some of braces that are not there" \
	'^mlgen: a/2: No such file .* \(the same for 3 of the 5 names of a/\{0\.\.4\}\)$' \
	'--directory=a/{0..4}'
refused "a pattern of nothing" \
	'^mlgen: directory: nothing matches a/\*\.npy$' \
	'--directory=a/*.npy'
refused "braces that stand for too much" 'more names than the limit of 1000000' \
	'--directory={0..9999999}'
refused "nothing at all" "^mlgen: directory: ':' names nothing$" \
	--directory=:
mkfifo pipe
refused "a pipe in place of files" '^mlgen: pipe: a socket, pipe or device' \
	--directory=pipe
rm pipe
is "the dry run lists the same" "$(run --directory=a:b --dry-run &&
	grep -c '^dataset  *6 raw files' out)" 1
mkdir list.d
printf '[x]\ndataset=scan\nformat=raw\ndirectory={a,b}:c\\:d\n' >list.d/x.job
ok "in a job file" "$MLGEN" list.d/x.job --json=run.json
is "they are written in the same way" "$(ml run.json samples)" 7
rm -r list.d

# ---- a number of files
reads "as many files as are asked for" "2 200 a" --directory=a --num_files=2
refused "fewer than are asked for are refused" \
	'^mlgen: num_files: 5, but dataset=scan found 4 in a; ' \
	--directory=a --num_files=5

# ---- train/ and valid/
mkdir -p s/train/n01/k s/train/n02 s/valid/n01 s/index
put 10 s/train/n01/k/a s/train/n01/b s/train/n02/a
put 100 s/valid/n01/a s/valid/n01/b
put 1000 s/labels s/index/train
eval="--eval_batch_size=1 --eval_every=1"
reads "train/ is what is trained with" "3 30 s" --directory=s
reads "to the depth below it" "1 10 s" '--directory=s:s/train/n01/b' \
	--scan_depth=1
# shellcheck disable=SC2086 # several options
for n in 1 2; do
	ok "valid/ evaluates, with $n files of it" run --directory=s \
		--eval_files=$n $eval
	is "and train/ trains, $n" "$(ml run.json samples sample_bytes \
		eval.samples eval.sample_bytes)" "3 30 $n $((100 * n))"
done
refused "fewer files to evaluate with than are asked for are refused" \
	'^mlgen: eval_files: 3, but dataset=scan found 2 in s/valid; ' \
	--directory=s --eval_files=3
refused "none at all, too" \
	'^mlgen: eval_files: a has no folders train and valid, ' \
	--directory=a --eval_files=3
refused "by a dry run as well" '^mlgen: eval_files: a has no' \
	--directory=a --eval_files=3 --dry-run
printf '[x]\ndataset=scan\nformat=raw\ndirectory=s\nnum_files=9\neval_files=9\neval_every=1\n' \
	>s.job
ok "a job file's numbers yield" job s.job
like "which is said" "$(cat err)" \
	'^mlgen: note: num_files: 9 is ignored; the 3 files in s are used$'
like "of both" "$(cat err)" \
	'^mlgen: note: eval_files: 9 is ignored; the 2 files in s/valid are used$'
is "to all that are there" "$(ml run.json samples eval.samples)" "3 2"
mkdir s/car
reads "a class named train is one of many, but for valid/" "3 30 s" \
	--directory=s
rm -r s/valid
reads "and without valid/ it is" "5 2030 s" --directory=s
rm -r s

# ---- links
mkdir links links/d
put 5 links/d/0
ln -s d links/e
ln -s d links/f
ln -s d/0 links/g
ln -s ../d links/d/up
refused "a circle of links is refused, by one way into it" \
	' found 2 broken or circular links; ' \
	--directory=links
rm links/d/up
reads "a file is read by itself and by one link" "2 10 links" \
	--directory=links
like "the others are counted" "$(cat err)" 'left out: 2 paths found before$'
rm -r links

# ---- a directory that changes while it is listed
mkdir grows
put 1 grows/0
(
	i=0
	while [ -e grows/0 ]; do
		i=$((i + 1))
		: >grows/n$i
		echo x >grows/m$i
		rm -f "grows/m$((i - 3))"
	done
) &
writer=$!
many=0
while [ $many -lt 20 ] && run --directory=grows --dry-run; do
	many=$((many + 1))
done
rm grows/0
wait $writer
is "a directory that changes meanwhile is listed" $many 20
rm -r grows

is "no file was changed by all this" "$(looks)" "$before"
done_testing
