#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 118-cpu-quota.sh - under a CPU quota the group's own use is told, whatever the rest of the host does.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# The group of this process with the cpu controller, of version 1 or 2.
cpu_group()
{
	at=$(sed -n 's/^[0-9]*:\([^:]*,\)\{0,1\}cpu\(,[^:]*\)\{0,1\}://p' \
		/proc/self/cgroup)
	if [ "$at" ]; then
		echo "/sys/fs/cgroup/cpu$at"
	else
		echo "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"
	fi
}
group=$(cpu_group)/mlgen-test-$$
mkdir "$group" 2>/dev/null ||
	skip_all "no control group can be made; needs root and a cpu controller"
burner=
leave()
{
	[ -z "$burner" ] || kill "$burner" 2>/dev/null
	while [ -d "$group" ] && ! rmdir "$group" 2>/dev/null; do
		sleep 0.05
	done
}
trap leave EXIT
# A second has twenty periods. The group comes before all others on this host, so that
# only its quota limits it.
{ { echo 50000 >"$group/cpu.cfs_period_us" &&
	echo 10000 >"$group/cpu.cfs_quota_us" &&
	echo 262144 >"$group/cpu.shares"; } ||
	{ echo '10000 50000' >"$group/cpu.max" &&
	echo 10000 >"$group/cpu.weight"; }; } 2>/dev/null ||
	skip_all "no CPU quota can be set in $group"

# in_group COMMAND...
in_group()
{
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

at_most()
{
	awk -v most="$1" -v n="$2" 'BEGIN { exit !(n != "null" && n + 0 <= most) }'
}

at_least()
{
	awk -v least="$1" -v n="$2" 'BEGIN { exit !(n + 0 >= least) }'
}

while :; do :; done &
burner=$!
in_group "$MLGEN" --name=x --ioengine=null --format=raw --num_files=64 \
	--sample_size=64k --batch_size=4 --compute_time=20ms --runtime=500ms \
	--time_based --json=run.json >out 2>err </dev/null
kill "$burner"
burner=
is "what percents are of is the quota" "$(ml run.json host.cpus)" 0.2
like "which is said, and whose use was counted" \
	"$(ml run.json host.cpu_percent_of)" '^quota(, mlgen alone)?$'
like "in words, too" "$(cat out)" '^ *host  *CPU [0-9.]*% of a quota of 0\.2 '
ok "a busy host is not mlgen's use of its quota" \
	at_most 60 "$(ml run.json host.cpu_percent)"
# The burner has at least a fifth of a CPU, however many others want one.
ok "the rest is noise" at_least "$((20 / $(nproc)))" \
	"$(ml run.json host.noise.busy_percent)"
unlike "and the verdict does not speak of full CPUs" \
	"$(ml run.json verdict.headline)" 'CPU.* (busy|used)'

# Four threads that never wait.
in_group "$MLGEN" --name=x --ioengine=null --rw=randread --bs=4k --size=1g \
	--numjobs=4 --group_reporting --runtime=1 --time_based \
	--json=full.json >out 2>err </dev/null
ok "a quota that is used up is told" \
	at_least 90 "$(json full.json jobs.0.io.host.cpu_percent)"
like "as what this host is limited by" "$(cat out)" \
	'HOST-BOUND.*CPU quota [0-9.]*% used \(0\.2 CPUs\)'
done_testing
