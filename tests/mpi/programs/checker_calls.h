/* Messages. The same memory may be sent several times at once: so the pattern does not say which message it is. */

#define SENDS(name, arguments_of_request, request)                                                                     \
    int C(MPI_##name)(const void *data, COUNT count, MPI_Datatype type, int to, int tag,                               \
                      MPI_Comm comm arguments_of_request)                                                              \
    {                                                                                                                  \
        fill(data, (size_t)count * is_checked(type, count), rank_of(comm), -1, -1);                                    \
        return C(PMPI_##name)(data, count, type, to, tag, comm request);                                               \
    }
#define COMMA ,
SENDS(Send, , )
SENDS(Ssend, , )
SENDS(Isend, COMMA MPI_Request *request, COMMA request)

int C(MPI_Recv)(void *data, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    if (!is_checked(type, count))
        return C(PMPI_Recv)(data, count, type, from, tag, comm, status);
    memset(data, 0xa5, (size_t)count);
    int code = C(PMPI_Recv)(data, count, type, from, tag, comm, &own);
    struct part part = { data, 0, 0, 0 };
    struct later one = { .kind = MESSAGE, .what = "MPI_Recv", .part = &part };
    look_later(&one, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int C(MPI_Irecv)(void *data, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (!is_checked(type, count))
        return C(PMPI_Irecv)(data, count, type, from, tag, comm, request);
    struct later found = { .kind = MESSAGE, .what = "MPI_Irecv", .comm = comm, .ranks = from };
    int shared = 0;
    for (struct later *other = all_later; other; other = other->following)
        if (other->kind == MESSAGE && other->part->data < (unsigned char *)data + count &&
            (unsigned char *)data < other->part->data + other->part->length) {
            /* Several into the same memory: all can be right only if one rank sends the same to each. */
            shared = 1;
            if (from == MPI_ANY_SOURCE || other->ranks != from || other->comm != comm || other->part->data != data ||
                other->part->length != (size_t)count)
                other->unsure = found.unsure = 1;
        }
    if (!shared)
        memset(data, 0xa5, (size_t)count);
    found.part = parts(1);
    *found.part = (struct part){ data, (size_t)count, 0, 0 };
    int code = C(PMPI_Irecv)(data, count, type, from, tag, comm, request);
    keep(found, *request);
    return code;
}

int C(MPI_Sendrecv)(const void *out, COUNT outs, MPI_Datatype out_type, int to, int out_tag, void *in, COUNT ins,
                    MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    fill(out, (size_t)outs * is_checked(out_type, outs), rank_of(comm), -1, -1);
    memset(in, 0xa5, (size_t)ins * is_checked(in_type, ins));
    int code = C(PMPI_Sendrecv)(out, outs, out_type, to, out_tag, in, ins, in_type, from, in_tag, comm, &own);
    struct part part = { in, 0, 0, 0 };
    struct later one = { .kind = is_checked(in_type, ins) ? MESSAGE : NOTHING, .what = "MPI_Sendrecv", .part = &part };
    look_later(&one, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int C(MPI_Sendrecv_replace)(void *data, COUNT count, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
                            MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    fill(data, (size_t)count * is_checked(type, count), rank_of(comm), -1, -1);
    int code = C(PMPI_Sendrecv_replace)(data, count, type, to, out_tag, from, in_tag, comm, &own);
    struct part part = { data, 0, 0, 0 };
    struct later one = { .kind = is_checked(type, count) ? MESSAGE : NOTHING,
                         .what = "MPI_Sendrecv_replace",
                         .part = &part };
    look_later(&one, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

/* Collectives, each in both forms: what is sent is filled, what is received overwritten, and what is to be looked at
 * noted before the call. `sent` and `got` are given for each rank; -1 as `to`: the same for all. */

static size_t C(at)(const COUNT *counts, COUNT count, int n) { return (size_t)(counts ? counts[n] : count); }
static size_t C(place)(const PLACE *displacements, COUNT count, int n)
{
    return displacements ? (size_t)displacements[n] : (size_t)count * (size_t)n;
}

static struct later C(from_each)(const char *what, void *in, const COUNT *counts, const PLACE *displacements,
                                 COUNT count, int ranks, int to, long call)
{
    struct later later = { .kind = BYTES, .what = what, .call = call, .parts = ranks, .part = parts(ranks) };
    for (int n = 0; n < ranks; n++) {
        later.part[n] =
            (struct part){ (unsigned char *)in + C(place)(displacements, count, n), C(at)(counts, count, n), n, to };
        memset(later.part[n].data, 0xa5, later.part[n].length);
    }
    return later;
}

static struct later C(bcast)(void *data, COUNT count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rank, size;
    struct later later = { .kind = NOTHING };
    if (!plain(type))
        return later;
    long call = next(comm, &rank, &size);
    if (rank == root)
        fill(data, (size_t)count, root, -1, call);
    else
        memset(data, 0xa5, (size_t)count);
    later = (struct later){ .kind = BYTES, .what = "MPI_Bcast", .call = call, .parts = 1, .part = parts(1) };
    *later.part = (struct part){ data, (size_t)count, root, -1 };
    return later;
}

/* `root`: -1: everybody gets it. */
static struct later C(gather)(const char *what, const void *out, COUNT outs, MPI_Datatype type, void *in,
                              const COUNT *counts, const PLACE *displacements, COUNT count, MPI_Datatype in_type,
                              int root, MPI_Comm comm)
{
    int rank, size;
    if (!plain(out == MPI_IN_PLACE ? in_type : type))
        return (struct later){ .kind = NOTHING };
    long call = next(comm, &rank, &size);
    if (out != MPI_IN_PLACE)
        fill(out, (size_t)outs, rank, -1, call);
    if (root >= 0 && rank != root)
        return (struct later){ .kind = NOTHING };
    struct later later = C(from_each)(what, in, counts, displacements, count, size, -1, call);
    if (out == MPI_IN_PLACE)
        fill(later.part[rank].data, later.part[rank].length, rank, -1, call);
    return later;
}

static struct later C(scatter)(const char *what, const void *out, const COUNT *counts, const PLACE *displacements,
                               COUNT count, MPI_Datatype out_type, void *in, COUNT ins, MPI_Datatype type, int root,
                               MPI_Comm comm)
{
    int rank, size;
    if (!plain(in == MPI_IN_PLACE ? out_type : type))
        return (struct later){ .kind = NOTHING };
    long call = next(comm, &rank, &size);
    for (int n = 0; rank == root && n < size; n++)
        fill((const char *)out + C(place)(displacements, count, n), C(at)(counts, count, n), root, n, call);
    if (in == MPI_IN_PLACE)
        return (struct later){ .kind = NOTHING };
    struct later later = { .kind = BYTES, .what = what, .call = call, .parts = 1, .part = parts(1) };
    *later.part = (struct part){ in, (size_t)ins, root, rank };
    memset(in, 0xa5, (size_t)ins);
    return later;
}

static struct later C(all_to_all)(const char *what, const void *out, const COUNT *counts, const PLACE *displacements,
                                  COUNT count, MPI_Datatype type, void *in, const COUNT *in_counts,
                                  const PLACE *in_displacements, COUNT in_count, MPI_Datatype in_type, MPI_Comm comm)
{
    int rank, size;
    if (!plain(out == MPI_IN_PLACE ? in_type : type))
        return (struct later){ .kind = NOTHING };
    long call = next(comm, &rank, &size);
    struct later later = C(from_each)(what, in, in_counts, in_displacements, in_count, size, rank, call);
    for (int n = 0; n < size; n++) {
        if (out == MPI_IN_PLACE)
            fill(later.part[n].data, later.part[n].length, rank, n, call);
        else
            fill((const char *)out + C(place)(displacements, count, n), C(at)(counts, count, n), rank, n, call);
    }
    return later;
}

/* `whole`: what everybody gives; `first`, `count`: what this rank gets of it. */
static struct later C(sum)(const char *what, const void *out, size_t whole, void *in, size_t first, size_t count,
                           MPI_Datatype type, MPI_Op op, int rank, int size, long call)
{
    if (type != MPI_FLOAT || op != MPI_SUM)
        return (struct later){ .kind = NOTHING };
    struct later later = { .kind = SUM, .what = what, .call = call, .ranks = size, .first = first };
    later.part = parts(1);
    later.parts = in != NULL;
    if (in) {
        *later.part = (struct part){ in, count, 0, 0 };
        memset(in, 0xa5, count * sizeof(float));
    }
    fill_floats(out == MPI_IN_PLACE ? in : out, whole, rank, call);
    return later;
}

static struct later C(reduce)(const char *what, const void *out, void *in, COUNT count, MPI_Datatype type, MPI_Op op,
                              int root, MPI_Comm comm)
{
    int rank, size;
    long call = next(comm, &rank, &size);
    void *result = root < 0 || rank == root ? in : NULL;
    return C(sum)(what, out, (size_t)count, result, 0, (size_t)count, type, op, rank, size, call);
}

static struct later C(reduce_scatter)(const char *what, const void *out, void *in, const COUNT *counts, COUNT count,
                                      MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int rank, size;
    long call = next(comm, &rank, &size);
    size_t first = 0, whole = 0;
    for (int n = 0; n < size; n++) {
        first += n < rank ? C(at)(counts, count, n) : 0;
        whole += C(at)(counts, count, n);
    }
    return C(sum)(what, out, whole, in, first, C(at)(counts, count, rank), type, op, rank, size, call);
}

/* A collective in both forms. */
#define BOTH(name, iname, declared, given, noted)                                                                      \
    int C(MPI_##name) declared                                                                                         \
    {                                                                                                                  \
        struct later later = noted;                                                                                    \
        return done(later, C(PMPI_##name) given);                                                                      \
    }                                                                                                                  \
    int C(MPI_##iname) WITH_REQUEST declared                                                                           \
    {                                                                                                                  \
        struct later later = noted;                                                                                    \
        int code = C(PMPI_##iname) REQUEST_TOO given;                                                                  \
        return begun(later, code, *request);                                                                           \
    }
#define WITH_REQUEST(...) (__VA_ARGS__, MPI_Request * request)
#define REQUEST_TOO(...) (__VA_ARGS__, request)

BOTH(Bcast, Ibcast, (void *data, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
     (data, count, type, root, comm), C(bcast)(data, count, type, root, comm))
BOTH(Gather, Igather,
     (const void *out, COUNT outs, MPI_Datatype type, void *in, COUNT ins, MPI_Datatype in_type, int root,
      MPI_Comm comm),
     (out, outs, type, in, ins, in_type, root, comm),
     C(gather)("MPI_Gather", out, outs, type, in, NULL, NULL, ins, in_type, root, comm))
BOTH(Gatherv, Igatherv,
     (const void *out, COUNT outs, MPI_Datatype type, void *in, const COUNT ins[], const PLACE places[],
      MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, outs, type, in, ins, places, in_type, root, comm),
     C(gather)("MPI_Gatherv", out, outs, type, in, ins, places, 0, in_type, root, comm))
BOTH(Allgather, Iallgather,
     (const void *out, COUNT outs, MPI_Datatype type, void *in, COUNT ins, MPI_Datatype in_type, MPI_Comm comm),
     (out, outs, type, in, ins, in_type, comm),
     C(gather)("MPI_Allgather", out, outs, type, in, NULL, NULL, ins, in_type, -1, comm))
BOTH(Allgatherv, Iallgatherv,
     (const void *out, COUNT outs, MPI_Datatype type, void *in, const COUNT ins[], const PLACE places[],
      MPI_Datatype in_type, MPI_Comm comm),
     (out, outs, type, in, ins, places, in_type, comm),
     C(gather)("MPI_Allgatherv", out, outs, type, in, ins, places, 0, in_type, -1, comm))
BOTH(Scatter, Iscatter,
     (const void *out, COUNT outs, MPI_Datatype out_type, void *in, COUNT ins, MPI_Datatype type, int root,
      MPI_Comm comm),
     (out, outs, out_type, in, ins, type, root, comm),
     C(scatter)("MPI_Scatter", out, NULL, NULL, outs, out_type, in, ins, type, root, comm))
BOTH(Scatterv, Iscatterv,
     (const void *out, const COUNT outs[], const PLACE places[], MPI_Datatype out_type, void *in, COUNT ins,
      MPI_Datatype type, int root, MPI_Comm comm),
     (out, outs, places, out_type, in, ins, type, root, comm),
     C(scatter)("MPI_Scatterv", out, outs, places, 0, out_type, in, ins, type, root, comm))
BOTH(Alltoall, Ialltoall,
     (const void *out, COUNT outs, MPI_Datatype type, void *in, COUNT ins, MPI_Datatype in_type, MPI_Comm comm),
     (out, outs, type, in, ins, in_type, comm),
     C(all_to_all)("MPI_Alltoall", out, NULL, NULL, outs, type, in, NULL, NULL, ins, in_type, comm))
BOTH(Alltoallv, Ialltoallv,
     (const void *out, const COUNT outs[], const PLACE out_places[], MPI_Datatype type, void *in, const COUNT ins[],
      const PLACE in_places[], MPI_Datatype in_type, MPI_Comm comm),
     (out, outs, out_places, type, in, ins, in_places, in_type, comm),
     C(all_to_all)("MPI_Alltoallv", out, outs, out_places, 0, type, in, ins, in_places, 0, in_type, comm))
BOTH(Reduce, Ireduce, (const void *out, void *in, COUNT count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (out, in, count, type, op, root, comm), C(reduce)("MPI_Reduce", out, in, count, type, op, root, comm))
BOTH(Allreduce, Iallreduce, (const void *out, void *in, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm), C(reduce)("MPI_Allreduce", out, in, count, type, op, -1, comm))
BOTH(Reduce_scatter, Ireduce_scatter,
     (const void *out, void *in, const COUNT ins[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, ins, type, op, comm), C(reduce_scatter)("MPI_Reduce_scatter", out, in, ins, 0, type, op, comm))
BOTH(Reduce_scatter_block, Ireduce_scatter_block,
     (const void *out, void *in, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm),
     C(reduce_scatter)("MPI_Reduce_scatter_block", out, in, NULL, count, type, op, comm))
