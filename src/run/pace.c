/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - see pace.h. */
#include "run/pace.h"

#include "base/util.h"

static double ns_per(uint64_t rate)
{
	return rate ? NS_PER_S / (double)rate : 0;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

void pace_init(struct pace *p, const struct job *job)
{
	*p = (struct pace){
		.bytes_ns = { ns_per(job->rate.read), ns_per(job->rate.write) },
		.ios_ns = { ns_per(job->rate_iops.read), ns_per(job->rate_iops.write) },
	};
	for (unsigned d = 0; d < 2; d++)
		p->is_paced |= p->bytes_ns[d] > 0 || p->ios_ns[d] > 0;
}

uint64_t pace_due(const struct pace *p, unsigned direction)
{
	return (uint64_t)later(p->due_ns[direction], p->last_ns);
}

void pace_take(struct pace *p, unsigned direction, uint64_t bytes)
{
	double cost = later(p->bytes_ns[direction] * (double)bytes, p->ios_ns[direction]);

	p->last_ns = later(p->due_ns[direction], p->last_ns);
	p->due_ns[direction] += cost;
}
