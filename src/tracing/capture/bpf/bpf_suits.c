/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_suits.c - see bpf_suits.h. */
#include "tracing/capture/bpf/bpf_suits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/util.h"

/*
 * A program, the tracepoint that it watches, and what it takes from it: the first argument is a
 * pointer to this structure, which has this member (NULL = whichever). What is missing without it:
 * NULL = there is no capture.
 */
static const struct {
	const char *program, *tracepoint, *structure, *member, *missing;
} needs[] = {
	{ "on_newtask", "task_newtask", "task_struct", NULL, NULL },
	{ "on_exit", "sched_process_exit", "task_struct", NULL, NULL },
	{ "on_exec", "sched_process_exec", "task_struct", NULL, NULL },
	{ "on_switch", "sched_switch", NULL, NULL, NULL },
	{ "on_page_added", "mm_filemap_add_to_page_cache", "folio", "_flags_1",
	  "what came into the page cache" },
	{ "on_page_missed", "mm_filemap_fault", "address_space", "host", "page faults" },
	{ "on_pages_mapped", "mm_filemap_map_pages", "address_space", "host", "page faults" },
	{ "on_fault_user", "page_fault_user", NULL, NULL, "page faults" },
	{ "on_fault_kernel", "page_fault_kernel", NULL, NULL, "page faults" },
	{ "on_issue", "block_rq_issue", "request", "q", "block requests" },
	{ "on_complete", "block_rq_complete", "request", "q", "block requests" },
	{ "on_uring_complete", "io_uring_complete", "io_ring_ctx", NULL, "requests of io_uring" },
};

/* The function that a tracepoint calls: NULL = there is no such tracepoint. */
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

/* Is its first argument (behind the one for itself) such a pointer? */
static bool takes(const struct btf *kernel, const struct btf_type *call, const char *structure)
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

/* Members of unions without a name are the structure's. */
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

static bool structure_has(const struct btf *kernel, const char *structure, const char *member)
{
	int id;

	if (!structure || !member)
		return true;
	id = btf__find_by_name_kind(kernel, structure, BTF_KIND_STRUCT);
	return id >= 0 && has_member(kernel, btf__type_by_id(kernel, (unsigned)id), member);
}

static void leave_out(struct bpf_object *o, const char *program)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, program);

	if (p)
		bpf_program__set_autoload(p, false);
}

/* Once for each thing that is missing. */
static void note_missing(struct buf *notes, const char *missing)
{
	if (!strstr(buf_str(notes), missing))
		buf_addf(notes, "this kernel does not tell of %s\n", missing);
}

static int check_needs(struct bpf_object *o, const struct btf *kernel, struct buf *notes,
		       struct mlgen_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		const struct btf_type *call = tracepoint_type(kernel, needs[i].tracepoint);

		if (call && takes(kernel, call, needs[i].structure) &&
		    structure_has(kernel, needs[i].structure, needs[i].member))
			continue;
		if (!needs[i].missing)
			return mlgen_fail(err, -ENOTSUP,
					  "capture: this kernel has no tracepoint %s as mlgen "
					  "knows it; capture by strace needs none",
					  needs[i].tracepoint);
		leave_out(o, needs[i].program);
		note_missing(notes, needs[i].missing);
	}
	return 0;
}

/* Of what is there in two forms, one. */
static void choose_forms(struct bpf_object *o, const struct btf *kernel, struct buf *notes)
{
	bool has_cast = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC) >= 0;
	const struct btf_type *now = tracepoint_type(kernel, "io_uring_submit_req");
	const struct btf_type *old = tracepoint_type(kernel, "io_uring_submit_sqe");
	bool is_now = now && takes(kernel, now, "io_kiocb");
	bool is_old = !is_now && old && takes(kernel, old, "io_kiocb");

	leave_out(o, has_cast ? "on_enter_old" : "on_enter");
	leave_out(o, has_cast ? "on_leave_old" : "on_leave");
	if (!is_now)
		leave_out(o, "on_uring_submit");
	if (!is_old)
		leave_out(o, "on_uring_submit_old");
	if (!is_now && !is_old) {
		leave_out(o, "on_uring_complete");
		note_missing(notes, "requests of io_uring");
	}
}

int suits_choose(struct bpf_object *object, struct buf *notes, struct mlgen_err *err)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	int rc;

	if (!kernel)
		return mlgen_fail(
			err, -ENOTSUP,
			"capture: /sys/kernel/btf/vmlinux: cannot be read: %s; it says what lies "
			"where in this kernel, and without it capture goes by strace",
			strerror(errno));
	choose_forms(object, kernel, notes);
	rc = check_needs(object, kernel, notes, err);
	btf__free(kernel);
	return rc;
}
