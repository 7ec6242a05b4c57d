/* Children that are forked while another thread of their parent is within MPI_Init: they can ask, end as their parent's
 * program does, and what they cannot have is refused; none waits for that thread, which it does not have. For two ranks
 * of `ringworld run`: rank 1 comes when a file is there whose name is given, and rank 0 makes it when its children have
 * ended. */
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ASK, EXIT, SESSION, FINALIZE, INIT, KINDS };
enum { MILLISECOND = 1000, PATIENCE = 30 * 1000 };

static void expect(int initialized)
{
    int flag = -1;
    WELL(MPI_Initialized(&flag));
    CHECK(flag == initialized);
    WELL(MPI_Finalized(&flag));
    CHECK(flag == initialized);
}

static pid_t self;

static void at_end(void)
{
    expect(getpid() == self);
}

static void *take_part(void *unused)
{
    int next, before;
    WELL(MPI_Init(NULL, NULL));
    find_place(&next, &before);
    CHECK(finish() == 0);
    return unused;
}

static int sockets(void)
{
    char path[300], target[100];
    struct dirent *entry;
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        memset(target, 0, sizeof target);
        if (readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "socket:", 7) == 0)
            count++;
    }
    closedir(folder);
    return count;
}

static void be_child(int kind)
{
    MPI_Session session;
    char words[MPI_MAX_ERROR_STRING];
    int code, length;
    switch (kind) {
    case ASK:
        expect(0);
        CHECK(MPI_Wtime() > 0);
        _exit(0);
    case SESSION:
        code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        CHECK(code != MPI_SUCCESS);
        WELL(MPI_Error_string(code, words, &length));
        _exit(0);
    case FINALIZE:
        MPI_Finalize();
        _exit(0);
    case INIT:
        MPI_Init(NULL, NULL);
        _exit(0);
    }
    exit(0);
}

/* Of a child of that kind; what it says comes into `said`. */
static int status_of(int kind, char *said, size_t most)
{
    int out[2], status = -1, turns = 0;
    pid_t child;
    ssize_t length;
    CHECK(pipe(out) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(dup2(out[1], 2) == 2);
        be_child(kind);
    }
    close(out[1]);
    while (waitpid(child, &status, WNOHANG) == 0) {
        usleep(MILLISECOND);
        if (++turns == PATIENCE) {
            kill(child, SIGKILL);
            fprintf(stderr, "a child of kind %d hangs\n", kind);
            exit(3);
        }
    }
    length = read(out[0], said, most - 1);
    said[length > 0 ? length : 0] = 0;
    close(out[0]);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char said[4096];
    int kind, status, turns, before = sockets();
    const char *first = getenv("RANK");
    FILE *file = NULL;
    self = getpid();
    CHECK(argc == 2 && first != NULL);
    CHECK(atexit(at_end) == 0);
    if (strcmp(first, "0") != 0) {
        for (turns = 0; access(argv[1], F_OK) != 0 && turns < 2 * PATIENCE; turns++)
            usleep(MILLISECOND);
        take_part(NULL);
        return 0;
    }
    CHECK(pthread_create(&thread, NULL, take_part, NULL) == 0);
    /* It brings the world together. */
    for (turns = 0; sockets() == before && turns < PATIENCE; turns++)
        usleep(MILLISECOND);
    for (kind = 0; kind < KINDS; kind++) {
        status = status_of(kind, said, sizeof said);
        if (kind == FINALIZE || kind == INIT) {
            CHECK(status != 0);
            CHECK(strstr(said, kind == INIT ? "forked while another thread" : "has not been initialized") != NULL);
        } else {
            fputs(said, stderr);
            CHECK(status == 0);
        }
    }
    file = fopen(argv[1], "w");
    CHECK(file != NULL && fclose(file) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
