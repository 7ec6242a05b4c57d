// The header in C++: handles are types of their own, callbacks are functions with the linkage of C, and a functor's
// result goes round the ranks.
#include <mpi.h>

#include <complex>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace {

// Handles are pointers to different types, so a template may tell them apart.
template <class T> struct Name;
template <> struct Name<MPI_Comm> { static const char *is() { return "communicator"; } };
template <> struct Name<MPI_Datatype> { static const char *is() { return "datatype"; } };

template <class T> const char *name(T) { return Name<T>::is(); }

void check(bool right, const char *what)
{
    if (!right) {
        std::fprintf(stderr, "program.cc: not so: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

extern "C" void multiply(void *in, void *inout, int *length, MPI_Datatype *)
{
    auto *left = static_cast<std::complex<double> *>(in), *right = static_cast<std::complex<double> *>(inout);
    for (int i = 0; i < *length; i++)
        right[i] *= left[i];
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(std::string(name(MPI_COMM_WORLD)) == "communicator" && std::string(name(MPI_INT)) == "datatype", "names");

    std::vector<int> counts(size), places(size), mine(rank + 1, rank);
    std::iota(counts.begin(), counts.end(), 1);
    std::partial_sum(counts.begin(), counts.end() - 1, places.begin() + 1);
    std::vector<int> all(places.back() + counts.back());
    MPI_Allgatherv(mine.data(), rank + 1, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    for (int of = 0; of < size; of++)
        check(all[places[of]] == of && all[places[of] + of] == of, "what all ranks have gathered");

    std::complex<double> turn(0, 1), all_turns;
    MPI_Op product;
    MPI_Op_create(multiply, 1, &product);
    MPI_Allreduce(&turn, &all_turns, 1, MPI_CXX_DOUBLE_COMPLEX, product, MPI_COMM_WORLD);
    check(std::abs(all_turns - std::pow(turn, size)) < 1e-12, "a quarter turn for each rank");
    MPI_Op_free(&product);

    MPI_Finalize();
    std::printf("rank %d of %d is done\n", rank, size);
}
