/* page.h: the parts of the HTML page around its data; made from html/ by embed.c. */
#ifndef POST_EXPORT_PAGE_H
#define POST_EXPORT_PAGE_H

#include <stddef.h>

extern const unsigned char page_head[];
extern const size_t page_head_size;
extern const unsigned char page_tail[];
extern const size_t page_tail_size;

#endif
