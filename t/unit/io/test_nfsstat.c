/* SPDX-License-Identifier: Apache-2.0 */
/* test_nfsstat.c - bytes and requests of one NFS mount among others. */
#include <errno.h>

#include "io/mount_internal.h"
#include "suites.h"
#include "tree.h"

#define OPS                                                                                        \
	"\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"                                        \
	"\txprt:\ttcp 0 0 2 0 38 4031 4031 0 8123 0 2 92 7\n"                                      \
	"\tper-op statistics\n"                                                                    \
	"\t        NULL: 1 1 0 44 24 0 0 0 0\n"

/* clang-format off */
static const char mountstats[] =
	"device rootfs mounted on / with fstype rootfs\n"
	"device /dev/vda1 mounted on / with fstype ext4\n"
	"device 192.0.2.1:/ai mounted on /mnt/array with fstype nfs4 statvers=1.1\n"
	"\topts:\trw,vers=4.2,rsize=1048576,proto=tcp,nconnect=16,addr=192.0.2.1\n"
	"\tage:\t86012\n"
	"\timpl_id:\tname='',domain='',date='0,0'\n"
	"\tcaps:\tcaps=0xfffbc0bf,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n"
	"\tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,bm2=0x60803,acl=0x3,sessions,pnfs=not configured\n"
	"\tsec:\tflavor=1,pseudoflavor=1\n"
	"\tevents:\t8 1025 0 14 5 12 2057 0 0 0 0 2 0 0 9 3 0 3 0 0 0 0 0 0 0 0 0\n"
	"\tbytes:\t536870912 4096 8192 0 402653184 4096 98304 1 \n"
	OPS
	"\t        READ: 384 385 0 86016 402702336 51 8912 9102 0\n"
	"\t       WRITE: 1 1 0 4296 136 0 2 2 0\n"
	"\t   READ_PLUS: 16 16 0 3584 0 0 0 0 0\n"
	"\n"
	"device 192.0.2.9:/old mounted on /mnt/a\\040b with fstype nfs statvers=1.1\n"
	"\tbytes:\t1 2 3 4 5000 6 7 8\n"
	OPS
	"\t        READ: 7 7 0 0 0 0 0 0 0\n"
	"device 192.0.2.1:/first mounted on /stack with fstype nfs4 statvers=1.1\n"
	"\tbytes:\t1 2 3 4 111 6 7 8\n"
	"\t        READ: 1 1 0 0 0 0 0 0 0\n"
	"device 192.0.2.1:/second mounted on /stack with fstype nfs4 statvers=1.1\n"
	"\tbytes:\t1 2 3 4 222 6 7 8\n"
	"\t        READ: 2 2 0 0 0 0 0 0 0\n"
	"device 192.0.2.1:/cut mounted on /cut with fstype nfs4 statvers=1.1\n"
	"\tbytes:\t1 2 3\n"
	"device tmpfs mounted on /mnt/tmp with fstype tmpfs\n"
	"device 192.0.2.1:/late mounted on /covered with fstype nfs4 statvers=1.1\n"
	"\tbytes:\t1 2 3 4 333 6 7 8\n"
	"device 192.0.2.1:/bare mounted on /covered with fstype nfs4 statvers=1.1\n";
/* clang-format on */

/* clang-format off */
static const struct nfs_case {
	const char *target;
	int rc;
	uint64_t bytes, reads;
} cases[] = {
	{ "/mnt/array", 0, 402653184, 400 },
	{ "/mnt/a b", 0, 5000, 7 },
	{ "/stack", 0, 222, 2 },
	{ "/cut", -ENODATA, 0, 0 },
	{ "/covered", -ENODATA, 0, 0 },
	{ "/mnt/tmp", -ENODATA, 0, 0 },
	{ "/", -ENODATA, 0, 0 },
	{ "/mnt", -ENODATA, 0, 0 },
	{ "", -ENODATA, 0, 0 },
};
/* clang-format on */

START_TEST(a_mount_has_what_its_server_sent)
{
	const struct nfs_case *c = &cases[_i];
	char root[TREE_BYTES];
	struct nfsstat s;

	tree_make(root);
	tree_file(root, "/proc/self/mountstats", mountstats);
	ck_assert_int_eq(nfsstat_read(&s, root, c->target), c->rc);
	if (c->rc == 0) {
		ck_assert_uint_eq(s.server_read_bytes, c->bytes);
		ck_assert_uint_eq(s.reads, c->reads);
	}
	tree_remove(root);
}
END_TEST

START_TEST(without_a_table_there_is_no_mount)
{
	struct nfsstat s;

	ck_assert_int_eq(nfsstat_read(&s, "/no/such/root", "/mnt/array"), -ENODATA);
}
END_TEST

Suite *suite_nfsstat(void)
{
	Suite *s = suite_create("nfsstat");
	TCase *t = tcase_create("nfsstat");

	tcase_add_loop_test(t, a_mount_has_what_its_server_sent, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(t, without_a_table_there_is_no_mount);
	suite_add_tcase(s, t);
	return s;
}
