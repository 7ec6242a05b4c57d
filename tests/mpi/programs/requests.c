/* Receives that have begun, and everything a program can do with their requests: waiting for one, for all or for some,
 * looking, cancelling (from another thread, too), freeing, and handles that are none; on MPI_COMM_WORLD and on a communicator of the program's.
 * Each rank sends to itself and to its neighbour. The last line of each says that all was right. */
#include "check.h"

#include <pthread.h>
#include <string.h>

enum { MANY = 40, TAG = 7 };

static int next, before, threads;
static MPI_Comm comm;
static int in[MANY], out[MANY];
static MPI_Request requests[2 * MANY + 1];
static MPI_Status statuses[2 * MANY + 1];

static int class_of(int code)
{
    int class;
    WELL(MPI_Error_class(code, &class));
    return class;
}

/* Begins receives from the rank before, with the tags `first` and so on. */
static void begin(int count, int first)
{
    int i;
    for (i = 0; i < count; i++) {
        in[i] = -1;
        WELL(MPI_Irecv(&in[i], 1, MPI_INT, before, first + i, comm, &requests[i]));
        CHECK(requests[i] != MPI_REQUEST_NULL);
    }
}

/* Sends what those wait for, the last one first. */
static void answer(int count, int first)
{
    int i;
    for (i = count - 1; i >= 0; i--) {
        out[i] = 1000 * rank + first + i;
        WELL(MPI_Send(&out[i], 1, MPI_INT, next, first + i, comm));
    }
}

static void is_right(int place, int first, const MPI_Status *status)
{
    int count;
    CHECK(in[place] == 1000 * before + first + place && requests[place] == MPI_REQUEST_NULL);
    if (status == MPI_STATUS_IGNORE)
        return;
    WELL(MPI_Get_count(status, MPI_INT, &count));
    CHECK(count == 1 && status->MPI_SOURCE == before && status->MPI_TAG == first + place);
}

static void waited_for(void)
{
    int i, place, count, places[MANY], seen;
    begin(MANY, 0);
    answer(MANY, 0);
    for (i = MANY - 1; i >= 0; i -= 2) {
        WELL(MPI_Wait(&requests[i], &statuses[i]));
        is_right(i, 0, &statuses[i]);
    }
    /* Half of them are null by now. */
    WELL(MPI_Waitall(MANY, requests, statuses));
    for (i = 0; i < MANY; i++) {
        is_right(i, 0, MPI_STATUS_IGNORE);
        CHECK(statuses[i].MPI_TAG == (i % 2 ? MPI_ANY_TAG : i));
    }
    begin(MANY, 3);
    answer(MANY, 3);
    for (i = 0; i < MANY; i++) {
        WELL(MPI_Waitany(MANY, requests, &place, &statuses[0]));
        CHECK(place >= 0 && place < MANY);
        is_right(place, 3, &statuses[0]);
    }
    WELL(MPI_Waitany(MANY, requests, &place, MPI_STATUS_IGNORE));
    CHECK(place == MPI_UNDEFINED);
    begin(MANY, 5);
    answer(MANY, 5);
    for (seen = 0; seen < MANY; seen += count) {
        WELL(MPI_Waitsome(MANY, requests, &count, places, statuses));
        CHECK(count > 0);
        for (i = 0; i < count; i++)
            is_right(places[i], 5, &statuses[i]);
    }
}

/* Those that have been looked at, and those that have not, side by side, and with sends. */
static void looked_at(void)
{
    int i, flag, count, places[MANY];
    /* Nobody sends before all have looked. */
    begin(MANY, 0);
    for (i = 0; i < MANY; i += 3) {
        WELL(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        CHECK(!flag && requests[i] != MPI_REQUEST_NULL);
        /* A test leaves it what it is, this does not. */
        if (i % 2) {
            WELL(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
    }
    WELL(MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    WELL(MPI_Testsome(4, requests, &count, places, statuses));
    CHECK(count == 0);
    WELL(MPI_Testall(MANY, requests, &flag, statuses));
    CHECK(!flag);
    WELL(MPI_Barrier(comm));
    answer(MANY / 2, 0);
    for (i = MANY / 2; i < MANY; i++) {
        out[i] = 1000 * rank + i;
        WELL(MPI_Isend(&out[i], 1, MPI_INT, next, i, comm, &requests[MANY + i]));
    }
    for (i = 0; i < MANY / 2; i++)
        requests[MANY + i] = MPI_REQUEST_NULL;
    WELL(MPI_Waitall(2 * MANY, requests, statuses));
    for (i = 0; i < MANY; i++)
        is_right(i, 0, &statuses[i]);
    begin(MANY, 0);
    answer(MANY, 0);
    do
        WELL(MPI_Testall(MANY, requests, &flag, statuses));
    while (!flag);
    for (i = 0; i < MANY; i++)
        is_right(i, 0, &statuses[i]);
}

static void cancelled_and_freed(void)
{
    int flag, i;
    begin(3, 0);
    WELL(MPI_Cancel(&requests[1]));
    WELL(MPI_Wait(&requests[1], &statuses[1]));
    WELL(MPI_Test_cancelled(&statuses[1], &flag));
    CHECK(flag && in[1] == -1);
    WELL(MPI_Cancel(&requests[0]));
    WELL(MPI_Barrier(comm));
    answer(3, 0);
    WELL(MPI_Waitall(3, requests, statuses));
    WELL(MPI_Test_cancelled(&statuses[0], &flag));
    CHECK(flag && in[0] == -1);
    is_right(2, 0, &statuses[2]);
    for (i = 0; i < 2; i++) {
        WELL(MPI_Recv(&in[i], 1, MPI_INT, before, i, comm, MPI_STATUS_IGNORE));
        is_right(i, 0, MPI_STATUS_IGNORE);
    }
    begin(2, 0);
    WELL(MPI_Request_free(&requests[0]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    answer(2, 0);
    WELL(MPI_Wait(&requests[1], &statuses[1]));
    is_right(1, 0, &statuses[1]);
    /* Its memory is not free before it has come: the next message with its tag comes after it. */
    WELL(MPI_Send(&out[0], 1, MPI_INT, next, 0, comm));
    WELL(MPI_Recv(&in[1], 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE));
    CHECK(in[0] == 1000 * before && in[1] == 1000 * before);
}

/* The thread that cancels: what, after how long, and whether it looks at it until then. */
static MPI_Request cancelled;
static double delay;
static int looks;

static void *cancels(void *nothing)
{
    int flag;
    double until = MPI_Wtime() + delay;
    while (MPI_Wtime() < until) {
        if (!looks)
            continue;
        WELL(MPI_Request_get_status(cancelled, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    WELL(MPI_Cancel(&cancelled));
    return nothing;
}

/* Another thread cancels a receive for which nobody sends, before or while one waits for it, alone or beside others, by
 * each of the waits. */
static void cancelled_by_another_thread(void)
{
    enum { ALONE, ALL, ANY, SOME, LOOKED_AT, SPREAD, AGAIN, WAYS };
    int way, i, flag, place, count, others;
    pthread_t thread;
    MPI_Datatype spread;
    MPI_Request never;
    MPI_Status *status;
    WELL(MPI_Type_vector(2, 1, 2, MPI_INT, &spread));
    WELL(MPI_Type_commit(&spread));
    for (i = 0; i < 60 * WAYS; i++) {
        way = i % WAYS;
        looks = i / WAYS % 2;
        delay = i < 2 * WAYS ? 0.01 : 1e-5 * (i / WAYS);
        others = way == ALL ? 2 : 0;
        /* Beside one for which nobody sends, either. */
        WELL(MPI_Irecv(&in[MANY - 1], 1, MPI_INT, before, 2 * MANY, comm, &requests[1]));
        never = requests[1];
        /* The neighbour may be ahead: what it answers has tags of its own. */
        begin(others + 1, way == ALL ? MANY : 0);
        answer(others, MANY);
        if (way == SPREAD || way == AGAIN) {
            WELL(MPI_Cancel(&requests[0]));
            WELL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        }
        if (way == SPREAD)
            WELL(MPI_Irecv(in, 1, spread, before, TAG, comm, &requests[0]));
        if (way == AGAIN) {
            WELL(MPI_Recv_init(in, 1, MPI_INT, before, TAG, comm, &requests[0]));
            WELL(MPI_Start(&requests[0]));
        }
        if (way == LOOKED_AT) {
            WELL(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        cancelled = requests[others];
        CHECK(pthread_create(&thread, NULL, cancels, NULL) == 0);
        status = &statuses[others];
        place = 0, count = 1;
        if (way == ALL)
            WELL(MPI_Waitall(others + 1, requests, statuses));
        else if (way == ANY)
            WELL(MPI_Waitany(2, requests, &place, status));
        else if (way == SOME)
            WELL(MPI_Waitsome(2, requests, &count, &place, status));
        else
            WELL(MPI_Wait(&requests[0], status));
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(place == 0 && count == 1);
        WELL(MPI_Cancel(&never));
        WELL(MPI_Wait(&never, MPI_STATUS_IGNORE));
        WELL(MPI_Test_cancelled(status, &flag));
        CHECK(flag && in[others] == -1);
        if (way == AGAIN)
            WELL(MPI_Request_free(&requests[0]));
        CHECK(requests[others] == MPI_REQUEST_NULL);
        for (place = 0; place < others; place++)
            is_right(place, MANY, &statuses[place]);
    }
    WELL(MPI_Type_free(&spread));
    WELL(MPI_Barrier(comm));
}

static int queried, freed;

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    queried++;
    WELL(MPI_Status_set_elements(status, MPI_INT, 0));
    WELL(MPI_Status_set_cancelled(status, 0));
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int withdrawn;

static int withdraw(void *extra, int complete)
{
    (void)extra;
    withdrawn += 1 + complete;
    return MPI_SUCCESS;
}

static MPI_Request looked_into;

/* What the program says of its request, which it cancels meanwhile. */
static int query_and_cancel(void *extra, MPI_Status *status)
{
    WELL(MPI_Cancel(&looked_into));
    return query(extra, status);
}

/* Of the program's own, freed before they are complete, and afterwards: whatever comes last frees what they have. */
static void generalized(void)
{
    MPI_Request request, kept;
    int i;
    for (i = 0; i < 2; i++) {
        queried = freed = 0;
        WELL(MPI_Grequest_start(query, release, withdraw, NULL, &request));
        kept = request;
        if (i == 1)
            WELL(MPI_Grequest_complete(kept));
        WELL(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL && freed == i);
        if (i == 0)
            WELL(MPI_Grequest_complete(kept));
        CHECK(freed == 1 && queried == 0);
        CHECK(class_of(MPI_Wait(&kept, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    }
    WELL(MPI_Grequest_start(query, release, withdraw, NULL, &request));
    WELL(MPI_Grequest_complete(request));
    WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(queried == 1 && freed == 2);
}

/* Its own functions may call this library, also about the request that they belong to; each way of taking its end asks
 * once what that is. */
static void generalized_that_looks_into_itself(void)
{
    enum { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, LOOK, WAYS };
    int way, flag, count, place;
    MPI_Request request;
    for (way = 0; way < WAYS; way++) {
        queried = freed = withdrawn = 0, flag = count = 1, place = 0;
        WELL(MPI_Grequest_start(query_and_cancel, release, withdraw, NULL, &request));
        looked_into = request;
        WELL(MPI_Grequest_complete(request));
        if (way == WAIT)
            WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        else if (way == TEST)
            WELL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        else if (way == WAITALL)
            WELL(MPI_Waitall(1, &request, statuses));
        else if (way == TESTALL)
            WELL(MPI_Testall(1, &request, &flag, statuses));
        else if (way == WAITANY)
            WELL(MPI_Waitany(1, &request, &place, statuses));
        else if (way == TESTANY)
            WELL(MPI_Testany(1, &request, &place, &flag, statuses));
        else if (way == WAITSOME)
            WELL(MPI_Waitsome(1, &request, &count, &place, statuses));
        else if (way == TESTSOME)
            WELL(MPI_Testsome(1, &request, &count, &place, statuses));
        else
            WELL(MPI_Request_get_status(request, &flag, statuses));
        CHECK(flag && count == 1 && place == 0);
        CHECK(queried == 1 && withdrawn == 2 && freed == (way != LOOK));
        if (way == LOOK)
            WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL && freed == 1);
    }
}

static int refused_within;

static MPI_Request under_way, inactive_one;
static int refused_ways;

/* What an operation does about the request whose reduction runs it, and about another one. */
static void calls_within(MPI_Request request, int kind)
{
    enum { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, LOOK, LOOK_ALL, FREE, WAYS };
    int way, flag, place, count, code = MPI_SUCCESS;
    MPI_Request given;
    for (way = 0; way < WAYS; way++) {
        given = request;
        if (way == WAIT)
            code = MPI_Wait(&given, MPI_STATUS_IGNORE);
        else if (way == TEST)
            code = MPI_Test(&given, &flag, MPI_STATUS_IGNORE);
        else if (way == WAITALL)
            code = MPI_Waitall(1, &given, MPI_STATUSES_IGNORE);
        else if (way == TESTALL)
            code = MPI_Testall(1, &given, &flag, MPI_STATUSES_IGNORE);
        else if (way == WAITANY)
            code = MPI_Waitany(1, &given, &place, MPI_STATUS_IGNORE);
        else if (way == TESTANY)
            code = MPI_Testany(1, &given, &place, &flag, MPI_STATUS_IGNORE);
        else if (way == WAITSOME)
            code = MPI_Waitsome(1, &given, &count, &place, MPI_STATUSES_IGNORE);
        else if (way == TESTSOME)
            code = MPI_Testsome(1, &given, &count, &place, MPI_STATUSES_IGNORE);
        else if (way == LOOK)
            code = MPI_Request_get_status(given, &flag, MPI_STATUS_IGNORE);
        else if (way == LOOK_ALL)
            code = MPI_Request_get_status_all(1, &given, &flag, MPI_STATUSES_IGNORE);
        else
            code = MPI_Request_free(&given);
        CHECK(class_of(code) == MPI_ERR_OTHER && given == request);
        refused_ways |= 1 << kind;
    }
}

static void add_and_call(void *left, void *right, int *count, MPI_Datatype *datatype)
{
    int i, own, bytes;
    double before_it = MPI_Wtime();
    MPI_Datatype pair;
    MPI_Comm gone = comm;
    void *detached;
    if (under_way != MPI_REQUEST_NULL)
        calls_within(under_way, 0);
    calls_within(inactive_one, 1);
    CHECK(class_of(MPI_Start(&inactive_one)) == MPI_ERR_OTHER);
    CHECK(class_of(MPI_Bsend(&rank, 1, MPI_INT, next, TAG, comm)) == MPI_ERR_OTHER);
    CHECK(class_of(MPI_Buffer_flush()) == MPI_ERR_OTHER);
    CHECK(class_of(MPI_Buffer_detach(&detached, &bytes)) == MPI_ERR_OTHER);
    CHECK(class_of(MPI_Comm_free(&gone)) == MPI_ERR_OTHER && gone == comm);
    CHECK(class_of(MPI_Finalize()) == MPI_ERR_OTHER);
    /* What is local works. */
    WELL(MPI_Comm_rank(comm, &own));
    WELL(MPI_Type_size(*datatype, &bytes));
    WELL(MPI_Type_contiguous(2, *datatype, &pair));
    WELL(MPI_Type_commit(&pair));
    WELL(MPI_Type_free(&pair));
    CHECK(own == rank && bytes == sizeof(int) && MPI_Wtime() >= before_it);
    for (i = 0; i < *count; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* Whatever waits for what may be locked is an error within an operation, and the reduction goes on. Messages are under
 * way in an attached buffer, which a flush would wait for. */
static void called_within_an_operation(void)
{
    enum { WAIT, TEST, WAITANY, TESTALL, LOOK, FLUSH, WAYS };
    static char buffer[2 * (300000 + MPI_BSEND_OVERHEAD)], far[300000];
    MPI_Op op;
    int way, flag, place, sum, bytes, one = 1;
    void *detached;
    WELL(MPI_Op_create(add_and_call, 0, &op));
    WELL(MPI_Recv_init(in, 1, MPI_INT, before, 2 * MANY, comm, &inactive_one));
    WELL(MPI_Buffer_attach(buffer, sizeof buffer));
    refused_ways = 0;
    for (way = 0; way < WAYS; way++) {
        under_way = MPI_REQUEST_NULL;
        flag = 0;
        WELL(MPI_Start(&inactive_one));
        if (way == FLUSH)
            WELL(MPI_Bsend(far, sizeof far, MPI_CHAR, next, TAG + 3, comm));
        WELL(MPI_Iallreduce(&one, &sum, 1, MPI_INT, op, comm, &under_way));
        if (way == FLUSH) {
            MPI_Request received;
            WELL(MPI_Irecv(far, sizeof far, MPI_CHAR, before, TAG + 3, comm, &received));
            WELL(MPI_Buffer_flush());
            WELL(MPI_Wait(&received, MPI_STATUS_IGNORE));
        }
        while (!flag && way == TEST)
            WELL(MPI_Test(&under_way, &flag, MPI_STATUS_IGNORE));
        while (!flag && way == TESTALL)
            WELL(MPI_Testall(1, &under_way, &flag, MPI_STATUSES_IGNORE));
        while (!flag && way == LOOK)
            WELL(MPI_Request_get_status(under_way, &flag, MPI_STATUS_IGNORE));
        if (way == WAITANY)
            WELL(MPI_Waitany(1, &under_way, &place, MPI_STATUS_IGNORE));
        WELL(MPI_Wait(&under_way, MPI_STATUS_IGNORE));
        CHECK(sum == size);
        WELL(MPI_Cancel(&inactive_one));
        WELL(MPI_Wait(&inactive_one, MPI_STATUS_IGNORE));
    }
    WELL(MPI_Request_free(&inactive_one));
    WELL(MPI_Buffer_detach(&detached, &bytes));
    WELL(MPI_Allreduce(&refused_ways, &sum, 1, MPI_INT, MPI_BOR, comm));
    CHECK(sum == 3 || size == 1);
    WELL(MPI_Op_free(&op));
}

static void add_and_look(void *left, void *right, int *count, MPI_Datatype *datatype)
{
    int i;
    (void)datatype;
    if (under_way != MPI_REQUEST_NULL)
        calls_within(under_way, 0);
    for (i = 0; i < *count; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* What an intercommunicator's reductions run is no less within them. */
static void called_between_groups(void)
{
    int flag = 0, sum = -1, one = 1;
    MPI_Comm half, between;
    MPI_Op op;
    if (size == 1)
        return;
    WELL(MPI_Op_create(add_and_look, 0, &op));
    WELL(MPI_Comm_split(comm, rank > 0, rank, &half));
    WELL(MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, TAG, &between));
    WELL(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
    under_way = MPI_REQUEST_NULL;
    refused_ways = 0;
    WELL(MPI_Iallreduce(&one, &sum, 1, MPI_INT, op, between, &under_way));
    while (!flag)
        WELL(MPI_Test(&under_way, &flag, MPI_STATUS_IGNORE));
    CHECK(sum == (rank > 0 ? 1 : size - 1));
    CHECK(refused_ways || rank > 0 || size == 2);
    WELL(MPI_Comm_free(&between));
    WELL(MPI_Comm_free(&half));
    WELL(MPI_Op_free(&op));
}

/* An operation must not communicate. Where it cancels something nevertheless it is told so, and waits for nothing. */
static void add_and_cancel(void *left, void *right, int *count, MPI_Datatype *datatype)
{
    int i;
    (void)datatype;
    refused_within += class_of(MPI_Cancel(&looked_into)) == MPI_ERR_OTHER;
    for (i = 0; i < *count; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

static void cancelled_within_an_operation(void)
{
    int i, flag, sum, one = 1;
    MPI_Op op;
    MPI_Request request;
    WELL(MPI_Op_create(add_and_cancel, 0, &op));
    refused_within = 0;
    for (i = 0; i < 3; i++) {
        WELL(MPI_Irecv(in, 1, MPI_INT, before, TAG, comm, &looked_into));
        WELL(MPI_Iallreduce(&one, &sum, 1, MPI_INT, op, comm, &request));
        for (flag = 0; i == 0 && !flag;)
            WELL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        if (i == 1)
            WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (i == 2)
            WELL(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
        CHECK(sum == size);
        WELL(MPI_Cancel(&looked_into));
        WELL(MPI_Wait(&looked_into, &statuses[0]));
        WELL(MPI_Test_cancelled(&statuses[0], &flag));
        CHECK(flag);
    }
    WELL(MPI_Allreduce(&refused_within, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum > 0 || size == 1);
    WELL(MPI_Op_free(&op));
}

static MPI_Comm parted;
static MPI_Request beside[2];
static int brought[2];

static void *waits_for_both(void *nothing)
{
    WELL(MPI_Waitall(2, beside, MPI_STATUSES_IGNORE));
    return nothing;
}

/* Whoever disconnects waits for a receive that another thread waits for, and not for what that waits for beside it. */
static void disconnected_beside_a_thread(void)
{
    double until;
    pthread_t thread;
    WELL(MPI_Comm_dup(comm, &parted));
    brought[0] = brought[1] = -1;
    WELL(MPI_Irecv(&brought[1], 1, MPI_INT, before, TAG + 1, comm, &beside[0]));
    WELL(MPI_Irecv(&brought[0], 1, MPI_INT, before, TAG, parted, &beside[1]));
    CHECK(pthread_create(&thread, NULL, waits_for_both, NULL) == 0);
    for (until = MPI_Wtime() + (rank % 2 ? 0.03 : 0.01); MPI_Wtime() < until;)
        ;
    WELL(MPI_Send(&rank, 1, MPI_INT, next, TAG, parted));
    WELL(MPI_Comm_disconnect(&parted));
    CHECK(brought[0] == before && parted == MPI_COMM_NULL);
    WELL(MPI_Send(&rank, 1, MPI_INT, next, TAG + 1, comm));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(brought[1] == before);
}

/* Beside one that is not active, twice, and for a message that has not come yet. */
static void beside_inactive_ones(void)
{
    int place, i;
    MPI_Request again;
    WELL(MPI_Recv_init(&in[1], 1, MPI_INT, before, 99, comm, &again));
    for (i = 0; i < 2; i++) {
        begin(1, 0);
        requests[1] = requests[2] = again;
        if (rank == 0)
            answer(1, 0);
        if (i == 0) {
            WELL(MPI_Waitany(3, requests, &place, &statuses[0]));
            CHECK(place == 0);
        } else {
            WELL(MPI_Waitsome(3, requests, &place, &i, &statuses[0]));
            CHECK(place == 1 && i == 0);
            i = 1;
        }
        is_right(0, 0, &statuses[0]);
        if (rank != 0)
            answer(1, 0);
        CHECK(requests[1] == again && requests[2] == again);
    }
    requests[1] = requests[2] = MPI_REQUEST_NULL;
    WELL(MPI_Request_free(&again));
    WELL(MPI_Barrier(comm));
}

/* Messages that come much later than one is waited for, of which every second rank's neighbour takes its time; beside
 * null handles, and by a test in a loop. What is wrong with one is told by either. */
static void late(void)
{
    int i, place, flag;
    double until;
    begin(MANY, 0);
    WELL(MPI_Barrier(comm));
    for (until = MPI_Wtime() + (rank % 2 ? 0.02 : 0); MPI_Wtime() < until;)
        ;
    answer(MANY / 2, 0);
    for (i = 0; i < MANY / 2; i++) {
        WELL(MPI_Waitany(MANY, requests, &place, &statuses[0]));
        CHECK(place >= 0 && place < MANY / 2);
        is_right(place, 0, &statuses[0]);
    }
    for (i = MANY - 1; i >= MANY / 2; i--) {
        WELL(MPI_Test(&requests[i], &flag, &statuses[0]));
        CHECK(!flag && requests[i] != MPI_REQUEST_NULL);
    }
    WELL(MPI_Barrier(comm));
    for (i = MANY / 2; i < MANY; i++) {
        out[i] = 1000 * rank + i;
        WELL(MPI_Send(&out[i], 1, MPI_INT, next, i, comm));
        do
            WELL(MPI_Test(&requests[i], &flag, &statuses[0]));
        while (!flag);
        is_right(i, 0, &statuses[0]);
    }
    for (i = 0; i < 2; i++) {
        begin(1, 0);
        out[0] = 1, out[1] = 2;
        WELL(MPI_Send(out, 2, MPI_INT, next, 0, comm));
        if (i == 0) {
            CHECK(class_of(MPI_Waitany(2, requests, &place, &statuses[0])) == MPI_ERR_TRUNCATE && place == 0);
        } else {
            do
                place = MPI_Test(&requests[0], &flag, &statuses[0]);
            while (!flag);
            CHECK(class_of(place) == MPI_ERR_TRUNCATE);
        }
        CHECK(requests[0] == MPI_REQUEST_NULL && statuses[0].MPI_SOURCE == before);
    }
}

/* What is wrong with one is in its status, and the others end. */
static void wrong(void)
{
    int i, code;
    MPI_Request gone, kept;
    begin(4, 0);
    out[0] = 1, out[1] = 2;
    WELL(MPI_Send(out, 2, MPI_INT, next, 2, comm));
    for (i = 0; i < 4; i++)
        if (i != 2)
            WELL(MPI_Send(memcpy(&out[i], &(int){1000 * rank + i}, sizeof(int)), 1, MPI_INT, next, i, comm));
    code = MPI_Waitall(4, requests, statuses);
    CHECK(class_of(code) == MPI_ERR_IN_STATUS);
    for (i = 0; i < 4; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK(class_of(statuses[i].MPI_ERROR) == (i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
    CHECK(statuses[2].MPI_SOURCE == before && statuses[2].MPI_TAG == 2);
    begin(1, 0);
    out[0] = 1, out[1] = 2;
    WELL(MPI_Send(out, 2, MPI_INT, next, 0, comm));
    CHECK(class_of(MPI_Wait(&requests[0], &statuses[0])) == MPI_ERR_TRUNCATE);
    CHECK(requests[0] == MPI_REQUEST_NULL && statuses[0].MPI_TAG == 0);

    /* A handle of what has ended: nothing happens to the others. */
    begin(3, 0);
    gone = kept = requests[1];
    answer(3, 0);
    WELL(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK(class_of(MPI_Wait(&gone, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST && gone == kept);
    requests[1] = gone;
    CHECK(class_of(MPI_Waitall(3, requests, statuses)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Waitany(3, requests, &i, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL);
    requests[1] = MPI_REQUEST_NULL;
    WELL(MPI_Waitall(3, requests, statuses));
    for (i = 0; i < 3; i++)
        is_right(i, 0, MPI_STATUS_IGNORE);
    CHECK(class_of(MPI_Waitall(-1, requests, statuses)) == MPI_ERR_ARG);
}

/* Of nobody, of this rank, of any, of no elements, and of a datatype of the program's. */
static void of_all_kinds(void)
{
    int i;
    MPI_Datatype spread;
    WELL(MPI_Type_vector(2, 1, 2, MPI_INT, &spread));
    WELL(MPI_Type_commit(&spread));
    memset(in, 0xff, sizeof in);
    WELL(MPI_Irecv(&in[0], 1, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[0]));
    WELL(MPI_Irecv(&in[1], 1, MPI_INT, rank, TAG, comm, &requests[1]));
    WELL(MPI_Irecv(NULL, 0, MPI_INT, before, TAG + 1, comm, &requests[2]));
    WELL(MPI_Irecv(&in[3], 1, spread, before, TAG + 2, comm, &requests[3]));
    WELL(MPI_Irecv(&in[6], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[4]));
    for (i = 0; i < 4; i++)
        out[i] = 10 * rank + i;
    WELL(MPI_Send(&out[0], 1, MPI_INT, rank, TAG, comm));
    WELL(MPI_Send(NULL, 0, MPI_INT, next, TAG + 1, comm));
    WELL(MPI_Send(&out[1], 2, MPI_INT, next, TAG + 2, comm));
    WELL(MPI_Send(&out[3], 1, MPI_INT, next, TAG + 3, comm));
    WELL(MPI_Waitall(5, requests, statuses));
    CHECK(statuses[0].MPI_SOURCE == MPI_PROC_NULL && in[0] == -1);
    CHECK(in[1] == 10 * rank && statuses[1].MPI_SOURCE == rank);
    CHECK(in[3] == 10 * before + 1 && in[4] == -1 && in[5] == 10 * before + 2);
    CHECK(in[6] == 10 * before + 3 && statuses[4].MPI_TAG == TAG + 3);
    WELL(MPI_Type_free(&spread));
}

static void all(void)
{
    WELL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    waited_for();
    looked_at();
    late();
    cancelled_and_freed();
    cancelled_by_another_thread();
    generalized();
    generalized_that_looks_into_itself();
    cancelled_within_an_operation();
    called_within_an_operation();
    called_between_groups();
    disconnected_beside_a_thread();
    beside_inactive_ones();
    wrong();
    of_all_kinds();
}

int main(int argc, char **argv)
{
    int i, flag;
    double until;
    WELL(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads));
    CHECK(threads == MPI_THREAD_MULTIPLE);
    WELL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    find_place(&next, &before);
    comm = MPI_COMM_WORLD;
    all();
    WELL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    all();
    /* It goes on while something is under way on it. */
    begin(2, 0);
    answer(2, 0);
    WELL(MPI_Comm_free(&comm));
    WELL(MPI_Waitall(2, requests, statuses));
    is_right(0, 0, &statuses[0]);
    is_right(1, 0, &statuses[1]);
    /* One that nobody sends for, withdrawn when others may have left already; every second rank takes its time. */
    comm = MPI_COMM_WORLD;
    begin(2, 0);
    WELL(MPI_Irecv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[2]));
    WELL(MPI_Barrier(comm));
    for (until = MPI_Wtime() + (rank % 2 ? 0 : 0.02); MPI_Wtime() < until;)
        ;
    for (i = 0; i < 3; i++) {
        WELL(MPI_Cancel(&requests[i]));
        WELL(MPI_Wait(&requests[i], &statuses[i]));
        WELL(MPI_Test_cancelled(&statuses[i], &flag));
        CHECK(flag);
    }
    return finish();
}
