#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 134-scan-parquet.sh - Parquet files that others wrote, of any columns and pages, are scanned, and read as their footers say.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"
. "$(dirname "$0")/../npm.sh"

job="--name=n --directory=data --dataset=scan --format=parquet --invalidate=0
	--read_threads=1 --prefetch=1 --shuffle=none --batch_size=4 --quiet"

# counted OPTION...: what the report has, or why there is none.
counted()
{
	rm -f run.json
	# shellcheck disable=SC2086
	if "$MLGEN" $job --json=run.json "$@" >out 2>err; then
		ml run.json samples sample_bytes ops.open.total ops.stat.total \
			ops.read.total
	else
		echo "status $?: $(cat err)"
	fi
}

# make_files ROWS GROUP: two files by mlgen, in data/ROWS.
make_files()
{
	"$MLGEN" --name=n --phase=prepare --format=parquet \
		--columns=a:float32,b_0..9:int8,c:float64[9] --sample_size=86 \
		--directory="data/$1" --samples_per_file="$1" \
		--row_group_size="$2" --num_files=2 --quiet >out 2>&1 &&
		rm -f "data/$1/mlgen.json"
}

# ---- files of unequal numbers of row groups
for rows in 20 100 300; do
	make_files $rows 20 || note "$(cat out)"
done
groups=$((2 * (1 + 5 + 15)))
# Of a row 4 + 10 x 4 + 72 bytes, and headers of pages.
is "each row group is read, and each footer once" \
	"$(counted --access=framework | cut -d ' ' -f 1,3-)" \
	"840 $groups 6 $((groups * 12 + 6))"
rows=$(ml run.json sample_bytes)
ok "bytes are those on disk" test "$rows" -gt $((840 * 116)) -a \
	"$rows" -lt $((840 * 116 + groups * 12 * 40))
is "with access=plain row groups as they lie, the same bytes" \
	"$(counted --access=plain | cut -d ' ' -f 1,2)" "840 $rows"
is "some columns are read by name" "$(counted --access=framework \
	--read_columns=a,b_3..5 | cut -d ' ' -f 1,3-)" \
	"840 $groups 6 $((groups * 4 + 6))"
ok "in any order, with several threads" "$MLGEN" --name=n --directory=data \
	--dataset=scan --format=parquet --access=framework --read_threads=4 \
	--batch_size=7 --quiet --json=run.json
is "every row once" "$(ml run.json samples)" 840
# shellcheck disable=SC2086
exits "a column that is not there is refused" 2 "$MLGEN" $job \
	--access=framework --read_columns=a,d
like "by its name" "$(cat err)" \
	"data/.*parquet: read_columns: the file has no column 'd', but for example 'c'"
# shellcheck disable=SC2086
exits "so is an empty name" 2 "$MLGEN" $job --access=framework \
	--read_columns=a,,b_1

# ---- bad files
mkdir good
mv data/100 good
bad=data/20/train/img_1_of_2.parquet

# refused TITLE REGEX: as $bad is now; the others are 20 and 2 x 300 rows.
refused()
{
	# shellcheck disable=SC2086
	exits "$1 is refused" 2 "$MLGEN" $job --scan_errors=refuse
	like "$1: in words" "$(cat err)" "^mlgen: $bad: at byte [0-9]*: $2"
	# shellcheck disable=SC2086
	exits "$1: or left out" 0 "$MLGEN" $job --json=run.json
	is "$1: the rest is read" "$(ml run.json samples)" 620
	rm -rf data/20
	make_files 20 20
}

# patch OFFSET TEXT: from the end where it is negative.
patch()
{
	at=$1
	[ "$at" -ge 0 ] || at=$(($(stat -c %s $bad) + at))
	printf "$2" | dd of=$bad bs=1 seek="$at" conv=notrunc status=none
}

patch -4 PARE
refused "an encrypted footer" 'the footer is encrypted \(PARE\)'
patch -4 NONE
refused "another end" 'a Parquet file ends with PAR1'
patch 0 NONE
refused "another beginning" 'a Parquet file begins with PAR1'
patch -8 '\377\377\377\177'
refused "a footer longer than the file" \
	'the footer has 2147483647 bytes, more than the file'
patch -8 '\003\000\000\000'
refused "a footer that is cut off" 'the footer does not say how many rows there are'
truncate -s -1 $bad
refused "a file that was cut" 'a Parquet file ends with PAR1'
head -c 7 good/100/train/img_0_of_2.parquet >$bad
refused "a file of seven bytes" 'a Parquet file has at least 12 bytes'
# Data are gone, and so the chunks are behind the footer.
{ printf PAR1; tail -c 900 $bad; } >rest; cp rest $bad
refused "a file without its data" '.*'

make_files 60 30
is "files may have row groups of other numbers of rows" \
	"$(counted --access=framework | cut -d ' ' -f 1,3,4)" \
	"$((2 * (20 + 300 + 60))) $((2 * (1 + 15 + 2))) 6"
rm -rf data/60

# What no bit of a footer may do: end otherwise than with a verdict.
rm -rf data
mkdir data
size=$(stat -c %s good/100/train/img_0_of_2.parquet)
footer=$(od -An -tu4 -j $((size - 8)) -N 4 good/100/train/img_0_of_2.parquet)
bad=data/one.parquet
died=
at=$((size - 8 - footer))
while [ $at -lt $size ]; do
	cp good/100/train/img_0_of_2.parquet $bad
	patch $at '\377'
	# shellcheck disable=SC2086
	"$MLGEN" $job --dry-run >out 2>err
	case $? in
	0 | 2)	;;
	*)	died="$died $at" ;;
	esac
	at=$((at + 37))
done
is "footers with a byte of ones end in a verdict" "$died" ""

# ---- written and read by others' programs
why=$(no_npm hyparquet hyparquet-writer)
[ -z "$why" ] || {
	skip "files of another's are read as their footers say" "$why"
	done_testing
	exit
}

# write.mjs: files of 1, 2 and 50 row groups of 20 rows: nested, with nulls,
# dictionaries, texts; compressed with snappy or not.
cat >npm/write.mjs <<'END'
import { parquetWriteFile } from 'hyparquet-writer'
const rows = n => [...Array(n).keys()]
for (const [groups, codec] of [[1, 'SNAPPY'], [2, 'UNCOMPRESSED'], [50, 'SNAPPY']]) {
	const n = 20 * groups
	parquetWriteFile({
		filename: `data/${groups}.parquet`, codec, rowGroupSize: 20,
		schema: [
			{ name: 'root', num_children: 5 },
			{ name: 'id', type: 'INT64', repetition_type: 'REQUIRED' },
			{ name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
			{ name: 'word', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
			{ name: 'list', repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
			{ name: 'list', repetition_type: 'REPEATED', num_children: 1 },
			{ name: 'element', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
			{ name: 'on', type: 'BOOLEAN', repetition_type: 'REQUIRED' },
		],
		columnData: [
			{ name: 'id', data: rows(n).map(i => BigInt(i) ** 3n) },
			{ name: 'text', data: rows(n).map(i => i % 7 ? `${Math.sin(i)}`.repeat(i % 50) : null) },
			{ name: 'word', data: rows(n).map(i => ['yes', 'no'][i % 2]) },
			{ name: 'list', data: rows(n).map(i => rows(i % 5).map(Math.cos)) },
			{ name: 'on', data: rows(n).map(i => i % 3 === 0) },
		],
	})
}
END
# plan.mjs COLUMN...: what is to be read, as another's program sees the files.
cat >npm/plan.mjs <<'END'
import { parquetMetadata } from 'hyparquet'
import { readFileSync } from 'node:fs'
const wanted = new Set(process.argv.slice(2))
for (const groups of [1, 2, 50]) {
	const name = `data/${groups}.parquet`
	const bytes = new Uint8Array(readFileSync(name))
	const meta = parquetMetadata(bytes.slice().buffer)
	const tail = Math.min(bytes.length, 65536)
	const read = (n, at) => console.log(`read ${n} @${at} = ${n}`)
	console.log(name)
	if (meta.row_groups.length !== groups) console.log('other groups')
	meta.row_groups.forEach((g, k) => {
		console.log('open')
		if (k === 0) {
			console.log('stat')
			read(tail, bytes.length - tail)
			if (meta.metadata_length + 8 > tail)
				read(meta.metadata_length, bytes.length - 8 - meta.metadata_length)
		}
		for (const c of g.columns) {
			const m = c.meta_data
			if (wanted.size && !wanted.has(m.path_in_schema[0])) continue
			let at = m.data_page_offset
			if (m.dictionary_page_offset && m.dictionary_page_offset < at)
				at = m.dictionary_page_offset
			read(m.total_compressed_size, at)
		}
		console.log('close')
	})
}
END
rm -rf data
mkdir data
node npm/write.mjs >out 2>&1 || note "$(cat out)"
is "rows of another's files are counted" \
	"$(counted --access=framework | cut -d ' ' -f 1,3,4)" "1060 53 3"
if can_trace; then
	for columns in "" id,list word; do
		# shellcheck disable=SC2086
		trace "$MLGEN" $job --access=framework --ioengine=psync \
			${columns:+"--read_columns=$columns"} >out 2>&1
		for groups in 1 2 50; do
			last_calls $groups data/$groups.parquet
		done >mlgen.calls
		# shellcheck disable=SC2046
		node npm/plan.mjs $(echo "$columns" | tr , ' ') >plan 2>&1
		ok "the calls are those of the footer: ${columns:-all columns}" \
			diff plan mlgen.calls
	done
	ok "a dictionary is read with its pages" grep -q '^read' plan
else
	skip "the calls are those of the footer" "strace is not here or not allowed"
fi
# shellcheck disable=SC2086
exits "what is within a column is named with dots" 0 "$MLGEN" $job \
	--access=framework --read_columns=list.list.element

cat >npm/uneven.mjs <<'END'
import { parquetWriteFile } from 'hyparquet-writer'
parquetWriteFile({ filename: 'data/uneven.parquet', rowGroupSize: 20,
	columnData: [{ name: 'id', data: [...Array(50).keys()], type: 'INT32' }] })
END
rm -f data/*
node npm/uneven.mjs >out 2>&1
is "the last row group may be shorter" "$(counted --access=framework \
	--drop_last=0 | cut -d ' ' -f 1,3,4)" "50 3 1"

done_testing
