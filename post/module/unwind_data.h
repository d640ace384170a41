/* unwind_data.h: the file <key>.unwind_data of a profile (FORMATS.md section 5), written and read. */
#ifndef POST_MODULE_UNWIND_DATA_H
#define POST_MODULE_UNWIND_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses are SVMAs, ends exclusive. In files of other writers an end may be something else than the start
 * plus the number of bytes. */
struct unwind_data {
	const char *path; /* as the process saw it; not NUL-terminated */
	size_t n_path;
	uint64_t base_svma; /* p_vaddr of the first PT_LOAD */
	bool has_eh_frame_hdr;
	const uint8_t *eh_frame_hdr;
	size_t n_eh_frame_hdr;
	uint64_t eh_frame_hdr_start;
	uint64_t eh_frame_hdr_end;
	const uint8_t *eh_frame;
	size_t n_eh_frame;
	uint64_t eh_frame_start;
	uint64_t eh_frame_end;
	void *memory; /* what the pointers above point into, where unwind_data_read made it; else NULL */
};

/* Writes the whole file to `fd`. 0 or a negative errno. */
int unwind_data_write(int fd, const struct unwind_data *data);

/* Reads the n bytes of a file. The pointers of *ret_data point into `bytes`; memory is NULL. 0, or -EBADMSG
 * for anything that is not exactly such a file. */
int unwind_data_parse(const uint8_t *bytes, size_t n, struct unwind_data *ret_data);

/* Reads the file `name` below the open folder. The caller ends it with unwind_data_deinit. 0 or a negative
 * errno: -EBADMSG as above, -EFBIG for an absurd size, else of opening or reading. */
int unwind_data_read(int folder_fd, const char *name, struct unwind_data *ret_data);

void unwind_data_deinit(struct unwind_data *data);

#endif
