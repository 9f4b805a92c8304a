/* Opens what NVIDIA's driver 570 to 580 opens while it starts, and fails as it fails; needs no GPU.

The paths are those of public traces of cuInit and of the rules that other Landlock sandboxes had to add for it. A file
that is not there is no failure, one that may not be opened is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OUT_OF_MEMORY = 2, OPERATING_SYSTEM = 304 };

static const struct {
    const char* path;
    int flags;
} OPENED[] = {
    {"/sys/devices/system/cpu/online", O_RDONLY},
    {"/proc/cpuinfo", O_RDONLY},
    {"/proc/meminfo", O_RDONLY},
    {"/proc/self/maps", O_RDONLY},
    {"/proc/self/status", O_RDONLY},
    {"/proc/devices", O_RDONLY},
    {"/proc/driver/nvidia/params", O_RDONLY},
    {"/proc/sys/vm/mmap_min_addr", O_RDONLY},
    {"/sys/devices/system/node", O_RDONLY | O_DIRECTORY},
    {"/sys/devices/system/node/node0/cpumap", O_RDONLY},
    {"/dev/nvidiactl", O_RDWR},
    {"/dev/nvidia-uvm", O_RDWR},
    {"/dev/nvidia-uvm-tools", O_RDWR},
    {"/dev/nvidia0", O_RDWR},
};

static int closed(const char* path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) return errno != ENOENT;
    close(fd);
    return 0;
}

static void* name_itself(void* failed) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", syscall(SYS_gettid));
    FILE* file = fopen(path, "w");
    if (!file || fputs("cuda", file) < 0 || fclose(file) != 0) *(int*)failed = 1;
    return NULL;
}

int cuInit(unsigned flags) {
    (void)flags;
    for (unsigned i = 0; i < sizeof OPENED / sizeof *OPENED; ++i)
        if (closed(OPENED[i].path, OPENED[i].flags)) return OUT_OF_MEMORY;
    int failed = 0, memory = memfd_create("cuda", 0);
    pthread_t thread;
    if (memory < 0 || pthread_create(&thread, NULL, name_itself, &failed) != 0) return OPERATING_SYSTEM;
    pthread_join(thread, NULL);
    close(memory);
    return failed ? OPERATING_SYSTEM : 0;
}
