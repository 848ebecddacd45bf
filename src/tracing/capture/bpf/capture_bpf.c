/* SPDX-License-Identifier: Apache-2.0 */
/* capture_bpf.c - the BPF backend: its functions for capture.h, and the messages of libbpf. */
#include "tracing/capture/bpf/bpf.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "tracing/capture/capture.h"

/* A failed load prints hundreds of kilobytes, and the end explains the failure. libbpf passes no
 * state to its printer, so the log is global. */
#define LOG_BYTES 700
static char log_text[2 * LOG_BYTES + 1];

__attribute__((format(printf, 2, 0))) static int log_append(enum libbpf_print_level level,
							    const char *format, va_list ap)
{
	size_t len = strlen(log_text);
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (len > LOG_BYTES) {
		memmove(log_text, log_text + len - LOG_BYTES, LOG_BYTES + 1);
		len = LOG_BYTES;
	}
	n = vsnprintf(log_text + len, LOG_BYTES, format, ap);
	for (char *c = log_text + len; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return n;
}

void bpf_log_begin(void)
{
	log_text[0] = '\0';
	libbpf_set_print(log_append);
}

const char *bpf_log_last(void)
{
	size_t len = strlen(log_text);

	while (len && log_text[len - 1] == ' ')
		log_text[--len] = '\0';
	return len > LOG_BYTES ? log_text + len - LOG_BYTES : log_text;
}

/* Longest wait of events while less than a quarter of the ring is full. */
#define POLL_MS 50
/* Higher priority than the recorded programs, which may use all CPUs. */
#define READER_NICE (-10)

struct bpf_capture {
	struct capture_config cfg;
	struct bpf_kernel kernel;
	struct bpf_record *record;
	struct ring_buffer *ring;
	struct buf notes;
	bool is_attached;
};

static int on_event(void *context, void *event, size_t bytes)
{
	struct bpf_capture *c = context;

	record_event(c->record, event, bytes);
	return 0;
}

static void bpf_free(void *state)
{
	struct bpf_capture *c = state;

	if (!c)
		return;
	kernel_detach(&c->kernel);
	ring_buffer__free(c->ring);
	record_free(c->record);
	kernel_close(&c->kernel);
	buf_fini(&c->notes);
	mem_free(c);
}

static int bpf_open(void **state, const struct capture_config *cfg, struct mlgen_err *err)
{
	struct bpf_capture *c = mem_zalloc(sizeof(*c));
	int rc;

	c->cfg = *cfg;
	rc = kernel_load(&c->kernel, cfg->buffer_bytes, &c->notes, err);
	if (rc == 0) {
		c->record = record_new(cfg->writer, &c->kernel);
		c->ring = ring_buffer__new(c->kernel.ring_fd, on_event, c, NULL);
		if (!c->ring) {
			rc = -errno;
			mlgen_fail(err, rc,
				   "capture: cannot create a ring of %" PRIu64 " bytes: %s",
				   cfg->buffer_bytes, strerror(-rc));
		}
	}
	if (rc < 0) {
		bpf_free(c);
		return rc;
	}
	*state = c;
	return 0;
}

/* Attach before any process is followed, so that no child starts unseen. */
static int attach_programs(struct bpf_capture *c, struct mlgen_err *err)
{
	if (c->is_attached)
		return 0;
	c->is_attached = true;
	/* A full ring loses events, so the reader gets a higher priority where that is permitted.
	 * The child of a command already exists, and keeps its own. */
	(void)setpriority(PRIO_PROCESS, 0, READER_NICE);
	return kernel_attach(&c->kernel, err);
}

static int bpf_follow(void *state, pid_t child, struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc = attach_programs(c, err);

	if (rc == 0)
		rc = kernel_follow_process(&c->kernel, child, err);
	return rc ? rc : kernel_follow_descendants(&c->kernel, err);
}

static int bpf_attach(void *state, struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc = attach_programs(c, err);

	if (rc == 0)
		rc = c->cfg.whose == CAPTURE_CGROUP
			     ? kernel_follow_cgroup(&c->kernel, c->cfg.cgroup, err)
			     : kernel_follow_process(&c->kernel, c->cfg.pid, err);
	return rc ? rc : kernel_follow_descendants(&c->kernel, err);
}

static int check_ring(int rc, struct mlgen_err *err)
{
	if (rc >= 0 || rc == -EINTR)
		return 0;
	return mlgen_fail(err, rc, "capture: cannot read the kernel's ring: %s", strerror(-rc));
}

static int bpf_drain(void *state, int timeout_ms, struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc;

	/* A program that wakes the reader resets the flag: ring_flags() in state.bpf.h. */
	__atomic_store_n(&c->kernel.shared->reader_sleeps, 1, __ATOMIC_SEQ_CST);
	rc = ring_buffer__poll(c->ring,
			       timeout_ms >= 0 && timeout_ms < POLL_MS ? timeout_ms : POLL_MS);
	__atomic_store_n(&c->kernel.shared->reader_sleeps, 0, __ATOMIC_SEQ_CST);
	if (rc >= 0 || rc == -EINTR)
		rc = ring_buffer__consume(c->ring);
	return check_ring(rc, err);
}

static void bpf_get_status(void *state, struct capture_status *status)
{
	struct bpf_capture *c = state;

	record_status(c->record, status);
	for (unsigned kind = 0; kind < LOSS_KINDS; kind++)
		if (kind != LOSS_NAMES && kind != LOSS_COMPAT)
			status->lost += kernel_loss(&c->kernel, kind).events;
}

static int bpf_stop(void *state, struct capture_status *status, struct buf *notes,
		    struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc;

	kernel_detach(&c->kernel);
	rc = ring_buffer__consume(c->ring);
	buf_add(notes, buf_str(&c->notes));
	record_end(c->record, notes);
	record_status(c->record, status);
	return check_ring(rc, err);
}

const struct capture_backend capture_bpf = {
	.name = "bpf",
	.probe = kernel_probe,
	.open = bpf_open,
	.follow = bpf_follow,
	.attach = bpf_attach,
	.drain = bpf_drain,
	.get_status = bpf_get_status,
	.stop = bpf_stop,
	.free = bpf_free,
};
