#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 131-scan-images.sh - images and tables, made and found, are opened by Pillow and pandas, and read as they read them.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

python=/usr/bin/python3
read_alone="--read_threads=1 --prefetch=1 --shuffle=none --invalidate=0
	--drop_last=0 --quiet --json=run.json"

# run OPTION...: its report is in run.json.
run()
{
	rm -f run.json
	# shellcheck disable=SC2086 # several options
	"$MLGEN" --name=s $read_alone "$@" >out 2>err
}

# prepare OPTION...: a new dataset in "data".
prepare()
{
	rm -rf data
	"$MLGEN" --name=n --directory=data --phase=prepare "$@" >out 2>&1
}

# ---- what is refused
exits "a PNG file of several samples" 2 "$MLGEN" --name=n --format=png \
	--samples_per_file=2 --dry-run
like "is none" "$(cat err)" 'samples_per_file: 2 do not fit format=png'
exits "nor is one smaller than a pixel" 2 "$MLGEN" --name=n --format=png \
	--sample_size=89 --dry-run
like "and the least is told" "$(cat err)" 'sample_size: 89 .* at least 90$'
exits "nor one that is a bomb to Pillow" 2 "$MLGEN" --name=n --format=png \
	--sample_size=86m --dry-run
like "whose limit is told" "$(cat err)" 'at most 85m$'

# ---- tables
prepare --format=csv --num_files=3 --samples_per_file=4 --sample_size=1000
is "a row of csv has as many numbers as the sample has bytes" \
	"$(awk -F, '{ print NF }' data/train/*.csv | sort | uniq -c |
		sed 's/^ *//')" "12 1000"
is "of one to three digits, some 3.57 bytes each" \
	"$(cat data/train/*.csv | wc -c)" "$((12 * 3570))"
csv="--directory=data --format=csv --num_files=3 --samples_per_file=4
	--sample_size=1000"
# shellcheck disable=SC2086
run $csv
is "a row is what access=plain reads" "$(ml run.json samples io_bytes)" \
	"12 $((12 * 3570))"
# shellcheck disable=SC2086
run $csv --access=framework
is "pandas reads the file for each" "$(ml run.json samples io_bytes \
	ops.open.total ops.read.total)" "12 $((12 * 4 * 3570)) 12 36"
mkdir tables
printf 'a,b\n1,2\n' >tables/1.csv
printf '1,"x\ny"\r\n2,z\r\n\r\n3,w' >tables/2.csv
for i in $(seq 1000); do echo "$i,$i"; done >tables/3.csv
run --directory=tables --dataset=scan --format=csv
is "tables of 2, 3 and 1,000 rows are found" "$(ml run.json samples io_bytes)" \
	"1005 $(cat tables/*.csv | wc -c)"
printf '1,"2\n3,4\n' >tables/4.csv
run --directory=tables --dataset=scan --format=csv
like "a quote that does not end is an error" "$(cat err)" \
	'tables/4.csv: at byte 2: the quote that opens here is not closed'
rm tables/4.csv

# ---- readers from elsewhere
"$python" -c 'import numpy, PIL' 2>/dev/null || {
	skip "Pillow opens every image" \
		"$python has no Pillow or NumPy (Debian: python3-pil, python3-numpy)"
	done_testing
	exit
}

# open.py SIZE...: of each size there is a file, which decodes without a
# warning, to noise.
cat >open.py <<'END'
import glob, os, sys, warnings
import numpy
from PIL import Image

warnings.simplefilter('error')
sizes, heads = [], set()
names = glob.glob('data/**/train/**/*.png', recursive=True)
for name in names:
    sizes.append(os.path.getsize(name))
    with Image.open(name) as image:
        image.verify()
    with Image.open(name) as image:
        image.load()
        assert image.format == 'PNG' and image.mode == 'L', name
        a = numpy.asarray(image)
    if sizes[-1] > 2000:
        assert a.std() > 30 and 0.9 < a.shape[0] / a.shape[1] < 1.1, name
        heads.add(a.tobytes()[:64])
if sys.argv[1:]:
    assert sorted(sizes) == sorted(map(int, sys.argv[1:])), sorted(sizes)
else:
    assert len(heads) == sum(s > 2000 for s in sizes), 'two begin alike'
print(len(names))
END

sizes="90 91 92 100 150 1000 4096 65535 65536 65600 65640 131072 131200
	300001 1000003 5000000"
for bytes in $sizes; do
	printf '[b%d]\nstonewall\nnum_files=1\nsample_size=%d\n' "$bytes" \
		"$bytes"
done >sizes.job
rm -rf data
# shellcheck disable=SC2016 # for mlgen, which knows $jobname
"$MLGEN" sizes.job --directory='data/$jobname' --format=png --phase=prepare \
	>out 2>&1
# shellcheck disable=SC2086 # one word each
is "Pillow opens images of all sizes" "$("$python" open.py $sizes 2>&1)" 16
mkdir made
mv data made/sizes
prepare --format=png --num_files=40 --sample_size=uniform:50:400k
is "and of sizes that are drawn" "$("$python" open.py 2>&1)" 40
mv data made/drawn

cat >make.py <<'END'
import os, struct, zlib
import numpy as np
from PIL import Image, PngImagePlugin

r = np.random.default_rng(1)

def image(w, h):
    return Image.fromarray(r.integers(0, 256, (h, w), dtype=np.uint8))

os.mkdir('png')
os.mkdir('jpeg')
for w, h in ((1, 1), (40, 40), (63, 63), (64, 64), (100, 100), (255, 256),
             (300, 217), (569, 569), (2000, 1000)):
    image(w, h).save('png/n%dx%d.png' % (w, h))
    image(w, h).save('jpeg/n%dx%d.jpeg' % (w, h))
Image.fromarray(np.zeros((3000, 2000), np.uint8)).save('png/empty.png')
Image.fromarray(r.integers(0, 256, (300, 200, 3), dtype=np.uint8)).save(
    'png/colours.png')
image(400, 400).save('png/profile.png', icc_profile=r.bytes(30000))
info = PngImagePlugin.PngInfo()
info.add_text('k', 'v' * 5000)
info.add_text('a', 'b')
image(400, 400).save('png/text.png', pnginfo=info)

def again(name, length):        # in chunks of another length
    data, off, idat, head, tail = open('png/n569x569.png', 'rb').read(), 8, b'', b'', b''
    while off < len(data):
        n, = struct.unpack('>I', data[off:off + 4])
        chunk = data[off:off + 12 + n]
        off += 12 + n
        if chunk[4:8] == b'IDAT':
            idat += chunk[8:-4]
        elif idat:
            tail += chunk
        else:
            head += chunk
    with open(name, 'wb') as f:
        f.write(data[:8] + head)
        for at in range(0, len(idat), length):
            part = b'IDAT' + idat[at:at + length]
            f.write(struct.pack('>I', len(part) - 4) + part +
                    struct.pack('>I', zlib.crc32(part)))
        f.write(tail)

def added(name, before, after):         # by Apple's tools, by anybody
    data = open('png/n569x569.png', 'rb').read()
    open(name, 'wb').write(data[:8] + before + data[8:] + after)

part = b'CgBIP\0 \6'
part = struct.pack('>I', 4) + part + struct.pack('>I', zlib.crc32(part))
added('png/cgbi.png', part, b'')
added('png/longer.png', b'', b'x' * 9000)
added('png/both.png', part, b'y')

for length in (100, 8192, 32768, 100000, 10**9):
    again('png/c%d.png' % length, length)
END
ok "Pillow writes images of any chunks" "$python" make.py
run --directory=png --dataset=scan --format=png
is "each is a sample" "$(ml run.json samples io_bytes)" \
	"21 $(cat png/* | wc -c)"
mkdir bad
head -c 5000 png/n100x100.png >bad/cut.png
run --directory=bad --dataset=scan --format=png
like "one that is cut off is refused" "$(cat err)" 'bad/cut.png: .*incomplete'
cp jpeg/n64x64.jpeg bad/cut.png
run --directory=bad --dataset=scan --format=png
like "as is one that is none" "$(cat err)" \
	'bad/cut.png: at byte 0: no PNG file begins here'

# ---- call by call
reason=$(no_python_calls "$python")
if [ -n "$reason" ]; then
	skip "images and tables are read as Pillow and pandas read them" "$reason"
	done_testing
	exit
fi

# The first one imports.
cat >load.py <<'END'
import sys
for name in sys.argv[1:2] + sys.argv[1:]:
    if name.endswith('.csv'):
        import pandas
        pandas.read_csv(name, compression='infer', header=None).to_numpy()
    else:
        from PIL import Image
        with Image.open(name) as image:
            image.load()
END

# alike TITLE DIRECTORY FORMAT
alike()
{
	title=$1 directory=$2 format=$3
	find "$directory" -name "*.$format" | sort >names
	# shellcheck disable=SC2046 # names without blanks
	trace "$python" load.py $(cat names) >out 2>&1
	# shellcheck disable=SC2046
	calls_of $(cat names) >theirs
	# shellcheck disable=SC2086
	trace "$MLGEN" --name=s $read_alone --directory="$directory" \
		--dataset=scan --format="$format" --access=framework >out 2>&1
	# shellcheck disable=SC2046
	calls_of $(cat names) >ours
	if [ "$(grep -c '^close' ours)" -eq "$(wc -l <names)" ]; then
		ok "$title" diff theirs ours
	else
		tap_fail "$title" "not every file was read" "$(cat out)"
	fi
}

alike "PNG files of others are read as Pillow reads them" png png
alike "JPEG files, too" jpeg jpeg
alike "and the PNG files that mlgen makes" made/sizes png
made="--directory=made/drawn --format=png --num_files=40
	--sample_size=uniform:50:400k"
# shellcheck disable=SC2086
trace "$MLGEN" --name=s $read_alone $made --access=framework >out 2>&1
calls_of made/drawn/train/*.png >ours
trace "$python" load.py made/drawn/train/*.png >out 2>&1
calls_of made/drawn/train/*.png >theirs
ok "which are read the same without a scan" diff theirs ours

"$python" -c 'import pandas' 2>/dev/null || {
	skip "csv files are read as pandas reads them" \
		"$python has no pandas (Debian: python3-pandas)"
	done_testing
	exit
}
printf '%0262143d\n' 1 >tables/whole.csv
printf '%0524288d\n' 1 >tables/more.csv
alike "csv files are read as pandas reads them" tables csv

done_testing
