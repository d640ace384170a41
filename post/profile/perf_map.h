/* perf_map.h: symbol maps that just-in-time compilers leave, perf-<pid>.map. */
#ifndef POST_PROFILE_PERF_MAP_H
#define POST_PROFILE_PERF_MAP_H

#include <stdint.h>
#include <time.h>

#include "profile/dump.h"

/* Copies perf-<pid>.map from the open folder into the profile. Everybody may put files there: only a regular
 * file of one name that belongs to the profile's owner or to root, was changed since `since` (CLOCK_REALTIME,
 * seconds) and has at most 256 MiB is taken. 1: copied; 0: there is none to take; or a negative errno of the
 * copying, of which nothing is left behind. */
int perf_map_copy(const struct dump_request *request, int folder_fd, uint32_t pid, time_t since);

#endif
