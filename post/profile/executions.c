/* executions.c: what the integrations said, in MessagePack. */
#include "profile/executions.h"

#include <errno.h>
#include <fcntl.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/file.h"
#include "util/grow.h"

int executions_name(struct executions *executions, uint64_t time, const char *uri)
{
	CLEANUP_FREE char *copy = strdup(uri);
	int error = copy ? GROW_BY_ONE(executions->uris, executions->n_uris_allocated, executions->n_uris)
	                 : -ENOMEM;

	if (error < 0)
		return error;
	executions->uris[executions->n_uris++] = (struct execution_uri){.time = time, .uri = STEAL_PTR(copy)};
	return 0;
}

int executions_mark(struct executions *executions, uint64_t time, uint32_t kind)
{
	int error;

	if (kind >= EXECUTION_N_MARKERS)
		return -EINVAL;
	error = GROW_BY_ONE(executions->marks, executions->n_marks_allocated, executions->n_marks);
	if (error < 0)
		return error;
	executions->marks[executions->n_marks++] =
	        (struct execution_mark){.time = time, .kind = (enum execution_marker)kind};
	return 0;
}

static int pack_text(msgpack_packer *packer, const char *text)
{
	return msgpack_pack_str_with_body(packer, text, strlen(text));
}

static int pack(const struct executions *executions, msgpack_packer *packer)
{
	static const char *const names[EXECUTION_N_MARKERS] = {
	        [EXECUTION_SAMPLE_START] = "SampleStart",
	        [EXECUTION_SAMPLE_END] = "SampleEnd",
	        [EXECUTION_ROUND_START] = "RoundStart",
	        [EXECUTION_ROUND_END] = "RoundEnd",
	};
	int r = msgpack_pack_map(packer, 2);

	r |= pack_text(packer, "uri_by_ts");
	r |= msgpack_pack_array(packer, executions->n_uris);
	for (size_t i = 0; i < executions->n_uris; i++) {
		r |= msgpack_pack_array(packer, 2);
		r |= msgpack_pack_uint64(packer, executions->uris[i].time);
		r |= pack_text(packer, executions->uris[i].uri);
	}
	r |= pack_text(packer, "markers");
	r |= msgpack_pack_array(packer, executions->n_marks);
	for (size_t i = 0; i < executions->n_marks; i++) {
		r |= msgpack_pack_map(packer, 1);
		r |= pack_text(packer, names[executions->marks[i].kind]);
		r |= msgpack_pack_uint64(packer, executions->marks[i].time);
	}
	return r ? -ENOMEM : 0;
}

int executions_write(const struct executions *executions, int profile_fd, uint32_t uid, uint32_t gid)
{
	static const char name[] = "ExecutionTimestamps.msgpack";
	CLEANUP_CLOSE int results =
	        openat(profile_fd, "results", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_CLOSE int fd = -1;
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r;

	if (results < 0)
		return -errno;
	fd = file_create(results, name, uid, gid);
	if (fd < 0)
		return fd;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = pack(executions, &packer);
	if (r == 0)
		r = file_write_all(fd, buffer.data, buffer.size);
	msgpack_sbuffer_destroy(&buffer);
	if (r < 0)
		unlinkat(results, name, 0);
	return r;
}

void executions_deinit(struct executions *executions)
{
	for (size_t i = 0; i < executions->n_uris; i++)
		free(executions->uris[i].uri);
	free(executions->uris);
	free(executions->marks);
	*executions = (struct executions){0};
}
