#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 137-scan-tar-index.sh - the index that DALI's wds2idx makes of a tar file is used where it is of that file, and only there.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
"$python" -c 'import tarfile' 2>/dev/null || skip_all "there is no $python"

# write.py KIND DIRECTORY: files of 1, 2, 40 and 1000 samples, with their
# indexes; prints file, offset and bytes of each sample.
cat >write.py <<'END'
import io, os, random, sys, tarfile

kind, directory = sys.argv[1], sys.argv[2]
random.seed(7)
os.makedirs(directory, exist_ok=True)

def members(n):
    yield 'README', b'of no sample'
    for i in range(n):
        deep = 'long/' * 30 if kind != 'plain' and i % 3 == 0 else ''
        letter = '\xe9' if kind != 'plain' and i % 5 == 0 else ''
        for suffix in ('jpg', 'cls', 'seg.png')[:1 + i % 3]:
            size = random.choice((0, 1, 511, 512, 513, random.randrange(9000)))
            yield ('some/%s%s%06d.%s' % (deep, letter, i, suffix),
                   random.randbytes(size))
        if i % 100 == 7:
            yield 'some/.hidden.txt', b'neither is this'

def write(name, n):
    how = tarfile.PAX_FORMAT if kind == 'pax' else tarfile.GNU_FORMAT
    with tarfile.open(name, 'w', format=how) as f:
        folder = tarfile.TarInfo('some')
        folder.type = tarfile.DIRTYPE
        f.addfile(folder)
        for key, data in members(n):
            member = tarfile.TarInfo(key)
            member.size = len(data)
            f.addfile(member, io.BytesIO(data))

def index(name):
    samples, lines, last = [], [], None
    with tarfile.open(name) as f:
        for m in f:
            if not m.isreg():
                continue
            at = m.name.rfind('/') + 1
            dot = m.name.find('.', at)
            base, suffix = m.name[:dot], m.name[dot + 1:]
            if not base or base.endswith('/'):
                continue
            if base != last:
                lines.append([])
                if dot >= 0:
                    samples.append([m.offset_data, 0])
            last = base
            lines[-1] += [suffix, str(m.offset_data), str(m.size), m.name]
            if dot >= 0:
                samples[-1][1] = m.offset_data + m.size - samples[-1][0]
    with open(name[:-4] + '.idx', 'w') as f:
        f.write('v1.2 %d\n' % len(lines))
        f.writelines(' '.join(line) + '\n' for line in lines)
    return samples

for number, n in enumerate((40, 1, 1000, 2)):
    name = '%s/f%d.tar' % (directory, number)
    write(name, n)
    for off, length in index(name):
        print(name, off, length)
END

# scan DIRECTORY OPTION...
how=
scan()
{
	directory=$1
	shift
	rm -f run.json
	# "how" is nothing, or a word.
	$how "$MLGEN" --name=t --directory="$directory" --dataset=scan \
		--format=tar --loader=pytorch --batch_size=1 --json=run.json \
		--invalidate=0 "$@" \
		>out 2>err
}

# looks TITLE OPTION...: all samples are found; bytes that the look has read go to
# $read, what it says to $said
looks()
{
	title=$1
	shift
	ok "$title" scan "$kind" "$@"
	set -- "$title"
	is "$1: all samples" "$(ml run.json samples sample_bytes)" \
		"$(awk '{ n++; sum += $3 } END { print n, sum }' $kind.samples)"
	read=$(json run.json jobs.0.dataset.scan_read_bytes)
	read=${read%.*}
	said=$(cat err)
}

# is_seen TITLE: each read of "wanted" is among those of a run.
is_seen()
{
	if ! can_trace; then
		skip "$1" "strace is not here"
		return
	fi
	how=trace scan $kind --bs=1g
	for file in f0 f2 f3; do
		calls $kind/$file.tar each
	done | sed -n 's/^read \([0-9]*\) @\([0-9]*\) = \1$/\2 \1/p' | sort >seen
	# What the look reads is among them: whole pages.
	is "$1" "$(comm -13 seen wanted | head -3)" ""
}

for kind in plain pax gnu; do
	ok "$kind: files are written" sh -c '"$0" write.py $1 $1 >$1.samples' \
		"$python" $kind
	# Of one sample all is read.
	sed '/f1/d' $kind.samples | awk '$3 { print $2, $3 }' | sort >wanted
	looks "$kind: with indexes"
	unlike "$kind: which are right" "$said" 'idx'
	with=$read
	is_seen "$kind: each sample is where Python says"
	mkdir -p $kind.idx
	mv $kind/*.idx $kind.idx
	looks "$kind: without them"
	ok "$kind: which reads more" test "$read" -gt "$with"
	echo "# $kind: $with bytes with indexes, $read without"
	is_seen "$kind: and finds the same"
done

# ---- what it takes
kind=plain
cp plain.idx/* plain
looks "indexes again"
bytes=$(cat plain/*.idx | wc -c)
# Of each file up to 17 lines and members without a key, their pages; an end.
ok "a few pages and the indexes are read" test "$read" -lt \
	$((bytes + (17 + 10) * 3 * 8192))
ok "all of the indexes" test "$read" -gt "$bytes"
is "(they are no files of the dataset)" "$(json run.json jobs.0.dataset.files)" 4
mv plain/f2.idx plain/f2.tar.idx
looks "another name that people use"
unlike "it is taken, too" "$said" 'idx'
ok "and saves as much" test "$read" -lt $((bytes + (17 + 10) * 3 * 8192))
rm plain/f2.tar.idx

# ---- one that is not of the file
# stale TITLE REGEX: plain/f2.idx is not as plain/f2.tar is.
stale()
{
	looks "$1"
	like "$1: is noted" "$said" \
		"^mlgen: note: plain/f2.idx: $2.*; mlgen read the file itself$"
	cp plain.idx/* plain
}
cp plain.idx/* plain
cp plain/f0.idx plain/f2.idx
stale "of another file" 'line [0-9]*: the tar file has no such member at this offset'
sed -i '$d' plain/f2.idx
stale "without its last line" 'line 1002: does not have the format of wds2idx'
sed -i -e '$d' -e '1s/.*/v1.2 1000/' plain/f2.idx
stale "without its last sample" 'line [0-9]*: the tar file continues after this member'
sed -i '1s/.*/v1.2 900/' plain/f2.idx
stale "with more lines than it says" 'line [0-9]*: more lines follow'
sed -i '1s/.*/v1.1 1001/' plain/f2.idx
stale "of another version" 'does not begin with "v1.2 SAMPLES"'
: >plain/f2.idx
stale "an empty one" 'does not begin with "v1.2 SAMPLES"'
head -c 3000000 /dev/urandom >plain/f2.idx
stale "noise" 'does not begin with "v1.2 SAMPLES"'
head -c 20000 /dev/zero | tr '\0' 'x' >plain/f2.idx
stale "one word" 'does not begin with "v1.2 SAMPLES"'
sed -i '500s/ \([0-9]*\) / 99999999999999999999 /' plain/f2.idx
stale "a number that is none" 'line 500: does not have the format of wds2idx'
sed -i '500s/ \([0-9]*\) / 9999999999999999999 /' plain/f2.idx
stale "a place behind the end" 'line 500: the tar file has no such member'
sed -i '500s/ [0-9]* some/ 9999 some/' plain/f2.idx
stale "another size" 'line [0-9]*: the tar file has no such member'
sed -i 's/some/same/g' plain/f2.idx
stale "other names" 'line [0-9]*: the tar file has no such member'
# As wds2idx is wrong by the extended headers of the next member.
awk 'NR == 500 { $2 += 1024 } { print }' plain.idx/f2.idx >plain/f2.idx
stale "a place between the others" 'line 500: the tar file has no such member'
rm plain/f2.idx
mkfifo plain/f2.idx
looks "a pipe is none" --scan_errors=skip
rm plain/f2.idx
mkdir plain/f2.idx
looks "a folder is none"
rmdir plain/f2.idx
cp plain.idx/* plain

# ---- a file that is damaged is so by its index, too
cp plain/f2.tar keep.tar
truncate -s 200000 plain/f2.tar
exits "a file that was cut is refused" 2 scan plain --scan_errors=refuse
like "in words of its own" "$(cat err)" \
	'mlgen: plain/f2.tar: at byte [0-9]*: (a member of|the file ends)'
exits "or left out" 0 scan plain
is "and the others are read" "$(ml run.json samples)" 43
cp keep.tar plain/f2.tar
"$python" - <<'END'
import io, tarfile
with tarfile.open('plain/f2.tar', 'a') as f:
    member = tarfile.TarInfo('some/more.jpg')
    member.size = 5
    f.addfile(member, io.BytesIO(b'12345'))
END
ok "a file that grew" scan plain
is "has what was added" "$(ml run.json samples)" 1044
like "and its index is not of it" "$(cat err)" \
	'plain/f2.idx: line [0-9]*: the tar file continues after this member'

# ---- as wds2idx makes it of GNU tar's list, for plain names
if tar --version 2>/dev/null | grep -q 'GNU tar'; then
	mkdir gnutar
	cp keep.tar gnutar/f2.tar
	tar --list --block-num --file keep.tar | sed 's/^block //; s/: / /' >blocks
	tar --list --verbose --file keep.tar | awk '{ print substr($1, 1, 1), $3 }' >sizes
	paste -d ' ' blocks sizes | awk '
	NR > 1 && kind == "-" {
		off = $1 * 512 - size
		off -= off % 512
		base = name
		sub(/.*\//, "", base)
		dot = index(base, ".")
		if (dot != 1) {
			key = dot ? substr(name, 1, length(name) - length(base) \
				+ dot - 1) : substr(name, 1, length(name) - 1)
			suffix = dot ? substr(base, dot + 1) : name
			line = suffix " " off " " size " " name
			if (key == last)
				lines[n] = lines[n] " " line
			else
				lines[++n] = line
			last = key
		}
	}
	{ name = $2; kind = $3; size = $4 }
	END {
		print "v1.2 " n
		for (i = 1; i <= n; i++)
			print lines[i]
	}' >gnutar/f2.idx
	is "GNU tar's list gives the same index" \
		"$(grep -v README gnutar/f2.idx | cksum)" \
		"$(grep -v README plain.idx/f2.idx | cksum)"
	ok "which is taken" scan gnutar
	unlike "without a note" "$(cat err)" 'idx'
else
	skip "GNU tar's list gives the same index" "tar is not GNU tar"
fi

done_testing
