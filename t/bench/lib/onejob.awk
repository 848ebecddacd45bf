# SPDX-License-Identifier: Apache-2.0
# onejob.awk - one plain job from a trace's CSV, as fio distillations have it: sizes, mix, depth, think time.
#
#	mltrace export --format=csv TRACE | awk -f onejob.awk >one.job
#
# What storage benchmarks do with a trace (MLPerf Storage v3.0's
# kv_cache_benchmark/utils/distill_fio.py): how often each size is asked for, by
# direction, what part reads, how many requests are under way, how long a thread
# is between two. Where in which file, and in which order, is lost.

BEGIN { FS = "," }

NR == 1 || $1 == "" || $2 == "" { next }

{
	end = $1 + $2
	if ($6 == "read" || $6 == "write") {
		bytes = $10 + 0
		if (bytes <= 0)
			next
		size = bytes < 512 ? 512 : bytes
		sizes[$6 " " size]++
		count[$6]++
		moved += bytes
		busy += $2
		if ($8 + bytes > high[$7])
			high[$7] = $8 + bytes
		if ($4 in last && $1 > last[$4])
			think += $1 - last[$4]
		if (!first || $1 < first)
			first = $1
		if (end > over)
			over = end
	}
	if (($6 == "read" || $6 == "write" || $6 == "open" || $6 == "close") &&
	    end > last[$4])
		last[$4] = end
}

# The most frequent ones, at most so many; what is left is the first's.
function split_of(op,	key, word, n, i, k, best, rest, text, most)
{
	rest = 100
	for (n = 0; n < 30; n++) {
		best = ""
		for (key in sizes) {
			split(key, word, " ")
			if (word[1] == op && (best == "" ||
			    sizes[key] > sizes[best]))
				best = key
		}
		if (best == "")
			break
		split(best, word, " ")
		k = int(1e4 * sizes[best] / count[op]) / 100
		delete sizes[best]
		if (n == 0) {
			most = word[2]
			continue
		}
		if (k <= 0)
			break
		rest -= k
		text = text ":" word[2] "/" k
	}
	return most "/" sprintf("%.2f", rest) text
}

END {
	reads = count["read"] + 0
	writes = count["write"] + 0
	if (reads + writes == 0) {
		print "onejob: nothing is read or written" >"/dev/stderr"
		exit 1
	}
	for (file in high)
		total += high[file]
	depth = int(busy / (over - first) + 0.5)
	print "[one]"
	if (reads && writes) {
		print "rw=randrw"
		printf "rwmixread=%.2f\n", 100 * reads / (reads + writes)
		print "bssplit=" split_of("read") "," split_of("write")
	} else if (reads) {
		print "rw=randread"
		print "bssplit=" split_of("read")
	} else {
		print "rw=randwrite"
		print "bssplit=" split_of("write")
	}
	printf "size=%.0f\nio_size=%.0f\n", total, moved
	print "norandommap=1"
	if (depth > 1)
		printf "ioengine=io_uring\niodepth=%d\n", depth
	if (depth < 1)
		depth = 1
	printf "thinktime=%.0fus\n", think / (reads + writes) / depth / 1000
}
