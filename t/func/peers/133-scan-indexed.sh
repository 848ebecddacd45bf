#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 133-scan-indexed.sh - files with indexes beside them, of unequal samples, are scanned, and read as DLIO reads them.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
"$python" -c 'import struct' 2>/dev/null || skip_all "there is no $python"

# write.py HOW: files of 1, 2 and 1000 samples; prints offset and bytes of each.
cat >write.py <<'END'
import os, random, struct, sys

how = sys.argv[1]
random.seed(3)
os.makedirs('data/b', exist_ok=True)
for name, n in (('a', 1), ('b/two.bin', 2), ('c.indexed_binary', 1000)):
    sizes = [4096 if how == 'alike' else random.randrange(1, 9000)
             for _ in range(n)]
    if how == 'holes':
        sizes[n // 2] = 0
    offsets, at = [], 0
    for size in sizes:
        offsets.append(at)
        at += size + (100 if how == 'holes' else 0)
    if how == 'holes':
        pairs = list(zip(offsets, sizes))
        random.shuffle(pairs)
        offsets, sizes = zip(*pairs)
    with open('data/' + name, 'wb') as f:
        f.write(random.randbytes(at))
    for suffix, values in (('.off.idx', offsets), ('.sz.idx', sizes)):
        with open('data/' + name + suffix, 'wb') as f:
            f.write(struct.pack('<%dQ' % n, *values))
    for off, size in zip(offsets, sizes):
        print(name, off, size)
END

job="--name=n --directory=data --dataset=scan --invalidate=0 --read_threads=1
	--prefetch=1 --shuffle=none --quiet"

# counted OPTION...
counted()
{
	rm -f run.json
	# shellcheck disable=SC2086
	if "$MLGEN" $job --json=run.json "$@" >out 2>err; then
		ml run.json samples sample_bytes io_bytes ops.open.total \
			ops.read.total ops.close.total
	else
		echo "status $?: $(cat err)"
	fi
}

for how in alike any holes; do
	rm -rf data
	"$python" write.py $how >samples
	bytes=$(awk '{ n += $3 } END { print n }' samples)
	reads=$(awk '$3' samples | wc -l)
	# A file of one sample is read whole.
	whole=$(awk '$1 != "a" { n += $3 } END { print n }' samples)
	whole=$((whole + $(stat -c %s data/a)))
	index=$((2 * 8 * 1003))
	# Less than a block is read through a buffer of one.
	asked=$(find data -type f -printf '%P 0 %s end\n' | awk '
	NR == FNR { end[$1] = $3; next }
	$3 {
		n = $3 < 4096 ? 4096 : $3
		sum += $2 + n > end[$1] ? end[$1] - $2 : n
	}
	END { print sum }' - samples)
	is "$how: each sample is one read, behind the indexes of each file" \
		"$(counted --format=indexed_binary --access=framework)" \
		"1003 $bytes $((asked + index)) 1009 $((reads + 6)) 1009"
	is "$how: two epochs read the indexes once" \
		"$(counted --format=indexed_binary --access=framework \
			--epochs=2 | cut -d ' ' -f 1,4)" "2006 2012"
	is "$how: access=plain reads no index" \
		"$(counted --format=indexed_binary --access=plain |
			cut -d ' ' -f 1-3)" "1003 $bytes $whole"
	is "$how: mapped samples cost no call" \
		"$(counted --format=mmap_indexed_binary --access=framework)" \
		"1003 $bytes $index 9 6 9"
done
is "indexes count in the bytes of the dataset" \
	"$(json run.json jobs.0.dataset.files jobs.0.dataset.bytes)" \
	"3 $(find data -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')"

if can_trace; then
	rm -rf data
	"$python" write.py holes >samples
	# shellcheck disable=SC2086
	trace "$MLGEN" $job --format=indexed_binary --access=framework \
		--ioengine=psync >out 2>&1
	for file in b/two.bin c.indexed_binary; do
		# What fits into Python's buffer of a block is read through it.
		is "$file: every sample at its place" \
			"$(calls data/$file each | sed -n 's/^read //p')" \
			"$(awk -v f=$file -v end="$(stat -c %s data/$file)" '
			$1 == f && $3 {
				n = $3 < 4096 ? 4096 : $3
				got = $2 + n > end ? end - $2 : n
				print n " @" $2 " = " got
			}' samples)"
	done
	is "an index is read whole" "$(calls data/c.indexed_binary.sz.idx)" \
		"$(printf '%s\n' open stat 'read 8000 @0 = 8000' close)"
else
	skip "every sample at its place" "strace is not here or not allowed"
fi

# ---- bad files
# refused TITLE REGEX: as the data are now.
refused()
{
	# shellcheck disable=SC2086
	exits "$1 is refused" 2 "$MLGEN" $job --format=indexed_binary \
		--scan_errors=refuse
	like "$1: in words" "$(cat err)" "^mlgen: $2"
	# shellcheck disable=SC2086
	exits "$1: or left out" 0 "$MLGEN" $job --format=indexed_binary \
		--json=run.json
	is "$1: the rest is read" "$(ml run.json samples)" 1001
	rm -rf data
	"$python" write.py any >samples
}

rm -rf data
"$python" write.py any >samples
rm data/b/two.bin.sz.idx
refused "an index that is not there" \
	"data/b/two.bin.sz.idx: No such file or directory; each file of samples needs an index"
truncate -s -1 data/b/two.bin.sz.idx
refused "an index that was cut" \
	"data/b/two.bin.sz.idx: is not an index, which consists of whole entries of 8 bytes"
truncate -s -8 data/b/two.bin.sz.idx
refused "an index that is shorter than the other" \
	"data/b/two.bin.off.idx: has 2 entries, but the index of sizes next to it has 1;"
truncate -s -1 data/b/two.bin
refused "a file that was cut" \
	"data/b/two.bin.off.idx: at byte 8: entry 1 names [0-9]* bytes at [0-9]*, but the file of samples ends at"
printf '\377\377\377\377\377\377\377\377' |
	dd of=data/b/two.bin.off.idx conv=notrunc status=none
refused "an offset that is none" \
	"data/b/two.bin.off.idx: at byte 0: entry 0 names [0-9]* bytes at 18446744073709551615"
rm data/b/two.bin.off.idx
mkdir data/b/two.bin.off.idx
refused "a folder for an index" \
	"data/b/two.bin.off.idx: is not an index, which consists of whole entries"
find data -type f ! -name '*.idx' -delete
# shellcheck disable=SC2086
exits "indexes alone are refused" 2 "$MLGEN" $job --format=indexed_binary
like "in words" "$(cat err)" \
	'^mlgen: data: has indexes of indexed_binary files, but no file with samples'

done_testing
