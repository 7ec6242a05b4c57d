/* The measuring program of the MPI peers: the twin of benches/src/bin/twin.rs.
 *
 * Both programs take the same arguments, time the same calls on the same sizes in the same way and
 * print the same lines, so that a ratio of two lines compares libraries and nothing else. The
 * protocol stands in benches/peers/README.md; what is changed here must be changed there and in the
 * Rust twin. Every size is verified on every rank before it is timed: a wrong answer ends the run.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCHES = 15,     /* odd, so that the median is one of them */
    MIN_BATCHES = 3,  /* also when one iteration is longer than the budget */
    LONG_BATCH = 10,  /* a batch of a long loop takes so many budgets */
    LARGEST_OF_LONG_LOOPS = 1024,
    WINDOW = 64,      /* messages in flight in `stream` and `bidir`, from one acknowledgement to the next in `rate` */
    MIN_WINDOW = 4,
    IN_FLIGHT = 32,   /* collectives under way at once in `inflight` */
    COMMUNICATORS = 16,
    TAG = 7,
    ACK_TAG = 8,
    RIGHTWARD_TAG = 9, /* of `neighbours`: with two ranks both messages are between the same two */
    LEFTWARD_TAG = 10,
    MOST_THREADS = 4,
    PER_THREAD = 1024, /* what a thread of `threads2` sends or receives before it is answered */
    REQUEST_TAGS = 4  /* a client of `server` takes 0 to 3 in turn */
};
static const size_t WINDOW_BYTES = 64u << 20; /* keeps large messages from filling the memory */
static const long MAX_ITERATIONS = 1L << 22;

static const size_t SIZES[] = {8,         64,      1u << 10, 16u << 10, 64u << 10,
                               256u << 10, 1u << 20, 4u << 20, 16u << 20, 64u << 20};

typedef struct {
    int rank, size;
    int other;     /* the rank that makes a pair with this one: 0 and 1, 2 and 3, ... */
    size_t bytes;  /* as printed */
    size_t window; /* messages or collectives of one iteration: `stream`, `bidir`, `rate` and `inflight` */
    int block;     /* floats per rank: `allgather`, `reducescatter`, `alltoall`, `gather` and `scatter` */
    MPI_Comm communicators[COMMUNICATORS]; /* of `communicators` only */
    int communicator_count;
    int threads; /* of `threads1`, `threads2` and `threads4` */
    float *send, *recv;
    size_t send_floats, recv_floats;
    MPI_Request requests[2 * WINDOW];
} Work;

typedef struct {
    const char *name;
    bool pair;                   /* ranks in pairs: an even number of them */
    bool in_place;               /* `recv` holds rank + 1 before */
    bool ahead;                  /* one rank may run ahead of another for as long as a batch lasts */
    size_t largest;              /* repeated for every size up to this one; 0: has no size */
    void (*shape)(Work *);       /* sets window, block and the lengths of the buffers */
    void (*run)(Work *, long);   /* so many iterations */
    float (*expected)(const Work *, size_t); /* element of `recv` after one iteration; NULL: none */
    size_t (*messages)(const Work *);        /* times of one message in one iteration */
} Operation;

static void shape_plain(Work *w) { w->send_floats = w->recv_floats = w->bytes / sizeof(float); }

static void shape_none(Work *w) { w->send_floats = w->recv_floats = 0; }

static void shape_window(Work *w) {
    size_t window = WINDOW_BYTES / w->bytes;
    w->window = window > WINDOW ? WINDOW : window < MIN_WINDOW ? MIN_WINDOW : window;
    w->send_floats = w->recv_floats = w->window * w->bytes / sizeof(float);
}

/* One message again and again, as a program does that sends from a variable. */
static void shape_rate(Work *w) {
    w->window = WINDOW;
    shape_plain(w);
}

/* `bytes` is the whole vector; every rank's block is rounded up to whole floats. */
static void shape_block(Work *w) {
    size_t floats = w->bytes / sizeof(float), size = (size_t)w->size;
    w->block = (int)((floats + size - 1) / size);
}

static void shape_gather(Work *w) {
    shape_block(w);
    w->send_floats = (size_t)w->block;
    w->recv_floats = (size_t)w->block * (size_t)w->size;
}

static void shape_scatter(Work *w) {
    shape_block(w);
    w->send_floats = (size_t)w->block * (size_t)w->size;
    w->recv_floats = (size_t)w->block;
}

static void shape_exchange(Work *w) {
    shape_block(w);
    w->send_floats = w->recv_floats = (size_t)w->block * (size_t)w->size;
}

static void shape_communicators(Work *w) {
    shape_plain(w);
    for (w->communicator_count = 0; w->communicator_count < COMMUNICATORS; w->communicator_count++)
        MPI_Comm_dup(MPI_COMM_WORLD, &w->communicators[w->communicator_count]);
}

/* One message to each side. */
static void shape_neighbours(Work *w) {
    w->send_floats = w->recv_floats = 2 * w->bytes / sizeof(float);
}

static void shape_inflight(Work *w) {
    w->window = IN_FLIGHT;
    w->send_floats = 0;
    w->recv_floats = IN_FLIGHT * w->bytes / sizeof(float);
}

static bool first_of_pair(const Work *w) { return w->rank % 2 == 0; }

/* A buffer for each thread. */
static void shape_threads(Work *w) {
    w->window = (size_t)w->threads * PER_THREAD;
    w->send_floats = w->recv_floats = (size_t)w->threads * w->bytes / sizeof(float);
}
static void shape_threads1(Work *w) { w->threads = 1; shape_threads(w); }
static void shape_threads2(Work *w) { w->threads = 2; shape_threads(w); }
static void shape_threads4(Work *w) { w->threads = MOST_THREADS; shape_threads(w); }

static void run_pingpong(Work *w, long iterations) {
    int bytes = (int)w->bytes, other = w->other;
    for (long i = 0; i < iterations; i++) {
        if (first_of_pair(w)) MPI_Send(w->send, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        MPI_Recv(w->recv, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first_of_pair(w)) MPI_Send(w->send, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
    }
}

static void start_sends(Work *w, MPI_Request *requests) {
    size_t step = w->bytes / sizeof(float);
    for (size_t k = 0; k < w->window; k++)
        MPI_Isend(w->send + k * step, (int)w->bytes, MPI_BYTE, w->other, TAG, MPI_COMM_WORLD, &requests[k]);
}

static void start_receives(Work *w, MPI_Request *requests) {
    size_t step = w->bytes / sizeof(float);
    for (size_t k = 0; k < w->window; k++)
        MPI_Irecv(w->recv + k * step, (int)w->bytes, MPI_BYTE, w->other, TAG, MPI_COMM_WORLD, &requests[k]);
}

static void acknowledge(Work *w) {
    char ack = 1;
    if (first_of_pair(w))
        MPI_Recv(&ack, 1, MPI_BYTE, w->other, ACK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&ack, 1, MPI_BYTE, w->other, ACK_TAG, MPI_COMM_WORLD);
}

/* The first starts a window of sends, each from memory of its own, and waits for one acknowledgement. */
static void run_stream(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++) {
        if (first_of_pair(w))
            start_sends(w, w->requests);
        else
            start_receives(w, w->requests);
        MPI_Waitall((int)w->window, w->requests, MPI_STATUSES_IGNORE);
        acknowledge(w);
    }
}

/* Both send a window and receive one; having received all is the acknowledgement. */
static void run_bidir(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++) {
        start_receives(w, w->requests);
        start_sends(w, w->requests + w->window);
        MPI_Waitall((int)(2 * w->window), w->requests, MPI_STATUSES_IGNORE);
    }
}

/* Blocking calls: what one of them costs, when many follow one another. */
static void run_rate(Work *w, long iterations) {
    int bytes = (int)w->bytes;
    for (long i = 0; i < iterations; i++) {
        for (size_t k = 0; k < w->window; k++) {
            if (first_of_pair(w))
                MPI_Send(w->send, bytes, MPI_BYTE, w->other, TAG, MPI_COMM_WORLD);
            else
                MPI_Recv(w->recv, bytes, MPI_BYTE, w->other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        acknowledge(w);
    }
}

/* The same by several threads of each rank, which work in pairs, each with a tag of its own. */
typedef struct {
    Work *work;
    int thread;
} Part;

static void *run_part(void *argument) {
    Part *part = argument;
    Work *w = part->work;
    size_t at = (size_t)part->thread * w->bytes / sizeof(float);
    int bytes = (int)w->bytes, tag = 100 + 2 * part->thread;
    char ack = 1;
    for (long k = 0; k < PER_THREAD; k++) {
        if (first_of_pair(w))
            MPI_Send(w->send + at, bytes, MPI_BYTE, w->other, tag, MPI_COMM_WORLD);
        else
            MPI_Recv(w->recv + at, bytes, MPI_BYTE, w->other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (first_of_pair(w))
        MPI_Recv(&ack, 1, MPI_BYTE, w->other, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&ack, 1, MPI_BYTE, w->other, tag + 1, MPI_COMM_WORLD);
    return NULL;
}

static void run_threads(Work *w, long iterations) {
    pthread_t threads[MOST_THREADS];
    Part parts[MOST_THREADS];
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < w->threads; k++) {
            parts[k] = (Part){w, k};
            if (pthread_create(&threads[k], NULL, run_part, &parts[k]) != 0) {
                fprintf(stderr, "twin: rank %d: the system gives no thread\n", w->rank);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        for (int k = 0; k < w->threads; k++) pthread_join(threads[k], NULL);
    }
}

static void run_barrier(Work *w, long iterations) {
    (void)w;
    for (long i = 0; i < iterations; i++) MPI_Barrier(MPI_COMM_WORLD);
}

/* The root moves on by one each time: a fixed root could run ahead, and the time would be that of
 * handing messages to the system rather than of receiving them. */
static void run_bcast(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Bcast(w->recv, (int)w->bytes, MPI_BYTE, (int)(i % w->size), MPI_COMM_WORLD);
}

/* From here on one root all the time, which may run ahead of the others or fall behind them. */
static void run_rootedbcast(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++) MPI_Bcast(w->recv, (int)w->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void run_reduce(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Reduce(w->send, w->recv, (int)w->send_floats, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void run_gather(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Gather(w->send, w->block, MPI_FLOAT, w->recv, w->block, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void run_scatter(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Scatter(w->send, w->block, MPI_FLOAT, w->recv, w->block, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

/* An all-reduce on each of several communicators in turn. */
static void run_communicators(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(w->send, w->recv, (int)w->send_floats, MPI_FLOAT, MPI_SUM,
                      w->communicators[i % w->communicator_count]);
}

/* What the first rank makes goes through all others; nobody answers. */
static void run_pipeline(Work *w, long iterations) {
    int bytes = (int)w->bytes;
    for (long i = 0; i < iterations; i++) {
        if (w->rank > 0) MPI_Recv(w->recv, bytes, MPI_BYTE, w->rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (w->rank + 1 < w->size)
            MPI_Send(w->rank == 0 ? w->send : w->recv, bytes, MPI_BYTE, w->rank + 1, TAG, MPI_COMM_WORLD);
    }
}

/* Rank 0 sends whatever comes back to whoever sent it; every other rank makes one request. */
static void run_server(Work *w, long iterations) {
    int bytes = (int)w->bytes;
    for (long i = 0; i < iterations; i++) {
        for (int request = 1; w->rank == 0 && request < w->size; request++) {
            MPI_Status status;
            MPI_Recv(w->recv, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Send(w->recv, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD);
        }
        if (w->rank > 0) {
            int tag = (int)(i % REQUEST_TAGS);
            MPI_Send(w->send, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
            MPI_Recv(w->recv, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static int left_of(const Work *w) { return (w->rank + w->size - 1) % w->size; }
static int right_of(const Work *w) { return (w->rank + 1) % w->size; }

static void run_neighbours(Work *w, long iterations) {
    int bytes = (int)w->bytes, left = left_of(w), right = right_of(w);
    size_t half = w->bytes / sizeof(float);
    MPI_Comm world = MPI_COMM_WORLD;
    for (long i = 0; i < iterations; i++) {
        MPI_Irecv(w->recv, bytes, MPI_BYTE, left, RIGHTWARD_TAG, world, &w->requests[0]);
        MPI_Irecv(w->recv + half, bytes, MPI_BYTE, right, LEFTWARD_TAG, world, &w->requests[1]);
        MPI_Isend(w->send, bytes, MPI_BYTE, left, LEFTWARD_TAG, world, &w->requests[2]);
        MPI_Isend(w->send + half, bytes, MPI_BYTE, right, RIGHTWARD_TAG, world, &w->requests[3]);
        MPI_Waitall(4, w->requests, MPI_STATUSES_IGNORE);
    }
}

/* The maximum, in place, stays what it is however often it is taken. */
static void run_inflight(Work *w, long iterations) {
    size_t step = w->bytes / sizeof(float);
    for (long i = 0; i < iterations; i++) {
        for (size_t k = 0; k < w->window; k++)
            MPI_Iallreduce(MPI_IN_PLACE, w->recv + k * step, (int)step, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD,
                           &w->requests[k]);
        MPI_Waitall((int)w->window, w->requests, MPI_STATUSES_IGNORE);
    }
}

/* There is no average in MPI: a program divides the sum. */
static void run_average(Work *w, long iterations) {
    float ranks = (float)w->size;
    for (long i = 0; i < iterations; i++) {
        MPI_Allreduce(w->send, w->recv, (int)w->send_floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (size_t k = 0; k < w->recv_floats; k++) w->recv[k] /= ranks;
    }
}

static void run_allreduce(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(w->send, w->recv, (int)w->send_floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void run_allgather(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Allgather(w->send, w->block, MPI_FLOAT, w->recv, w->block, MPI_FLOAT, MPI_COMM_WORLD);
}

static void run_reducescatter(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Reduce_scatter_block(w->send, w->recv, w->block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void run_alltoall(Work *w, long iterations) {
    for (long i = 0; i < iterations; i++)
        MPI_Alltoall(w->send, w->block, MPI_FLOAT, w->recv, w->block, MPI_FLOAT, MPI_COMM_WORLD);
}

/* Every rank sends its rank plus one in every element. */
static float from_other(const Work *w, size_t i) { (void)i; return (float)(w->other + 1); }
static float from_first(const Work *w, size_t i) { (void)w; (void)i; return 1.0f; }
static float sum_of_all(const Work *w, size_t i) { (void)i; return (float)(w->size * (w->size + 1) / 2); }
static float block_owner(const Work *w, size_t i) { return (float)(i / (size_t)w->block + 1); }
static float own(const Work *w, size_t i) { (void)i; return (float)(w->rank + 1); }
static float greatest(const Work *w, size_t i) { (void)i; return (float)w->size; }
static float mean(const Work *w, size_t i) { return sum_of_all(w, i) / (float)w->size; }
/* What only the root receives; elsewhere `recv` keeps what it was filled with. */
static float sum_at_root(const Work *w, size_t i) { return w->rank == 0 ? sum_of_all(w, i) : -1.0f; }
static float blocks_at_root(const Work *w, size_t i) { return w->rank == 0 ? block_owner(w, i) : -1.0f; }
/* The first rank of the pipeline receives nothing. */
static float passed_on(const Work *w, size_t i) { return w->rank == 0 ? -1.0f : from_first(w, i); }
/* The server's buffer holds whoever came last; the clients see whether each got its own back. */
static float own_back(const Work *w, size_t i) { return w->rank == 0 ? w->recv[i] : own(w, i); }
static float from_neighbours(const Work *w, size_t i) {
    return (float)((i < w->bytes / sizeof(float) ? left_of(w) : right_of(w)) + 1);
}
/* In `stream`, `rate` and `threads` the first receives only the acknowledgement: its buffer keeps what it was filled with. */
static float one_way(const Work *w, size_t i) { return first_of_pair(w) ? -1.0f : from_other(w, i); }

static size_t one(const Work *w) { (void)w; return 1; }
static size_t two(const Work *w) { (void)w; return 2; }
static size_t whole_window(const Work *w) { return w->window; }
static size_t clients(const Work *w) { return (size_t)w->size - 1; }

static const Operation OPERATIONS[] = {
    {"pingpong", true, false, false, SIZE_MAX, shape_plain, run_pingpong, from_other, two},
    {"stream", true, false, false, SIZE_MAX, shape_window, run_stream, one_way, whole_window},
    {"bidir", true, false, false, SIZE_MAX, shape_window, run_bidir, from_other, whole_window},
    {"rate", true, false, false, 1u << 10, shape_rate, run_rate, one_way, whole_window},
    {"barrier", false, false, false, 0, shape_none, run_barrier, NULL, one},
    {"bcast", false, true, false, SIZE_MAX, shape_plain, run_bcast, from_first, one},
    {"allreduce", false, false, false, SIZE_MAX, shape_plain, run_allreduce, sum_of_all, one},
    {"allgather", false, false, false, SIZE_MAX, shape_gather, run_allgather, block_owner, one},
    {"reducescatter", false, false, false, SIZE_MAX, shape_scatter, run_reducescatter, sum_of_all, one},
    {"alltoall", false, false, false, SIZE_MAX, shape_exchange, run_alltoall, block_owner, one},
    {"rootedbcast", false, true, true, 1u << 20, shape_plain, run_rootedbcast, from_first, one},
    {"reduce", false, false, true, 1u << 20, shape_plain, run_reduce, sum_at_root, one},
    {"gather", false, false, true, 1u << 20, shape_gather, run_gather, blocks_at_root, one},
    {"scatter", false, false, true, 1u << 20, shape_scatter, run_scatter, own, one},
    {"communicators", false, false, false, 1u << 20, shape_communicators, run_communicators, sum_of_all, one},
    {"pipeline", false, false, true, 1u << 20, shape_plain, run_pipeline, passed_on, one},
    {"server", false, false, false, 1u << 20, shape_plain, run_server, own_back, clients},
    {"neighbours", false, false, false, 1u << 20, shape_neighbours, run_neighbours, from_neighbours, one},
    {"inflight", false, true, false, 64u << 10, shape_inflight, run_inflight, greatest, whole_window},
    {"average", false, false, false, SIZE_MAX, shape_plain, run_average, mean, one},
    {"threads1", true, false, false, 1u << 10, shape_threads1, run_threads, one_way, whole_window},
    {"threads2", true, false, false, 1u << 10, shape_threads2, run_threads, one_way, whole_window},
    {"threads4", true, false, false, 1u << 10, shape_threads4, run_threads, one_way, whole_window},
};
enum { OPERATION_COUNT = sizeof OPERATIONS / sizeof OPERATIONS[0], SIZE_COUNT = sizeof SIZES / sizeof SIZES[0] };

static void fail(const Work *w, const char *message) {
    fprintf(stderr, "twin: rank %d: %s\n", w->rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static float *filled(const Work *w, size_t floats, float value) {
    size_t bytes = (floats * sizeof(float) + 4095) / 4096 * 4096;
    float *memory = aligned_alloc(4096, bytes ? bytes : 4096);
    if (!memory) fail(w, "out of memory; give a smaller <max>");
    for (size_t i = 0; i < floats; i++) memory[i] = value;
    return memory;
}

/* Runs one iteration and compares every element on every rank. It also opens the connections. */
static void verify(const Operation *op, Work *w) {
    /* A wildcard must not take what somebody sends who is done with the size before. */
    MPI_Barrier(MPI_COMM_WORLD);
    op->run(w, 1);
    if (!op->expected) return;
    for (size_t i = 0; i < w->recv_floats; i++) {
        if (w->recv[i] != op->expected(w, i)) {
            char text[160];
            snprintf(text, sizeof text, "%s of %zu bytes: element %zu is %g, expected %g", op->name, w->bytes, i,
                     (double)w->recv[i], (double)op->expected(w, i));
            fail(w, text);
        }
    }
}

/* Seconds of the slowest rank for so many iterations; known to rank 0 only. */
static double batch(const Operation *op, Work *w, long iterations) {
    double slowest = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    op->run(w, iterations);
    double mine = MPI_Wtime() - start;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

/* Rank 0's number, made known to all. */
static long agree(long number) {
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return number;
}

/* What this host has sent over its loopback interface; -1 where the system does not tell. */
static long loopback(const char *counter) {
    char path[64];
    long value = -1;
    snprintf(path, sizeof path, "/sys/class/net/lo/statistics/%s", counter);
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    if (fscanf(file, "%ld", &value) != 1) value = -1;
    fclose(file);
    return value;
}

/* Processor time of this process so far, user and system, all threads. */
static double processor(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return 0;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const Operation *op, Work *w, double budget) {
    op->shape(w);
    w->send = filled(w, w->send_floats, (float)(w->rank + 1));
    w->recv = filled(w, w->recv_floats, op->in_place ? (float)(w->rank + 1) : -1.0f);
    /* The root gives each rank a block of its own. */
    for (size_t i = 0; op->run == run_scatter && i < w->send_floats; i++) w->send[i] = block_owner(w, i);
    verify(op, w);

    /* Warm-up: double until a batch takes a twentieth of the budget, then time that many once more,
     * now warm, to learn the time of one. */
    long iterations = 1, batches = BATCHES;
    while (agree(batch(op, w, iterations) < budget / 20 && iterations < MAX_ITERATIONS)) iterations *= 2;
    double estimate = batch(op, w, iterations) / (double)iterations;
    if (estimate <= 0) estimate = 1e-9;
    double fit = budget / estimate;
    if (op->ahead && w->bytes <= LARGEST_OF_LONG_LOOPS) {
        batches = MIN_BATCHES;
        iterations = LONG_BATCH * fit < 1 ? 1 : (long)(LONG_BATCH * fit);
        if (iterations > MAX_ITERATIONS) iterations = MAX_ITERATIONS;
    } else if (fit < BATCHES) {
        iterations = 1;
        batches = fit < MIN_BATCHES ? MIN_BATCHES : (long)fit;
    } else {
        iterations = (long)(fit / BATCHES);
        if (iterations > MAX_ITERATIONS) iterations = MAX_ITERATIONS;
    }
    iterations = agree(iterations);
    batches = agree(batches);

    double seconds[BATCHES];
    double per_batch = (double)iterations * (double)op->messages(w);
    long bytes = w->rank == 0 ? loopback("tx_bytes") : -1, packets = w->rank == 0 ? loopback("tx_packets") : -1;
    double used = processor(), used_by_all = 0;
    for (long b = 0; b < batches; b++) seconds[b] = batch(op, w, iterations) / per_batch;
    used = processor() - used;
    if (w->rank == 0 && bytes >= 0) {
        bytes = loopback("tx_bytes") - bytes;
        packets = loopback("tx_packets") - packets;
    }
    MPI_Reduce(&used, &used_by_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (w->rank == 0) {
        qsort(seconds, (size_t)batches, sizeof seconds[0], ascending);
        double median = batches % 2 ? seconds[batches / 2] : (seconds[batches / 2 - 1] + seconds[batches / 2]) / 2;
        printf("%s,%zu,%ld,%.9g,%.9g,%.6f", op->name, w->bytes, iterations * batches, median, seconds[0], used_by_all);
        if (bytes >= 0 && packets >= 0) printf(",%ld,%ld", bytes, packets);
        putchar('\n');
        fflush(stdout);
    }
    free(w->send);
    free(w->recv);
    while (w->communicator_count > 0) MPI_Comm_free(&w->communicators[--w->communicator_count]);
}

static bool number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= 0;
}

static const Operation *named(const Work *w, const char *name) {
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (strcmp(name, OPERATIONS[i].name) == 0) return &OPERATIONS[i];
    char text[320];
    int used = snprintf(text, sizeof text, "unknown operation '%.40s'; expected", name);
    for (int i = 0; i < OPERATION_COUNT; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s,", OPERATIONS[i].name);
    snprintf(text + used, sizeof text - (size_t)used, " or empty alone");
    fail(w, text);
    return NULL;
}

static void all_sizes(const Operation *op, Work *w, double min, double max, double budget) {
    if (op->pair && w->size % 2 != 0) fail(w, "pingpong, stream, bidir and rate take an even number of ranks");
    w->bytes = 0;
    if (op->largest == 0) {
        measure(op, w, budget);
        return;
    }
    /* Bounds that are the same multiple of 8 ask for that size, whether or not it is one of SIZES. */
    if (min == max && min > 0 && (size_t)min % 8 == 0 && (double)(size_t)min == min) {
        w->bytes = (size_t)min;
        if (w->bytes <= op->largest) measure(op, w, budget);
        return;
    }
    for (int i = 0; i < SIZE_COUNT && SIZES[i] <= op->largest; i++) {
        w->bytes = SIZES[i];
        if ((double)w->bytes >= min && (double)w->bytes <= max) measure(op, w, budget);
    }
}

int main(int argc, char **argv) {
    Work w = {0};
    /* Not for the others: a library may be slower for programs that have threads. */
    bool threads = argc > 1 && strstr(argv[1], "threads") != NULL;
    int needed = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, given;
    MPI_Init_thread(&argc, &argv, needed, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    w.other = w.rank ^ 1;
    if (given < needed) fail(&w, "this library lets no more than one thread call it at a time");

    double min, max, budget_ms;
    if (argc == 2 && strcmp(argv[1], "empty") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (argc != 5 || !number(argv[2], &min) || !number(argv[3], &max) || !number(argv[4], &budget_ms) || budget_ms <= 0) {
        fail(&w, "expected `empty`, or four arguments: <op,..> <min bytes> <max bytes> <milliseconds per size, above 0>");
    } else {
        for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
            all_sizes(named(&w, name), &w, min, max, budget_ms / 1e3);
    }
    MPI_Finalize();
    return 0;
}
