#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-tar.sh - sparse members of tar files are samples of the bytes that are stored.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

tar --version 2>/dev/null | grep -q 'GNU tar' || skip_all "there is no GNU tar"

# looks: samples and their bytes, of the tar files in d; or why there are none.
looks()
{
	rm -f run.json
	if "$MLGEN" --name=x --dataset=scan --directory=d --format=tar \
		--drop_last=0 --json=run.json >out 2>err; then
		ml run.json samples sample_bytes
	else
		cat err
	fi
}

# packs FORMAT...: four files of two samples, of which 0.bin has holes.
packs()
{
	rm -rf d
	mkdir d
	tar -C in --sparse --hole-detection=raw "$@" -cf d/a.tar \
		0.bin 0.cls 1.bin 1.cls
}

# damages OFFSET: other bytes stand there.
damages()
{
	printf 'x/' | dd of=d/a.tar bs=1 seek="$1" conv=notrunc 2>/dev/null
}

# checks TITLE: that the file is refused wherever it ends before 1.bin.
checks()
{
	cp d/a.tar whole
	for end in 512 600 1024 1500 2000 3000; do
		head -c $end whole >d/a.tar
		like "$1, cut off at $end" "$(looks)" \
			'^mlgen: d/a.tar: at byte [0-9]*: |^mlgen: d: no tar file here has a sample'
	done
}

mkdir in
truncate -s 1M in/0.bin
printf 'x%.0s' 1 2 3 | dd of=in/0.bin bs=1 seek=500000 conv=notrunc 2>/dev/null
printf 0 >in/0.cls
head -c 2000 /dev/zero | tr '\0' 1 >in/1.bin
printf 1 >in/1.cls

# 0.bin has one stored block; a header is between it and the byte of 0.cls.
packs --format=gnu
is "GNU's own format" "$(looks)" "2 $((512 + 512 + 1 + 2048 + 512 + 1))"
packs --format=posix --sparse-version=0.0 --pax-option=delete=?time
is "pax format 0.0" "$(looks)" "2 $((512 + 512 + 1 + 2048 + 512 + 1))"
packs --format=posix --sparse-version=0.1 --pax-option=delete=?time
is "pax format 0.1" "$(looks)" "2 $((512 + 512 + 1 + 2048 + 512 + 1))"
packs --format=posix --sparse-version=1.0 --pax-option=delete=?time
is "pax format 1.0, whose map stands before the bytes" "$(looks)" \
	"2 $((512 + 512 + 1 + 2048 + 512 + 1))"
checks "a map"
cp whole d/a.tar
damages 1536
like "a map that is none is named, with the place" "$(looks)" \
	'^mlgen: d/a.tar: at byte 1536: not the map of a sparse member'

# more pieces than a header has room for
i=0
while [ $i -lt 60 ]; do
	printf x | dd of=in/0.bin bs=1 seek=$((i * 16384)) conv=notrunc \
		2>/dev/null
	i=$((i + 1))
done
for how in gnu posix:0.1 posix:1.0; do
	packs --format=${how%:*} --sparse-version=${how#*:} \
		--pax-option=delete=?time 2>/dev/null ||
		packs --format=${how%:*}
	is "many pieces, $how" "$(looks)" \
		"2 $((61 * 512 + 512 + 1 + 2048 + 512 + 1))"
done
packs --format=gnu
checks "headers that go on"

done_testing
