/* MPI in what a program has called at its end, by atexit or a destructor: all that is possible before MPI_Finalize, that
 * itself, and the questions that are allowed behind it. What is registered first is called last. The argument says where
 * the end is: `behind` MPI_Init or `ahead` of it is registered what finalizes, or it is a `destructor`, or `main` does
 * it; `session` is a world without MPI_Init, whose session ends in what was registered ahead of it. */
#include "check.h"

#include <string.h>

static const char *way = "";
static int next, before;
static MPI_Session session;
static MPI_Comm comm, others;

static int is(const char *other)
{
    return strcmp(way, other) == 0;
}

static void communicate(void)
{
    static int in[1 << 18], out[1 << 18];
    int sum = -1;
    MPI_Request request;
    WELL(MPI_Irecv(in, 1 << 18, MPI_INT, before, 1, comm, &request));
    out[0] = rank;
    WELL(MPI_Send(out, 1 << 18, MPI_INT, next, 1, comm));
    WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in[0] == before);
    WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2);
    WELL(MPI_Barrier(comm));
}

static void expect(int initialized, int finalized)
{
    int flag = -1;
    WELL(MPI_Initialized(&flag));
    CHECK(flag == initialized);
    WELL(MPI_Finalized(&flag));
    CHECK(flag == finalized);
}

/* The others go on when rank 0 has left, and its process is gone: that is no failure. */
static void outlive_the_first(void)
{
    double until = MPI_Wtime() + 0.3;
    if (others == MPI_COMM_NULL)
        return;
    while (MPI_Wtime() < until)
        ;
    WELL(MPI_Barrier(others));
    WELL(MPI_Comm_free(&others));
}

static void end_it(void)
{
    if (is("session")) {
        expect(0, 0);
        communicate();
        outlive_the_first();
        WELL(MPI_Comm_free(&comm));
        WELL(MPI_Session_finalize(&session));
        expect(0, 0);
        return;
    }
    expect(1, 0);
    communicate();
    outlive_the_first();
    WELL(MPI_Finalize());
    expect(1, 1);
}

static void say_so(void)
{
    int version = 0, subversion = 0;
    expect(!is("session"), !is("session"));
    WELL(MPI_Get_version(&version, &subversion));
    CHECK(version >= 3);
    printf("rank %d of %d is done\n", rank, size);
}

static void ahead(void)
{
    if (is("ahead") || is("session"))
        end_it();
    if (!is("destructor"))
        say_so();
}

static void behind(void)
{
    if (is("main"))
        expect(1, 1);
    else
        communicate();
    if (is("behind"))
        end_it();
}

__attribute__((destructor)) static void destructor(void)
{
    if (is("destructor")) {
        end_it();
        say_so();
    }
}

static void begin_session(void)
{
    MPI_Group group;
    WELL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    WELL(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    WELL(MPI_Comm_create_from_group(group, "atexit", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    WELL(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    way = argc > 1 ? argv[1] : "main";
    CHECK(atexit(ahead) == 0);
    if (is("session"))
        begin_session();
    else {
        WELL(MPI_Init(&argc, &argv));
        comm = MPI_COMM_WORLD;
    }
    CHECK(atexit(behind) == 0);
    WELL(MPI_Comm_rank(comm, &rank));
    WELL(MPI_Comm_size(comm, &size));
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    WELL(MPI_Comm_split(comm, rank == 0 ? MPI_UNDEFINED : 0, rank, &others));
    communicate();
    if (is("main"))
        end_it();
    return 0;
}
