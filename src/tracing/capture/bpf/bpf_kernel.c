/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_kernel.c - choose and load the programs in the kernel, and the processes they follow. */
#include "tracing/capture/bpf/bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- programs that suit this kernel ---- */

/*
 * A program and its tracepoint. The first argument of the tracepoint must be a pointer to this
 * structure, with this member (NULL = any). `missing` names the events that are not recorded
 * without the program; NULL = capture needs the program.
 */
static const struct {
	const char *program, *tracepoint, *structure, *member, *missing;
} needs[] = {
	{ "on_newtask", "task_newtask", "task_struct", NULL, NULL },
	{ "on_exit", "sched_process_exit", "task_struct", NULL, NULL },
	{ "on_exec", "sched_process_exec", "task_struct", NULL, NULL },
	{ "on_switch", "sched_switch", NULL, NULL, NULL },
	{ "on_page_added", "mm_filemap_add_to_page_cache", "folio", "_flags_1",
	  "additions to the page cache" },
	{ "on_page_missed", "mm_filemap_fault", "address_space", "host", "page faults" },
	{ "on_pages_mapped", "mm_filemap_map_pages", "address_space", "host", "page faults" },
	{ "on_fault_user", "page_fault_user", NULL, NULL, "page faults" },
	{ "on_fault_kernel", "page_fault_kernel", NULL, NULL, "page faults" },
	{ "on_issue", "block_rq_issue", "request", "q", "block requests" },
	{ "on_complete", "block_rq_complete", "request", "q", "block requests" },
	{ "on_uring_complete", "io_uring_complete", "io_ring_ctx", NULL, "requests of io_uring" },
};

/* The type of a tracepoint's function; NULL = there is no such tracepoint. */
static const struct btf_type *tracepoint_type(const struct btf *kernel, const char *name)
{
	const struct btf_type *t;
	char typedef_name[128];
	int id;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(kernel, typedef_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = btf__type_by_id(kernel, (unsigned)id);
	t = btf__type_by_id(kernel, t->type); /* the pointer */
	t = t ? btf__type_by_id(kernel, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* Is the first argument, after the context of the tracepoint, a pointer to this structure? */
static bool takes_pointer(const struct btf *kernel, const struct btf_type *call,
			  const char *structure)
{
	const struct btf_param *p = btf_params(call);
	const struct btf_type *t;

	if (!structure)
		return true;
	if (btf_vlen(call) < 2)
		return false;
	t = btf__type_by_id(kernel, p[1].type);
	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(kernel, t->type);
	while (t && btf_is_mod(t))
		t = btf__type_by_id(kernel, t->type);
	return t && btf_is_composite(t) &&
	       !strcmp(btf__name_by_offset(kernel, t->name_off), structure);
}

/* Members of an unnamed union are members of the structure, too. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a declaration is */
static bool has_member(const struct btf *kernel, const struct btf_type *t, const char *member)
{
	const struct btf_member *m = btf_members(t);

	for (unsigned i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(kernel, m[i].name_off);
		const struct btf_type *inner;

		if (name && !strcmp(name, member))
			return true;
		if (name && *name)
			continue;
		inner = btf__type_by_id(kernel, m[i].type);
		if (inner && btf_is_composite(inner) && has_member(kernel, inner, member))
			return true;
	}
	return false;
}

static void leave_out(struct bpf_object *o, const char *program)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, program);

	if (p)
		bpf_program__set_autoload(p, false);
}

/* Add a note, unless another program has added the same. */
static void note_missing(struct buf *notes, const char *missing)
{
	if (!strstr(buf_str(notes), missing))
		buf_addf(notes, "this kernel does not report %s\n", missing);
}

/* Leave out the programs that do not suit this kernel, with a line in `notes` for each kind of
 * event that is not recorded. -errno with err: a program that capture needs does not suit. */
static int choose_programs(struct bpf_object *o, struct buf *notes, struct mlgen_err *err)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	const struct btf_type *now, *old;
	bool has_cast, is_now, is_old;
	int rc = 0;

	if (!kernel)
		return mlgen_fail(
			err, -ENOTSUP,
			"capture: /sys/kernel/btf/vmlinux: cannot be read: %s; it describes the "
			"structures of this kernel, and without it only strace can record",
			strerror(errno));
	/* Choose between two forms of a program, for newer and older kernels. */
	has_cast = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC) >= 0;
	leave_out(o, has_cast ? "on_enter_old" : "on_enter");
	leave_out(o, has_cast ? "on_leave_old" : "on_leave");
	now = tracepoint_type(kernel, "io_uring_submit_req");
	old = tracepoint_type(kernel, "io_uring_submit_sqe");
	is_now = now && takes_pointer(kernel, now, "io_kiocb");
	is_old = !is_now && old && takes_pointer(kernel, old, "io_kiocb");
	if (!is_now)
		leave_out(o, "on_uring_submit");
	if (!is_old)
		leave_out(o, "on_uring_submit_old");
	if (!is_now && !is_old) {
		leave_out(o, "on_uring_complete");
		note_missing(notes, "requests of io_uring");
	}
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(needs); i++) {
		const char *structure = needs[i].structure, *member = needs[i].member;
		const struct btf_type *call = tracepoint_type(kernel, needs[i].tracepoint);
		bool suits = call && takes_pointer(kernel, call, structure);

		if (suits && structure && member) {
			int id = btf__find_by_name_kind(kernel, structure, BTF_KIND_STRUCT);

			suits = id >= 0 &&
				has_member(kernel, btf__type_by_id(kernel, (unsigned)id), member);
		}
		if (!suits && !needs[i].missing) {
			rc = mlgen_fail(err, -ENOTSUP,
					"capture: this kernel has no tracepoint %s in a form that "
					"mlgen knows; strace can record without it",
					needs[i].tracepoint);
		} else if (!suits) {
			leave_out(o, needs[i].program);
			note_missing(notes, needs[i].missing);
		}
	}
	btf__free(kernel);
	return rc;
}

/* ---- probe ---- */

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define REMEDY                                                                                     \
	"run mltrace under sudo, or grant both with sudo setcap "                                  \
	"cap_bpf,cap_perfmon+ep mltrace (for a container: --cap-add BPF,PERFMON)"

static bool has_capability(const struct __user_cap_data_struct *d, int which)
{
	return d[which / 32].effective & 1u << which % 32;
}

int kernel_probe(struct mlgen_err *err)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { 0 };
	bool has_bpf = true, has_perfmon = true;
	unsigned major = 0, minor = 0;
	struct utsname u;
	int fd, rc;

	if (uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	    (major < 5 || (major == 5 && minor < 11)))
		return mlgen_fail(err, -ENOTSUP,
				  "capture by BPF needs Linux 5.11 or later, but this kernel is %s",
				  u.release);
	/* If the capabilities are not known, bpf(2) reports missing rights. */
	if (syscall(SYS_capget, &h, d) == 0) {
		has_bpf = has_capability(d, CAP_BPF) || has_capability(d, CAP_SYS_ADMIN);
		has_perfmon = has_capability(d, CAP_PERFMON) || has_capability(d, CAP_SYS_ADMIN);
	}
	if (!has_bpf || !has_perfmon)
		return mlgen_fail(err, -EPERM,
				  "capture by BPF needs the capabilities CAP_BPF and CAP_PERFMON, "
				  "but this process lacks %s; " REMEDY,
				  has_bpf       ? "CAP_PERFMON"
				  : has_perfmon ? "CAP_BPF"
						: "both");
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return mlgen_fail(
			err, -ENOTSUP,
			"capture by BPF needs /sys/kernel/btf/vmlinux: %s; boot a kernel built "
			"with CONFIG_DEBUG_INFO_BTF, or let a container see /sys",
			strerror(errno));
	/* The capabilities may hold in a user namespace only, and a seccomp filter may refuse
	 * bpf(2): test this by making a map, which closing its descriptor removes. */
	bpf_log_begin();
	fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "mlgen_probe", 4, 4, 1, NULL);
	if (fd < 0) {
		rc = -errno;
		return mlgen_fail(err, rc,
				  "capture by BPF: bpf(2): %s; the capabilities belong to a user "
				  "namespace, or a seccomp filter or lockdown forbids the call: "
				  "run mlgen outside, as root",
				  strerror(-rc));
	}
	close(fd);
	return 0;
}

/* ---- load ---- */

/* System calls by their number on this machine. */
static const struct {
	unsigned number;
	enum capture_call call;
} calls[] = {
	{ SYS_read, CALL_READ },
	{ SYS_write, CALL_WRITE },
	{ SYS_pread64, CALL_PREAD },
	{ SYS_pwrite64, CALL_PWRITE },
	{ SYS_readv, CALL_READV },
	{ SYS_writev, CALL_WRITEV },
	{ SYS_preadv, CALL_PREADV },
	{ SYS_pwritev, CALL_PWRITEV },
	{ SYS_preadv2, CALL_PREADV2 },
	{ SYS_pwritev2, CALL_PWRITEV2 },
	{ SYS_close, CALL_CLOSE },
	{ SYS_dup3, CALL_DUP2 },
	{ SYS_openat, CALL_OPENAT },
#ifdef SYS_openat2
	{ SYS_openat2, CALL_OPENAT2 },
#endif
	{ SYS_fstat, CALL_FSTAT },
	{ SYS_newfstatat, CALL_NEWFSTATAT },
	{ SYS_statx, CALL_STATX },
	{ SYS_fsync, CALL_FSYNC },
	{ SYS_fdatasync, CALL_FDATASYNC },
	{ SYS_sync_file_range, CALL_SYNC_RANGE },
	{ SYS_renameat, CALL_RENAMEAT },
	{ SYS_renameat2, CALL_RENAMEAT },
	{ SYS_unlinkat, CALL_UNLINKAT },
	{ SYS_mkdirat, CALL_MKDIRAT },
	{ SYS_getdents64, CALL_GETDENTS },
	{ SYS_mmap, CALL_MMAP },
	{ SYS_munmap, CALL_MUNMAP },
	{ SYS_fallocate, CALL_FALLOCATE },
	{ SYS_ftruncate, CALL_FTRUNCATE },
	{ SYS_fadvise64, CALL_FADVISE },
	{ SYS_madvise, CALL_MADVISE },
	{ SYS_sendfile, CALL_SENDFILE },
	{ SYS_copy_file_range, CALL_COPY_RANGE },
	{ SYS_splice, CALL_SPLICE },
	{ SYS_io_submit, CALL_IO_SUBMIT },
	{ SYS_io_getevents, CALL_IO_GETEVENTS },
	{ SYS_io_pgetevents, CALL_IO_GETEVENTS },
/* Older architectures have these; newer ones have only the general forms. */
#ifdef SYS_open
	{ SYS_open, CALL_OPEN },
	{ SYS_creat, CALL_CREAT },
	{ SYS_stat, CALL_STAT },
	{ SYS_lstat, CALL_STAT },
	{ SYS_dup2, CALL_DUP2 },
	{ SYS_rename, CALL_RENAME },
	{ SYS_unlink, CALL_UNLINK },
	{ SYS_mkdir, CALL_MKDIR },
	{ SYS_rmdir, CALL_RMDIR },
	{ SYS_getdents, CALL_GETDENTS },
#endif
};

static int find_maps(struct bpf_kernel *k)
{
	struct bpf_map *shared = bpf_object__find_map_by_name(k->object, ".data.shared");
	struct bpf_map *threads = bpf_object__find_map_by_name(k->object, "threads");

	if (!shared || !threads)
		return -EINVAL;
	k->shared = mmap(NULL, sizeof(*k->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(shared), 0);
	if (k->shared == MAP_FAILED) {
		k->shared = NULL;
		return -errno;
	}
	k->threads_fd = bpf_map__fd(threads);
	k->thread_bytes = bpf_map__value_size(threads);
	k->ring_fd = bpf_object__find_map_fd_by_name(k->object, "ring");
	k->disks_fd = bpf_object__find_map_fd_by_name(k->object, "disks");
	k->requests_fd = bpf_object__find_map_fd_by_name(k->object, "requests");
	k->losses_fd = bpf_object__find_map_fd_by_name(k->object, "losses");
	return 0;
}

static int load_fail(int rc, struct mlgen_err *err)
{
	if (rc == -EPERM)
		return mlgen_fail(err, rc,
				  "capture: the kernel refuses the BPF programs: %s; run under "
				  "sudo, or grant the rights with setcap cap_bpf,cap_perfmon+ep, "
				  "or for a container with --cap-add BPF,PERFMON%s%s",
				  strerror(-rc), *bpf_log_last() ? ". It said: " : "",
				  bpf_log_last());
	return mlgen_fail(err, rc, "capture: cannot load the BPF programs: %s. The kernel said: %s",
			  strerror(-rc), bpf_log_last());
}

int kernel_load(struct bpf_kernel *k, uint64_t ring_bytes, struct buf *notes, struct mlgen_err *err)
{
	struct bpf_object_open_opts options = { .sz = sizeof(options), .object_name = "mlgen" };
	struct capture_settings s = { .wake_bytes = ring_bytes / 4 };
	struct bpf_map *map;
	int rc;

	*k = (struct bpf_kernel){ 0 };
	bpf_log_begin();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	k->object = bpf_object__open_mem(capture_object, capture_object_bytes, &options);
	if (!k->object) {
		rc = -errno;
		return load_fail(rc, err);
	}
	rc = choose_programs(k->object, notes, err);
	if (rc < 0)
		return rc;
	for (long page = sysconf(_SC_PAGESIZE); page > 1; page /= 2)
		s.page_shift++;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (calls[i].number < CALL_NUMBERS)
			s.call_of[calls[i].number] = (uint8_t)calls[i].call;
	map = bpf_object__find_map_by_name(k->object, ".rodata.settings");
	rc = map ? bpf_map__set_initial_value(map, &s, sizeof(s)) : -EINVAL;
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf_object__find_map_by_name(k->object, "ring"),
					      (uint32_t)ring_bytes);
	if (rc == 0)
		rc = bpf_object__load(k->object);
	if (rc == 0)
		rc = find_maps(k);
	return rc < 0 ? load_fail(rc, err) : 0;
}

/* ---- attach ---- */

int kernel_attach(struct bpf_kernel *k, struct mlgen_err *err)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, k->object)
	{
		if (!bpf_program__autoload(p) || !strcmp(bpf_program__name(p), "each_task") ||
		    k->link_count == KERNEL_MAX_LINKS)
			continue;
		struct bpf_link *link = bpf_program__attach(p);
		if (!link) {
			int rc = -errno;

			return mlgen_fail(err, rc, "capture: cannot attach %s to the kernel: %s",
					  bpf_program__name(p), strerror(-rc));
		}
		k->links[k->link_count++] = link;
	}
	return 0;
}

void kernel_detach(struct bpf_kernel *k)
{
	for (size_t i = 0; i < k->link_count; i++)
		bpf_link__destroy(k->links[i]);
	k->link_count = 0;
}

void kernel_close(struct bpf_kernel *k)
{
	kernel_detach(k);
	if (k->shared)
		munmap(k->shared, sizeof(*k->shared));
	bpf_object__close(k->object);
	k->object = NULL;
	k->shared = NULL;
}

/* ---- processes to follow ---- */

#define MAX_CGROUP_DEPTH 32

/* Follow the main thread of a process. -ESRCH: the process is gone. */
static int follow_main_thread(struct bpf_kernel *k, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), rc = 0;
	void *state;

	if (fd < 0)
		return -errno;
	state = mem_zalloc(k->thread_bytes);
	if (bpf_map_update_elem(k->threads_fd, &fd, state, BPF_NOEXIST))
		rc = errno == EEXIST ? 0 : -errno;
	mem_free(state);
	close(fd);
	return rc;
}

int kernel_follow_process(struct bpf_kernel *k, pid_t pid, struct mlgen_err *err)
{
	char path[64], target[8];
	int rc;

	/* A kernel thread has no program: ENOENT, although the process exists. Other users'
	 * processes give EACCES. */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (access(path, F_OK) == 0) {
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
		if (readlink(path, target, sizeof(target)) < 0 && errno == ENOENT &&
		    access(path, F_OK) < 0)
			return mlgen_fail(err, -EINVAL,
					  "process %d: is a kernel thread, or has already ended; "
					  "give the pid of a program",
					  (int)pid);
	}
	rc = follow_main_thread(k, pid);
	if (rc == -ESRCH)
		return mlgen_fail(err, rc, "process %d: no such process", (int)pid);
	if (rc == -EINVAL)
		return mlgen_fail(err, rc,
				  "process %d: is a thread of another process; give the pid of "
				  "that process (Tgid in /proc/%d/status)",
				  (int)pid, (int)pid);
	if (rc < 0)
		return mlgen_fail(err, rc, "process %d: cannot be followed: %s", (int)pid,
				  strerror(-rc));
	return 0;
}

/* Follow the processes of a control group and of the groups below it. Returns their number, or
 * -errno if the list of processes cannot be read. */
/* NOLINTNEXTLINE(misc-no-recursion): MAX_CGROUP_DEPTH at most */
static long follow_group(struct bpf_kernel *k, const char *folder, int depth)
{
	char path[PATH_MAX];
	long count = 0, inner, pid;
	FILE *list;
	DIR *d;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	list = fopen(path, "re");
	if (!list)
		return -errno;
	while (fscanf(list, "%ld", &pid) == 1)
		count += pid > 0 && follow_main_thread(k, (pid_t)pid) == 0;
	fclose(list);
	d = depth ? opendir(folder) : NULL;
	if (!d)
		return count;
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= (int)sizeof(path))
			continue;
		inner = follow_group(k, path, depth - 1);
		count += inner > 0 ? inner : 0;
	}
	closedir(d);
	return count;
}

int kernel_follow_cgroup(struct bpf_kernel *k, const char *folder, struct mlgen_err *err)
{
	long count = follow_group(k, folder, MAX_CGROUP_DEPTH);

	if (count < 0)
		return mlgen_fail(err, (int)count,
				  "%s: is not a control group, or cannot be read: cgroup.procs: %s",
				  folder, strerror((int)-count));
	if (count == 0)
		return mlgen_fail(err, -ESRCH, "%s: no process runs in this control group", folder);
	return 0;
}

/* Run each_task for all tasks once. 0 or -errno. */
static int iterate(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	char unused[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, unused, sizeof(unused))) > 0)
		;
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int kernel_follow_descendants(struct bpf_kernel *k, struct mlgen_err *err)
{
	struct bpf_program *p = bpf_object__find_program_by_name(k->object, "each_task");
	struct bpf_link *link = bpf_program__attach_iter(p, NULL);
	int rc = link ? 0 : -errno;
	uint32_t before;

	while (rc == 0) {
		before = k->shared->tasks_added;
		rc = iterate(link);
		if (before == k->shared->tasks_added)
			break;
	}
	if (link)
		bpf_link__destroy(link);
	if (rc < 0)
		return mlgen_fail(err, rc, "capture: cannot iterate over all tasks: %s",
				  strerror(-rc));
	return 0;
}

/* ---- losses ---- */

struct capture_loss kernel_loss(const struct bpf_kernel *k, unsigned kind)
{
	int cpus = libbpf_num_possible_cpus();
	struct capture_loss all = { .first_ns = UINT64_MAX }, *each;

	if (cpus <= 0)
		return all;
	each = mem_array((size_t)cpus, sizeof(*each));
	if (bpf_map_lookup_elem(k->losses_fd, &kind, each) == 0)
		for (int i = 0; i < cpus; i++) {
			if (!each[i].events)
				continue;
			all.events += each[i].events;
			all.first_ns = u64_min(all.first_ns, each[i].first_ns);
			all.last_ns = u64_max(all.last_ns, each[i].last_ns);
		}
	mem_free(each);
	return all;
}

uint64_t kernel_skipped_runs(const struct bpf_kernel *k, struct buf *names)
{
	struct bpf_program *p;
	uint64_t sum = 0;

	bpf_object__for_each_program(p, k->object)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t bytes = sizeof(info);
		int fd = bpf_program__fd(p);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes) || !info.recursion_misses)
			continue;
		sum += info.recursion_misses;
		buf_addf(names, "%s%s", names->len ? ", " : "", bpf_program__name(p));
	}
	return sum;
}
