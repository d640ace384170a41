/* test_inlines.c: the tables of inlined calls, and their file. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "module/inline_tables.h"
#include "support.h"
#include "util/cleanup.h"
#include "util/file.h"

static uint32_t text(struct inlines *inlines, const char *text)
{
	uint32_t number;

	cr_assert_eq(strings_add(&inlines->strings, text, strlen(text), &number), 0);
	return number;
}

static uint32_t scope(
        struct inlines *inlines, uint32_t parent, const char *name, const char *file, uint32_t line)
{
	struct inline_scope scope = {.parent = parent,
	        .name = text(inlines, name),
	        .call_file = text(inlines, file),
	        .call_line = line};
	uint32_t number;

	cr_assert_eq(inlines_add_scope(inlines, &scope, &number), 0);
	return number;
}

static void piece(struct inlines *inlines, uint32_t of, uint32_t depth, uint64_t start, uint64_t end)
{
	struct inline_piece piece = {.start = start, .end = end, .scope = of, .depth = depth};

	cr_assert_eq(inlines_add_piece(inlines, &piece), 0);
}

static void row(struct inlines *inlines, uint64_t start, const char *file, uint32_t line)
{
	struct inline_row row = {.start = start, .file = text(inlines, file), .line = line};

	cr_assert_eq(inlines_add_row(inlines, &row), 0);
}

/* f at 100..200; g inlined at 110..150 and 160..170; h inlined into g at 120..130; another function at
 * 200..210. */
static struct inlines *sample(void)
{
	struct inlines *inlines;
	uint32_t f, g, h, other;

	cr_assert_eq(inlines_new(&inlines), 0);
	f = scope(inlines, INLINES_NO_SCOPE, "f", "", 0);
	g = scope(inlines, f, "g", "f.c", 5);
	h = scope(inlines, g, "h", "g.c", 6);
	other = scope(inlines, INLINES_NO_SCOPE, "", "", 0);
	piece(inlines, other, 0, 200, 210);
	piece(inlines, h, 2, 120, 130);
	piece(inlines, g, 1, 160, 170);
	piece(inlines, g, 1, 110, 150);
	piece(inlines, f, 0, 100, 200);
	row(inlines, 200, "other.c", 40);
	row(inlines, 210, "", 0);
	row(inlines, 100, "f.c", 1);
	row(inlines, 110, "g.c", 2);
	row(inlines, 120, "h.c", 3);
	row(inlines, 130, "g.c", 4);
	row(inlines, 150, "f.c", 7);
	row(inlines, 200, "", 0);
	cr_assert_eq(inlines_finish(inlines), 0);
	return inlines;
}

static void check_frames(const struct inlines *inlines, uint64_t svma, const char *expected)
{
	struct inline_frame frames[8];
	size_t n = inlines_find(inlines, svma, frames, N_ELEMENTS(frames)), at = 0;
	char text[500] = "";

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s:%u", i ? " < " : "",
		        frames[i].function ? frames[i].function : "?", frames[i].file ? frames[i].file : "?",
		        frames[i].line);
	cr_assert_str_eq(text, expected, "at %zu: %s", (size_t)svma, text);
}

static void check_sample(const struct inlines *inlines)
{
	check_frames(inlines, 99, "");
	check_frames(inlines, 100, "f f.c:1");
	check_frames(inlines, 110, "g g.c:2 < f f.c:5");
	check_frames(inlines, 120, "h h.c:3 < g g.c:6 < f f.c:5");
	check_frames(inlines, 129, "h h.c:3 < g g.c:6 < f f.c:5");
	check_frames(inlines, 130, "g g.c:4 < f f.c:5");
	check_frames(inlines, 150, "f f.c:7");
	check_frames(inlines, 165, "g f.c:7 < f f.c:5");
	check_frames(inlines, 199, "f f.c:7");
	check_frames(inlines, 200, "? other.c:40");
	check_frames(inlines, 209, "? other.c:40");
	check_frames(inlines, 210, "");
	check_frames(inlines, UINT64_MAX, "");
}

Test(inlines, find)
{
	struct inlines *inlines = sample();
	const char *file;
	uint32_t line;
	struct inline_frame frame;

	check_sample(inlines);
	cr_assert(inlines_find_outermost(inlines, 125, &file, &line));
	cr_assert_str_eq(file, "f.c");
	cr_assert_eq(line, 5);
	cr_assert(!inlines_find_outermost(inlines, 210, &file, &line));
	/* More frames than there is room for are counted. */
	cr_assert_eq(inlines_find(inlines, 125, &frame, 1), 3);
	cr_assert_str_eq(frame.function, "h");
	cr_assert_eq(inlines_find(inlines, 125, NULL, 0), 3);
	inlines_free(inlines);
}

/* A piece that sticks out of the one around it ends there; the function behind has its own. */
Test(inlines, sticking_out)
{
	struct inlines *inlines;
	uint32_t f, g, h;

	cr_assert_eq(inlines_new(&inlines), 0);
	f = scope(inlines, INLINES_NO_SCOPE, "f", "", 0);
	g = scope(inlines, f, "g", "f.c", 5);
	h = scope(inlines, INLINES_NO_SCOPE, "h", "", 0);
	piece(inlines, f, 0, 100, 200);
	piece(inlines, g, 1, 150, 320);
	piece(inlines, h, 0, 300, 310);
	row(inlines, 0, "f.c", 1);
	cr_assert_eq(inlines_finish(inlines), 0);
	check_frames(inlines, 199, "g f.c:1 < f f.c:5");
	check_frames(inlines, 200, "? f.c:1");
	check_frames(inlines, 300, "h f.c:1");
	check_frames(inlines, 310, "? f.c:1");
	inlines_free(inlines);
}

static size_t write_sample(uint8_t *ret_bytes, size_t n)
{
	struct inlines *inlines = sample();
	int fd = temporary_file();
	ssize_t n_read;

	cr_assert_eq(inlines_write(fd, inlines), 0);
	rewind_fd(fd);
	n_read = file_read_up_to(fd, ret_bytes, n);
	cr_assert(n_read > 0 && (size_t)n_read < n);
	close(fd);
	inlines_free(inlines);
	return (size_t)n_read;
}

Test(inlines, round_trip)
{
	struct folder folder = folder_new();
	struct inlines *inlines = sample(), *back;
	int fd = file_create(folder.fd, "3__x.so.inlines", geteuid(), getegid());

	cr_assert_eq(inlines_write(fd, inlines), 0);
	close(fd);
	cr_assert_eq(inlines_read(folder.fd, "3__x.so", &back), 0);
	check_sample(back);
	inlines_free(back);
	cr_assert_eq(inlines_read(folder.fd, "4__x.so", &back), -ENOENT);
	inlines_free(inlines);
	folder_remove(&folder);
}

/* Empty tables are tables. */
Test(inlines, empty)
{
	struct inlines *inlines;

	cr_assert_eq(inlines_new(&inlines), 0);
	cr_assert_eq(inlines_finish(inlines), 0);
	check_frames(inlines, 0, "");
	inlines_free(inlines);
	cr_assert_null(inlines_free(NULL));
}

static void look_everywhere(const struct inlines *inlines)
{
	struct inline_frame frames[8];

	for (uint64_t svma = 90; svma < 220; svma++) {
		size_t n = inlines_find(inlines, svma, frames, N_ELEMENTS(frames));

		for (size_t i = 0; i < n && i < N_ELEMENTS(frames); i++)
			cr_assert(!frames[i].file || strlen(frames[i].file) < 1000);
	}
}

/* Cut anywhere: refused. Damaged anywhere: refused, or usable without harm. */
Test(inlines, cut_and_damaged)
{
	uint8_t bytes[1000];
	size_t n = write_sample(bytes, sizeof(bytes));
	struct inlines *inlines;

	for (size_t i = 0; i < n; i++)
		cr_assert_eq(inlines_parse(bytes, i, &inlines), -EBADMSG, "cut at %zu", i);
	cr_assert_eq(inlines_parse(bytes, n + 1, &inlines), -EBADMSG);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (inlines_parse(bytes, n, &inlines) == 0) {
			look_everywhere(inlines);
			inlines_free(inlines);
		}
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

/* Random tables inside a good frame. */
Test(inlines, random_content)
{
	struct random random = {.state = 8};

	for (int i = 0; i < 20000; i++) {
		int fd = temporary_file();
		uint8_t content[60], bytes[300];
		size_t n = 1 + random_below(&random, sizeof(content));
		struct inlines *inlines;
		ssize_t n_bytes;

		for (size_t j = 0; j < n; j++)
			content[j] = (uint8_t)(random_below(&random, 4) ? random_below(&random, 4)
			                                                : random_next(&random));
		cr_assert_eq(file_write_all(fd, "MSINLIN1", 8), 0);
		write_frame_of(fd, content, n);
		rewind_fd(fd);
		n_bytes = file_read_up_to(fd, bytes, sizeof(bytes));
		if (inlines_parse(bytes, (size_t)n_bytes, &inlines) == 0) {
			look_everywhere(inlines);
			inlines_free(inlines);
		}
		close(fd);
	}
}

/* Against a plain search: nested pieces at random, as compilers make them. */
static void add_nest(struct inlines *inlines, struct random *random, uint32_t *owner, uint32_t parent,
        uint32_t depth, uint64_t start, uint64_t end)
{
	char name[20];
	uint32_t own;

	snprintf(name, sizeof(name), "s%zu", inlines->n_scopes);
	own = scope(inlines, parent, name, "x.c", 1);
	piece(inlines, own, depth, start, end);
	for (uint64_t at = start; at < end; at++)
		owner[at] = own;
	while (depth < 5 && end - start > 2 && random_below(random, 4)) {
		uint64_t from = start + random_below(random, end - start);
		uint64_t to = from + 1 + random_below(random, end - from);

		add_nest(inlines, random, owner, own, depth + 1, from, to);
		start = to;
		if (start >= end)
			break;
	}
}

Test(inlines, random_nests)
{
	struct random random = {.state = 21};

	for (int round = 0; round < 300; round++) {
		struct inlines *inlines;
		uint32_t owner[400];

		for (size_t i = 0; i < N_ELEMENTS(owner); i++)
			owner[i] = INLINES_NO_SCOPE;
		cr_assert_eq(inlines_new(&inlines), 0);
		for (uint64_t at = 0; at < 390; at += random_below(&random, 3)) {
			uint64_t end = at + 1 + random_below(&random, 390 - at);

			add_nest(inlines, &random, owner, INLINES_NO_SCOPE, 0, at, end);
			at = end;
		}
		cr_assert_eq(inlines_finish(inlines), 0);
		for (uint64_t svma = 0; svma < N_ELEMENTS(owner); svma++) {
			struct inline_frame frame;
			size_t n = inlines_find(inlines, svma, &frame, 1);

			if (owner[svma] == INLINES_NO_SCOPE)
				cr_assert_eq(n, 0);
			else
				cr_assert_eq(strtoul(frame.function + 1, NULL, 10), owner[svma],
				        "round %d at %zu", round, (size_t)svma);
		}
		inlines_free(inlines);
	}
}
