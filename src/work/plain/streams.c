/* SPDX-License-Identifier: Apache-2.0 */
/* streams.c - see streams.h. */
#include "work/plain/streams.h"

#include "base/mem.h"
#include "io/engines.h"
#include "work/plain/stream.h"

int streams_init(struct streams *p, const struct job *job, const struct stream_kind *kind,
		 uint64_t count, const struct iofiles *files, struct clock *clock,
		 struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err)
{
	*p = (struct streams){ .job = job,
			       .kind = kind,
			       .files = files,
			       .clock = clock,
			       .failure = failure,
			       .interrupted = interrupted,
			       .count = count };
	p->engine_job = (struct mlgen_engine_job){
		.engine = job->engine,
		.opts = job->engine_opts,
		.find = engines_find,
		.workers = (unsigned)count,
	};
	int rc = job->engine->job_init ? job->engine->job_init(&p->engine_job, err) : 0;
	if (rc < 0)
		return rc;
	peers_init(&p->peers, clock, p->count);
	p->streams = mem_array(p->count, sizeof(*p->streams));
	for (uint64_t i = 0; i < p->count; i++) {
		p->streams[i].all = p;
		p->streams[i].index = i;
		worker_init(&p->streams[i].worker);
	}
	return 0;
}

void streams_fini(struct streams *p)
{
	if (!p->streams)
		return;
	for (uint64_t i = 0; i < p->count; i++)
		stream_fini(&p->streams[i]);
	mem_free(p->streams);
	peers_fini(&p->peers);
	if (p->job->engine->job_fini)
		p->job->engine->job_fini(&p->engine_job);
	*p = (struct streams){ 0 };
}

int streams_start(struct streams *p, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < p->count && rc == 0; i++)
		rc = worker_start(&p->streams[i].worker.thread, p->clock, stream_main,
				  &p->streams[i], err);
	if (rc < 0)
		streams_close(p);
	return rc;
}

void streams_join(struct streams *p)
{
	for (uint64_t i = 0; p->streams && i < p->count; i++)
		worker_join(&p->streams[i].worker.thread);
}

void streams_close(struct streams *p)
{
	atomic_store(&p->closed, true);
	peers_close(&p->peers);
	streams_wake(p);
}

void streams_wake(struct streams *p)
{
	bell_ring(&p->go, p->clock);
}
