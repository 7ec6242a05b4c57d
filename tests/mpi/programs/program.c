/* The shapes of calls that programs in C are made of: names, messages round a ring, an all-reduce, derived datatypes,
 * collectives of blocks, operations and error handlers of the program's own, texts of errors, requests, attributes,
 * large counts, and what is left out. Every rank checks what it gets; the last line of each says that all was right. */
#include <mpi.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, handled;

#define CHECK(what)                                                                             \
    do {                                                                                        \
        if (!(what)) {                                                                          \
            fprintf(stderr, "program.c:%d: rank %d of %d: not so: %s\n", __LINE__, rank, size, #what); \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                       \
        }                                                                                       \
    } while (0)
#define WELL(call) CHECK((call) == MPI_SUCCESS)

static void names(void)
{
    char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, version, subversion, major, minor;
    WELL(MPI_Get_processor_name(name, &length));
    CHECK(length == (int)strlen(name) && length > 0);
    WELL(MPI_Get_library_version(library, &length));
    CHECK(strstr(library, "ringworld") != NULL);
    WELL(MPI_Get_version(&version, &subversion));
    WELL(MPI_Abi_get_version(&major, &minor));
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
}

/* A number goes round, and each rank adds itself; then all at once, without blocking. */
static void ring(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int token = 0, came = -1, count;
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    if (size > 1) {
        if (rank == 0)
            WELL(MPI_Send(&token, 1, MPI_INT, right, 6, MPI_COMM_WORLD));
        WELL(MPI_Recv(&token, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 6);
        token += rank;
        if (rank != 0)
            WELL(MPI_Send(&token, 1, MPI_INT, right, 6, MPI_COMM_WORLD));
        else
            CHECK(token == size * (size - 1) / 2);
    }
    WELL(MPI_Irecv(&came, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[0]));
    WELL(MPI_Isend(&rank, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]));
    WELL(MPI_Waitall(2, requests, statuses));
    CHECK(came == left && statuses[0].MPI_SOURCE == left);
    WELL(MPI_Get_count(&statuses[0], MPI_INT, &count));
    CHECK(count == 1 && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    WELL(MPI_Recv(&came, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

/* Short messages, most of which leave at once: what is done with one of their requests is done with no other. */
static void sent(void)
{
    enum { MANY = 7 };
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int came[MANY], indices[MANY], flag, cancelled, count, place;
    MPI_Status status, statuses[MANY];
    MPI_Request requests[MANY], receives[MANY];
    for (int each = 0; each < MANY; each++)
        WELL(MPI_Irecv(&came[each], 1, MPI_INT, left, each, MPI_COMM_WORLD, &receives[each]));
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    for (int each = 0; each < MANY; each++) {
        int number = 100 * rank + each;
        WELL(each % 2 ? MPI_Isend(&number, 1, MPI_INT, right, each, MPI_COMM_WORLD, &requests[each])
                      : MPI_Irsend(&number, 1, MPI_INT, right, each, MPI_COMM_WORLD, &requests[each]));
        CHECK(requests[each] != MPI_REQUEST_NULL);
        /* The memory is free only when the send has ended. */
        WELL(MPI_Request_get_status(requests[each], &flag, &status));
        while (!flag)
            WELL(MPI_Request_get_status(requests[each], &flag, &status));
        CHECK(requests[each] != MPI_REQUEST_NULL);
    }
    WELL(MPI_Request_free(&requests[0]));
    WELL(MPI_Wait(&requests[1], &status));
    WELL(MPI_Test_cancelled(&status, &cancelled));
    CHECK(!cancelled && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    WELL(MPI_Test(&requests[2], &flag, &status));
    CHECK(flag && requests[2] == MPI_REQUEST_NULL);
    WELL(MPI_Cancel(&requests[3]));
    WELL(MPI_Wait(&requests[3], &status));
    WELL(MPI_Test_cancelled(&status, &cancelled));
    CHECK(!cancelled);
    WELL(MPI_Waitany(MANY, requests, &place, &status));
    CHECK(place == 4 && requests[4] == MPI_REQUEST_NULL && requests[5] != MPI_REQUEST_NULL);
    WELL(MPI_Waitsome(MANY, requests, &count, indices, statuses));
    CHECK(count == 2 && indices[0] == 5 && indices[1] == 6 && requests[6] == MPI_REQUEST_NULL);
    WELL(MPI_Testall(MANY, requests, &flag, statuses));
    CHECK(flag);
    WELL(MPI_Waitall(MANY, receives, statuses));
    for (int each = 0; each < MANY; each++)
        CHECK(came[each] == 100 * left + each && statuses[each].MPI_SOURCE == left);
}

/* A send and a receive in one call: of all lengths, to oneself, to and from nobody, of elements with holes, of one memory,
 * of a message that is too long. */
static void exchanges(void)
{
    static const int counts[] = {0, 1, 700, 30000, 300000};
    const int right = (rank + 1) % size, left = (rank + size - 1) % size, most = 300000;
    int *given = malloc(most * sizeof *given), *got = malloc(most * sizeof *got), came, class, code;
    MPI_Status status;
    MPI_Datatype column;
    CHECK(given && got);
    for (size_t which = 0; which < sizeof counts / sizeof *counts; which++) {
        const int count = counts[which];
        for (int at = 0; at < count; at++)
            given[at] = 10000 * rank + at, got[at] = -1;
        WELL(MPI_Sendrecv(given, count, MPI_INT, right, 3, got, most, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status));
        WELL(MPI_Get_count(&status, MPI_INT, &came));
        CHECK(came == count && status.MPI_SOURCE == left && status.MPI_TAG == 3);
        for (int at = 0; at < count; at++)
            CHECK(got[at] == 10000 * left + at);
        WELL(MPI_Sendrecv_replace(got, count, MPI_INT, left, 4, right, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == right && status.MPI_TAG == 4);
        for (int at = 0; at < count; at++)
            CHECK(got[at] == 10000 * rank + at);
        WELL(MPI_Sendrecv(given, count, MPI_INT, rank, 5, got, most, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(count == 0 || got[count - 1] == given[count - 1]);
    }
    WELL(MPI_Sendrecv(given, 1, MPI_INT, MPI_PROC_NULL, 6, got, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    /* Every third of 64; as many bytes as there are, and as many as have come. */
    WELL(MPI_Type_vector(64, 1, 3, MPI_INT, &column));
    WELL(MPI_Type_commit(&column));
    for (int at = 0; at < 192; at++)
        got[at] = -1;
    WELL(MPI_Sendrecv(given, 1, column, right, 7, got, 1, column, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int at = 0; at < 190; at++)
        CHECK(got[at] == (at % 3 ? -1 : 10000 * left + at));
    WELL(MPI_Sendrecv(given, 5, MPI_INT, right, 8, got, 1, column, left, 8, MPI_COMM_WORLD, &status));
    WELL(MPI_Get_elements(&status, column, &came));
    CHECK(came == 5 && got[12] == 10000 * left + 4 && got[15] == 10000 * left + 15);
    WELL(MPI_Type_free(&column));
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    code = MPI_Sendrecv(given, 2, MPI_INT, right, 9, got, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &status);
    WELL(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_TRUNCATE && got[0] == 10000 * left);
    code = MPI_Sendrecv(given, 1, MPI_INT, size, 9, got, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &status);
    WELL(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_RANK);
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    free(given);
    free(got);
}

/* Counts by rank that are the same everywhere, or not; blocks that lie one behind the other at some ranks, and apart at
 * others, which each rank says for itself. */
static void varied(void)
{
    enum { MOST = 64 };
    int given[MOST], got[MOST * MOST], counts[MOST], places[MOST], sums[MOST];
    CHECK(size <= 8);
    for (int shape = 0; shape < 4; shape++) {
        const int is_varied = shape & 1, is_apart = shape & 2 && rank % 2;
        int all = 0;
        for (int other = 0; other < size; other++) {
            counts[other] = is_varied ? other + 1 : 3;
            places[other] = is_apart ? 10 * (size - other) : all;
            all += counts[other];
        }
        for (int at = 0; at < MOST; at++)
            given[at] = 100 * rank + at;
        for (int in_place = 0; in_place < 2; in_place++) {
            for (int at = 0; at < MOST * MOST; at++)
                got[at] = -1;
            for (int at = 0; in_place && at < counts[rank]; at++)
                got[places[rank] + at] = given[at];
            WELL(MPI_Allgatherv(in_place ? MPI_IN_PLACE : given, counts[rank], MPI_INT, got, counts, places, MPI_INT,
                                MPI_COMM_WORLD));
            for (int other = 0; other < size; other++)
                for (int at = 0; at < counts[other]; at++)
                    CHECK(got[places[other] + at] == 100 * other + at);
        }
        WELL(MPI_Reduce_scatter(given, sums, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int at = 0, before = is_varied ? rank * (rank + 1) / 2 : 3 * rank; at < counts[rank]; at++)
            CHECK(sums[at] == 100 * size * (size - 1) / 2 + size * (before + at));
    }
    for (int at = 0; at < 3 * size; at++)
        got[at] = at / 3 == rank ? 100 * rank + at % 3 : -1;
    WELL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 3, MPI_INT, MPI_COMM_WORLD));
    for (int at = 0; at < 3 * size; at++)
        CHECK(got[at] == 100 * (at / 3) + at % 3);
}

/* Counts by rank: blocks that lie one behind the other, from any place on; in another order, with gaps, with nobody's;
 * the same ones again and again, and each time others. */
static void counted(void)
{
    enum { MOST = 64 };
    int counts[MOST], tight[MOST], loose[MOST], same[MOST], mine[4 * MOST], all[4 * MOST * MOST], got[4 * MOST * MOST];
    CHECK(size <= MOST);
    for (int turn = 0; turn < 24; turn++) {
        const int root = turn % size, kind = turn % 3;
        int before = 0;
        for (int r = 0; r < size; r++) {
            counts[r] = turn < 12 ? r % 3 : (r + turn) % 4;
            tight[r] = counts[r] > 0 ? 1 + before : 0; /* that of nothing may be anywhere */
            before += counts[r];
        }
        for (int r = 0; r < size; r++)
            loose[r] = kind == 1 ? 4 * r : 4 * (size - 1 - r);
        const int *const places = kind == 0 ? tight : loose;
        for (int i = 0; i < counts[rank]; i++)
            mine[i] = 1000 * turn + 10 * rank + i;
        memset(all, -1, sizeof(all));
        WELL(MPI_Gatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD));
        for (int r = 0; r < size; r++)
            for (int i = 0; i < counts[r]; i++)
                CHECK(all[places[r] + i] == (rank == root ? 1000 * turn + 10 * r + i : -1));
        CHECK(rank != root || kind != 0 || all[0] == -1);
        memset(got, -1, sizeof(got));
        WELL(MPI_Scatterv(all, counts, places, MPI_INT, got, counts[rank], MPI_INT, root, MPI_COMM_WORLD));
        CHECK(got[counts[rank]] == -1);
        for (int i = 0; i < counts[rank]; i++)
            CHECK(got[i] == mine[i]);
        /* Everybody gives each as many as that one gives here. */
        for (int r = 0; r < size; r++) {
            same[r] = counts[rank];
            for (int i = 0; i < counts[r]; i++)
                all[places[r] + i] = 1000 * rank + 10 * r + i;
        }
        int steps[MOST];
        for (int r = 0; r < size; r++)
            steps[r] = kind == 2 ? 4 * r : r * counts[rank];
        memset(got, -1, sizeof(got));
        WELL(MPI_Alltoallv(all, counts, places, MPI_INT, got, same, steps, MPI_INT, MPI_COMM_WORLD));
        for (int r = 0; r < size; r++)
            for (int i = 0; i < counts[rank]; i++)
                CHECK(got[steps[r] + i] == 1000 * r + 10 * rank + i);
    }
}

/* A block which lies where it is to be copied from is told. The others of a root do not hear of it, so it is alone. */
static void overlapping(void)
{
    int codes[5], class, count = 2, place = 3, all[8] = {0};
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    codes[0] = MPI_Gatherv(all + 3, 2, MPI_INT, all, &count, &place, MPI_INT, 0, MPI_COMM_SELF);
    codes[1] = MPI_Scatterv(all, &count, &place, MPI_INT, all + 3, 2, MPI_INT, 0, MPI_COMM_SELF);
    codes[2] = MPI_Alltoallv(all, &count, &place, MPI_INT, all, &count, &place, MPI_INT, MPI_COMM_SELF);
    codes[3] = MPI_Scan(all, all, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    codes[4] = MPI_Exscan(all, all, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    for (int each = 0; each < 5; each++) {
        WELL(MPI_Error_class(codes[each], &class));
        CHECK(class == MPI_ERR_BUFFER);
    }
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/* Over the ranks up to each, where it lies and in place; of nothing, too. */
static void scans(void)
{
    double in[3] = {rank + 1, 2 * rank, 1}, out[3] = {-1, -1, -1};
    const double before = rank * (rank + 1) / 2.0;
    for (int again = 0; again < 3; again++) {
        WELL(MPI_Scan(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[0] == before + rank + 1 && out[1] == rank * (rank + 1) && out[2] == rank + 1);
        out[0] = out[1] = out[2] = -1;
        WELL(MPI_Exscan(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(rank > 0 ? out[0] == before && out[2] == rank : out[0] == -1 && out[2] == -1);
        WELL(MPI_Scan(in, out, 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[0] == (rank > 0 ? before : -1));
        memcpy(out, in, sizeof(in));
        WELL(MPI_Scan(MPI_IN_PLACE, out, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
        CHECK(out[0] == rank + 1 && out[1] == 2 * rank);
        memcpy(out, in, sizeof(in));
        WELL(MPI_Exscan(MPI_IN_PLACE, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[0] == (rank > 0 ? before : 1));
    }
}

/* What each rank gives, in the order of ranks: of plain elements of any number, none included, with every root; and
 * that a block which lies where it is to be copied from is told, by every rank, and nothing comes of it. */
static void blocks(void)
{
    enum { MOST = 3000 };
    static const int counts[] = {0, 1, 3, 700, MOST};
    int *given = malloc(size * MOST * sizeof *given), *got = malloc(size * MOST * sizeof *got);
    int codes[3], class;
    CHECK(given && got);
    for (size_t which = 0; which < sizeof counts / sizeof *counts; which++) {
        const int count = counts[which], root = (int)which % size, all = size * count;
        for (int at = 0; at < all; at++)
            given[at] = 10000 * rank + at, got[at] = -1;
        WELL(MPI_Allgather(given, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD));
        for (int at = 0; at < all; at++)
            CHECK(got[at] == 10000 * (at / count) + at % count);
        WELL(MPI_Alltoall(given, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD));
        for (int at = 0; at < all; at++)
            CHECK(got[at] == 10000 * (at / count) + rank * count + at % count);
        WELL(MPI_Reduce_scatter_block(given, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (int at = 0; at < count; at++)
            CHECK(got[at] == 10000 * size * (size - 1) / 2 + size * (rank * count + at));
        WELL(MPI_Scatter(given, count, MPI_INT, got, count, MPI_INT, root, MPI_COMM_WORLD));
        for (int at = 0; at < count; at++)
            CHECK(got[at] == 10000 * root + rank * count + at);
        WELL(MPI_Gather(given, count, MPI_INT, got, count, MPI_INT, root, MPI_COMM_WORLD));
        for (int at = 0; rank == root && at < all; at++)
            CHECK(got[at] == 10000 * (at / count) + at % count);
        WELL(MPI_Reduce(given, got, count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
        for (int at = 0; rank == root && at < count; at++)
            CHECK(got[at] == 10000 * (size - 1) + at);
        WELL(MPI_Bcast(given, count, MPI_INT, root, MPI_COMM_WORLD));
        for (int at = 0; at < count; at++)
            CHECK(given[at] == 10000 * root + at);
        if (count == 0)
            continue;
        WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        codes[0] = MPI_Allgather(got + rank * count, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
        codes[1] = MPI_Alltoall(got, count, MPI_INT, got, count, MPI_INT, MPI_COMM_WORLD);
        codes[2] = MPI_Reduce_scatter_block(got, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int each = 0; each < 3; each++) {
            WELL(MPI_Error_class(codes[each], &class));
            CHECK(class == MPI_ERR_BUFFER);
        }
        WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    }
    /* The root is ahead of the others, and the others of the root. */
    for (int call = 0; call < 500; call++) {
        int number = rank == 0 ? call : -1, sum = -1;
        WELL(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
        CHECK(number == call);
        WELL(MPI_Reduce(&number, &sum, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD));
        CHECK(sum == (rank == size - 1 ? size * call : -1));
    }
    free(given);
    free(got);
}

static void reductions(void)
{
    enum { N = 1000 };
    double *here = malloc(N * sizeof *here), *all = malloc(N * sizeof *all);
    struct { double value; int where; } mine = { rank == size - 1 ? 9.5 : -1.0 * rank, rank }, best;
    const MPI_Count one = 1;
    int i, sum = rank;
    CHECK(here != NULL && all != NULL);
    for (i = 0; i < N; i++)
        here[i] = rank + i;
    WELL(MPI_Allreduce(here, all, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (i = 0; i < N; i++)
        CHECK(all[i] == size * (size - 1) / 2 + (double)size * i);
    WELL(MPI_Allreduce_c(MPI_IN_PLACE, &sum, one, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2);
    WELL(MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    CHECK(best.value == 9.5 && best.where == size - 1);
    free(here);
    free(all);
}

struct particle { char kind; double at[3]; int charge; };

/* A struct with holes, and a column of a matrix. */
static void datatypes(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct particle out = { 'a', { 1.5, 2.5, 3.5 }, 0 }, in;
    int lengths[3] = { 1, 3, 1 }, matrix[4][5], column[4], i, j, bytes;
    MPI_Aint places[3] = { offsetof(struct particle, kind), offsetof(struct particle, at),
                           offsetof(struct particle, charge) }, lower, extent;
    MPI_Datatype types[3] = { MPI_CHAR, MPI_DOUBLE, MPI_INT }, packed, particle, columns;
    MPI_Status status;
    out.charge = rank;
    WELL(MPI_Type_create_struct(3, lengths, places, types, &packed));
    WELL(MPI_Type_create_resized(packed, 0, sizeof(struct particle), &particle));
    WELL(MPI_Type_commit(&particle));
    WELL(MPI_Type_free(&packed));
    WELL(MPI_Type_size(particle, &bytes));
    WELL(MPI_Type_get_extent(particle, &lower, &extent));
    CHECK(bytes == 29 && lower == 0 && extent == (MPI_Aint)sizeof(struct particle));
    WELL(MPI_Sendrecv(&out, 1, particle, right, 1, &in, 1, particle, left, 1, MPI_COMM_WORLD, &status));
    CHECK(in.kind == 'a' && in.at[2] == 3.5 && in.charge == left);
    WELL(MPI_Type_free(&particle));
    CHECK(particle == MPI_DATATYPE_NULL);

    for (i = 0; i < 4; i++)
        for (j = 0; j < 5; j++)
            matrix[i][j] = 100 * rank + 10 * i + j;
    WELL(MPI_Type_vector(4, 1, 5, MPI_INT, &columns));
    WELL(MPI_Type_commit(&columns));
    WELL(MPI_Sendrecv(&matrix[0][2], 1, columns, right, 2, column, 4, MPI_INT, left, 2, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    for (i = 0; i < 4; i++)
        CHECK(column[i] == 100 * left + 10 * i + 2);
    WELL(MPI_Type_free(&columns));
}

/* x times a, plus b: one such after another is one again, and order matters. */
static void after(void *first, void *then, int *length, MPI_Datatype *type)
{
    int i, *f = first, *g = then;
    CHECK(*type == MPI_2INT);
    for (i = 0; i < *length; i++, f += 2, g += 2) {
        g[1] += g[0] * f[1];
        g[0] *= f[0];
    }
}

/* The largest, for large counts. */
static void larger(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    MPI_Count i;
    CHECK(*type == MPI_INT && *length == 1);
    for (i = 0; i < *length; i++)
        if (((int *)in)[i] > ((int *)inout)[i])
            ((int *)inout)[i] = ((int *)in)[i];
}

static void operations(void)
{
    int mine[2] = { rank + 2, rank }, all[2], expected[2] = { 1, 0 }, most = rank, i;
    MPI_Op composed, largest;
    MPI_Comm even;
    WELL(MPI_Op_create(after, 0, &composed));
    WELL(MPI_Allreduce(mine, all, 1, MPI_2INT, composed, MPI_COMM_WORLD));
    for (i = 0; i < size; i++) {
        expected[0] *= i + 2;
        expected[1] = expected[1] * (i + 2) + i;
    }
    CHECK(all[0] == expected[0] && all[1] == expected[1]);
    WELL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, rank, &even));
    CHECK((even == MPI_COMM_NULL) == (rank % 2));
    if (even != MPI_COMM_NULL)
        WELL(MPI_Comm_free(&even));
    WELL(MPI_Op_create_c(larger, 1, &largest));
    WELL(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, largest, MPI_COMM_WORLD));
    CHECK(most == size - 1);
    WELL(MPI_Op_free(&composed));
    WELL(MPI_Op_free(&largest));
    CHECK(largest == MPI_OP_NULL);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class;
    CHECK(*comm == MPI_COMM_WORLD);
    WELL(MPI_Error_class(*code, &class));
    handled = class;
}

static void errors(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int code, class, length, nobody = size;
    MPI_Errhandler mine;
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Send(&rank, 1, MPI_INT, nobody, 0, MPI_COMM_WORLD);
    WELL(MPI_Error_class(code, &class));
    WELL(MPI_Error_string(code, text, &length));
    CHECK(class == MPI_ERR_RANK && strstr(text, "MPI_ERR_RANK") != NULL && length == (int)strlen(text));
    WELL(MPI_Comm_create_errhandler(on_error, &mine));
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    CHECK(MPI_Send(&rank, 1, MPI_INT, 0, -5, MPI_COMM_WORLD) != MPI_SUCCESS && handled == MPI_ERR_TAG);
    WELL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    WELL(MPI_Errhandler_free(&mine));

    /* Windows are left out, and say so. */
    {
        MPI_Win window = MPI_WIN_NULL;
        code = MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
        WELL(MPI_Error_class(code, &class));
        WELL(MPI_Error_string(code, text, &length));
        CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION && strstr(text, "MPI_Win_create") != NULL);
    }
}

/* A send that is cancelled may go on, and says so; arrays that are not there are an error, and not a crash. */
static void refusals(void)
{
    int number = 5, came = 0, flag = 1, class, all[1];
    MPI_Request request;
    MPI_Status status;
    WELL(MPI_Isend(&number, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &request));
    WELL(MPI_Cancel(&request));
    WELL(MPI_Recv(&came, 1, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    WELL(MPI_Wait(&request, &status));
    WELL(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag && came == 5 && request == MPI_REQUEST_NULL);
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    WELL(MPI_Error_class(MPI_Allgatherv(&rank, 1, MPI_INT, all, NULL, NULL, MPI_INT, MPI_COMM_SELF), &class));
    CHECK(class == MPI_ERR_ARG);
    WELL(MPI_Error_class(MPI_Reduce_scatter(&rank, all, NULL, MPI_INT, MPI_SUM, MPI_COMM_SELF), &class));
    CHECK(class == MPI_ERR_ARG);
    WELL(MPI_Error_class(MPI_Alltoallw(&rank, NULL, NULL, NULL, all, NULL, NULL, NULL, MPI_COMM_SELF), &class));
    CHECK(class == MPI_ERR_ARG);
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/* Two buffers that are both MPI_BOTTOM, since their datatypes have the addresses, are not one. */
static void addresses(void)
{
    int here = 7 + rank, there = -1, one = 1, none = 0;
    MPI_Aint places[2];
    MPI_Datatype types[2];
    int i;
    WELL(MPI_Get_address(&here, &places[0]));
    WELL(MPI_Get_address(&there, &places[1]));
    for (i = 0; i < 2; i++) {
        WELL(MPI_Type_create_hindexed(1, &one, &places[i], MPI_INT, &types[i]));
        WELL(MPI_Type_commit(&types[i]));
    }
    WELL(MPI_Alltoallw(MPI_BOTTOM, &one, &none, &types[0], MPI_BOTTOM, &one, &none, &types[1], MPI_COMM_SELF));
    CHECK(there == 7 + rank);
    for (i = 0; i < 2; i++)
        WELL(MPI_Type_free(&types[i]));
}

static int deleted;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key;
    CHECK(value == &rank && extra == &size);
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key = MPI_KEYVAL_INVALID, flag, *highest;
    void *value;
    MPI_Comm copy;
    WELL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &flag));
    CHECK(flag && *highest >= 32767);
    WELL(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, on_delete, &key, &size));
    WELL(MPI_Comm_set_attr(MPI_COMM_SELF, key, &rank));
    WELL(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    WELL(MPI_Comm_get_attr(copy, key, &value, &flag));
    CHECK(flag && value == &rank);
    WELL(MPI_Comm_free(&copy));
    WELL(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    WELL(MPI_Comm_free_keyval(&key));
    CHECK(deleted == 2 && key == MPI_KEYVAL_INVALID);
}

int main(int argc, char **argv)
{
    int provided, flag;
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    WELL(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    WELL(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    WELL(MPI_Comm_size(MPI_COMM_WORLD, &size));
    names();
    ring();
    sent();
    exchanges();
    blocks();
    varied();
    counted();
    overlapping();
    scans();
    reductions();
    datatypes();
    operations();
    errors();
    refusals();
    addresses();
    attributes();
    WELL(MPI_Barrier(MPI_COMM_WORLD));
    WELL(MPI_Finalize());
    printf("rank %d of %d is done\n", rank, size);
    return 0;
}
