# SPDX-License-Identifier: Apache-2.0
# rig.sh - hosts as network namespaces with names of their own, and a launcher that starts mlgen on them; tap.sh with it.
# shellcheck shell=sh
#
# Takes root; without it, without ip or without an MPI the script skips.
#
#	hosts_up N		N hosts, h1 ... hN, at 10.99.7.1 ... .N behind a switch
#	hosts_up N six		at fd00:99:7::1 ... ::N, without IPv4; Open MPI starts
#				over that, while hydra of MPICH, which knows IPv4 alone,
#				starts on a host of its own what is then put on theirs
#	on_host I COMMAND...	COMMAND on host I
#	launch MPI RANKS ARG...	mlgen ARG... by mpirun of openmpi or mpich, RANKS
#				processes dealt out to all hosts; what they say goes
#				to $T/said, the status is that of mpirun
#	RIG_UCX			in the environment: what MPICH may talk over (default tcp,self)
#	special I TEXT		from here on mlgen is started on host I by this text
#				of a shell, in which "$@" is the command; without
#				TEXT as everywhere else
#	each_mpi FUNCTION	FUNCTION MPI for each that mlgen has a plugin of
#	cable I up|down		the cable of host I
#	rank_pids		the mlgen processes of this rig, of rank 0 first

. "$(dirname "$0")/../func/tap.sh"

[ "$(id -u)" -eq 0 ] || skip_all "namespaces are made by root"
command -v ip >/dev/null || skip_all "there is no ip"
ip netns add "mlh$$-0" 2>/dev/null || skip_all "no network namespace can be made here"
rig_hosts=0

# rig_remove PID: the hosts of the script PID, and what still runs on them.
rig_remove()
{
	for rig_each in $(ip netns list | sed -n "s/^\(mlh$1-[0-9]*\).*/\1/p"); do
		for rig_pid in $(ip netns pids "$rig_each"); do
			kill -9 "$rig_pid" 2>/dev/null
		done
		ip netns del "$rig_each"
	done
}

rig_down()
{
	rig_remove $$
	rm -rf "$T"
}
trap rig_down EXIT
# A shell that a signal ends does not come to its trap of EXIT.
trap 'exit 143' INT TERM HUP

# Of scripts that were killed.
for rig_pid in $(ip netns list | sed -n 's/^mlh\([0-9]*\)-0.*/\1/p'); do
	[ -d "/proc/$rig_pid" ] || rig_remove "$rig_pid"
done

# What mpirun starts its helpers with, in the place of ssh.
cat >"$T/rsh" <<END
#!/bin/sh
while :; do
	case \$1 in
	-*)	shift ;;
	*)	break ;;
	esac
done
n=\${1##*[!0-9]}
shift
[ -z "\${rig_stays:-}" ] || exec unshare --uts sh -c 'hostname "\$0"; exec sh -c "\$1"' "h\$n" "\$*"
exec ip netns exec "mlh$$-\$n" unshare --uts sh -c 'hostname "\$0"; exec sh -c "\$1"' "h\$n" "\$*"
END
cat >"$T/into" <<END
#!/bin/sh
n=\$(hostname)
exec ip netns exec "mlh$$-\${n#h}" "\$@"
END
chmod +x "$T/rsh" "$T/into"

# address I [six]: its network card gets one.
address()
{
	if [ -z "${2:-}" ]; then
		ip -n "mlh$$-$1" addr add "10.99.7.$1/24" dev eth0
		return
	fi
	for rig_of in all default eth0 lo; do
		ip netns exec "mlh$$-$1" sysctl -qw "net.ipv6.conf.$rig_of.disable_ipv6=0"
	done >"$T/six" 2>&1
	ip -n "mlh$$-$1" -6 addr add "fd00:99:7::$1/64" dev eth0 nodad 2>>"$T/six" ||
		skip_all "no IPv6 here: $(tail -n 1 "$T/six")"
}

hosts_up()
{
	rig_hosts=$1 rig_family=${2:-}
	ip -n "mlh$$-0" link add sw type bridge
	ip -n "mlh$$-0" link set sw up
	ip -n "mlh$$-0" link set lo up
	rig_list=
	for rig_i in $(seq "$1"); do
		ip netns add "mlh$$-$rig_i"
		ip link add eth0 netns "mlh$$-$rig_i" type veth peer name "p$rig_i" netns "mlh$$-0"
		ip -n "mlh$$-0" link set "p$rig_i" master sw up
		address "$rig_i" "$rig_family"
		ip -n "mlh$$-$rig_i" link set eth0 up
		ip -n "mlh$$-$rig_i" link set lo up
		if [ -z "$rig_family" ]; then
			rig_list="$rig_list,10.99.7.$rig_i"
		else
			rig_list="$rig_list,h$rig_i"
		fi
	done
	rig_list=${rig_list#,}
}

on_host()
{
	rig_host=$1
	shift
	ip netns exec "mlh$$-$rig_host" unshare --uts sh -c \
		'hostname "$0"; exec "$@"' "h$rig_host" "$@"
}

# The command of a launcher, but for what it starts; MPI_ARGS is added.
launcher()
{
	case $1${rig_family:-} in
	openmpisix)
		echo "mpirun.openmpi --allow-run-as-root --bind-to none --oversubscribe \
			--map-by node --mca plm_rsh_agent $T/rsh \
			--host $(echo "$rig_list" | sed 's/,/:16,/g'):16 -n $2 ${MPI_ARGS:-}" ;;
	mpichsix)
		echo "mpirun.mpich -launcher ssh -launcher-exec $T/rsh -localhost 127.0.0.1 \
			-hosts $rig_list -ppn 1 -genv UCX_TLS ${RIG_UCX:-tcp,self} -n $2 ${MPI_ARGS:-}" ;;
	openmpi)
		echo "mpirun.openmpi --allow-run-as-root --bind-to none --oversubscribe \
			--map-by node --mca plm_rsh_agent $T/rsh \
			--mca oob_tcp_if_include 10.99.7.0/24 --mca btl_tcp_if_include 10.99.7.0/24 \
			--host $(echo "$rig_list" | sed 's/,/:16,/g'):16 -n $2 ${MPI_ARGS:-}" ;;
	mpich)
		echo "mpirun.mpich -launcher ssh -launcher-exec $T/rsh \
			-hosts $rig_list -ppn 1 -genv UCX_TLS tcp,self -n $2 ${MPI_ARGS:-}" ;;
	esac
}

special()
{
	rig_by=
	[ -n "${2:-}" ] || return 0
	cat >"$T/by" <<END
#!/bin/sh
if [ "\$(hostname)" != "h$1" ]; then
	exec "\$@"
fi
$2
END
	chmod +x "$T/by"
	rig_by=$T/by
}

launch()
{
	rig_mpi=$1 rig_ranks=$2
	rig_from=1 rig_into=
	shift 2
	if [ "$rig_mpi$rig_family" = mpichsix ]; then
		rig_from=0 rig_into=$T/into
		export rig_stays=yes
	fi
	# shellcheck disable=SC2046,SC2086 # words
	on_host $rig_from $(launcher "$rig_mpi" "$rig_ranks") $rig_into ${rig_by:-} "$MLGEN" "$@" \
		>"$T/said" 2>&1 </dev/null
	rig_status=$?
	unset rig_stays
	return $rig_status
}

each_mpi()
{
	rig_any=
	for rig_each in openmpi mpich; do
		[ -f "$BUILT/build/mlgen-mpi-$rig_each.so" ] &&
			command -v "mpirun.$rig_each" >/dev/null || continue
		rig_any=yes
		"$1" "$rig_each"
	done
	[ -n "$rig_any" ] || skip_all "mlgen has no plugin for an MPI that is here"
}

cable()
{
	ip -n "mlh$$-$1" link set eth0 "$2"
}

rig_is_mlgen()
{
	[ "$(readlink "/proc/$1/exe" 2>/dev/null)" = "$(readlink -f "$MLGEN")" ]
}

# Those whose program is ours, in a namespace of ours: "RANK PID" lines. What
# such a process forks (which takes its memory group away behind it) is none.
rank_pids()
{
	for rig_i in $(seq "$rig_hosts"); do
		for rig_pid in $(ip netns pids "mlh$$-$rig_i"); do
			rig_is_mlgen "$rig_pid" || continue
			rig_is_mlgen "$(sed -n 's/^PPid:[^0-9]*//p' \
				"/proc/$rig_pid/status" 2>/dev/null)" && continue
			# It may have ended since.
			rig_rank=$(tr '\0' '\n' 2>/dev/null <"/proc/$rig_pid/environ" |
				sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p' | head -n 1)
			[ -z "$rig_rank" ] || echo "$rig_rank $rig_pid"
		done
	done 2>/dev/null | sort -n
}

# figure FILE KEY: of its first job.
figure()
{
	"$MLGEN" --table="$2" --output-format=csv "$1" | sed -n 2p
}
