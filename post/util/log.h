/* log.h: where a library's messages go. Library code never prints: it calls the sink its caller gave. */
#ifndef POST_UTIL_LOG_H
#define POST_UTIL_LOG_H

enum log_level {
	LOG_LEVEL_ERROR = 0, /* the values of RUNNER_LOG_… in runner_plugin.h */
	LOG_LEVEL_WARNING = 1,
	LOG_LEVEL_INFO = 2,
	LOG_LEVEL_DEBUG = 3,
};

/* `write` gets one message without a newline; it may be called on any thread. NULL `write`: silence. */
struct log_sink {
	void (*write)(void *context, unsigned level, const char *text);
	void *context;
};

/* Formats and passes on one message. `sink` may be NULL. errno is left alone. */
void log_message(const struct log_sink *sink, enum log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#define log_error(sink, ...)   log_message(sink, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(sink, ...) log_message(sink, LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(sink, ...)    log_message(sink, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(sink, ...)   log_message(sink, LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
