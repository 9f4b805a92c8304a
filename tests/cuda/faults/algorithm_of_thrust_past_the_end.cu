// Five more values are sorted than the vector has.
#include <thrust/device_vector.h>
#include <thrust/sort.h>

int main() {
    thrust::device_vector<int> values(100, 3);
    thrust::sort(values.begin(), values.end() + 5);  // FAULT out_of_bounds
}
