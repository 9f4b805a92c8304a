"""Headers of C++ and CUDA by the names they declare."""

_OF_STD = {
    "algorithm": "max min max_element min_element sort stable_sort partial_sort nth_element fill fill_n copy swap "
    "clamp reverse transform find is_sorted",
    "array": "array",
    "atomic": "atomic",
    "chrono": "chrono",
    "cmath": "abs exp log log2 sqrt pow fabs floor ceil isnan isinf isfinite fmax fmin",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t",
    "cstring": "memcpy memset memcmp memmove strlen strcmp",
    "functional": "function greater less hash",
    "iostream": "cout cerr endl",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "unique_ptr make_unique shared_ptr make_shared",
    "mutex": "mutex lock_guard unique_lock",
    "numeric": "accumulate iota",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64 normal_distribution uniform_real_distribution uniform_int_distribution",
    "set": "set",
    "stdexcept": "runtime_error invalid_argument out_of_range logic_error",
    "string": "string to_string",
    "thread": "thread",
    "tuple": "tuple make_tuple tie",
    "type_traits": "is_same is_same_v enable_if enable_if_t conditional_t",
    "unordered_map": "unordered_map",
    "utility": "pair make_pair move forward",
    "vector": "vector",
}
_GLOBAL = {
    "cassert": "assert",
    "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON FLT_DIG FLT_MANT_DIG DBL_MAX DBL_MIN DBL_EPSILON DBL_DIG LDBL_MAX",
    "climits": "CHAR_BIT INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SHRT_MAX",
    "cmath": "INFINITY NAN HUGE_VAL HUGE_VALF M_PI M_E M_LN2 M_LOG2E M_SQRT2",
    "cstddef": "size_t ptrdiff_t nullptr_t offsetof",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t INT32_MAX "
    "INT32_MIN INT64_MAX INT64_MIN UINT32_MAX UINT64_MAX INT8_MAX INT8_MIN INT16_MAX UINT8_MAX UINT16_MAX SIZE_MAX",
    "cstdio": "printf fprintf snprintf stderr stdout puts",
    "cstdlib": "malloc free calloc realloc exit abort EXIT_FAILURE EXIT_SUCCESS rand srand getenv",
    "cstring": "memcpy memset memcmp memmove strlen strcmp",
    "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 __float2bfloat16 __bfloat162float",
    "cuda_fp16.h": "half half2 __half __half2 __float2half __half2float __float22half2_rn __half22float2 __hadd __hmul",
    "cuda_runtime.h": "cudaStream_t cudaError_t cudaSuccess cudaMalloc cudaFree cudaGetLastError",
    "math_constants.h": "CUDART_INF_F CUDART_NAN_F CUDART_MAX_NORMAL_F CUDART_INF CUDART_NAN CUDART_PI_F",
}


def _index_by_name(table: dict[str, str]) -> dict[str, str]:
    return {name: header for header, names in table.items() for name in names.split()}


IN_STD = _index_by_name(_OF_STD)
"""Headers by names in namespace std."""
EVERYWHERE = _index_by_name(_GLOBAL)
"""Headers by names outside namespaces, macros included."""
