/* SPDX-License-Identifier: Apache-2.0 */
/* prom_serve.c - serves the page over HTTP, and parses the address to serve at. */
#include "report/prometheus/prometheus_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "config.h"

#define LOOPBACK "127.0.0.1"

/* Connections that wait in the kernel's queue until a served one ends. */
#define BACKLOG 16

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int address_fail(const char *given, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "metrics=%s: %s; use ADDRESS:PORT, such as 127.0.0.1:9100, "
			  "[::1]:9100, or 9100 alone",
			  given, what);
}

static int parse_address(const char *given, union address *a, socklen_t *bytes,
			 struct mlgen_err *err)
{
	char host[PROM_ADDRESS_BYTES], *end;
	const char *colon = strrchr(given, ':');
	size_t length = colon ? (size_t)(colon - given) : 0;
	bool is_bracketed = length > 2 && *given == '[' && given[length - 1] == ']';
	int shown = (int)(is_bracketed ? length - 2 : length);
	const char *text = colon ? colon + 1 : given;

	if (snprintf(host, PROM_ADDRESS_BYTES, "%.*s", shown, given + is_bracketed) >=
	    PROM_ADDRESS_BYTES)
		return address_fail(given, "is not an address", err);
	unsigned long n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || n > 65535)
		return address_fail(given, "a port is a number up to 65535", err);
	in_port_t port = htons((in_port_t)n);
	*a = (union address){ 0 };
	if (*host == '\0' || strcmp(host, "localhost") == 0)
		snprintf(host, sizeof(host), "%s", LOOPBACK);
	if (*given != '[' && inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = port;
		*bytes = sizeof(a->v4);
		return 0;
	}
	if (*given != '[' && strchr(host, ':'))
		return address_fail(given, "an IPv6 address needs brackets", err);
	if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) != 1)
		return address_fail(given, "is not an address, and host names are not resolved",
				    err);
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = port;
	*bytes = sizeof(a->v6);
	return 0;
}

static int listen_fail(const char *given, int code, struct mlgen_err *err)
{
	const char *hint = code == EADDRINUSE
				   ? "; another process uses this port; port 0 selects a free port"
			   : code == EADDRNOTAVAIL
				   ? "; this host does not have this address; 0.0.0.0 and [::] "
				     "mean all its addresses"
			   : code == EACCES ? "; ports below 1024 require root"
					    : "";

	return mlgen_fail(err, -code, "metrics=%s: %s%s", given, strerror(code), hint);
}

int prom_address_check(const char *given, struct mlgen_err *err)
{
	union address a;
	socklen_t bytes;

	return parse_address(given, &a, &bytes, err);
}

int prom_address_listen(const char *given, char at[PROM_ADDRESS_BYTES], struct mlgen_err *err)
{
	union address a;
	socklen_t bytes;
	const int yes = 1;
	int rc = parse_address(given, &a, &bytes, err);

	if (rc < 0)
		return rc;
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return listen_fail(given, errno, err);
	/* An earlier run may have used this port a moment ago. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &a.any, bytes) != 0 || listen(fd, BACKLOG) != 0) {
		rc = listen_fail(given, errno, err);
		close(fd);
		return rc;
	}

	/* Port 0 selects a free port. */
	char text[INET6_ADDRSTRLEN] = "";
	union address bound = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t bound_bytes = sizeof(bound);

	getsockname(fd, &bound.any, &bound_bytes);
	bool is_v6 = bound.any.sa_family == AF_INET6;
	inet_ntop(bound.any.sa_family,
		  is_v6 ? (const void *)&bound.v6.sin6_addr : &bound.v4.sin_addr, text,
		  sizeof(text));
	snprintf(at, PROM_ADDRESS_BYTES, is_v6 ? "[%s]:%u" : "%s:%u", text,
		 ntohs(is_v6 ? bound.v6.sin6_port : bound.v4.sin_port));
	return fd;
}

#ifdef HAVE_MICROHTTPD

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/thread.h"

#define CONNECTIONS 8u
#define SILENT_SECONDS 5u
#define CONNECTION_LIMIT_NS (10 * NS_PER_S)
#define CHECK_MS 500 /* between checks of CONNECTION_LIMIT_NS */
#define REQUEST_BYTES ((size_t)16 << 10)
#define LOWEST_PRIORITY 19

/* X(name): functions of libmicrohttpd that mlgen calls, without MHD_. */
#define HTTP_FUNCTIONS(X)                                                                          \
	X(add_response_header)                                                                     \
	X(create_response_from_buffer)                                                             \
	X(destroy_response)                                                                        \
	X(get_connection_info)                                                                     \
	X(get_daemon_info)                                                                         \
	X(lookup_connection_value)                                                                 \
	X(queue_response)                                                                          \
	X(run)                                                                                     \
	X(start_daemon)                                                                            \
	X(stop_daemon)

/*
 * libmicrohttpd is loaded by the first run that serves metrics: it brings TLS and nine more
 * libraries. Starting mlgen (--version) took 8.1 ms of CPU time with it and takes 4.2 ms without
 * it, medians of three rounds of 100. The table is written once, before the thread that serves is
 * started.
 */
static struct {
#define HTTP_MEMBER(name) __typeof__(MHD_##name) *name;
	HTTP_FUNCTIONS(HTTP_MEMBER)
#undef HTTP_MEMBER
} http;

static const struct library_symbol http_symbols[] = {
#define HTTP_SYMBOL(name) { "MHD_" #name, offsetof(__typeof__(http), name) },
	HTTP_FUNCTIONS(HTTP_SYMBOL)
#undef HTTP_SYMBOL
};

struct connection {
	int fd;
	uint64_t begin_ns; /* 0 = unused */
};

struct prom_serve {
	struct MHD_Daemon *daemon;
	struct prom_page *page;
	_Atomic uint64_t sent;
	pthread_t thread;
	int wake_fd; /* ends the thread's wait */
	_Atomic bool ends;
	/* Only the serving thread uses these. */
	struct connection connections[CONNECTIONS];
	bool has_closed; /* a connection ended during the last MHD_run() */
};

static enum MHD_Result send_text(struct MHD_Connection *to, unsigned status, const char *type,
				 const char *text, size_t bytes)
{
	/* The library copies the text, though its parameter is not const. */
	const union {
		const char *own;
		void *any;
	} from = { text };
	struct MHD_Response *r =
		http.create_response_from_buffer(bytes, from.any, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	http.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* A connection that stays open would use one of the few connections that are allowed. */
	http.add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		http.add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	enum MHD_Result rc = http.queue_response(to, status, r);
	http.destroy_response(r);
	return rc;
}

static enum MHD_Result send_words(struct MHD_Connection *to, unsigned status, const char *words)
{
	return send_text(to, status, "text/plain; charset=utf-8", words, strlen(words));
}

/* Called by the library when all headers of a request have arrived; a body is not read. *state
 * becomes the server if the client gets the page. */
static enum MHD_Result answer(void *serve, struct MHD_Connection *to, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **state)
{
	(void)version;
	(void)upload;
	(void)upload_bytes;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_words(to, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET /metrics\n");
	if (strcmp(url, "/metrics") != 0)
		return send_words(to, MHD_HTTP_NOT_FOUND,
				  "mlgen: figures of this run are at /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) == 0)
		*state = serve;

	struct prom_serve *s = serve;
	bool is_open = prom_text_wants_open(
		http.lookup_connection_value(to, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct buf page = { 0 };

	prom_page_append(s->page, is_open, &page);
	enum MHD_Result rc =
		send_text(to, MHD_HTTP_OK,
			  is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				  : "text/plain; version=0.0.4; charset=utf-8",
			  buf_str(&page), page.len);
	buf_fini(&page);
	return rc;
}

static void completed(void *serve, struct MHD_Connection *to, void **state,
		      enum MHD_RequestTerminationCode how)
{
	struct prom_serve *s = serve;

	(void)to;
	if (*state && how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		count_add(&s->sent, 1);
}

static void connected(void *serve, struct MHD_Connection *to, void **state,
		      enum MHD_ConnectionNotificationCode what)
{
	struct prom_serve *s = serve;
	struct connection *c = s->connections;
	const union MHD_ConnectionInfo *info =
		http.get_connection_info(to, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		s->has_closed = true;
		if (*state)
			((struct connection *)*state)->begin_ns = 0;
		return;
	}
	while (c < s->connections + CONNECTIONS && c->begin_ns)
		c++;
	if (!info || c == s->connections + CONNECTIONS)
		return;
	*c = (struct connection){ info->connect_fd, clock_monotonic_ns() };
	*state = c;
}

/* The priority is that of this thread alone, so that threads of the run go first. */
static void *keep_serving(void *serve)
{
	struct prom_serve *s = serve;
	const union MHD_DaemonInfo *info =
		http.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = { { .fd = info->epoll_fd, .events = POLLIN },
				{ .fd = s->wake_fd, .events = POLLIN } };

	setpriority(PRIO_PROCESS, (id_t)gettid(), LOWEST_PRIORITY);
	while (!atomic_load(&s->ends)) {
		/* Shut down connections at their time limit. The library ends only silent
		 * connections; a client that sends a byte from time to time would stay forever. */
		uint64_t now_ns = clock_monotonic_ns();
		bool has_any = false;

		for (unsigned i = 0; i < CONNECTIONS; i++) {
			const struct connection *c = &s->connections[i];

			if (c->begin_ns && now_ns - c->begin_ns > CONNECTION_LIMIT_NS)
				shutdown(c->fd, SHUT_RDWR);
			has_any |= c->begin_ns != 0;
		}
		poll(fds, ARRAY_LEN(fds), has_any ? CHECK_MS : -1);
		/* The library stops listening at its connection limit. It starts again only in the
		 * next http.run() after one that closed a connection. */
		do {
			s->has_closed = false;
			http.run(s->daemon);
		} while (s->has_closed);
	}
	return NULL;
}

int prom_serve_check(struct mlgen_err *err)
{
	return library_load("metrics: libmicrohttpd", MICROHTTPD_SONAME, http_symbols,
			    ARRAY_LEN(http_symbols), &http, err);
}

/* MHD_stop_daemon() closes the socket, too. */
static void free_server(struct prom_serve *s, int fd)
{
	if (s->daemon)
		http.stop_daemon(s->daemon);
	else
		close(fd);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	mem_free(s);
}

int prom_serve_open(struct prom_serve **out, const char *given, struct prom_page *page,
		    char at[PROM_ADDRESS_BYTES], struct mlgen_err *err)
{
	int fd = prom_serve_check(err);

	if (fd == 0)
		fd = prom_address_listen(given, at, err);
	if (fd < 0)
		return fd;
	struct prom_serve *s = mem_zalloc(sizeof(*s));
	s->page = page;
	s->wake_fd = eventfd(0, EFD_CLOEXEC);
	s->daemon = http.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, s,
				      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				      CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, SILENT_SECONDS,
				      MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES,
				      MHD_OPTION_NOTIFY_COMPLETED, completed, s,
				      MHD_OPTION_NOTIFY_CONNECTION, connected, s, MHD_OPTION_END);
	int rc = s->daemon && s->wake_fd >= 0 ? 0 : errno ? -errno : -EIO;
	if (rc == 0)
		rc = thread_start(&s->thread, keep_serving, s);
	if (rc < 0) {
		free_server(s, fd);
		return mlgen_fail(err, rc, "metrics=%s: cannot serve: %s", given, strerror(-rc));
	}
	*out = s;
	return 0;
}

uint64_t prom_serve_count(const struct prom_serve *s)
{
	return count_get(&s->sent);
}

void prom_serve_close(struct prom_serve *s)
{
	if (!s)
		return;
	atomic_store(&s->ends, true);
	eventfd_write(s->wake_fd, 1);
	pthread_join(s->thread, NULL);
	free_server(s, -1);
}

#else

int prom_serve_check(struct mlgen_err *err)
{
	return mlgen_fail(err, -ENOTSUP,
			  "metrics: mlgen was built without libmicrohttpd (%s); install it, then "
			  "run ./configure and make again, or use --metrics-file",
			  PACKAGES_MICROHTTPD);
}

int prom_serve_open(struct prom_serve **out, const char *given, struct prom_page *page,
		    char at[PROM_ADDRESS_BYTES], struct mlgen_err *err)
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
