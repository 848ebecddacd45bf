/* SPDX-License-Identifier: Apache-2.0 */
/* prom_serve.c - see prom_serve.h. */
#include "report/prom_serve.h"

#include <errno.h>

#include "config.h"

#ifdef HAVE_MICROHTTPD

#include <microhttpd.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/count.h"
#include "base/mem.h"
#include "base/thread.h"
#include "report/prom_text.h"

#define CONNECTIONS 8u
#define SILENT_SECONDS 5u
#define REQUEST_BYTES ((size_t)16 << 10)
#define LEAST_PRIORITY 19

struct prom_serve {
	struct MHD_Daemon *daemon;
	struct prom_page *page;
	_Atomic uint64_t sent;
};

static enum MHD_Result send_text(struct MHD_Connection *to, unsigned status,
				 const char *type, const char *text,
				 size_t bytes)
{
	/* It is copied, though the library takes it without const. */
	const union {
		const char *own;
		void *any;
	} from = { text };
	struct MHD_Response *r = MHD_create_response_from_buffer(
		bytes, from.any, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* One that stays open would take the place of another one. */
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	enum MHD_Result rc = MHD_queue_response(to, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result send_words(struct MHD_Connection *to, unsigned status,
				  const char *words)
{
	return send_text(to, status, "text/plain; charset=utf-8", words,
			 strlen(words));
}

static enum MHD_Result send_page(struct prom_serve *s,
				 struct MHD_Connection *to)
{
	bool is_open = prom_text_wants_open(MHD_lookup_connection_value(
		to, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct buf page = { 0 };

	prom_page_put(s->page, is_open, &page);
	enum MHD_Result rc =
		send_text(to, MHD_HTTP_OK,
			  is_open ? "application/openmetrics-text; "
				    "version=1.0.0; charset=utf-8"
				  : "text/plain; version=0.0.4; charset=utf-8",
			  buf_str(&page), page.len);
	buf_fini(&page);
	return rc;
}

/* Of a request whose headers are there; what a client may send behind them is
 * not waited for. *state is not NULL where it gets the page. */
static enum MHD_Result answer(void *serve, struct MHD_Connection *to,
			      const char *url, const char *method,
			      const char *version, const char *upload,
			      size_t *upload_bytes, void **state)
{
	(void)version;
	(void)upload;
	(void)upload_bytes;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_words(to, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "only GET /metrics\n");
	if (strcmp(url, "/metrics") != 0)
		return send_words(to, MHD_HTTP_NOT_FOUND,
				  "mlgen: figures of this run are at "
				  "/metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) == 0)
		*state = serve;
	return send_page(serve, to);
}

static void completed(void *serve, struct MHD_Connection *to, void **state,
		      enum MHD_RequestTerminationCode how)
{
	struct prom_serve *s = serve;

	(void)to;
	if (*state && how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		count_add(&s->sent, 1);
}

/* On the library's thread, whose priority is its own on Linux: whoever works for
 * the run goes first. */
static void connected(void *serve, struct MHD_Connection *to, void **state,
		      enum MHD_ConnectionNotificationCode what)
{
	(void)serve;
	(void)to;
	(void)state;
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		setpriority(PRIO_PROCESS, (id_t)gettid(), LEAST_PRIORITY);
}

int prom_serve_check(struct mlgen_err *err)
{
	(void)err;
	return 0;
}

int prom_serve_open(struct prom_serve **out, const char *given,
		    struct prom_page *page, char at[PROM_ADDRESS_BYTES],
		    struct mlgen_err *err)
{
	int fd = prom_address_listen(given, at, err);

	if (fd < 0)
		return fd;
	struct prom_serve *s = mem_zalloc(sizeof(*s));
	s->page = page;
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL,
		answer, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, SILENT_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK_BYTES,
		MHD_OPTION_NOTIFY_COMPLETED, completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, connected, s, MHD_OPTION_END);
	if (!s->daemon) {
		int rc = errno ? -errno : -EIO;

		close(fd);
		mem_free(s);
		return mlgen_fail(err, rc, "metrics=%s: cannot serve: %s",
				  given, strerror(-rc));
	}
	*out = s;
	return 0;
}

uint64_t prom_serve_count(const struct prom_serve *s)
{
	return count_get(&s->sent);
}

/* The library closes the socket, too. */
void prom_serve_close(struct prom_serve *s)
{
	if (!s)
		return;
	MHD_stop_daemon(s->daemon);
	mem_free(s);
}

#else

int prom_serve_check(struct mlgen_err *err)
{
	return mlgen_fail(err, -ENOTSUP,
			  "metrics: mlgen was built without libmicrohttpd "
			  "(%s); install it, then run ./configure and make "
			  "again, or use --metrics-file",
			  PACKAGES_MICROHTTPD);
}

int prom_serve_open(struct prom_serve **out, const char *given,
		    struct prom_page *page, char at[PROM_ADDRESS_BYTES],
		    struct mlgen_err *err)
{
	(void)out;
	(void)given;
	(void)page;
	(void)at;
	return prom_serve_check(err);
}

uint64_t prom_serve_count(const struct prom_serve *s)
{
	(void)s;
	return 0;
}

void prom_serve_close(struct prom_serve *s)
{
	(void)s;
}

#endif
