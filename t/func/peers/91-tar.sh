#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 91-tar.sh - Python's tarfile opens every shard that mlgen writes, and mlgen reads them as WebDataset does.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../made.sh"

# ---- read by others
python=/usr/bin/python3
reason=
"$python" -I -S -c '' 2>/dev/null || reason="there is no $python"

cp "$TOP/t/func/made.py" .
# check.py: SAMPLES follows the directory. Every shard is what tarfile writes for the
# samples in it, and their names count through all shards.
cat >check.py <<'END'
import glob, io, tarfile
from made import check_each

def check(directory, samples):
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
        assert key % int(samples) == 0, (name, key)
        with open(name, 'rb') as f:
            assert f.read() == again.getvalue(), name + ' is not as tarfile writes it'
    if all(len(h) == 16 for h in heads):
        assert len(heads) == key, 'two samples begin alike'
    return '%d files, %d samples' % (len(names), key)

check_each(check)
END

# tar_files TITLE FILES SAMPLES OPTION...
tar_files()
{
	title=$1 files=$2 samples=$3
	shift 3
	makes "$title" "$files files, $((files * samples)) samples" "$samples" \
		--format=tar --num_files="$files" --samples_per_file="$samples" "$@"
}

tar_files "one byte" 1 1 --sample_size=1
tar_files "one sample a shard" 10 1 --sample_size=100k
tar_files "several samples a shard" 5 7 --sample_size=30000
tar_files "labels of all lengths" 1 1100 --sample_size=20
tar_files "larger than the buffer" 1 1 --sample_size=20m
tar_files "whole blocks" 3 20 --sample_size=4k
tar_files "the end mark in a block of its own" 1 4 --sample_size=1024
tar_files "sizes of a distribution" 20 3 --sample_size=normal:30k:9k
tar_files "in folders" 30 2 --sample_size=5k --subfolders=12
if [ -z "$reason" ]; then
	check_made "tarfile reads it" "$python" check.py
else
	skip "tarfile reads what mlgen writes" "$reason"
fi

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

# ---- next to Python itself
[ -n "$reason" ] || reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "every shard is read as WebDataset reads it here and now" "$reason"
	done_testing
	exit
fi

# WebDataset opens a file and lets tarfile go through it as a stream.
cat >load.py <<'END'
import glob, tarfile
for name in sorted(glob.glob('*/train/*.tar')):
    with open(name, 'rb') as f:
        shard = tarfile.open(fileobj=f, mode='r|*')
        for member in shard:
            shard.extractfile(member).read()
END

# Samples in a shard, their size, title.
cat >cases <<'END'
1 uniform:1:13k small shards are read as tarfile reads them
3 uniform:1:600k shards of any size
60 uniform:1:13k shards of many samples
20 512 a last member at another place: 512 bytes
20 1024 a last member at another place: 1024 bytes
20 3584 a last member at another place: 3584 bytes
20 4096 a last member at another place: 4096 bytes
20 8192 a last member at another place: 8192 bytes
END

# of_case COMMAND...: runs it with the options of a case.
of_case()
{
	"$@" --name=t --directory="$samples-$size" --format=tar --invalidate=0 \
		--num_files=5 --samples_per_file="$samples" --sample_size="$size" \
		</dev/null >out 2>&1 || note "$(cat out)"
}

while read -r samples size _; do
	of_case "$MLGEN" --phase=prepare
done <cases
trace "$python" load.py >out 2>&1
while read -r samples size _; do
	calls_of "$samples-$size"/train/*.tar >"python.$samples-$size"
done <cases
while read -r samples size title; do
	# The shards are looked at before they are read.
	of_case trace "$MLGEN" --loader=tfdata --read_threads=1 --shuffle=none \
		--deterministic=0 --access=framework
	calls_of "$samples-$size"/train/*.tar >mlgen.calls
	if [ "$(grep -c '^close' mlgen.calls)" -eq 5 ]; then
		ok "$title" diff "python.$samples-$size" mlgen.calls
	else
		tap_fail "$title" "not every shard was read" "$(cat out)"
	fi
done <cases

done_testing
