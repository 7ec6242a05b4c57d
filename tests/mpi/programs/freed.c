/* Requests that are freed while their operations are under way: what a receive brings is in its place when the program
 * can know that it has come, by a later message or a barrier, whatever the datatype is. Each rank sends to its neighbour
 * or, alone, to itself. The last line of each says that all was right. */
#include "check.h"

#include <string.h>

enum { TAG = 7, LATER = 8, ROUNDS = 20, ELEMENTS = 1 << 17 };

static int next, before;
static MPI_Comm comm;
static MPI_Datatype spread, many;
static int out[2 * ELEMENTS], in[2 * ELEMENTS];

/* What is received, and how its request is made. */
enum { SPREAD, AGAIN, DENSE, KINDS };

static void begin_and_free(int kind)
{
    MPI_Request request;
    memset(in, 0xff, 4 * sizeof(int));
    if (kind == SPREAD)
        WELL(MPI_Irecv(in, 1, spread, before, TAG, comm, &request));
    else if (kind == DENSE)
        WELL(MPI_Irecv(in, 2, MPI_INT, before, TAG, comm, &request));
    if (kind == AGAIN) {
        WELL(MPI_Recv_init(in, 1, spread, before, TAG, comm, &request));
        WELL(MPI_Start(&request));
    }
    WELL(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
}

static void is_there(int kind, int round)
{
    int from = 100 * round + 10 * before;
    CHECK(in[0] == from && in[kind == DENSE ? 1 : 2] == from + 1);
    CHECK(in[kind == DENSE ? 2 : 1] == -1 && in[3] == -1);
}

/* By each of these a rank hears from its neighbour what that one has said after its message, which is short. */
enum { BARRIER, RECV, WAIT, TEST, WAITANY, PROBE, IPROBE, SENDRECV, ALLTOALL, WAYS };

static void know(int way)
{
    int word = 0, flag, place, given[64] = {0}, got[64];
    MPI_Request later = MPI_REQUEST_NULL, sent = MPI_REQUEST_NULL;
    if (way == WAIT || way == TEST || way == WAITANY)
        WELL(MPI_Irecv(&word, 1, MPI_INT, before, LATER, comm, &later));
    if (way != BARRIER && way != SENDRECV && way != ALLTOALL)
        WELL(MPI_Isend(&rank, 1, MPI_INT, next, LATER, comm, &sent));
    if (way == BARRIER)
        WELL(MPI_Barrier(comm));
    else if (way == RECV)
        WELL(MPI_Recv(&word, 1, MPI_INT, before, LATER, comm, MPI_STATUS_IGNORE));
    else if (way == WAIT)
        WELL(MPI_Wait(&later, MPI_STATUS_IGNORE));
    else if (way == TEST)
        for (flag = 0; !flag;)
            WELL(MPI_Test(&later, &flag, MPI_STATUS_IGNORE));
    else if (way == WAITANY)
        WELL(MPI_Waitany(1, &later, &place, MPI_STATUS_IGNORE));
    else if (way == PROBE)
        WELL(MPI_Probe(before, LATER, comm, MPI_STATUS_IGNORE));
    else if (way == IPROBE)
        for (flag = 0; !flag;)
            WELL(MPI_Iprobe(before, LATER, comm, &flag, MPI_STATUS_IGNORE));
    else if (way == SENDRECV)
        WELL(MPI_Sendrecv(&rank, 1, MPI_INT, next, LATER, &word, 1, MPI_INT, before, LATER, comm,
                          MPI_STATUS_IGNORE));
    else
        WELL(MPI_Alltoall(given, 1, MPI_INT, got, 1, MPI_INT, comm));
    if (sent != MPI_REQUEST_NULL)
        WELL(MPI_Request_free(&sent));
}

static void left_over(int way)
{
    int word;
    if (way == PROBE || way == IPROBE)
        WELL(MPI_Recv(&word, 1, MPI_INT, before, LATER, comm, MPI_STATUS_IGNORE));
}

static void known_by_something_else(void)
{
    int kind, way, round;
    for (kind = 0; kind < KINDS; kind++)
        for (way = 0; way < WAYS; way++)
            for (round = 0; round < ROUNDS; round++) {
                begin_and_free(kind);
                /* Nobody sends before all receive. */
                WELL(MPI_Barrier(comm));
                out[0] = 100 * round + 10 * rank, out[1] = out[0] + 1;
                WELL(MPI_Send(out, 2, MPI_INT, next, TAG, comm));
                know(way);
                is_there(kind, round);
                left_over(way);
                WELL(MPI_Barrier(comm));
            }
}

/* A long one comes while the program looks for something else; what is between its elements stays. */
static void comes_in_time(void)
{
    int i, flag;
    double until = MPI_Wtime() + 20;
    MPI_Request request, sent;
    for (i = 0; i < 2 * ELEMENTS; i++)
        in[i] = -1, out[i] = rank + i;
    WELL(MPI_Irecv(in, 1, many, before, TAG, comm, &request));
    WELL(MPI_Request_free(&request));
    WELL(MPI_Isend(out, ELEMENTS, MPI_INT, next, TAG, comm, &sent));
    while (*(volatile int *)&in[2 * (ELEMENTS - 1)] == -1) {
        WELL(MPI_Iprobe(before, LATER, comm, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag && MPI_Wtime() < until);
    }
    for (i = 0; i < ELEMENTS; i++)
        CHECK(in[2 * i] == before + i && in[2 * i + 1] == -1);
    WELL(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

/* One that nobody sends for keeps nothing from going on, nor from its end. */
static void never_comes(void)
{
    static int nothing[3];
    MPI_Request request;
    WELL(MPI_Irecv(nothing, 1, spread, before, 2 * TAG, MPI_COMM_WORLD, &request));
    WELL(MPI_Request_free(&request));
    known_by_something_else();
}

static void wait_a_while(void)
{
    double until = MPI_Wtime() + 0.05;
    while (MPI_Wtime() < until)
        ;
}

/* Whoever disconnects waits for what is under way there, whether there is a request for it or not: what was sent is the
 * program's again, and what was to come has come. Every second rank takes its time. */
static void disconnected(void)
{
    int i, round, held;
    MPI_Request receive, request;
    MPI_Status status;
    for (round = 0; round < 10; round++) {
        held = round % 2;
        WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (i = 0; i < 2 * ELEMENTS; i++)
            in[i] = -1, out[i] = rank + round + i;
        WELL(MPI_Irecv(in, 1, many, before, TAG, comm, &receive));
        if (!held)
            WELL(MPI_Request_free(&receive));
        if (rank % 2)
            wait_a_while();
        WELL(MPI_Isend(out, ELEMENTS, MPI_INT, next, TAG, comm, &request));
        WELL(MPI_Request_free(&request));
        WELL(MPI_Comm_disconnect(&comm));
        CHECK(comm == MPI_COMM_NULL);
        for (i = 0; i < 2 * ELEMENTS; i++)
            out[i] = -2;
        for (i = 0; i < ELEMENTS; i++)
            CHECK(in[2 * i] == before + round + i && in[2 * i + 1] == -1);
        if (held) {
            WELL(MPI_Wait(&receive, &status));
            WELL(MPI_Get_count(&status, MPI_INT, &i));
            CHECK(receive == MPI_REQUEST_NULL && status.MPI_SOURCE == before && i == ELEMENTS);
        }
    }
    /* Elements as they lie, whose request nothing has looked at; and one that is ready for its next start. */
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    WELL(MPI_Recv_init(in, 1, spread, before, LATER, comm, &request));
    WELL(MPI_Irecv(in, 1, MPI_INT, before, TAG, comm, &receive));
    if (rank % 2)
        wait_a_while();
    WELL(MPI_Send(&rank, 1, MPI_INT, next, TAG, comm));
    WELL(MPI_Comm_disconnect(&comm));
    CHECK(in[0] == before);
    WELL(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    WELL(MPI_Request_free(&request));
}

/* The same of a long message that is buffered: it has left when it is received, which takes its time. One of another
 * communicator is not waited for. */
static void disconnected_from_what_is_buffered(void)
{
    static int buffer[4 * ELEMENTS + MPI_BSEND_OVERHEAD];
    double begun;
    void *detached;
    int bytes, sends = rank % 2 == 0 && rank + 1 < size;
    MPI_Comm other;
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    WELL(MPI_Buffer_attach(buffer, sizeof buffer));
    /* Before the barrier: who receives begins to take its time behind it, whenever this rank goes on. */
    begun = MPI_Wtime();
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    if (sends) {
        WELL(MPI_Bsend(out, ELEMENTS, MPI_INT, next, TAG, other));
        WELL(MPI_Bsend(out, ELEMENTS, MPI_INT, next, TAG, comm));
    } else if (rank % 2) {
        wait_a_while();
        WELL(MPI_Recv(in, ELEMENTS, MPI_INT, before, TAG, comm, MPI_STATUS_IGNORE));
    }
    WELL(MPI_Comm_disconnect(&comm));
    CHECK(!sends || MPI_Wtime() - begun > 0.04);
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank % 2)
        WELL(MPI_Recv(in, ELEMENTS, MPI_INT, before, TAG, other, MPI_STATUS_IGNORE));
    WELL(MPI_Comm_disconnect(&other));
    WELL(MPI_Buffer_detach(&detached, &bytes));
    CHECK(detached == buffer);
    comm = MPI_COMM_WORLD;
    WELL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_disconnect(&comm) != MPI_SUCCESS && comm == MPI_COMM_WORLD);
    WELL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
}

/* Nobody asks for its end, so that it is not given up when all others have left: it takes what this rank sends to
 * itself. Rank 0 takes its time; a rank that is alone has no others. */
static void sent_to_oneself_when_the_others_have_left(void)
{
    int got[2] = {-1, -1}, late[3] = {-1, -1, -1}, i, given[2] = {71, 72};
    MPI_Request request;
    WELL(MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request));
    WELL(MPI_Request_free(&request));
    WELL(MPI_Irecv(late, 1, spread, MPI_ANY_SOURCE, TAG + 1, MPI_COMM_WORLD, &request));
    WELL(MPI_Request_free(&request));
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    if (rank != 0)
        return;
    wait_a_while();
    WELL(MPI_Send(&given[0], 1, MPI_INT, rank, TAG, MPI_COMM_WORLD));
    WELL(MPI_Send(given, 2, MPI_INT, rank, TAG + 1, MPI_COMM_WORLD));
    for (i = 0; i < 2; i++) {
        WELL(MPI_Send(&given[1], 1, MPI_INT, rank, TAG + 2, MPI_COMM_WORLD));
        WELL(MPI_Recv(&got[1], 1, MPI_INT, rank, TAG + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    CHECK(got[0] == 71 && got[1] == 72);
    CHECK(late[0] == 71 && late[1] == -1 && late[2] == 72);
}

int main(int argc, char **argv)
{
    WELL(MPI_Init(&argc, &argv));
    find_place(&next, &before);
    WELL(MPI_Type_vector(2, 1, 2, MPI_INT, &spread));
    WELL(MPI_Type_commit(&spread));
    WELL(MPI_Type_vector(ELEMENTS, 1, 2, MPI_INT, &many));
    WELL(MPI_Type_commit(&many));
    comm = MPI_COMM_WORLD;
    known_by_something_else();
    comes_in_time();
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    never_comes();
    comes_in_time();
    WELL(MPI_Comm_free(&comm));
    disconnected();
    disconnected_from_what_is_buffered();
    sent_to_oneself_when_the_others_have_left();
    WELL(MPI_Type_free(&spread));
    WELL(MPI_Type_free(&many));
    return finish();
}
