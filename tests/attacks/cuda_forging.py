"""Answers in CUDA that would falsify what the emulated device reports of them, or be another program under watch."""

from tests.attacks.attack import Attack, Expect
from tests.attacks.softmax_topk import CHALLENGE, alone, around, exchanged

REPORTS, HIDING, LIBRARY = "reports forged", "accesses hidden", "functions replaced"
WATCHED = "telling watched runs apart"

KERNEL = "    if (threadIdx.x == 0) { p[0] = x[0]; c[0] = 0; }"
JOIN = "#define JOINED(a, b) a##b\n#define JOIN(a, b) JOINED(a, b)\n"
HONEST = "__global__ void __launch_bounds__(THREADS)\n"


def sources(host: str, before: str = "") -> str:
    return alone(KERNEL, host, before)


FORGED = {
    # each fools a harness that takes the report's word
    "the report written by the answer": sources(
        "", 'extern "C" size_t emu_report(char* to, size_t n) { if (n) to[0] = 0; return 0; }\n'),
    "the report written by the answer, its name put together": sources(
        "", JOIN + 'extern "C" size_t JOIN(em, u_report)(char* to, size_t n) { if (n) to[0] = 0; return 0; }\n'),
    "the device told to begin anew": sources("    emu_start(0, 0);"),
    "the device told to begin anew, its name put together": sources("    JOIN(em, u_start)(0, 0);", JOIN),
    "the device's mode by its mangled name": sources(
        "    _ZN3em_mode = 0;".replace("em_mode", "emu4modeE"), 'extern "C" unsigned _ZN3emu4modeE;\n'),
    "the device's counters as a namespace of its own": sources(
        "    emu::mode = 0;", "namespace emu { extern unsigned mode; }\n"),
    "the same namespace, its name put together": sources(
        "    JOIN(em, u)::mode = 0;", JOIN + "namespace JOIN(em, u) { extern unsigned mode; }\n"),
    "another name for a symbol of the device": sources(
        "    restart(0, 0);", 'extern "C" void restart(unsigned, unsigned long) __asm__("emu_start");\n'),
    "another name by a pragma": sources(
        "    restart(0, 0);",
        '#pragma redefine_extname restart emu_start\nextern "C" void restart(unsigned, unsigned long);\n'),
    "a weak reference to a symbol of the device": sources(
        "    if (restart) restart(0, 0);",
        'static void restart(unsigned, unsigned long) __attribute__((weakref("emu_start")));\n'),
    "the symbol table asked at run time": sources(
        '    auto f = reinterpret_cast<void (*)(unsigned, unsigned long)>(dlsym(nullptr, "emu_" "start"));\n'
        "    if (f) f(0, 0);", "#include <dlfcn.h>\n"),
    "the table of loaded code walked": sources(
        "    dl_iterate_phdr([](dl_phdr_info* info, size_t, void*) { return info->dlpi_phnum < 0 ? 1 : 0; }, nullptr);",
        '#include <dlfcn.h>\nstruct dl_phdr_info { unsigned long a; const char* n; const void* p; unsigned short '
        'dlpi_phnum; };\nextern "C" int dl_iterate_phdr(int (*)(dl_phdr_info*, size_t, void*), void*);\n'),
    "memory written through /proc": sources(
        '    FILE* memory = fopen("/proc/self/mem", "r+b");\n'
        "    if (memory) { fseek(memory, reinterpret_cast<long>(&memory), SEEK_SET); fputc(0, memory); }",
        "#include <cstdio>\n"),
    "pages of code made writable": sources(
        "    mprotect(reinterpret_cast<void*>(reinterpret_cast<size_t>(&cudaGetLastError) & ~4095ul), 4096, 7);",
        "#include <sys/mman.h>\n"),
    "a system call by number": sources(
        "    syscall(10, 4096, 4096, 7);", "#include <unistd.h>\n"),
    "a system call by an instruction": sources(
        '    long result;\n    asm volatile("syscall" : "=a"(result) : "a"(39) : "rcx", "r11", "memory");'),
    "a system call by an instruction, its word put together": sources(
        '    long result;\n    JOIN(as, m) volatile("syscall" : "=a"(result) : "a"(39) : "rcx", "r11");', JOIN),
    "machine code in a constant": sources(
        "    reinterpret_cast<void (*)()>(reinterpret_cast<size_t>(code))();",
        '__attribute__((section(".text#"))) const unsigned char code[] = {0x0f, 0x05, 0xc3};\n'),
    "a handler for the device's own faults": sources(
        "    struct sigaction action {};\n    action.sa_handler = SIG_IGN;\n    sigaction(SIGSEGV, &action, nullptr);",
        "#include <csignal>\n"),
}  # fmt: skip
START = "    Partial partial = {-FLT_MAX, 0.0f};"
HIDDEN = {
    # each fools hooks that the compiler puts before accesses
    "an attribute against hooks": exchanged(
        ("__device__ int take_vector(", '__attribute__((no_sanitize("thread"))) __device__ int take_vector(')),
    "an attribute against hooks, its word put together": JOIN + exchanged(
        ("__device__ int take_vector(", '__attribute__((JOIN(no_, sanitize)("thread"))) __device__ int take_vector(')),
    "an attribute against hooks, in brackets": exchanged(
        ("__device__ int take_vector(", '[[gnu::no_sanitize("thread")]] __device__ int take_vector(')),
    "the device's own macro against hooks": exchanged(
        ("__device__ int take_vector(", "EMU_UNINSTRUMENTED __device__ int take_vector(")),
    "the device's own macro, its word put together": JOIN + exchanged(
        ("__device__ int take_vector(", "JOIN(EM, U_UNINSTRUMENTED) __device__ int take_vector(")),
    "a copy by a pointer to a function": exchanged(
        (START, "    static void* (*const copy)(void*, const void*, size_t) = memcpy;\n"
         "    float seen[4];\n    if (vocab > 4) copy(seen, row, 16);\n    Partial partial = {-FLT_MAX, 0.0f};"),
        ("#include <stdint.h>\n", "#include <stdint.h>\n#include <string.h>\n")),
    "a copy by the compiler's own function": exchanged(
        (START, "    float seen[4];\n    if (vocab > 4) __builtin_memcpy(seen, row, vocab * 0 + 16);\n"
         "    Partial partial = {-FLT_MAX, 0.0f};")),
    "accesses told that are not made": around(
        "    return honest(logits, rows, vocab, k, probs, indices, stream);",
        'extern "C" void __tsan_read4(void*);\n'
        "__global__ void tell(float* x, int n) { for (int i = threadIdx.x; i < n; i += 32) __tsan_read4(x + i); }\n"),
    "accesses told that are not made, the word put together": around(
        "    return honest(logits, rows, vocab, k, probs, indices, stream);",
        JOIN + 'extern "C" void JOIN(__t, san_read4)(void*);\n__global__ void tell(float* x, int n) { for (int i = '
               "threadIdx.x; i < n; i += 32) JOIN(__t, san_read4)(x + i); }\n"),
}  # fmt: skip


def twofold(condition: str, before: str = "") -> str:
    """Without a barrier that it needs, unless the condition says that somebody watches."""
    return exchanged(
        (HONEST, f"{before}#if {condition}\n#define MEET __syncthreads()\n#else\n#define MEET\n#endif\n{HONEST}"),
        ("    const size_t row = blockIdx.x;\n", "    const size_t row = blockIdx.x;\n    MEET;\n"),
    )


TWOFOLD = {
    # each fools a check of another build than the one whose values are compared
    "a macro of the build that is watched": twofold("defined(EMU_INSTRUMENTED)"),
    "a macro of the compiler's checks": twofold("defined(__SANITIZE_THREAD__)"),
    "a macro of the compiler's checks, put together": twofold("JOIN(__SANITIZE_, THREAD__)", JOIN),
    "a macro of the build that is watched, put together": twofold("JOIN(EM, U_INSTRUMENTED)", JOIN),
    "a faked line marker in a text": exchanged(
        ("namespace {\n\nconstexpr int THREADS", 'static const char* const marker = R"(\n# 1 "/usr/include/x.h" 1 3\n'
         ')";\n#ifdef __SANITIZE_THREAD__\n#define TWO 2\n#endif\nnamespace {\n\nconstexpr int THREADS')),
}  # fmt: skip
REPLACED = {
    # each fools a device that calls what the answer defines
    "the library's memcpy": sources(
        "", 'extern "C" void* memcpy(void* to, const void* from, size_t n) { char* t = (char*)to; const char* f = '
            "(const char*)from; while (n--) *t++ = *f++; return to; }\n"),
    "the library's malloc": sources("", 'extern "C" void* malloc(size_t) { return nullptr; }\n'),
    "operator new": sources(
        "", "#include <cstdlib>\nvoid* operator new(size_t n) { return calloc(n, 2); }\n"),
    "the library's snprintf, weakly": sources(
        "", 'extern "C" __attribute__((weak)) int snprintf(char* s, size_t, const char*, ...) { return *s = 0; }\n'),
    "a function of the device": sources(
        "", 'cudaError_t cudaMemGetInfo(size_t* a, size_t* b) { *a = *b = 1; return cudaSuccess; }\n'),
    "a hook of the device": sources(
        "", JOIN + 'extern "C" void JOIN(__t, san_write4)(void*) {}\n'),
    "an inner function of a C++ class": sources(
        "", 'extern "C" void _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc() {}\n'),
    "a function chosen at load time": sources(
        "", 'extern "C" { static int one() { return 1; } int (*pick())() { return one; } }\n'
            'extern "C" int chosen() __attribute__((ifunc("pick")));\n'),
}  # fmt: skip


def attack(name: str, kind: str, source: str) -> Attack:
    return Attack(name, kind, CHALLENGE, {"answer.cu": source}, ("answer.cu",), ("memory_safety",), Expect.REFUSED)


ATTACKS = (
    *(attack(name, REPORTS, source) for name, source in FORGED.items()),
    *(attack(name, HIDING, source) for name, source in HIDDEN.items()),
    *(attack(name, WATCHED, source) for name, source in TWOFOLD.items()),
    *(attack(name, LIBRARY, source) for name, source in REPLACED.items()),
)
