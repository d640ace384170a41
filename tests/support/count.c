/* count.c: libcount.so, preloaded: logs every allocator call that a process tree makes.
 *
 * The witness the capture is compared with: it shares no code with it and knows nothing of probes. It stands
 * before whatever allocator the program has (RTLD_NEXT) and logs the calls that reach it. It has no
 * thread-local variables: they would change what the C library allocates for each thread.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "support/call_log.h"

#define EXPORT __attribute__((visibility("default")))

/* Blocks for what dlsym asks for while the real functions are being looked up. Never given back. */
#define N_EARLY_BYTES 16384

struct allocator {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *old, size_t size);
	void (*free)(void *block);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret_block, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
};

static struct allocator real;
static struct call_log *log_file;
static int state; /* 0: untouched, 1: looking up, 2: ready */
static char early[N_EARLY_BYTES] __attribute__((aligned(16)));
static size_t n_early;

static void set_up(void)
{
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2 || state == 1)
		return;
	/* The first call comes from the dynamic loader or a constructor: there is one thread. */
	state = 1;
	real.malloc = dlsym(RTLD_NEXT, "malloc");
	real.calloc = dlsym(RTLD_NEXT, "calloc");
	real.realloc = dlsym(RTLD_NEXT, "realloc");
	real.free = dlsym(RTLD_NEXT, "free");
	real.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real.memalign = dlsym(RTLD_NEXT, "memalign");
	real.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real.valloc = dlsym(RTLD_NEXT, "valloc");
	real.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	log_file = call_log_open(getenv(CALL_LOG_COUNTER_ENV));
	__atomic_store_n(&state, 2, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void set_up_at_load(void)
{
	set_up();
}

static void *early_block(size_t size)
{
	void *block = early + n_early;

	size = (size + 15) & ~(size_t)15;
	if (size > sizeof(early) - n_early)
		abort();
	n_early += size;
	return block;
}

static int is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

static void note(enum call_kind kind, size_t size, void *old, void *block)
{
	int saved = errno;

	call_log_add(log_file, kind, 0, size, old, block);
	errno = saved;
}

static size_t product(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes;
}

/* Makes one call of the real allocator and logs it. */
#define CALL(kind, size, old, call)                                                                          \
	({                                                                                                   \
		void *block_;                                                                                \
		set_up();                                                                                    \
		if (state == 1)                                                                              \
			return early_block(size);                                                            \
		block_ = (call);                                                                             \
		note((kind), (size), (old), block_);                                                         \
		block_;                                                                                      \
	})

EXPORT void *malloc(size_t size)
{
	return CALL(CALL_MALLOC, size, NULL, real.malloc(size));
}

EXPORT void *calloc(size_t n, size_t size)
{
	return CALL(CALL_CALLOC, product(n, size), NULL, real.calloc(n, size));
}

EXPORT void *realloc(void *old, size_t size)
{
	return CALL(CALL_REALLOC, size, old, real.realloc(old, size));
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	/* The C library's own would come back to this library's realloc; a product too large fails there as
	 * well. */
	return CALL(CALL_REALLOC, product(n, size), old, real.realloc(old, product(n, size)));
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return CALL(CALL_ALIGNED, size, NULL, real.aligned_alloc(alignment, size));
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return CALL(CALL_ALIGNED, size, NULL, real.memalign(alignment, size));
}

EXPORT void *valloc(size_t size)
{
	return CALL(CALL_ALIGNED, size, NULL, real.valloc(size));
}

EXPORT void *pvalloc(size_t size)
{
	return CALL(CALL_ALIGNED, size, NULL, real.pvalloc(size));
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	int result;

	set_up();
	result = real.posix_memalign(ret_block, alignment, size);
	note(CALL_ALIGNED, size, NULL, result == 0 ? *ret_block : NULL);
	return result;
}

EXPORT void free(void *block)
{
	if (is_early(block))
		return;
	set_up();
	/* Logged first: once freed, another thread may be given the address. */
	note(CALL_FREE, 0, NULL, block);
	real.free(block);
}
