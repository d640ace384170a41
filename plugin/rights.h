/* rights.h: may this process do what the instrument needs? */
#ifndef PLUGIN_RIGHTS_H
#define PLUGIN_RIGHTS_H

#include "util/log.h"

/* 0, or -EPERM after saying which capabilities are missing and which command grants them. */
int rights_check(const struct log_sink *log);

#endif
