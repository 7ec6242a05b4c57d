/* What two processes get out of memory that both have mapped: the limit that no library on one host can pass which
 * copies what its callers own.
 *
 * `rawmemory <op> <min bytes> <max bytes> <milliseconds per size>` starts the second process itself and prints the same
 * lines as `twin`. There is no matching, no header and no choice: both know every byte that comes, and spin. Each
 * process is bound to a core of its own if there are two. Every size is tried with several lengths and numbers of
 * pieces, and the fastest is printed: the limit is not to depend on a good guess. Operations:
 *
 * - `pingpong`: a message there and back, half of it: two copies, by the sender into a ring of pieces and by the receiver
 *   out of it, at the same time;
 * - `allreduce`: the sum of vectors of 32-bit floats that are nobody else's to see, by two half copies: each process
 *   passes on the half that the other one sums, adds what comes to its own half piece by piece as it lies in the ring,
 *   and passes on the sum in the same pass.
 *
 * Results are verified once for each size and shape of ring.
 */
#define _GNU_SOURCE /* CPU_SET, MAP_ANONYMOUS */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 15, MIN_BATCHES = 3, LINE = 128, RING = 4 << 20 };
static const size_t SIZES[] = {8,         64,      1u << 10, 16u << 10, 64u << 10,
                               256u << 10, 1u << 20, 4u << 20, 16u << 20, 64u << 20};
static const size_t PIECES[] = {8u << 10, 16u << 10, 32u << 10, 64u << 10, 128u << 10, 256u << 10};
/* With long pieces, or many, a ring is longer than a second-level cache: nothing is written that was just read. */
static const unsigned DEPTHS[] = {2, 4, 8, 32, 256};

/* A ring of pieces from one process to the other. */
typedef struct {
    _Alignas(LINE) _Atomic uint64_t written;
    _Alignas(LINE) _Atomic uint64_t read;
    _Alignas(4096) char pieces[RING];
} Ring;

typedef struct {
    /* How many iterations the second process is to do, and with what; counted, so that both see the same order. */
    _Alignas(LINE) _Atomic uint64_t orders;
    uint64_t iterations, bytes, piece, depth;
    _Alignas(LINE) _Atomic uint64_t wrong;
    _Alignas(LINE) double used;
    _Alignas(LINE) _Atomic uint64_t answers;
    Ring there[2], back[2]; /* the second of each carries sums */
} Shared;

typedef struct {
    Shared *shared;
    bool first;
    size_t piece, bytes;
    unsigned depth;
    char *send, *recv;
} Side;

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static char *next_free(Ring *ring, const Side *side) {
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    while (written - atomic_load_explicit(&ring->read, memory_order_acquire) >= side->depth) relax();
    return ring->pieces + written % side->depth * side->piece;
}

static void publish(Ring *ring) {
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    atomic_store_explicit(&ring->written, written + 1, memory_order_release);
}

static const char *next_full(Ring *ring, const Side *side) {
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    while (atomic_load_explicit(&ring->written, memory_order_acquire) == read) relax();
    return ring->pieces + read % side->depth * side->piece;
}

static void release(Ring *ring) {
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    atomic_store_explicit(&ring->read, read + 1, memory_order_release);
}

static size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

static void put(Ring *ring, const Side *side, const char *from, size_t bytes) {
    for (size_t done = 0; done < bytes; done += side->piece) {
        memcpy(next_free(ring, side), from + done, at_most(side->piece, bytes - done));
        publish(ring);
    }
}

static void take(Ring *ring, const Side *side, char *into, size_t bytes) {
    for (size_t done = 0; done < bytes; done += side->piece) {
        memcpy(into + done, next_full(ring, side), at_most(side->piece, bytes - done));
        release(ring);
    }
}

static void pingpong(Side *side) {
    Ring *there = &side->shared->there[0], *back = &side->shared->back[0];
    if (side->first) {
        put(there, side, side->send, side->bytes);
        take(back, side, side->recv, side->bytes);
    } else {
        take(there, side, side->recv, side->bytes);
        put(back, side, side->send, side->bytes);
    }
}

/* Adds a piece that has come to this process's own, and passes the sum on. */
static void sum(float *restrict own, const float *restrict come, float *restrict on, size_t floats) {
    for (size_t i = 0; i < floats; i++) on[i] = own[i] += come[i];
}

static void allreduce(Side *side) {
    Ring *out = side->first ? side->shared->there : side->shared->back;
    Ring *in = side->first ? side->shared->back : side->shared->there;
    size_t low = side->bytes / 8 * 4, high = side->bytes - low;
    /* The first process sums the lower part. */
    char *mine = side->first ? side->recv : side->recv + low, *theirs = side->first ? side->recv + low : side->recv;
    size_t my_bytes = side->first ? low : high, their_bytes = side->first ? high : low;
    size_t lag = side->piece; /* sums that come are taken a piece later, when they are there; no later, for a ring of two */
    for (size_t done = 0; done < high + lag; done += side->piece) {
        if (done < their_bytes) {
            memcpy(next_free(&out[0], side), theirs + done, at_most(side->piece, their_bytes - done));
            publish(&out[0]);
        }
        if (done < my_bytes) {
            size_t floats = at_most(side->piece, my_bytes - done) / 4;
            sum((float *)(mine + done), (const float *)next_full(&in[0], side), (float *)next_free(&out[1], side), floats);
            release(&in[0]);
            publish(&out[1]);
        }
        if (done >= lag && done - lag < their_bytes) {
            size_t at = done - lag;
            memcpy(theirs + at, next_full(&in[1], side), at_most(side->piece, their_bytes - at));
            release(&in[1]);
        }
    }
}

typedef struct {
    const char *name;
    void (*run)(Side *);
    double share; /* of an iteration that is reported */
} Operation;
static const Operation OPERATIONS[] = {{"pingpong", pingpong, 0.5}, {"allreduce", allreduce, 1.0}};

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *why) {
    fprintf(stderr, "rawmemory: %s\n", why);
    exit(1);
}

/* Buffers that begin 16 bytes behind a page, as the allocator of the C library gives long ones. */
static void allocate(Side *side, size_t bytes) {
    char *room[2];
    for (int i = 0; i < 2; i++) {
        if (posix_memalign((void **)&room[i], 4096, bytes + 4096) != 0) fail("no memory");
        memset(room[i], 0, bytes + 4096);
    }
    side->send = room[0] + 16;
    side->recv = room[1] + 16;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        float value = side->first ? 1 : 2;
        memcpy(side->send + i, &value, 4);
    }
}

static void let_go(Side *side) {
    free(side->send - 16);
    free(side->recv - 16);
}

static bool is_right(const Side *side, const Operation *op) {
    float expected = op->run == allreduce ? 3 : side->first ? 2 : 1;
    for (size_t i = 0; i + 4 <= side->bytes; i += 4) {
        float value;
        memcpy(&value, side->recv + i, 4);
        if (value != expected) return false;
    }
    return true;
}

/* The first iteration is verified; an all-reduce works on `recv`, whose values nobody looks at afterwards. */
static void verify(Side *side, const Operation *op) {
    memcpy(side->recv, side->send, op->run == allreduce ? side->bytes : 0);
    op->run(side);
    if (!is_right(side, op)) atomic_store(&side->shared->wrong, 1);
}

static void bind_to(int core) {
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores); /* a system without these cores binds to none */
}

/* The second process: does what it is ordered to until there is nothing more. */
static void follow(Side *side, const Operation *op) {
    for (uint64_t order = 1;; order++) {
        Shared *shared = side->shared;
        while (atomic_load_explicit(&shared->orders, memory_order_acquire) < order) relax();
        if (shared->bytes == 0) exit(0);
        bool verifies = shared->iterations == 0;
        if (shared->bytes != side->bytes) {
            if (side->send) let_go(side);
            side->bytes = shared->bytes;
            allocate(side, side->bytes);
        }
        side->piece = shared->piece;
        side->depth = (unsigned)shared->depth;
        uint64_t iterations = shared->iterations;
        double used = now(CLOCK_PROCESS_CPUTIME_ID);
        atomic_store_explicit(&shared->answers, order, memory_order_release);
        if (verifies) verify(side, op);
        for (uint64_t i = 0; i < iterations; i++) op->run(side);
        shared->used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    }
}

static void order(Side *side, uint64_t iterations) {
    Shared *shared = side->shared;
    shared->iterations = iterations;
    shared->bytes = side->bytes;
    shared->piece = side->piece;
    shared->depth = side->depth;
    uint64_t number = atomic_load(&shared->orders) + 1;
    atomic_store_explicit(&shared->orders, number, memory_order_release);
    while (side->bytes && atomic_load_explicit(&shared->answers, memory_order_acquire) < number) relax();
}

static double batch(Side *side, const Operation *op, uint64_t iterations) {
    order(side, iterations);
    double begin = now(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < iterations; i++) op->run(side);
    return now(CLOCK_MONOTONIC) - begin;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    double median, fastest, used;
    uint64_t iterations;
} Timing;

static Timing timed(Side *side, const Operation *op, double budget) {
    uint64_t iterations = 1, batches = BATCHES;
    while (batch(side, op, iterations) < budget / 20) iterations *= 2;
    double fit = budget / (batch(side, op, iterations) / (double)iterations);
    if (fit < BATCHES) {
        iterations = 1;
        batches = fit < MIN_BATCHES ? MIN_BATCHES : (uint64_t)fit;
    } else {
        iterations = (uint64_t)(fit / BATCHES);
    }
    double seconds[BATCHES], used = now(CLOCK_PROCESS_CPUTIME_ID), theirs = 0;
    for (uint64_t i = 0; i < batches; i++) {
        if (i > 0) theirs += side->shared->used;
        seconds[i] = batch(side, op, iterations) * op->share / (double)iterations;
    }
    used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    qsort(seconds, batches, sizeof seconds[0], ascending);
    /* Of the last batch of the other process nothing is known yet: as much as of the others. */
    theirs *= batches > 1 ? (double)batches / (double)(batches - 1) : 1;
    return (Timing){seconds[batches / 2], seconds[0], used + theirs, iterations * batches};
}

static void measure(Side *side, const Operation *op, double budget) {
    allocate(side, side->bytes);
    Timing best = {.median = 1e300};
    /* A shape whose pieces are longer than what is sent is like the one before. */
    for (size_t p = 0; p < sizeof PIECES / sizeof PIECES[0] && (p == 0 || PIECES[p] <= side->bytes); p++)
        for (size_t d = 0; d < sizeof DEPTHS / sizeof DEPTHS[0]; d++) {
            if (DEPTHS[d] * PIECES[p] > RING) continue;
            side->piece = PIECES[p];
            side->depth = DEPTHS[d];
            order(side, 0);
            verify(side, op);
            Timing timing = timed(side, op, budget / 4);
            if (timing.median < best.median) best = timing;
        }
    if (atomic_load(&side->shared->wrong)) fail("what arrived is not what was sent");
    printf("%s,%zu,%llu,%.9g,%.9g,%.6f\n", op->name, side->bytes, (unsigned long long)best.iterations, best.median,
           best.fastest, best.used);
    fflush(stdout);
    let_go(side);
}

int main(int argc, char **argv) {
    double min = argc == 5 ? strtod(argv[2], NULL) : 0, max = argc == 5 ? strtod(argv[3], NULL) : 0;
    double budget = argc == 5 ? strtod(argv[4], NULL) / 1e3 : 0;
    const Operation *op = NULL;
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++)
        if (argc == 5 && strcmp(argv[1], OPERATIONS[i].name) == 0) op = &OPERATIONS[i];
    if (!op || budget <= 0)
        fail("expected <pingpong|allreduce> <min bytes> <max bytes> <milliseconds per size, above 0>");
    Shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("no shared memory");
    pid_t leader = getpid(), other = fork();
    if (other < 0) fail("no second process");
    Side side = {.shared = shared, .first = other != 0};
    bind_to(side.first ? 0 : 1);
    if (!side.first) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != leader) exit(1);
        follow(&side, op);
    }
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        side.bytes = SIZES[i];
        if ((double)side.bytes >= min && (double)side.bytes <= max) measure(&side, op, budget);
    }
    side.bytes = 0;
    order(&side, 1);
    int status = 0;
    waitpid(other, &status, 0);
    return status == 0 ? 0 : 1;
}
