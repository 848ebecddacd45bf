#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-megatron.sh - Megatron-LM's .bin files with their .idx are samples: a sequence each.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

zeros() # COUNT
{
	head -c "$1" /dev/zero
}

byte() # VALUE...
{
	for value; do
		# shellcheck disable=SC2059 # the byte is written as a format
		printf "\\$(printf %03o "$value")"
	done
}

# number VALUE BYTES: little endian
number()
{
	byte $(($1 % 256)) $(($1 / 256))
	zeros $(($2 - 2))
}

# index TYPE TOKENS OFFSET...: of sequences, each a document.
index()
{
	type=$1 count=$((($# - 1) / 2))
	shift
	printf MMIDIDX
	zeros 2
	number 1 8
	byte "$type"
	number $count 8
	number $((count + 1)) 8
	all=$*
	i=0
	for value; do
		[ $((i % 2)) -eq 0 ] && number "$value" 4
		i=$((i + 1))
	done
	# shellcheck disable=SC2086 # numbers
	set -- $all
	i=0
	for value; do
		[ $((i % 2)) -eq 1 ] && number "$value" 8
		i=$((i + 1))
	done
	for i in $(seq 0 $count); do
		number "$i" 8
	done
}

# looks OPTION...: what is found in d, or why nothing is.
looks()
{
	rm -f run.json
	if "$MLGEN" --name=x --dataset=scan --directory=d --drop_last=0 \
		--json=run.json "$@" >out 2>err; then
		json run.json jobs.0.dataset.format
		ml run.json samples sample_bytes ops.open.total
	else
		cat err
	fi | tr '\n' ' '
}

mkdir d
zeros 314 >d/a.bin
index 8 100 0 50 200 7 300 >d/a.idx
is "three sequences of 16-bit tokens" "$(looks)" \
	"indexed_binary 3 314 3 "
is "a worker reads the index once, as Megatron does" \
	"$(looks --access=framework --read_threads=1)" \
	"indexed_binary 3 314 4 "
is "or maps the file" "$(looks --access=framework --read_threads=1 \
	--format=mmap_indexed_binary)" "mmap_indexed_binary 3 314 2 "
index 4 25 0 50 114 >d/a.idx
is "of 32-bit tokens, with a hole" "$(looks)" "indexed_binary 2 300 2 "

# ---- what is no index
index 8 100 0 50 200 7 301 >d/a.idx
like "a sequence beyond the file is named" "$(looks)" \
	'mlgen: d/a.idx: at byte 62: entry 2 names 14 bytes at 301, but the file of samples ends at 314'
index 9 100 0 >d/a.idx
like "as is an unknown type of tokens" "$(looks)" \
	'mlgen: d/a.idx: at byte 9: version 1 and token type 9; of'
index 8 100 0 50 200 7 300 >whole
for bytes in 9 17 33 34 50 101; do
	head -c $bytes whole >d/a.idx
	like "an index that is cut off at $bytes" "$(looks)" \
		'mlgen: d/a.idx: at byte [0-9]*: (the file ends|.*incomplete)'
done
{
	head -c 18 whole
	printf '\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377'
	tail -c +35 whole
} >d/a.idx
like "counts that lie" "$(looks)" 'mlgen: d/a.idx: at byte 34: .*incomplete'
cp whole d/a.idx
zeros 100 >d/b.bin
zeros 8 >d/b.bin.off.idx
number 100 8 >d/b.bin.sz.idx
like "one of each kind" "$(looks)" \
	'mlgen: d: 1 of 2 files have an index of Megatron'

done_testing
