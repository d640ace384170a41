/* names.h: the names of event types with their lengths, for the codec. */
#ifndef POST_ARTIFACT_NAMES_H
#define POST_ARTIFACT_NAMES_H

#include "artifact/event.h"

#define EVENT_NAME_SIZE 16 /* bytes of `text`, so that all of it can be copied without a loop */

struct event_name {
	unsigned char n;
	char text[EVENT_NAME_SIZE];
};

extern const struct event_name event_names[EVENT_N_TYPES];

#endif
