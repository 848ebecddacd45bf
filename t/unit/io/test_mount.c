/* SPDX-License-Identifier: Apache-2.0 */
/* test_mount.c - filesystem and device under a path, from trees of the test's own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "io/devices.h"
#include "suites.h"
#include "temp.h"

static char root[TEMP_BYTES];

static void make_parents(const char *path)
{
	char name[600];

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *s = name + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(name, 0755);
		*s = '/';
	}
}

static void put_file(const char *path, const char *text)
{
	char name[600];

	make_parents(path);
	snprintf(name, sizeof(name), "%s%s", root, path);
	FILE *f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void put_link(const char *path, const char *to)
{
	char name[600];

	make_parents(path);
	snprintf(name, sizeof(name), "%s%s", root, path);
	ck_assert_int_eq(symlink(to, name), 0);
}

#define VDA "/sys/devices/pci0/virtio1/block/vda"
#define NVME "/sys/devices/pci0/nvme/nvme1/nvme1n1"

#define HEAD "/sys/devices/virtual/nvme-subsystem/nvme-subsys7/nvme7n1"

static const char mountinfo[] = "22 27 0:21 / /proc rw - proc proc rw\n"
				"27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard\n"
				"30 27 0:27 / /tmp rw,nosuid - tmpfs tmpfs rw,size=4k\n"
				"28 27 0:6 / /dev rw,nosuid - devtmpfs udev rw\n"
				"29 27 0:28 / /ram rw - ramfs ram rw\n"
				"31 27 0:45 / /mnt/array rw,relatime shared:3 master:1 - nfs4 "
				"192.0.2.1:/ai rw,vers=4.2,rsize=1048576\n"
				"32 27 259:3 / /mnt/nvme ro,noatime - xfs /dev/nvme1n1 rw,attr2\n"
				"33 27 0:50 / /mnt/with\\040blank\\011tab rw - btrfs /dev/vdb rw\n"
				"34 27 253:0 / /mnt/lv rw - ext4 /dev/mapper/vg-lv ro\n"
				"35 27 0:60 / /over rw - overlay overlay rw,lowerdir=/a:/b\n"
				"36 27 0:61 / /stack rw - tmpfs first rw\n"
				"37 36 0:62 / /stack rw - tmpfs second rw\n"
				"38 27 259:9 / /mnt/paths rw - xfs /dev/nvme7n1 rw\n"
				"39 27 253:5 / /mnt/mpath rw - xfs /dev/mapper/mpatha rw\n"
				"40 27 0:70 / /mnt/lfs rw - lustre 192.0.2.5@tcp:/fs rw,flock\n"
				"41 27 0:71 / /tank rw - zfs tank rw,xattr\n"
				"a line that is none\n";

static void make_root(void)
{
	temp_folder(root);
	put_file("/proc/self/mountinfo", mountinfo);
	put_file(VDA "/dev", "254:0\n");
	put_file(VDA "/queue/scheduler", "mq-deadline kyber [none]\n");
	put_file(VDA "/queue/read_ahead_kb", "128\n");
	put_link(VDA "/device", "../../../virtio1");
	put_link("/sys/devices/pci0/virtio1/subsystem", "../../bus/virtio");
	put_file(VDA "/vda1/partition", "1\n");
	put_link("/sys/dev/block/254:1", "../../devices/pci0/virtio1/block/vda/vda1");
	put_file("/sys/block/vda/stat", "  100 5 2000 7 1 2 3 4 5 6 7 0 0 0 0\n");
	put_file(NVME "/dev", "259:3\n");
	put_file(NVME "/queue/scheduler", "none\n");
	put_file(NVME "/queue/read_ahead_kb", "4096\n");
	put_file(NVME "/device/transport", "rdma\n");
	put_file(NVME "/device/model", "FAST DISK 3000            \n");
	put_link(NVME "/device/subsystem", "../../../class/nvme");
	put_link("/sys/dev/block/259:3", "../../devices/pci0/nvme/nvme1/nvme1n1");
	put_file("/sys/devices/virtual/block/dm-0/dev", "253:0\n");
	put_file("/sys/devices/virtual/block/dm-0/dm/name", "vg-lv\n");
	put_link("/sys/dev/block/253:0", "../../devices/virtual/block/dm-0");
	put_file("/sys/class/bdi/0:45/read_ahead_kb", "15360\n");
	/* NVMe multipath: the paths know the transport */
	put_file(HEAD "/dev", "259:9\n");
	put_link(HEAD "/device", "../../nvme-subsys7");
	put_link("/sys/devices/virtual/nvme-subsystem/nvme-subsys7/subsystem",
		 "../../../../class/nvme-subsystem");
	put_link("/sys/dev/block/259:9",
		 "../../devices/virtual/nvme-subsystem/nvme-subsys7/nvme7n1");
	put_file("/sys/block/nvme7c0n1/device/transport", "tcp\n");
	put_file("/sys/block/nvme7c1n1/device/transport", "tcp\n");
	/* dm: multipath by its table */
	put_file("/sys/devices/virtual/block/dm-5/dev", "253:5\n");
	put_file("/sys/devices/virtual/block/dm-5/dm/uuid", "mpath-3600\n");
	put_link("/sys/dev/block/253:5", "../../devices/virtual/block/dm-5");
	put_link("/sys/block/dm-5/slaves/sda", "nowhere");
	put_link("/sys/block/dm-5/slaves/sdb", "nowhere");
	put_link("/sys/block/dm-0/slaves/sdc", "nowhere");
	put_file("/sys/fs/lustre/osc/fs-OST0000-osc-ffff/active", "1\n");
}

static void remove_root(void)
{
	temp_remove(root);
}

/* clang-format off */
static const struct mount_case {
	const char *path;
	unsigned dev_major, dev_minor;	/* of the path, as stat tells */
	const char *type, *source, *target, *options;
	const char *device, *kind, *scheduler;
	uint64_t read_ahead_kib;
	bool is_memory, read_only;
} cases[] = {
	{ "/home/me", 254, 1, "ext4", "/dev/vda1", "/", "rw,relatime,discard",
	  "vda", "virtio", "none", 128, false, false },
	{ "/", 254, 1, "ext4", "/dev/vda1", "/", "rw,relatime,discard",
	  "vda", "virtio", "none", 128, false, false },
	{ "/tmp/x", 0, 27, "tmpfs", "tmpfs", "/tmp", "rw,nosuid,size=4k",
	  "", "", "", 0, true, false },
	{ "/dev/x", 0, 6, "devtmpfs", "udev", "/dev", "rw,nosuid",
	  "", "", "", 0, true, false },
	{ "/ram/x", 0, 28, "ramfs", "ram", "/ram", "rw",
	  "", "", "", 0, true, false },
	{ "/tmpfile", 254, 1, "ext4", "/dev/vda1", "/", "rw,relatime,discard",
	  "vda", "virtio", "none", 128, false, false },
	{ "/mnt/array/unet3d", 0, 45, "nfs4", "192.0.2.1:/ai", "/mnt/array",
	  "rw,relatime,vers=4.2,rsize=1048576", "", "", "", 15360, false, false },
	{ "/mnt/nvme", 259, 3, "xfs", "/dev/nvme1n1", "/mnt/nvme",
	  "ro,noatime,rw,attr2", "nvme1n1", "nvme-rdma", "none", 4096, false, true },
	/* of btrfs, files have device numbers of no mount */
	{ "/mnt/with blank\ttab/f", 0, 99, "btrfs", "/dev/vdb",
	  "/mnt/with blank\ttab", "rw", "", "", "", 0, false, false },
	{ "/mnt/lv/f", 253, 0, "ext4", "/dev/mapper/vg-lv", "/mnt/lv", "rw,ro",
	  "dm-0", "device-mapper", "", 0, false, true },
	{ "/over/f", 0, 60, "overlay", "overlay", "/over",
	  "rw,lowerdir=/a:/b", "", "", "", 0, false, false },
	{ "/stack/f", 0, 62, "tmpfs", "second", "/stack", "rw", "", "", "", 0, true, false },
	{ "/stack/f", 0, 61, "tmpfs", "first", "/stack", "rw", "", "", "", 0, true, false },
	{ "/stack/f", 0, 99, "tmpfs", "second", "/stack", "rw", "", "", "", 0, true, false },
};
/* clang-format on */

START_TEST(a_path_is_known_by_its_mount_and_its_disk)
{
	const struct mount_case *c = &cases[_i];
	struct mount m;

	make_root();
	mount_read_at(&m, root, c->path, makedev(c->dev_major, c->dev_minor));
	ck_assert_str_eq(m.type, c->type);
	ck_assert_str_eq(m.source, c->source);
	ck_assert_str_eq(m.target, c->target);
	ck_assert_str_eq(m.options, c->options);
	ck_assert_str_eq(m.device, c->device);
	ck_assert_str_eq(m.device_kind, c->kind);
	ck_assert_str_eq(m.device_model, strcmp(c->device, "nvme1n1") == 0 ? "FAST DISK 3000" : "");
	ck_assert_str_eq(m.scheduler, c->scheduler);
	ck_assert_uint_eq(m.read_ahead_bytes, c->read_ahead_kib * 1024);
	ck_assert_int_eq(m.is_memory, c->is_memory);
	ck_assert_int_eq(m.read_only, c->read_only);
	remove_root();
}
END_TEST

START_TEST(a_partition_counts_at_its_whole_disk)
{
	struct mount m;
	struct devstat s;

	make_root();
	mount_read_at(&m, root, "/f", makedev(254, 1));
	ck_assert_uint_eq(m.dev_major, 254);
	ck_assert_uint_eq(m.dev_minor, 0);
	ck_assert_int_eq(devstat_read(&s, root, m.device), 0);
	ck_assert_uint_eq(s.read_sectors, 2000);
	remove_root();
}
END_TEST

START_TEST(what_lies_behind_a_mount_is_counted)
{
	static const struct {
		const char *path;
		unsigned dev_major, dev_minor;
		const char *device, *kind;
		unsigned paths, osts;
		bool has_own_cache;
	} rows[] = {
		{ "/mnt/paths", 259, 9, "nvme7n1", "nvme-tcp", 2, 0, false },
		{ "/mnt/mpath", 253, 5, "dm-5", "device-mapper", 2, 0, false },
		/* an LVM volume has parts, no paths */
		{ "/mnt/lv", 253, 0, "dm-0", "device-mapper", 0, 0, false },
		{ "/mnt/nvme", 259, 3, "nvme1n1", "nvme-rdma", 0, 0, false },
		{ "/mnt/lfs", 0, 70, "", "", 0, 1, false },
		{ "/tank", 0, 71, "", "", 0, 0, true },
	};
	struct mount m;

	make_root();
	mount_read_at(&m, root, rows[_i].path, makedev(rows[_i].dev_major, rows[_i].dev_minor));
	ck_assert_str_eq(m.device, rows[_i].device);
	ck_assert_str_eq(m.device_kind, rows[_i].kind);
	ck_assert_uint_eq(m.paths, rows[_i].paths);
	ck_assert_uint_eq(m.osts, rows[_i].osts);
	ck_assert_int_eq(m.has_own_cache, rows[_i].has_own_cache);
	remove_root();
}
END_TEST

START_TEST(without_a_disk_nothing_can_tell_what_was_read)
{
	struct mount m;
	struct devstat s;

	make_root();
	mount_read_at(&m, root, "/mnt/array", makedev(0, 45));
	ck_assert_int_eq(devstat_read(&s, root, m.device), -ENODATA);
	/* a disk, but no counters */
	mount_read_at(&m, root, "/mnt/nvme", makedev(259, 3));
	ck_assert_int_eq(devstat_read(&s, root, m.device), -ENODATA);
	remove_root();
}
END_TEST

/* As in a chroot: the type is what statfs tells, the device is known. */
START_TEST(without_a_mount_table_the_device_is_still_known)
{
	struct mount m;

	make_root();
	mount_read_at(&m, root, "/no/such/file", makedev(254, 1));
	ck_assert_str_eq(m.device, "vda");
	mount_read_at(&m, "/no/such/root", "/no/such/file", makedev(254, 1));
	ck_assert_str_eq(m.type, "unknown");
	ck_assert_str_eq(m.target, "");
	remove_root();
}
END_TEST

START_TEST(what_no_mount_holds_is_seen_from_the_root_on)
{
	struct mount m;
	struct stat st;

	make_root();
	put_file("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n");
	ck_assert_int_eq(stat(root, &st), 0);
	mount_read_at(&m, root, "/f", st.st_dev);
	ck_assert_str_eq(m.target, "/");
	ck_assert_str_eq(m.source, "");
	mount_read_at(&m, root, "/f", st.st_dev + 1);
	ck_assert_str_eq(m.target, "");
	remove_root();
}
END_TEST

START_TEST(a_directory_to_be_made_is_looked_at_where_it_will_be)
{
	struct mlgen_err err = { 0 };
	struct mount there, above;
	char path[400];

	make_root();
	ck_assert_msg(mount_read(&above, root, &err) == 0, "%s", err.text);
	snprintf(path, sizeof(path), "%s/new//below/", root);
	ck_assert_msg(mount_read(&there, path, &err) == 0, "%s", err.text);
	ck_assert_str_eq(there.target, above.target);
	ck_assert_str_eq(there.type, above.type);
	ck_assert_uint_gt(there.total_bytes, 0);
	ck_assert_uint_le(there.free_bytes, there.total_bytes);
	ck_assert_int_eq(mount_read(&there, "relative/new", &err), 0);
	ck_assert_int_eq(mount_read(&there, "new", &err), 0);
	ck_assert_int_eq(mount_read(&there, "/nowhere", &err), 0);
	if (above.target[0]) /* not in a chroot */
		ck_assert_str_eq(there.target, "/");
	/* a file is no directory to make another in */
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo/x", root);
	ck_assert_int_eq(mount_read(&there, path, &err), -ENOTDIR);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	remove_root();
}
END_TEST

/* Can this directory's filesystem do it? By trying. */
static bool direct_works(const char *file)
{
	int fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

START_TEST(direct_alignment_is_told_or_refused_in_words)
{
	struct mlgen_err err = { 0 };
	uint64_t of_file = 0, of_directory = 0;
	struct mount m;
	char file[400];

	make_root();
	snprintf(file, sizeof(file), "%s/proc/self/mountinfo", root);
	ck_assert_int_eq(mount_read(&m, root, &err), 0);
	int rc = mount_direct_alignment(file, &of_file, &err);
	if (m.is_memory || !direct_works(file)) {
		ck_assert_int_eq(rc, -EINVAL);
		ck_assert_int_eq(strncmp(err.text, "direct=1: ", 10), 0);
	} else {
		ck_assert_msg(rc == 0, "%s", err.text);
		ck_assert_uint_ge(of_file, 1);
		ck_assert_uint_eq(of_file & (of_file - 1), 0);
		ck_assert_int_eq(mount_direct_alignment(root, &of_directory, &err), 0);
		ck_assert_uint_eq(of_directory, of_file);
	}
	remove_root();
}
END_TEST

START_TEST(direct_in_memory_is_refused)
{
	struct mlgen_err err = { 0 };
	uint64_t align;
	struct mount m;

	if (mount_read(&m, "/dev/shm", &err) || !m.is_memory)
		return; /* no tmpfs there */
	ck_assert_int_eq(mount_direct_alignment("/dev/shm", &align, &err), -EINVAL);
	ck_assert_str_eq(err.text, "direct=1: tmpfs at /dev/shm keeps files in memory; O_DIRECT "
				   "would have no effect");
}
END_TEST

START_TEST(what_fstab_names_is_awaited_until_it_is_mounted)
{
	make_root();
	put_file("/etc/fstab", "# a comment\n"
			       "/dev/nvme0n1 /mnt/array xfs defaults 0 0\n"
			       "UUID=12 /mnt/with\\040blank ext4 noauto 0 0\n"
			       "/swap none swap sw 0 0\n");
	ck_assert(!fstab_expects_mount(root, "/mnt/array"));
	ck_assert(fstab_expects_mount(root, "/mnt/with blank"));
	ck_assert(!fstab_expects_mount(root, "/mnt"));
	ck_assert(!fstab_expects_mount("/no/such/root", "/mnt/with blank"));
	remove_root();
}
END_TEST

START_TEST(a_mount_is_told_with_escapes)
{
	struct buf out = { 0 };

	mount_append_text(&out, "ext4", "/mnt/a b\\c", "/dev/x\ty");
	ck_assert_str_eq(buf_str(&out), "ext4 /mnt/a\\040b\\134c /dev/x\\011y");
	buf_fini(&out);
}
END_TEST

struct listed {
	unsigned count;
	bool has_proc;
};

static void see_listed(void *arg, const struct mount_listed *m)
{
	struct listed *l = arg;
	struct stat st;

	l->count++;
	if (strcmp(m->target, "/proc") == 0 && strcmp(m->type, "proc") == 0 &&
	    stat("/proc", &st) == 0)
		l->has_proc |= m->dev == st.st_dev;
}

START_TEST(all_mounts_are_listed_with_the_device_of_their_files)
{
	struct listed l = { 0 };

	mount_each(see_listed, &l);
	if (access("/proc/self/mountinfo", R_OK) < 0)
		return; /* nothing is listed there */
	ck_assert_uint_gt(l.count, 0);
	ck_assert(l.has_proc);
}
END_TEST

Suite *suite_mount(void)
{
	Suite *s = suite_create("mount");
	TCase *t = tcase_create("mount");

	tcase_add_loop_test(t, a_path_is_known_by_its_mount_and_its_disk, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(t, a_partition_counts_at_its_whole_disk);
	tcase_add_loop_test(t, what_lies_behind_a_mount_is_counted, 0, 6);
	tcase_add_test(t, without_a_disk_nothing_can_tell_what_was_read);
	tcase_add_test(t, without_a_mount_table_the_device_is_still_known);
	tcase_add_test(t, what_no_mount_holds_is_seen_from_the_root_on);
	tcase_add_test(t, a_directory_to_be_made_is_looked_at_where_it_will_be);
	tcase_add_test(t, direct_alignment_is_told_or_refused_in_words);
	tcase_add_test(t, direct_in_memory_is_refused);
	tcase_add_test(t, what_fstab_names_is_awaited_until_it_is_mounted);
	tcase_add_test(t, a_mount_is_told_with_escapes);
	tcase_add_test(t, all_mounts_are_listed_with_the_device_of_their_files);
	suite_add_tcase(s, t);
	return s;
}
