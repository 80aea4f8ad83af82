// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "slow_server.hpp"

#include <algorithm>

namespace tenure::simulation
{

void SlowServer::arrive(Task execute)
{
    queue_.push_back(std::move(execute));
    next();
}

void SlowServer::stall(Clock::duration duration)
{
    stalled_until_ = std::max(stalled_until_, time_.now() + duration);
}

void SlowServer::next()
{
    if (busy_ || queue_.empty())
        return;
    busy_ = true;
    time_.state()->at(std::max(time_.now(), stalled_until_) + per_request_, [this] {
        auto execute = std::move(queue_.front());
        queue_.pop_front();
        ++executed_;
        execute();
        busy_ = false;
        next();
    });
}

} // namespace tenure::simulation
