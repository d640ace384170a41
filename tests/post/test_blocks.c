/* test_blocks.c: live blocks against a plain array that is copied at every fork. */
#include <criterion/criterion.h>
#include <string.h>

#include "heap/blocks.h"
#include "support.h"

#define N_ADDRESSES 300
#define N_IMAGES    12

struct model {
	bool live;
	struct heap_block block;
};

static struct model models[N_IMAGES][N_ADDRESSES];
static struct blocks images[N_IMAGES];
static size_t n_visited;
static unsigned visited_image;

static void check_visited(void *context, const struct heap_block *block)
{
	const struct model *model = context;

	cr_assert(model[block->addr / 16].live, "image %u: %zx is not live", visited_image,
	        (size_t)block->addr);
	cr_assert_eq(memcmp(&model[block->addr / 16].block, block, sizeof(*block)), 0);
	n_visited++;
}

static void check_image(unsigned image)
{
	size_t n_live = 0;

	for (unsigned i = 0; i < N_ADDRESSES; i++)
		n_live += models[image][i].live;
	n_visited = 0;
	visited_image = image;
	blocks_each(&images[image], check_visited, models[image]);
	cr_assert_eq(n_visited, n_live, "image %u: %zu of %zu", image, n_visited, n_live);
}

static void put_or_take(struct random *random, unsigned image)
{
	unsigned i = (unsigned)random_below(random, N_ADDRESSES);
	struct model *model = &models[image][i];
	struct heap_block old,
	        block = {.addr = 16 * i, .size = random_wide(random), .time = random_below(random, 1000)};
	bool had;

	if (random_below(random, 2)) {
		cr_assert_eq(blocks_put(&images[image], &block, &had, &old), 0);
	} else {
		cr_assert_eq(blocks_take(&images[image], block.addr, &had, &old), 0);
		block.time = TABLE_TIME_GONE;
	}
	cr_assert_eq(had, model->live);
	if (had)
		cr_assert_eq(memcmp(&old, &model->block, sizeof(old)), 0);
	model->live = block.time != TABLE_TIME_GONE;
	model->block = block;
}

static void fork_image(unsigned parent, unsigned child)
{
	struct blocks blocks;

	cr_assert_eq(blocks_fork(&images[parent], &blocks), 0);
	blocks_deinit(&images[child]);
	images[child] = blocks;
	for (unsigned i = 0; i < N_ADDRESSES; i++) {
		models[child][i] = models[parent][i];
		models[child][i].block = (struct heap_block){.addr = 16 * i, .time = HEAP_TIME_INHERITED};
	}
}

/* Forks of forks, in a process that goes on changing, show every image its own blocks. */
Test(blocks, forks_against_copies)
{
	struct random random = {.state = 4711};

	for (int round = 0; round < 60000; round++) {
		unsigned image = (unsigned)random_below(&random, N_IMAGES);

		if (random_below(&random, 200) == 0)
			fork_image(image, (unsigned)random_below(&random, N_IMAGES));
		else
			put_or_take(&random, image);
		if (round % 500 == 0)
			for (unsigned i = 0; i < N_IMAGES; i++)
				check_image(i);
	}
	for (unsigned i = 0; i < N_IMAGES; i++)
		blocks_deinit(&images[i]);
}

/* A hundred thousand blocks and a thousand children that each free a few: the children share the rest. */
Test(blocks, children_share)
{
	struct blocks parent = {0};
	static struct blocks children[1000];
	struct heap_block old;
	size_t n_slots = 0;
	bool had;

	for (uint64_t i = 0; i < 100000; i++)
		cr_assert_eq(
		        blocks_put(&parent, &(struct heap_block){.addr = i * 32, .size = 8}, &had, &old), 0);
	for (size_t i = 0; i < 1000; i++) {
		cr_assert_eq(blocks_fork(&parent, &children[i]), 0);
		cr_assert_eq(blocks_take(&children[i], i * 32, &had, &old), 0);
		cr_assert(had);
		cr_assert_eq(old.size, 0);
		cr_assert_eq(blocks_take(&parent, (i + 2000) * 32, &had, &old), 0);
		cr_assert(had);
		cr_assert_eq(old.size, 8);
		n_slots += children[i].top.n_slots;
		cr_assert_leq(children[i].n_layers, 17);
	}
	cr_assert_leq(n_slots, 1000 * 64);
	for (size_t i = 0; i < 1000; i++)
		blocks_deinit(&children[i]);
	blocks_deinit(&parent);
}
