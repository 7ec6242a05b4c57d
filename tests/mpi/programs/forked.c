/* Children that ranks fork: whatever becomes of them, the rank goes on, also with what was under way, and the child does
 * not take its place along. Some end as their parent's program does, with what that has called at its end, in which it
 * finalizes, and ends a session. First every rank has a child of each kind at once, then one rank after the other. */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 1 << 18, TAG = 5 };
enum { EXIT, EXIT_AT_ONCE, RUN, RUN_NOTHING, KILLED, FINALIZE, ASK, KINDS };

static int next, before;
static pid_t self;
static int in[LONG], out[LONG];
static MPI_Request requests[2];
static MPI_Session session;

static void begin(int round)
{
    int i;
    for (i = 0; i < LONG; i++)
        in[i] = -1, out[i] = rank + round + i;
    WELL(MPI_Irecv(in, LONG, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]));
    WELL(MPI_Isend(out, LONG, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[1]));
}

static void complete(int round)
{
    int i;
    WELL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < LONG; i++)
        CHECK(in[i] == before + round + i);
}

static void communicate(int round)
{
    int i, got = -1, sum = -1;
    for (i = 0; i < 20; i++) {
        WELL(MPI_Sendrecv(&rank, 1, MPI_INT, next, TAG, &got, 1, MPI_INT, before, TAG, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        CHECK(got == before);
        WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == size * (size - 1) / 2);
    }
    begin(round);
    complete(round);
}

static void expect(int finalized)
{
    int flag = -1;
    WELL(MPI_Initialized(&flag));
    CHECK(flag);
    WELL(MPI_Finalized(&flag));
    CHECK(flag == finalized);
}

/* Of both, the parent and those children that end as it does. */
static void at_end(void)
{
    int flag;
    WELL(MPI_Finalized(&flag));
    if (!flag)
        WELL(MPI_Finalize());
    WELL(MPI_Session_finalize(&session));
    expect(1);
    if (getpid() == self)
        printf("rank %d of %d is done\n", rank, size);
}

static void be_child(int kind, int word)
{
    char byte;
    /* Until the parent has communicated beside it. */
    if (read(word, &byte, 1) != 1)
        _exit(9);
    if (kind == EXIT_AT_ONCE)
        _exit(0);
    if (kind == RUN || kind == RUN_NOTHING)
        /* Nothing of the parent's is open there. */
        execl(kind == RUN ? "/bin/sh" : "/no/such/program", "sh", "-c",
              "for fd in /proc/self/fd/*; do case $(readlink $fd) in *memfd*|*eventfd*|*eventpoll*|*pidfd*) exit 9;; "
              "esac; done",
              (char *)NULL);
    if (kind == RUN_NOTHING && errno == ENOENT)
        _exit(0);
    if (kind == KILLED)
        raise(SIGKILL);
    if (kind == ASK)
        expect(0);
    if (kind == FINALIZE) {
        WELL(MPI_Finalize());
        expect(1);
    }
    exit(kind == RUN ? 9 : 0);
}

/* A child that ends while this rank goes on; `forks`: in this rank. */
static void live_with(int kind, int round, int forks)
{
    int words[2] = {-1, -1}, status = -1;
    pid_t child = 0;
    begin(round);
    if (forks) {
        CHECK(pipe(words) == 0);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            close(words[1]);
            be_child(kind, words[0]);
        }
        close(words[0]);
    }
    complete(round);
    communicate(round);
    if (forks) {
        begin(round);
        CHECK(write(words[1], "x", 1) == 1);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(kind == KILLED ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(words[1]);
    } else
        begin(round);
    complete(round);
    communicate(round);
}

/* One that is still there when its parent has left, and ends then. */
static void leave_one_behind(void)
{
    int turns;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0)
        return;
    for (turns = 0; getppid() == self && turns < 2000; turns++)
        usleep(1000);
    exit(0);
}

int main(int argc, char **argv)
{
    int kind, turn;
    self = getpid();
    CHECK(atexit(at_end) == 0);
    WELL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    WELL(MPI_Init(&argc, &argv));
    find_place(&next, &before);
    communicate(0);
    for (kind = 0; kind < KINDS; kind++)
        live_with(kind, kind, 1);
    for (turn = 0; turn < size; turn++)
        for (kind = 0; kind < KINDS; kind++)
            live_with(kind, KINDS + kind, rank == turn);
    CHECK(system("exit 0") == 0);
    communicate(1);
    leave_one_behind();
    communicate(2);
    return 0;
}
