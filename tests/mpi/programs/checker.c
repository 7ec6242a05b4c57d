/* A tool that checks the data of benchmarks, which measure and do not look: preloaded, it fills what they send with a
 * pattern, which says who has sent it and, of collectives, in which call, and looks for it in what they receive, which
 * it has overwritten before. The first wrong byte ends the world. Of elements with values that a benchmark may want
 * itself, as times are, it touches none: MPI_BYTE and MPI_CHAR are checked, and MPI_FLOAT where it is summed.
 *
 * CHECKER_LEAST says from how many bytes on messages are looked at: IMB-P2P sends some of its own as MPI_BYTE.
 * With CHECKER_SPOILS set it changes a byte of each message before it looks: so one sees that it does. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long messages, collectives, elements;

/* Whether elements of that type are checked: 1 or 0. */
static size_t plain(MPI_Datatype type) { return type == MPI_BYTE || type == MPI_CHAR ? 1 : 0; }

/* Whether a message is: both sides give the same length. */
static size_t is_checked(MPI_Datatype type, MPI_Count count)
{
    static int least = -1;
    if (least < 0) {
        const char *given = getenv("CHECKER_LEAST");
        least = given ? atoi(given) : 0;
    }
    return count >= least ? plain(type) : 0;
}

/* The pattern of what `from` sends to `to`: -1, where it is the same for all. `call`: -1 of messages. */
static unsigned char byte(size_t at, int from, int to, long call)
{
    return (unsigned char)(at * 7 + (at >> 8) * 13 + (at >> 16) * 5 + (size_t)from * 31 + (size_t)to * 17 +
                           (size_t)call * 3);
}

static void fill(const void *data, size_t length, int from, int to, long call)
{
    unsigned char *bytes = (unsigned char *)data;
    for (size_t at = 0; at < length; at++)
        bytes[at] = byte(at, from, to, call);
}

static void wrong(const char *what, size_t at, double found, double expected, int from)
{
    fprintf(stderr, "checker: %s: element %zu from rank %d is %g and should be %g\n", what, at, from, found, expected);
    PMPI_Abort(MPI_COMM_WORLD, 86);
}

/* Whether this is the moment to change a byte. */
static int spoil(void)
{
    static int spoils = -1;
    if (spoils < 0)
        spoils = getenv("CHECKER_SPOILS") != NULL;
    return spoils;
}

static void look(const char *what, void *data, size_t length, int from, int to, long call)
{
    unsigned char *bytes = data;
    if (length > 0 && spoil())
        bytes[length / 2] ^= 1;
    for (size_t at = 0; at < length; at++)
        if (bytes[at] != byte(at, from, to, call))
            wrong(what, at, bytes[at], byte(at, from, to, call), from);
    elements += (long)length;
}

/* What is summed: whole numbers, so small that no sum is rounded. */
static float number(size_t at, int from, long call) { return (float)((at + (size_t)from * 7 + (size_t)call) % 61); }

static void fill_floats(const void *data, size_t count, int from, long call)
{
    float *floats = (float *)data;
    for (size_t at = 0; at < count; at++)
        floats[at] = number(at, from, call);
}

static void look_at_sum(const char *what, void *data, size_t first, size_t count, int ranks, long call)
{
    float *floats = data;
    if (count > 0 && spoil())
        floats[count / 2] += 1;
    for (size_t at = 0; at < count; at++) {
        float sum = 0;
        for (int rank = 0; rank < ranks; rank++)
            sum += number(first + at, rank, call);
        if (floats[at] != sum)
            wrong(what, at, floats[at], sum, -1);
    }
    elements += (long)count;
}

/* The number of a collective: all ranks of a communicator call the same ones, one after the other. */
static long next(MPI_Comm comm, int *rank, int *size)
{
    static int key = MPI_KEYVAL_INVALID;
    long *calls;
    int known;
    if (key == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_get_attr(comm, key, &calls, &known);
    if (!known) {
        calls = calloc(1, sizeof *calls);
        PMPI_Comm_set_attr(comm, key, calls);
    }
    PMPI_Comm_rank(comm, rank);
    PMPI_Comm_size(comm, size);
    return ++*calls;
}

static int rank_of(MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

/* What is to be looked at once it is there. */
enum kind { NOTHING, MESSAGE, BYTES, SUM };
struct part {
    unsigned char *data;
    size_t length;
    int from, to;
};
struct later {
    MPI_Request request;
    enum kind kind;
    const char *what;
    MPI_Comm comm;
    long call;
    int ranks, parts, unsure;
    size_t first;
    struct part *part;
    struct later *following;
};
static struct later *all_later;

static struct part *parts(int count) { return calloc((size_t)(count > 0 ? count : 1), sizeof(struct part)); }

static void look_later(struct later *one, const MPI_Status *status)
{
    if (one->kind == MESSAGE) {
        MPI_Count length;
        PMPI_Get_count_c(status, MPI_BYTE, &length);
        if (!one->unsure && status->MPI_SOURCE >= 0) {
            look(one->what, one->part->data, (size_t)length, status->MPI_SOURCE, -1, -1);
            messages++;
        }
    } else if (one->kind == BYTES) {
        for (int n = 0; n < one->parts; n++)
            look(one->what, one->part[n].data, one->part[n].length, one->part[n].from, one->part[n].to, one->call);
        collectives++;
    } else if (one->kind == SUM && one->parts) {
        look_at_sum(one->what, one->part->data, one->first, one->part->length, one->ranks, one->call);
        collectives++;
    }
}

static void keep(struct later found, MPI_Request request)
{
    struct later *one = malloc(sizeof *one);
    *one = found;
    one->request = request;
    one->following = all_later;
    all_later = one;
}

static struct later *taken(MPI_Request request)
{
    for (struct later **place = &all_later; *place; place = &(*place)->following)
        if ((*place)->request == request) {
            struct later *one = *place;
            *place = one->following;
            return one;
        }
    return NULL;
}

static void ended(struct later *one, const MPI_Status *status)
{
    if (!one)
        return;
    look_later(one, status);
    free(one->part);
    free(one);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPI_Status own;
    struct later *one = taken(*request);
    int code = PMPI_Wait(request, &own);
    ended(one, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    MPI_Status *own = calloc((size_t)count + 1, sizeof *own);
    struct later **found = calloc((size_t)count + 1, sizeof *found);
    for (int n = 0; n < count; n++)
        found[n] = requests[n] == MPI_REQUEST_NULL ? NULL : taken(requests[n]);
    int code = PMPI_Waitall(count, requests, own);
    for (int n = 0; n < count; n++) {
        ended(found[n], &own[n]);
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[n] = own[n];
    }
    free(own);
    free(found);
    return code;
}

static int done(struct later later, int code)
{
    look_later(&later, MPI_STATUS_IGNORE);
    free(later.part);
    return code;
}

static int begun(struct later later, int code, MPI_Request request)
{
    if (later.kind != NOTHING)
        keep(later, request);
    return code;
}

/* All that moves data, with counts of 32 bits, and with those of 64 as `_c`. */
#define COUNT int
#define PLACE int
#define C(name) name
#include "checker_calls.h"
#undef COUNT
#undef PLACE
#undef C
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define C(name) name##_c
#include "checker_calls.h"

int MPI_Finalize(void)
{
    long mine[3] = { messages, collectives, elements }, all[3] = { 0 };
    PMPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("checked: %ld messages, %ld collectives, %ld elements\n", all[0], all[1], all[2]);
    return PMPI_Finalize();
}
