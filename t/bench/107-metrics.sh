#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 107-metrics.sh - what --metrics takes of a training's utilisation, scraped each second and by clients that mean harm.

. "$(dirname "$0")/lib/figures.sh"

rounds=${ROUNDS:-6}	# the first of which does not count
seconds=${SECONDS_EACH:-4}
python=/usr/bin/python3
client=$bench_top/t/func/metrics.py

# No storage, and steps short enough that what a thread loses is seen: two
# accelerators of 10 ms a step, as many loaders as there are CPUs.
metrics_run()
{
	metrics_arm=$1
	shift
	"$MLGEN" --name=x --phase=train --directory="$T/none" --format=raw \
		--num_files=10000 --sample_size=64k --batch_size=4 \
		--accelerators=2 --read_threads=1 --compute_time=10ms \
		--ioengine=null --time_based --runtime="${seconds}s" \
		--ceiling=no --quiet --json="$T/run.json" "$@" \
		>"$T/out" 2>"$T/err" &
	metrics_run=$!
	case $metrics_arm in
	scraped|hostile)	clients "$metrics_arm" >"$T/pages" & metrics_clients=$! ;;
	*)			metrics_clients= ;;
	esac
	wait "$metrics_run" || { cat "$T/err" >&2; exit 1; }
	[ -z "$metrics_clients" ] || wait "$metrics_clients" || :
	json "$T/run.json" jobs.0.ml.au_percent >>"$T/arm.$metrics_arm"
}

# Until the run is gone: a scrape each second, or all that a server has to bear.
clients()
{
	until metrics_url=$(sed -n 's/.*metrics are at //p' "$T/err") &&
		[ "$metrics_url" ]; do
		kill -0 "$metrics_run" 2>/dev/null || return 0
	done
	exec $python - "$client" "$1" "$metrics_url" "$metrics_run" <<'END'
import os, subprocess, sys, time, urllib.request
client, how, url, pid = sys.argv[1:]
pages = 0
while os.path.exists('/proc/' + pid):
    try:
        if how == 'hostile':
            subprocess.run([sys.executable, client, how, url], timeout=10)
        else:
            pages += len(urllib.request.urlopen(url, timeout=5).read()) > 1000
    except OSError:
        pass
    time.sleep(1)
print(pages)
END
}

round()
{
	metrics_run before
	metrics_run scraped --metrics=0
	metrics_run filed --metrics-file="$T/m.prom"
	metrics_run hostile --metrics=0
	metrics_run after
}

of()
{
	for metrics_arm; do
		tail -n +2 "$T/arm.$metrics_arm"
	done | median
}

i=0
while [ "$i" -lt "$rounds" ]; do
	round
	i=$((i + 1))
done
off=$(of before after)
figure "utilisation without metrics, %" "$off"
figure "after - before, points (noise)" "$(calc "$(of after) - $(of before)")"
at_most "points lost: scraped each second" "$(calc "$off - $(of scraped)")" 0.3
at_most "points lost: a file each second" "$(calc "$off - $(of filed)")" 0.3
figure "points lost: a thousand connections, half requests, large headers" \
	"$(calc "$off - $(of hostile)")"
verdict
