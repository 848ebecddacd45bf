/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_probe.c - may this process, on this kernel, capture by BPF? */
#include "tracing/capture/bpf/bpf_kernel.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "tracing/capture/bpf/bpf_said.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define REMEDY                                                                                     \
	"run mlgen under sudo, or give it both by sudo setcap "                                    \
	"cap_bpf,cap_perfmon+ep mlgen (a container by --cap-add BPF,PERFMON)"

static bool has_capability(const struct __user_cap_data_struct *d, int which)
{
	return d[which / 32].effective & 1u << which % 32;
}

static int check_rights(struct mlgen_err *err)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { 0 };
	bool may_bpf, may_look;

	if (syscall(SYS_capget, &h, d))
		return 0; /* then loading says */
	may_bpf = has_capability(d, CAP_BPF) || has_capability(d, CAP_SYS_ADMIN);
	may_look = has_capability(d, CAP_PERFMON) || has_capability(d, CAP_SYS_ADMIN);
	if (may_bpf && may_look)
		return 0;
	return mlgen_fail(err, -EPERM,
			  "capture by BPF needs the capabilities CAP_BPF and CAP_PERFMON, and this "
			  "process lacks %s; " REMEDY,
			  may_bpf    ? "CAP_PERFMON"
			  : may_look ? "CAP_BPF"
				     : "both");
}

static int check_kernel(struct mlgen_err *err)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 0;
	if (major > 5 || (major == 5 && minor >= 11))
		return 0;
	return mlgen_fail(err, -ENOTSUP, "capture by BPF needs Linux 5.11 or later, and this is %s",
			  u.release);
}

static int check_btf(struct mlgen_err *err)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		return 0;
	return mlgen_fail(err, -ENOTSUP,
			  "capture by BPF needs /sys/kernel/btf/vmlinux: %s; boot a kernel built "
			  "with CONFIG_DEBUG_INFO_BTF, or let a container see /sys",
			  strerror(errno));
}

/* Capabilities may be those of a user namespace only, and a filter of system calls may refuse bpf:
 * a map is made, and is gone with its descriptor. */
static int check_call(struct mlgen_err *err)
{
	int fd, rc;

	said_quiet();
	fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "mlgen_probe", 4, 4, 1, NULL);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	rc = -errno;
	return mlgen_fail(
		err, rc,
		"capture by BPF: bpf(2): %s; the capabilities are those of a user namespace, or a "
		"seccomp filter or lockdown forbids it: run mlgen outside, as root",
		strerror(-rc));
}

int kernel_probe(struct mlgen_err *err)
{
	int rc = check_kernel(err);

	if (rc == 0)
		rc = check_rights(err);
	if (rc == 0)
		rc = check_btf(err);
	return rc ? rc : check_call(err);
}
