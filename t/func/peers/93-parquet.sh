#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 93-parquet.sh - hyparquet reads every Parquet file that mlgen writes; bad columns are refused.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../npm.sh"
. "$(dirname "$0")/../made.sh"

# make_files FILES ROWS GROUP BYTES OPTION...: files in $T/data
make_files()
{
	files=$1 rows=$2 group=$3 bytes=$4
	shift 4
	"$MLGEN" --name=n --phase=prepare --format=parquet \
		--directory="$T/data" --num_files="$files" \
		--samples_per_file="$rows" --row_group_size="$group" \
		--sample_size="$bytes" "$@"
}

# refuses TITLE REGEX FILES ROWS GROUP BYTES OPTION...
refuses()
{
	title=$1 regex=$2
	shift 2
	exits "$title is a usage error" 2 make_files "$@"
	like "$title: the message says what and how" "$(cat "$T/err")" \
		"^mlgen: .*$regex"
	not_ok "$title: nothing was written" test -e "$T/data"
	rm -rf "$T/data"
}

# ---- refused
refuses "an unknown type" \
	"columns: 'x:flaot32': 'flaot32' is not one of .*did you mean 'float32'" \
	1 10 10 4 --columns=x:flaot32
refuses "a range that runs backwards" "'f_03..01' runs backwards" \
	1 10 10 4 --columns=f_03..01:float32
refuses "a column without a type" "columns: 'f' has no type; write NAME:TYPE" \
	1 10 10 4 --columns=f
refuses "a column twice" "columns: f_02 appears twice" \
	1 10 10 20 --columns=f_00..03:float32,f_02:float32
refuses "a column to read that is not there" \
	"read_columns: there is no column 'f_04'; did you mean 'f_00'" \
	1 10 10 16 --columns=f_00..03:float32 --read_columns=f_02..04
refuses "a column to read of a file without columns" \
	"read_columns: there is no column 'x'; .*'data'" \
	1 10 10 16 --read_columns=x
refuses "a row that is not as long as its columns" \
	"sample_size: 17 bytes is the sum of the columns, not 16" \
	1 10 10 16 --columns=f_00..03:float32,i:int8
refuses "a row group that does not divide the file" \
	"row_group_size: 4 does not divide samples_per_file, which is 10; .* samples_per_file=8 or 12" \
	1 10 4 16
refuses "rows of different sizes" "sample_size: .* have the same size" \
	1 10 10 normal:1000:10
refuses "more row groups than readers take" \
	"row_group_size: 1 makes 2000000 row groups" 1 2000000 1 8
refuses "a column wider than a value can be" \
	"sample_size: 2147483648 bytes are more than the 2147483647" 1 1 1 2g
refuses "a list that is wider than that" "more than 2147483647 bytes in a row" \
	1 1 1 3g --columns='x:float32[600000000]'

# ---- read by another's program
reader=$T/npm/check.mjs
why=$(no_npm hyparquet)

# check.mjs: prints for each directory its number of files, their schema and row groups,
# and "all there" where all values are; or what is wrong. The chunks have to fill a file
# from the magic bytes to the footer, and no two files may be the same.
[ -n "$why" ] || cat >"$reader" <<'END'
import { asyncBufferFromFile, parquetMetadata, parquetReadObjects } from 'hyparquet'
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'

const kind = e => e.type === 'FIXED_LEN_BYTE_ARRAY' ?
	(e.logical_type?.type ?? `bytes(${e.type_length})`) :
	(e.converted_type ?? e.type)
const isInteger = v => Number.isInteger(v), isNumber = v => typeof v === 'number'
const isGood = e => ({
	INT_8: v => Number.isInteger(v) && v >= -128 && v <= 127,
	INT32: isInteger,
	INT64: v => typeof v === 'bigint',
	FLOAT: isNumber,
	DOUBLE: isNumber,
	FLOAT16: isNumber,
}[kind(e)] ?? (v => v.length === e.type_length))

async function check(name, bytes)
{
	const fail = why => { throw new Error(`${name}: ${why}`) }
	const file = await asyncBufferFromFile(name)
	const meta = parquetMetadata(bytes.slice().buffer)
	const rows = Number(meta.num_rows)
	const columns = meta.schema.slice(1)
	const groups = meta.row_groups.map(g => Number(g.num_rows))
	if (groups.some(n => n !== groups[0]) || groups.length * groups[0] !== rows)
		fail('row groups are not alike')

	let end = 4n
	for (const g of meta.row_groups) {
		let sum = 0n
		if (g.columns.length !== columns.length) fail('a chunk is missing')
		g.columns.forEach((c, i) => {
			const m = c.meta_data
			if (m.data_page_offset !== end) fail('chunks do not join')
			if (m.path_in_schema[0] !== columns[i].name) fail('wrong name')
			if (Number(m.num_values) !== Number(g.num_rows)) fail('values')
			end += m.total_compressed_size
			sum += m.total_compressed_size
		})
		if (sum !== g.total_byte_size) fail('a sum is wrong')
	}
	if (Number(end) + meta.metadata_length + 8 !== file.byteLength)
		fail('the footer is not behind the last chunk')

	const table = await parquetReadObjects({ file, utf8: false })
	if (table.length !== rows) fail(`${table.length} rows were read`)
	const looked = Math.min(rows, 20000)
	for (const e of columns) {
		const good = isGood(e)
		for (const row of table)
			if (!good(row[e.name])) fail(`${e.name} has ${row[e.name]}`)
		const seen = new Set(table.slice(0, looked).map(row => row[e.name]).map(v =>
			v instanceof Uint8Array ? Buffer.from(v).toString('hex') : v))
		// As many different values as random ones of that width would be; NaNs
		// are one.
		const all = { INT_8: 256, FLOAT16: 63488 }[kind(e)] ??
			(e.type_length < 4 ? 256 ** e.type_length : 2 ** 32)
		const want = all * (1 - Math.exp(-looked / all)) * 0.8
		if (seen.size < Math.floor(want))
			fail(`${e.name}: ${seen.size} different values of ${looked}`)
	}
	return `${columns.map(e => `${e.name}:${kind(e)}`).join(' ')}, ${
		groups.length} x ${groups[0]} rows, all there`
}

async function checkAll(directory)
{
	const names = readdirSync(`${directory}/train`).filter(n => n.endsWith('.parquet'))
	const said = new Set(), sums = new Set()
	for (const name of names) {
		const path = `${directory}/train/${name}`
		const bytes = new Uint8Array(readFileSync(path))	// not of node's pool
		sums.add(createHash('md5').update(bytes).digest('hex'))
		said.add(await check(path, bytes))
	}
	if (sums.size !== names.length) throw new Error('two files are the same')
	return `${names.length}: ${[...said].join(' / ')}`
}

for (const line of readFileSync(0, 'utf8').trim().split('\n'))
	try {
		console.log(await checkAll(line))
	} catch (e) {
		console.log(e.message)
	}
END

# reads TITLE SCHEMA GROUPS FILES ROWS GROUP BYTES OPTION...
reads()
{
	title=$1 want="$4: $2, $3 rows, all there"
	files=$4 rows=$5 group=$6 bytes=$7
	shift 7
	makes "$title" "$want" "" --format=parquet --num_files="$files" \
		--samples_per_file="$rows" --row_group_size="$group" \
		--sample_size="$bytes" "$@"
}

reads "no columns" "data:bytes(1000)" "1 x 7" 3 7 1024 1000
reads "one byte" "data:bytes(1)" "1 x 1" 1 1 1 1
reads "every type" "a:INT_8 b:INT32 c:INT64 d:FLOAT16 e:FLOAT f:DOUBLE" \
	"3 x 500" 2 1500 500 27 \
	--columns=a:int8,b:int32,c:int64,d:float16,e:float32,f:float64
reads "lists" "a:bytes(40) b:bytes(7) c:bytes(6) d:bytes(8)" "4 x 25" \
	2 100 25 61 --columns='a:float32[10], b:int8[7], c:float16[3], d:int64[1]'
reads "ranges" "f_08:FLOAT f_09:FLOAT f_10:FLOAT g1:INT_8 g2:INT_8" \
	"2 x 8" 1 16 8 14 --columns='f_08..10:float32, g1..2:int8'
# A page has 1 MiB of values.
reads "chunks of many pages" "a:bytes(32) b:INT_8 c:bytes(8)" "1 x 140000" \
	1 140000 140000 41 --columns='a:float64[4],b:int8,c:float16[4]'
reads "pages that end with the chunk" "a:bytes(64)" "2 x 16384" \
	1 32768 16384 64 --columns='a:int64[8]'
reads "values larger than a page" "a:bytes(3000000) b:INT_8" "2 x 3" \
	1 6 3 3000001 --columns='a:float32[750000],b:int8'
reads "row groups of one row" "a:INT_8 b:INT64" "300 x 1" \
	1 300 1 9 --columns=a:int8,b:int64
reads "the footer is longer than a read of it" \
	"$(seq -f 'column_%02g:INT32' -s ' ' 0 39)" "50 x 2" \
	1 100 2 160 --columns=column_00..39:int32
if [ -z "$why" ]; then
	check_made "hyparquet reads it" node "$reader"
else
	skip "hyparquet reads what mlgen writes" "$why"
fi

# ---- read by mlgen
# run_job OPTION...: one thread reads three files in their order.
run_job()
{
	"$MLGEN" --name=n --format=parquet --directory="$T/data" \
		--num_files=3 --samples_per_file=40 --row_group_size=2 \
		--sample_size=761 --batch_size=20 --read_threads=1 \
		--shuffle=none --invalidate=0 --quiet \
		--columns=f_000..127:float32,d_00..19:float64,h_00..43:float16,b:int8 \
		--json="$T/report.json" "$@"
}
some=--read_columns=b,d_05..06,f_007

exits "access=plain refuses to read some columns" 2 run_job --access=plain $some
like "which it calls by their name" "$(cat "$T/err")" \
	"read_columns: access=plain reads whole rows.*; use access=framework"
exits "a job reads whole row groups with access=plain" 0 run_job --access=plain
is "and delivers each row once" "$(ml report.json samples steps)" "120 6"
is "what is read together is an extent of several" \
	"$(ml report.json samples_per_extent sample_ns.N)" "2 60"
is "a row group is one request" "$(ml report.json ops.open.total \
	ops.read.total ops.close.total)" "60 60 60"
is "and all of it counts as delivered" \
	"$(ml report.json sample_bytes epochs.0.sample_bytes)" \
	"$((120 * 761)) $((120 * 761))"
exits "a job reads some columns with access=framework" 0 run_job \
	--access=framework $some
is "rows are delivered once again" "$(ml report.json samples)" 120
is "footers are read once a file, chunks once a row group" \
	"$(ml report.json ops.open.total ops.stat.total ops.read.total \
		ops.close.total)" "60 3 246 60"

# b, d_05, d_06 and f_007 are 1 + 8 + 8 + 4 bytes of 761.
is "delivered are the columns that were read, as declared" \
	"$(ml report.json sample_bytes epochs.0.sample_bytes) $(json \
		report.json jobs.0.dataset.sample_bytes)" \
	"$((120 * 21)) $((120 * 21)) $((120 * 21))"
is "whole rows are row_bytes" "$(json report.json jobs.0.dataset.row_bytes)" \
	$((120 * 761))
ok "DLIO's MB/s are of whole rows" awk \
	-v mb="$(ml report.json mlperf.v2_0.train_io_mean_MB_per_second)" \
	-v rows="$(ml report.json \
		mlperf.v2_0.train_throughput_mean_samples_per_second)" \
	'BEGIN { r = mb * 1048576 / rows; exit !(r > 760.9 && r < 761.1) }'
for access in "plain 761" "framework 21 $some"; do
	# 600 rows a second are asked for of a storage that has no limit.
	# shellcheck disable=SC2086 # words
	set -- $access
	run_job --access="$1" --ioengine=null --epochs=10 --compute_time=20ms \
		--batch_size=12 ${3:+"$3"} >out 2>&1
	ok "access=$1: no more is delivered than asked for" awk \
		-v got="$(ml report.json sample_bytes_per_sec)" \
		-v asked="$(ml report.json demand_bytes_per_sec)" -v row="$2" \
		'BEGIN { exit !(asked == 12 * row / 0.02 && got <= asked &&
			got > asked / 2) }'
done

exits "the framework knows no direct=1" 2 run_job --access=framework \
	--direct=1 --parse-only
like "which is said" "$(cat "$T/err")" "format=parquet with O_DIRECT"

# plan.mjs DIRECTORY: what is to be read, as another's program sees the file.
calls="the calls are those that the file's own footer asks for"
if [ -n "$why" ]; then
	skip "$calls" "$why"
elif ! command -v strace >/dev/null; then
	skip "$calls" "there is no strace"
else
	cat >"$T/npm/plan.mjs" <<'END'
import { parquetMetadata } from 'hyparquet'
import { readFileSync } from 'node:fs'

const wanted = new Set(['b', 'd_05', 'd_06', 'f_007'])
for (const i of [0, 1, 2]) {
	const bytes = new Uint8Array(readFileSync(
		`${process.argv[2]}/train/img_${i}_of_3.parquet`))
	const meta = parquetMetadata(bytes.slice().buffer)
	const tail = Math.min(bytes.length, 65536)
	meta.row_groups.forEach((g, k) => {
		console.log('open')
		if (k === 0) {
			console.log(`${bytes.length - tail} ${tail}`)
			if (meta.metadata_length + 8 > tail)
				console.log(`${bytes.length - 8 - meta.metadata_length} ${meta.metadata_length}`)
		}
		for (const c of g.columns) {
			const m = c.meta_data
			if (wanted.has(m.path_in_schema[0]))
				console.log(`${m.data_page_offset} ${m.total_compressed_size}`)
		}
	})
}
END
	# What comes before: libraries, a look at how much of the files is cached
	# (O_NOCTTY), and one at the magic bytes.
	cat >"$T/traced" <<-END
	#!/bin/sh
	exec strace -f -qq -s 1 -o "$T/trace" -e trace=openat,pread64 "$MLGEN" "\$@"
	END
	chmod +x "$T/traced"
	MLGEN=$T/traced ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
		run_job --access=framework --ioengine=psync $some >/dev/null 2>&1
	is "$calls" "$(sed -n -e '1,/img_0_of_3/{/img_0_of_3/!d}' -e '/O_NOCTTY/d' \
		-e 's/^[0-9]* *openat.*img_[0-9]_of_3.parquet".*/open/p' \
		-e 's/^[0-9]* *pread64.*, \([0-9]*\), \([0-9]*\)) *= [0-9]*$/\2 \1/p' \
		"$T/trace" | sed '/^open$/{N;/\n0 4$/d;}')" "$(node "$T/npm/plan.mjs" "$T/data")"
fi

done_testing
