#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 195-metrics-prometheus.sh - a real Prometheus scrapes a run, and every panel of the dashboard has something to show.
# Alone: scraped each second

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

python=/usr/bin/python3
client=$TOP/t/func/metrics.py

command -v prometheus >/dev/null || skip_all "prometheus is not here"
command -v promtool >/dev/null || skip_all "promtool is not here"
$python -c '' 2>/dev/null || skip_all "python3 is not here"
"$MLGEN" --name=x --ioengine=null --rw=read --size=1m --dry-run --metrics=0 \
	>dry 2>&1 || skip_all "$(head -n 1 dry)"

ok "promtool takes the configuration that comes with mlgen" \
	promtool check config "$TOP/examples/prometheus.yml"

# All that the dashboard has a panel for: a preparation, a cache tier,
# checkpoints, and steps that wait.
cat >all.job <<'END'
[global]
format=raw
[made]
phase=prepare
directory=made
num_files=30000
sample_size=1k
[all]
stonewall
directory=data
num_files=400
sample_size=16k
batch_size=4
compute_time=10ms
accelerators=2
read_threads=1
cache=lru
cache_size=50%
cache_directory=memory
checkpoint_every=40 steps
checkpoint_directory=saved
checkpoint_size=4m
checkpoint_keep=1
epochs=1000
runtime=10
END
# Which ports are free nobody knows before.
free_port()
{
	$python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

port=$(free_port)
place=127.0.0.1:$(free_port)
sed "s/127\.0\.0\.1:9100/$place/; s/scrape_interval: .*/scrape_interval: 250ms/" \
	"$TOP/examples/prometheus.yml" >prometheus.yml
began=$(date +%s)
prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb \
	--web.listen-address="127.0.0.1:$port" --log.level=error >prom.log 2>&1 &
prometheus=$!
trap 'kill $prometheus 2>/dev/null; wait $prometheus' EXIT

# query EXPRESSION: the value of the first series
query()
{
	$python - "http://127.0.0.1:$port/api/v1/query" "$1" <<'END'
import json, sys, urllib.parse, urllib.request
url = sys.argv[1] + '?' + urllib.parse.urlencode({'query': sys.argv[2]})
r = json.load(urllib.request.urlopen(url, timeout=20))['data']['result']
print(r[0]['value'][1] if r else 'none')
END
}

# is_up WANT: 1 while something is served
is_up()
{
	[ "$(query 'up{job="mlgen"}' 2>/dev/null)" = "$1" ]
}

ok "nothing is there before a run" poll is_up 0
background "$MLGEN" all.job --ceiling=no --metrics="$place" --metrics-linger=60s --json=r.json
ok "Prometheus scrapes it then" poll is_up 1
finish
is "which ends when it has the last page" "$status" 0
note "$(tail -n 3 err)"
is "as Prometheus has seen it to be done" "$(query 'max_over_time(mlgen_phase{section="all"}[1m])')" 6
is "the samples that it has are those of the report" \
	"$(query 'max_over_time(mlgen_samples_total{section="all"}[1m])')" \
	"$(json r.json jobs.1.ml.samples)"
is "and so are the bytes" "$(query 'max_over_time(mlgen_read_bytes_total{section="all"}[1m])')" \
	"$(json r.json jobs.1.read.io_bytes)"
is "each query of the dashboard comes to something" \
	"$($python "$client" panels "http://127.0.0.1:$port" \
		"$TOP/examples/grafana/mlgen.json" "$began" "$(date +%s)")" \
	"asked $(grep -c '"expr"' "$TOP/examples/grafana/mlgen.json")"
unlike "Prometheus has no complaint" "$(cat prom.log)" 'level=(warn|error)'
done_testing
