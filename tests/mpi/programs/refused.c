/* What is wrong with a request or a message is told to its communicator, by whichever call finds it: that one alone has
 * its errors returned here, and all others end the world. With it: statuses of messages that are too long and of
 * requests that are not active, counts that cannot be, operations that a datatype does not have, and buffers larger
 * than memory. Each rank sends to its neighbour. The last line of each says that all was right. */
#include "check.h"

enum { TAG = 5, LONG = 5, OTHER = 77 };

static int next, before;
static MPI_Comm comm;
static int given[LONG], got[LONG];

static int class_of(int code)
{
    int class;
    WELL(MPI_Error_class(code, &class));
    return class;
}

#define REFUSED(call, why) CHECK(class_of(call) == (why))

/* A status that no call has written. */
static MPI_Status fresh(void)
{
    MPI_Status status = {0};
    status.MPI_SOURCE = status.MPI_TAG = -99;
    status.MPI_ERROR = OTHER;
    return status;
}

static void is_empty(const MPI_Status *status)
{
    int count;
    WELL(MPI_Get_count(status, MPI_INT, &count));
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0);
    CHECK(status->MPI_ERROR == MPI_SUCCESS);
}

/* The program learns of whom a message was that was too long. The call returns the error, and leaves that of the status
 * as it is. */
static void is_of_neighbour(const MPI_Status *status)
{
    CHECK(status->MPI_SOURCE == before && status->MPI_TAG == TAG && status->MPI_ERROR == OTHER);
}

static void sends(void)
{
    WELL(MPI_Send(given, LONG, MPI_INT, next, TAG, comm));
}

static void messages(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    MPI_Datatype spread;
    int way, kind, code;
    WELL(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
    WELL(MPI_Type_commit(&spread));
    /* Of elements without holes, and of others. */
    for (kind = 0; kind < 2; kind++) {
        MPI_Datatype type = kind ? spread : MPI_INT;
        for (way = 0; way < 4; way++) {
            const int source = way % 2 ? MPI_ANY_SOURCE : before, tag = way / 2 ? MPI_ANY_TAG : TAG;
            sends();
            status = fresh();
            REFUSED(MPI_Recv(got, 1, type, source, tag, comm, &status), MPI_ERR_TRUNCATE);
            is_of_neighbour(&status);
            status = fresh();
            code = MPI_Sendrecv(given, LONG, MPI_INT, next, TAG, got, 1, type, source, tag, comm, &status);
            REFUSED(code, MPI_ERR_TRUNCATE);
            is_of_neighbour(&status);
            /* What was sent first comes first, and what is sent with it fits. */
            sends();
            status = fresh();
            code = MPI_Sendrecv_replace(got, 1, type, next, TAG, source, tag, comm, &status);
            REFUSED(code, MPI_ERR_TRUNCATE);
            is_of_neighbour(&status);
            WELL(MPI_Recv(got, 1, type, before, TAG, comm, MPI_STATUS_IGNORE));
            sends();
            WELL(MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE));
            status = fresh();
            REFUSED(MPI_Mrecv(got, -1, type, &message, &status), MPI_ERR_COUNT);
            CHECK(message != MPI_MESSAGE_NULL);
            REFUSED(MPI_Mrecv(got, 1, type, &message, &status), MPI_ERR_TRUNCATE);
            is_of_neighbour(&status);
            CHECK(message == MPI_MESSAGE_NULL);
            sends();
            WELL(MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE));
            REFUSED(MPI_Imrecv(got, -1, type, &message, &request), MPI_ERR_COUNT);
            WELL(MPI_Imrecv(got, 1, type, &message, &request));
            status = fresh();
            REFUSED(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
            is_of_neighbour(&status);
        }
    }
    WELL(MPI_Type_free(&spread));
}

/* Looks at receives that have failed, which stay as they are. */
static void looks(void)
{
    enum { MANY = 3 };
    MPI_Request requests[MANY];
    MPI_Status status, statuses[MANY];
    int i, flag, code, place, count, places[MANY];
    for (i = 0; i < 2; i++) {
        requests[0] = MPI_REQUEST_NULL;
        if (i) {
            WELL(MPI_Recv_init(got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]));
            WELL(MPI_Start(&requests[1]));
        } else {
            WELL(MPI_Irecv(got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]));
        }
        WELL(MPI_Irecv(&got[1], 1, MPI_INT, before, TAG + 1, comm, &requests[2]));
        WELL(MPI_Barrier(comm));
        sends();
        do {
            status = fresh();
            code = MPI_Request_get_status(requests[1], &flag, &status);
        } while (code == MPI_SUCCESS && !flag);
        REFUSED(code, MPI_ERR_TRUNCATE);
        CHECK(flag);
        is_of_neighbour(&status);
        status = fresh();
        REFUSED(MPI_Request_get_status_any(MANY, requests, &place, &flag, &status), MPI_ERR_TRUNCATE);
        CHECK(flag && place == 1);
        is_of_neighbour(&status);
        REFUSED(MPI_Request_get_status_some(MANY, requests, &count, places, statuses), MPI_ERR_IN_STATUS);
        CHECK(count == 1 && places[0] == 1 && statuses[0].MPI_SOURCE == before && statuses[0].MPI_TAG == TAG);
        CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
        /* Not all have ended, at any rank. */
        WELL(MPI_Request_get_status_all(MANY, requests, &flag, statuses));
        CHECK(!flag);
        WELL(MPI_Barrier(comm));
        WELL(MPI_Send(given, 1, MPI_INT, next, TAG + 1, comm));
        do
            code = MPI_Request_get_status_all(MANY, requests, &flag, statuses);
        while (code == MPI_SUCCESS && !flag);
        REFUSED(code, MPI_ERR_IN_STATUS);
        CHECK(flag && statuses[1].MPI_SOURCE == before && statuses[1].MPI_TAG == TAG);
        CHECK(class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
        is_empty(&statuses[0]);
        CHECK(statuses[2].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_TAG == TAG + 1);
        status = fresh();
        REFUSED(MPI_Wait(&requests[1], &status), MPI_ERR_TRUNCATE);
        is_of_neighbour(&status);
        WELL(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
        CHECK((requests[1] == MPI_REQUEST_NULL) == !i);
        if (i)
            WELL(MPI_Request_free(&requests[1]));
    }
}

/* What cannot be done with a request as it is. */
static void requests_at_the_wrong_time(void)
{
    MPI_Request requests[2];
    int flag, places[1] = {0};
    WELL(MPI_Recv_init(&got[0], 1, MPI_INT, before, TAG, comm, &requests[0]));
    WELL(MPI_Recv_init(&got[1], 1, MPI_INT, before, TAG + 1, comm, &requests[1]));
    WELL(MPI_Start(&requests[1]));
    REFUSED(MPI_Start(&requests[1]), MPI_ERR_REQUEST);
    REFUSED(MPI_Startall(2, requests), MPI_ERR_REQUEST);
    REFUSED(MPI_Pready(0, requests[1]), MPI_ERR_REQUEST);
    REFUSED(MPI_Grequest_complete(requests[1]), MPI_ERR_REQUEST);
    WELL(MPI_Send(given, 1, MPI_INT, next, TAG, comm));
    WELL(MPI_Send(given, 1, MPI_INT, next, TAG + 1, comm));
    WELL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    WELL(MPI_Request_free(&requests[0]));
    WELL(MPI_Request_free(&requests[1]));
    WELL(MPI_Irecv(got, 1, MPI_INT, before, TAG, comm, &requests[0]));
    REFUSED(MPI_Start(&requests[0]), MPI_ERR_REQUEST);
    WELL(MPI_Send(given, 1, MPI_INT, next, TAG, comm));
    WELL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    WELL(MPI_Psend_init(given, 2, 1, MPI_INT, next, TAG, comm, MPI_INFO_NULL, &requests[0]));
    WELL(MPI_Precv_init(got, 2, 1, MPI_INT, before, TAG, comm, MPI_INFO_NULL, &requests[1]));
    REFUSED(MPI_Pready(0, requests[0]), MPI_ERR_REQUEST);
    REFUSED(MPI_Pready_range(0, 1, requests[0]), MPI_ERR_REQUEST);
    REFUSED(MPI_Pready_list(1, places, requests[0]), MPI_ERR_REQUEST);
    REFUSED(MPI_Parrived(requests[0], 0, &flag), MPI_ERR_REQUEST);
    WELL(MPI_Startall(2, requests));
    REFUSED(MPI_Pready(2, requests[0]), MPI_ERR_ARG);
    REFUSED(MPI_Pready_list(-1, places, requests[0]), MPI_ERR_ARG);
    WELL(MPI_Pready_range(0, 1, requests[0]));
    WELL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    WELL(MPI_Request_free(&requests[0]));
    WELL(MPI_Request_free(&requests[1]));
}

/* Those that are not active and those that are none have the empty status, with its error. */
static void inactive(void)
{
    MPI_Request requests[2], none = MPI_REQUEST_NULL;
    MPI_Status status;
    int i, flag;
    WELL(MPI_Recv_init(got, 1, MPI_INT, before, TAG, comm, &requests[0]));
    WELL(MPI_Precv_init(got, 1, 1, MPI_INT, before, TAG, comm, MPI_INFO_NULL, &requests[1]));
    for (i = 0; i < 2; i++) {
        status = fresh();
        WELL(MPI_Wait(&requests[i], &status));
        is_empty(&status);
        status = fresh();
        flag = 0;
        WELL(MPI_Test(&requests[i], &flag, &status));
        CHECK(flag);
        is_empty(&status);
        status = fresh();
        flag = 0;
        WELL(MPI_Request_get_status(requests[i], &flag, &status));
        CHECK(flag && requests[i] != MPI_REQUEST_NULL);
        is_empty(&status);
        WELL(MPI_Request_free(&requests[i]));
    }
    status = fresh();
    flag = 0;
    WELL(MPI_Request_get_status(none, &flag, &status));
    CHECK(flag);
    is_empty(&status);
}

/* Numbers of requests and of ranks: errors of no communicator, which go to MPI_COMM_SELF. */
static void numbers(void)
{
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Group all, some = MPI_GROUP_NULL;
    MPI_Status status;
    int place, flag, ranks[1] = {0}, ranges[1][3] = {{0, 0, 1}};
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    REFUSED(MPI_Startall(-1, &none), MPI_ERR_ARG);
    REFUSED(MPI_Request_get_status_all(-1, &none, &flag, &status), MPI_ERR_ARG);
    REFUSED(MPI_Request_get_status_any(-1, &none, &place, &flag, &status), MPI_ERR_ARG);
    REFUSED(MPI_Request_get_status_some(-1, &none, &place, ranks, &status), MPI_ERR_ARG);
    WELL(MPI_Comm_group(comm, &all));
    REFUSED(MPI_Group_incl(all, -1, ranks, &some), MPI_ERR_ARG);
    REFUSED(MPI_Group_excl(all, -1, ranks, &some), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_incl(all, -1, ranges, &some), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_excl(all, -1, ranges, &some), MPI_ERR_ARG);
    REFUSED(MPI_Group_translate_ranks(all, -1, ranks, all, ranks), MPI_ERR_ARG);
    CHECK(some == MPI_GROUP_NULL);
    WELL(MPI_Group_free(&all));
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static void adds(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int i;
    (void)type;
    for (i = 0; i < *length; i++)
        ((int *)inout)[2 * i] += ((int *)in)[2 * i], ((int *)inout)[2 * i + 1] += ((int *)in)[2 * i + 1];
}

/* The standard's operations are for its own datatypes; those of the program are for all. */
static void operations(void)
{
    MPI_Datatype pair, same, fortran;
    MPI_Op op;
    MPI_Request request;
    int in[2] = {1, 2}, out[2] = {0, 0}, counts[64], i;
    float one = 1, sum = 0;
    CHECK(size <= 64);
    for (i = 0; i < size; i++)
        counts[i] = 1;
    WELL(MPI_Type_contiguous(2, MPI_INT, &pair));
    WELL(MPI_Type_commit(&pair));
    WELL(MPI_Type_dup(MPI_INT, &same));
    REFUSED(MPI_Allreduce(in, out, 1, pair, MPI_SUM, comm), MPI_ERR_OP);
    REFUSED(MPI_Allreduce(in, out, 1, same, MPI_SUM, comm), MPI_ERR_OP);
    REFUSED(MPI_Reduce(in, out, 1, pair, MPI_MAX, rank, comm), MPI_ERR_OP);
    REFUSED(MPI_Scan(in, out, 1, pair, MPI_SUM, comm), MPI_ERR_OP);
    REFUSED(MPI_Exscan(in, out, 1, pair, MPI_SUM, comm), MPI_ERR_OP);
    REFUSED(MPI_Reduce_scatter(in, out, counts, pair, MPI_SUM, comm), MPI_ERR_OP);
    REFUSED(MPI_Reduce_scatter_block(in, out, 1, pair, MPI_SUM, comm), MPI_ERR_OP);
    REFUSED(MPI_Iallreduce(in, out, 1, pair, MPI_SUM, comm, &request), MPI_ERR_OP);
    CHECK(out[0] == 0 && out[1] == 0);
    WELL(MPI_Op_create(adds, 1, &op));
    WELL(MPI_Allreduce(in, out, 1, pair, op, comm));
    CHECK(out[0] == size && out[1] == 2 * size);
    WELL(MPI_Op_free(&op));
    WELL(MPI_Type_free(&same));
    WELL(MPI_Type_free(&pair));
    /* Those that Fortran asks for by their precision are the standard's. */
    WELL(MPI_Type_create_f90_real(6, 30, &fortran));
    WELL(MPI_Allreduce(&one, &sum, 1, fortran, MPI_SUM, comm));
    CHECK(sum == (float)size);
}

/* More bytes than memory can have, whether or not their number fits into 64 bits. */
static void lengths(void)
{
    static const int bits[] = {60, 61, 62};
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Datatype spread, types[2];
    size_t i, kind;
    WELL(MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &spread));
    WELL(MPI_Type_commit(&spread));
    types[0] = MPI_DOUBLE, types[1] = spread;
    WELL(MPI_Send(given, 1, MPI_INT, next, TAG, comm));
    WELL(MPI_Mprobe(before, TAG, comm, &message, MPI_STATUS_IGNORE));
    for (i = 0; i < sizeof bits / sizeof *bits; i++) {
        const MPI_Count many = (MPI_Count)1 << bits[i];
        for (kind = 0; kind < 2; kind++) {
            const MPI_Datatype type = types[kind];
            REFUSED(MPI_Send_c(given, many, type, next, TAG, comm), MPI_ERR_COUNT);
            REFUSED(MPI_Ssend_c(given, many, type, next, TAG, comm), MPI_ERR_COUNT);
            REFUSED(MPI_Bsend_c(given, many, type, next, TAG, comm), MPI_ERR_COUNT);
            REFUSED(MPI_Rsend_c(given, many, type, next, TAG, comm), MPI_ERR_COUNT);
            REFUSED(MPI_Isend_c(given, many, type, next, TAG, comm, &request), MPI_ERR_COUNT);
            REFUSED(MPI_Send_init_c(given, many, type, next, TAG, comm, &request), MPI_ERR_COUNT);
            REFUSED(MPI_Recv_c(got, many, type, before, TAG, comm, &status), MPI_ERR_COUNT);
            REFUSED(MPI_Irecv_c(got, many, type, before, TAG, comm, &request), MPI_ERR_COUNT);
            REFUSED(MPI_Recv_init_c(got, many, type, before, TAG, comm, &request), MPI_ERR_COUNT);
            REFUSED(MPI_Mrecv_c(got, many, type, &message, &status), MPI_ERR_COUNT);
            REFUSED(MPI_Imrecv_c(got, many, type, &message, &request), MPI_ERR_COUNT);
            REFUSED(MPI_Sendrecv_c(given, many, type, next, TAG, got, 1, MPI_INT, before, TAG, comm, &status),
                    MPI_ERR_COUNT);
            REFUSED(MPI_Sendrecv_c(given, 1, MPI_INT, next, TAG, got, many, type, before, TAG, comm, &status),
                    MPI_ERR_COUNT);
            REFUSED(MPI_Sendrecv_replace_c(got, many, type, next, TAG, before, TAG, comm, &status), MPI_ERR_COUNT);
            REFUSED(MPI_Bcast_c(got, many, type, 0, comm), MPI_ERR_COUNT);
        }
    }
    WELL(MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    WELL(MPI_Type_free(&spread));
}

int main(int argc, char **argv)
{
    WELL(MPI_Init(&argc, &argv));
    find_place(&next, &before);
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    WELL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    messages();
    looks();
    requests_at_the_wrong_time();
    inactive();
    numbers();
    operations();
    lengths();
    WELL(MPI_Comm_free(&comm));
    return finish();
}
