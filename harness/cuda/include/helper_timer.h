// The stop-watch of NVIDIA's samples; the host's clock, which tells nothing of a GPU.
#pragma once

#include <chrono>

class StopWatchInterface {
public:
    void start() { started_ = clock::now(), running_ = true; }
    void stop() {
        if (running_) total_ += since();
        running_ = false, ++sessions_;
    }
    void reset() { total_ = 0, sessions_ = 0, started_ = clock::now(); }
    float getTime() const { return static_cast<float>(running_ ? total_ + since() : total_); }
    float getAverageTime() const { return sessions_ ? static_cast<float>(total_ / sessions_) : 0.0f; }

private:
    using clock = std::chrono::steady_clock;
    double since() const { return std::chrono::duration<double, std::milli>(clock::now() - started_).count(); }

    clock::time_point started_ = clock::now();
    double total_ = 0;
    int sessions_ = 0;
    bool running_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
    *timer = new StopWatchInterface;
    return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
    delete *timer;
    *timer = nullptr;
    return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) { return (*timer)->start(), true; }
inline bool sdkStopTimer(StopWatchInterface** timer) { return (*timer)->stop(), true; }
inline bool sdkResetTimer(StopWatchInterface** timer) { return (*timer)->reset(), true; }
inline float sdkGetTimerValue(StopWatchInterface** timer) { return (*timer)->getTime(); }
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return (*timer)->getAverageTime(); }
