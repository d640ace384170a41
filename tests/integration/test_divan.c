/* test_divan.c: codspeed-divan-compat. Each benchmark runs in a process of its own, which the harness starts.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "integration/client.h"
#include "support/memory.h"
#include "util/cleanup.h"

/* What one benchmark makes: so many equal blocks, and the vector that holds them. */
static const struct client_benchmark benchmarks[] = {
        {.uri = "benches/memory.rs::boxes",
                .size = 4099,
                .n = 1000,
                .function = "memory::build_boxes",
                .n_all = 1001,
                .whole = true},
        {.uri = "benches/memory.rs::words",
                .size = 2000,
                .n = 300,
                .function = "memory::join_words",
                .n_all = 301,
                .whole = true},
};

Test(divan, two_benchmarks)
{
	CLEANUP_FREE char *folder = client_install("divan");
	CLEANUP_FREE char *program = test_text("%s/memory", folder);
	CLEANUP_FREE char *root = test_text("CODSPEED_CARGO_WORKSPACE_ROOT=%s", folder);
	struct capture capture;

	client_run(&(struct capture_spec){.name = "integration-divan",
	                   .argv = WORDS(program),
	                   .env = WORDS(root),
	                   .folder = folder},
	        &capture);
	client_must_have(&capture, "codspeed-rust", benchmarks, 2);
	for (size_t i = 0; i < 2; i++)
		client_must_allocate(&capture, &benchmarks[i]);
	capture_deinit(&capture);
}
