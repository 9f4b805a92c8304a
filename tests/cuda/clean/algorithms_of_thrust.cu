// Thrust's vectors and algorithms on the device, in host code, and on memory that kernels share.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_malloc.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <cstdio>
#include <vector>

struct Saxpy {
    float a;
    __host__ __device__ float operator()(float x, float y) { return a * x + y; }
};
struct IsEven {
    __host__ __device__ bool operator()(int x) { return x % 2 == 0; }
};
struct Descending {
    __host__ __device__ bool operator()(int a, int b) { return b < a; }
};
struct ByUnit {
    __host__ __device__ bool operator()(const thrust::tuple<int, float>& a, const thrust::tuple<int, float>& b) const {
        return thrust::get<0>(a) % 10 < thrust::get<0>(b) % 10;
    }
};

struct Adds {
    template <class T>
    __host__ __device__ void operator()(T each) const {
        thrust::get<2>(each) = thrust::get<0>(each) + thrust::get<1>(each);
    }
};
static thrust::device_ptr<float> unwritten_of(size_t n) { return thrust::device_malloc<float>(n); }  // unwritten

__global__ void twice(int* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

static int wrong = 0;
#define EXPECT(what) wrong += !(what) && printf("line %d: not %s\n", __LINE__, #what)

static void sorts_and_sums() {
    thrust::host_vector<int> host(100);
    for (int i = 0; i < 100; ++i) host[i] = i * 37 % 100;
    thrust::device_vector<int> values = host;
    thrust::sort(values.begin(), values.end());
    for (int i = 0; i < 100; ++i) EXPECT(values[i] == i);
    EXPECT(thrust::is_sorted(host.begin(), host.end()) == false);
    EXPECT(thrust::reduce(values.begin(), values.end()) == 4950);
    EXPECT(thrust::reduce(thrust::device, values.begin(), values.end(), 0, thrust::maximum<int>()) == 99);
    EXPECT(thrust::count_if(values.begin(), values.end(), IsEven()) == 50);
    twice<<<1, 128>>>(thrust::raw_pointer_cast(values.data()), 100);
    thrust::device_vector<int> sums(100);
    thrust::exclusive_scan(values.begin(), values.end(), sums.begin());
    EXPECT(sums[0] == 0 && sums[3] == 6);
    thrust::inclusive_scan(thrust::device, values.begin(), values.end(), sums.begin());
    EXPECT(sums[3] == 12);
    thrust::adjacent_difference(sums.begin(), sums.end(), sums.begin());
    EXPECT(sums == values);
    thrust::reverse(values.begin(), values.end());
    EXPECT(values.front() == 198 && values.back() == 0);
    thrust::sort(values.begin(), values.end(), Descending());
    EXPECT(values[1] == 196);
    EXPECT(*thrust::max_element(values.begin(), values.end()) == 198);
    EXPECT(thrust::min_element(values.begin(), values.end()) - values.begin() == 99);
}

static void transforms() {
    thrust::device_vector<float> x(10, 1.0f), y(10);
    thrust::sequence(y.begin(), y.end());
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{2});
    EXPECT(y[9] == 11);
    EXPECT(thrust::inner_product(x.begin(), x.end(), y.begin(), 0.0f) == 65);
    EXPECT(thrust::transform_reduce(x.begin(), x.end(), thrust::negate<float>(), 1.0f, thrust::plus<float>()) == -9);
    const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<int>(0), thrust::square<int>());
    thrust::device_vector<int> first(squares, squares + 5), places{4, 0, 2}, chosen(3);
    thrust::gather(places.begin(), places.end(), first.begin(), chosen.begin());
    EXPECT(chosen[0] == 16 && chosen[1] == 0 && chosen[2] == 4);
    float* raw = thrust::raw_pointer_cast(x.data());
    thrust::for_each(thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(10),
                     [=] __device__(int i) { raw[i] = static_cast<float>(i); });
    thrust::for_each(y.begin(), y.end(), [] __device__(float& each) { each += 1; });
    EXPECT(x[9] == 9 && y[9] == 12);
    const auto three = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin(), unwritten_of(10)));
    thrust::for_each(three, three + 10, Adds());
    EXPECT(thrust::get<2>(three.get_iterator_tuple())[9] == 21);
    cudaFree(thrust::raw_pointer_cast(thrust::get<2>(three.get_iterator_tuple())));
    float* unwritten = nullptr;
    cudaMalloc(&unwritten, 10 * sizeof(float));
    thrust::for_each(thrust::device, unwritten, unwritten + 10, [] __device__(float& each) { each = 2; });
    thrust::copy(thrust::device, unwritten, unwritten + 10, y.begin());
    thrust::copy(thrust::device, x.begin(), x.end(), unwritten);
    EXPECT(y[3] == 2 && thrust::device_ptr<float>(unwritten)[3] == 3);
    cudaFree(unwritten);
    thrust::host_vector<int> on_host(4, 1);
    thrust::for_each(on_host.begin(), on_host.end(), [](int& each) { each = 5; });
    EXPECT(on_host[2] == 5);
    std::vector<float> plain(10);
    thrust::copy(x.begin(), x.end(), plain.begin());
    EXPECT(plain[7] == 7);
    plain[7] = 70;
    thrust::copy(plain.begin(), plain.end(), x.begin());
    EXPECT(x[7] == 70);
    x.push_back(3);
    EXPECT(x.size() == 11 && x.back() == 3);
}

static void selections_and_keys() {
    thrust::device_vector<int> keys(100), values(100), counts(100), units(100);
    thrust::sequence(values.begin(), values.end());
    thrust::transform(values.begin(), values.end(), keys.begin(), [] __device__(int v) { return v % 10; });
    thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
    EXPECT(keys[10] == 1 && values[10] == 1 && values[11] == 11);
    const auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::constant_iterator<int>(1), units.begin(),
                                            counts.begin());
    EXPECT(ends.first - units.begin() == 10 && counts[9] == 10);
    auto end = thrust::unique(keys.begin(), keys.end());
    EXPECT(end - keys.begin() == 10);
    EXPECT(thrust::lower_bound(keys.begin(), end, 4) - keys.begin() == 4);
    EXPECT(thrust::binary_search(keys.begin(), end, 11) == false);
    EXPECT(thrust::stable_partition(keys.begin(), end, IsEven()) - keys.begin() == 5 && keys[1] == 2 && keys[5] == 1);
    end = thrust::remove_if(keys.begin(), end, IsEven());
    EXPECT(end - keys.begin() == 5 && keys[1] == 3);
    end = thrust::copy_if(values.begin(), values.end(), keys.begin(), IsEven());
    EXPECT(end - keys.begin() == 50);
    thrust::device_vector<int> tens{21, 10, 32};
    thrust::device_vector<float> names{1, 2, 3};
    const auto both = thrust::make_zip_iterator(thrust::make_tuple(tens.begin(), names.begin()));
    thrust::sort(both, both + 3, ByUnit());
    EXPECT(tens[0] == 10 && names[0] == 2 && names[2] == 3);
    int* raw = nullptr;
    cudaMalloc(&raw, 4 * sizeof(int));
    const thrust::device_ptr<int> wrapped(raw);
    thrust::fill(wrapped, wrapped + 4, 7);
    EXPECT(wrapped[3] == 7 && thrust::count(wrapped, wrapped + 4, 7) == 4);
    cudaFree(raw);
}

int main() {
    sorts_and_sums();
    transforms();
    selections_and_keys();
    return wrong;
}
