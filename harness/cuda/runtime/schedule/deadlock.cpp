// The end of a block in which nobody can go on.
#include <cstring>
#include <map>

#include "cuda_runtime_api.h"
#include "run/defects.h"
#include "schedule/meeting.h"
#include "schedule/scheduler.h"

namespace emu {

namespace {

std::string described(const Wait& wait) {
    const char* slash = std::strrchr(wait.site.file, '/');
    std::string text = wait.what;
    if (wait.kind == Wait::Lanes) text += " (mask " + hexadecimal(wait.mask) + ")";
    return text + " at " + (slash ? slash + 1 : wait.site.file) + ":" + std::to_string(wait.site.line);
}

}  // namespace

void report_deadlock(Block& block) {
    std::map<std::string, std::vector<const Thread*>> waiting;
    const Thread* first = nullptr;
    for (unsigned i = 0; i < block.thread_count; ++i) {
        const Thread& thread = block.threads[i];
        if (thread.wait.kind == Wait::None) continue;
        waiting[described(thread.wait)].push_back(&thread);
        // a meeting of lanes says more than the barrier where the others wait for them
        if (!first || (first->wait.kind == Wait::Barrier && thread.wait.kind == Wait::Lanes)) first = &thread;
    }
    Defect defect;
    defect.kind = "deadlock";
    for (const auto& [where, threads] : waiting) {
        defect.text += (defect.text.empty() ? "" : "; ") + std::to_string(threads.size()) + " threads (first: thread " +
                       std::to_string(threads.front()->linear) + " of the block) wait for " + where;
    }
    unsigned exited = block.thread_count - block.live;
    if (exited) defect.text += "; " + std::to_string(exited) + " have left the kernel";
    defect.text = "no thread of the block can go on: " + defect.text;
    if (first) {
        defect.site = first->wait.site;
        defect.placed = true;
        defect.block = block.index;
        defect.thread = first->index;
    }
    report(defect);
    end_launch(cudaErrorLaunchFailure);
}

}  // namespace emu
