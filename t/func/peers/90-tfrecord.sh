#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 90-tfrecord.sh - protobuf parses every record that mlgen writes, and its checksums and index are right.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../made.sh"

"$MLGEN" --name=t --format=tfrecord --parse-only >out 2>&1 &&
	"$MLGEN" --name=t --format=tfrecord --directory=none --dry-run >out 2>&1
! grep -q 'tfrecord was left out' out ||
	skip_all "this mlgen was built without ISA-L"

# ---- read by others
cp "$TOP/t/func/tfrecord.py" "$TOP/t/func/made.py" .
# check.py: SAMPLES follows the directory. The records of every file are
# tf.train.Examples, with the checksums of TFRecord, and its index tells where they are.
cat >check.py <<'END'
import functools, glob, struct
from made import check_each, need
from tfrecord import masked

@functools.lru_cache
def example_class():
    """tensorflow/core/example/{example,feature}.proto"""
    need('google.protobuf', 'python3-protobuf')
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    F = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name='example.proto', package='tensorflow', syntax='proto3')

    def message(parent, name, *fields):
        m = parent.add(name=name)
        for number, (field, label, kind, of) in enumerate(fields, 1):
            m.field.add(name=field, number=number, label=label, type=kind,
                        type_name=of and '.tensorflow.' + of)
        return m

    one, many = F.LABEL_OPTIONAL, F.LABEL_REPEATED
    top = file.message_type
    message(top, 'BytesList', ('value', many, F.TYPE_BYTES, None))
    message(top, 'FloatList', ('value', many, F.TYPE_FLOAT, None))
    message(top, 'Int64List', ('value', many, F.TYPE_INT64, None))
    feature = message(top, 'Feature',
                      ('bytes_list', one, F.TYPE_MESSAGE, 'BytesList'),
                      ('float_list', one, F.TYPE_MESSAGE, 'FloatList'),
                      ('int64_list', one, F.TYPE_MESSAGE, 'Int64List'))
    feature.oneof_decl.add(name='kind')
    for f in feature.field:
        f.oneof_index = 0
    features = message(top, 'Features',
                       ('feature', many, F.TYPE_MESSAGE,
                        'Features.FeatureEntry'))
    entry = message(features.nested_type, 'FeatureEntry',
                    ('key', one, F.TYPE_STRING, None),
                    ('value', one, F.TYPE_MESSAGE, 'Feature'))
    entry.options.map_entry = True
    message(top, 'Example', ('features', one, F.TYPE_MESSAGE, 'Features'))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    of = pool.FindMessageTypeByName('tensorflow.Example')
    if hasattr(message_factory, 'GetMessageClass'):
        return message_factory.GetMessageClass(of)
    return message_factory.MessageFactory(pool).GetPrototype(of)

def check(directory, samples):
    Example = example_class()
    names = sorted(glob.glob(directory + '/train/**/*.tfrecord', recursive=True))
    total, images, summed = 0, set(), 0
    for name in names:
        with open(name, 'rb') as f:
            data = f.read()
        with open(name.replace('/train/', '/index/train/') + '.idx') as f:
            lines = f.read()
        at, index = 0, []
        while at < len(data):
            length, crc = struct.unpack_from('<QI', data, at)
            body = data[at + 12:at + 12 + length]
            assert len(body) == length, (name, at)
            index.append('%d %d\n' % (at, length + 16))
            total += 1
            # Slow: of many records each 16th is parsed.
            if len(index) < 3000 or len(index) % 16 == 0:
                assert crc == masked(data[at:at + 8]), (name, at)
                if summed < 100000:     # slow: the first stand for all of many
                    summed += length
                    crc, = struct.unpack_from('<I', data, at + 12 + length)
                    assert crc == masked(body), (name, at)
                feature = Example.FromString(body).features.feature
                assert sorted(feature) == ['image', 'size'], (name, at)
                image, = feature['image'].bytes_list.value
                size, = feature['size'].int64_list.value
                assert size == len(image), (name, at)
                images.add(image[:16] if len(image) >= 16 else total)
            else:
                images.add(total)
            at += length + 16
        assert lines == ''.join(index), name
        assert total % int(samples) == 0, name
    assert len(images) == total, 'two samples begin alike'
    return '%d files, %d samples' % (len(names), total)

check_each(check)
END

# tfrecord TITLE FILES SAMPLES OPTION...
tfrecord()
{
	title=$1 files=$2 samples=$3
	shift 3
	makes "$title" "$files files, $((files * samples)) samples" "$samples" \
		--format=tfrecord --num_files="$files" \
		--samples_per_file="$samples" "$@"
}

tfrecord "one byte" 1 1 --sample_size=1
tfrecord "one sample a file" 10 1 --sample_size=100k
tfrecord "several samples a file" 5 7 --sample_size=30000
tfrecord "as many as bert's, a hundredth" 1 3135 --sample_size=2500
tfrecord "more index than one chunk holds" 1 100000 --sample_size=10
tfrecord "larger than the buffer" 2 1 --sample_size=3m
tfrecord "records across the ends of chunks" 2 33 --sample_size=65490
tfrecord "lengths of one byte and of two" 3 40 --sample_size=uniform:60:140
tfrecord "lengths of two and of three" 20 3 --sample_size=uniform:16000:16700
tfrecord "sizes of a distribution" 20 2 --sample_size=normal:30k:9k
tfrecord "two sides as DLIO draws them" 10 2 --sample_size=dlio:114660.07:0
tfrecord "in folders" 30 2 --sample_size=5k --subfolders=12
check_made "protobuf reads it" /usr/bin/python3 check.py

# ---- read by mlgen
# dataset OPTION...: what $job reads.
dataset()
{
	rm -rf data
	job="--name=t --directory=data --format=tfrecord --invalidate=0 $*"
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $job --phase=prepare --quiet >prepare.out 2>&1
}

dataset --num_files=4 --samples_per_file=40 --sample_size=2500
# shellcheck disable=SC2086
ok "access=plain reads all samples, many with one request" "$MLGEN" $job \
	--loader=plain --json=run.json
# 40 x 2554 bytes, less the first head and the last checksum
is "and of a file what lies between its first payload and its last" \
	"$(ml run.json samples sample_bytes ops.open.total ops.read.total \
		ops.close.total io_bytes)" \
	"160 400000 4 4 4 $((4 * (40 * 2554 - 54)))"
dataset --num_files=4 --samples_per_file=3 --sample_size=200000
# shellcheck disable=SC2086
ok "large ones are read one by one" "$MLGEN" $job --loader=plain --bs=64k \
	--json=run.json
is "each in bs requests" \
	"$(ml run.json samples ops.open.total ops.read.total io_bytes)" \
	"12 12 48 2400000"
size=$(stat -c %s data/train/img_1_of_4.tfrecord)
truncate -s $((size - 100)) data/train/img_1_of_4.tfrecord
# shellcheck disable=SC2086
exits "a file that lost its end" 1 "$MLGEN" $job --loader=plain \
	--continue_on_error=all
like "is an error" "$(cat err)" \
	"img_1_of_4.tfrecord: the file ends at $((size - 100)) of $size bytes"

exits "a sample of 2 GiB" 2 "$MLGEN" --name=t --format=tfrecord \
	--directory=none --num_files=1 --sample_size=2g --dry-run
like "does not fit into a record" "$(cat err)" \
	'sample_size: 2 GiB do not fit into a record of format=tfrecord'

# ---- as TensorFlow reads: 256 KiB after 256 KiB, once through the file
# reads: what one thread counts that goes through all files.
reads()
{
	# shellcheck disable=SC2086
	"$MLGEN" $job --loader=tfdata --read_threads=1 --access=framework \
		--shuffle=none --json=run.json >out 2>err || cat err
	ml run.json samples ops.open.total ops.stat.total ops.read.total \
		ops.close.total io_bytes
}

dataset --num_files=3 --samples_per_file=20 --sample_size=100000
size=$(stat -c %s data/train/img_1_of_3.tfrecord)
is "access=framework reads every byte once, and meets the end" "$(reads)" \
	"60 3 0 $((3 * (size / 262144 + 2))) 3 $((3 * size))"
dataset --num_files=3 --samples_per_file=4 --sample_size=$((65536 - 60))
is "also where the file ends with a buffer" \
	"$(stat -c %s data/train/img_1_of_3.tfrecord) $(reads)" \
	"262144 12 3 0 6 3 $((3 * 262144))"

command -v strace >/dev/null || {
	skip "the calls are those of TensorFlow" "there is no strace"
	done_testing
	exit
}

dataset --num_files=2 --samples_per_file=6 --sample_size=100000
# shellcheck disable=SC2086
trace_only openat,fstat,newfstatat,pread64,close 0 \
	"$MLGEN" $job --loader=tfdata --read_threads=1 --access=framework \
	--deterministic=0 --shuffle=none >out 2>&1
is "the calls are those of TensorFlow" \
	"$(awk '
		/^openat/ {
			seen = reads = 0
			if (/img_1_of_2\.tfrecord"/)
				seen = "open\n"
			next
		}
		!seen { next }
		/stat/ { seen = seen "stat\n" }
		/^pread64/ {
			sub(/^[^,]*, [^,]*, /, "")
			sub(/\) *=/, " =")
			seen = seen $0 "\n"
			reads++
		}
		/^close/ {
			if (reads)
				printf "%sclose\n", seen
			seen = 0
		}' trace)" \
	"open
262144, 0 = 262144
262144, 262144 = 262144
262144, 524288 = 76072
186072, 600360 = 0
close"

done_testing
