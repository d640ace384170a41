/* signals.c: what the runner does with signals. */
#include "process/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "util/cleanup.h"

/* The last three ask for no end, but would end the runner. An alarm set by who called it survives execve and
 * not fork (alarm(2)), and was meant for the command. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

static bool asks_for_end(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

int signals_init(struct signals *ret_signals)
{
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	for (size_t i = 0; i < N_ELEMENTS(passed_on); i++)
		sigaddset(&mask, passed_on[i]);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_signals = (struct signals){.fd = fd};
	return 0;
}

void signals_deinit(struct signals *signals)
{
	cleanup_close(&signals->fd);
	signals->fd = -1;
}

static bool reached_already(const struct child *child, const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL)
		return info->ssi_pid == (uint32_t)child->pid;
	if (info->ssi_signo == SIGALRM)
		return false;
	if (info->ssi_signo == SIGHUP && getsid(0) == getpid())
		return false;
	return getpgid(child->pid) == getpgrp();
}

void signals_take(struct signals *signals, const struct child *child)
{
	struct signalfd_siginfo info;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		int number = (int)info.ssi_signo;

		if (asks_for_end(number)) {
			signals->n_interrupts++;
			signals->last = number;
		}
		if (child && !child->ended && !reached_already(child, &info))
			pidfd_send_signal(child->pidfd, number, NULL, 0);
	}
}

int signals_end_request(struct signals *signals, const struct caller *caller)
{
	signals_take(signals, NULL);
	if (signals->last && caller_ignores(caller, signals->last)) {
		signals->n_interrupts = 0;
		signals->last = 0;
	}
	return signals->last;
}
