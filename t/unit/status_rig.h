/* SPDX-License-Identifier: Apache-2.0 */
/* status_rig.h - jobs that run, and what their status line shows. */
#pragma once

#include <check.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/live/live.h"

#define SEC UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define GIB (UINT64_C(1) << 30)
#define CLEAR "\r\033[K"

/* A status line that draws into memory. */
struct screen {
	int fd;
	struct status *status;
	char text[8192];
};

/* 14:02:11 UTC */
static inline time_t some_time(void)
{
	return 1795269731;
}

static inline void screen_init(struct screen *s, int eta, unsigned columns, uint64_t interval_ns)
{
	struct settings set = { .eta = eta, .status_interval_ns = interval_ns };

	s->fd = memfd_create("screen", 0);
	ck_assert_int_ge(s->fd, 0);
	struct status_screen on = { .fd = s->fd, .columns = columns, .wall_clock = some_time };
	s->status = status_new_on(&set, &on);
}

static inline void screen_fini(struct screen *s)
{
	status_free(s->status);
	close(s->fd);
}

/* What was written since the last call. */
static inline const char *seen(struct screen *s)
{
	ssize_t n = pread(s->fd, s->text, sizeof(s->text) - 1, 0);

	ck_assert_int_ge(n, 0);
	s->text[n] = '\0';
	ck_assert_int_eq(ftruncate(s->fd, 0), 0);
	ck_assert_int_eq(lseek(s->fd, 0, SEEK_SET), 0);
	return s->text;
}

/* A second of it: 14.9 GiB/s, 63.2 % AU, stalls of which 2 in 100 are long. */
static inline void train(struct live *l, struct hist *stall, uint64_t second)
{
	*l = (struct live){
		.job_name = "unet3d",
		.phase = LIVE_TRAIN,
		.now_ns = (1000 + second) * SEC,
		.epoch = 2,
		.epochs = 5,
		.step = 118,
		.steps = 500,
		.samples = 100 * second,
		.sample_bytes = 149 * GIB / 10 * second,
		.compute_ns = 632 * MS * 8 * second,
		.step_ns = SEC * 8 * second,
		.left_ns = 964 * SEC,
		.stall = stall,
	};
	hist_reset(stall);
	for (uint64_t i = 0; i < 100 * second; i++)
		hist_add(stall, i % 50 ? 150 * MS : 611 * MS);
}
