/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - templates of calls: whose they are, as text, and which one a sample has. */
#include "data/plans/plans.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"

const char *recorded_anchor_word(enum recorded_anchor a)
{
	static const char *const words[] = {
		[RECORDED_START] = "start",   [RECORDED_END] = "end", [RECORDED_HERE] = "here",
		[RECORDED_SAMPLE] = "sample", [RECORDED_ANY] = "any",
	};

	return words[a];
}

struct recorded *recorded_hold(struct recorded *r)
{
	if (r)
		r->holders++;
	return r;
}

void recorded_free(struct recorded *r)
{
	if (!r || --r->holders)
		return;
	for (uint32_t i = 0; i < r->count; i++)
		mem_free(r->templates[i].calls);
	mem_free(r->templates);
	mem_free(r);
}

/* ---- writing ---- */

static void put_length(FILE *to, const struct recorded_length *l)
{
	char text[UNITS_TEXT_BYTES];

	switch (l->kind) {
	case RECORDED_BYTES:
		fprintf(to, "%llu", (unsigned long long)l->bytes);
		break;
	case RECORDED_PERCENT:
		fprintf(to, "%s%%", units_put_f64(text, l->percent));
		break;
	case RECORDED_REST:
		fputs("rest", to);
		break;
	case RECORDED_REST_OF_SAMPLE:
		fputs("sample", to);
		break;
	}
}

static void put_read(FILE *to, const struct recorded_call *c)
{
	fprintf(to, "read %s", recorded_anchor_word(c->anchor));
	if (c->off)
		fprintf(to, "%c%llu", c->anchor == RECORDED_END ? '-' : '+',
			(unsigned long long)c->off);
	for (unsigned i = 0; i < c->lengths; i++) {
		fputc(i ? ',' : ' ', to);
		put_length(to, &c->length[i]);
	}
	if (c->until == RECORDED_TO_END)
		fputs(" *", to);
	else if (c->until == RECORDED_TO_END_OF_SAMPLE)
		fputs(" *sample", to);
	else if (c->times != c->lengths)
		fprintf(to, " x%llu", (unsigned long long)c->times);
	fputc('\n', to);
}

static void put_call(FILE *to, const struct recorded_call *c)
{
	if (c->op == MLGEN_READ)
		put_read(to, c);
	else
		fprintf(to, "%s\n",
			c->op == MLGEN_OPEN   ? "open"
			: c->op == MLGEN_STAT ? "stat"
					      : "close");
}

void recorded_write(FILE *to, const struct recorded *r, const char *const *why)
{
	char share[UNITS_TEXT_BYTES];

	for (uint32_t i = 0; i < r->count; i++) {
		const struct recorded_template *t = &r->templates[i];

		if (i)
			fputc('\n', to);
		if (why && why[i])
			fprintf(to, "# %s\n", why[i]);
		fprintf(to, "template %s%%\n", units_put_f64(share, t->percent));
		for (uint32_t k = 0; k < t->count; k++)
			put_call(to, &t->calls[k]);
	}
}

/* ---- using ---- */

const struct recorded_template *recorded_of(const struct recorded *r, uint64_t extent)
{
	double at = rng_f64(r->seed, RNG_RECORDED, extent) * r->percent;
	uint32_t i = 0;

	while (i + 1 < r->count && at >= r->templates[i].percent)
		at -= r->templates[i++].percent;
	return &r->templates[i];
}

uint64_t recorded_largest_read(const struct recorded *r)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct recorded_template *t = &r->templates[i];

		for (uint32_t k = 0; k < t->count; k++) {
			const struct recorded_call *c = &t->calls[k];

			for (unsigned n = 0; n < c->lengths; n++) {
				if (c->length[n].kind != RECORDED_BYTES)
					return UINT64_MAX;
				if (c->length[n].bytes > most)
					most = c->length[n].bytes;
			}
		}
	}
	return most;
}
