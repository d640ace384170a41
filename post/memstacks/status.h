/* status.h: exit statuses of memstacks. */
#ifndef POST_MEMSTACKS_STATUS_H
#define POST_MEMSTACKS_STATUS_H

enum status {
	STATUS_OK = 0,
	STATUS_INTERNAL = 1,     /* no memory, and what should not happen */
	STATUS_USAGE = 2,        /* the command line */
	STATUS_UNREADABLE = 3,   /* a profile cannot be read at all */
	STATUS_PARTIAL = 4,      /* done, from a recording that is not whole */
	STATUS_OUTPUT = 5,       /* the output cannot be written */
	STATUS_GATE_FAILED = 122 /* as of the runner */
};

#endif
