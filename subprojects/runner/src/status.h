/* status.h: the runner's own exit statuses. A command's failure passes through and wins over all of them. */
#ifndef RUNNER_STATUS_H
#define RUNNER_STATUS_H

enum status {
	STATUS_LOST = 120,       /* the command ended with 0, but events were lost */
	STATUS_NOT_TRACED = 121, /* … a program or library was not traced */
	STATUS_GATE = 122,       /* … a condition that the user set was not met */
	STATUS_NO_BENCHMARK = 123,
	STATUS_RUNNER = 125, /* the runner itself failed */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128, /* plus the signal's number */
};

#endif
