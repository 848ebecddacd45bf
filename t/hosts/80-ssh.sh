#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 80-ssh.sh - the example for hosts that only ssh reaches starts one job on two of them, by mpirun of each MPI.
# Sleeps: launchers and daemons take a second to start.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"

sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) ||
	skip_all "there is no sshd (openssh-server of Debian has it)"
hosts_up 2

# Daemons of our own, one a host, which know one key.
ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub known || skip_all "no key can be made"
cat >sshd.conf <<END
HostKey $T/key
AuthorizedKeysFile $T/known
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
END
chmod 600 key
mkdir bin
# Which sshd asks for.
if mkdir /run/sshd 2>/dev/null; then
	trap 'rig_down; rmdir /run/sshd' EXIT
fi
cat >bin/ssh <<END
#!/bin/sh
exec /usr/bin/ssh -F /dev/null -i "$T/key" -o StrictHostKeyChecking=no \\
	-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "\$@"
END
chmod +x bin/ssh
PATH=$T/bin:$PATH
for i in 1 2; do
	on_host "$i" "$sshd" -D -e -f "$T/sshd.conf" -o "ListenAddress=10.99.7.$i" 2>"sshd.$i" &
done

reaches()
{
	on_host 1 ssh "10.99.7.$1" true 2>/dev/null
}
poll reaches 1 && poll reaches 2 || skip_all "sshd does not start: $(cat sshd.1)"

cat >j.job <<'END'
[j]
format=raw
num_files=64
sample_size=6k
batch_size=2
compute_time=1ms
accelerators=2
directory=data
END
"$MLGEN" j.job --accelerators=4 --json=one.json --quiet >one.out 2>&1 || cat one.out

by_ssh()
{
	case $1 in
	openmpi) args="--allow-run-as-root --mca oob_tcp_if_include 10.99.7.0/24" ;;
	mpich)	args="-launcher-exec $T/bin/ssh" ;;
	esac
	on_host 1 env MPIRUN="mpirun.$1" MPI_ARGS="$args" MLGEN="$MLGEN" \
		sh "$TOP/examples/ssh-hosts.sh" 10.99.7.1,10.99.7.2 \
		"$T/j.job" --directory="$T/data" --json="$T/all.json" >said 2>&1 </dev/null
	is "$1: two hosts reached by ssh end well" $? 0
	like "$1: they are one job" "$(cat said)" '2 hosts, 4 accelerators'
	is "$1: which reads what one process reads" \
		"$(figure all.json samples) $(figure all.json read.io_bytes)" \
		"$(figure one.json samples) $(figure one.json read.io_bytes)"
	is "$1: and what is missed is the status of all" "$(on_host 1 env MPIRUN="mpirun.$1" \
		MPI_ARGS="$args" MLGEN="$MLGEN" sh "$TOP/examples/ssh-hosts.sh" \
		10.99.7.1,10.99.7.2 "$T/j.job" --directory="$T/data" --quiet \
		--require='samples_per_sec>=1e12' >said 2>&1 </dev/null; echo $?)" 3
}
each_mpi by_ssh
done_testing
