/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the parts that all plans share, and the plans that fit every format. */
#include "data/file/file_internal.h"

#include <string.h>

#include "base/util.h"
#include "data/scan/scan.h"

#define PART_MIN_BYTES 4096ull
#define PART_MAX_BYTES (1ull << 20)
/* A larger sample has no larger requests: they have reached the size of a buffer, or of a
 * framework's chunk. */
#define SAMPLE_SIZING_MAX_BYTES (2 * PART_MAX_BYTES)
#define FILE_SAMPLES_MAX (UINT64_MAX / SAMPLE_SIZING_MAX_BYTES)
#define BUFFER_MAX_BYTES (16ull << 20)

/* Number of extents of the largest file that are sampled to size buffers. A larger request wraps
 * around the buffer. */
#define SIZING_SAMPLES 1024u

/* DLIO rounds the read of a file up to this (npz_reader_odirect.py). */
#define WHOLE_FILE_ALIGN 4096

/* STEP_BEGIN: the shape of another part is known once that part is open. */
enum { STEP_OPEN, STEP_BEGIN, STEP_FIRST_READ, STEP_READ, STEP_CLOSED };

/* O_DIRECT reads whole blocks: round both ends outwards. */
static void align_range(struct plan *p, uint64_t align)
{
	if (align == 0)
		return;
	p->off -= p->off % align;
	if (p->end % align)
		p->end += align - p->end % align;
}

static void plain_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	const struct format *f = p->config->dataset->format;
	uint64_t len;

	p->off = 0;
	p->end = p->file_bytes;
	if (format_has_parts(f, shape)) {
		format_sample_range(f, shape, x->first_sample, x->samples, &p->off, &len);
		p->end = p->off + len;
	}
	align_range(p, p->config->align_bytes);
}

static bool plain_next(struct plan *p, struct plan_op *op)
{
	const struct dataset *ds = p->config->dataset;

	if (p->step == STEP_CLOSED)
		return false;
	if (p->step == STEP_BEGIN) {
		plain_init(p, &p->shape, &p->extent);
		p->step = STEP_FIRST_READ;
	}
	if (p->step == STEP_OPEN) {
		op->op = MLGEN_OPEN;
		op->after = true;
		op->part = p->has;
		p->step = p->has ? STEP_BEGIN : STEP_FIRST_READ;
	} else if (p->off < p->end) {
		op->op = MLGEN_READ;
		op->off = p->off;
		op->len_bytes = u64_min(p->end - p->off, p->config->bs_bytes);
		op->after = p->step == STEP_FIRST_READ;
		p->off += op->len_bytes;
		p->step = STEP_READ;
	} else {
		op->op = MLGEN_CLOSE;
		op->after = true;
		p->step = STEP_CLOSED;
		/* plan_next reads a label file after this kind of plan. */
		if (++p->has < (ds->labels ? 1 : dataset_sample_parts(ds)))
			p->step = STEP_OPEN;
	}
	return true;
}

/* Skip all requests except the last, which alone can be short. */
static void plain_skip(struct plan *p, struct plan_counts *c)
{
	uint64_t bs = p->config->bs_bytes;
	uint64_t n = p->end > p->off ? (p->end - p->off - 1) / bs : 0;

	c->ops[MLGEN_READ] += n;
	sizes_add(&c->reads, bs, n);
	c->io_bytes += n * bs;
	p->off += n * bs;
}

static uint64_t plain_largest_read(const struct plan_config *config)
{
	return config->bs_bytes;
}

static void whole_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	uint64_t align = p->config->align_bytes;

	(void)shape;
	(void)x;
	p->end = p->file_bytes;
	align_range(p, align > WHOLE_FILE_ALIGN ? align : WHOLE_FILE_ALIGN);
}

static bool whole_next(struct plan *p, struct plan_op *op)
{
	static const enum mlgen_op calls[] = { MLGEN_OPEN, MLGEN_STAT, MLGEN_READ, MLGEN_CLOSE };

	if (p->step == ARRAY_LEN(calls))
		return false;
	op->op = calls[p->step++];
	op->after = true;
	if (op->op == MLGEN_READ)
		op->len_bytes = p->end;
	return true;
}

static uint64_t whole_largest_read(const struct plan_config *config)
{
	(void)config;
	return UINT64_MAX;
}

static const struct plan_kind *kind_of(const struct plan_config *config, const struct extent *x)
{
	const struct format *f = config->dataset->format;

	if (x && x->samples == 0)
		return f->at_start;
	if (config->access == ACCESS_RECORDED)
		return &plan_recorded;
	return config->access == ACCESS_PLAIN ? &plan_plain : f->framework[config->direct];
}

const struct plan_kind plan_plain = {
	.init = plain_init,
	.next = plain_next,
	.skip = plain_skip,
	.largest_read = plain_largest_read,
};

const struct plan_kind plan_whole_file = {
	.init = whole_init,
	.next = whole_next,
	.largest_read = whole_largest_read,
};

void plan_init(struct plan *p, const struct plan_config *config, const struct extent *x)
{
	*p = (struct plan){ .config = config, .kind = kind_of(config, x), .extent = *x };
	format_shape(config->dataset, x->file, &p->shape);
	p->file_bytes = format_file_bytes(config->dataset->format, &p->shape);
	p->kind->init(p, &p->shape, x);
}

/*
 * Buffered access=framework reads a label like open(path).read() in Python (CPython 3.11): open()
 * asks for the size, and so does read(). read() then asks for one byte more than the file has, and
 * once again, because only an empty read marks the end. Otherwise a label is read as plan_plain
 * reads a file.
 */
enum { LABEL_NONE, LABEL_OPEN, LABEL_STAT, LABEL_STAT_AGAIN, LABEL_READ, LABEL_CLOSED };

static bool label_is_buffered(const struct plan *p)
{
	return p->config->access == ACCESS_FRAMEWORK && !p->config->direct;
}

/* The next read of the label; false = all of it has been read. */
static bool next_label_read(struct plan *p, struct plan_op *op)
{
	uint64_t align = p->config->align_bytes, end = p->file_bytes;

	op->op = MLGEN_READ;
	if (label_is_buffered(p)) {
		op->after = true;
		return pyfile_next(&p->python, &op->off, &op->len_bytes);
	}
	if (align)
		end = round_up(end, align);
	op->off = p->label_off;
	op->len_bytes = u64_min(end - p->label_off, p->config->bs_bytes);
	op->after = p->label_off == 0;
	p->label_off += op->len_bytes;
	return op->len_bytes > 0;
}

static bool label_next(struct plan *p, struct plan_op *op)
{
	if (p->label_step == LABEL_CLOSED)
		return false;
	op->part = 1;
	if (p->label_step == LABEL_READ) {
		if (next_label_read(p, op))
			return true;
		*op = (struct plan_op){ .op = MLGEN_CLOSE, .after = true };
		p->label_step = LABEL_CLOSED;
		return true;
	}
	op->op = p->label_step == LABEL_OPEN ? MLGEN_OPEN : MLGEN_STAT;
	op->after = true;
	p->label_step = label_is_buffered(p) ? p->label_step + 1 : LABEL_READ;
	if (p->label_step == LABEL_READ) {
		pyfile_open(&p->python, p->shape.label_bytes);
		pyfile_read_all(&p->python);
	}
	return true;
}

bool plan_next(struct plan *p, struct plan_op *op)
{
	const struct dataset *ds = p->config->dataset;

	memset(op, 0, sizeof(*op));
	if (p->label_step == LABEL_NONE && !p->kind->next(p, op)) {
		if (p->shape.label_bytes == 0 || p->extent.samples == 0)
			return false;
		/* The label file is read after the operations of the kind. */
		memset(op, 0, sizeof(*op));
		p->label_step = LABEL_OPEN;
	}
	if (p->label_step != LABEL_NONE && !label_next(p, op))
		return false;
	/* An open or stat of another part: the operations that follow read that part. */
	if ((op->op == MLGEN_OPEN || op->op == MLGEN_STAT) && op->part != p->shape.part) {
		format_shape(ds, op->part * ds->files + p->extent.file, &p->shape);
		p->file_bytes = format_file_bytes(ds->format, &p->shape);
	}
	uint64_t left = op->off < p->file_bytes ? p->file_bytes - op->off : 0;
	op->got_bytes = u64_min(op->len_bytes, left);
	return true;
}

bool plan_is_chain(const struct plan *p, struct plan_op *read)
{
	struct plan rest = *p;
	struct plan_op other;

	return plan_next(&rest, &other) && other.op == MLGEN_OPEN && plan_next(&rest, read) &&
	       read->op == MLGEN_READ && plan_next(&rest, &other) && other.op == MLGEN_CLOSE &&
	       !plan_next(&rest, &other);
}

void plan_count(const struct plan_config *config, const struct extent *x, struct plan_counts *c)
{
	struct plan p;
	struct plan_op op;

	memset(c, 0, sizeof(*c));
	plan_init(&p, config, x);
	if (p.kind->skip)
		p.kind->skip(&p, c);
	while (plan_next(&p, &op)) {
		c->ops[op.op]++;
		if (op.op == MLGEN_READ)
			sizes_add(&c->reads, op.len_bytes, 1);
		c->io_bytes += op.got_bytes;
	}
}

uint64_t plan_largest_read(const struct plan_config *config)
{
	uint64_t most = kind_of(config, NULL)->largest_read(config);

	/* Python asks for one byte more than a label has. */
	return config->dataset->labels ? u64_max(most, labels_largest(config->dataset->labels) + 1)
				       : most;
}

static uint64_t largest_in_extent(const struct plan_config *config, const struct extent *x)
{
	struct plan_counts c;
	unsigned i = SIZES_CLASSES;

	plan_count(config, x, &c);
	while (i > 0 && c.reads.count[i - 1] == 0)
		i--;
	return i ? c.reads.largest[i - 1] : 0;
}

static uint64_t largest_request(const struct plan_config *config)
{
	uint64_t largest = plan_largest_read(config);
	bool is_forward = config->access == ACCESS_FRAMEWORK && config->dataset->format->is_forward;

	/* A sample of extents is not representative for these: most extents of a forward plan read
	 * nothing, and the recorded template with the largest read may be rare. */
	if (is_forward || (config->access == ACCESS_RECORDED && largest < UINT64_MAX))
		return largest;

	/* The largest read among sampled extents of the largest file. */
	const struct dataset *ds = config->dataset;
	uint64_t enough = ds->samples_per_file < FILE_SAMPLES_MAX
				  ? ds->samples_per_file * SAMPLE_SIZING_MAX_BYTES
				  : UINT64_MAX;
	struct extent x = { .file = dataset_large_file(ds, ds->found ? UINT64_MAX : enough) };
	uint64_t first = dataset_first_extent(ds, x.file), most = 0;
	uint64_t n = dataset_first_extent(ds, x.file + 1) - first;
	uint64_t step = 1 + (n - 1) / SIZING_SAMPLES;

	if (config->access == ACCESS_FRAMEWORK && ds->format->at_start)
		most = largest_in_extent(config, &x);
	for (uint64_t i = 0; i < n; i += step) {
		dataset_extent(ds, first + i, &x);
		most = u64_max(most, largest_in_extent(config, &x));
	}
	return u64_min(most, largest);
}

size_t plan_buffer_bytes(const struct plan_config *config, unsigned depth)
{
	uint64_t one = u64_max(largest_request(config), PART_MIN_BYTES);

	one = one < PART_MAX_BYTES ? (one + 4095) / 4096 * 4096 : PART_MAX_BYTES;
	uint64_t all = one * depth;
	return (size_t)(all < BUFFER_MAX_BYTES ? all : BUFFER_MAX_BYTES);
}
