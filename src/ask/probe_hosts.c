/* SPDX-License-Identifier: Apache-2.0 */
/* probe_hosts.c - see probe_hosts.h. */
#include "ask/probe_hosts.h"

#include <string.h>

#include "base/log.h"

/* What rank 0 says: this, then for a probe its arguments, each with its NUL. */
struct order {
	uint64_t count; /* of arguments */
	int status;     /* of the program; ORDER_PROBE = there is one to run */
	uint8_t padding[4];
};

enum { ORDER_PROBE = -1 };

int probe_tell(struct hosts *h, const struct probe_args *args, struct mlgen_err *err)
{
	struct order order = { .count = args->count, .status = ORDER_PROBE };
	struct buf text = { 0 };

	if (hosts_total(h) == 1 || hosts_rank(h))
		return 0;
	buf_addn(&text, (const char *)&order, sizeof(order));
	for (size_t i = 0; i < args->count; i++)
		buf_addn(&text, args->at[i], strlen(args->at[i]) + 1);
	int rc = hosts_share(h, &text, err);
	buf_fini(&text);
	return rc;
}

static void run_part(const struct ask *a, const char *at, uint64_t count)
{
	struct probe_args args = { 0 };
	struct mlgen_err err = { 0 };
	struct probe run;

	for (uint64_t i = 0; i < count; i++) {
		probe_args_add(&args, "%s", at);
		at += strlen(at) + 1;
	}
	/* What went wrong rank 0 knows, and decides what that means. */
	probe_run(&run, a, &args, &err);
	probe_fini(&run);
	probe_args_fini(&args);
}

int probe_follow(const struct ask *a)
{
	struct order order = { .status = ORDER_PROBE };
	struct mlgen_err err = { 0 };

	while (order.status == ORDER_PROBE) {
		struct buf text = { 0 };

		if (hosts_share(a->hosts, &text, &err) < 0) {
			log_error("%s", err.text);
			order.status = EXIT_FAILED;
		} else {
			memcpy(&order, buf_str(&text), sizeof(order));
		}
		if (order.status == ORDER_PROBE)
			run_part(a, buf_str(&text) + sizeof(order), order.count);
		buf_fini(&text);
	}
	return order.status;
}

int probe_dismiss(struct hosts *h, int status)
{
	const struct order order = { .status = status };
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };

	if (hosts_total(h) == 1)
		return status;
	buf_addn(&text, (const char *)&order, sizeof(order));
	/* Who is gone has a status of its own. */
	hosts_share(h, &text, &err);
	buf_fini(&text);
	return status;
}
