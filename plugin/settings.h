/* settings.h: the options of the memory instrument. */
#ifndef PLUGIN_SETTINGS_H
#define PLUGIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"
#include "runner_plugin.h"
#include "util/log.h"

#define SETTINGS_N_OPTIONS 8

extern const struct runner_option settings_options[SETTINGS_N_OPTIONS];

struct settings {
	bool with_stacks;
	uint32_t stack_budget; /* bytes, a multiple of 8 */
	enum stack_identity identity;
	bool scrub_stacks;  /* definitions keep addresses of code and stack only */
	bool define_always; /* debugging: every capture sends its definition */
	bool loops_by_calls; /* as on kernels without may_goto */
	uint32_t poll_ns;   /* between looks at the ring */
	int mechanism;      /* enum attach_mechanism, or negative: the best one */
};

/* 0, or -EINVAL and the reason through `log`. */
int settings_parse(const struct runner_setting *given, uint32_t n_given, const struct log_sink *log,
	struct settings *ret_settings);

#endif
