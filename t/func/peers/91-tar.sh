#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 91-tar.sh - Python's tarfile opens every shard that mlgen writes, and mlgen reads them as WebDataset does.
# In memory: bytes and calls are compared, not what holds the files.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

# ---- read by others
python=/usr/bin/python3
reason=
"$python" -c 'import tarfile' 2>/dev/null ||
	reason="there is no $python"

# check.py DIRECTORY SAMPLES: every shard is what tarfile writes for the
# samples in it, and their names count through all shards.
cat >check.py <<'END'
import glob, io, sys, tarfile

directory, samples = sys.argv[1], int(sys.argv[2])
names = glob.glob(directory + '/train/**/*.tar', recursive=True)
names.sort(key=lambda name: name.rsplit('/', 1)[1])
key, heads = 0, set()
for name in names:
    again = io.BytesIO()
    out = tarfile.open(fileobj=again, mode='w|', format=tarfile.USTAR_FORMAT)
    with tarfile.open(name, mode='r|*') as shard:
        for i, member in enumerate(shard):
            suffix = ('bin', 'cls')[i % 2]
            assert member.name == '%08d.%s' % (key, suffix), member.name
            assert member.isreg() and not member.pax_headers, member.name
            data = shard.extractfile(member).read()
            assert len(data) == member.size, member.name
            if suffix == 'bin':
                heads.add(data[:16])
            else:
                assert 0 <= int(data) < 1000 and data == b'%d' % int(data)
                key += 1
            same = tarfile.TarInfo(member.name)
            same.size, same.mode = len(data), 0o444
            same.uname = same.gname = 'bigdata'
            out.addfile(same, io.BytesIO(data))
    out.close()
    assert key % samples == 0, (name, key)
    with open(name, 'rb') as f:
        assert f.read() == again.getvalue(), name + ' is not as tarfile writes it'
if all(len(h) == 16 for h in heads):
    assert len(heads) == key, 'two samples begin alike'
print(len(names), key)
END

# makes TITLE FILES SAMPLES OPTION...
makes()
{
	title=$1 files=$2 samples=$3
	shift 3
	ok "$title: mlgen writes it" "$MLGEN" --name=t --phase=prepare \
		--format=tar --directory=data --num_files="$files" \
		--samples_per_file="$samples" "$@"
	if [ -n "$reason" ]; then
		skip "$title: tarfile reads it" "$reason"
	else
		is "$title: tarfile reads it" \
			"$("$python" check.py data "$samples" 2>&1)" \
			"$files $((files * samples))"
	fi
	rm -rf data
}

makes "one byte" 1 1 --sample_size=1
makes "one sample a shard" 20 1 --sample_size=100k
makes "several samples a shard" 5 7 --sample_size=30000
makes "labels of all lengths" 2 1100 --sample_size=20
makes "larger than the buffer" 2 1 --sample_size=20m
makes "whole blocks" 3 20 --sample_size=4k
makes "the end mark in a block of its own" 1 4 --sample_size=1024
makes "sizes of a distribution" 20 3 --sample_size=normal:100k:30k
makes "in folders" 30 2 --sample_size=5k --subfolders=12

if command -v tar >/dev/null; then
	"$MLGEN" --name=t --phase=prepare --format=tar --directory=data \
		--num_files=1 --samples_per_file=9 --sample_size=5000 >out 2>&1
	is "tar(1) lists it, too" \
		"$(tar -tvf data/train/img_0_of_1.tar 2>&1 |
			sed -n '1s/ 19.* / /p; $s/ 19.* / /p' | tr -s ' ')" \
		"-r--r--r-- bigdata/bigdata 5000 00000000.bin
-r--r--r-- bigdata/bigdata 1 00000008.cls"
fi

# ---- read by mlgen
# dataset OPTION...: what $job reads.
dataset()
{
	rm -rf data
	job="--name=t --directory=data --format=tar --invalidate=0 $*"
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job --phase=prepare --quiet >prepare.out 2>&1
}

dataset --num_files=4 --samples_per_file=40 --sample_size=2500
# shellcheck disable=SC2086
ok "access=plain reads all samples, many with one request" "$MLGEN" $job \
	--loader=plain --json=run.json
is "and of a shard what lies between the payloads, too" \
	"$(ml run.json samples sample_bytes ops.open.total ops.read.total \
		ops.close.total io_bytes)" \
	"160 400000 4 4 4 $((4 * (39 * 4096 + 2500)))"
dataset --num_files=4 --samples_per_file=3 --sample_size=200000
# shellcheck disable=SC2086
ok "large ones are read one by one" "$MLGEN" $job --loader=plain --bs=64k \
	--json=run.json
is "each in bs requests" \
	"$(ml run.json samples ops.open.total ops.read.total io_bytes)" \
	"12 12 48 2400000"
truncate -s 400000 data/train/img_1_of_4.tar
# shellcheck disable=SC2086
exits "a shard that lost its end" 1 "$MLGEN" $job --loader=plain \
	--continue_on_error=all
like "is an error" "$(cat err)" \
	"img_1_of_4.tar: the file ends at 400000 of 614400 bytes"

exits "a sample of 8 GiB" 2 "$MLGEN" --name=t --format=tar --directory=none \
	--num_files=1 --sample_size=8g --dry-run
like "does not fit into a member" "$(cat err)" \
	'sample_size: 8 GiB do not fit into a member of a tar file'

# ---- beside Python itself
[ -n "$reason" ] || reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "every shard is read as WebDataset reads it here and now" "$reason"
	done_testing
	exit
fi

# WebDataset opens a file and lets tarfile go through it as a stream.
cat >load.py <<'END'
import sys, tarfile
for name in sys.argv[1:]:
    with open(name, 'rb') as f:
        shard = tarfile.open(fileobj=f, mode='r|*')
        for member in shard:
            shard.extractfile(member).read()
END

# calls: of every shard those of the last time that it was read; the first one
# is looked at before.
calls()
{
	awk '
	/^openat\(/ {
		fd = /\.tar"/ ? $NF : ""
		name = $2
		seen = name "\n"
		reads = 0
		next
	}
	{
		of = $0
		sub(/^[a-z0-9]*\(/, "", of)
		sub(/[,)].*/, "", of)
	}
	fd == "" || of != fd { next }
	/^close/ {
		if (reads) {
			if (!(name in last))
				names[++count] = name
			last[name] = seen "close\n"
		}
		fd = ""
		next
	}
	/stat/ { seen = seen "stat\n"; next }
	{
		bytes = $0
		sub(/^[^,]*,[^,]*, /, "", bytes)
		sub(/[,)].*/, "", bytes)
		seen = seen "read " bytes " = " $NF "\n"
		reads++
	}
	END {
		for (i = 1; i <= count; i++)
			printf "%s", last[names[i]]
	}' trace
}

trace()
{
	trace_only openat,fstat,newfstatat,read,pread64,close 0 "$@"
}

# alike TITLE OPTION...
alike()
{
	title=$1
	shift
	dataset "$@"
	trace "$python" load.py data/train/*.tar >out 2>&1
	calls >python.calls
	# shellcheck disable=SC2086
	trace "$MLGEN" $job --loader=tfdata --read_threads=1 --shuffle=none \
		--deterministic=0 --access=framework >out 2>&1
	calls >mlgen.calls
	if [ "$(grep -c '^close' python.calls)" -eq 9 ]; then
		ok "$title" diff python.calls mlgen.calls
	else
		tap_fail "$title" "not every shard was read"
	fi
}

alike "small shards are read as tarfile reads them" --num_files=9 \
	--sample_size=uniform:1:13k
alike "shards of any size" --num_files=9 --samples_per_file=3 \
	--sample_size=uniform:1:600k
alike "shards of many samples" --num_files=9 --samples_per_file=60 \
	--sample_size=uniform:1:13k
for bytes in 512 1024 3584 4096 8192; do
	alike "a last member at another place: $bytes bytes" --num_files=9 \
		--samples_per_file=20 --sample_size=$bytes
done

done_testing
