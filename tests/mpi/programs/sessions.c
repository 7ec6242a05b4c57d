/* Sessions: process sets, communicators that are made of them, error handlers and buffers of their own, several at a
 * time and one after the other; `sessions beside` also has MPI_Init, and a session that ends after MPI_Finalize. Every
 * rank checks what it gets; the last line of each says that all was right. */
#include "check.h"

#include <string.h>

static int handled;

static MPI_Session begun(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    WELL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL);
    return session;
}

static void sets(MPI_Session session)
{
    int count, n, length, flag, class, is_world = 0, is_self = 0;
    char name[MPI_MAX_PSET_NAME_LEN], value[16], few[4];
    MPI_Info info;
    MPI_Group group;
    WELL(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    CHECK(count == 2);
    for (n = 0; n < count; n++) {
        length = 0;
        WELL(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL));
        CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
        WELL(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name));
        CHECK((int)strlen(name) == length - 1);
        is_world += strcmp(name, "mpi://WORLD") == 0;
        is_self += strcmp(name, "mpi://SELF") == 0;
    }
    CHECK(is_world == 1 && is_self == 1);
    length = sizeof few;
    WELL(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, few));
    CHECK(strcmp(few, "mpi") == 0 && length > (int)sizeof few);
    WELL(MPI_Session_get_pset_info(session, "mpi://SELF", &info));
    length = sizeof value;
    WELL(MPI_Info_get_string(info, "mpi_size", &length, value, &flag));
    CHECK(flag && strcmp(value, "1") == 0);
    WELL(MPI_Info_free(&info));
    WELL(MPI_Error_class(MPI_Group_from_session_pset(session, "mpi://elsewhere", &group), &class));
    CHECK(class == MPI_ERR_ARG);
    WELL(MPI_Error_class(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &length, name), &class));
    CHECK(class == MPI_ERR_ARG);
}

/* Everybody's communicator, by a set and a name. */
static MPI_Comm made(MPI_Session session, const char *set, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    WELL(MPI_Group_from_session_pset(session, set, &group));
    WELL(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    WELL(MPI_Group_free(&group));
    return comm;
}

static void uses(MPI_Session session)
{
    MPI_Comm all = made(session, "mpi://WORLD", "all"), own = made(session, "mpi://self", "own");
    MPI_Comm inter;
    MPI_Group group, mine, others;
    int sum, one, number = 5, place, local;
    void *memory = malloc(4096 + MPI_BSEND_OVERHEAD), *back;
    WELL(MPI_Comm_rank(all, &rank));
    WELL(MPI_Comm_size(all, &size));
    WELL(MPI_Comm_size(own, &one));
    CHECK(one == 1);
    WELL(MPI_Comm_group(all, &group));
    WELL(MPI_Group_rank(group, &place));
    CHECK(place == rank);
    WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size * (size - 1) / 2);
    WELL(MPI_Session_attach_buffer(session, memory, 4096 + MPI_BSEND_OVERHEAD));
    WELL(MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, 3, all));
    WELL(MPI_Recv(&number, 1, MPI_INT, (rank + size - 1) % size, 3, all, MPI_STATUS_IGNORE));
    CHECK(number == (rank + size - 1) % size);
    WELL(MPI_Session_flush_buffer(session));
    WELL(MPI_Session_detach_buffer(session, &back, &number));
    CHECK(back == memory && number == 4096 + MPI_BSEND_OVERHEAD);
    free(memory);
    if (size > 1) {
        /* The first rank on one side, all others on the other one. */
        place = 0;
        WELL(MPI_Group_incl(group, 1, &place, &mine));
        WELL(MPI_Group_excl(group, 1, &place, &others));
        WELL(MPI_Intercomm_create_from_groups(rank ? others : mine, 0, rank ? mine : others, 0, "both", MPI_INFO_NULL,
                                              MPI_ERRORS_RETURN, &inter));
        WELL(MPI_Comm_size(inter, &local));
        WELL(MPI_Comm_remote_size(inter, &number));
        CHECK(local == (rank ? size - 1 : 1) && number == size - local);
        WELL(MPI_Group_free(&mine));
        WELL(MPI_Group_free(&others));
        WELL(MPI_Comm_free(&inter));
    }
    WELL(MPI_Group_free(&group));
    WELL(MPI_Comm_free(&own));
    WELL(MPI_Comm_free(&all));
}

static void heard(MPI_Session *session, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    CHECK(*session != MPI_SESSION_NULL && class == MPI_ERR_ARG);
    handled++;
}

static void errors(MPI_Session session)
{
    MPI_Errhandler handler, found;
    MPI_Group group;
    WELL(MPI_Session_create_errhandler(heard, &handler));
    WELL(MPI_Session_set_errhandler(session, handler));
    WELL(MPI_Errhandler_free(&handler));
    CHECK(MPI_Group_from_session_pset(session, "", &group) != MPI_SUCCESS && handled == 1);
    WELL(MPI_Session_call_errhandler(session, MPI_ERR_ARG));
    CHECK(handled == 2);
    WELL(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    WELL(MPI_Session_get_errhandler(session, &found));
    CHECK(found == MPI_ERRORS_RETURN);
}

int main(int argc, char **argv)
{
    int beside = argc > 1 && strcmp(argv[1], "beside") == 0, flag, round;
    MPI_Session session, other;
    MPI_Comm all;
    if (beside)
        WELL(MPI_Init(&argc, &argv));
    session = begun();
    other = begun();
    WELL(MPI_Initialized(&flag));
    CHECK(flag == beside);
    sets(session);
    uses(other);
    errors(other);
    WELL(MPI_Session_finalize(&other));
    CHECK(other == MPI_SESSION_NULL);
    uses(session);
    if (beside) {
        WELL(MPI_Barrier(MPI_COMM_WORLD));
        WELL(MPI_Finalize());
        uses(session);
        WELL(MPI_Session_finalize(&session));
    } else {
        WELL(MPI_Session_finalize(&session));
        /* Others may follow when there is none. */
        for (round = 0; round < 3; round++) {
            session = begun();
            all = made(session, "mpi://WORLD", "again");
            WELL(MPI_Barrier(all));
            WELL(MPI_Comm_free(&all));
            WELL(MPI_Session_finalize(&session));
        }
    }
    printf("rank %d of %d is done\n", rank, size);
    return 0;
}
