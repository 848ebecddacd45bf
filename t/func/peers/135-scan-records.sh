#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 135-scan-records.sh - TFRecord and tar files that others wrote, of unequal records, are read as their frameworks read them.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
"$python" -c 'import tarfile, zlib' 2>/dev/null || skip_all "there is no $python"

cp "$TOP/t/func/tfrecord.py" .
# write.py KIND DIRECTORY: files of 1, 2, 40 and 1000 records of unequal sizes;
# prints what they hold: file, offset and bytes of each sample.
cat >write.py <<'END'
import gzip, io, os, random, sys, tarfile, zlib
from tfrecord import record

kind, directory = sys.argv[1], sys.argv[2]
random.seed(7)
os.makedirs(directory, exist_ok=True)

def size(n):
    return random.randrange(1, 300000 if n <= 40 else 3000)

def tfrecord(name, n):
    out, samples = b'', []
    for _ in range(n):
        data = random.randbytes(size(n))
        samples.append((len(out) + 12, len(data)))
        out += record(data)
    if kind in ('gzip', 'zlib'):
        half = len(out) // 2
        out = zlib.compress(out) if kind == 'zlib' else (
            gzip.compress(out[:half]) + gzip.compress(out[half:]))
    with open(name, 'wb') as f:
        f.write(out)
    return samples

def tar(name, n):
    how = {'tar': tarfile.PAX_FORMAT, 'gnu': tarfile.GNU_FORMAT}[kind]
    with tarfile.open(name, 'w', format=how) as f:
        # Neither of these is of a sample.
        folder = tarfile.TarInfo('some')
        folder.type = tarfile.DIRTYPE
        f.addfile(folder)
        f.addfile(tarfile.TarInfo('README'), io.BytesIO(b''))
        for i in range(n):
            # Long names have extended headers; é has one of pax's.
            key = 'some/%s%06d' % ('long/' * (30 if i % 3 == 0 else 0)
                                   + ('\xe9' if i % 5 == 0 else ''), i)
            for suffix in ('jpg', 'cls', 'seg.png')[:1 + i % 3]:
                data = random.randbytes(size(n))
                member = tarfile.TarInfo(key + '.' + suffix)
                member.size = len(data)
                f.addfile(member, io.BytesIO(data))
    samples, last = [], None
    with tarfile.open(name) as f:
        for member in f:
            if '.' not in member.name:
                continue
            base = member.name.rsplit('/', 1)
            key = base[0] + base[1].split('.')[0]
            end = member.offset_data + member.size
            if key == last:
                samples[-1] = (samples[-1][0], end - samples[-1][0])
            else:
                samples.append((member.offset_data, member.size))
            last = key
    return samples

write = tar if kind in ('tar', 'gnu') else tfrecord
suffix = 'tar' if write is tar else 'tfrecord'
for number, n in enumerate((40, 1, 1000, 2, 3)):
    name = '%s/f%d.%s' % (directory, number, suffix)
    for off, length in write(name, n):
        print('f%d.%s' % (number, suffix), off, length)
END
for kind in plain gzip zlib tar gnu; do
	ok "files are written: $kind" sh -c \
		'"$0" write.py $1 $1 >$1.samples' "$python" $kind
done

# scan DIRECTORY OPTION...
scan()
{
	directory=$1
	shift
	rm -f run.json
	$how "$MLGEN" --name=t --directory="$directory" --dataset=scan \
		--json=run.json --invalidate=0 "$@"
}
how=

records=yes
"$MLGEN" --name=t --format=tfrecord --directory=none --dry-run 2>&1 |
	grep -q 'tfrecord was left out' && records=

# ---- every sample is where Python says, once an epoch
for kind in plain tar gnu; do
	format=tar
	if [ $kind = plain ]; then
		format=tfrecord
		if [ -z "$records" ]; then
			skip "$kind: samples" "mlgen was built without ISA-L"
			continue
		fi
	fi
	ok "$kind: a run reads all samples" scan $kind --format=$format \
		--batch_size=1 --bs=1g
	is "$kind: their number and bytes" \
		"$(ml run.json samples sample_bytes complete)" \
		"$(awk '{ n++; sum += $3 } END { print n, sum, "true" }' \
			$kind.samples)"
	if ! can_trace; then
		skip "$kind: each where it is" "strace is not here"
		continue
	fi
	how=trace scan $kind --format=$format --batch_size=1 --bs=1g \
		--accelerators=2 --shuffle=sample >out 2>&1
	for file in f0 f1 f2 f3 f4; do
		calls $kind/$file.$format each
	done | sed -n 's/^read \([0-9]*\) @\([0-9]*\) = \1$/\2 \1/p' |
		sort >seen
	# A file of one sample is read whole.
	sed '/^f1/d; s/^[^ ]* //' $kind.samples | sort >wanted
	is "$kind: each where Python says, and nothing else" \
		"$(comm -3 seen wanted | head -3)" \
		"0 $(stat -c %s $kind/f1.$format)"
done

# ---- the scan leaves nothing of it in memory
cat >forget.py <<'END'
import os, sys
for name in sys.argv[1:]:
    fd = os.open(name, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
END
if ! command -v fincore >/dev/null || is_memory .; then
	skip "a scan leaves nothing in the page cache" \
		"fincore is not here, or no disk"
elif [ -n "$records" ]; then
	# cached: bytes of all records in the page cache
	cached()
	{
		fincore -nb -o RES plain/* | awk '{ s += $1 } END { print s + 0 }'
	}

	"$python" forget.py plain/*
	is "(nothing is cached before)" "$(cached)" 0
	ok "a dry run scans" scan plain --format=tfrecord --dry-run
	is "a scan leaves nothing in the page cache" "$(cached)" 0
fi

# ---- it says what is wrong where
if [ -n "$records" ]; then
	mkdir bad
	cp plain/f4.tfrecord bad/ok.tfrecord
	size=$(stat -c %s plain/f0.tfrecord)

	# broken TITLE REGEX: bad/x.tfrecord is refused, and left out if asked
	broken()
	{
		exits "$1 is refused" 2 scan bad --format=tfrecord \
			--batch_size=1 --loader=pytorch --scan_errors=refuse
		like "$1: in words" "$(cat err)" "$2"
		exits "$1 is left out" 0 scan bad --format=tfrecord \
			--batch_size=1 --loader=pytorch
		is "$1: the others are read" "$(ml run.json samples)" 3
	}

	head -c $((size - 1)) plain/f0.tfrecord >bad/x.tfrecord
	broken "a file that is cut off" \
		'bad/x.tfrecord: at byte [0-9]+: a record of [0-9]+ bytes, but the file has only [0-9]+$'
	head -c 100 /dev/urandom >bad/x.tfrecord
	broken "no TFRecord file" \
		'bad/x.tfrecord: at byte 0: not a TFRecord: the checksum of its length is wrong'
	head -c 1000 gzip/f0.tfrecord >bad/x.tfrecord
	broken_plain='bad/x.tfrecord: at byte 0: the records are compressed'
	broken "a compressed file, read in places," "$broken_plain"
	exits "one that is cut off" 2 scan bad --format=tfrecord --batch_size=1 \
		--access=framework --loader=tfdata --shuffle=file \
		--scan_errors=refuse
	like "cannot be decompressed" "$(cat err)" \
		'bad/x.tfrecord: at byte 1000: it cannot be decompressed: it is incomplete'
	# Members of 16 MiB make 2 GB of 9 MB, without as much being compressed.
	head -c 16m /dev/zero | gzip -1 >member
	for _ in $(seq 125); do cat member; done >bad/x.tfrecord
	exits "a bomb" 2 scan bad --format=tfrecord --batch_size=1 \
		--access=framework --loader=tfdata --shuffle=file \
		--scan_errors=refuse
	like "is no TFRecord file" "$(cat err)" \
		'bad/x.tfrecord: at byte [0-9]+: '

	# ---- compressed ones are read forward, to their end
	for kind in gzip zlib; do
		ok "$kind: a run reads them" scan $kind --format=tfrecord \
			--access=framework --loader=tfdata --shuffle=file --batch_size=1 \
			--read_threads=2 --epochs=2 --accelerators=1
		is "$kind: as many records, all bytes of the files" \
			"$(ml run.json samples sample_bytes io_bytes)" \
			"$((2 * $(wc -l <$kind.samples))) $(
			stat -c %s $kind/* | awk '{ s += 2 * $1 } END { print s, s }')"
	done
fi
tar_bad='bad/x.tar: at byte [0-9]+: '
rm -rf bad
mkdir bad
cp tar/f4.tar bad/ok.tar
head -c 5000 tar/f0.tar >bad/x.tar
exits "a tar file that is cut off" 2 scan bad --format=tar --batch_size=1 \
	--scan_errors=refuse
like "is named, with the place" "$(cat err)" "$tar_bad(a member of|the file ends)"
head -c 10240 /dev/urandom >bad/x.tar
exits "no tar file" 2 scan bad --format=tar --batch_size=1 \
	--scan_errors=refuse
like "is named, too" "$(cat err)" "${tar_bad}not the header of a tar member"
head -c 10240 /dev/zero >bad/x.tar
ok "a tar file of nothing is left out" scan bad --format=tar --batch_size=1
is "and the other is read" "$(ml run.json samples)" 3

# ---- an index that lies there is used, where it is of the file
if [ -n "$records" ]; then
	mkdir -p indexed/train indexed/index/train
	cp plain/* indexed/train
	# looks TITLE: bytes that the look has read go to $read
	looks()
	{
		exits "$1" 0 timeout 60 "$MLGEN" --name=t --dataset=scan \
			--directory=indexed/train --format=tfrecord \
			--json=run.json --invalidate=0 --batch_size=1
		is "$1: all samples" "$(ml run.json samples sample_bytes)" \
			"$(awk '{ n++; sum += $3 } END { print n, sum }' plain.samples)"
		read=$(json run.json jobs.0.dataset.scan_read_bytes)
		read=${read%.*}
	}

	looks "without an index"
	without=$read
	# Heads, a page each.
	ok "heads are read" test "$without" -gt 300000
	for file in f0 f1 f2 f3 f4; do
		awk -v file=$file.tfrecord '$1 == file { print $2 - 12, $3 + 16 }' \
			plain.samples >indexed/index/train/$file.tfrecord.idx
	done
	looks "with DLIO's indexes"
	ok "a page of each file is read, and the indexes" test "$read" -lt \
		$((5 * 4096 + 1 + $(cat indexed/index/train/* | wc -c)))
	sed -i '$d' indexed/index/train/f0.tfrecord.idx
	cp indexed/index/train/f2.tfrecord.idx indexed/index/train/f3.tfrecord.idx
	looks "with indexes that lack a line, or are of another file"
	ok "these files are gone through" test "$read" -gt 40000
	like "and that is said" "$(cat err)" \
		'indexed/index/train/f0.tfrecord.idx: does not describe indexed/train/f0.tfrecord from its first byte to its last; mlgen read the file'
	is "of each" "$(grep -c 'read the file itself' err)" 2
	rm indexed/index/train/f0.tfrecord.idx
	mkfifo indexed/index/train/f0.tfrecord.idx
	looks "with a pipe for an index, which nobody waits for"
fi

# ---- a document of it is judged by what was there
ok "(tar files are read)" scan tar --format=tar --batch_size=1 --compute_time=1ms
"$MLGEN" --check=mlperf-v2 run.json >out 2>err
like "MLPerf's rules count the bytes that were there" "$(cat out)" \
	"^  dataset +BROKEN +$(awk '{ s += $3 } END { printf "%.2f", s / 1048576 }' \
		tar.samples) MiB is "

# ---- what changes between the scan and the read
# changed TITLE REGEX COMMAND...: while the first epoch computes, COMMAND is done
# to changing/x.tar.
changed()
{
	title=$1 regex=$2
	shift 2
	rm -rf changing log.csv
	mkdir changing
	cp tar/f0.tar changing/x.tar
	cp tar/f4.tar changing/y.tar
	background "$MLGEN" --name=t --directory=changing --dataset=scan \
		--format=tar --invalidate=0 --access=framework --loader=tfdata \
		--read_threads=1 --shuffle=none --batch_size=1 --steps=2000 \
		--epochs=50 --compute_time=5ms --prefetch=1 --log=log.csv \
		--log_interval=50ms
	poll grep -qs ',train,' log.csv
	(cd changing && "$@")
	finish
	is "$title is an error" "$status" 1
	like "$title: in words" "$(cat err)" "$regex"
}
changed "a file that grew" \
	'changing/x.tar: has [0-9]+ bytes, but had [0-9]+ when it was scanned; it was replaced \(' \
	sh -c 'cat y.tar >>x.tar'
changed "a file that was cut" \
	'changing/x.tar: (has 3 bytes, but had|the file ends at 3 of)' \
	truncate -s 3 x.tar
changed "a file that has gone" \
	'changing/x.tar: open: No such file or directory \(' rm x.tar

# ---- beside Python itself, of files of unequal samples
reason=$(no_python_calls "$python")
cat >load.py <<'END'
import sys, tarfile
for name in sys.argv[1:]:
    with open(name, 'rb') as f:
        shard = tarfile.open(fileobj=f, mode='r|*')
        for member in shard:
            member.isreg() and shard.extractfile(member).read()
END
for kind in tar gnu; do
	if [ -n "$reason" ]; then
		skip "$kind: read as WebDataset reads it" "$reason"
		continue
	fi
	trace "$python" load.py $kind/*.tar >out 2>&1
	calls_of $kind/*.tar >python.calls
	how=trace scan $kind --format=tar --loader=tfdata --read_threads=1 \
		--shuffle=none --deterministic=0 --access=framework \
		--batch_size=1 >out 2>&1
	calls_of $kind/*.tar >mlgen.calls
	ok "$kind: read as WebDataset reads it" diff python.calls mlgen.calls
done

done_testing
