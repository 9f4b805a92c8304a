#include "races/messages.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace emu {

/// The mail of one location.
struct Mailbox {
    std::vector<Post> posts;
    std::vector<size_t> links;  // posts that pass on what was taken elsewhere
};

namespace {

// Beyond these everything counts as ordered: a race may be missed, none is made up.
constexpr size_t kMaxPosts = 1 << 18;
constexpr size_t kMaxTaken = 128;
constexpr unsigned kMaxSteps = 1 << 14;

struct Mail {
    Messages threads[kMaxThreads];
    std::unordered_map<uintptr_t, Mailbox*> boxes;
    std::deque<Mailbox> storage;
    Knowledge block_taken;
    Visible block_visible;
    bool fences = false;         // in this launch
    bool block_fences = false;   // in this block
    bool fresh_fences = false;   // since the last barrier
    bool taken = false;          // by a thread, since the last barrier
    size_t posts = 0;
    bool full = false;
};

Mail& mail() {
    static auto* instance = new Mail;
    return *instance;
}

void add(Knowledge& knowledge, Taken taken) {
    for (Taken& known : knowledge) {
        if (known.mailbox != taken.mailbox) continue;
        known.count = std::max(known.count, taken.count);
        return;
    }
    if (knowledge.size() < kMaxTaken) knowledge.push_back(taken);
    else mail().full = true;
}

void add(Knowledge& knowledge, const Knowledge& more) {
    for (const Taken& taken : more) add(knowledge, taken);
}

void add_coverage(Shown& shown, unsigned thread) {
    for (unsigned device = 0; device < 2; ++device) {
        const Coverage& coverage = mail().threads[thread].fenced[device];
        Shown::Scoped& scoped = shown.to[device];
        if (scoped.own.size() <= thread) scoped.own.resize(thread + 1);
        scoped.own[thread] = std::max(scoped.own[thread], coverage.own);
        scoped.interval = std::max(scoped.interval, coverage.interval);
    }
}

const Visible& visible_to(const Messages& messages) {
    return messages.visible ? messages.visible : mail().block_visible;
}

bool covers(const Post& post, Mark mark) {
    const uint32_t segment = segment_of(mark);
    const unsigned thread = warp_of(mark) * kWarpLanes + lane_of(mark);
    const Coverage& c = post.coverage;
    if (segment < c.interval) return true;
    if (thread == post.thread && segment <= c.own) return true;
    if (thread / kWarpLanes == post.thread / kWarpLanes) {
        if (segment <= (c.lanes.empty() ? c.met : c.lanes[lane_of(mark)])) return true;
    }
    if (!post.visible) return false;
    const Shown::Scoped& shown = post.visible->to[post.block != races.block];
    return segment < shown.interval || (thread < shown.own.size() && segment <= shown.own[thread]);
}

/// Follows what was taken from mailbox to mailbox.
class Search {
public:
    explicit Search(Mark mark) : mark_(mark), block_(block_start_of(segment_of(mark))) {}
    bool found(const Knowledge& knowledge) {
        for (const Taken& taken : knowledge) {
            if (found(taken)) return true;
        }
        return false;
    }

private:
    bool found(const Taken& taken) {
        for (Taken& seen : seen_) {
            if (seen.mailbox != taken.mailbox) continue;
            if (seen.count >= taken.count) return false;
            seen.count = taken.count;
            return found_in(taken);
        }
        seen_.push_back(taken);
        return found_in(taken);
    }

    bool found_in(const Taken& taken) {
        const auto& posts = taken.mailbox->posts;
        const auto end = posts.begin() + static_cast<std::ptrdiff_t>(std::min(taken.count, posts.size()));
        auto post = std::lower_bound(posts.begin(), end, block_, [](const Post& p, uint32_t b) { return p.block < b; });
        for (; post != end && post->block == block_; ++post) {
            if (++steps_ > kMaxSteps) return true;
            if ((post->device || block_ == races.block) && covers(*post, mark_)) return true;
        }
        for (const size_t link : taken.mailbox->links) {
            if (link >= taken.count) break;
            if (++steps_ > kMaxSteps || found(Knowledge(posts[link].coverage.taken))) return true;
        }
        return false;
    }

    Mark mark_;
    uint32_t block_;
    unsigned steps_ = 0;
    Knowledge seen_;
};

void put(Mailbox& box, const Messages& messages, bool device) {
    Mail& m = mail();
    const unsigned thread = running_thread->linear;
    const Coverage& coverage = messages.fenced[device];
    const Visible& visible = visible_to(messages);
    if (!box.posts.empty()) {
        const Post& last = box.posts.back();
        if (last.block == races.block && last.thread == thread && last.device == device &&
            last.coverage.own == coverage.own && last.visible == visible) {
            return;
        }
    }
    if (++m.posts > kMaxPosts) {
        m.full = true;
        return;
    }
    if (!coverage.taken.empty()) box.links.push_back(box.posts.size());
    box.posts.push_back(Post{races.block, thread, device, coverage, visible});
}

void post(Mailbox& box, const Messages& messages) {
    if (messages.fenced[1].own || visible_to(messages)) put(box, messages, true);
    if (messages.fenced[0].own > messages.fenced[1].own) put(box, messages, false);
}

}  // namespace

void messages_launch() {
    Mail& m = mail();
    m.boxes.clear();
    m.storage.clear();
    for (Messages& messages : m.threads) messages = Messages{};
    m.block_taken.clear();
    m.block_visible.reset();
    m.fences = m.block_fences = m.fresh_fences = m.taken = m.full = false;
    m.posts = 0;
}

void messages_block(const Block& block) {
    Mail& m = mail();
    if (!m.block_fences && !m.taken && m.block_taken.empty()) return;
    for (unsigned i = 0; i < block.thread_count; ++i) m.threads[i] = Messages{};
    m.block_taken.clear();
    m.block_visible.reset();
    m.block_fences = m.fresh_fences = m.taken = false;
}

void messages_barrier(const Block& block) {
    Mail& m = mail();
    if (m.taken) {
        for (unsigned i = 0; i < block.thread_count; ++i) {
            add(m.block_taken, m.threads[i].taken);
            m.threads[i].taken.clear();
        }
        m.taken = false;
    }
    if (!m.fresh_fences) return;
    auto shown = std::make_shared<Shown>();
    if (m.block_visible) *shown = *m.block_visible;
    for (unsigned i = 0; i < block.thread_count; ++i) {
        add_coverage(*shown, i);
        m.threads[i].visible.reset();
        m.threads[i].unshared = false;
    }
    m.block_visible = shown;
    m.fresh_fences = false;
}

void messages_meeting(const Warp& warp, uint32_t present) {
    Mail& m = mail();
    if (!m.fresh_fences && !m.taken) return;
    Messages* lanes = m.threads + warp.number * kWarpLanes;
    bool unshared = false;
    Knowledge taken;
    for (uint32_t left = present; left; left &= left - 1) {
        const Messages& lane = lanes[__builtin_ctz(left)];
        unshared |= lane.unshared;
        add(taken, lane.taken);
    }
    std::shared_ptr<Shown> shown;
    if (unshared) {
        shown = std::make_shared<Shown>();
        const Visible& before = visible_to(lanes[__builtin_ctz(present)]);
        if (before) *shown = *before;
    }
    for (uint32_t left = present; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(left));
        if (unshared) add_coverage(*shown, warp.number * kWarpLanes + lane);
        if (unshared) lanes[lane].visible = shown;
        lanes[lane].unshared = false;
        lanes[lane].taken = taken;
    }
}

void messages_fence(Scope scope) {
    Mail& m = mail();
    Clock& clock = races.clocks[running_thread->linear];
    Messages& messages = m.threads[running_thread->linear];
    Coverage coverage{clock.segment, races.interval, clock.met, {}, messages.taken};
    if (clock.partial) coverage.lanes.assign(clock.lanes, clock.lanes + kWarpLanes);
    add(coverage.taken, m.block_taken);
    messages.fenced[0] = coverage;
    if (scope != Scope::Block) messages.fenced[1] = std::move(coverage);
    messages.fence_interval = races.interval;
    messages.unshared = true;
    m.fences = m.block_fences = m.fresh_fences = true;
    next_segment(clock);
}

void messages_atomic(uintptr_t address, bool takes, bool posts) {
    Mail& m = mail();
    if (!m.fences) return;
    Messages& messages = m.threads[running_thread->linear];
    const bool has_post = posts && (messages.fenced[0].own || visible_to(messages));
    auto found = m.boxes.find(address);
    if (found == m.boxes.end()) {
        if (!has_post) return;
        m.storage.emplace_back();
        found = m.boxes.emplace(address, &m.storage.back()).first;
    }
    Mailbox& box = *found->second;
    if (takes && !box.posts.empty()) {
        add(messages.taken, Taken{&box, box.posts.size()});
        m.taken = true;
    }
    if (has_post) post(box, messages);
}

bool has_fenced() { return mail().threads[running_thread->linear].fence_interval >= races.before_interval; }

bool is_covered(Mark mark) {
    Mail& m = mail();
    if (m.full) return true;
    if (!m.posts) return false;
    Search search(mark);
    return search.found(m.threads[running_thread->linear].taken) || search.found(m.block_taken);
}

}  // namespace emu
