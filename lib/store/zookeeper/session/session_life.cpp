// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "session_life.hpp"

#include <algorithm>

namespace tenure::zookeeper
{

void SessionLife::created(Instant asked)
{
    recent_.clear();
    reopened_.reset();
    proven_ = asked;
}

void SessionLife::disconnected() noexcept
{
    // what was told to the server of that connection may never have reached the leader
    recent_.clear();
    reopened_.reset();
}

void SessionLife::wrote(Instant sent, Instant answered)
{
    if (reopened_ && sent >= *reopened_) {
        proven_ = std::max(proven_, *reopened_);
        reopened_.reset();
    }
    while (!recent_.empty() && recent_.front().answered + tick_ <= sent) {
        proven_ = std::max(proven_, recent_.front().sent);
        recent_.pop_front();
    }
    // many claims in a moment prove no more than one
    if (recent_.empty() || sent - recent_.back().sent >= tick_ / 16)
        recent_.push_back({sent, answered});
}

} // namespace tenure::zookeeper
