/* SPDX-License-Identifier: Apache-2.0 */
/* test_netif.c - the interface of a remote mount, its line rate and its bytes. */
#include <errno.h>
#include <string.h>

#include "io/devices.h"
#include "suites.h"
#include "tree.h"

/* clang-format off */
static const struct server_case {
	const char *type, *source, *options;
	const char *address; /* NULL = none */
} servers[] = {
	{ "nfs4", "192.0.2.1:/ai", "rw,vers=4.2,clientaddr=192.0.2.77,addr=192.0.2.1",
	  "192.0.2.1" },
	{ "nfs", "filer:/ai", "rw,mountaddr=192.0.2.3,addr=192.0.2.2",
	  "192.0.2.2" },
	{ "nfs4", "[2001:db8::1]:/ai", "rw,proto=tcp6", "2001:db8::1" },
	{ "nfs4", "filer:/ai", "rw,proto=tcp6,addr=2001:db8::2", "2001:db8::2" },
	/* of a name nothing is known: no name is looked up */
	{ "nfs4", "filer:/ai", "rw,vers=4.2", NULL },
	/* past the interface's counters */
	{ "nfs4", "192.0.2.1:/ai", "rw,proto=rdma,addr=192.0.2.1", NULL },
	{ "nfs", "192.0.2.1:/ai", "rw,rdma,addr=192.0.2.1", NULL },
	{ "lustre", "192.0.2.5@o2ib:/scratch", "rw", NULL },
	{ "lustre", "192.0.2.5@o2ib,192.0.2.6@tcp:/scratch", "rw", NULL },
	{ "lustre", "192.0.2.5@tcp:192.0.2.6@tcp:/scratch", "rw", "192.0.2.5" },
	{ "ceph", "192.0.2.7:6789,192.0.2.8:6789:/", "rw", "192.0.2.7" },
	{ "ceph", "[2001:db8::7]:6789:/", "rw", "2001:db8::7" },
	{ "ceph", "me@0123-45.fs=/", "rw,mon_addr=192.0.2.7:3300/192.0.2.8:3300",
	  "192.0.2.7" },
	{ "cifs", "//server/share", "rw,addr=192.0.2.9", "192.0.2.9" },
	{ "fuse.glusterfs", "192.0.2.4:/vol", "rw", "192.0.2.4" },
	/* nothing remote */
	{ "ext4", "/dev/vda1", "rw,relatime", NULL },
	{ "overlay", "overlay", "rw,lowerdir=/a:/b", NULL },
	{ "tmpfs", "tmpfs", "rw", NULL },
	{ "", "", "", NULL },
	{ "nfs4", "192.0.2.1000:/ai", "addr=", NULL },
	{ "nfs4", "[2001:db8::1", "", "2001:db8::1" },
};
/* clang-format on */

START_TEST(the_servers_address_is_in_the_mount_table)
{
	const struct server_case *c = &servers[_i];
	char address[64];
	struct mount m = { 0 };
	int rc;

	snprintf(m.type, sizeof(m.type), "%s", c->type);
	snprintf(m.source, sizeof(m.source), "%s", c->source);
	snprintf(m.options, sizeof(m.options), "%s", c->options);
	rc = netif_server(address, sizeof(address), &m);
	ck_assert_int_eq(rc, c->address ? 0 : -ENODATA);
	if (c->address)
		ck_assert_str_eq(address, c->address);
}
END_TEST

START_TEST(a_server_on_this_host_has_no_interface)
{
	char name[IFNAMSIZ] = "";
	struct mount m = { .type = "nfs4", .source = "127.0.0.1:/ai" };
	struct netif n;

	ck_assert_int_eq(netif_route(name, "127.0.0.1"), -ENODATA);
	ck_assert_int_eq(netif_find(&n, "", &m), -ENODATA);
	ck_assert_str_eq(n.name, "");
	ck_assert_int_eq(netif_route(name, "no address"), -EINVAL);
}
END_TEST

/* The rest of 127/8 is reached from 127.0.0.1: the one route that every machine has. */
START_TEST(the_kernel_names_the_interface_of_a_route)
{
	char name[IFNAMSIZ] = "";

	ck_assert_int_eq(netif_route(name, "127.1.2.3"), 0);
	ck_assert_str_eq(name, "lo");
}
END_TEST

#define GBIT UINT64_C(1000000000)

static const struct rate_case {
	const char *name;
	uint64_t bits_per_sec; /* 0 = unknown */
} rates[] = {
	{ "eth0", 100 * GBIT },
	{ "bond0", 200 * GBIT },
	{ "bond0.7", 200 * GBIT }, /* a VLAN on it */
	{ "veth0", 0 },            /* says 10 Gb/s, which is nobody's */
	{ "eth1", 0 },             /* -1: virtio */
	{ "eth2", 0 },             /* down: no answer */
	{ "eth3", 0 },             /* -1 as an unsigned number */
	{ "loop0", 0 },            /* made to go round */
	{ "eth9", 0 },
};

START_TEST(a_line_rate_is_that_of_hardware)
{
	const struct rate_case *c = &rates[_i];
	char root[TREE_BYTES];
	uint64_t bytes;

	tree_make(root);
#define NET "/sys/class/net/"
	tree_link(root, NET "eth0/device");
	tree_file(root, NET "eth0/speed", "100000\n");
	tree_file(root, NET "eth0/statistics/rx_bytes", "123456789012\n");
	tree_file(root, NET "bond0/speed", "200000\n");
	tree_link(root, NET "bond0/lower_eth0");
	tree_file(root, NET "bond0.7/speed", "200000\n");
	tree_link(root, NET "bond0.7/lower_bond0");
	tree_file(root, NET "veth0/speed", "10000\n");
	tree_link(root, NET "eth1/device");
	tree_file(root, NET "eth1/speed", "-1\n");
	tree_link(root, NET "eth2/device");
	tree_link(root, NET "eth3/device");
	tree_file(root, NET "eth3/speed", "4294967295\n");
	tree_file(root, NET "loop0/speed", "10000\n");
	tree_link(root, NET "loop0/lower_loop0");
	/* What a link points to is there, on a machine. */
	tree_file(root, "/sys/class/net/eth0/nowhere", "");
	tree_file(root, "/sys/class/net/eth1/nowhere", "");
	tree_file(root, "/sys/class/net/eth2/nowhere", "");
	tree_file(root, "/sys/class/net/eth3/nowhere", "");
	ck_assert_uint_eq(netif_line_rate(root, c->name), c->bits_per_sec);
	ck_assert_int_eq(netif_received(&bytes, root, "eth0"), 0);
	ck_assert_uint_eq(bytes, UINT64_C(123456789012));
	ck_assert_int_eq(netif_received(&bytes, root, "bond0"), -ENOENT);
	tree_remove(root);
}
END_TEST

Suite *suite_netif(void)
{
	Suite *s = suite_create("netif");
	TCase *t = tcase_create("netif");

	tcase_add_loop_test(t, the_servers_address_is_in_the_mount_table, 0,
			    sizeof(servers) / sizeof(servers[0]));
	tcase_add_test(t, a_server_on_this_host_has_no_interface);
	tcase_add_test(t, the_kernel_names_the_interface_of_a_route);
	tcase_add_loop_test(t, a_line_rate_is_that_of_hardware, 0,
			    sizeof(rates) / sizeof(rates[0]));
	suite_add_tcase(s, t);
	return s;
}
