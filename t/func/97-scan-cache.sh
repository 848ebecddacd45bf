#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-cache.sh - scan_cache= keeps what a scan found, and only what has changed is looked into.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# rows FILE N: a table of so many rows.
rows()
{
	awk -v n="$2" 'BEGIN { print "a,b"; for (i = 0; i < n; i++) print i ",x" }' \
		>"$1"
}

# scan OPTION...: its report is in run.json, its notes are in err.
scan()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=data --dataset=scan --batch_size=2 \
		--invalidate=0 --json=run.json "$@" >out 2>err </dev/null
	drop_devices err
}

# found: files known from before, samples and bytes of all.
found()
{
	json run.json jobs.0.dataset.scan_kept_files jobs.0.dataset.samples \
		jobs.0.dataset.sample_bytes | sed 's/^\([0-9]*\)\.0 /\1 /'
}

looked()
{
	json run.json jobs.0.dataset.scan_read_bytes
}

# knows TITLE FILES OPTION...: as a scan without a cache finds them.
knows()
{
	title=$1 files=$2
	shift 2
	scan "$@"
	want=$(found)
	ok "$title" scan --scan_cache=kept "$@"
	is "$title: what is known" "$(found)" "$files${want#0}"
}

mkdir -p data/a data/b
for i in 1 2 3 4 5 6 7 8 9; do
	rows data/a/$i.csv $i
	rows data/b/$i.csv $((i * 20))
done
mkdir more

# ---- what is kept
scan
is "without a cache nothing is known" "$(found)" "0 963 $(json run.json \
	jobs.0.dataset.sample_bytes)"
bytes=$(looked)
knows "nothing is known at first" 0
is "and all is read" "$(looked)" "$bytes"
knows "then everything" 18
is "and no byte is read" "$(looked)" 0.0
like "which a dry run says" "$(scan --scan_cache=kept --dry-run; cat out)" \
	'files examined: 0 B read in .*, 18 files known from an earlier scan'
before=$(stat -c '%i %y' kept)
scan --scan_cache=kept
is "and nothing is written" "$(stat -c '%i %y' kept)" "$before"
is "a run reads the same samples" \
	"$(scan; ml run.json samples sample_bytes)" \
	"$(scan --scan_cache=kept; ml run.json samples sample_bytes)"
is "and nothing else is left" "$(find . -name '.*.part')" ""

rows data/a/3.csv 30
touch -d '2001-02-03 04:05:06.789' data/b/4.csv
rm data/b/5.csv
rows data/b/10.csv 7
knows "what changed, is new or has gone is looked for" 15
knows "once" 18

cp -a data/. more
knows "files of the same paths, sizes and times are known elsewhere" 18 \
	--directory=more
rm -r more
like "--dry-run makes one, too" "$(scan --scan_cache=dry --dry-run; ls dry)" dry
scan --scan_cache=dry
is "that a run then reads" "$(found | cut -d' ' -f1)" 18

# ---- where it lies
scan --scan_cache=data/a/1.kept
scan --scan_cache=data/a/1.kept
is "in the directory it is no file of it" \
	"$(found | cut -d' ' -f1) $(json run.json jobs.0.dataset.files)" "18 18"
is "and is left out without a word" "$(cat err)" ""
ln -s ../../dry data/a/dry
scan --scan_cache=data/a/dry
is "nor is a link to it" \
	"$(found | cut -d' ' -f1) $(json run.json jobs.0.dataset.files)" "18 18"
ok "which stays one" test -L data/a/dry
rm data/a/dry data/a/1.kept dry

# refused TITLE FILE WHY
refused()
{
	exits "$1 is refused" 2 "$MLGEN" --name=x --directory=data \
		--dataset=scan --batch_size=2 --scan_cache="$2"
	like "$1 is named" "$(cat err)" "^mlgen: scan_cache: $2: $3"
}
mkfifo fifo
refused "a fifo" fifo 'is a fifo, not a regular file; name another file'
refused "a directory" data 'is a directory, not a regular file; '
refused "a file of the dataset" data/a/2.csv 'is not a scan cache and was not changed'
refused "a place that is not there" no/kept 'cannot be created: No such file '
refused "a device" /dev/null 'is a character device, not a regular file; '
is "and nothing is changed" "$(wc -l <data/a/2.csv)" 3
exits "nor is a report written over it" 2 "$MLGEN" --name=x --directory=data \
	--dataset=scan --batch_size=2 --scan_cache=kept --json=kept
like "which is said" "$(cat err)" 'json=kept: is the file of scan_cache'

# ---- what is wrong with it
cp -p kept whole
head -c 1000 whole >kept
knows "one that is cut off is not read" 0
like "and told" "$(cat err)" \
	'^mlgen: note: scan_cache: kept: it ends at byte 1000 of [0-9]*; mlgen'
knows "and written anew" 18
: >kept
knows "nor an empty one" 0
{ head -c 300 whole; printf 'damage'; tail -c +307 whole; } >kept
knows "nor one that is damaged" 0
like "which is told" "$(cat err)" 'scan_cache: kept: it is damaged; mlgen reads all files'
size=$(wc -c <whole)
{ head -c $((size - 8)) whole; printf 'damage!!'; } >kept
knows "of damaged words those of one file are lost" 17
like "and it is told" "$(cat err)" \
	'scan_cache: kept: it is damaged at 1 file; it was read'
cp -p whole kept
knows "other options find other things" 0 --scan_key=x
like "and the difference is told" "$(cat err)" \
	'it belongs to format=csv, .* by mlgen .*, and this scan to format=csv, .*scan_key=x'
cp -p whole kept
mkdir other
rows other/1.csv 4
ok "that of another directory is of no use" scan --directory=other \
	--scan_cache=kept
like "and it is told" "$(cat err)" \
	'scan_cache: kept: none of its 18 files is unchanged; all were read'
ok "formats that no scan looks into" scan --format=raw --scan_cache=kept
like "do not use it" "$(cat err)" \
	'scan_cache: not used; a scan looks into no raw file'
rm -r other

# ---- what stands beside a file
"$MLGEN" --name=i --directory=pairs --format=indexed_binary --num_files=4 \
	--samples_per_file=8 --sample_size=100 --phase=prepare >out 2>&1
mkdir twins
find pairs -name '*.indexed_binary*' -exec cp {} twins \;
scan --directory=twins --format=indexed_binary --scan_cache=kept2
scan --directory=twins --format=indexed_binary --scan_cache=kept2
is "with their indexes files are known" "$(found | cut -d' ' -f1,2)" "4 32"
set -- twins/*.sz.idx
touch -d '2001-02-03' "$1"
scan --directory=twins --format=indexed_binary --scan_cache=kept2
is "one whose index changed is looked into" "$(found | cut -d' ' -f1,2)" "3 32"

# ---- train/ and valid/
mkdir -p laid/train laid/valid
for i in 1 2 3 4; do
	rows laid/train/$i.csv 8
	rows laid/valid/$i.csv 4
done

# opens: how often a scan looks into one of each part. format=auto would look
# at how they begin, too.
opens()
{
	traced trace openat "$MLGEN" --name=x --directory=laid --dataset=scan \
		--format=csv --batch_size=2 --eval_files=4 --scan_cache=kept3 \
		--ceiling=no >out 2>err \
		</dev/null
	grep -c 'openat(.*"train/3.csv"' trace
	grep -c 'openat(.*"valid/3.csv"' trace
}
if can_trace; then
	is "both parts are looked into" "$(opens)" "$(printf '1\n1')"
	is "and both are kept in one file" "$(opens)" "$(printf '0\n0')"
	rows laid/valid/3.csv 5
	is "of which one may change" "$(opens)" "$(printf '0\n1')"
	is "and the other stays" "$(opens)" "$(printf '0\n0')"
else
	skip "both parts are kept in one file" "strace is not here"
fi

# ---- probes
echo "of another kind" >data/a/labels.txt
echo "of another kind" >data/a/README.md
find_max()
{
	traced trace openat "$MLGEN" --name=x --directory=data --dataset=scan --format=csv \
		--batch_size=80 --ioengine=null --compute_time=2ms --find-max=accelerators \
		--require='accelerators<=3' --num_files=18 --steps=4 >out 2>err \
		</dev/null
}
if can_trace; then
	ok "a search" find_max
	is "looks into a file once, however many probes there are" \
		"$(grep -c 'openat(.*"a/7.csv"' trace)" 1
	ok "of which there are several" test "$(grep -c "^ full " out)" -gt 2
	is "and what was left out is told once" \
		"$(grep -c 'left out: 2 in other formats' err)" 1
else
	skip "a search looks into a file once" "strace is not here"
fi
is "nothing else is left" "$(find . -name '.*.part')" ""

# ---- no room
if ! unshare -m true 2>/dev/null; then
	skip "a full disk" "may not mount a small filesystem here"
	done_testing
	exit
fi
cat >full.sh <<'END'
mount -t tmpfs -o size=64k,mode=755 none small || exit 77
head -c 61440 /dev/zero >small/ballast
cp -p whole small/kept 2>/dev/null
: >small/kept
"$MLGEN" --name=x --directory=data --dataset=scan --batch_size=2 \
	--invalidate=0 --scan_cache=small/kept >out 2>err </dev/null
echo "$? $(ls -A small | tr '\n' ' ')$(wc -c <small/kept)"
END
mkdir small
is "a full disk leaves no half of a cache, and the run goes on" \
	"$(unshare -m sh full.sh)" "0 ballast kept 0"
like "with a warning" "$(cat err)" \
	'^mlgen: warning: scan_cache: small/kept: cannot be written: No space left '
done_testing
