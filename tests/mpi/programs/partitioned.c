/* Partitioned messages that must not be taken for one another, nor for anything else: many of one peer and tag, many
 * tags, more parts on one side than on the other, starts of which the sender is ahead, none of anything, and beside the
 * making of communicators with the same tags. Each rank sends to its neighbour. The last line of each says that all was
 * right. */
#include "check.h"

#include <string.h>

enum { MANY = 1100, PARTS = 12, ROUNDS = 5 };

static int next, before;
static MPI_Comm comm;
static int in[MANY], out[MANY];
static MPI_Request sends[MANY], receives[MANY];

/* Initializes a message of one integer, the `place`-th of the arrays. */
static void one(int place, int tag)
{
    out[place] = 10000 * rank + place;
    in[place] = -1;
    WELL(MPI_Psend_init(&out[place], 1, 1, MPI_INT, next, tag, comm, MPI_INFO_NULL, &sends[place]));
    WELL(MPI_Precv_init(&in[place], 1, 1, MPI_INT, before, tag, comm, MPI_INFO_NULL, &receives[place]));
}

/* Sends those in the opposite order, and frees them. */
static void all_of_them(int count)
{
    int i;
    WELL(MPI_Startall(count, receives));
    WELL(MPI_Startall(count, sends));
    for (i = count - 1; i >= 0; i--)
        WELL(MPI_Pready(0, sends[i]));
    WELL(MPI_Waitall(count, sends, MPI_STATUSES_IGNORE));
    WELL(MPI_Waitall(count, receives, MPI_STATUSES_IGNORE));
    for (i = 0; i < count; i++) {
        CHECK(in[i] == 10000 * before + i);
        WELL(MPI_Request_free(&sends[i]));
        WELL(MPI_Request_free(&receives[i]));
    }
}

static void many_of_one_tag(void)
{
    int i;
    for (i = 0; i < MANY; i++)
        one(i, 9);
    all_of_them(MANY);
}

/* The first and the last, neighbours, powers of two, and two that are the same to a hash of 21 bits. */
static void many_tags(void)
{
    int i, *largest, flag, count = 0;
    WELL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &flag));
    CHECK(flag);
    one(count++, 0);
    one(count++, 1504956003);
    one(count++, *largest);
    one(count++, *largest - 1);
    for (i = 0; i < 31; i++)
        one(count++, 1 << i);
    for (i = 0; i < 300; i++)
        one(count++, 5 + i);
    all_of_them(count);
}

/* Parts of the sender's which are not those of the receiver, in another order each time; the sender is ahead by all of
 * its starts. */
static void parts_and_starts(int sent, int received)
{
    MPI_Request send, receive;
    MPI_Status status;
    int i, round, count, step = sent == 1 ? 1 : sent - 1;
    WELL(MPI_Psend_init(out, sent, PARTS / sent, MPI_INT, next, 3, comm, MPI_INFO_NULL, &send));
    WELL(MPI_Precv_init(in, received, PARTS / received, MPI_INT, before, 3, comm, MPI_INFO_NULL, &receive));
    for (round = 0; round < ROUNDS; round++) {
        WELL(MPI_Start(&send));
        for (i = 0; i < sent; i++) {
            int part = (round + i * step) % sent, place;
            for (place = part * (PARTS / sent); place < (part + 1) * (PARTS / sent); place++)
                out[place] = 10000 * rank + 100 * round + place;
            WELL(MPI_Pready(part, send));
        }
        WELL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    for (round = 0; round < ROUNDS; round++) {
        memset(in, 0xff, sizeof in);
        WELL(MPI_Start(&receive));
        WELL(MPI_Wait(&receive, &status));
        WELL(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == PARTS && status.MPI_SOURCE == before && status.MPI_TAG == 3);
        for (i = 0; i < PARTS; i++)
            CHECK(in[i] == 10000 * before + 100 * round + i);
        CHECK(in[PARTS] == -1);
    }
    WELL(MPI_Request_free(&send));
    WELL(MPI_Request_free(&receive));
}

/* Parts without elements, and none of them, on either side; what comes next with the same tag is not touched by it. */
static void nothing(int sent, int received)
{
    MPI_Request send, receive;
    MPI_Status status;
    int i, round, count;
    WELL(MPI_Psend_init(NULL, sent, 0, MPI_INT, next, 4, comm, MPI_INFO_NULL, &send));
    WELL(MPI_Precv_init(NULL, received, 0, MPI_INT, before, 4, comm, MPI_INFO_NULL, &receive));
    one(0, 4);
    for (round = 0; round < ROUNDS; round++) {
        WELL(MPI_Start(&receive));
        WELL(MPI_Start(&send));
        for (i = 0; i < sent; i++)
            WELL(MPI_Pready(i, send));
        WELL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        WELL(MPI_Wait(&receive, &status));
        WELL(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == 0 && status.MPI_SOURCE == before && status.MPI_TAG == 4);
    }
    all_of_them(1);
    WELL(MPI_Request_free(&send));
    WELL(MPI_Request_free(&receive));
}

/* What has been sent is received after communicators have been made with tags of all kinds, the same and others. */
static void beside_communicators(void)
{
    MPI_Group group;
    MPI_Comm made, part;
    int i, sum;
    for (i = 0; i < 4; i++)
        one(i, i);
    WELL(MPI_Startall(4, sends));
    for (i = 0; i < 4; i++)
        WELL(MPI_Pready(0, sends[i]));
    WELL(MPI_Comm_group(comm, &group));
    for (i = 0; i < 6; i++) {
        WELL(MPI_Comm_create_group(comm, group, i, &made));
        WELL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made));
        CHECK(sum == size * (size - 1) / 2);
        WELL(MPI_Comm_free(&made));
    }
    WELL(MPI_Group_free(&group));
    WELL(MPI_Comm_split(comm, rank > 0, rank, &part));
    for (i = 0; size > 1 && i < 6; i++) {
        WELL(MPI_Intercomm_create(part, 0, comm, rank > 0 ? 0 : 1, i, &made));
        WELL(MPI_Comm_remote_size(made, &sum));
        CHECK(sum == (rank > 0 ? 1 : size - 1));
        WELL(MPI_Comm_free(&made));
    }
    WELL(MPI_Comm_free(&part));
    WELL(MPI_Startall(4, receives));
    WELL(MPI_Waitall(4, sends, MPI_STATUSES_IGNORE));
    WELL(MPI_Waitall(4, receives, MPI_STATUSES_IGNORE));
    for (i = 0; i < 4; i++) {
        CHECK(in[i] == 10000 * before + i);
        WELL(MPI_Request_free(&sends[i]));
        WELL(MPI_Request_free(&receives[i]));
    }
}

/* More than there is room for is an error of each start, and what is left of one is no matter of the next one's. */
static void too_much(void)
{
    MPI_Request send, receive;
    int i, round, class;
    WELL(MPI_Psend_init(out, 3, 1, MPI_INT, next, 6, comm, MPI_INFO_NULL, &send));
    WELL(MPI_Precv_init(in, 1, 2, MPI_INT, before, 6, comm, MPI_INFO_NULL, &receive));
    for (round = 0; round < 3; round++) {
        for (i = 0; i < 3; i++)
            out[i] = 100 * round + i, in[i] = -1;
        WELL(MPI_Start(&send));
        WELL(MPI_Pready_range(0, 2, send));
        WELL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        WELL(MPI_Start(&receive));
        WELL(MPI_Error_class(MPI_Wait(&receive, MPI_STATUS_IGNORE), &class));
        CHECK(class == MPI_ERR_TRUNCATE);
        CHECK(in[0] == 100 * round && in[1] == 100 * round + 1 && in[2] == -1);
        WELL(MPI_Start(&send));
        WELL(MPI_Pready(2, send));
        WELL(MPI_Pready_range(0, 1, send));
        WELL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        WELL(MPI_Start(&receive));
        WELL(MPI_Error_class(MPI_Wait(&receive, MPI_STATUS_IGNORE), &class));
        CHECK(class == MPI_ERR_TRUNCATE);
    }
    WELL(MPI_Request_free(&send));
    WELL(MPI_Request_free(&receive));
}

static void all(void)
{
    int sent, received;
    WELL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    many_of_one_tag();
    many_tags();
    beside_communicators();
    for (sent = 1; sent <= PARTS; sent++)
        for (received = 1; received <= PARTS; received++)
            if (PARTS % sent == 0 && PARTS % received == 0)
                parts_and_starts(sent, received);
    for (sent = 0; sent < 3; sent++)
        for (received = 0; received < 3; received++)
            nothing(sent, received);
    too_much();
}

int main(int argc, char **argv)
{
    WELL(MPI_Init(&argc, &argv));
    find_place(&next, &before);
    comm = MPI_COMM_WORLD;
    all();
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    all();
    WELL(MPI_Comm_free(&comm));
    return finish();
}
