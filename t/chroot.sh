# SPDX-License-Identifier: Apache-2.0
# chroot.sh - what t/fresh and t/package share: a minimal Debian in a folder of its own, and commands in it.
# shellcheck shell=sh
#
# Sourced with $name, of the script, by root (asked for) in a mount namespace of
# its own (made here). Debian comes from where this host's own packages come from.
# The folder is below $TMPDIR (/var/tmp), and is removed with all that was mounted
# in it, which nobody else sees.
#
#	$top			the source tree
#	$root			the new system; its /mlgen has the last commit
#	there TITLE COMMAND	in its /mlgen; the output is in $root/out, and
#				$failed is 1 where it fails
#	die WHY

failed=0

die()
{
	echo "$name: $1" >&2
	exit 1
}

if [ "${1:-}" != --inside ]; then
	[ "$(id -u)" -eq 0 ] || die "needs root, to mount and to chroot"
	command -v debootstrap >/dev/null ||
		die "needs debootstrap: apt-get install debootstrap"
	exec unshare --mount --propagation private "$0" --inside
fi

top=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d "${TMPDIR:-/var/tmp}/mlgen-$name.XXXXXX")

clean_up()
{
	for dir in /dev/shm /dev/pts /dev /sys /proc ''; do
		! mountpoint -q "$root$dir" || umount "$root$dir" || return
	done
	rm -rf --one-file-system "$root"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
mount --bind "$root" "$root"	# tests make mount namespaces below it

# Suite and place of the package lists that apt has here.
. /etc/os-release
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' \
	'Created-By: Packages' |
	awk -v suite="$VERSION_CODENAME" '$2 == suite && $3 == "main" { print $1; exit }')
[ -n "$mirror" ] || die "apt knows no package list of $VERSION_CODENAME here"

echo "$name: debootstrap of $VERSION_CODENAME"
debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" \
	>"$root.log" 2>&1 || { tail "$root.log"; rm "$root.log"; die "debootstrap failed"; }
rm "$root.log"
chmod 755 "$root"	# tests go on as nobody
rm -rf "$root/etc/apt"
cp -a /etc/apt "$root/etc/apt"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || :
mkdir "$root/mlgen"
git -C "$top" archive HEAD | tar -x -C "$root/mlgen"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t devtmpfs dev "$root/dev"
[ -d "$root/dev/pts" ] || mkdir "$root/dev/pts"
mount -t devpts -o ptmxmode=0666 devpts "$root/dev/pts"
[ -d "$root/dev/shm" ] || mkdir "$root/dev/shm"
mount -t tmpfs shm "$root/dev/shm"

# there TITLE COMMAND: in the new system; its output to out.
there()
{
	start=$(date +%s)
	status=0
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 TERM=dumb sh -c "cd /mlgen && $2" \
		>"$root/out" 2>&1 </dev/null || status=$?
	echo "$name: $1: status $status after $(($(date +%s) - start)) s: $2"
	# shellcheck disable=SC2034 # for the caller
	[ "$status" -eq 0 ] || failed=1
}
