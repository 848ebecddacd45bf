/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - names of operations and files, phases, and numbers and names as text. */
#include "trace/trace_internal.h"

#include <stdint.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/util.h"

static const char *const names[TRACE_OPS] = {
	[TRACE_OPEN] = "open",
	[TRACE_CLOSE] = "close",
	[TRACE_STAT] = "stat",
	[TRACE_READ] = "read",
	[TRACE_WRITE] = "write",
	[TRACE_FSYNC] = "fsync",
	[TRACE_FDATASYNC] = "fdatasync",
	[TRACE_RENAME] = "rename",
	[TRACE_UNLINK] = "unlink",
	[TRACE_MKDIR] = "mkdir",
	[TRACE_RMDIR] = "rmdir",
	[TRACE_GETDENTS] = "getdents",
	[TRACE_MMAP] = "mmap",
	[TRACE_MUNMAP] = "munmap",
	[TRACE_ALLOCATE] = "allocate",
	[TRACE_ADVISE] = "advise",
	[TRACE_FAULT] = "fault",
	[TRACE_CACHE_ADD] = "cache_add",
	[TRACE_BLOCK_ISSUE] = "block_issue",
	[TRACE_BLOCK_COMPLETE] = "block_complete",
	[TRACE_ASYNC_SUBMIT] = "async_submit",
	[TRACE_ASYNC_COMPLETE] = "async_complete",
	[TRACE_FORK] = "fork",
	[TRACE_EXEC] = "exec",
	[TRACE_EXIT] = "exit",
	[TRACE_ON_CPU] = "on_cpu",
	[TRACE_SAMPLE] = "sample",
	[TRACE_STEP] = "step",
	[TRACE_EPOCH] = "epoch",
	[TRACE_STAGE] = "stage",
	[TRACE_CHECKPOINT] = "checkpoint",
	[TRACE_COMPUTE] = "compute",
	[TRACE_TEXT] = "text",
};

const char *trace_op_name(unsigned op)
{
	return op < TRACE_OPS ? names[op] : NULL;
}

unsigned trace_op_find(const char *name)
{
	for (unsigned op = 1; op < TRACE_OPS; op++)
		if (names[op] && strcmp(names[op], name) == 0)
			return op;
	return TRACE_NONE;
}

struct trace_names {
	struct map_text names; /* by id - 1 */
};

struct trace_names *trace_names_new(void)
{
	return mem_zalloc(sizeof(struct trace_names));
}

void trace_names_free(struct trace_names *n)
{
	if (n)
		map_text_fini(&n->names);
	mem_free(n);
}

uint32_t trace_names_id(struct trace_names *n, const char *name, size_t bytes, bool *is_new)
{
	bool is_new_here;

	return 1 + map_text_number(&n->names, name, bytes, is_new ? is_new : &is_new_here);
}

uint32_t trace_names_find(const struct trace_names *n, const char *name, size_t bytes)
{
	uint32_t number;

	return map_text_find(&n->names, name, bytes, &number) ? number + 1 : 0;
}

const char *trace_names_text(const struct trace_names *n, uint32_t id, size_t *bytes)
{
	/* Id 0 becomes the largest number, which no name has. */
	return map_text_at(&n->names, id - 1, bytes);
}

uint32_t trace_names_count(const struct trace_names *n)
{
	return n->names.keys.count;
}

bool trace_phase_is_open(const struct trace_record *marker)
{
	return marker->duration_ns == TRACE_UNKNOWN || (marker->flags & TRACE_BEGINS);
}

/* Add a phase: merge it with an equal one, append it, or replace the phase that ends first. */
static void add_phase(struct trace_phases *p, const struct trace_record *r)
{
	struct trace_phase *first = p->held;
	struct trace_phase n = { .start_ns = r->start_ns, .op = r->op };

	if (trace_phase_is_open(r) ||
	    __builtin_add_overflow(r->start_ns, r->duration_ns, &n.end_ns))
		n.end_ns = UINT64_MAX;
	if (r->op == TRACE_EPOCH)
		n.number = r->off;
	else
		n.file = r->file;

	for (unsigned i = 0; i < p->count; i++) {
		struct trace_phase *h = &p->held[i];

		if (h->op == n.op && h->file == n.file && h->number == n.number) {
			n.end_ns = u64_max(n.end_ns, h->end_ns);
			*h = n;
			return;
		}
		if (h->end_ns < first->end_ns)
			first = h;
	}
	if (p->count < TRACE_PHASES)
		first = &p->held[p->count++];
	*first = n;
}

static bool takes_precedence(const struct trace_phase *a, const struct trace_phase *b)
{
	if ((a->op == TRACE_EPOCH) != (b->op == TRACE_EPOCH))
		return b->op == TRACE_EPOCH;
	return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->op > b->op;
}

const struct trace_phase *trace_phase_at(struct trace_phases *p, const struct trace_record *r)
{
	bool is_new = trace_is_phase(r->op);

	if (is_new)
		add_phase(p, r);
	if (is_new || (p->count && r->start_ns >= p->until_ns)) {
		unsigned count = 0;

		/* Remove phases that have ended and choose the current one. */
		p->until_ns = UINT64_MAX;
		p->now = NULL;
		for (unsigned i = 0; i < p->count; i++)
			if (p->held[i].end_ns > r->start_ns)
				p->held[count++] = p->held[i];
		p->count = count;
		for (unsigned i = 0; i < count; i++) {
			const struct trace_phase *h = &p->held[i];

			if (h->end_ns < p->until_ns)
				p->until_ns = h->end_ns;
			if (!p->now || takes_precedence(h, p->now))
				p->now = h;
		}
	}
	return p->now;
}

const char *trace_number_parse(const char *s, size_t bytes, uint64_t most, uint64_t *out)
{
	uint64_t v = 0;

	if (!bytes)
		return "is empty";
	if (*s == '-')
		return "is negative";
	for (size_t i = 0; i < bytes; i++) {
		if (s[i] < '0' || s[i] > '9')
			return "is not a whole number";
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return "is too large";
	}
	*out = v;
	return v > most ? "is too large" : NULL;
}

const char *trace_number_parse_signed(const char *s, size_t bytes, int64_t *out)
{
	uint64_t is_less = bytes > 1 && *s == '-', v = 0;
	const char *wrong =
		trace_number_parse(s + is_less, bytes - is_less, (uint64_t)INT64_MAX + is_less, &v);

	if (!wrong)
		*out = is_less ? (int64_t)-v : (int64_t)v;
	return wrong && is_less && s[1] == '-' ? "is not a whole number" : wrong;
}

void trace_number_append(struct buf *out, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10));
	buf_addn(out, digits + at, sizeof(digits) - at);
}

void trace_number_append_signed(struct buf *out, int64_t v)
{
	if (v < 0)
		buf_addc(out, '-');
	trace_number_append(out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Length of a UTF-8 sequence at `s` that is printable; 0 = there is none. */
static size_t printable_sequence(const unsigned char *s, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0xa0, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t point = s[0] & (0x7fu >> n);

	if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	/* Refuse overlong sequences and C1 controls, UTF-16 surrogates, and values beyond Unicode.
	 */
	return point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ? 0 : n;
}

void trace_text_append(struct buf *out, const char *s, size_t bytes)
{
	static const char digits[] = "0123456789ABCDEF";
	const unsigned char *at = (const unsigned char *)s, *end = at + bytes;

	while (at < end) {
		size_t n = 0;

		while (at + n < end && at[n] >= 0x20 && at[n] < 0x7f && at[n] != '\\')
			n++;
		if (n == 0 && *at >= 0x80)
			n = printable_sequence(at, (size_t)(end - at));
		buf_addn(out, (const char *)at, n);
		at += n;
		if (n)
			continue;
		buf_addc(out, '\\');
		if (*at == '\\') {
			buf_addc(out, '\\');
		} else {
			buf_addc(out, 'x');
			buf_addc(out, digits[*at >> 4]);
			buf_addc(out, digits[*at & 15]);
		}
		at++;
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *trace_text_unescape(char *s, size_t *bytes)
{
	char *end = s + *bytes, *to = memchr(s, '\\', *bytes);

	for (char *at = to; at && at < end;) {
		if (*at != '\\') {
			*to++ = *at++;
		} else if (end - at >= 2 && at[1] == '\\') {
			*to++ = '\\';
			at += 2;
		} else if (end - at >= 4 && at[1] == 'x' && hex_value(at[2]) >= 0 &&
			   hex_value(at[3]) >= 0) {
			*to++ = (char)(hex_value(at[2]) << 4 | hex_value(at[3]));
			at += 4;
		} else {
			return at;
		}
	}
	if (to)
		*bytes = (size_t)(to - s);
	return NULL;
}
