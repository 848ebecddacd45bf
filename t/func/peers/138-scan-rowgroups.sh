#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 138-scan-rowgroups.sh - Parquet files whose row groups have different numbers of rows are read group by group, each row once.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../npm.sh"

python=/usr/bin/python3
"$python" -c 'import zlib' 2>/dev/null || skip_all "there is no $python"

# write.py CODEC: files of 1, 2 and 1000 rows, the last with a shorter group at
# its end, and one of which every group is another; pages of gzip, zstd or plain.
# Prints the requests that the footers ask for, file by file.
cat >write.py <<'END'
import ctypes, os, random, struct, sys, zlib

codec = sys.argv[1]
CODECS = {'plain': 0, 'snappy': 1, 'gzip': 2, 'zstd': 6}
FILES = {'1': [1], '1000': [300, 300, 300, 100], '2': [1, 1],
         'every': [5, 9, 2, 31, 7, 1, 54]}

def varint(n):
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])

def number(n):
    return varint(n << 1)

def text(s):
    return varint(len(s)) + s.encode()

def items(kind, values):
    n = len(values)
    head = bytes([n << 4 | kind]) if n < 15 else bytes([0xf0 | kind]) + varint(n)
    return head + b''.join(values)

# Fields of a struct: (id, type, bytes); 5 i32, 6 i64, 8 binary, 9 list, 12 struct.
def struct_of(*fields):
    out, last = b'', 0
    for i, kind, data in fields:
        out += bytes([i - last << 4 | kind]) + data
        last = i
    return out + b'\0'

def page(data, rows):
    stored = data
    if codec == 'gzip':
        c = zlib.compressobj(wbits=31)
        stored = c.compress(data) + c.flush()
    if codec == 'zstd':
        zstd = ctypes.CDLL('libzstd.so.1')
        zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
        c = ctypes.c_void_p(zstd.ZSTD_createCCtx())
        zstd.ZSTD_CCtx_setParameter(c, 201, 1) # a checksum
        room = ctypes.create_string_buffer(len(data) + 1000)
        n = zstd.ZSTD_compress2(c, room, len(room), data, len(data))
        zstd.ZSTD_freeCCtx(c)
        stored = room.raw[:n]
    return struct_of(
        (1, 5, number(0)), (2, 5, number(len(data))),
        (3, 5, number(len(stored))),
        (5, 12, struct_of((1, 5, number(rows)), (2, 5, number(0)),
                          (3, 5, number(3)), (4, 5, number(3))))) + stored, \
        len(data)

def chunk(off, name, kind, bytes_, raw, rows):
    return struct_of((2, 6, number(0)), (3, 12, struct_of(
        (1, 5, number(kind)), (2, 9, items(5, [number(0)])),
        (3, 9, items(8, [text(name)])),
        (4, 5, number(CODECS[codec])), (5, 6, number(rows)),
        (6, 6, number(raw)), (7, 6, number(bytes_)), (9, 6, number(off)))))

def write(name, groups):
    random.seed(name)
    out, listed, reads, first = b'PAR1', [], [], 0
    for rows in groups:
        columns, requests = [], []
        for column, kind, data in (
                ('id', 2, struct.pack(f'<{rows}q', *range(first, first + rows))),
                ('x', 5, struct.pack(f'<{rows}d', *(
                    random.randrange(9) for _ in range(rows))))):
            stored, raw = page(data, rows)
            columns.append(chunk(len(out), column, kind, len(stored), raw, rows))
            requests.append((len(stored), len(out)))
            out += stored
        first += rows
        reads.append(requests)
        listed.append(struct_of((1, 9, items(12, columns)), (2, 6, number(0)),
                                (3, 6, number(rows))))
    footer = struct_of(
        (1, 5, number(1)),
        (2, 9, items(12, [
            struct_of((4, 8, text('schema')), (5, 5, number(2))),
            struct_of((1, 5, number(2)), (3, 5, number(0)), (4, 8, text('id'))),
            struct_of((1, 5, number(5)), (3, 5, number(0)), (4, 8, text('x')))])),
        (3, 6, number(first)), (4, 9, items(12, listed)))
    out += footer + struct.pack('<I', len(footer)) + b'PAR1'
    with open(name, 'wb') as f:
        f.write(out)
    print(name)
    for i, requests in enumerate(reads):
        print('open')
        if i == 0:
            print('stat')
            print(f'read {len(out)} @0 = {len(out)}')
        for n, at in requests:
            print(f'read {n} @{at} = {n}')
        print('close')

os.makedirs('data', exist_ok=True)
for name, groups in FILES.items():
    write(f'data/{name}.parquet', groups)
END
rows=1112 # 1 + 1000 + 2 + 109
groups=14 # 1 + 4 + 2 + 7

job="--name=n --directory=data --dataset=scan --format=parquet --invalidate=0
	--prefetch=2 --quiet --json=run.json"

# counted OPTION...: what the report has, or why there is none.
counted()
{
	rm -f run.json
	# shellcheck disable=SC2086
	if "$MLGEN" $job "$@" >out 2>err; then
		ml run.json samples steps ops.open.total
	else
		echo "status $?: $(cat err)"
	fi
}

"$python" write.py gzip >plan 2>err || note "$(cat err)"

# ---- the calls
whole="--access=framework --read_threads=1 --shuffle=none --batch_size=4"
if can_trace; then
	for codec in gzip plain; do
		"$python" write.py $codec >plan
		# shellcheck disable=SC2086
		trace "$MLGEN" $job $whole --ioengine=psync >out 2>&1
		for file in "1 1" "1000 4" "2 2" "every 7"; do
			last_calls "${file#* }" "data/${file% *}.parquet"
		done >mlgen.calls
		ok "each row group is read as its footer says: $codec" \
			diff plan mlgen.calls
	done
else
	skip "each row group is read as its footer says" \
		"strace is not here or not allowed"
fi

# ---- each row once, in any order, by any loader
# A run whose epoch has not every row group once ends as a fault of mlgen.
for order in none file sample; do
	for batch in 1 7 300 1112; do
		steps=$(((rows + batch - 1) / batch))
		is "each row once: shuffle=$order, batches of $batch" \
			"$(counted --access=framework --read_threads=3 \
			--shuffle=$order --batch_size=$batch --drop_last=0)" \
			"$rows $steps $groups"
	done
done
for loader in "--read_threads=0 --prefetch=0" "--loader=plain --read_threads=4" \
	"--loader=plain --ioengine=psync --read_threads=1" \
	"--loader=tfdata --shuffle=file --read_threads=1" \
	"--loader=tfdata --shuffle=file --read_threads=3" \
	"--loader=tfdata --shuffle=buffer:100 --read_threads=2" \
	"--loader=tfdata --shuffle=none --read_threads=8 --deterministic=0" \
	"--shard=file --shuffle=file" "--hold_samples=1" "--access=plain"; do
	# shellcheck disable=SC2086
	is "each row once an epoch: $loader" "$(counted --access=framework \
		--epochs=3 --batch_size=25 --drop_last=0 $loader)" \
		"$((3 * rows)) $((3 * 45)) $((3 * groups))"
done
is "how many samples an extent has is not said" \
	"$(ml run.json samples_per_extent)" null
is "what does not fill a batch is not delivered" \
	"$(counted --access=framework --batch_size=100 --epochs=2 |
	cut -d ' ' -f 1,2)" "2200 22"

# ---- several accelerators: each has as many steps
for shard in strided contiguous file; do
	is "three accelerators deliver as many each: shard=$shard" \
		"$(counted --access=framework --shuffle=file --shard=$shard \
		--accelerators=3 --batch_size=10 --epochs=2 |
		cut -d ' ' -f 1,2)" "$((2 * 37 * 3 * 10)) $((2 * 37))"
done
is "more accelerators than row groups, too" \
	"$(counted --access=framework --accelerators=20 --batch_size=5 |
	cut -d ' ' -f 1,2)" "$((11 * 20 * 5)) 11"
is "and where the order runs on into the next epoch" \
	"$(counted --access=framework --loader=tfdata --shuffle=file \
	--accelerators=2 --batch_size=10 --read_threads=2 --epochs=3 |
	cut -d ' ' -f 1,2)" "$((3 * 55 * 2 * 10)) $((3 * 55))"
# shellcheck disable=SC2086
exits "whole files of samples at random are refused" 2 "$MLGEN" $job \
	--shard=file --shuffle=sample --batch_size=4
like "with the way out" "$(cat err)" \
	'^mlgen: shuffle: sample, .* needs row groups with equal numbers of samples, .*; use shuffle=file, or shard=strided'
is "files of which a part is read" "$(counted --access=framework --num_files=2 \
	--drop_last=0 --batch_size=100)" "1001 11 5"
is "the ceiling of such files is measured" "$(
	virtual_time
	TMPDIR=. counted --access=framework --ceiling --batch_size=100 --epochs=1 |
		cut -d ' ' -f 1,2)" "1100 11"

# ---- decompressed
# damage: a byte in the first page of data/1000.parquet becomes another.
damage()
{
	printf '\377\377' | dd of=data/1000.parquet bs=1 seek=90 conv=notrunc \
		status=none
}

"$python" write.py gzip >plan
for loader in "" "--read_threads=4 --hold_samples=1" \
	"--loader=tfdata --shuffle=file"; do
	# shellcheck disable=SC2086
	is "pages of gzip are decompressed: ${loader:-one thread}" \
		"$(counted --access=framework --decompress=real --drop_last=0 \
		--batch_size=100 $loader)" "$rows 12 $groups"
done
is "or time passes as if they were" "$(counted --access=framework --drop_last=0 \
	--decompress=sleep --decompress_rate=10m --batch_size=100)" \
	"$rows 12 $groups"
damage
# shellcheck disable=SC2086
exits "a wrong byte in a page is an error" 1 "$MLGEN" $job --access=framework \
	--decompress=real --batch_size=100
like "which says where" "$(cat err)" \
	'data/1000.parquet: at byte [0-9]*: cannot be decompressed: .*epoch 1'
is "it is none for who only reads" "$(counted --access=framework --drop_last=0 \
	--batch_size=100)" "$rows 12 $groups"
"$python" write.py zstd >plan
is "pages of zstd are decompressed" "$(counted --access=framework \
	--decompress=real --drop_last=0 --batch_size=100)" "$rows 12 $groups"
damage
# shellcheck disable=SC2086
exits "a wrong byte in one is an error, too" 1 "$MLGEN" $job --access=framework \
	--decompress=real --batch_size=100
like "and says where" "$(cat err)" \
	'data/1000.parquet: at byte [0-9]*: cannot be decompressed: .*epoch 1'
"$python" write.py snappy >plan
# shellcheck disable=SC2086
exits "a codec that mlgen does not know is refused" 2 "$MLGEN" $job \
	--access=framework --decompress=real --batch_size=100
like "by its name, with the way out" "$(cat err)" \
	"column 'id' is compressed with snappy, but decompress=real knows only gzip and zstd; use decompress=sleep"
is "its time can pass" "$(counted --access=framework --drop_last=0 \
	--decompress=sleep --decompress_rate=10m --batch_size=100)" \
	"$rows 12 $groups"
"$python" write.py plain >plan
# shellcheck disable=SC2086
exits "what is not compressed is not decompressed" 2 "$MLGEN" $job \
	--access=framework --decompress=real --batch_size=100
like "as is said" "$(cat err)" \
	'decompress: no files are compressed in data'

# ---- what others see in them
why=$(no_npm hyparquet)
[ -z "$why" ] || {
	skip "another reader finds the same rows" "$why"
	done_testing
	exit
}
cat >npm/read.mjs <<'END'
import { parquetReadObjects } from 'hyparquet'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
let all = 0
for (const name of ['1', '1000', '2', 'every']) {
	const bytes = readFileSync(`data/${name}.parquet`)
	const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
	const rows = await parquetReadObjects({ file,
		compressors: { GZIP: b => new Uint8Array(gunzipSync(b)) } })
	rows.forEach((row, i) => {
		if (Number(row.id) !== i) throw new Error(`${name}: row ${i}`)
	})
	all += rows.length
}
console.log(all)
END
for codec in gzip plain; do
	"$python" write.py $codec >plan
	is "another reader finds the same rows: $codec" \
		"$(node npm/read.mjs 2>&1)" "$rows"
done

done_testing
