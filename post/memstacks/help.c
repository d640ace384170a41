/* help.c: what --help says. */
#include "memstacks/options.h"

#define COMMON_OPTIONS                                                                                       \
	"      --benchmark URI  count only what was allocated while this benchmark ran\n"                    \
	"                       (the report lists the benchmarks)\n"                                         \
	"      --no-fold        show every frame, also those inside interpreters that are\n"                 \
	"                       otherwise folded into one\n"                                                 \
	"      --max-frames N   frames of a stack that are unwound (1024)\n"                                 \
	"      --color WHEN     auto (a terminal, unless NO_COLOR is set), always or never\n"                \
	"  -q, --quiet          no progress bar, no warnings\n"                                              \
	"  -h, --help           this text\n"

#define METRICS                                                                                              \
	"Metrics:\n"                                                                                         \
	"  total            bytes allocated, whether freed or not\n"                                         \
	"  count            allocations\n"                                                                   \
	"  peak             bytes live at the moment when the whole process tree held most\n"                \
	"  peak-count       blocks live at that moment\n"                                                    \
	"  leak             bytes never freed: live when their process ended or called exec\n"               \
	"  leak-count       blocks never freed\n"                                                            \
	"  temporary        allocations freed by their thread before its next allocation\n"                  \
	"  temporary-bytes  bytes of those\n"

static const char program_help[] =
        "Usage: memstacks COMMAND [OPTION]... PROFILE\n"
        "Reads a profile folder and shows where the memory went. The folder is all it\n"
        "needs: no program or library that was recorded has to be there.\n"
        "\n"
        "  memstacks report PROFILE                who allocated, who holds the peak,\n"
        "                                          who leaked, who churned\n"
        "  memstacks export --FORMAT PROFILE -o FILE\n"
        "                                          for other programs: folded, pprof,\n"
        "                                          speedscope, dhat; or html for a browser\n"
        "  memstacks diff OLD NEW                  what changed, by call path\n"
        "  memstacks unresolved PROFILE            what could not be unwound or named\n"
        "\n"
        "  memstacks COMMAND --help                options and examples of a command\n"
        "  memstacks --version\n"
        "\n"
        "Exit status:\n"
        "    0  done\n"
        "    1  out of memory, or a fault of this program\n"
        "    2  wrong usage; or a gate names a function that no call path holds\n"
        "    3  a profile cannot be read at all\n"
        "    4  done, but the recording is not whole (cut short, damaged, events lost);\n"
        "       the output says so\n"
        "    5  the output cannot be written\n"
        "  122  a gate of --fail-on failed\n";

static const char report_help[] =
        "Usage: memstacks report [OPTION]... PROFILE\n"
        "Shows what a recording did with memory, and the call paths that did most of it.\n"
        "\n"
        "  -n, --top N          call paths in each ranking (10; 0: all)\n"
        "      --depth N        frames shown of each call path (24; 0: all)\n"
        "      --full-names     do not shorten the names of functions\n"
        "      --by-process     also each process's own peak, and who held it\n"
        "      --json           for scripts: integers in bytes, blocks and ns; --top 0 for\n"
        "                       all call paths\n" COMMON_OPTIONS "\n" METRICS "\n"
        "Examples:\n"
        "  memstacks report profile.out\n"
        "  memstacks report --top 3 --depth 8 profile.out\n"
        "  memstacks report --json --top 0 profile.out | jq '.sum.peak'\n";

static const char export_help[] =
        "Usage: memstacks export --FORMAT [OPTION]... PROFILE [-o FILE]\n"
        "Writes a profile for another program. FILE appears when it is complete.\n"
        "\n"
        "      --folded         folded stacks of one metric, for flame graph programs\n"
        "      --pprof          gzipped profile.proto, for `go tool pprof`; inuse_* is what\n"
        "                       was never freed, peak_* what was live at the peak\n"
        "      --speedscope     JSON for speedscope: one profile for each metric\n"
        "      --dhat           JSON for DHAT's viewer and the Firefox Profiler\n"
        "      --html           one page with flame graphs, for any browser, offline\n"
        "  -o, --output FILE    where to (-: standard output, which is the default)\n"
        "      --metric METRIC  with --folded: what is counted (total)\n"
        "      --max-nodes N    with --html: frames of the graph that are kept (100000)\n" COMMON_OPTIONS
        "\n" METRICS "\n"
        "Examples:\n"
        "  memstacks export --html profile.out -o memory.html\n"
        "  memstacks export --pprof profile.out -o memory.pb.gz\n"
        "    && go tool pprof -top -sample_index=peak_space memory.pb.gz\n"
        "  memstacks export --folded --metric leak profile.out | flamegraph.pl > leak.svg\n";

static const char diff_help[] =
        "Usage: memstacks diff [OPTION]... OLD NEW\n"
        "Compares two recordings by call path. Paths are matched by the names of their\n"
        "functions, so that two builds of a program can be compared.\n"
        "\n"
        "      --fail-on GATE   exit with 122 if the gate fails; may be given several times\n"
        "      --html FILE      also write a page with red and blue flame graphs\n"
        "  -n, --top N          call paths in each ranking (10; 0: all)\n"
        "      --depth N        frames shown of each call path (24; 0: all)\n"
        "      --full-names     do not shorten the names of functions\n"
        "      --json           for scripts\n"
        "      --max-nodes N    with --html: frames of the graph that are kept (100000)\n" COMMON_OPTIONS "\n"
        "Gates: METRIC[@FUNCTION[;FUNCTION]...]>LIMIT\n"
        "  peak>+5%             the peak grew by more than 5 %\n"
        "  total>+10MiB         10 MiB more than before were allocated\n"
        "  count>100000         NEW allocates more than 100,000 times, whatever OLD did\n"
        "  leak@parse>+1kB      call paths with the function `parse` leak 1 kB more\n"
        "  leak@main;load>0     … where `main` calls `load` directly: not one byte\n"
        "Units of bytes are B, kB, MB, GB, KiB, MiB and GiB. A function may be named without\n"
        "its parameters. A gate that names what neither recording holds is an error (2).\n"
        "\n" METRICS "\n"
        "Example:\n"
        "  memstacks diff --fail-on 'peak>+5%' --fail-on 'leak>0' main.out branch.out\n";

static const char unresolved_help[] =
        "Usage: memstacks unresolved [OPTION]... PROFILE\n"
        "Lists the stacks that do not reach the first frame of their process or thread, and\n"
        "the frames without a name, by module and reason.\n"
        "\n"
        "      --json           for scripts\n" COMMON_OPTIONS;

const char *help_text(enum command command)
{
	switch (command) {
	case COMMAND_REPORT:
		return report_help;
	case COMMAND_EXPORT:
		return export_help;
	case COMMAND_DIFF:
		return diff_help;
	case COMMAND_UNRESOLVED:
		return unresolved_help;
	default:
		return program_help;
	}
}
