/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - one line on stderr, redrawn in place while jobs run. */
#include "report/status.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "stat/opstat.h"

#define MIB 1048576.0
#define GIB 1073741824.0
#define NS_PER_SEC UINT64_C(1000000000)

#define COLUMNS 80
#define CLEAR "\r\033[K"
#define LOOKS 10 /* seconds that AU, throughput and p99 look back */
#define LOOK_NS NS_PER_SEC
#define WAITING_NS (2 * NS_PER_SEC)
#define OUTSTANDING_NS (10 * NS_PER_SEC)
#define PARTS 8
#define PART_BYTES 96

/* A job as it was at some second; what a difference needs, no more. */
struct look {
	uint64_t now_ns, sample_bytes, compute_ns, step_ns, bytes_done;
	struct hist *stall;
};

/* The last seconds of one job: a ring, the oldest at `next` once it is full. */
struct track {
	char *job_name;
	enum live_phase phase;
	struct look looks[LOOKS];
	unsigned next, count;
};

struct status {
	struct status_screen screen;
	bool draws;
	bool is_drawn;
	uint64_t interval_ns;  /* 0 = no whole lines */
	uint64_t next_line_ns; /* 0 = not begun */
	struct track *tracks;
	size_t track_count;
	struct hist *scratch; /* stalls of the last seconds */
};

/* The pieces of a line, from left to right, and what to do without first. */
struct part {
	char text[PART_BYTES];
	unsigned worth; /* the least goes first; 0 stays */
};

struct line {
	struct part parts[PARTS];
	unsigned count;
};

static void write_all(int fd, const char *s, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, s, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return; /* nobody looks */
		s += done;
		n -= (size_t)done;
	}
}

__attribute__((format(printf, 3, 4))) static void add_part(struct line *l,
							   unsigned worth,
							   const char *fmt, ...)
{
	struct part *p = &l->parts[l->count++];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(p->text, sizeof(p->text), fmt, ap);
	va_end(ap);
	p->worth = worth;
}

/* Three digits are enough for something that changes every second. */
static char *put_rate(char *out, double bytes_per_sec)
{
	bool is_gib = bytes_per_sec >= GIB;
	double v = bytes_per_sec / (is_gib ? GIB : MIB);
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
	snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", decimals, v,
		 is_gib ? "GiB/s" : "MiB/s");
	return out;
}

/* "1.66 of 3.73 TiB": both in the unit of the larger. */
static void put_done_of(char *out, size_t size, uint64_t done, uint64_t total)
{
	char whole[UNITS_TEXT_BYTES];
	double power = 1;
	while ((double)total / power >= 1023.5)
		power *= 1024;
	double v = (double)done / power;
	units_human_bytes(whole, (double)total);
	snprintf(out, size, "%.*f of %s",
		 power < 2    ? 0
		 : v < 99.995 ? 2
			      : v < 999.95,
		 v, whole);
}

static const struct look *oldest_look(const struct track *t)
{
	return &t->looks[t->count < LOOKS ? 0 : t->next];
}

/* Rate of a counter over the last seconds; NaN where there is no past. */
static double rate_since(const struct live *now, const struct look *then,
			 uint64_t gained)
{
	if (now->now_ns <= then->now_ns)
		return (double)NAN;
	return (double)gained * (double)NS_PER_SEC /
	       (double)(now->now_ns - then->now_ns);
}

static void add_left(struct line *l, uint64_t left_ns)
{
	char text[UNITS_TEXT_BYTES];
	uint64_t s = left_ns / NS_PER_SEC;
	if (left_ns == UINT64_MAX)
		return;
	if (s < 60)
		add_part(l, 2, "left %" PRIu64 "s", s);
	else
		add_part(l, 2, "left %s",
			 units_human_time(text, s * NS_PER_SEC));
}

static void prepare_line(struct line *l, const struct live *now,
			 const struct look *then)
{
	char done[UNITS_TEXT_BYTES], total[UNITS_TEXT_BYTES], bytes[64],
		rate[UNITS_TEXT_BYTES];
	uint64_t gained = now->bytes_done > then->bytes_done
				  ? now->bytes_done - then->bytes_done
				  : 0;
	double per_sec = rate_since(now, then, gained);
	uint64_t left_ns = now->left_ns;
	add_part(l, 0, "prepare");
	add_part(l, 0, " %s/%s files", units_human_count(done, now->files_done),
		 units_human_count(total, now->files_total));
	put_done_of(bytes, sizeof(bytes), now->bytes_done, now->bytes_total);
	add_part(l, 1, "%s", bytes);
	if (!isnan(per_sec))
		add_part(l, 3, "%s", put_rate(rate, per_sec));
	if (left_ns == UINT64_MAX && per_sec > 0 &&
	    now->bytes_total >= now->bytes_done)
		left_ns = (uint64_t)((double)(now->bytes_total -
					      now->bytes_done) /
				     per_sec * (double)NS_PER_SEC);
	add_left(l, left_ns);
}

static bool is_outstanding(const struct live *now)
{
	return now->oldest.start_ns != 0 &&
	       now->now_ns >= now->oldest.start_ns + OUTSTANDING_NS;
}

/* The end of a path names the file; its beginning goes first. */
static void add_outstanding(struct line *l, const struct live *now, size_t room)
{
	const char *path = now->oldest.path;
	size_t len = strlen(path);
	char what[64];
	int head =
		snprintf(what, sizeof(what),
			 "%s for %" PRIu64 " s: ", opstat_name(now->oldest.op),
			 (now->now_ns - now->oldest.start_ns) / NS_PER_SEC);
	if (room > PART_BYTES - 1)
		room = PART_BYTES - 1;
	room = room > (size_t)head + 16 ? room - (size_t)head : 16;
	if (len > room)
		add_part(l, 0, "%s...%s", what, path + len - (room - 3));
	else
		add_part(l, 0, "%s%s", what, path);
}

static void add_epoch(struct line *l, const struct live *now)
{
	if (now->epochs > 0)
		add_part(l, 5, "epoch %" PRIu64 "/%" PRIu64, now->epoch,
			 now->epochs);
	else
		add_part(l, 5, "epoch %" PRIu64, now->epoch);
}

static void add_step(struct line *l, const struct live *now)
{
	if (now->steps > 0)
		add_part(l, 1, "step %" PRIu64 "/%" PRIu64, now->step,
			 now->steps);
	else
		add_part(l, 1, "step %" PRIu64, now->step);
}

static void add_throughput(struct line *l, const struct live *now,
			   const struct look *then)
{
	char rate[UNITS_TEXT_BYTES];
	double per_sec =
		rate_since(now, then, now->sample_bytes - then->sample_bytes);
	if (now->waiting_ns > WAITING_NS)
		add_part(l, 0, "waiting %" PRIu64 " s",
			 now->waiting_ns / NS_PER_SEC);
	else if (!isnan(per_sec))
		add_part(l, 0, "%s", put_rate(rate, per_sec));
}

static void add_au(struct line *l, const struct live *now,
		   const struct look *then)
{
	uint64_t steps_ns = now->step_ns - then->step_ns;
	if (now->compute_ns == 0 || steps_ns == 0)
		return;
	double au = (double)(now->compute_ns - then->compute_ns) /
		    (double)steps_ns * 100;
	add_part(l, 4, "AU %.1f%%", au);
}

static void add_stall(struct line *l, const struct live *now,
		      const struct look *then, struct hist *scratch)
{
	if (!now->stall || !then->stall)
		return;
	memcpy(scratch, now->stall, sizeof(*scratch));
	hist_subtract(scratch, then->stall);
	if (scratch->count == 0)
		return;
	double ms = (double)hist_percentile(scratch, 99) / 1e6;
	add_part(l, 3, "stall p99 %.*f ms",
		 ms < 0.995  ? 3
		 : ms < 9.95 ? 2
			     : ms < 99.5,
		 ms);
}

static void train_line(struct line *l, const struct live *now,
		       const struct look *then, struct hist *scratch)
{
	add_part(l, 0, "%s", now->job_name);
	add_epoch(l, now);
	if (is_outstanding(now)) {
		size_t used = 0;
		for (unsigned i = 0; i < l->count; i++)
			used += strlen(l->parts[i].text) + 2;
		add_outstanding(l, now, COLUMNS - 10 - used);
		return;
	}
	add_step(l, now);
	add_throughput(l, now, then);
	add_au(l, now, then);
	add_stall(l, now, then, scratch);
	add_left(l, now->left_ns);
}

static void compose(struct line *l, const struct live *now,
		    const struct look *then, struct hist *scratch)
{
	l->count = 0;
	switch (now->phase) {
	case LIVE_PREPARE:
		prepare_line(l, now, then);
		break;
	case LIVE_TRAIN:
		train_line(l, now, then, scratch);
		break;
	case LIVE_WAIT:
		add_part(l, 0, "%s", now->job_name);
		add_part(l, 0, "waits for its start");
		break;
	case LIVE_DROP:
		add_part(l, 0, "%s", now->job_name);
		add_part(l, 0, "drops its files from the page cache");
		break;
	case LIVE_DONE:
		add_part(l, 0, "%s", now->job_name);
		add_part(l, 0, "done");
		break;
	}
}

static size_t join(const struct line *l, const char *between, char *out,
		   size_t size)
{
	size_t len = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < l->count && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s",
					i ? between : "", l->parts[i].text);
	return len;
}

static bool drop_least(struct line *l)
{
	unsigned least = PARTS;
	for (unsigned i = 0; i < l->count; i++)
		if (l->parts[i].worth > 0 &&
		    (least == PARTS ||
		     l->parts[i].worth < l->parts[least].worth))
			least = i;
	if (least == PARTS)
		return false;
	memmove(&l->parts[least], &l->parts[least + 1],
		(l->count - least - 1) * sizeof(l->parts[0]));
	l->count--;
	return true;
}

/* Names and paths come from users: none of them moves the cursor. */
static void make_printable(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

/* In at most `columns`: closer together, then without the least important. */
static void fit(struct line *l, size_t columns, char *out, size_t size)
{
	while (join(l, "  ", out, size) > columns &&
	       join(l, " ", out, size) > columns && drop_least(l))
		;
	if (strlen(out) > columns)
		out[columns] = '\0';
	make_printable(out);
}

static struct track *track_of(struct status *s, const char *job_name)
{
	for (size_t i = 0; i < s->track_count; i++)
		if (!strcmp(s->tracks[i].job_name, job_name))
			return &s->tracks[i];
	return NULL;
}

/* A job seen for the first time: on the main thread, once per job. */
static struct track *new_track(struct status *s, const char *job_name)
{
	s->tracks = mem_realloc(s->tracks,
				(s->track_count + 1) * sizeof(*s->tracks));
	struct track *t = &s->tracks[s->track_count++];
	*t = (struct track){ .job_name = mem_strdup(job_name) };
	return t;
}

static void remember(struct track *t, const struct live *now)
{
	struct look *l = &t->looks[t->next];
	struct hist *stall = l->stall;
	if (now->stall && !stall)
		stall = hist_new();
	*l = (struct look){ .now_ns = now->now_ns,
			    .sample_bytes = now->sample_bytes,
			    .compute_ns = now->compute_ns,
			    .step_ns = now->step_ns,
			    .bytes_done = now->bytes_done,
			    .stall = stall };
	if (now->stall)
		memcpy(stall, now->stall, sizeof(*stall));
	t->next = (t->next + 1) % LOOKS;
	if (t->count < LOOKS)
		t->count++;
}

/* Once a second, however often it is called; a new phase starts anew. */
static void follow(struct status *s, const struct live *now)
{
	struct track *t = track_of(s, now->job_name);
	if (!t)
		t = new_track(s, now->job_name);
	if (t->phase != now->phase) {
		t->phase = now->phase;
		t->next = t->count = 0;
	}
	const struct look *last = &t->looks[(t->next + LOOKS - 1) % LOOKS];
	if (t->count == 0 || now->now_ns >= last->now_ns + LOOK_NS)
		remember(t, now);
}

/* The line of one job, and where nothing is known of it yet, a first one. */
static void job_line(struct status *s, const struct live *now, size_t columns,
		     char *out, size_t size)
{
	struct line l;
	const struct track *t = track_of(s, now->job_name);
	struct look none = { .now_ns = now->now_ns,
			     .sample_bytes = now->sample_bytes,
			     .compute_ns = now->compute_ns,
			     .step_ns = now->step_ns,
			     .bytes_done = now->bytes_done };
	bool known = t && t->count > 0 && t->phase == now->phase;
	compose(&l, now, known ? oldest_look(t) : &none, s->scratch);
	fit(&l, columns, out, size);
}

/* Several jobs share the line: each its name, throughput or wait, and AU. */
static void short_line(struct status *s, const struct live *now, char *out,
		       size_t size)
{
	struct line l = { .count = 0 };
	const struct track *t = track_of(s, now->job_name);
	if (now->phase != LIVE_TRAIN || !t || t->count == 0 ||
	    t->phase != now->phase) {
		job_line(s, now, COLUMNS, out, size);
		return;
	}
	add_part(&l, 0, "%s", now->job_name);
	if (is_outstanding(now))
		add_outstanding(&l, now, COLUMNS / 2);
	else
		add_throughput(&l, now, oldest_look(t));
	add_au(&l, now, oldest_look(t));
	join(&l, " ", out, size);
	make_printable(out);
}

static bool is_busy(const struct live *l)
{
	return l->phase != LIVE_WAIT && l->phase != LIVE_DONE;
}

/* Jobs that wait or are done say so only while no other one works. */
static bool is_shown(const struct live *l, const struct live *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_busy(&jobs[i]))
			return is_busy(l);
	return true;
}

static size_t count_shown(const struct live *jobs, size_t n)
{
	size_t shown = 0;
	for (size_t i = 0; i < n; i++)
		shown += is_shown(&jobs[i], jobs, n);
	return shown;
}

/* Every job in short, as many as there is room for. */
static void join_jobs(struct status *s, const struct live *jobs, size_t n,
		      size_t columns, char *out, size_t size)
{
	char one[COLUMNS * 4];
	size_t len = 0, left = count_shown(jobs, n);
	bool is_first = true;
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!is_shown(&jobs[i], jobs, n))
			continue;
		short_line(s, &jobs[i], one, sizeof(one));
		/* Room for "  +12 more" stays as long as it may be needed. */
		if (!is_first && len + strlen(one) + 13 > columns)
			break;
		len += (size_t)snprintf(out + len, size - len, "%s%s",
					is_first ? "" : " | ", one);
		is_first = false;
		left--;
	}
	if (left > 0 && len < columns)
		snprintf(out + len, size - len, "  +%zu more", left);
	if (strlen(out) > columns)
		out[columns] = '\0';
}

static void draw(struct status *s, const struct live *jobs, size_t n)
{
	char text[COLUMNS * 8] = CLEAR;
	char *line = text + strlen(CLEAR);
	size_t room = sizeof(text) - strlen(CLEAR);
	size_t columns = s->screen.columns && s->screen.columns < COLUMNS
				 ? s->screen.columns - 1
				 : COLUMNS - 1;
	if (count_shown(jobs, n) > 1)
		join_jobs(s, jobs, n, columns, line, room);
	for (size_t i = 0; i < n && line[0] == '\0'; i++)
		if (is_shown(&jobs[i], jobs, n))
			job_line(s, &jobs[i], columns, line, room);
	write_all(s->screen.fd, text, strlen(text));
	s->is_drawn = true;
}

static unsigned terminal_columns(int fd)
{
	struct winsize w;
	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col < 2)
		return COLUMNS;
	return w.ws_col;
}

static time_t wall_clock(void)
{
	return time(NULL);
}

struct status *status_new_on(const struct settings *set,
			     const struct status_screen *screen)
{
	struct status *s = mem_zalloc(sizeof(*s));
	s->screen = *screen;
	s->draws = set->eta == ETA_ALWAYS ||
		   (set->eta == ETA_AUTO && screen->columns > 0);
	s->interval_ns = set->status_interval_ns;
	s->scratch = hist_new();
	return s;
}

struct status *status_new(const struct settings *set)
{
	const struct status_screen screen = {
		.fd = STDERR_FILENO,
		.columns = terminal_columns(STDERR_FILENO),
		.wall_clock = wall_clock,
	};
	return status_new_on(set, &screen);
}

void status_update(struct status *s, const struct live *jobs, size_t n)
{
	if (n == 0)
		return;
	/* First what is printed, then what is remembered: the oldest look is
	 * ten seconds old then, not nine. */
	uint64_t now_ns = jobs[0].now_ns;
	if (s->next_line_ns == 0)
		s->next_line_ns = now_ns + s->interval_ns;
	/* Looks come a little early or late; a line waits for none of them. */
	if (s->interval_ns > 0 &&
	    now_ns + s->interval_ns / 10 >= s->next_line_ns) {
		status_print(s, jobs, n);
		s->next_line_ns += s->interval_ns;
		/* Never two in a row, also after the program was stopped. */
		if (s->next_line_ns <= now_ns)
			s->next_line_ns = now_ns + s->interval_ns;
	}
	if (s->draws)
		draw(s, jobs, n);
	for (size_t i = 0; i < n; i++)
		follow(s, &jobs[i]);
}

void status_print(struct status *s, const struct live *jobs, size_t n)
{
	char line[COLUMNS * 4], text[COLUMNS * 5], when[16] = "";
	time_t t = s->screen.wall_clock();
	struct tm utc;
	if (gmtime_r(&t, &utc))
		strftime(when, sizeof(when), "%H:%M:%S", &utc);
	status_erase(s);
	for (size_t i = 0; i < n; i++) {
		if (!is_shown(&jobs[i], jobs, n))
			continue;
		job_line(s, &jobs[i], COLUMNS - strlen(when) - 2, line,
			 sizeof(line));
		int len = snprintf(text, sizeof(text), "%s  %s\n", when, line);
		write_all(s->screen.fd, text, (size_t)len);
	}
}

void status_erase(struct status *s)
{
	if (s->is_drawn)
		write_all(s->screen.fd, CLEAR, strlen(CLEAR));
	s->is_drawn = false;
}

void status_free(struct status *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->track_count; i++) {
		mem_free(s->tracks[i].job_name);
		for (unsigned k = 0; k < LOOKS; k++)
			hist_free(s->tracks[i].looks[k].stall);
	}
	mem_free(s->tracks);
	hist_free(s->scratch);
	mem_free(s);
}
