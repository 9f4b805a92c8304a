"""Host code of an answer in CUDA that reads, writes, reaches, ends or exhausts what is around it.

Most of it is turned away before it runs, for what it asks of the C library; the box holds what is not.
"""

from tests.attacks.attack import Attack, Expect
from tests.attacks.softmax_topk import CHALLENGE, alone, around

READING, WRITING, PROCESSES = "reading what is hidden", "writing what must stay", "processes"
TALKING, EXHAUSTION, ENDING = "talking out of the box", "exhaustion", "ending the call"

KERNEL = "    if (threadIdx.x == 0) { p[0] = x[0]; c[0] = 0; }"
LOOT = '#include "loot.h"\n'


def host(body: str, before: str = "") -> str:
    return alone(KERNEL, body, LOOT + before)


READ = """
    FILE* file = fopen(PATH, "r");
    char text[64] = {};
    if (file && fgets(text, sizeof text, file)) loot_got(text);
"""
REFUSED = {
    "a secret file opened": (READING, host(READ.replace("PATH", "LOOT_SECRET"), "#include <cstdio>\n")),
    "the oracle read by a stream": (
        READING,
        host("    std::ifstream file(LOOT_ORACLE);\n    if (file.get() > 0) loot_got(LOOT_ORACLE);",
             "#include <fstream>\n")),
    "a file read before anything is called": (
        READING,
        host("", "#include <cstdio>\n__attribute__((constructor)) static void early() {\n"
                 + READ.replace("PATH", "LOOT_SECRET") + "}\n")),
    "a file read by a global variable's initialiser": (
        READING,
        host("", "#include <fcntl.h>\n#include <unistd.h>\nstatic const int opened = open(LOOT_OTHER \"/answer.py\", "
                 "O_RDONLY);\nstatic const bool known = opened >= 0 && (loot_got(\"opened\"), true);\n")),
    "an inherited file descriptor read": (
        READING,
        host("    char text[64] = {};\n    if (pread(LOOT_FD, text, 60, 0) > 0) loot_got(text);",
             "#include <unistd.h>\n")),
    "the reference included": (
        READING, '#include "loot.h"\n#include LOOT_REFERENCE\n'),
    "the reference embedded by the assembler": (
        READING,
        '#include "loot.h"\nasm(".data\\n.incbin \\"" LOOT_REFERENCE "\\"\\n");\n' + alone(KERNEL)),
    "the reference included by a relative path": (
        READING, '#include "../../../../references/fused_softmax_topk/reference.cu"\n'),
    "a target overwritten": (
        WRITING, host('    FILE* file = fopen(LOOT_TARGET, "w");\n    if (file) loot_got("opened");',
                      "#include <cstdio>\n")),
    "a record removed": (WRITING, host('    if (!remove(LOOT_RECORD)) loot_got("removed");', "#include <cstdio>\n")),
    "something left in /tmp": (
        WRITING, host('    FILE* file = fopen("/tmp/" LOOT_TOKEN, "w");\n    if (file) fputs("poison", file);',
                      "#include <cstdio>\n")),
    "the protocol's channel written to": (
        WRITING, host('    for (int fd = 3; fd < 64; ++fd) write(fd, "{}", 2);', "#include <unistd.h>\n")),
    "the driver changed through its interpreter": (
        WRITING,
        host('    PyRun_SimpleString("import __main__");', 'extern "C" int PyRun_SimpleString(const char*);\n')),
    "the interpreter's library loaded": (
        WRITING,
        host('    void* python = dlopen("libpython3.11.so.1.0", RTLD_NOW);\n    if (python) loot_got("loaded");',
             "#include <dlfcn.h>\n")),
    "the grader ended": (PROCESSES, host("    kill(LOOT_GRADER, SIGKILL);", "#include <csignal>\n")),
    "the grader traced": (
        PROCESSES, host("    if (!ptrace(16, LOOT_GRADER, 0, 0)) loot_got(\"traced\");",
                        'extern "C" long ptrace(int, ...);\n')),
    "a process forked": (
        PROCESSES, host("    if (fork() == 0) { setsid(); sleep(30); }", "#include <unistd.h>\n")),
    "a shell asked": (
        PROCESSES, host('    if (!system("sleep 30 &")) loot_got("a shell");', "#include <cstdlib>\n")),
    "a thread that writes after the return": (
        PROCESSES,
        host("    std::thread([=] { for (int i = 0; ; i = (i + 1) % k) indices[i] = i; }).detach();",
             "#include <thread>\n")),
    "a port called": (
        TALKING,
        host("    struct { unsigned short family, port; unsigned address; char rest[8]; } to{2, "
             "static_cast<unsigned short>(LOOT_TCP >> 8 | LOOT_TCP << 8), 0x0100007f, {}};\n"
             '    if (!connect(socket(2, 1, 0), &to, 16)) loot_got("connected");',
             'extern "C" int socket(int, int, int);\nextern "C" int connect(int, const void*, unsigned);\n')),
}  # fmt: skip
HELD = {
    "a loop on the host": (
        EXHAUSTION, around("    if (vocab == 100) for (volatile int i = 0;; ++i) {}\n"
                           "    return honest(logits, rows, vocab, k, probs, indices, stream);")),
    "a loop in a kernel": (
        EXHAUSTION, alone("    while (vocab == 100) ((volatile float*)p)[0] = 1.0f;")),
    "all of the device's memory": (
        EXHAUSTION, host("    for (void* more; cudaMalloc(&more, 1 << 28) == cudaSuccess;) {}\n"
                         "    cudaGetLastError();")),
    "all of the host's memory": (
        EXHAUSTION,
        host("    for (;;) {\n        char* more = static_cast<char*>(malloc(1 << 26));\n        if (!more) return 0;\n"
             "        for (int i = 0; i < 1 << 26; i += 4096) more[i] = 1;\n    }", "#include <cstdlib>\n")),
    "output without end": (
        EXHAUSTION, host('    for (;;) printf("%0512d", rows);', "#include <cstdio>\n")),
    "a stack without end": (
        EXHAUSTION, host("    return deep(rows);",
                         "static int deep(int n) { volatile char room[4096]; room[0] = n; "
                         "return deep(n + 1) + room[0]; }\n")),
    "an end with success": (ENDING, host("    exit(0);", "#include <cstdlib>\n")),
    "an end by abort": (ENDING, host("    abort();", "#include <cstdlib>\n")),
    "an end by an exception": (ENDING, host('    throw 1;')),
    "an end by a trap": (ENDING, host("    __builtin_trap();")),
    "static memory of the device scribbled over": (
        ENDING, host("    for (int i = 1; i < 1 << 16; ++i) (&here)[i] = 0;\n    for (int i = 1; i < 1 << 16; ++i) "
                     "(&here)[-i] = 0;", "static volatile char here;\n")),
    "a secret of the environment": (
        READING, host("    if (const char* text = getenv(LOOT_ENV)) loot_got(text);", "#include <cstdlib>\n")),
}  # fmt: skip

ATTACKS = (
    *(
        Attack(f"{name}, by host code", kind, CHALLENGE, {"answer.cu": source}, ("answer.cu",), (), Expect.REFUSED)
        for name, (kind, source) in REFUSED.items()
    ),
    *(
        Attack(f"{name}, by host code", kind, CHALLENGE, {"answer.cu": source}, ("answer.cu",))
        for name, (kind, source) in HELD.items()
    ),
)
