/* SPDX-License-Identifier: Apache-2.0 */
/* capture_bpf.c - the BPF backend, as capture.h has it. */
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

/* A failed load says hundreds of kilobytes, and its end is what counts. libbpf hands no state to
 * its printer, so this is one for all. */
#define SAID_BYTES 700
static char said[2 * SAID_BYTES + 1];

__attribute__((format(printf, 2, 0))) static int keep(enum libbpf_print_level level,
						      const char *format, va_list ap)
{
	size_t had = strlen(said);
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (had > SAID_BYTES) {
		memmove(said, said + had - SAID_BYTES, SAID_BYTES + 1);
		had = SAID_BYTES;
	}
	n = vsnprintf(said + had, SAID_BYTES, format, ap);
	for (char *c = said + had; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return n;
}

void said_quiet(void)
{
	said[0] = '\0';
	libbpf_set_print(keep);
}

const char *said_last(void)
{
	size_t had = strlen(said);

	while (had && said[had - 1] == ' ')
		said[--had] = '\0';
	return had > SAID_BYTES ? said + had - SAID_BYTES : said;
}

/* How long events wait while less than a quarter of the ring is full. */
#define LOOK_MS 50
/* What is recorded may use all CPUs. */
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
			mlgen_fail(err, rc, "capture: no ring of %" PRIu64 " bytes: %s",
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

/* Watch first, then look who is there: nobody comes in between unseen. */
static int watch(struct bpf_capture *c, struct mlgen_err *err)
{
	if (c->is_attached)
		return 0;
	c->is_attached = true;
	/* A ring that is full is lost. Where it may: nothing is said of it. A command is there
	 * already, and has its own. */
	(void)setpriority(PRIO_PROCESS, 0, READER_NICE);
	return kernel_attach(&c->kernel, err);
}

static int bpf_follow(void *state, pid_t child, struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc = watch(c, err);

	if (rc == 0)
		rc = seed_process(&c->kernel, child, err);
	return rc ? rc : kernel_spread(&c->kernel, err);
}

static int bpf_attach(void *state, struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc = watch(c, err);

	if (rc == 0)
		rc = c->cfg.whose == CAPTURE_CGROUP ? seed_cgroup(&c->kernel, c->cfg.cgroup, err)
						    : seed_process(&c->kernel, c->cfg.pid, err);
	return rc ? rc : kernel_spread(&c->kernel, err);
}

static int drain_fail(int rc, struct mlgen_err *err)
{
	if (rc >= 0 || rc == -EINTR)
		return 0;
	return mlgen_fail(err, rc, "capture: cannot read the kernel's ring: %s", strerror(-rc));
}

static int bpf_drain(void *state, int timeout_ms, struct mlgen_err *err)
{
	struct bpf_capture *c = state;
	int rc;

	/* Programs wake us by it, and set it back; see state.bpf.h. */
	__atomic_store_n(&c->kernel.shared->reader_sleeps, 1, __ATOMIC_SEQ_CST);
	rc = ring_buffer__poll(c->ring,
			       timeout_ms >= 0 && timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS);
	__atomic_store_n(&c->kernel.shared->reader_sleeps, 0, __ATOMIC_SEQ_CST);
	if (rc >= 0 || rc == -EINTR)
		rc = ring_buffer__consume(c->ring);
	return drain_fail(rc, err);
}

static void bpf_look(void *state, struct capture_status *status)
{
	struct bpf_capture *c = state;

	record_look(c->record, status);
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
	record_look(c->record, status);
	return drain_fail(rc, err);
}

const struct capture_backend capture_bpf = {
	.name = "bpf",
	.probe = kernel_probe,
	.open = bpf_open,
	.follow = bpf_follow,
	.attach = bpf_attach,
	.drain = bpf_drain,
	.look = bpf_look,
	.stop = bpf_stop,
	.free = bpf_free,
};
