// The function that Thrust calls reaches one element too far.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

struct Shift {
    int* values;
    __device__ void operator()(int i) const {
        values[i] = values[i + 1];  // FAULT out_of_bounds
    }
};

int main() {
    thrust::device_vector<int> values(100, 3);
    const thrust::counting_iterator<int> first(0);
    thrust::for_each(thrust::device, first, first + 100, Shift{thrust::raw_pointer_cast(values.data())});
}
